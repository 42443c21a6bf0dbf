"""Methods that compare how well groups are reconstructed."""

from .standard_pca import StandardPCA

__all__ = ["StandardPCA"]
