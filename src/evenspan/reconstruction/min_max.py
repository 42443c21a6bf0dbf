r"""Min-max fair PCA: the group that loses most loses as little as possible; exact for two groups.

.. math::
    \varphi(w) = w\, a_0 + (1 - w)\, a_1 - \operatorname{top}_k\bigl(w S_0 + (1 - w) S_1\bigr)
        \;\le\; \max_g \bigl(a_g - \operatorname{tr} S_g P\bigr)
        \qquad \text{for every weight } w \in [0, 1] \text{ and projector } P,

with :math:`a_g = \operatorname{top}_k(S_g)` for losses and :math:`a_g = \operatorname{tr} S_g` for errors. The largest
:math:`\varphi` equals the smallest maximum: at the best weight some leading eigenprojector has the slope that closes
the gap. One eigendecomposition gives :math:`\varphi`, the interval of its slopes
:math:`\varphi' \ni (a_0 - a_1) - \operatorname{tr} D P`, :math:`D = S_0 - S_1`, and where the k-th eigenvalue is simple

.. math:: \varphi'' = -2 \sum_{i \le k < j} (u_i^\top D u_j)^2 / (\lambda_i - \lambda_j) .

The relaxation for any number of groups (:mod:`evenspan.reconstruction.relaxation`) has the same value for two, but does
not give what this search gives. Its path ends at a stated gap, the search at rounding error, without which losses are
not equal where eigenvalues nearly tie or nearly vanish. At a tie its answer is fractional, and the projector that is
built here in closed form has to be looked for by rounding and descent. And one unknown takes a few eigenvalue problems,
where the path, the roundings and the descents take hundreds of small ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import linalg

from ..core.answer import Certificate
from ..core.errors import ConfigurationError
from ..core.linalg import eigenpairs, symmetrise
from ..core.moments import GroupMoments
from ..core.options import Option, flag, number, one_of, whole
from .group_errors import (
    ReconstructionEstimator,
    best_kept,
    group_matrices,
    kept,
    operator_errors,
    operator_range,
    require_rank,
    square_root_map,
    truncate,
)
from .joint_range import pick
from .multi_criteria import criteria_offsets, samadi, solve_multi_criteria
from .multiplicative_weights import correct_choice, run

#: Widths, relative to the largest entry, of the cluster at the k-th eigenvalue from which an answer may be mixed.
#: The narrowest that closes the gap is used; a wider one can cost at most its width times k.
CLUSTERS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)
#: Features from which, for ranks up to this share of them, block Krylov spaces replace full eigendecompositions.
LARGE, SMALL_SHARE = 300, 0.05


@dataclass(frozen=True, eq=False)
class _Point:
    """One weight, solved."""

    w: float
    dual: float
    slope: float
    curvature: float
    values: np.ndarray
    vectors: np.ndarray


def solve_min_max(
    S0: np.ndarray, S1: np.ndarray, k: int, objective: Literal["loss", "error"] = "loss", *, rtol: float = 1e-10
) -> tuple[np.ndarray, Certificate]:
    """The projector of rank k with the smallest maximum of the two groups' losses (or errors), certified.

    Parameters
    ----------
    S0, S1 : ndarray of shape (d, d)
        Symmetric positive semidefinite matrices of the groups.
    k : int
        Rank, from 1 to d - 1.
    objective : {"loss", "error"}
        Balance the errors in excess of each group's own best, or the errors themselves. With errors the best weight
        can be 0 or 1; the two errors then differ.
    rtol : float
        Stop when gap over value is below this, or when rounding allows no further progress. The certificate carries
        the gap that was reached.

    Returns
    -------
    V : ndarray of shape (d, k)
        Orthonormal basis.
    certificate : Certificate
        With ``weights = (w, 1 - w)`` and the number of eigenvalue problems solved.
    """
    one_of("loss", "error").require("objective", objective)
    k = require_rank(k, len(S0))
    if len(S0) >= LARGE and k <= SMALL_SHARE * len(S0):
        from .min_max_krylov import solve_min_max_krylov

        return solve_min_max_krylov(S0, S1, k, objective, rtol=rtol)
    return solve_dense(symmetrise(S0), symmetrise(S1), k, objective, rtol=rtol)


def solve_dense(
    S0: np.ndarray, S1: np.ndarray, k: int, objective: Literal["loss", "error"], *, rtol: float
) -> tuple[np.ndarray, Certificate]:
    """``solve_min_max`` by full eigendecompositions, whatever the size."""
    problem = f"largest {objective} of the two groups over projectors of rank {k}"
    search = Search(S0, S1, k)
    ends = search.eigen(0.0), search.eigen(1.0)
    a = np.array([np.trace(S0), np.trace(S1)])
    if objective == "loss":  # the two ends are the groups' own problems
        a = np.array([ends[1][0][-k:].sum(axis=0), ends[0][0][-k:].sum(axis=0)])
    V, primal, w, dual = search.solve(a, rtol, {0.0: ends[0], 1.0: ends[1]})
    return V, Certificate(problem, primal, dual, 0.0, "min", (w, 1.0 - w), search.evaluations)


class Search:
    """The dual of one pair of matrices, its maximum, and the projector that attains it."""

    def __init__(self, S0: np.ndarray, S1: np.ndarray, k: int):
        self.S0, self.S1, self.D, self.k = S0, S1, S0 - S1, k
        self.scale = float(max(np.abs(S0).max(), np.abs(S1).max()))
        self.evaluations = 0

    def eigen(self, w: float) -> tuple[np.ndarray, np.ndarray]:
        self.evaluations += 1
        return eigenpairs(w * self.S0 + (1.0 - w) * self.S1)

    def point(self, w: float, a: np.ndarray, eigen: tuple[np.ndarray, np.ndarray]) -> _Point:
        values, vectors = eigen
        cut = len(values) - self.k
        DU = self.D @ vectors[:, cut:]
        slope = float(a[0] - a[1] - np.vdot(vectors[:, cut:], DU))
        distance = values[cut:] - values[:cut, None]
        # Vectors tied across the cut are interchangeable here; a kink shows in the slopes of the bracket instead.
        bend = np.where(distance > 1e-12 * self.scale, (vectors[:, :cut].T @ DU) ** 2, 0.0)
        curvature = -2.0 * float((bend / np.maximum(distance, 1e-12 * self.scale)).sum(axis=None))
        dual = float(w * a[0] + (1.0 - w) * a[1] - values[cut:].sum(axis=0))
        return _Point(float(w), dual, slope, curvature, values, vectors)

    def solve(self, a: np.ndarray, rtol: float, known: dict) -> tuple[np.ndarray, float, float, float]:
        """Basis, its value, the best weight and the dual value there."""
        floor = 4.0 * np.finfo(float).eps * float(np.abs(a).sum(axis=0))
        left, right = (self.point(w, a, known[w]) for w in (0.0, 1.0))
        best: tuple[np.ndarray, float] | None = None
        top = max(left, right, key=lambda p: p.dual)

        def consider(p: _Point) -> bool:
            nonlocal best, top
            for V in self.candidates(p, a):
                value = float((a - [np.vdot(V, self.S0 @ V), np.vdot(V, self.S1 @ V)]).max())
                if best is None or value < best[1]:
                    best = V, value
            top = max(top, p, key=lambda q: q.dual)
            return best[1] - top.dual <= max(rtol * abs(best[1]), floor)

        # The maximum is at an end where the slope there points out of the interval, or where it contains zero.
        if consider(left) or consider(right):
            return best[0], best[1], top.w, top.dual
        # Newton's method from the end of the bracket with the smaller slope; where that leaves the bracket, the point
        # where the two tangents meet, which is of second order at a kink; halving where neither makes progress.
        stalled = 0
        for _ in range(100):
            near = min(left, right, key=lambda p: abs(p.slope))
            w = near.w - near.slope / near.curvature if near.curvature < 0 else -1.0
            if not left.w < w < right.w:
                w = left.w + _meeting(left, right)
            if stalled >= 2:
                w, stalled = 0.5 * (left.w + right.w), 0
            if not left.w < w < right.w:
                break
            width = right.w - left.w
            new = self.point(w, a, self.eigen(w))
            left, right = (new, right) if new.slope > 0 else (left, new)
            progress = right.w - left.w <= 0.25 * width or abs(new.slope) <= 0.25 * abs(near.slope)
            stalled = 0 if progress else stalled + 1
            if consider(new):
                break
        return best[0], best[1], top.w, top.dual

    def candidates(self, p: _Point, a: np.ndarray):
        """Leading eigenbases at a weight: the plain one, and mixtures of a cluster that balance the groups."""
        d, k = len(p.values), self.k
        cut = d - k
        yield p.vectors[:, cut:]
        seen = None
        for width in CLUSTERS:
            slack = width * self.scale
            first = int(np.searchsorted(p.values, p.values[cut] - slack))
            last = int(np.searchsorted(p.values, p.values[cut] + slack, side="right"))
            if first == cut or (first, last) == seen:
                continue
            seen = first, last
            W1, W2 = p.vectors[:, last:], p.vectors[:, first:last]
            values, rotation = linalg.eigh(symmetrise(W2.T @ self.D @ W2), check_finite=False)
            wanted = float(a[0] - a[1] - np.vdot(W1, self.D @ W1))
            yield np.hstack([W1, W2 @ pick(values, rotation, k - W1.shape[1], wanted)])


def _meeting(left: _Point, right: _Point) -> float:
    """How far right of ``left`` the tangents at the two points meet."""
    h = right.w - left.w
    bend = left.slope - right.slope
    if not bend > 0:
        return 0.5 * h
    return min(max((right.dual - left.dual - right.slope * h) / bend, 0.0), h)


MODES = ("rank-k", "k+1", "truncate")


class MinMaxFairPCA(ReconstructionEstimator):
    r"""PCA for the group that is served worst.

    .. math::
        \min_{P} \max_g \; a_g - \operatorname{tr} C_g P, \qquad P = P^\top = P^2,\ \operatorname{tr} P = k,

    where :math:`a_g = \operatorname{top}_k(C_g)` for the *loss*, the error in excess of what k components of the
    group's own would leave, and :math:`a_g = \operatorname{tr} C_g` for the *error*. With ``objective="nsw"`` the
    geometric mean of the kept variances :math:`\operatorname{tr} C_g P` is maximised instead.

    Parameters
    ----------
    n_components : int, default 2
        The rank k, at most d - 1.
    objective : {"loss", "error", "nsw"}, default "loss"
        What is balanced. Losses and errors have different optima; neither is free of the scale of the groups, Nash
        social welfare is.
    solver : {"exact", "sdp", "mw"}, default "exact"
        For two groups "exact" maximises the concave dual. With more groups, and for "nsw", no solver is exact for
        every problem: "exact" and "sdp" then both mean the semidefinite relaxation, which is solved to the end, and
        rounding where its answer is fractional. "mw" is multiplicative weights, for any number of groups.
    mode : {"rank-k", "k+1", "truncate"}, default "rank-k"
        "rank-k" is a projector of rank k. The other two are the answers as published, from the linear operator that
        stands for a fractional solution: "k+1" (solver "sdp") keeps it in ``operator_`` with its range as components,
        k + G - 1 of them at most; "truncate" (solvers "sdp", "mw") keeps its k leading directions, a heuristic.
    learning_rate : float, default 1.0
        Of multiplicative weights.
    max_iter : int, default 1000
        Of multiplicative weights.
    scale_losses : bool, default True
        Divide losses by the most that any group can keep before they enter the exponent.
    center : {"group", "global"}, default "group"
        Errors about each group's own mean, or about the overall mean.
    standardize : bool, default False
        Divide every feature by its population standard deviation first; constant features stay 0.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal rows. In mode "k+1" there can be one row more for every further group.
    mean_ : ndarray of shape (d,)
        What ``transform`` subtracts.
    group_losses_ : ndarray of shape (G,)
        Of the projection on the components; in mode "k+1" of ``operator_``. About the point that ``center`` names.
    group_errors_ : ndarray of shape (G,)
        Mean squared reconstruction error of each group about ``mean_``, as ``GroupFrame`` measures it.
    objective_ : float
        The largest loss or error, or the Nash social welfare.
    certificate_ : Certificate
        The value reached, the dual bound, the gap between them, the dual weights of the groups and the number of
        eigenvalue problems.
    operator_ : ndarray of shape (d, d)
        Only in mode "k+1": the map x -> Px about the mean whose errors are reported. ``transform`` gives coordinates in
        its range, before the shrinkage along the fractional directions; ``inverse_transform`` therefore leaves errors
        that are not above those of ``operator_``.
    subspace_ : FairSubspace
        The answer by itself.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups seen in ``fit``.
    solver_ : str
        What was done: "exact" for two groups only; "relaxation and rounding" also where ``solver="exact"`` got more
        groups, for which no exact solver is known: the certificate's gap then says what was lost.
    converged_ : bool
        Whether the certificate's gap is closed, to 1e-6 of the objective.
    n_iter_ : int
        Eigenvalue problems solved, or steps of the weights; 1 where a program was solved as a whole.

    Guarantees
    ----------
    On the fitting sample no projection of rank k has an objective below ``certificate_.dual`` (above it, for "nsw").
    For two groups "exact" closes the gap to rounding error, at tied eigenvalues too, and losses are then equal; errors
    are equal unless one group's own components are the answer. With more groups the gap closes where the relaxation has
    a projector as its answer; elsewhere it says how far the best rounding found is from every other.

    Complexity
    ----------
    Two groups: about ten eigendecompositions, O(d^3). More: G and a few more, beside some 40 steps in a span of about
    (G + 3) k columns. "mw": one for each iteration. Fewer rows than features: in the span of the rows, of
    order n for d.

    References
    ----------
    Samadi et al. (2018), Definition 4.3 and Algorithm 1; Tantipongpipat et al. (2019); Shen, Davis, Lu & Bai (2025).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat(np.diag([3.0, 1.0, 2.0]), 2, axis=0) * np.array([1, -1, 1, -1, 1, -1])[:, None]
    >>> fitted = MinMaxFairPCA(1).fit(X, sensitive_features=[0, 0, 0, 0, 1, 1])
    >>> fitted.group_losses_.round(6)
    array([2.117647, 2.117647])
    """

    _options: ClassVar[Mapping[str, Option]] = {
        "objective": one_of("loss", "error", "nsw"),
        "solver": one_of("exact", "sdp", "mw"),
        "mode": one_of(*MODES),
        "learning_rate": number(0, low_open=True),
        "max_iter": whole(1),
        "scale_losses": flag(),
        "center": one_of("group", "global"),
        "standardize": flag(),
    }

    @property
    def _units(self) -> Mapping[str, int]:
        # What is not divided by its scale enters an exponent.
        own = {"objective_": 2} | ({} if self.scale_losses else {"learning_rate": -2})
        return ReconstructionEstimator._units | own

    def __init__(
        self,
        n_components=2,
        *,
        objective="loss",
        solver="exact",
        mode="rank-k",
        learning_rate=1.0,
        max_iter=1000,
        scale_losses=True,
        center="group",
        standardize=False,
    ):
        self.n_components = n_components
        self.objective = objective
        self.solver = solver
        self.mode = mode
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.scale_losses = scale_losses
        self.center = center
        self.standardize = standardize

    def _check_options(self) -> None:
        super()._check_options()
        possible = {"exact": ("rank-k",), "sdp": MODES, "mw": ("rank-k", "truncate")}[self.solver]
        if self.mode not in possible:
            why = "its fractional answer can have any rank" if self.solver == "mw" else "its answer has rank k already"
            raise ConfigurationError(
                f"mode={self.mode!r} with solver={self.solver!r}: {why}. Take mode='rank-k', or solver='sdp'."
            )
        if self.objective == "nsw" and (self.solver == "mw" or self.mode != "rank-k"):
            raise ConfigurationError(
                f"objective='nsw' with solver={self.solver!r}, mode={self.mode!r}: Nash social welfare is not a "
                "maximum over groups, and is solved by relaxation and rounding only. Take solver='sdp', mode='rank-k'."
            )

    def _solve(self, matrices, moments, k):
        if hasattr(self, "operator_"):
            del self.operator_
        learnt = {}
        if self.solver == "mw":
            solver, (V, certificate) = "multiplicative weights", self._by_weights(matrices, k)
        elif self.mode != "rank-k":
            solver, (V, certificate, learnt) = "relaxation", self._as_published(matrices, moments, k)
        elif self.solver == "exact" and len(matrices) == 2 and self.objective != "nsw":
            solver, (V, certificate) = "exact", solve_min_max(*matrices, k, self.objective)
        else:
            solver, (V, certificate) = "relaxation and rounding", solve_multi_criteria(matrices, k, self.objective)
        return (
            V,
            certificate,
            {
                "solver_": solver,
                "objective_": certificate.primal,
                "n_iter_": max(int(certificate.evaluations or 1), 1),
                "converged_": certificate.is_optimal(1e-6),
                **learnt,
            },
        )

    def _lifted(self, learnt, Q, rest):
        return learnt | ({"operator_": Q @ learnt["operator_"] @ Q.T} if "operator_" in learnt else {})

    def _by_weights(self, matrices: np.ndarray, k: int) -> tuple[np.ndarray, Certificate]:
        a = criteria_offsets(matrices, k, self.objective)
        settings = {"iterations": self.max_iter, "scale": self.scale_losses, "offsets": a}
        (found,) = run(matrices, k, [self.learning_rate], **settings)
        V = found.best
        if self.mode == "truncate":
            X = correct_choice(matrices, found, k, offsets=a)
            V = truncate(square_root_map(X), k)
        return V, self._certificate(matrices, V, a, found.bound, found.weights, k, self.max_iter)

    def _as_published(
        self, matrices: np.ndarray, moments: GroupMoments, k: int
    ) -> tuple[np.ndarray, Certificate, dict]:
        a = criteria_offsets(matrices, k, self.objective)
        _, _, P, relaxation = samadi(matrices, k, a)
        if self.mode == "truncate":
            V = truncate(P, k)
            return V, self._certificate(matrices, V, a, relaxation.bound, relaxation.weights, k), {}
        errors = operator_errors(matrices, P)
        traces = np.trace(matrices, axis1=1, axis2=2)
        value = float((errors - traces + a).max())
        weights = tuple(float(w) for w in relaxation.weights)
        problem = f"largest {self.objective} of the groups over fractional projectors of trace {k}"
        # The base measures the projection on the whole range; the answer is the operator.
        learnt = {
            "operator_": P,
            "group_errors_": operator_errors(group_matrices(moments, "fitted"), P),
            "group_losses_": errors - traces + best_kept(matrices, k),
        }
        return operator_range(P), Certificate(problem, value, relaxation.bound, 0.0, "min", weights), learnt

    def _certificate(self, matrices, V, a, bound, weights, k, evaluations=None) -> Certificate:
        value = float((a - kept(matrices, V)).max())
        problem = f"largest {self.objective} of the groups over projectors of rank {k}"
        return Certificate(problem, value, bound, 0.0, "min", tuple(float(w) for w in weights), evaluations)
