"""Methods that compare how well groups are reconstructed."""

from .joint_range import JointRange
from .standard_pca import StandardPCA

__all__ = ["JointRange", "StandardPCA"]
