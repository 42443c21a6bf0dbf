"""Figures of the experiments on fair representations: each takes tidy data and returns a matplotlib figure."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenspan.displays.method_looks import group_looks, looks
from evenspan.displays.style import INK, SOURCES


def embeddings(points: pd.DataFrame, *, shared: bool = True) -> Figure:
    """Two-dimensional representations, one panel a method, a colour and a marker for each group.

    Parameters
    ----------
    points : DataFrame
        Columns ``method``, ``group``, ``x``, ``y``.
    shared : bool
        Whether all panels have the scale of the widest.
    """
    methods, groups = list(dict.fromkeys(points["method"])), group_looks(sorted(points["group"].unique()))
    wide, high = (float(np.ptp(points[axis], axis=0)) for axis in ("x", "y"))
    height = 1.3 + 3.2 * (min(max(high / wide, 0.35), 1.0) if shared else 0.8)
    fig, axes = plt.subplots(
        1,
        len(methods),
        figsize=(3.7 * len(methods), height),
        sharex=shared,
        sharey=shared,
        squeeze=False,
        layout="constrained",
    )
    for panel, method in zip(axes.flat, methods, strict=True):
        for group, own in groups.items():
            some = points[(points["method"] == method) & (points["group"] == group)]
            panel.scatter(some["x"], some["y"], s=14, alpha=0.5, color=own.colour, marker=own.marker, linewidth=0)
        panel.set(title=method, xlabel="component 1")
        panel.set_aspect("equal", adjustable="box" if shared else "datalim")
    axes[0, 0].set_ylabel("component 2")
    handles = [
        Line2D([], [], color=own.colour, marker=own.marker, linestyle="", label=f"group {group}")
        for group, own in groups.items()
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def spread_by_dimension(found: pd.DataFrame, metrics: list[str]) -> Figure:
    """Boxes over the splits: one row of panels a metric, one column a dimension, one line a method.

    The thin line runs from the smallest to the largest value, the thick one between the quartiles; the circle is the
    median, the diamond the mean of the reference.

    Parameters
    ----------
    found : DataFrame
        Columns ``method``, ``metric``, ``d``, ``smallest``, ``lower``, ``median``, ``upper``, ``largest``,
        ``reference``.
    metrics : list of str
        The rows of panels, in order.
    """
    methods, dimensions = list(dict.fromkeys(found["method"])), sorted(found["d"].unique())
    size = (3.0 * len(dimensions) + 2.2, (0.27 * len(methods) + 0.7) * len(metrics) + 0.5)
    fig, axes = plt.subplots(
        len(metrics), len(dimensions), figsize=size, sharey=True, sharex="row", squeeze=False, layout="constrained"
    )
    y, (ours, mark), (theirs, diamond) = np.arange(len(methods)), SOURCES["full run"], SOURCES["published"]
    for line, metric in zip(axes, metrics, strict=True):
        for panel, d in zip(line, dimensions, strict=True):
            some = found[(found["metric"] == metric) & (found["d"] == d)].set_index("method").reindex(methods)
            panel.hlines(y, some["smallest"], some["largest"], color=ours, linewidth=1)
            panel.hlines(y, some["lower"], some["upper"], color=ours, linewidth=5, alpha=0.5)
            panel.plot(some["median"], y, mark, color=ours, markersize=5)
            panel.plot(some["reference"], y, diamond, color=theirs, markersize=5, markerfacecolor="white")
            panel.set_title(f"{metric.replace('^2', '²')}, d = {d}")
            panel.set_yticks(y, methods)
            panel.set_ylim(len(methods) - 0.5, -0.5)
        line[0].set_xlim(left=min(0.0, line[0].get_xlim()[0]))  # after all of the row is drawn
    handles = [
        Line2D([], [], color=ours, marker=mark, label="median, quartiles and range over the splits"),
        Line2D([], [], color=theirs, marker=diamond, mfc="white", linestyle="", label="mean of the reference"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig


def pictures(rows: pd.DataFrame, side: int) -> Figure:
    """Square grey pictures in a grid, black at 0 and white at 1; in the column "direction" zero is grey.

    Parameters
    ----------
    rows : DataFrame
        Columns ``row``, ``column``, ``pixel``, ``value``; a place in the grid without pixels stays empty.
    side : int
        Height and width of a picture in pixels.
    """
    if rows.empty:
        fig, panel = plt.subplots(figsize=(6.0, 1.2))
        panel.text(0.0, 0.5, "No picture is at hand: the full run of these data has not been stored.", color=INK)
        panel.axis("off")
        return fig
    down, across = list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["column"]))
    size = (1.45 * len(across) + 1.6, 1.5 * len(down) + 0.4)
    fig, axes = plt.subplots(len(down), len(across), figsize=size, squeeze=False, layout="constrained")
    for line, name in zip(axes, down, strict=True):
        for panel, column in zip(line, across, strict=True):
            panel.set(xticks=[], yticks=[])
            panel.grid(visible=False)
            for spine in panel.spines.values():
                spine.set_visible(False)
            some = rows[(rows["row"] == name) & (rows["column"] == column)].sort_values("pixel")
            if len(some):
                image = some["value"].to_numpy(dtype=float).reshape(side, side)
                reach = np.abs(image).max(axis=None)
                low, high = (-reach, reach) if column == "direction" else (0.0, 1.0)
                panel.imshow(image, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", color=INK)
    for panel, column in zip(axes[0], across, strict=True):
        panel.set_title(column, fontsize="small")
    return fig


def readers(found: pd.DataFrame) -> Figure:
    """How well the group can be read, one panel a reader and one line a method; the broken line is chance.

    Parameters
    ----------
    found : DataFrame
        Columns ``reader``, ``method``, ``k``, ``mean``, ``smallest``, ``largest``: areas under the ROC curve.
    """
    names, methods = list(dict.fromkeys(found["reader"])), list(dict.fromkeys(found["method"]))
    fig, axes = plt.subplots(
        1, len(names), figsize=(3.3 * len(names), 3.9), sharey=True, squeeze=False, layout="constrained"
    )
    sizes = sorted(found["k"].unique())
    for panel, name in zip(axes.flat, names, strict=True):
        for shift, (method, own) in enumerate(looks(methods).items()):
            some = found[(found["reader"] == name) & (found["method"] == method)].set_index("k").reindex(sizes)
            x = np.arange(len(sizes)) + 0.12 * (shift - (len(methods) - 1) / 2)
            reach = [some["mean"] - some["smallest"], some["largest"] - some["mean"]]
            panel.errorbar(x, some["mean"], yerr=reach, linestyle="", capsize=2, **own.mark())
        panel.axhline(0.5, color=INK, linestyle="--", linewidth=1)
        panel.set(title=name, xlabel="components k", xlim=(-0.5, len(sizes) - 0.5))
        panel.set_xticks(range(len(sizes)), [str(k) for k in sizes])
    axes[0, 0].set_ylabel("area under the ROC curve")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(methods))
    return fig
