"""The judge of clusterings: agreement with classes, and how evenly groups are spread over clusters."""

import math
import warnings
from fractions import Fraction

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..core.errors import DataError
from ..core.groups import encode_groups
from .joint_counts import JointCounts, encode_labels

#: Names and order of what ``judge_clustering`` returns.
CLUSTERING_METRICS = ("ACC", "NMI", "Bal", "MNCE", "F", "fair gap", "clusters", "empty clusters")


def joint_counts(y, labels, sensitive_features, n_clusters: int | None = None) -> JointCounts:
    """Counts of classes, groups and clusters together.

    Parameters
    ----------
    y : array-like of shape (n,)
        Classes, never shown to a method.
    labels : array-like of shape (n,)
        Clusters.
    sensitive_features : array-like of shape (n,) or (n, p)
        Groups.
    n_clusters : int, optional
        With it the labels are 0, ..., n_clusters - 1 and empty clusters are counted.

    Returns
    -------
    JointCounts
    """
    return JointCounts.from_labels(y, labels, sensitive_features, n_clusters)


def judge_clustering(counts: JointCounts) -> dict[str, float]:
    """Every metric of a clustering from its counts, by name; see ``CLUSTERING_METRICS``.

    Parameters
    ----------
    counts : JointCounts
        Classes x groups x clusters.

    Returns
    -------
    dict
        "ACC", "NMI", "Bal", "MNCE" (nan for one group), the regulariser "F", its "fair gap", and the numbers of
        clusters with and without samples.

    Guarantees
    ----------
    Nothing depends on the order or the names of clusters, classes or groups. The fair gap is computed in fractions:
    it is 0 exactly when every cluster has the shares of the groups in the whole sample.
    """
    table, groups = counts.class_by_cluster, counts.group_by_cluster
    occupied = int(groups.any(axis=0).sum(axis=0))
    values = (
        accuracy_of(table), information_of(table), balance_of(groups), mnce_of(groups), float(regulariser_of(groups)),
        float(fair_gap_of(groups)), occupied, groups.shape[1] - occupied,
    )  # fmt: skip
    return dict(zip(CLUSTERING_METRICS, values, strict=True))


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
    return accuracy_of(_table(y, labels))


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
    return information_of(_table(y, labels))


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
    return balance_of(_groups_table(labels, sensitive_features))


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
    value = mnce_of(_groups_table(labels, sensitive_features))
    if np.isnan(value):
        warnings.warn("MNCE is undefined for one group: nan is returned.", RuntimeWarning, stacklevel=2)
    return value


# -- the formulas, on tables of counts; columns are clusters, empty ones are ignored -----------------------------------


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
    whole = _entropy(groups.sum(axis=1))
    if whole == 0.0:
        return float("nan")
    # Not above 1, because the entropy is concave: what exceeds it is rounding.
    return min(min(_entropy(cluster) for cluster in groups.T if cluster.any()) / whole, 1.0)


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


def _entropy(counts: np.ndarray) -> float:
    shares = counts[counts > 0] / counts.sum(axis=0)
    return abs(math.fsum(shares * np.log(shares)))


def _table(y, labels) -> np.ndarray:
    clusters, of_cluster = encode_labels(labels, "labels")
    classes, of_class = encode_labels(y, "y", len(of_cluster))
    return _counted(of_class, of_cluster, len(classes), len(clusters))


def _groups_table(labels, sensitive_features) -> np.ndarray:
    clusters, of_cluster = encode_labels(labels, "labels")
    groups, of_group = encode_groups(sensitive_features, len(of_cluster))
    return _counted(of_group, of_cluster, len(groups), len(clusters))


def _counted(rows: np.ndarray, columns: np.ndarray, height: int, width: int) -> np.ndarray:
    if len(rows) != len(columns):
        raise DataError(f"{len(rows)} and {len(columns)} labels; needed is one of each for every sample.")
    flat = rows.astype(np.int64) * width + columns
    return np.bincount(flat, minlength=height * width).reshape(height, width)
