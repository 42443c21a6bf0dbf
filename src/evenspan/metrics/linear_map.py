"""What the judge needs of a fitted linear estimator: the map to coordinates and the map back."""

from dataclasses import dataclass

import numpy as np

from ..core.answer import FairSubspace
from ..core.errors import DataError
from ..core.moments import GroupMoments
from .reconstruction import group_errors, operator_errors


@dataclass(frozen=True, eq=False)
class LinearMap:
    r"""A map that need not be a projection: :math:`t = B^\top (x - m) / s` and back to :math:`m + s \, V t`.

    Parameters
    ----------
    V : ndarray of shape (d, k)
        Orthonormal columns: the way back.
    B : ndarray of shape (d, k)
        The way to the coordinates; V itself for every method but LEACE.
    mean : ndarray of shape (d,)
        m.
    scale : ndarray of shape (d,), optional
        s; 1 unless given.
    """

    V: np.ndarray
    B: np.ndarray
    mean: np.ndarray
    scale: np.ndarray | None = None


def linear_map(fitted) -> FairSubspace | LinearMap:
    """The map of a fitted estimator, or the subspace or map given.

    Parameters
    ----------
    fitted : fitted estimator, FairSubspace or LinearMap
        An estimator has ``subspace_`` and ``components_``.

    Returns
    -------
    FairSubspace or LinearMap
        The subspace where the estimator projects on it; a map where it does not (LEACE).
    """
    if isinstance(fitted, FairSubspace | LinearMap):
        return fitted
    subspace, components = getattr(fitted, "subspace_", None), getattr(fitted, "components_", None)
    if not isinstance(subspace, FairSubspace) or components is None:
        raise DataError(
            f"a {type(fitted).__name__} without subspace_ and components_ was given; needed is a fitted linear "
            "estimator or a FairSubspace. Fit it first; kernel methods have no subspace of the features."
        )
    names_out = getattr(fitted, "get_feature_names_out", None)
    columns = len(components) if names_out is None or len(components) == len(subspace.mean) else len(names_out())
    if columns != len(components):
        raise DataError(
            f"this {type(fitted).__name__} appends other coordinates to its subspace: {columns} columns, of which "
            f"{len(components)} are of the subspace. Pass its subspace_ to judge these alone."
        )
    if components.shape == subspace.V.T.shape and np.array_equal(components, subspace.V.T):
        return subspace
    return LinearMap(subspace.V, components.T, subspace.mean, subspace.scale)


def map_errors(moments: GroupMoments, answer: FairSubspace | LinearMap) -> np.ndarray:
    """Mean squared distance (G,) between the rows of every group and their reconstructions, in the map's units."""
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
