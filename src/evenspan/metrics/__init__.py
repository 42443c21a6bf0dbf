"""The judge: every metric is computed here, from moments or points, never by a method."""

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
    worst_error,
)
from .representation import covariance_gap, mean_gap, median_bandwidth, mmd2

__all__ = [
    "CLASSIFIERS",
    "accuracy",
    "average_error",
    "covariance_gap",
    "demographic_parity_difference",
    "downstream",
    "equal_opportunity_difference",
    "error_gap",
    "explained_variance",
    "group_errors",
    "linear_separation",
    "mean_gap",
    "median_bandwidth",
    "mmd2",
    "operator_errors",
    "principal_axes",
    "worst_error",
]
