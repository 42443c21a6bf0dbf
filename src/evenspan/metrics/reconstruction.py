"""The judge of reconstruction: how much of each group survives the projection, from group moments alone."""

from typing import Literal

import numpy as np

from ..errors import ConfigurationError, DataError
from ..moments import GroupMoments
from ..subspace import FairSubspace


def explained_variance(moments: GroupMoments, V: np.ndarray) -> float:
    r"""Share of the total variance that an orthonormal V keeps,
    :math:`\operatorname{tr} V^\top C V / \operatorname{tr} C`.

    Parameters
    ----------
    moments : GroupMoments
        Of the sample to judge on; C is its covariance about its own mean.
    V : ndarray of shape (d, k)
        Orthonormal columns.

    Returns
    -------
    float
        Between 0 and 1.
    """
    _require_orthonormal(V, moments.d)
    C = moments.scatter
    if not np.trace(C) > 0:
        raise DataError("all rows are equal, so there is no variance to explain. Judge on a sample that varies.")
    return float(np.einsum("dk,dk->", V, C @ V) / np.trace(C))


def group_errors(
    moments: GroupMoments, subspace: FairSubspace, *, centring: Literal["fitted", "group"] = "fitted"
) -> np.ndarray:
    r"""Mean squared reconstruction error of every group.

    .. math:: e_g = \frac{1}{n_g} \sum_{i \in g} \lVert (I - VV^\top)(x_i - c) \rVert^2

    Parameters
    ----------
    moments : GroupMoments
        Of the sample to judge on.
    subspace : FairSubspace
        Standardised subspaces are judged in standardised units.
    centring : {"fitted", "group"}
        c is the subspace's own mean, or the mean of each group (which ignores differences between group means).

    Returns
    -------
    ndarray of shape (G,)
        In the order of ``moments.labels``.
    """
    _require_orthonormal(subspace.V, moments.d)
    if centring not in ("fitted", "group"):
        raise ConfigurationError(f"centring={centring!r}; needed is 'fitted' or 'group'.")
    V = subspace.V
    scale = np.ones(moments.d) if subspace.scale is None else subspace.scale
    scatters = moments.scatters / np.outer(scale, scale)
    # Of each group: total less kept, so that no d x d residual projector is formed.
    within = np.trace(scatters, axis1=1, axis2=2) - np.einsum("dk,gde,ek->g", V, scatters, V, optimize=True)
    errors = within / moments.counts
    if centring == "fitted":
        offsets = (moments.means - subspace.mean) / scale
        errors = errors + (offsets**2).sum(axis=1) - ((offsets @ V) ** 2).sum(axis=1)
    return np.maximum(errors, 0.0)


def average_error(moments: GroupMoments, subspace: FairSubspace, **kwargs) -> float:
    """Mean squared reconstruction error over all rows (ARE)."""
    return float(moments.counts @ group_errors(moments, subspace, **kwargs) / moments.n)


def error_gap(moments: GroupMoments, subspace: FairSubspace, **kwargs) -> float:
    """Largest less smallest group error (ABDiff; for two groups the absolute difference)."""
    return float(np.ptp(group_errors(moments, subspace, **kwargs), axis=0))


def worst_error(moments: GroupMoments, subspace: FairSubspace, **kwargs) -> float:
    """Largest group error."""
    return float(group_errors(moments, subspace, **kwargs).max(axis=0))


def _require_orthonormal(V: np.ndarray, d: int) -> None:
    if V.ndim != 2 or V.shape[0] != d:
        raise DataError(f"V has shape {V.shape}, but the moments have {d} features; needed is (d, k).")
    departure = float(np.abs(V.T @ V - np.eye(V.shape[1])).max(initial=0.0))
    if departure > 1e-8:
        raise DataError(
            f"V is not orthonormal: V'V differs from the identity by {departure:.1e}. These formulas hold for "
            f"orthonormal "
            "columns only; orthonormalise them first (numpy.linalg.qr)."
        )
