"""Other readings of the methods of Table 1, for what the slides leave open: shown beside the fixed ones, not judged."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from compendium.experiments.zhou2024_points import unit_rows as points_of_kernels
from evenspan.clustering.base_kernels import base_kernel
from evenspan.clustering.kernel_kmeans import leading_eigenvectors
from evenspan.clustering.kernels import DenseGram

from ..data import clustering_files as files
from ..data.clustering import CREDIT_CARD
from ..data.credit_card import FEATURES, LABELS, SCALINGS, credit_card_table, rows_of
from ..data.scaling import tf_idf
from .zhou2024_methods import (
    KERNEL,
    LINEAR,
    REPLICATES,
    Method,
    Problem,
    Run,
    fair_kernel,
    fair_kernel_run,
    fair_spectral,
    fairness_first,
    k_means,
    kernel_k_means,
    lloyd_means,
    rounded,
    spectral,
    variational,
)

#: Where the linear and a quadratic kernel stand in the stack; with both, points of unit length are found again.
QUADRATIC = 4


def standardize_and_scale(X) -> np.ndarray:
    """Columns with mean 0 and standard deviation 1, then rows of unit length, as the authors prepare their data.

    Constant columns become 0, and a row that equals the mean stays 0.
    """
    X = np.asarray(X, dtype=np.float64)
    largest = np.abs(X).max(axis=0, initial=0.0)
    X = X - X.mean(axis=0)
    scale = X.std(axis=0)
    X /= np.where(scale > 1e-12 * largest, scale, np.inf)  # a constant column is left with the rounding of its mean
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1.0)


@dataclass(frozen=True)
class Variant(Method):
    """Another reading, the data sets that it suits, and why it does not suit the others."""

    suits: Callable[[Problem], bool] = lambda problem: True
    reason: str = ""


def unscaled(problem: Problem):
    """The rows before they were scaled to unit length; Jaffe: points of unit length found again from its kernels."""
    name = problem.data.name
    if name == "jaffe":
        return points_of_kernels(problem.kernel(LINEAR), problem.kernel(QUADRATIC))
    if name == "mnist_usps":
        return files.read_mnist_usps()[0]
    if name == "k1b":
        return tf_idf(files.read_k1b()[0])
    table = credit_card_table()
    dropped = [] if CREDIT_CARD.features == FEATURES[0] else list({LABELS[CREDIT_CARD.label].column, "SEX"})
    scaled = SCALINGS[CREDIT_CARD.scaling](table.drop(columns=dropped).to_numpy(float))
    return scaled[rows_of(table, CREDIT_CARD)]


def clipped(number: int) -> Callable[[Problem], np.ndarray]:
    """A kernel as a graph: negative entries and the diagonal set to 0."""

    def graph(problem: Problem) -> np.ndarray:
        W = np.maximum(problem.kernel(number), 0.0)
        np.fill_diagonal(W, 0.0)
        return W

    return graph


def rows_not_scaled(problem: Problem, seed: int) -> Run:
    """Relaxed kernel k-means without the scaling of the eigenvectors' rows."""
    rng = np.random.default_rng(seed)
    H = leading_eigenvectors(DenseGram(problem.kernel(KERNEL)), problem.n_clusters, rng)[1]
    return Run(lloyd_means(H, problem.n_clusters, int(rng.integers(2**31)), REPLICATES).labels_)


def shuffled(problem: Problem, seed: int) -> Run:
    """FKKM whose sweeps go over the rows in another order than that of the file."""
    order = np.random.default_rng(seed).permutation(problem.data.n)
    gram = DenseGram(problem.kernel(KERNEL)[np.ix_(order, order)])
    run = fair_kernel_run(gram, problem.data.groups[order], problem.n_clusters, seed)
    labels = np.empty_like(run.labels)
    labels[order] = run.labels
    return replace(run, labels=labels)


@lru_cache(maxsize=1)
def unscaled_kernel(problem: Problem) -> DenseGram:
    """Kernel 7 of the rows before they were scaled to unit length."""
    return DenseGram(base_kernel(unscaled(problem), KERNEL))


def unscaled_clipped(problem: Problem) -> np.ndarray:
    """That kernel as a graph: negative entries and the diagonal set to 0."""
    W = np.maximum(unscaled_kernel(problem).K, 0.0)
    np.fill_diagonal(W, 0.0)
    return W


def unscaled_start(problem: Problem, seed: int) -> Run:
    """Relaxed kernel k-means on that kernel."""
    return Run(rounded(unscaled_kernel(problem), problem.n_clusters, seed))


def unscaled_fair(weight: float | None = None):
    """Fair kernel k-means on that kernel."""
    return lambda problem, seed: fair_kernel_run(
        unscaled_kernel(problem), problem.data.groups, problem.n_clusters, seed, weight
    )


def dense_unscaled(problem: Problem) -> np.ndarray:
    """The rows before they were scaled, for methods that need them dense."""
    return np.asarray(unscaled(problem), float)


def has_columns(problem: Problem) -> bool:
    """Whether the features have columns of their own: kernels have none, and sparse ones are not to be centred."""
    return isinstance(problem.data.X, np.ndarray)


ONE_START = "k-means from one start"
UNSCALED = "kernel 7 of rows not scaled"
STANDARDISED = "columns standardised before"
NO_COLUMNS = "the features have no dense columns of their own: only kernels are published, or the counts are sparse"
VARIANTS: dict[str, dict[str, Variant]] = {
    "K-means": {
        ONE_START: Variant(k_means(n_init=1), ("features",)),
        "rows not scaled (Jaffe: points found again)": Variant(k_means(unscaled), ()),
    },
    "KKM": {
        ONE_START: Variant(kernel_k_means(n_init=1)),
        "rows of eigenvectors not scaled": Variant(rows_not_scaled),
        "kernel 1": Variant(kernel_k_means(LINEAR), (LINEAR,)),
    },
    "SC": {
        ONE_START: Variant(spectral(n_init=1), ("graph",)),
        "kernel 7 with absolute row sums": Variant(spectral(lambda problem: problem.kernel(KERNEL))),
        "kernel 7, negative entries 0": Variant(spectral(clipped(KERNEL))),
    },
    "FairSC": {
        ONE_START: Variant(fair_spectral(n_init=1), ("graph",)),
        "not normalised": Variant(fair_spectral("unnormalized"), ("graph",)),
        "kernel 7, negative entries 0": Variant(fair_spectral(graph=clipped(KERNEL))),
        "kernel 7, negative entries 0, not normalised": Variant(fair_spectral("unnormalized", clipped(KERNEL))),
    },
    "VFC": {
        "weight 20": Variant(variational((20.0,)), ("features",)),
        "weight 50": Variant(variational((50.0,)), ("features",)),
        STANDARDISED: Variant(variational(prepare=standardize_and_scale), ("features",), has_columns, NO_COLUMNS),
    },
    "FFC": {
        "half of the balance kept": Variant(fairness_first(0.5), ("features",)),
        "a quarter of the balance kept": Variant(fairness_first(0.25), ("features",)),
    },
    "FKKM-f": {
        ONE_START: Variant(fair_kernel(0.0, n_init=1)),
        "kernel 1": Variant(fair_kernel(0.0, number=LINEAR), (LINEAR,)),
        "100 sweeps": Variant(fair_kernel(0.0, max_sweeps=100)),
    },
    "FKKM": {
        ONE_START: Variant(fair_kernel(n_init=1)),
        "kernel 1": Variant(fair_kernel(number=LINEAR), (LINEAR,)),
        "100 sweeps": Variant(fair_kernel(max_sweeps=100)),
        "rows in random order": Variant(shuffled),
    },
}

#: Readings of the scaling of features, run after those above had pointed at it; of Jaffe there are no features.
SCALINGS_READ: dict[str, dict[str, Variant]] = {
    "KKM": {UNSCALED: Variant(unscaled_start, ())},
    "SC": {f"{UNSCALED}, negative entries 0": Variant(spectral(unscaled_clipped), ())},
    "FairSC": {f"{UNSCALED}, negative entries 0": Variant(fair_spectral(graph=unscaled_clipped), ())},
    "VFC": {
        f"{STANDARDISED}, weight {weight:g}": Variant(
            variational((weight,), standardize_and_scale), ("features",), has_columns, NO_COLUMNS
        )
        for weight in (50.0, 100.0)
    },
    "FFC": {
        "a quarter of the balance kept, rows not scaled": Variant(
            fairness_first(0.25, dense_unscaled), (), has_columns, NO_COLUMNS
        )
    },
    "FKKM-f": {UNSCALED: Variant(unscaled_fair(0.0), ())},
    "FKKM": {UNSCALED: Variant(unscaled_fair(), ())},
}
#: Families of other readings by their names in the tasks.
FAMILIES = {"variants": VARIANTS, "scaling": SCALINGS_READ}
