"""The judge of clusterings: agreement with classes, and how evenly groups are spread over clusters.

All of it is a function of a table of counts with a column for each cluster; empty clusters are ignored. Rows are
counted by ``ClusterCounts``, which adds over parts of the data.
"""

import math
import warnings
from fractions import Fraction

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..core.cluster_counts import ClusterCounts
from ..core.errors import DataError, GroupError, SingleGroupWarning
from ..core.groups import encode_groups


def clustering_accuracy(y, labels) -> float:
    r"""Share of samples in the cluster of their class, for the best assignment of clusters to classes.

    .. math:: \max_{\pi} \; \frac1n \sum_{k} n_{\pi(k), k}, \qquad \pi \text{ one to one.}

    Parameters
    ----------
    y : array-like of shape (n,)
        Classes.
    labels : array-like of shape (n,)
        Clusters; their number may differ from that of the classes.

    Returns
    -------
    float

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 1, 0])
    0.75
    """
    return accuracy_of(class_table(y, labels))


def normalised_mutual_information(y, labels) -> float:
    r"""Mutual information of classes and clusters, divided by the larger of the two entropies.

    .. math:: I(y, \ell) \,/\, \max(H(y), H(\ell))

    Parameters
    ----------
    y : array-like of shape (n,)
        Classes.
    labels : array-like of shape (n,)
        Clusters.

    Returns
    -------
    float
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

    Counts are not divided by the sizes of the groups: the largest possible value is that of the whole sample.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Clusters.
    sensitive_features : array-like of shape (n,) or (n, p)
        Groups.

    Returns
    -------
    float
        0 when a group is missing from a cluster; 1 for one group.

    References
    ----------
    F. Chierichetti et al. (2017), Fair clustering through fairlets, for two groups.

    Examples
    --------
    >>> balance([0, 0, 0, 1, 1, 1], ["f", "m", "m", "f", "f", "m"])
    0.5
    """
    return balance_of(ClusterCounts.from_labels(labels, sensitive_features).counts)


def mnce(labels, sensitive_features) -> float:
    r"""Smallest entropy of the groups within a cluster, divided by their entropy in the whole sample.

    .. math:: \min_k \; H(n_{\cdot k} / n_k) \,/\, H(|G_\cdot| / n)

    Parameters
    ----------
    labels : array-like of shape (n,)
        Clusters.
    sensitive_features : array-like of shape (n,) or (n, p)
        Groups.

    Returns
    -------
    float
        From 0 (a cluster of one group) to 1 (every cluster has the shares of the whole). With one group the ratio is
        0/0: nan, with a warning.

    Examples
    --------
    >>> mnce([0, 0, 1, 1], ["f", "m", "f", "m"])
    1.0
    """
    value = mnce_of(ClusterCounts.from_labels(labels, sensitive_features).counts)
    if np.isnan(value):
        warnings.warn("MNCE is undefined for one group: nan is returned.", SingleGroupWarning, stacklevel=2)
    return value


# -- the formulas, on tables of counts --------------------------------------------------------------------------------


def accuracy_of(table: np.ndarray) -> float:
    """ACC of counts (C, c)."""
    # An assignment of the smaller side is that of the square padded with zeros.
    chosen = linear_sum_assignment(table, maximize=True)
    return float(table[chosen].sum(axis=0) / table.sum(axis=None))


def information_of(table: np.ndarray) -> float:
    """NMI of counts (C, c)."""
    n, rows, columns = int(table.sum(axis=None)), table.sum(axis=1), table.sum(axis=0)
    i, k = np.nonzero(table)
    # The quotient of products of whole numbers is exactly 1 where class and cluster are independent.
    # Sums rounded once do not depend on the order of the labels, so that equal partitions have exactly 1.
    shared = math.fsum(table[i, k] * np.log(table[i, k] * n / (rows[i] * columns[k])))
    largest = max(math.fsum(part * np.log(n / part)) for part in (rows[rows > 0], columns[columns > 0]))
    return 1.0 if largest == 0.0 else min(max(shared / largest, 0.0), 1.0)


def balance_of(groups: np.ndarray) -> float:
    """Bal of counts (G, c)."""
    filled = groups[:, groups.any(axis=0)]
    return float((filled.min(axis=0) / filled.max(axis=0)).min(axis=0))


def mnce_of(groups: np.ndarray) -> float:
    """MNCE of counts (G, c); nan for one group."""
    whole = entropy(groups.sum(axis=1))
    if whole == 0.0:
        return float("nan")
    # Not above 1, because the entropy is concave: what exceeds it is rounding.
    return min(min(entropy(cluster) for cluster in groups.T if cluster.any()) / whole, 1.0)


def regulariser_of(groups: np.ndarray) -> Fraction:
    """F of counts (G, c), exactly: the sum over clusters of the squared counts divided by the size."""
    return sum((Fraction(int(cluster @ cluster), int(cluster.sum(axis=0))) for cluster in groups.T if cluster.any()),
               Fraction(0))  # fmt: skip


def lowest_regulariser_of(groups: np.ndarray) -> Fraction:
    """The lower bound of F for these groups, exactly: the sum of their squared sizes divided by n."""
    sizes = groups.sum(axis=1)
    return Fraction(int(sizes @ sizes), int(sizes.sum(axis=0)))


def fair_gap_of(groups: np.ndarray) -> Fraction:
    """Where F lies between its lower bound (0) and n (1), exactly; 0 for one group, whose F is always n."""
    n, lowest = int(groups.sum(axis=None)), lowest_regulariser_of(groups)
    return (regulariser_of(groups) - lowest) / (n - lowest) if n > lowest else Fraction(0)


def entropy(counts: np.ndarray) -> float:
    """Entropy of the shares of counts (m,), rounded once: it does not depend on their order."""
    shares = counts[counts > 0] / counts.sum(axis=0)
    return abs(math.fsum(shares * np.log(shares)))


def class_table(y, labels) -> np.ndarray:
    """Counts (C, c) of classes in clusters."""
    classes, of_class = encode_labels(y, "y")
    clusters, of_cluster = encode_labels(labels, "labels", len(of_class))
    counts = np.zeros((len(classes), len(clusters)), dtype=np.int64)
    np.add.at(counts, (of_class, of_cluster), 1)
    return counts


def encode_labels(values, name: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Sorted labels of classes or clusters, coded as groups are, and the position of every entry."""
    try:
        labels, codes = encode_groups(values, n)
    except GroupError as error:
        raise DataError(f"{name}: {str(error).replace('sensitive_features', name)}") from error
    return labels, codes
