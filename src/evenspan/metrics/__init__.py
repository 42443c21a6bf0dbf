"""The judge: every metric is computed here, from moments, points or counts, never by a method."""

from ..core.kernels import median_bandwidth
from .attackers import ATTACKERS, Panel, attack
from .bootstrap import assign_blocks
from .cluster_frame import ClusterFrame
from .clustering import balance, mnce
from .group_frame import GroupFrame
from .linear_map import GROUP_METRICS, LinearMap, linear_map
from .population import error_gap_bound, mean_gap_bound
from .prediction import (
    PROBES,
    auc,
    auc_standard_error,
    group_auc,
    placements,
    probe_scores,
    settled,
)
from .reconstruction import error_gap, explained_variance, group_errors, operator_errors, retained_variance
from .representation import covariance_gap, mean_gap, mmd2

__all__ = [
    "ATTACKERS", "GROUP_METRICS", "PROBES", "ClusterFrame", "GroupFrame", "LinearMap", "Panel", "assign_blocks",
    "attack", "auc", "auc_standard_error", "balance", "covariance_gap", "error_gap", "error_gap_bound",
    "explained_variance", "group_auc", "group_errors", "linear_map", "mean_gap", "mean_gap_bound", "median_bandwidth",
    "mmd2", "mnce", "operator_errors", "placements", "probe_scores", "retained_variance", "settled",
]  # fmt: skip
