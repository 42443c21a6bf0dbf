"""What a report is made of: paragraphs, lists, tables, figures; numbers with no more digits than they are worth."""

import base64
import functools
import io
import math
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import NamedTuple

#: Digits after the point are never more than these, however narrow an interval is.
MOST_DECIMALS = 6


class Text(NamedTuple):
    """A paragraph."""

    text: str
    quiet: bool = False
    kind: str = "text"


class Items(NamedTuple):
    """A list."""

    entries: Sequence[str]
    kind: str = "list"


class Head(NamedTuple):
    """A heading inside a section."""

    text: str
    id: str
    kind: str = "head"


class Code(NamedTuple):
    """Lines of code."""

    text: str
    kind: str = "code"


class Pairs(NamedTuple):
    """Names and values."""

    pairs: Sequence[tuple[str, str]]
    kind: str = "pairs"


class Column(NamedTuple):
    """The head of a table's column."""

    name: str
    number: bool = False


class Cell(NamedTuple):
    """One cell: its text, the interval below it, and whether it is a number or words."""

    text: str
    interval: str = ""
    kind: str = "words"


class Row(NamedTuple):
    """One row; the chosen one is marked."""

    cells: Sequence[Cell]
    chosen: bool = False


class Table(NamedTuple):
    """A table with a caption; the first cell of a row names the row."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    kind: str = "table"


class Picture(NamedTuple):
    """A figure with its caption and the words for those who do not see it."""

    title: str
    address: str
    alt: str
    caption: str
    width: int
    height: int
    kind: str = "figure"


class Section(NamedTuple):
    """A part of the report under a heading of its own."""

    id: str
    title: str
    blocks: list
    answer: bool = False


def page(name: str, lead: str, sections: Sequence[Section], version: str) -> str:
    """The whole report as HTML; everything in it is escaped."""
    import jinja2

    room = resources.files(__package__)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(room.joinpath("report.html").read_text(encoding="utf-8"))
    style = room.joinpath("report.css").read_text(encoding="utf-8")
    # The style is a file of this package and holds nothing of the user's; escaping would break its selectors.
    from markupsafe import Markup

    return template.render(name=name, lead=lead, sections=sections, version=version, style=Markup(style)) + "\n"


def picture(drawing: bytes, inches: Iterable[float], *, title: str, alt: str, caption: str) -> Picture:
    """A drawn figure (SVG) inside the page, as an image with an address of its own content."""
    width, height = (round(96 * length) for length in inches)
    data = base64.b64encode(drawing).decode("ascii")
    return Picture(title, f"data:image/svg+xml;base64,{data}", alt, caption, width, height)


def svg(fig) -> bytes:
    """The bytes of a figure as SVG, the same on every run.

    Letters are drawn as shapes, so that the figure looks the same everywhere; where a name has letters that the font
    does not have, all text stays text and the reader's fonts draw it.
    """
    import warnings

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    kind = "path" if _drawable(fig) else "none"
    own, face = fig.canvas, fig.get_facecolor()
    with mpl.rc_context({"svg.fonttype": kind, "svg.hashsalt": "evenspan"}), warnings.catch_warnings():
        if kind == "none":
            warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        fig.set_facecolor("white")
        try:
            # The same bytes as of savefig, which draws a figure twice to lay it out once.
            FigureCanvasSVG(fig).print_svg(buffer, metadata={"Date": None})
        finally:
            fig.set_canvas(own)
            fig.set_facecolor(face)
    return buffer.getvalue()


def _drawable(fig) -> bool:
    from matplotlib.text import Text as Drawn

    known = _letters()
    return all(ord(c) in known for text in fig.findobj(Drawn) for c in text.get_text() if c != "\n")


@functools.cache
def _letters() -> frozenset[int]:
    """The letters that the font has."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(font_manager.findfont("DejaVu Sans")).get_charmap())


# -- numbers ------------------------------------------------------------------------------------------------------


def number(value: float, low: float = math.nan, high: float = math.nan, *, percent: bool = False) -> Cell:
    """A number and its interval, both with two digits of what the interval leaves open."""
    if value is None or math.isnan(value):
        return Cell("–", kind="number")
    factor, sign = (100.0, "%") if percent else (1.0, "")
    value, low, high = factor * value, factor * low, factor * high
    if math.isnan(low) or math.isnan(high):
        return Cell(plain(value) + sign, kind="number")
    digits = decimals(max(high - low, abs(value) / 20))
    return Cell(f"{value:.{digits}f}{sign}", f"{low:.{digits}f} to {high:.{digits}f}", "number")


def decimals(width: float) -> int:
    """Digits after the point so that ``width`` has two significant digits."""
    if not width > 0 or math.isinf(width):
        return 3
    return min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(width))))


def plain(value: float) -> str:
    """A number to three significant digits, without an exponent where that can be read."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "–" if math.isnan(value) else str(value)
    size = abs(value)
    if size < 1e-4 or size >= 1e7:
        return f"{value:.1e}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(size)))}f}"


def whole(value: float) -> Cell:
    """A count, with commas."""
    return Cell("–" if value is None or math.isnan(value) else f"{int(value):,}", kind="number")


def words(text: object, *, wide: bool = False) -> Cell:
    """A cell of words."""
    missing = text is None or (isinstance(text, float) and math.isnan(text)) or text == ""
    return Cell("–" if missing else str(text), kind="words wide" if wide else "words")


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    names = [str(name) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
