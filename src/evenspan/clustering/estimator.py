"""The scikit-learn side of every clusterer, written once."""

import warnings
from abc import abstractmethod
from typing import Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from ..core.cluster_counts import ClusterCounts, tally
from ..core.errors import ComponentsError, GroupError, SingleGroupWarning
from ..core.estimator import FairEstimator, numeric_table
from ..core.groups import encode_groups, label_text
from ..core.inputs import require_generator, warn_caller, warn_of_order
from ..core.options import CLUSTERS, Option, number

#: A weight of fairness.
WEIGHT = Option(number(0.0).allows, "a finite number of at least 0")


class FairClusterer(ClusterMixin, FairEstimator):
    """Base of the clusterers that see groups: ``fit(X, sensitive_features=...)`` leaves ``labels_`` and ``counts_``."""

    # Made by ``fit``; each method adds its own.
    labels_: np.ndarray
    counts_: ClusterCounts
    group_labels_: np.ndarray
    group_counts_: np.ndarray
    n_features_in_: int

    __metadata_request__fit_predict = {"sensitive_features": True}  # noqa: RUF012

    @abstractmethod
    def fit(self, X, y=None, *, sensitive_features) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numeric features, or what the method takes in their place: a kernel or affinity matrix (n, n).
        y : array-like of shape (n,), optional
            Not used.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row: strings, booleans or whole numbers; each combination of p columns is a group.

        Returns
        -------
        self
        """

    def fit_predict(self, X, y=None, *, sensitive_features) -> np.ndarray:
        return self.fit(X, y, sensitive_features=sensitive_features).labels_

    def _sample(self, X, sensitive_features, **checks) -> tuple[np.ndarray, np.ndarray, int, np.random.Generator]:
        """The table, the group codes of its rows, the number of clusters and the generator, all checked."""
        self._check_options()
        rng = require_generator(self.random_state)
        warn_of_order(X, sensitive_features=sensitive_features)
        X = numeric_table(self, X, **checks)
        codes = self._groups(sensitive_features, X.shape[0])
        return X, codes, require_clusters(self.n_clusters, X.shape[0]), rng

    def _groups(self, sensitive_features, n: int) -> np.ndarray:
        """Group codes of the rows; stores the labels and sizes of the groups. One group is an error unless allowed."""
        self.group_labels_, codes = encode_groups(sensitive_features, n)
        self.group_counts_ = np.bincount(codes, minlength=len(self.group_labels_))
        if len(self.group_labels_) == 1:
            said = f"there is one group only ({label_text(self.group_labels_[0])!r}, {n} row(s), one class)"
            if self.on_single_group == "raise":
                raise GroupError(
                    f"{said}: there is nothing to be fair between. Pass at least two groups, or on_single_group='warn' "
                    "for clusters without fairness."
                )
            warn_caller(f"{said}, so the fairness term has no effect.", SingleGroupWarning)
        return codes

    def _store_labels(self, labels: np.ndarray, codes: np.ndarray, n_clusters: int) -> None:
        self.labels_ = np.asarray(labels, dtype=np.int64)
        self.counts_ = self._counts(self.labels_, codes, n_clusters)

    def _counts(self, labels: np.ndarray, codes: np.ndarray, n_clusters: int) -> ClusterCounts:
        counts = tally(codes, labels, len(self.group_labels_), n_clusters)
        return ClusterCounts(self.group_labels_, np.arange(n_clusters), counts)


class NearestCentre:
    """Mixin of the clusterers that put new rows into the cluster with the nearest centre, ``_nearest(X)``."""

    def predict(self, X) -> np.ndarray:
        """The cluster whose centre is nearest to each row, with a kernel in its feature space.

        Groups play no part: on the training sample the answer need not be ``labels_``, which pay for fairness.

        Parameters
        ----------
        X : array-like or DataFrame of shape (m, d)
            New rows, or their kernel values (m, n) with the training sample if ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self._nearest(numeric_table(self, X, reset=False))


class CentreClusterer(NearestCentre, FairClusterer):
    """Base of the clusterers whose clusters have centres among the features, ``centers_`` of shape (c, d)."""

    def _nearest(self, X: np.ndarray) -> np.ndarray:
        origin = self.centers_.mean(axis=0)  # far from zero distances lose their digits
        return pairwise_distances_argmin(X - origin, self.centers_ - origin)


def plain_means(points: np.ndarray, k: int, *, seed: int, **options) -> KMeans:
    """Fitted k-means; where there are fewer different points than clusters the caller looks after the empty ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(k, random_state=seed, **options).fit(points)


def require_clusters(n_clusters, n: int) -> int:
    """``n_clusters`` as an int between 1 and n."""
    if CLUSTERS.require("n_clusters", n_clusters) > n:
        raise ComponentsError(
            f"n_clusters={n_clusters!r}; needed is a whole number from 1 to at most {n}: there are {n} points, and no "
            "cluster may be empty."
        )
    return int(n_clusters)
