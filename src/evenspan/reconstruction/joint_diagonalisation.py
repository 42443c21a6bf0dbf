r"""Approximate joint diagonalisation of symmetric matrices: one basis that makes all of them as diagonal as possible.

.. math::
    \min_U \; C(U) = \sum_s \lVert \operatorname{offdiag}(U^\top S_s U) \rVert_F^2 .

Matrices that do not commute have no common eigenvectors, and the smallest C is then positive. Over orthonormal U a step
turns all pairs of columns at once and never raises the criterion. With :math:`T_s = U^\top S_s U` a rotation of columns
p and q alone by the angle :math:`\theta` lowers :math:`C` by an amount that two numbers decide,

.. math::
    t = \sum_s (T_s(pp) - T_s(qq))^2 - 4\, T_s(pq)^2, \qquad
    o = \sum_s 4\, T_s(pq) \, (T_s(pp) - T_s(qq)) :

the best angle is :math:`\tfrac14 \operatorname{atan2}(o, t)`, the slope at zero :math:`-o`, and the curvature, where
that angle is small, :math:`4 \sqrt{t^2 + o^2}`. Slopes over curvatures of all pairs make one step, which the changes of
the slopes over earlier steps correct (a quasi-Newton method).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..core.errors import ConfigurationError
from ..core.linalg import eigenpairs, require_symmetric
from ..core.options import number, one_of, whole

#: Steps that the quasi-Newton direction remembers.
MEMORY = 10


def offdiagonal_square(T: np.ndarray) -> float:
    """Sum of the squared off-diagonal entries of a stack (K, d, d)."""
    beside = T.copy()
    np.einsum("sdd->sd", beside)[:] = 0.0
    return float(np.vdot(beside, beside))


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
    identity = np.eye(len(V))
    return 2.0 * np.linalg.inv(identity - 0.5 * V) - identity  # I - V/2 is never singular


def rotate_down(
    S: np.ndarray, U: np.ndarray, steps: int, rtol: float, floor: float
) -> tuple[np.ndarray, np.ndarray, tuple[float, ...], str]:
    """Rotate the orthonormal U until the criterion stands still: U, the transformed matrices, the path, the status."""
    d = len(U)
    # Neither a multiple of the identity nor a common factor matters to the rotations.
    middle = np.trace(S, axis1=1, axis2=2) / d
    centred = S - middle[:, None, None] * np.eye(d)
    unit = float(np.linalg.norm(centred) / np.sqrt(d))
    if unit == 0.0:
        return U, S.copy(), (0.0,), "converged"
    centred /= unit
    floor /= unit**2
    descent = _Descent(U, U.T @ centred @ U)
    path, done = descent.run(steps, rtol, floor)
    T = descent.T * unit + middle[:, None, None] * np.eye(d)
    return descent.U, T, tuple(unit**2 * value for value in path), "converged" if done else "not converged"


class _Descent:
    """The way down from one basis."""

    def __init__(self, U: np.ndarray, T: np.ndarray):
        self.move(U, T, offdiagonal_square(T))
        self.forget()

    def move(self, U: np.ndarray, T: np.ndarray, value: float) -> None:
        self.U, self.T, self.value = U, 0.5 * (T + T.transpose(0, 2, 1)), value

    def forget(self) -> None:
        self.moves, self.changes, self.before = [], [], None

    def run(self, steps: int, rtol: float, floor: float) -> tuple[list[float], bool]:
        """Step until the criterion stands still: its path, and whether it does."""
        # A step lowers it by less than ``rtol`` of it, and turning one pair of columns, by any angle, would not lower
        # it by more than ten times that.
        path = [self.value]
        while len(path) <= steps:
            before = self.value
            if before <= floor:
                return path, True
            if not self.step(*pair_terms(self.T)):
                self.forget()
            still = before - self.value <= rtol * before and not self.turn_pairs(10.0 * rtol * before)
            if self.value < before:
                path.append(self.value)
            if still:
                return path, True
        return path, self.value <= floor

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
                    self.move(self.U @ B, T, value)
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


Status = Literal["converged", "not converged"]
#: A criterion below this share of the squared entries is a sum of rounding errors.
ROUNDING = 1e-26


@dataclass(frozen=True, eq=False)
class JointDiagonalisation:
    """A basis, how diagonal it makes the matrices, and how the iteration ended.

    Parameters
    ----------
    U : ndarray of shape (d, d)
        The basis, one vector a column.
    diagonals, criterion : ndarray of shape (K, d), float
        What stands on the diagonals of the transformed matrices, and the sum of the squares beside them.
    path, n_iter : tuple of float, int
        The criterion at the start and after every step; the number of steps.
    status : {"converged", "not converged"}
        How the iteration ended.
    """

    U: np.ndarray
    diagonals: np.ndarray
    criterion: float
    path: tuple[float, ...]
    status: Status
    n_iter: int


def joint_diagonalise(
    matrices: np.ndarray,
    *,
    init: Literal["pooled", "identity"] | np.ndarray = "pooled",
    weights: np.ndarray | None = None,
    max_iter: int = 300,
    rtol: float = 1e-10,
) -> JointDiagonalisation:
    r"""An orthonormal basis in which several symmetric matrices are as diagonal as possible at once.

    .. math:: \min_{U^\top U = I} \; \sum_s \lVert \operatorname{offdiag}(U^\top S_s U) \rVert_F^2

    Parameters
    ----------
    matrices : ndarray of shape (K, d, d)
        Symmetric matrices. Adding a multiple of the identity to one of them changes nothing.
    init : {"pooled", "identity"} or ndarray of shape (d, d), default "pooled"
        Where to start: eigenvectors of the weighted sum of the matrices by decreasing eigenvalue, the unit vectors
        (then the answer depends on the axes of the features), or an orthonormal basis.
    weights : ndarray of shape (K,), optional
        Of the matrices in that weighted sum; equal if not given. The criterion itself knows no weights.
    max_iter, rtol : int, default 300, and float, default 1e-10
        Most steps; the relative change of the criterion to stop at.

    Returns
    -------
    JointDiagonalisation

    Guarantees
    ----------
    U is orthonormal to rounding error and the criterion never rises from one step to the next. The problem is not
    convex: a converged answer is stationary, and no rotation of one pair of columns would lower the criterion by more
    than 10 ``rtol`` of it, which says nothing of how well groups are served.

    Complexity
    ----------
    O(K d^3) a step: two matrix products for each matrix, one for U, and one inverse.

    References
    ----------
    Rathore & Manwani (2025), eq. (6), whose own algorithm takes steps that leave the orthonormal bases and can diverge;
    J.-F. Cardoso & A. Souloumiac (1996), Jacobi angles for simultaneous diagonalization.

    Examples
    --------
    >>> import numpy as np
    >>> Q = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> found = joint_diagonalise([Q @ np.diag([2.0, 1.0]) @ Q.T, Q @ np.diag([1.0, 5.0]) @ Q.T])
    >>> found.status, found.diagonals.round(6).tolist()
    ('converged', [[1.0, 2.0], [5.0, 1.0]])
    """
    number(0, 1, high_open=True).require("rtol", rtol)
    whole(1).require("max_iter", max_iter)
    matrices = require_symmetric(matrices, "the stack of matrices", ndim=3)
    floor = ROUNDING * float(np.vdot(matrices, matrices))
    U, T, path, status = rotate_down(matrices, start_basis(matrices, init, weights), max_iter, rtol, floor)
    diagonals = np.diagonal(T, axis1=1, axis2=2).copy()
    return JointDiagonalisation(U, diagonals, offdiagonal_square(T), path, status, len(path) - 1)


def start_basis(matrices: np.ndarray, init, weights=None, *, orthonormal: bool = True) -> np.ndarray:
    """The basis that ``init`` names, shape (d, d)."""
    K, d, _ = matrices.shape
    if isinstance(init, str):
        one_of("pooled", "identity").require("init", init)
        w = np.full(K, 1.0 / K) if weights is None else np.asarray(weights, dtype=np.float64)
        return np.eye(d) if init == "identity" else eigenpairs(np.tensordot(w, matrices, axes=1))[1][:, ::-1]
    U = np.array(init, dtype=np.float64)
    if U.shape != (d, d) or (orthonormal and not np.allclose(U.T @ U, np.eye(d), atol=1e-8)):
        raise ConfigurationError(f"init={init!r}; needed is 'pooled', 'identity' or a ({d}, {d}) orthonormal basis.")
    return U
