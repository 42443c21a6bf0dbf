"""The weight of variational fair clustering: the one with the best balance, chosen without class labels."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..core.cluster_counts import ClusterCounts
from ..core.errors import ConfigurationError
from .variational import VariationalFairClustering
from .variational_rounds import VariationalResult


@dataclass(frozen=True, eq=False)
class WeightChoice:
    """The answer with the best balance, and all that were compared.

    Parameters
    ----------
    weight : float
        The weight chosen.
    labels : ndarray of shape (n,)
        Its clusters.
    counts : ClusterCounts
        Its counts of groups in clusters.
    result : VariationalResult
        The rest of its answer.
    path : tuple of dict
        For each weight, in increasing order: "fairness_weight", "balance", "mnce", "clustering_energy", "rounds",
        "updates", "converged", "degenerate".
    """

    weight: float
    labels: np.ndarray
    counts: ClusterCounts
    result: VariationalResult
    path: tuple[dict, ...]


def choose_weight(
    clusterer: VariationalFairClustering, X, weights: Iterable[float], *, sensitive_features
) -> WeightChoice:
    """The weight whose hard clusters have the best balance; of equal ones that of the lowest clustering energy.

    Class labels are not looked at. If those are equal too the smallest weight is taken.

    Parameters
    ----------
    clusterer : VariationalFairClustering
        All other options; it is not changed, and its own weight does not matter.
    X : array-like, DataFrame or sparse matrix of shape (n, d)
        What its ``fit`` takes.
    weights : iterable of float
        The weights to compare, at least 0. All start from the same seeds.
    sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
        Group label of each row.

    Returns
    -------
    WeightChoice
    """
    weights = list(weights)
    if not weights:
        raise ConfigurationError("weights is empty; needed is at least one fairness weight.")
    results = clusterer.curve(X, weights, sensitive_features=sensitive_features)
    results.sort(key=lambda result: result.weight)
    counts = [
        ClusterCounts.from_labels(result.labels, sensitive_features, n_clusters=len(result.S)) for result in results
    ]
    path = tuple(
        {
            "fairness_weight": result.weight,
            "balance": count.balance,
            "mnce": count.mnce,
            "clustering_energy": result.clustering_energy,
            "rounds": len(result.history),
            "updates": result.n_updates,
            "converged": result.converged,
            "degenerate": result.degenerate,
        }
        for result, count in zip(results, counts, strict=True)
    )
    best = min(range(len(path)), key=lambda i: (-path[i]["balance"], path[i]["clustering_energy"]))
    return WeightChoice(results[best].weight, results[best].labels, counts[best], results[best], path)
