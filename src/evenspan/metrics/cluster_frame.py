"""ClusterFrame: how fair a clustering is, by group and by cluster, as GroupFrame says it of a representation."""

import numpy as np
import pandas as pd

from ..core.cluster_counts import ClusterCounts
from ..core.errors import DataError
from .clustering import balance_of, entropy, fair_gap_of, mnce_of, regulariser_of
from .group_frame import label_index


class ClusterFrame:
    r"""How evenly groups are spread over clusters: for every group, for every cluster, and for all rows together.

    Everything is a function of the numbers :math:`n_{jk}` of rows of group j in cluster k, so that rows are needed once
    at most and counts of parts of the data may be added first. Make it with ``from_estimator`` for rows that a fitted
    clustering has not seen, or with ``from_labels`` for any clusters of any rows.

    Parameters
    ----------
    counts : ClusterCounts
        Rows of each group in each cluster. Empty clusters are counted, and left out of everything else.

    Guarantees
    ----------
    The smallest balance of a cluster is the balance, and the smallest entropy of a cluster the MNCE. A fair gap of 0
    means that every cluster has the shares of the groups in the whole, and then every distance is 0 as well.

    Examples
    --------
    >>> frame = ClusterFrame.from_labels([0, 0, 0, 0, 1, 1], sensitive_features=["f", "f", "f", "m", "f", "m"])
    >>> frame.by_group.round(2)  # doctest: +NORMALIZE_WHITESPACE
           count  entropy  distance
    group
    f          4     0.88      0.08
    m          2     1.09      0.17
    >>> frame.by_cluster.round(2)  # doctest: +NORMALIZE_WHITESPACE
             count  balance  entropy
    cluster
    0            4     0.33     0.88
    1            2     1.00     1.09
    >>> frame.overall.round(2).to_dict()
    {'balance': 0.33, 'MNCE': 0.88, 'regulariser': 3.5, 'fair gap': 0.06, 'clusters': 2.0, 'empty clusters': 0.0}
    """

    def __init__(self, counts: ClusterCounts):
        self.counts = counts

    @classmethod
    def from_labels(cls, labels, *, sensitive_features, n_clusters: int | None = None) -> "ClusterFrame":
        """Judge the clusters of some rows.

        Parameters
        ----------
        labels : array-like of shape (n,)
            Cluster of each row.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group of each row.
        n_clusters : int, optional
            The clusters are then 0 to ``n_clusters - 1``, empty ones included.

        Returns
        -------
        ClusterFrame
        """
        return cls(ClusterCounts.from_labels(labels, sensitive_features, n_clusters))

    @classmethod
    def from_estimator(cls, estimator, X, *, sensitive_features) -> "ClusterFrame":
        """Judge a fitted clustering on rows, new ones or those that it was fitted to.

        Parameters
        ----------
        estimator : fitted clusterer
            Its ``predict`` assigns rows to clusters, without seeing their groups.
        X : array-like of shape (n, d)
            Rows to judge on.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group of each row.

        Returns
        -------
        ClusterFrame
        """
        if not hasattr(estimator, "predict"):
            raise DataError(
                f"a {type(estimator).__name__} assigns no new rows to clusters: it has no predict. Judge the rows that "
                "it was fitted to by ClusterFrame.from_labels(estimator.labels_, sensitive_features=...)."
            )
        labels = estimator.predict(X)
        return cls.from_labels(
            labels, sensitive_features=sensitive_features, n_clusters=getattr(estimator, "n_clusters", None)
        )

    @property
    def by_group(self) -> pd.DataFrame:
        r"""One row for each group.

        ``count``; ``entropy`` of its clusters, :math:`H(n_{j \cdot} / n_j)`, over that of all rows (below 1 where the
        group is concentrated); ``distance``, :math:`\frac12 \sum_k |n_{jk} / n_j - n_k / n|`, the share of its rows
        that would have to change their cluster for it to be spread as all rows are.
        """
        table, whole = self._filled, self._filled.sum(axis=0)
        shares, overall = table / table.sum(axis=1, keepdims=True), entropy(whole)
        found = {
            "count": table.sum(axis=1),
            "entropy": [entropy(row) / overall if overall else np.nan for row in table],
            "distance": 0.5 * np.abs(shares - whole / whole.sum(axis=0)).sum(axis=1),
        }
        return pd.DataFrame(found, index=label_index(self.counts.labels, "group"))

    @property
    def by_cluster(self) -> pd.DataFrame:
        r"""One row for each cluster.

        ``count``; ``balance``, the rarest group over the most frequent one; ``entropy`` of its groups,
        :math:`H(n_{\cdot k} / n_k)`, over that of all rows. An empty cluster has neither.
        """
        table, overall = self.counts.counts, entropy(self.counts.group_sizes)
        occupied = table.any(axis=0)
        found = pd.DataFrame(index=pd.Index(self.counts.clusters.tolist(), name="cluster"))
        found["count"] = self.counts.sizes
        found["balance"] = [balance_of(table[:, [k]]) if occupied[k] else np.nan for k in range(len(occupied))]
        found["entropy"] = [
            entropy(column) / overall if overall and filled else np.nan
            for column, filled in zip(table.T, occupied, strict=True)
        ]
        return found

    @property
    def shares(self) -> pd.DataFrame:
        """Share of every group (rows) in every cluster (columns); an empty cluster has none."""
        sizes = self.counts.sizes
        shares = np.divide(self.counts.counts, sizes, out=np.full(self.counts.counts.shape, np.nan), where=sizes > 0)
        columns = pd.Index(self.counts.clusters.tolist(), name="cluster")
        return pd.DataFrame(shares, index=label_index(self.counts.labels, "group"), columns=columns)

    @property
    def overall(self) -> pd.Series:
        """Balance, MNCE (nan for one group), the regulariser F and its fair gap; clusters with and without rows."""
        table = self.counts.counts
        found = {
            "balance": balance_of(table),
            "MNCE": mnce_of(table),
            "regulariser": float(regulariser_of(table)),
            "fair gap": float(fair_gap_of(table)),
            "clusters": float(self._filled.shape[1]),
            "empty clusters": float(table.shape[1] - self._filled.shape[1]),
        }
        return pd.Series(found)

    @property
    def _filled(self) -> np.ndarray:
        return self.counts.counts[:, self.counts.counts.any(axis=0)]
