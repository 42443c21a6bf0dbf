"""Figures of Zhou et al. (2024): tables of clusterings, and curves over the weight.

A *summary* has the columns ``method``, ``metric``, ``mean`` and ``std``; a *spread* has ``method``, ``weight`` (NaN for
a method without one), ``metric``, ``median``, ``smallest`` and ``largest``, the ends of the range over the runs.
"""

import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from evenspan.displays import method_looks
from evenspan.displays.style import COLOURS, INK, looks

from ...figures import arms, explained, grid, words

#: Between 0 and this weight the axis is linear, so that 0 has a place; then logarithmic.
LINEAR_UP_TO = 0.1


# -- the tables of clusterings ----------------------------------------------------------------------------------------


def judged(summary: pd.DataFrame, metrics: Sequence[str], published: pd.DataFrame | None = None) -> Figure:
    """A summary, one panel a metric, beside the printed means; rows without a mean are left out."""
    rows = summary[summary["mean"].notna()]
    methods = list(dict.fromkeys(rows["method"]))
    y = np.arange(len(methods))
    fig, axes = grid(len(metrics), len(metrics), (1.55, 0.42 * len(methods)), (1.7, 1.3), sharey=True)
    for panel, metric in zip(axes.flat, metrics, strict=True):
        if published is not None and len(published):
            some = published[published["metric"] == metric].set_index("method").reindex(methods)
            panel.plot(some["mean"], y - 0.15, "D", color=COLOURS[1], mfc="white", markersize=6, label="printed")
        some = rows[rows["metric"] == metric].set_index("method").reindex(methods)
        own = {"color": COLOURS[0], "markersize": 6, "capsize": 2, "linewidth": 1}
        panel.errorbar(some["mean"], y + 0.1, xerr=some["std"].fillna(0.0), fmt="o", label="ours", **own)
        panel.set_title(metric)
        panel.set_yticks(y, [textwrap.fill(method, 26) for method in methods])
        panel.xaxis.set_major_locator(MaxNLocator(3))
    axes[0, 0].invert_yaxis()
    entries = axes[0, 0].get_legend_handles_labels()[0]
    return explained(fig, entries) if len(entries) > 1 else fig


def readings(table_: pd.DataFrame) -> Figure:
    """The ``deviation`` of each ``reading`` of each ``method`` from the printed row; the first one is the fixed one."""
    shown = table_.reset_index(drop=True)
    fig, panel = plt.subplots(figsize=(7.6, 0.27 * len(shown) + 1.0), layout="constrained")
    first = ~shown["method"].duplicated()
    y = np.arange(len(shown)) + 0.5 * (first.cumsum() - 1)
    panel.hlines(y, 0, shown["deviation"], color="#cccccc", linewidth=1.4)
    panel.plot(shown.loc[first, "deviation"], y[first], "o", color=COLOURS[0], label="as fixed before")
    panel.plot(shown.loc[~first, "deviation"], y[~first], "s", color=COLOURS[1], mfc="white", label="other reading")
    panel.set_yticks(y, [f"{m}: {r}" for m, r in zip(shown["method"], shown["reading"], strict=True)], fontsize="small")
    panel.set_ylim(len(shown) + 0.5 * first.sum() - 0.7, -0.8)
    panel.margins(x=0.02)
    panel.set_xlabel("mean absolute deviation from the printed ACC, NMI, Bal and MNCE")
    return explained(fig, panel.get_legend_handles_labels()[0], 2, fontsize="small")


def kernel_weights(weights: pd.DataFrame, names: list[str]) -> Figure:
    """The weight of every kernel, one marker a method: mean over the seeds, with the range; a line for equal weights.

    ``weights`` has the columns ``method``, ``kernel`` (from 1), ``mean``, ``smallest`` and ``largest``.
    """
    methods = method_looks.looks(weights["method"])
    fig, panel = plt.subplots(figsize=(7.6, 0.42 * len(names) + 1.4), layout="constrained")
    panel.axvline(1.0 / len(names), color="#888888", linestyle="--", linewidth=1.0)
    for place, (method, look) in enumerate(methods.items()):
        own = weights[weights["method"] == method].sort_values("kernel")
        y = own["kernel"] + 0.2 * (place - (len(methods) - 1) / 2)
        drawn = {"linestyle": "", "markersize": 5, "capsize": 2, "elinewidth": 1} | look.mark()
        panel.errorbar(own["mean"], y, xerr=arms(own, "mean"), **drawn)
    names = [name.replace("^2", "²").replace("^4", "⁴") for name in names]
    panel.set_yticks(range(1, len(names) + 1), [f"{i} {name}" for i, name in enumerate(names, 1)], fontsize="small")
    panel.invert_yaxis()
    panel.set_xlim(left=0.0)
    panel.set_xlabel("kernel weight; dashed: equal weights")
    return explained(fig, method_looks.handles(methods.values()), fontsize="small")


def quality_and_fairness(summary: pd.DataFrame, fairness: str, qualities: list[str]) -> Figure:
    """A summary's qualities against its fairness, one marker a method with its spread, one panel a quality."""
    if not qualities:
        return words("Without classes quality is unknown.")
    rows = summary[summary["mean"].notna()]
    wide = rows.fillna({"std": 0.0}).pivot(index="method", columns="metric", values=["mean", "std"])
    looked = method_looks.looks(rows["method"])
    fig, axes = grid(len(qualities), len(qualities), (3.9, 3.8))
    for panel, metric in zip(axes.flat, qualities, strict=True):
        for method, look in looked.items():
            own = wide.loc[method]
            drawn = {"linestyle": "", "markersize": _size(look), "capsize": 2, "elinewidth": 1} | look.mark()
            (x, y), (across, up) = ((own[name, fairness], own[name, metric]) for name in ("mean", "std"))
            panel.errorbar(x, y, xerr=across, yerr=up, **drawn)
        panel.set(xlabel=fairness, ylabel=metric)
        panel.locator_params(axis="x", nbins=5)
    entries = [Line2D([], [], linestyle="", markersize=_size(look), **look.mark()) for look in looked.values()]
    return explained(fig, entries, 5, fontsize="small")


# -- over the weight --------------------------------------------------------------------------------------------------


def against(spread: pd.DataFrame, fairness: str, qualities: Sequence[str]) -> Figure:
    """A spread's qualities against its fairness: one marker for each method and weight, with ranges; a panel a quality.

    Points of a method are joined in the order of its weights; a panel is turned over where lower is better.
    """
    dress = method_looks.looks(spread["method"])
    fig, axes = grid(len(qualities), len(qualities), (3.85, 4.3), (0.2, 0.0))
    for panel, quality in zip(axes[0], qualities, strict=True):
        for method, part in spread.groupby("method", sort=False):
            x, y = (
                part[part["metric"] == name].sort_values("weight").set_index("weight") for name in (fairness, quality)
            )
            drawn = dress[method].line() | {"linewidth": 1.0, "markersize": 5, "markeredgewidth": 0.6}
            if x.index.isna().all():
                drawn = dress[method].open() | {"linewidth": 0.0, "markersize": 8, "markeredgewidth": 1.6}
            ends = {"xerr": arms(x, "median"), "yerr": arms(y, "median")}
            panel.errorbar(x["median"], y["median"], **ends, elinewidth=0.7, alpha=0.9, **drawn)
        panel.set(xlabel=fairness, ylabel=quality)
        if quality == "clustering objective":
            panel.invert_yaxis()
    return explained(fig, axes[0, 0].get_legend_handles_labels()[0], 4, fontsize="small")


def bound(table: pd.DataFrame, chosen: float) -> Figure:
    """The bound of :func:`.tradeoff.generalisation` and its parts against the weight, with MNCE in a panel below."""
    fig, (panel, below) = plt.subplots(
        2, 1, figsize=(7.6, 5.6), layout="constrained", sharex=True, gridspec_kw={"height_ratios": [2.2, 1]}
    )
    line = table.sort_values("weight")
    shown = {"bound": "the bound, sum of both", "excess": "R(λ)", "empirical": "empirical term"}
    shown["largest possible"] = "largest value that is possible"
    sizes = {"bound": 8}  # where R makes nearly all of it, one mark lies in the other
    for (column, label), (colour, marker) in zip(shown.items(), looks(), strict=False):
        drawn = {"color": colour, "marker": marker, "linestyle": ":" if column == "largest possible" else "-"}
        drawn |= {"markersize": sizes.get(column, 5), "markerfacecolor": "none" if column in sizes else colour}
        panel.plot(line["weight"], line[column], linewidth=1.2, label=label, **drawn)
    panel.set(yscale="log", ylabel="squared distance in the fair kernel")
    below.plot(line["weight"], line["MNCE"], color=INK, marker="o", markersize=5, linewidth=1.2)
    below.set(xlabel="fairness weight λ", ylabel="MNCE", ylim=(-0.05, 1.05))
    weight_axis(below, line["weight"])
    for one in (panel, below):
        one.axvline(chosen, color="#777777", linestyle="--", linewidth=1.2, label="λ of the rule")
    return explained(fig, panel.get_legend_handles_labels()[0], 3, fontsize="small")


def starts(points: pd.DataFrame, value: str, label: str) -> Figure:
    """One value of every run: a panel a ``weight``, a row a ``start``, a marker a run; the label is below the axes."""
    names, weights = list(dict.fromkeys(points["start"])), sorted(points["weight"].unique())
    fig, axes = grid(len(weights), len(weights), (6.7 / len(weights), 0.5 * len(names)), (1.2, 1.3), sharey=True)
    for panel, weight in zip(axes[0], weights, strict=True):
        for place, (name, (colour, marker)) in enumerate(zip(names, looks(), strict=False)):
            some = points[(points["weight"] == weight) & (points["start"] == name)][value]
            panel.plot(some, np.full(len(some), place), marker, color=colour, alpha=0.6, markersize=6)
        panel.set_title(f"λ = {weight:g}")
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(len(names) - 0.5, -0.5)
        panel.locator_params(axis="x", nbins=3)
    fig.supxlabel(label, fontsize="medium")
    return fig


def _size(look: method_looks.Look) -> float:
    """Of a mark: a variant is a ring around its method where both give the same answer."""
    return 8.0 if look.fill == "full" else 12.0


def weight_axis(panel: Axes, weights: pd.Series) -> None:
    """Linear from 0 to a tenth, then logarithmic."""
    top = float(weights.max())
    panel.set_xscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.5)
    ticks = [0.0, *(10.0**e for e in range(-1, 6) if 10.0**e <= top)]
    panel.xaxis.set_major_locator(FixedLocator(ticks))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticklabels([f"{tick:g}" for tick in ticks])
    panel.set_xlim(-0.25 * LINEAR_UP_TO, 1.4 * top)
