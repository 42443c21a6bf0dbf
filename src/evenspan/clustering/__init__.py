"""Fair clusters: kernel k-means with a fairness term for one kernel and for several, and its rivals."""

from .alignment import FairAlignmentClustering
from .fair_kernel_kmeans import FairKernelKMeans, TradeOffPoint
from .fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from .fair_spectral import FairSpectralClustering
from .fairness_first import FairnessFirstClustering
from .graphs import kernel_neighbour_graph, nearest_neighbour_graph
from .kernel_kmeans import KernelKMeans
from .kernels import center_and_normalise
from .variational import VariationalFairClustering
from .weight_rule import WeightRule

__all__ = [
    "FairAlignmentClustering",
    "FairKernelKMeans",
    "FairMultipleKernelKMeans",
    "FairSpectralClustering",
    "FairnessFirstClustering",
    "KernelKMeans",
    "TradeOffPoint",
    "VariationalFairClustering",
    "WeightRule",
    "center_and_normalise",
    "kernel_neighbour_graph",
    "nearest_neighbour_graph",
]
