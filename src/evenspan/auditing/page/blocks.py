"""What a report is made of: tables of numbers with no more digits than they are worth, and the page around them."""

import math
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import NamedTuple

#: Digits after the point are never more than these, however narrow an interval is.
MOST_DECIMALS = 6


class Cell(NamedTuple):
    """One cell of a table, and the interval below it."""

    text: str
    interval: str = ""


class Table(NamedTuple):
    """A table; the first cell of a row names the row, and some rows are marked."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    chosen: Sequence[str] = ()


def page(**content) -> str:
    """The report as HTML; everything is escaped but the style, which holds nothing of the user's."""
    import jinja2
    from markupsafe import Markup

    room = resources.files(__package__)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(room.joinpath("report.html").read_text(encoding="utf-8"))
    style = Markup(room.joinpath("report.css").read_text(encoding="utf-8"))
    return template.render(style=style, **content) + "\n"


def number(value: float, low: float = math.nan, high: float = math.nan, *, percent: bool = False) -> Cell:
    """A number with its interval, to two significant digits of what the interval leaves open."""
    if math.isnan(value):
        return Cell("–")
    factor, sign = (100.0, "%") if percent else (1.0, "")
    value, low, high = factor * value, factor * low, factor * high
    if math.isnan(low) or math.isnan(high):
        return Cell(plain(value) + sign)
    digits = decimals(max(high - low, abs(value) / 20))
    return Cell(f"{value:.{digits}f}{sign}", f"{low:.{digits}f} to {high:.{digits}f}")


def decimals(width: float) -> int:
    """Digits after the point so that ``width`` has two significant digits."""
    if not width > 0 or math.isinf(width):
        return 3
    return min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(width))))


def plain(value: float) -> str:
    """A number to three significant digits, without an exponent where that can be read."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else str(value)
    size = abs(value)
    if size < 1e-9:
        return "0"
    return f"{value:.1e}" if size < 1e-4 or size >= 1e7 else f"{value:,.{max(0, 2 - math.floor(math.log10(size)))}f}"


def words(value: object) -> Cell:
    """A cell of words, or of a count."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return Cell("–")
    if isinstance(value, float):
        return Cell(plain(value))
    return Cell(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value))


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    names = [str(name) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"
