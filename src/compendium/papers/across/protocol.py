"""The comparison of linear methods: tables, one preparation, one split, the methods fitted, and one evaluation.

The sensitive attribute and the label are not features; columns that are constant on the training part are dropped,
each other one is centred and scaled by its training part, all groups together. An answer maps a point x to
``t = B'(x - m)`` and back to ``m + V t``; B = V but for LEACE. A group's loss is its error less that of the best k
directions for it, fitted to its training rows: held out it can be negative.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score

from evenspan import metrics
from evenspan.core.errors import ConfigurationError, FairError, FairWarning
from evenspan.core.estimator import SubspaceEstimator
from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.methods import METHODS, Method
from evenspan.metrics.linear_map import LinearMap, map_errors
from evenspan.reconstruction.group_errors import group_matrices

from ... import own
from ...data import Dataset, group_moments, load, of_two_groups
from ...data.moments import moments_of

SEED = 2027
SPLITS = range(10)
#: Of every group, rounded down.
TRAIN_SHARE = 0.7
COMPONENTS = (2, 5, 10)


class Table(NamedTuple):
    """Groups, what the label means (empty: none), number of features, and patterns of the columns that hold either."""

    groups: str
    label: str
    d: int
    hidden: tuple[str, ...] = ()


DATASETS: Mapping[str, Table] = {
    "default_credit": Table("education", "default next month", 22),
    "biodeg": Table("readily biodegradable or not", "", 40),
    "ecoli": Table("cytoplasm or not", "", 7),
    "energy": Table("orientation", "", 8),
    "german": Table("age, 25 or older", "bad credit", 56, ("age_25_or_older",)),
    "image": Table("path or grass", "", 18),
    "letter": Table("vowel or not", "", 16),
    "magic": Table("gamma or not", "", 10),
    "parkinsons": Table("sex", "", 20),
    "skillcraft": Table("age above 20", "", 17),
    "statlog": Table("red soil or grey", "", 36),
    "steel": Table("fault of type other or not", "", 24),
    "wine_quality": Table("white or red", "quality of 6 or better", 11),
    "adult": Table("sex", "income above 50K", 96, ("sex",)),
    "compas": Table("race, Caucasian or not", "rearrested within two years", 10, ("race_Caucasian",)),
    "bank_marketing": Table("age above 40", "subscribed", 52),
    "diabetes": Table("sex", "diabetes", 20, ("Sex",)),
    "obesity": Table("sex", "obesity", 29, ("Gender_Female", "Gender_Male", "NObeyesdad_*")),
    "lsac_bw": Table("sex", "passed the bar", 10, ("male", "pass_bar")),
    "npha": Table("sex", "most visits to doctors of three classes", 13, ("Gender", "Number of Doctors Visited")),
    "sklearn_diabetes": Table("sex", "progression above the median", 9),
}


def table(dataset: str, groups: str = "", target: str = "") -> Table:
    """What is compared of a data set, or of a CSV file of one's own with these columns."""
    if dataset.endswith(".csv"):
        return Table(groups, target, prepared(dataset, groups, target).d)
    if dataset not in DATASETS:
        raise ConfigurationError(f"dataset={dataset!r}; needed is a CSV file or one of {', '.join(DATASETS)}.")
    return DATASETS[dataset]


def components(sizes: str, dataset: str, **named: str) -> list[int]:
    """Those of some numbers of components, given as a text with commas, that are below the number of features."""
    d = table(dataset, **named).d
    if not (found := [k for k in map(int, str(sizes).split(",")) if 0 < k < d]):
        raise ConfigurationError(f"sizes={sizes!r}; needed is a number of components from 1 to {d - 1} for {dataset}.")
    return found


def comparable(k: int) -> tuple[str, ...]:
    """Data sets on which methods are ranked: with k at most half of the features, where every method can answer."""
    return tuple(name for name, found in DATASETS.items() if 2 * k <= found.d)


def visible(dataset: str, names: tuple[str, ...]) -> list[str]:
    """Names of the features: all but those that hold the group or the label."""
    return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in table(dataset).hidden)]


def prepared(dataset: str, groups: str = "", target: str = "") -> Dataset:
    """All rows with the features that are compared, of a CSV file all; the label is 1 where it is largest, else 0."""
    data = load(dataset, groups, target)
    none = np.zeros(data.n, dtype=int)
    if dataset.endswith(".csv"):
        return replace(of_two_groups(data), y=data.y if target else none)
    names = visible(dataset, data.feature_names)
    columns = [data.feature_names.index(name) for name in names]
    y = (data.y == data.y.max(axis=0)).astype(int) if table(dataset).label else none
    return Dataset(dataset, data.X[:, columns], y, data.groups, tuple(names))


def in_sample(dataset: str, groups: str = "", target: str = "", *, rows: bool = False) -> "Parts":
    """All rows as training and held-out part, without points to evaluate; with ``rows`` there are some to fit to."""
    if not (rows or dataset.endswith(".csv")):
        return Parts(whole(dataset), whole(dataset))
    data = prepared(dataset, groups, target)
    points = in_units_of(moments_of(data), data)
    return Parts(moments_of(points), moments_of(points), points)


def whole(dataset: str) -> GroupMoments:
    """Moments of all rows, prepared as a training part is."""
    table(dataset)
    raw = group_moments(dataset)
    raw = raw.select(visible(dataset, raw.feature_names))
    return raw.select(np.flatnonzero(varying(raw)).tolist()).standardised()


def varying(moments: GroupMoments) -> np.ndarray:
    """Which features are not constant, by the relative cut-off of ``GroupMoments.scale``."""
    deviation = np.sqrt(np.diag(moments.scatter) / moments.n)
    return deviation > 1e-12 * np.hypot(moments.mean, deviation)


def in_units_of(raw: GroupMoments, data: Dataset) -> Dataset:
    """The features that vary in ``raw``, less its mean and in units of its standard deviation."""
    varies = varying(raw)
    X = (data.X[:, varies] - raw.mean[varies]) / raw.scale()[varies]
    return replace(data, X=X, feature_names=tuple(np.array(data.feature_names)[varies].tolist()))


@dataclass(frozen=True, eq=False)
class Parts:
    """Training and held-out part in the units of the training part; points and moments by label where there are any."""

    train: GroupMoments
    test: GroupMoments
    train_points: Dataset | None = None
    test_points: Dataset | None = None
    by_label: GroupMoments | None = None


def split_rows(groups: np.ndarray, split: int, most: tuple[float, float] = (np.inf, np.inf)) -> tuple[np.ndarray, ...]:
    """Row numbers of the training and the held-out part, at most so many, the same share of each group."""
    rng, found = np.random.default_rng((SEED, split)), []
    orders = [rng.permutation(np.flatnonzero(groups == label)) for label in np.unique(groups)]
    cuts = [np.split(order, [int(TRAIN_SHARE * len(order))]) for order in orders]
    for rows, part in zip(most, zip(*cuts, strict=True), strict=True):
        share = min(1.0, rows / sum(map(len, part)))
        found.append(np.sort(np.concatenate([of_group[: round(share * len(of_group))] for of_group in part])))
    return tuple(found)


def parts_of(data: Dataset, split: int, most: tuple[float, float] = (np.inf, np.inf)) -> Parts:
    """One split of prepared rows, with at most so many of them in the training and the held-out part."""
    rows = split_rows(data.groups, split, most)
    scaled = in_units_of(GroupMoments.from_data(data.X[rows[0]], data.groups[rows[0]]), data)
    points = [
        replace(scaled, X=scaled.X[part], y=data.y[part], groups=data.groups[part], part=title, split=split)
        for part, title in zip(rows, ("train", "test"), strict=True)
    ]
    moments = [GroupMoments.from_data(part.X, part.groups) for part in points]
    by_label = GroupMoments.from_data(points[0].X, points[0].y) if len(np.unique(data.y)) > 1 else None
    return Parts(*moments, *points, by_label)


class Fit(NamedTuple):
    """A map, or the reason why there is none, with the seconds it took and whether its certificate closed.

    ``fitted`` is the estimator, and ``rows`` are those of the training points that it was fitted to.
    """

    answer: LinearMap | None
    reason: str = ""
    seconds: float = 0.0
    certified: bool = False
    fitted: SubspaceEstimator | None = None
    rows: np.ndarray | slice = slice(None)


def of_class(kind: type) -> Method:
    """A class of one's own as a method of the comparison."""
    return Method("", "", lambda k, seed: own.Estimator(kind, k, random_state=seed), own.Estimator(kind).of_rows)


def fit_all(
    name: str, sizes: tuple[int, ...], parts: Parts, seed: int, methods: Mapping[str, Method] = METHODS
) -> dict[int, Fit]:
    """A method fitted to the training part for every number of components; a reason where it has no answer."""
    method = methods[name]
    if not method.once:
        return {k: _fit(method, method.make(k, seed), parts, seed) for k in sizes}
    every, found = _fit(method, method.make(None, seed), parts, seed), {}
    for k in sizes:  # the k directions of most variance of what is left
        if every.answer is not None and k <= every.answer.B.shape[1]:
            V, B = every.answer.V[:, :k], every.answer.B[:, :k]
            found[k] = every._replace(answer=LinearMap(V, B, every.answer.mean))
        elif method.stopped is not None and k < parts.train.d:
            found[k] = _fit(method, method.stopped(k, parts.train.d, seed), parts, seed)
        elif every.answer is None:
            found[k] = every
        else:
            left = every.answer.B.shape[1]
            found[k] = Fit(None, f"{k} components were asked for, but the erasure leaves {left}.")
    return found


def _fit(method: Method, estimator: SubspaceEstimator, parts: Parts, seed: int) -> Fit:
    rows = slice(None)
    with warnings.catch_warnings(action="ignore", category=FairWarning):
        start = time.perf_counter()
        try:
            if method.points:
                points = parts.train_points
                if method.rows is not None and points.n > method.rows:
                    rows = np.sort(np.random.default_rng((SEED, seed, 1)).permutation(points.n)[: method.rows])
                fitted = estimator.fit(points.X[rows], sensitive_features=points.groups[rows])
            else:
                fitted = estimator.fit_moments(parts.train)
            seconds = time.perf_counter() - start
            answer = LinearMap(fitted.subspace_.V, fitted.components_.T, fitted.mean_)
        except FairError as error:
            return Fit(None, str(error))
    return Fit(answer, "", seconds, fitted.certificate_.is_optimal(1e-6), fitted, rows)


class Metric(NamedTuple):
    """A measure: the criterion it stands for, whether less is better, and what its unit is."""

    criterion: str
    lower: bool
    unit: str


METRICS: Mapping[str, Metric] = {
    "relative error": Metric("lose little of all rows", True, "error of PCA on the same split = 1"),
    "explained variance": Metric("keep the variance of all rows", False, "share"),
    "worst error": Metric("serve the worst group well", True, "squared standard deviations"),
    "error gap": Metric("equal errors", True, "squared standard deviations"),
    "worst loss": Metric("small losses for every group", True, "squared standard deviations"),
    "loss gap": Metric("equal losses", True, "squared standard deviations"),
    "mean distance": Metric("equal means", True, "distance of the projected means over the root of the variance kept"),
    "covariance distance": Metric("equal covariances", True, "share of the largest variance after the projection"),
    "group AUC": Metric("hide the group from a linear classifier", True, "area; 0.5 is nothing"),
    "label accuracy": Metric("keep the label, by accuracy", False, "share"),
    "label AUC": Metric("keep the label, by ranking", False, "area; 0.5 is nothing"),
}
POINTS = ("group AUC", "label accuracy", "label AUC")
#: Rows hold the mean of its squares; what is shown and compared is the root over the variance kept (``summary.means``).
SQUARED = "mean distance"
FACTS = ("certified", "seconds")
#: What the name of a metric ends with that is a deviation over splits, and the digits that are stored.
DEVIATION, DIGITS = ", deviation", 7


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What all answers with k components on one split are measured against."""

    parts: Parts
    k: int

    @cached_property
    def base(self) -> float:
        """Mean error of PCA of the training part on the held-out part."""
        return self._mean(self._best(self.parts.train.scatter))

    @cached_property
    def own(self) -> np.ndarray:
        """Held-out error of every group with the best k directions of its training rows, (G,)."""
        return np.array([self._best(M)[g] for g, M in enumerate(group_matrices(self.parts.train))])

    def measures(self, answer: LinearMap) -> dict[str, float | tuple[None, str]]:
        """Every measure of an answer, or why it has none."""
        parts, test, B = self.parts, self.parts.test, answer.B
        errors, projected = map_errors(test, answer), test.project(B)
        losses, largest = errors - self.own, float(np.linalg.norm(projected.scatter / (test.n - 1.0), ord=2))
        no_variance = None, "no variance is left after the projection"
        found = {
            "relative error": self._mean(errors) / self.base,
            "explained variance": float(metrics.retained_variance(test, B)),
            "worst error": float(errors.max(axis=0)),
            "error gap": float(np.ptp(errors, axis=0)),
            "worst loss": float(losses.max(axis=0)),
            "loss gap": float(np.ptp(losses, axis=0)),
            SQUARED: float(metrics.mean_gap(test, B) ** 2),
            "covariance distance": metrics.covariance_gap(projected) / largest if largest > 0 else no_variance,
        }
        if parts.test_points is None:
            return found | dict.fromkeys(POINTS, (None, "a classifier is judged on points; only moments are available"))
        # Fisher's discriminant of the projected training rows
        T, member = parts.test_points.X @ B, parts.test_points.groups == parts.train.labels[1]
        found["group AUC"] = metrics.auc(member, metrics.settled(discriminant(parts.train.project(B), T)))
        if parts.by_label is None:
            return found | dict.fromkeys(POINTS[1:], (None, "the data set has no label"))
        scores, y = discriminant(parts.by_label.project(B), T), parts.test_points.y
        accuracy = accuracy_score(y, (scores > 0).astype(int))
        return found | {"label accuracy": accuracy, "label AUC": metrics.auc(y == 1, metrics.settled(scores))}

    def _best(self, M: np.ndarray) -> np.ndarray:
        """Held-out errors of the leading k directions of a matrix of the training part, (G,)."""
        V = top_eigenspace(M, self.k)[1]
        return map_errors(self.parts.test, LinearMap(V, V, self.parts.train.mean))

    def _mean(self, errors: np.ndarray) -> float:
        return float(self.parts.test.counts @ errors / self.parts.test.n)


def discriminant(moments: GroupMoments, T: np.ndarray) -> np.ndarray:
    """Fisher's score of the rows of T (m, k), the logarithm of the odds of the second of two classes."""
    W = moments.scatters.sum(axis=0) / moments.n
    w = np.linalg.pinv(W, rcond=1e-10, hermitian=True) @ (moments.means[1] - moments.means[0])
    return (T - 0.5 * moments.means.sum(axis=0)) @ w + np.log(moments.counts[1] / moments.counts[0])


def summarised(per_split: list[dict[str, object]]) -> dict[str, float | tuple[None, str]]:
    """Mean and sample deviation of one method over the splits, to seven digits; or why there is no mean."""
    rows: dict[str, float | tuple[None, str]] = {}
    for metric in max(per_split, key=len):  # where there is no answer, it has no checks either
        values = [split.get(metric, split["certified"]) for split in per_split]
        if missing := [value for value in values if isinstance(value, tuple)]:
            where = f"no value on {len(missing)} of {len(values)} splits: " if len(missing) < len(values) else ""
            rows[metric] = None, where + missing[0][1]
            continue
        rows[metric] = float(f"{np.mean(values):.{DIGITS}g}")
        if metric in METRICS and len(values) > 1:
            rows[metric + DEVIATION] = float(f"{np.std(values, ddof=1):.{DIGITS}g}")
    return rows | {"splits": float(len(per_split))}
