"""Data frames that compare all methods on all data, for pages to show: means with intervals, ranks, prices of a gap."""

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from evenspan.displays.method_looks import ordered

from ...data.registry import entry
from .protocol import DATASETS, METRICS
from .summary import Friedman, frontier

#: Where each method is derived, as a page of the book.
CHAPTERS = {
    "PCA": "foundations/joint-range",
    "Min-max loss": "papers/vu2022/min-max",
    "JEVD-PCA": "papers/rathore2025/derivation",
    "Min-max error": "papers/vu2022/min-max",
    "Robust PCA (radius 0)": "papers/vu2022/derivation",
    "Robust PCA": "papers/vu2022/derivation",
    "u-FPCA": "foundations/joint-range",
    "c-FPCA": "foundations/joint-range",
    "Fair PCA": "papers/kleindessner2023/derivation",
    "Convex PCA (mean)": "papers/kleindessner2023/relaxations",
    "LEACE": "papers/kleindessner2023/erasure",
    "INLP": "papers/kleindessner2023/erasure",
    "RLACE": "papers/kleindessner2023/relaxations",
    "Fair PCA (covariance)": "papers/kleindessner2023/derivation",
    "Convex PCA (both)": "papers/kleindessner2023/relaxations",
    "Null-it-out PCA": "papers/lee2023/derivation",
    "Streaming null-it-out": "papers/lee2023/power-method",
    "MMD PCA": "papers/kleindessner2023/penalty",
}
#: Below this share of PCA's value a gap or a price is zero to the accuracy of the solvers.
NOTHING = 1e-6


def labels() -> dict[str, str]:
    """The short title of every data set that is compared, by its name."""
    return {name: re.split(r" \(|,", entry(name).title)[0] for name in DATASETS}


# -- means and ranks ---------------------------------------------------------------------------------------------------


def number(value: float, half: float | None = None) -> str:
    """``0.412 ± 0.013``: three decimals, two above ten; powers of ten below a thousandth; a dash for nothing.

    >>> number(0.41234, 0.0127), number(123.456), number(3.2e-9), number(float("nan"))
    ('0.412 ± 0.013', '123.46', '3e-09', '–')
    """
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
    """The means of methods (down) by the values of a column, in an order; of every column the best is bold.

    A cell has half the width of its interval. ``means`` are those of one metric, or of several in the columns.
    """
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


def panels(named: Mapping[str, tuple[str, int]], *given) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points and certified frontiers of data sets and numbers of components, with the titles of their panels.

    The titles stand in the column ``dataset``; what else is given goes to ``frontier``.
    """
    columns = ["dataset", "method", "error", "gap", "projection"]
    points, lines = [pd.DataFrame(columns=columns)], [pd.DataFrame(columns=["dataset", "error", "gap"])]
    for title, (dataset, k) in named.items():
        some, line = frontier(dataset, k, *given)
        points.append(some.assign(dataset=title))
        lines.append(line.assign(dataset=title))
    return tuple(pd.concat(some[1:] or some, ignore_index=True) for some in (points, lines))


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
    """Gaps below which no projection with these errors (m,) lies, by one certified frontier.

    Between two points of a convex curve it is above the chords before and after, prolonged.
    """
    x, y = line.sort_values("error", kind="stable")[["error", "gap"]].drop_duplicates("error").to_numpy().T
    found = np.full(len(errors), y[-1])
    slopes = np.diff(y) / np.diff(x)
    for i, slope in enumerate(slopes):  # a chord bounds the curve everywhere but between its own ends
        outside = (errors < x[i]) | (errors > x[i + 1])
        found = np.where(outside, np.maximum(found, y[i] + slope * (errors - x[i])), found)
    return found
