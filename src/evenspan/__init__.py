"""evenspan: the reproducible compendium of fair PCA and fair clustering."""

__version__ = "0.1.0"
