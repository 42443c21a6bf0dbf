"""Points of unit length found again, up to a rotation, in kernels that were centred and normalised."""

import numpy as np

from evenspan.core.errors import DataError


def unit_rows(linear, quadratic) -> np.ndarray:
    r"""Points of unit length, up to a rotation, of which kernels 1 and 4 of a stack are known.

    With :math:`v` the null vector of the linear kernel :math:`K`, the matrix :math:`K_{ij} v_i v_j` is the centred one
    up to a factor :math:`s`; it gives all distances, and by the unit lengths all inner products,
    :math:`x_i^\top x_j = 1 - s \Delta_{ij}^2 / 2`. The null vector :math:`u` of kernel 4 does the same for
    :math:`(x^\top y + 1)^2`, whose diagonal is quadratic in s: this settles s.

    Parameters
    ----------
    linear, quadratic : array-like of shape (n, n)
        Kernels 1 and 4, centred and then scaled to a unit diagonal. The n points must span n - 1 directions.

    Returns
    -------
    ndarray of shape (n, n)
    """
    (v, gap), (u, _) = (_null_vector(np.asarray(K, dtype=np.float64)) for K in (linear, quadratic))
    if gap < 1e-9:
        raise DataError(
            f"the linear kernel has more than one eigenvalue near zero (the second is {gap:.1e} of the largest), so "
            "its points span fewer directions than their number less one and cannot be found. Ask for the features."
        )
    K = np.asarray(linear, dtype=np.float64) * np.outer(v, v)
    squares = np.maximum(np.diagonal(K)[:, None] + np.diagonal(K) - 2.0 * K, 0.0)
    fourth = squares**2
    # Centred (2 - s D^2 / 2)^2 has the diagonal s a + s^2 b, in proportion to the squares of u.
    a, b = (-2.0 * _centred_diagonal(squares), 0.25 * _centred_diagonal(fourth))
    s = float(np.linalg.lstsq(np.column_stack([u**2, -b]), a, rcond=None)[0][1])
    values, vectors = np.linalg.eigh(1.0 - 0.5 * s * squares)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _null_vector(K: np.ndarray) -> tuple[np.ndarray, float]:
    """The eigenvector of the lowest eigenvalue, with positive entries, and the next eigenvalue over the largest."""
    values, vectors = np.linalg.eigh(K)
    return np.abs(vectors[:, 0]), float(values[1] / values[-1])


def _centred_diagonal(K: np.ndarray) -> np.ndarray:
    return np.diagonal(K) - 2.0 * K.mean(axis=1) + K.mean(axis=None)
