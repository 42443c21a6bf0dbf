"""What all methods on reconstruction errors share: a matrix for each group, its errors and losses, one base class."""

from abc import abstractmethod
from typing import Literal

import numpy as np

from ..core.answer import Answer, Certificate, FairSubspace
from ..core.errors import ComponentsError, DataError, GroupError
from ..core.estimator import SubspaceEstimator, require_components
from ..core.groups import label_text
from ..core.linalg import eigenpairs, principal_axes, symmetrise
from ..core.moments import GroupMoments
from ..core.options import one_of

#: About the overall mean (the conditional second moment M_g), about the group's own mean (its covariance C_g), or about
#: the origin (of rows that nobody centred).
Center = Literal["overall", "group", "none"]


def group_matrices(moments: GroupMoments, center: Center = "overall") -> np.ndarray:
    """The matrix of every group (G, d, d): its second moment about the overall mean or the origin, or its covariance.

    They are M_g (``center`` "overall", or "none" for 0 in place of m) and C_g = M_g - (m_g - m)(m_g - m)' ("group").
    """
    one_of("overall", "group", "none").require("center", center)
    matrices = moments.scatters / moments.counts[:, None, None]
    if center != "group":
        offsets = moments.means - (moments.mean if center == "overall" else 0.0)
        matrices = matrices + offsets[:, :, None] * offsets[:, None, :]
    return matrices


def kept(matrices: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Variance of every group that the columns of V keep, tr V'S_gV, shape (G,)."""
    return np.einsum("dk,gde,ek->g", V, matrices, V, optimize=True)


def errors(matrices: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Reconstruction error of every group, tr S_g - tr V'S_gV, shape (G,)."""
    return np.trace(matrices, axis1=1, axis2=2) - kept(matrices, V)


def best_kept(matrices: np.ndarray, k: int) -> np.ndarray:
    """What k components of its own keep of every group: the sum of the k largest eigenvalues of S_g, shape (G,)."""
    return np.linalg.eigvalsh(matrices)[:, -k:].sum(axis=1)


def losses(matrices: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Reconstruction loss of every group: its error less the smallest it could have with k components, shape (G,)."""
    return best_kept(matrices, V.shape[1]) - kept(matrices, V)


class ReconstructionEstimator(SubspaceEstimator):
    """Base of the methods that weigh the reconstruction errors of groups against each other, each in its ``_solve``.

    A table with fewer rows than features is solved in the span of its rows, where the method allows that.
    """

    center, standardize = "overall", False

    def _moves_with_the_axes(self) -> bool:
        """Whether rotated features give the rotated answer: a wide table is then solved in the span of its rows."""
        return True

    def _lifted(self, learnt: dict, Q: np.ndarray, rest: np.ndarray) -> dict:
        """What was learnt in the span of Q (d, r), among all features; ``rest`` (d, d - r) spans what is beside it."""
        return learnt

    def _ordered(self, V: np.ndarray, scatter: np.ndarray) -> np.ndarray:
        """The components by decreasing variance: all bases of their span are as good, but where a method says not."""
        return principal_axes(V, scatter)

    @abstractmethod
    def _solve(self, matrices: np.ndarray, moments: GroupMoments, k: int) -> tuple[np.ndarray, Certificate, dict]:
        """Orthonormal V of shape (d, k) for the group matrices (G, d, d), its certificate, and what else was learnt."""

    def _answer(self, moments: GroupMoments) -> Answer:
        require_several_groups(moments, type(self).__name__)
        k = require_rank(self.n_components, moments.d)
        seen = moments.standardised() if self.standardize else moments
        matrices = np.array([symmetrise(M) for M in group_matrices(seen, self.center)])
        traces = np.trace(matrices, axis1=1, axis2=2)
        # Rows that are equal up to rounding have squares of rounding errors here.
        for label, trace in zip(moments.labels, traces, strict=True):
            if not trace > 1e-20 * traces.max():
                raise DataError(
                    f"group {label_text(label)!r} has no variance: all of its rows are equal. Reconstruction errors of "
                    "such a group are zero whatever is kept. Check the data, or drop the group."
                )
        # Errors are those of reconstruction about the fitted mean, as GroupFrame measures them, whatever is balanced.
        about_mean = group_matrices(seen) if self.center == "group" else matrices
        Q, rest = row_space(about_mean, moments.n)
        if k < Q.shape[1] < moments.d and self._moves_with_the_axes():
            inside = np.array([symmetrise(Q.T @ M @ Q) for M in matrices])
            V, certificate, learnt = self._solve(inside, seen.project(Q), k)
            V, learnt = Q @ V, self._lifted(learnt, Q, rest)
        else:
            V, certificate, learnt = self._solve(matrices, seen, k)
        V = self._ordered(V, seen.scatter)
        subspace = FairSubspace(V, moments.mean, certificate, moments.scale() if self.standardize else None)
        about_mean = group_matrices(seen) if self.center == "none" else about_mean
        measured = {"group_errors_": errors(about_mean, V), "group_losses_": losses(matrices, V)}
        return Answer(subspace, {**measured, **learnt})


def row_space(matrices: np.ndarray, n: float) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal bases (d, r) of the span of the matrices of n rows, and (d, d - r) of what is beside it."""
    # The rows of a wide table span no more than n directions; in those a method takes n^3 for d^3. With more rows than
    # features, where that saves little, the first is the identity.
    d = len(matrices[0])
    if n >= d:
        return np.eye(d), np.zeros((d, 0))
    values, vectors = eigenpairs(symmetrise(matrices.sum(axis=0)))
    r = int((values > d * np.finfo(float).eps * values[-1]).sum(axis=0))
    return vectors[:, d - r :], vectors[:, : d - r]


def require_rank(n_components, d: int) -> int:
    """``n_components`` as an int from 1 to d - 1: with all d directions nothing is lost and nothing is to be shared."""
    if d < 2:
        raise ComponentsError(f"there is {d} feature(s); reconstruction errors need at least 2. Add features.")
    return require_components(
        n_components, d - 1, d, ", and with as many components as features no group loses anything"
    )


def require_several_groups(moments: GroupMoments, method: str) -> None:
    """At least two groups, each with at least two rows."""
    if moments.G < 2:
        raise GroupError(
            f"{method} got one group only ({label_text(moments.labels[0])!r}, {moments.counts[0]:g} sample(s)); it "
            "balances at least two. Pass the group of every row, or use StandardPCA."
        )
    moments.require_pairs("second moment")


def require_two_groups(moments: GroupMoments, method: str, instead: str) -> None:
    """Exactly two groups, for methods that are binary by nature."""
    if moments.G != 2:
        names = ", ".join(repr(label_text(label)) for label in moments.labels)
        raise GroupError(f"{method} compares exactly two groups, but there are {moments.G} ({names}). {instead}")
