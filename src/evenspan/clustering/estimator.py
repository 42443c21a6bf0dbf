"""The scikit-learn side of every clusterer, written once."""

from abc import abstractmethod
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from ..core.cluster_counts import ClusterCounts
from ..core.errors import ComponentsError, ConfigurationError, SingleGroupWarning
from ..core.estimator import validated, warn_caller
from ..core.groups import encode_groups, label_text
from ..core.inputs import require_numeric_columns, whole_number
from ..core.options import Options


class FairClusterer(Options, ClusterMixin, BaseEstimator):
    """Base of the clusterers that see groups: ``fit(X, sensitive_features=...)`` leaves labels and their counts."""

    # Lets a Pipeline or a search route the groups without a call to set_fit_request.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012
    __metadata_request__fit_predict = {"sensitive_features": True}  # noqa: RUF012

    @abstractmethod
    def fit(self, X, y=None, *, sensitive_features):
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

    def fit_predict(self, X, y=None, *, sensitive_features):
        """Fit and return the labels.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            What ``fit`` takes.
        y : array-like of shape (n,), optional
            Not used.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row; each combination of p columns is a group.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.fit(X, y, sensitive_features=sensitive_features).labels_

    def _groups(self, sensitive_features, n: int) -> np.ndarray:
        """Group codes of the rows; stores the labels and sizes of the groups."""
        self.group_labels_, codes = encode_groups(sensitive_features, n)
        self.group_counts_ = np.bincount(codes, minlength=len(self.group_labels_))
        return codes

    def _warn_single_group(self) -> None:
        if len(self.group_labels_) == 1:
            warn_caller(
                f"there is one group only ({label_text(self.group_labels_[0])}), so the fairness term is the same for "
                "all clusterings and has no effect.",
                SingleGroupWarning,
            )

    def _store_labels(self, labels: np.ndarray, codes: np.ndarray, n_clusters: int) -> None:
        self.labels_ = np.asarray(labels, dtype=np.int64)
        counts = ClusterCounts.from_labels(self.labels_, codes, n_clusters)
        self.counts_ = ClusterCounts(self.group_labels_, counts.clusters, counts.counts)

    def _table(self, X, **checks) -> np.ndarray:
        return numeric_table(self, X, **checks)


class CentreClusterer(FairClusterer):
    """Base of the clusterers whose clusters have centres among the features, ``centers_`` of shape (c, d)."""

    def predict(self, X) -> np.ndarray:
        """The cluster whose centre is nearest to each row.

        New rows change nothing, and their groups play no part: how fair the answer is for them,
        ``ClusterCounts.from_labels(labels, groups)`` and ``GroupFrame`` say. On the fitting sample it need not be
        ``labels_``, which pay for fairness.

        Parameters
        ----------
        X : array-like or DataFrame of shape (m, d)
            New rows.

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        X = self._table(X, reset=False, accept_sparse=self.__sklearn_tags__().input_tags.sparse and "csr")
        if self.centers_ is None:
            raise ConfigurationError(
                "clusters of a graph have no centres, so nothing can be predicted for new rows. Fit to all rows, "
                "or use an objective with centres."
            )
        origin = 0.0 if issparse(X) else self.centers_.mean(axis=0)  # far from zero distances lose their digits
        return pairwise_distances_argmin(X - origin if not issparse(X) else X, self.centers_ - origin)


def numeric_table(estimator: BaseEstimator, X, **checks) -> np.ndarray:
    """X as an array in the precision that it has; an error names the columns that are not numeric."""
    require_numeric_columns(X)
    return validated(estimator, X, dtype=[np.float64, np.float32], **checks)


def require_clusters(n_clusters, n: int) -> int:
    """``n_clusters`` as an int between 1 and n."""
    n_clusters = whole_number("n_clusters", n_clusters, 1)
    if n_clusters > n:
        raise ComponentsError(
            f"n_clusters={n_clusters}, but there are only {n} points and no cluster may be empty. Ask for at most {n}."
        )
    return n_clusters


def number_at_least(name: str, value, least: float) -> float:
    """The value as a float; ``ConfigurationError`` naming the argument unless it is finite and no smaller."""
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= value < np.inf:
        raise ConfigurationError(f"{name}={value!r}; needed is a finite number of at least {least:g}.")
    return float(value)
