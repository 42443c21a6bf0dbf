"""The methods of an audit, and what each of them answers to the fitting part, for every number of components.

Names, settings and what a method equalises are those of the comparison of all linear methods
(``evenspan.methods.METHODS``).
"""

import copy
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.answer import FairSubspace
from ..core.errors import ConfigurationError, FairError
from ..core.estimator import SubspaceEstimator
from ..core.moments import GroupMoments
from ..methods import METHODS
from .sample import Points

#: What principal components are compared with: always fitted, always first.
PCA = "PCA"
#: Methods that group moments determine and that answer within half a second at 100 features (measured, one core): no
#: row is read again, however many there are. Left out are settings beside which another of the same kind stands.
QUICK = (
    PCA, "Min-max loss", "JEVD-PCA", "Min-max error", "u-FPCA", "c-FPCA", "Robust PCA", "Fair PCA", "LEACE",
    "Fair PCA (covariance)", "Null-it-out PCA",
)  # fmt: skip
#: Methods for exactly two groups: with more, the default list leaves them out.
BINARY = ("Robust PCA (radius 0)", "Robust PCA", "u-FPCA", "c-FPCA", "Convex PCA (mean)", "Convex PCA (both)")
#: By how much a certificate may be open, relative to the objective, and still count as closed.
CLOSED = 1e-6
#: Variance below this share of the total is rounding: the columns of a category add up to one.
NO_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted method, or the reason why there is none; what it said while it was fitted, and how long it took."""

    name: str
    k: int
    estimator: SubspaceEstimator | None
    reason: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def note(self) -> str:
        """Reason and notes in one line."""
        return " ".join(text for text in (self.reason, *self.notes) if text)


def chosen_methods(methods: Sequence[str] | str | None, group_counts: Sequence[int]) -> tuple[str, ...]:
    """The names of the methods of an audit, PCA first, for attributes with so many groups.

    None means those of ``QUICK``, without ``BINARY`` where no attribute has exactly two groups; "all" means all.
    """
    if methods is None:
        names = [name for name in QUICK if name not in BINARY or 2 in group_counts]
    elif isinstance(methods, str) and methods == "all":
        names = list(METHODS)
    else:
        names = [methods] if isinstance(methods, str) else list(methods)
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
    """A method fitted to the fitting part for every number of components; a reason where it has no answer.

    Methods that group moments do not determine are fitted to the points, whose ``attribute`` makes the groups.
    """
    method = METHODS[name]
    if method.equalises in ("errors", "losses"):
        most = rank(moments)
        why = (
            f"The features of the fitting part vary in {most} directions only: so many components or more rebuild "
            "every row, and no group has an error."
        )
        lost = {k: Fitted(name, k, None, why) for k in sizes if k >= most}
        rest = [k for k in sizes if k < most]
        return _answers(name, rest, moments, points, attribute, seed) | lost
    return _answers(name, sizes, moments, points, attribute, seed)


def rank(moments: GroupMoments) -> int:
    """In how many directions the features vary."""
    values = np.linalg.eigvalsh(moments.scatter)
    return int((values > NO_VARIANCE * values.sum(axis=0)).sum(axis=0))


def _answers(name, sizes, moments, points, attribute, seed) -> dict[int, Fitted]:
    method = METHODS[name]
    if not method.once:
        return {k: _fit(name, k, method.make(k, seed), moments, points, attribute, seed) for k in sizes}
    every = _fit(name, max(sizes), method.make(None, seed), moments, points, attribute, seed)
    found = {}
    for k in sizes:
        found[k] = _leading(every, k)
        if found[k].estimator is None and method.stopped is not None and k < moments.d:
            found[k] = _fit(name, k, method.stopped(k, moments.d, seed), moments, points, attribute, seed)
    return found


def _fit(name, k, estimator, moments, points, attribute, seed) -> Fitted:
    method, notes = METHODS[name], []
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            if method.points:
                rows = _drawn(points.n, method.rows, seed)
                # With the names of the features, so that the answer knows the columns of the encoder.
                X = pd.DataFrame(points.X[rows], columns=list(moments.feature_names or range(moments.d)))
                estimator.fit(X, sensitive_features=points.groups[attribute].to_numpy(dtype=str)[rows])
                if len(rows) < moments.n:
                    notes.append(f"Fitted to {len(rows):,} of the {int(moments.n):,} rows of the fitting part.")
            else:
                estimator.fit_moments(moments)
        except (FairError, np.linalg.LinAlgError) as error:
            return Fitted(name, k, None, str(error), (), time.perf_counter() - start)
    notes += dict.fromkeys(str(warning.message) for warning in heard)
    return Fitted(name, k, estimator, "", tuple(notes), time.perf_counter() - start)


def _leading(every: Fitted, k: int) -> Fitted:
    """The first k of all components that an erasure leaves."""
    if every.estimator is None:
        return Fitted(every.name, k, None, every.reason, every.notes, every.seconds)
    found = len(every.estimator.components_)
    if k > found:
        return Fitted(every.name, k, None, f"{k} components were asked for, but the erasure leaves {found}.")
    estimator = copy.copy(every.estimator)
    kept = estimator.subspace_
    estimator.n_components = k
    estimator.subspace_ = FairSubspace(kept.V[:, :k], kept.mean, kept.certificate, kept.scale)
    for values in ("components_", "explained_variance_", "explained_variance_ratio_"):
        setattr(estimator, values, getattr(every.estimator, values)[:k])
    return Fitted(every.name, k, estimator, "", every.notes, every.seconds)


def _drawn(n: int, most: int | None, seed: int) -> np.ndarray:
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng((seed, 1)).permutation(n)[:most])
