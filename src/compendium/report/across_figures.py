"""Figures that compare all methods on all data: ranks with what can be told apart, and errors against gaps.

Colour tells what a method equalises, the marker tells the method; both are the same in every figure.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from evenspan.displays.method_looks import Look, looks
from evenspan.displays.style import INK
from evenspan.methods import METHODS

WASH, IMPOSSIBLE = "#ececec", "#f3dede"
#: Measures that are set against the relative error; areas stand for themselves.
GAINS = ("error gap", "loss gap", "mean distance", "covariance distance", "group AUC", "label AUC")
AREAS = ("group AUC", "label AUC")
UPWARDS = ("label AUC",)
PRICES = (0.0, 0.05, 0.1, 1.0, 10.0)


def dress() -> dict[str, Look]:
    """The look of every method of the comparison, by its name in results."""
    return looks(METHODS)


def rank_panels(ranks: pd.DataFrame, dressed: Mapping[str, Look], *, across: int = 2) -> Figure:
    """Average ranks, a panel for each measure: 1 is best, and two methods differ where their bars do not meet.

    A bar reaches half a critical difference to either side. The band is the bar of the best method; methods whose bar
    meets it are filled, the others hollow.

    Parameters
    ----------
    ranks : DataFrame
        Columns ``metric``, ``method``, ``rank``, ``difference`` (the critical one) and ``blocks`` (data sets).
    dressed : mapping of str to Look
        By method.
    across : int
        Panels side by side.
    """
    if ranks.empty:
        return words("No rank is at hand: the full run has not been stored.")
    metrics = list(dict.fromkeys(ranks["metric"]))
    down = -(-len(metrics) // across)
    most = int(ranks.groupby("metric")["method"].nunique().max())
    fig, axes = plt.subplots(
        down, across, figsize=(4.9 * across, (0.235 * most + 0.95) * down), sharex=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for panel, metric in zip(axes.flat, metrics, strict=False):
        some = ranks[ranks["metric"] == metric].sort_values(["rank", "method"], kind="stable")
        reach, best = some["difference"].iloc[0] / 2, some["rank"].iloc[0]
        panel.axvspan(best - reach, best + reach, color=WASH, zorder=0)
        for y, (method, rank) in enumerate(zip(some["method"], some["rank"], strict=True)):
            colour, marker = dressed[method].colour, dressed[method].marker
            panel.plot([rank - reach, rank + reach], [y, y], "-", color=colour, linewidth=1.6, alpha=0.75)
            face = colour if rank - reach <= best + reach else "white"
            panel.plot(
                rank,
                y,
                marker=marker,
                color=colour,
                markerfacecolor=face,
                markersize=9.5 if isinstance(marker, tuple) else 7.5,
                markeredgewidth=1.4,
            )
        panel.set_yticks(range(len(some)), some["method"], fontsize="small")
        panel.set_ylim(len(some) - 0.4, -0.6)
        panel.grid(visible=False, axis="y")
        panel.set_title(f"{metric} ({some['blocks'].iloc[0]} data sets)", fontsize="medium")
        panel.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    _hide_rest(axes, len(metrics))
    for panel in _lowest(axes, len(metrics)):
        panel.set_xlabel("average rank (1 is best)")
        panel.tick_params(labelbottom=True)
    return fig


def rank_shifts(ranks: pd.DataFrame, dressed: Mapping[str, Look], *, across: int = 2) -> Figure:
    """Average rank against the number of components, a panel for each measure and a line for each method.

    Parameters
    ----------
    ranks : DataFrame
        Columns ``metric``, ``method``, ``k``, ``rank``.
    dressed : mapping of str to Look
        By method; also the order of the legend.
    across : int
        Panels side by side.
    """
    if ranks.empty:
        return words("No rank is at hand: the full run has not been stored.")
    metrics, sizes = list(dict.fromkeys(ranks["metric"])), sorted(ranks["k"].unique())
    down = -(-len(metrics) // across)
    fig, axes = plt.subplots(
        down, across, figsize=(4.6 * across, 3.1 * down + 1.3), sharex=True, squeeze=False, layout="constrained"
    )
    for panel, metric in zip(axes.flat, metrics, strict=False):
        some = ranks[ranks["metric"] == metric]
        for method, line in some.groupby("method", sort=False):
            line = line.set_index("k")["rank"].reindex(sizes)
            own = dressed[method]
            colour, marker, size = own.colour, own.marker, own.size
            panel.plot(
                range(len(sizes)), line, color=colour, marker=marker, markersize=0.7 * size, linewidth=1.1, alpha=0.9
            )
        panel.set_title(metric, fontsize="medium")
        panel.set_xticks(range(len(sizes)), [f"k = {k}" for k in sizes])
        panel.set_xlim(-0.2, len(sizes) - 0.8)
        panel.invert_yaxis()
    _hide_rest(axes, len(metrics))
    for row in axes:
        row[0].set_ylabel("average rank (1 is best)")
    present = set(ranks["method"])
    fig.legend(handles=_handles(dressed, present), loc="outside upper left", ncols=4, fontsize="small")
    return fig


def frontiers(points: pd.DataFrame, lines: pd.DataFrame, dressed: Mapping[str, Look], *, across: int = 3) -> Figure:
    """Gap against the error beyond that of PCA, a panel for each data set; what no projection reaches is shaded.

    Axes are linear up to the ends of the frontier, marked by thin lines, and logarithmic beyond.

    Parameters
    ----------
    points : DataFrame
        Columns ``dataset``, ``method``, ``error`` (1 is PCA's), ``gap``.
    lines : DataFrame
        The certified frontier: columns ``dataset``, ``error``, ``gap``, from PCA to the smallest gap. A data set
        without lines has no shading; its axes are linear up to the median error and to PCA's gap.
    dressed : mapping of str to Look
        By method; also the order of the legend.
    across : int
        Panels side by side.
    """
    if points.empty:
        return words("No point is at hand: the full run has not been stored.")
    names = list(dict.fromkeys(points["dataset"]))
    across = min(across, len(names))
    down = -(-len(names) // across)
    fig, axes = plt.subplots(
        down, across, figsize=(3.35 * across, 2.75 * down + 1.5), squeeze=False, layout="constrained"
    )
    for panel, name in zip(axes.flat, names, strict=False):
        some, line = points[points["dataset"] == name], lines[lines["dataset"] == name]
        _frame(panel, some, line)
        if len(line):
            _impossible(panel, line)
        for method, error, gap in some[["method", "error", "gap"]].itertuples(index=False):
            own = dressed[method]
            colour, marker, size = own.colour, own.marker, own.size
            panel.plot(
                error - 1, gap, marker=marker, color=colour, markersize=size, markerfacecolor="none",
                markeredgewidth=1.4, zorder=3, clip_on=False,
            )  # fmt: skip
        panel.set_title(name, fontsize="medium")
    _hide_rest(axes, len(names))
    for row in axes:
        row[0].set_ylabel("gap between groups")
    for panel in _lowest(axes, len(names)):
        panel.set_xlabel("error beyond that of PCA")
    handles = [Patch(color=IMPOSSIBLE, label="impossible"), Line2D([], [], color=INK, label="certified frontier")]
    own = _handles(dressed, set(points["method"]))
    handles = (handles if len(lines) else []) + own
    fig.legend(handles=handles, loc="outside upper left", ncols=4 if across > 2 else 3, fontsize="small")
    return fig


def prices(means: pd.DataFrame, dressed: Mapping[str, Look], *, across: int = 2) -> Figure:
    """What a method gets against what it pays, a panel for each measure of ``GAINS``: medians over the data sets.

    Both axes have lines from the lower to the upper quartile. Measures in ``AREAS`` are shown as they are, others
    relative to PCA's value on the same data set.

    Parameters
    ----------
    means : DataFrame
        Columns ``dataset``, ``method``, ``metric``, ``mean``; one number of components.
    dressed : mapping of str to Look
        By method; also the order of the legend.
    across : int
        Panels side by side.
    """
    if means.empty:
        return words("No mean is at hand: the full run has not been stored.")
    down = -(-len(GAINS) // across)
    fig, axes = plt.subplots(
        down, across, figsize=(4.6 * across, 3.5 * down + 1.3), squeeze=False, layout="constrained"
    )
    pays = _quartiles(means[means["metric"] == "relative error"])
    for panel, metric in zip(axes.flat, GAINS, strict=False):
        some = means[means["metric"] == metric]
        if metric not in AREAS:
            base = some[some["method"] == "PCA"].set_index("dataset")["mean"]
            some = some.assign(mean=some["mean"] / some["dataset"].map(base))
        gets = _quartiles(some)
        for method in gets.index.intersection(pays.index):
            own = dressed[method]
            colour, marker, size = own.colour, own.marker, own.size
            (x0, x, x1), (y0, y, y1) = pays.loc[method], gets.loc[method]
            panel.plot([x0 - 1, x1 - 1], [y, y], "-", color=colour, linewidth=0.9, alpha=0.45)
            panel.plot([x - 1, x - 1], [y0, y1], "-", color=colour, linewidth=0.9, alpha=0.45)
            panel.plot(
                x - 1, y, marker=marker, color=colour, markersize=size, markerfacecolor="none", markeredgewidth=1.6
            )
        title = f"{metric}, {'better upwards' if metric in UPWARDS else 'better downwards'}"
        panel.set_title(title, fontsize="medium")
        panel.set_ylabel("area" if metric in AREAS else "relative to PCA")
        if metric not in AREAS:
            panel.set_yscale("log")
            _few_ticks(panel)
        panel.set_xscale("symlog", linthresh=0.1, linscale=1.0)
        panel.set_xticks(PRICES, [f"{price:.0%}" for price in PRICES])
        panel.set_xticks([], minor=True)
    _hide_rest(axes, len(GAINS))
    for panel in _lowest(axes, len(GAINS)):
        panel.set_xlabel("error beyond that of PCA")
    fig.legend(handles=_handles(dressed, set(means["method"])), loc="outside upper left", ncols=4, fontsize="small")
    return fig


def words(text: str) -> Figure:
    """A figure that says why there is none."""
    fig, panel = plt.subplots(figsize=(6.0, 1.2))
    panel.text(0.0, 0.5, text, color=INK)
    panel.axis("off")
    return fig


def _impossible(panel: Axes, line: pd.DataFrame) -> None:
    """The frontier, and all that is below or left of it; outside the frame there is more of the same."""
    beyond, gap = line["error"].to_numpy() - 1, line["gap"].to_numpy()
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    x = np.concatenate([[left, left, beyond[0]], beyond, [right, right]])
    y = np.concatenate([[low, high, high], gap, [gap[-1], low]])
    panel.fill(x, y, color=IMPOSSIBLE, zorder=0, linewidth=0)
    panel.plot(beyond, gap, "-", color=INK, linewidth=1.8, zorder=2)


def _frame(panel: Axes, points: pd.DataFrame, line: pd.DataFrame) -> None:
    """Scales with their knees at the ends of the frontier, and limits that hold every point."""
    pca = points.loc[points["method"] == "PCA", "gap"].max()
    ends = (line["error"].max() - 1, line["gap"].max()) if len(line) else (points["error"].median() - 1, pca)
    tops = points["error"].max() - 1, points["gap"].max()
    for axis, scale, knee, top in zip(
        (panel.xaxis, panel.yaxis), (Axes.set_xscale, Axes.set_yscale), ends, tops, strict=True
    ):
        percent = axis is panel.xaxis
        knee = max(float(knee), 1e-6 * float(top), 1e-12)
        decades = max(np.log10(top / knee), 0.0)
        scale(panel, "symlog", linthresh=knee, linscale=max(1.0, 0.9 * decades))
        ticks = [0.0, knee, *[step for step in 10.0 ** np.arange(-6, 7) if 5 * knee < step <= top][-1:]]
        texts = [f"{_short(100 * tick)} %" if percent else _short(tick) for tick in ticks]
        axis.set_ticks(ticks, texts, fontsize="small")
        axis.set_ticks([], minor=True)
        room = 0.08 * knee
        low = min(0.0, float(points["error"].min()) - 1 if percent else 0.0) - (room if percent else 0.0)
        limits = (low, max(float(top) * (1.25 if decades else 1.0), knee + 2 * room))
        panel.set(**{"xlim" if percent else "ylim": limits})


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _handles(dressed: Mapping[str, Look], present: set[str]) -> list[Line2D]:
    return [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle="", markerfacecolor="none",
               markeredgewidth=1.5, label=name)
        for name, look in dressed.items() if name in present
    ]  # fmt: skip


def _lowest(axes: np.ndarray, count: int) -> list[Axes]:
    """The last panel of every column."""
    across = axes.shape[1]
    return [axes.flat[place] for place in range(max(count - across, 0), count)]


def _hide_rest(axes: np.ndarray, count: int) -> None:
    for panel in axes.flat[count:]:
        panel.set_visible(False)


def _quartiles(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.groupby("method", sort=False)["mean"].quantile([0.25, 0.5, 0.75]).unstack()


def _few_ticks(panel: Axes) -> None:
    """Plain numbers on a logarithmic axis: decades where there are several, steps of 1, 2 and 5 otherwise."""
    low, high = panel.get_ylim()
    finest = (1, 2, 5) if high < 200 * low else (1,)
    steps = [step * 10.0**e for e in range(-9, 7) for step in finest if low <= step * 10.0**e <= high]
    panel.set_yticks(steps, [f"{step:g}" for step in steps])
    panel.minorticks_off()
