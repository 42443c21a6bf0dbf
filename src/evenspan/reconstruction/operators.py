r"""Linear operators that stand for a fractional solution :math:`0 \preceq X \preceq I` with trace k.

A fractional X is not a projector: what it "keeps", :math:`\operatorname{tr} S X`, is not the variance kept by any map
of rank k. The symmetric operator whose *literal* squared error equals the linear value of X is the square-root map
below.
"""

import numpy as np

from ..core.linalg import symmetrise, top_eigenspace


def square_root_map(X: np.ndarray) -> np.ndarray:
    r"""The operator whose squared error is linear in X.

    .. math:: P^* = I - (I - X)^{1/2}, \qquad \lVert x - P^* x \rVert^2 = x^\top (I - X)\, x .

    Eigenvalues of X outside [0, 1] by rounding are clipped.

    References
    ----------
    Samadi et al. (2018), Algorithm 1, last step.
    """
    values, vectors = np.linalg.eigh(symmetrise(X))
    return (vectors * (1.0 - np.sqrt(1.0 - np.clip(values, 0.0, 1.0)))) @ vectors.T


def operator_rank(P: np.ndarray, *, tol: float = 1e-6) -> int:
    """The number of eigenvalues of the symmetric P above ``tol``."""
    return int((np.linalg.eigvalsh(symmetrise(P)) > tol).sum(axis=0))


def operator_range(P: np.ndarray, *, tol: float = 1e-6) -> np.ndarray:
    """Orthonormal basis of the range of the symmetric P, by decreasing eigenvalue, shape (d, rank)."""
    return top_eigenspace(P, operator_rank(P, tol=tol))[1]


def truncate(P: np.ndarray, k: int) -> np.ndarray:
    """The k leading eigenvectors of the symmetric P, shape (d, k): a heuristic that drops the rest of a wider P."""
    return top_eigenspace(P, k)[1]


def operator_errors(matrices: np.ndarray, P: np.ndarray) -> np.ndarray:
    r"""Literal squared error of the linear map x -> Px for every group, shape (G,).

    .. math:: e_g(P) = \operatorname{tr} (I - P)^\top S_g (I - P),

    for maps on rows, :math:`x^\top \mapsto x^\top P`. For an orthogonal projector this is
    :math:`\operatorname{tr} S_g - \operatorname{tr} S_g P`; for another P the two differ.
    """
    rest = np.eye(len(P)) - P
    return np.einsum("de,gdf,fe->g", rest, matrices, rest, optimize=True)
