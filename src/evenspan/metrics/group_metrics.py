r"""Named metrics of one linear map, for every group of some moments at once.

c is the point that the map subtracts and :math:`\hat x` the reconstruction of x; both in the units of the map.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ..core.errors import DataError
from ..core.groups import label_text
from ..core.moments import GroupMoments
from .linear_map import LinearMap, encoder, in_units, map_errors
from .reconstruction import explained_variance, retained_variance


def error(moments: GroupMoments, answer) -> np.ndarray:
    r"""Mean squared reconstruction error, :math:`\frac{1}{n_g} \sum_{i \in g} \lVert x_i - \hat x_i \rVert^2`, (G,)."""
    return map_errors(moments, answer)


def loss(moments: GroupMoments, answer) -> np.ndarray:
    """Error less the smallest that any k directions through c could have for the group, on the same rows, (G,)."""
    smallest = np.clip(np.linalg.eigvalsh(_second_moments(in_units(moments, answer))), 0.0, None)
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
    found = []
    for g in range(seen.G):
        alone = one_group(seen, g)
        if isinstance(answer, LinearMap):
            found.append(retained_variance(alone, answer.B))
        else:
            found.append(explained_variance(alone, answer.V))
    return np.array(found)


def mean_distance(moments: GroupMoments, answer) -> np.ndarray:
    """Length of the mean of the group's coordinates, (G,): how far its mean lies from c in the representation."""
    return np.linalg.norm((moments.means - answer.mean) @ encoder(answer), axis=1)


def count(moments: GroupMoments, answer) -> np.ndarray:
    """Rows, or the sum of their weights, (G,)."""
    return np.array(moments.counts, dtype=np.float64)


#: What ``GroupFrame`` knows by name: moments of G groups and a map to G numbers.
GROUP_METRICS: Mapping[str, Callable[[GroupMoments, object], np.ndarray]] = {
    "error": error,
    "loss": loss,
    "relative error": relative_error,
    "explained variance": group_explained_variance,
    "mean distance": mean_distance,
    "count": count,
}


def one_group(moments: GroupMoments, g: int) -> GroupMoments:
    """The moments of the group at position g alone."""
    at = slice(g, g + 1)
    return GroupMoments(
        moments.labels[at], moments.counts[at], moments.means[at], moments.scatters[at], moments.feature_names
    )


def _second_moments(seen: GroupMoments) -> np.ndarray:
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
