"""What a smaller gap costs, in numbers: the unavoidable part, and what a method pays beyond it."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML

from evenspan.methods import METHODS

from ..experiments.across_summary import frontier
from .across_tables import EMPTY, number
from .tables import sentence, table

#: Below this share of PCA's value a gap or a price is zero to the accuracy of the solvers.
NOTHING = 1e-6


def panels(named: Mapping[str, tuple[str, int]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points and certified frontiers of several panels, as ``across_figures.frontiers`` takes them.

    Parameters
    ----------
    named : mapping of str to (str, int)
        Data set and number of components by the title of the panel; panels without shipped moments are left out.

    Returns
    -------
    points, lines : DataFrame
        Columns ``dataset`` (the title), ``method``, ``error``, ``gap``, ``projection``; and ``dataset``, ``error``,
        ``gap``.
    """
    points, lines = [], []
    for title, (dataset, k) in named.items():
        found = frontier(dataset, k)
        if len(found.line):
            points.append(found.points.assign(dataset=title))
            lines.append(found.line.assign(dataset=title))
    if not points:
        columns = ["dataset", "method", "error", "gap", "projection"]
        return pd.DataFrame(columns=columns), pd.DataFrame(columns=["dataset", "error", "gap"])
    return pd.concat(points, ignore_index=True), pd.concat(lines, ignore_index=True)


def prices(lines: pd.DataFrame) -> HTML:
    """For each data set what no method can avoid: the error at which the gap is halved, and at its smallest.

    Parameters
    ----------
    lines : DataFrame
        Certified frontiers: columns ``dataset``, ``error`` (PCA is 1), ``gap``.
    """
    if lines.empty:
        return sentence(EMPTY)
    rows = []
    for name, line in lines.groupby("dataset", sort=False):
        line = line.sort_values("error", kind="stable")
        gap, smallest = line["gap"].iloc[0], line["gap"].iloc[-1]
        half = gap / 2
        reached = smallest <= half
        price = float(np.interp(half, line["gap"].to_numpy()[::-1], line["error"].to_numpy()[::-1])) - 1
        rows.append(
            (name, number(gap), _percent(price) if reached else "impossible",
             number(smallest) if smallest > NOTHING * gap else "0", _percent(line["error"].iloc[-1] - 1))
        )  # fmt: skip
    columns = ["data set", "gap of PCA", "half of it costs", "smallest gap", "the smallest costs"]
    return table(
        pd.DataFrame(rows, columns=columns),
        caption="The price of a smaller gap that every projection has to pay, as additional error of all rows",
        classes="result-table words-1",
    )


def floor(line: pd.DataFrame, errors: np.ndarray) -> np.ndarray:
    """Gaps below which no projection with these errors lies: between two points of a convex curve it is above the
    chords before and after, prolonged.

    Parameters
    ----------
    line : DataFrame
        One certified frontier: columns ``error``, ``gap``.
    errors : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m,)
    """
    x, y = line.sort_values("error", kind="stable")[["error", "gap"]].drop_duplicates("error").to_numpy().T
    found = np.full(len(errors), y[-1])
    slopes = np.diff(y) / np.diff(x)
    for i, slope in enumerate(slopes):  # a chord bounds the curve everywhere but between its own ends
        outside = (errors < x[i]) | (errors > x[i + 1])
        found = np.where(outside, np.maximum(found, y[i] + slope * (errors - x[i])), found)
    return found


def excess(points: pd.DataFrame, lines: pd.DataFrame) -> HTML:
    """Additional error of every method over the cheapest projection with a gap as small, as a share of PCA's error.

    Parameters
    ----------
    points, lines : DataFrame
        As ``across_figures.frontiers`` takes them; data sets without a line are left out.
    """
    if points.empty or lines.empty:
        return sentence(EMPTY)
    parts = []
    for name, line in lines.groupby("dataset", sort=False):
        line = line.sort_values("gap", kind="stable")
        some = points[points["dataset"] == name]
        cheapest = np.interp(some["gap"], line["gap"], line["error"])
        parts.append(some.assign(excess=np.maximum(some["error"] - cheapest, 0.0)))
    every = pd.concat(parts)
    spread = every.groupby("method", sort=False)["excess"].agg(["min", "median", "max"])
    worst = every.loc[every.groupby("method", sort=False)["excess"].idxmax()].set_index("method")["dataset"]
    worst = worst.where(spread["max"] > NOTHING, "–")
    shown = spread.map("{:.2%}".format).assign(where=worst).rename_axis("method").reset_index()
    shown.columns = ["method", "smallest", "median", "largest", "largest on"]
    return table(shown, caption="Error beyond the frontier, over the data sets", classes="result-table words-1")


def survival(means: pd.DataFrame) -> HTML:
    """Held-out gap of every method relative to PCA's on the same data set: quartiles, and where it is larger.

    Parameters
    ----------
    means : DataFrame
        As ``across_summary.means`` gives them, with one number of components.
    """
    wide = means[means["metric"] == "error gap"].pivot(index="dataset", columns="method", values="mean")
    if wide.empty:
        return sentence(EMPTY)
    ratio = wide.div(wide["PCA"], axis=0)[[name for name in METHODS if name in wide and name != "PCA"]]
    rows = [
        (
            name,
            *(f"{share:.2f}" for share in some.quantile([0.25, 0.5, 0.75])),
            f"{int((some > 1).sum())} of {len(some)}",
        )
        for name, some in ((name, ratio[name].dropna()) for name in ratio)
    ]
    columns = ["method", "lower quartile", "median", "upper quartile", "larger than PCA's on"]
    shown = pd.DataFrame(rows, columns=columns)
    return table(shown, caption="Held-out gap, that of PCA = 1, over the data sets", classes="result-table words-1")


def _percent(share: float) -> str:
    return f"{share:+.2%}" if share >= 1e-4 or share <= 0 else f"{100 * share:+.1g}%"
