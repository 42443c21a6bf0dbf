"""Other readings of the methods of Table 1, for what the slides leave open: shown beside the fixed ones, not judged."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans

from evenspan.clustering import (
    FairKernelKMeans,
    FairnessFirstClustering,
    FairSpectralClustering,
    KernelKMeans,
    VariationalFairClustering,
)
from evenspan.clustering.base_kernels import base_kernel
from evenspan.clustering.kernel_kmeans import leading_eigenvectors
from evenspan.clustering.kernels import DenseGram
from evenspan.core.errors import DataError

from ... import data
from ...data import clustering_files as files
from ...data.credit_card import EACH, credit_card_arrays
from .protocol import (
    LINEAR,
    Given,
    MostBalanced,
    Problem,
    PublishedRule,
    SpectralClustering,
    features,
    graph,
    kept,
    kernel,
)

#: The kernel and the graph of the fixed settings, and where a quadratic kernel stands in the stack.
KERNEL, NEIGHBOURS, QUADRATIC = 7, 20, 4


# -- what methods are given -------------------------------------------------------------------------------------------


def unit_rows(linear, quadratic) -> np.ndarray:
    r"""Points of unit length, up to a rotation, of which kernels 1 and 4 of a stack are known.

    With :math:`v` the null vector of the linear kernel :math:`K`, the matrix :math:`K_{ij} v_i v_j` is the centred one
    up to a factor :math:`s`; it gives all distances, and by the unit lengths all inner products,
    :math:`x_i^\top x_j = 1 - s \Delta_{ij}^2 / 2`. The null vector :math:`u` of kernel 4 does the same for
    :math:`(x^\top y + 1)^2`, whose diagonal is quadratic in s: this settles s.

    Both kernels (n, n) are centred and then scaled to a unit diagonal. The n points must span n - 1 directions.
    """
    linear = np.asarray(linear, dtype=np.float64)
    (v, gap), (u, _) = map(_null_vector, (linear, np.asarray(quadratic, dtype=np.float64)))
    if gap < 1e-9:
        raise DataError(
            f"the linear kernel has more than one eigenvalue near zero (the second is {gap:.1e} of the largest), so "
            "its points span fewer directions than their number less one and cannot be found. Ask for the features."
        )
    K = linear * np.outer(v, v)
    squares = np.maximum(np.diagonal(K)[:, None] + np.diagonal(K) - 2.0 * K, 0.0)
    # Centred (2 - s D^2 / 2)^2 has the diagonal s a + s^2 b, in proportion to the squares of u.
    a, b = -2.0 * _centred_diagonal(squares), 0.25 * _centred_diagonal(squares**2)
    s = float(np.linalg.lstsq(np.column_stack([u**2, -b]), a, rcond=None)[0][1])
    values, vectors = np.linalg.eigh(1.0 - 0.5 * s * squares)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _null_vector(K: np.ndarray) -> tuple[np.ndarray, float]:
    """The eigenvector of the lowest eigenvalue, with positive entries, and the next eigenvalue over the largest."""
    values, vectors = np.linalg.eigh(K)
    return np.abs(vectors[:, 0]), float(values[1] / values[-1])


def _centred_diagonal(K: np.ndarray) -> np.ndarray:
    return np.diagonal(K) - 2.0 * K.mean(axis=1) + K.mean(axis=None)


def unscaled(problem: Problem):
    """The rows before they were scaled to unit length; Jaffe: points of unit length found again from its kernels."""
    if problem.name == "jaffe":
        return unit_rows(kernel(LINEAR)(problem), kernel(QUADRATIC)(problem))
    if problem.name == "mnist_usps":
        return files.read_mnist_usps()[0]
    if problem.name == "k1b":
        return files.tf_idf(files.read_k1b()[0])
    return credit_card_arrays(data.table("credit_card"), EACH, unit_length=False)[0]


@kept("unscaled kernel")
def unscaled_kernel(problem: Problem) -> np.ndarray:
    """Kernel 7 of these rows."""
    return base_kernel(unscaled(problem), KERNEL)


def clipped(given: Given) -> Given:
    """A kernel as a graph: negative entries and the diagonal set to 0."""
    return lambda problem: np.maximum(given(problem), 0.0) * ~np.eye(problem.data.n, dtype=bool)


def scaled_columns(problem: Problem) -> np.ndarray:
    """The features with columns standardised before, as the authors prepare their data."""
    return files.unit_rows(files.standardised(features(problem)))


# -- methods that are another reading ---------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class FromOneStart(BaseEstimator):
    """Fair kernel k-means whose relaxed start has one run of k-means only."""

    estimator: FairKernelKMeans
    n_clusters: int = 8
    random_state: int = 0

    def fit(self, X, y=None, *, sensitive_features):
        own = {"n_clusters": self.n_clusters, "random_state": self.random_state}
        start = KernelKMeans(algorithm="relaxed", kernel="precomputed", n_init=1, **own).fit(X).labels_
        self.inner_ = clone(self.estimator).set_params(init=start, **own).fit(X, sensitive_features=sensitive_features)
        self.labels_ = self.inner_.labels_
        return self


@dataclass(eq=False, repr=False)
class Shuffled(BaseEstimator):
    """Fair kernel k-means whose sweeps go over the rows in another order than that of the file."""

    estimator: FairKernelKMeans
    n_clusters: int = 8
    random_state: int = 0

    def fit(self, X, y=None, *, sensitive_features):
        order = np.random.default_rng(self.random_state).permutation(len(X))
        model = clone(self.estimator).set_params(n_clusters=self.n_clusters, random_state=self.random_state)
        self.inner_ = model.fit(X[np.ix_(order, order)], sensitive_features=sensitive_features[order])
        self.labels_ = np.empty_like(model.labels_)
        self.labels_[order] = model.labels_
        return self


@dataclass(eq=False, repr=False)
class RowsNotScaled(BaseEstimator):
    """Relaxed kernel k-means without the scaling of the eigenvectors' rows."""

    n_clusters: int = 8
    random_state: int = 0

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        H = leading_eigenvectors(DenseGram(X), self.n_clusters, rng)[1]
        self.labels_ = KMeans(self.n_clusters, n_init=10, random_state=int(rng.integers(2**31))).fit(H).labels_
        return self


# -- the readings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """A method with what it is given; some are not for data without dense columns of their own."""

    estimator: BaseEstimator
    given: Given
    columns: bool = False
    #: Kernels have no columns of their own, and sparse features are not to be centred.
    reason: ClassVar = (
        "the features have no dense columns of their own: only kernels are published, or the counts are sparse"
    )

    def suits(self, problem: Problem) -> bool:
        """Whether the data are such that it can be run."""
        return not self.columns or isinstance(problem.data.X, np.ndarray)


ONE_START = "k-means from one start"
UNSCALED = "kernel 7 of rows not scaled"
STANDARDISED = "columns standardised before"

RELAXED = KernelKMeans(algorithm="relaxed", kernel="precomputed")
PLAIN = FairKernelKMeans(fairness_weight=0.0, kernel="precomputed")
FAIR = FairKernelKMeans(fairness_weight=PublishedRule(), kernel="precomputed")
CUT = FairSpectralClustering(affinity="precomputed")
NOT_NORMALISED = FairSpectralClustering(affinity="precomputed", laplacian="unnormalized")
K, K_LINEAR, GRAPH = kernel(KERNEL), kernel(LINEAR), graph(NEIGHBOURS, KERNEL)


def _vfc(*weights: float) -> MostBalanced:
    return MostBalanced(VariationalFairClustering(), weights)


VARIANTS: dict[str, dict[str, Reading]] = {
    "K-means": {
        ONE_START: Reading(KMeans(n_init=1), features),
        "rows not scaled (Jaffe: points found again)": Reading(KMeans(n_init=10), unscaled),
    },
    "KKM": {
        ONE_START: Reading(clone(RELAXED).set_params(n_init=1), K),
        "rows of eigenvectors not scaled": Reading(RowsNotScaled(), K),
        "kernel 1": Reading(RELAXED, K_LINEAR),
    },
    "SC": {
        ONE_START: Reading(SpectralClustering(n_init=1), GRAPH),
        "kernel 7 with absolute row sums": Reading(SpectralClustering(), K),
        "kernel 7, negative entries 0": Reading(SpectralClustering(), clipped(K)),
    },
    "FairSC": {
        ONE_START: Reading(clone(CUT).set_params(n_init=1), GRAPH),
        "not normalised": Reading(NOT_NORMALISED, GRAPH),
        "kernel 7, negative entries 0": Reading(CUT, clipped(K)),
        "kernel 7, negative entries 0, not normalised": Reading(NOT_NORMALISED, clipped(K)),
    },
    "VFC": {
        "weight 20": Reading(_vfc(20.0), features),
        "weight 50": Reading(_vfc(50.0), features),
        STANDARDISED: Reading(_vfc(10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000), scaled_columns, True),
    },
    "FFC": {
        "half of the balance kept": Reading(FairnessFirstClustering(threshold=0.5), features),
        "a quarter of the balance kept": Reading(FairnessFirstClustering(threshold=0.25), features),
    },
    "FKKM-f": {
        ONE_START: Reading(FromOneStart(PLAIN), K),
        "kernel 1": Reading(PLAIN, K_LINEAR),
        "100 sweeps": Reading(clone(PLAIN).set_params(max_iter=100), K),
    },
    "FKKM": {
        ONE_START: Reading(FromOneStart(FAIR), K),
        "kernel 1": Reading(FAIR, K_LINEAR),
        "100 sweeps": Reading(clone(FAIR).set_params(max_iter=100), K),
        "rows in random order": Reading(Shuffled(FAIR), K),
    },
}  # fmt: skip

#: Readings of the scaling of features, run after those above had pointed at it; of Jaffe there are no features.
SCALINGS_READ: dict[str, dict[str, Reading]] = {
    "KKM": {UNSCALED: Reading(RELAXED, unscaled_kernel)},
    "SC": {f"{UNSCALED}, negative entries 0": Reading(SpectralClustering(), clipped(unscaled_kernel))},
    "FairSC": {f"{UNSCALED}, negative entries 0": Reading(CUT, clipped(unscaled_kernel))},
    "VFC": {
        f"{STANDARDISED}, weight {weight:g}": Reading(_vfc(weight), scaled_columns, True) for weight in (50.0, 100.0)
    },
    "FFC": {
        "a quarter of the balance kept, rows not scaled": Reading(
            FairnessFirstClustering(threshold=0.25), lambda problem: np.asarray(unscaled(problem), float), True
        )
    },
    "FKKM-f": {UNSCALED: Reading(PLAIN, unscaled_kernel)},
    "FKKM": {UNSCALED: Reading(FAIR, unscaled_kernel)},
}
#: Families of other readings by their names in the units; of Jaffe only kernels are published, with no scaling to vary.
FAMILIES = {"variants": VARIANTS, "scaling": SCALINGS_READ}


def families(dataset: str) -> dict[str, dict[str, dict[str, Reading]]]:
    """The families that there are for a published data set."""
    return {name: read for name, read in FAMILIES.items() if not (name == "scaling" and dataset == "jaffe")}
