"""Fair kernel k-means: kernel k-means with a penalty on unequal group shares of the clusters."""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from ..core.cluster_counts import ClusterCounts
from ..core.estimator import NotConvergedWarning
from ..core.inputs import require_generator, warn_caller
from ..core.options import CLUSTERS, GAMMA, KERNEL, SEED, SINGLE_GROUP, flag, number, option, parameterised, whole
from .bounds import certified, deflated_bound
from .estimator import WEIGHT, FairClusterer
from .kernel_kmeans import START, starting_point
from .kernels import Gram, KernelInput
from .row_update import RowUpdates, row_updates, swaps_and_moves
from .weight_rule import WEIGHT_OR_RULE, WeightRule, settle


@dataclass(frozen=True, eq=False)
class TradeOffPoint:
    """One weight of a trade-off curve: the weight, the labels, their group counts and how they were reached."""

    weight: float
    labels: np.ndarray
    counts: ClusterCounts
    updates: RowUpdates


@parameterised
class FairKernelKMeans(KernelInput, FairClusterer):
    r"""Kernel k-means whose clusters have nearly the group shares of the whole sample.

    With the cluster indicator :math:`Y`, the group indicator :math:`G` and a fairness weight :math:`\lambda \ge 0`:

    .. math::

        \max_{Y} \; \operatorname{tr} Y^\top (K - \lambda G G^\top) Y (Y^\top Y)^{-1}
        = \sum_k \frac{y_k^\top K y_k}{n_k} - \lambda \sum_k \sum_j \frac{n_{jk}^2}{n_k} .

    The second sum is lowest where every cluster has the shares of all groups in the whole sample. Points move one at a
    time to the cluster where the objective gains most.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters c; none is ever empty.
    fairness_weight : float, "auto" or WeightRule, default "auto"
        The weight of fairness. 0 is kernel k-means ("FKKM-f"); "auto" raises the weight by the rule of the paper, which
        presumes a kernel with ones on its diagonal; a `WeightRule` varies that rule.
    kernel : {"rbf", "polynomial", "sigmoid", "linear", "precomputed"} or callable, default "rbf"
        With "linear" nothing of size n x n is formed. "precomputed" takes the kernel matrix in place of X.
        The paper moves the feature space to its mean and scales all points to length one: `center_and_normalise`
        does that to a kernel matrix.
    gamma : {"scale", "auto"} or float, default "scale"
        The factor of "rbf", "polynomial" and "sigmoid", as in ``FairKernelPCA``. Power and constant are 3 and 1.
    init : {"relaxed"} or array-like of shape (n,), default "relaxed"
        The start: relaxed kernel k-means, or labels.
    max_iter : int, default 300
        Passes over the points at most; the published program has 10, which can be too few.
    tol : float, default 1e-10
        From the third pass on, a smaller relative change of the objective ends the passes.
    swaps : bool, default False
        Afterwards also swap pairs of points, which leaves optima that no single move can leave.
    random_state : int, Generator or None, default 0
        For the start.
    on_single_group : {"raise", "warn"}, default "raise"
        What to do with one group only, to which there is nothing to be fair.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_ : ndarray, ClusterCounts, ndarray, ndarray
        Cluster (n,) of each point, from 0; rows of each group in each cluster; the groups (G,) and their sizes.
    initial_labels_ : ndarray of shape (n,)
        The start, the same for all weights.
    objective_, fairness_weight_ : float
        The maximised trace, without shift, and the weight used.
    search_ : list of dict
        With a rule: weight, MNCE, balance, objective and sweeps of every weight tried.
    n_iter_, n_moves_, n_swaps_ : int
        Passes, moves and swaps made.
    history_ : ndarray
        The objective at the start and after each pass, and after each round of swaps.
    converged_ : bool
        Whether no single move (with ``swaps``: no swap either) improves the objective; all that can be said of such a
        local search.
    certificate_ : Certificate
        The objective and an upper bound over all clusterings, from eigenvalues of the kernel with its fairness term.

    Guarantees
    ----------
    The objective never falls, up to the precision of the kernel, and no cluster becomes empty. Adding a multiple of the
    identity to the kernel changes no label. A single group gives the clusters of weight 0.

    Complexity
    ----------
    O(n c) memory beside the kernel; per pass O(c) for a point that stays and O(n) for a move, with a linear kernel
    O(d c) and O(d). The start needs c eigenvectors.

    References
    ----------
    Zhou, Li and Du (2024), Fair Kernel K-Means: from Single Kernel to Multiple Kernel, Theorem 1 and Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import FairKernelKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) * 0.2 + rng.integers(2, size=(200, 2)) * [2.0, 3.0]
    >>> groups = np.where(X[:, 1] > 1.5, "up", "down")
    >>> for weight in (0.0, 5.0):
    ...     model = FairKernelKMeans(2, weight, kernel="linear")
    ...     print(model.fit(X, sensitive_features=groups).counts_.balance > 0.5)
    False
    True
    """

    n_clusters: int = option(CLUSTERS, default=8)
    fairness_weight: float | str | WeightRule = option(WEIGHT_OR_RULE, default="auto")
    _: KW_ONLY
    kernel: str | Callable = option(KERNEL, default="rbf")
    gamma: float | str = option(GAMMA, default="scale")
    init: str | np.ndarray = option(START, default="relaxed")
    max_iter: int = option(whole(1), default=300)
    tol: float = option(number(0.0), default=1e-10)
    swaps: bool = option(flag(), default=False)
    random_state: int | np.random.Generator | None = option(SEED, default=0)
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        X, gram, codes, start = self._prepare(X, sensitive_features)
        c, self.n_swaps_ = int(start.max()) + 1, 0

        def solve(weight: float) -> tuple[RowUpdates, ClusterCounts, dict]:
            found = self._updates(gram, codes, start, weight)
            facts = {"objective": found.objective, "n_sweeps": found.n_sweeps}
            return found, self._counts(found.labels, codes, c), facts

        found, self.fairness_weight_, self.search_ = settle(self.fairness_weight, solve)
        if self.swaps:
            found, self.n_swaps_ = swaps_and_moves(gram, codes, found, c, self.fairness_weight_)
        self._store_labels(found.labels, codes, c)
        self._remember(X, gram, self.labels_)
        self.initial_labels_, self.objective_, self.history_ = start, found.objective, np.array(found.history)
        self.converged_, self.n_iter_, self.n_moves_ = found.converged, found.n_sweeps, found.n_moves
        bound = deflated_bound(gram, codes, self.fairness_weight_, c, require_generator(self.random_state))
        problem = "trace of the kernel less the weighted regulariser, over all clusterings"
        self.certificate_ = certified(problem, found.objective, bound, gram, self.fairness_weight_)
        if not found.converged:
            warn_caller(
                f"after {found.n_sweeps} sweeps single moves still improve the objective. Raise max_iter.",
                NotConvergedWarning,
            )
        return self

    def curve(self, X, weights: Iterable[float], *, sensitive_features) -> list[TradeOffPoint]:
        """The trade-off: a clustering for each weight, all from the same start and by single moves, without swaps.

        Parameters
        ----------
        X : as in ``fit``
            The rows.
        weights : iterable of float
            Fairness weights, at least 0.
        sensitive_features : as in ``fit``
            Their groups.

        Returns
        -------
        list of TradeOffPoint
            In the order of the weights. Points that are not at rest say so in ``updates.converged``.
        """
        weights = [float(WEIGHT.require("a fairness weight", weight)) for weight in weights]
        model = clone(self)  # a fitted model keeps what it has learnt
        _, gram, codes, start = model._prepare(X, sensitive_features)
        c, found = int(start.max()) + 1, []
        for weight in weights:
            updates = self._updates(gram, codes, start, weight)
            found.append(TradeOffPoint(weight, updates.labels, model._counts(updates.labels, codes, c), updates))
        return found

    def _prepare(self, X, sensitive_features) -> tuple[np.ndarray, Gram, np.ndarray, np.ndarray]:
        """The table, kernel matrix, group codes and labels to start from, after all checks of what was passed."""
        X, codes, c, rng = self._sample(X, sensitive_features)
        gram = self._gram(X)
        return X, gram, codes, starting_point(gram, self.init, c, rng)

    def _updates(self, gram: Gram, codes: np.ndarray, labels: np.ndarray, weight: float) -> RowUpdates:
        c = int(labels.max()) + 1
        return row_updates(gram, codes, labels, c, weight, max_sweeps=self.max_iter, tol=self.tol)
