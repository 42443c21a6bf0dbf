"""Evaluation of clusterings: agreement with classes, and how evenly groups are spread over clusters."""

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from ..core.cluster_counts import ClusterCounts, tally
from ..core.errors import DataError, GroupError, SingleGroupWarning
from ..core.groups import encode_groups


def clustering_accuracy(y, labels) -> float:
    r"""Share of samples in the cluster of their class, for the best assignment of clusters to classes.

    .. math:: \max_{\pi} \; \frac1n \sum_{k} n_{\pi(k), k}, \qquad \pi \text{ one to one.}

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 1, 0])
    0.75
    """
    return accuracy_of(class_table(y, labels))


def normalised_mutual_information(y, labels) -> float:
    r"""Mutual information of classes and clusters, divided by the larger of the two entropies.

    .. math:: I(y, \ell) \,/\, \max(H(y), H(\ell))

    1 when both have one value only.

    Examples
    --------
    >>> normalised_mutual_information(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    return information_of(class_table(y, labels))


def balance(labels, sensitive_features) -> float:
    r"""Smallest ratio of the rarest to the most frequent group within a cluster.

    .. math:: \min_k \; \min_j n_{jk} \,/\, \max_j n_{jk}

    Counts are not divided by the sizes of the groups: the largest possible value is that of the whole sample. 0 when a
    group is missing from a cluster; 1 for one group.

    References
    ----------
    F. Chierichetti et al. (2017), Fair clustering through fairlets, for two groups.

    Examples
    --------
    >>> balance([0, 0, 0, 1, 1, 1], ["f", "m", "m", "f", "f", "m"])
    0.5
    """
    return ClusterCounts.from_labels(labels, sensitive_features).balance


def mnce(labels, sensitive_features) -> float:
    r"""Smallest entropy of the groups within a cluster, divided by their entropy in the whole sample.

    .. math:: \min_k \; H(n_{\cdot k} / n_k) \,/\, H(|G_\cdot| / n)

    From 0 (a cluster of one group) to 1 (every cluster has the shares of the whole). With one group the ratio is 0/0:
    nan, with a warning.

    Examples
    --------
    >>> mnce([0, 0, 1, 1], ["f", "m", "f", "m"])
    1.0
    """
    value = ClusterCounts.from_labels(labels, sensitive_features).mnce
    if np.isnan(value):
        warnings.warn("MNCE is undefined for one group: nan is returned.", SingleGroupWarning, stacklevel=2)
    return value


# -- the formulas, on tables of counts --------------------------------------------------------------------------------


def accuracy_of(table: np.ndarray) -> float:
    """ACC of counts (C, c)."""
    chosen = linear_sum_assignment(table, maximize=True)
    return float(table[chosen].sum(axis=0) / table.sum(axis=None))


def information_of(table: np.ndarray) -> float:
    """NMI of counts (C, c)."""
    largest = max(float(entropy(table.sum(axis=axis))) for axis in (0, 1))
    if largest == 0.0:
        return 1.0
    return min(float(mutual_info_score(None, None, contingency=table)) / largest, 1.0)


def class_table(y, labels) -> np.ndarray:
    """Counts (C, c) of classes in clusters."""
    classes, of_class = encode_labels(y, "y")
    clusters, of_cluster = encode_labels(labels, "labels", len(of_class))
    return tally(of_class, of_cluster, len(classes), len(clusters))


def encode_labels(values, name: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Sorted labels of classes or clusters, coded as groups are, and the position of every entry."""
    try:
        labels, codes = encode_groups(values, n)
    except GroupError as error:
        raise DataError(f"{name}: {str(error).replace('sensitive_features', name)}") from error
    return labels, codes
