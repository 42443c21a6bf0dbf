"""The experiments: their list, their protocols (one module each) and the store of their results."""

from .catalogue import Experiment, experiment
from .session import run

__all__ = ["Experiment", "experiment", "run"]
