r"""The mean constraint of the released program of Olfat and Aswani's method, as the tables of Vu et al. (2022) have it.

.. math:: \max_{X \in \mathcal{F}} \; \langle A, X \rangle \quad \text{subject to} \quad \lVert X f \rVert \le c

over the fantope, by the splitting of :mod:`evenspan.reconstruction.fantope` with :math:`Z = X`. Any u bounds all
feasible values, :math:`\operatorname{top}_k(A - \operatorname{sym} u f^\top) + c \lVert u \rVert`.
"""

import numpy as np

from evenspan.core.linalg import complement, symmetrise, top_eigenspace
from evenspan.reconstruction.fantope import Splitting


def project_ball(M: np.ndarray, unit: np.ndarray, radius: float) -> np.ndarray:
    r"""The nearest symmetric W to the symmetric M with :math:`\lVert W e \rVert \le r` for a unit vector e."""
    # Only the row and column along e change. With Me = a e + b, b orthogonal to e, the new ones are a / (1 + nu) and
    # 2b / (2 + nu), because b stands in the matrix twice and a once.
    column = M @ unit
    a = float(unit @ column)
    b = column - a * unit
    size = float(np.hypot(a, np.linalg.norm(b)))
    if size <= radius:
        return M
    new_a, new_b = 0.0, np.zeros_like(b)
    if radius > 0:
        squared = float(b @ b)
        # Scaled to the radius the secular equation 1 / norm = 1 / r is convex in nu: Newton from 0 does not overshoot.
        nu = 0.0
        for _ in range(60):
            parts = np.array([a**2 / (1 + nu) ** 2, 4 * squared / (2 + nu) ** 2])
            norm = float(np.sqrt(parts.sum(axis=0)))
            slope = float(parts[0] / (1 + nu) + parts[1] / (2 + nu)) / norm
            step = (norm - radius) * norm / (radius * slope)
            nu += step
            if abs(step) <= 1e-14 * (1 + nu):
                break
        new_a, new_b = a / (1 + nu), 2 * b / (2 + nu)
    change_a, change_b = a - new_a, b - new_b
    half = 0.5 * change_a * unit + change_b
    return M - np.outer(half, unit) - np.outer(unit, half)


class Bounded(Splitting):
    """The program, in units of the largest entry of A; c > 0, because for c = 0 nothing is strictly feasible."""

    weight = 1.0

    def __init__(self, A, k, f, c):
        self.k, self.unit_of, self.E = k, float(np.abs(A).max(axis=None)), np.eye(len(A))
        self.A, size = symmetrise(A) / self.unit_of, float(np.linalg.norm(f))
        self.unit, self.radius = f / size, c / size
        N = complement(self.unit[:, None])
        _, inner = top_eigenspace(N.T @ self.A @ N, k)
        self.inside = (N @ inner) @ (N @ inner).T  # X f = 0: strictly inside the ball

    def _images(self, X):
        return [X]

    def _adjoint(self, images):
        return symmetrise(images[0])

    def _prox(self, targets, rho):
        return [project_ball(symmetrise(targets[0]), self.unit, self.radius)]

    def _judge(self, X, multipliers):
        """X, moved towards a point with Xf = 0 as far as the constraint asks; its value, the bound, and the size."""
        size = float(np.linalg.norm(X @ self.unit))
        if size > self.radius:
            share = self.radius / size
            X = share * X + (1.0 - share) * self.inside
        gain = float((self.A * X).sum(axis=None))
        # The multiplier is sym(v e') for one v, whatever else rounding leaves in it.
        column = multipliers[0] @ self.unit
        v = 2.0 * column - float(self.unit @ column) * self.unit
        H = self.A - symmetrise(np.outer(v, self.unit))
        bound = float(np.linalg.eigvalsh(H)[-self.k :].sum(axis=0)) + self.radius * float(np.linalg.norm(v))
        return X, gain, bound, max(abs(gain), np.finfo(float).tiny)
