"""PCA under a bound on the maximum mean discrepancy between groups (Lee et al. 2022), by a penalty method."""

from dataclasses import KW_ONLY
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np

from ..core.answer import Answer, Certificate, FairSubspace
from ..core.errors import DataError
from ..core.estimator import NotConvergedWarning, PointsEstimator, require_components
from ..core.inputs import require_generator, warn_caller
from ..core.kernels import median_bandwidth
from ..core.linalg import principal_axes, span_of_rows, top_eigenspace
from ..core.moments import GroupMoments
from ..core.options import COMPONENTS, SEED, SINGLE_GROUP, number, one_of, option, parameterised, whole
from .constraints import codes_by_attribute, require_groups
from .stiefel import minimise, retract

#: Rows of one block of kernel values: three blocks of this order fit into a processor's second cache.
BLOCK_ROWS = 256
#: Random starts, of which the one with the most variance is kept, and steps from there towards equal distributions.
STARTS, START_STEPS = 11, 500
#: Gradient norms asked for: at first, at last, and as a share of the first one from the random start.
COARSE, FINE, RELATIVE = 1e-1, 1e-6, 1e-6
#: The gradient norm asked for falls by this factor after each outer iteration: five of them from coarse to fine.
THETA = (FINE / COARSE) ** (1 / 5)
#: The smallest move of an outer iteration, the factor on the weight after one that does not meet the tolerance, and the
#: weight beyond which the run ends.
SMALLEST_MOVE, GROWTH, LARGEST_WEIGHT = 1e-6, 2.0, 1e10


class DiscrepancyPenalty:
    r"""Sum over pairs of groups of the squared discrepancy of the rows of XV, and its gradient in V.

    X (n, d) has centred rows, of which equal ones of a group are merged with weights; codes (n,) are from 0 to G - 1.
    An evaluation computes half of the n^2 kernel values, block by block, and takes O(n^2 k + n d k) time.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, bandwidth: float):
        self.G = int(codes.max(axis=0)) + 1
        parts = [np.unique(X[codes == g], axis=0, return_counts=True) for g in range(self.G)]
        self.X = np.vstack([rows for rows, _ in parts])
        self.weights = np.concatenate([counts / counts.sum(axis=0) for _, counts in parts])
        self.bandwidth = bandwidth
        self.coupling = self.G * np.eye(self.G) - 1.0
        ends = np.cumsum([len(rows) for rows, _ in parts])
        self._blocks = [
            (g, slice(start, min(start + BLOCK_ROWS, end)))
            for g, (first, end) in enumerate(pairwise([0, *ends]))
            for start in range(first, end, BLOCK_ROWS)
        ]

    def evaluate(self, V: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Sum over pairs, largest pair (clipped at 0), and the gradient (d, k) of the sum."""
        E = self.X @ V
        k = E.shape[1]
        halves = (E**2).sum(axis=1) / (-2.0 * self.bandwidth**2)
        ones = np.ones(len(E))
        # One product of these two gives -|e_i - e_j|^2 / (2 sigma^2).
        left = np.column_stack([E / self.bandwidth**2, halves, ones])
        right = np.column_stack([E, ones, halves])
        weighted = np.column_stack([E, ones]) * self.weights[:, None]
        sums = np.zeros((len(E), k + 1))  # over j: M w_j kappa_ij (e_j, 1)
        means = np.zeros((self.G, self.G))
        for place, (g, rows) in enumerate(self._blocks):
            for h, columns in self._blocks[place:]:
                kernel = left[rows] @ right[columns].T
                np.exp(kernel, out=kernel)
                found = kernel @ weighted[columns]
                sums[rows] += self.coupling[g, h] * found
                part = float(self.weights[rows] @ found[:, k])
                means[g, h] += part
                if rows != columns:
                    sums[columns] += self.coupling[g, h] * (kernel.T @ weighted[rows])
                    means[h, g] += part
        slopes = (sums[:, :k] - sums[:, k:] * E) * (self.weights * (2.0 / self.bandwidth**2))[:, None]
        pairs = [means[g, g] + means[h, h] - 2.0 * means[g, h] for g, h in combinations(range(self.G), 2)]
        return sum(pairs), max(max(pairs), 0.0), self.X.T @ slopes


@parameterised
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
    n_components : int or None, default 2
        The number of components k, at most d, which None stands for.
    max_mmd2 : float, default 1e-3
        :math:`\tau`, the largest squared discrepancy allowed on the training sample. Smaller keeps less variance and
        takes longer; it may not be reached. Where standard PCA meets it already, the answer keeps less than is allowed.
    bandwidth : float or "median", default "median"
        Of the kernel. "median" is the median heuristic on the standard principal components of the same number.
    max_iter, max_inner : int, default 100 and 300
        Outer iterations, and quasi-Newton steps of each of them.
    on_single_group : as in ``FairPCA``
        With one group only, "warn" gives standard PCA.
    random_state : int or numpy Generator, default 0
        Of the random starts. The answer is a local optimum, so another start can give another one.

    Attributes
    ----------
    components_, mean_, explained_variance_, explained_variance_ratio_, subspace_, group_labels_, group_counts_
        As in ``StandardPCA``: orthonormal rows, by decreasing variance.
    converged_, residual_ : bool, float
        Whether the tolerance was met with, at the last gradient norm asked for, components at rest; and the norm of the
        Riemannian gradient of the last penalised objective. Else there was a ``NotConvergedWarning``.
    mmd2_, bandwidth_ : float
        Largest squared discrepancy between two groups on the training sample, and the bandwidth used.
    trace_, n_iter_ : ndarray of shape (n_iter_, 4), int
        Share of variance, ``mmd2_``, weight and move of the components after each outer iteration, and their number.
    certificate_ : Certificate
        The share of variance, that of standard PCA as a bound, and by how much the tolerance is passed.

    Guarantees
    ----------
    The problem is not convex. With ``converged_`` the discrepancy on the training sample is at most ``max_mmd2``, and
    the components are stationary for the last penalised objective to ``residual_``. The bound of the certificate is
    that of standard PCA, which no V can pass. Groups with equal rows get standard PCA.

    Complexity
    ----------
    O(n^2 k + n d k) for each value of the discrepancy with its gradient, usually about one thousand of them for 1e-3
    and ten thousand for 1e-6. Two copies of X and one block of the kernel matrix are held.
    With more than twice as many features as rows and components, n + k directions take the place of the d.

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
    >>> fitted = MMDFairPCA(2, max_mmd2=0.05).fit(X, sensitive_features=sex)
    >>> fitted.converged_, bool(fitted.mmd2_ <= 0.05)
    (True, True)
    """

    n_components: int | None = option(COMPONENTS, default=2)
    _: KW_ONLY
    max_mmd2: float = option(number(0, low_open=True), default=1e-3)
    bandwidth: float | str = option(number(0, low_open=True) | one_of("median"), default="median")
    max_iter: int = option(whole(1), default=100)
    max_inner: int = option(whole(1), default=300)
    on_single_group: str = option(SINGLE_GROUP, default="raise")
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    #: The first weight times the discrepancy of standard PCA, as in the public scripts.
    _first_weight: ClassVar[float] = 1.0

    def _answer_points(self, X, codes, moments: GroupMoments) -> Answer:
        require_groups(moments.labels, self.on_single_group, "there is no discrepancy, and the answer is standard PCA")
        k = require_components(self.n_components, moments.d, moments.d, "")
        total = float(np.trace(moments.scatter))
        if total == 0:
            raise DataError("all rows of X are equal, so there is no variance to keep. Fit on a sample that varies.")
        X = X - moments.mean
        # What a wide table has outside the span of its rows no distance sees: k directions of that are as good as all.
        basis = span_of_rows(X, k)
        X, C = (X, moments.scatter / total) if basis is None else (X @ basis, basis.T @ moments.scatter @ basis / total)
        values, principal = top_eigenspace(C, k)
        bandwidth = median_bandwidth(X @ principal) if self.bandwidth == "median" else float(self.bandwidth)
        parts = codes_by_attribute(moments.labels, codes, "marginal")
        penalties = [DiscrepancyPenalty(X, part, bandwidth) for part in parts if part.max(axis=0) > 0]
        del X
        V, learnt = self._search(penalties, C, principal)
        V = principal_axes(V, C)  # both terms see the span alone
        if not learnt["converged_"]:
            warn_caller(
                f"after {learnt['n_iter_']} outer iterations the squared discrepancy is {learnt['mmd2_']:.2e} for "
                f"max_mmd2={self.max_mmd2:g}, with a gradient of norm {learnt['residual_']:.1e}. Ask for a larger one.",
                NotConvergedWarning,
            )
        certificate = Certificate(
            "share of variance over orthonormal V with bounded discrepancy",
            float(np.trace(V.T @ C @ V)),
            float(values.sum(axis=0)),
            feasibility=max(learnt["mmd2_"] - self.max_mmd2, 0.0),
            scope="bound",
        )
        V = V if basis is None else basis @ V
        return Answer(FairSubspace(V, moments.mean, certificate), learnt | {"bandwidth_": bandwidth})

    def _search(self, penalties: list[DiscrepancyPenalty], C: np.ndarray, principal: np.ndarray) -> tuple:
        """The penalty method, and what happened on its way as fitted attributes."""

        def discrepancy(V):
            total, largest, slope = 0.0, 0.0, np.zeros_like(V)
            for penalty in penalties:  # one for each attribute
                value, pair, gradient = penalty.evaluate(V)
                total, largest, slope = total + value, max(largest, pair), slope + gradient
            return total, largest, slope

        def objective(V):
            value, _, slope = discrepancy(V)
            kept = C @ V
            return weight * value - float(np.vdot(V, kept)), weight * slope - 2.0 * kept

        V, mmd2 = principal, discrepancy(principal)[1]
        trace, converged, residual = [], mmd2 <= 1e-14, 0.0  # rounding of sums of numbers of order 1
        if not converged:  # the groups differ
            weight, accuracy = self._first_weight / mmd2, COARSE
            rng = require_generator(self.random_state)
            drawn = [retract(rng.normal(size=principal.shape)) for _ in range(STARTS)]
            V = max(drawn, key=lambda one: float(np.trace(one.T @ C @ one)))
            V = minimise(
                lambda V: discrepancy(V)[::2], V, gradient_norm=RELATIVE, relative=True, max_steps=START_STEPS
            ).V
        while not converged and len(trace) < self.max_iter:
            found = minimise(objective, V, gradient_norm=accuracy, max_steps=self.max_inner)
            move, V, residual = float(np.linalg.norm(found.V - V)), found.V, found.gradient_norm
            _, mmd2, _ = discrepancy(V)
            trace.append((float(np.trace(V.T @ C @ V)), mmd2, weight, move))
            converged = move <= SMALLEST_MOVE and accuracy <= FINE and mmd2 <= self.max_mmd2
            if weight > LARGEST_WEIGHT:
                break
            accuracy = max(FINE, THETA * accuracy)
            if mmd2 > self.max_mmd2:
                weight *= GROWTH
        return V, {
            "mmd2_": mmd2,
            "converged_": bool(converged),
            "residual_": residual,
            "trace_": np.array(trace).reshape(-1, 4),
            "n_iter_": len(trace),
        }
