r"""Fair PCA with any number of groups: the answer of the relaxation, rounded to a projector.

A fractional solution :math:`X = \sum_j x_j u_j u_j^\top` of :mod:`evenspan.reconstruction.relaxation` bounds every
projector. It is one itself where the k-th eigenvalue is simple at the best weights. Where it is not, directions
:math:`F Y F^\top` among the fractional eigenvectors change the value of no group relative to the others, as long as
there are more of them than groups; beyond that every projector near X can lose something, and the best one is sought.
"""

from typing import Literal

import numpy as np

from ..core.answer import Certificate
from ..core.linalg import symmetrise, top_eigenspace
from ..core.options import one_of
from .group_errors import best_kept, kept
from .relaxation import FLOOR, RTOL, extended, relax

Objective = Literal["loss", "error"]
#: An eigenvalue this close to 0 or 1 counts as being there.
INTEGRAL = 1e-6


def criteria_offsets(matrices: np.ndarray, k: int, objective: Objective) -> np.ndarray:
    """What kept variance is subtracted from before the maximum over groups is taken, shape (G,)."""
    one_of("loss", "error").require("objective", objective)
    return best_kept(matrices, k) if objective == "loss" else np.trace(matrices, axis1=1, axis2=2)


def fill_trace(X: np.ndarray, k: int) -> np.ndarray:
    """X raised to trace k, largest eigenvalues first: no group keeps less."""
    values, vectors = np.linalg.eigh(symmetrise(X))
    values = np.clip(values, 0.0, 1.0)
    room = 1.0 - values[::-1]
    before = np.cumsum(room) - room
    values += np.clip(k - values.sum(axis=0) - before, 0.0, room)[::-1]
    return (vectors * values) @ vectors.T


def reduce_rank(X: np.ndarray, matrices: np.ndarray, k: int) -> np.ndarray:
    """An extreme point at which no group keeps less than at X (Tantipongpipat et al. 2019, Theorem 1.7, Section 3)."""
    # While the fractional eigenvalues leave a symmetric direction that changes the kept variance of all groups by the
    # same amount, X moves along it, upwards, until an eigenvalue becomes 0 or 1. With G groups q fractional eigenvalues
    # remain where q(q + 1)/2 is at most G.
    held = matrices[1:] - matrices[:1]
    values, vectors = np.linalg.eigh(fill_trace(X, k))
    while True:
        values = np.clip(values, 0.0, 1.0)
        values[values < INTEGRAL] = 0.0
        values[values > 1.0 - INTEGRAL] = 1.0
        free = np.flatnonzero((values > 0.0) & (values < 1.0))
        q = len(free)
        if q == 1:  # the trace is a whole number
            values[free] = np.round(values[free])
        if q <= 1 or q * (q + 1) // 2 <= len(held) + 1:
            return (vectors * values) @ vectors.T
        F = vectors[:, free]
        upper = np.triu_indices(q)
        # Off-diagonal entries count twice in a trace.
        double = np.where(upper[0] == upper[1], 1.0, 2.0)
        size = max(float(np.abs(matrices).max()), np.finfo(float).tiny)
        rows = [np.eye(q)[upper]] + [(F.T @ B @ F / size)[upper] * double for B in held]
        Y = np.zeros((q, q))
        Y[upper] = np.linalg.svd(np.array(rows))[2][-1]
        Y = Y + np.triu(Y, 1).T
        Y = Y if np.vdot(F.T @ matrices[-1] @ F, Y) >= 0 else -Y
        x = values[free]
        down = -Y / np.sqrt(np.outer(x, x))
        up = Y / np.sqrt(np.outer(1.0 - x, 1.0 - x))
        t = 1.0 / max(float(np.linalg.eigvalsh(down)[-1]), float(np.linalg.eigvalsh(up)[-1]))
        moved, rotation = np.linalg.eigh(np.diag(x) + t * Y)
        nearest = int(np.argmin(np.minimum(moved, 1.0 - moved)))
        moved[nearest] = np.round(moved[nearest])  # it is there; rounding must not keep it fractional
        values[free], vectors[:, free] = moved, F @ rotation


def round_iteratively(Z: np.ndarray, H: np.ndarray, k: int) -> np.ndarray:
    """A basis (p, k) from a fractional solution, giving up one group after the other (the same, Section 4)."""
    # The solution is moved to an extreme point. While it stays fractional there, the group that has least to keep in
    # the fractional directions is no longer watched; it loses at most that.
    watched = list(range(len(H)))
    while watched:
        Z = reduce_rank(Z, H[watched], k)
        values, vectors = np.linalg.eigh(Z)
        free = (values > INTEGRAL) & (values < 1.0 - INTEGRAL)
        if not free.any():
            break
        F, s = vectors[:, free], round(float(values[free].sum(axis=0)))
        watched.pop(int(np.argmin(best_kept(F.T @ H[watched] @ F, s))))
    return top_eigenspace(Z, k)[1]


def smoothed(z: np.ndarray, tau: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The maximum of z (G,), smoothed over tau: its value, gradient and Hessian."""
    w = np.exp((z - z.max(axis=0)) / tau)
    total = float(w.sum(axis=0))
    w = w / total
    return float(z.max(axis=0)) + tau * float(np.log(total)), w, (np.diag(w) - np.outer(w, w)) / tau


def descend(a: np.ndarray, H: np.ndarray, V: np.ndarray, *, rtol: float = 1e-9) -> np.ndarray:
    """A basis (p, k) at which the largest a - v has a local minimum over projectors, near V."""
    # Newton's method on the Grassmann manifold, each step by conjugate gradients, for a maximum that is smoothed less
    # and less. With Gamma_g = 2 (I - VV') S_g V and the weights w and second derivatives C of the smoothed maximum,
    # grad = -sum_g w_g Gamma_g, and Hess[Z] = -2 (I - VV') (S(w) Z - Z V'S(w)V) + sum_gh C_gh <Gamma_g, Z> Gamma_h.
    z = a - kept(H, V)
    best, least = V, float(z.max(axis=0))
    end = rtol * max(abs(least), FLOOR * float(np.abs(a - z).max(axis=0)))
    tau = max(0.1 * float(np.ptp(z)), end)
    while True:
        for _ in range(30):
            images = H @ V
            f, w, C = smoothed(a - np.einsum("pk,gpk->g", V, images), tau)
            slopes = 2.0 * (images - V @ (V.T @ images))
            S = np.tensordot(w, H, axes=1)
            step = _conjugate_gradients(V, S, slopes, C, np.tensordot(w, slopes, axes=1))
            step *= min(1.0, 0.5 / max(float(np.linalg.norm(step)), np.finfo(float).tiny))
            rise = -float(w @ np.tensordot(slopes, step, axes=2))
            for share in 0.5 ** np.arange(30):
                new = np.linalg.qr(V + share * step)[0]
                if smoothed(a - kept(H, new), tau)[0] <= f + 1e-4 * share * rise:
                    break
            else:
                break
            V = new
            value = float((a - kept(H, V)).max(axis=0))
            if value < least:
                best, least = V, value
            if -rise <= 1e-3 * tau:
                break
        if tau <= end:
            return best
        tau = max(0.2 * tau, end)


def _conjugate_gradients(V, S, slopes, C, ascent) -> np.ndarray:
    """The Newton step (p, k), or the direction reached when the Hessian bends downwards."""
    A = V.T @ S @ V

    def hessian(Z):
        Y = 2.0 * (Z @ A - S @ Z)
        return Y - V @ (V.T @ Y) + np.tensordot(C @ np.tensordot(slopes, Z, axes=2), slopes, axes=1)

    Z, rest, size = np.zeros_like(V), ascent, float(np.linalg.norm(ascent))
    direction, square = rest, size**2
    for _ in range(200):
        image = hessian(direction)
        bend = float(np.vdot(direction, image))
        if not bend > 0:
            return Z if Z.any() else direction
        Z = Z + square / bend * direction
        rest = rest - square / bend * image
        before, square = square, float(np.vdot(rest, rest))
        if np.sqrt(square) <= min(0.1, size) * size:
            break
        direction = rest + square / before * direction
    return Z


def solve_multi_criteria(
    matrices: np.ndarray, k: int, objective: Objective = "loss", offsets: np.ndarray | None = None
) -> tuple[np.ndarray, Certificate]:
    """A projector (d, k) for any number of groups, rounded from the relaxation, with the bound of the relaxation.

    It is the best local minimum near the fractional solution; the gap is zero for two groups, often positive for more.
    ``offsets`` (G,) stand in the place of those of the objective.
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    a = criteria_offsets(matrices, k, objective) if offsets is None else offsets
    relaxed = relax(matrices, k, a)
    Q, H = relaxed.Q, relaxed.H

    def value(V):
        return float((a - kept(H, V)).max(axis=0))

    values, V = top_eigenspace(relaxed.Z, k)
    near = [V] if values[-1] >= 1.0 - INTEGRAL else [V, round_iteratively(relaxed.Z, H, k)]
    V = min((descend(a, H, V) for V in near), key=value)
    reached = value(V)
    while True:  # a local minimum of the span, until it is one of the whole space
        w = smoothed(a - kept(H, V), 1e-6 * max(abs(reached), FLOOR))[1]
        Q, H, grown = extended(matrices, Q, H, np.tensordot(w, matrices, axes=1) @ (Q @ V))
        V = descend(a, H, np.vstack([V, np.zeros((Q.shape[1] - len(V), k))]))
        before, reached = reached, value(V)
        if not grown or before - reached <= RTOL * abs(reached):
            break
    problem = f"largest {objective} of the groups over projectors of rank {k}"
    weights = tuple(float(w) for w in relaxed.weights)
    return Q @ V, Certificate(problem, reached, relaxed.bound, 0.0, "min", weights, relaxed.evaluations, "bound")
