"""The eight methods of Table 1 of Zhou et al. (2024), and the settings that were fixed before any number was seen.

- *KKM* is relaxed kernel k-means on kernel 7 (Gaussian of half the mean distance, centred, unit diagonal); *FKKM-f* and
  *FKKM* start from its labels. *FKKM* has the weight of the authors' rule.
- *K-means*, *VFC* and *FFC* work on the features with rows of unit length. Of Jaffe only kernels are published: there
  the rows are a factor of kernel 1, which has the inner products of the centred, normalised pixels.
- *SC* and *FairSC* share one graph: the 20 nearest neighbours, made symmetric, normalised Laplacian. For Jaffe they are
  the neighbours by kernel 7.
- *VFC* has the weight of ``VFC_WEIGHTS`` with the best balance, ties broken by the lower energy. *FFC* keeps 0.9 of the
  balance that its first stage reaches.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.base_kernels import base_kernel
from evenspan.clustering.bounds import deflated_bound
from evenspan.clustering.fair_spectral import FairSpectralClustering
from evenspan.clustering.fairness_first import FairnessFirstClustering
from evenspan.clustering.graphs import kernel_neighbour_graph, nearest_neighbour_graph
from evenspan.clustering.kernel_kmeans import relaxed_start
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.row_update import RowUpdates, row_updates, swaps_and_moves
from evenspan.clustering.variational import VariationalFairClustering
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.metrics.clustering import balance

from ..data.clustering import ClusterData
from .zhou2024_published import PublishedRule

KERNEL = 7
LINEAR = 1
NEIGHBOURS = 20
FFC_THRESHOLD = 0.9
VFC_WEIGHTS = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)
REPLICATES = 10
#: Eigenvalues of a kernel below this share of the largest are rounding: its factor leaves them out.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Run:
    """Labels of one run, what the method says of it, and its search: tuples of weight, metric and value."""

    labels: np.ndarray
    facts: dict[str, float] = field(default_factory=dict)
    search: tuple[tuple[float, str, float], ...] = ()


class Problem:
    """One data set with all that several seeds share, made when it is first asked for."""

    def __init__(self, data: ClusterData):
        self.data, self.n_clusters = data, data.n_clusters
        self._kernels: dict[int, np.ndarray] = {}

    def kernel(self, number: int) -> np.ndarray:
        """One of the twelve kernels: the published one, or made from the features."""
        if number not in self._kernels:
            published = self.data.kernels
            made = base_kernel(self.data.X, number) if published is None else np.array(published[number - 1], float)
            self._kernels[number] = made
        return self._kernels[number]

    @cached_property
    def features(self) -> np.ndarray:
        """Rows for the methods of points; where the features are sparse or not published, a factor of their kernel."""
        if self.data.X is None:
            return factor(self.kernel(LINEAR))
        if sparse.issparse(self.data.X):
            # A rotation of the rows: distances, means and therefore all answers are those of the sparse features.
            return factor((self.data.X @ self.data.X.T).toarray())
        return np.asarray(self.data.X, float)

    @cached_property
    def graph(self) -> sparse.csr_array:
        """The graph of nearest neighbours, symmetric."""
        if self.data.X is None:
            return kernel_neighbour_graph(self.kernel(KERNEL), NEIGHBOURS)
        return nearest_neighbour_graph(self.data.X, NEIGHBOURS)

    def prepare(self, needs: tuple[str | int, ...]) -> None:
        """Make what a method needs: ``"features"``, ``"graph"`` or kernels by their numbers."""
        for need in needs:
            self.kernel(need) if isinstance(need, int) else getattr(self, need)


@dataclass(frozen=True)
class Method:
    """A method with what has to be made before it is timed."""

    solve: Callable[[Problem, int], Run]
    needs: tuple[str | int, ...] = (KERNEL,)

    def __call__(self, problem: Problem, seed: int) -> Run:
        return self.solve(problem, seed)


def factor(K: np.ndarray) -> np.ndarray:
    """Z (n, r) with K = Z Z^T."""
    values, vectors = np.linalg.eigh(K)
    kept = values > NEGLIGIBLE * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def lloyd_means(X: np.ndarray, n_clusters: int, seed: int, n_init: int) -> KMeans:
    """scikit-learn's k-means, fitted."""
    return KMeans(n_clusters, n_init=n_init, random_state=seed).fit(X)


def k_means(rows: Callable[[Problem], np.ndarray] = lambda problem: problem.features, n_init: int = REPLICATES):
    """Lloyd's algorithm from starts by k-means++."""

    def solve(problem: Problem, seed: int) -> Run:
        drawn = int(np.random.default_rng(seed).integers(2**31))
        found = lloyd_means(rows(problem), problem.n_clusters, drawn, n_init)
        return Run(found.labels_, {"objective": found.inertia_, "sweeps": found.n_iter_})

    return solve


def rounded(gram: DenseGram, n_clusters: int, seed: int, n_init: int = REPLICATES) -> np.ndarray:
    """k-means on the leading eigenvectors with rows of unit length."""
    return relaxed_start(gram, n_clusters, np.random.default_rng(seed), n_init=n_init).labels


def kernel_k_means(number: int = KERNEL, n_init: int = REPLICATES):
    """Relaxed kernel k-means on one kernel."""
    return lambda problem, seed: Run(rounded(DenseGram(problem.kernel(number)), problem.n_clusters, seed, n_init))


def normalised(W) -> np.ndarray:
    """The symmetric normalisation of a graph by its degrees; a negative degree counts by its size."""
    degrees = np.maximum(np.abs(np.asarray(W.sum(axis=1), float).ravel()), 1e-9)
    dense = W.toarray() if sparse.issparse(W) else W
    return dense / np.sqrt(np.outer(degrees, degrees))


def spectral(graph: Callable[[Problem], object] = lambda problem: problem.graph, n_init: int = REPLICATES):
    """Spectral clustering of Ng, Jordan and Weiss: rounded as relaxed kernel k-means is."""

    def solve(problem: Problem, seed: int) -> Run:
        W = graph(problem)
        parts = csgraph.connected_components(sparse.csr_array(W), directed=False)[0]
        labels = rounded(DenseGram(normalised(W)), problem.n_clusters, seed, n_init)
        return Run(labels, {"parts of the graph": parts})

    return solve


def fair_spectral(
    laplacian: str = "normalized",
    graph: Callable[[Problem], object] = lambda problem: problem.graph,
    n_init: int = REPLICATES,
):
    """Fair spectral clustering of Kleindessner et al. (2019)."""

    def solve(problem: Problem, seed: int) -> Run:
        model = FairSpectralClustering(
            problem.n_clusters, affinity="precomputed", laplacian=laplacian, n_init=n_init, random_state=seed
        )
        return Run(model.fit_predict(graph(problem), sensitive_features=problem.data.groups))

    return solve


def variational(weights: tuple[float, ...] = VFC_WEIGHTS, prepare: Callable = lambda rows: rows):
    """Variational fair clustering from the same seeds at every weight: best balance, then the lowest energy."""

    def solve(problem: Problem, seed: int) -> Run:
        model = VariationalFairClustering(problem.n_clusters, random_state=seed)
        tried = model.curve(prepare(problem.features), weights, sensitive_features=problem.data.groups)
        evenness = [balance(found.labels, problem.data.groups) for found in tried]
        place = min(range(len(tried)), key=lambda i: (-evenness[i], tried[i].energy))
        best = tried[place]
        facts = {"weight": best.weight, "objective": best.energy, "sweeps": float(len(best.history))}
        facts |= {"at rest": float(best.converged), "kept a former state": float(best.degenerate)}
        search = [(found.weight, "Bal", value) for found, value in zip(tried, evenness, strict=True)]
        search += [(found.weight, "energy", found.energy) for found in tried]
        return Run(best.labels, facts, tuple(search))

    return solve


def fairness_first(threshold: float = FFC_THRESHOLD, rows: Callable = lambda problem: problem.features):
    """Fairness-first clustering, as reconstructed."""

    def solve(problem: Problem, seed: int) -> Run:
        model = FairnessFirstClustering(problem.n_clusters, threshold=threshold, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # recorded instead
            model.fit(rows(problem), sensitive_features=problem.data.groups)
        facts = {"objective": model.inertia_, "moves": model.n_moves_, "swaps": model.n_swaps_}
        first = {"Bal after stage 1": model.stages_[0]["balance"]}
        return Run(model.labels_, facts | first | {"at rest": float(model.at_rest_)})

    return solve


def fair_kernel(weight: float | None = None, *, number: int = KERNEL, **options):
    """Fair kernel k-means on one kernel; the options are those of :func:`fair_kernel_run`."""

    def solve(problem: Problem, seed: int) -> Run:
        gram = DenseGram(problem.kernel(number))
        return fair_kernel_run(gram, problem.data.groups, problem.n_clusters, seed, weight, **options)

    return solve


def fair_kernel_run(
    gram: DenseGram,
    groups: np.ndarray,
    n_clusters: int,
    seed: int,
    weight: float | None = None,
    *,
    swaps: bool = False,
    max_sweeps: int = 10,
    n_init: int = REPLICATES,
) -> Run:
    """Fair kernel k-means from the relaxed start of a seed, by the authors' rule or with a weight; 0 is without.

    The steps are those of ``FairKernelKMeans`` on a precomputed kernel; that it is positive semidefinite is known.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    first = relaxed_start(gram, n_clusters, np.random.default_rng(seed), n_init=n_init)
    search: list[tuple[float, str, float]] = []

    def evaluate(weight: float) -> tuple[RowUpdates, float]:
        found = row_updates(gram, codes, first.labels, n_clusters, weight, max_sweeps=max_sweeps)
        counts = ClusterCounts.from_labels(found.labels, codes, n_clusters)
        told = {"MNCE": counts.mnce, "Bal": counts.balance, "objective": found.objective, "sweeps": found.n_sweeps}
        search.extend((weight, name, value) for name, value in told.items())
        return found, counts.mnce

    if weight is None:
        found, tried, _ = PublishedRule().search(evaluate)
        chosen = tried[-1]
    else:
        found, chosen = evaluate(weight)[0], weight
        search.clear()
    facts = {"start at rest": float(found.n_moves == 0), "moves": found.n_moves}
    if swaps:
        found, facts["swaps"] = swaps_and_moves(gram, codes, found, n_clusters, chosen)
    bound = deflated_bound(gram, codes, chosen, n_clusters, np.random.default_rng(seed))
    facts |= {"weight": chosen, "objective": found.objective, "certificate bound": bound}
    facts |= {"sweeps": found.n_sweeps, "at rest": float(found.at_rest)}
    return Run(found.labels, facts, tuple(search))


def by_first_row(labels: np.ndarray) -> np.ndarray:
    """The same clusters, numbered in the order in which the rows meet them: names of clusters say nothing."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]


METHODS: dict[str, Method] = {
    "K-means": Method(k_means(), ("features",)),
    "KKM": Method(kernel_k_means()),
    "SC": Method(spectral(), ("graph",)),
    "FairSC": Method(fair_spectral(), ("graph",)),
    "VFC": Method(variational(), ("features",)),
    "FFC": Method(fairness_first(), ("features",)),
    "FKKM-f": Method(fair_kernel(0.0)),
    "FKKM": Method(fair_kernel()),
    # Not among the published methods: pairs of points may change places, too.
    "FKKM (swaps)": Method(fair_kernel(swaps=True)),
}


def made_set() -> ClusterData:
    """Three clusters along one axis, two groups along the other and farther apart: who ignores groups finds them."""
    rng = np.random.default_rng(0)
    rows = [(40, 0, 0), (26, 0, 1), (32, 1, 0), (20, 1, 1), (24, 2, 0), (14, 2, 1)]
    y = np.repeat([row[1] for row in rows], [row[0] for row in rows])
    groups = np.repeat([row[2] for row in rows], [row[0] for row in rows])
    X = np.column_stack([3.0 * y, 4.0 * groups]) + 0.5 * rng.normal(size=(len(y), 2))
    order = rng.permutation(len(y))
    return ClusterData("made", X[order], None, y[order], groups[order], 3, "made for the build of the book")
