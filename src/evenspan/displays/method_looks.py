"""One look for every method and every group in the whole book.

The hue tells what a method equalises; the marker, the shade and, where lines are drawn, the dash tell which method of
that family it is. Variants of a method share all that, differ in how their marker is filled, and are drawn below it.
Groups have a palette of their own and are told by their place among the sorted labels of their data set: colour, marker
and hatch. No figure needs its colours to be read: every mark has a second sign, and every colour is at least 3:1
against white.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import ConfigurationError
from ..methods import KNOWN, Marker, Meaning, meaning
from . import style

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

#: What a method asks to be equal between groups, and the shades of those that do, in the order of the table of methods:
#: the first is the family's, and all are at least 3:1 against white.
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
#: Fills of a marker, by the number of the variant; stars with open arms have only the first two.
FILLS = ("full", "none", "left", "bottom", "right", "top")
Dash = str | tuple[int, tuple[float, ...]]
DASHES: tuple[Dash, ...] = (
    "-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (9, 2)), (0, (3, 3)), (0, (1, 3)), (0, (7, 1, 3, 1)),
    (0, (2, 1)),
)  # fmt: skip


class Look(NamedTuple):
    """How a method is drawn.

    ``fill`` is a fill style of matplotlib; ``size`` falls within a family, so that methods with the same answer show
    one in another where markers are drawn hollow; ``method`` is the method that the ``label`` means.
    """

    colour: str
    marker: Marker
    linestyle: Dash
    label: str
    fill: str
    size: float
    family: str
    method: str

    def line(self) -> dict:
        """Keywords for ``plot``: a line with markers."""
        return {"linestyle": self.linestyle} | self.mark()

    def mark(self) -> dict:
        """Keywords for ``plot``: markers of this colour and fill, without saying anything about a line.

        A variant is drawn below the method itself, which it would hide where both give the same answer.
        """
        hollow = {"markerfacecolor": "white"} if self.fill == "none" else {"fillstyle": self.fill}
        alt = {} if self.fill in ("full", "none") else {"markerfacecoloralt": "white"}
        order = {"zorder": 2.9 - 0.1 * FILLS.index(self.fill)}
        return {"color": self.colour, "marker": self.marker, "label": self.label} | order | hollow | alt

    def open(self) -> dict:
        """As ``mark``, but one sees through: the usual method is hollow, its first variant filled."""
        fill = {"full": "none", "none": "full"}.get(self.fill, self.fill)
        face = {"markerfacecolor": "none"} if fill == "none" else {"fillstyle": fill, "markerfacecoloralt": "none"}
        return {"color": self.colour, "marker": self.marker, "label": self.label} | face


class GroupLook(NamedTuple):
    """How a group is drawn: points by colour and marker, bars by colour and hatch, lines by colour and dash."""

    colour: str
    marker: str
    linestyle: Dash
    label: str
    hatch: str


@cache
def _methods() -> dict[str, Look]:
    found: dict[str, Look] = {}
    places = dict.fromkeys(FAMILIES, 0)
    for name, method in KNOWN.items():
        family, place = method.equalises, places[method.equalises]
        places[family] += 1
        wide = 1.3 if isinstance(method.marker, tuple) else 1.0  # stars look smaller than they are
        size = wide * max(11.5 - 1.6 * place, 4.0)
        found[name] = Look(FAMILIES[family][place], method.marker, DASHES[place], name, FILLS[0], size, family, name)
    return found


def methods() -> dict[str, Look]:
    """All methods with their looks, in the order of legends."""
    return dict(_methods())


def look(name: str) -> Look:
    """The look of a method, by any name that it has in results or in a paper's table.

    Parameters
    ----------
    name : str
        For an estimator see :func:`evenspan.methods.of_estimator`.

    Returns
    -------
    Look
        Its ``label`` is the name that was given. A method that nobody has registered has no family.

    Examples
    --------
    >>> look("covFairPCA").method, look("covFairPCA").family
    ('c-FPCA', 'errors')
    >>> look("my method").family
    ''
    """
    return next(iter(looks([name]).values()))


def _registered(name: str) -> Look:
    method, variant = meaning(name)
    own = _methods()[method]
    fills = _fills(own.marker)
    return own._replace(label=name, fill=fills[variant % len(fills)], linestyle=_dash(own.linestyle, variant))


def looks(names: Iterable[str]) -> dict[str, Look]:
    """The looks of all series of a figure, by name: a variant whose fill is taken gets the next free one.

    Names of methods that nobody has registered, and of series that are no methods, get the looks of
    :func:`evenspan.displays.style.looks` that are left, in order.

    Raises
    ------
    ConfigurationError
        If one method has more variants than there are fills: then they are points along an axis or panels, not series.
    """
    found: dict[str, Look] = {}
    strange, names = [], list(dict.fromkeys(names))
    for name in names:
        try:
            own = _registered(name)
        except ConfigurationError:
            strange.append(name)
            continue
        fills, taken = _fills(own.marker), {other.fill for other in found.values() if other.method == own.method}
        free = [fill for fill in fills[fills.index(own.fill) :] + fills if fill not in taken]
        if not free:
            raise ConfigurationError(
                f"{own.method} stands in one figure more than {len(fills)} times, at last as {name!r}. Draw a panel or "
                "an axis of its variants."
            )
        dash = _dash(_methods()[own.method].linestyle, fills.index(free[0]))
        found[name] = own._replace(fill=free[0], linestyle=dash)
    # A marker that stands for a method in this figure stands for nothing else there, so that grey is enough.
    seen = {own.marker for own in found.values()}
    markers = [marker for marker in style.MARKERS if marker not in seen] or list(style.MARKERS)
    pairs = zip(cycle(style.COLOURS), cycle(markers), strict=False)
    for place, (name, (colour, marker)) in enumerate(zip(strange, pairs, strict=False)):
        found[name] = Look(colour, marker, DASHES[place % len(DASHES)], name, FILLS[0], 8.0, "", "")
    return {name: found[name] for name in names}


def ordered(names: Iterable[str]) -> list[str]:
    """Names of methods in the order of legends: that of the table of methods, variants after their method, others last.

    >>> ordered(["c-FPCA", "JevdPCA (orthogonal)", "JevdPCA", "PCA"])
    ['PCA', 'JevdPCA', 'JevdPCA (orthogonal)', 'c-FPCA']
    """
    places = {name: place for place, name in enumerate(KNOWN)}
    found = {name: _meant(name) for name in names}
    return sorted(found, key=lambda name: (places.get(found[name].method, len(places)), found[name].variant))


def unregistered(names: Iterable[str]) -> list[str]:
    """Those of some names that no method of the table has, once each."""
    return [name for name in dict.fromkeys(names) if not _meant(name).method]


def _meant(name: str) -> Meaning:
    try:
        return meaning(name)
    except ConfigurationError:
        return Meaning("", 0)


def _fills(marker: Marker) -> tuple[str, ...]:
    return FILLS[:2] if isinstance(marker, tuple) else FILLS


def _dash(dash: Dash, variant: int) -> Dash:
    return DASHES[(DASHES.index(dash) + variant) % len(DASHES)]


def group_looks(labels: Sequence) -> dict:
    """The look of every group of a data set, by label.

    Parameters
    ----------
    labels : sequence
        *All* labels of the data set; their order does not matter.

    Returns
    -------
    dict of label to GroupLook
        In the order of ``labels``.

    Raises
    ------
    ConfigurationError
        For more groups than there are pairs of colour and marker.
    """
    given = list(dict.fromkeys(labels))
    most = len(GROUP_COLOURS) * len(GROUP_MARKERS)
    if len(given) > most:
        raise ConfigurationError(
            f"{len(given)} groups; only {most} can be told apart. Merge some, or draw a panel each."
        )
    try:
        ordered = sorted(given)
    except TypeError:  # labels of different kinds
        ordered = sorted(given, key=lambda label: (type(label).__name__, str(label)))
    found = {}
    for place, label in enumerate(ordered):
        turn = place + place // len(GROUP_COLOURS)
        colour, dash = GROUP_COLOURS[place % len(GROUP_COLOURS)], DASHES[place % len(DASHES)]
        marker, hatch = GROUP_MARKERS[turn % len(GROUP_MARKERS)], HATCHES[turn % len(HATCHES)]
        found[label] = GroupLook(colour, marker, dash, str(label), hatch)
    return {label: found[label] for label in given}


def handles(chosen: Iterable[Look], *, lines: bool = False) -> "list[Line2D]":
    """Entries of a legend: the marker of each look, with its line if ``lines``."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], **(own.line() if lines else own.mark() | {"linestyle": ""})) for own in chosen]
