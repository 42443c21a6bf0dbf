"""Figures of fair clustering: quality against fairness, counts of groups in clusters, kernels as pictures, a bound."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from evenspan.displays import method_looks
from evenspan.displays.method_looks import Look, group_looks
from evenspan.displays.style import INK, looks

#: Between 0 and this weight the axis is linear, so that 0 has a place; then logarithmic.
LINEAR_UP_TO = 0.1


class Picture(NamedTuple):
    """A kernel averaged down: values (b, b) and where on the axes, as shares, parts begin and end."""

    values: np.ndarray
    edges: Sequence[float] = ()


def over_weight(
    spread: pd.DataFrame, metrics: Sequence[str], chosen: Mapping[str, float] | None = None, *, across: int = 2
) -> Figure:
    """Each metric against the fairness weight: median as a line, the range over all runs as a band.

    Parameters
    ----------
    spread : DataFrame
        Columns ``method``, ``weight``, ``metric``, ``median``, ``smallest``, ``largest``; rows without a weight are
        left out.
    metrics : sequence of str
        The panels, in order.
    chosen : mapping of str to float, optional
        Weight by method that a rule has chosen: a vertical line with the method's marker on top.
    across : int
        Panels in a row.
    """
    some = spread.dropna(subset=["weight"])
    dress = method_looks.looks(some["method"], others=True)
    down = -(-len(metrics) // across)
    fig, axes = plt.subplots(
        down, across, figsize=(4.3 * across + 0.3, 2.8 * down + 0.7), squeeze=False, layout="constrained"
    )
    for panel, metric in zip(axes.flat, metrics, strict=False):
        for method, line in some[some["metric"] == metric].groupby("method", sort=False):
            _band(panel, line.sort_values("weight"), dress[method])
        for method, weight in (chosen or {}).items():
            if method in dress:
                own = dress[method]
                panel.axvline(
                    weight,
                    color=own.colour,
                    marker=own.marker,
                    markevery=[1],
                    clip_on=False,
                    linestyle="--",
                    linewidth=1.2,
                )
        _weight_axis(panel, some["weight"])
        panel.set_title(metric)
    for panel in axes.flat[len(metrics) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("fairness weight λ")
    fig.legend(
        *axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2 * across, fontsize="small"
    )
    return fig


def against(spread: pd.DataFrame, fairness: str, qualities: Sequence[str]) -> Figure:
    """Quality against fairness: one marker for each method and weight, with the range over the runs in both directions.

    Points of a method are joined in the order of its weights; methods without a weight are single points.

    Parameters
    ----------
    spread : DataFrame
        As in :func:`over_weight`; methods without a weight have NaN there.
    fairness : str
        Metric of the horizontal axis.
    qualities : sequence of str
        Metrics of the vertical axes, one panel each.
    """
    dress = method_looks.looks(spread["method"])
    fig, axes = plt.subplots(
        1, len(qualities), figsize=(5.0 * len(qualities) + 0.3, 4.6), squeeze=False, layout="constrained"
    )
    for panel, quality in zip(axes[0], qualities, strict=True):
        for method, part in spread.groupby("method", sort=False):
            x, y = (
                part[part["metric"] == name].sort_values("weight").set_index("weight") for name in (fairness, quality)
            )
            lone = x.index.isna().all()
            drawn = (dress[method].open() if lone else dress[method].line()) | {
                "linewidth": 0.0 if lone else 1.0,
                "markersize": 8 if lone else 5,
                "markeredgewidth": 1.6 if lone else 0.6,
            }
            panel.errorbar(x["median"], y["median"], xerr=_arms(x), yerr=_arms(y), elinewidth=0.7, alpha=0.9, **drawn)
        panel.set(xlabel=fairness, ylabel=quality, title=f"{quality} against {fairness}")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    return fig


def cluster_bars(counts: Mapping[str, np.ndarray], groups: Sequence[str]) -> Figure:
    """Bars of how many points of each group every cluster holds: one panel an answer, clusters by their size.

    Parameters
    ----------
    counts : mapping of str to ndarray of shape (G, c)
        Counts by the title of the panel.
    groups : sequence of str
        Names of the groups.
    """
    dress = group_looks(groups)
    across = min(2, len(counts))
    down = -(-len(counts) // across)
    fig, axes = plt.subplots(
        down, across, figsize=(4.6 * across + 0.4, 2.7 * down + 0.9), squeeze=False, sharey=True, layout="constrained"
    )
    for panel, (title, table) in zip(axes.flat, counts.items(), strict=False):
        table = table[:, np.argsort(-table.sum(axis=0), kind="stable")]
        places, floor = np.arange(table.shape[1]), np.zeros(table.shape[1])
        for (name, own), row in zip(dress.items(), table, strict=True):
            panel.bar(
                places, row, bottom=floor, color=own.colour, hatch=own.hatch, edgecolor="white", linewidth=0.4,
                label=name,
            )  # fmt: skip
            floor = floor + row
        panel.set_xticks(places, [str(place + 1) for place in places])
        panel.grid(visible=False, axis="x")
        panel.set_axisbelow(True)
        panel.set_title(title)
    for panel in axes.flat[len(counts) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("cluster, the largest first")
    for row in axes:
        row[0].set_ylabel("points")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7, fontsize="small")
    return fig


def heat_maps(pictures: Mapping[str, Picture], across: int = 2) -> Figure:
    """Kernels as pictures, each with its own colour bar; thin lines part the clusters or groups.

    Parameters
    ----------
    pictures : mapping of str to Picture, or a pair of its fields
        By the title of the panel.
    across : int
        Panels in a row.
    """
    down = -(-len(pictures) // across)
    fig, axes = plt.subplots(
        down, across, figsize=(4.4 * across, 3.7 * down + 0.2), squeeze=False, layout="constrained"
    )
    for panel, (title, picture) in zip(axes.flat, pictures.items(), strict=False):
        picture = Picture(*picture)
        size = len(picture.values)
        # Readable in grey as well: cividis is ordered by lightness and survives colour blindness.
        shown = panel.imshow(picture.values, cmap="cividis", interpolation="nearest")
        for edge in picture.edges:
            panel.axhline(edge * size - 0.5, color="white", linewidth=0.6)
            panel.axvline(edge * size - 0.5, color="white", linewidth=0.6)
        panel.set(xticks=[], yticks=[], title=title)
        panel.grid(visible=False)
        fig.colorbar(shown, ax=panel, shrink=0.85)
    for panel in axes.flat[len(pictures) :]:
        panel.set_visible(False)
    return fig


def bound(table: pd.DataFrame, chosen: float | None = None) -> Figure:
    """A generalisation bound and its parts against the weight, logarithmic, with MNCE on a second axis.

    Parameters
    ----------
    table : DataFrame
        Columns ``weight``, ``empirical``, ``excess``, ``bound``, ``largest possible`` and ``MNCE``.
    chosen : float, optional
        A weight to be marked.
    """
    fig, panel = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
    line = table.sort_values("weight")
    shown = {
        "empirical": "empirical term", "excess": "R(λ)", "bound": "their sum, the bound",
        "largest possible": "largest possible value",
    }  # fmt: skip
    for (column, label), (colour, marker) in zip(shown.items(), looks(), strict=False):
        dashes = ":" if column == "largest possible" else "-"
        panel.plot(
            line["weight"], line[column], color=colour, marker=marker, linestyle=dashes, linewidth=1.2, label=label
        )
    panel.set(yscale="log", xlabel="fairness weight λ", ylabel="squared distance in the fair kernel")
    second = panel.twinx()
    second.plot(
        line["weight"], line["MNCE"], color=INK, marker="_", linestyle="-.", linewidth=1.2, label="MNCE (right)"
    )
    second.set(ylabel="MNCE", ylim=(-0.03, 1.03))
    second.grid(visible=False)
    second.spines["right"].set_visible(True)
    _weight_axis(panel, line["weight"])
    if chosen is not None:
        panel.axvline(chosen, color="#777777", linestyle="--", linewidth=1.2, label="λ of the rule")
    handles, labels = (
        [*first, *other]
        for first, other in zip(panel.get_legend_handles_labels(), second.get_legend_handles_labels(), strict=True)
    )
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    return fig


def starts(points: pd.DataFrame, value: str, label: str) -> Figure:
    """One value of every run by the start and the weight: a panel a weight, a row a start, a marker a run.

    Parameters
    ----------
    points : DataFrame
        Columns ``start``, ``weight`` and the value.
    value, label : str
        The column, and the words beside the axis.
    """
    names, weights = list(dict.fromkeys(points["start"])), sorted(points["weight"].unique())
    dress = _dress(points["start"])
    fig, axes = plt.subplots(
        1, len(weights), figsize=(2.6 * len(weights) + 1.4, 0.5 * len(names) + 1.5), squeeze=False, sharey=True,
        layout="constrained",
    )  # fmt: skip
    for panel, weight in zip(axes[0], weights, strict=True):
        for place, name in enumerate(names):
            some = points[(points["weight"] == weight) & (points["start"] == name)][value]
            colour, marker = dress[name]
            panel.plot(some, np.full(len(some), place), marker, color=colour, alpha=0.6, markersize=6)
        panel.set_title(f"λ = {weight:g}")
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(len(names) - 0.5, -0.5)
        panel.locator_params(axis="x", nbins=4)
    fig.supxlabel(label, fontsize="medium")
    return fig


def _dress(names: pd.Series) -> dict[str, tuple[str, str]]:
    """Colour and marker by name, in order of appearance."""
    return dict(zip(dict.fromkeys(names), looks(), strict=False))


def _band(panel: Axes, line: pd.DataFrame, own: Look) -> None:
    panel.fill_between(line["weight"], line["smallest"], line["largest"], color=own.colour, alpha=0.18, linewidth=0)
    panel.plot(line["weight"], line["median"], markersize=5, linewidth=1.2, **own.line())


def _arms(line: pd.DataFrame) -> np.ndarray:
    """Distances (2, n) from the median down and up to the ends."""
    return np.vstack([line["median"] - line["smallest"], line["largest"] - line["median"]])


def _weight_axis(panel: Axes, weights: pd.Series) -> None:
    top = float(weights.max())
    panel.set_xscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.5)
    ticks = [0.0, *(10.0**e for e in range(-1, 6) if 10.0**e <= top)]
    panel.xaxis.set_major_locator(FixedLocator(ticks))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xticklabels([f"{tick:g}" for tick in ticks])
    panel.set_xlim(-0.25 * LINEAR_UP_TO, 1.4 * top)


__all__ = ["Picture", "against", "bound", "cluster_bars", "heat_maps", "over_weight", "starts"]
