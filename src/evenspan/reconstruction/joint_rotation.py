r"""Joint diagonalisation by rotations: a step turns all pairs of columns at once and never raises the criterion.

A rotation of columns p and q alone by the angle :math:`\theta` lowers :math:`C` by an amount that two numbers decide,

.. math::
    t = \sum_s (T_s(pp) - T_s(qq))^2 - 4\, T_s(pq)^2, \qquad
    o = \sum_s 4\, T_s(pq) \, (T_s(pp) - T_s(qq)) :

the best angle is :math:`\tfrac14 \operatorname{atan2}(o, t)`, the slope at zero :math:`-o`, and the curvature, where
that angle is small, :math:`4 \sqrt{t^2 + o^2}`. Slopes over curvatures of all pairs make one step, which the changes of
the slopes over earlier steps correct (a quasi-Newton method). Its fixed points are those of the step I + V in
``joint_diagonalisation``: all slopes zero.
"""

import numpy as np
from scipy.linalg import lapack

#: From this number of features on the way down begins in single precision, in which products cost half.
LARGE = 100
#: A criterion below this share of the squared entries needs double precision from the start.
SINGLE = 1e-6
#: Changes of the criterion below this share of it are left to double precision.
FINEST = 1e-9
#: Steps that the quasi-Newton direction remembers.
MEMORY = 10


def offdiagonal_square(T: np.ndarray) -> float:
    """Sum of the squared off-diagonal entries of a stack (K, d, d)."""
    total = 0.0
    for M in T:
        beside = M.astype(np.float64)
        np.fill_diagonal(beside, 0.0)
        total += float(np.vdot(beside, beside))
    return total


def symmetric(T: np.ndarray) -> np.ndarray:
    """The symmetric parts of a stack (K, d, d)."""
    T = T + T.transpose(0, 2, 1)
    T *= 0.5
    return T


def pair_terms(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers t (symmetric) and o (skew) of every pair of columns, each (d, d)."""
    t, o = np.zeros_like(T[0]), np.zeros_like(T[0])
    for M in T:
        L = np.diagonal(M)
        gaps = L[:, None] - L  # before they are squared: nearly equal entries are what matters
        o += gaps * M
        t += gaps * gaps - 4.0 * (M * M)
    return t, 4.0 * o


def turned(A: np.ndarray, p: np.ndarray, q: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """A with its columns p and q turned into each other; p and q are arrays of disjoint pairs."""
    cosine, sine = np.cos(angle), np.sin(angle)
    result = A.copy()
    result[..., p] = cosine * A[..., p] + sine * A[..., q]
    result[..., q] = cosine * A[..., q] - sine * A[..., p]
    return result


def rotation(V: np.ndarray) -> np.ndarray:
    """Cayley's rotation (I - V/2)^{-1} (I + V/2) = 2 (I - V/2)^{-1} - I for a skew V: I + V to first order."""
    A = -0.5 * V
    np.einsum("dd->d", A)[:] = 1.0
    # I - V/2 is never singular. LAPACK's inverse costs half of a solution with d right sides.
    getrf, getri = lapack.get_lapack_funcs(("getrf", "getri"), (A,))
    factors, pivots, _ = getrf(A.T, overwrite_a=True)
    B = getri(factors, pivots, lwork=64 * len(V), overwrite_lu=True)[0].T
    B *= 2.0
    np.einsum("dd->d", B)[:] -= 1.0
    return B


def rotate_down(
    S: np.ndarray, U: np.ndarray, steps: int, rtol: float, floor: float
) -> tuple[np.ndarray, np.ndarray, tuple[float, ...], str]:
    """Rotate the orthonormal U until the criterion stands still: U, the transformed matrices, the path, the status.

    Standing still means that a step lowers the criterion by less than ``rtol`` of it and that turning one pair of
    columns, by any angle, would not lower it by more than ten times that.
    """
    d = len(U)
    # Neither a multiple of the identity nor a common factor matters to the rotations.
    middle = np.trace(S, axis1=1, axis2=2) / d
    centred = S - middle[:, None, None] * np.eye(d)
    unit = float(np.linalg.norm(centred) / np.sqrt(d))
    if unit == 0.0:
        return U, S.copy(), (0.0,), "converged"
    centred /= unit
    floor /= unit**2
    path: list[float] = []
    descent = _Descent(centred, U)
    if d >= LARGE and descent.value > SINGLE * d:
        descent.cast(centred, np.float32)
        descent.run(path, steps - 1, max(rtol, FINEST), 0.0)
        descent.cast(centred, np.float64)
        # What single precision only seemed to gain, or lose, is no step.
        path = [value for value in path if value > descent.value]
    done = descent.run(path, steps, rtol, floor)
    T = descent.T * unit + middle[:, None, None] * np.eye(d)
    return descent.U, T, tuple(float(unit**2 * value) for value in path), "converged" if done else "not converged"


class _Descent:
    """The way down from one basis, in single or double precision."""

    def __init__(self, S: np.ndarray, U: np.ndarray):
        self.start_at(S, U)
        self.forget()

    def start_at(self, S: np.ndarray, U: np.ndarray) -> None:
        self.U, self.T = U, symmetric(U.T @ S @ U)
        self.value = offdiagonal_square(self.T)

    def forget(self) -> None:
        self.moves, self.changes, self.before = [], [], None

    def cast(self, S: np.ndarray, dtype) -> None:
        """Go on in another precision, with what was learnt; the columns of U are made orthonormal to it first."""
        U = self.U.astype(np.float64)
        for _ in range(2):  # Newton's iteration for the polar factor
            U = U @ (1.5 * np.eye(len(U)) - 0.5 * (U.T @ U))
        self.start_at(S.astype(dtype), U.astype(dtype))
        self.moves = [move.astype(dtype) for move in self.moves]
        self.changes = [(change.astype(dtype), size) for change, size in self.changes]
        self.before = None

    def run(self, path: list[float], steps: int, rtol: float, floor: float) -> bool:
        """Step until the criterion stands still, at most until the path has ``steps`` steps."""
        path.append(self.value)
        for _ in range(len(path), steps + 1):
            before = self.value
            if before <= floor:
                return True
            t, o = pair_terms(self.T)
            if not self.step(t, o):
                self.forget()
            still = before - self.value <= rtol * before and not self.turn_pairs(10.0 * rtol * before)
            if self.value < before:
                path.append(self.value)
            if still:
                return True
        return path[-1] <= floor

    def step(self, t: np.ndarray, o: np.ndarray) -> bool:
        """One quasi-Newton step, shortened until it goes down; False where none does."""
        curvature = 4.0 * np.sqrt(t * t + o * o)
        curvature = np.maximum(curvature, 1e-12 * float(curvature.max()) + np.finfo(o.dtype).tiny)
        for V in (self.direction(o, curvature), -o / curvature):
            slope, share = 0.5 * float(np.vdot(o, V)), 1.0
            while slope < 0.0 and share > 1e-6:
                B = rotation(share * V)
                T = B.T @ self.T @ B
                value = offdiagonal_square(T)
                if value <= self.value + 1e-4 * share * slope:
                    self.U, self.T, self.value = self.U @ B, symmetric(T), value
                    self.before = o, share * V
                    return True
                # The smallest value of the parabola through what is known, within bounds.
                bend = (value - self.value - share * slope) / share**2
                share = min(0.5 * share, max(0.1 * share, -slope / (2.0 * bend)))
            self.forget()
        return False

    def direction(self, o: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """The quasi-Newton direction: slopes over curvatures, corrected by how slopes changed in the last steps."""
        if self.before is not None:
            move, change = self.before[1], o - self.before[0]
            size = float(np.vdot(move, change))
            if size > 1e-10 * float(np.linalg.norm(move) * np.linalg.norm(change)):
                self.moves = [*self.moves[1 - MEMORY :], move / size]
                self.changes = [*self.changes[1 - MEMORY :], (change, size)]
        q, shares = o.copy(), []
        for move, (change, _) in zip(reversed(self.moves), reversed(self.changes), strict=True):
            shares.append(float(np.vdot(move, q)))
            q -= shares[-1] * change
        q /= curvature
        for move, (change, size), share in zip(self.moves, self.changes, reversed(shares), strict=True):
            q += (share * size - float(np.vdot(change, q))) * move
        return -q

    def turn_pairs(self, least: float) -> bool:
        """Turn pairs of columns by their best angles where that gains more than ``least``, as it does at a saddle."""
        t, o = pair_terms(self.T)
        gain = 0.25 * (np.sqrt(t * t + o * o) - t)
        np.fill_diagonal(gain, 0.0)
        partner = np.argmax(gain, axis=0)
        p = np.arange(len(partner))
        p = p[(partner[partner] == p) & (p < partner) & (gain[p, partner] > least)]
        if not len(p):
            return False
        q = partner[p]
        angle = 0.25 * np.arctan2(o[p, q], t[p, q])
        half = turned(self.T, p, q, angle).transpose(0, 2, 1)
        self.U, self.T = turned(self.U, p, q, angle), turned(half, p, q, angle)
        self.value = offdiagonal_square(self.T)
        self.forget()
        return True
