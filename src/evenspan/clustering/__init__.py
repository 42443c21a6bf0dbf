"""Fair clusters: kernel k-means with a fairness term for one kernel and for several, and its rivals."""

from .base_kernels import KERNEL_NAMES, base_kernel, center_and_normalise, twelve_kernels
from .fair_kernel_kmeans import FairKernelKMeans, TradeOffPoint
from .fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from .kernel_kmeans import KernelKMeans
from .weight_rule import WeightRule

__all__ = [
    "KERNEL_NAMES",
    "FairKernelKMeans",
    "FairMultipleKernelKMeans",
    "KernelKMeans",
    "TradeOffPoint",
    "WeightRule",
    "base_kernel",
    "center_and_normalise",
    "twelve_kernels",
]
