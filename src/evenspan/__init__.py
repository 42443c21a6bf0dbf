"""evenspan: the reproducible compendium of fair PCA and fair clustering."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .auditing.encode import TableEncoder
    from .auditing.run import Audit, audit
    from .clustering import (
        FairKernelKMeans,
        FairMultipleKernelKMeans,
        FairnessFirstClustering,
        FairSpectralClustering,
        KernelKMeans,
        VariationalFairClustering,
        WeightRule,
    )
    from .core.answer import Certificate, FairSubspace
    from .core.cluster_counts import ClusterCounts
    from .core.dask_tables import DaskStream
    from .core.errors import FairError
    from .core.moments import GroupMoments
    from .core.stream_files import ParquetStream
    from .core.stream_images import ImageFolderStream
    from .core.streams import ArrayStream, FunctionStream
    from .displays import FrontierDisplay, GroupGapDisplay, JointRangeDisplay
    from .metrics import ClusterFrame, GroupFrame
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
    from .representation import (
        INLP,
        LEACE,
        RLACE,
        FairKernelPCA,
        FairPCA,
        MMDFairPCA,
        NullItOutPCA,
        OracleLEACE,
        StreamingFairPCA,
    )
    from .saving import load, save

__version__ = "0.1.0"

__all__ = [
    "INLP",
    "JEVDPCA",
    "LEACE",
    "RLACE",
    "ArrayStream",
    "Audit",
    "Certificate",
    "ClusterCounts",
    "ClusterFrame",
    "ConvexFairPCA",
    "DaskStream",
    "DisparityFairPCA",
    "FairError",
    "FairKernelKMeans",
    "FairKernelPCA",
    "FairMultipleKernelKMeans",
    "FairPCA",
    "FairSpectralClustering",
    "FairSubspace",
    "FairnessFirstClustering",
    "FrontierDisplay",
    "FunctionStream",
    "GroupFrame",
    "GroupGapDisplay",
    "GroupMoments",
    "ImageFolderStream",
    "JointRange",
    "JointRangeDisplay",
    "KernelKMeans",
    "MMDFairPCA",
    "MinMaxFairPCA",
    "NullItOutPCA",
    "OracleLEACE",
    "ParquetStream",
    "RobustFairPCA",
    "StandardPCA",
    "StreamingFairPCA",
    "TableEncoder",
    "VariationalFairClustering",
    "WeightRule",
    "audit",
    "joint_diagonalise",
    "load",
    "save",
]

_HOMES = {
    "Audit": "auditing.run",
    "audit": "auditing.run",
    "TableEncoder": "auditing.encode",
    "ClusterFrame": "metrics",
    "GroupFrame": "metrics",
    "GroupGapDisplay": "displays",
    "FrontierDisplay": "displays",
    "JointRangeDisplay": "displays",
    "load": "saving",
    "save": "saving",
    "ArrayStream": "core.streams",
    "Certificate": "core.answer",
    "ClusterCounts": "core.cluster_counts",
    "FairKernelKMeans": "clustering",
    "FairMultipleKernelKMeans": "clustering",
    "FairSpectralClustering": "clustering",
    "FairnessFirstClustering": "clustering",
    "KernelKMeans": "clustering",
    "VariationalFairClustering": "clustering",
    "WeightRule": "clustering",
    "DaskStream": "core.dask_tables",
    "FunctionStream": "core.streams",
    "ImageFolderStream": "core.stream_images",
    "ParquetStream": "core.stream_files",
    "FairError": "core.errors",
    "FairKernelPCA": "representation",
    "FairPCA": "representation",
    "INLP": "representation",
    "LEACE": "representation",
    "MMDFairPCA": "representation",
    "NullItOutPCA": "representation",
    "OracleLEACE": "representation",
    "StreamingFairPCA": "representation",
    "RLACE": "representation",
    "FairSubspace": "core.answer",
    "GroupMoments": "core.moments",
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
