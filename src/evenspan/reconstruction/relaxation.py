r"""The semidefinite relaxation of fair PCA with any number of groups, by Newton's method in their weights.

.. math:: \min_P \max_g \; a_g - \operatorname{tr} S_g P ,

the largest loss or error of a group. The *fractional* optimum, over :math:`0 \preceq X \preceq I` with
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
:math:`\mu (2d + G)`.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.optimize import brentq

from ..core.errors import NotSolvedError
from ..core.linalg import symmetrise, top_eigenspace

#: Gap of a relaxation over its value; and over the data, where the value is zero.
RTOL, FLOOR = 1e-8, 1e-13
#: Eigenvectors beyond the k-th that join the span at every weight.
BUFFER = 3
#: Newton steps after which a path ends where it is; 30 are usual.
STEPS = 200


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A solved relaxation: the solution Z (p, p) in the basis Q (d, p), and a bound that trusts no solver.

    H (G, p, p) are the matrices in the basis; ``weights`` (G,) give the bound on ``value``.
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


def relax(matrices: np.ndarray, k: int, a: np.ndarray, *, rtol: float = RTOL) -> Relaxation:
    """Solve the relaxation with offsets ``a`` (G,): losses with the best each group can keep, errors with traces."""
    # The problem is solved within the span of leading eigenvectors at a few weights. The weights found there are a
    # guess for the whole: the leading eigenvectors at them give the bound, and join the span until it meets the value.
    # G eigenvalue problems of order d and a few more; some 40 steps of O(G p^3) for each, with p about (G + 3) k.
    matrices, a = np.asarray(matrices, dtype=np.float64), np.asarray(a, dtype=np.float64)
    G, d, _ = matrices.shape
    traces = np.trace(matrices, axis1=1, axis2=2)
    floor = FLOOR * float(traces.max(axis=0))
    w = 1.0 / np.maximum(traces, np.finfo(float).tiny)
    w = w / w.sum(axis=0)

    def leading(w):
        return top_eigenspace(np.tensordot(w, matrices, axes=1), min(k + BUFFER, d))

    new = [top_eigenspace(S, k)[1] for S in matrices] if G * k < d else []
    evaluations = len(new) + 1
    new = np.hstack([*new, leading(w)[1]])
    Q, H, bound, weights, grown = np.zeros((d, 0)), np.zeros((G, 0, 0)), -np.inf, w, True
    mu = max(0.1 * float(w @ traces) / d, np.finfo(float).tiny)
    while grown:
        Q, H, grown = extended(matrices, Q, H, new)
        w, Z, value = central_path(a, H, k, w, mu, 0.1 * rtol, floor)
        top, new = leading(w)
        evaluations += 1
        dual = float(w @ a - top[:k].sum(axis=0))
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
    a: np.ndarray, H: np.ndarray, k: int, w: np.ndarray, mu: float, rtol: float, floor: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights, fractional solution (p, p) and its value, within ``rtol`` or ``floor`` of the dual value."""
    # ``w`` and ``mu`` are where the path is entered. Where rounding allows no further progress, it ends at the nearest.
    G, p, _ = H.shape
    pairs, diagonal = np.triu_indices(p, 1), np.arange(p)
    w = np.maximum(w, 1e-6 * w.max(axis=0))
    w = w / w.sum(axis=0)
    best, Z, bound, weights = np.inf, np.zeros((p, p)), -np.inf, w
    for _ in range(STEPS):
        values, U = np.linalg.eigh(np.tensordot(w, H, axes=1))
        dual = float(w @ a - values[-k:].sum(axis=0))
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
        # Steps are relative to w, so that weights next to zero keep their digits too.
        N = np.hstack([M[:, *pairs] * np.sqrt(2.0 * slopes[pairs]), steady * np.sqrt(own)]) * w[:, None]
        N = np.hstack([N, np.sqrt(mu) * np.eye(G)])
        gradient = mu + w * (a - v)
        step = newton_step(N, gradient, w)
        decrement = float(np.sqrt(max(step @ gradient, 0.0) / mu))
        if decrement < 1.0:  # then the linear prediction of X has eigenvalues in [0, 1] as well, and trace k
            moved = slopes * np.tensordot(w * step, M, axes=1)
            turned = own * ((w * step) @ steady)
            moved[diagonal, diagonal] = turned - own * (turned.sum(axis=0) / own.sum(axis=0))
            value = float((a - v - np.tensordot(M, moved, axes=2)).max(axis=0))
            if value < best:
                best, Z = value, symmetrise(U @ (np.diag(x) + moved) @ U.T)
        if np.isfinite(best) and best - bound <= max(rtol * abs(best), floor):
            break
        damped = min(1.0, 2.0 / (1.0 + decrement))  # twice the cautious step: X is feasible at every positive w
        w = w * np.maximum(1.0 + damped * step, 0.05)
        w = w / w.sum(axis=0)
        if decrement < 0.5:
            mu *= 0.1
    if np.isinf(best):
        raise NotSolvedError(
            f"the weights of {G} groups did not come near their best in {STEPS} steps (in {p} dimensions, rank {k}). "
            "Standardise the data."
        )
    values, U = np.linalg.eigh(Z)
    values = np.clip(values, 0.0, 1.0)
    Z = (U * (values * min(1.0, k / values.sum(axis=0)))) @ U.T
    return weights, Z, float((a - np.tensordot(H, Z, axes=2)).max(axis=0))


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


def newton_step(N: np.ndarray, gradient: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The step with N N' step = gradient - c normal and normal' step = 0, to full precision."""
    R = np.linalg.qr(N.T, mode="r")

    def solve(rest):
        return linalg.solve_triangular(R, linalg.solve_triangular(R, rest, trans="T"))

    across, step = solve(normal), np.zeros(len(N))
    for _ in range(3):
        part = solve(gradient - N @ (N.T @ step))
        shift = normal @ (step + part) / (normal @ across)
        step, gradient = step + part - shift * across, gradient - shift * normal
    return step
