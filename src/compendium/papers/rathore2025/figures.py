"""Figures of the experiments on joint diagonalisation: each takes tidy data and returns a matplotlib figure.

What ``rows`` are, where nothing else is said: those of the experiment on Tables 2 to 5, one or several data sets.
"""

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenspan.displays.method_looks import handles as legend_handles
from evenspan.displays.method_looks import looks, ordered, unregistered
from evenspan.displays.style import COLOURS, COLUMN, INK, MARKERS, SOURCES
from evenspan.reconstruction import JointRange

from ...figures import entry, explained, lower_left, plain_numbers, readable
from .protocol import PRINTED, PUBLISHED, TABLES, printed
from .readings import exponents

#: Methods of ours that figures show beside the printed ones; the women's PCA diagonalises nothing jointly.
BESIDE = ("JevdPCA (orthogonal)", "PCA of the women")
#: Where the paper's fair methods were given rows that nobody centred: lines of these, dotted, stand beside the others.
UNCENTRED = ("lsac_bw",)
#: The method that the certified optimum stands for, and the metric that carries it.
OPTIMUM, LEAST = "FairPCA_SDP_LP", "least worst loss"
#: Two losses are equal if they differ by less than this share of the least worst loss.
EQUAL_TO = 1e-6
#: Colour of the line of equal losses.
EQUAL = "#8a5a00"


def _with_legend(fig: Figure, handles, ncols: int = 3) -> Figure:
    return explained(fig, handles, ncols, fontsize="small")


def title(dataset: str) -> str:
    """The printed name of a data set, or our name of another one."""
    return TABLES[dataset].title if dataset in TABLES else dataset


def panels(rows: pd.DataFrame) -> Figure:
    """Three panels of Figure 1 for every data set in the rows: printed numbers as open marks, ours as lines."""
    datasets = list(dict.fromkeys(rows["dataset"]))
    fig, axes = plt.subplots(
        len(datasets), 3, figsize=(COLUMN, 2.1 * len(datasets) + 1.0), squeeze=False, layout="constrained"
    )
    methods = looks([*ordered((*PUBLISHED, *BESIDE)), *unregistered(rows["method"])])
    for across, dataset in zip(axes, datasets, strict=True):
        theirs = printed(dataset)
        for panel, metric in zip(across, PRINTED, strict=True):
            some = rows[(rows["dataset"] == dataset) & (rows["metric"] == metric)]
            for number, (method, own) in enumerate(methods.items()):
                for name, dash, width in (
                    (method, "-" if method in PUBLISHED else "--", 1.4),
                    (f"{method} (uncentred)", ":", 1.6),
                ):
                    line = some[some["method"] == name].sort_values("k")
                    if name == method or (dataset in UNCENTRED and len(line)):
                        panel.plot(line["k"], line["value"], dash, color=own.colour, linewidth=width)
                if method in PUBLISHED:
                    drawn = own.open() | {"markersize": 9.5 - 1.0 * number, "linestyle": ""}
                    panel.plot(theirs.index, theirs[method, metric], **drawn)
            panel.set_title(f"{title(dataset)}: {readable(metric)}")
            if metric == "R.E.":
                panel.set_yscale("log")
                plain_numbers(panel.yaxis)
    for panel in axes.flat:
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    for panel in axes[-1]:
        panel.set_xlabel("dimensions r")
    handles = [
        Line2D([], [], color=own.colour, marker=own.marker if name in PUBLISHED else "", markerfacecolor="none",
               linestyle="-" if name in PUBLISHED else "--", label=name) for name, own in methods.items()
    ]  # fmt: skip
    if set(datasets) & set(UNCENTRED):
        handles.append(Line2D([], [], color=INK, linestyle=":", label="fitted on uncentred rows"))
    return _with_legend(fig, handles)


def losses(rows: pd.DataFrame) -> Figure:
    """The larger of the two group losses, and who loses more, against r; the certified optimum as a bold line."""
    datasets = list(dict.fromkeys(rows["dataset"]))
    drawn = ordered(name for name in (*PUBLISHED, *BESIDE) if name != OPTIMUM)
    methods = looks([*drawn, *unregistered(rows["method"])])
    fig, axes = plt.subplots(2, len(datasets), figsize=(COLUMN, 5.8), squeeze=False, sharex="col", layout="constrained")
    for (upper, lower), dataset in zip(axes.T, datasets, strict=True):
        wide = losses_by_k(rows[rows["dataset"] == dataset])
        least = wide[OPTIMUM, LEAST]
        upper.plot(least.index, least, color=INK, linewidth=2.6)
        lower.axhline(0.0, color=INK, linewidth=2.6)
        for method, own in methods.items():
            if method not in wide:
                continue
            drawn = own.line() | {"markersize": 4.5 if own.fill == "full" else 7.0, "linewidth": 1.3}
            upper.plot(wide.index, wide[method, "worst loss"], **drawn)
            more = (wide[method, "loss of women"] - wide[method, "loss of men"]) / least
            lower.plot(wide.index, more, **drawn)
        upper.set(title=title(dataset), yscale="log")
        lower.set_yscale("symlog", linthresh=1.0)
        lower.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        lower.set_xlabel("dimensions r")
        lower.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes[0, 0].set_ylabel("larger group loss")
    axes[1, 0].set_ylabel("loss of women less that of men,\nin units of the least larger loss")
    handles = [Line2D([], [], color=INK, linewidth=2.6, label="certified optimum (equal losses)")]
    handles += legend_handles(methods.values(), lines=True)
    return _with_legend(fig, handles)


def loss_table(rows: pd.DataFrame) -> pd.DataFrame:
    """For every r of one data set the certified least worst loss, and each method's with the difference of the two."""
    wide = losses_by_k(rows)
    shown = {"r": wide.index, "certified optimum": [f"{value:.4g}" for value in wide[OPTIMUM, LEAST]]}
    for method in [name for name in (*PUBLISHED, *BESIDE, *unregistered(rows["method"])) if name in wide]:
        worst, gap = wide[method, "worst loss"], wide[method, "loss gap"]
        equal = gap <= EQUAL_TO * wide[OPTIMUM, LEAST].clip(lower=0.0)
        shown[method] = [
            "–" if w != w else f"{w:.4g} ({'equal' if same else f'{g:.2g}'})"
            for w, g, same in zip(worst, gap, equal, strict=True)
        ]
    return pd.DataFrame(shown)


def losses_by_k(rows: pd.DataFrame) -> pd.DataFrame:
    """Losses of one data set: k down, ``(method, metric)`` across, methods without any left out."""
    some = rows[rows["metric"].isin(["worst loss", "loss gap", "loss of women", "loss of men", LEAST])]
    return some.pivot_table(index="k", columns=["method", "metric"], values="value", aggfunc="first")


def candidates(found: Mapping[str, pd.DataFrame]) -> Figure:
    """The share of each printed column that the nearest candidates give again, a panel for each column.

    Given by printed column: ``method``, ``equal``, ``numbers``, the nearest first.
    """
    lines = [len(some) for some in found.values()]
    fig, axes = plt.subplots(
        len(found), 1, figsize=(COLUMN, 0.3 * sum(lines) + 0.55 * len(found) + 0.6), sharex=True, squeeze=False,
        gridspec_kw={"height_ratios": [max(n, 1) for n in lines]}, layout="constrained",
    )  # fmt: skip
    for panel, (column, some) in zip(axes.flat, found.items(), strict=True):
        y = np.arange(len(some))
        panel.hlines(y, 0.0, some["equal"] / some["numbers"], color="#bbbbbb", linewidth=1.2)
        whole = some["equal"] == some["numbers"]
        for which, colour, marker in ((whole, COLOURS[2], "D"), (~whole, COLOURS[0], "o")):
            panel.plot(some["equal"][which] / some["numbers"][which], y[which], marker, color=colour, markersize=7)
        for at, (equal, numbers) in enumerate(zip(some["equal"], some["numbers"], strict=True)):
            panel.text(equal / numbers + 0.025, at, f"{equal:.0f} of {numbers:.0f}", va="center", fontsize="small")
        panel.set_yticks(y, [textwrap.fill(name, 48) for name in some["method"]], fontsize="small")
        panel.set(title=f"printed as {column}", xlim=(0.0, 1.25), ylim=(len(some) - 0.4, -0.6))
        panel.set_xticks(np.linspace(0.0, 1.0, 6))
        panel.grid(axis="y", visible=False)
    axes[-1, 0].set_xlabel("share of the printed numbers that come out digit by digit")
    return fig


def factorial(table: pd.DataFrame) -> Figure:
    """Every cell as a point: excess error and advantage in MMD^2 over PCA, with the sensitive column and without.

    Of one data set, as :func:`~.readings.cells` gives them. What the paper prints for JevdPCA against StandardPCA is
    marked where that column is in.
    """
    (dataset,) = table["dataset"].unique()
    theirs = printed(dataset)
    against = (
        float((theirs["JevdPCA", "R.E."] / theirs["StandardPCA", "R.E."]).mean(axis=0) - 1.0),
        float((theirs["StandardPCA", "MMD^2"] - theirs["JevdPCA", "MMD^2"]).mean(axis=0)),
    )
    methods, centrings = list(dict.fromkeys(table["method"])), list(dict.fromkeys(table["centring"]))
    fig, axes = plt.subplots(1, 2, figsize=(COLUMN, 4.6), sharey=True, layout="constrained")
    for panel, (sex, title) in zip(axes, (("in", "Sensitive column in"), ("out", "Sensitive column out")), strict=True):
        for method, marker in zip(methods, MARKERS, strict=False):
            for centring, colour in zip(centrings, COLOURS, strict=False):
                keys = table["sensitive column"].eq(sex) & table["method"].eq(method) & table["centring"].eq(centring)
                panel.scatter(
                    100.0 * table.loc[keys, "mean excess R.E."], table.loc[keys, "mean advantage in MMD^2"], s=42,
                    marker=marker, facecolor="none", edgecolor=colour, linewidth=1.4,
                )  # fmt: skip
        panel.axhline(0.0, color="#888888", linewidth=1)
        panel.set_xscale("symlog", linthresh=1.0)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.set_xlim(-0.5, 100.0 * table["mean excess R.E."].max() * 1.6)
        panel.set(title=title, xlabel="mean excess of R.E. over PCA, per cent")
    axes[0].plot(100.0 * against[0], against[1], "*", color=INK, markersize=14, zorder=5)
    axes[0].set_ylabel("mean advantage in MMD² over PCA")
    handles = [entry("printed JevdPCA", marker="*", markersize=11)]
    shapes, colours = zip(methods, MARKERS, strict=False), zip(centrings, COLOURS, strict=False)
    handles += [entry(name, "#555555", marker, markerfacecolor="none") for name, marker in shapes]
    handles += [Patch(color=colour, label=f"centring: {name}") for name, colour in colours]
    return _with_legend(fig, handles)


def scaling(rows: pd.DataFrame) -> Figure:
    """Seconds against size on logarithmic axes, a line for each method, with the exponent of the largest sizes.

    The slowest comes first in the legend.

    Columns ``method``, ``d``, ``seconds``.
    """
    fig, panel = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
    own, slopes = looks(rows["method"]), exponents(rows[["method", "d", "seconds"]])
    for method, some in rows.groupby("method", sort=False):
        line = some.sort_values("d")
        label = f"{method}: d^{slopes[method]:.1f}" if len(line) > 2 else method
        drawn = own[method].line() | {"markersize": 5.5, "linewidth": 1.4, "label": label}
        panel.loglog(line["d"], line["seconds"], **drawn)
    panel.set(xlabel="features d", ylabel="seconds")
    plain_numbers(panel.xaxis)
    plain_numbers(panel.yaxis)
    common = rows.groupby("method")["d"].max().min()
    lines = sorted(panel.lines, key=lambda line: -np.interp(common, *line.get_data()))
    return _with_legend(fig, lines, ncols=2)


def time_ratios(found: pd.DataFrame) -> Figure:
    """Training times as multiples of standard PCA's, printed and ours, one panel for each data set.

    Columns ``dataset``, ``method``, ``printed``, ``ours``; what is missing is left out.
    """
    datasets = [name for name in TABLES if name in set(found["dataset"])]
    methods = [name for name in dict.fromkeys(found["method"]) if name != "StandardPCA"]
    fig, axes = plt.subplots(
        1, len(datasets), figsize=(COLUMN, 0.42 * len(methods) + 1.5), sharey=True, squeeze=False, layout="constrained"
    )
    for panel, dataset in zip(axes.flat, datasets, strict=True):
        some = found[found["dataset"] == dataset].set_index("method").reindex(methods)
        for source, (colour, marker) in (("printed", SOURCES["published"]), ("ours", SOURCES["ours"])):
            face = "white" if source == "printed" else colour
            panel.plot(some[source], range(len(methods)), marker, color=colour, mfc=face, markersize=7, label=source)
        panel.axvline(1.0, color="#888888", linewidth=1)
        panel.set(title=TABLES[dataset].title, xscale="log")
        panel.margins(x=0.1)
        plain_numbers(panel.xaxis)
    axes[0, 0].set_yticks(range(len(methods)), methods)
    axes[0, 0].invert_yaxis()
    axes[0, len(datasets) // 2].set_xlabel("time / StandardPCA's")
    return _with_legend(fig, axes[0, 0].get_legend_handles_labels()[0], ncols=2)


# -- diagrams of the derivation ----------------------------------------------------------------------------------------


def losses_plane(
    matrices: np.ndarray, k: int, points: dict[str, tuple[float, float]], *, labels: tuple[str, str]
) -> Figure:
    """All pairs of group losses that projections of rank k reach, the certified frontier, and a mark for each point.

    For the matrices (2, d, d) of two groups with these labels; points are losses of both by name.
    """
    joint = JointRange(*matrices, k)
    own = np.array([joint.support(0.0).value, joint.support(np.pi / 2).value])
    region, edge = joint.boundary(360) - own, lower_left(joint) - own
    fig, panel = plt.subplots(figsize=(6.6, 5.0), layout="constrained")
    panel.fill(*region.T, color="#dfe9f2", zorder=0)
    panel.plot(*np.vstack([region, region[:1]]).T, color="#7f9cb5", linewidth=1.1)
    panel.plot(*edge.T, color=INK, linewidth=2.2)
    panel.axline((0.0, 0.0), slope=1.0, color=EQUAL, linestyle=":", linewidth=1.8)
    own = looks(points)
    for number, (name, point) in enumerate(points.items()):
        drawn = own[name].open() | {"markersize": 13 - number, "markeredgewidth": 2.0}
        panel.plot(*point, zorder=4, linestyle="none", clip_on=False, **drawn)
    room = 0.06 * np.ptp(region, axis=0).max()
    low, high = region.min(axis=0) - room, region.max(axis=0) + room
    panel.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    panel.set(xlabel=f"loss of {labels[0]}", ylabel=f"loss of {labels[1]}")
    handles = [
        Patch(color="#dfe9f2", label="attainable"),
        Line2D([], [], color=INK, linewidth=2.2, label="certified frontier"),
        Line2D([], [], color=EQUAL, linestyle=":", linewidth=1.8, label="equal losses"),
    ]
    return explained(fig, handles + panel.get_legend_handles_labels()[0], 3, fontsize="small", labelspacing=0.9)


def criterion_paths(paths: dict[str, dict[str, np.ndarray]]) -> Figure:
    """The criterion at the start and after every step, relative to the start, by data set (colour) and start (dash)."""
    fig, panel = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    starts = list(dict.fromkeys(start for runs in paths.values() for start in runs))
    dashes = dict(zip(starts, ("-", "--", ":"), strict=False))
    handles = []
    for (dataset, runs), colour, marker in zip(paths.items(), COLOURS, MARKERS, strict=False):
        for start, path in runs.items():
            path = np.asarray(path, dtype=float)
            panel.plot(
                np.arange(len(path)), path / path[0], dashes[start], color=colour, marker=marker, markersize=5.5,
                markevery=max(len(path) // 8, 1), linewidth=1.5,
            )  # fmt: skip
        handles.append(Line2D([], [], color=colour, marker=marker, label=dataset))
    handles += [Line2D([], [], color=INK, linestyle=dashes[start], label=f"from {start}") for start in starts]
    panel.axhline(1.0, color="#888888", linewidth=1)
    panel.set(yscale="log", xlabel="step", ylabel="criterion C, relative to the start")
    panel.set_xscale("symlog", linthresh=1.0)
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.set_xlim(left=-0.1)
    return _with_legend(fig, handles)


def subset_map(chosen: dict[int, tuple[int, ...]], d: int, *, xlabel: str) -> Figure:
    """Which of d columns a basis consists of, a line for each number of dimensions: a filled mark for each in it."""
    fig, panel = plt.subplots(figsize=(6.6, 0.32 * len(chosen) + 1.4), layout="constrained")
    for k, members in chosen.items():
        panel.plot(range(1, d + 1), [k] * d, "o", color="#cccccc", markerfacecolor="none", markersize=8)
        leading, other = [j + 1 for j in members if j < k], [j + 1 for j in members if j >= k]
        panel.plot(leading, [k] * len(leading), "o", color=COLOURS[0], markersize=9)
        panel.plot(other, [k] * len(other), "s", color=COLOURS[1], markersize=9)
    panel.axline((0.5, 0.5), slope=1.0, color=INK, linewidth=1)
    panel.set(xlabel=xlabel, ylabel="dimensions", xlim=(0.4, d + 0.6), ylim=(max(chosen) + 0.6, min(chosen) - 0.6))
    panel.set_xticks(range(1, d + 1))
    panel.set_yticks(list(chosen))
    panel.grid(False)
    handles = [entry("one of the first", COLOURS[0], "o"), entry("from further back", COLOURS[1], "s")]
    handles.append(entry("left out", "#cccccc", "o", markerfacecolor="none"))
    return _with_legend(fig, handles)
