"""Figures of the experiments on joint diagonalisation; ``rows`` are those of the experiment on Tables 2 to 5."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from evenspan.displays.style import COLOURS, COLUMN, INK, MARKERS, SOURCES

from ...figures import entry, explained, plain_numbers, readable, words
from ...figures import panels as several
from ...method_styles import handles as legend_handles
from ...method_styles import ordered, styles_of, unregistered
from .protocol import PRINTED, PUBLISHED, RELEASED, TABLES, printed
from .readings import exponents

#: Methods of ours that figures show beside the printed ones; the women's PCA diagonalises nothing jointly.
BESIDE = ("JevdPCA (orthogonal)", "PCA of the women")
#: Where the paper's fair methods were given rows that nobody centred: lines of these, dotted, stand beside the others.
UNCENTRED = ("lsac_bw",)
PCA = "StandardPCA"
#: The method that the certified optimum stands for, and the metric that carries it.
OPTIMUM, LEAST = "FairPCA_SDP_LP", "least worst loss"


def title(dataset: str) -> str:
    """The printed name of a data set, or our name of another one."""
    return TABLES[dataset].title if dataset in TABLES else dataset


def panels(rows: pd.DataFrame) -> Figure:
    """Figure 1 of the paper for every data set in the rows, each metric as its difference from PCA's, of reconstruction
    errors in per cent: printed numbers as open marks, ours as lines."""
    rows = rows[rows["protocol"] == RELEASED]
    datasets = list(dict.fromkeys(rows["dataset"]))
    fig, axes = several(len(datasets), 3, (COLUMN, 2.1 * len(datasets) + 1.0))
    methods = styles_of([*ordered((*PUBLISHED, *BESIDE)), *unregistered(rows["method"])])
    del methods[PCA]

    def less(values: pd.Series, base: pd.Series, metric: str) -> pd.Series:
        return 100.0 * (values / base - 1.0) if metric == "R.E." else values - base

    for across, dataset in zip(axes, datasets, strict=True):
        theirs = printed(dataset)
        for panel, metric in zip(across, PRINTED, strict=True):
            some = rows[(rows["dataset"] == dataset) & (rows["metric"] == metric)]
            ours = some.pivot_table(index="k", columns="method", values="value", aggfunc="first")
            panel.axhline(0.0, color=INK, linewidth=1.0)
            for number, (method, own) in enumerate(methods.items()):
                drawn = {method: ("-" if method in PUBLISHED else "--", 1.4)}
                drawn |= {f"{method} (uncentred)": (":", 1.6)} if dataset in UNCENTRED else {}
                for name, (dash, width) in drawn.items():
                    if name in ours:
                        line = less(ours[name], ours[PCA], metric)
                        panel.plot(line.index, line, dash, color=own.colour, linewidth=width)
                if method in PUBLISHED:
                    drawn = own.open() | {"markersize": 9.5 - 1.0 * number, "linestyle": ""}
                    panel.plot(theirs.index, less(theirs[method, metric], theirs[PCA, metric], metric), **drawn)
            panel.set_title(f"{title(dataset)}: {readable(metric)}{', per cent' * (metric == 'R.E.')}")
            if metric == "R.E.":
                panel.set_yscale("symlog", linthresh=1.0)
                panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for panel in axes.flat:
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    for panel in axes[-1]:
        panel.set_xlabel("dimensions r")
    fig.supylabel("difference from PCA", fontsize="medium")
    marks = {name: (own.marker, "-") if name in PUBLISHED else ("", "--") for name, own in methods.items()}
    handles = [entry(name, methods[name].colour, *mark, markerfacecolor="none") for name, mark in marks.items()]
    handles += [entry("fitted on uncentred rows", line=":")] * bool(set(datasets) & set(UNCENTRED))
    return explained(fig, handles, 3, fontsize="small")


def losses(rows: pd.DataFrame) -> Figure:
    """The larger of the two group losses, and who loses more, against r; the certified optimum as a bold line."""
    datasets = list(dict.fromkeys(rows["dataset"]))
    drawn = ordered(name for name in (*PUBLISHED, *BESIDE) if name != OPTIMUM)
    methods = styles_of([*drawn, *unregistered(rows["method"])])
    fig, axes = several(2, len(datasets), (COLUMN, 5.8), sharex="col")
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
    optimum = entry("certified optimum (equal losses)", line="-", linewidth=2.6)
    return explained(fig, [optimum, *legend_handles(methods.values(), lines=True)], 3, fontsize="small")


def losses_by_k(rows: pd.DataFrame) -> pd.DataFrame:
    """Losses of one data set: k down, ``(method, metric)`` across, methods without any left out."""
    some = rows[rows["metric"].isin(["worst loss", "loss gap", "loss of women", "loss of men", LEAST])]
    return some.pivot_table(index="k", columns=["method", "metric"], values="value", aggfunc="first")


def factorial(table: pd.DataFrame) -> Figure:
    """Every cell (of ``readings.cells``) as a point: excess error and advantage in MMD^2 over PCA.

    With the sensitive column, where the printed JevdPCA against StandardPCA is marked, and without."""
    (dataset,) = table["dataset"].unique()
    theirs = printed(dataset)
    against = (
        float((theirs["JevdPCA", "R.E."] / theirs["StandardPCA", "R.E."]).mean(axis=0) - 1.0),
        float((theirs["StandardPCA", "MMD^2"] - theirs["JevdPCA", "MMD^2"]).mean(axis=0)),
    )
    methods, centrings = list(dict.fromkeys(table["method"])), list(dict.fromkeys(table["centring"]))
    fig, (axes,) = several(1, 2, (COLUMN, 4.6), sharey=True)
    for panel, sex in zip(axes, ("in", "out"), strict=True):
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
        panel.set(title=f"Sensitive column {sex}", xlabel="mean excess of R.E. over PCA, per cent")
    axes[0].plot(100.0 * against[0], against[1], "*", color=INK, markersize=14, zorder=5)
    axes[0].set_ylabel("mean advantage in MMD² over PCA")
    handles = [entry("printed JevdPCA", marker="*", markersize=11)]
    shapes, colours = zip(methods, MARKERS, strict=False), zip(centrings, COLOURS, strict=False)
    handles += [entry(name, "#555555", marker, markerfacecolor="none") for name, marker in shapes]
    handles += [Patch(color=colour, label=f"centring: {name}") for name, colour in colours]
    return explained(fig, handles, 3, fontsize="small")


def scaling(rows: pd.DataFrame) -> Figure:
    """Seconds against size on logarithmic axes, a line for each method, with the exponent of the largest sizes."""
    if rows.empty:
        return words("The growth with d was not measured in this run.")
    fig, ((panel,),) = several(1, 1, (6.8, 4.4))
    own, slopes = styles_of(rows["method"]), exponents(rows[["method", "d", "seconds"]])
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
    return explained(fig, lines, 2, fontsize="small")


def time_ratios(found: pd.DataFrame) -> Figure:
    """Training times as multiples of standard PCA's, printed and ours, one panel for each data set."""
    if found.empty:
        return words("No data set was timed with StandardPCA in this run.")
    datasets = [name for name in TABLES if name in set(found["dataset"])]
    methods = [name for name in dict.fromkeys(found["method"]) if name != "StandardPCA"]
    fig, axes = several(1, len(datasets), (COLUMN, 0.42 * len(methods) + 1.5), sharey=True)
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
    return explained(fig, axes[0, 0].get_legend_handles_labels()[0], 2, fontsize="small")
