"""The judge: every metric is computed here, from moments or points, never by a method."""

from .group_prediction import READERS, auc, group_auc, reader_scores
from .linear_separation import linear_separation, principal_axes
from .prediction import (
    CLASSIFIERS,
    accuracy,
    demographic_parity_difference,
    downstream,
    equal_opportunity_difference,
)
from .reconstruction import (
    average_error,
    error_gap,
    explained_variance,
    group_errors,
    operator_errors,
    retained_variance,
    worst_error,
)
from .representation import covariance_gap, mean_gap, median_bandwidth, mmd2

__all__ = [
    "CLASSIFIERS",
    "READERS",
    "accuracy",
    "auc",
    "average_error",
    "covariance_gap",
    "demographic_parity_difference",
    "downstream",
    "equal_opportunity_difference",
    "error_gap",
    "explained_variance",
    "group_auc",
    "group_errors",
    "linear_separation",
    "mean_gap",
    "median_bandwidth",
    "mmd2",
    "operator_errors",
    "principal_axes",
    "reader_scores",
    "retained_variance",
    "worst_error",
]
