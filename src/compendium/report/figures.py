"""Figures of the notebooks and chapters: each takes tidy data and returns a matplotlib figure."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenspan.core.answer import FairSubspace
from evenspan.core.moments import GroupMoments
from evenspan.displays.method_looks import group_looks, look, looks
from evenspan.displays.style import COLOURS, SOURCES


def two_groups(X: np.ndarray, groups: np.ndarray, subspaces: dict[str, FairSubspace]) -> Figure:
    """Points of two groups with the direction each method keeps (left), and what is left of the groups on it (right).

    Parameters
    ----------
    X : ndarray of shape (n, 2)
    groups : ndarray of shape (n,)
        Two labels.
    subspaces : dict of str to FairSubspace
        At most three one-dimensional answers by the name of their method.
    """
    own = group_looks(np.unique(groups).tolist())
    fig = plt.figure(figsize=(9.6, 4.6), layout="constrained")
    grid = fig.add_gridspec(len(subspaces), 2, width_ratios=[1.15, 1])
    plane = fig.add_subplot(grid[:, 0])
    for label, (colour, marker, *_) in own.items():
        inside = groups == label
        plane.scatter(*X[inside].T, s=18, alpha=0.55, color=colour, marker=marker, label=f"group {label}", linewidth=0)
        plane.plot(*X[inside].mean(axis=0), marker, color=colour, markersize=11, markeredgecolor="white")
    reach = 0.5 * float(np.ptp(X, axis=0).max())
    for (name, subspace), dash in zip(subspaces.items(), ("-", "--", ":"), strict=False):
        ends = subspace.mean + np.outer([-reach, reach], subspace.V[:, 0])
        plane.plot(*ends.T, dash, color=look(name).colour, linewidth=2.4, label=name)
    plane.set_aspect("equal")
    plane.set(xlabel="feature 1", ylabel="feature 2", title="The plane, the group means and the direction kept")
    plane.legend(loc="upper left", fontsize="small")
    panels = [fig.add_subplot(grid[row, 1]) for row in range(len(subspaces))]
    for (name, subspace), panel in zip(subspaces.items(), panels, strict=True):
        T = subspace.apply(X)[:, 0]
        bins = np.linspace(T.min(), T.max(), 31)
        for label, (colour, _, _, _, hatch) in own.items():
            values = T[groups == label]
            panel.hist(values, bins=bins, density=True, color=colour, alpha=0.45, hatch=hatch, edgecolor=colour)
            panel.axvline(
                values.mean(axis=0), color=colour, linewidth=2.4, linestyle="-" if not hatch else (0, (2, 1.4))
            )
        moments = GroupMoments.from_data(T[:, None], groups)
        gap = float(np.ptp(moments.means[:, 0], axis=0))
        kept = float(np.sqrt(moments.scatter[0, 0] / moments.n))
        panel.set(yticks=[], title=f"{name}: group means {gap:.2f} apart, spread {kept:.2f}")
        panel.grid(visible=False)
    panels[-1].set_xlabel("coordinate along the direction")
    return fig


def metrics_by_method(summary: pd.DataFrame, metrics: list[str], published: pd.DataFrame | None = None) -> Figure:
    """One panel a metric, one line a method: mean and standard deviation over the splits, from each source.

    Parameters
    ----------
    summary : DataFrame
        Columns ``method``, ``metric``, ``source``, ``mean``, ``std``.
    metrics : list of str
        The panels, in order; metrics without any value are left out.
    published : DataFrame, optional
        The same columns for the paper's own numbers.
    """
    rows = summary if published is None else pd.concat([published.assign(source="published"), summary])
    metrics = [metric for metric in metrics if metric in set(rows["metric"])]
    methods = list(dict.fromkeys(summary["method"]))
    sources = [source for source in SOURCES if source in set(rows["source"])]
    across = min(4, len(metrics))
    down = -(-len(metrics) // across)
    fig, axes = plt.subplots(
        down, across, figsize=(2.7 * across + 1.2, 0.42 * len(methods) * down + 1.3 * down), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for panel, metric in zip(axes.flat, metrics, strict=False):
        for shift, source in enumerate(sources):
            some = rows[(rows["metric"] == metric) & (rows["source"] == source)].set_index("method").reindex(methods)
            y = np.arange(len(methods)) + 0.22 * (shift - (len(sources) - 1) / 2)
            colour, marker = SOURCES[source]
            panel.errorbar(
                some["mean"],
                y,
                xerr=some["std"].fillna(0.0),
                fmt=marker,
                color=colour,
                markerfacecolor="white" if source == "published" else colour,
                markersize=6,
                capsize=2,
                linewidth=1,
            )
        panel.set_title(_readable(metric))
        panel.set_yticks(range(len(methods)), methods)
    axes[0, 0].invert_yaxis()
    for panel in axes.flat[len(metrics) :]:
        panel.set_visible(False)
    handles = [
        Line2D([], [], color=SOURCES[s][0], marker=SOURCES[s][1], linestyle="", label=s,
               markerfacecolor="white" if s == "published" else SOURCES[s][0]) for s in sources
    ]  # fmt: skip
    fig.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return fig


def protocols(summary: pd.DataFrame, metrics: list[str]) -> Figure:
    """Each metric as published (fitted and scored on the same points) and held out, one line a method.

    Parameters
    ----------
    summary : DataFrame
        Columns ``method``, ``metric``, ``protocol``, ``source``, ``mean``; the full run is shown where there is one.
    metrics : list of str
        Accuracies and disparities in turn; each kind becomes a row of panels.
    """
    methods = list(dict.fromkeys(summary["method"]))
    source = "full run" if "full run" in set(summary["source"]) else "this build"
    rows = summary[(summary["source"] == source) & summary["protocol"].isin(["released", "held-out"])]
    kinds = list(dict.fromkeys(metric.split(" (")[0] for metric in metrics))
    across = len(metrics) // len(kinds)
    size = (3.0 * across + 1.2, (0.34 * len(methods) + 0.8) * len(kinds) + 0.4)
    fig, axes = plt.subplots(len(kinds), across, figsize=size, sharey=True, sharex="row", layout="constrained")
    y = np.arange(len(methods))
    for kind, line in zip(kinds, np.atleast_2d(axes), strict=True):
        for panel, metric in zip(line, [m for m in metrics if m.startswith(f"{kind} (")], strict=True):
            both = rows[rows["metric"] == metric].pivot(index="method", columns="protocol", values="mean")
            both = both.reindex(index=methods, columns=["released", "held-out"])
            panel.hlines(y, both["released"], both["held-out"], color="#aaaaaa", linewidth=2)
            panel.plot(both["released"], y, "o", color=COLOURS[1], markerfacecolor="white", markeredgewidth=1.8)
            panel.plot(both["held-out"], y, "s", color=COLOURS[0])
            panel.set_title(_readable(metric))
            panel.set_yticks(y, methods)
            panel.set_ylim(len(methods) - 0.5, -0.5)
    handles = [
        Line2D([], [], color=COLOURS[1], marker="o", mfc="white", linestyle="", label="same points (published)"),
        Line2D([], [], color=COLOURS[0], marker="s", linestyle="", label="held out"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig


def time_ratios(curve: pd.DataFrame) -> Figure:
    """Fitting time relative to standard PCA against the number of features, one panel for each number of rows.

    Parameters
    ----------
    curve : DataFrame
        Columns ``method``, ``n``, ``d``, ``median``, ``smallest``, ``largest``.
    """
    sizes = sorted(curve["n"].unique())
    fig, axes = plt.subplots(
        1, len(sizes), figsize=(4.6 * len(sizes) + 0.6, 3.8), sharey=True, squeeze=False, layout="constrained"
    )
    own = looks(curve["method"])
    for panel, n in zip(axes.flat, sizes, strict=True):
        of_size = curve[curve["n"] == n].sort_values("d", kind="stable")  # stored rows come by the name of their task
        for method, line in of_size.groupby("method", sort=False):
            below, above = line["median"] - line["smallest"], line["largest"] - line["median"]
            panel.errorbar(line["d"], line["median"], yerr=[below, above], capsize=2, **own[method].line())
        panel.set(xscale="log", yscale="log", xlabel="features d", title=f"n = {n:,} rows")
        ticks = sorted(of_size["d"].unique())
        panel.set_xticks(ticks, [str(tick) for tick in ticks])
        panel.minorticks_off()
        low, high = curve["smallest"].min(), curve["largest"].max()
        finest = (1, 2, 5) if high < 100 * low else (1,)
        steps = [s * 10.0**e for e in range(-2, 7) for s in finest if low / 2 < s * 10.0**e < high * 2]
        panel.set_yticks(steps, [f"{step:g}" for step in steps])
    axes[0, 0].set_ylabel("fitting time / standard PCA")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
    return fig


def _readable(metric: str) -> str:
    """A metric's name with its symbols: the tables spell them in plain text."""
    return metric.replace("Delta_", "Δ ").replace("^2", "²")
