"""evenspan: the reproducible compendium of fair PCA and fair clustering."""

from .certificate import Certificate
from .errors import FairError
from .moments import GroupMoments
from .reconstruction import StandardPCA
from .representation import FairPCA
from .subspace import FairSubspace

__version__ = "0.1.0"

__all__ = ["Certificate", "FairError", "FairPCA", "FairSubspace", "GroupMoments", "StandardPCA"]
