"""Figures 2 and 3 of Zhou et al. (2024): a standard kernel beside the fair kernel, and groups in clusters.

The slides do not name the data of their figures, and those on which the paper counts groups (D&S) are not at hand:
here it is Jaffe and MNIST-USPS. No kernel matrix is kept, only means: over pairs of clusters, for pairs of one group
and of two, and over 60 x 60 blocks of the ordered matrix. All are means over pairs of *different* points, so that the
diagonal, on which the fair kernel has its shift, is left out of them. The fair kernel differs from the standard one by
the weight for each pair of one group, so that everything about it follows from the same means.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from evenspan.clustering.kernel_kmeans import relaxed_labels
from evenspan.clustering.kernels import DenseGram
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import ConfigurationError

from ..data.clustering import load_clustering
from .claim_rules import Answer
from .store import read_results
from .zhou2024_judge import JointCounts, judge_clustering
from .zhou2024_kernels_cells import BLOCKS, ORDERS, block_means, cell_means, claim, counts_of, order_of, picture
from .zhou2024_methods import made_set
from .zhou2024_tradeoff import COLUMNS, MADE, judged_again
from .zhou2024_tradeoff_runs import COUNTED, RULES, Case, multiple

SEED = 0
DATASETS = ("jaffe", "mnist_usps")
ANSWERS = ("FKKM-f", "FKKM", "FMKKM-f", "FMKKM")
#: The clusterings by which pairs of points are told apart.
CELLS = ("FKKM-f", "FKKM", "classes")


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in DATASETS]


def run_task(dataset: str) -> pd.DataFrame:
    """Four answers, and the means of the kernel."""
    return _frame(_measured(Case(load_clustering(dataset))))


def run(dataset: str) -> pd.DataFrame:
    """The stored answers judged again from their counts, and everything once more on a made set."""
    if dataset not in DATASETS:
        raise ConfigurationError(f"dataset={dataset!r}; needed is one of {', '.join(DATASETS)}.")
    stored = read_results("zhou2024-kernels")
    made = _frame((MADE, *row[1:]) for row in _measured(Case(made_set())))
    return pd.concat([judged_again(stored[stored["dataset"] == dataset]), made], ignore_index=True)


def _measured(case: Case) -> Iterator[tuple]:
    labels, weight = {}, 0.0
    for name, found, chosen in _answers(case):
        labels[name] = found
        weight = chosen if name == "FKKM" else weight
        yield from case.rows(name, SEED, "answer", chosen, found, {"chosen weight": chosen})
    labels["classes"] = np.unique(case.data.y, return_inverse=True)[1]
    counts = JointCounts.from_labels(case.data.y, labels["classes"], case.data.groups)
    yield from ((*_key(case, "classes", "answer"), metric, np.nan, value, "") for metric, value in
                judge_clustering(counts).items())  # fmt: skip
    yield (*_key(case, "classes", "answer"), COUNTED, np.nan, float(counts.n), counts.to_text())
    inside = case.K[~np.eye(case.data.n, dtype=bool)]
    yield (*_key(case, "K", "pairs"), "standard deviation", np.nan, float(inside.std(axis=0)), "")
    for name in CELLS:
        for (a, b, groups), value in cell_means(case.K, labels[name], case.codes).items():
            yield (*_key(case, name, "cells"), f"{a} {b} {groups}", np.nan, value, "")
    for order in ORDERS:
        means = block_means(case.K, order_of(order, labels["FKKM"], case.codes), BLOCKS)
        for a, b in zip(*np.triu_indices(len(means)), strict=True):
            yield (*_key(case, order, "blocks"), f"{a} {b}", np.nan, float(means[a, b]), "")


def _answers(case: Case) -> Iterator[tuple[str, np.ndarray, float]]:
    """Without the fairness term and under the authors' rule, with one kernel and with all twelve; one start each."""
    start = case.start(SEED)
    yield "FKKM-f", case.updates(0.0, start).labels, 0.0

    def evaluate(weight: float) -> tuple[np.ndarray, float]:
        labels = case.updates(weight, start).labels
        return labels, ClusterCounts.from_labels(labels, case.codes, case.n_clusters).mnce

    labels, weights, _ = RULES["rule"].search(evaluate)
    yield "FKKM", labels, weights[-1]
    start = relaxed_labels(DenseGram(case.stack.sum(axis=0)), case.n_clusters, np.random.default_rng(SEED))
    for name, weight in (("FMKKM-f", 0.0), ("FMKKM", RULES["rule"])):
        model = multiple(case, weight, start, SEED)
        yield name, model.labels_, float(model.fairness_weight_)


def _key(case: Case, method: str, protocol: str) -> tuple:
    return (case.data.name, method, case.n_clusters, SEED, protocol)


def _frame(rows) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=COLUMNS)
    return frame.astype({"k": "Int64", "value": float, "weight": float, "counts": str})


def bars(rows: pd.DataFrame) -> tuple[dict[str, np.ndarray], list[str]]:
    """Counts (G, c) of every answer, and the names of the groups."""
    joint = {name: counts_of(rows, name) for name in ANSWERS}
    return {name: counts.group_by_cluster for name, counts in joint.items()}, [
        str(label) for label in joint["FKKM"].groups
    ]


def bar_table(rows: pd.DataFrame) -> pd.DataFrame:
    """The same, one line a bar's part."""
    found, names = bars(rows)
    lines = [
        (answer, cluster, group, int(table[j, cluster]))
        for answer, table in found.items()
        for cluster in range(table.shape[1])
        for j, group in enumerate(names)
    ]
    return pd.DataFrame(lines, columns=["answer", "cluster", "group", "points"])


def fairness_in_words(rows: pd.DataFrame) -> str:
    """Balance, MNCE and accuracy of every answer."""
    wide = rows[rows["protocol"] == "answer"].pivot(index="method", columns="metric", values="value")
    parts = [
        f"{name} (λ = {wide.loc[name, 'chosen weight']:g}): Bal {wide.loc[name, 'Bal']:.3f}, MNCE "
        f"{wide.loc[name, 'MNCE']:.3f}, ACC {wide.loc[name, 'ACC']:.3f}"
        for name in ANSWERS
    ]
    return (
        "; ".join(parts)
        + f". The classes themselves: Bal {wide.loc['classes', 'Bal']:.3f}, MNCE {wide.loc['classes', 'MNCE']:.3f}."
    )


def pictures(rows: pd.DataFrame) -> dict[str, tuple[np.ndarray, list[float]]]:
    """Both kernels in both orders, by title: block means, and where clusters or groups part."""
    return {
        f"{'fair' if fair else 'standard'} kernel by {order}": picture(rows, order, fair=fair)
        for order in ORDERS
        for fair in (False, True)
    }


def other_structure() -> Answer | None:
    """Z11: the fair kernel shows a structure different from the standard kernel."""
    return claim(read_results("zhou2024-kernels", dataset=DATASETS), DATASETS)


claims = {"Z11": other_structure}
