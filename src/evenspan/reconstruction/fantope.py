r"""Linear objectives over the fantope with spectral penalties, by operator splitting, each answer with a bound.

The fantope :math:`\mathcal{F} = \{X = X^\top : 0 \preceq X \preceq I,\; \operatorname{tr} X = k\}` is the convex
hull of the projectors of rank k. The programs are

.. math::

    \max_{X \in \mathcal{F}} \; \langle A, X \rangle
        - \mu \max_{\pm} \sigma_{\max}(R_\pm X)^2,
    \qquad R_\pm = (\varphi_\pm I \pm Q)^{1/2},

with the sum of both squares in place of the larger one if asked for.
Because :math:`R_+^2 + R_-^2 = (\varphi_+ + \varphi_-) I`, splitting :math:`Z_\pm = R_\pm X` leaves an X-step that is
one projection onto the fantope. Its steps are those of the alternating direction method of multipliers, with up to
three eigendecompositions of order d each.

Any multipliers :math:`Y_\pm` bound all feasible values,

.. math::

    \operatorname{top}_k\!\big(A - \operatorname{sym} \textstyle\sum_\pm R_\pm Y_\pm \big)
    + \frac{(\lVert Y_+ \rVert_* + \lVert Y_- \rVert_*)^2}{4 \mu} ,

with the sum penalty :math:`(\lVert Y_+ \rVert_*^2 + \lVert Y_- \rVert_*^2) / (4 \mu)` at its end, because
:math:`\mu \sigma_{\max}(Z)^2 \ge \langle Y, Z \rangle - \lVert Y \rVert_*^2 / (4 \mu)` for each term by itself. The run
ends when value and bound meet.

References: M. Olfat and A. Aswani (2019), Convex formulations for fair principal component analysis; S. Boyd et al.
(2011), Distributed optimization and statistical learning via the alternating direction method of multipliers, sec. 3.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from ..core.linalg import eigenpairs, symmetrise

Penalty = Literal["largest", "sum"]

RELAXATION = 1.6
CHECK_EVERY = 10
#: Steps at which the penalty parameter may change.
REVIEWS = {10, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400, 9600, 12_800}


@dataclass(frozen=True, eq=False)
class SplittingState:
    """Split variables, multipliers and step of a finished run, from which a similar program can start."""

    splits: list[np.ndarray]
    multipliers: list[np.ndarray]
    rho: float


@dataclass(frozen=True, eq=False)
class FantopeAnswer:
    """A feasible X, the value it reaches, an upper bound on all feasible values, and how the run ended."""

    X: np.ndarray
    value: float
    bound: float
    relative_gap: float
    iterations: int
    status: Literal["solved", "stopped at max_iter"]
    state: SplittingState


def project_fantope(H: np.ndarray, k: int) -> np.ndarray:
    """The nearest matrix of the fantope: eigenvalues shifted by a common amount and clipped to [0, 1]."""
    values, vectors = eigenpairs(symmetrise(H))
    clipped = clip_to_sum(values, k)
    return (vectors * clipped) @ vectors.T


def clip_to_sum(values: np.ndarray, k: int) -> np.ndarray:
    """``clip(values - shift, 0, 1)`` with the shift that makes the sum k, which is piecewise linear in the shift."""
    breaks = np.sort(np.concatenate([values, values - 1.0]))
    sums = np.clip(values[None, :] - breaks[:, None], 0.0, 1.0).sum(axis=1)  # decreasing along breaks
    j = int(np.searchsorted(-sums, -float(k), side="left"))  # first break with sum <= k
    if j == 0 or sums[j] == k:
        shift = breaks[j]
    else:
        shift = breaks[j - 1] + (sums[j - 1] - k) * (breaks[j] - breaks[j - 1]) / (sums[j - 1] - sums[j])
    return np.clip(values - shift, 0.0, 1.0)


def clip_level(singular: np.ndarray, weight: float) -> float:
    r"""The s that minimises :math:`\tfrac{w}{2} s^2 + \tfrac12 \sum_i (\sigma_i - s)_+^2`."""
    # For every j the root of w s = sum_{i <= j} (sigma_i - s) is at most the minimiser, and one of them is it.
    ordered = np.sort(singular)[::-1]
    return float((np.cumsum(ordered) / (weight + np.arange(1, len(ordered) + 1))).max(axis=0))


def solve_fantope(
    A: np.ndarray,
    k: int,
    *,
    Q: np.ndarray,
    phi: float | tuple[float, float],
    mu: float,
    penalty: Penalty = "largest",
    tol: float = 1e-6,
    max_iter: int = 20_000,
    state: SplittingState | None = None,
) -> FantopeAnswer:
    """Solve a program of this file to the relative gap ``tol``, for A (d, d) and mu > 0.

    ``phi`` is one shift for both signs or one each, of positive sum. ``state`` is the end of a run on a program of the
    same shape and Q.
    """
    return Splitting(A, k, Q, phi, mu, penalty).run(tol, max_iter, state)


class Splitting:
    """One program in the eigenbasis of Q, where both roots are diagonal, and in units of the largest entry of A."""

    def __init__(self, A, k, Q, phi, mu, penalty):
        largest = float(np.abs(A).max(axis=None))  # zero where there is nothing to gain, and the penalty stands alone
        self.k, self.unit_of = k, largest if largest > np.finfo(float).tiny else 1.0
        self.total = penalty == "sum"
        shifts = phi if isinstance(phi, tuple) else (phi, phi)
        q, self.E = linalg.eigh(symmetrise(Q))
        signed = zip(shifts, (1, -1), strict=True)
        self.roots = [np.sqrt(np.maximum(shift + sign * q, 0.0))[:, None] for shift, sign in signed]
        self.A, self.mu = symmetrise(self.E.T @ A @ self.E) / self.unit_of, mu / self.unit_of
        self.weight = sum(shifts)

    def run(self, tol, max_iter, state):
        X = project_fantope(self.A * len(self.A), self.k)
        values = np.linalg.eigvalsh(self.A)
        rho = float(values[-1] - values[0]) / self.weight if state is None else state.rho
        rho = max(rho, 1e-6)
        images = self._images(X)
        splits = [image.copy() for image in images] if state is None else [Z.copy() for Z in state.splits]
        duals = [np.zeros_like(Z) for Z in splits] if state is None else [Y / rho for Y in state.multipliers]
        best, bound, gap, status = None, np.inf, np.inf, "stopped at max_iter"
        for step in range(1, max_iter + 1):
            back = self._adjoint([Z - U for Z, U in zip(splits, duals, strict=True)])
            X = project_fantope((self.A / rho + back) / self.weight, self.k)
            images = self._images(X)
            targets = [
                RELAXATION * image + (1 - RELAXATION) * Z + U for image, Z, U in zip(images, splits, duals, strict=True)
            ]
            before, splits = splits, self._prox(targets, rho)
            duals = [T - Z for T, Z in zip(targets, splits, strict=True)]
            if step % CHECK_EVERY and step != max_iter:
                continue
            candidate, value, new_bound, size = self._judge(X, [rho * U for U in duals])
            bound = min(bound, new_bound)
            if best is None or value > best[0]:
                best = (value, candidate, size)
            gap = (bound - best[0]) / best[2]
            if gap <= tol:
                status = "solved"
                break
            # Residuals of the splitting and of the optimality conditions, each relative to what it compares.
            primal = _norm([image - Z for image, Z in zip(images, splits, strict=True)]) / max(_norm(splits), 1e-12)
            moved = self._adjoint([Z - old for Z, old in zip(splits, before, strict=True)])
            dual = _norm([moved]) / max(_norm([self._adjoint(duals)]), 1e-12)
            # Balanced residuals; changed more and more rarely, so that convergence is that of a fixed step.
            if step in REVIEWS:
                factor = float(np.clip(np.sqrt(primal / max(dual, 1e-16)), 0.2, 5.0))
                if not 0.5 < factor < 2.0:
                    rho *= factor
                    duals = [U / factor for U in duals]
        state = SplittingState(splits, [rho * U for U in duals], rho)
        X = symmetrise(self.E @ best[1] @ self.E.T)
        return FantopeAnswer(X, best[0] * self.unit_of, bound * self.unit_of, gap, step, status, state)

    def _images(self, X):
        return [r * X for r in self.roots]

    def _adjoint(self, images):
        return symmetrise(sum(r * Z for r, Z in zip(self.roots, images, strict=True)))

    def _prox(self, targets, rho):
        parts = [eigenpairs(T.T @ T) for T in targets]
        singular = [np.sqrt(np.maximum(values, 0.0)) for values, _ in parts]
        together = singular if self.total else [np.concatenate(singular)] * 2
        levels = [clip_level(sigma, 2.0 * self.mu / rho) for sigma in together]
        answer = []
        for T, sigma, s, (_, B) in zip(targets, singular, levels, parts, strict=True):
            above = sigma > s
            answer.append(T - (T @ B[:, above]) * (1.0 - s / sigma[above]) @ B[:, above].T)
        return answer

    def _judge(self, X, multipliers):
        """X, its value, the bound of the multipliers, and the size of the two terms of the value."""
        squares = [np.linalg.norm(r * X, ord=2) ** 2 for r in self.roots]
        loss = self.mu * (sum(squares) if self.total else max(squares))
        gain = float((self.A * X).sum(axis=None))
        norms = [float(np.linalg.norm(Y, ord="nuc")) for Y in multipliers]
        extra = (sum(norm**2 for norm in norms) if self.total else sum(norms) ** 2) / (4.0 * self.mu)
        bound = float(np.linalg.eigvalsh(self.A - self._adjoint(multipliers))[-self.k :].sum(axis=0)) + extra
        return X, gain - loss, bound, max(abs(gain) + loss, np.finfo(float).tiny)


def _norm(matrices):
    return float(np.sqrt(sum((M**2).sum(axis=None) for M in matrices)))
