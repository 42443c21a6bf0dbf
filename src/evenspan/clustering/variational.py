"""Variational fair clustering (Ziko et al. 2021): soft assignments and centres in turn; unequal shares cost."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.errors import DataError
from ..core.estimator import NotConvergedWarning
from ..core.inputs import warn_caller
from ..core.options import Option, number, whole
from .estimator import WEIGHT, CentreClusterer, FairClusterer
from .kernels import indicator
from .variational_round import BoundResult, KMeansCosts, bound_updates, fairness_error

#: How often empty clusters lead to new seeds.
MAX_RESEEDS = 3


@dataclass(frozen=True, eq=False)
class VariationalResult:
    """Where the rounds ended, and how."""

    #: The weight of fairness; hard clusters (n,) and their centres (c, d).
    weight: float
    labels: np.ndarray
    centres: np.ndarray
    #: Sum of squares of the hard clusters, and both terms of the energy of the soft assignments.
    clustering_energy: float
    soft_clustering_energy: float
    soft_fairness_error: float
    #: Energy of the soft assignments after every round; the last ones.
    history: tuple[float, ...]
    bound: BoundResult
    #: Whether a cluster was empty after new seeds too, so that this is the state before.
    degenerate: bool
    #: Whether rounds and bound updates reached their tolerances.
    converged: bool

    @property
    def energy(self) -> float:
        """Clustering energy of the soft assignments plus their weighted fairness error."""
        return self.soft_clustering_energy + (self.weight * self.soft_fairness_error if self.weight > 0 else 0.0)


def variational_rounds(
    problem: KMeansCosts,
    indicators: np.ndarray,
    c: int,
    weight: float,
    start: np.ndarray,
    seed: int,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    max_bound_iter: int = 10_000,
) -> VariationalResult:
    """Alternate soft assignments and centres from the seeds ``start`` until the energy changes by ``tol`` at most.

    ``seed`` decides the seeds that follow an empty cluster.
    """
    rng, shares, reseeds = np.random.default_rng(seed), indicators.mean(axis=0), 0

    def result(bound, labels, centres, costs, history, degenerate=False, converged=False):
        with np.errstate(divide="ignore"):
            unfair = fairness_error(np.log(bound.S @ indicators).T, shares) if weight == 0 else bound.fairness
        hard, soft = float(costs[labels, np.arange(len(labels))].sum(axis=0)), float(np.vdot(bound.S, costs))
        return VariationalResult(
            weight, labels, centres, hard, soft, unfair, tuple(history), bound, degenerate, converged
        )

    history: list[float] = []
    costs = problem.costs(start)
    # Soft and hard assignments, centres and costs of the last state without empty clusters.
    kept = bound_updates(costs, indicators, weight, max_iter=0), costs.argmin(axis=0), start, costs
    if len(np.unique(kept[1])) < c:
        raise DataError(
            f"the {c} seeds of k-means++ are not told apart by the distances of the points to them, so that a cluster "
            "is empty from the start. Ask for fewer clusters, or rescale the features."
        )
    for _ in range(max_iter):
        bound = bound_updates(costs, indicators, weight, max_iter=max_bound_iter)
        labels = bound.S.argmax(axis=0)
        if len(np.unique(labels)) < c:
            if reseeds == MAX_RESEEDS:
                return result(*kept, history, degenerate=True)
            reseeds, history = reseeds + 1, []
            costs = problem.costs(problem.seeds(c, rng))
            continue
        centres = problem.update(labels, c)
        costs = problem.costs(centres)
        kept = bound, labels, centres, costs
        energy = float(np.vdot(bound.S, costs)) + weight * bound.fairness
        history.append(energy)
        if len(history) > 1 and abs(history[-2] - energy) <= tol * abs(energy):
            return result(*kept, history, converged=bound.converged)
    return result(*kept, history)


class VariationalFairClustering(CentreClusterer):
    r"""K-means with a penalty on the divergence of group shares.

    With soft assignments :math:`s_p` on the simplex, squared distances :math:`a_{pk}` to the means of the clusters,
    overall shares :math:`u_j = |G_j| / n` of the groups and :math:`P_k` their shares in cluster k,

    .. math::

        \min_S \; \sum_p \sum_k s_{pk} a_{pk} + \lambda \sum_k \mathrm{KL}(u \,\|\, P_k) .

    Rounds alternate between soft assignments for fixed centres, by updates that bound the energy from above, and the
    centres of the hard clusters, to each of which belong the samples assigned to it most.

    Parameters
    ----------
    n_clusters : int
        The number c.
    fairness_weight : float, default 1.0
        The weight lambda. It is worth as much as costs of that size, so that what it does depends on the scale of X and
        on n.
    tol, max_iter : float, default 1e-4; int, default 100
        Stop when the energy changes relatively by at most ``tol`` from round to round; most rounds.
    max_bound_iter : int, default 10000
        Most updates of the soft assignments in a round.
    random_state, on_single_group : as in ``FairKernelKMeans``
        The generator is for the seeds, which are those of k-means++.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_ : as in ``FairKernelKMeans``
    centers_, soft_labels_ : ndarray of shape (c, d), ndarray of shape (n, c)
        Means of the clusters; the assignments S, whose rows are on the simplex.
    energy_, clustering_energy_ : float
        Energy of the soft assignments; sum of squared distances of the hard clusters.
    fairness_error_, soft_fairness_error_ : float
        :math:`\sum_k \mathrm{KL}(u \| P_k)` of the hard clusters, infinite if a group is missing from a cluster; and of
        the soft assignments, which may be much fairer than the clusters made of them.
    history_, n_iter_ : ndarray, int
        Energy after every round since the last seeds, and the number of these rounds.
    converged_ : bool
        Whether both tolerances were reached; a warning says so if not. An empty cluster leads to new seeds, at most 3
        times; if there is one even then, the answer is the last state without one.

    Guarantees
    ----------
    The energy never rises within a round. From round to round it may, as soft assignments start afresh and centres are
    those of the hard clusters. No cluster is empty. With weight 0 the rounds are those of Lloyd's k-means. For no
    weight is the fairness error of the hard clusters bounded.

    Complexity
    ----------
    O(n c + n G c) for an update of the soft assignments, of which a round may need thousands, and O(n d c) for the
    costs; O(n (c + G)) memory.

    References
    ----------
    Ziko, Yuan, Granger and Ben Ayed (2021), Variational fair clustering, the bound of its Proposition 2 and Algorithm
    1; the first L and the tolerances are those of the authors' program.

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
        "tol": number(0.0),
        "max_iter": whole(1),
        "max_bound_iter": whole(1),
    }

    def __init__(
        self,
        n_clusters=8,
        fairness_weight=1.0,
        *,
        tol=1e-4,
        max_iter=100,
        max_bound_iter=10_000,
        random_state=0,
        on_single_group="raise",
    ):
        self.n_clusters = n_clusters
        self.fairness_weight = fairness_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_bound_iter = max_bound_iter
        self.random_state = random_state
        self.on_single_group = on_single_group

    def fit(self, X, y=None, *, sensitive_features):
        codes, origin, rounds = self._prepare(X, sensitive_features)
        found = rounds(float(self.fairness_weight))
        self._store_labels(found.labels, codes, len(found.bound.S))
        self.centers_ = found.centres + origin
        self.soft_labels_ = found.bound.S.T
        self.energy_, self.clustering_energy_ = found.energy, found.clustering_energy
        with np.errstate(divide="ignore"):
            self.fairness_error_ = fairness_error(np.log(self.counts_.counts), self.group_counts_ / len(codes))
        self.soft_fairness_error_ = found.soft_fairness_error
        self.history_, self.n_iter_, self.converged_ = np.array(found.history), len(found.history), found.converged
        if not found.converged:
            degenerate = (
                f"with fairness_weight={found.weight:g} a cluster became empty after {MAX_RESEEDS} new sets of seeds "
                "too; the answer is the last state without one. Use a smaller weight, or fewer clusters."
            )
            unfinished = f"the energy still changes after {self.n_iter_} rounds. Raise max_iter or max_bound_iter."
            warn_caller(degenerate if found.degenerate else unfinished, NotConvergedWarning)
        return self

    def curve(self, X, weights: Iterable[float], *, sensitive_features) -> list[VariationalResult]:
        """The trade-off: an answer of ``fit`` for each weight, all from the same seeds.

        Parameters
        ----------
        X : as in ``fit``
            Points.
        weights : iterable of float
            Fairness weights, at least 0.
        sensitive_features : as in ``fit``
            Groups.

        Returns
        -------
        list of VariationalResult
            Those that have not converged, or kept a former state, say so in ``converged`` and ``degenerate``.
        """
        weights = [float(WEIGHT.require("a fairness weight", weight)) for weight in weights]
        *_, rounds = self._prepare(X, sensitive_features)
        return [rounds(weight) for weight in weights]

    def _prepare(self, X, sensitive_features):
        """Group codes, and the rounds as a function of the weight, after all checks of what was passed."""
        X, codes, c, rng = self._sample(X, sensitive_features, accept_sparse="csr")
        problem = KMeansCosts(X.astype(np.float64, copy=False))
        start, seed = problem.seeds(c, rng), int(rng.integers(2**31))
        options = {name: getattr(self, name) for name in ("tol", "max_iter", "max_bound_iter")}
        indicators = indicator(codes, len(self.group_labels_))

        def rounds(weight: float) -> VariationalResult:
            return variational_rounds(problem, indicators, c, weight, start, seed, **options)

        return codes, problem.origin, rounds

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
