r"""Approximate joint diagonalisation of symmetric matrices: one basis that makes all of them as diagonal as possible.

.. math::
    \min_U \; C(U) = \sum_s \lVert \operatorname{offdiag}(U^{-1} S_s U) \rVert_F^2 .

Matrices that do not commute have no common eigenvectors, and the smallest C is then positive. Two ways down are here.
With :math:`T_s = U^{-1} S_s U = \Lambda_s + O_s` the criterion is modelled to first order in a step :math:`B = I + V`,

.. math::
    V_{mn} = - \frac{\sum_s O_s(mn) \, (\Lambda_s(m) - \Lambda_s(n))}{\sum_s (\Lambda_s(m) - \Lambda_s(n))^2} ,

and either the step is taken as it is, which nothing keeps from leaving the orthonormal bases, or only rotations are
allowed (``joint_rotation``).
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
from scipy import linalg

from ..core.errors import ConfigurationError, DataError
from .joint_rotation import offdiagonal_square, rotate_down

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
    diagonals : ndarray of shape (K, d)
        What stands on the diagonals of the transformed matrices.
    criterion : float
        Sum of the squares that stand beside them.
    path : tuple of float
        The criterion at the start and after every step, of steps that failed too; never NaN, but inf is possible.
    status : {"converged", "not converged", "diverged", "undefined step"}
        How the iteration ended.
    n_iter : int
        Number of steps taken.
    skipped : int
        Number of pairs of columns at which the step was 0/0: of all steps together where they were skipped, of the step
        at which the iteration stopped otherwise.
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
    r"""The sum over the matrices of the squared off-diagonal entries of :math:`U^{-1} S_s U`.

    Parameters
    ----------
    U : ndarray of shape (d, d)
        An invertible matrix.
    matrices : ndarray of shape (K, d, d)
        The matrices.

    Returns
    -------
    float
        Zero if and only if every column of U is an eigenvector of every matrix.
    """
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
        Algorithm 1 is printed), or a basis. With "identity" the answer depends on the axes of the features.
    weights : ndarray of shape (K,), optional
        Of the matrices in that weighted sum; equal if not given. The criterion itself knows no weights.
    max_iter : int, optional
        Most steps: 100 in mode "paper", 300 in mode "orthogonal" unless given.
    rtol : float, default 1e-10
        Stop when a step changes the criterion by less than this share of it.
    undefined : {"stop", "skip"}, default "stop"
        In mode "paper": what happens where two columns have equal diagonal entries in every matrix but are not
        diagonal, so that the step is 0/0. "stop" ends there; "skip" leaves this pair as it is.

    Returns
    -------
    JointDiagonalisation
        With U of shape (d, d). In mode "paper" a diverged answer (criterion not finite, or beyond 1e6 times that of the
        start) carries the finite iterate with the smallest criterion, which can be the start.

    Guarantees
    ----------
    Mode "orthogonal": U is orthonormal to rounding error and the criterion never rises from one step to the next. The
    problem is not convex: a converged answer is stationary, and no rotation of one pair of columns would lower the
    criterion by more than 10 ``rtol`` of it, which is no more than a local minimum and says nothing of how well groups
    are served. Mode "paper": none. It is a fixed-point iteration that can diverge, columns get lengths
    other than 1, and the step need not exist.

    Complexity
    ----------
    O(K d^3) a step: two matrix products for each matrix, one for U, and one inverse. Mode "orthogonal" takes the
    diagonal of the Hessian and the last ten changes of the slopes into its steps, and from 100 features on begins in
    single precision; both change how soon it stands still, not where it can.

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
    if mode not in MAX_ITER:
        raise ConfigurationError(f"mode={mode!r}; needed is 'orthogonal' or 'paper'.")
    if undefined not in ("stop", "skip"):
        raise ConfigurationError(f"undefined={undefined!r}; needed is 'stop' or 'skip'.")
    steps = require_steps(max_iter, MAX_ITER[mode])
    if not (isinstance(rtol, Real) and 0 <= rtol < 1):
        raise ConfigurationError(f"rtol={rtol!r}; needed is a number from 0 up to, but not including, 1.")
    matrices = require_symmetric(matrices)
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
        U, T = _multiplied(U, T, np.eye(d) + V)
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


def _multiplied(U: np.ndarray, T: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """U B and B^{-1} T_s B, with NaN in place of what cannot be computed."""
    with np.errstate(all="ignore"):
        try:
            # One factorisation for all matrices, which stand side by side.
            side_by_side = np.linalg.solve(B, np.hstack(list(T @ B)))
        except np.linalg.LinAlgError:  # I + V is singular
            return U, np.full_like(T, np.nan)
        return U @ B, np.array(np.split(side_by_side, len(T), axis=1))


def start_basis(matrices: np.ndarray, init, weights, *, orthonormal: bool) -> np.ndarray:
    """The basis that ``init`` names, shape (d, d)."""
    K, d, _ = matrices.shape
    if isinstance(init, str) and init == "identity":
        return np.eye(d)
    if isinstance(init, str) and init == "pooled":
        w = np.full(K, 1.0 / K) if weights is None else np.asarray(weights, dtype=np.float64)
        if w.shape != (K,) or not np.isfinite(w).all():
            raise ConfigurationError(f"weights={weights!r}; needed is one finite number for each of {K} matrices.")
        return linalg.eigh(np.tensordot(w, matrices, axes=1), driver="evd", check_finite=False)[1][:, ::-1]
    if isinstance(init, str) or np.shape(init) != (d, d):
        what = repr(init) if isinstance(init, str) else f"an array of shape {np.shape(init)}"
        raise ConfigurationError(f"init is {what}; needed is 'pooled', 'identity' or an array of shape ({d}, {d}).")
    U = np.array(init, dtype=np.float64)
    if not np.isfinite(U).all() or np.linalg.cond(U) > 1e12:
        raise ConfigurationError(
            "init is not an invertible matrix of finite numbers. Pass a basis, one vector a column."
        )
    if orthonormal and np.abs(U.T @ U - np.eye(d)).max() > 1e-8:
        raise ConfigurationError(
            "init has columns that are not orthonormal, which mode 'orthogonal' starts from. Pass its QR factor."
        )
    return U


def require_symmetric(matrices) -> np.ndarray:
    """The stack (K, d, d) in double precision, exactly symmetric; refuses what is not a stack of symmetric matrices."""
    S = np.asarray(matrices, dtype=np.float64)
    if S.ndim != 3 or S.shape[1] != S.shape[2] or not S.size:
        raise DataError(f"matrices have shape {S.shape}; needed is (K, d, d): at least one symmetric matrix.")
    if not np.isfinite(S).all():
        raise DataError("matrices have entries that are not finite. Remove missing and infinite values first.")
    if np.abs(S - S.transpose(0, 2, 1)).max() > 1e-8 * np.abs(S).max():
        raise DataError("matrices are not symmetric. Pass moments or covariances, or their symmetric parts.")
    return 0.5 * (S + S.transpose(0, 2, 1))


def require_steps(max_iter, default: int) -> int:
    """``max_iter`` as a whole number of at least 1, or the default where it is None."""
    if max_iter is None:
        return default
    if not isinstance(max_iter, Integral) or isinstance(max_iter, bool) or max_iter < 1:
        raise ConfigurationError(f"max_iter={max_iter!r}; needed is a whole number of at least 1, or None.")
    return int(max_iter)


def _transformed(U: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.solve(U, S @ U) for S in matrices])


def _diagonals(T: np.ndarray) -> np.ndarray:
    return np.diagonal(T, axis1=1, axis2=2).copy()
