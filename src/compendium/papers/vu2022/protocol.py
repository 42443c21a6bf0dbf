"""The protocol shared by the experiments on Vu et al. (2022): preparation, cross-validation and the judge.

It is that of the program its authors published, with its splits, folds, seeds and order of random numbers. Everything
is computed on group moments, except Delta F_Lin, which needs the points of the test part.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenspan import metrics
from evenspan.core.answer import Certificate, FairSubspace
from evenspan.core.errors import ConfigurationError
from evenspan.core.linalg import top_eigenspace
from evenspan.core.moments import GroupMoments

from ...data import Dataset, load, of_two_groups
from ...data.splits import fold_rows, half_rows
from .linear_separation import linear_separation, principal_axes

SEED = 2022
COMPONENTS = 3
#: Our name of a data set -> its name in Tables 1 to 3; Table 4 spells one of them otherwise.
DATASETS: Mapping[str, str] = {
    "default_credit": "Default Credit",
    "biodeg": "Biodeg",
    "ecoli": "E. Coli",
    "energy": "Energy",
    "german_credit": "German Credit",
    "image": "Image",
    "letter": "Letter",
    "magic": "Magic",
    "parkinsons": "Parkinsons",
    "skillcraft": "SkillCraft",
    "statlog": "Statlog",
    "steel": "Steel",
    "taiwan_credit": "Taiwan Credit",
    "wine_quality": "Wine Quality",
    "lfw_24x24": "LFW",
}
#: The published tables of ABDiff and ARE, and that of Delta F_Lin.
ERROR_TABLES = ("vu2022_table1_out_of_sample", "vu2022_table3_in_sample")
SEPARATION_TABLE = "vu2022_table4_linear_svm"
#: Centred but not scaled (printed errors of the faces are those of pixels / 255), and iterations other than 1000.
UNSCALED, ITERATIONS = ("lfw_24x24",), {"lfw_24x24": 500}

ALPHAS = (0.05, 0.1, 0.15)
PENALTIES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
RATES = (0.1, *np.linspace(0.25, 4.25, 17).tolist())
DELTAS = (0.0, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
TRADES = (1e-4, 1e-3, 1e-2, 0.05, 0.5)


Rows = Callable[[], Dataset]


@dataclass(frozen=True)
class Answer:
    """What a method gives for one point of its grid: a basis (d, k), an operator (d, d), or a reason for neither."""

    V: np.ndarray | None = None
    P: np.ndarray | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""

    #: Whether there is nothing to judge.
    failed = property(lambda self: self.V is None and self.P is None)

    def errors(self, moments: GroupMoments, means: np.ndarray | None = None) -> np.ndarray:
        """Errors of the groups about the origin of prepared moments, or about given means of the groups."""
        centring = {"centring": "fitted"} if means is None else {"centring": "group", "means": means}
        origin = np.zeros(moments.d)
        if self.V is None:
            return metrics.operator_errors(moments, self.P, mean=origin, **centring)
        given = FairSubspace(self.V, origin, Certificate("an answer to be judged", np.nan, np.nan))
        return metrics.group_errors(moments, given, **centring)


@dataclass(frozen=True)
class Problem:
    """Prepared moments of a training sample, in its own units, with what the methods need to know beside them."""

    moments: GroupMoments
    k: int
    iterations: int  # of the published algorithms
    rng: np.random.Generator | np.random.RandomState  # of random starts
    groups: GroupMoments | None = None  # the same rows in the units of matrices about groups, where they are others
    released: bool = False  # starts as the released program draws them, from one stream of a split
    rows: Rows | None = None  # the rows themselves in the units of the moments, for a class of one's own

    #: Moments for matrices about the groups' own means.
    about_groups = property(lambda self: self.moments if self.groups is None else self.groups)


#: Answers of a method for all points of its grid at once, so that they can share work.
Solver = Callable[[Problem, Sequence[tuple]], list[Answer]]


@dataclass(frozen=True)
class Method:
    """A row of the tables: a solver with its grid, and what the entries of a grid point are called."""

    solve: Solver
    names: tuple[str, ...] = ()
    grid: tuple[tuple, ...] = ((),)


def prepared(moments: GroupMoments, reference: GroupMoments, scaled: bool) -> GroupMoments:
    """Moments in the units of the reference: standardised, or centred only."""
    if scaled:
        return moments.standardised(reference)
    return GroupMoments(
        moments.labels, moments.counts, moments.means - reference.mean, moments.scatters, moments.feature_names
    )


def evaluate(answer: Answer, train: GroupMoments, sample: GroupMoments) -> dict[str, float]:
    """Every metric of an answer on a sample that is prepared as the training part is, about the training mean."""
    plain = answer.errors(sample)
    return {
        "ABDiff": gap(answer, train, sample),
        "ARE": average(plain, sample),
        "ABDiff (overall mean)": float(np.ptp(plain, axis=0)),
        "worst error": float(plain.max(axis=0)),
    }


def gap(answer: Answer, train: GroupMoments, sample: GroupMoments) -> float:
    """ABDiff: the difference of the groups' errors, each about its mean in the training part, as in the program."""
    return float(np.ptp(answer.errors(sample, train.means), axis=0))


def average(errors: np.ndarray, sample: GroupMoments) -> float:
    """ARE: the mean over all rows."""
    return float(sample.counts @ errors / sample.n)


def folds_of(parts: Mapping[str, GroupMoments]) -> tuple[list[GroupMoments], GroupMoments, GroupMoments]:
    """Folds, training part (their sum) and test part."""
    folds = [moments for name, moments in parts.items() if name != "test"]
    return folds, sum(folds[1:], folds[0]), parts["test"]


def scores(method: Method, dataset: str, parts: Mapping[str, GroupMoments], k: int, rng) -> np.ndarray:
    """Validation ABDiff + ARE of every grid point, mean over the folds; infinite where a fold has no answer.

    As released: rows are standardised by the fold's training part, rows of each group by the whole training part."""
    folds, raw, _ = folds_of(parts)
    scaled, found = dataset not in UNSCALED, []
    folds = [prepared(fold, raw, scaled) for fold in folds]
    for held_out in folds:
        rest = [fold for fold in folds if fold is not held_out]
        groups = sum(rest[1:], rest[0])
        train, validation = prepared(groups, groups, scaled), prepared(held_out, groups, scaled)
        problem = Problem(train, k, ITERATIONS.get(dataset, 1000), rng, groups, released=True)
        answers = method.solve(problem, method.grid)
        values = (
            np.inf if one.failed else average(one.errors(validation), validation) + gap(one, groups, held_out)
            for one in answers
        )
        found.append(list(values))
    return np.mean(found, axis=0)


def fit_split(
    method: Method, dataset: str, parts: Mapping[str, GroupMoments], k: int, seed: int, rows: Rows | None = None
) -> tuple[Answer, tuple, GroupMoments, GroupMoments]:
    """Choose by cross-validation (the first smallest) and fit again: answer, grid point, training and test part."""
    chosen, (train, test) = method.grid[0], prepared_parts(dataset, parts)
    if not 1 <= k < train.d:
        raise ConfigurationError(f"k={k}; {dataset} has {train.d} features, so that 1 to {train.d - 1} can be.")
    # numpy.random.seed(seed) of the released program, passed instead of global.
    rng = np.random.RandomState(seed)
    if len(method.grid) > 1:
        found = scores(method, dataset, parts, k, rng)
        if not np.isfinite(found).any():
            return Answer(reason="no point of the grid has an answer on every fold"), chosen, train, test
        chosen = method.grid[int(np.argmin(found))]
    problem = Problem(train, k, ITERATIONS.get(dataset, 1000), rng, released=True, rows=rows)
    return method.solve(problem, [chosen])[0], chosen, train, test


def prepared_parts(dataset: str, parts: Mapping[str, GroupMoments]) -> tuple[GroupMoments, GroupMoments]:
    """Training and test part of a split, in the units of the training part."""
    _, raw, test = folds_of(parts)
    scaled = dataset not in UNSCALED
    return prepared(raw, raw, scaled), prepared(test, raw, scaled)


def evaluate_split(method: Method, answer: Answer, chosen: tuple, train: GroupMoments, test: GroupMoments) -> dict:
    """Values by protocol and metric, or a reason, of one method on one split."""
    if answer.failed:
        none = dict.fromkeys(("ABDiff", "ARE"), (np.nan, answer.reason))
        return dict.fromkeys(("in-sample", "out-of-sample"), none)
    fit = dict(zip(method.names, chosen, strict=False)) | dict(answer.facts)
    return {"in-sample": evaluate(answer, train, train), "out-of-sample": evaluate(answer, train, test), "fit": fit}


def separation(answer: Answer, k: int, train: GroupMoments, test: Dataset, seed: int, *, baseline: bool) -> dict:
    """Delta F_Lin on the points of the test part, as released and as defined, and for permuted groups.

    Of an operator the k leading eigenvectors, as released; in the basis in which the training variance is diagonal."""
    if answer.failed:
        return {"Delta F_Lin": (np.nan, answer.reason)}
    V = top_eigenspace(answer.P, k)[1] if answer.V is None else answer.V
    T, found = test.X @ principal_axes(V, train.second_moment), {}
    for metric, variant in (("Delta F_Lin", "released"), ("Delta F_Lin (defined)", "defined")):
        rng = np.random.default_rng((SEED, seed, 77))  # the same folds for both
        found[metric] = linear_separation(T, test.groups, rng=rng, variant=variant)
    if baseline:
        rng = np.random.default_rng((SEED, seed, 78))
        found["Delta F_Lin (permuted)"] = linear_separation(T, rng.permutation(test.groups), rng=rng)
    return found


def points(dataset: str, groups: str = "") -> Dataset:
    """The points of a data set of two groups, or of a CSV file of one's own with the column ``groups``."""
    return of_two_groups(load(dataset, groups))


def part_of(data: Dataset, seed: int, part: str, *, halves: bool = False) -> Dataset:
    """Points of the "train" or "test" part of a split, or of one in halves, in the units of the training part."""
    rows = half_rows(data.groups, seed) if halves else fold_rows(data.name, data.groups, seed)
    index = np.sort(np.concatenate([some for name, some in rows.items() if name != "test"]))
    return in_units(data, index if part == "train" else rows["test"], index, part, seed)


def in_units(data: Dataset, wanted, reference, part: str = "all", seed: int | None = None) -> Dataset:
    """Some rows in the units of others, as ``prepared`` has their moments."""
    base, names = data.X[reference], data.feature_names
    scale = np.ones(data.d) if data.name in UNSCALED else GroupMoments.from_data(base, data.groups[reference]).scale()
    X = (data.X[wanted] - base.mean(axis=0)) / scale
    return Dataset(data.name, X, data.y[wanted], data.groups[wanted], names, part, seed)


#: The toy example: rows of the two groups in Figure 1, centred Gaussians in the plane.
FIGURE_1 = (500, 200)
COVARIANCES = np.array([[[4.0, 0.0], [0.0, 0.2]], [[0.2, 0.4], [0.4, 3.0]]])


def toy_sample(counts: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points and groups."""
    parts = [rng.standard_normal((n, 2)) @ np.linalg.cholesky(C).T for n, C in zip(counts, COVARIANCES, strict=True)]
    return np.vstack(parts), np.repeat([0, 1], counts)


def toy_population(counts: tuple[int, int]) -> GroupMoments:
    """Moments of the distributions themselves, with the shares of the sample."""
    n = np.array(counts, dtype=float)
    return GroupMoments(np.array([0, 1]), n, np.zeros((2, 2)), COVARIANCES * n[:, None, None])


def degrees(v: np.ndarray) -> float:
    """Angle of a direction with the first axis, from -90 to 90 degrees."""
    x, y = v.reshape(2)
    return float(np.degrees(np.arctan2(y, x))) if x > 0 else float(np.degrees(np.arctan2(-y, -x)))
