"""What the experiment on three tables needs beside public estimators: splits, programs, evaluation, quoted numbers."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.linalg import subspace_angles

from evenspan import metrics
from evenspan.core.errors import SurplusComponentsWarning
from evenspan.core.linalg import complement, symmetrise
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import StandardPCA
from evenspan.representation import NullItOutPCA
from evenspan.representation.null_it_out import constrained_components, contrasts, gap_eigenspace, group_gap

from ...data import Dataset, load_split, own_split, split_moments
from ...own import fitted as own_fit
from ...records import paper_table
from ..kleindessner2023.protocol import CLASSIFIERS, READERS, Row, evaluate_classifier, evaluate_moments
from .own_tables import NAMES, load_own_split

SECOND_MOMENT, AS_RELEASED, CONTROL, MIN_MAX = "offline, second moment", "as released", "random", "Samadi et al."
#: Where the evaluation is cut short, because it would take hours: splits of the kernel SVM on Adult's own table, rows
#: up to which kernel probes are fitted on own tables, and rows of a bandwidth.
OWN_ADULT_SVM_SPLITS, KERNEL_PROBE_ROWS, BANDWIDTH_ROWS = 2, 2000, 5000
#: In-sample variance below this share of all is none: what is projected then is rounding.
NO_VARIANCE = 1e-10
#: Below this a singular value of the gap, relative to the largest, is rounding: P_m is then not determined.
DETERMINED = 1e-10


def label(family: str, m: int | None) -> str:
    """Name of a method: ``FNPM, m=5``, or ``FNPM, mean`` for m = 0, where the means alone are matched."""
    if m is None:
        return MIN_MAX if family == "min-max" else family
    return f"{family}, m={m}" if m else f"{family}, mean"


@dataclass(frozen=True)
class Split:
    """One split of a table: what the results call it, its number, the moments of both parts, and perhaps the points."""

    name: str
    number: int
    train: GroupMoments
    test: GroupMoments
    points: tuple[Dataset, Dataset] | None = None


def load(dataset: str, number: int, groups: str = "", *, own: bool = False, points: bool = False) -> Split:
    """A split of a registered data set, perhaps with ``points``, of the ``own`` table, or at random of a CSV file."""
    if Path(dataset).suffix == ".csv":
        parts = own_split(dataset, number, groups)
        return Split(dataset, number, *(GroupMoments.from_data(part.X, part.groups) for part in parts))
    if not own and not points:
        return Split(dataset, number, *(split_moments(dataset, number, part) for part in ("train", "test")))
    rows = load_own_split(dataset, number) if own else load_split(dataset, number)
    moments = (GroupMoments.from_data(part.X, part.groups) for part in rows)
    return Split(NAMES[dataset] if own else dataset, number, *moments, rows if points else None)


@dataclass
class Removal:
    """A method that removes directions: ``nullified_`` in its rows, and k components outside, if all goes well."""

    k: int
    m: int
    seed: int = 0

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, k)."""
        return X @ self.components_.T


class ReleasedOffline(Removal):
    """Null-it-out PCA as released: eigenvectors of the projected covariance by absolute eigenvalue.

    Where fewer than k directions carry variance, zero eigenvalues compete with those of the removed directions."""

    def fit_moments(self, moments: GroupMoments) -> "ReleasedOffline":
        """Two groups: gap of covariances, divisors n - 1, mean gap last; d x d projectors, as released."""
        (contrast,) = contrasts(moments.labels)
        gap, mean_gap = group_gap(moments, contrast, "covariance", moments.mean)
        P = _largest(gap, self.m)
        f = mean_gap / (np.linalg.norm(mean_gap) + 1e-8)
        g = f - P @ (P.T @ f)
        g = g / (np.linalg.norm(g) + 1e-8)
        U = np.column_stack([P, g]) if self.m else f[:, None]
        shrink = np.eye(moments.d) - U @ U.T
        self.nullified_ = U.T
        self.components_ = _largest(symmetrise(shrink @ moments.scatter @ shrink) / (moments.n - 1.0), self.k).T
        return self


def _largest(A: np.ndarray, number: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(A)
    return vectors[:, np.argsort(-np.abs(values), kind="stable")[:number]]


class RandomRemoval(Removal):
    """The control: the mean gap and m directions are removed that a ``seed`` draws."""

    def fit_moments(self, moments: GroupMoments) -> "RandomRemoval":
        """The exact answer for a U that is drawn."""
        drawn = np.random.default_rng((self.seed, self.m)).standard_normal((moments.d, self.m))
        U = np.linalg.qr(np.column_stack([moments.means[1] - moments.means[0], drawn]))[0]
        V, self.certificate_ = constrained_components(moments.scatter, U, self.k)
        self.nullified_, self.components_ = U.T, V.T
        return self


def fit(estimator, moments: GroupMoments, rows: Callable[[], Dataset] | None = None):
    """The fitted method; where it is exact, checked against its certificate; a class of one's own may need ``rows``."""
    with warnings.catch_warnings():
        # Where the rank of the training part is too small the variance shows it.
        warnings.simplefilter("ignore", SurplusComponentsWarning)
        fitted = estimator.fit_moments(moments) if rows is None else own_fit(estimator, moments, rows)
    exact = isinstance(fitted, NullItOutPCA | RandomRemoval) and leaves_variance(fitted, moments)
    if exact and not fitted.certificate_.is_optimal():
        raise ArithmeticError(f"{estimator} is not certified optimal: {fitted.certificate_}")
    return fitted


def leaves_variance(fitted, moments: GroupMoments) -> bool:
    """Whether the components carry more of the variance than rounding does; without any they are not determined."""
    return metrics.retained_variance(moments, fitted.components_.T) > NO_VARIANCE


def fit_rows(fitted) -> list[Row]:
    """How far the answer is from its own constraint, and how many directions were removed."""
    constraint = float(np.linalg.norm(fitted.nullified_ @ fitted.components_.T, ord=2))
    return [("fit", "constraint", constraint, ""), ("fit", "removed directions", float(len(fitted.nullified_)), "")]


def sine(rows: np.ndarray, others: np.ndarray) -> float:
    """Sine of the largest principal angle between the spans of two sets of orthonormal rows."""
    return float(np.sin(subspace_angles(rows.T, others.T).max()))


def fnpm_rows(fitted, train: GroupMoments, m: int, offline, second_moment) -> list[Row]:
    """What decides how far FNPM is from the exact answers: the spectra it iterates on, and its distance to both."""
    Z, k = complement(fitted.nullified_.T), len(fitted.components_)
    left = np.linalg.eigvalsh(symmetrise(Z.T @ train.second_moment @ Z))[::-1]
    largest = float(np.linalg.norm(train.second_moment, ord=2))
    pairs = {
        "sine to offline": (fitted, offline),
        "sine to offline, second moment": (fitted, second_moment),
        "sine between offline answers": (offline, second_moment),
    }
    reason = ""
    if len(left) > k and left[k - 1] <= DETERMINED * largest:
        reason = f"not determined: fewer than {k} of the directions left carry variance"
    rows = [
        ("fit", name, np.nan if reason else sine(one.components_, other.components_), reason)
        for name, (one, other) in pairs.items()
    ]
    rows.append(_ratio("ratio of phase 2", left[k - 1], left[k] if len(left) > k else 0.0, largest))
    if m == 0:
        return rows
    (contrast,) = contrasts(train.labels)
    gap, _ = group_gap(train, contrast, "second_moment", np.zeros(train.d))
    sizes = np.sort(np.abs(np.linalg.eigvalsh(gap)))[::-1]
    rank = int((sizes > DETERMINED * sizes[0]).sum(axis=0))
    rows.append(_ratio("ratio of phase 1", sizes[m - 1], sizes[m], sizes[0]))
    if rank < m:
        reason = f"P_m is not determined: the gap has rank {rank} only"
        return [*rows, ("fit", "sine of W to P_m", np.nan, reason)]
    _, P = gap_eigenspace(gap, m, 0.0)
    return [*rows, ("fit", "sine of W to P_m", sine(fitted.gap_directions_, P.T), "")]


def _ratio(name: str, inside: float, outside: float, largest: float) -> Row:
    if inside <= DETERMINED * largest:
        return "fit", name, np.nan, "not determined: both eigenvalues are rounding"
    return "fit", name, max(float(outside / inside), 0.0), ""


def bandwidth(split: Split, k: int) -> float | None:
    """The median heuristic on standard PCA of the training part, or of some of its rows where there are very many."""
    if split.points is None:
        return None
    projected = StandardPCA(k).fit_moments(split.train).transform(split.points[0].X)
    if len(projected) > BANDWIDTH_ROWS:
        rows = np.random.default_rng((0, split.number)).choice(len(projected), BANDWIDTH_ROWS, replace=False)
        projected = projected[np.sort(rows)]
    return metrics.median_bandwidth(projected)


def evaluate(family: str, fitted, split: Split, width: float | None) -> Iterator[Row]:
    """What moments determine, and with the points, where ``width`` is the bandwidth of the MMD, everything else."""
    own = split.name in NAMES.values()
    yield "in sample", "%Var", 100.0 * metrics.retained_variance(split.train, fitted.components_.T), ""
    yield from evaluate_moments("PCA", fitted, split.train, split.test)  # it asks the name only whether one is linear
    if split.points is None:
        return
    if family != AS_RELEASED and not leaves_variance(fitted, split.train):
        yield "released", "MMD^2", np.nan, "nothing to judge: no variance is left in the training part"
        return
    train, test = split.points
    parts = {
        protocol: (fitted.transform(part.X), part.y, part.groups)
        for protocol, part in (("in sample", train), ("held-out", test))
    }
    inside, outside = parts.values()
    if not own:
        yield "in sample", "MMD^2", metrics.mmd2(inside[0], train.groups, width), ""
    yield "released", "MMD^2", metrics.mmd2(outside[0], test.groups, width), ""
    if family != AS_RELEASED:
        for probe in READERS if not own or train.n <= KERNEL_PROBE_ROWS else ("linear",):
            for protocol, part in parts.items():
                area = metrics.group_auc(READERS[probe], inside[::2], part[::2])
                yield protocol, f"AUC of the group ({probe})", area, ""
    if own and family != AS_RELEASED and (train.name != NAMES["adult"] or train.split < OWN_ADULT_SVM_SPLITS):
        yield from evaluate_classifier("Kernel SVM", outside, outside, "released")
    if not own and family not in (AS_RELEASED, CONTROL):
        for classifier in CLASSIFIERS:
            if classifier != "MLP" or family != SECOND_MOMENT:
                yield from evaluate_classifier(classifier, outside, outside, "released")
            if classifier != "MLP":
                yield from evaluate_classifier(classifier, inside, outside, "held-out")
    if own and family == "PCA":
        yield from _second(fitted, train, inside, outside)


def _second(fitted, train: Dataset, inside: tuple, outside: tuple) -> Iterator[Row]:
    """The program's second protocol, for PCA on the own tables: fitted on the training part, MMD of width 1 there."""
    moments = GroupMoments.from_data(train.X, train.groups)
    yield "second", "%Var", 100.0 * metrics.retained_variance(moments, fitted.components_.T), ""
    if train.name == NAMES["adult"]:
        yield "second", "MMD^2", np.nan, "not computed: 31,655 training points take too long"
        return
    yield "second", "MMD^2", metrics.mmd2(inside[0], train.groups, np.sqrt(0.5)), ""  # exp(-|a - b|^2)
    for row in evaluate_classifier("Linear SVM", inside, outside, "held-out"):
        yield "second", *row[1:]


#: The quoted columns, as the evaluation here calls them, and how many decimals the file gives; all of the test part.
QUOTED = {"%Var": 2, "MMD^2": 3, "%Acc (Kernel SVM)": 2, "Delta_DP (Kernel SVM)": 2}


def quoted(dataset: str, k: int, protocol: str = "released") -> pd.DataFrame:
    """Means over ten splits from a file in the authors' repository, as ``method, metric, quoted``, if there are any.

    ``second`` is another protocol of the program, ``other splits`` are rows for the published splits."""
    table = paper_table("quoted", "lee2023")
    chosen = (table["dataset"] == dataset) & (table["k"] == k) & (table["protocol"] == protocol)
    return table.loc[chosen, ["method", "metric", "quoted"]].reset_index(drop=True)
