"""evenspan: the reproducible compendium of fair PCA and fair clustering."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .certificate import Certificate
    from .errors import FairError
    from .moments import GroupMoments
    from .reconstruction import (
        JEVDPCA,
        ConvexFairPCA,
        DisparityFairPCA,
        JointRange,
        MinMaxFairPCA,
        RobustFairPCA,
        StandardPCA,
        joint_diagonalise,
    )
    from .representation import INLP, LEACE, RLACE, FairKernelPCA, FairPCA, MMDFairPCA, NullItOutPCA, StreamingFairPCA
    from .subspace import FairSubspace

__version__ = "0.1.0"

__all__ = [
    "INLP",
    "JEVDPCA",
    "LEACE",
    "RLACE",
    "Certificate",
    "ConvexFairPCA",
    "DisparityFairPCA",
    "FairError",
    "FairKernelPCA",
    "FairPCA",
    "FairSubspace",
    "GroupMoments",
    "JointRange",
    "MMDFairPCA",
    "MinMaxFairPCA",
    "NullItOutPCA",
    "RobustFairPCA",
    "StandardPCA",
    "StreamingFairPCA",
    "joint_diagonalise",
]

_HOMES = {
    "Certificate": "certificate",
    "FairError": "errors",
    "FairKernelPCA": "representation",
    "FairPCA": "representation",
    "INLP": "representation",
    "LEACE": "representation",
    "MMDFairPCA": "representation",
    "NullItOutPCA": "representation",
    "StreamingFairPCA": "representation",
    "RLACE": "representation",
    "FairSubspace": "subspace",
    "GroupMoments": "moments",
    "ConvexFairPCA": "reconstruction",
    "DisparityFairPCA": "reconstruction",
    "JEVDPCA": "reconstruction",
    "JointRange": "reconstruction",
    "MinMaxFairPCA": "reconstruction",
    "RobustFairPCA": "reconstruction",
    "StandardPCA": "reconstruction",
    "joint_diagonalise": "reconstruction",
}


def __getattr__(name: str):
    # On first use: the command line and every worker start without waiting for scikit-learn.
    if name not in _HOMES:
        raise AttributeError(f"module 'evenspan' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
