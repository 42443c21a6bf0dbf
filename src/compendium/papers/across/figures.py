"""Figures that compare all methods on all data: ranks with what can be told apart, and errors against gaps.

Colour tells what a method equalises, the marker tells the method; both are the same in every figure.
"""

import textwrap

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from evenspan.displays.method_looks import Look, looks, unregistered
from evenspan.displays.style import COLUMN, INK
from evenspan.methods import METHODS

from ...figures import entry, explained, grid, line_each, panels, words
from .classifiers import CLASSIFIERS, CONTROLS, in_order
from .new_rows import LEVEL

#: The look of every method of the comparison, by its name in results.
DRESSED = looks(METHODS)
WASH, IMPOSSIBLE, BRANCH = "#ececec", "#f3dede", "#999999"
#: Measures that are set against the relative error; areas stand for themselves.
GAINS = ("error gap", "loss gap", "mean distance", "covariance distance", "group AUC", "label AUC")
AREAS = ("group AUC", "label AUC")
UPWARDS = ("label AUC",)
#: The gaps of which bounds are put to the test.
KINDS = {"means": "distance of means", "errors": "gap between errors"}
PRICES = (0.0, 0.1, 1.0, 10.0)


def rank_panels(ranks: pd.DataFrame) -> Figure:
    """Average ranks, a panel for each measure: 1 is best, and two methods differ where their bars do not meet.

    A bar reaches half a critical difference to either side. The band is the bar of the best method; methods whose bar
    meets it are filled, the others hollow.

    ``ranks`` are those of ``tables.rank_rows``.
    """
    if ranks.empty:
        return _nothing("rank")
    metrics = list(dict.fromkeys(ranks["metric"]))
    most = int(ranks.groupby("metric")["method"].nunique().max())
    fig, axes = grid(len(metrics), 2, (3.95, 0.235 * most + 0.95), sharex=True)
    for panel, metric in zip(axes.flat, metrics, strict=False):
        some = ranks[ranks["metric"] == metric].sort_values(["rank", "method"], kind="stable")
        reach, best = some["difference"].iloc[0] / 2, some["rank"].iloc[0]
        panel.axvspan(best - reach, best + reach, color=WASH, zorder=0)
        for y, (method, rank) in enumerate(zip(some["method"], some["rank"], strict=True)):
            own = DRESSED[method]
            panel.plot([rank - reach, rank + reach], [y, y], "-", color=own.colour, linewidth=1.6, alpha=0.75)
            face = own.colour if rank - reach <= best + reach else "white"
            size = 9.5 if isinstance(own.marker, tuple) else 7.5  # stars look smaller than they are
            panel.plot(rank, y, markersize=size, markeredgewidth=1.4, **own.mark() | {"markerfacecolor": face})
        panel.set_yticks(range(len(some)), some["method"], fontsize="small")
        panel.set_ylim(len(some) - 0.4, -0.6)
        panel.grid(visible=False, axis="y")
        panel.set_title(f"{metric} ({some['blocks'].iloc[0]} data sets)", fontsize="medium")
        panel.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    for panel in _lowest(axes, len(metrics)):
        panel.set_xlabel("average rank (1 is best)")
        panel.tick_params(labelbottom=True)
    return fig


def rank_shifts(ranks: pd.DataFrame) -> Figure:
    """Average rank against the number of components, a panel for each measure and a line for each method."""
    if ranks.empty:
        return _nothing("rank")
    metrics, sizes = list(dict.fromkeys(ranks["metric"])), sorted(ranks["k"].unique())
    fig, axes = grid(len(metrics), 2, (3.95, 2.9), (0.0, 1.3), sharex=True)
    for panel, metric in zip(axes.flat, metrics, strict=False):
        some = ranks[ranks["metric"] == metric]
        for method, line in some.groupby("method", sort=False):
            line = line.set_index("k")["rank"].reindex(sizes)
            own = DRESSED[method]
            panel.plot(range(len(sizes)), line, markersize=0.7 * own.size, linewidth=1.1, **own.mark())
        panel.set_title(metric, fontsize="medium")
        panel.set_xticks(range(len(sizes)), [f"k = {k}" for k in sizes])
        panel.set_xlim(-0.2, len(sizes) - 0.8)
        panel.yaxis.set_major_locator(MaxNLocator(8, integer=True))
        panel.invert_yaxis()
    for row in axes:
        row[0].set_ylabel("average rank (1 is best)")
    for panel in _lowest(axes, len(metrics)):
        panel.tick_params(labelbottom=True)
    return _explained(fig, ranks["method"])


def frontiers(points: pd.DataFrame, lines: pd.DataFrame) -> Figure:
    """Gap against the error beyond that of PCA, a panel for each data set; what no projection reaches is shaded.

    Both tables are those of ``tables.panels``. Axes are linear up to the ends of the certified frontier and logarithmic
    beyond. A data set without lines has no shading; its axes are linear up to the median error and to PCA's gap.
    """
    if points.empty:
        return _nothing("point")
    names, dressed = list(dict.fromkeys(points["dataset"])), _dressed(points["method"])
    across = min(3, len(names))
    fig, axes = grid(len(names), across, (min(COLUMN / across, 4.6), 2.5 if across > 2 else 3.2), (0.0, 1.4))
    for panel, name in zip(axes.flat, names, strict=False):
        some, line = points[points["dataset"] == name], lines[lines["dataset"] == name]
        _frame(panel, some, line)
        if len(line):
            _impossible(panel, line)
        for method, error, gap in some[["method", "error", "gap"]].itertuples(index=False):
            own = dressed[method]
            look = {"markersize": own.size, "markeredgewidth": 1.2, "clip_on": False} | own.open()
            panel.plot(error - 1, gap, **look | {"zorder": 3})
        panel.set_title(name, fontsize="medium")
    for row in axes:
        row[0].set_ylabel("gap between groups")
    for panel in _lowest(axes, len(names)):
        panel.set_xlabel("error beyond that of PCA")
    frontier = [Patch(color=IMPOSSIBLE, label="impossible"), Line2D([], [], color=INK, label="certified frontier")]
    return _explained(fig, points["method"], frontier if len(lines) else [])


def prices(means: pd.DataFrame) -> Figure:
    """What a method gets against what it pays, a panel for each measure of ``GAINS``: medians over the data sets.

    Both axes have lines from the lower to the upper quartile. Measures in ``AREAS`` are shown as they are, others
    relative to PCA's value on the same data set. ``means`` are those of one number of components.
    """
    if means.empty:
        return _nothing("mean")
    fig, axes = grid(len(GAINS), 2, (3.95, 3.3), (0.0, 1.3))
    pays = _quartiles(means[means["metric"] == "relative error"])
    for panel, metric in zip(axes.flat, GAINS, strict=False):
        some = means[means["metric"] == metric]
        if metric not in AREAS:
            base = some[some["method"] == "PCA"].set_index("dataset")["mean"]
            some = some.assign(mean=some["mean"] / some["dataset"].map(base))
        gets = _quartiles(some)
        for method in gets.index.intersection(pays.index):
            own = DRESSED[method]
            (x0, x, x1), (y0, y, y1) = pays.loc[method], gets.loc[method]
            panel.plot([x0 - 1, x1 - 1], [y, y], "-", color=own.colour, linewidth=0.9, alpha=0.45, zorder=1)
            panel.plot([x - 1, x - 1], [y0, y1], "-", color=own.colour, linewidth=0.9, alpha=0.45, zorder=1)
            panel.plot(x - 1, y, markersize=own.size, markeredgewidth=1.4, **own.open())
        title = f"{metric}, {'better upwards' if metric in UPWARDS else 'better downwards'}"
        panel.set_title(title, fontsize="medium")
        panel.set_ylabel("area" if metric in AREAS else "relative to PCA")
        if metric not in AREAS:
            panel.set_yscale("log")
            _few_ticks(panel)
        panel.set_xscale("symlog", linthresh=0.1, linscale=1.0)
        panel.set_xticks(PRICES, [f"{price:.0%}" for price in PRICES])
        panel.set_xticks([], minor=True)
        panel.set_xlim(left=-0.02)
    for panel in _lowest(axes, len(GAINS)):
        panel.set_xlabel("error beyond that of PCA")
    return _explained(fig, means["method"])


def coverage(results: pd.DataFrame) -> Figure:
    """How often the bounds hold, data sets down, with 95 % intervals; hollow marks are the sample's own gap.

    ``results`` are those of ``new_rows.results`` at one number of components.
    """
    if results.empty:
        return _nothing("coverage")
    names = list(dict.fromkeys(results["dataset"]))
    methods = [name for name in DRESSED if name in set(results["method"])]
    fig, axes = panels(1, 2, (COLUMN, 0.42 * len(names) + 1.5), sharey=True)
    for panel, (kind, title) in zip(axes[0], KINDS.items(), strict=True):
        panel.axvline(LEVEL, color=INK, linewidth=1.0)
        for method in methods:
            own, some = DRESSED[method], results[results["method"] == method]
            y = some["dataset"].map(names.index) + 0.16 * (methods.index(method) - (len(methods) - 1) / 2)
            panel.hlines(y, some[f"{kind}: low"], some[f"{kind}: high"], color=own.colour, linewidth=1.2)
            panel.plot(some[f"{kind}: coverage"], y, linestyle="", markersize=5, **own.mark())
            panel.plot(some[f"{kind}, sample: coverage"], y, linestyle="", markersize=4, **own.open())
        panel.set(xlim=(-0.03, 1.03), title=title, xlabel="share of samples in which it holds")
    line_each(axes[0][0], names)
    signs = [entry("bound", INK, "o"), entry("the sample's own gap", INK, "o", mfc="none"), _level()]
    return _explained(explained(fig, signs, fontsize="small"), results["method"])


def coverage_by_row(results: pd.DataFrame) -> Figure:
    """How often the bound of the errors holds, against the share of one row in the variance of a group's errors."""
    if results.empty:
        return _nothing("coverage")
    fig, panel = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    panel.axhline(LEVEL, color=INK, linewidth=1.0)
    for method in (name for name in DRESSED if name in set(results["method"])):
        some = results[results["method"] == method]
        panel.plot(some["largest row"], some["errors: coverage"], linestyle="", markersize=6, **DRESSED[method].open())
    panel.set(xscale="log", xlabel="largest share of one row", ylabel="share of samples in which the bound holds")
    return _explained(fig, results["method"], [_level()], ncols=5)


def classifier_panels(found: pd.DataFrame) -> Figure:
    """Areas under the ROC curve, a panel for each classifier and a line for each method, with bars from low to high.

    ``found`` are the areas of one data set with their intervals, or medians over data sets with their quartiles.
    """
    if found.empty:
        return _nothing("area")
    names = in_order(found["method"])
    own = looks(name for name in names if name not in CONTROLS)
    fig, axes = panels(1, len(CLASSIFIERS), (COLUMN, 0.27 * len(names) + 1.1), sharex=True, sharey=True)
    for panel, classifier in zip(axes.flat, CLASSIFIERS, strict=True):
        some = found[found["classifier"] == classifier].set_index("method").reindex(names)
        panel.axvline(0.5, color=INK, linestyle="--", linewidth=1.1, zorder=0)
        for y, (name, line) in enumerate(some.iterrows()):
            mark = own[name].mark() if name in own else {"color": INK, "marker": "|", "markeredgewidth": 2.2}
            panel.plot([line["low"], line["high"]], [y, y], "-", color=mark["color"], linewidth=1.6, alpha=0.6)
            panel.plot(line["mean"], y, markersize=8, **mark)
        panel.set_title(textwrap.fill(classifier, 14), fontsize="medium")
        panel.set_xticks([0.5, 0.75, 1.0], ["0.5", "", "1"])
        panel.grid(visible=False, axis="y")
    line_each(axes[0, 0], names)
    fig.supxlabel("area under the ROC curve, held out", fontsize="medium")
    return fig


def decision(guide: pd.DataFrame) -> Figure:
    """A tree from one question to a method, of ``tables.choices``: what has to be alike, which criterion says so."""
    if guide.empty:
        return _nothing("choice")
    questions = list(dict.fromkeys(guide["question"]))
    fig, panel = plt.subplots(figsize=(COLUMN, 0.62 * len(guide) + 0.3), layout="constrained")
    panel.set(xlim=(0.0, COLUMN), ylim=(len(guide) - 0.45, -0.55))  # in inches across
    panel.axis("off")
    first, second, third, fourth = 0.6, 2.05, 3.95, 5.4
    middle = (len(guide) - 1) / 2
    _box(panel, first, middle, "What has to be alike?", 13)
    y = 0.0
    for question in questions:
        rows = guide[guide["question"] == question]
        at = y + (len(rows) - 1) / 2
        _branch(panel, (first, middle), (second, at))
        _box(panel, second, at, question, 16)
        for criterion, method, best in rows[["criterion", "method", "best"]].itertuples(index=False):
            own = DRESSED[best]
            _branch(panel, (second, at), (third, y))
            _box(panel, third, y, criterion, 26)
            panel.plot([third, fourth - 0.1], [y, y], color=BRANCH, linewidth=1.1, zorder=0)
            panel.plot(fourth, y, markersize=10, markeredgewidth=1.7, **own.mark() | {"markerfacecolor": "white"})
            other = "" if best == method else f"or, at least cost: {method}"
            left = {"x": fourth + 0.2, "va": "center", "ha": "left"}
            panel.text(y=y - 0.16 * bool(other), s=best, weight="bold", color=INK, **left)
            panel.text(y=y + 0.2, s=other, fontsize="small", color="#555555", **left)
            y += 1.0
    return fig


def _dressed(present: pd.Series) -> dict[str, Look]:
    """The looks of all methods, and of those that a reader added."""
    return looks([*DRESSED, *unregistered(present)])


def _level() -> Line2D:
    return Line2D([], [], color=INK, linewidth=1.0, label=f"{100 * LEVEL:g} %")


def _nothing(what: str) -> Figure:
    return words(f"No {what} is available: the full run has not been stored.")


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
        low = min(0.0, float(points["error"].min()) - 1 if percent else 0.0) - room  # where a mark at zero is whole
        limits = (low, max(float(top) * (1.25 if decades else 1.0), knee + 2 * room))
        panel.set(**{"xlim" if percent else "ylim": limits})


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _explained(fig: Figure, present: pd.Series, first: list = (), ncols: int = 4) -> Figure:
    """The figure with a legend above it: of the methods that are present, in their order."""
    own = [look.open() for name, look in _dressed(present).items() if name in set(present)]
    marks = [Line2D([], [], linestyle="", markeredgewidth=1.5, **look) for look in own]
    fig.legend(handles=[*first, *marks], loc="outside upper left", ncols=ncols, fontsize="small")
    return fig


def _lowest(axes: np.ndarray, count: int) -> list[Axes]:
    """The last panel of every column."""
    across = axes.shape[1]
    return [axes.flat[place] for place in range(max(count - across, 0), count)]


def _quartiles(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.groupby("method", sort=False)["mean"].quantile([0.25, 0.5, 0.75]).unstack()


def _few_ticks(panel: Axes) -> None:
    """Plain numbers on a logarithmic axis: decades where there are several, steps of 1, 2 and 5 otherwise."""
    low, high = panel.get_ylim()
    finest = (1, 2, 5) if high < 200 * low else (1,)
    steps = [step * 10.0**e for e in range(-9, 7) for step in finest if low <= step * 10.0**e <= high]
    panel.set_yticks(steps, [f"{step:g}" for step in steps])
    panel.minorticks_off()


def _box(panel: Axes, x: float, y: float, text: str, width: int) -> None:
    panel.text(
        x, y, textwrap.fill(text, width), ha="center", va="center", fontsize="small",
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "#f7f5ef", "edgecolor": BRANCH},
    )  # fmt: skip


def _branch(panel: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A line with two right angles from box to box; it ends below them."""
    turn = start[0] + 0.5 * (end[0] - start[0])
    panel.plot([start[0], turn, turn, end[0]], [start[1], start[1], end[1], end[1]], color=BRANCH, lw=1.1, zorder=0)
