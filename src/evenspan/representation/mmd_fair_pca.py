"""PCA under a bound on the maximum mean discrepancy between groups (Lee et al. 2022), by a penalty method."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from ..core.answer import Certificate, FairSubspace
from ..core.errors import ConfigurationError, DataError, FairWarning, GroupError
from ..core.estimator import PointsEstimator, require_components, require_generator, warn_caller
from ..core.groups import label_text
from ..core.kernels import median_bandwidth
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from .mmd_penalty import DiscrepancyPenalty
from .stiefel import minimise, retract

#: Random starts, of which the one with the most variance is kept, and steps from there towards equal distributions.
STARTS, START_STEPS = 11, 500
#: Gradient norms asked for: at first, at last, and as a share of the first one from the random start.
COARSE, FINE, RELATIVE = 1e-1, 1e-6, 1e-6
#: The gradient norm asked for falls by this factor after each outer iteration: five of them from coarse to fine.
THETA = (FINE / COARSE) ** (1 / 5)
#: The smallest move of an outer iteration, and the weight beyond which the run ends.
SMALLEST_MOVE, LARGEST_WEIGHT = 1e-6, 1e10


class UnmetToleranceWarning(FairWarning):
    """The penalty method ended before the discrepancy was within the tolerance and the components had settled."""


class OuterIteration(NamedTuple):
    """One minimisation with a fixed weight: share of variance, largest discrepancy, weight, and move of V."""

    explained: float
    mmd2: float
    weight: float
    move: float


class MMDFairPCA(PointsEstimator):
    r"""PCA with a bound on the maximum mean discrepancy between the projected groups.

    .. math::

        \max_{V^\top V = I_k} \frac{\operatorname{tr} V^\top C V}{\operatorname{tr} C}
        \quad \text{subject to} \quad \operatorname{MMD}^2(XV) \le \tau

    for every pair of groups, with a Gaussian kernel. The penalty method minimises

    .. math::

        -\frac{\operatorname{tr} V^\top C V}{\operatorname{tr} C} + \rho \sum_{g < h} \operatorname{MMD}^2_{gh}(XV)

    and raises the weight :math:`\rho` for as long as the bound is not met.

    Parameters
    ----------
    n_components : int, default 2
        The number of components k, at most d.
    tolerance : float, default 1e-3
        :math:`\tau`, the largest squared discrepancy allowed on the fitting sample. Smaller keeps less variance and
        takes longer; it may not be reached. The weight is never lowered, so a tolerance that the first weight meets
        already changes nothing: the answer then keeps less than is allowed, even where standard PCA meets the bound.
    bandwidth : float or "median", default "median"
        Of the kernel. "median" is the median heuristic on the standard principal components of the same number.
    penalty : {"released", "documented"}, default "released"
        The first weight: 1 / MMD^2 of standard PCA as in the public scripts, or 0.1 / MMD^2 as in their documentation.
    growth : float, default 2.0
        Factor on the weight after an outer iteration that does not meet the tolerance.
    max_outer : int, default 100
        Outer iterations.
    max_inner : int, default 300
        Quasi-Newton steps of each outer iteration.
    criterion : {"demographic_parity", "equal_opportunity"}, default "demographic_parity"
        "equal_opportunity" takes the discrepancy over the rows with ``y == positive_label`` only. Variance and
        bandwidth are those of all rows.
    positive_label : default 1
        The favourable value of y.
    random_state : int or numpy Generator, default 0
        Of the random starts. The answer is a local optimum, so another start can give another one.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        Orthonormal rows, by decreasing variance.
    converged_ : bool
        Whether the run ended by itself: tolerance met and, with the last gradient norm asked for, components at rest;
        ``residual_`` says how stationary. Else there was an ``UnmetToleranceWarning``.
    mmd2_ : float
        Largest squared discrepancy between two groups on the fitting sample.
    residual_ : float
        Norm of the Riemannian gradient of the last penalised objective.
    bandwidth_ : float
        The bandwidth used.
    trace_ : ndarray of shape (n_outer, 4)
        Share of variance, ``mmd2_``, weight and move of the components after each outer iteration.
    n_iter_ : int
        Outer iterations.
    n_evaluations_ : int
        Values of the discrepancy with gradient, over the whole fit.
    certificate_ : Certificate
        The share of variance, that of standard PCA as a bound, and by how much the tolerance is passed.

    Guarantees
    ----------
    The problem is not convex. With ``converged_`` the discrepancy on the fitting sample is at most ``tolerance`` and
    the components are stationary for the last penalised objective to ``residual_``: that is all that is promised. The
    bound of the certificate is that of standard PCA, which no V can pass. Groups with equal rows get standard PCA.

    Complexity
    ----------
    O(n^2 k + n d k) for each of ``n_evaluations_`` evaluations, usually about one thousand for 1e-3 and ten thousand
    for 1e-6; blocks of the kernel matrix are never held together.

    References
    ----------
    Lee, Kim, Olfat, Hasegawa-Johnson and Yoo (2022), Fast and efficient MMD-based fair PCA via optimization over
    Stiefel manifold, as called by Kleindessner et al. (2023).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f"] * 60 + ["m"] * 40)
    >>> X = rng.normal(size=(100, 4)) * [1, 1, 2, 1] + np.outer(sex == "m", [5, 1, 0, 0])
    >>> fitted = MMDFairPCA(2, tolerance=0.05).fit(X, sensitive_features=sex)
    >>> fitted.converged_, bool(fitted.mmd2_ <= 0.05)
    (True, True)
    """

    def __init__(
        self,
        n_components=2,
        *,
        tolerance=1e-3,
        bandwidth="median",
        penalty="released",
        growth=2.0,
        max_outer=100,
        max_inner=300,
        criterion="demographic_parity",
        positive_label=1,
        random_state=0,
    ):
        self.n_components = n_components
        self.tolerance = tolerance
        self.bandwidth = bandwidth
        self.penalty = penalty
        self.growth = growth
        self.max_outer = max_outer
        self.max_inner = max_inner
        self.criterion = criterion
        self.positive_label = positive_label
        self.random_state = random_state

    def fit(self, X, y=None, *, sensitive_features):
        """Fit to data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numeric features.
        y : array-like of shape (n,), optional
            Needed with ``criterion="equal_opportunity"`` only.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row: strings, booleans or whole numbers; each combination of p columns is a group.

        Returns
        -------
        self
        """
        self._require_options()
        self._favourable = None
        if self.criterion == "equal_opportunity":
            if y is None:
                raise DataError("y is missing; criterion='equal_opportunity' needs one label for each row of X.")
            self._favourable = np.asarray(y) == self.positive_label
            if self._favourable.shape != (len(X),):
                raise DataError(
                    f"y has shape {np.shape(y)}; needed is one label for each of the {len(X)} rows, shape ({len(X)},)."
                )
        try:
            return super().fit(X, y, sensitive_features=sensitive_features)
        finally:
            del self._favourable

    def _answer_points(self, X, codes, moments: GroupMoments) -> FairSubspace:
        if moments.G == 1:
            raise GroupError(
                f"all {len(X)} row(s) are of one group, {label_text(moments.labels[0])!r} (one class), so that there "
                "is no discrepancy. Pass at least two groups, or use StandardPCA."
            )
        k = require_components(self.n_components, moments.d, moments.d, "")
        total = float(np.trace(moments.scatter))
        if not total > 0:
            raise DataError("all rows of X are equal, so there is no variance to keep. Fit on a sample that varies.")
        X, C = X - moments.mean, moments.scatter / total
        values, principal = top_eigenspace(C, k)
        self.bandwidth_ = median_bandwidth(X @ principal) if self.bandwidth == "median" else float(self.bandwidth)
        rows = np.ones(len(X), dtype=bool) if self._favourable is None else self._favourable
        present = np.bincount(codes[rows], minlength=moments.G)
        if not present.all():
            raise GroupError(
                f"group {label_text(moments.labels[np.argmin(present)])!r} has no row with label "
                f"{self.positive_label!r}, so it has no discrepancy among these. Merge or drop the group."
            )
        penalty = DiscrepancyPenalty(X[rows], codes[rows], self.bandwidth_)
        V = self._search(penalty, C, principal)
        self.n_iter_, self.n_evaluations_ = max(len(self.trace_), 1), penalty.evaluations
        _, turn = top_eigenspace(V.T @ C @ V, k)
        V = V @ turn  # both terms see the span alone; columns by decreasing variance
        if not self.converged_:
            warn_caller(
                f"after {len(self.trace_)} outer iterations the squared discrepancy is {self.mmd2_:.2e} for "
                f"tolerance={self.tolerance:g}, with a gradient of norm {self.residual_:.1e}. The components are those "
                "reached; ask for a larger tolerance or allow more iterations.",
                UnmetToleranceWarning,
            )
        certificate = Certificate(
            "share of variance over orthonormal V with bounded discrepancy",
            float(np.trace(V.T @ C @ V)),
            float(values.sum(axis=0)),
            feasibility=max(self.mmd2_ - self.tolerance, 0.0),
            evaluations=penalty.evaluations,
        )
        return FairSubspace(V, moments.mean, certificate)

    def _search(self, penalty: DiscrepancyPenalty, C, principal) -> np.ndarray:
        """The penalty method; leaves what happened in the attributes."""
        self.trace_, self.converged_, self.residual_ = np.zeros((0, 4)), True, 0.0
        _, self.mmd2_, _ = penalty.evaluate(principal)
        if self.mmd2_ <= 1e-14:  # rounding of sums of numbers of order 1: the groups do not differ
            return principal
        weight = (1.0 if self.penalty == "released" else 0.1) / self.mmd2_
        V, accuracy, trace = self._start(penalty, C, principal.shape), COARSE, []
        self.converged_ = False
        for _ in range(self.max_outer):
            found = minimise(_penalised(penalty, C, weight), V, gradient_norm=accuracy, max_steps=self.max_inner)
            move, V = float(np.linalg.norm(found.V - V)), found.V
            _, self.mmd2_, _ = penalty.evaluate(V)
            self.residual_ = found.gradient_norm
            trace.append(OuterIteration(float(np.trace(V.T @ C @ V)), self.mmd2_, weight, move))
            if move <= SMALLEST_MOVE and accuracy <= FINE and self.mmd2_ <= self.tolerance:
                self.converged_ = True
                break
            if weight > LARGEST_WEIGHT:
                break
            accuracy = max(FINE, THETA * accuracy)
            if self.mmd2_ > self.tolerance:
                weight *= self.growth
        self.trace_ = np.array(trace)
        return V

    def _start(self, penalty: DiscrepancyPenalty, C, shape) -> np.ndarray:
        """Of random subspaces that with the most variance, moved to where the groups differ little."""
        rng = require_generator(self.random_state)
        drawn = [retract(rng.normal(size=shape)) for _ in range(STARTS)]
        V = max(drawn, key=lambda one: float(np.trace(one.T @ C @ one)))

        def discrepancy(V):
            value, _, slope = penalty.evaluate(V)
            return value, slope

        return minimise(discrepancy, V, gradient_norm=RELATIVE, relative=True, max_steps=START_STEPS).V

    def _require_options(self) -> None:
        for name, allowed in {
            "penalty": ("released", "documented"),
            "criterion": ("demographic_parity", "equal_opportunity"),
        }.items():
            if getattr(self, name) not in allowed:
                raise ConfigurationError(f"{name}={getattr(self, name)!r}; needed is one of {', '.join(allowed)}.")
        if not (isinstance(self.tolerance, Real) and np.isfinite(self.tolerance) and self.tolerance > 0):
            raise ConfigurationError(f"tolerance={self.tolerance!r}; needed is a number above 0.")
        if self.bandwidth != "median" and not (
            isinstance(self.bandwidth, int | float | np.number) and np.isfinite(self.bandwidth) and self.bandwidth > 0
        ):
            raise ConfigurationError(f"bandwidth={self.bandwidth!r}; needed is 'median' or a number above 0.")
        if not (isinstance(self.growth, Real) and np.isfinite(self.growth) and self.growth > 1):
            raise ConfigurationError(f"growth={self.growth!r}; needed is a factor above 1.")
        for name in ("max_outer", "max_inner"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ConfigurationError(f"{name}={value!r}; needed is a whole number of at least 1.")


def _penalised(penalty: DiscrepancyPenalty, C: np.ndarray, weight: float) -> Callable:
    def objective(V):
        value, _, slope = penalty.evaluate(V)
        kept = C @ V
        return weight * value - float(np.vdot(V, kept)), weight * slope - 2.0 * kept

    return objective
