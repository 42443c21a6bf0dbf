r"""Fair PCA as Samadi et al. (2018) published it: multiplicative weights, or a semidefinite programme with rounding.

.. math:: \min_P \max_g L_g(P), \qquad L_g(P) = \operatorname{top}_k(S_g) - \operatorname{tr} S_g P .

*Multiplicative weights.* Every step takes the projector :math:`P_t` on the k leading eigenvectors of
:math:`\sum_g w_g S_g` and then lets the weight of a group grow with its loss,
:math:`w_g \leftarrow w_g e^{\eta L_g(P_t)}`. Because :math:`P_t` is the best answer to the weights,
:math:`\sum_g w_g L_g(P_t)` is the dual value at w: a lower bound on the largest loss of any projector.

*SDP and LP.* The relaxation over :math:`0 \preceq X \preceq I`, :math:`\operatorname{tr} X = k`, is rounded by a linear
programme in the eigenvalues of X.

Both leave an X that need not be a projector. The operator :math:`P^* = I - (I - X)^{1/2}` stands for it: its squared
error is linear in X. The exact methods for the same problem are :mod:`evenspan.reconstruction.min_max` and
:mod:`evenspan.reconstruction.multi_criteria`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from evenspan.core.errors import NotSolvedError
from evenspan.core.linalg import symmetrise, top_eigenspace
from evenspan.reconstruction.group_errors import best_kept


@dataclass(frozen=True, eq=False)
class WeightsRun:
    """What the iteration with one learning rate leaves behind; no projector has a largest loss below ``bound``."""

    rate: float
    #: The mean of all projectors (d, d): trace k, rank up to d. It is not a projector.
    average: np.ndarray
    #: Bases (d, k) of the last projector, and of the one with the smallest largest loss among all that were visited.
    last: np.ndarray
    best: np.ndarray
    #: The weights (G,) that ``last`` answers.
    weights: np.ndarray
    #: The largest dual value over the visited weights, and the largest loss of ``best``.
    bound: float
    value: float


def run(
    matrices: np.ndarray,
    k: int,
    rates: Sequence[float],
    *,
    iterations: int = 1000,
    scale: bool = False,
    offsets: np.ndarray | None = None,
) -> list[WeightsRun]:
    """Multiplicative weights with every learning rate of ``rates``, all rates in one batch.

    ``scale`` divides the losses in the exponent by the most that any group can keep: the unit of the data then does not
    matter. ``offsets`` (G,) replaces the best that each group can keep: with traces errors are balanced.
    """
    # A rate whose log-weights repeat (with period one or two) is finished: its remaining projectors are known.
    rates = np.asarray(rates, dtype=np.float64)
    matrices = np.ascontiguousarray(matrices, dtype=np.float64)
    G, d, _ = matrices.shape
    bests = best_kept(matrices, k)
    unit = 1.0 / bests.max() if scale and bests.max() > 0 else 1.0
    bests = bests if offsets is None else np.asarray(offsets, dtype=np.float64)

    R, active = len(rates), np.arange(len(rates))
    logs, before = np.full((R, G), -np.log(G)), np.full((R, G), np.inf)
    total, P_before = np.zeros((R, d, d)), np.zeros((R, d, d))
    last, best, V_before = np.zeros((R, d, k)), np.zeros((R, d, k)), np.zeros((R, d, k))
    value, bound, weights = np.full(R, np.inf), np.full(R, -np.inf), np.exp(logs)
    for t in range(1, iterations + 1):
        w = np.exp(logs)
        # All eigenvectors: the driver for k of them saves little here and can fail on clustered eigenvalues.
        V = np.linalg.eigh((w @ matrices.reshape(G, -1)).reshape(-1, d, d))[1][:, :, : -k - 1 : -1]
        P = V @ V.transpose(0, 2, 1)
        z = bests - P.reshape(-1, d * d) @ matrices.reshape(G, -1).T
        total[active] += P
        reached = z.max(axis=1)
        better = reached < value[active]
        best[active[better]], value[active[better]] = V[better], reached[better]
        bound[active] = np.maximum(bound[active], (w * z).sum(axis=1))
        last[active], weights[active] = V, w

        grown = logs + rates[active, None] * unit * z
        grown -= grown.max(axis=1, keepdims=True)
        grown -= np.log(np.exp(grown).sum(axis=1, keepdims=True))
        rounding = 1e-13 * (1 + np.abs(logs).max(axis=1))
        still = np.abs(grown - logs).max(axis=1) <= rounding
        done = still | (np.abs(grown - before).max(axis=1) <= rounding)
        left = iterations - t
        for i in np.flatnonzero(done):
            if still[i]:
                total[active[i]] += left * P[i]
            else:
                total[active[i]] += (left + 1) // 2 * P_before[i] + left // 2 * P[i]
                if left % 2:
                    last[active[i]], weights[active[i]] = V_before[i], np.exp(before[i])
        before, logs, P_before, V_before = logs[~done], grown[~done], P[~done], V[~done]
        active = active[~done]
        if not len(active):
            break
    found = zip(rates.tolist(), total / iterations, last, best, weights, bound.tolist(), value.tolist(), strict=True)
    return [WeightsRun(*parts) for parts in found]


def correct_choice(matrices: np.ndarray, run: WeightsRun, k: int, *, offsets: np.ndarray | None = None) -> np.ndarray:
    """Average or last projector, whichever has the smaller largest loss (the average on a tie), shape (d, d)."""
    bests = best_kept(matrices, k) if offsets is None else offsets
    last = run.last @ run.last.T
    average, ended = ((bests - (matrices * X).sum(axis=(1, 2))).max() for X in (run.average, last))
    return run.average if average <= ended else last


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
            "Standardise the data."
        )
    return np.clip(answer.x[:d], 0.0, 1.0), vectors


def square_root_map(X: np.ndarray) -> np.ndarray:
    r"""The operator P* with :math:`\lVert x - P^* x \rVert^2 = x^\top (I - X)\, x`, clipped to [0, 1]."""
    values, vectors = np.linalg.eigh(symmetrise(X))
    return (vectors * (1.0 - np.sqrt(1.0 - np.clip(values, 0.0, 1.0)))) @ vectors.T


def operator_rank(P: np.ndarray, *, tol: float = 1e-6) -> int:
    """The number of eigenvalues of the symmetric P above ``tol``."""
    return int((np.linalg.eigvalsh(symmetrise(P)) > tol).sum(axis=0))


def truncate(P: np.ndarray, k: int) -> np.ndarray:
    """The k leading eigenvectors of the symmetric P, shape (d, k): a heuristic that drops the rest of a wider P."""
    return top_eigenspace(P, k)[1]


def operator_errors(matrices: np.ndarray, P: np.ndarray) -> np.ndarray:
    r"""Squared error of every group (G,) under the map x -> Px, :math:`\operatorname{tr} (I - P)^\top S_g (I - P)`.

    For an orthogonal projector this is :math:`\operatorname{tr} S_g - \operatorname{tr} S_g P`; in general it is not.
    """
    rest = np.eye(len(P)) - P
    return np.einsum("de,gdf,fe->g", rest, matrices, rest, optimize=True)
