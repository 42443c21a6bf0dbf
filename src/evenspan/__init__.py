"""evenspan: the reproducible compendium of fair PCA and fair clustering."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .auditing.result import Audit
    from .auditing.run import audit
    from .auditing.table.encoding import TableEncoder
    from .certificate import Certificate
    from .cluster_counts import ClusterCounts
    from .clustering import (
        FairKernelKMeans,
        FairMultipleKernelKMeans,
        FairnessFirstClustering,
        FairSpectralClustering,
        KernelKMeans,
        VariationalFairClustering,
        WeightRule,
    )
    from .dask_stream import DaskStream
    from .errors import FairError
    from .metrics import GroupFrame
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
    from .report.displays import FrontierDisplay, GroupGapDisplay, JointRangeDisplay
    from .representation import INLP, LEACE, RLACE, FairKernelPCA, FairPCA, MMDFairPCA, NullItOutPCA, StreamingFairPCA
    from .saving import load, save
    from .stream_files import ParquetStream
    from .stream_images import ImageFolderStream
    from .streams import ArrayStream, FunctionStream
    from .subspace import FairSubspace

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
    "Audit": "auditing.result",
    "audit": "auditing.run",
    "TableEncoder": "auditing.table.encoding",
    "GroupFrame": "metrics",
    "GroupGapDisplay": "report.displays",
    "FrontierDisplay": "report.displays",
    "JointRangeDisplay": "report.displays",
    "load": "saving",
    "save": "saving",
    "ArrayStream": "streams",
    "Certificate": "certificate",
    "ClusterCounts": "cluster_counts",
    "FairKernelKMeans": "clustering",
    "FairMultipleKernelKMeans": "clustering",
    "FairSpectralClustering": "clustering",
    "FairnessFirstClustering": "clustering",
    "KernelKMeans": "clustering",
    "VariationalFairClustering": "clustering",
    "WeightRule": "clustering",
    "DaskStream": "dask_stream",
    "FunctionStream": "streams",
    "ImageFolderStream": "stream_images",
    "ParquetStream": "stream_files",
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
