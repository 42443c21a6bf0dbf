"""Figures and verdicts of the tables of clusterings: each takes tidy data and returns a figure or a table."""

import html

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from evenspan.displays import method_looks
from evenspan.displays.style import COLOURS, INK, looks

from ..experiments.catalogue import experiment, task_id
from .figures import metrics_by_method
from .ledger import ledger, tally
from .ledger_heat import mark
from .ledger_state import sentences
from .tables import mean_and_spread, table
from .verdicts import Kind


def judged(summary: pd.DataFrame, metrics: list[str], published: pd.DataFrame | None = None) -> Figure:
    """Mean and spread of every method, one panel a metric, beside the printed numbers; says so where nothing is stored.

    Parameters
    ----------
    summary : DataFrame
        Columns ``method``, ``metric``, ``source``, ``mean``, ``std``; rows without a mean are left out.
    metrics : list of str
        The panels, in order.
    published : DataFrame, optional
        The printed numbers: ``method``, ``metric``, ``mean``.
    """
    rows = summary[summary["mean"].notna() & summary["metric"].isin(metrics)]
    if rows.empty:
        return _words("No number is at hand: the full run of these data has not been stored.")
    return metrics_by_method(rows, metrics, None if published is None else published.assign(std=np.nan))


def search_paths(paths: pd.DataFrame, metrics: list[str], label: str = "fairness weight") -> Figure:
    """What a method measured at each weight that it tried, one line a seed; the last weight, which it kept, is marked.

    Parameters
    ----------
    paths : DataFrame
        Columns ``split``, ``weight``, ``metric``, ``value``.
    metrics : list of str
        The panels, in order.
    label : str
        Words below the panels.
    """
    if paths.empty:
        return _words("No search is at hand: the full run of these data has not been stored.")
    fig, axes = plt.subplots(1, len(metrics), figsize=(4.2 * len(metrics), 3.2), squeeze=False, layout="constrained")
    for panel, metric in zip(axes.flat, metrics, strict=True):
        own = paths[paths["metric"] == metric]
        for (_, line), (colour, marker) in zip(own.groupby("split"), looks(), strict=False):
            line = line.sort_values("weight")
            panel.plot(line["weight"], line["value"], "-", color=colour, linewidth=1.0)
            panel.plot(line["weight"].iloc[:-1], line["value"].iloc[:-1], marker, color=colour, markersize=3.5)
            panel.plot(line["weight"].iloc[-1:], line["value"].iloc[-1:], marker, color=colour, markersize=8, mec=INK)
        panel.set(title=metric, xlabel=label)
        low, high = own["value"].min(), own["value"].max()
        room = max(0.1 * (high - low), 0.02)  # lines on top of each other are seen as such, not as a zoom into nothing
        panel.set_ylim(low - room, high + room)
        panel.set_xticks(sorted(paths["weight"].unique()))
    return fig


def readings(table_: pd.DataFrame) -> Figure:
    """How far each reading of each method is from the printed row; the reading that was fixed is a filled circle.

    Parameters
    ----------
    table_ : DataFrame
        Columns ``method``, ``reading``, ``deviation``; the first reading of a method is the fixed one.
    """
    if table_.empty:
        return _words("No reading is at hand: the full run of these data has not been stored.")
    shown = table_.reset_index(drop=True)
    fig, panel = plt.subplots(figsize=(7.6, 0.27 * len(shown) + 1.0), layout="constrained")
    first = ~shown["method"].duplicated()
    y = np.arange(len(shown)) + 0.5 * (first.cumsum() - 1)
    panel.hlines(y, 0, shown["deviation"], color="#cccccc", linewidth=1.4)
    panel.plot(shown.loc[first, "deviation"], y[first], "o", color=COLOURS[0], label="as fixed before")
    panel.plot(shown.loc[~first, "deviation"], y[~first], "s", color=COLOURS[1], mfc="white", label="other reading")
    panel.set_yticks(y, [f"{m}: {r}" for m, r in zip(shown["method"], shown["reading"], strict=True)], fontsize="small")
    panel.invert_yaxis()
    panel.set_xlim(left=0.0)
    panel.set_xlabel("mean absolute deviation from the printed ACC, NMI, Bal and MNCE")
    fig.legend(loc="outside lower center", ncols=2, fontsize="small")
    return fig


def kernel_weights(weights: pd.DataFrame, names: list[str]) -> Figure:
    """The weight of every kernel, one marker a method: mean over the seeds, with the range; a line for equal weights.

    Parameters
    ----------
    weights : DataFrame
        Columns ``method``, ``kernel`` (from 1), ``mean``, ``smallest``, ``largest``.
    names : list of str
        The kernels in words.
    """
    if weights.empty:
        return _words("No kernel weight is at hand: the full run of these data has not been stored.")
    methods = method_looks.looks(weights["method"])
    fig, panel = plt.subplots(figsize=(7.6, 0.42 * len(names) + 1.4), layout="constrained")
    panel.axvline(1.0 / len(names), color="#888888", linestyle="--", linewidth=1.0)
    for place, (method, look) in enumerate(methods.items()):
        own = weights[weights["method"] == method].sort_values("kernel")
        y = own["kernel"] + 0.2 * (place - (len(methods) - 1) / 2)
        # The mean of equal numbers may lie off them by a rounding.
        arms = np.maximum([own["mean"] - own["smallest"], own["largest"] - own["mean"]], 0.0)
        panel.errorbar(own["mean"], y, xerr=arms, linestyle="", markersize=5, capsize=2, elinewidth=1, **look.mark())
    panel.set_yticks(range(1, len(names) + 1), [f"{i} {name}" for i, name in enumerate(names, 1)], fontsize="small")
    panel.invert_yaxis()
    panel.set_xlim(left=0.0)
    panel.set_xlabel("kernel weight; dashed: equal weights")
    handles = method_looks.handles(methods.values())
    fig.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 3), fontsize="small")
    return fig


def quality_and_fairness(summary: pd.DataFrame, fairness: str, qualities: list[str]) -> Figure:
    """Quality against fairness, one marker a method with its spread in both directions.

    Parameters
    ----------
    summary : DataFrame
        Columns ``method``, ``metric``, ``mean``, ``std``.
    fairness : str
        Metric of the horizontal axis.
    qualities : list of str
        Metrics of the vertical axes, one panel each.
    """
    rows = summary[summary["mean"].notna()]
    if rows.empty:
        return _words("No number is at hand: the full run of these data has not been stored.")
    means = rows.pivot(index="method", columns="metric", values="mean")
    spreads = rows.pivot(index="method", columns="metric", values="std").fillna(0.0)
    fig, axes = plt.subplots(
        1, len(qualities), figsize=(4.4 * len(qualities), 4.0), squeeze=False, layout="constrained"
    )
    methods = method_looks.looks(rows["method"])
    for panel, metric in zip(axes.flat, qualities, strict=True):
        for method, own in methods.items():
            panel.errorbar(
                means.loc[method, fairness], means.loc[method, metric], xerr=spreads.loc[method, fairness],
                yerr=spreads.loc[method, metric], linestyle="", markersize=7, capsize=2, elinewidth=1, **own.mark(),
            )  # fmt: skip
        panel.set(xlabel=fairness, ylabel=metric)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    return fig


def verdicts(experiment_id: str, *, dataset: str, caption: str) -> HTML:
    """A printed table without k: methods downwards, metrics across, each cell printed | full run with its verdict.

    Parameters
    ----------
    experiment_id : str
    dataset : str
        Our name.
    caption : str
    """
    entry = experiment(experiment_id)
    rows = ledger(build=True, tasks=[task_id({"dataset": dataset})])
    rows = rows[rows["cell"].str.rpartition("/")[0].isin(entry.published)]
    rows = rows[rows["dataset"].isin(entry.published_datasets[dataset]) & (rows["published"] != "")]
    shown = rows.assign(text=[_verdict(row) for _, row in rows.iterrows()])
    wide = shown.pivot(index="method", columns="metric", values="text")
    wide = wide.loc[list(dict.fromkeys(shown["method"])), list(dict.fromkeys(shown["metric"]))]
    said = "; ".join(sentences(tally(rows, ["evidence"])))
    note = f'<p class="verdict-counts">Of {len(rows)} printed numbers: {said}.</p>'
    reasons = sorted(set(rows.loc[rows["verdict"] == Kind.NA.value, "reason"]))
    note += "".join(f"<p>{html.escape(reason[0].upper() + reason[1:])}.</p>" for reason in reasons)
    return HTML(table(wide.reset_index(), caption=caption).data + note)


def _verdict(row: pd.Series) -> str:
    ours = mean_and_spread(*(pd.to_numeric(row[name], errors="coerce") for name in ("ours", "ours_std")))
    again = "" if row["build"] == row["ours"] else f" (this build: {html.escape(row['build']) or 'nothing'})"
    return f"{html.escape(row['published'])} | {ours}{again}<br>{mark(row)}"


def _words(text: str) -> Figure:
    fig, panel = plt.subplots(figsize=(6.0, 1.2))
    panel.text(0.0, 0.5, text, color=INK)
    panel.axis("off")
    return fig


__all__ = ["judged", "kernel_weights", "quality_and_fairness", "readings", "search_paths", "verdicts"]
