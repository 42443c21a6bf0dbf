"""Every linear method meets every data set under one judge, one split and one preparation.

No paper made this comparison: each has its own data, preparation and measures. Everything below, and in
``across_data``, ``evenspan.methods`` and ``across_judge``, was fixed before any result was seen.

- Data: the tables with groups of all papers, of several versions of one source one (``across_data.DATASETS``).
- Splits: ten, 70 / 30 within each group, the same for all methods; ``numpy.random.default_rng((SEED, split))``.
- Components: 2, 5 and 10 where that is below the number of features. Methods are ranked where k is at most half of it.
- Methods: one setting each (``evenspan.methods``). What a method cannot do is a row without value and with the
  reason; if that happens on one split, there is no mean over the others.
- Judge: ``across_judge.METRICS`` on the held-out part.

Stored are, for every data set, method, k and metric, the mean over the splits and, as a metric of its own, the sample
standard deviation over them (``error gap, deviation``), to seven digits. ``certified`` is the share of splits whose
certificate closed to 1e-6: that of the method's own problem, which for the erasures is only the choice of directions in
what they leave. ``seconds`` is the mean time of a fit, without that of the moments for methods that need no more.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from evenspan.methods import METHODS

from .across_data import DATASETS, SEED, SPLITS, Parts, parts_of, prepared, sizes, whole
from .across_judge import FACTS, METRICS, Judge
from .across_solvers import Fit, fit_all

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]
HELD_OUT, IN_SAMPLE = "held-out", "in-sample"
#: Methods of one task: those of moments, and each of the others by itself.
MOMENTS = "moments"
DEVIATION = ", deviation"
DIGITS = 7


def tasks() -> list[dict]:
    """One unit of work for each data set and the methods of moments, and for each method that needs the points."""
    methods = [MOMENTS, *(name for name, method in METHODS.items() if method.points)]
    return [{"dataset": dataset, "methods": name} for name in methods for dataset in DATASETS]


def run_task(dataset: str, methods: str) -> pd.DataFrame:
    """Means and deviations over the splits."""
    data, found = prepared(dataset), {}
    names = [name for name, method in METHODS.items() if not method.points] if methods == MOMENTS else [methods]
    for split in SPLITS:
        wanted = [name for name in names if split < METHODS[name].splits]
        if not wanted:
            continue
        for key, values in _judged(dataset, parts_of(data, split), wanted, split):
            found.setdefault(key, []).append(values)
    rows = [(dataset, name, k, "all", HELD_OUT, *row) for (name, k), per in found.items() for row in summarised(per)]
    return pd.DataFrame(rows, columns=COLUMNS)


def run(dataset: str) -> pd.DataFrame:
    """The same in sample, on shipped moments of all rows: methods of moments, and metrics of moments."""
    moments = whole(dataset)
    if moments is None:
        why = "no moments of this data set are shipped: the full run has it"
        rows = [(dataset, name, k, "all", IN_SAMPLE, "relative error", np.nan, why) for name, k in _cells(dataset)]
        return pd.DataFrame(rows, columns=COLUMNS)
    names, rows = [name for name, method in METHODS.items() if not method.points], []
    for (name, k), values in _judged(dataset, Parts(moments, moments), names, 0):
        rows += [(dataset, name, k, "all", IN_SAMPLE, metric, value, why) for metric, (value, why) in values.items()]
    why = "the method needs the points, and only moments are at hand: the full run has it"
    rows += [
        (dataset, name, k, "all", IN_SAMPLE, metric, np.nan, why)
        for name, k in _cells(dataset)
        if METHODS[name].points
        for metric in METRICS
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _cells(dataset: str) -> Iterable[tuple[str, int]]:
    return [(name, k) for name in METHODS for k in sizes(dataset)]


def _judged(dataset: str, parts: Parts, names: Iterable[str], split: int):
    """Pairs of (method, k) and its values: metric -> (value, reason)."""
    judges = {k: Judge(parts, k) for k in sizes(dataset)}
    for name in names:
        for k, fit in fit_all(name, sizes(dataset), parts, split).items():
            yield (name, k), _values(judges[k], fit)


def _values(judge: Judge, fit: Fit) -> dict[str, tuple[float, str]]:
    if fit.answer is None:
        return dict.fromkeys((*METRICS, *FACTS), (np.nan, fit.reason))
    values = {metric: (value, reason) for metric, value, reason in judge.judged(fit.answer)}
    return values | {"certified": (float(fit.certified), ""), "seconds": (fit.seconds, "")}


def summarised(per_split: list[dict[str, tuple[float, str]]]) -> list[tuple[str, float, str]]:
    """Rows ``(metric, value, reason)`` of one method: mean and deviation over splits, or why there is none."""
    rows = []
    for metric in (*METRICS, *FACTS):
        values = np.array([split[metric][0] for split in per_split])
        missing = [split[metric][1] for split in per_split if not np.isfinite(split[metric][0])]
        if missing:
            rows.append((metric, np.nan, _told(missing, len(per_split))))
            continue
        rows.append((metric, _rounded(values.mean(axis=0)), ""))
        if metric in METRICS and len(values) > 1:
            rows.append((metric + DEVIATION, _rounded(values.std(axis=0, ddof=1)), ""))
    rows.append(("splits", float(len(per_split)), ""))
    return rows


def _told(reasons: list[str], splits: int) -> str:
    if len(reasons) == splits:
        return reasons[0]
    return f"no value on {len(reasons)} of {splits} splits: {reasons[0]}"


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


__all__ = ["DATASETS", "METHODS", "METRICS", "SEED", "run", "run_task", "summarised", "tasks"]
