"""Figures of Vu et al. (2022) that more than one page draws: each takes tidy data and returns a matplotlib figure."""

import pandas as pd
from matplotlib.figure import Figure

from evenspan.displays.method_looks import looks, ordered
from evenspan.displays.style import COLUMN, INK

from ...figures import explained, metrics_by_method, panels, plain_numbers, readable, words


def judged(rows: pd.DataFrame, metrics: list[str]) -> Figure:
    """Mean and deviation of every method, one panel a metric; says so where no number is available yet."""
    rows = rows[rows["mean"].notna() & rows["metric"].isin(metrics)]
    if len(rows):
        return metrics_by_method(rows, metrics)
    return words("No number is available: the full run of these data has not been stored.")


def table_scatter(cells: pd.DataFrame) -> Figure:
    """Our numbers against the published ones, a point for each data set and method, one panel for each metric."""
    metrics, methods = list(dict.fromkeys(cells["metric"])), looks(ordered(cells["method"].unique()))
    fig, axes = panels(1, len(metrics), (COLUMN, 3.4))
    for panel, metric in zip(axes.flat, metrics, strict=True):
        some = cells[cells["metric"] == metric]
        for method, own in methods.items():
            mine = some[some["method"] == method]
            panel.plot(mine["published"], mine["ours"], linestyle="", markersize=5.5, **own.mark())
        ends = [some[["published", "ours"]].min(axis=None), some[["published", "ours"]].max(axis=None)]
        panel.plot(ends, ends, color=INK, linewidth=1)
        panel.set(xscale="log", yscale="log", xlabel="published", title=readable(metric))
        plain_numbers(panel.xaxis)
        plain_numbers(panel.yaxis)
    axes[0, 0].set_ylabel("ours")
    return explained(fig, axes[0, 0].get_legend_handles_labels()[0], 4, fontsize="small")
