"""Variational fair clustering (Ziko et al. 2021): soft assignments and centres in turn; unequal shares cost."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.errors import ConfigurationError, DataError
from ..core.estimator import NotConvergedWarning, warn_caller
from ..core.options import Option, number, one_of, whole
from .estimator import WEIGHT, CentreClusterer, FairClusterer
from .graphs import AFFINITY
from .kernels import indicator
from .variational_round import (
    BoundResult,
    KMeansCosts,
    KMedianCosts,
    NormalisedCutCosts,
    bound_updates,
    fairness_error,
    hard_assignments,
)

#: How often empty clusters lead to new seeds.
MAX_RESEEDS = 3


@dataclass(frozen=True, eq=False)
class VariationalResult:
    """Where the rounds ended, and how."""

    #: The weight of fairness.
    weight: float
    #: Hard clusters (n,), and their centres (the labels for "ncut").
    labels: np.ndarray
    centres: np.ndarray
    #: Energy of the hard clusters, and both terms of that of the soft assignments.
    clustering_energy: float
    soft_clustering_energy: float
    soft_fairness_error: float
    #: Energy of the soft assignments after every round.
    history: tuple[float, ...]
    #: The last soft assignments, as the bound updates left them.
    bound: BoundResult
    #: Bound updates in all rounds together, doublings of L, and the largest L needed.
    n_updates: int
    n_doublings: int
    lipschitz: float
    #: How often an empty cluster led to new seeds; whether there was one even then, so that this is the state before.
    n_reseeds: int
    degenerate: bool
    #: Whether rounds and bound updates reached their tolerances.
    converged: bool

    @property
    def energy(self) -> float:
        """Clustering energy of the soft assignments plus their weighted fairness error."""
        return self.soft_clustering_energy + (self.weight * self.soft_fairness_error if self.weight > 0 else 0.0)


def variational_rounds(
    problem,
    indicators: np.ndarray,
    c: int,
    weight: float,
    lipschitz: float,
    start: np.ndarray,
    seed: int,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    bound_tol: float = 1e-5,
    max_bound_iter: int = 10_000,
) -> VariationalResult:
    """Alternate soft assignments and centres until the energy rests.

    ``problem`` is what is traded against fairness (one of the classes of costs), ``start`` its seeds; ``seed`` decides
    those that follow an empty cluster. ``tol`` and ``bound_tol`` end rounds and bound updates.
    """
    rng = np.random.default_rng(seed)
    totals = {"n_updates": 0, "n_doublings": 0, "lipschitz": lipschitz, "n_reseeds": 0}
    counts = indicators.sum(axis=0)
    shares = counts / counts.sum(axis=0)

    def soft(costs, most):
        bound = bound_updates(costs, indicators, weight, lipschitz, tol=bound_tol, max_iter=most)
        totals["n_updates"] += len(bound.history) - 1
        totals["n_doublings"] += bound.n_doublings
        totals["lipschitz"] = max(totals["lipschitz"], bound.lipschitz)
        return bound, bound.S.argmax(axis=0)

    def result(bound, labels, centres, costs, history, degenerate=False, converged=False):
        with np.errstate(divide="ignore"):
            unfair = fairness_error(np.log(bound.S @ indicators).T, shares) if weight == 0 else bound.fairness
        energies = problem.energy(hard_assignments(labels, c), costs), problem.energy(bound.S, costs), unfair
        return VariationalResult(
            weight, labels, centres, *energies, tuple(history), bound, **totals,
            degenerate=degenerate, converged=converged,
        )  # fmt: skip

    history: list[float] = []
    costs = problem.costs(start)
    # Soft and hard assignments, centres and costs of the last state without empty clusters.
    kept = soft(costs, 0)[0], problem.nearest(start, costs), start, costs
    if _has_empty(kept[1], c):
        raise DataError(
            f"the {c} seeds of k-means++ are not told apart by the distances of the points to them, so that a cluster "
            "is empty from the start. Ask for fewer clusters, or rescale the features."
        )
    for _ in range(max_iter):
        bound, labels = soft(costs, max_bound_iter)
        if _has_empty(labels, c):
            if totals["n_reseeds"] == MAX_RESEEDS:
                return result(*kept, history, degenerate=True)
            totals["n_reseeds"] += 1
            costs = problem.costs(problem.seeds(c, rng))
            history = []
            continue
        centres = problem.update(labels, c)
        costs = problem.costs(centres)
        kept = bound, labels, centres, costs
        energy = problem.energy(bound.S, costs) + weight * bound.fairness
        history.append(energy)
        if len(history) > 1 and abs(history[-2] - energy) <= tol * abs(energy):
            return result(*kept, history, converged=bound.converged)
    return result(*kept, history)


def _has_empty(labels: np.ndarray, c: int) -> bool:
    return bool((np.bincount(labels, minlength=c) == 0).any())


class VariationalFairClustering(CentreClusterer):
    r"""Clustering by k-means, k-median or normalised cut, with a price on the divergence of group shares.

    With soft assignments :math:`s_p` on the simplex, clustering costs :math:`a_{pk}`, overall shares
    :math:`u_j = |G_j| / n` of the groups and :math:`P_k` their shares in cluster k,

    .. math::

        \min_S \; \sum_p \sum_k s_{pk} a_{pk} + \lambda \sum_k \mathrm{KL}(u \,\|\, P_k) .

    Rounds alternate between soft assignments for fixed centres, by updates that bound the energy from above, and the
    centres of the hard clusters, to each of which belong the samples assigned to it most.

    Parameters
    ----------
    n_clusters : int, default 8
        The number of clusters c.
    fairness_weight : float, default 1.0
        The weight lambda. It is worth as much as costs of that size, so that what it does depends on the scale of X and
        on n.
    objective : {"k-means", "k-median", "ncut"}, default "k-means"
        Costs: squared distance to the mean of the cluster; distance to its medoid; derivative of the normalised cut.
    lipschitz : float, optional
        The constant L of the updates: larger makes smaller and safer steps. The default is 2, and 1 for "ncut".
    affinity : {"nearest_neighbors", "rbf", "precomputed"}, default "nearest_neighbors"
        The graph of "ncut". With "precomputed", X is a symmetric non-negative matrix (n, n), dense or sparse, and the
        seeds are found in its spectral embedding.
    n_neighbors, gamma : int, {"scale", "auto"} or float
        For "ncut": neighbours in the symmetrised graph; the factor of "rbf".
    tol, max_iter : float, default 1e-4; int, default 100
        Stop when the energy changes relatively by at most ``tol`` from round to round; most rounds.
    bound_tol, max_bound_iter : float, default 1e-5; int, default 10000
        The same between updates of the soft assignments, and in a round.
    random_state : int, default 0
        Decides the seeds, which are those of k-means++.
    on_single_group : {"raise", "warn"}, default "raise"
        What to do with one group only, to which there is nothing to be fair.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_ : ndarray, ClusterCounts, ndarray, ndarray
        Cluster (n,) of each point; rows of each group in each cluster; the groups (G,) and their sizes.
    centers_, soft_labels_ : ndarray of shape (c, d) or None, ndarray of shape (n, c)
        Means or medoids of the clusters, None for "ncut"; the assignments S, whose rows are on the simplex.
    energy_, clustering_energy_ : float
        Energy of the soft assignments; clustering energy of the hard clusters: sum of squared distances, sum of
        distances, or normalised cut.
    fairness_error_, soft_fairness_error_ : float
        :math:`\sum_k \mathrm{KL}(u \| P_k)` of the hard clusters, infinite if a group is missing from a cluster; and of
        the soft assignments, which may be much fairer than the clusters made of them.
    history_, bound_history_ : ndarray
        Energy after every round since the last seeds; and after each update of the last round, for its centres.
    n_iter_, n_updates_ : int
        Rounds since the last seeds, and updates of the soft assignments in all rounds.
    lipschitz_, n_doublings_ : float, int
        The largest L needed, larger than ``lipschitz`` where that would have made the energy rise, and how often it was
        doubled.
    n_reseeds_, degenerate_ : int, bool
        How often, at most 3 times, an empty cluster led to new seeds. Whether a cluster was empty even then: the answer
        is the last state without one, and a warning says so.
    converged_ : bool
        Whether both tolerances were reached; a warning says so if not.

    Guarantees
    ----------
    The energy never rises within a round. From round to round it may, as soft assignments start afresh and centres are
    those of the hard clusters; for "ncut" the costs bound the cut from above only if the graph is positive
    semidefinite, and the rounds may circle, which ``converged_`` then says. No cluster is empty. With weight 0 the
    rounds are those of Lloyd's k-means. For no weight is the fairness error of the hard clusters bounded.

    Complexity
    ----------
    O(n c + n G c) for an update of the soft assignments, of which a round may need thousands, and O(n d c) for the
    costs; O(n (c + G)) memory. "k-median" adds O(n_k^2 d) for cluster sizes n_k, "ncut" O(e c) for e edges.

    References
    ----------
    Ziko, Yuan, Granger and Ben Ayed (2021), Variational fair clustering, the bound of its Proposition 2 and Algorithm
    1; the default L and tolerances are those of the authors' program.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat(["f", "m"], [40, 80])
    >>> X = rng.normal(size=(120, 2)) + 2 * np.c_[np.tile([0, 1], 60), sex == "m"]
    >>> plain = VariationalFairClustering(2, fairness_weight=0).fit(X, sensitive_features=sex)
    >>> fair = VariationalFairClustering(2, fairness_weight=1000).fit(X, sensitive_features=sex)
    >>> fair.fairness_error_ < plain.fairness_error_
    True
    """

    _options: ClassVar[Mapping[str, Option]] = {
        **FairClusterer._options,
        "fairness_weight": WEIGHT,
        "objective": one_of("k-means", "k-median", "ncut"),
        "affinity": AFFINITY,
        "n_neighbors": whole(1),
        "lipschitz": number(0.0, low_open=True).or_none(),
        "tol": number(0.0),
        "max_iter": whole(1),
        "bound_tol": number(0.0),
        "max_bound_iter": whole(1),
    }

    def __init__(
        self,
        n_clusters=8,
        fairness_weight=1.0,
        *,
        objective="k-means",
        lipschitz=None,
        affinity="nearest_neighbors",
        n_neighbors=20,
        gamma="scale",
        tol=1e-4,
        max_iter=100,
        bound_tol=1e-5,
        max_bound_iter=10_000,
        random_state=0,
        on_single_group="raise",
    ):
        self.n_clusters = n_clusters
        self.fairness_weight = fairness_weight
        self.objective = objective
        self.lipschitz = lipschitz
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter
        self.bound_tol = bound_tol
        self.max_bound_iter = max_bound_iter
        self.random_state = random_state
        self.on_single_group = on_single_group

    def fit(self, X, y=None, *, sensitive_features):
        codes, origin, rounds = self._prepare(X, sensitive_features)
        found = rounds(float(self.fairness_weight))
        self._store_labels(found.labels, codes, len(found.bound.S))
        self.centers_ = None if self.objective == "ncut" else found.centres + origin
        self.soft_labels_ = found.bound.S.T
        self.energy_, self.clustering_energy_ = found.energy, found.clustering_energy
        with np.errstate(divide="ignore"):
            self.fairness_error_ = fairness_error(np.log(self.counts_.counts), self.group_counts_ / len(codes))
        self.soft_fairness_error_ = found.soft_fairness_error
        self.history_, self.n_iter_ = np.array(found.history), len(found.history)
        self.bound_history_, self.n_updates_ = np.array(found.bound.history), found.n_updates
        self.lipschitz_, self.n_doublings_ = found.lipschitz, found.n_doublings
        self.n_reseeds_, self.degenerate_, self.converged_ = found.n_reseeds, found.degenerate, found.converged
        if found.degenerate:
            warn_caller(
                f"with fairness_weight={found.weight:g} a cluster became empty after {found.n_reseeds} new sets of "
                "seeds too; the answer is the last state without one. Use a smaller weight, or fewer clusters.",
                NotConvergedWarning,
            )
        elif not found.converged:
            warn_caller(
                f"the energy still changes after {self.n_iter_} rounds and {found.n_updates} updates. Raise max_iter "
                "or max_bound_iter.",
                NotConvergedWarning,
            )
        return self

    def curve(self, X, weights: Iterable[float], *, sensitive_features) -> list[VariationalResult]:
        """The trade-off: an answer for each weight, all from the same seeds.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            What ``fit`` takes.
        weights : iterable of float
            Fairness weights, at least 0.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row.

        Returns
        -------
        list of VariationalResult
            The answers of ``fit`` with each weight. Those that have not converged, or kept a former state, say so in
            ``converged`` and ``degenerate``.
        """
        weights = [float(WEIGHT.require("a fairness weight", weight)) for weight in weights]
        *_, rounds = self._prepare(X, sensitive_features)
        return [rounds(weight) for weight in weights]

    def _prepare(self, X, sensitive_features):
        """Group codes, and the rounds as a function of the weight, after all checks of what was passed."""
        objective = self.objective
        X, codes, c, rng = self._sample(X, sensitive_features, accept_sparse="csr")
        if self.affinity == "precomputed" and objective != "ncut":
            raise ConfigurationError(
                f"affinity='precomputed' with objective={objective!r}, which needs points. Use objective='ncut', or "
                "pass features and leave affinity alone."
            )
        lipschitz = (1.0 if objective == "ncut" else 2.0) if self.lipschitz is None else self.lipschitz
        options = {name: getattr(self, name) for name in ("tol", "max_iter", "bound_tol", "max_bound_iter")}
        X = X.astype(np.float64, copy=False)
        if objective == "ncut":
            problem = NormalisedCutCosts(X, self.affinity, n_neighbors=self.n_neighbors, gamma=self.gamma)
        else:
            problem = (KMeansCosts if objective == "k-means" else KMedianCosts)(X)
        start, seed = problem.seeds(c, rng), int(rng.integers(2**31))
        indicators = indicator(codes, len(self.group_labels_))

        def rounds(weight: float) -> VariationalResult:
            return variational_rounds(problem, indicators, c, weight, lipschitz, start, seed, **options)

        return codes, getattr(problem, "origin", None), rounds

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        graph = self.affinity if self.objective == "ncut" and isinstance(self.affinity, str) else "none"
        tags.input_tags.sparse = graph != "rbf"
        tags.input_tags.pairwise = graph == "precomputed"
        return tags
