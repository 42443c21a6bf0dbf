"""Figures of the experiments on fair representations: each takes tidy data and returns a matplotlib figure."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from evenspan.displays.method_styles import group_styles
from evenspan.displays.style import COLUMN, INK

from ...figures import arms, entry, explained, panels, plain_numbers, words
from ...method_styles import handles, ordered, styles_of


def embeddings(points: pd.DataFrame, *, shared: bool = True) -> Figure:
    """Two-dimensional representations (columns ``method``, ``group``, ``x``, ``y``), one panel a method.

    If ``shared``, all panels have the scale of the widest."""
    methods, groups = list(dict.fromkeys(points["method"])), group_styles(sorted(points["group"].unique()))
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


def pictures(rows: pd.DataFrame, side: int) -> Figure:
    """Square grey pictures in a grid, black at 0 and white at 1; in the column "direction" zero is grey.

    ``rows`` has the columns ``row``, ``column``, ``pixel``, ``value``; a place without pixels stays empty."""
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


def time_ratios(curve: pd.DataFrame) -> Figure:
    """Fitting time relative to standard PCA against the number of features, one panel for each number of rows."""
    parts = {f"n = {n:,} rows": part for n, part in curve.groupby("n")}
    return _times(parts, "d", "median", "features d", "standard PCA")


def times(found: pd.DataFrame, unit: str) -> Figure:
    """Fitting time as a multiple of one unit against the number of training points."""
    return _times({"": found}, "n", "mean", "training points n", unit)


def _times(parts: dict[str, pd.DataFrame], size: str, middle: str, label: str, unit: str) -> Figure:
    """Multiples of a time against a size, both logarithmic: a panel a part, a line for each method with its range."""
    fig, axes = panels(1, len(parts), (COLUMN if len(parts) > 1 else 6.4, 4.2), sharey=True)
    own = styles_of(ordered(pd.concat(parts)["method"].unique()))
    for panel, (title, part) in zip(axes.flat, parts.items(), strict=True):
        for method, look in own.items():
            line = part[part["method"] == method].sort_values(size)
            panel.errorbar(line[size], line[middle], yerr=arms(line, middle), capsize=2, **look.line())
        panel.axhline(1.0, color="#888888", linewidth=1.0, linestyle=":")
        panel.set(xscale="log", yscale="log", xlabel=label, title=title)
        ticks = sorted(part[size].unique())
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize="small")
        panel.xaxis.set_minor_formatter(NullFormatter())
        plain_numbers(panel.yaxis)
    axes[0, 0].set_ylabel(f"fitting time / {unit}")
    return explained(fig, handles(own.values(), lines=True), 5 if len(own) > 6 else 3, fontsize="small")


def tradeoff(points: pd.DataFrame, violation: str, trivial: Sequence[str] = ()) -> Figure:
    """Accuracy against the violation, a row of panels for each classifier and size, a column for each data set.

    Points of one method are joined in the order of their parameter; ``trivial`` methods have none and come last."""
    methods = [name for name in dict.fromkeys(points["method"]) if name not in trivial]
    own = styles_of([*methods, *trivial])
    lines = list(points.groupby(["classifier", "size"], sort=False).groups)
    columns = list(dict.fromkeys(points["dataset"]))
    fig, axes = panels(len(lines), len(columns), (4.4 * len(columns) + 0.4, 3.1 * len(lines) + 0.9))
    for line, row in zip(lines, axes, strict=True):
        for dataset, panel in zip(columns, row, strict=True):
            here = points[(points[["dataset", "classifier", "size"]] == [dataset, *line]).all(axis=1)]
            for name, look in own.items():
                some = here[here["method"] == name].sort_values("parameter")
                drawn = {"markersize": 5.5, "linewidth": 0.8, "alpha": 0.9} | look.line()
                panel.plot(some[violation], some["accuracy"], **drawn)
            panel.set_title("{}, {}\n{}".format(dataset, *line), fontsize="small")
            panel.xaxis.set_major_locator(MaxNLocator(5))
    for panel in axes[-1]:
        panel.set_xlabel(f"{violation} on the test part")
    for panel in axes[:, 0]:
        panel.set_ylabel("accuracy on the test part")
    return explained(fig, handles(own.values(), lines=True), 4, fontsize="small")
