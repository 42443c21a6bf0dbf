"""One look for every method and every group.

The hue tells what a method equalises; the marker and the shade tell which method of that family it is. Groups have a
palette of their own and are told by their place among the sorted labels of their data set: colour, marker and hatch. No
figure needs its colours to be read: every mark has a second sign, and every colour is at least 3:1 against white.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import ConfigurationError
from ..methods import METHODS, Marker
from . import style

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

#: What a method equalises, and the shades of those that do, in the order of the table of methods; all at least 3:1.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "nothing": (
        "#222222", "#968A84", "#425A6C", "#5A4E3C", "#243648", "#666C6C", "#000000", "#424848", "#3C301E", "#786C5A",
    ),
    "losses": ("#0072B2", "#2B50C8"),
    "errors": ("#D55E00", "#CC784E", "#9C0000", "#C02A00", "#FC2A3C"),
    "means": ("#009E73", "#60A242", "#007E00", "#004200", "#487836", "#186006", "#365A2A", "#6C905A"),
    "means and covariances": ("#8A0F6E", "#C672D2", "#72129C", "#FC4E7E", "#A20048"),
    "distributions": ("#7A6CFF",),
    "shares in clusters": ("#6B2D0A", "#A27824", "#785400", "#DE7272", "#A84242", "#3C1806"),
    "predictions": ("#2A12C9",),
}  # fmt: skip
#: Groups of people: none of these colours is one of a family.
GROUP_COLOURS = ("#0F7F8C", "#CB7E00", "#9217F7", "#7C0F18", "#46278C", "#909363", "#CB60E7", "#63394B")
GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "+++", "---")
Dash = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = (
    "-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (9, 2)), (0, (3, 3)), (0, (1, 3)), (0, (7, 1, 3, 1)),
    (0, (2, 1)),
)  # fmt: skip


class MethodStyle(NamedTuple):
    """How a method is drawn; sizes fall within a family, so that methods with the same answer show one in another."""

    colour: str
    marker: Marker
    linestyle: Dash
    label: str
    size: float

    def line(self) -> dict:
        """Keywords for ``plot``: a line with markers."""
        return {"linestyle": self.linestyle} | self.mark()

    def mark(self) -> dict:
        """Keywords for ``plot``: markers of this colour, without saying anything about a line."""
        return {"color": self.colour, "marker": self.marker, "label": self.label}

    def open(self) -> dict:
        """As ``mark``, but one sees through."""
        return self.mark() | {"markerfacecolor": "none"}


class GroupStyle(NamedTuple):
    """How a group is drawn: points by colour and marker, bars by colour and hatch, lines by colour and dash."""

    colour: str
    marker: str
    linestyle: Dash
    label: str
    hatch: str


def size_at(place: int, marker: Marker) -> float:
    """The size of the marker of a method at a place of its family; stars look smaller than they are."""
    return (1.3 if isinstance(marker, tuple) else 1.0) * max(11.5 - 1.6 * place, 4.0)


def styles_of(names: Iterable[str]) -> dict[str, MethodStyle]:
    """The looks of all series of a figure by name: those of methods, and for others what is left, in order.

    >>> styles_of(["PCA", "mine"])["PCA"].colour
    '#222222'
    """
    found, names = {}, list(dict.fromkeys(names))
    for name in names:
        if name in METHODS:
            family, marker = METHODS[name].equalises, METHODS[name].marker
            place = [other for other, method in METHODS.items() if method.equalises == family].index(name)
            found[name] = MethodStyle(FAMILIES[family][place], marker, DASHES[place], name, size_at(place, marker))
    found |= fallback_styles([name for name in names if name not in found], {own.marker for own in found.values()})
    return {name: found[name] for name in names}


def fallback_styles(names: Iterable[str], taken: Container[Marker]) -> dict[str, MethodStyle]:
    """Looks for series that are no methods: a marker that stands for a method in the figure stands for nothing else."""
    markers = [marker for marker in style.MARKERS if marker not in taken] or list(style.MARKERS)
    dress = zip(cycle(style.COLOURS), cycle(markers), cycle(DASHES), strict=False)
    return {name: MethodStyle(*one, name, 8.0) for name, one in zip(names, dress, strict=False)}


def group_styles(labels: Sequence) -> dict:
    """The look of every group of a data set by label, given *all* its labels, whose order does not matter."""
    given = list(dict.fromkeys(labels))
    most = len(GROUP_COLOURS) * len(GROUP_MARKERS)
    if len(given) > most:
        raise ConfigurationError(
            f"{len(given)} groups; only {most} can be told apart. Merge some, or draw a panel each."
        )
    found = {}
    for place, label in enumerate(sorted(given)):
        turn = place + place // len(GROUP_COLOURS)
        colour, dash = GROUP_COLOURS[place % len(GROUP_COLOURS)], DASHES[place % len(DASHES)]
        marker, hatch = GROUP_MARKERS[turn % len(GROUP_MARKERS)], HATCHES[turn % len(HATCHES)]
        found[label] = GroupStyle(colour, marker, dash, str(label), hatch)
    return {label: found[label] for label in given}


def handles(chosen: Iterable[MethodStyle], *, lines: bool = False) -> "list[Line2D]":
    """Entries of a legend: the marker of each look, with its line if ``lines``."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], **(own.line() if lines else own.mark() | {"linestyle": ""})) for own in chosen]
