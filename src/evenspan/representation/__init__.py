"""Methods that make groups look alike after the projection."""

from .erasure import IncompleteErasureWarning
from .fair_kernel_pca import FairKernelPCA
from .fair_pca import FairPCA
from .inlp import INLP
from .iterated_kernel import IteratedKernelErasure
from .leace import LEACE
from .mmd_fair_pca import MMDFairPCA
from .null_it_out import NullItOutPCA
from .rlace import RLACE
from .streaming_fair_pca import StreamEndedWarning, StreamingFairPCA

__all__ = [
    "INLP",
    "LEACE",
    "RLACE",
    "FairKernelPCA",
    "FairPCA",
    "IncompleteErasureWarning",
    "IteratedKernelErasure",
    "MMDFairPCA",
    "NullItOutPCA",
    "StreamEndedWarning",
    "StreamingFairPCA",
]
