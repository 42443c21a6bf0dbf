"""What a report is made of: tables of numbers with no more digits than they are worth."""

import math
from collections.abc import Sequence
from typing import NamedTuple


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


def number(value: float, low: float = math.nan, high: float = math.nan, *, percent: bool = False) -> Cell:
    """A number with its interval, to two significant digits of what the interval leaves open."""
    factor, sign = (100.0, "%") if percent and not math.isnan(value) else (1.0, "")
    value, low, high = factor * value, factor * low, factor * high
    if not math.isfinite(high - low):
        return Cell(plain(value) + sign)
    width = max(high - low, abs(value) / 20)
    digits = min(6, max(0, 1 - math.floor(math.log10(width)))) if width > 0 else 3
    return Cell(f"{value:.{digits}f}{sign}", f"{low:.{digits}f} to {high:.{digits}f}")


def plain(value: float) -> str:
    """A number to three significant digits, without an exponent where that can be read."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else str(value)
    size = abs(value)
    if size < 1e-9:
        return "0"
    return f"{value:.1e}" if size < 1e-4 or size >= 1e7 else f"{value:,.{max(0, 2 - math.floor(math.log10(size)))}f}"


def words(value: object) -> Cell:
    """A cell of words, yes or no, a count, or a number."""
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, float):
        return Cell(plain(value))
    return Cell(f"{value:,}" if isinstance(value, int) else str(value or "–"))
