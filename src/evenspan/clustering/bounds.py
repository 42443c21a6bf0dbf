"""Upper bounds that no clustering exceeds, from eigenvalues: the certificates of the clusterers."""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from ..core.answer import Certificate
from ..core.errors import NotSolvedError
from .kernels import DENSE, Gram, indicator

#: A bound that is below the value reached by more than this part of the kernel's trace is wrong: for a kernel in double
#: precision, and in single.
SLACK = {True: 1e-6, False: 1e-4}


def certified(problem: str, reached: float, bound: float, gram: Gram, weight: float = 0.0) -> Certificate:
    """The value reached with its bound; NotSolvedError where the bound is below the value, which no true one is."""
    size = float(np.abs(gram.diagonal).sum(axis=0)) + weight * gram.n
    if reached - bound > SLACK[gram.precision == 0.0] * size:
        raise NotSolvedError(
            f"{problem}: the bound {bound:.6g} is below the value reached, {reached:.6g}, so one of them is wrong. The "
            "kernel matrix has lost its digits: centre or rescale the features, or pass it in double precision."
        )
    return Certificate(problem, reached, max(bound, reached), scope="bound")


def deflated_bound(gram: Gram, codes: np.ndarray, weight: float, n_clusters: int, rng: np.random.Generator) -> float:
    r"""What no clustering exceeds, from kernel and fairness together; the constant vector, which all have, is apart.

    :math:`\tfrac1n \mathbf 1^\top M \mathbf 1 + \sum_{i < c} \lambda_i (P M P)`, with :math:`M = K - \lambda G G^\top`
    and :math:`P = I - \tfrac1n \mathbf 1 \mathbf 1^\top`.
    """
    # The scaled indicator Y (Y^T Y)^(-1/2) has orthonormal columns with the constant vector in their span. For more
    # than 600 points the eigenvalues are those of Lanczos steps, each raised by the length of its residual; one that
    # these steps overlook altogether would go unnoticed.
    n, m = gram.n, int(codes.max(initial=0)) + 1
    G = indicator(codes, m)

    def product(V: np.ndarray) -> np.ndarray:
        V = V - V.mean(axis=0)
        V = gram.product(V) - weight * (G @ (G.T @ V))
        return V - V.mean(axis=0)

    ones = np.ones((n, 1))
    sizes = np.bincount(codes, minlength=m).astype(float)
    constant = float(gram.product(ones).sum(axis=None)) - weight * float((sizes**2).sum(axis=0))
    if n_clusters == 1:
        return constant / n
    values, vectors = leading_eigenpairs(product, n, n_clusters - 1, rng, precision=gram.precision)
    if n > DENSE:
        values = values + np.linalg.norm(product(vectors) - vectors * values, axis=0)
    return constant / n + float(values.sum(axis=0))


# -- leading eigenvectors of a symmetric matrix that is known by its products ----------------------------------------


def leading_eigenpairs(
    product: Callable[[np.ndarray], np.ndarray], n: int, k: int, rng: np.random.Generator, *, precision: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, decreasing, and orthonormal eigenvectors (n, k) of M, ``product(V)`` being M V.

    A small matrix is decomposed whole, a large one by Lanczos steps, to the relative accuracy ``precision``.
    """
    if n <= max(DENSE, 3 * k):
        M = product(np.eye(n))
        values, vectors = np.linalg.eigh(0.5 * (M + M.T))
        return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]
    operator = LinearOperator((n, n), matvec=lambda v: product(v.reshape(-1, 1))[:, 0], dtype=np.float64)
    values, vectors = eigsh(operator, k, which="LA", v0=rng.standard_normal(n), tol=precision)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]
