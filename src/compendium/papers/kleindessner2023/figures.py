"""Figures of the experiments on fair representations: each takes tidy data and returns a matplotlib figure."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter

from evenspan.displays.method_looks import Look, group_looks, handles, looks, ordered
from evenspan.displays.style import COLOURS, COLUMN, INK, MARKERS, SOURCES

from ...figures import arms, entry, explained, grid, line_each, panels, plain_numbers, readable, words

#: Colour, marker and fill of what was measured on the fitting points, and of what was held out.
FITTING, HELD_OUT = (COLOURS[1], "o", "white"), (COLOURS[0], "s", COLOURS[0])
#: Weights of the second block as they are written in a legend.
WEIGHTS = {"lambda^3": "λ³ (released)", "lambda": "λ (printed)", "": ""}


# -- the table and its guarantees --------------------------------------------------------------------------------------


def protocols(summary: pd.DataFrame, metrics: list[str]) -> Figure:
    """Each metric as published (fitted and scored on the same points) and held out, one line a method.

    ``summary`` has the columns ``method``, ``metric``, ``protocol``, ``mean``. The metrics are accuracies and
    disparities in turn; each kind becomes a row of panels.
    """
    methods = list(dict.fromkeys(summary["method"]))
    rows = summary[summary["protocol"].isin(["released", "held-out"])]
    if not rows["metric"].isin(metrics).any():
        return words("No classifier has been run with this setting: that needs the points.")
    kinds = list(dict.fromkeys(metric.split(" (")[0] for metric in metrics))
    across = len(metrics) // len(kinds)
    size = (3.0 * across + 1.2, (0.34 * len(methods) + 0.8) * len(kinds) + 0.4)
    fig, axes = panels(len(kinds), across, size, sharey=True, sharex="row")
    y = np.arange(len(methods))
    for kind, line in zip(kinds, axes, strict=True):
        for panel, metric in zip(line, [m for m in metrics if m.startswith(f"{kind} (")], strict=True):
            both = rows[rows["metric"] == metric].pivot(index="method", columns="protocol", values="mean")
            both = both.reindex(index=methods, columns=["released", "held-out"])
            panel.hlines(y, both["released"], both["held-out"], color="#aaaaaa", linewidth=2)
            panel.plot(both["released"], y, "o", color=COLOURS[1], markerfacecolor="white", markeredgewidth=1.8)
            panel.plot(both["held-out"], y, "s", color=COLOURS[0])
            panel.set_title(readable(metric))
            line_each(panel, methods)
    return explained(fig, _samples("same points (published)", "held out"))


def promises(found: pd.DataFrame, metrics: dict[str, str], *, chance: dict[str, float]) -> Figure:
    """One panel a promise, one line a method: mean and interval in sample and held out.

    ``found`` has the columns ``method``, ``metric``, ``protocol`` ("in sample" or "held-out"), ``mean``, ``low``,
    ``high``; ``metrics`` the metric of each panel by its title. Where a metric has a value in ``chance``, nothing is
    learnt there: the dashed line.
    """
    methods = list(dict.fromkeys(found["method"]))
    fig, axes = grid(
        len(metrics), min(3, len(metrics)), (COLUMN / 3, 0.27 * len(methods) + 0.7), (0.0, 0.3), sharey=True
    )
    for panel, (title, metric) in zip(axes.flat, metrics.items(), strict=False):
        for shift, protocol, look in ((-0.13, "in sample", FITTING), (0.13, "held-out", HELD_OUT)):
            some = found[(found["metric"] == metric) & (found["protocol"] == protocol)]
            some, (colour, marker, fill) = some.set_index("method").reindex(methods), look
            panel.errorbar(
                some["mean"], np.arange(len(methods)) + shift, xerr=arms(some, "mean", "low", "high"), fmt=marker,
                color=colour, markerfacecolor=fill, markersize=5, capsize=2, linewidth=1,
            )  # fmt: skip
        if metric in chance:
            panel.axvline(chance[metric], color="#777777", linestyle="--", linewidth=1)
        panel.set(title=title, xlabel=readable(metric))
        panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        line_each(panel, methods)
    return explained(fig, _samples("in sample", "held-out"))


def _samples(fitting: str, held_out: str) -> list[Line2D]:
    looks = {fitting: FITTING, held_out: HELD_OUT}
    return [entry(name, colour, marker, mfc=fill) for name, (colour, marker, fill) in looks.items()]


# -- synthetic data and pictures ---------------------------------------------------------------------------------------


def embeddings(points: pd.DataFrame, *, shared: bool = True) -> Figure:
    """Two-dimensional representations, one panel a method, a colour and a marker for each group.

    ``points`` has the columns ``method``, ``group``, ``x``, ``y``; if ``shared``, all panels have the scale of the
    widest.
    """
    methods, groups = list(dict.fromkeys(points["method"])), group_looks(sorted(points["group"].unique()))
    wide, high = (float(np.ptp(points[axis], axis=0)) for axis in ("x", "y"))
    width = min(COLUMN / len(methods), 3.7) - 0.3
    height = 1.3 + width * (min(max(high / wide, 0.25), 1.0) if shared else 0.9)
    fig, axes = panels(1, len(methods), (3.7 * len(methods), height), sharex=shared, sharey=shared)
    for panel, method in zip(axes.flat, methods, strict=True):
        for group, own in groups.items():
            some = points[(points["method"] == method) & (points["group"] == group)]
            dress = {"color": own.colour, "marker": own.marker, "alpha": 0.5, "linewidth": 0, "rasterized": True}
            panel.scatter(some["x"], some["y"], s=14, zorder=2, **dress)
        panel.set(title=method, xlabel="component 1")
        panel.set_aspect("equal", adjustable="box" if shared else "datalim")
    axes[0, 0].set_ylabel("component 2")
    fig.set_dpi(200)  # of the points, which are pixels: thousands of marks weigh more
    return explained(fig, [entry(f"group {group}", own.colour, own.marker) for group, own in groups.items()])


def spread_by_dimension(found: pd.DataFrame, metrics: list[str]) -> Figure:
    """Boxes over the splits: one row of panels a metric, one column a dimension, one line a method.

    The thin line runs from the smallest to the largest value, the thick one between the quartiles; the circle is the
    median, the diamond the mean of the reference. ``found`` is a ``latent_table`` of :mod:`.synthetic`.
    """
    methods, dimensions = list(dict.fromkeys(found["method"])), sorted(found["d"].unique())
    size = (3.0 * len(dimensions) + 2.2, (0.27 * len(methods) + 0.7) * len(metrics) + 0.5)
    fig, axes = panels(len(metrics), len(dimensions), size, sharey=True, sharex="row")
    y, (ours, mark), (theirs, diamond) = np.arange(len(methods)), SOURCES["ours"], SOURCES["published"]
    for line, metric in zip(axes, metrics, strict=True):
        for panel, d in zip(line, dimensions, strict=True):
            some = found[(found["metric"] == metric) & (found["d"] == d)].set_index("method").reindex(methods)
            panel.hlines(y, some["smallest"], some["largest"], color=ours, linewidth=1)
            panel.hlines(y, some["lower"], some["upper"], color=ours, linewidth=5, alpha=0.5)
            panel.plot(some["median"], y, mark, color=ours, markersize=5)
            panel.plot(some["reference"], y, diamond, color=theirs, markersize=5, markerfacecolor="white")
            panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
            line_each(panel, methods)
        line[0].set_ylabel(readable(metric))
        line[0].set_xlim(left=min(0.0, line[0].get_xlim()[0]))  # after all of the row is drawn
    for panel, d in zip(axes[0], dimensions, strict=True):
        panel.set_title(f"d = {d}")
    median = entry("median, quartiles and range over the splits", ours, mark, "-")
    return explained(fig, [median, entry("mean of the reference", theirs, diamond, mfc="white")])


def pictures(rows: pd.DataFrame, side: int) -> Figure:
    """Square grey pictures in a grid, black at 0 and white at 1; in the column "direction" zero is grey.

    ``rows`` has the columns ``row``, ``column``, ``pixel``, ``value``; a place in the grid without pixels stays empty.
    A picture has ``side`` times ``side`` pixels.
    """
    if rows.empty:
        return words("No picture is available: these data have not been run with this setting.")
    down, across = list(dict.fromkeys(rows["row"])), list(dict.fromkeys(rows["column"]))
    side_shown = min(1.45, (COLUMN - 1.0) / len(across))
    size = (side_shown * len(across) + 1.0, (side_shown + 0.05) * len(down) + 0.4)
    fig, axes = panels(len(down), len(across), size)
    for line, name in zip(axes, down, strict=True):
        for panel, column in zip(line, across, strict=True):
            panel.set(xticks=[], yticks=[])
            panel.grid(visible=False)
            panel.spines[:].set_visible(False)
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

    ``found`` has the columns ``reader``, ``method``, ``k``, ``mean``, ``smallest``, ``largest``: areas under the ROC
    curve.
    """
    names, methods = list(dict.fromkeys(found["reader"])), list(dict.fromkeys(found["method"]))
    fig, axes = grid(len(names), 2, (COLUMN / 2, 2.5), (0.0, 0.4), sharey=True)
    sizes = sorted(found["k"].unique())
    for panel, name in zip(axes.flat, names, strict=True):
        for shift, (method, own) in enumerate(looks(ordered(methods)).items()):
            some = found[(found["reader"] == name) & (found["method"] == method)].set_index("k").reindex(sizes)
            x = np.arange(len(sizes)) + 0.12 * (shift - (len(methods) - 1) / 2)
            panel.errorbar(x, some["mean"], yerr=arms(some, "mean"), linestyle="", capsize=2, **own.mark())
        panel.axhline(0.5, color=INK, linestyle="--", linewidth=1)
        panel.set(title=name, xlabel="components k", xlim=(-0.5, len(sizes) - 0.5))
        panel.set_xticks(range(len(sizes)), [str(k) for k in sizes])
    for panel in axes[:, 0]:
        panel.set_ylabel("area under the ROC curve")
    return explained(fig, axes[0, 0].get_legend_handles_labels()[0])


# -- running times -----------------------------------------------------------------------------------------------------


def time_ratios(curve: pd.DataFrame) -> Figure:
    """Fitting time relative to standard PCA against the number of features, one panel for each number of rows.

    ``curve`` has the columns ``method``, ``n``, ``d``, ``median``, ``smallest``, ``largest``.
    """
    sizes = sorted(curve["n"].unique())
    fig, axes = panels(1, len(sizes), (COLUMN, 4.0), sharey=True)
    own = looks(ordered(curve["method"].unique()))
    low, high = curve["smallest"].min(), curve["largest"].max()
    finest = (1, 2, 5) if high < 100 * low else (1,)
    steps = [s * 10.0**e for e in range(-2, 7) for s in finest if low / 2 < s * 10.0**e < high * 2]
    for panel, n in zip(axes.flat, sizes, strict=True):
        of_size = curve[curve["n"] == n]
        _times(panel, of_size, "d", "median", own)
        panel.set(xlabel="features d", title=f"n = {n:,} rows")
        ticks = sorted(of_size["d"].unique())
        panel.set_xticks(ticks, [str(tick) for tick in ticks])
        panel.minorticks_off()
        panel.set_yticks(steps, [f"{step:g}" for step in steps])
    axes[0, 0].set_ylabel("fitting time / standard PCA")
    return explained(fig, handles(own.values(), lines=True), 5 if len(own) > 6 else 3, fontsize="small")


def times(found: pd.DataFrame, unit: str) -> Figure:
    """Fitting time as a multiple of one unit against the number of training points.

    ``found`` has the columns ``method``, ``n``, ``mean``, ``smallest``, ``largest``.
    """
    fig, ((panel,),) = panels(1, 1, (6.4, 4.2))
    _times(panel, found, "n", "mean", looks(ordered(found["method"].unique())))
    panel.axhline(1.0, color="#888888", linewidth=1.0, linestyle=":")
    panel.set(xlabel="training points n", ylabel=f"fitting time / {unit}")
    ticks = sorted(found["n"].unique())
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize="small", rotation=30)
    panel.xaxis.set_minor_formatter(NullFormatter())
    plain_numbers(panel.yaxis)
    panel.legend(loc="best", fontsize="small")
    return fig


def _times(panel: Axes, found: pd.DataFrame, size: str, middle: str, own: dict[str, Look]) -> None:
    """A line for each method with its range, both axes logarithmic."""
    for method, look in own.items():
        line = found[found["method"] == method].sort_values(size)
        panel.errorbar(line[size], line[middle], yerr=arms(line, middle), capsize=2, **look.line())
    panel.set(xscale="log", yscale="log")


# -- trade-offs --------------------------------------------------------------------------------------------------------


def tradeoff(points: pd.DataFrame, violation: str, trivial: Sequence[str] = ()) -> Figure:
    """Accuracy against the violation, a row of panels for each classifier and size, a column for each data set.

    Points of one method are joined in the order of their parameter. Upper left is better. ``points`` has the columns
    ``dataset``, ``classifier``, ``size``, ``method``, ``parameter``, ``accuracy`` and the violation, by its name; the
    ``trivial`` methods, without a parameter, come last.
    """
    methods = [name for name in dict.fromkeys(points["method"]) if name not in trivial]
    return _curves(points, violation, "method", looks([*methods, *trivial]), "{0}, {1}\n{2}")


def powers(points: pd.DataFrame, violation: str) -> Figure:
    """The same for one representation with the second block weighted by lambda and by its third power (``weight``).

    The values of lambda at the ends and in the middle stand beside their markers.
    """
    weights = [name for name in WEIGHTS if name in set(points["weight"])]
    signs = zip(weights, COLOURS, MARKERS, ("-", "--", ":"), ("full", "none", "full"), strict=False)
    own = {name: Look(colour, mark, dash, WEIGHTS[name], fill, 5.5, "", "") for name, colour, mark, dash, fill in signs}
    fig = _curves(points, violation, "weight", own, "{0}")
    told = points[points["parameter"].isin([0.1, 0.5, 0.9])]
    for panel, dataset in zip(fig.axes, dict.fromkeys(points["dataset"]), strict=True):
        panel.margins(0.1)
        for place, weight in enumerate(weights):
            for one in told[(told["dataset"] == dataset) & (told["weight"] == weight)].to_dict("records"):
                panel.annotate(
                    f"{one['parameter']:g}", (one[violation], one["accuracy"]), (8, -16) if place else (-7, 9),
                    textcoords="offset points", color=own[weight].colour, fontsize="small",
                    ha="left" if place else "right",
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
                )  # fmt: skip
    return fig


def _curves(points: pd.DataFrame, violation: str, series: str, own: dict[str, Look], title: str) -> Figure:
    lines = list(points.groupby(["classifier", "size"], sort=False).groups)
    columns = list(dict.fromkeys(points["dataset"]))
    fig, axes = panels(len(lines), len(columns), (4.4 * len(columns) + 0.4, 3.1 * len(lines) + 0.9))
    for line, row in zip(lines, axes, strict=True):
        for dataset, panel in zip(columns, row, strict=True):
            here = points[(points[["dataset", "classifier", "size"]] == [dataset, *line]).all(axis=1)]
            for name, look in own.items():
                some = here[here[series] == name].sort_values("parameter")
                if len(some):
                    panel.plot(
                        some[violation], some["accuracy"], markersize=5.5, linewidth=0.8, alpha=0.9, **look.line()
                    )
            panel.set_title(title.format(dataset, *line), fontsize="small")
            panel.xaxis.set_major_locator(MaxNLocator(5))
    for panel in axes[-1]:
        panel.set_xlabel(f"{violation} on the test part")
    for panel in axes[:, 0]:
        panel.set_ylabel("accuracy on the test part")
    return explained(fig, handles(own.values(), lines=True), 4, fontsize="small")
