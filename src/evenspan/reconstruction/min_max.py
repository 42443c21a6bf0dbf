r"""Min-max fair PCA: the group that loses most loses as little as possible; exact for two groups.

Every weight :math:`w \in [0, 1]` bounds every projector P of rank k,

.. math::
    \varphi(w) = w\, a_0 + (1 - w)\, a_1 - \operatorname{top}_k\bigl(w S_0 + (1 - w) S_1\bigr)
        \;\le\; \max_g \bigl(a_g - \operatorname{tr} S_g P\bigr) ,

with :math:`a_g = \operatorname{top}_k(S_g)` for losses and :math:`a_g = \operatorname{tr} S_g` for errors. The bound is
met where some leading eigenprojector of the mixture serves both groups equally well: on the boundary of the joint range
of the two errors (:mod:`evenspan.reconstruction.joint_range`) that is the point where errors less offsets are equal, or
the end of it at which one group has its own PCA and still the larger error. For more groups see
:mod:`evenspan.reconstruction.multi_criteria`.

Nested components are the same problem with k = 1, again and again: in the complement of the components that are there,
with :math:`a_g` less what these keep.
"""

from dataclasses import KW_ONLY, replace
from typing import Literal

import numpy as np

from ..core.answer import Certificate
from ..core.linalg import LARGE, complement, eigenpairs, excess, krylov_eigenspace, symmetrise, top_eigenspace
from ..core.options import COMPONENTS, flag, one_of, option, parameterised
from .group_errors import ReconstructionEstimator, kept
from .joint_range import JointRange
from .multi_criteria import criteria_offsets, solve_multi_criteria
from .relaxation import extended


def solve_min_max(
    S0: np.ndarray,
    S1: np.ndarray,
    k: int,
    objective: Literal["loss", "error"] = "loss",
    offsets: np.ndarray | None = None,
) -> tuple[np.ndarray, Certificate]:
    """The projector of rank k with the smallest maximum of the two groups' losses (or errors), certified.

    For positive semidefinite matrices (d, d) and k from 1 to d - 1: an orthonormal basis (d, k). With errors the best
    weight w of (w, 1 - w), which the certificate holds, can be 0 or 1; the two errors then differ. ``offsets`` (2,)
    stand in the place of the a_g of the objective.
    """
    one_of("loss", "error").require("objective", objective)
    joint = JointRange(S0, S1, k)
    d, matrices, own = len(S0), np.array([joint.M0, joint.M1]), np.zeros(2)
    rounding = 4.0 * np.finfo(float).eps * float(joint.traces.sum(axis=0))
    exact = objective == "loss" and offsets is None  # the ends give the offsets
    start, known = np.random.default_rng(0).normal(size=(d, k + 3)), np.inf if exact else 0.0
    ends = [lowest(joint, angle, start, known) for angle in (0.0, np.pi / 2)]
    if exact:
        own = np.array([value for value, _ in ends])
    elif offsets is not None:
        own = joint.traces - offsets
    # In many dimensions the balance point is sought among projectors in the span of a few leading eigenvectors, where
    # it costs little. Those of the whole problem in its direction give the bound, and join the span until the two meet.
    Q, H, grown = np.eye(d), matrices, True
    if d >= LARGE:
        Q, H, _ = extended(matrices, Q[:, :0], H[:, :0, :0], np.hstack([columns for _, columns in ends]))
    while True:
        if len(H[0]) == d:
            Q, H, inside = np.eye(d), matrices, joint
        else:
            inside = JointRange(*H, k)
        outside = joint.traces - inside.traces
        found, at = inside.balanced(own - outside)
        direction = np.array([np.cos(found.angle), np.sin(found.angle)])
        values, start = top_eigenspace(np.tensordot(direction, H, axes=1), min(k + 3, len(H[0])))
        value, new = lowest(joint, found.angle, Q @ start, float(values[:k].sum(axis=0)) + rounding)
        if not grown or found.value + float(direction @ outside) - value <= rounding:
            break
        Q, H, grown = extended(matrices, Q, H, new)
    V = Q @ found.basis(at)
    weights = direction / direction.sum(axis=0)
    dual = value / direction.sum(axis=0) - weights @ own
    problem = f"largest {objective} of the two groups over projectors of rank {k}"
    primal = float((joint.pair(V) - own).max(axis=0))
    weights, scope = tuple(weights.tolist()), "whole problem"
    return V, Certificate(problem, primal, float(dual), 0.0, "min", weights, joint.evaluations, scope)


def solve(
    matrices: np.ndarray, k: int, objective: Literal["loss", "error"] = "loss", offsets: np.ndarray | None = None
) -> tuple[np.ndarray, Certificate]:
    """A projector of rank k for any number of groups, exact for two, certified."""
    if len(matrices) == 2:
        return solve_min_max(*matrices, k, objective, offsets)
    return solve_multi_criteria(matrices, k, objective, offsets)


def solve_nested(
    matrices: np.ndarray, k: int, objective: Literal["loss", "error"] = "loss"
) -> tuple[np.ndarray, tuple[Certificate, ...]]:
    """Components (d, k) of which the first j have the smallest maximum that the first j - 1 allow, each certified."""
    V, certificates = np.zeros((matrices.shape[1], 0)), []
    for j in range(1, k + 1):
        Z = complement(V)
        left = np.array([symmetrise(Z.T @ M @ Z) for M in matrices])
        offsets = criteria_offsets(matrices, j, objective) - kept(matrices, V)
        v, certificate = solve(left, 1, objective, offsets)
        problem = f"largest {objective} with {j} components, {j - 1} of them given"
        certificates.append(replace(certificate, problem=problem, scope="last step"))
        V = np.hstack([V, Z @ v])
    return V, tuple(certificates)


def lowest(joint: JointRange, angle: float, start: np.ndarray, known: float) -> tuple[float, np.ndarray]:
    """A lower bound on a direction's value, with leading eigenvectors; unproved where these keep more than is known."""
    S = np.cos(angle) * joint.M0 + np.sin(angle) * joint.M1
    found = krylov_eigenspace(S, joint.k, start, known)
    if found is not None:
        joint.evaluations += 1
        values, V, _ = found
        most = float(values[: joint.k].sum(axis=0))
        if most > known or np.isfinite(more := excess(S, *found)):
            return float(np.trace(S)) - (most if most > known else most + more), V
    support = joint.support(angle)
    return support.value, np.hstack([support.fixed, support.tied])


def spread_spares(V: np.ndarray, within: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """V with its directions in which no group varies, which are all equally good, turned to most variance overall."""
    values, turn = eigenpairs(symmetrise(V.T @ within @ V))
    spare = values <= 1e-12 * values[-1]
    if not spare.any():
        return V
    kept = V @ turn[:, ~spare]
    Z = complement(kept)
    return np.hstack([kept, Z @ top_eigenspace(Z.T @ scatter @ Z, int(spare.sum()))[1]])


@parameterised
class MinMaxFairPCA(ReconstructionEstimator):
    r"""PCA for the group that is served worst.

    .. math::
        \min_{P} \max_g \; a_g - \operatorname{tr} M_g P, \qquad P = P^\top = P^2,\ \operatorname{tr} P = k,

    where :math:`M_g` is the second moment of group g about the overall mean, :math:`a_g = \operatorname{top}_k(M_g)`
    for the *loss*, the error in excess of what k components of the group's own would leave, and
    :math:`a_g = \operatorname{tr} M_g` for the *error*.

    Parameters
    ----------
    n_components : int or None, default 2
        The rank k, at most d - 1, which None stands for.
    objective : {"loss", "error"}, default "loss"
        What is balanced. Losses and errors have different optima, and both depend on the scale of the groups.
    nested : bool, default False
        Find one component after the other, each the best beside those before it: the first j components are then the
        answer for j. A rank of its own does better or equally well; the gap of ``certificate_`` bounds by how much.
    center : {"overall", "group"}, default "overall"
        Errors about the overall mean, as ``GroupFrame`` measures them, or about each group's own, which no common
        projection of new rows has.
    standardize : bool, default False
        Divide every feature by its population standard deviation first; constant features stay 0.

    Attributes
    ----------
    components_, mean_ : ndarray of shape (k, d) and (d,)
        Orthonormal rows; what ``transform`` subtracts.
    group_losses_, group_errors_ : ndarray of shape (G,)
        Losses about the point that ``center`` names; mean squared errors about ``mean_``, as ``GroupFrame`` has them.
    objective_ : float
        The largest loss or error.
    certificate_, subspace_ : Certificate and FairSubspace
        The value reached, the dual bound and the dual weights of the groups: the whole problem for two groups, a bound
        for more, and with ``nested``. The answer by itself.
    component_certificates_ : tuple of Certificate
        Of ``nested``: one for each component, about the best component beside those before it.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups seen in ``fit``.
    converged_, n_iter_ : bool and int
        Whether the certificate's gap is closed, to 1e-6 of the objective, of ``nested`` that of every component;
        eigenvalue problems solved.

    Guarantees
    ----------
    On the training sample no projection of rank k has an objective below ``certificate_.dual``. For two groups the gap
    is closed to rounding error, at tied eigenvalues too, and losses are then equal; errors are equal unless one group's
    own components are the answer. For more groups no exact method is known: the semidefinite relaxation is solved and
    its answer rounded. The gap closes where that answer is a projector; elsewhere it says how far the best rounding
    found is from every other.

    Complexity
    ----------
    Two groups: about fifteen eigendecompositions, O(d^3); from 300 features on about five, or few products with blocks
    of k + 3 columns where k is small. More: G and a few more, beside some 40 steps in a span of about (G + 3) k
    columns. Fewer rows than features: in the span of the rows, of order n for d.

    References
    ----------
    Samadi et al. (2018), Definition 4.3; Tantipongpipat et al. (2019); Shen, Davis, Lu & Bai (2025). Nested components:
    Matakos, Ciaperoni & Mannila (2025).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat(np.diag([3.0, 1.0, 2.0]), 2, axis=0) * np.array([1, -1, 1, -1, 1, -1])[:, None]
    >>> fitted = MinMaxFairPCA(1).fit(X, sensitive_features=[0, 0, 0, 0, 1, 1])
    >>> fitted.group_losses_.round(6)
    array([2.117647, 2.117647])
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    objective: str = option(one_of("loss", "error"), default="loss")
    nested: bool = option(flag(), default=False)
    center: str = option(one_of("overall", "group"), default="overall")
    standardize: bool = option(flag(), default=False)

    def _ordered(self, V, scatter):
        return V if self.nested else super()._ordered(V, scatter)

    def _solve(self, matrices, moments, k):
        V, certificate = solve(matrices, k, self.objective)
        if self.nested:
            V, parts = solve_nested(matrices, k, self.objective)
            used = sum(one.evaluations for one in parts)
            certificate = replace(certificate, primal=parts[-1].primal, evaluations=used, scope="bound")
            learnt = {"component_certificates_": parts, "converged_": all(one.is_optimal(1e-6) for one in parts)}
        else:
            learnt = {"converged_": certificate.is_optimal(1e-6)}
            if self.center == "group":
                V = spread_spares(V, matrices.sum(axis=0), moments.scatter)
        return V, certificate, learnt | {"objective_": certificate.primal, "n_iter_": certificate.evaluations}
