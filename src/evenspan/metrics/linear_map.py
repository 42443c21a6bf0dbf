r"""A fitted linear estimator as the judge sees it: a map to coordinates and back, and what it does to every group.

Of every map, c is the point that it subtracts and :math:`\hat x` the reconstruction of x, both in the units of the map.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..core.answer import FairSubspace
from ..core.errors import DataError
from ..core.groups import label_text
from ..core.moments import GroupMoments
from .reconstruction import explained_variance, group_errors, operator_errors, retained_variance


@dataclass(frozen=True, eq=False)
class LinearMap:
    r"""A map that need not be a projection: :math:`t = B^\top (x - m) / s` and back to :math:`m + s \, V t`.

    V has orthonormal columns; B is V itself for every method but LEACE; s is 1 unless given.
    """

    V: np.ndarray
    B: np.ndarray
    mean: np.ndarray
    scale: np.ndarray | None = None


def linear_map(fitted) -> FairSubspace | LinearMap:
    """The map of a fitted estimator, or the subspace or map given: a ``LinearMap`` where it does not project (LEACE).

    Examples
    --------
    >>> from evenspan import LEACE
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> type(linear_map(LEACE(2).fit(X, sensitive_features=np.repeat([0, 1], 20)))).__name__
    'LinearMap'
    """
    if isinstance(fitted, FairSubspace | LinearMap):
        return fitted
    subspace, components = getattr(fitted, "subspace_", None), getattr(fitted, "components_", None)
    if not isinstance(subspace, FairSubspace) or components is None:
        raise DataError(
            f"a {type(fitted).__name__} without subspace_ and components_ was given; needed is a fitted linear "
            "estimator or a FairSubspace. Fit it first; kernel methods have no subspace of the features, and "
            "clusterings are judged by ClusterFrame."
        )
    columns = getattr(fitted, "_n_features_out", len(components))
    if columns != len(components):
        raise DataError(
            f"this {type(fitted).__name__} appends other coordinates to its subspace: {columns} columns, of which "
            f"{len(components)} are of the subspace. Pass its subspace_ to judge these alone."
        )
    if components.shape == subspace.V.T.shape and np.array_equal(components, subspace.V.T):
        return subspace
    return LinearMap(subspace.V, components.T, subspace.mean, subspace.scale)


def way_back(X: np.ndarray, E: np.ndarray, new: tuple[np.ndarray, np.ndarray], tol: float = 1e-4) -> LinearMap | None:
    """From X (n, d) to a representation E (n, m) and back by least squares; None unless E is a linear map of X.

    It is one if on ``new`` rows of both the distance from the map is at most ``tol`` times the spread of E.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> E = X[:, :2] + X[:, 2:]
    >>> way_back(X[:20], E[:20], (X[20:], E[20:])).V.shape, way_back(X[:20], E[:20] ** 2, (X[20:], E[20:] ** 2))
    ((3, 2), None)
    """
    mean, centre = X.mean(axis=0), E.mean(axis=0)
    there = np.linalg.lstsq(X - mean, E - centre)[0]
    if np.linalg.norm(new[1] - centre - (new[0] - mean) @ there) > tol * np.linalg.norm(new[1] - centre):
        return None
    Q, R = np.linalg.qr(np.linalg.lstsq(E - centre, X - mean)[0].T)
    return LinearMap(Q, there @ R.T, mean)


def map_errors(moments: GroupMoments, answer: FairSubspace | LinearMap) -> np.ndarray:
    r"""Mean squared reconstruction errors :math:`\frac{1}{n_g} \sum_{i \in g} \lVert x_i - \hat x_i \rVert^2`, (G,)."""
    if isinstance(answer, FairSubspace):
        return group_errors(moments, answer)
    return operator_errors(moments, answer.V @ answer.B.T, mean=answer.mean, scale=answer.scale, centring="fitted")


def encoder(answer: FairSubspace | LinearMap) -> np.ndarray:
    """The matrix (d, k) that takes centred rows, in the units of the data, to coordinates."""
    B = answer.B if isinstance(answer, LinearMap) else answer.V
    return B if answer.scale is None else B / answer.scale[:, None]


def in_units(moments: GroupMoments, answer: FairSubspace | LinearMap) -> GroupMoments:
    """The moments of the rows as the map sees them: its mean subtracted, divided by its scale."""
    scale = np.ones(moments.d) if answer.scale is None else answer.scale
    scatters = moments.scatters if answer.scale is None else moments.scatters / np.outer(scale, scale)
    return GroupMoments(moments.labels, moments.counts, (moments.means - answer.mean) / scale, scatters)


# -- metrics of every group ------------------------------------------------------------------------------------------


def loss(moments: GroupMoments, answer) -> np.ndarray:
    """Error less the smallest that any k directions through c could have for the group, on the same rows, (G,)."""
    smallest = np.clip(np.linalg.eigvalsh(second_moments(in_units(moments, answer))), 0.0, None)
    best = smallest[:, : moments.d - answer.V.shape[1]].sum(axis=1)
    # A difference of nearly equal numbers: what rounding takes below zero is zero, unless the map is no projection.
    lost = map_errors(moments, answer) - best
    return lost if isinstance(answer, LinearMap) else np.maximum(lost, 0.0)


def relative_error(moments: GroupMoments, answer) -> np.ndarray:
    r"""Error over the mean squared distance of the group's rows from c, (G,): the share that is lost."""
    seen = in_units(moments, answer)
    return map_errors(moments, answer) / _positive(_spreads(seen), seen, "its rows all lie where the map is centred")


def group_explained_variance(moments: GroupMoments, answer) -> np.ndarray:
    """Share of the group's variance about its own mean that is kept, (G,); above 1 where a map stretches the rows."""
    seen = in_units(moments, answer)
    _positive(np.trace(seen.scatters, axis1=1, axis2=2) / seen.counts, seen, "all its rows are equal")
    each = (one_group(seen, g) for g in range(seen.G))
    if isinstance(answer, LinearMap):
        return np.array([retained_variance(alone, answer.B) for alone in each])
    return np.array([explained_variance(alone, answer.V) for alone in each])


def one_group(moments: GroupMoments, g: int) -> GroupMoments:
    """The moments of the group at position g alone."""
    at = slice(g, g + 1)
    return GroupMoments(
        moments.labels[at], moments.counts[at], moments.means[at], moments.scatters[at], moments.feature_names
    )


def second_moments(seen: GroupMoments) -> np.ndarray:
    """Mean squares and products (G, d, d) of every group about zero, the point that the map subtracts."""
    return seen.scatters / seen.counts[:, None, None] + seen.means[:, :, None] * seen.means[:, None, :]


def _spreads(seen: GroupMoments) -> np.ndarray:
    """Mean squared distances (G,) of the rows from c."""
    return np.trace(seen.scatters, axis1=1, axis2=2) / seen.counts + (seen.means**2).sum(axis=1)


def _positive(values: np.ndarray, seen: GroupMoments, why: str) -> np.ndarray:
    # Rows that are equal up to rounding have squares of rounding errors here.
    if not (values > 1e-20 * _spreads(seen).max(axis=0)).all():
        label = label_text(seen.labels[np.argmin(values, axis=0)])
        raise DataError(f"group {label!r} has nothing to keep a share of: {why}. Merge it or leave this metric out.")
    return values


#: What ``GroupFrame`` knows by name: moments of G groups and a map to G numbers.
GROUP_METRICS: Mapping[str, Callable[[GroupMoments, object], np.ndarray]] = {
    "error": map_errors,
    "loss": loss,
    "relative error": relative_error,
    "explained variance": group_explained_variance,
    "mean distance": lambda moments, answer: np.linalg.norm((moments.means - answer.mean) @ encoder(answer), axis=1),
    "count": lambda moments, answer: np.array(moments.counts, dtype=np.float64),
}
