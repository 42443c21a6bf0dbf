"""What the notebooks on Zhou et al. (2024) share: evaluation, data, estimators of this paper, and rows of a run."""

import inspect
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse import csgraph
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.fairness_first import FairnessFirstClustering
from evenspan.clustering.graphs import kernel_neighbour_graph, nearest_neighbour_graph
from evenspan.clustering.kernel_kmeans import KernelKMeans
from evenspan.clustering.weight_rule import WeightRule
from evenspan.core.cluster_counts import balance_of, mnce_of
from evenspan.core.errors import ConfigurationError, FairWarning
from evenspan.core.groups import encode_groups
from evenspan.metrics.clustering import balance

from ...data.clustering import ClusterData, clusterings, load_clustering, own_clustering
from ...records import tidy
from .agreement import accuracy_of, information_of
from .attainable import fair_gap_of, regulariser_of
from .base_kernels import KERNEL_NAMES, base_kernel, base_kernels

METRICS = ("ACC", "NMI", "Bal", "MNCE")
#: Our name of a data set -> the printed one.
NAMES = {
    "jaffe": "Jaffe",
    "mnist_usps": "MNIST-USPS",
    "credit_card": "Credit Card",
    "k1b": "K1b",
    "har": "HAR",
    "daily_sports": "D&S",
}
MADE, LINEAR = "made", 1  # the kernel whose inner products are those of the features
#: The metric of the row that carries the counts of a run; its value is the number of samples.
COUNTED = "n"
#: Metrics that may have no number, and why.
UNKNOWN = {**dict.fromkeys(("ACC", "NMI"), "the true classes are unknown"), "MNCE": "there is one group only"}


@dataclass(frozen=True)
class PublishedRule(WeightRule):
    """The rule of the paper as released, which also ends at MNCE 0, and its variations.

    ``growth``: factor of the steps; ``patience``: weights in a row without a rise (the paper compares neighbours)."""

    growth: float = 1.0
    patience: int = 1

    def search(self, evaluate: Callable[[float], tuple[object, float]]) -> tuple[object, list[float], bool]:
        """Try weights until the rule ends: the last result, all weights tried, and whether the rule ended."""
        weight, step, tried, best, waited, result = self.start, self.step, [], 0.0, 0, None
        while weight <= self.max_weight:
            result, mnce = evaluate(weight)
            tried.append(float(weight))
            waited = 0 if mnce - best > self.tolerance else waited + 1
            if waited >= self.patience:
                return result, tried, True
            best = mnce if self.patience == 1 else max(best, mnce)
            weight, step = weight + step, step * self.growth
        return result, tried, False


@dataclass(frozen=True, eq=False)
class JointCounts:
    """How many samples (C, G, c) have a class (None if unknown), a group and a cluster, which may be empty."""

    classes: np.ndarray
    groups: np.ndarray
    clusters: np.ndarray
    counts: np.ndarray

    @classmethod
    def from_labels(cls, y, labels, sensitive_features, n_clusters: int | None = None) -> "JointCounts":
        """Count samples; with ``n_clusters`` the clusters are 0, ..., n_clusters - 1, so that empty ones count."""
        clusters, of_cluster = encode_groups(labels)
        classes, of_class = np.array([None]), 0
        if y is not None:
            classes, of_class = encode_groups(y, len(of_cluster))
        groups, of_group = encode_groups(sensitive_features, len(of_cluster))
        if n_clusters is not None:
            clusters, of_cluster = np.arange(n_clusters), clusters[of_cluster]
        counts = np.zeros((len(classes), len(groups), len(clusters)), dtype=np.int64)
        np.add.at(counts, (of_class, of_group, of_cluster), 1)
        return cls(classes, groups, clusters, counts)

    #: The number of samples, and counts (G, c) of groups in clusters.
    n = property(lambda self: int(self.counts.sum(axis=None)))
    group_by_cluster = property(lambda self: self.counts.sum(axis=0))

    def to_text(self) -> str:
        """One line of JSON: the labels of the axes, and the counts, group fastest, ``7*3`` for three times 7."""
        runs = [(value, len(list(run))) for value, run in groupby(self.counts.transpose(0, 2, 1).ravel().tolist())]
        text = " ".join(f"{value}*{length}" if length > 1 else str(value) for value, length in runs)
        axes = [labels.tolist() for labels in (self.classes, self.groups, self.clusters)]
        return json.dumps([*axes, text], separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> "JointCounts":
        """Read what ``to_text`` wrote."""
        *axes, runs = json.loads(text)
        pairs = [(*run.split("*"), "1")[:2] for run in runs.split(" ")]
        flat = np.repeat([int(value) for value, _ in pairs], [int(length) for _, length in pairs])
        C, G, c = (len(labels) for labels in axes)
        return cls(*map(np.array, axes), flat.reshape(C, c, G).transpose(0, 2, 1))


def evaluate_clustering(counts: JointCounts) -> dict[str, float]:
    """Every metric of a clustering from its counts, by name; what is in :data:`UNKNOWN` may be nan."""
    table, groups = counts.counts.sum(axis=1), counts.group_by_cluster
    occupied, unknown = int(groups.any(axis=0).sum(axis=0)), counts.classes[0] is None
    return {
        "ACC": np.nan if unknown else accuracy_of(table),
        "NMI": np.nan if unknown else information_of(table),
        "Bal": balance_of(groups),
        "MNCE": mnce_of(groups),
        "F": float(regulariser_of(groups)),
        "fair gap": float(fair_gap_of(groups)),
        "clusters": occupied,
        "empty clusters": groups.shape[1] - occupied,
    }


class Problem:
    """One data set with all that several runs share, read and made when it is first asked for."""

    def __init__(self, data: str | ClusterData, points: int = 0):
        self.name = data if isinstance(data, str) else data.name
        self._given, self._points, self.cache = data, points, {}

    @cached_property
    def data(self) -> ClusterData:
        """Features or kernels, classes and groups."""
        if isinstance(self._given, ClusterData):
            return drawn(self._given, self._points)
        return drawn(made_set() if self._given == MADE else load_clustering(self._given), self._points)

    @cached_property
    def codes(self) -> np.ndarray:
        """Groups as numbers."""
        return encode_groups(self.data.groups, self.data.n)[1]


def problem(dataset: str, groups: str = "", classes: str = "", n_clusters: int = 0, points: int = 0) -> Problem:
    """A data set by its name: one of ``compendium.data.clustering.clusterings()``, the made one, or a CSV file.

    Of more than so many ``points`` that many are drawn, with a fixed seed; 0 stands for all."""
    if Path(dataset).suffix == ".csv":
        return Problem(own_clustering(dataset, groups, classes, n_clusters), points)
    if dataset not in (known := (*clusterings(), MADE)):
        raise ConfigurationError(f"dataset={dataset!r}; needed is a CSV file or one of {', '.join(known)}.")
    if groups or classes or n_clusters:
        raise ConfigurationError(f"groups, classes, n_clusters are for a CSV file of your own; {dataset} has its own.")
    return Problem(dataset, points)


def drawn(data: ClusterData, points: int) -> ClusterData:
    """The data set if it has no more than so many points, or if they are 0, else that many of its points at random."""
    if not 0 < points < data.n:
        return data
    rows = np.sort(np.random.default_rng(0).permutation(data.n)[:points])
    y, X = (None if values is None else values[rows] for values in (data.y, data.X))
    kernels = None if data.kernels is None else np.array([K[np.ix_(rows, rows)] for K in data.kernels])
    return replace(data, X=X, y=y, groups=data.groups[rows], kernels=kernels)


#: What a method is given: from a problem to features, a kernel, a graph, or a stack of kernels.
Given = Callable[[Problem], object]


def cached_per_problem(*key: object) -> Callable[[Given], Given]:
    """A decorator for what is made once for a problem; the key has its name and all arguments that it depends on."""

    def decorated(make: Given) -> Given:
        @wraps(make)
        def given(problem: Problem):
            if key not in problem.cache:
                problem.cache[key] = make(problem)
            return problem.cache[key]

        return given

    return decorated


@cached_per_problem("features")
def features(problem: Problem) -> np.ndarray:
    """Rows for the methods of points; where the features are sparse or not published, a factor of their kernel."""
    data = problem.data
    if data.X is None:
        return factor(kernel(LINEAR)(problem))
    if sparse.issparse(data.X):
        # A rotation of the rows: distances, means and therefore all answers are those of the sparse features.
        return factor((data.X @ data.X.T).toarray())
    return np.asarray(data.X, float)


def kernel(number: int) -> Given:
    """One of the twelve kernels: the published one, or made from the features."""

    @cached_per_problem("kernel", number)
    def given(problem: Problem) -> np.ndarray:
        X, kernels = problem.data.X, problem.data.kernels
        return base_kernel(X, number) if kernels is None else np.array(kernels[number - 1], float)

    return given


def stack(above: int) -> Given:
    """All twelve kernels (m, n, n), of more than so many points in single precision."""

    @cached_per_problem("stack", above)
    def given(problem: Problem) -> np.ndarray:
        X, kernels = problem.data.X, problem.data.kernels
        dtype = np.float32 if problem.data.n > above else np.float64
        if kernels is not None:
            return np.array(kernels, dtype)
        found = np.empty((len(KERNEL_NAMES), problem.data.n, problem.data.n), dtype)
        for place, K in zip(found, base_kernels(X, range(1, len(found) + 1)), strict=True):
            place[:] = K
        return found

    return given


def average(above: int) -> Given:
    """The mean of these kernels, in double precision."""
    return cached_per_problem("average", above)(lambda problem: stack(above)(problem).mean(axis=0, dtype=np.float64))


def graph(neighbours: int, number: int) -> Given:
    """The symmetric graph of nearest neighbours; where features are not published, of neighbours by a kernel."""

    @cached_per_problem("graph", neighbours, number)
    def given(problem: Problem):
        if problem.data.X is None:
            return kernel_neighbour_graph(kernel(number)(problem), neighbours)
        return nearest_neighbour_graph(problem.data.X, neighbours)

    return given


def factor(K: np.ndarray) -> np.ndarray:
    """Z (n, r) with K = Z Z^T."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-12 * values[-1]  # what is below is rounding
    return vectors[:, kept] * np.sqrt(values[kept])


def made_set() -> ClusterData:
    """Three clusters along one axis, two groups along the other and farther apart: who ignores groups finds them."""
    rng = np.random.default_rng(0)
    rows = [(40, 0, 0), (26, 0, 1), (32, 1, 0), (20, 1, 1), (24, 2, 0), (14, 2, 1)]
    y = np.repeat([row[1] for row in rows], [row[0] for row in rows])
    groups = np.repeat([row[2] for row in rows], [row[0] for row in rows])
    X = np.column_stack([3.0 * y, 4.0 * groups]) + 0.5 * rng.normal(size=(len(y), 2))
    order = rng.permutation(len(y))
    return ClusterData(MADE, X[order], None, y[order], groups[order], 3, "made for the build of the book")


class SpectralClustering(KernelKMeans):
    """Spectral clustering of Ng, Jordan and Weiss on a graph (n, n), rounded as relaxed kernel k-means is.

    A graph has no distances: its diagonal is 0, and a check for equal points would find all of them equal."""

    def __init__(self, n_clusters=8, *, n_init=10, random_state=0):
        super().__init__(
            n_clusters, algorithm="relaxed", kernel="precomputed", n_init=n_init, random_state=random_state
        )

    def fit(self, X, y=None):
        self.facts_ = {"parts of the graph": csgraph.connected_components(sparse.csr_array(X), directed=False)[0]}
        degrees = np.maximum(np.abs(np.asarray(X.sum(axis=1), float).ravel()), 1e-9)
        dense = X.toarray() if sparse.issparse(X) else X
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "only .* points are distinct", FairWarning)
            return super().fit(dense / np.sqrt(np.outer(degrees, degrees)))


@dataclass(eq=False, repr=False)
class MostBalanced(BaseEstimator):
    """Variational fair clustering from the same seeds at every weight: best balance, then the lowest energy."""

    estimator: BaseEstimator
    weights: Sequence[float]
    n_clusters: int = 8
    random_state: int = 0

    def fit(self, X, y=None, *, sensitive_features):
        model = clone(self.estimator).set_params(n_clusters=self.n_clusters, random_state=self.random_state)
        tried = model.curve(X, self.weights, sensitive_features=sensitive_features)
        evenness = [balance(found.labels, sensitive_features) for found in tried]
        best = tried[min(range(len(tried)), key=lambda i: (-evenness[i], tried[i].energy))]
        self.labels_ = best.labels
        self.facts_ = {"weight": best.weight, "objective": best.energy, "sweeps": len(best.history)}
        self.facts_ |= {"at rest": best.converged, "kept a former state": best.degenerate}
        self.search_ = [
            {"fairness_weight": found.weight, "balance": value, "energy": found.energy}
            for found, value in zip(tried, evenness, strict=True)
        ]
        return self


def fitted(estimator, X, data: ClusterData, seed: int, **options):
    """An estimator with a seed, fitted: groups are passed if ``fit`` accepts them, classes to an oracle only."""
    drawn = int(np.random.default_rng(seed).integers(2**31)) if isinstance(estimator, KMeans) else seed
    model = clone(estimator).set_params(n_clusters=data.n_clusters, random_state=drawn, **options)
    fair = "sensitive_features" in inspect.signature(model.fit).parameters
    shown = {"sensitive_features": data.groups} if fair else {}
    # Kernels that are made here need no check in every fit.
    with warnings.catch_warnings(), config_context(assume_finite=True):
        warnings.simplefilter("ignore", ConvergenceWarning)  # that steps were used up is a row of its own
        return model.fit(X, data.y if getattr(model, "oracle", False) else None, **shown)


def fit_facts(model, X=None, groups=None) -> dict[str, float]:
    """Objective, steps and convergence of a fit, by name; an estimator of this paper has them as ``facts_``."""
    if hasattr(model, "facts_"):
        return model.facts_
    if isinstance(model, KMeans):
        return {"objective": model.inertia_, "sweeps": model.n_iter_}
    if isinstance(model, FairnessFirstClustering):
        facts = {"objective": model.inertia_, "moves": model.n_moves_, "swaps": model.n_swaps_}
        return facts | {"Bal after stage 1": model.stages_[0]["balance"], "at rest": model.converged_}
    if isinstance(model, FairMultipleKernelKMeans):
        facts = of_kernels(model) | {"weight": model.fairness_weight_, "objective": model.objective_}
        facts |= {"trace reached": model.certificate_.primal, "trace bound": model.certificate_.dual}
        return facts | {"rises of the objective": (np.diff(model.history_) > 1e-9 * model.history_[0]).sum(axis=0)}
    if isinstance(model, FairKernelKMeans):
        facts, moves = {}, model.n_moves_
        if model.swaps:  # those before the first swap
            single = clone(model).set_params(init=model.initial_labels_)
            (before,) = single.curve(X, [model.fairness_weight_], sensitive_features=groups)
            facts, moves = {"swaps": model.n_swaps_}, before.updates.n_moves
        facts |= {"start at rest": moves == 0, "moves": moves, "weight": model.fairness_weight_}
        facts |= {"objective": model.objective_, "certificate bound": model.certificate_.dual}
        return facts | {"sweeps": model.n_iter_, "at rest": model.converged_}
    return {}


def of_kernels(model) -> dict[str, float]:
    """Where learnt weights of kernels ended."""
    facts = {f"gamma {place:02d}": value for place, value in enumerate(model.kernel_weights_, 1)}
    return facts | {"rounds": model.n_iter_, "at rest": model.converged_}


def evaluation_rows(counts: JointCounts, **key) -> list[dict]:
    """Every metric of a clustering, and the row that keeps its counts."""
    kept = tidy({COUNTED: counts.n}, **key, counts=counts.to_text())
    values = {m: (None, UNKNOWN[m]) if np.isnan(value) else value for m, value in evaluate_clustering(counts).items()}
    return tidy(values, **key, counts="") + kept


def known(rows: pd.DataFrame, metrics: Sequence[str]) -> list[str]:
    """Those of the metrics that have a number; without classes ACC and NMI have none."""
    have = set(rows.loc[rows["value"].notna(), "metric"])
    return [metric for metric in metrics if metric in have]


def rows_of(model, X, data: ClusterData, seconds: float, *, protocol: str, search: bool = True, **key) -> list[dict]:
    """The rows of one run: every metric from its counts, facts of its fit, and perhaps its search."""
    # Clusters are numbered in the order in which the rows meet them: their names say nothing.
    labels = pd.factorize(np.asarray(model.labels_))[0]
    counts = JointCounts.from_labels(data.y, labels, data.groups, data.n_clusters)
    rows = evaluation_rows(counts, **key, protocol=protocol)
    rows += tidy(fit_facts(model, X, data.groups) | {"seconds": seconds}, **key, protocol=f"{protocol}: fit")
    names = {"mnce": "MNCE", "balance": "Bal", "n_sweeps": "sweeps"}
    for step in getattr(model, "search_", ()) if search else ():
        at = {"protocol": f"{protocol}: search", "variant": f"weight {step['fairness_weight']:g}"}
        rows += tidy({names.get(k, k): v for k, v in step.items() if k != "fairness_weight"}, **key | at)
    return rows
