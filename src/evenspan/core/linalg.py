"""Eigenspaces and complements of symmetric matrices: one place for orders, signs, ties and cut-offs."""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, lru_cache

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh
from threadpoolctl import ThreadpoolController

from .errors import DataError

#: Rows from which few leading eigenvectors are sought in Krylov spaces; more than this share of them are not few.
LARGE, SHARE = 300, 1 / 20
#: Columns of a Krylov space, as a multiple of its block, after which a full eigendecomposition is cheaper.
LONGEST = 30
#: Residual over the distance of the k-th eigenvalue from the next, at which eigenvectors are found.
RESIDUAL = 1e-7
#: Up to so many rows a matrix that is known by its products is decomposed whole.
DENSE = 600
#: Up to this order matrices are faster decomposed by one thread: NumPy and SciPy have threads of their own each, and
#: those of the one wait in a loop while the other works.
ALONE = 1024
#: Whether Lanczos steps go on from an invariant space by a generator that they are given: from SciPy 1.17.
SEEDED = "rng" in inspect.signature(eigsh).parameters


def one_thread(d: int) -> AbstractContextManager:
    """In this block one thread works on matrices of order d, if that is faster."""
    return _threads().limit(limits=1) if d <= ALONE else nullcontext()


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def signs_of(E: np.ndarray) -> np.ndarray:
    """Signs that make the entry of largest absolute value in every column positive (the first such one on ties)."""
    return np.where(E[np.argmax(np.abs(E), axis=0), np.arange(E.shape[1])] < 0, -1.0, 1.0)


def symmetrise(H: np.ndarray) -> np.ndarray:
    """The symmetric part of H."""
    return 0.5 * (H + H.T)


def require_symmetric(S, name: str, *, ndim: int = 2, rtol: float = 1e-8, dtype=np.float64):
    """A square matrix, dense or sparse, or with ``ndim=3`` a stack, made exactly symmetric; DataError where it is not.

    It becomes one of ``dtype``; with None it keeps its own.
    """
    S = S.astype(dtype) if sparse.issparse(S) else np.asarray(S, dtype=dtype)
    if S.ndim != ndim or S.shape[-1] != S.shape[-2] or 0 in S.shape:
        needed = "a square matrix (n, n)" if ndim == 2 else "(K, d, d): at least one square matrix"
        raise DataError(f"{name} has shape {S.shape}; needed is {needed}.")
    transposed = S.T if ndim == 2 else S.swapaxes(-1, -2)
    largest = float(max(S.max(), -S.min()))
    step = S.shape[0] if sparse.issparse(S) else max(1, 2**18 // S[0].size)  # rows that stay in cache
    parts = (slice(start, start + step) for start in range(0, S.shape[0], step))
    difference = max(float(abs(S[i] - transposed[i]).max()) for i in parts) if np.isfinite(largest) else np.nan
    if not difference <= rtol * largest:  # as with missing values
        raise DataError(
            f"{name} is not symmetric: it and its transpose differ by up to {difference:.3g}, with entries up to "
            f"{largest:.3g}. Pass the symmetric part, (S + S.T) / 2, of finite numbers."
        )
    return 0.5 * (S + transposed) if difference > 0 else S


def fix_signs(V: np.ndarray) -> np.ndarray:
    """Columns of V with their signs chosen by :func:`signs_of`."""
    return V * signs_of(V).astype(V.dtype) if V.shape[1] else V


def eigenpairs(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues of the symmetric H in increasing order, and orthonormal eigenvectors (d, d).

    By LAPACK itself, to the bit as ``scipy.linalg.eigh`` has it, whose wrapper costs more than a small matrix does.
    """
    # Divide and conquer: the drivers that compute k vectors only can fail on clustered eigenvalues.
    driver, space = _divide_and_conquer(H.dtype, len(H))
    values, vectors, info = driver(H, lower=1, **space)
    if info:
        raise np.linalg.LinAlgError(f"the eigenvalues of a matrix of shape {H.shape} did not converge. Is it finite?")
    return values, vectors


@lru_cache(maxsize=1024)
def _divide_and_conquer(dtype: np.dtype, d: int):
    """LAPACK's routine for matrices (d, d), and the lengths of its workspaces."""
    driver, lengths = linalg.get_lapack_funcs(("syevd", "syevd_lwork"), dtype=dtype)
    lwork, liwork, _ = lengths(d, lower=1)
    return driver, {"lwork": int(lwork), "liwork": int(liwork)}


def top_eigenspace(H: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of the symmetric H in decreasing order, and orthonormal eigenvectors (d, k)."""
    values, vectors = eigenpairs(symmetrise(H))
    return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]


def principal_axes(V: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Another orthonormal basis (d, k) of the span of V: its principal axes, by decreasing variance ``v' S v``."""
    return V @ top_eigenspace(V.T @ S @ V, V.shape[1])[1]


def leading_eigenpairs(
    product: Callable, n: int, k: int, rng: np.random.Generator, *, precision: float = 0.0, dense: int = DENSE
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, decreasing, and orthonormal eigenvectors (n, k) of M, ``product(V)`` being M V.

    A small matrix is decomposed whole, a large one by Lanczos steps, to the relative accuracy ``precision``.
    """
    if n <= max(dense, 3 * k):
        values, vectors = np.linalg.eigh(symmetrise(product(np.eye(n))))
    else:
        operator = LinearOperator((n, n), matvec=lambda v: product(v.reshape(-1, 1))[:, 0], dtype=np.float64)
        seeded = {"rng": rng} if SEEDED else {}
        values, vectors = eigsh(operator, k, which="LA", v0=rng.standard_normal(n), tol=precision, **seeded)
    order = np.argsort(values, kind="stable")[: -k - 1 : -1]
    return values[order], vectors[:, order]


def krylov_eigenspace(
    H: np.ndarray, k: int, start: np.ndarray, known: float = np.inf
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Leading Ritz values (b,) and vectors (d, b) of the symmetric H, and the lengths of the first k residuals.

    In the block Krylov space of ``start`` (d, b), until the residuals are small, or small beside the gain over a
    ``known`` sum of k values. None for a small matrix, many vectors, a tie or slow convergence: decompose H then.
    """
    d, b = start.shape
    if d < LARGE or b > SHARE * d:
        return None
    longest = min(LONGEST * b, d // 2)
    Q, T, block = np.empty((d, longest)), np.zeros((longest, longest)), np.linalg.qr(start)[0]
    for m in range(b, longest + 1, b):
        Q[:, m - b : m] = block
        basis, block = Q[:, :m], H @ block
        for _ in range(2):  # twice is enough to be orthogonal to rounding error
            inner = basis.T @ block
            block = block - basis @ inner
            T[:m, m - b : m] += inner
        block, last = np.linalg.qr(block)
        if m % (2 * b) == 0:
            continue  # looking costs as much as a step
        values, U = eigenpairs(np.triu(T[:m, :m]) + np.triu(T[:m, :m], 1).T)
        values, U = values[: -b - 1 : -1], U[:, : -b - 1 : -1]
        rest = np.linalg.norm(last @ U[m - b :, :k], axis=0)
        distance = values[k - 1] - values[k]
        enough = max(RESIDUAL**2 * distance, 1e-4 * (float(values[:k].sum(axis=0)) - known))
        if distance > 0 and rest @ rest <= distance * enough:
            return values, basis @ U, rest
    return None


def excess(H: np.ndarray, values: np.ndarray, V: np.ndarray, rest: np.ndarray) -> float:
    r"""What the k largest eigenvalues of H sum up to beyond the Ritz values of ``krylov_eigenspace``; or infinity.

    With R the residuals and s between the k-th value :math:`\theta_k` and the next, it is at most
    :math:`\lVert R \rVert^2 / (\theta_k - s)` if no direction orthogonal to the k vectors has a quotient of s: if s I -
    H, in which they are lifted above 0, has a Cholesky factorisation. Without one the answer is infinity.
    """
    k = len(rest)
    s = values[k] + 0.75 * (values[k - 1] - values[k])
    lifted = V[:, :k] * np.sqrt(values[:k] - s + np.abs(values).max(axis=0))
    M = linalg.blas.dsyrk(1.0, lifted, beta=-1.0, c=H.T, lower=1)
    M[np.diag_indices(len(H))] += s
    missed = linalg.lapack.dpotrf(M, lower=1, clean=0, overwrite_a=1)[1] != 0
    return np.inf if missed else float(rest @ rest) / float(values[k - 1] - s)


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


def span(C: np.ndarray, *, rtol: float = 1e-10, atol: float = 0.0) -> np.ndarray:
    """Orthonormal basis (d, r) of the span of the columns of C, by the rank rule of :func:`complement`."""
    if not C.any():
        return C[:, :0]
    Q, T, _ = linalg.qr(C, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(T))
    return Q[:, pivots > max(rtol * pivots[0], atol)]


def span_of_rows(X: np.ndarray, more: int) -> np.ndarray | None:
    """Orthonormal basis (d, n + more) of a space with the rows of the wide X (n, d) and ``more`` further directions.

    None unless X has more than twice as many columns: then little is gained by working in the basis.
    """
    n, d = X.shape
    return None if d <= 2 * (n + more) else np.linalg.qr(np.hstack([X.T, np.eye(d, more)]))[0]


def smallest_eigenspace(B: np.ndarray, size: int, preference: np.ndarray, *, rtol: float = 1e-10) -> np.ndarray:
    """Orthonormal basis (d, size) of eigenvectors of the symmetric B with the smallest absolute eigenvalues.

    Eigenvalues that tie at the cut (within ``rtol`` of the largest) span a space in which no direction is
    distinguished by B; the directions taken from it are those with the largest value of the quadratic form
    ``preference``.
    """
    values, vectors = eigenpairs(symmetrise(B))
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
