"""The judge of representations: how different groups look after the projection."""

from itertools import combinations

import numpy as np
from scipy.spatial.distance import cdist, pdist

from ..core.errors import DataError
from ..core.groups import encode_groups
from ..core.inputs import in_pandas
from ..core.moments import GroupMoments, degrees

# Kernel values are summed over blocks of this many rows, which stay in cache; no n x n matrix is held.
BLOCK_ROWS = 512


def mean_gap(moments: GroupMoments, V: np.ndarray | None = None) -> float:
    """Largest Euclidean distance between two group means, after projection on V (d, k) if given.

    Examples
    --------
    >>> from evenspan import GroupMoments
    >>> mean_gap(GroupMoments.from_data(np.array([[0.0], [2.0], [4.0], [6.0]]), ["f", "f", "m", "m"]))
    4.0
    """
    means = moments.means if V is None else moments.means @ V
    return float(pdist(means).max(initial=0.0))


def covariance_gap(moments: GroupMoments, V: np.ndarray | None = None) -> float:
    """Largest spectral norm of the difference of two group covariances (divisor n_g - 1), after projection on V."""
    moments.require_pairs("covariance")
    projected = moments if V is None else moments.project(V)
    covariances = projected.scatters / degrees(projected.counts)[:, None, None]
    return max((float(np.linalg.norm(A - B, ord=2)) for A, B in combinations(covariances, 2)), default=0.0)


def mmd2(E: np.ndarray, groups, bandwidth: float) -> float:
    r"""Squared maximum mean discrepancy between groups, the largest over pairs of groups.

    .. math::

        \operatorname{mean} \kappa(a_i, a_j) + \operatorname{mean} \kappa(b_i, b_j)
        - 2 \operatorname{mean} \kappa(a_i, b_j),
        \qquad \kappa(u, v) = \exp\!\big(-\lVert u - v \rVert^2 / (2\sigma^2)\big),

    diagonal terms kept (the biased estimate, which is never below zero but for rounding).

    O(n^2 k) time; memory for one block of rows.

    Parameters
    ----------
    E : ndarray of shape (n, k)
        Embedded points.
    groups : array-like of shape (n,)
        Group labels.
    bandwidth : float
        :math:`\sigma`.
    """
    labels, codes = encode_groups(groups, len(E))
    if len(labels) < 2:
        raise DataError("there is one group only; a discrepancy needs two.")
    E = np.asarray(in_pandas(E), dtype=np.float64)
    parts = [E[codes == g] for g in range(len(labels))]
    within = [_mean_kernel(A, A, bandwidth) for A in parts]
    pairs = combinations(range(len(parts)), 2)
    return max(within[g] + within[h] - 2.0 * _mean_kernel(parts[g], parts[h], bandwidth) for g, h in pairs)


def _mean_kernel(A: np.ndarray, B: np.ndarray, bandwidth: float) -> float:
    total, same = 0.0, A is B
    for a in range(0, len(A), BLOCK_ROWS):
        for b in range(a if same else 0, len(B), BLOCK_ROWS):
            block = cdist(A[a : a + BLOCK_ROWS], B[b : b + BLOCK_ROWS], "sqeuclidean")
            block /= -2.0 * bandwidth**2
            np.exp(block, out=block)
            total += (2.0 if same and b > a else 1.0) * float(block.sum(axis=None))
    return total / (len(A) * len(B))
