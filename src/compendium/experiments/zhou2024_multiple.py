"""Fair kernel k-means with several kernels (Zhou et al. 2024): all twelve, their weights, and what the shift does.

The slides have no numbers for several kernels, so that nothing is judged here. *FMKKM* is Algorithm 1 with the weight
of the authors' rule, *FMKKM-f* the same without fairness term. The kernel weights come from the shifted kernels, as
printed, or from the kernels themselves (*unshifted*). What it is compared with finds clusters without regard to groups,
but for *FKKM (average kernel)*: relaxed k-means on the mean of the kernels; on the single kernel with the highest share
of its trace explained; on the one with the highest accuracy (*oracle*: it uses the classes, which no method may); and
multiple kernel k-means with squared weights and relaxed indicators.
"""

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.base_kernels import twelve_kernels
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans, kernel_weights, weighted
from evenspan.clustering.kernel_kmeans import leading_eigenvectors, relaxed_start
from evenspan.clustering.kernels import DenseGram
from evenspan.core.errors import ConfigurationError
from evenspan.metrics.clustering import clustering_accuracy

from ..data.clustering import ClusterData, load_clustering
from .session import best_source
from .store import read_results
from .zhou2024_judge import JointCounts, judge_clustering
from .zhou2024_methods import Run, by_first_row, fair_kernel_run, made_set
from .zhou2024_multiple_summary import PROTOCOL, facts, gammas, in_words, made, spreads
from .zhou2024_published import PublishedRule

SEED = 0
SEEDS = range(10)
#: Above ``DOUBLE`` samples, where one run takes minutes.
FEW_SEEDS = range(5)
DATASETS = ("jaffe", "mnist_usps", "credit_card", "k1b")
#: Above this number of samples the kernels are kept in single precision.
DOUBLE = 3000
#: Alternations of multiple kernel k-means at most, and the relative change that ends them.
ALTERNATIONS, STEADY = 50, 1e-6
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason", "counts"]
COUNTED = "n"
MADE = "made set"
MADE_SEEDS = range(2)


@dataclass(frozen=True, eq=False)
class Several:
    """A data set with its stack of kernels (m, n, n), and what is found once for all seeds."""

    data: ClusterData
    stack: np.ndarray
    found: dict = field(default_factory=dict)

    @classmethod
    def of(cls, data: ClusterData) -> "Several":
        """The published kernels, or the twelve made from the features."""
        dtype = np.float32 if data.n > DOUBLE else np.float64
        made = twelve_kernels(data.X, dtype=dtype) if data.kernels is None else np.array(data.kernels, dtype)
        return cls(data, made)

    @property
    def average(self) -> DenseGram:
        """The mean of the kernels."""
        if "average" not in self.found:
            self.found["average"] = DenseGram(self.stack.mean(axis=0, dtype=np.float64))
        return self.found["average"]


def alternation(weight: float | str, weights_from: str):
    """Algorithm 1 from the relaxed start of a seed."""

    def solve(problem: Several, seed: int) -> Run:
        model = FairMultipleKernelKMeans(
            problem.data.n_clusters, weight, kernels="precomputed", weights_from=weights_from,
            dtype=problem.stack.dtype, random_state=seed,
        )  # fmt: skip
        with warnings.catch_warnings():
            # Ten rounds are the published cap; whether points still moved is recorded.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(problem.stack, sensitive_features=problem.data.groups)
        facts = {"weight": model.fairness_weight_, "objective": model.objective_, "rounds": model.n_rounds_}
        facts |= {"at rest": float(model.at_rest_), "trace reached": model.certificate_.primal}
        facts["trace bound"] = model.certificate_.dual
        facts |= {"rises of the objective": float((np.diff(model.history_) > 1e-9 * model.history_[0]).sum(axis=0))}
        return Run(model.labels_, facts | _named(model.kernel_weights_))

    return solve


def average_kernel(problem: Several, seed: int) -> Run:
    """Relaxed kernel k-means on the mean of the kernels."""
    return Run(relaxed_start(problem.average, problem.data.n_clusters, np.random.default_rng(seed)).labels)


def fair_average_kernel(problem: Several, seed: int) -> Run:
    """FKKM on the mean of the kernels."""
    return fair_kernel_run(problem.average, problem.data.groups, problem.data.n_clusters, seed)


def best_kernel(oracle: bool):
    """Relaxed kernel k-means on the kernel with the largest share of its trace explained, or with the best accuracy."""

    def solve(problem: Several, seed: int) -> Run:
        if seed not in problem.found:  # both choices are made from the same twelve answers
            problem.found[seed] = [_single(problem, K, seed) for K in problem.stack]
        answers = problem.found[seed]
        scores = [clustering_accuracy(problem.data.y, labels) if oracle else share for labels, share in answers]
        place = int(np.argmax(scores))
        return Run(answers[place][0], {"kernel": place + 1.0, "explained share": answers[place][1]})

    return solve


def _single(problem: Several, K: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    gram, c = DenseGram(K), problem.data.n_clusters
    labels = relaxed_start(gram, c, np.random.default_rng(seed)).labels
    q = gram.sums(labels, c).within(labels)
    return labels, float((q / np.bincount(labels, minlength=c)).sum(axis=0) / gram.diagonal.sum(axis=0))


def plain_multiple(problem: Several, seed: int) -> Run:
    """Multiple kernel k-means: orthonormal relaxed indicators and squared kernel weights, alternating; no groups."""
    if "plain" not in problem.found:
        problem.found["plain"] = _plain_weights(problem.stack, problem.data.n_clusters)
    gamma, rounds, settled = problem.found["plain"]
    gram = DenseGram(weighted(problem.stack, gamma))
    labels = relaxed_start(gram, problem.data.n_clusters, np.random.default_rng(seed)).labels
    return Run(labels, {"rounds": rounds, "at rest": float(settled)} | _named(gamma))


def _plain_weights(stack: np.ndarray, n_clusters: int) -> tuple[np.ndarray, int, bool]:
    gamma, before = np.full(len(stack), 1.0 / len(stack)), np.inf
    traces = np.trace(stack, axis1=1, axis2=2, dtype=np.float64)
    for rounds in range(1, ALTERNATIONS + 1):
        gram = DenseGram(weighted(stack, gamma))
        H = leading_eigenvectors(gram, n_clusters, np.random.default_rng(SEED))[1]
        h = traces - np.array([np.einsum("nk,nk->", H, DenseGram(K).product(H)) for K in stack])
        gamma = kernel_weights(h)
        objective = float((gamma**2 * h).sum(axis=0))
        if abs(before - objective) <= STEADY * objective:
            return gamma, rounds, True
        before = objective
    return gamma, ALTERNATIONS, False


def _named(gamma: np.ndarray) -> dict[str, float]:
    return {f"gamma {place:02d}": float(value) for place, value in enumerate(gamma, 1)}


METHODS = {
    "FMKKM": alternation(PublishedRule(), "shifted"),
    "FMKKM-f": alternation(0.0, "shifted"),
    "FMKKM (unshifted)": alternation(PublishedRule(), "unshifted"),
    "FKKM (average kernel)": fair_average_kernel,
    "KKM (average kernel)": average_kernel,
    "KKM (best kernel by its objective)": best_kernel(oracle=False),
    "KKM (best kernel by the classes, an oracle)": best_kernel(oracle=True),
    "MKKM": plain_multiple,
}


def tasks() -> list[dict]:
    """One unit of work for each data set and method."""
    return [{"dataset": dataset, "method": method} for dataset in DATASETS for method in METHODS]


def run_task(dataset: str, method: str) -> pd.DataFrame:
    """All seeds of one method."""
    if method not in METHODS:
        raise ConfigurationError(f"method={method!r}; needed is one of {', '.join(METHODS)}.")
    data = load_clustering(dataset)
    return _frame(_seeds(dataset, method, Several.of(data), FEW_SEEDS if data.n > DOUBLE else SEEDS))


def run(dataset: str) -> pd.DataFrame:
    """The stored clusterings judged again from their counts, and all methods fitted on a made set."""
    stored, rows = read_results("zhou2024-multiple"), []
    stored = stored[(stored["dataset"] == dataset) & (stored["metric"] == COUNTED)]
    for method in METHODS:
        own = stored[stored["method"] == method]
        if own.empty:
            reason = "the full run of this method is not stored in this checkout: nothing can be judged again"
            rows.append((dataset, method, pd.NA, "all", PROTOCOL, "ACC", np.nan, reason, ""))
        for seed, text in zip(own["split"], own["counts"] if len(own) else (), strict=True):
            rows += _judged((dataset, method, pd.NA, seed, PROTOCOL), JointCounts.from_text(text))
    problem = Several.of(made_set())
    for method in METHODS:
        rows += _seeds(MADE, method, problem, MADE_SEEDS, MADE)
    return _frame(rows)


def _seeds(dataset: str, method: str, problem: Several, seeds: range, protocol: str = PROTOCOL) -> list[tuple]:
    rows = []
    for seed in seeds:
        start = time.perf_counter()
        found = METHODS[method](problem, seed)
        seconds = {"seconds": time.perf_counter() - start} if protocol != MADE else {}
        key, data = (dataset, method, pd.NA, seed), problem.data
        rows += _judged(
            (*key, protocol), JointCounts.from_labels(data.y, by_first_row(found.labels), data.groups, data.n_clusters)
        )
        rows += [(*key, f"{protocol}: fit", name, float(v), "", "") for name, v in {**found.facts, **seconds}.items()]
    return rows


def _judged(key: tuple, counts: JointCounts) -> list[tuple]:
    rows = [(*key, metric, float(value), "", "") for metric, value in judge_clustering(counts).items()]
    return [*rows, (*key, COUNTED, float(counts.n), "", counts.to_text())]


def _frame(rows: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype({"k": "Int64"})


__all__ = ["SEED", "best_source", "facts", "gammas", "in_words", "made", "run", "run_task", "spreads", "tasks"]
