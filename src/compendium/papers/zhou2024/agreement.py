"""How far clusters are the classes: ACC and NMI, from counts (C, c) of classes in clusters."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix


def clustering_accuracy(y, labels) -> float:
    """ACC of the clusters ``labels`` (n,) of rows of the classes y (n,)."""
    return accuracy_of(contingency_matrix(y, labels))


def accuracy_of(table: np.ndarray) -> float:
    r"""ACC, the share of samples in the cluster of their class, for the best assignment of clusters to classes.

    .. math:: \max_{\pi} \; \frac1n \sum_{k} n_{\pi(k), k}, \qquad \pi \text{ one to one.}
    """
    chosen = linear_sum_assignment(table, maximize=True)
    return float(table[chosen].sum(axis=0) / table.sum(axis=None))


def information_of(table: np.ndarray) -> float:
    """NMI: mutual information by the larger of both entropies, scikit-learn's with ``average_method="max"``."""
    largest = max(float(entropy(table.sum(axis=axis))) for axis in (0, 1))
    if largest == 0.0:
        return 1.0
    return min(float(mutual_info_score(None, None, contingency=table)) / largest, 1.0)
