"""Figures of learnability: errors against the rows of a block, rows needed for each factor, measures over blocks."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from evenspan.displays import method_looks
from evenspan.displays.style import COLOURS, INK, MARKERS

#: Below this a value is rounding noise, or has no logarithm because it is not above zero.
TINY = 1e-8


def errors(curves: pd.DataFrame, slopes: pd.DataFrame, shown: tuple[str, ...] = ("eps_f", "eps_o")) -> Figure:
    """Upper quantiles against the rows of a block, both logarithmic: a row of panels a measure, a column a population.

    A hollow marker stands for a value that is rounding noise or not above zero, and lies below all others of its row.
    The slopes in the panels are those over all sizes.

    Parameters
    ----------
    curves : DataFrame
        Columns ``generator``, ``experiment``, ``metric``, ``size``, ``quantile``.
    slopes : DataFrame
        Columns ``generator``, ``experiment``, ``metric``, ``sizes``, ``slope``, ``low``, ``high``.
    shown : tuple of str
        The measures.
    """
    generators, experiments = (list(dict.fromkeys(curves[name])) for name in ("generator", "experiment"))
    size = (3.7 * len(generators) + 0.6, 2.9 * len(shown) + 0.9)
    fig, axes = plt.subplots(
        len(shown), len(generators), figsize=size, squeeze=False, sharex=True, sharey="row", layout="constrained"
    )
    for line, metric in zip(axes, shown, strict=True):
        row = curves[curves["metric"] == metric]
        floor = 0.4 * float(row.loc[row["quantile"] > TINY, "quantile"].min())
        for panel, generator in zip(line, generators, strict=True):
            here = row[row["generator"] == generator]
            for (experiment, colour, marker), lift in zip(_looks(experiments), (0.02, 0.10, 0.18), strict=False):
                some = here[here["experiment"] == experiment].sort_values("size")
                if len(some):
                    _error_line(panel, some, colour, marker, floor)
                _slope_text(panel, slopes, (generator, experiment, metric), colour, lift)
            panel.set(xscale="log", yscale="log", title=f"{metric}, {generator}")
            panel.set_ylim(bottom=floor / 30.0)  # room for the slopes
        line[0].set_ylabel(f"{metric}, 90 % quantile")
    for panel in axes[-1]:
        panel.set_xlabel("rows of a block")
    handles = [Line2D([], [], color=c, marker=m, label=name) for name, c, m in _looks(experiments)]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def rows_needed(needs: pd.DataFrame, levels: dict[str, float], shown: tuple[str, ...] = ("eps_f", "eps_o")) -> Figure:
    """Rows of one phase until a measure reaches its level, against every factor, with 95 % intervals.

    Parameters
    ----------
    needs : DataFrame
        Columns ``factor``, ``metric``, ``against``, ``rows``, ``low``, ``high``.
    levels : dict of str to float
        What is to be reached.
    shown : tuple of str
        The measures.
    """
    factors = list(dict.fromkeys(needs["factor"]))
    across = min(4, len(factors))
    down = -(-len(factors) // across)
    size = (2.9 * across + 0.6, 2.6 * down + 0.8)
    fig, axes = plt.subplots(down, across, figsize=size, squeeze=False, sharey=True, layout="constrained")
    for panel, factor in zip(axes.flat, factors, strict=False):
        for metric, colour, marker in _looks(list(shown)):
            some = needs[(needs["factor"] == factor) & (needs["metric"] == metric)].sort_values("against")
            ends = [some["rows"] - some["low"], some["high"] - some["rows"]]
            ends = np.maximum(ends, 0.0)
            panel.errorbar(some["against"], some["rows"], yerr=ends, color=colour, marker=marker, capsize=2)
        panel.set(xscale="log", yscale="log", title=factor)
        ticks = sorted(needs.loc[needs["factor"] == factor, "against"].unique())
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.xaxis.set_minor_formatter(NullFormatter())
    for panel in axes.flat[len(factors) :]:
        panel.axis("off")
    for line in axes:
        line[0].set_ylabel("rows of a phase")
    handles = [
        Line2D([], [], color=c, marker=m, label=f"until {name} is {levels[name]:g}")
        for name, c, m in _looks(list(shown))
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def strips(rows: pd.DataFrame, label: str) -> Figure:
    """One line a method, one mark a run, and a bar at the median.

    Parameters
    ----------
    rows : DataFrame
        Columns ``method``, ``value``.
    label : str
        What the values are.
    """
    methods = method_looks.looks(rows["method"])
    fig, panel = plt.subplots(figsize=(6.4, 0.45 * len(methods) + 1.0), layout="constrained")
    for y, (method, own) in enumerate(methods.items()):
        values = np.sort(rows.loc[rows["method"] == method, "value"].to_numpy())
        spread = y + 0.5 * (np.arange(len(values)) / max(len(values) - 1, 1) - 0.5)
        panel.plot(values, spread, linestyle="", markersize=4, alpha=0.6, **own.mark())
        panel.vlines(np.median(values), y - 0.38, y + 0.38, color=INK, linewidth=2)
    panel.set_yticks(range(len(methods)), methods)
    panel.set(xlabel=label, xlim=(0.0, 1.03))
    panel.invert_yaxis()
    return fig


def by_shift(rows: pd.DataFrame, shown: dict[str, str]) -> Figure:
    """Median of some measures against the length of a shift, one panel a measure and one line a way of centring.

    Parameters
    ----------
    rows : DataFrame
        Columns ``method``, ``metric``, ``parameter``, ``median``.
    shown : dict of str to str
        Measures and the labels of their axes.
    """
    fig, axes = plt.subplots(1, len(shown), figsize=(3.3 * len(shown), 3.3), squeeze=False, layout="constrained")
    methods = method_looks.looks(rows["method"])
    for panel, (metric, label) in zip(axes.flat, shown.items(), strict=True):
        for shift, (method, own) in enumerate(methods.items()):
            some = rows[(rows["metric"] == metric) & (rows["method"] == method)].sort_values("parameter")
            panel.plot(some["parameter"], some["median"], markersize=10 - 2.5 * shift, **own.line())
        panel.set(xlabel="length of the overall mean", ylabel=label)
        panel.set_ylim(bottom=0.0)
    handles = method_looks.handles(methods.values(), lines=True)
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def over_blocks(found: pd.DataFrame, measures: tuple[str, ...]) -> Figure:
    """Measures after every block of the second phase, one panel a measure and one line a method.

    Parameters
    ----------
    found : DataFrame
        Columns ``method``, ``metric``, ``block``, ``median``, ``smallest``, ``largest``.
    measures : tuple of str
        The panels.
    """
    fig, axes = plt.subplots(1, len(measures), figsize=(3.6 * len(measures), 3.5), squeeze=False, layout="constrained")
    methods = method_looks.looks(found["method"])
    for panel, metric in zip(axes.flat, measures, strict=True):
        for shift, (method, own) in enumerate(methods.items()):
            some = found[(found["metric"] == metric) & (found["method"] == method)].sort_values("block")
            ends = some["smallest"], some["largest"]
            panel.fill_between(some["block"], *ends, color=own.colour, alpha=0.2, linewidth=0)
            panel.plot(some["block"], some["median"], markevery=(shift, 4), markersize=6, **own.line())
        panel.set(title=metric, xlabel="block of the second phase")
        panel.set_ylim(bottom=0.0)
        panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    handles = method_looks.handles(methods.values(), lines=True)
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def _looks(names: list[str]) -> list[tuple[str, str, str]]:
    return list(zip(names, COLOURS, MARKERS, strict=False))


def _error_line(panel: Axes, some: pd.DataFrame, colour: str, marker: str, floor: float) -> None:
    above = (some["quantile"] > TINY).to_numpy()
    drawn = some["quantile"].where(above, floor)
    panel.plot(some["size"], drawn, color=colour, linewidth=1)
    panel.plot(some["size"][above], drawn[above], linestyle="", marker=marker, color=colour)
    panel.plot(some["size"][~above], drawn[~above], linestyle="", marker=marker, color=colour, markerfacecolor="white")
    panel.yaxis.set_major_locator(LogLocator(numticks=6))


def _slope_text(panel: Axes, slopes: pd.DataFrame, key: tuple[str, str, str], colour: str, lift: float) -> None:
    chosen = (slopes[["generator", "experiment", "metric"]] == list(key)).all(axis=1) & (slopes["sizes"] == "all")
    for row in slopes[chosen].to_dict("records"):
        text = f"slope {row['slope']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        panel.text(0.03, lift, text, transform=panel.transAxes, color=colour, fontsize="small")
