"""The looks and the names of methods in stored results and printed tables, beside those of the library.

The same word can mean different methods: ``FairPCA`` in the tables of Vu et al. (2022) is the min-max loss of Samadi et
al. (2018), which Rathore and Manwani (2025) call ``FairPCA_SDP_LP``; ``Fair PCA`` with a space is the mean matching of
Kleindessner et al. (2023). A *variant* is the same method with another setting or program: it shares colour and marker,
differs in how the marker is filled, and is drawn below the method itself.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from evenspan.core.errors import ConfigurationError
from evenspan.displays.method_styles import DASHES, FAMILIES, Dash, fallback_styles, size_at
from evenspan.displays.method_styles import handles as handles
from evenspan.methods import METHODS, Marker

_LISTED = yaml.load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
#: Other names by method and variant; those of the first variant mean the method as it is usually run.
NAMES: Mapping[str, list[list[str]]] = _LISTED["names"]
#: Variants by the number of gap directions that are removed, and by the way the directions are found.
GAP_DIRECTIONS = (5, 10, 2, 15, 25, 50, 1, 3, 4)
_M = r"m ?= ?(?P<m>\d+)"
#: Names made by a rule: pattern of the whole name, method; a group ``m`` gives the variant.
RULES = tuple(
    (re.compile(pattern), method)
    for pattern, method in (
        (r".*\bJEVD \((paper|orthogonal)\).*", "JEVD-PCA"),
        (r"(in|out) \| \w+ \| PCA( of the (wo)?men)? \|  \| ", "PCA"),
        (r"PCA of (all rows|equal weights|(wo)?men) about .*", "PCA"),
        (r"(?P<method>[cu]-FPCA), (golden section|safe search), about .*", ""),
        (r"min-max loss, (means|sums) about .*", "Min-max loss"),
        (r"min-max error, (means|sums) about .*", "Min-max error"),
        (rf"(FNPM|fair), {_M}|{_M.replace('<m>', '<n>')}", "Streaming null-it-out"),
        (rf"(offline(, second moment)?|as released), {_M}", "Null-it-out PCA"),
        (r"random, .*|random basis .*", "Random directions"),
    )
)
#: Fills of a marker, by the number of the variant; stars with open arms have only the first two.
FILLS = ("full", "none", "left", "bottom", "right", "top")


class ResolvedName(NamedTuple):
    """The method that a name means, and which of its variants: 0 is the method as it is usually run."""

    method: str
    variant: int


@cache
def known() -> Mapping[str, tuple[str, Marker]]:
    """Family and marker of every method, in the order of legends."""
    rows = {name: (method.equalises, method.marker) for name, method in METHODS.items()}
    for name, further in _LISTED["further"].items():
        marker = further["marker"]
        rows[name] = further["family"], tuple(marker) if isinstance(marker, list) else marker
    return {name: row for family in FAMILIES for name, row in rows.items() if row[0] == family}


@cache
def _by_name() -> dict[str, ResolvedName]:
    found: dict[str, ResolvedName] = {}
    for method in known():
        for number, names in enumerate(NAMES.get(method, ((),))):
            for name in (method, *names) if number == 0 else names:
                if found.setdefault(name, ResolvedName(method, number)).method != method:
                    raise ConfigurationError(f"The name {name!r} is given to {found[name].method} and to {method}.")
    return found


def resolve_name(name: str) -> ResolvedName:
    """The method that a name means, as it stands in a result or in a paper's table; blank if nobody registered it."""
    if name in _by_name():
        return _by_name()[name]
    for pattern, method in RULES:
        if hit := pattern.fullmatch(name):
            parts = hit.groupdict()
            m = parts.get("m") or parts.get("n")
            number = GAP_DIRECTIONS.index(int(m)) if m and int(m) in GAP_DIRECTIONS else 0
            return ResolvedName(method or parts["method"], number)
    return ResolvedName("", 0)


class MethodStyle(NamedTuple):
    """How a method is drawn: ``fill`` is that of matplotlib, ``method`` what the ``label`` means.

    ``size`` falls within a family, so that hollow marks of methods with the same answer show one in another."""

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
        """Keywords for ``plot``: markers without a line; a variant is drawn below the method, which it would hide."""
        hollow = {"markerfacecolor": "white"} if self.fill == "none" else {"fillstyle": self.fill}
        alt = {} if self.fill in ("full", "none") else {"markerfacecoloralt": "white"}
        order = {"zorder": 2.9 - 0.1 * FILLS.index(self.fill)}
        return {"color": self.colour, "marker": self.marker, "label": self.label} | order | hollow | alt

    def open(self) -> dict:
        """As ``mark``, but one sees through: the usual method is hollow, its first variant filled."""
        fill = {"full": "none", "none": "full"}.get(self.fill, self.fill)
        face = {"markerfacecolor": "none"} if fill == "none" else {"fillstyle": fill, "markerfacecoloralt": "none"}
        return {"color": self.colour, "marker": self.marker, "label": self.label} | face


@cache
def methods() -> dict[str, MethodStyle]:
    """All methods with their looks, in the order of legends."""
    found: dict[str, MethodStyle] = {}
    places = dict.fromkeys(FAMILIES, 0)
    for name, (family, marker) in known().items():
        place = places[family]
        places[family] += 1
        colour, size = FAMILIES[family][place], size_at(place, marker)
        found[name] = MethodStyle(colour, marker, DASHES[place], name, FILLS[0], size, family, name)
    return found


def style_of(name: str) -> MethodStyle:
    """The look of a method by any name in results or tables, its label; one that is not registered has no family."""
    return styles_of([name])[name]


def styles_of(names: Iterable[str]) -> dict[str, MethodStyle]:
    """The looks of all series of a figure, by name: a variant whose fill is taken gets the next free one.

    Names that nobody has registered get what is left. More variants of a method than there are fills are refused."""
    found: dict[str, MethodStyle] = {}
    names = list(dict.fromkeys(names))
    for name in names:
        method, variant = resolve_name(name)
        if not method:
            continue
        own = methods()[method]
        fills = FILLS[:2] if isinstance(own.marker, tuple) else FILLS
        taken = {other.fill for other in found.values() if other.method == method}
        free = [fill for fill in fills[variant % len(fills) :] + fills if fill not in taken]
        if not free:
            raise ConfigurationError(
                f"{method} stands in one figure more than {len(fills)} times, at last as {name!r}. Draw a panel or an "
                "axis of its variants."
            )
        dash = DASHES[(DASHES.index(own.linestyle) + fills.index(free[0])) % len(DASHES)]
        found[name] = own._replace(label=name, fill=free[0], linestyle=dash)
    strange = [name for name in names if name not in found]
    for name, own in fallback_styles(strange, {own.marker for own in found.values()}).items():
        found[name] = MethodStyle(own.colour, own.marker, own.linestyle, name, FILLS[0], own.size, "", "")
    return {name: found[name] for name in names}


def ordered(names: Iterable[str]) -> list[str]:
    """Names in the order of legends: that of the table of methods, variants after their method, others last."""
    places = {name: place for place, name in enumerate(known())}
    found = {name: resolve_name(name) for name in names}
    return sorted(found, key=lambda name: (places.get(found[name].method, len(places)), found[name].variant))


def unregistered(names: Iterable[str]) -> list[str]:
    """Those of some names that no method of the table has, once each."""
    return [name for name in dict.fromkeys(names) if not resolve_name(name).method]
