"""Variational fair clustering (Ziko et al. 2021): soft assignments and centres in turn; unequal shares cost."""

from collections.abc import Iterable
from dataclasses import KW_ONLY
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms

from ..core.errors import DataError
from ..core.estimator import NotConvergedWarning
from ..core.inputs import warn_caller
from ..core.options import CLUSTERS, SEED, SINGLE_GROUP, number, option, parameterised, whole
from .estimator import WEIGHT, CentreClusterer
from .kernels import indicator

#: The first and least L, the constant of the authors' program; and how often empty clusters lead to new seeds.
LIPSCHITZ, MAX_RESEEDS = 2.0, 3


class KMeansCosts:
    """Squared distances of points (n, d) to the means of the clusters; points and centres are about ``origin``."""

    def __init__(self, X: np.ndarray):
        self.origin = X.mean(axis=0)  # so that distances far from zero keep their digits
        self.X = X - self.origin
        self.squares = row_norms(self.X, squared=True)

    def seeds(self, c: int, rng: np.random.Generator) -> np.ndarray:
        """The centres (c, d) of k-means++, each of which is nearest to some point."""
        centres, _ = kmeans_plusplus(self.X, c, random_state=int(rng.integers(2**31)))
        different = len(np.unique(self.costs(centres).argmin(axis=0)))
        if different < c:
            raise DataError(
                f"k-means++ found {different} different seeds, and n_clusters={c}: there are too few different "
                f"points. Ask for at most {different} clusters."
            )
        return centres

    def update(self, labels: np.ndarray, c: int) -> np.ndarray:
        """The centres (c, d) of hard clusters, none of them empty."""
        member = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(c, len(labels)))
        return member @ self.X / np.bincount(labels, minlength=c)[:, None]

    def costs(self, centres: np.ndarray) -> np.ndarray:
        """What it costs to assign each point to each cluster, shape (c, n)."""
        products = (self.X @ centres.T).T
        return np.maximum(row_norms(centres, squared=True)[:, None] + self.squares - 2.0 * products, 0.0)


def fairness_error(log_mass: np.ndarray, shares: np.ndarray) -> float:
    r"""Sum over clusters of the divergence :math:`\mathrm{KL}(u \| P_k)` of the overall shares u (G,) from theirs.

    ``log_mass`` (G, c) is the logarithm of mass or count; where there is none the error is infinite.
    """
    log_shares = log_mass - np.logaddexp.reduce(log_mass, axis=0)
    return float((shares[:, None] * (np.log(shares)[:, None] - log_shares)).sum(axis=None))


def fairness_gradient(log_mass: np.ndarray, shares: np.ndarray) -> np.ndarray:
    r"""Derivative of the fairness error by the assignment of a sample: a table of groups and clusters.

    :math:`b_{gk} = 1 / (1^\top s_k) - u_g / (V_g^\top s_k)`, the same for all samples of a group.
    """
    # exp(600) is far beyond any step that L leaves in place.
    total = np.logaddexp.reduce(log_mass, axis=0)
    return np.exp(np.minimum(-total, 600.0)) - np.exp(np.minimum(np.log(shares)[:, None] - log_mass, 600.0))


class BoundResult(NamedTuple):
    """Soft assignments (c, n) with columns on the simplex, their fairness error, and how they were reached.

    ``history`` is the energy of the start and after every update, which never rises.
    """

    S: np.ndarray
    fairness: float
    history: tuple[float, ...]
    converged: bool


def bound_updates(
    costs: np.ndarray, indicators: np.ndarray, weight: float, *, tol: float = 1e-5, max_iter: int = 10_000
) -> BoundResult:
    """Minimise clustering costs (c, n) plus weighted fairness error, from a softmax of the costs.

    The end is where the energy changes relatively by at most ``tol``.
    """
    # One update multiplies s_pk by exp(-(a_pk + weight b_gk) / L) for p in group g and scales its sum to one, b being
    # the gradient. So S is always the softmax of a multiple of the costs plus a table of groups and clusters, and these
    # few numbers are what is updated. L is doubled while the energy would rise, and halved again where it would not.
    counts = indicators.sum(axis=0)
    shares, codes = counts / counts.sum(axis=0), indicators.argmax(axis=1)
    exponent, added = np.empty_like(costs), np.empty_like(costs)

    def state(multiple: float, table: np.ndarray, S: np.ndarray) -> tuple[np.ndarray, float, float]:
        # Fills S; the logarithm of its mass (G, c), its fairness error and its energy.
        np.multiply(costs, -multiple, out=exponent)
        np.subtract(exponent, np.take(table.T, codes, axis=1, out=added, mode="clip"), out=exponent)
        np.subtract(exponent, exponent.max(axis=0), out=exponent)
        np.exp(exponent, out=S)
        total = S.sum(axis=0)
        S /= total
        log_mass = (S @ indicators).T
        if log_mass.min() > 1e-250:
            np.log(log_mass, out=log_mass)
        else:  # mass that is too small a number
            log_s = exponent - np.log(total)
            log_mass = np.array([np.logaddexp.reduce(log_s[:, codes == j], axis=1) for j in range(len(shares))])
        fairness = fairness_error(log_mass, shares)
        return log_mass, fairness, float(np.vdot(S, costs)) + weight * fairness

    S, spare = np.empty_like(costs), np.empty_like(costs)
    multiple, table, L, patience, waited = 1.0, np.zeros((len(shares), len(costs))), LIPSCHITZ, 1, 0
    log_mass, fairness, energy = state(multiple, table, S)
    history = [energy]
    for update in range(max_iter):
        gradient, raised, lowered = weight * fairness_gradient(log_mass, shares), False, False
        if L > LIPSCHITZ and waited >= patience:
            L, waited, lowered = max(LIPSCHITZ, 0.5 * L), 0, True
        while True:
            trial = multiple + 1.0 / L, table + gradient / L
            log_mass, fairness, reached = state(*trial, spare)
            if reached <= energy + 1e-13 * abs(energy) or np.isinf(L):
                break
            L, raised = 2.0 * L, True
        if lowered:
            patience = min(2 * patience, 64) if raised else 1  # a smaller L that fails is not tried again at once
        (multiple, table), S, spare, change, energy = trial, spare, S, abs(energy - reached), reached
        history.append(energy)
        waited += 1
        # A small step changes little: the change is judged as if it had been made with the first L.
        if update and change <= tol * abs(energy) * (LIPSCHITZ / L):
            if L == LIPSCHITZ or raised:
                return BoundResult(S, fairness, tuple(history), True)
            patience = waited = 1  # it may rest only because L is larger than it has to be by now
    return BoundResult(S, fairness, tuple(history), False)


class VariationalResult(NamedTuple):
    """Where the rounds for one weight ended: hard clusters (n,), centres (c, d), soft assignments, and how.

    ``clustering_energy`` is the sum of squares of the hard clusters; ``energy`` and ``history`` are of the soft ones.
    Degenerate: a cluster was empty after new seeds too, so that this is the state before.
    """

    weight: float
    labels: np.ndarray
    centres: np.ndarray
    clustering_energy: float
    bound: BoundResult
    energy: float
    history: tuple[float, ...]
    degenerate: bool
    converged: bool


def variational_rounds(
    problem: KMeansCosts, indicators, start, weight: float, rng, *, tol=1e-4, max_iter=100, max_bound_iter=10_000
) -> VariationalResult:
    """Alternate soft assignments and centres from ``start`` (c, d); ``rng`` draws the seeds after an empty cluster."""
    c, reseeds, history, degenerate, converged = len(start), 0, [], False, False

    def energy_of(bound: BoundResult, costs: np.ndarray) -> float:
        return float(np.vdot(bound.S, costs)) + weight * bound.fairness

    costs = problem.costs(start)
    # Soft and hard assignments, centres and costs of the last state without empty clusters.
    last = bound_updates(costs, indicators, weight, max_iter=0), costs.argmin(axis=0), start, costs
    for _ in range(max_iter):
        bound = bound_updates(costs, indicators, weight, max_iter=max_bound_iter)
        labels = bound.S.argmax(axis=0)
        if len(np.unique(labels)) < c:
            if degenerate := reseeds == MAX_RESEEDS:
                break
            reseeds, history = reseeds + 1, []
            costs = problem.costs(problem.seeds(c, rng))
            continue
        centres = problem.update(labels, c)
        costs = problem.costs(centres)
        last = bound, labels, centres, costs
        history.append(energy_of(bound, costs))
        if len(history) > 1 and abs(history[-2] - history[-1]) <= tol * abs(history[-1]):
            converged = bound.converged
            break
    bound, labels, centres, costs = last
    within = float(costs[labels, np.arange(len(labels))].sum(axis=0))
    energy = energy_of(bound, costs)
    return VariationalResult(weight, labels, centres, within, bound, energy, tuple(history), degenerate, converged)


@parameterised
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
    objective_, inertia_ : float
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

    n_clusters: int = option(CLUSTERS, default=8)
    fairness_weight: float = option(WEIGHT, default=1.0)
    _: KW_ONLY
    tol: float = option(number(0.0), default=1e-4)
    max_iter: int = option(whole(1), default=100)
    max_bound_iter: int = option(whole(1), default=10_000)
    random_state: int | np.random.Generator | None = option(SEED, default=0)
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        codes, origin, rounds = self._prepare(X, sensitive_features)
        found = rounds(float(self.fairness_weight))
        self._store_labels(found.labels, codes, len(found.centres))
        self.centers_, self.soft_labels_ = found.centres + origin, found.bound.S.T
        self.objective_, self.inertia_ = found.energy, found.clustering_energy
        with np.errstate(divide="ignore"):
            self.fairness_error_ = fairness_error(np.log(self.counts_.counts), self.group_counts_ / len(codes))
        self.soft_fairness_error_ = found.bound.fairness
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
            The points.
        weights : iterable of float
            Fairness weights, at least 0.
        sensitive_features : as in ``fit``
            Their groups.

        Returns
        -------
        list of VariationalResult
            Those that have not converged, or kept a former state, say so in ``converged`` and ``degenerate``.
        """
        weights = [float(WEIGHT.require("a fairness weight", weight)) for weight in weights]
        *_, rounds = self._prepare(X, sensitive_features)
        return [rounds(weight) for weight in weights]

    def _prepare(self, X, sensitive_features):
        """Group codes, the origin of the centres, and the rounds as a function of the weight, after all checks."""
        X, codes, c, rng = self._sample(X, sensitive_features)
        problem = KMeansCosts(X.astype(np.float64, copy=False))
        start, seed = problem.seeds(c, rng), int(rng.integers(2**31))
        options = {name: getattr(self, name) for name in ("tol", "max_iter", "max_bound_iter")}
        indicators = indicator(codes, len(self.group_labels_))

        def rounds(weight: float) -> VariationalResult:
            return variational_rounds(problem, indicators, start, weight, np.random.default_rng(seed), **options)

        return codes, problem.origin, rounds
