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

#: More groups than these are not drawn one by one: the figure keeps those with the smallest and the largest values.
MOST_GROUPS = 24
#: Letters of a name that a figure shows.
LETTERS = 28
WIDTH = 7.2
FITTING, HELD_OUT = "fitting", "held out"
ATTAINABLE, EDGE, EQUAL = "#dfe9f2", "#222222", "#a8232b"
#: How far from a line, in its own extents, a method may be and still be in the frame.
REACH = 3.0


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


# -- what was measured -------------------------------------------------------------------------------------------------


@styled
def groups_under_pca(
    rows: pd.DataFrame, metrics: Mapping[str, str], *, k: int, labels: Sequence[str], overall: float
) -> "Figure":
    """What standard PCA leaves of each group: a panel for each metric, filled marks held out, hollow ones fitted.

    ``metrics`` gives the panels their titles; groups are ordered by held-out rows; ``labels`` are all of them;
    ``overall`` is the average of the first metric.
    """
    first = chosen(rows, metric=next(iter(metrics)), part=HELD_OUT, k=k)
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
def groups_over_k(rows: pd.DataFrame, metric: str, title: str, *, labels: Sequence[str], at: int) -> "Figure":
    """A metric of every group under standard PCA on held-out rows, over the number of components."""
    values = chosen(rows, metric=metric, part=HELD_OUT)
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
def gap_and_price(rows: pd.DataFrame, gap: str, price: str, *, k: int, words: tuple[str, str], best: str) -> "Figure":
    """Each method's gap between groups against what it costs all rows together, both on held-out rows.

    ``words`` is what the axes say; the recommended method ``best`` gets a ring.
    """
    across, up = (
        chosen(rows, metric=metric, part=HELD_OUT, k=k, group="").set_index("method") for metric in (gap, price)
    )
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
def methods_over_k(rows: pd.DataFrame, metrics: Mapping[str, str]) -> "Figure":
    """Metrics of every method on held-out rows over the number of components, a panel each."""
    some = rows[(rows["part"] == HELD_OUT) & rows["metric"].isin(list(metrics)) & (rows["group"] == "")]
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
def predictability(rows: pd.DataFrame, readers: Mapping[str, str], *, k: int) -> "Figure":
    """How well the attribute can be read from k components of each method, by each reader."""
    some = rows[
        (rows["part"] == HELD_OUT) & (rows["group"] == "") & (rows["k"] == k) & rows["metric"].isin(list(readers))
    ]
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


# -- what is possible at all -------------------------------------------------------------------------------------------


@styled
def attainable_pairs(
    polygon: np.ndarray, edge: np.ndarray, points: Mapping[str, tuple[float, float]], labels: tuple[str, str], best: str
) -> "Figure":
    """All pairs of errors that projections of k components can reach: the whole set, and its lower left edge, closer.

    ``polygon`` (m, 2) is the boundary in order, ``edge`` the part of it on which no error can fall without the other's
    rising; ``points`` are the errors of the two groups on the fitting part by method.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    fig, panels = _figure(1, 2, 5.0)
    dress = looks(points)
    for panel in panels:
        panel.fill(*polygon.T, color=ATTAINABLE, zorder=0)
        panel.plot(*np.vstack([polygon, polygon[:1]]).T, color="#7f9cb5", linewidth=1.1)
        panel.plot(*edge.T, color=EDGE, linewidth=2.2)
        panel.axline((0.0, 0.0), slope=1.0, color=EQUAL, linestyle="--", linewidth=1.2)
        for name, point in points.items():
            _mark(panel, dress[name], point, name == best)
        panel.set_xlabel(f"error of group {shown(labels[0])}")
    panels[0].set_ylabel(f"error of group {shown(labels[1])}")
    panels[0].set_title("all that is possible")
    panels[1].set_title("closer")
    _frame(panels[0], polygon, 0.04)
    _frame(panels[1], np.vstack([edge, *inside(edge, points).values()]), 0.25)
    keys = [
        Patch(color=ATTAINABLE, label="possible"),
        Line2D([], [], color=EDGE, linewidth=2.2, label="least errors, certified"),
        Line2D([], [], color=EQUAL, linestyle="--", label="equal errors"),
    ]
    fig.legend(handles=[*keys, *handles(dress.values())], loc="outside lower center", ncols=3, fontsize="small")
    return fig


@styled
def average_and(name: str, line: np.ndarray, points: Mapping[str, tuple[float, float]], best: str) -> "Figure":
    """What a smaller gap, or worst group, costs all rows together: what was reached, what is out of reach, the methods.

    ``line`` (m, 3) holds average error, the other number, and what that is at least for every projection of no larger
    average error; ``points`` the first two by method, on the fitting part.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    fig, panel = _figure(height=4.6)
    dress = looks(points)
    x, y, bound = line.T
    _frame(panel, np.vstack([line[:, :2], *inside(line[:, :2], points).values()]), 0.08, equal=False)
    floor, right = panel.get_ylim()[0], panel.get_xlim()[1]
    panel.fill_between(np.r_[x, right], floor, np.r_[bound, bound[-1]], color="#ececec", linewidth=0, zorder=0)
    panel.axvspan(panel.get_xlim()[0], x[0], color="#ececec", linewidth=0, zorder=0)
    panel.plot(x, y, color=EDGE, linewidth=2.0, marker="." if len(x) < 3 else "")
    for method, point in points.items():
        _mark(panel, dress[method], point, method == best)
    panel.set(xlabel="average error", ylabel=name)
    keys = [
        Line2D([], [], color=EDGE, linewidth=2.0, label="reached by projections"),
        Patch(color="#ececec", label="out of reach, certified"),
    ]
    fig.legend(handles=[*keys, *handles(dress.values())], loc="outside lower center", ncols=3, fontsize="small")
    return fig


def inside(line: np.ndarray, points: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The points that are near a line: within ``REACH`` times its extent of it, and of one hundredth of its values.

    A frame around all of them would make a short line a dot where one method is far away from it.
    """
    low, high = line.min(axis=0), line.max(axis=0)
    room = REACH * np.maximum(high - low, 0.01 * np.abs(high))
    return {
        name: point
        for name, point in points.items()
        if (np.asarray(point) >= low - room).all() and (np.asarray(point) <= high + room).all()
    }


def _mark(panel, look, point, ringed: bool) -> None:
    panel.plot(*point, linestyle="", markersize=look.size, **look.mark() | {"zorder": 4})
    if ringed:
        panel.plot(*point, "o", markersize=19, markerfacecolor="none", color=EDGE, zorder=5)


def _frame(panel, points: np.ndarray, share: float, *, equal: bool = True) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    sides = np.maximum(high - low, 1e-6 * np.maximum(np.abs(high), np.finfo(float).tiny))
    room = share * (np.full(2, sides.max(axis=0)) if equal else sides)
    panel.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))
