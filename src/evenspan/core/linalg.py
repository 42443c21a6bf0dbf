"""Eigenspaces and complements of symmetric matrices: one place for orders, signs, ties and cut-offs."""

import numpy as np
from scipy import linalg


def symmetrise(H: np.ndarray) -> np.ndarray:
    """The symmetric part of H."""
    return 0.5 * (H + H.T)


def fix_signs(V: np.ndarray) -> np.ndarray:
    """Columns of V with the entry of largest absolute value (the first such one on ties) made positive."""
    if V.shape[1] == 0:
        return V
    largest = np.argmax(np.abs(V), axis=0)
    return V * np.where(V[largest, np.arange(V.shape[1])] < 0, -1.0, 1.0).astype(V.dtype)


def top_eigenspace(H: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of the symmetric H in decreasing order, and orthonormal eigenvectors (d, k)."""
    # Divide and conquer: the drivers that compute k vectors only can fail on clustered eigenvalues.
    values, vectors = linalg.eigh(symmetrise(H), driver="evd", check_finite=False)
    return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]


def complement(C: np.ndarray, *, rtol: float = 1e-10, atol: float = 0.0) -> np.ndarray:
    """Orthonormal basis (d, d - r) of the complement of the columns of C, r being their numerical rank.

    Rank is decided by pivoted QR: a pivot below ``rtol`` times the largest, or below ``atol``, counts as zero.
    """
    d = C.shape[0]
    if C.shape[1] == 0 or not C.any():
        return np.eye(d)
    Q, T, _ = linalg.qr(C, mode="full", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(T))
    rank = int((pivots > max(rtol * pivots[0], atol)).sum(axis=0))
    return Q[:, rank:]


def smallest_eigenspace(B: np.ndarray, size: int, preference: np.ndarray, *, rtol: float = 1e-10) -> np.ndarray:
    """Orthonormal basis (d, size) of eigenvectors of the symmetric B with the smallest absolute eigenvalues.

    Eigenvalues that tie at the cut (within ``rtol`` of the largest) span a space in which no direction is
    distinguished by B; the directions taken from it are those with the largest value of the quadratic form
    ``preference``.
    """
    values, vectors = linalg.eigh(symmetrise(B), driver="evd", check_finite=False)
    order = np.argsort(np.abs(values), kind="stable")
    size_of, vectors = np.abs(values)[order], vectors[:, order]
    if size >= len(values):
        return vectors
    slack = rtol * size_of[-1]
    below = int(np.searchsorted(size_of, size_of[size - 1] - slack))
    upto = int(np.searchsorted(size_of, size_of[size - 1] + slack, side="right"))
    if upto == size:
        return vectors[:, :size]
    tied = vectors[:, below:upto]
    _, best = top_eigenspace(tied.T @ preference @ tied, size - below)
    return np.hstack([vectors[:, :below], tied @ best])
