"""Cluster counts: how many rows of each group are in each cluster, the additive statistic of fair clustering."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import entropy

from .errors import GroupError
from .groups import encode_groups, positions, union_labels
from .inputs import first_few, in_pandas


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    r"""How many rows of each group are in each cluster.

    They add over parts of the data, and every measure of fairness between clusters is a function of them.

    Parameters
    ----------
    labels : ndarray of shape (G,)
        Group labels.
    clusters : ndarray of shape (c,)
        Cluster labels.
    counts : ndarray of shape (G, c), int64
        :math:`n_{jk}`, the rows of group j in cluster k. A cluster may be empty; it is left out of all measures.

    References
    ----------
    Zhou, Li and Du (2024), the matrix :math:`G^\top Y` of Theorem 1.

    Examples
    --------
    >>> from evenspan.core.cluster_counts import ClusterCounts
    >>> counts = ClusterCounts.from_labels([0, 0, 0, 1, 1, 1], ["a", "a", "b", "a", "b", "b"])
    >>> counts.counts.tolist()
    [[2, 1], [1, 2]]
    >>> counts.balance
    0.5
    """

    labels: np.ndarray
    clusters: np.ndarray
    counts: np.ndarray

    def __post_init__(self):
        shape = (len(self.labels), len(self.clusters))
        if self.counts.shape != shape or self.counts.dtype.kind not in "iu" or (self.counts < 0).any():
            seen = f"counts have shape {self.counts.shape} and type {self.counts.dtype}"
            raise GroupError(f"{seen}; needed are whole numbers from 0 with shape {shape}.")

    @classmethod
    def from_labels(cls, cluster_labels, sensitive_features, n_clusters: int | None = None) -> "ClusterCounts":
        """Count the rows of each group in each cluster, by one label of each kind for every row.

        With ``n_clusters`` the clusters are 0 to ``n_clusters - 1``, empty ones included; otherwise those that occur.
        """
        cluster_labels = _plain(cluster_labels)
        labels, codes = encode_groups(sensitive_features, len(cluster_labels))
        if n_clusters is None:
            clusters, places = np.unique(cluster_labels, return_inverse=True)
        else:
            clusters, places = np.arange(n_clusters), cluster_labels
            if places.dtype.kind not in "iu" or places.min(initial=0) < 0 or places.max(initial=0) >= n_clusters:
                seen = first_few(map(str, np.unique(places)))
                raise GroupError(f"cluster labels must be whole numbers from 0 to {n_clusters - 1}; seen were {seen}.")
        return cls.from_codes(labels, codes, clusters, places)

    @classmethod
    def from_codes(cls, labels, codes, clusters, places) -> "ClusterCounts":
        """Count rows by the positions (n,) of their group among the labels and of their cluster among the clusters."""
        return cls(labels, clusters, tally(codes, places, len(labels), len(clusters)))

    def __add__(self, other: "ClusterCounts") -> "ClusterCounts":
        """The counts of both parts together; a group or cluster may be absent from either."""
        labels, clusters = (union_labels(getattr(self, of), getattr(other, of)) for of in ("labels", "clusters"))
        counts = np.zeros((len(labels), len(clusters)), dtype=np.int64)
        for part in (self, other):
            counts[np.ix_(positions(part.labels, labels), positions(part.clusters, clusters))] += part.counts
        return type(self)(labels, clusters, counts)

    def select(self, labels) -> "ClusterCounts":
        """The counts of the groups with these labels (text), without the clusters in which they have no row."""
        at = np.isin(self.labels.astype(str), labels)
        there = self.counts[at].any(axis=0)
        return ClusterCounts(self.labels[at], self.clusters[there], self.counts[at][:, there])

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum(axis=None))

    @property
    def sizes(self) -> np.ndarray:
        """Rows in each cluster, shape (c,)."""
        return self.counts.sum(axis=0)

    @property
    def group_sizes(self) -> np.ndarray:
        """Rows of each group, shape (G,)."""
        return self.counts.sum(axis=1)

    @property
    def regulariser(self) -> float:
        r""":math:`F = \sum_k \sum_j n_{jk}^2 / n_k`, the trace that Theorem 1 of Zhou et al. (2024) minimises."""
        filled = _filled(self.counts)
        return float(((filled**2).sum(axis=0) / filled.sum(axis=0)).sum(axis=0))

    @property
    def lowest_regulariser(self) -> float:
        r""":math:`\frac1n \sum_j |G_j|^2`, below which F never is; reached where all clusters have equal shares."""
        return float((self.group_sizes.astype(float) ** 2).sum(axis=0) / self.n)

    @property
    def fair_gap(self) -> float:
        """Where F is between its lower bound (0) and its upper bound n (1); 0 for a single group."""
        room = self.n - self.lowest_regulariser
        return max(self.regulariser - self.lowest_regulariser, 0.0) / room if room > 1e-12 * self.n else 0.0

    @property
    def balance(self) -> float:
        """The rarest group by the most frequent one in the least balanced cluster, as counts."""
        return balance_of(self.counts)

    @property
    def mnce(self) -> float:
        """Smallest entropy of the groups in a cluster, by their entropy overall; NaN for a single group."""
        return mnce_of(self.counts)


def balance_of(counts: np.ndarray) -> float:
    """The balance of counts (G, c)."""
    filled = _filled(counts)
    return float((filled.min(axis=0) / filled.max(axis=0)).min(axis=0))


def mnce_of(counts: np.ndarray) -> float:
    """MNCE of counts (G, c); NaN for one group. The entropy is concave: what exceeds 1 is rounding."""
    overall = float(entropy(counts.sum(axis=1)))
    return min(float(entropy(_filled(counts)).min(axis=0)) / overall, 1.0) if overall > 0 else float("nan")


def _filled(counts: np.ndarray) -> np.ndarray:
    return counts[:, counts.any(axis=0)].astype(float)


def _plain(cluster_labels) -> np.ndarray:
    """One label for each row; GroupError unless it is that."""
    found = np.asarray(in_pandas(cluster_labels))
    if found.ndim != 1:
        raise GroupError(f"cluster labels have shape {found.shape}; needed is (n,), the cluster of each row.")
    if missing := int(pd.isna(found).sum(axis=0)):
        raise GroupError(f"{missing} of {len(found)} cluster labels are missing (None or NaN); needed is one each.")
    return found


def tally(rows: np.ndarray, columns: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    """How often each pair of codes occurs, shape (n_rows, n_columns)."""
    flat = rows.astype(np.intp) * n_columns + columns
    return np.bincount(flat, minlength=n_rows * n_columns).reshape(n_rows, n_columns).astype(np.int64)
