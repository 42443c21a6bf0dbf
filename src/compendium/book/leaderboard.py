"""All methods by concern: average ranks over the tables, what a method costs, and how often it is certified.

For each concern there is one measure; the rules of the ranks are those of :mod:`compendium.papers.across.summary`. Rows
come from the stored full runs; a build computes some of them again and takes those.
"""

import contextlib
import io
import os
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import pandas as pd

from .. import data as datasets
from .. import paths, records, store, study
from ..compare import Comparison
from ..papers.across import summary
from ..verify import verify
from .guide import certified

LINEAR, CLUSTERS, ATTACKED = "across-methods", "zhou2024-table", "across-classifiers"
#: Number of components at which linear methods are compared.
SIZE = 5
#: Protocols of clusterings that are the method as the paper has it; one of them is shown the classes.
PROTOCOLS, ORACLE = ("released", "twelve kernels"), "oracle"


class Concern(NamedTuple):
    """What a reader wants, the measure that tells it, the experiments with its rows, and in what a method pays."""

    title: str
    metric: str
    experiments: tuple[str, ...]
    cost: str


CONCERNS = (
    Concern("Equal means", "mean distance", (LINEAR,), "relative error"),
    Concern("Equal errors", "error gap", (LINEAR,), "relative error"),
    Concern("Concealment from a linear classifier", "group AUC", (LINEAR,), "relative error"),
    Concern("Concealment from the strongest attacker", summary.STRONGEST, (LINEAR, ATTACKED), "relative error"),
    Concern("Balance of clusters", "Bal", (CLUSTERS, "zhou2024-multiple"), "accuracy, K-means = 1"),
)
EXPERIMENTS = tuple(dict.fromkeys(name for concern in CONCERNS for name in concern.experiments))


def rows_of(experiments: Collection[str], seconds: float | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows with their ``source``; and for each experiment how many were computed now, with the largest difference.

    Computed again are units of shipped tables that give the most numbers a second: of each experiment so many that took
    ``seconds`` in the full run."""
    budget = float(os.environ.get(records.BUDGET, study.BUDGET)) if seconds is None else seconds
    frames, said = [], []
    for name in experiments:
        units = {unit.name: unit for unit in store.units_of(name).values() if _counts(unit)}
        took = {task: unit.record["seconds"] for task, unit in units.items() if _shipped(unit)}
        quick = sorted(took, key=lambda task: took[task] / len(units[task].rows))
        spent = np.cumsum([took[task] for task in quick])
        with contextlib.redirect_stdout(io.StringIO()):  # its progress
            found = verify([(name, task) for task, time in zip(quick, spent, strict=True) if time <= budget], jobs=1)
        again = {task: one for (_, task), one in found.items() if isinstance(one, Comparison)}
        new = store.units_of(name, paths.build("check", name)) if again else {}
        now = [new[task].frame.assign(source=study.COMPUTED) for task in again]
        old = [unit.frame.assign(source=study.PUBLISHED) for task, unit in units.items() if task not in again]
        frames += [*now, *old]
        worst = max(again.values(), key=lambda one: (one.outside, one.share), default=Comparison(0))
        said.append({
            "experiment": name, "numbers": sum(int(rows["value"].count()) for rows in (*now, *old)),
            "computed for this page": sum(int(rows["value"].count()) for rows in now),
            "largest difference": f"{worst.largest:.1g}" if again else "–", "where": worst.where or "–",
            "beyond tolerance": sum(one.outside for one in again.values()),
        })  # fmt: skip
    return pd.concat(frames, ignore_index=True), pd.DataFrame(said)


def _counts(unit: store.Unit) -> bool:
    """Whether a unit is of the methods as they are, not of other readings of them or of data that nobody has."""
    return not (unit.changed or unit.record["parameters"].keys() & {"family", "missing"})


def _shipped(unit: store.Unit) -> bool:
    return datasets.entry(unit.record["parameters"]["dataset"]).shipped is not None


def clusterings(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means of a measure of clusters over the seeds, data sets down and methods across."""
    kept = rows["protocol"].isin(PROTOCOLS) & (rows["metric"] == metric) & ~rows["method"].str.contains(ORACLE)
    return rows[kept].pivot_table("value", "dataset", "method").rename_axis(columns=None)


def ranks(metric: str, k: int | None, rows: pd.DataFrame) -> pd.DataFrame:
    """Ranks of the methods that have a value on every data set; of clusterings without a number of components."""
    if k is not None:
        return summary.ranks(metric, k, rows)
    tied = clusterings(rows, metric).dropna(axis=1).map(lambda value: float(f"{value:.{summary.TIED_DIGITS}g}"))
    return tied.rank(axis=1, ascending=False, method="average")


def board(concern: Concern, rows: pd.DataFrame, size: int = SIZE) -> tuple[pd.DataFrame, float] | None:
    """The methods from best to worst by one concern, and the critical difference; None of fewer than two tables."""
    k = size if LINEAR in concern.experiments else None
    if k:  # without controls, and what keeps all features
        rows = rows[rows["method"].isin(summary.values(concern.cost, k, rows))]
    if (test := summary.tested(ranks(concern.metric, k, rows), concern.metric, k or 0)) is None:
        return None
    tables, rows = list(test.datasets), rows[rows["dataset"].isin(test.datasets)]
    if k:
        cost = summary.geometric_mean(summary.values(concern.cost, k, rows).reindex(tables))
        fits = rows[(rows["metric"] == "certified") & (rows["k"] == k)].groupby("method")["value"].mean()
    else:
        accuracy = clusterings(rows, "ACC").reindex(tables)
        cost, fits = summary.geometric_mean(accuracy.div(accuracy["K-means"], axis=0)), _closed(rows)
    names, near = list(test.ranks.index), test.not_worse()
    found = pd.DataFrame({
        "method": names, "average rank": test.ranks.map("{:.1f}".format).to_numpy(),
        "differs from the best": ["no" if name in near else "yes" for name in names],
        concern.cost: cost.reindex(names).map("{:.3f}".format).to_numpy(),
        "certificate, fits proved optimal": [certified(name, fits) for name in names], "tables": len(tables),
    })  # fmt: skip
    return found, test.critical_difference


def _closed(rows: pd.DataFrame) -> pd.Series:
    """Share of fits whose objective meets its bound, of the methods that have one."""
    fits = rows.pivot_table("value", ["dataset", "method", "split"], "metric")
    if "certificate bound" not in fits:
        return pd.Series(dtype=float)
    fits = fits.dropna(subset="certificate bound")
    closed = np.isclose(fits["objective"], fits["certificate bound"], rtol=1e-6, atol=0)
    return pd.Series(closed, fits.index).groupby(level="method").mean()
