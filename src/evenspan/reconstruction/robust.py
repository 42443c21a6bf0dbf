r"""Robust fair PCA (Vu et al. 2022) for any number of groups, and a lower bound on its objective that holds for all.

Every h(v, ., e) is concave in the error q: for v >= 0 it is v (q + 2 sqrt(e q) + e); for v < 0 it is 0 up to q = e and
from there |v| (-q + 2 sqrt(e q) - e), whose slope starts at 0 and falls. Every attainable q_g lies between the sum l_g
of the d - k smallest and the sum u_g of the d - k largest eigenvalues of M_g, and there a concave function is above its
chord. So every branch is above a function c_p + sum_g b_pg q_g, and for any weights s >= 0 with sum 1

.. math:: J(V) \ge \sum_p s_p \Bigl( c_p + \sum_g b_{pg} q_g \Bigr)
    \ge \sum_p s_p c_p + \Bigl(\text{sum of the } d - k \text{ smallest eigenvalues of }
    \sum_g \textstyle\sum_p s_p b_{pg} M_g \Bigr) .

The right side is concave in s and is maximised by cutting planes. The bound need not be reached, for two reasons: the
chords, and for three groups and more the attainable errors need not form a convex set.
"""

from dataclasses import KW_ONLY

import numpy as np
from scipy.optimize import linprog

from ..core.answer import Certificate
from ..core.errors import GroupError, NotSolvedError
from ..core.estimator import NotConvergedWarning
from ..core.groups import label_text
from ..core.inputs import require_generator, warn_caller
from ..core.linalg import symmetrise
from ..core.options import COMPONENTS, SEED, flag, number, one_of, option, parameterised, whole
from .group_errors import ReconstructionEstimator, errors
from .joint_range import JointRange
from .robust_descent import RobustObjective, conditions, descend, radii, smallest_errors
from .robust_exact import solve_exact


def chords(f: RobustObjective, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Constants (pairs,) and slopes (pairs, G) of the linear functions that are below the branches between the ends."""
    ends = [f.factors * np.maximum(np.sqrt(np.maximum(q, 0.0)) + f.shifts, 0.0) ** 2 for q in (low, high)]
    slopes = np.divide(ends[1] - ends[0], high - low, out=np.zeros_like(ends[0]), where=high > low)
    return (ends[0] - slopes * low).sum(axis=-1), slopes


def lower_bound(
    matrices: np.ndarray, k: int, f: RobustObjective, V: np.ndarray, *, rtol: float = 1e-9, max_rounds: int = 60
) -> tuple[float, np.ndarray, int]:
    """The best bound found, the weights (G,) of the groups that give it, and the eigenvalue problems solved.

    The search starts at the projection V (the better, the faster) and stops where weights promise no more than rtol.
    """
    d = len(matrices[0])
    low, high = smallest_errors(matrices, k), np.linalg.eigvalsh(matrices)[:, k:].sum(axis=1)
    constants, slopes = chords(f, low, high)
    P, cuts = len(constants), [constants + slopes @ errors(matrices, V)]
    best, weights = -np.inf, np.zeros(len(matrices))
    unit = float((np.abs(constants) + np.abs(slopes) @ high).max()) or 1.0  # HiGHS takes 1e-9 for zero
    while len(cuts) <= max_rounds:
        # Largest t with t <= (cut, s) for all cuts: what weights can still promise.
        found = linprog(
            np.append(np.zeros(P), -1.0),
            A_ub=np.column_stack([-np.array(cuts) / unit, np.ones(len(cuts))]),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.append(np.ones(P), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * P + [(None, None)],
        )
        if found.status != 0:
            raise NotSolvedError(f"the weights of the bound were not found ({found.message}). Standardise the data.")
        s = np.maximum(found.x[:P], 0.0)
        s /= s.sum(axis=0)
        combined = symmetrise(np.einsum("g,gde->de", s @ slopes, matrices))
        values, vectors = np.linalg.eigh(combined)
        bound = float(s @ constants + values[: d - k].sum(axis=0))
        if bound > best:
            best, weights = bound, s @ slopes
        cuts.append(constants + slopes @ errors(matrices, vectors[:, d - k :]))
        if -found.fun * unit - best <= rtol * abs(best):
            break
    return best, weights, len(cuts) - 1


PROBLEM = "worst-case error plus penalised difference over projections of rank k"


@parameterised
class RobustFairPCA(ReconstructionEstimator):
    r"""PCA for the worst distribution near the sample, with a penalty on unequal group errors.

    .. math::
        \min_{V^\top V = I_k} \; \sup_{Q} \; E_Q\,\ell(V, X)
            + \lambda \max_{a, a'} \bigl| E_Q[\ell(V, X) \mid a] - E_Q[\ell(V, X) \mid a'] \bigr|, \qquad
        \ell(V, x) = \lVert x - VV^\top x \rVert^2 ,

    over all Q with the groups' shares of the sample whose groups have moments within a Wasserstein-type ball of radius
    :math:`\varepsilon_g = \alpha / \sqrt{n_g}` about those of the sample. The supremum has a closed form in the group
    errors, so the problem is one over subspaces.

    Parameters
    ----------
    n_components : int or None, default 2
        The number of components k, at most d - 1, which None stands for.
    alpha : float, default 0.1
        Size of the balls. A larger one gives more weight to groups with few rows; 0 trusts the sample.
    penalty : float, default 1.0
        Weight of the difference between groups, lambda in the paper. 0 ignores groups apart from their radii.
    solver : {"exact", "subgradient"}, default "exact"
        The global minimum on the boundary of the joint range (two groups), or Riemannian subgradient descent as
        published (any number).
    n_init, max_iter : int, default 21 and 1000
        Starts of the descent, of which one is the PCA of the sample and the others are random, and steps, of size
        1 / sqrt(max_iter + 1).
    random_state : int, Generator or None, default 0
        Source of the random starts.
    standardize : bool, default False
        Divide every feature by its population standard deviation first.

    Attributes
    ----------
    components_, mean_, subspace_, group_errors_, group_losses_, group_labels_, group_counts_
        As in ``MinMaxFairPCA``.
    objective_, radii_ : float, ndarray of shape (G,)
        The worst-case objective reached, and the radius of the ball of every group.
    violations_ : dict
        For every group (by label) that meets neither condition of the paper's theorem: by how much the penalty exceeds
        its share, and by how much its radius exceeds its smallest possible error.
    runs_ : ndarray of shape (n_init,)
        Final objective of every start, the warm start last; None with the exact solver.
    converged_, n_iter_ : bool and int
        Whether the certificate's gap is closed, to 1e-6 of the objective; steps, or eigenvalue problems solved.
    certificate_ : Certificate
        The objective reached and a lower bound: the whole problem with the exact solver, a bound for the descent.

    Guarantees
    ----------
    With ``solver="exact"`` no projection of rank k has a smaller objective, up to the gap of the certificate. The
    descent promises a local statement only; for two groups its certificate carries the bound of the exact solver and
    shows the true distance to the optimum. For more groups the bound can be below the optimum, so that the gap can be
    positive at the best projection too.

    Complexity
    ----------
    Exact: O(d^3) for each of a few dozen directions. Descent: O(G d^2 k) for each start and step, all starts at once.
    Fewer rows than features: in the span of the rows, of order n for d.

    References
    ----------
    H. Vu, T. Tran, M.-C. Yue, V. A. Nguyen (2022), Distributionally robust fair principal components via geodesic
    descents, eq. (6), Algorithm 1; for more than two groups Theorem B.2 with the sum over groups put back.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> fitted = RobustFairPCA(1, alpha=0.0, penalty=1.0).fit(X, sensitive_features=["a", "a", "b", "b"])
    >>> np.round(fitted.group_errors_, 6)
    array([0.8, 0.8])
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    alpha: float = option(number(0), default=0.1)
    penalty: float = option(number(0), default=1.0)
    solver: str = option(one_of("exact", "subgradient"), default="exact")
    n_init: int = option(whole(1), default=21)
    max_iter: int = option(whole(1), default=1000)
    random_state: int | np.random.Generator | None = option(SEED, default=0)
    standardize: bool = option(flag(), default=False)

    def _solve(self, matrices, moments, k):
        if self.solver == "exact" and moments.G != 2:
            raise GroupError(
                f"solver='exact' handles exactly two groups, but there are {moments.G} "
                f"({', '.join(repr(label_text(label)) for label in moments.labels)}). Use solver='subgradient'."
            )
        rng = require_generator(self.random_state)
        shares = moments.counts / moments.n
        balls = radii(moments.counts, self.alpha)
        found = conditions(matrices, k, balls, shares, self.penalty)
        violations = {
            label_text(moments.labels[g]): (float(found.penalty_excess[g]), float(found.radius_excess[g]))
            for g in np.flatnonzero(np.minimum(*found) > 0)
        }
        if self.solver == "exact":
            V, certificate = solve_exact(JointRange(*matrices, k), shares, balls, self.penalty)
            runs, steps = None, certificate.evaluations
        else:
            drawn = {"restarts": self.n_init - 1, "iterations": self.max_iter, "rng": rng}
            run = descend(matrices, moments.counts, k, [(self.alpha, self.penalty)], **drawn)
            V, runs, steps = run.V[0], run.runs[0], self.max_iter
            certificate = certified(matrices, V, shares, balls, self.penalty)
        converged = certificate.is_optimal(1e-6)
        if not converged:
            warn_caller(
                f"the objective is {certificate.primal:.6g} and the bound below it {certificate.dual:.6g}: the descent "
                "ended away from the optimum, or for more than two groups the bound is loose. Raise n_init or "
                "max_iter, or for two groups take solver='exact'.",
                NotConvergedWarning,
            )
        learnt = {"radii_": balls, "violations_": violations, "runs_": runs, "objective_": certificate.primal}
        return V, certificate, {**learnt, "n_iter_": steps, "converged_": converged}


def certified(matrices, V: np.ndarray, shares, balls, penalty: float) -> Certificate:
    """The objective at any V beside the exact minimum for two groups, and a lower bound on it for more."""
    f, k = RobustObjective.of(shares, balls, penalty), V.shape[1]
    if len(matrices) == 2:
        _, exact = solve_exact(JointRange(*matrices, k), shares, balls, penalty)
        dual, weights, evaluations = exact.dual, exact.weights, exact.evaluations
    else:
        dual, weights, evaluations = lower_bound(matrices, k, f, V)
    value, slip = float(f.value(errors(matrices, V))), float(np.abs(V.T @ V - np.eye(k)).max(initial=0.0))
    return Certificate(PROBLEM, value, dual, slip, "min", tuple(float(w) for w in weights), evaluations, "bound")
