"""evenspan: the reproducible compendium of fair PCA and fair clustering."""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_PUBLIC = {
    "auditing.encode": "TableEncoder",
    "auditing.run": "Audit audit audit_example",
    "clustering": "FairAlignmentClustering FairKernelKMeans FairMultipleKernelKMeans FairSpectralClustering "
    "FairnessFirstClustering KernelKMeans VariationalFairClustering WeightRule",
    "core.answer": "Certificate FairSubspace",
    "core.cluster_counts": "ClusterCounts",
    "core.dask": "DaskStream",
    "core.errors": "FairError",
    "core.moments": "GroupMoments",
    "core.stream_files": "ParquetStream",
    "core.streams": "ArrayStream FunctionStream",
    "displays": "FrontierDisplay GroupGapDisplay JointRangeDisplay",
    "metrics": "ClusterFrame GroupFrame",
    "reconstruction": "JEVDPCA ConvexFairPCA DisparityFairPCA JointRange MinMaxFairPCA OutlierRobustFairPCA "
    "RobustFairPCA SparseFairPCA StandardPCA joint_diagonalise",
    "representation": "INLP LEACE RLACE FairKernelPCA FairPCA IteratedKernelErasure MMDFairPCA NullItOutPCA "
    "StreamingFairPCA",
    "saving": "load save",
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:  # the same names, for type checkers and editors
    from .auditing.encode import TableEncoder
    from .auditing.run import Audit, audit, audit_example
    from .clustering import (
        FairAlignmentClustering,
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
    from .core.dask import DaskStream
    from .core.errors import FairError
    from .core.moments import GroupMoments
    from .core.stream_files import ParquetStream
    from .core.streams import ArrayStream, FunctionStream
    from .displays import FrontierDisplay, GroupGapDisplay, JointRangeDisplay
    from .metrics import ClusterFrame, GroupFrame
    from .reconstruction import (
        JEVDPCA,
        ConvexFairPCA,
        DisparityFairPCA,
        JointRange,
        MinMaxFairPCA,
        OutlierRobustFairPCA,
        RobustFairPCA,
        SparseFairPCA,
        StandardPCA,
        joint_diagonalise,
    )
    from .representation import (
        INLP,
        LEACE,
        RLACE,
        FairKernelPCA,
        FairPCA,
        IteratedKernelErasure,
        MMDFairPCA,
        NullItOutPCA,
        StreamingFairPCA,
    )
    from .saving import load, save
else:

    def __getattr__(name: str):
        # On first use: the command line and every worker start without waiting for scikit-learn.
        if name not in _HOMES:
            raise AttributeError(f"module 'evenspan' has no attribute {name!r}; it has {', '.join(__all__)}")
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
