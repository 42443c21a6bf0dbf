"""What the trade-off of Zhou et al. (2024) is made of: fair kernel k-means over a grid of weights, and its rivals.

Every run is kept as its counts of classes, groups and clusters, from which all metrics follow, and as what cannot be
read from counts: objectives, sweeps, and a bound from eigenvalues that no clustering can pass.
"""

import warnings
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.base_kernels import twelve_kernels
from evenspan.clustering.bounds import deflated_bound
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.kernel_kmeans import relaxed_labels, relaxed_start
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.row_update import RowUpdates, row_updates, swaps_and_moves
from evenspan.clustering.variational import VariationalFairClustering
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.groups import encode_groups

from .zhou2024_judge import JointCounts, judge_clustering
from .zhou2024_methods import KERNEL, METHODS, Problem
from .zhou2024_published import PublishedRule

#: Weights of the paper's own scale: the rule starts at 1 and goes up by 1.
GRID = (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 50.0, 200.0)
VFC_GRID = (0.0, 10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0)
#: The authors' rule, and what it would choose with more patience, or in other steps.
RULES = {
    "rule": PublishedRule(),
    "rule, patience 2": PublishedRule(patience=2),
    "rule, patience 3": PublishedRule(patience=3),
    "rule, doubling": PublishedRule(growth=2.0),
    "rule, from 0.1 doubling": PublishedRule(first=0.1, step=0.1, growth=2.0),
}
#: Weights at which other starts and swaps are tried.
TRIED = (0.0, 1.0, 5.0, 50.0)
SWAPPED = (0.5, 1.0, 5.0, 50.0, 200.0)
#: Sweeps that always suffice to come to rest.
LONG = 1000
#: Above this number of points FMKKM runs in single precision and from fewer starts.
LARGE = 1000
COUNTED = "n"
POINTS = ("K-means", "KKM", "SC", "FairSC", "FFC")
Facts = dict[str, float]


class Case(Problem):
    """A problem with its starts, one a seed, and the stack of its twelve kernels."""

    @cached_property
    def K(self) -> np.ndarray:
        """The one kernel of the single-kernel experiments."""
        return self.kernel(KERNEL)

    @cached_property
    def gram(self) -> DenseGram:
        """The same for the row update."""
        return DenseGram(self.K)

    @cached_property
    def stack(self) -> np.ndarray:
        """All twelve kernels; of many points in single precision."""
        if self.data.kernels is not None:
            return np.asarray(self.data.kernels, float)
        return twelve_kernels(self.data.X, dtype="float32" if self.data.n > LARGE else "float64")

    @cached_property
    def codes(self) -> np.ndarray:
        """Groups as numbers."""
        return encode_groups(self.data.groups, self.data.n)[1]

    def start(self, seed: int) -> np.ndarray:
        """Labels of relaxed kernel k-means."""
        return relaxed_labels(self.gram, self.n_clusters, np.random.default_rng(seed))

    def updates(self, weight: float, init: np.ndarray, max_sweeps: int = 10) -> RowUpdates:
        """The row update of fair kernel k-means from given labels, by default in the ten sweeps of the paper."""
        return row_updates(self.gram, self.codes, init, self.n_clusters, weight, max_sweeps=max_sweeps)

    def rows(self, method: str, seed, protocol: str, weight, labels: np.ndarray, facts: Facts | None = None):
        """Tidy rows of one run: what the judge says, the counts, and what the judge cannot know."""
        counts = JointCounts.from_labels(self.data.y, labels, self.data.groups)
        key = (self.data.name, method, self.n_clusters, seed, protocol)
        weight = np.nan if weight is None else float(weight)
        yield from ((*key, metric, weight, value, "") for metric, value in judge_clustering(counts).items())
        yield (*key, COUNTED, weight, float(counts.n), counts.to_text())
        facts = {"clustering objective": self.unexplained(labels)} | (facts or {})
        yield from ((*key, metric, weight, float(value), "") for metric, value in facts.items())

    def unexplained(self, labels: np.ndarray) -> float:
        """Mean squared distance of a point to the centre of its cluster in the space of the single kernel."""
        clusters, codes = np.unique(labels, return_inverse=True)
        Y = (codes[:, None] == np.arange(len(clusters))).astype(float)
        inside = (Y * self.gram.product(Y)).sum(axis=0) / Y.sum(axis=0)
        return float((self.gram.diagonal.sum(axis=0) - inside.sum(axis=0)) / self.data.n)


def quietly(model, X, groups):
    """Fit; that the sweeps or rounds were used up is stored with the results instead of being warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, sensitive_features=groups)


def facts_of(found: RowUpdates) -> Facts:
    """What row updates say of themselves."""
    return {
        "objective": found.objective, "sweeps": found.n_sweeps, "moves": found.n_moves, "at rest": found.at_rest,
    }  # fmt: skip


def single(case: Case, seeds) -> Iterator[tuple]:
    """FKKM over the grid from one start a seed, under every rule, and the bounds of each weight."""
    rng = np.random.default_rng(0)
    for weight in GRID:
        key = (case.data.name, "bound", case.n_clusters, "all", "grid")
        bound = deflated_bound(case.gram, case.codes, weight, case.n_clusters, rng)
        yield (*key, "upper bound", weight, float(bound), "")
    for seed in seeds:
        start = relaxed_start(case.gram, case.n_clusters, np.random.default_rng(seed))
        for weight in GRID:
            found = case.updates(weight, start.labels)
            facts = facts_of(found) | {"kernel bound": float(start.eigenvalues.sum(axis=0))}
            yield from case.rows("FKKM", seed, "grid", weight, found.labels, facts)
        for name, rule in RULES.items():
            yield from ruled(case, seed, name, rule, start.labels)


def ruled(case: Case, seed: int, name: str, rule: PublishedRule, init: np.ndarray) -> Iterator[tuple]:
    """The answer under a rule, and MNCE of every weight that it tried."""
    path = {}

    def evaluate(weight: float) -> tuple[RowUpdates, float]:
        found = case.updates(weight, init)
        path[weight] = ClusterCounts.from_labels(found.labels, case.codes, case.n_clusters).mnce
        return found, path[weight]

    found, weights, decided = rule.search(evaluate)
    facts = {"chosen weight": weights[-1], "weights tried": len(weights), "decided": decided}
    yield from case.rows("FKKM", seed, name, None, found.labels, facts_of(found) | facts)
    key = (case.data.name, "FKKM", case.n_clusters, seed, f"{name}: search")
    yield from ((*key, "MNCE tried", weight, value, "") for weight, value in path.items())


def several(case: Case, seeds) -> Iterator[tuple]:
    """FMKKM over the grid and under the rule."""
    total = DenseGram(case.stack.sum(axis=0))
    for seed in seeds:
        init = relaxed_labels(total, case.n_clusters, np.random.default_rng(seed))
        models = {weight: multiple(case, weight, init, seed) for weight in GRID}

        def evaluate(weight: float, models=models, init=init, seed=seed):
            if weight not in models:
                models[weight] = multiple(case, weight, init, seed)
            return models[weight], models[weight].counts_.mnce

        answer, weights, _ = RULES["rule"].search(evaluate)
        for weight in GRID:
            yield from case.rows("FMKKM", seed, "grid", weight, models[weight].labels_, multiple_facts(models[weight]))
        facts = multiple_facts(answer) | {"chosen weight": weights[-1]}
        yield from case.rows("FMKKM", seed, "rule", None, answer.labels_, facts)


def multiple(case: Case, weight, init: np.ndarray, seed: int) -> FairMultipleKernelKMeans:
    """Fair multiple kernel k-means from given labels; published kernels are passed, others made of the features."""
    published = case.data.kernels is not None
    model = FairMultipleKernelKMeans(
        case.n_clusters, weight, kernels="precomputed" if published else "twelve", init=init,
        dtype=case.stack.dtype.name, random_state=seed,
    )  # fmt: skip
    return quietly(model, case.stack if published else case.features, case.data.groups)


def multiple_facts(model: FairMultipleKernelKMeans) -> Facts:
    """What such a fit says of itself."""
    gamma = model.kernel_weights_
    return {
        "objective": model.objective_, "rounds": model.n_rounds_, "largest kernel weight": gamma.max(),
        "smallest kernel weight": gamma.min(),
    }  # fmt: skip


def rivals(case: Case, seeds) -> Iterator[tuple]:
    """Methods without a weight, and the variational method over its weights."""
    for name in POINTS:
        for seed in seeds:
            yield from case.rows(name, seed, "grid", None, METHODS[name](case, seed).labels)
    for weight in VFC_GRID:
        for seed in seeds:
            model = VariationalFairClustering(case.n_clusters, weight, random_state=seed)
            quietly(model, case.features, case.data.groups)
            yield from case.rows("VFC", seed, "grid", weight, model.labels_)


def local(case: Case, seeds) -> Iterator[tuple]:
    """How much depends on the start, on the number of sweeps, and on moving single points.

    The starts are relaxed kernel k-means, random labels, and each weight's answer carried to the next one.
    """
    for seed in seeds:
        rng = np.random.default_rng(seed)
        relaxed, random = case.start(seed), np.arange(case.data.n) % case.n_clusters
        rng.shuffle(random)
        for start, init in (("relaxed", relaxed), ("random", random)):
            for weight in TRIED:
                found = case.updates(weight, init, LONG)
                yield from case.rows("FKKM", seed, f"start: {start}", weight, found.labels, facts_of(found))
        carried = relaxed
        for weight in GRID:
            found = case.updates(weight, carried, LONG)
            carried = found.labels
            yield from case.rows("FKKM", seed, "start: carried on", weight, carried, facts_of(found))
        for weight in SWAPPED:
            before = case.updates(weight, relaxed, LONG)
            yield from case.rows("FKKM", seed, "without swaps", weight, before.labels, facts_of(before))
            after, made = swaps_and_moves(case.gram, case.codes, before, case.n_clusters, weight)
            facts = facts_of(after) | {"swaps": made}
            yield from case.rows("FKKM", seed, "with swaps", weight, after.labels, facts)


#: Parts of the full run with their seeds, for small and for large data.
PARTS = {"single": (single, 10, 10), "several": (several, 5, 2), "rivals": (rivals, 5, 5), "local": (local, 10, 5)}


def part_rows(case: Case, part: str, most: int | None = None) -> Iterator[tuple]:
    """All rows of a part, with at most so many seeds."""
    solve, few_points, many_points = PARTS[part]
    seeds = many_points if case.data.n > LARGE else few_points
    return solve(case, range(seeds if most is None else min(seeds, most)))
