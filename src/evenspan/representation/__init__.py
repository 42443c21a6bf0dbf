"""Methods that make groups look alike after the projection."""

from .fair_pca import FairPCA

__all__ = ["FairPCA"]
