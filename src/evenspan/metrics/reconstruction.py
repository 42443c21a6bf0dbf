"""The judge of reconstruction: how much of each group survives the projection, from group moments alone."""

from typing import Literal

import numpy as np

from ..core.answer import FairSubspace
from ..core.errors import ConfigurationError, DataError
from ..core.moments import GroupMoments

Centring = Literal["fitted", "group"]


def explained_variance(moments: GroupMoments, V: np.ndarray) -> float:
    r"""Share of the total variance that an orthonormal V keeps,
    :math:`\operatorname{tr} V^\top C V / \operatorname{tr} C`.

    C is the covariance about the own mean of the sample to judge on.
    """
    _require_orthonormal(V, moments.d)
    return retained_variance(moments, V)


def retained_variance(moments: GroupMoments, B: np.ndarray) -> float:
    r"""Variance after a linear map over that before, :math:`\operatorname{tr} B^\top C B / \operatorname{tr} C`.

    For any map of points x to ``x @ B`` (d, k); for orthonormal columns this is ``explained_variance``.
    """
    if B.ndim != 2 or B.shape[0] != moments.d:
        raise DataError(f"the map has shape {B.shape}; needed is ({moments.d}, k), one row for each feature.")
    C = moments.scatter
    if not np.trace(C) > 0:
        raise DataError("all rows are equal, so there is no variance to retain. Judge on a sample that varies.")
    return float(np.einsum("dk,dk->", B, C @ B) / np.trace(C))


def group_errors(
    moments: GroupMoments, subspace: FairSubspace, *, centring: Centring = "fitted", means: np.ndarray | None = None
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
    means : ndarray of shape (G, d), optional
        With ``centring="group"``: the group means to centre by, in the order of ``moments.labels``, for instance those
        of the training part. The groups' own means unless given.

    Examples
    --------
    >>> from evenspan import GroupMoments, StandardPCA
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> sex = np.array(["f", "f", "m", "m"])
    >>> fitted = StandardPCA(1).fit(X, sensitive_features=sex)
    >>> group_errors(GroupMoments.from_data(X, sex), fitted.subspace_)
    array([0., 1.])
    """
    _require_orthonormal(subspace.V, moments.d)
    V = subspace.V
    offsets, scatters = _offsets(moments, subspace.mean, centring, means), moments.scatters
    if subspace.scale is not None:
        offsets, scatters = offsets / subspace.scale, scatters / np.outer(subspace.scale, subspace.scale)
    # Of each group: total less kept, so that no d x d residual projector is formed. Products of whole matrices: to
    # plan an einsum at every call takes ten times as long as to carry it out.
    images = (scatters.reshape(-1, moments.d) @ V).reshape(moments.G, *V.shape)
    kept = (images.swapaxes(1, 2).reshape(moments.G, -1) @ V.T.reshape(-1, 1))[:, 0]
    within = np.trace(scatters, axis1=1, axis2=2) - kept
    errors = within / moments.counts + (offsets**2).sum(axis=1) - ((offsets @ V) ** 2).sum(axis=1)
    return np.maximum(errors, 0.0)


def operator_errors(
    moments: GroupMoments,
    P: np.ndarray,
    *,
    mean: np.ndarray,
    scale: np.ndarray | None = None,
    centring: Centring,
    means: np.ndarray | None = None,
) -> np.ndarray:
    r"""Mean squared error of every group under a linear map that need not be a projection.

    .. math:: e_g = \frac{1}{n_g} \sum_{i \in g} \lVert (I - P)(x_i - c) \rVert^2

    Parameters
    ----------
    moments : GroupMoments
        Of the sample to judge on.
    P : ndarray of shape (d, d)
        The map. Its rank is not looked at: an operator of full rank is not a representation in k dimensions.
    mean, scale : ndarray of shape (d,)
        Of the training sample; the points are divided by the scale first, if one is given, and judged in these units.
    centring : {"fitted", "group"}
        c is ``mean``, or the mean of each group.
    means : ndarray of shape (G, d), optional
        As in ``group_errors``.
    """
    if P.shape != (moments.d, moments.d):
        raise DataError(f"P has shape {P.shape}, but the moments have {moments.d} features; needed is (d, d).")
    rest = np.eye(moments.d) - P
    offsets, scatters = _offsets(moments, mean, centring, means), moments.scatters
    if scale is not None:
        offsets, scatters = offsets / scale, scatters / np.outer(scale, scale)
    lost = ((rest.T @ rest).reshape(1, -1) @ scatters.transpose(1, 2, 0).reshape(-1, moments.G))[0]
    within = lost / moments.counts
    return np.maximum(within + ((offsets @ rest.T) ** 2).sum(axis=1), 0.0)


def error_gap(moments: GroupMoments, subspace: FairSubspace, **kwargs) -> float:
    """Largest less smallest group error (ABDiff; for two groups the absolute difference)."""
    return float(np.ptp(group_errors(moments, subspace, **kwargs), axis=0))


def _offsets(moments: GroupMoments, mean: np.ndarray, centring: Centring, means: np.ndarray | None) -> np.ndarray:
    """How far each group's mean lies from the point its rows are centred by, shape (G, d)."""
    if centring not in ("fitted", "group"):
        raise ConfigurationError(f"centring={centring!r}; needed is 'fitted' or 'group'.")
    if means is not None and (centring == "fitted" or means.shape != moments.means.shape):
        raise ConfigurationError(
            f"means of shape {means.shape} with centring={centring!r}; they go with centring='group' and need shape "
            f"{moments.means.shape}, one row for each of the groups {moments.labels.tolist()}."
        )
    if centring == "fitted":
        return moments.means - mean
    return np.zeros_like(moments.means) if means is None else moments.means - means


def _require_orthonormal(V: np.ndarray, d: int) -> None:
    if V.ndim != 2 or V.shape[0] != d:
        raise DataError(f"V has shape {V.shape}, but the moments have {d} features; needed is (d, k).")
    departure = float(np.abs(V.T @ V - np.eye(V.shape[1])).max(initial=0.0))
    if departure > 1e-8:
        raise DataError(
            f"V is not orthonormal: V'V differs from the identity by {departure:.1e}. These formulas hold for "
            "orthonormal columns only; orthonormalise them first (numpy.linalg.qr)."
        )
