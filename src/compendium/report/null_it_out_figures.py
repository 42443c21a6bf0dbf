"""Figures of the experiments on null-it-out fair PCA: each takes tidy data and returns a matplotlib figure."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenspan.displays.method_looks import looks
from evenspan.displays.style import COLOURS, INK, MARKERS, SOURCES

#: In sample dashed and hollow, on other points solid and filled.
IN_SAMPLE = "in sample"


def price_of_directions(price: pd.DataFrame, references: pd.DataFrame | None = None) -> Figure:
    """What is kept, what gap is left and what readers still see, against the number of removed directions.

    Parameters
    ----------
    price : DataFrame
        Columns ``family``, ``m`` (0 for the mean alone), ``metric``, ``protocol``, ``mean``, ``std``. One panel a
        metric, one line for each family and protocol.
    references : DataFrame, optional
        Columns ``method``, ``metric``, ``mean``: horizontal lines.
    """
    metrics, families = list(dict.fromkeys(price["metric"])), list(dict.fromkeys(price["family"]))
    own = looks(families)
    places = {m: place for place, m in enumerate(sorted(price["m"].unique()))}
    fig, axes = plt.subplots(
        1, len(metrics), figsize=(3.1 * len(metrics) + 0.6, 3.9), squeeze=False, layout="constrained"
    )
    lines = [] if references is None else list(dict.fromkeys(references["method"]))
    for panel, metric in zip(axes.flat, metrics, strict=True):
        for number, family in enumerate(families):
            colour, marker = own[family].colour, own[family].marker
            for protocol in dict.fromkeys(price["protocol"]):
                some = price[
                    (price["metric"] == metric) & (price["family"] == family) & (price["protocol"] == protocol)
                ]
                inside = protocol == IN_SAMPLE
                panel.errorbar(
                    some["m"].map(places) + 0.08 * (number - (len(families) - 1) / 2),
                    some["mean"],
                    yerr=None if inside else some["std"],
                    color=colour,
                    marker=marker,
                    linestyle="--" if inside else "-",
                    markerfacecolor="white" if inside else colour,
                    capsize=2,
                    linewidth=1.3,
                )
        for method, dash in zip(lines, (":", "-."), strict=False):
            level = references.loc[(references["method"] == method) & (references["metric"] == metric), "mean"]
            for value in level:
                panel.axhline(value, color=INK, linestyle=dash, linewidth=1)
        if metric.startswith("AUC"):
            panel.axhline(0.5, color="#999999", linewidth=0.8)
        panel.set_title(metric.replace("AUC of the group", "AUC"))
        panel.set_xticks(list(places.values()), [str(m) if m else "mean" for m in places])
        panel.set_xlabel("m, gap directions removed")
    handles = [Line2D([], [], color=own[family].colour, marker=own[family].marker, label=family) for family in families]
    handles += [
        Line2D([], [], color=INK, linestyle="-", marker="o", label="test part"),
        Line2D([], [], color=INK, linestyle="--", marker="o", mfc="white", label="training part"),
    ]
    handles += [
        Line2D([], [], color=INK, linestyle=dash, linewidth=1, label=f"{method}, test part")
        for method, dash in zip(lines, (":", "-."), strict=False)
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def convergence(points: pd.DataFrame, floor: float = 1e-16) -> Figure:
    """How far power iterations are from their limit, against the ratio of eigenvalues to the power of the steps.

    Parameters
    ----------
    points : DataFrame
        Columns ``what``, ``m``, ``rate``, ``sine``; one panel for each ``what``, one colour and marker for each m.
        Without any row the figure says so.
    floor : float
        Smaller values are drawn here: they are rounding.
    """
    if points.empty:
        fig, panel = plt.subplots(figsize=(6.4, 1.6), layout="constrained")
        panel.text(0.5, 0.5, "No ratio is determined here: too few eigenvalues are above rounding.", ha="center")
        panel.set_axis_off()
        return fig
    kinds, sizes = list(dict.fromkeys(points["what"])), sorted(points["m"].unique())
    fig, axes = plt.subplots(1, len(kinds), figsize=(4.3 * len(kinds) + 0.8, 4.2), squeeze=False, layout="constrained")
    dress = dict(zip(sizes, zip(COLOURS, MARKERS, strict=True), strict=False))
    for panel, what in zip(axes.flat, kinds, strict=True):
        of_kind = points[points["what"] == what]
        for m, some in of_kind.groupby("m"):
            colour, marker = dress[m]
            rate, sine = some["rate"].clip(lower=floor), some["sine"].clip(lower=floor)
            panel.plot(rate, sine, marker, color=colour, alpha=0.75, markersize=6)
        ends = np.array([of_kind["rate"].clip(lower=floor).min(), 1.0])
        panel.plot(ends, ends, color=INK, linewidth=1, linestyle=":")
        panel.set(xscale="log", yscale="log", xlabel="(ratio of eigenvalues) ^ steps", title=what)
        panel.set_ylim(top=2.0)
    axes[0, 0].set_ylabel("sine of the largest angle")
    handles = [
        Line2D([], [], color=dress[m][0], marker=dress[m][1], linestyle="", label=f"m = {m}" if m else "mean")
        for m in sizes
    ]
    handles.append(Line2D([], [], color=INK, linestyle=":", label="sine = ratio ^ steps"))
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def beside_quoted(table: pd.DataFrame) -> Figure:
    """Ours, with the deviation over the splits, and quoted numbers: one panel a metric, one line a method.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``metric``, ``quoted``, ``mean``, ``std``.
    """
    metrics, methods = list(dict.fromkeys(table["metric"])), list(dict.fromkeys(table["method"]))
    size = (2.7 * len(metrics) + 1.4, 0.27 * len(methods) + 1.3)
    fig, axes = plt.subplots(1, len(metrics), figsize=size, sharey=True, squeeze=False, layout="constrained")
    y, (ours, mark), (theirs, diamond) = np.arange(len(methods)), SOURCES["full run"], SOURCES["published"]
    for panel, metric in zip(axes.flat, metrics, strict=True):
        some = table[table["metric"] == metric].set_index("method").reindex(methods)
        panel.errorbar(some["mean"], y, xerr=some["std"].fillna(0.0), fmt=mark, color=ours, capsize=2, linewidth=1)
        panel.plot(some["quoted"], y, diamond, color=theirs, markerfacecolor="none", markersize=8)
        panel.set_title(metric.replace("Delta_", "Δ ").replace("^2", "²"))
        panel.set_yticks(y, methods)
    axes[0, 0].set_ylim(len(methods) - 0.5, -0.5)
    handles = [
        Line2D([], [], color=ours, marker=mark, label="ours, full run"),
        Line2D([], [], color=theirs, marker=diamond, mfc="none", linestyle="", label="in the authors' file"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig
