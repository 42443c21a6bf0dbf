"""The Adult table of Kleindessner et al. (2023), and the same for COMPAS and German Credit.

Ten published splits, each method fitted on the training part and judged on its test part. The published protocol
(``released``) fits and scores every classifier on the same test points; ``held-out`` fits it on the training part.

A subspace fixes its basis only up to signs and order, and the MLP is the one metric that notices. How much that
matters is measured where the paper prints numbers, with bases of random signs (protocols ``signs 00``, ``signs 01``,
...). Methods that draw at random are there fitted again from other seeds (``seed 01``, ``seed 02``, ...).
"""

from collections.abc import Iterator
from functools import lru_cache

import pandas as pd

from evenspan import metrics
from evenspan.core.moments import GroupMoments

from ..data import load_split, shipped_moments, splits
from . import kleindessner2023_methods as methods
from .kleindessner2023_claims import claims as from_results
from .kleindessner2023_judge import (
    METRICS,
    PREDICTION_METRICS,
    Row,
    judge_bases,
    judge_fit,
    judge_moments,
    judge_points,
    judge_released,
)
from .kleindessner2023_methods import METHODS, SEED, fit
from .kleindessner2023_summary import basis_ranges, both_protocols, protocol_effect, seed_ranges, summary
from .kleindessner2023_theorems import claims as theorems

#: Data sets with published splits, and the target dimensions of the paper.
DATASETS = ("adult", "compas", "german")
COMPONENTS = (2, 10)

#: Where bases and seeds are varied, and how many more seeds each drawing method gets.
STUDY = (("adult", 10),)
SEEDS = {"INLP": 9, "RLACE": 4, "MbF-PCA (10^-3)": 1, "MbF-PCA (10^-6)": 2}
#: Methods whose fit takes so long that every split is a task of its own.
SLOW = ("MbF-PCA (10^-3)", "MbF-PCA (10^-6)")
#: What a build of the book recomputes of methods that take seconds a split, and of data that are bundled.
EMBEDDED_SPLITS = 2
FIRST = f"the first {EMBEDDED_SPLITS} splits only: the others take too long for every build"

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]


def tasks() -> list[dict]:
    """One unit of work of the full run: a method on all splits of a data set, for one number of components."""
    found = [
        {"dataset": dataset, "k": k, "method": name} for name in METHODS for dataset in DATASETS for k in COMPONENTS
    ]
    return [
        part
        for task in found
        for part in ([task | {"split": i} for i in range(10)] if task["method"] in SLOW else [task])
    ]


def run_task(dataset: str, k: int, method: str, split: int | None = None) -> pd.DataFrame:
    """All metrics of one method on every split, or on one, from the data points themselves."""
    return pd.DataFrame(
        [
            (dataset, method, k, i, *row)
            for i in (range(splits(dataset)) if split is None else [split])
            for row in _judged(dataset, k, method, i)
        ],
        columns=COLUMNS,
    )


def _judged(dataset: str, k: int, method: str, split: int) -> Iterator[Row]:
    train, test = load_split(dataset, split)
    moments = [GroupMoments.from_data(part.X, part.groups) for part in (train, test)]
    fitted = fit(method, k, moments[0], train)
    sigma = bandwidth(dataset, k, split)
    yield from judge_fit(fitted)
    yield from judge_moments(method, fitted, *moments)
    yield from judge_released(method, fitted, test, sigma)
    yield from judge_points(method, fitted, train, test, sigma)
    if (dataset, k) not in STUDY:
        return
    if method in methods.PRINTED and not methods.method(method).draws:
        yield from judge_bases(fitted, test, SEED)
    for draw in range(1, SEEDS.get(method, 0) + 1):
        again = fit(method, k, moments[0], train, seed=SEED + draw)
        rows = [*judge_moments(method, again, *moments), *judge_released(method, again, test, sigma)]
        yield from (
            (f"seed {draw:02d}", metric, value, reason)
            for protocol, metric, value, reason in rows
            if protocol == "released" and metric in METRICS
        )


def run(dataset: str, k: int) -> pd.DataFrame:
    """What can be computed without the raw data: every metric where they are bundled, otherwise what moments give.

    Rows of a method that is judged on the first splits only give that as their reason.
    """
    bundled, rows = dataset not in DATASETS, []
    for name, method in METHODS.items():
        if method.points and not bundled:
            continue  # group moments do not determine these methods: the full run has them
        quick = method.exact and not bundled
        for split in range(splits(dataset) if quick else EMBEDDED_SPLITS):
            judged = (_judged if bundled else _judged_from_moments)(dataset, k, name, split)
            rows += [
                (dataset, name, k, split, protocol, metric, value, reason or ("" if quick else FIRST))
                for protocol, metric, value, reason in judged
            ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _judged_from_moments(dataset: str, k: int, method: str, split: int) -> Iterator[Row]:
    moments = [shipped_moments(dataset, split, part) for part in ("train", "test")]
    fitted = fit(method, k, moments[0])
    yield from judge_fit(fitted)
    yield from judge_moments(method, fitted, *moments)


@lru_cache(maxsize=64)
def bandwidth(dataset: str, k: int, split: int) -> float:
    """The MMD bandwidth shared by all methods: the median heuristic on standard PCA of the training part."""
    train, _ = load_split(dataset, split)
    moments = GroupMoments.from_data(train.X, train.groups)
    return metrics.median_bandwidth(fit("PCA", k, moments).transform(train.X))


claims = {**theorems, **from_results}

__all__ = [
    "METHODS",
    "METRICS",
    "PREDICTION_METRICS",
    "SEED",
    "basis_ranges",
    "both_protocols",
    "claims",
    "fit",
    "protocol_effect",
    "run",
    "run_task",
    "seed_ranges",
    "summary",
    "tasks",
]
