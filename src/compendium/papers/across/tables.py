"""Data frames that compare all methods on all data, for pages to show: means with intervals, ranks, prices of a gap."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from evenspan import metrics
from evenspan.core.answer import Certificate, FairSubspace
from evenspan.core.moments import GroupMoments
from evenspan.methods import METHODS, Method
from evenspan.reconstruction import DisparityFairPCA

from ...data.registry import entry
from ...method_styles import ordered
from ..vu2022 import methods as vu2022
from .protocol import DATASETS, METRICS, Evaluation, Parts, fit_all, in_sample
from .summary import Friedman

#: Where each method is derived, as a page of the book.
CHAPTERS = {
    name: page
    for page, names in {
        "foundations/joint-range": ("PCA", "u-FPCA", "c-FPCA"),
        "papers/vu2022/min-max": ("Min-max loss", "Min-max error"),
        "papers/vu2022/derivation": ("Robust PCA (radius 0)", "Robust PCA"),
        "papers/rathore2025/derivation": ("JEVD-PCA",),
        "papers/kleindessner2023/derivation": ("Fair PCA", "Fair PCA (covariance)"),
        "papers/kleindessner2023/relaxations": ("Convex PCA (mean)", "Convex PCA (both)", "RLACE"),
        "papers/kleindessner2023/erasure": ("LEACE", "INLP"),
        "papers/kleindessner2023/penalty": ("MMD PCA",),
        "papers/lee2023/derivation": ("Null-it-out PCA",),
        "papers/lee2023/power-method": ("Streaming null-it-out",),
    }.items()
    for name in names
}
#: Below this share of PCA's value a gap or a price is zero to the accuracy of the solvers.
NOTHING = 1e-6


def labels() -> dict[str, str]:
    """The short title of every data set that is compared, by its name."""
    return {name: re.split(r" \(|,", entry(name).title)[0] for name in DATASETS}


def number(value: float, half: float | None = None) -> str:
    """``0.412 ± 0.013``: three decimals, two above ten; powers of ten below a thousandth; a dash for nothing."""
    if pd.isna(value):
        return "–"
    if 0 < abs(value) < 5e-4:
        return f"{value:.0e}" if half is None or pd.isna(half) else f"{value:.0e} ± {half:.0e}"
    digits = 2 if abs(value) >= 10 else 3
    spread = "" if half is None or pd.isna(half) else f" ± {half:.{digits}f}"
    return f"{value:.{digits}f}{spread}"


def percent(share: float) -> str:
    """``+4.20%``, with two decimals; below a hundredth of a per cent one digit."""
    return f"{share:+.2%}" if share >= 1e-4 or share <= 0 else f"{100 * share:+.1g}%"


def wide(means: pd.DataFrame, column: str, order: Iterable[str]) -> pd.DataFrame:
    """The means of methods, and half their intervals, by the values of a column; of every column the best is bold."""
    small = means["metric"].map(lambda metric: METRICS[metric].lower)
    signed = means["mean"].where(small, -means["mean"])
    bold = np.isclose(signed, signed.groupby(means[column]).transform("min"), rtol=1e-9, atol=1e-12)
    texts = map(number, means["mean"], (means["high"] - means["low"]) / 2)
    texts = [f"<strong>{text}</strong>" if mark else text for text, mark in zip(texts, bold, strict=True)]
    found = means.assign(text=texts).pivot(index="method", columns=column, values="text").fillna("–")
    return found.loc[ordered(found.index), [name for name in order if name in found]].reset_index()


def rank_rows(tests: Iterable[Friedman | None]) -> pd.DataFrame:
    """Friedman's tests as one frame: ``criterion, metric, k, method, rank, difference, blocks, p``."""
    columns = ["criterion", "metric", "k", "method", "rank", "difference", "blocks", "p"]
    rows = [
        (METRICS[test.metric].criterion, test.metric, test.k, method, rank,
         test.critical_difference, len(test.datasets), test.p)
        for test in tests
        if test is not None
        for method, rank in test.ranks.items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def panels(
    named: Mapping[str, tuple[str, int]], parts: Parts | None = None, added: Mapping[str, Method] = MappingProxyType({})
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Errors, relative to PCA's, and gaps on all rows of the methods of moments and ``added``, and the least possible.

    ``named`` gives data sets and k by the titles of panels. LEACE is oblique: its gap may lie beyond the line."""
    points, lines = [], []
    for title, (dataset, k) in named.items():
        every = in_sample(dataset) if parts is None else parts
        evaluation = Evaluation(every, k)
        for name in (*(name for name, method in METHODS.items() if not method.points), *added):
            answer = fit_all(name, (k,), every, 0, {**METHODS, **added})[k].answer
            if answer is not None:
                seen, back = evaluation.measures(answer), answer.V @ answer.B.T
                projection = np.abs(back - back.T).max() <= 1e-8
                points.append((title, name, seen["relative error"], seen["error gap"], projection))
        lines += [(title, *point) for point in _line(every.train, k, evaluation.base)]
    columns = ["dataset", "method", "error", "gap", "projection"]
    return pd.DataFrame(points, columns=columns), pd.DataFrame(lines, columns=["dataset", "error", "gap"])


def _line(moments: GroupMoments, k: int, base: float) -> list[tuple[float, float]]:
    """Least mean errors of all projections with a gap or less, up to the certified answer of u-FPCA."""

    def point(V: np.ndarray) -> tuple[float, float, float]:
        subspace = FairSubspace(V, moments.mean, Certificate("a boundary point", np.nan, np.nan))
        errors = metrics.group_errors(moments, subspace)
        return float(moments.counts @ errors / moments.n) / base, float(np.ptp(errors, axis=0)), errors[0] - errors[1]

    last = point(DisparityFairPCA(k).fit_moments(moments).components_.T)
    along = [point(answer.V) for answer in vu2022.frontier(moments, k)]
    same_side = [p for p in along if p[2] * along[0][2] > 0 and p[1] > last[1]]
    return [p[:2] for p in (*same_side, last)]


def prices(lines: pd.DataFrame) -> pd.DataFrame:
    """For each data set what no method can avoid: the error at which the gap is halved, and at its smallest."""
    rows = []
    for name, line in lines.groupby("dataset", sort=False):
        error, gap = line.sort_values("error", kind="stable")[["error", "gap"]].to_numpy().T
        half, beyond = gap[0] / 2, error - 1
        costs = percent(np.interp(half, gap[::-1], beyond[::-1])) if gap[-1] <= half else "impossible"
        least = number(gap[-1]) if gap[-1] > NOTHING * gap[0] else "0"
        rows.append((name, number(gap[0]), costs, least, percent(beyond[-1])))
    columns = ["data set", "gap of PCA", "half of it costs", "smallest gap", "the smallest costs"]
    return pd.DataFrame(rows, columns=columns)


def floor(line: pd.DataFrame, errors: np.ndarray) -> np.ndarray:
    """Gaps below which no projection with these errors (m,) lies: a convex curve is above its prolonged chords."""
    x, y = line.sort_values("error", kind="stable")[["error", "gap"]].drop_duplicates("error").to_numpy().T
    found = np.full(len(errors), y[-1])
    slopes = np.diff(y) / np.diff(x)
    for i, slope in enumerate(slopes):  # a chord bounds the curve everywhere but between its own ends
        outside = (errors < x[i]) | (errors > x[i + 1])
        found = np.where(outside, np.maximum(found, y[i] + slope * (errors - x[i])), found)
    return found
