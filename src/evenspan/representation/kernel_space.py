"""Directions in the feature space of a kernel: standard and fair, from the kernel matrix or from landmarks."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, eigsh

from ..core.answer import Certificate
from ..core.errors import DataError, FairWarning
from ..core.estimator import require_components, warn_caller
from ..core.kernels import RANK_CUT, Kernel
from ..core.linalg import symmetrise, top_eigenspace
from ..core.moments import GroupMoments
from .constraints import fair_basis, mean_constraints
from .fair_pca import FairPCA


class IndefiniteKernelWarning(FairWarning):
    """A kernel matrix has negative eigenvalues: no feature space belongs to it."""


@dataclass(frozen=True, eq=False)
class KernelDirections:
    """Directions in feature space as combinations of anchors; they can apply themselves and nothing else.

    Parameters
    ----------
    coef : ndarray of shape (m, k)
        Coefficients A: the directions are orthonormal, A'KA = I, where K is the kernel matrix of the anchors.
    offset : ndarray of shape (k,)
        Subtracted from the coordinates: those of the mean, or zero.
    eigenvalues : ndarray of shape (k,)
        The objective along each direction.
    certificate : Certificate
        How far from optimal they can be.
    """

    coef: np.ndarray
    offset: np.ndarray
    eigenvalues: np.ndarray
    certificate: Certificate

    def apply(self, block: np.ndarray) -> np.ndarray:
        """Coordinates (n, k) of points from their kernel values (n, m) with the anchors."""
        return block @ self.coef - self.offset


def unit_columns(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The columns of ``values`` (n, m), centred, then times the square roots of the weights and of unit length.

    Constant columns become zero.
    """
    Z = values - np.average(values, axis=0, weights=weights)
    # Once more: what rounding left of the mean of large values.
    Z -= np.average(Z, axis=0, weights=weights)
    Z *= np.sqrt(weights)[:, None]
    lengths = np.linalg.norm(Z, axis=0)
    constant = lengths <= 1e-12 * np.sqrt(weights @ values**2)
    return np.where(constant, 0.0, Z / np.where(constant, 1.0, lengths))


def witnesses(K: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns B (n, r) with B'KB = I, such that Z'Ka = 0 where (KB)'a = 0; and KB.

    With one centred indicator z, Kz is, up to its length, the witness function of the maximum mean discrepancy of the
    two groups, evaluated on the sample.
    """
    nothing = np.zeros((len(K), 0))
    size = float(np.linalg.norm(K))
    if Z.shape[1] == 0 or not Z.any() or size == 0:
        return nothing, nothing
    # An orthonormal basis first: dependent columns must not be told apart by rounding in their products.
    Q, T, _ = linalg.qr(Z, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(T))
    Q = Q[:, : int((pivots > RANK_CUT * pivots[0]).sum(axis=0))]
    values, vectors = linalg.eigh(symmetrise(Q.T @ K @ Q))
    if values[0] < -RANK_CUT * size:
        raise DataError(
            f"in this kernel the squared distance between group means is negative ({values[0]:.3g}; the matrix has "
            f"norm {size:.3g}), so that equal means say nothing. Use a positive semidefinite kernel, such as 'rbf'."
        )
    if values[0] > 1e-8 * size:
        B = (Q @ vectors) / np.sqrt(values)
        return B, K @ B
    # Means that are almost equal: products know their distance to half the digits only, coordinates to all of them.
    spectrum, U = top_eigenspace(K, len(K))
    kept = spectrum > RANK_CUT * size
    roots, U = np.sqrt(spectrum[kept]), U[:, kept]
    P, lengths, _ = linalg.svd(roots[:, None] * (U.T @ Q), full_matrices=False, check_finite=False)
    P = P[:, lengths > 1e-10 * np.sqrt(size)]
    return (U / roots) @ P, (U * roots) @ P


def leading_pairs(H: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All eigenvalues of the symmetric H in decreasing order, and the k leading ones with their eigenvectors.

    The eigenvalues come from a computation without vectors, which costs a third. The vectors of large matrices come
    from Lanczos iterations, which may miss a repeated eigenvalue; their sum beside that of all eigenvalues shows it.
    """
    n = len(H)
    values = linalg.eigvalsh(H, driver="evd", check_finite=False)[::-1]
    if n >= 500 and 20 * k <= n:
        try:
            # The start is fixed, so that equal data give equal answers; it may not be constant, which centring removes.
            theta, vectors = eigsh(H, k, which="LA", v0=np.random.default_rng(0).normal(size=n))
        except ArpackError:
            theta = np.full(k, -np.inf)
        if theta.sum(axis=0) >= values[:k].sum(axis=0) - 1e-11 * np.abs(values).max(initial=0.0):
            order = np.argsort(-theta, kind="stable")
            return values, theta[order], vectors[:, order]
    return values, *top_eigenspace(H, k)


def leading_directions(
    K: np.ndarray, weights: np.ndarray, Z: np.ndarray, k, *, center: bool, d: int
) -> tuple[KernelDirections, int, int]:
    r"""The k best directions that have equal coordinates at all means that Z compares; also both ranks.

    With weights :math:`w` and feature vectors :math:`\sqrt{w_i}\varphi(x_i)` as rows of :math:`\Phi`, the directions
    :math:`u` with :math:`Z^\top \Phi u = 0` are those orthogonal to :math:`\Phi^\top B`, whose columns are
    orthonormal. Projecting these out of every row of :math:`\Phi` leaves the Gram matrix

    .. math:: K_{\text{fair}} = \Phi (I - \Phi^\top B B^\top \Phi) \Phi^\top = K - (KB)(KB)^\top ,

    and plain PCA of the rows that are left has its directions among the admissible ones: if
    :math:`K_{\text{fair}} q = \mu q` they are :math:`\Phi^\top a` with :math:`a = (q - B (KB)^\top q) / \sqrt\mu`,
    and :math:`Ka = \sqrt\mu\, q`, :math:`a^\top K a = 1`.

    Returns
    -------
    directions, rank of the deflated matrix, rank of the constraints
    """
    p = weights / weights.sum(axis=0)
    roots = np.sqrt(weights)
    means = K @ p if center else np.zeros(len(K))
    K = K - means[:, None] - means[None] + p @ means if center else K.copy()
    K *= np.outer(roots, roots)
    B, W = witnesses(K, Z)
    size = float(np.linalg.norm(K))
    H = K - W @ W.T
    # The rank is not known before; a size that is impossible is refused below, in terms of it.
    values, mu, q = leading_pairs(H, min(k, len(H)) if isinstance(k, Integral) and k > 0 else 1)
    rank = int((values > RANK_CUT * size).sum(axis=0))
    k = require_components(
        k, rank, d, f", {len(K)} rows; the kernel matrix has rank {rank} after {B.shape[1]} constraint(s)"
    )
    if values[-1] < -RANK_CUT * size:
        warn_indefinite(float(values[-1]), size)
    coef = (q - B @ (W.T @ q)) / np.sqrt(mu)
    E = K @ coef
    residual = np.abs(Z.T @ E).max(initial=0.0) / np.sqrt(size)
    # The lengths of all directions weighed by what they carry: coefficients of small ones are long, and rounded.
    lengths = np.abs(coef.T @ E - np.eye(k)) * np.sqrt(np.outer(mu, mu)) / mu[0]
    primal = float(np.einsum("nk,nk->", q, H @ q))
    certificate = Certificate(
        "sum of squared coordinates over orthonormal directions in feature space"
        + (" with equal group means" if B.shape[1] else ""),
        primal,
        float(values[:k].sum(axis=0)),
        max(float(residual), float(lengths.max(initial=0.0))),
    )
    signs = signs_of(E / roots[:, None])
    coef = coef * roots[:, None]
    coef = (coef - np.outer(p, coef.sum(axis=0)) if center else coef) * signs
    return KernelDirections(coef, means @ coef, mu, certificate), rank, B.shape[1]


def landmark_directions(
    kernel: Kernel,
    X: np.ndarray,
    landmarks: np.ndarray,
    sample: tuple,
    linear: FairPCA,
) -> tuple[KernelDirections, KernelDirections | None, int]:
    """Fair PCA of the features that the kernel values with the landmarks span; the standard ones; the rank.

    ``sample`` holds the rows of X that are fitted, their labels and weights, and the numeric constraints (their
    columns as from ``unit_columns``). With all rows as landmarks nothing is approximated.
    """
    rows, labels, weights, Z = sample
    K = kernel.matrix(X, landmarks)
    values, vectors = top_eigenspace(K, len(K))
    size = float(np.linalg.norm(values))
    if values[-1] < -RANK_CUT * size:
        warn_indefinite(float(values[-1]), size)
    kept = values > RANK_CUT * size
    basis = vectors[:, kept] / np.sqrt(values[kept])
    if not kept.any():
        raise DataError("the kernel matrix of the landmarks has no positive eigenvalue. Check the kernel and the data.")
    anchors = kernel.anchors(X, landmarks)
    products = np.zeros((basis.shape[1], Z.shape[1]))

    def batches():
        for part, block in kernel.blocks(X[rows], anchors):
            F = block @ basis
            products[:] += F.T @ (np.sqrt(weights[part])[:, None] * Z[part])
            yield F, labels[part], weights[part]

    moments = GroupMoments.from_batches(batches())
    groups = moments.cells() if linear.attributes == "intersection" else moments
    total = groups.second_moment
    constraints = np.hstack([mean_constraints(groups), products])
    R = fair_basis(constraints, float(np.sqrt(np.trace(total))))
    fair = linalg.eigvalsh(symmetrise(R.T @ (groups.scatter if linear.center else total) @ R))
    rank = int((fair > RANK_CUT * np.linalg.norm(total)).sum(axis=0))
    require_components(
        linear.n_components,
        rank,
        X.shape[1],
        f", {len(landmarks)} landmarks; their features have rank {rank} after {moments.d - R.shape[1]} constraint(s)",
    )
    linear._fit_moments(moments, products)

    def directions(subspace):
        S = (moments.scatter if linear.center else moments.second_moment) @ subspace.V
        coef, offset = basis @ subspace.V, subspace.mean @ subspace.V
        signs = signs_of(K @ coef - offset)
        eigenvalues = np.einsum("dk,dk->k", subspace.V, S)
        return KernelDirections(coef * signs, offset * signs, eigenvalues, subspace.certificate)

    standard = None if linear.standard_subspace_ is None else directions(linear.standard_subspace_)
    return directions(linear.subspace_), standard, rank


def signs_of(E: np.ndarray) -> np.ndarray:
    """Signs that make the largest coordinate in every column positive."""
    return np.where(E[np.argmax(np.abs(E), axis=0), np.arange(E.shape[1])] < 0, -1.0, 1.0)


def warn_indefinite(smallest: float, size: float) -> None:
    """Say what an indefinite kernel leaves valid."""
    warn_caller(
        f"the kernel matrix has the eigenvalue {smallest:.3g} (its norm is {size:.3g}), so no feature space belongs to "
        "it. Group means of the output still coincide, and only directions of positive eigenvalue are taken; that "
        "no other answer keeps more does not hold. Use a positive semidefinite kernel, such as 'rbf', for that.",
        IndefiniteKernelWarning,
    )
