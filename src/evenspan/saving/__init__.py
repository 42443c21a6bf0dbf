"""Fitted estimators on disk, without pickles: ``save`` and ``load``."""

from .keeping import OtherVersionWarning, load, save

__all__ = ["OtherVersionWarning", "load", "save"]
