"""Figures that compare all methods on all data: ranks with what can be told apart, and errors against gaps.

Colour tells what a method equalises, the marker tells the method; both are the same in every figure.
"""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from evenspan.displays.style import COLUMN, INK
from evenspan.methods import METHODS

from ...figures import grid, line_each, panels, plain_numbers
from ...method_styles import MethodStyle, styles_of, unregistered
from .summary import CONTROLS

DRESSED = styles_of(METHODS)
WASH, IMPOSSIBLE = "#ececec", "#f3dede"
#: Measures that are set against the relative error; areas stand for themselves.
AREAS = ("group AUC", "label AUC")
GAINS = ("error gap", "loss gap", "mean distance", "covariance distance", *AREAS)
PRICES = (0.0, 0.1, 1.0, 10.0)


def rank_panels(ranks: pd.DataFrame) -> Figure:
    """Average ranks of ``tables.rank_rows``, a panel for each measure, with half a critical difference to either side.

    Methods differ where bars do not meet. Filled are the methods whose bar meets the best one's."""
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


def frontiers(points: pd.DataFrame, lines: pd.DataFrame) -> Figure:
    """Gap against the error beyond that of PCA, of ``tables.panels``; what no projection reaches is shaded."""
    names, dressed = list(dict.fromkeys(points["dataset"])), _dressed(points["method"])
    across = min(3, len(names))
    fig, axes = grid(len(names), across, (min(COLUMN / across, 4.6), 2.5 if across > 2 else 3.2), (0.0, 1.4))
    for panel, name in zip(axes.flat, names, strict=False):
        some, line = points[points["dataset"] == name], lines[lines["dataset"] == name]
        _frame(panel, some, line)
        if len(line):  # below and left of the frontier; outside the frame there is more of the same
            beyond, gaps = line["error"].to_numpy() - 1, line["gap"].to_numpy()
            (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
            x = np.concatenate([[left, left, beyond[0]], beyond, [right, right]])
            panel.fill(x, np.concatenate([[low, high, high], gaps, [gaps[-1], low]]), color=IMPOSSIBLE, zorder=0, lw=0)
            panel.plot(beyond, gaps, "-", color=INK, linewidth=1.8, zorder=2)
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
    """What a method gets against what it pays, relative to PCA: medians with quartiles over data sets."""
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
        panel.set_title(f"{metric}, better {'up' if metric == 'label AUC' else 'down'}wards", fontsize="medium")
        panel.set_ylabel("area" if metric in AREAS else "relative to PCA")
        if metric not in AREAS:
            panel.set_yscale("log")
            plain_numbers(panel.yaxis)
        panel.set_xscale("symlog", linthresh=0.1, linscale=1.0)
        panel.set_xticks(PRICES, [f"{price:.0%}" for price in PRICES])
        panel.set_xticks([], minor=True)
        panel.set_xlim(left=-0.02)
    for panel in _lowest(axes, len(GAINS)):
        panel.set_xlabel("error beyond that of PCA")
    return _explained(fig, means["method"])


def classifier_panels(found: pd.DataFrame, chance: pd.Series | None = None) -> Figure:
    """Areas of ``summary.areas``: a panel for each classifier, a line for each method, bars from low to high.

    ``chance``, by classifier, is the area up to which a band reaches from one half."""
    names, classifiers = found["method"].unique(), found["classifier"].unique()
    own = styles_of(name for name in names if name not in CONTROLS)
    fig, axes = panels(1, len(classifiers), (COLUMN, 0.27 * len(names) + 1.1), sharex=True, sharey=True)
    for panel, classifier in zip(axes.flat, classifiers, strict=True):
        some = found[found["classifier"] == classifier].set_index("method").reindex(names)
        panel.axvline(0.5, color=INK, linestyle="--", linewidth=1.1, zorder=0)
        if chance is not None:
            panel.axvspan(0.5, chance[classifier], color=WASH, zorder=-1)
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


def _dressed(present: pd.Series) -> dict[str, MethodStyle]:
    """The looks of all methods, and of those that a reader added."""
    return styles_of([*DRESSED, *unregistered(present)])


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


def _explained(fig: Figure, present: pd.Series, first: list = ()) -> Figure:
    """The figure with a legend above it: of the methods that are present, in their order."""
    own = [look.open() for name, look in _dressed(present).items() if name in set(present)]
    marks = [Line2D([], [], linestyle="", markeredgewidth=1.5, **look) for look in own]
    fig.legend(handles=[*first, *marks], loc="outside upper left", ncols=4, fontsize="small")
    return fig


def _lowest(axes: np.ndarray, count: int) -> list[Axes]:
    """The last panel of every column."""
    across = axes.shape[1]
    return [axes.flat[place] for place in range(max(count - across, 0), count)]


def _quartiles(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.groupby("method", sort=False)["mean"].quantile([0.25, 0.5, 0.75]).unstack()
