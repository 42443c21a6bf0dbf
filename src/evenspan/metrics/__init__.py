"""The judge: every metric is computed here, from moments or points, never by a method."""

from .bootstrap import BlockSums, assign_blocks, block_sums, interval, multiplicities
from .clustering import (
    CLUSTERING_METRICS,
    balance,
    clustering_accuracy,
    joint_counts,
    judge_clustering,
    mnce,
    normalised_mutual_information,
)
from .group_frame import GroupFrame
from .group_metrics import GROUP_METRICS
from .group_prediction import READERS, auc, group_auc, reader_scores
from .joint_counts import JointCounts
from .learnability import (
    Slope,
    direction_sine,
    fairness_gap,
    optimality_gap,
    quantile_slope,
    required_size,
    subspace_sine,
    upper_quantiles,
)
from .linear_map import LinearMap, linear_map
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
    "CLUSTERING_METRICS",
    "GROUP_METRICS",
    "READERS",
    "BlockSums",
    "GroupFrame",
    "JointCounts",
    "LinearMap",
    "Slope",
    "accuracy",
    "assign_blocks",
    "auc",
    "average_error",
    "balance",
    "block_sums",
    "clustering_accuracy",
    "covariance_gap",
    "demographic_parity_difference",
    "direction_sine",
    "downstream",
    "equal_opportunity_difference",
    "error_gap",
    "explained_variance",
    "fairness_gap",
    "group_auc",
    "group_errors",
    "interval",
    "joint_counts",
    "judge_clustering",
    "linear_map",
    "linear_separation",
    "mean_gap",
    "median_bandwidth",
    "mmd2",
    "mnce",
    "multiplicities",
    "normalised_mutual_information",
    "operator_errors",
    "optimality_gap",
    "principal_axes",
    "quantile_slope",
    "reader_scores",
    "required_size",
    "retained_variance",
    "subspace_sine",
    "upper_quantiles",
    "worst_error",
]
