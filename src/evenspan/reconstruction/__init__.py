"""Methods that compare how well groups are reconstructed."""

from .convex import CollapsedRelaxationWarning, ConvexFairPCA
from .disparity import DisparityFairPCA
from .joint_range import JointRange
from .min_max import MinMaxFairPCA
from .robust import RobustFairPCA
from .standard_pca import StandardPCA

__all__ = [
    "CollapsedRelaxationWarning",
    "ConvexFairPCA",
    "DisparityFairPCA",
    "JointRange",
    "MinMaxFairPCA",
    "RobustFairPCA",
    "StandardPCA",
]
