"""Leading eigenvectors of a symmetric matrix that is known by its products."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

#: Up to this number of rows all eigenvectors are computed.
SMALL = 600
#: Products with a block of vectors, where a product is expensive: at most so many.
PASSES = 12


def leading_eigenpairs(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    k: int,
    rng: np.random.Generator,
    *,
    precision: float = 0.0,
    few_products: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, decreasing, and orthonormal eigenvectors (n, k).

    Parameters
    ----------
    product : callable
        ``product(V)`` gives M V for V of shape (n, m).
    n, k : int
        Size of M, and how many eigenvalues.
    rng : numpy.random.Generator
        For the start.
    precision : float
        Relative accuracy that the products allow; 0 for double precision.
    few_products : bool
        Each product costs so much, whatever the number of vectors, that blocks of vectors pay: a block Krylov space
        with at most 12 products, ended when the residuals are below a thousandth of the largest eigenvalue.

    Returns
    -------
    values : ndarray of shape (k,)
    vectors : ndarray of shape (n, k)
    """
    if n <= max(SMALL, 3 * k):
        M = product(np.eye(n))
        values, vectors = np.linalg.eigh(0.5 * (M + M.T))
        return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]
    if few_products:
        return _block_krylov(product, rng.standard_normal((n, k + 8)), k, max(precision, 1e-3))
    operator = LinearOperator((n, n), matvec=lambda v: product(v.reshape(-1, 1))[:, 0], dtype=np.float64)
    values, vectors = eigsh(operator, k, which="LA", v0=rng.standard_normal(n), tol=precision)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def residuals(product: Callable[[np.ndarray], np.ndarray], values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """How far each pair is from an eigenpair, the length of M v - value v; shape (k,)."""
    return np.linalg.norm(product(vectors) - vectors * values, axis=0)


def _block_krylov(product, start: np.ndarray, k: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Rayleigh-Ritz in the space of all blocks so far; every product is used for the space and for the residuals."""
    basis, images = np.empty((len(start), 0)), np.empty((len(start), 0))
    block = start
    for _ in range(PASSES):
        for _ in range(2):  # twice, so that the basis is orthonormal to rounding
            block = block - basis @ (basis.T @ block)
            block, _ = np.linalg.qr(block)
        basis, images = np.hstack([basis, block]), np.hstack([images, product(block)])
        T = basis.T @ images
        values, U = np.linalg.eigh(0.5 * (T + T.T))
        values, U = values[: -k - 1 : -1], U[:, : -k - 1 : -1]
        rest = np.linalg.norm(images @ U - (basis @ U) * values, axis=0)
        if rest.max(axis=0) <= tol * abs(values[0]):
            break
        block = images[:, -block.shape[1] :]
    return values, basis @ U
