"""Displays in the manner of scikit-learn: figures of fitted estimators by group."""

from .frontier import FrontierDisplay
from .group_gap import GroupGapDisplay
from .joint_range import JointRangeDisplay

__all__ = ["FrontierDisplay", "GroupGapDisplay", "JointRangeDisplay"]
