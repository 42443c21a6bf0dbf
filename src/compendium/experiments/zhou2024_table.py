"""Table 1 of Zhou et al. (2024): eight clusterings of six data sets, each from ten seeds, judged from their counts.

The slides print means without their settings. What the sources leave open was fixed before any of our numbers was
seen (``zhou2024_methods``); other readings are run beside it as *variants* and are not judged. With every run the full
profile stores the counts of classes, groups and clusters. They are all that a metric needs, so that every build of the
book judges the same clusterings again, without the data, and fits all methods on a small made set as well.
"""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError, FetchError

from ..data.clustering import load_clustering
from .session import best_source
from .store import read_results
from .zhou2024_claims import claims
from .zhou2024_judge import JointCounts, judge_clustering
from .zhou2024_methods import METHODS, Problem, Run, by_first_row, made_set
from .zhou2024_summary import facts, fair_part, made, nearest_in_words, note, of_page, readings, search
from .zhou2024_summary import printed as published
from .zhou2024_variants import FAMILIES

SEED = 0
SEEDS = range(10)
#: Other readings: they show which way a choice moves the numbers.
VARIANT_SEEDS = range(5)
DATASETS = ("jaffe", "mnist_usps", "credit_card", "k1b")
#: Only kernels are published, so that there is no scaling to vary.
WITHOUT_FEATURES = ("jaffe",)
#: Not in the registry, because nobody can download a fixed version; a task reads them where a reader has put them.
MISSING = {
    "har": "Human Activity Recognition Using Smartphones",
    "daily_sports": "Daily and Sports Activities",
}
JUDGED = ("ACC", "NMI", "Bal", "MNCE")
COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason", "variant", "counts"]
#: The metric of the row that carries the counts of a run; its value is the number of samples.
COUNTED = "n"
MADE = "made set"
MADE_SEEDS = range(2)
NOTHING_STORED = "the full run of this method is not stored in this checkout, so that there is nothing to judge again"


def tasks() -> list[dict]:
    """One unit of work for each data set and method, the other readings of each method, and the data not at hand."""
    found = [{"dataset": dataset, "method": method} for dataset in DATASETS for method in METHODS]
    found += [
        {"dataset": dataset, "method": method, "family": family}
        for family, readings_ in FAMILIES.items()
        for dataset in DATASETS
        if family != "scaling" or dataset not in WITHOUT_FEATURES
        for method in readings_
    ]
    return found + [{"missing": dataset} for dataset in MISSING]


def run_task(
    dataset: str | None = None, method: str | None = None, family: str = "table", missing: str | None = None
) -> pd.DataFrame:
    """All seeds of one method, or of its other readings; of data that may be missing, all methods or the reason."""
    if missing is not None:
        return _frame(_perhaps(missing))
    if method not in {"table": METHODS, **FAMILIES}.get(family, ()):
        raise ConfigurationError(f"method={method!r}, family={family!r}; what there is, is listed by tasks().")
    problem, rows = Problem(load_clustering(dataset)), []
    if family == "table":
        return _frame(_seeds(dataset, method, METHODS[method], problem))
    for variant, solve in FAMILIES[family][method].items():
        if solve.suits(problem):
            rows += _seeds(dataset, method, solve, problem, "variants", variant, seeds=VARIANT_SEEDS)
        else:
            rows.append((dataset, method, pd.NA, "all", "variants", "ACC", np.nan, solve.reason, variant, ""))
    return _frame(rows)


def run(dataset: str) -> pd.DataFrame:
    """The stored clusterings judged again from their counts, and all methods fitted on a made set."""
    stored, rows = read_results("zhou2024-table"), []
    stored = stored[(stored["dataset"] == dataset) & (stored["protocol"] == "released")]
    for method in METHODS:
        own = stored[(stored["method"] == method) & (stored["metric"] == COUNTED)]
        if own.empty:
            rows += _absent(dataset, method, NOTHING_STORED)
        for seed, text in zip(own["split"], own["counts"] if len(own) else (), strict=True):
            counts = JointCounts.from_text(text)
            rows += _judged((dataset, method, pd.NA, seed, "released"), counts, "")
    problem = Problem(made_set())
    for method, solve in METHODS.items():
        rows += _seeds(MADE, method, solve, problem, MADE, seeds=MADE_SEEDS, timed=False)
    return _frame(rows)


def _perhaps(dataset: str) -> list[tuple]:
    try:
        problem = Problem(load_clustering(dataset))
    except FetchError:
        reason = (
            f"the data ({MISSING[dataset]}, UCI Machine Learning Repository) are not at hand; the loader reads the "
            "original archive where a reader has it"
        )
        return [row for method in METHODS for row in _absent(dataset, method, reason)]
    return [row for method, solve in METHODS.items() for row in _seeds(dataset, method, solve, problem)]


def _seeds(
    dataset: str,
    method: str,
    solve: Callable[[Problem, int], Run],
    problem: Problem,
    protocol: str = "released",
    variant: str = "",
    *,
    seeds: range = SEEDS,
    timed: bool = True,
) -> list[tuple]:
    """The rows of all runs: every metric from the counts, what the method says of itself, and the counts."""
    problem.prepare(solve.needs)  # what serves all seeds is not timed
    rows = []
    for seed in seeds:
        start = time.perf_counter()
        found = solve(problem, seed)
        seconds = {"seconds": time.perf_counter() - start} if timed else {}
        data = problem.data
        counts = JointCounts.from_labels(data.y, by_first_row(found.labels), data.groups, data.n_clusters)
        key = (dataset, method, pd.NA, seed)
        rows += _judged((*key, protocol), counts, variant)
        for metric, value in {**found.facts, **seconds}.items():
            rows.append((*key, f"{protocol}: fit", metric, float(value), "", variant, ""))
        for weight, metric, value in () if variant else found.search:
            rows.append((*key, f"{protocol}: search", metric, float(value), "", f"weight {weight:g}", ""))
    return rows


def _judged(key: tuple, counts: JointCounts, variant: str) -> list[tuple]:
    rows = [(*key, metric, float(value), "", variant, "") for metric, value in judge_clustering(counts).items()]
    return [*rows, (*key, COUNTED, float(counts.n), "", variant, counts.to_text())]


def _absent(dataset: str, method: str, reason: str) -> list[tuple]:
    return [(dataset, method, pd.NA, "all", "released", metric, np.nan, reason, "", "") for metric in JUDGED]


def _frame(rows: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=COLUMNS).astype({"k": "Int64"})


__all__ = [
    "SEED",
    "best_source",
    "claims",
    "facts",
    "fair_part",
    "made",
    "nearest_in_words",
    "note",
    "of_page",
    "published",
    "readings",
    "run",
    "run_task",
    "search",
    "tasks",
]
