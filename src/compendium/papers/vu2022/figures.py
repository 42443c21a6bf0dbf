"""Figures of the experiments on reconstruction errors: each takes tidy data and returns a matplotlib figure."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from evenspan.displays.method_looks import group_looks, look, looks, ordered
from evenspan.displays.style import COLOURS, COLUMN, INK

from ...figures import entry, explained, grid, metrics_by_method, panels, plain_numbers, readable, words
from .protocol import DATASETS
from .readings import CURVES, FRONTIER


def judged(rows: pd.DataFrame, metrics: list[str]) -> Figure:
    """Mean and deviation of every method, one panel a metric; says so where no number is at hand yet."""
    rows = rows[rows["mean"].notna() & rows["metric"].isin(metrics)]
    if len(rows):
        return metrics_by_method(rows, metrics)
    return words("No number is available: the full run of these data has not been stored.")


def errors_by_k(curves: pd.DataFrame) -> Figure:
    """Error of each group against the number of components: one panel a sample, one line a method and group.

    As :func:`~.readings.curves` gives them.
    """
    methods, groups = looks(ordered(curves["method"].unique())), sorted(curves["metric"].unique())
    samples = [name for name in ("in-sample", "out-of-sample") if name in set(curves["protocol"])]
    fig, axes = panels(1, len(samples), (4.9 * len(samples), 4.2), sharey=True)
    for panel, sample in zip(axes.flat, samples, strict=True):
        for method, own in methods.items():
            for group, dash in zip(groups, ("-", "--"), strict=False):
                some = curves[
                    (curves["protocol"] == sample) & (curves["method"] == method) & (curves["metric"] == group)
                ]
                line = some.sort_values("k")
                size = 4.5 if own.fill == "full" else 7.5
                drawn = own.mark() | {"linestyle": dash, "markersize": size, "linewidth": 1.5}
                panel.plot(line["k"], line["value"], **drawn)
        panel.set(title=sample, xlabel="components k")
        panel.set_xticks(sorted(curves["k"].unique()))
    axes[0, 0].set_ylabel("mean reconstruction error")
    handles = [Line2D([], [], **(own.line() | {"linestyle": "-"})) for own in methods.values()]
    handles += [entry(group, line=dash) for group, dash in zip(groups, ("-", "--"), strict=False)]
    return explained(fig, handles, 4, fontsize="small")


def pareto(points: pd.DataFrame, *, gap: str = "ABDiff") -> Figure:
    """Average error against the gap between groups: marks for each method, the frontier as a line.

    Marks of the published methods are small, and above the large ones of the others, so that both are seen where they
    meet.
    """
    methods = [name for name in dict.fromkeys(points["method"]) if name != FRONTIER]
    fig, panel = plt.subplots(figsize=(COLUMN, 4.8), layout="constrained")
    line = points[points["method"] == FRONTIER].sort_values("ARE")
    panel.plot(line["ARE"], line[gap], "-", color=INK, linewidth=1.6, label=FRONTIER, zorder=1)
    for method, own in looks(methods).items():
        some = points[points["method"] == method].dropna(subset=["ARE"])
        large = method not in CURVES
        drawn = own.mark() | ({"markerfacecolor": "none"} if own.fill == "none" else {})
        panel.plot(
            some["ARE"], some[gap], linestyle="", markersize=9.5 if large else 5.5, markeredgewidth=1.2,
            **drawn | {"zorder": 2 if large else 3},
        )  # fmt: skip
    panel.set(xlabel="average reconstruction error (ARE)", ylabel=f"gap between groups: {gap}")
    return explained(fig, panel.get_legend_handles_labels()[0], 4, fontsize="small")


def toy_directions(X: np.ndarray, groups: np.ndarray, angles: pd.DataFrame) -> Figure:
    """Two groups of points in the plane and the direction of every method (in degrees) as an arrow."""
    fig, panel = plt.subplots(figsize=(6.6, 5.4), layout="constrained")
    for label, (colour, marker, *_) in group_looks((0, 1)).items():
        inside = groups == label
        panel.scatter(*X[inside].T, s=12, alpha=0.4, color=colour, marker=marker, linewidth=0, label=f"group {label}")
    long = {name: (look(name).colour, dash) for name, dash in (("PCA", "-"), ("FairPCA (exact)", "--"))}
    penalised = look("RFPCA (exact)").colour
    robust = angles[angles["method"] == "RFPCA (exact)"]
    for reach, angle in zip(np.linspace(2.2, 3.4, len(robust)), robust["angle"], strict=True):
        end = reach * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        panel.plot([0, end[0]], [0, end[1]], color=penalised, linewidth=1)
        panel.plot(*end, ".", color=penalised, markersize=5)
    for method, (colour, dash) in long.items():
        angle = np.radians(float(angles.loc[angles["method"] == method, "angle"].iloc[0]))
        panel.plot([0, 4.6 * np.cos(angle)], [0, 4.6 * np.sin(angle)], dash, color=colour, linewidth=2.4, label=method)
    panel.plot([], [], ".-", color=penalised, label="RFPCA, growing penalty")
    panel.set_aspect("equal")
    panel.set(xlabel="feature 1", ylabel="feature 2")
    panel.legend(loc="lower right", fontsize="small")
    return fig


def radius_band(band: pd.DataFrame) -> Figure:
    """Test ARE + ABDiff against alpha: mean over the simulations with one standard deviation."""
    fig, panel = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    ends = (band["mean"] - band["std"], band["mean"] + band["std"])
    panel.fill_between(band["alpha"], *ends, color=COLOURS[0], alpha=0.2)
    panel.plot(band["alpha"], band["mean"], color=COLOURS[0], linewidth=2)
    panel.set(xlabel="alpha (radius of group 1 is alpha / √N₁)", ylabel="test ARE + ABDiff")
    return fig


def descent_excess(found: pd.DataFrame) -> Figure:
    """How far above the exact minimum the best and the worst start of the descent end, a panel for each data set.

    The excess of :func:`~.readings.excess` in per cent against the penalty, the largest over alpha; what is below 0.001
    per cent is drawn there.
    """
    grouped = found.groupby(["dataset", "lambda"])[["best", "worst"]].max()
    shown = (100.0 * grouped).clip(lower=1e-3).reset_index()
    names = sorted(found["dataset"].unique(), key=lambda name: DATASETS.get(name, name))
    signs = {"worst": (COLOURS[1], "s", "--", "white"), "best": (COLOURS[0], "o", "-", COLOURS[0])}
    size, room = (1.55, 1.45), (0.3, 0.6)
    fig, axes = grid(len(names), min(5, len(names)), size, room, sharex=True, sharey=True)
    for panel, name in zip(axes.flat, names, strict=False):
        line = shown[shown["dataset"] == name]
        for which, (colour, marker, dash, face) in signs.items():
            panel.plot(
                line["lambda"], line[which], dash, color=colour, marker=marker, mfc=face, markersize=4.5, linewidth=1.3
            )
        panel.set(yscale="log", title=DATASETS.get(name, name))
    top = float(np.log10(shown["worst"].max())) + 0.3
    ticks = [10.0**power for power in range(-3, int(top) + 1, 2)]
    axes[0, 0].set_ylim(5e-4, 10**top)
    axes[0, 0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[0, 0].yaxis.set_minor_locator(NullLocator())
    for panel in axes.flat[max(len(names) - axes.shape[1], 0) : len(names)]:
        panel.set_xlabel("penalty λ")
    fig.supylabel("per cent above the exact minimum", fontsize="medium")
    return explained(fig, [
        entry(f"{which} of the starts", colour, marker, dash, mfc=face)
        for which, (colour, marker, dash, face) in reversed(signs.items())
    ])  # fmt: skip


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
