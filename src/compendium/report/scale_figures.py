"""Figures of the scale study: growth of the cost, two workers against one, and what travels between workers."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from evenspan.displays.style import COLOURS, INK, MARKERS, looks


def growth(curves: pd.DataFrame) -> Figure:
    """Time of a block against each size, both as multiples of the smallest, on logarithmic axes.

    Parameters
    ----------
    curves : DataFrame
        Columns ``axis``, ``phase``, ``what``, ``growth`` (of the size), ``median``, ``smallest``, ``largest``.
    """
    axes_of = list(dict.fromkeys(curves["axis"]))
    fig, axes = plt.subplots(1, len(axes_of), figsize=(2.9 * len(axes_of), 3.9), sharey=True, squeeze=False, layout="constrained")  # noqa: E501  # fmt: skip
    lines = list(dict.fromkeys(zip(curves["phase"], curves["what"], strict=True)))
    look = dict(zip(lines, looks(), strict=False))
    for panel, axis in zip(axes.flat, axes_of, strict=True):
        here = curves[curves["axis"] == axis]
        ends = np.array([1.0, here["growth"].max()])
        panel.plot(ends, ends, color=INK, linewidth=1, linestyle=":", label="slope 1")
        for (phase, what), line in here.groupby(["phase", "what"], sort=False):
            colour, marker = look[phase, what]
            spread = [line["median"] - line["smallest"], line["largest"] - line["median"]]
            panel.errorbar(
                line["growth"], line["median"], yerr=spread, color=colour, marker=marker, capsize=2, linewidth=1.4,
                linestyle="-" if what == "block" else "--", markersize=5, label=f"{phase}, {what}",
            )  # fmt: skip
        panel.set(xscale="log", yscale="log", title=f"{axis}, from {int(here['size'].min()):,}", xlabel=f"{axis} / smallest")  # noqa: E501  # fmt: skip
        ticks = sorted(here["growth"].unique())
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        heights = [2.0**e for e in range(-2, 12) if curves["smallest"].min() / 2 < 2.0**e < 2 * curves["largest"].max()]
        panel.set_yticks(heights, [f"{height:g}" for height in heights])
        panel.minorticks_off()
    axes[0, 0].set_ylabel("processor time / smallest")
    handles = {label: handle for panel in axes.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}  # noqa: E501  # fmt: skip
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize="small")
    return fig


def two_workers(rows: pd.DataFrame, wanted: float) -> Figure:
    """How many times as fast two workers are as one: every round as a point, the median as a line, what is asked for.

    Parameters
    ----------
    rows : DataFrame
        Columns ``method`` and ``value``, one row a round.
    wanted : float
        The ratio that is asked for.
    """
    methods = list(dict.fromkeys(rows["method"]))
    fig, panel = plt.subplots(figsize=(6.4, 0.55 * len(methods) + 1.3), layout="constrained")
    for place, (method, colour, marker) in enumerate(zip(methods, COLOURS, MARKERS, strict=False)):
        values = rows[rows["method"] == method]["value"]
        panel.plot(values, np.full(len(values), place), marker, color=colour, markersize=7, alpha=0.8)
        panel.plot(2 * [values.median()], [place - 0.28, place + 0.28], color=colour, linewidth=2.4)
    panel.axvline(wanted, color=INK, linestyle="--", linewidth=1.2)
    panel.axvline(2.0, color="#888888", linestyle=":", linewidth=1.2)
    panel.set_yticks(range(len(methods)), methods)
    panel.set_ylim(len(methods) - 0.5, -0.5)
    panel.set_xlim(min(0.9, rows["value"].min() - 0.1), max(2.1, rows["value"].max() + 0.1))
    panel.set_xlabel(f"time of one worker / time of two (dashed: {wanted:g} asked for; dotted: 2)")
    return fig


def messages(table: pd.DataFrame) -> Figure:
    """Bytes counted on the workers against those of the model, one point a case, with the diagonal.

    Parameters
    ----------
    table : DataFrame
        Columns ``method``, ``workers``, ``bytes sent by workers``, ``model``.
    """
    fig, panel = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
    for workers, marker in zip(sorted(table["workers"].unique()), MARKERS, strict=False):
        for method, colour in zip(dict.fromkeys(table["method"]), COLOURS, strict=False):
            some = table[(table["workers"] == workers) & (table["method"] == method)]
            panel.scatter(some["model"], some["bytes sent by workers"], s=42, color=colour, marker=marker, alpha=0.85,
                          label=f"{method}, {workers} worker{'s' if workers > 1 else ''}")  # fmt: skip
    both = table[["model", "bytes sent by workers"]]
    ends = [both.min(axis=None) / 1.5, both.max(axis=None) * 1.5]
    panel.plot(ends, ends, color=INK, linewidth=1)
    panel.set(xscale="log", yscale="log", xlabel="bytes by the model", ylabel="bytes counted")
    fig.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    return fig


def work_share(shares: pd.DataFrame) -> Figure:
    """Share of a block's time that is work against the number of workers, one panel a link, one line a block size.

    Parameters
    ----------
    shares : DataFrame
        Columns ``link``, ``n``, ``workers``, ``share of work``.
    """
    links = list(dict.fromkeys(shares["link"]))
    fig, axes = plt.subplots(1, len(links), figsize=(4.4 * len(links), 3.7), sharey=True, squeeze=False, layout="constrained")  # noqa: E501  # fmt: skip
    for panel, link in zip(axes.flat, links, strict=True):
        for (n, line), (colour, marker) in zip(shares[shares["link"] == link].groupby("n"), looks(), strict=False):
            panel.plot(line["workers"], line["share of work"], color=colour, marker=marker, markersize=4, markevery=4, label=f"{n:,} rows in a block")  # noqa: E501  # fmt: skip
        panel.axhline(0.5, color=INK, linewidth=0.9, linestyle=":")
        panel.set(xscale="log", ylim=(0, 1.02), xlabel="workers", title=link)
        panel.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        panel.minorticks_off()
    axes[0, 0].set_ylabel("share of the time that is work")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return fig
