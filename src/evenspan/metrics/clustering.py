"""Evaluation of clusterings: how evenly groups are spread over clusters."""

import warnings

import numpy as np

from ..core.cluster_counts import ClusterCounts
from ..core.errors import SingleGroupWarning


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
