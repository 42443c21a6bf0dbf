"""JEVD-PCA: components from a basis that makes the second moments of all groups as diagonal as possible."""

from dataclasses import KW_ONLY

import numpy as np

from ..core.answer import Certificate
from ..core.estimator import NotConvergedWarning
from ..core.inputs import warn_caller
from ..core.options import COMPONENTS, one_of, option, parameterised, whole
from .group_errors import ReconstructionEstimator, best_kept, losses
from .joint_diagonalisation import JointDiagonalisation, joint_diagonalise
from .relaxation import relax


class JointDiagonalisationWarning(NotConvergedWarning):
    """The joint diagonalisation behind the components did not converge."""


def largest_columns(U: np.ndarray, matrices: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Columns of U, at unit length, by decreasing variance over all rows; the paper does not say which are taken."""
    unit = U / np.linalg.norm(U, axis=0)
    return np.argsort(-(shares @ np.einsum("dj,gdj->gj", unit, matrices @ unit)), kind="stable")


@parameterised
class JEVDPCA(ReconstructionEstimator):
    r"""PCA by joint eigenvalue decomposition: columns of a basis that nearly diagonalises all groups at once.

    .. math::
        \min_{U^\top U = I} \; C(U) = \sum_g \lVert \operatorname{offdiag}(U^\top S_g U) \rVert_F^2 .

    The paper's matrices :math:`S_g - \tfrac1k \operatorname{top}_k(S_g)\, I` have the same off-diagonal entries and
    gaps, so that U does not depend on k; only the choice of k columns can. Its Algorithm 1 leaves the orthonormal bases
    and can diverge; here a step is a rotation.

    Parameters
    ----------
    n_components : int or None, default 2
        The number of components k, at most d - 1, which None stands for.
    center : {"overall", "group", "none"}, default "overall"
        Second moments about the overall mean, each group's own, or the origin. ``transform`` subtracts the overall
        mean in any case.
    init : {"pooled", "identity"}, default "pooled"
        Start from the eigenvectors of :math:`\sum_g p_g S_g`, or from the unit vectors, as Algorithm 1 is printed.
    max_iter : int, default 300
        Most steps.

    Attributes
    ----------
    components_, mean_ : ndarray of shape (k, d) and (d,)
        Orthonormal rows: the chosen columns, orthonormalised in their order; what ``transform`` subtracts.
    joint_basis_ : ndarray of shape (d, d)
        U as the iteration left it.
    chosen_ : ndarray of shape (k,)
        The columns of U that became components: those of largest variance over all rows, in this order.
    status_ : str
        "converged", or "not converged" with a ``JointDiagonalisationWarning``.
    criterion_, history_ : float, ndarray
        C at U, and at the start and after every step.
    group_losses_, group_errors_ : ndarray of shape (G,)
        Losses with the second moments that ``center`` names; mean squared errors about ``mean_``.
    converged_, n_iter_ : bool and int
        Whether the joint diagonalisation did, and its steps.
    certificate_, subspace_ : Certificate and FairSubspace
        The largest loss of the groups and a lower bound on that of any projection of rank k: the gap is the certified
        distance from fair PCA. It is no bound on C. The answer by itself.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups seen in ``fit``.

    Guarantees
    ----------
    No equal losses, and no small largest loss: the paper's Theorem 4.1, which says that a basis with C = 0 gives equal
    losses, does not hold. What a fit is worth to the worst served group is what ``certificate_`` says: its bound is
    that of the semidefinite relaxation, for two groups the optimum to 1e-8 of it. U is orthonormal and C never rises.

    Complexity
    ----------
    O(G d^3) a step; the certificate costs about 2 G eigendecompositions.
    Fewer rows than features: with ``init="pooled"`` in the span of the rows, of order n for d.

    References
    ----------
    Rathore & Manwani (2025), Achieving fair PCA using joint eigenvalue decomposition, eq. (6);
    Cardoso & Souloumiac (1996).

    Examples
    --------
    Groups that are diagonal together, so that the unit vectors have C = 0, and yet lose 3 and 0 where 1.8 is possible:

    >>> import numpy as np
    >>> spread = np.sqrt([[9.0, 6.0, 0.0], [0.0, 6.0, 15.0]])
    >>> X = np.vstack([sign * np.diag(s) for s in spread for sign in (1.0, -1.0)])
    >>> fitted = JEVDPCA(1).fit(X, sensitive_features=np.repeat(["a", "b"], 6))
    >>> fitted.criterion_, fitted.group_losses_.round(6).tolist(), round(fitted.certificate_.dual, 6)
    (0.0, [3.0, 0.0], 1.8)
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    center: str = option(one_of("overall", "group", "none"), default="overall")
    init: str = option(one_of("pooled", "identity"), default="pooled")
    max_iter: int = option(whole(1), default=300)

    _orthonormal = staticmethod(lambda columns: np.linalg.qr(columns)[0])

    def _moves_with_the_axes(self) -> bool:
        return self.init == "pooled"

    def _ordered(self, V, scatter):
        return V  # columns of the joint basis, by the variance of the groups together

    def _lifted(self, learnt, Q, rest):
        return learnt | {"joint_basis_": np.hstack([Q @ learnt["joint_basis_"], rest])}

    def _diagonalise(self, matrices, shares):
        return joint_diagonalise(matrices, init=self.init, weights=shares, max_iter=self.max_iter)

    def _solve(self, matrices, moments, k):
        shares = moments.counts / moments.n
        found = self._diagonalise(matrices, shares)
        chosen = largest_columns(found.U, matrices, shares)[:k]
        V = self._orthonormal(found.U[:, chosen])
        if found.status != "converged":
            warn_caller(self._what_happened(found), JointDiagonalisationWarning)
        learnt = {
            "joint_basis_": found.U,
            "chosen_": chosen,
            "status_": found.status,
            "converged_": found.status == "converged",
            "n_iter_": found.n_iter,
            "criterion_": found.criterion,
            "history_": np.array(found.path),
        }
        relaxed = relax(matrices, k, best_kept(matrices, k))
        problem, worst = f"largest loss of the groups over projectors of rank {k}", float(losses(matrices, V).max())
        weights = tuple(relaxed.weights.tolist())
        return V, Certificate(problem, worst, relaxed.bound, 0.0, "min", weights, scope="bound"), learnt

    def _what_happened(self, found: JointDiagonalisation) -> str:
        last = abs(found.path[-2] - found.path[-1]) / found.path[-2]
        return (
            f"the joint diagonalisation still changed its criterion by {last:.1e} of it in the last of {found.n_iter} "
            "steps. Components are columns of the basis it had then. Raise max_iter."
        )
