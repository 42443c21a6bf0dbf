"""The rounds of variational fair clustering: soft assignments, hard clusters, new centres, and what if one is empty."""

from dataclasses import dataclass

import numpy as np

from ..core.errors import DataError
from .variational_bound import BoundResult, bound_updates, fairness_error
from .variational_costs import hard_assignments

#: How often empty clusters lead to new seeds.
MAX_RESEEDS = 3


@dataclass(frozen=True, eq=False)
class VariationalResult:
    """Where the rounds ended, and how.

    Parameters
    ----------
    weight : float
        The weight of fairness.
    labels : ndarray of shape (n,)
        Hard clusters.
    S : ndarray of shape (c, n)
        Soft assignments.
    centres : ndarray
        The centres of the hard clusters; the labels for the normalised cut.
    clustering_energy : float
        Of the hard clusters.
    soft_clustering_energy, soft_fairness_error : float
        Of the soft assignments.
    history : tuple of float
        Energy of the soft assignments after every round.
    bound : BoundResult
        The last soft assignments, as the bound updates left them.
    n_updates : int
        Bound updates in all rounds together.
    n_doublings : int
        How often L was doubled.
    lipschitz : float
        The largest L needed.
    n_reseeds : int
        How often an empty cluster led to new seeds.
    degenerate : bool
        Whether clusters became empty once more, so that this is the last state without one.
    converged : bool
        Whether rounds and bound updates reached their tolerances.
    """

    weight: float
    labels: np.ndarray
    S: np.ndarray
    centres: np.ndarray
    clustering_energy: float
    soft_clustering_energy: float
    soft_fairness_error: float
    history: tuple[float, ...]
    bound: BoundResult
    n_updates: int
    n_doublings: int
    lipschitz: float
    n_reseeds: int
    degenerate: bool
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

    Parameters
    ----------
    problem : KMeansCosts, KMedianCosts or NormalisedCutCosts
        What is traded against fairness.
    indicators : ndarray of shape (n, G)
        Indicator columns of the groups.
    c : int
        The number of clusters.
    weight, lipschitz : float
        As in ``bound_updates``.
    start : ndarray
        Seeds, from ``problem.seeds``.
    seed : int
        Decides the seeds that follow an empty cluster.
    tol, bound_tol : float
        Relative changes of the energy between rounds, and between bound updates, that end them.
    max_iter, max_bound_iter : int
        Most rounds, and most bound updates in each.

    Returns
    -------
    VariationalResult
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
        S = bound.S
        with np.errstate(divide="ignore"):
            unfair = fairness_error(np.log(S @ indicators).T, shares) if weight == 0 else bound.fairness
        energies = problem.energy(hard_assignments(labels, c), costs), problem.energy(S, costs), unfair
        return VariationalResult(
            weight, labels, S, centres, *energies, tuple(history), bound, **totals,
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
