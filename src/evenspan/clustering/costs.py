"""What fair clusters cost: given clusters, k-means and fairness-first clusters of the same rows, side by side."""

import warnings

import numpy as np
import pandas as pd

from ..core.cluster_counts import ClusterCounts
from .estimator import plain_means
from .fairness_first import FairnessFirstClustering


def fair_costs(X: np.ndarray, labels: np.ndarray, sensitive_features: np.ndarray, *, seed: int = 0) -> pd.DataFrame:
    """The balance, the MNCE and the sum of squares of clusters, of as many by k-means, and of as many fair ones.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The points.
    labels, sensitive_features : ndarray of shape (n,)
        Cluster and group of each.
    seed : int
        Of both searches.

    Returns
    -------
    DataFrame
        With the rows "given", "k-means" and "fair" (``FairnessFirstClustering``). ``sum of squares`` is that of the
        distances to the means of the clusters, ``share of squares`` its share of that about the mean of all points.

    Examples
    --------
    >>> X, sex = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array(["f", "f", "m", "m"])
    >>> fair_costs(X, np.array([0, 1, 0, 1]), sex)[["balance", "sum of squares"]]
             balance  sum of squares
    given        1.0            25.0
    k-means      0.0             1.0
    fair         1.0            25.0
    """
    c, found = len(np.unique(labels)), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of searches that could go on, and of one group
        fair = FairnessFirstClustering(c, random_state=seed, on_single_group="warn")
        made = {"k-means": plain_means(X, c, seed=seed, n_init=10).labels_}
        made["fair"] = fair.fit_predict(X, sensitive_features=sensitive_features)
    for name, own in {"given": labels, **made}.items():
        within = X - pd.DataFrame(X).groupby(own).transform("mean").to_numpy()
        counts, squares = ClusterCounts.from_labels(own, sensitive_features), (within**2).sum(axis=None)
        share = squares / ((X - X.mean(axis=0)) ** 2).sum(axis=None)
        sums = {"sum of squares": squares, "share of squares": share}
        found[name] = {"balance": counts.balance, "MNCE": counts.mnce} | sums
    return pd.DataFrame(found).T
