r"""JEVD-PCA as Rathore and Manwani print it: Algorithm 1, whose steps leave the orthonormal bases.

With :math:`T_s = U^{-1} S_s U = \Lambda_s + O_s` the criterion :math:`\sum_s \lVert O_s \rVert_F^2` is modelled to
first order in a step :math:`B = I + V`,

.. math::
    V_{mn} = - \frac{\sum_s O_s(mn) \, (\Lambda_s(m) - \Lambda_s(n))}{\sum_s (\Lambda_s(m) - \Lambda_s(n))^2} ,

and the step is taken as it is. It can diverge, columns get lengths other than 1, and the step need not exist. Its fixed
points are those of rotations: all slopes zero.
"""

from dataclasses import dataclass

import numpy as np

from evenspan.core.errors import ConfigurationError
from evenspan.core.linalg import require_symmetric
from evenspan.core.options import option, parameterised, whole
from evenspan.reconstruction.jevd import JEVDPCA
from evenspan.reconstruction.joint_diagonalisation import (
    ROUNDING,
    JointDiagonalisation,
    joint_diagonalise,
    offdiagonal_square,
    start_basis,
)

#: Most steps where none were asked for.
MAX_ITER = 100
#: A gap or an off-diagonal entry below this share of the typical deviation of an eigenvalue from the mean is zero.
NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Printed(JointDiagonalisation):
    """How Algorithm 1 ended, with the further statuses "diverged" and "undefined step"; U is finite in any case."""

    #: Pairs of columns at which the step was 0/0: of all steps where they were skipped, else of the last one.
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
    return offdiagonal_square(transformed(U, np.asarray(matrices, dtype=np.float64)))


def algorithm_1(
    matrices: np.ndarray,
    *,
    init: str | np.ndarray = "pooled",
    weights: np.ndarray | None = None,
    max_iter: int = MAX_ITER,
    rtol: float = 1e-10,
    undefined: str = "stop",
) -> Printed:
    """Algorithm 1: all entries of V at once, then U (I + V). The other arguments are those of ``joint_diagonalise``.

    Where two columns have equal diagonal entries in every matrix but are not diagonal, the step is 0/0: "stop" ends
    there, "skip" leaves the pair as it is. A diverged answer (criterion not finite, or beyond 1e6 times that of the
    start) carries the finite iterate with the smallest criterion, which can be the start.
    """
    S = require_symmetric(matrices, "the stack of matrices", ndim=3)
    U = start_basis(S, init, weights, orthonormal=False)
    floor = ROUNDING * float(np.vdot(S, S))
    T = transformed(U, S)
    d = len(U)
    middle = np.trace(S, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
    spread = float(((S - middle) ** 2).sum(axis=None)) / d
    value = first = offdiagonal_square(T)
    best, path, skipped = (value, U, T), [value], 0
    status = "converged" if value <= floor else "not converged"
    while status == "not converged" and len(path) <= max_iter:
        V, pairs = printed_step(T, NOTHING**2 * spread)
        if pairs:
            skipped += pairs
            if undefined == "stop":
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
    return Printed(U, diagonals(T), value, tuple(path), status, len(path) - 1, skipped)


def printed_step(T: np.ndarray, nothing: float) -> tuple[np.ndarray, int]:
    """V of Algorithm 1 with zeros where it is 0/0, and the number of pairs where it is and should not be."""
    L = diagonals(T)
    gaps = L[:, :, None] - L[:, None, :]
    with np.errstate(all="ignore"):
        numerator = (T * gaps).sum(axis=0)
        squares = (gaps**2).sum(axis=0)
        tied = squares <= nothing
        beside = (T**2).sum(axis=0)
        V = np.divide(-numerator, squares, out=np.zeros_like(squares), where=~tied)
    undefined = np.triu(tied & ((beside > nothing) | (np.transpose(beside) > nothing)), 1)
    return V, int(np.count_nonzero(undefined))


def transformed(U: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.solve(U, S @ U) for S in matrices])


def diagonals(T: np.ndarray) -> np.ndarray:
    return np.diagonal(T, axis1=1, axis2=2).copy()


#: Joint diagonalisation as printed, and by rotations.
DIAGONALISERS = {"paper": algorithm_1, "orthogonal": joint_diagonalise}


def orthonormal_columns(columns: np.ndarray) -> np.ndarray:
    """Orthonormal basis (d, k) of the span of k columns of any length, by QR in their order; refuses dependent ones."""
    unit = columns / np.linalg.norm(columns, axis=0)
    smallest = float(np.linalg.svd(unit, compute_uv=False)[-1])
    if smallest < 1e-8:
        raise ConfigurationError(
            f"the {unit.shape[1]} chosen columns of the joint basis are dependent (smallest singular value "
            f"{smallest:.1g} at unit length), and do not span as many components."
        )
    return np.linalg.qr(unit)[0]


@parameterised
class PrintedJEVDPCA(JEVDPCA):
    """JEVD-PCA by Algorithm 1; ``joint_basis_`` as it leaves it, ``status_`` also "diverged" or "undefined step"."""

    max_iter: int = option(whole(1), default=MAX_ITER)

    _orthonormal = staticmethod(orthonormal_columns)

    def _diagonalise(self, matrices, shares):
        return algorithm_1(matrices, init=self.init, weights=shares, max_iter=self.max_iter)

    def _what_happened(self, found):
        if found.status == "undefined step":
            return (
                f"step {found.n_iter + 1} of Algorithm 1 divides zero by zero at {found.skipped} pair(s) of columns, "
                "whose variances agree in every group. Components are columns of the basis before it."
            )
        if found.status == "diverged":
            return (
                f"Algorithm 1 diverged after {found.n_iter} step(s): its criterion rose beyond 1e6 times the first "
                "one, and components are columns of the iterate with the smallest one."
            )
        return super()._what_happened(found)
