"""Other readings of the methods of Table 1, for what the slides leave open: shown beside the fixed ones, not evaluated.

Those that at least halve the deviation from the printed row on some data set; of the others it is archived.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from evenspan import clustering

from ... import data
from ...data import clustering_files as files
from ...data.credit_card import EACH, credit_card_arrays
from . import protocol
from .base_kernels import base_kernel
from .protocol import LINEAR, Given, MostBalanced, Problem, cached_per_problem, features, kernel

#: The kernel of the fixed settings, and where a quadratic kernel stands in the stack.
KERNEL, QUADRATIC = 7, 4


def unit_rows(linear, quadratic) -> np.ndarray:
    """n points of unit length that span n - 1 directions, up to a rotation, from kernels 1 and 4 of a stack.

    With v the null vector of kernel 1, K_ij v_i v_j is the centred kernel up to a factor s: it gives all distances, and
    by the unit lengths all inner products. The diagonal of kernel 4, quadratic in s, settles s in the same way.
    """

    def centred_diagonal(K):
        return np.diagonal(K) - 2.0 * K.mean(axis=1) + K.mean(axis=None)

    v, u = (np.abs(np.linalg.eigh(np.asarray(K, dtype=np.float64))[1][:, 0]) for K in (linear, quadratic))
    K = linear * np.outer(v, v)
    squares = np.maximum(np.diagonal(K)[:, None] + np.diagonal(K) - 2.0 * K, 0.0)
    # Centred (2 - s D^2 / 2)^2 has the diagonal s a + s^2 b, in proportion to the squares of u.
    a, b = -2.0 * centred_diagonal(squares), 0.25 * centred_diagonal(squares**2)
    s = float(np.linalg.lstsq(np.column_stack([u**2, -b]), a, rcond=None)[0][1])
    values, vectors = np.linalg.eigh(1.0 - 0.5 * s * squares)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def unscaled(problem: Problem):
    """The rows before they were scaled to unit length; Jaffe: points of unit length found again from its kernels."""
    if problem.name == "jaffe":
        return unit_rows(kernel(LINEAR)(problem), kernel(QUADRATIC)(problem))
    if problem.name == "mnist_usps":
        return files.read_mnist_usps()[0]
    if problem.name == "k1b":
        return files.tf_idf(files.read_k1b()[0])
    return credit_card_arrays(data.table("credit_card"), EACH, unit_length=False)[0]


@cached_per_problem("unscaled kernel")
def unscaled_kernel(problem: Problem) -> np.ndarray:
    """Kernel 7 of these rows."""
    return base_kernel(unscaled(problem), KERNEL)


def unscaled_dense(problem: Problem) -> np.ndarray:
    """These rows as a dense array."""
    return np.asarray(unscaled(problem), float)


def clipped(given: Given) -> Given:
    """A kernel as a graph: negative entries and the diagonal set to 0."""
    return lambda problem: np.maximum(given(problem), 0.0) * ~np.eye(problem.data.n, dtype=bool)


def scaled_columns(problem: Problem) -> np.ndarray:
    """The features with columns standardised before, as the authors prepare their data."""
    return files.unit_rows(files.standardised(features(problem)))


class Reading(NamedTuple):
    """A method with what it is given; some are not for data without dense columns of their own."""

    estimator: BaseEstimator
    given: Given
    columns: bool = False
    reason = "the features have no dense columns of their own: only kernels are published, or the counts are sparse"

    def suits(self, problem: Problem) -> bool:
        """Whether the data are such that it can be run."""
        return not self.columns or isinstance(problem.data.X, np.ndarray)


UNSCALED = "kernel 7 of rows not scaled"
SPECTRAL, CUT = protocol.SpectralClustering(), clustering.FairSpectralClustering(affinity="precomputed")
FAIR = clustering.FairKernelKMeans(fairness_weight=protocol.PublishedRule(), kernel="precomputed", max_iter=10)
UNFAIR = clustering.FairKernelKMeans(fairness_weight=0.0, kernel="precomputed", max_iter=10)
HALF, QUARTER = (clustering.FairnessFirstClustering(threshold=share) for share in (0.5, 0.25))
VFC = {weight: MostBalanced(clustering.VariationalFairClustering(), (weight,)) for weight in (20.0, 50.0, 100.0)}
K, K_LINEAR = kernel(KERNEL), kernel(LINEAR)

VARIANTS: dict[str, dict[str, Reading]] = {
    "K-means": {"rows not scaled (Jaffe: points found again)": Reading(KMeans(n_init=10), unscaled)},
    "KKM": {"kernel 1": Reading(clustering.KernelKMeans(algorithm="relaxed", kernel="precomputed"), K_LINEAR)},
    "SC": {"kernel 7, negative entries 0": Reading(SPECTRAL, clipped(K))},
    "FairSC": {"kernel 7, negative entries 0": Reading(CUT, clipped(K))},
    "VFC": {f"weight {weight:g}": Reading(VFC[weight], features) for weight in (20.0, 50.0)},
    "FFC": {
        "half of the balance kept": Reading(HALF, features),
        "a quarter of the balance kept": Reading(QUARTER, features),
    },
    "FKKM": {"kernel 1": Reading(FAIR, K_LINEAR)},
}

#: Readings of the scaling of features, run after those above had pointed at it; of Jaffe there are no features.
SCALINGS_READ: dict[str, dict[str, Reading]] = {
    "SC": {f"{UNSCALED}, negative entries 0": Reading(SPECTRAL, clipped(unscaled_kernel))},
    "FairSC": {f"{UNSCALED}, negative entries 0": Reading(CUT, clipped(unscaled_kernel))},
    "VFC": {f"columns standardised before, weight {w:g}": Reading(VFC[w], scaled_columns, True) for w in (50.0, 100.0)},
    "FFC": {"a quarter of the balance kept, rows not scaled": Reading(QUARTER, unscaled_dense, True)},
    "FKKM-f": {UNSCALED: Reading(UNFAIR, unscaled_kernel)},
    "FKKM": {UNSCALED: Reading(FAIR, unscaled_kernel)},
}
#: Families of other readings by their names in the units; of Jaffe only kernels are published, with no scaling to vary.
FAMILIES = {"variants": VARIANTS, "scaling": SCALINGS_READ}


def families(dataset: str) -> dict[str, dict[str, dict[str, Reading]]]:
    """The families that there are for a published data set."""
    return {name: read for name, read in FAMILIES.items() if not (name == "scaling" and dataset == "jaffe")}
