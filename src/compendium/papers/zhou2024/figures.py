"""Figures of Zhou et al. (2024): tables of clusterings, and curves over the weight."""

import textwrap
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from evenspan.displays.style import COLOURS

from ... import method_styles
from ...figures import arms, explained, grid


def clustering_metrics(summary: pd.DataFrame, metrics: Sequence[str], published: pd.DataFrame | None = None) -> Figure:
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


def kernel_weights(weights: pd.DataFrame, names: list[str]) -> Figure:
    """The weight of every kernel, one marker a method: mean over the seeds and range; a line for equal weights."""
    methods = method_styles.styles_of(weights["method"])
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
    return explained(fig, method_styles.handles(methods.values()), fontsize="small")


def against(spread: pd.DataFrame, fairness: str, qualities: Sequence[str]) -> Figure:
    """A spread's qualities against its fairness: one marker for each method and weight, with ranges; a panel a quality.

    Points of a method are joined in the order of its weights; a panel is turned over where lower is better."""
    dress = method_styles.styles_of(spread["method"])
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


def weight_axis(panel: Axes, weights: pd.Series) -> None:
    """Linear from 0 to a tenth, then logarithmic."""
    top = float(weights.max())
    panel.set_xscale("symlog", linthresh=0.1, linscale=0.5)
    ticks = [0.0, *(10.0**e for e in range(-1, 6) if 10.0**e <= top)]
    panel.xaxis.set_major_locator(FixedLocator(ticks))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticklabels([f"{tick:g}" for tick in ticks])
    panel.set_xlim(-0.025, 1.4 * top)
