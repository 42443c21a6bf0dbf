r"""Approximate joint diagonalisation of symmetric matrices: one basis that makes all of them as diagonal as possible.

.. math::
    \min_U \; C(U) = \sum_s \lVert \operatorname{offdiag}(U^{-1} S_s U) \rVert_F^2 .

Matrices that do not commute have no common eigenvectors, and the smallest C is then positive. Two ways down are here.
With :math:`T_s = U^{-1} S_s U = \Lambda_s + O_s` the criterion is modelled to first order in a step :math:`B = I + V`,

.. math::
    V_{mn} = - \frac{\sum_s O_s(mn) \, (\Lambda_s(m) - \Lambda_s(n))}{\sum_s (\Lambda_s(m) - \Lambda_s(n))^2} ,

and either the step is taken as it is, which nothing keeps from leaving the orthonormal bases, or only rotations are
allowed: then a step turns all pairs of columns at once and never raises the criterion.

A rotation of columns p and q alone by the angle :math:`\theta` lowers :math:`C` by an amount that two numbers decide,

.. math::
    t = \sum_s (T_s(pp) - T_s(qq))^2 - 4\, T_s(pq)^2, \qquad
    o = \sum_s 4\, T_s(pq) \, (T_s(pp) - T_s(qq)) :

the best angle is :math:`\tfrac14 \operatorname{atan2}(o, t)`, the slope at zero :math:`-o`, and the curvature, where
that angle is small, :math:`4 \sqrt{t^2 + o^2}`. Slopes over curvatures of all pairs make one step, which the changes of
the slopes over earlier steps correct (a quasi-Newton method). Its fixed points are those of the step I + V: all slopes
zero.
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


Mode = Literal["orthogonal", "paper"]
Status = Literal["converged", "not converged", "diverged", "undefined step"]
#: Most steps where none were asked for.
MAX_ITER = {"paper": 100, "orthogonal": 300}
#: A criterion below this share of the squared entries is a sum of rounding errors.
ROUNDING = 1e-26
#: A gap or an off-diagonal entry below this share of the typical deviation of an eigenvalue from the mean is zero.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class JointDiagonalisation:
    """A basis, how diagonal it makes the matrices, and how the iteration ended.

    Parameters
    ----------
    U : ndarray of shape (d, d)
        The basis, one vector a column: finite whatever the status, orthonormal unless found in mode "paper".
    diagonals, criterion : ndarray of shape (K, d), float
        What stands on the diagonals of the transformed matrices, and the sum of the squares beside them.
    path, n_iter : tuple of float, int
        The criterion at the start and after every step, of steps that failed too (inf is possible); how many.
    status : {"converged", "not converged", "diverged", "undefined step"}
        How the iteration ended.
    skipped : int
        Pairs of columns at which the step was 0/0: of all steps where they were skipped, else of the last one.
    """

    U: np.ndarray
    diagonals: np.ndarray
    criterion: float
    path: tuple[float, ...]
    status: Status
    n_iter: int
    skipped: int = 0

    @property
    def column_norms(self) -> np.ndarray:
        """Lengths of the columns of U, shape (d,)."""
        return np.linalg.norm(self.U, axis=0)

    @property
    def orthogonality(self) -> float:
        """Largest absolute cosine between two different columns of U; 0 where they are orthogonal."""
        unit = self.U / self.column_norms
        return float(np.abs(np.triu(unit.T @ unit, 1)).max(initial=0.0))


def joint_criterion(U: np.ndarray, matrices: np.ndarray) -> float:
    """The sum of the squared off-diagonal entries of U^{-1} S_s U; zero where all columns are common eigenvectors."""
    return offdiagonal_square(_transformed(U, np.asarray(matrices, dtype=np.float64)))


def joint_diagonalise(
    matrices: np.ndarray,
    mode: Mode = "orthogonal",
    *,
    init: Literal["pooled", "identity"] | np.ndarray = "pooled",
    weights: np.ndarray | None = None,
    max_iter: int | None = None,
    rtol: float = 1e-10,
    undefined: Literal["stop", "skip"] = "stop",
) -> JointDiagonalisation:
    r"""A basis in which several symmetric matrices are as diagonal as possible at once.

    .. math:: \min_U \; \sum_s \lVert \operatorname{offdiag}(U^{-1} S_s U) \rVert_F^2

    Parameters
    ----------
    matrices : ndarray of shape (K, d, d)
        Symmetric matrices. Adding a multiple of the identity to one of them changes nothing.
    mode : {"orthogonal", "paper"}, default "orthogonal"
        "orthogonal" keeps U orthonormal. "paper" takes the steps I + V of Rathore and Manwani's Algorithm 1.
    init : {"pooled", "identity"} or ndarray of shape (d, d), default "pooled"
        Where to start: eigenvectors of the weighted sum of the matrices by decreasing eigenvalue, the unit vectors (as
        Algorithm 1 is printed, and then the answer depends on the axes of the features), or a basis.
    weights : ndarray of shape (K,), optional
        Of the matrices in that weighted sum; equal if not given. The criterion itself knows no weights.
    max_iter, rtol : int, optional, and float, default 1e-10
        Most steps (100 in mode "paper", 300 in mode "orthogonal"); the relative change of the criterion to stop at.
    undefined : {"stop", "skip"}, default "stop"
        In mode "paper": end where two columns have equal diagonal entries in every matrix but are not diagonal, so that
        the step is 0/0, or leave this pair as it is.

    Returns
    -------
    JointDiagonalisation
        In mode "paper" a diverged answer (criterion not finite, or beyond 1e6 times that of the start) carries the
        finite iterate with the smallest criterion, which can be the start.

    Guarantees
    ----------
    Mode "orthogonal": U is orthonormal to rounding error and the criterion never rises from one step to the next. The
    problem is not convex: a converged answer is stationary, and no rotation of one pair of columns would lower the
    criterion by more than 10 ``rtol`` of it, which says nothing of how well groups are served. Mode "paper": none. It
    can diverge, columns get lengths other than 1, and the step need not exist.

    Complexity
    ----------
    O(K d^3) a step: two matrix products for each matrix, one for U, and one inverse.

    References
    ----------
    Rathore & Manwani (2025), eq. (6) and Algorithm 1; R. André, T. Trainini, X. Luciani & E. Moreau (2015), A fast
    algorithm for joint eigenvalue decomposition of real matrices; J.-F. Cardoso & A. Souloumiac (1996), Jacobi angles
    for simultaneous diagonalization.

    Examples
    --------
    >>> import numpy as np
    >>> Q = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> found = joint_diagonalise([Q @ np.diag([2.0, 1.0]) @ Q.T, Q @ np.diag([1.0, 5.0]) @ Q.T])
    >>> found.status, found.diagonals.round(6).tolist()
    ('converged', [[1.0, 2.0], [5.0, 1.0]])
    """
    one_of(*MAX_ITER).require("mode", mode)
    one_of("stop", "skip").require("undefined", undefined)
    number(0, 1, high_open=True).require("rtol", rtol)
    steps = MAX_ITER[mode] if max_iter is None else whole(1).require("max_iter", max_iter)
    matrices = require_symmetric(matrices, "the stack of matrices", ndim=3)
    U = start_basis(matrices, init, weights, orthonormal=mode == "orthogonal")
    floor = ROUNDING * float(np.vdot(matrices, matrices))
    if mode == "orthogonal":
        U, T, path, status = rotate_down(matrices, U, steps, rtol, floor)
        return JointDiagonalisation(U, _diagonals(T), offdiagonal_square(T), path, status, len(path) - 1)
    return _as_printed(matrices, U, steps, rtol, floor, skip=undefined == "skip")


def _as_printed(
    S: np.ndarray, U: np.ndarray, steps: int, rtol: float, floor: float, skip: bool
) -> JointDiagonalisation:
    """Algorithm 1: all entries of V at once, then U (I + V)."""
    T = _transformed(U, S)
    d = len(U)
    middle = np.trace(S, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    spread = float(((S - middle) ** 2).sum(axis=None)) / d
    value = first = offdiagonal_square(T)
    best, path, skipped = (value, U, T), [value], 0
    status: Status = "converged" if value <= floor else "not converged"
    while status == "not converged" and len(path) <= steps:
        V, undefined = _printed_step(T, NOTHING**2 * spread)
        if undefined:
            skipped += undefined
            if not skip:
                status, best = "undefined step", (value, U, T)
                break
        B = np.eye(d) + V
        with np.errstate(all="ignore"):
            try:  # one factorisation for all matrices, which stand side by side
                side_by_side = np.linalg.solve(B, np.hstack(list(T @ B)))
                U, T = U @ B, np.array(np.split(side_by_side, len(T), axis=1))
            except np.linalg.LinAlgError:  # I + V is singular
                T = np.full_like(T, np.nan)
        before, value = value, offdiagonal_square(T)
        path.append(value if value == value else np.inf)
        if not (np.isfinite(value) and np.isfinite(U).all()) or value > 1e6 * first:
            status = "diverged"
            break
        if value < best[0]:
            best = value, U, T
        if value <= max(1e-10 * first, floor) or abs(value - before) <= rtol * before:
            status = "converged"
    if status in ("converged", "not converged"):
        best = value, U, T
    value, U, T = best
    return JointDiagonalisation(U, _diagonals(T), value, tuple(path), status, len(path) - 1, skipped)


def _printed_step(T: np.ndarray, nothing: float) -> tuple[np.ndarray, int]:
    """V of Algorithm 1 with zeros where it is 0/0, and the number of pairs where it is and should not be."""
    L = _diagonals(T)
    gaps = L[:, :, None] - L[:, None, :]
    with np.errstate(all="ignore"):
        numerator = (T * gaps).sum(axis=0)
        squares = (gaps**2).sum(axis=0)
        tied = squares <= nothing
        beside = (T**2).sum(axis=0)
        V = np.divide(-numerator, squares, out=np.zeros_like(squares), where=~tied)
    undefined = np.triu(tied & ((beside > nothing) | (np.transpose(beside) > nothing)), 1)
    return V, int(np.count_nonzero(undefined))


def start_basis(matrices: np.ndarray, init, weights, *, orthonormal: bool) -> np.ndarray:
    """The basis that ``init`` names, shape (d, d)."""
    K, d, _ = matrices.shape
    if isinstance(init, str):
        one_of("pooled", "identity").require("init", init)
        w = np.full(K, 1.0 / K) if weights is None else np.asarray(weights, dtype=np.float64)
        return np.eye(d) if init == "identity" else eigenpairs(np.tensordot(w, matrices, axes=1))[1][:, ::-1]
    U = np.array(init, dtype=np.float64)
    if U.shape != (d, d) or (orthonormal and not np.allclose(U.T @ U, np.eye(d), atol=1e-8)):
        needed = "orthonormal columns" if orthonormal else "linearly independent columns"
        raise ConfigurationError(f"init={init!r}; needed is 'pooled', 'identity' or a ({d}, {d}) array of {needed}.")
    return U


def _transformed(U: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.solve(U, S @ U) for S in matrices])


def _diagonals(T: np.ndarray) -> np.ndarray:
    return np.diagonal(T, axis1=1, axis2=2).copy()
