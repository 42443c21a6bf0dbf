"""Figures of the notebooks and chapters: each takes tidy data and returns a matplotlib figure.

First what the figures of all papers are made of: panels, a legend below them, words where nothing can be drawn.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from evenspan.core.cluster_counts import ClusterCounts
from evenspan.displays.method_styles import group_styles
from evenspan.displays.style import COLOURS, COLUMN, INK, SOURCES
from evenspan.reconstruction import JointRange

from .method_styles import styles_of


def panels(down: int, across: int, size: tuple[float, float], **shared) -> tuple[Figure, np.ndarray]:
    """A figure of so many inches, at most a column wide, with a grid of panels, which may share axes."""
    size = min(size[0], COLUMN), size[1]
    return plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained", **shared)


def grid(
    count: int, across: int, size: tuple[float, float], room: tuple[float, float] = (0.0, 0.0), **shared
) -> tuple[Figure, np.ndarray]:
    """So many panels in rows of ``across``, each of a size in inches, with room around them; the rest is hidden."""
    down = -(-count // across)
    fig, axes = panels(down, across, (size[0] * across + room[0], size[1] * down + room[1]), **shared)
    for panel in axes.flat[count:]:
        panel.set_visible(False)
    return fig, axes


def entry(label: str, colour: str = INK, marker: str = "", line: str = "", **options) -> Line2D:
    """An entry of a legend."""
    return Line2D([], [], color=colour, marker=marker, linestyle=line, label=label, **options)


def explained(fig: Figure, entries: Iterable[Line2D], ncols: int | None = None, **options) -> Figure:
    """The figure with one legend below all panels, on one line unless told."""
    entries = list(entries)
    fig.legend(handles=entries, loc="outside lower center", ncols=ncols or len(entries), **options)
    return fig


def words(text: str) -> Figure:
    """Words in the place of a figure for which a setting has no numbers."""
    fig, panel = plt.subplots(figsize=(6.0, 1.2))
    panel.text(0.0, 0.5, text, color=INK)
    panel.axis("off")
    return fig


def arms(line: pd.DataFrame, middle: str, low: str = "smallest", high: str = "largest") -> np.ndarray:
    """Lengths (2, n) of error bars, down and up; rounding may put a mean of equal numbers off its ends."""
    return np.maximum([line[middle] - line[low], line[high] - line[middle]], 0.0)


def line_each(panel: Axes, names: Sequence[str]) -> None:
    """A line of the panel for every name, the first on top."""
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)


def spread(panel: Axes, mean: np.ndarray, covariance: np.ndarray, **options) -> None:
    """The ellipse that lies one standard deviation from a mean of two coordinates, in every direction."""
    values, vectors = np.linalg.eigh(covariance)
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    panel.plot(*(mean + np.column_stack([np.cos(turn), np.sin(turn)]) * np.sqrt(values) @ vectors.T).T, **options)


def mosaic(panel: Axes, counts: ClusterCounts) -> None:
    """A bar for each cluster, as wide as it is large, divided by the shares of the groups; lines at those of all."""
    ends = np.cumsum(counts.sizes)
    tops = np.cumsum(counts.counts / counts.sizes, axis=0)
    for (label, own), top, part in zip(group_styles(counts.labels.tolist()).items(), tops, counts.counts, strict=True):
        dress = {"color": own.colour, "hatch": own.hatch, "edgecolor": "white", "linewidth": 1.5, "align": "edge"}
        share = part / counts.sizes
        panel.bar(ends - counts.sizes, share, counts.sizes, bottom=top - share, label=f"group {label}", **dress)
    for line in np.cumsum(counts.group_sizes / counts.n)[:-1]:
        panel.axhline(line, color=INK, linestyle="--", linewidth=1.4)
    panel.set(xlim=(0, counts.n), ylim=(0, 1), xticks=[])
    panel.grid(visible=False)


def readable(metric: str) -> str:
    """A metric's name with its symbols: the tables spell them in plain text."""
    return metric.replace("Delta_", "Δ ").replace("Delta ", "Δ ").replace("^2", "²")


def plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis with 0.5, 1, 2, 5, 10, ... instead of powers, and not more densely than is legible."""
    low, high = axis.get_view_interval()
    steps = (1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def metrics_by_method(summary: pd.DataFrame, metrics: list[str], published: pd.DataFrame | None = None) -> Figure:
    """One panel a metric that has values, one line a method: mean and standard deviation over the splits, by source."""
    summary = summary if "source" in summary else summary.assign(source="ours")
    rows = summary if published is None else pd.concat([published.assign(source="published"), summary])
    metrics = [metric for metric in metrics if metric in set(rows["metric"])]
    methods = list(dict.fromkeys(summary["method"]))
    sources = [source for source in SOURCES if source in set(rows["source"])]
    fig, axes = grid(len(metrics), min(4, len(metrics)), (2.7, 0.42 * len(methods) + 1.3), (1.2, 0.0), sharey=True)
    for panel, metric in zip(axes.flat, metrics, strict=False):
        for shift, source in enumerate(sources):
            some = rows[(rows["metric"] == metric) & (rows["source"] == source)].set_index("method").reindex(methods)
            y = np.arange(len(methods)) + 0.22 * (shift - (len(sources) - 1) / 2)
            colour, marker = SOURCES[source]
            panel.errorbar(
                some["mean"], y, xerr=some["std"].fillna(0.0), fmt=marker, color=colour,
                markerfacecolor="white" if source == "published" else colour, markersize=6, capsize=2, linewidth=1,
            )  # fmt: skip
        panel.set_title(readable(metric))
        panel.set_yticks(range(len(methods)), methods)
        panel.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes[0, 0].invert_yaxis()
    if len(sources) == 1:
        return fig
    entries = [entry(name, *SOURCES[name], mfc="white" if name == "published" else None) for name in sources]
    return explained(fig, entries)


def draws(found: pd.DataFrame, panel: str, line: str) -> Figure:
    """How far means of draws of an evaluation are from the ``printed`` numbers, with two errors, by two columns."""
    found = found.dropna(subset="printed")
    if found.empty:
        return words("Nothing is printed for this setting.")
    names, lines = found[panel].unique(), list(found[line].unique())
    fig, axes = panels(1, len(names), (10.2, 0.26 * len(lines) + 1.4), sharey=True)
    for axis, name in zip(axes.flat, names, strict=True):
        part = found[found[panel] == name].set_index(line).reindex(lines)
        off, reach = 100 * (part["mean"] / part["printed"] - 1), 200 * part["error"] / part["printed"]
        axis.axvline(0, color=INK, linewidth=1)
        axis.errorbar(off, range(len(lines)), xerr=reach, fmt="s", color=COLOURS[0], markersize=4, capsize=3)
        axis.set_title(readable(name), fontsize="small")
        axis.set_xlabel("per cent")
        line_each(axis, lines)
    return fig


def joint_range(joint: JointRange, points: dict[str, tuple[float, float]], *, labels: tuple[str, str]) -> Figure:
    """The attainable pairs of errors, all (left) and at the frontier (right), each method a point with its name."""
    polygon = joint.boundary(360)
    edge = lower_left(joint)
    least = (joint.support(0.0).value, joint.support(np.pi / 2).value)
    fig, (whole, near) = plt.subplots(1, 2, figsize=(COLUMN, 4.4), layout="constrained")
    for panel in (whole, near):
        panel.fill(*polygon.T, color="#dfe9f2", zorder=0)
        panel.plot(*np.vstack([polygon, polygon[:1]]).T, color="#7f9cb5", linewidth=1.1)
        panel.plot(*edge.T, color=INK, linewidth=2.2)
        panel.axline((0.0, 0.0), slope=1.0, color="#a8232b", linestyle="--", linewidth=1.2)
        panel.axline(least, slope=1.0, color="#8a5a00", linestyle=":", linewidth=1.6)
        panel.set_xlabel(f"error of group {labels[0]}")
    whole.set_ylabel(f"error of group {labels[1]}")
    whole.set_title("All attainable pairs of errors")
    near.set_title("The frontier, closer")
    _frame(whole, np.vstack([polygon, *points.values()]), 0.04)
    _frame(near, edge, 0.3)
    close = {name: point for name, point in points.items() if near.viewLim.contains(*point)}
    whole.add_patch(Rectangle(near.viewLim.p0, near.viewLim.width, near.viewLim.height, fill=False, edgecolor=INK))
    _named(near, close, (0.96, 0.4))
    _named(whole, {name: points[name] for name in points if name not in close}, (0.36, 0.06))
    handles = [
        Patch(color="#dfe9f2", label="attainable"),
        entry("certified frontier", line="-", linewidth=2.2),
        entry("equal errors", "#a8232b", line="--"),
        entry("equal losses", "#8a5a00", line=":", linewidth=2),
    ]
    return explained(fig, handles, fontsize="small")


def _named(panel: Axes, points: dict[str, tuple[float, float]], heights: tuple[float, float]) -> None:
    """Points with their names at the right, between two heights of the panel, in the order of the points."""
    names = sorted(points, key=lambda name: -points[name][1])
    for name, height in zip(names, np.linspace(*heights, len(names)), strict=True):
        panel.plot(*points[name], zorder=4, linestyle="none", **styles_of(points)[name].open() | {"markersize": 8})
        panel.annotate(
            name, points[name], (0.97, height), textcoords="axes fraction", ha="right", va="center", fontsize=8.5,
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.7, "shrinkB": 5.0},
        )  # fmt: skip


def lower_left(joint: JointRange, n: int = 91) -> np.ndarray:
    """The frontier (m, 2): boundary points for weights from all on the first group to all on the second."""
    supports = [joint.support(float(angle)) for angle in np.linspace(0.0, np.pi / 2, n)]
    return np.array([end for found in supports for end in found.ends])


def _frame(panel: Axes, points: np.ndarray, share: float) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    room = share * max(high - low)
    panel.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
