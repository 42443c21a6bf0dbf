"""Figures of trade-offs: accuracy against a violation of fairness, one marker for each parameter value, and times."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter

from evenspan.displays.method_looks import Look, handles, looks
from evenspan.displays.style import COLOURS, MARKERS

#: Weights of the second block as they are written in a legend.
WEIGHTS = {"lambda^3": "λ³ (released)", "lambda": "λ (printed)", "": ""}


def tradeoff(points: pd.DataFrame, violation: str, trivial: tuple[str, ...] = ()) -> Figure:
    """Accuracy against the violation, a row of panels for each classifier and size, a column for each data set.

    Points of one method are joined in the order of their parameter. Upper left is better.

    Parameters
    ----------
    points : DataFrame
        Columns ``dataset``, ``classifier``, ``size``, ``method``, ``parameter``, ``accuracy`` and the violation.
    violation : str
        The column of the horizontal axis.
    trivial : tuple of str
        Methods without a parameter: they come last.
    """
    methods = [name for name in dict.fromkeys(points["method"]) if name not in trivial]
    own = looks([*methods, *trivial])
    lines = list(points.groupby(["classifier", "size"], sort=False).groups)
    columns = list(dict.fromkeys(points["dataset"]))
    fig, axes = _panels(len(lines), len(columns))
    for line, row in zip(lines, axes, strict=True):
        for dataset, panel in zip(columns, row, strict=True):
            here = (points["classifier"] == line[0]) & (points["size"] == line[1]) & (points["dataset"] == dataset)
            for method, some in points[here].groupby("method", sort=False):
                _curve(panel, some, violation, own[method])
            panel.set_title(f"{dataset}, {line[0]}\n{line[1]}")
    return _finished(fig, axes, violation, handles(own.values(), lines=True))


def powers(points: pd.DataFrame, violation: str) -> Figure:
    """The same points of one representation with the second block weighted by lambda and by its third power.

    A column of panels for each data set; the values of lambda at the ends and in the middle stand beside their markers.

    Parameters
    ----------
    points : DataFrame
        Columns ``dataset``, ``weight``, ``parameter``, ``accuracy`` and the violation.
    violation : str
        The column of the horizontal axis.
    """
    weights = [name for name in WEIGHTS if name in set(points["weight"])]
    own = {
        weight: Look(colour, marker, dash, WEIGHTS[weight], fill, 5.5, "", "")
        for weight, colour, marker, dash, fill in zip(
            weights, COLOURS, MARKERS, ("-", "--", ":"), ("full", "none", "full"), strict=False
        )
    }
    columns = list(dict.fromkeys(points["dataset"]))
    fig, axes = _panels(1, len(columns))
    for dataset, panel in zip(columns, axes[0], strict=True):
        for shift, weight in enumerate(weights):
            some = points[(points["dataset"] == dataset) & (points["weight"] == weight)]
            _curve(panel, some, violation, own[weight])
            for one in some[some["parameter"].isin([0.1, 0.5, 0.9])].to_dict("records"):
                panel.annotate(
                    f"{one['parameter']:g}", (one[violation], one["accuracy"]), (5, -11 if shift else 5),
                    textcoords="offset points", color=own[weight].colour, fontsize="small",
                )  # fmt: skip
        panel.set_title(dataset)
    return _finished(fig, axes, violation, handles(own.values(), lines=True))


def times(found: pd.DataFrame, unit: str) -> Figure:
    """Fitting time as a multiple of one unit against the number of training points, both logarithmic.

    Parameters
    ----------
    found : DataFrame
        Columns ``method``, ``n``, ``mean``, ``smallest``, ``largest``.
    unit : str
        What the times are multiples of.
    """
    fig, panel = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    own = looks(found["method"])
    for method, line in found.groupby("method", sort=False):
        line = line.sort_values("n")
        ends = [line["mean"] - line["smallest"], line["largest"] - line["mean"]]
        panel.errorbar(line["n"], line["mean"], yerr=ends, capsize=2, **own[method].line())
    panel.axhline(1.0, color="#888888", linewidth=1.0, linestyle=":")
    panel.set(xscale="log", yscale="log", xlabel="training points n", ylabel=f"fitting time / {unit}")
    ticks = sorted(found["n"].unique())
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize="small", rotation=30)
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.legend(loc="best", fontsize="small")
    return fig


def _panels(down: int, across: int) -> tuple[Figure, np.ndarray]:
    return plt.subplots(
        down, across, figsize=(4.4 * across + 0.4, 3.1 * down + 0.9), squeeze=False, layout="constrained"
    )


def _curve(panel: Axes, some: pd.DataFrame, violation: str, own: Look) -> None:
    line = some.sort_values("parameter")
    panel.plot(line[violation], line["accuracy"], markersize=5.5, linewidth=0.8, alpha=0.9, **own.line())


def _finished(fig: Figure, axes: np.ndarray, violation: str, entries: list[Line2D]) -> Figure:
    for panel in axes.flat:
        panel.xaxis.set_major_locator(MaxNLocator(5))
    for panel in axes[-1]:
        panel.set_xlabel(f"{violation} on the test part")
    for row in axes:
        row[0].set_ylabel("accuracy on the test part")
    fig.legend(handles=entries, loc="outside lower center", ncols=4, fontsize="small")
    return fig
