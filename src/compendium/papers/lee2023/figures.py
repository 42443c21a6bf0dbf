"""Figures of the experiments on fair streaming PCA, of tables that ``readings`` and the other modules make."""

from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from evenspan.displays.style import COLOURS, COLUMN, INK, MARKERS

from ... import method_styles
from ...figures import entry, explained, grid, panels, words

#: Below this a value is rounding noise, or has no logarithm because it is not above zero.
TINY = 1e-8
SYMBOLS = {"eps_f": r"$\varepsilon_f$", "eps_o": r"$\varepsilon_o$"}
#: Metrics of images, and how their panels are headed.
PANELS = {
    "AUC (linear)": "AUC, linear classifier",
    "AUC (kernel)": "AUC, kernel classifier",
    "kept share of what glasses change": "share of the glasses kept",
    "explained variance ratio": "share of variance kept",
}


def _dressed(names: Iterable) -> list[tuple]:
    """A colour and a marker for each name."""
    return list(zip(dict.fromkeys(names), COLOURS, MARKERS, strict=False))


def by_rows(entries: list, ncols: int) -> list:
    """Entries in the order in which a legend of so many columns, filled downwards, shows them row by row."""
    return [one for column in range(ncols) for one in entries[column::ncols]]


def errors(curves: pd.DataFrame, slopes: pd.DataFrame, delta: float) -> Figure:
    """Quantiles 1 - delta against the rows of a block, both logarithmic: a row a population, a column a measure.

    A hollow marker, below all others of its column, stands for rounding noise. Slopes are those over all sizes."""
    generators, experiments = list(dict.fromkeys(curves["generator"])), _dressed(curves["experiment"])
    fig, axes = panels(len(generators), 2, (COLUMN, 2.7 * len(generators) + 0.8), sharex=True, sharey="col")
    overall = slopes[slopes["sizes"] == "all"].set_index(["generator", "experiment", "metric"]).sort_index()
    noise = False
    for column, (metric, symbol) in zip(axes.T, SYMBOLS.items(), strict=True):
        of_metric = curves[curves["metric"] == metric]
        floor = 0.4 * float(of_metric.loc[of_metric["quantile"] > TINY, "quantile"].min())
        for panel, generator in zip(column, generators, strict=True):
            for (experiment, colour, marker), lift in zip(experiments, (0.21, 0.12, 0.03), strict=False):
                some = of_metric[(of_metric["generator"] == generator) & (of_metric["experiment"] == experiment)]
                some = some.sort_values("size")
                above = (some["quantile"] > TINY).to_numpy()
                size, drawn = some["size"], some["quantile"].where(above, floor)
                noise |= not above.all()
                panel.plot(size, drawn, color=colour, linewidth=1)
                panel.plot(size[above], drawn[above], marker, color=colour)
                panel.plot(size[~above], drawn[~above], marker, color=colour, markerfacecolor="white")
                if (generator, experiment, metric) in overall.index:
                    slope, low, high = overall.loc[(generator, experiment, metric), ["slope", "low", "high"]]
                    text = f"slope {slope:.2f} [{low:.2f}, {high:.2f}]"
                    panel.text(0.03, lift, text, transform=panel.transAxes, color=colour, fontsize="small")
            panel.yaxis.set_major_locator(LogLocator(numticks=6))
            panel.set(xscale="log", yscale="log", title=f"{symbol}, {generator}")
            panel.set_ylim(bottom=floor / 20.0)  # room for the slopes
            panel.set_ylabel(f"{100 * (1 - delta):g} % quantile")
        column[-1].set_xlabel("rows of a block")
    entries = [entry(*look, "-") for look in experiments]
    entries += [entry("no more than rounding", marker="o", mfc="white")] * noise
    return explained(fig, entries, fontsize="small")


def rows_needed(needs: pd.DataFrame, levels: dict[str, float]) -> Figure:
    """Rows of one phase until eps_f and eps_o reach their ``levels``, against every factor, with 95 % intervals."""
    factors, shown = list(dict.fromkeys(needs["factor"])), _dressed(("eps_f", "eps_o"))
    across = min(4, len(factors))
    fig, axes = grid(len(factors), across, (1.85, 2.2), (0.5, 0.8), sharey=True)
    for panel, factor in zip(axes.flat, factors, strict=False):
        here = needs[needs["factor"] == factor]
        for metric, colour, marker in shown:
            some = here[here["metric"] == metric].sort_values("against")
            ends = np.maximum([some["rows"] - some["low"], some["high"] - some["rows"]], 0.0)
            panel.errorbar(some["against"], some["rows"], yerr=ends, color=colour, marker=marker, capsize=2)
        panel.set(xscale="log", yscale="log", title=factor)
        ticks = sorted(here["against"].unique())
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.xaxis.set_minor_formatter(NullFormatter())
    for line in axes:
        line[0].set_ylabel("rows of a phase")
    return explained(fig, [entry(f"until {SYMBOLS[name]} is {levels[name]:g}", *look, "-") for name, *look in shown])


def price_of_directions(price: pd.DataFrame, references: pd.DataFrame) -> Figure:
    """What is kept, what gap is left and what classifiers still find, against the number of removed directions."""
    metrics, families = list(dict.fromkeys(price["metric"])), method_styles.styles_of(price["family"])
    places = {m: place for place, m in enumerate(sorted(price["m"].unique()))}
    dashes = dict(zip(dict.fromkeys(references["method"]), (":", "-.", (0, (7, 2))), strict=False))
    fig, axes = grid(len(metrics), 2, (3.9, 3.0), (0.1, 0.7))
    for panel, metric in zip(axes.flat, metrics, strict=False):
        of_metric = price[price["metric"] == metric]
        for number, (family, own) in enumerate(families.items()):
            aside = 0.08 * (number - (len(families) - 1) / 2)
            for protocol, some in of_metric[of_metric["family"] == family].groupby("protocol", sort=False):
                inside = protocol == "in sample"
                panel.errorbar(
                    some["m"].map(places) + aside, some["mean"], yerr=None if inside else some["std"],
                    color=own.colour, marker=own.marker, linestyle="--" if inside else "-",
                    markerfacecolor="white" if inside else own.colour, capsize=2, linewidth=1.3,
                )  # fmt: skip
        for row in references[references["metric"] == metric].itertuples():
            panel.axhline(row.mean, color=INK, linestyle=dashes[row.method], linewidth=1)
        if metric.startswith("AUC"):
            panel.axhline(0.5, color="#999999", linewidth=0.8)
        panel.set_title(metric.replace("AUC of the group", "AUC"))
        panel.set_xticks(list(places.values()), [str(m) if m else "mean" for m in places])
        panel.set_xlabel("gap directions removed, m")
    entries = [entry(family, own.colour, own.marker, "-") for family, own in families.items()]
    entries += [entry("test part", INK, "o", "-"), entry("training part", INK, "o", "--", mfc="white")]
    entries += [entry(f"{method}, test part", line=dash, linewidth=1) for method, dash in dashes.items()]
    return explained(fig, by_rows(entries, 3), 3)


def convergence(points: pd.DataFrame, floor: float = TINY) -> Figure:
    """How far power iterations are from their limit, against the ratio of eigenvalues to the power of the steps.

    A panel for each iteration. What is below ``floor`` on one of the axes is drawn there, hollow."""
    if points.empty:
        return words("No ratio is determined here: too few eigenvalues are above rounding.")
    kinds, sizes = list(dict.fromkeys(points["what"])), _dressed(sorted(points["m"].unique()))
    fig, axes = panels(1, len(kinds), (2.5 * len(kinds) + 2.9, 4.2))
    reached = (points[["rate", "sine"]] < floor).any(axis=1)
    points = points.assign(rate=points["rate"].clip(lower=floor), sine=points["sine"].clip(lower=floor))
    for panel, what in zip(axes.flat, kinds, strict=True):
        of_kind = points["what"] == what
        for m, colour, marker in sizes:
            for rows, face in ((of_kind & ~reached, colour), (of_kind & reached, "white")):
                some = points[rows & (points["m"] == m)]
                own = {"color": colour, "markerfacecolor": face, "alpha": 0.75, "markersize": 6}
                panel.plot(some["rate"], some["sine"], marker, **own)
        ends = [points.loc[of_kind, "rate"].min(), 1.0]
        panel.plot(ends, ends, color=INK, linewidth=1, linestyle=":")
        panel.set(xscale="log", yscale="log", xlabel="(ratio of eigenvalues) ^ steps", title=what)
        panel.set_ylim(top=2.0)
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_locator(LogLocator(numticks=6))
    axes[0, 0].set_ylabel("sine of the largest angle")
    entries = [entry(f"m = {m}" if m else "mean", *look) for m, *look in sizes]
    entries.append(entry("sine = ratio ^ steps", line=":"))
    if reached.any():
        entries.append(entry(f"one of the two below {floor:g}", marker="o", mfc="white"))
    return explained(fig, by_rows(entries, 3), 3)


def growth(curves: pd.DataFrame) -> Figure:
    """Time of a block, and of its bare products (dashed), against each size, both as multiples of the smallest."""
    sizes = list(dict.fromkeys(curves["axis"]))
    fig, axes = panels(1, len(sizes), (1.9 * len(sizes) + 0.3, 3.6), sharey=True)
    phases, kinds = _dressed(curves["phase"]), list(dict.fromkeys(curves["what"]))
    heights = [2.0**e for e in range(-2, 12) if curves["smallest"].min() / 2 < 2.0**e < 2 * curves["largest"].max()]
    handles = {}
    for panel, axis in zip(axes.flat, sizes, strict=True):
        here = curves[curves["axis"] == axis]
        ends = [1.0, here["growth"].max()]
        panel.plot(ends, ends, color=INK, linewidth=1, linestyle=":")
        for (phase, colour, marker), what in product(phases, kinds):
            line = here[(here["phase"] == phase) & (here["what"] == what)]
            if line.empty:
                continue
            dash, face = ("-", colour) if what == kinds[0] else ("--", "white")
            spread = [line["median"] - line["smallest"], line["largest"] - line["median"]]
            panel.errorbar(
                line["growth"], line["median"], yerr=spread, color=colour, marker=marker, capsize=2, linewidth=1.4,
                linestyle=dash, markersize=5, markerfacecolor=face,
            )  # fmt: skip
            handles[f"{phase}, {what}"] = entry(f"{phase}, {what}", colour, marker, dash, mfc=face)
        panel.set(xscale="log", yscale="log", xlabel=f"{axis} / smallest")
        panel.set_title(f"{axis}, from {int(here['size'].min()):,}")
        ticks = sorted(here["growth"].unique())
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.set_yticks(heights, [f"{height:g}" for height in heights])
        panel.minorticks_off()
    axes[0, 0].set_ylabel("processor time / smallest")
    entries = [handles[name] for phase, *_ in phases for kind in kinds if (name := f"{phase}, {kind}") in handles]
    return explained(fig, by_rows([*entries, entry("slope 1", line=":")], 2), 2)


def by_setting(found: pd.DataFrame, along: str) -> Figure:
    """What is left of the glasses and of the variance, one panel a metric and one line a size of the images."""
    places = list(dict.fromkeys(found[along]))
    places = sorted(places) if pd.api.types.is_numeric_dtype(found[along]) else places
    fig, axes = panels(2, 2, (COLUMN, 6.6))
    for panel, (metric, title) in zip(axes.flat, PANELS.items(), strict=True):
        for name, colour, marker in _dressed(found["dataset"]):
            some = found[found["dataset"] == name].drop_duplicates(along).set_index(along).reindex(places)
            panel.plot(range(len(places)), some[metric], color=colour, marker=marker, linewidth=1, label=name)
        area = metric.startswith("AUC")
        if area:
            panel.axhline(0.5, color=INK, linestyle="--", linewidth=1)
        panel.set_ylim(0.4 if area else 0.0, 1.02)
        panel.set_title(title)
        panel.set_xticks(range(len(places)), map(str, places), rotation=35, ha="right")
    return explained(fig, axes[0, 0].get_legend_handles_labels()[0], 2, fontsize="small")
