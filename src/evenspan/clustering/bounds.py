"""Upper bounds that no clustering exceeds, from eigenvalues: the certificates of the clusterers."""

import numpy as np

from ..core.answer import Certificate
from ..core.errors import NotSolvedError
from ..core.linalg import DENSE, leading_eigenpairs
from .kernels import Gram, indicator

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
