"""Min-max fair PCA: the group that loses most loses as little as possible."""

from numbers import Integral, Real

import numpy as np

from ..core.answer import Answer, Certificate
from ..core.errors import ConfigurationError
from ..core.moments import GroupMoments
from .group_errors import Centring, ReconstructionEstimator, best_kept, group_matrices, kept
from .min_max_exact import solve_min_max
from .min_max_sdp import samadi
from .multi_criteria import criteria_offsets, solve_multi_criteria
from .multiplicative_weights import correct_choice, run
from .operators import operator_errors, operator_range, square_root_map, truncate

OBJECTIVES, SOLVERS, MODES = ("loss", "error", "nsw"), ("exact", "sdp", "mw"), ("rank-k", "k+1", "truncate")


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
        For two groups "exact" maximises the concave dual. With more groups, and for "nsw", no exact solver is known:
        "exact" and "sdp" then both mean relaxation, rank reduction and rounding, which need the extra
        ``evenspan[solvers]``. "mw" is multiplicative weights, for any number of groups, without extras.
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
    centring : {"group", "fitted"}, default "group"
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
        Of the projection on the components; in mode "k+1" of ``operator_``. About the point that ``centring`` names.
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
    are equal unless one group's own components are the answer. With more groups a positive gap can remain.

    Complexity
    ----------
    Two groups: about ten eigendecompositions, O(d^3). "mw": one for each iteration. "sdp": a cone programme with
    matrix variables of order d, practical to d of about 100.

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
        centring="group",
        standardize=False,
    ):
        self.n_components = n_components
        self.objective = objective
        self.solver = solver
        self.mode = mode
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.scale_losses = scale_losses
        self.centring = centring
        self.standardize = standardize

    @property
    def _centring(self) -> Centring:
        return self.centring

    def _check(self) -> None:
        for name, allowed in (("objective", OBJECTIVES), ("solver", SOLVERS), ("mode", MODES)):
            if getattr(self, name) not in allowed:
                raise ConfigurationError(f"{name}={getattr(self, name)!r}; needed is one of {', '.join(allowed)}.")
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
        if not (isinstance(self.learning_rate, Real) and 0 < self.learning_rate < np.inf):
            raise ConfigurationError(f"learning_rate={self.learning_rate!r}; needed is a positive number.")
        if not (isinstance(self.max_iter, Integral) and self.max_iter >= 1):
            raise ConfigurationError(f"max_iter={self.max_iter!r}; needed is a whole number of at least 1.")

    def _answer(self, moments: GroupMoments) -> Answer:
        self._check()
        if hasattr(self, "operator_"):
            del self.operator_
        answer = super()._answer(moments)
        certificate = answer.subspace.certificate
        learnt = {
            "objective_": certificate.primal,
            "n_iter_": max(int(certificate.evaluations or 1), 1),
            "converged_": certificate.is_optimal(1e-6),
        }
        if self.mode == "k+1":
            # The base measured the projection on the whole range; the answer is the operator.
            seen = moments.standardised() if self.standardize else moments
            matrices, k = group_matrices(seen, self._centring), self.n_components
            found = operator_errors(matrices, self.operator_)
            learnt |= {
                "group_errors_": operator_errors(group_matrices(seen, "fitted"), self.operator_),
                "group_losses_": found - np.trace(matrices, axis1=1, axis2=2) + best_kept(matrices, k),
            }
        return Answer(answer.subspace, {**answer.learnt, **learnt})

    def _solve(self, matrices: np.ndarray, moments: GroupMoments, k: int) -> tuple[np.ndarray, Certificate]:
        if self.solver == "mw":
            self.solver_ = "multiplicative weights"
            return self._by_weights(matrices, k)
        if self.mode != "rank-k":
            self.solver_ = "relaxation"
            return self._as_published(matrices, k)
        if self.solver == "exact" and len(matrices) == 2 and self.objective != "nsw":
            self.solver_ = "exact"
            return solve_min_max(*matrices, k, self.objective)
        self.solver_ = "relaxation and rounding"
        V, certificate, _ = solve_multi_criteria(matrices, k, self.objective)
        return V, certificate

    def _by_weights(self, matrices: np.ndarray, k: int) -> tuple[np.ndarray, Certificate]:
        a = criteria_offsets(matrices, k, self.objective)
        settings = {"iterations": self.max_iter, "scale": self.scale_losses, "offsets": a}
        (found,) = run(matrices, k, [self.learning_rate], **settings)
        V = found.best
        if self.mode == "truncate":
            X = correct_choice(matrices, found, k, offsets=a)
            V = truncate(square_root_map(X), k)
        return V, self._certificate(matrices, V, a, found.bound, found.weights, k, self.max_iter)

    def _as_published(self, matrices: np.ndarray, k: int) -> tuple[np.ndarray, Certificate]:
        a = criteria_offsets(matrices, k, self.objective)
        _, _, P, relaxation = samadi(matrices, k, a)
        if self.mode == "truncate":
            V = truncate(P, k)
            return V, self._certificate(matrices, V, a, relaxation.bound, relaxation.weights, k)
        errors = operator_errors(matrices, P)
        traces = np.trace(matrices, axis1=1, axis2=2)
        self.operator_ = P
        value = float((errors - traces + a).max())
        weights = tuple(float(w) for w in relaxation.weights)
        problem = f"largest {self.objective} of the groups over fractional projectors of trace {k}"
        return operator_range(P), Certificate(problem, value, relaxation.bound, 0.0, "min", weights)

    def _certificate(self, matrices, V, a, bound, weights, k, evaluations=None) -> Certificate:
        value = float((a - kept(matrices, V)).max())
        problem = f"largest {self.objective} of the groups over projectors of rank {k}"
        return Certificate(problem, value, bound, 0.0, "min", tuple(float(w) for w in weights), evaluations)
