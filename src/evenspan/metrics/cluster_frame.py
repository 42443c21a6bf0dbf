"""ClusterFrame: how fair a clustering is, by group and by cluster, as GroupFrame says it of a representation."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import entropy, random_table

from ..core.cluster_counts import ClusterCounts
from ..core.errors import DataError
from ..core.inputs import require_generator
from ..core.options import whole
from .group_frame import label_index
from .prediction import wilson


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
             count  balance  entropy  distance
    cluster
    0            4     0.33     0.88      0.08
    1            2     1.00     1.09      0.17
    >>> frame.overall.round(2).to_dict()
    {'balance': 0.33, 'MNCE': 0.88, 'regulariser': 3.5, 'fair gap': 0.06, 'clusters': 2.0, 'empty clusters': 0.0}
    """

    def __init__(self, counts: ClusterCounts):
        self.counts = counts

    @classmethod
    def from_labels(cls, labels, *, sensitive_features, n_clusters: int | None = None) -> "ClusterFrame":
        """Judge the clusters ``labels`` (n,) of some rows; with ``n_clusters`` they are 0 to ``n_clusters - 1``."""
        return cls(ClusterCounts.from_labels(labels, sensitive_features, n_clusters))

    @classmethod
    def from_estimator(cls, estimator, X, *, sensitive_features) -> "ClusterFrame":
        """Judge a fitted clustering on rows: its ``predict`` assigns them to clusters without seeing their groups."""
        if not hasattr(estimator, "predict"):
            raise DataError(
                f"a {type(estimator).__name__} assigns no new rows to clusters: it has no predict. Judge the rows that "
                "it was fitted to by ClusterFrame.from_labels(estimator.labels_, sensitive_features=...)."
            )
        n_clusters = getattr(estimator, "n_clusters", None)
        return cls.from_labels(estimator.predict(X), sensitive_features=sensitive_features, n_clusters=n_clusters)

    @property
    def by_group(self) -> pd.DataFrame:
        r"""One row for each group.

        ``count``; ``entropy`` of its clusters, :math:`H(n_{j \cdot} / n_j)`, over that of all rows (below 1 where the
        group is concentrated); ``distance``, :math:`\frac12 \sum_k |n_{jk} / n_j - n_k / n|`, the share of its rows
        that would have to change their cluster for it to be spread as all rows are.
        """
        table = self.counts.counts
        whole = table.sum(axis=0)
        shares, overall = table / table.sum(axis=1, keepdims=True), float(entropy(whole))
        found = {
            "count": table.sum(axis=1),
            "entropy": entropy(table, axis=1) / overall if overall else np.nan,
            "distance": 0.5 * np.abs(shares - whole / whole.sum(axis=0)).sum(axis=1),
        }
        return pd.DataFrame(found, index=label_index(self.counts.labels, "group"))

    @property
    def by_cluster(self) -> pd.DataFrame:
        r"""One row for each cluster.

        ``count``; ``balance``, the rarest group over the most frequent one; ``entropy`` of its groups,
        :math:`H(n_{\cdot k} / n_k)`, over that of all rows; ``distance``,
        :math:`\frac12 \sum_j |n_{jk} / n_k - n_j / n|`, the share of its rows that would have to be others for it to
        have the groups as all rows have them. An empty cluster has none of these.
        """
        table, sizes = self.counts.counts.astype(float), self.counts.group_sizes
        overall, shares = float(entropy(sizes)), sizes[:, None] / self.counts.n
        table[:, self.counts.sizes == 0] = np.nan
        found = {
            "count": self.counts.sizes,
            "balance": table.min(axis=0) / table.max(axis=0),
            "entropy": entropy(table) / overall if overall else np.nan,
            "distance": 0.5 * np.abs(table / self.counts.sizes.clip(1) - shares).sum(axis=0),
        }
        return pd.DataFrame(found, index=pd.Index(self.counts.clusters.tolist(), name="cluster"))

    @property
    def shares(self) -> pd.DataFrame:
        """One row for each cluster with rows and each group: ``count``, and ``share`` of the cluster with its interval.

        ``low`` to ``high`` is that of Wilson, 95 %.
        """
        there = np.flatnonzero(self.counts.sizes)
        counts, sizes = self.counts.counts[:, there].T, self.counts.sizes[there, None]  # (K, G), (K, 1)
        low, high = wilson(counts / sizes, sizes)
        names = {"cluster": self.counts.clusters[there], "group": self.counts.labels}
        index = pd.MultiIndex.from_product(names.values(), names=names)
        found = {"count": counts, "share": counts / sizes, "low": low, "high": high}
        return pd.DataFrame({name: values.ravel() for name, values in found.items()}, index=index).reset_index()

    @property
    def overall(self) -> pd.Series:
        """Balance, MNCE (nan for one group), the regulariser F and its fair gap; clusters with and without rows."""
        counts, filled = self.counts, int((self.counts.sizes > 0).sum(axis=0))
        found = {
            "balance": counts.balance,
            "MNCE": counts.mnce,
            "regulariser": counts.regulariser,
            "fair gap": counts.fair_gap,
            "clusters": float(filled),
            "empty clusters": float(len(counts.clusters) - filled),
        }
        return pd.Series(found)

    def by_chance(self, n_draws: int = 1000, random_state=None) -> list["ClusterFrame"]:
        """What chance gives: frames of as large groups and clusters, the rows dealt to the clusters at random.

        Parameters
        ----------
        n_draws : int
            How many frames are drawn.
        random_state : None, int or Generator
            Decides them.

        Returns
        -------
        list of ClusterFrame

        Examples
        --------
        >>> frame = ClusterFrame.from_labels([0, 0, 0, 0, 1, 1], sensitive_features=["f", "f", "f", "m", "f", "m"])
        >>> {float(one.overall["balance"]) for one in frame.by_chance(50, random_state=0)} == {0.0, 1 / 3}
        True
        """
        counts, rng = self.counts, require_generator(random_state)
        dealt = random_table(counts.group_sizes, counts.sizes, seed=rng)
        tables = dealt.rvs(whole(1).require("n_draws", n_draws)).astype(np.int64)
        return [ClusterFrame(replace(counts, counts=table)) for table in tables]
