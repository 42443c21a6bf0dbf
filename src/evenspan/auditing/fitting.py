"""The methods of an audit (``evenspan.methods``), fitted to the training set for some numbers of components."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, FairError
from ..core.estimator import SubspaceEstimator
from ..core.moments import GroupMoments
from ..methods import METHODS
from .sample import Points

#: What principal components are compared with: always fitted, always first.
PCA = "PCA"
#: Methods that group moments determine and that answer within half a second at 100 features, of each kind one setting.
QUICK = (
    PCA, "Min-max loss", "JEVD-PCA", "Min-max error", "u-FPCA", "c-FPCA", "Robust PCA", "Fair PCA", "LEACE",
    "Fair PCA (covariance)", "Null-it-out PCA",
)  # fmt: skip
#: What methods equalise that hide a group from classifiers.
MEANS = ("means", "means and covariances", "distributions")
#: Methods for exactly two groups: with more, the default list leaves them out.
BINARY = ("Robust PCA (radius 0)", "Robust PCA", "u-FPCA", "c-FPCA", "Convex PCA (mean)", "Convex PCA (both)")
#: By how much a certificate may be open, relative to the objective, and still count as closed.
CLOSED = 1e-6
#: Rows that are given to methods which take points without weights, repeated by these.
MOST = 20_000
#: Variance below this share of the total is rounding: the columns of a category add up to one.
NO_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted method, or the reason (in ``note``) why there is none; and what it warned of."""

    name: str
    k: int
    estimator: SubspaceEstimator | None
    note: str = ""


def chosen_methods(methods: Sequence[str] | str | None, group_counts: Sequence[int]) -> tuple[str, ...]:
    """The names of the methods of an audit, PCA first, for attributes with so many groups."""
    if methods is None:
        names = [name for name in QUICK if name not in BINARY or 2 in group_counts]
    elif isinstance(methods, str):
        names = list(METHODS) if methods == "all" else [methods]
    else:
        names = list(methods)
    unknown = [str(name) for name in names if name not in METHODS]
    if unknown or not names:
        raise ConfigurationError(
            f"methods has {', '.join(map(repr, unknown)) or 'no name'}; needed are names of {', '.join(METHODS)}; "
            "or 'all'; or None for the quick ones."
        )
    return tuple(dict.fromkeys([PCA, *names]))


def fit_method(
    name: str, sizes: Sequence[int], moments: GroupMoments, points: Points, attribute: str, seed: int = 0
) -> dict[int, Fitted]:
    """A method fitted to moments, or if these do not determine it to points, for every number of components."""
    method, found = METHODS[name], {}
    directions = rank(moments) if method.equalises in ("errors", "losses") else np.inf
    for k in sizes:
        if k >= directions:
            why = f"The features vary in {directions} directions only: no group has an error."
            found[k] = Fitted(name, k, None, why)
            continue
        found[k] = _fit(name, k, method.make(k, seed), moments, points, attribute, seed)
        if found[k].estimator is None and method.stopped is not None:  # an erasure that leaves fewer than k components
            found[k] = _fit(name, k, method.stopped(k, moments.d, seed), moments, points, attribute, seed)
    return found


def rank(moments: GroupMoments) -> int:
    """In how many directions the features vary."""
    values = np.linalg.eigvalsh(moments.scatter)
    return int((values > NO_VARIANCE * values.sum(axis=0)).sum(axis=0))


def repeated(w: np.ndarray) -> np.ndarray:
    """Positions (N,) of rows, each as often as its weight says to within one: for methods that take points alone.

    N is such that the row of the smallest weight is taken once, but at most ``MOST``, or one for each weight in w (n,).
    Integer weights of which the smallest is 1 give each row as often as its own.
    """
    N = int(np.clip(round(w.sum(axis=0) / w.min(axis=0)), len(w), max(len(w), MOST)))
    ends = np.floor(np.cumsum(w) * (N / w.sum(axis=0)) + 0.5).astype(int)
    return np.repeat(np.arange(len(w)), np.diff(ends, prepend=0))


def _fit(name, k, estimator, moments, points, attribute, seed) -> Fitted:
    method, notes = METHODS[name], []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            if method.points:
                rows = repeated(points.w)
                rows = rows[np.random.default_rng((seed, 1)).permutation(len(rows))][: method.rows]
                # With the names of the features, so that the answer knows the columns of the encoder.
                X = pd.DataFrame(points.X[rows], columns=list(moments.feature_names or range(moments.d)))
                estimator.fit(X, sensitive_features=points.groups[attribute].to_numpy(dtype=str)[rows])
                if np.ptp(points.w):
                    notes.append(f"Fitted to {len(np.unique(rows)):,} training rows, each as often as its weight says.")
                elif len(rows) < moments.n:
                    notes.append(f"Fitted to {len(rows):,} of the {int(moments.n):,} training rows.")
            else:
                estimator.fit_moments(moments)
        except (FairError, np.linalg.LinAlgError) as error:
            return Fitted(name, k, None, str(error))
    notes += dict.fromkeys(str(warning.message) for warning in heard)
    return Fitted(name, k, estimator, " ".join(notes))
