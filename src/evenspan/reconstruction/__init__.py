"""Methods that compare how well groups are reconstructed."""

from .convex import CollapsedRelaxationWarning, ConvexFairPCA
from .disparity import DisparityFairPCA
from .jevd import JEVDPCA, JointDiagonalisationWarning
from .joint_diagonalisation import JointDiagonalisation, joint_diagonalise
from .joint_range import JointRange
from .min_max import MinMaxFairPCA
from .minorisation import SparseFairPCA
from .outlier_robust import OutlierRobustFairPCA
from .robust import RobustFairPCA
from .standard_pca import StandardPCA

__all__ = [
    "JEVDPCA",
    "CollapsedRelaxationWarning",
    "ConvexFairPCA",
    "DisparityFairPCA",
    "JointDiagonalisation",
    "JointDiagonalisationWarning",
    "JointRange",
    "MinMaxFairPCA",
    "OutlierRobustFairPCA",
    "RobustFairPCA",
    "SparseFairPCA",
    "StandardPCA",
    "joint_diagonalise",
]
