r"""Multiplicative weights for the min-max reconstruction loss, for many learning rates at once.

.. math:: \min_P \max_g L_g(P), \qquad L_g(P) = \operatorname{top}_k(S_g) - \operatorname{tr} S_g P .

Every step takes the projector :math:`P_t` on the k leading eigenvectors of :math:`\sum_g w_g S_g` and then lets the
weight of a group grow with its loss, :math:`w_g \leftarrow w_g e^{\eta L_g(P_t)}`. Because :math:`P_t` is the best
answer to the weights, :math:`\sum_g w_g L_g(P_t)` is the dual value at w: a lower bound on the largest loss of any
projector.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..core.errors import ConfigurationError
from ..core.linalg import top_eigenspace
from ..core.options import whole
from .group_errors import best_kept

#: From this number of features on the steps are taken in a subspace that grows where its residual asks for it.
LARGE = 200
#: A leading eigenvector found in that subspace has to be one of the whole matrix, relative to the matrix's norm.
RESIDUAL = 1e-10


@dataclass(frozen=True, eq=False)
class WeightsRun:
    """What the iteration with one learning rate leaves behind.

    Parameters
    ----------
    rate : float
        The learning rate.
    average : ndarray of shape (d, d)
        The mean of all projectors: trace k, rank up to d. It is not a projector.
    last : ndarray of shape (d, k)
        Basis of the last projector.
    best : ndarray of shape (d, k)
        Basis of the projector with the smallest largest loss among all that were visited.
    weights : ndarray of shape (G,)
        The weights that ``last`` answers.
    bound : float
        The largest dual value over the visited weights.
    value : float
        The largest loss of ``best``; no projector goes below ``bound``.
    """

    rate: float
    average: np.ndarray
    last: np.ndarray
    best: np.ndarray
    weights: np.ndarray
    bound: float
    value: float


class _Whole:
    """Leading eigenvectors of weighted sums, from full eigendecompositions of the stack."""

    def __init__(self, matrices: np.ndarray, k: int):
        self.matrices, self.k = matrices, k

    def top(self, weights: np.ndarray) -> np.ndarray:
        G, d, _ = self.matrices.shape
        stack = (weights @ self.matrices.reshape(G, -1)).reshape(-1, d, d)
        # All eigenvectors: the driver for k of them saves little here and can fail on clustered eigenvalues.
        return np.linalg.eigh(stack)[1][:, :, : -self.k - 1 : -1]

    def lift(self, coordinates: np.ndarray) -> np.ndarray:
        return coordinates


class _Reduced(_Whole):
    """The same within the span of leading eigenvectors at a few weights, which is extended until residuals vanish.

    Eigenvectors depend analytically on the weights, so that those of a few dozen weights span those of all others to
    rounding error. Columns are only ever appended: earlier coordinates keep their meaning when padded with zeros.
    """

    def __init__(self, full: np.ndarray, k: int):
        G, d, _ = full.shape
        self.full, self.k, self.buffer = full, k, min(k + 5, d)
        self.norm = float(np.abs(np.linalg.eigvalsh(full)).max())
        self.Q = np.zeros((d, 0))
        for w in (*np.eye(G), np.full(G, 1.0 / G)):
            self.extend(w)

    def extend(self, w: np.ndarray) -> float:
        """Add the leading eigenvectors at w; returns by how much their sum exceeds what the span knew."""
        H = np.tensordot(w, self.full, axes=1)
        values, vectors = top_eigenspace(H, self.buffer)
        known = self.values(w)[-self.k :].sum(axis=0) if self.Q.shape[1] else 0.0
        for _ in range(2):  # twice is enough to be orthogonal to rounding error
            vectors = vectors - self.Q @ (self.Q.T @ vectors)
        left, size, _ = np.linalg.svd(vectors, full_matrices=False)
        self.append(left[:, size > 1e-13])
        return float(values[: self.k].sum(axis=0) - known)

    def append(self, columns: np.ndarray) -> None:
        columns = np.linalg.qr(columns - self.Q @ (self.Q.T @ columns))[0]
        self.Q = np.hstack([self.Q, columns])
        self.images = self.full @ self.Q
        self.matrices = self.Q.T @ self.images

    def values(self, w: np.ndarray) -> np.ndarray:
        return np.linalg.eigvalsh(np.tensordot(w, self.matrices, axes=1))

    def top(self, weights: np.ndarray) -> np.ndarray:
        while True:
            d, m = self.Q.shape
            if d // 2 < m < d:  # no longer worth it; the rest of the space completes the basis
                self.append(linalg.null_space(self.Q.T))
            Y = super().top(weights)
            if self.Q.shape[1] == d:
                return Y
            R, k = len(weights), self.k
            side_by_side = np.einsum("rg,rmk->gmrk", weights, Y).reshape(-1, R * k)
            images = np.hstack(list(self.images)) @ side_by_side
            found = self.Q @ Y.transpose(1, 0, 2).reshape(m, R * k)
            residual = np.linalg.norm(images - found * (found * images).sum(axis=0), axis=0).reshape(R, k).max(axis=1)
            worst = int(np.argmax(residual))
            if residual[worst] <= RESIDUAL * self.norm:
                return Y
            self.extend(weights[worst])

    def lift(self, coordinates: np.ndarray) -> np.ndarray:
        return self.Q[:, : coordinates.shape[-2]] @ coordinates


def _pad(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape == shape:
        return array
    padded = np.zeros(shape)
    padded[tuple(slice(n) for n in array.shape)] = array
    return padded


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

    ``scale`` divides the losses by the most that any group can keep before they enter the exponent, which makes the
    iteration independent of the unit of the data. Losses are always reported unscaled. ``offsets`` (G,) replaces the
    best that each group can keep: with the traces of the matrices errors are balanced instead of losses.

    A rate whose log-weights repeat (with period one or two) is finished without further eigenproblems: its remaining
    projectors are known.
    """
    rates = np.asarray(rates, dtype=np.float64)
    if rates.ndim != 1 or not len(rates) or not (np.isfinite(rates) & (rates > 0)).all():
        raise ConfigurationError(f"rates={rates.tolist()!r}; needed is a sequence of positive learning rates.")
    whole(1).require("iterations", iterations)
    matrices = np.ascontiguousarray(matrices, dtype=np.float64)
    bests = best_kept(matrices, k)
    unit = 1.0 / bests.max() if scale and bests.max() > 0 else 1.0
    bests = bests if offsets is None else np.asarray(offsets, dtype=np.float64)
    solver = (_Reduced if matrices.shape[1] > LARGE else _Whole)(matrices, k)
    while True:
        runs = _iterate(solver, bests, rates, iterations, unit)
        # Residuals say that eigenvectors are exact, not that none was overlooked: the weights behind the answer are
        # solved in full. A vector that was missed joins the span, and the run is repeated.
        checked = {tuple(w): w for r in runs for w in (r[4], r[5])} if isinstance(solver, _Reduced) else {}
        if solver.matrices.shape[1] == matrices.shape[1]:
            checked = {}
        missed = [solver.extend(w) > 1e-9 * solver.norm for w in checked.values()]
        if not any(missed):
            break
    return [
        WeightsRun(
            rate=float(rate),
            average=solver.lift(solver.lift(average).T),
            last=solver.lift(last),
            best=solver.lift(best),
            weights=weights,
            bound=float(bound),
            value=float(value),
        )
        for rate, (average, last, best, value, weights, _, bound) in zip(rates, runs, strict=True)
    ]


def _iterate(solver: _Whole, bests: np.ndarray, rates: np.ndarray, iterations: int, unit: float) -> list[tuple]:
    """For every rate: average, last, best (in the solver's coordinates), value, last and best weights, bound."""
    R, G, k = len(rates), len(bests), solver.k
    logs = np.full((R, G), -np.log(G))
    before = np.full((R, G), np.inf)
    active = np.arange(R)
    P_before = total = np.zeros((R, 0, 0))
    last, best = np.zeros((R, 0, k)), np.zeros((R, 0, k))
    value, bound = np.full(R, np.inf), np.full(R, -np.inf)
    weights, best_weights = np.exp(logs), np.exp(logs)
    V_before = last
    for t in range(1, iterations + 1):
        w = np.exp(logs)
        V = solver.top(w)
        m = V.shape[1]
        P = V @ V.transpose(0, 2, 1)
        z = bests - P.reshape(-1, m * m) @ solver.matrices.reshape(G, -1).T
        if total.shape[1] < m:
            total, P_before = _pad(total, (R, m, m)), _pad(P_before, (len(active), m, m))
            last, best, V_before = _pad(last, (R, m, k)), _pad(best, (R, m, k)), _pad(V_before, V.shape)
        total[active] += P
        reached, dual = z.max(axis=1), (w * z).sum(axis=1)
        better = reached < value[active]
        best[active[better]], value[active[better]] = V[better], reached[better]
        better = dual > bound[active]
        best_weights[active[better]], bound[active[better]] = w[better], dual[better]
        last[active], weights[active] = V, w

        grown = logs + rates[active, None] * unit * z
        grown -= grown.max(axis=1, keepdims=True)
        grown -= np.log(np.exp(grown).sum(axis=1, keepdims=True))
        still = np.abs(grown - logs).max(axis=1) <= 1e-13 * (1 + np.abs(logs).max(axis=1))
        swing = np.abs(grown - before).max(axis=1) <= 1e-13 * (1 + np.abs(logs).max(axis=1))
        left = iterations - t
        done = still | swing
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
    total /= iterations
    return list(zip(total, last, best, value, weights, best_weights, bound, strict=True))


def correct_choice(matrices: np.ndarray, run: WeightsRun, k: int, *, offsets: np.ndarray | None = None) -> np.ndarray:
    """Average or last projector, whichever has the smaller largest loss (the average on a tie), shape (d, d)."""
    bests = best_kept(matrices, k) if offsets is None else offsets
    last = run.last @ run.last.T
    average, ended = ((bests - (matrices * X).sum(axis=(1, 2))).max() for X in (run.average, last))
    return run.average if average <= ended else last
