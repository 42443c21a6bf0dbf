"""The choice of a method as an outline from questions to names: what it is for, and what has to be alike."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenspan.core.errors import ConfigurationError
from evenspan.displays.method_looks import Look
from evenspan.displays.style import INK

from .guide_methods import KERNEL_MEANS, SHARES, TWO

#: Purpose, then what has to be alike, as in ``guide_methods.facts``.
OUTLINE: Mapping[str, Mapping[str, str]] = {
    "Points are rebuilt from it: compress, impute, denoise": {
        "errors": "how well each group is rebuilt",
        "losses": "what each group gives up, against directions of its own",
    },
    "Something is predicted or compared from it": {
        "means": "where the groups lie: their means",
        KERNEL_MEANS: "their means in the feature space of a kernel",
        "means and covariances": "their means and how they spread",
        "distributions": "their whole distributions, as far as a kernel sees them",
    },
    "Rows are put into clusters": {SHARES: "the shares of the groups in every cluster"},
    "Nothing has to be alike": {"nothing": "the control: as little error over all rows as possible"},
}
GREY, LINE = "#555555", "#999999"
#: Inches a line; the place of each depth and column on the width; the inches that the width is drawn on.
STEP, INDENT = 0.3, 0.42
COLUMNS = (4.95, 6.75)
WIDTH, INCHES = 7.9, 5.4


class Row(NamedTuple):
    """A line of the outline: its depth, its words, and the row of the facts that it shows, if it is a method."""

    depth: int
    text: str
    method: pd.Series | None = None


def rows(facts: pd.DataFrame) -> list[Row]:
    """The lines of the outline, from the facts; a method that has no place in it is an error.

    Parameters
    ----------
    facts : DataFrame
        As ``guide_methods.facts`` gives them.

    Returns
    -------
    list of Row
    """
    found, placed = [], set()
    for purpose, kinds in OUTLINE.items():
        found.append(Row(0, purpose))
        for alike, words in kinds.items():
            found.append(Row(1, words))
            some = facts[facts["alike"] == alike]
            found += [Row(2, fact["method"], fact) for _, fact in some.iterrows()]
            placed |= set(some["method"])
    missing = [name for name in facts["method"] if name not in placed]
    if missing:
        raise ConfigurationError(f"{', '.join(missing)}: no place in the outline. Add what they make alike to OUTLINE.")
    return found


def outline(facts: pd.DataFrame, dressed: Mapping[str, Look]) -> Figure:
    """Questions in bold, answers below them, and at the end the methods with what they take.

    Parameters
    ----------
    facts : DataFrame
        As ``guide_methods.facts`` gives them.
    dressed : mapping of str to Look
        By method.

    Returns
    -------
    Figure
        Tall and narrow, so that it can be read on a telephone.
    """
    lines = rows(facts)
    fig, panel = plt.subplots(figsize=(INCHES, STEP * (len(lines) + 1.6)), layout="constrained")
    panel.set(xlim=(0.0, WIDTH), ylim=(len(lines) - 0.3, -1.5))
    panel.axis("off")
    for x, words in zip(COLUMNS, ("groups", "needs"), strict=True):
        panel.text(x, -1.0, words, color=GREY, va="center", style="italic")
    panel.text(0.0, -1.0, "for what, and what is alike", color=GREY, va="center", style="italic")
    for y, line in enumerate(lines):
        if line.method is None:
            panel.text(
                line.depth * INDENT, y, line.text, va="center", color=INK, weight="bold" if not line.depth else None
            )
        else:
            _method(panel, y, line.method, dressed[line.text])
    _branches(panel, lines)
    return fig


def _method(panel: Axes, y: int, fact: pd.Series, look: Look) -> None:
    x = 2 * INDENT
    size = 8.5 * (1.3 if isinstance(look.marker, tuple) else 1.0)
    panel.plot(x + 0.12, y, **look.mark() | {"linestyle": "", "markersize": size})
    panel.text(x + 0.42, y, fact["method"], va="center", color=INK)
    for place, key in zip(COLUMNS, ("groups", "needs"), strict=True):
        strong = fact[key] == TWO
        panel.text(
            place, y, fact[key], va="center", fontsize="small",
            color=INK if strong else GREY, weight="bold" if strong else None,
        )  # fmt: skip


def _branches(panel: Axes, lines: Sequence[Row]) -> None:
    """A thin line down from every question to its last answer."""
    for depth in (0, 1):
        x, start, last = depth * INDENT + 0.08, None, -1
        for y, line in enumerate([*lines, Row(0, "")]):
            if line.depth <= depth:
                if start is not None and last > start:
                    panel.plot([x, x], [start + 0.42, last], color=LINE, linewidth=0.9)
                start = y if line.depth == depth else None
            if line.depth == depth + 1:
                last = y
                panel.plot([x, x + 0.25], [y, y], color=LINE, linewidth=0.9)
