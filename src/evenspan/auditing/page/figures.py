"""The figures of an audit: each takes the tidy rows of the judge and returns a Matplotlib figure.

Methods and groups look as everywhere in the book (``evenspan.displays``): a marker for each beside its colour, so
that nothing has to be told by colour alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...displays.method_looks import group_looks, handles, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..result import Audit

#: More groups than these are not drawn one by one: the figure keeps those with the smallest and the largest values.
MOST_GROUPS = 24
#: Letters of a name that a figure shows.
LETTERS = 28
WIDTH = 7.2
FITTING, HELD_OUT = "fitting", "held out"


def make(audit: "Audit") -> "dict[str, Figure]":
    """All figures of an audit by name, in the order of the report."""
    from .gallery import gallery

    return {name: drawn.figure for name, drawn in gallery(audit).items()}


def styled(draw: Callable) -> Callable:
    """Draw with the book's look, whatever the reader's own settings are."""

    @wraps(draw)
    def inside(*args, **kwargs):
        import matplotlib as mpl

        from ...displays.style import SETTINGS

        with mpl.rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return inside


def shown(label: object) -> str:
    """A name of the user's as a figure shows it: one line, not too long, and never read as a formula."""
    text = re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in str(label))).strip() or "(empty)"
    text = text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"
    return text.replace("$", r"\$")


def chosen(rows: pd.DataFrame, **where) -> pd.DataFrame:
    """Rows whose columns have these values, those that hold a number."""
    keep = rows["value"].notna()
    for column, value in where.items():
        keep &= rows[column] == value
    return rows[keep]


def _figure(rows: int = 1, columns: int = 1, height: float = 4.0, **kwargs):
    from matplotlib.figure import Figure

    fig = Figure(figsize=(WIDTH, height), layout="constrained")
    return fig, fig.subplots(rows, columns, **kwargs)


def _dots(panel: "Axes", rows: pd.DataFrame, y: np.ndarray, look, *, hollow: bool = False) -> None:
    """One mark with its interval for each row."""
    for at, (_, row) in zip(y, rows.iterrows(), strict=True):
        if not np.isnan([row["low"], row["high"]]).any():
            panel.plot([row["low"], row["high"]], [at, at], color=look.colour, linewidth=1.6, solid_capstyle="butt")
        face = "white" if hollow else look.colour
        mark = {"marker": look.marker, "linestyle": "", "markersize": 7}
        panel.plot(row["value"], at, color=look.colour, markerfacecolor=face, **mark)


def few_groups(values: pd.DataFrame) -> list[str]:
    """The groups that a figure draws, by value: all, or of very many those at both ends."""
    ordered = list(values.sort_values("value", kind="stable")["group"])
    if len(ordered) <= MOST_GROUPS:
        return ordered
    half = MOST_GROUPS // 2
    return ordered[:half] + ordered[-half:]


@styled
def groups_under_pca(
    rows: pd.DataFrame, metrics: Mapping[str, str], *, k: int, part: str, labels: Sequence[str], overall: float
) -> "Figure":
    """What standard PCA leaves of each group: a panel for each metric, filled marks held out, hollow ones fitted.

    Parameters
    ----------
    rows : DataFrame
        Rows of PCA for one attribute.
    metrics : mapping of str to str
        Title of the panel by metric.
    k : int
        Number of components.
    part : str
        By which rows groups are ordered.
    labels : sequence of str
        All groups of the attribute.
    overall : float
        Average of the first metric over these rows.
    """
    first = chosen(rows, metric=next(iter(metrics)), part=part, k=k)
    names = few_groups(first)
    dress = group_looks(labels)
    fig, axes = _figure(1, len(metrics), 1.5 + 0.34 * len(names), sharey=True, squeeze=False)
    for panel, (metric, title) in zip(axes[0], metrics.items(), strict=True):
        for at, name in enumerate(names):
            for part, shift, hollow in ((HELD_OUT, -0.12, False), (FITTING, 0.16, True)):
                some = chosen(rows, metric=metric, part=part, k=k, group=name)
                _dots(panel, some, np.full(len(some), at + shift), dress[name], hollow=hollow)
        panel.set_title(title)
        panel.set_xlabel("smaller is better")
        panel.set_yticks(range(len(names)), [shown(name) for name in names])
        panel.set_ylim(len(names) - 0.5, -0.5)
    axes[0, 0].axvline(overall, color="#555555", linestyle="--", linewidth=1.1)
    _parts_legend(fig, "average of all rows")
    return fig


@styled
def groups_over_k(
    rows: pd.DataFrame, metric: str, title: str, *, part: str, labels: Sequence[str], at: int
) -> "Figure":
    """A metric of every group under standard PCA on the rows of a part, over the number of components."""
    values = chosen(rows, metric=metric, part=part)
    names = few_groups(values[values["k"] == at])
    from matplotlib.lines import Line2D

    dress, keys = group_looks(labels), []
    fig, panel = _figure(height=3.9)
    for name in names:
        line = values[values["group"] == name].sort_values("k")
        look = dress[name]
        panel.fill_between(line["k"], line["low"], line["high"], color=look.colour, alpha=0.13, linewidth=0)
        style = {"color": look.colour, "marker": look.marker, "linestyle": look.linestyle}
        panel.plot(line["k"], line["value"], **style)
        # Beside a name with a leading underscore a legend would leave the mark out, without a word.
        keys.append(Line2D([], [], label=f" {shown(name)}", **style))
    _whole_k(panel, values["k"])
    panel.set(ylabel=title)
    fig.legend(handles=keys, loc="outside lower center", ncols=3, fontsize="small")
    return fig


@styled
def gap_and_price(
    rows: pd.DataFrame, gap: str, price: str, *, k: int, part: str, words: tuple[str, str], best: str
) -> "Figure":
    """Each method's gap between groups against what it costs all rows together, both on the rows of a part.

    Parameters
    ----------
    rows : DataFrame
        Rows of one attribute.
    gap, price : str
        The two metrics.
    k : int
        Number of components.
    part : str
        Which rows.
    words : tuple of str
        What the axes say.
    best : str
        The recommended method; it gets a ring.
    """
    across, up = (chosen(rows, metric=metric, part=part, k=k, group="").set_index("method") for metric in (gap, price))
    names = [name for name in across.index if name in up.index]
    dress = looks(names)
    fig, panel = _figure(height=4.6)
    for name in names:
        look, one, two = dress[name], across.loc[name], up.loc[name]
        panel.plot([one["low"], one["high"]], [two["value"]] * 2, color=look.colour, linewidth=1.1, alpha=0.75)
        panel.plot([one["value"]] * 2, [two["low"], two["high"]], color=look.colour, linewidth=1.1, alpha=0.75)
        panel.plot(one["value"], two["value"], linestyle="", markersize=look.size, **look.mark())
        if name == best:
            panel.plot(one["value"], two["value"], "o", markersize=19, markerfacecolor="none", color="#222222")
    panel.set(xlabel=words[0], ylabel=words[1], xlim=(0 if across["value"].min() >= 0 else None, None))
    fig.legend(handles=handles(dress[name] for name in names), loc="outside lower center", ncols=3, fontsize="small")
    return fig


@styled
def methods_over_k(rows: pd.DataFrame, metrics: Mapping[str, str], *, part: str) -> "Figure":
    """Metrics of every method on the rows of a part over the number of components, a panel each."""
    some = rows[(rows["part"] == part) & rows["metric"].isin(list(metrics)) & (rows["group"] == "")]
    dress = looks(some["method"].unique())
    fig, axes = _figure(1, len(metrics), 4.6, squeeze=False)
    for panel, (metric, title) in zip(axes[0], metrics.items(), strict=True):
        for name, line in chosen(some, metric=metric).groupby("method", sort=False):
            line = line.sort_values("k")
            panel.plot(line["k"], line["value"], markersize=5, linewidth=1.2, **dress[name].line())
        _whole_k(panel, some["k"])
        panel.set_title(title)
        panel.set_ylim(bottom=0)
    fig.legend(handles=handles(dress.values(), lines=True), loc="outside lower center", ncols=3, fontsize="small")
    return fig


@styled
def predictability(rows: pd.DataFrame, readers: Mapping[str, str], *, k: int, part: str) -> "Figure":
    """How well the attribute can be read from k components of each method, by each reader."""
    some = rows[(rows["part"] == part) & (rows["group"] == "") & (rows["k"] == k) & rows["metric"].isin(list(readers))]
    names = list(some.loc[some["value"].notna(), "method"].unique())
    dress = looks(names)
    fig, axes = _figure(1, len(readers), 1.4 + 0.32 * len(names), sharey=True, squeeze=False)
    for panel, (metric, title) in zip(axes[0], readers.items(), strict=True):
        for at, name in enumerate(names):
            one = chosen(some, metric=metric, method=name, group="")
            _dots(panel, one, np.full(len(one), at), dress[name])
        panel.axvline(0.5, color="#222222", linestyle="--", linewidth=1.1)
        panel.set(title=title, xlabel="AUC: 0.5 is guessing, 1 is certain")
        panel.set_xlim(min(0.45, float(some["value"].min()) - 0.02), 1.01)
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(len(names) - 0.5, -0.5)
    return fig


@styled
def fitted_and_held_out(rows: pd.DataFrame, metric: str, title: str, *, k: int) -> "Figure":
    """A metric of each method on the rows it was fitted to (hollow) and on rows it never saw (filled)."""
    some = chosen(rows, metric=metric, k=k, group="")
    names = list(some["method"].unique())
    dress = looks(names)
    fig, panel = _figure(height=1.5 + 0.34 * len(names))
    for at, name in enumerate(names):
        both = some[some["method"] == name].set_index("part")["value"]
        panel.plot(both.to_numpy(), np.full(len(both), at), color="#999999", linewidth=1.2, zorder=1)
        for part, shift, hollow in ((HELD_OUT, -0.12, False), (FITTING, 0.16, True)):
            one = chosen(some, method=name, part=part)
            _dots(panel, one, np.full(len(one), at + shift), dress[name], hollow=hollow)
    panel.set(xlabel=title)
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)
    _parts_legend(fig)
    return fig


def _whole_k(panel: "Axes", sizes: pd.Series) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.set_xlabel("number of components k")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if sizes.nunique() == 1:
        panel.set_xlim(sizes.iloc[0] - 1, sizes.iloc[0] + 1)


def _parts_legend(fig: "Figure", line: str | None = None) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color="#555555", marker="o", linestyle="", label="held-out rows, with interval"),
        Line2D(
            [], [], color="#555555", marker="o", markerfacecolor="white", linestyle="", label="rows it was fitted to"
        ),
    ]
    if line:
        marks.append(Line2D([], [], color="#555555", linestyle="--", label=line))
    fig.legend(handles=marks, loc="outside lower center", ncols=3, fontsize="small")
