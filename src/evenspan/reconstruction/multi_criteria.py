r"""Fair PCA with any number of groups: relaxation by Newton's method in the weights of the groups, and rounding.

.. math:: \max_P \; g\bigl(\operatorname{tr} S_1 P, \dots, \operatorname{tr} S_G P\bigr)

for a concave increasing g: the smallest kept variance, the largest loss or error (negative), or the Nash social welfare
:math:`(\prod_g \operatorname{tr} S_g P)^{1/G}`. The *fractional* optimum, over :math:`0 \preceq X \preceq I` with
:math:`\operatorname{tr} X = k`, bounds every projector. With two groups a projector reaches it; with more it need not,
and the certificate keeps the gap that is left. Its dual has one unknown for each group and no matrix,

.. math::
    \min_X \max_g \; a_g - \operatorname{tr} S_g X
        \;=\; \max_w \; a^\top w - \operatorname{top}_k S(w), \qquad S(w) = \sum_g w_g S_g ,

but is not smooth. Barriers make it so. With :math:`-\mu \log\det X(I - X)` the inner problem has a closed form: X has
the eigenvectors of S(w), and of its eigenvalue :math:`\lambda_i` the share :math:`x_i` in (0, 1) for which

.. math:: \frac{1}{1 - x_i} - \frac{1}{x_i} = \frac{\lambda_i - \nu}{\mu}, \qquad \sum_i x_i = k ,

from a quadratic equation, :math:`\nu` being a level as Fermi's is. What is left to maximise over the simplex is

.. math::
    a^\top w + \mu \sum_g \log w_g
        - \max_X \bigl(\operatorname{tr} S(w) X + \mu \log\det X (I - X)\bigr)

by Newton's method in G numbers, for :math:`\mu` that falls tenfold. Inside, the gap is below
:math:`\mu (2d + G)`. Nash social welfare has the same dual with :math:`a = 0`, the weight 1/G in place of
:math:`\mu` before the logarithms, and w free: at its optimum :math:`w_g = 1 / (G \operatorname{tr} S_g X)`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg
from scipy.optimize import brentq, linprog

from ..core.answer import Certificate
from ..core.errors import ConfigurationError, DataError, NotSolvedError
from ..core.linalg import symmetrise, top_eigenspace
from .group_errors import best_kept, kept, square_root_map

Objective = Literal["loss", "error", "variance", "nsw"]
#: Gap of a relaxation over its value; and over the data, where the value is zero.
RTOL, FLOOR = 1e-8, 1e-13
#: Eigenvectors beyond the k-th that join the span at every weight.
BUFFER = 3
#: Newton steps after which a path ends where it is; 30 are usual.
STEPS = 200
#: An eigenvalue this close to 0 or 1 counts as being there.
INTEGRAL = 1e-6
#: Random roundings of a fractional answer that are tried besides the two ways to round it.
DRAWS = 8


def criteria_offsets(matrices: np.ndarray, k: int, objective: Objective) -> np.ndarray:
    """What kept variance is subtracted from before the maximum over groups is taken, shape (G,)."""
    if objective == "loss":
        return best_kept(matrices, k)
    if objective == "error":
        return np.trace(matrices, axis1=1, axis2=2)
    if objective == "variance":
        return np.zeros(len(matrices))
    raise ConfigurationError(f"objective={objective!r}; needed is 'loss', 'error', 'variance' or 'nsw'.")


def nash_welfare(variances: np.ndarray) -> float:
    """Geometric mean of the kept variances."""
    return float(np.exp(np.log(variances).mean(axis=0))) if (variances > 0).all() else 0.0


@dataclass(frozen=True, eq=False)
class Criterion:
    """What is minimised, of the kept variances v (G,): the largest a - v, or without a minus their mean logarithm."""

    a: np.ndarray | None

    def value(self, v: np.ndarray) -> float:
        if self.a is not None:
            return float((self.a - v).max(axis=0))
        return -float(np.log(v).mean(axis=0)) if (v > 0).all() else np.inf

    def dual(self, w: np.ndarray, top: float) -> float:
        """A bound on every value, from weights and the sum of the k largest eigenvalues there."""
        if self.a is not None:
            return float(w @ self.a) - top
        return float(np.log(len(w) * w).mean(axis=0)) + 1.0 - top

    def normal(self, w: np.ndarray) -> np.ndarray:
        """Weights of a maximum sum to one; those of the mean logarithm are free."""
        return w / w.sum(axis=0) if self.a is not None else w

    def barrier(self, mu: float, G: int) -> float:
        """What multiplies the sum of the logarithms of the weights in the dual."""
        return mu if self.a is not None else 1.0 / G

    def smooth(self, v: np.ndarray, tau: float) -> tuple[float, np.ndarray, np.ndarray]:
        """The value with the maximum smoothed over tau, minus its gradient in v, and its Hessian."""
        G = len(v)
        if self.a is None:
            return self.value(v), 1.0 / (G * v), np.diag(1.0 / (G * v**2))
        z = (self.a - v - (top := self.value(v))) / tau
        w = np.exp(z)
        total = float(w.sum(axis=0))
        w = w / total
        return top + tau * float(np.log(total)), w, (np.diag(w) - np.outer(w, w)) / tau


# -- the relaxation ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A solved relaxation: a fractional solution in a small basis, its value, and a bound that trusts no solver.

    Parameters
    ----------
    Q : ndarray of shape (d, p)
        Orthonormal basis of the span that holds the solution.
    Z : ndarray of shape (p, p)
        The solution there, of eigenvalues in [0, 1] and trace k.
    H : ndarray of shape (G, p, p)
        The matrices of the groups there.
    value : float
        The criterion at the solution.
    bound : float
        The dual value at ``weights``, from the leading eigenvalues of the whole matrix.
    weights : ndarray of shape (G,)
        Of the groups, positive; of a maximum they sum to one.
    evaluations : int
        Eigenvalue problems of order d that were solved.
    """

    Q: np.ndarray
    Z: np.ndarray
    H: np.ndarray
    value: float
    bound: float
    weights: np.ndarray
    evaluations: int

    @property
    def X(self) -> np.ndarray:
        """The solution, (d, d)."""
        return self.Q @ self.Z @ self.Q.T


def relax(matrices: np.ndarray, k: int, a: np.ndarray | None, *, rtol: float = RTOL) -> Relaxation:
    """Solve the relaxation with offsets ``a`` (G,): losses with the best each group can keep, errors with traces.

    With ``a`` None the mean logarithm of the kept variances is maximised, as minus itself, for Nash social welfare.

    The problem is solved within the span of leading eigenvectors at a few weights. The weights found there are a guess
    for the whole: the leading eigenvectors at them give the bound, and join the span until it meets the value.

    Complexity
    ----------
    G eigenvalue problems of order d and a few more, O(d^3) each; some 40 steps of O(G p^3) for each of these few, with
    p about (G + 3) k columns.
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    criterion = Criterion(None if a is None else np.asarray(a, dtype=np.float64))
    G, d, _ = matrices.shape
    traces = np.trace(matrices, axis1=1, axis2=2)
    floor = FLOOR * (float(traces.max(axis=0)) if a is not None else 1.0)
    w = criterion.normal(1.0 / (G * np.maximum(traces * k / d, np.finfo(float).tiny)))

    def leading(w):
        return top_eigenspace(np.tensordot(w, matrices, axes=1), min(k + BUFFER, d))

    new = [top_eigenspace(S, k)[1] for S in matrices] if G * k < d else []
    evaluations = len(new) + 1
    new = np.hstack([*new, leading(w)[1]])
    Q, H, bound, weights, grown = np.zeros((d, 0)), np.zeros((G, 0, 0)), -np.inf, w, True
    mu = max(0.1 * float(w @ traces) / d, np.finfo(float).tiny)
    while grown:
        Q, H, grown = extended(matrices, Q, H, new)
        w, Z, value = central_path(criterion, H, k, w, mu, 0.1 * rtol, floor)
        top, new = leading(w)
        evaluations += 1
        dual = criterion.dual(w, float(top[:k].sum(axis=0)))
        if dual > bound:
            bound, weights = dual, w
        mu = min(mu, (value - bound) / len(Z))
        grown = grown and value - bound > max(rtol * abs(value), floor)
    return Relaxation(Q, Z, H, value, bound, weights, evaluations)


def extended(matrices: np.ndarray, Q: np.ndarray, H: np.ndarray, columns: np.ndarray):
    """Orthonormal basis of the span of Q and ``columns``, the matrices in it, and whether anything was new."""
    for _ in range(2):  # twice is enough to be orthogonal to rounding error
        left, sizes, _ = np.linalg.svd(columns - Q @ (Q.T @ columns), full_matrices=False)
        columns = left[:, sizes > 1e-10]
    columns = columns[:, : len(Q) - Q.shape[1]]
    images = matrices @ columns
    cross = Q.T @ images
    H = np.block([[H, cross], [cross.swapaxes(1, 2), columns.T @ images]])
    return np.hstack([Q, columns]), 0.5 * (H + H.swapaxes(1, 2)), columns.shape[1] > 0


def central_path(
    criterion: Criterion, H: np.ndarray, k: int, w: np.ndarray, mu: float, rtol: float, floor: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights, fractional solution (p, p) and its value, within ``rtol`` or ``floor`` of the dual value.

    ``w`` and ``mu`` are where the path is entered. Where rounding allows no further progress, it ends with the nearest
    that it came.
    """
    G, p, _ = H.shape
    pairs, diagonal = np.triu_indices(p, 1), np.arange(p)
    w = criterion.normal(np.maximum(w, 1e-6 * w.max(axis=0)))
    best, Z, bound, weights = np.inf, np.zeros((p, p)), -np.inf, w
    for _ in range(STEPS):
        values, U = np.linalg.eigh(np.tensordot(w, H, axes=1))
        dual = criterion.dual(w, float(values[-k:].sum(axis=0)))
        if dual > bound:
            bound, weights = dual, w
        x, y = shares(values, k, mu)
        M = U.T @ H @ U
        inner = M[:, diagonal, diagonal]
        v = inner @ x
        # How X answers to S: each entry by the slope of the shares between its two eigenvalues, the diagonal less what
        # keeps the trace. The Hessian is N N', a sum of squares; N itself has twice its digits.
        slopes = 1.0 / (mu * (1.0 / np.outer(x, x) + 1.0 / np.outer(y, y)))
        own = slopes[diagonal, diagonal]
        steady = inner - (inner @ own / own.sum(axis=0))[:, None]
        barrier = criterion.barrier(mu, G)
        # Steps are relative to w, so that weights next to zero keep their digits too.
        N = np.hstack([M[:, *pairs] * np.sqrt(2.0 * slopes[pairs]), steady * np.sqrt(own)]) * w[:, None]
        N = np.hstack([N, np.sqrt(barrier) * np.eye(G)])
        gradient = barrier - w * v + (0.0 if criterion.a is None else w * criterion.a)
        step = newton_step(N, gradient, None if criterion.a is None else w)
        decrement = float(np.sqrt(max(step @ gradient, 0.0) / mu))
        if decrement < 1.0:  # then the linear prediction of X has eigenvalues in [0, 1] as well, and trace k
            moved = slopes * np.tensordot(w * step, M, axes=1)
            turned = own * ((w * step) @ steady)
            moved[diagonal, diagonal] = turned - own * (turned.sum(axis=0) / own.sum(axis=0))
            value = criterion.value(v + np.tensordot(M, moved, axes=2))
            if value < best:
                best, Z = value, symmetrise(U @ (np.diag(x) + moved) @ U.T)
        if np.isfinite(best) and best - bound <= max(rtol * abs(best), floor):
            break
        damped = min(1.0, 2.0 / (1.0 + decrement))  # twice the cautious step: X is feasible at every positive w
        w = criterion.normal(w * np.maximum(1.0 + damped * step, 0.05))
        if decrement < 0.5:
            mu *= 0.1
    if np.isinf(best):
        raise NotSolvedError(
            f"the weights of {G} groups did not come near their best in {STEPS} steps (in {p} dimensions, rank {k}). "
            "Standardise the data, or use solver='mw'."
        )
    values, U = np.linalg.eigh(Z)
    values = np.clip(values, 0.0, 1.0)
    Z = (U * (values * min(1.0, k / values.sum(axis=0)))) @ U.T
    return weights, Z, criterion.value(np.tensordot(H, Z, axes=2))


def shares(values: np.ndarray, k: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """The shares x of the eigenvalues (p,), in increasing order, which sum to k; and 1 - x without cancellation."""
    p = len(values)
    distances = (values - values[-k]) / mu  # a level near the k-th eigenvalue has all its digits

    def at(level):
        s = distances - level
        small = 2.0 / (2.0 + np.abs(s) + np.sqrt(s * s + 4.0))
        return np.where(s > 0, 1.0 - small, small), np.where(s > 0, small, 1.0 - small)

    even = p / (p - k) - p / k  # where s is this, the share is k / p
    low, high = distances[0] - even, distances[-1] - even
    return at(brentq(lambda level: at(level)[0].sum(axis=0) - k, low - 1.0, high + 1.0, xtol=1e-14, maxiter=500))


def newton_step(N: np.ndarray, gradient: np.ndarray, normal: np.ndarray | None) -> np.ndarray:
    """The solution of N N' step = gradient, or of = gradient - c normal with normal' step = 0; to full precision."""
    R = np.linalg.qr(N.T, mode="r")

    def solve(rest):
        return linalg.solve_triangular(R, linalg.solve_triangular(R, rest, trans="T"))

    across = solve(normal) if normal is not None else None
    step = np.zeros(len(N))
    for _ in range(3):
        part = solve(gradient - N @ (N.T @ step))
        if normal is not None:
            shift = normal @ (step + part) / (normal @ across)
            part, gradient = part - shift * across, gradient - shift * normal
        step = step + part
    return step


# -- rounding ----------------------------------------------------------------------------------------------------------


def round_by_lp(matrices: np.ndarray, k: int, a: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A basic solution of the linear programme in the eigenvalues of X: weights l (d,) and eigenvectors (d, d).

    At most G entries of l lie strictly between 0 and 1.
    """
    vectors = np.linalg.eigh(symmetrise(X))[1][:, ::-1]
    G, d = len(a), len(X)
    scale = float(np.trace(matrices, axis1=1, axis2=2).max()) / d
    c = np.einsum("dj,gde,ej->gj", vectors, matrices, vectors, optimize=True) / scale
    rows = np.vstack([np.hstack([-c, -np.ones((G, 1))]), np.append(np.ones(d), 0.0)])
    # Simplex, because interior points are not basic: they would leave more entries fractional than needed.
    answer = linprog(
        np.append(np.zeros(d), 1.0),
        A_ub=rows,
        b_ub=np.append(-np.asarray(a) / scale, k),
        bounds=[(0, 1)] * d + [(None, None)],
        method="highs-ds",
    )
    if answer.status != 0:
        raise NotSolvedError(
            f"HiGHS did not solve the rounding programme (d={d}, k={k}, status {answer.status}: {answer.message}). "
            "Standardise the data, or use mode='rank-k'."
        )
    return np.clip(answer.x[:d], 0.0, 1.0), vectors


def samadi(matrices: np.ndarray, k: int, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Relaxation]:
    """SDP and LP rounding as published: fractional X, its weights l, the operator P* and the relaxation behind them.

    References
    ----------
    Samadi et al. (2018), Algorithm 1.
    """
    relaxation = relax(matrices, k, a)
    weights, vectors = round_by_lp(matrices, k, a, relaxation.X)
    X = (vectors * weights) @ vectors.T
    return X, weights, square_root_map(X), relaxation


def rank_bound(k: int, G: int) -> int:
    r"""The rank that an extreme point needs at most, :math:`k + \lfloor \sqrt{2G + 1/4} - 3/2 \rfloor`.

    References
    ----------
    Tantipongpipat et al. (2019), Theorem 1.7.
    """
    return k + max(int(np.floor(np.sqrt(2.0 * G + 0.25) - 1.5 + 1e-12)), 0)


def fill_trace(X: np.ndarray, k: int) -> np.ndarray:
    """X raised to trace k, largest eigenvalues first: no group keeps less."""
    values, vectors = np.linalg.eigh(symmetrise(X))
    values = np.clip(values, 0.0, 1.0)
    missing = k - values.sum(axis=0)
    for j in np.argsort(-values):
        if missing <= 0:
            break
        step = min(1.0 - values[j], missing)
        values[j] += step
        missing -= step
    return (vectors * values) @ vectors.T


def reduce_rank(X: np.ndarray, matrices: np.ndarray, k: int, *, equal_change: bool = True) -> np.ndarray:
    """An extreme point at which no group keeps less than at X.

    While the fractional eigenvalues leave a symmetric direction that changes the kept variance of all groups by the
    same amount (``equal_change``), or of the last group only, X moves along it, upwards, until an eigenvalue becomes
    0 or 1. With G groups q fractional eigenvalues remain where q(q + 1)/2 is at most G.

    References
    ----------
    Tantipongpipat et al. (2019), Theorem 1.7 and Section 3.
    """
    held = matrices[1:] - matrices[:1] if equal_change else matrices[:-1]
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
    """A basis (p, k) from a fractional solution, by giving up one group after the other.

    The solution is moved to an extreme point. While it stays fractional there, the group that has least to keep in the
    fractional directions is no longer watched, which frees a direction to move on. A group that is given up loses at
    most what it could keep there.

    References
    ----------
    Tantipongpipat et al. (2019), Section 4.
    """
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


def roundings(Z: np.ndarray, H: np.ndarray, k: int) -> list[np.ndarray]:
    """Bases (p, k) near a fractional solution: its leading eigenvectors, the iterative one, random ones in its face."""
    values, vectors = np.linalg.eigh(Z)
    free = (values > INTEGRAL) & (values < 1.0 - INTEGRAL)
    if not free.any():
        return [vectors[:, -k:]]
    whole, rng = vectors[:, values >= 1.0 - INTEGRAL], np.random.default_rng(0)
    draws = rng.normal(size=(DRAWS, int(free.sum(axis=0)), k - whole.shape[1])) * np.sqrt(values[free])[:, None]
    face = [np.hstack([whole, vectors[:, free] @ np.linalg.qr(draw)[0]]) for draw in draws]
    return [vectors[:, -k:], round_iteratively(Z, H, k), *face]


def descend(criterion: Criterion, H: np.ndarray, V: np.ndarray, *, rtol: float = 1e-9) -> np.ndarray:
    """A basis (p, k) at which the criterion has a local minimum over projectors, near V.

    Newton's method on the Grassmann manifold, each step by conjugate gradients, for a maximum that is smoothed less and
    less. With :math:`\\Gamma_g = 2 (I - VV^\\top) S_g V` and the weights w that the smoothed criterion gives,

    .. math::
        \\operatorname{grad} = -\\sum_g w_g \\Gamma_g, \\qquad
        \\operatorname{Hess}[Z] = -2 (I - VV^\\top) \\bigl(S(w) Z - Z V^\\top S(w) V\\bigr)
            + \\sum_{gh} C_{gh} \\langle \\Gamma_g, Z \\rangle \\Gamma_h .
    """

    def at(V):
        return np.einsum("pk,gpk->g", V, H @ V)

    v = at(V)
    best, least = V, criterion.value(v)
    size = float(np.ptp(criterion.a - v)) if criterion.a is not None else 0.0
    end = rtol * max(abs(least), FLOOR * float(np.abs(v).max(axis=0)))
    tau = max(0.1 * size, end)
    while True:
        for _ in range(30):
            images = H @ V
            f, w, C = criterion.smooth(np.einsum("pk,gpk->g", V, images), tau)
            slopes = 2.0 * (images - V @ (V.T @ images))
            S = np.tensordot(w, H, axes=1)
            step = _conjugate_gradients(V, S, slopes, C, np.tensordot(w, slopes, axes=1))
            step *= min(1.0, 0.5 / max(float(np.linalg.norm(step)), np.finfo(float).tiny))
            rise = -float(w @ np.tensordot(slopes, step, axes=2))
            for share in 0.5 ** np.arange(30):
                new = np.linalg.qr(V + share * step)[0]
                if criterion.smooth(at(new), tau)[0] <= f + 1e-4 * share * rise:
                    break
            else:
                break
            V = new
            value = criterion.value(at(V))
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


def solve_multi_criteria(matrices: np.ndarray, k: int, objective: Objective = "loss") -> tuple[np.ndarray, Certificate]:
    """A projector of rank k for any number of groups, with the bound from the relaxation.

    Where the relaxation has a projector as its answer, that is the optimum. Where it is fractional, it is rounded in
    several ways, and the best local minimum near them is taken; the gap of the certificate is what that can have lost:
    zero to solver accuracy for two groups, and often positive for more.

    Parameters
    ----------
    matrices : ndarray of shape (G, d, d)
        Symmetric positive semidefinite.
    k : int
        Rank, from 1 to d - 1.
    objective : {"loss", "error", "variance", "nsw"}
        The largest loss, error or minus the kept variance of a group; or the Nash social welfare, which is maximised.

    Returns
    -------
    V : ndarray of shape (d, k)
        Orthonormal basis.
    certificate : Certificate
        Of a maximisation for "nsw", of a minimisation otherwise.
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    unit = np.ones(len(matrices))
    if objective == "nsw":
        unit = best_kept(matrices, k)  # the optimum does not depend on the units of the groups
        if not (unit > 0).all():
            raise DataError(
                f"group {int(np.argmin(unit))} (counted from 0) keeps no variance whatever is chosen: the Nash social "
                "welfare is zero for every answer. Drop the group, or take objective='loss'."
            )
        matrices = matrices / unit[:, None, None]
    criterion = Criterion(None if objective == "nsw" else criteria_offsets(matrices, k, objective))
    relaxed = relax(matrices, k, criterion.a)
    Q, H = relaxed.Q, relaxed.H
    found = [descend(criterion, H, V) for V in roundings(relaxed.Z, H, k)]
    V = min(found, key=lambda V: criterion.value(kept(H, V)))
    reached = criterion.value(kept(H, V))
    while True:  # a local minimum of the span, until it is one of the whole space
        w = criterion.smooth(kept(H, V), 1e-6 * max(abs(reached), FLOOR))[1]
        Q, H, grown = extended(matrices, Q, H, np.tensordot(w, matrices, axes=1) @ (Q @ V))
        V = descend(criterion, H, np.vstack([V, np.zeros((Q.shape[1] - len(V), k))]))
        before, reached = reached, criterion.value(kept(H, V))
        if not grown or before - reached <= RTOL * abs(reached):
            break
    weights = tuple(float(w) for w in relaxed.weights)
    if objective == "nsw":
        scale = float(np.exp(np.log(unit).mean(axis=0)))
        problem = f"Nash social welfare of the groups' kept variances over projectors of rank {k}"
        value, bound = scale * np.exp(-reached), scale * np.exp(-relaxed.bound)
        return Q @ V, Certificate(problem, float(value), float(bound), evaluations=relaxed.evaluations)
    what = {"variance": "minus the groups' kept variances"}.get(objective, f"{objective} of the groups")
    problem = f"largest {what} over projectors of rank {k}"
    return Q @ V, Certificate(problem, reached, relaxed.bound, 0.0, "min", weights, relaxed.evaluations)
