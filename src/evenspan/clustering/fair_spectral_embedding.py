"""The relaxed problem of fair spectral clustering: on the null space of its constraints, or by projected Lanczos."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..core.answer import Certificate, ky_fan_certificate
from ..core.errors import ComponentsError, ConfigurationError
from ..core.estimator import warn_caller
from ..core.linalg import complement, fix_signs, symmetrise, top_eigenspace

#: Up to so many samples "auto" takes the null space, whose certificate is a proof.
SMALL = 800
#: A gap of eigenvalues below this, relative to the largest possible eigenvalue, counts as none.
TIE = 1e-9
#: Restarts after which Lanczos gives up.
MAX_RESTARTS = 2000


@dataclass(frozen=True)
class FairEmbedding:
    """The relaxed answer: coordinates of the samples, with what is known of their optimality.

    Parameters
    ----------
    H : ndarray of shape (n, c)
        The coordinates.
    eigenvalues : ndarray of shape (c,)
        Of the Laplacian on the feasible vectors, increasing.
    gap : float
        By how much the next eigenvalue exceeds the last of them; inf if there is no next one.
    residuals : ndarray of shape (c,)
        Length of what remains of each eigenvalue equation, relative to the largest possible eigenvalue.
    converged : bool
        Whether Lanczos reached its tolerance; True for the null space.
    certificate : Certificate or None
        Of the trace; None for Lanczos.
    """

    H: np.ndarray
    eigenvalues: np.ndarray
    gap: float
    residuals: np.ndarray
    converged: bool
    certificate: Certificate | None


def share_constraints(codes: np.ndarray, G: int) -> np.ndarray:
    """The columns of F, shape (n, G - 1): indicators of all groups but the last, less the share of the group."""
    indicators = codes[:, None] == np.arange(G - 1)
    return indicators - indicators.mean(axis=0)


def constraint_residual(F: np.ndarray, H: np.ndarray) -> float:
    """Largest absolute cosine between a column of F and a column of H."""
    F = F[:, F.any(axis=0)]
    lengths = np.outer(np.linalg.norm(F, axis=0), np.linalg.norm(H, axis=0))
    return float(np.abs(F.T @ H / lengths).max(initial=0.0))


def fair_embedding(W, degrees: np.ndarray, F: np.ndarray, c: int, *, laplacian, solver, rng) -> FairEmbedding:
    """The c smoothest orthonormal vectors on the graph W that are orthogonal to the columns of F.

    Parameters
    ----------
    W : csr_array or ndarray of shape (n, n)
        Affinities, every degree positive.
    degrees : ndarray of shape (n,)
        Its row sums.
    F : ndarray of shape (n, m)
        Constraints; linearly dependent columns are allowed.
    c : int
        How many vectors.
    laplacian : {"normalized", "unnormalized"}
        In which inner product they are orthonormal: that of the degrees or the plain one.
    solver : {"null_space", "lanczos"}
        How they are found.
    rng : Generator
        Starts of Lanczos.

    Returns
    -------
    FairEmbedding
    """
    for name, value, allowed in (
        ("laplacian", laplacian, ("normalized", "unnormalized")),
        ("solver", solver, ("null_space", "lanczos")),
    ):
        if not isinstance(value, str) or value not in allowed:
            raise ConfigurationError(f"{name}={value!r}; needed is one of {', '.join(allowed)}.")
    weights = degrees if laplacian == "normalized" else np.ones(len(degrees))
    shift = 2.0 * float((degrees / weights).max())  # by Gershgorin no eigenvalue is larger
    Q = _orthonormal(F / np.sqrt(weights)[:, None])
    free = len(degrees) - Q.shape[1]
    if c > free:
        raise ComponentsError(
            f"n_clusters={c}, but only {free} independent vectors meet the {Q.shape[1]} group constraints on "
            f"{len(degrees)} samples. Ask for at most {free} clusters."
        )
    if solver == "null_space":
        found = _null_space(W, degrees, weights, F, c, shift)
    else:
        found = _lanczos(W, degrees, weights, Q, c, shift, rng)
    if found.gap <= TIE * shift:
        warn_caller(
            f"eigenvalues {c} and {c + 1} of the constrained Laplacian agree to {max(found.gap, 0.0):.2g}: the "
            "embedding is one of many equally good ones. The graph may have more components than n_clusters."
        )
    return found


def _orthonormal(C: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns of C, of their numerical rank."""
    if not C.size:
        return C[:, :0]
    Q, T, _ = linalg.qr(C, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(T))
    return Q[:, pivots > 1e-10 * pivots[0]]


def _null_space(W, degrees, weights, F, c, shift) -> FairEmbedding:
    W = W.toarray() if sparse.issparse(W) else W
    Z = complement(F)
    shifted = symmetrise(Z.T @ ((shift * weights - degrees)[:, None] * Z + W @ Z))  # Z'(sD - L)Z
    # Any root of Z'DZ serves: with the Cholesky factor instead of the symmetric one H is the same.
    root = np.linalg.cholesky(symmetrise(Z.T @ (weights[:, None] * Z)))
    half = linalg.solve_triangular(root, shifted, lower=True, check_finite=False)
    A = symmetrise(linalg.solve_triangular(root, half.T, lower=True, check_finite=False))
    values, U = top_eigenspace(A, min(c + 1, len(A)))
    gap = float(values[c - 1] - values[c]) if len(values) > c else np.inf
    values, U = values[:c], U[:, :c]
    H = fix_signs(Z @ linalg.solve_triangular(root, U, lower=True, trans="T", check_finite=False))
    problem = "trace of H'(sD - L)H over H with H'DH = I and F'H = 0"
    certificate = ky_fan_certificate(A, U, problem, constraint_residual(F, H))
    residuals = np.linalg.norm(A @ U - U * values, axis=0) / shift
    return FairEmbedding(H, shift - values, gap, residuals, True, certificate)


def _lanczos(W, degrees, weights, Q, c, shift, rng) -> FairEmbedding:
    n, root = len(degrees), np.sqrt(weights)
    if c + 2 > n:
        raise ConfigurationError(
            f"solver='lanczos' finds at most {n - 2} vectors of {n} samples, and n_clusters={c}. Use "
            "solver='null_space'."
        )
    diagonal = shift - degrees / weights

    def feasible(y):
        return y - Q @ (Q.T @ y)

    def operator(y):
        # sI - L on the feasible vectors, which makes the wanted ones the largest, and -s/2 on the others.
        inside = feasible(y)
        return feasible(diagonal * inside + (W @ (inside / root)) / root) - 0.5 * shift * (y - inside)

    def deflated(y):
        along = Y.T @ y
        return operator(y - Y @ along) - shift * (Y @ along)

    Y, converged = _largest(operator, feasible(rng.normal(size=n)), c, 1e-12)
    Y, gap = np.linalg.qr(feasible(Y))[0], np.inf
    for _ in range(c if c < n - Q.shape[1] else 0):
        # Lanczos may overlook copies of a multiple eigenvalue: look in what it has left.
        lowest = float(np.vdot(Y[:, -1], operator(Y[:, -1])))
        other, seen = _largest(deflated, feasible(rng.normal(size=n)), 1, 1e-6)
        gap = lowest - float(np.vdot(other, operator(other[:, 0])))
        converged &= seen
        if gap >= -TIE * shift:
            break
        other, seen = _largest(deflated, other[:, 0], 1, 1e-12)
        both, _ = np.linalg.qr(feasible(np.column_stack([Y, other])))
        _, U = top_eigenspace(both.T @ np.column_stack([operator(y) for y in both.T]), c)
        Y, converged = both @ U, converged & seen
    image = np.column_stack([operator(y) for y in Y.T])
    values = np.einsum("nc,nc->c", Y, image)
    residuals = np.linalg.norm(image - Y * values, axis=0) / shift
    if not converged:
        warn_caller(
            f"Lanczos stopped before its tolerance; the eigenvalue equations hold to {residuals.max():.2g} of the "
            "largest possible eigenvalue. Use solver='null_space', or more neighbours."
        )
    return FairEmbedding(fix_signs(Y / root[:, None]), shift - values, gap, residuals, converged, None)


def _largest(operator, start: np.ndarray, k: int, tol: float) -> tuple[np.ndarray, bool]:
    """Eigenvectors (n, k) of the k largest eigenvalues, decreasing, and whether the tolerance was reached."""
    n = len(start)
    matrix = LinearOperator((n, n), matvec=lambda y: operator(y.ravel()), dtype=np.float64)
    size = min(n, max(2 * k + 1, k + 20))
    try:
        values, vectors = eigsh(matrix, k, which="LA", v0=start, ncv=size, tol=tol, maxiter=MAX_RESTARTS)
        return vectors[:, np.argsort(-values, kind="stable")], True
    except ArpackNoConvergence:
        size = min(n, 4 * size)
    try:
        values, vectors = eigsh(matrix, k, which="LA", v0=start, ncv=size, tol=1e-5, maxiter=MAX_RESTARTS)
        return vectors[:, np.argsort(-values, kind="stable")], False
    except ArpackNoConvergence as error:
        raise ConfigurationError(
            f"Lanczos found {len(error.eigenvalues)} of {k} eigenvectors in {MAX_RESTARTS} restarts: the smallest "
            "eigenvalues of this graph lie too close together. Use solver='null_space', or more neighbours."
        ) from error
