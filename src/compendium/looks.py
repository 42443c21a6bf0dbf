"""The looks and the names of methods in stored results and printed tables, beside those of the library.

The same word can mean different methods: ``FairPCA`` in the tables of Vu et al. (2022) is the min-max loss of Samadi et
al. (2018), which Rathore and Manwani (2025) call ``FairPCA_SDP_LP``; ``Fair PCA`` with a space is the mean matching of
Kleindessner et al. (2023). A *variant* is the same method with another setting or program: it shares colour and marker,
differs in how the marker is filled, and is drawn below the method itself.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from evenspan.core.errors import ConfigurationError
from evenspan.displays.method_looks import DASHES, FAMILIES, Dash, left_over, size_at
from evenspan.methods import METHODS, Marker

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

#: Methods that the library does not compare: family and marker.
FURTHER: Mapping[str, tuple[str, Marker]] = {
    "Random directions": ("nothing", "8"),
    "K-means": ("nothing", "s"),
    "KKM": ("nothing", "D"),
    "SC": ("nothing", "^"),
    "MKKM": ("nothing", "P"),
    "FKKM-f": ("nothing", "<"),
    "FMKKM-f": ("nothing", ">"),
    "Unconstrained classifier": ("nothing", "h"),
    "Constant classifier": ("nothing", "d"),
    "Fair kernel PCA": ("means", (5, 1, 180)),
    "Streaming mean matching": ("means", (4, 1, 45)),
    "FairSC": ("shares in clusters", "v"),
    "VFC": ("shares in clusters", "X"),
    "FFC": ("shares in clusters", "*"),
    "FKKM": ("shares in clusters", "o"),
    "FMKKM": ("shares in clusters", "p"),
    "Reductions": ("predictions", "H"),
}
#: Other names by variant; those in the first tuple mean the method as it is usually run.
NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "PCA": (
        ("StandardPCA", "vanilla", "Standard PCA", "PCA, new rows"),
        ("PCA of the women", "eigh", "scikit-learn PCA"),
        ("PCA of the women (uncentred)",),
        ("PCA of the men",),
    ),
    "Random directions": (("random",),),
    "KKM": (
        (),
        ("KKM (average kernel)",),
        ("KKM (best kernel by its objective)",),
        ("KKM (best kernel by the classes, an oracle)",),
    ),
    "Unconstrained classifier": (("no fairness",),),
    "Constant classifier": (("constant",),),
    "Min-max loss": (
        ("FairPCA", "FairPCA_SDP_LP", "Samadi et al.", "min-max loss", "min-max optimum"),
        ("FairPCA (exact)", "min-max loss (certified)", "FairPCA_SDP_LP (uncentred)"),
        ("FairPCA (rank k)",),
    ),
    "JEVD-PCA": (
        ("JevdPCA",),
        ("JevdPCA (orthogonal)",),
        ("JevdPCA (from U = I)",),
        ("JevdPCA (raw columns)",),
        ("JevdPCA (uncentred)",),
    ),
    "Min-max error": (("FairPCA (error, exact)", "min-max error"),),
    "Robust PCA": (("RFPCA", "descent", "RFPCA, penalty 0.2"), ("RFPCA (exact)", "exact"), ("RFPCA, penalty 2.5",)),
    "c-FPCA": (("covFairPCA",), ("covFairPCA (uncentred)",)),
    "Fair PCA": (
        ("Fair PCA, lambda", "fair PCA", "Fair PCA, new rows"),
        ("Fair PCA, centred", "Fair PCA, lambda^3", "offline, mean", "Fair PCA, fitting rows"),
        ("Fair PCA, exact moments", "Algorithm 1 on the points", "as released, mean"),
        ("offline, second moment, mean",),
    ),
    "Convex PCA (mean)": (("CFPCA-Mean Con.", "CFPCA, means"), ("CFPCA-Mean Con. (linear)",)),
    "LEACE": ((), ("LEACE (all features)",)),
    "INLP": ((), ("INLP, most variance",)),
    "RLACE": ((), ("RLACE, rank 1",)),
    "Fair kernel PCA": (("Fair Kernel PCA", "Fair kernel PCA, lambda"), ("Fair kernel PCA, lambda^3",)),
    "Streaming mean matching": (("mean", "mean-matched", "mean constraint, streamed", "FNPM, mean"),),
    "Fair PCA (covariance)": (
        ("Fair PCA-S (0.5)", "Fair PCA-S", "Fair PCA-S (0.5), lambda"),
        ("Fair PCA-S (0.85)", "Fair PCA-S (0.85), lambda"),
        ("Fair PCA-S (0.5), lambda^3",),
        ("Fair PCA-S (0.85), lambda^3",),
    ),
    "Convex PCA (both)": (
        ("FPCA (0, 0.01)", "CFPCA - Both Con."),
        ("FPCA (0.1, 0.01)", "CFPCA - Both Con. (mu as meant)"),
    ),
    "Null-it-out PCA": (("null it out, exact", "offline"), ("as released",), ("offline, second moment",)),
    "Streaming null-it-out": (
        ("both phases estimated", "released", "about the running mean", "phase 1", "phase 1 (gap)", "FNPM"),
        ("true directions given", "carry", "about the group means", "m = 5, paired", "phase 2 (components)"),
        ("exact answer for estimated U", "carry to 20 rows", "about zero", "group moments"),
        ("carry to 100 rows",),
        ("skip",),
    ),
    "MMD PCA": (("MbF-PCA", "MbF-PCA (10^-3)"), ("MbF-PCA (10^-6)", "MbF-PCA (10^-5)", "MbF-PCA (10^-4)")),
    "FKKM": ((), ("FKKM (swaps)", "FKKM (average kernel)")),
    "FMKKM": ((), ("FMKKM (unshifted)",)),
    "Reductions": (("reductions",),),
}
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


class Meaning(NamedTuple):
    """The method that a name means, and which of its variants: 0 is the method as it is usually run."""

    method: str
    variant: int


@cache
def known() -> Mapping[str, tuple[str, Marker]]:
    """Family and marker of every method, in the order of legends."""
    own = {name: (method.equalises, method.marker) for name, method in METHODS.items()}
    return {name: row for family in FAMILIES for name, row in (own | FURTHER).items() if row[0] == family}


@cache
def _by_name() -> dict[str, Meaning]:
    found: dict[str, Meaning] = {}
    for method in known():
        for number, names in enumerate(NAMES.get(method, ((),))):
            for name in (method, *names) if number == 0 else names:
                if found.setdefault(name, Meaning(method, number)).method != method:
                    raise ConfigurationError(f"The name {name!r} is given to {found[name].method} and to {method}.")
    return found


def meaning(name: str) -> Meaning:
    """The method that a name means, as it stands in a result or in a paper's table.

    >>> meaning("covFairPCA (uncentred)")
    Meaning(method='c-FPCA', variant=1)
    """
    if (found := _by_name().get(name)) is not None:
        return found
    for pattern, method in RULES:
        if (hit := pattern.fullmatch(name)) is not None:
            parts = hit.groupdict()
            m = parts.get("m") or parts.get("n")
            number = GAP_DIRECTIONS.index(int(m)) if m and int(m) in GAP_DIRECTIONS else 0
            return Meaning(method or parts["method"], number)
    raise ConfigurationError(f"No method is known by the name {name!r}. Give it to a method in compendium/looks.py.")


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


@cache
def _methods() -> dict[str, Look]:
    found: dict[str, Look] = {}
    places = dict.fromkeys(FAMILIES, 0)
    for name, (family, marker) in known().items():
        place = places[family]
        places[family] += 1
        colour, size = FAMILIES[family][place], size_at(place, marker)
        found[name] = Look(colour, marker, DASHES[place], name, FILLS[0], size, family, name)
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
    for name, own in left_over(strange, {own.marker for own in found.values()}).items():
        found[name] = Look(own.colour, own.marker, own.linestyle, name, FILLS[0], own.size, "", "")
    return {name: found[name] for name in names}


def ordered(names: Iterable[str]) -> list[str]:
    """Names of methods in the order of legends: that of the table of methods, variants after their method, others last.

    >>> ordered(["c-FPCA", "JevdPCA (orthogonal)", "JevdPCA", "PCA"])
    ['PCA', 'JevdPCA', 'JevdPCA (orthogonal)', 'c-FPCA']
    """
    places = {name: place for place, name in enumerate(known())}
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


def handles(chosen: Iterable[Look], *, lines: bool = False) -> "list[Line2D]":
    """Entries of a legend: the marker of each look, with its line if ``lines``."""
    from matplotlib.lines import Line2D

    return [Line2D([], [], **(own.line() if lines else own.mark() | {"linestyle": ""})) for own in chosen]
