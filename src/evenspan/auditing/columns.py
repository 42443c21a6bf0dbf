"""What the columns of a table hold: numbers if there is one reading of them, dates, truth values, categories, text."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pandas as pd

from ..core.errors import DataError
from .limits import TABLE

#: A category of more values than these is text, and left out.
MAX_CATEGORIES = TABLE["categories"][0]
#: From this share of values that occur once a column of text names its rows.
ID_SHARE = 0.9
#: Fewer values than these say nothing about whether a column numbers the rows.
ID_LEAST = 20
#: From this share of cells that are numbers, or look like them, a column of text is worth a warning.
NUMERIC_SHARE = 0.5
#: Whole numbers beyond this are not exact in float64.
EXACT = 2.0**53
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|nr|no|num|number|key|index|uuid|rownames?)$", re.IGNORECASE)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


# -- cells of any type -------------------------------------------------------------------------------------------------


def text_of(value) -> str:
    """A cell as text; whole numbers without a decimal point, so that 1, 1.0 and "1" give one text."""
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(value) < EXACT:
        return str(int(value))
    return str(value)


def coded(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Position of every cell among the distinct values (-1 if missing), and these values as texts."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, distinct = pd.factorize(series.cat.codes.to_numpy(), use_na_sentinel=False)
        there = distinct >= 0
        codes = np.where(there, np.cumsum(there) - 1, -1)[codes]
        distinct = series.cat.categories[distinct[there]]
    else:
        if series.dtype == object:  # mixed cells: 1 and True are one value to pandas, lists are none
            series = series.map(text_of, na_action="ignore")
        codes, distinct = pd.factorize(series)
    return codes, np.array([text_of(value) for value in distinct], dtype=object)


def numbers(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every cell as float64, NaN if missing; ``DataError`` naming the first cell that is none."""
    if series.dtype.kind in "biuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _read(series, row, lambda words: pd.to_numeric(pd.Series(words), errors="coerce"), "a number")


def truths(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every cell as 0 or 1, NaN if missing; ``DataError`` naming the first cell that is neither true nor false."""
    if series.dtype.kind in "biuf" and series.isin([0, 1]).sum() == series.notna().sum():
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _read(series, row, lambda words: [_TRUTH.get(word.lower(), np.nan) for word in words], "true or false")


def days(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every date as days since 1 January 1970 (UTC), NaN if missing; ``DataError`` naming the first that is none."""
    if series.dtype.kind == "M":
        return _since_1970(pd.to_datetime(series, utc=True))
    return _read(series, row, _days_of, "a date such as 2024-02-29")


#: How the cells of a column become numbers, by what it is used as.
CONVERTERS: dict[str, Callable] = {"number": numbers, "0/1": truths, "days": days}


def _read(series: pd.Series, row: int, of_words: Callable, needed: str) -> np.ndarray:
    codes, words = coded(series)
    values = np.append(of_words(words), np.nan).astype(float)[codes]
    if (strange := np.isnan(values) & (codes >= 0)).any():
        at = int(np.argmax(strange))
        raise DataError(
            f"column {series.name!r} has {words[codes[at]]!r} in row {row + at + 1:,}; needed is {needed}, as in the "
            "table that was fitted. Correct the cell or leave it empty."
        )
    return values


def _days_of(words: np.ndarray) -> np.ndarray:
    """For each text its days since 1970, NaN unless it is written as 2024-02-29 for a day that exists."""
    if len(words) and not _ISO_DATE.fullmatch(words[0]):
        return np.full(len(words), np.nan)  # saves the parsing of most columns of text
    written = pd.Series([word if _ISO_DATE.fullmatch(word) else None for word in words], dtype=object)
    return _since_1970(pd.to_datetime(written, format="ISO8601", utc=True, errors="coerce"))


def _since_1970(stamps: pd.Series) -> np.ndarray:
    return ((stamps - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(dtype=np.float64)


# -- numbers in texts --------------------------------------------------------------------------------------------------

#: What may stand between thousands, by the option that names it, and decimal mark and thousands of every convention.
MARKS = {"": "", ",": ",", ".": ".", " ": " \u00a0\u202f", "'": "'\u2019"}
CONVENTIONS = [(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'")]
_EXPONENT, _SIGN = "(?:[eE][+-]?[0-9]+)?", "[+\u2212-]?"
_CODE = re.compile(rf"{_SIGN}(0[0-9]+.*|[0-9]{{16,}})")
#: $12.30, 12 %, (1,200), <5, 70 kg, EUR 5: numbers to a reader, not to a program.
_LIKE_NUMBER = re.compile(
    r"[^\w\s]{0,3}\s?(?:[A-Z]{3}\s?)?[+\u2212-]?[0-9.,]*[0-9][0-9.,'\u2019\s]*(?:[^\w\s]{1,3}|(?!st|nd|rd|th)[^\W\d]{1,5})?"
)
_LIKE_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}(\D.*)?")


@cache
def _pattern(decimal: str, thousands: str) -> re.Pattern:
    grouped = f"|[1-9][0-9]{{0,2}}(?:[{re.escape(MARKS[thousands])}][0-9]{{3}})+" if thousands else ""
    point = re.escape(decimal)
    number = rf"(?:(?:[0-9]+{grouped})(?:{point}[0-9]*)?|{point}[0-9]+){_EXPONENT}"
    return re.compile(rf"{_SIGN}(?:{number}|(?i:inf|infinity))")


def number_of(text: str, decimal: str, thousands: str) -> float:
    """The number that a text is by a convention."""
    for mark in MARKS[thousands]:
        text = text.replace(mark, "")
    return float(text.replace(decimal, ".").replace("\u2212", "-"))


def readings(words: Iterable[str], decimal: str | None = None, thousands: str | None = None) -> list[tuple[str, str]]:
    """The conventions by which every text is a number, one for each different result; those that were asked for alone.

    Where every comma is followed by exactly three digits there are two: ``12,345`` is twelve thousand, or twelve.
    """
    asked = [c for c in CONVENTIONS if decimal in (None, c[0]) and (thousands is None or c[1] in ("", thousands))]
    found = [c for c in asked if thousands != c[0] and all(map(_pattern(*c).fullmatch, words))]
    if len(found) < 2:
        return found
    marked = next((word for word in words if "," in word or "." in word), "0")
    return list({number_of(marked, *c): c for c in reversed(found)}.values())


def kept_as_text(words: Iterable[str]) -> str:
    """Why texts that are numbers stay texts; empty if they need not."""
    word = next(filter(_CODE.fullmatch, words), "")
    return f"with leading zeros, or more digits than a number holds, such as {word!r}" if word else ""


# -- what a column is used as ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnUse:
    """What a column is, what it is used as, and why."""

    name: str
    kind: str  # numeric, boolean, category, date, text, constant or id-like
    used: str  # number, 0/1, categories, days or left out; target (number) or target (category)
    note: str = ""  # the reason, or what was done
    categories: tuple[str, ...] = ()  # the values of a category, sorted
    missing: int = 0
    infinite: int = 0
    distinct: int = 0
    examples: tuple[str, ...] = ()  # the first values
    warning: str = ""  # why it may have been meant otherwise


def use_of(
    series: pd.Series, max_categories: int = MAX_CATEGORIES, *, keep: bool = False, index: bool = False,
    feature: bool = True,
) -> ColumnUse:  # fmt: skip
    """What a column is used as; ``index`` says that it may be the row index which was written into the table.

    ``DataError`` if a ``feature`` cannot be kept as asked, or would lose mostly numbers because of its other cells.
    """
    kind = _kind_of(series)
    missing = int(series.isna().sum())
    use = partial(ColumnUse, str(series.name), missing=missing)
    if missing == len(series):
        found = use("constant", "left out", "no values")
    elif kind == "other":
        found = use("text", "left out", "cells are neither numbers, texts, dates nor truth values")
    elif kind == "number":
        found = _of_numbers(series, use, keep, index)
    else:
        found = _of_words(series, kind, use, max_categories, feature)
    if keep and feature and found.used == "left out":
        raise DataError(f"column {found.name!r} cannot be kept: {found.note}. Take it out of keep.")
    return found


_KINDS = {
    "number": "integer floating mixed-integer-float decimal u i f", "truth": "boolean b",
    "date": "date datetime datetime64 M", "other": "complex timedelta timedelta64 bytes c m V",
}  # fmt: skip


def _kind_of(series: pd.Series) -> str:
    """The type of the cells: number, truth, date, text or other."""
    if isinstance(series.dtype, pd.CategoricalDtype | pd.StringDtype):
        return "text"
    found = series.dtype.kind if series.dtype != object else pd.api.types.infer_dtype(series, skipna=True)
    if found == "mixed" and series.dropna().map(pd.api.types.is_list_like).any():
        return "other"
    return next((kind for kind, names in _KINDS.items() if found in names.split()), "text")


def _of_numbers(series: pd.Series, use: Callable, keep: bool, index: bool) -> ColumnUse:
    values = numbers(series)
    finite = values[np.isfinite(values)]
    distinct = pd.unique(finite)
    examples = tuple(f"{value:.12g}" for value in distinct[:3])
    use = partial(use, distinct=len(distinct), infinite=int(np.isinf(values).sum(axis=0)), examples=examples)
    if series.dtype.kind in "iu" and np.abs(finite).max(axis=0) >= EXACT:
        note = "whole numbers of more digits than a feature holds: they name something"
        return use("id-like", "left out", note, warning=note)
    if len(distinct) < 2:
        return use("constant", "left out", f"one value only, {text_of(distinct[0])!r}" if examples else "no values")
    if len(distinct) == 2 and set(distinct.tolist()) == {0.0, 1.0}:
        return use("boolean", "0/1")
    reason = _numbers_rows(str(series.name), finite, len(distinct), index)
    if reason and not keep:
        return use("id-like", "left out", f"whole numbers, no two alike, {reason}")
    return use("numeric", "number", "kept on request" if reason else "")


def _numbers_rows(name: str, values: np.ndarray, distinct: int, index: bool) -> str:
    """Why a column of numbers is taken for the number of the row or of a customer; empty if it is not."""
    if distinct < len(values) or (values != np.floor(values)).any():
        return ""
    if index:
        return "without a name: the row index, which was written into the table"
    if len(values) < ID_LEAST:
        return ""
    steps, low, high = np.diff(values), values.min(axis=0), values.max(axis=0)
    if (steps > 0).all() or (steps < 0).all():
        return f"{'rising' if steps[0] > 0 else 'falling'} from row to row: it numbers the rows"
    if high - low < 2 * len(values):
        return f"and nearly all from {low:.0f} to {high:.0f} occur: it numbers the rows"
    return "and its name or length says so: it names the rows" if low >= 1e15 or _ID_NAME.search(name) else ""


def _of_words(series: pd.Series, kind: str, use: Callable, max_categories: int, feature: bool) -> ColumnUse:
    codes, words = coded(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    use = partial(use, distinct=len(words), examples=tuple(word[:40] for word in words[:3]))
    if len(words) < 2:
        return use("constant", "left out", f"one value only, {words[0]!r}")
    if kind == "truth" or (len(words) <= 6 and {word.lower() for word in words} <= {"true", "false"}):
        return use("boolean", "0/1")
    if kind == "date" or not np.isnan(_days_of(words)).any():
        return use("date", "days", "days since 1 January 1970")
    warning = _looks_like(str(series.name), codes, words, counts, feature and len(words) > max_categories)
    use, told = partial(use, warning=warning), f"{warning}; " if warning else ""
    n = int(counts.sum(axis=0))
    if n >= ID_LEAST and np.mean(counts == 1, axis=0) >= ID_SHARE:
        return use("id-like", "left out", f"{told}{len(words):,} different texts in {n:,} rows: it names the rows")
    if len(words) > max_categories:
        return use("text", "left out", f"{told}{len(words):,} different texts, more than {max_categories}")
    if feature:
        require_plain(f"column {series.name!r} has the value", words)
    categories = tuple(sorted(words))
    if len(words) == 2:
        told = f"{told}one column: 1 for {categories[1]!r}, 0 for {categories[0]!r}"
    return use("category", "categories", told.removesuffix("; "), categories)


def _looks_like(name: str, codes: np.ndarray, words: np.ndarray, counts: np.ndarray, many: bool) -> str:
    """Why a column of text may be meant as numbers or dates; ``DataError`` if ``many`` of them would be lost."""
    best = max(CONVENTIONS, key=lambda c: sum(map(bool, map(_pattern(*c).fullmatch, words[:1000]))))
    plain = np.array([bool(_pattern(*best).fullmatch(word)) for word in words])
    numeric, n = int(counts[plain].sum(axis=0)), int(counts.sum(axis=0))
    if plain.all():
        return f"numbers {kept_as_text(words) or f'that are texts ({words[0]!r}) in the table'}: kept as text"
    at = int(np.argmax(np.append(~plain, False)[codes]))
    row = f"row {at + 1:,} has {words[codes[at]]!r}"
    if numeric >= NUMERIC_SHARE * n and many:
        raise DataError(
            f"column {name!r}: {numeric:,} of {n:,} values are numbers, but {row}. Correct such cells (leave them "
            f"empty if they are missing), or leave the column out: exclude=[{name!r}] (--exclude)."
        )
    some, weights = words[:1000], counts[:1000] / counts[:1000].sum(axis=0)
    dates = np.array([bool(_LIKE_DATE.fullmatch(word)) for word in some])
    like = plain[:1000] | [bool(_LIKE_NUMBER.fullmatch(word)) for word in some] & ~dates
    if weights[dates].sum(axis=0) >= NUMERIC_SHARE:
        return f"looks like dates written as {some[dates][0]!r}, read as text: only dates such as 2024-02-29 are read"
    return f"looks like numbers, but {row}: read as text" if weights[like].sum(axis=0) >= NUMERIC_SHARE else ""


def require_plain(what: str, names: Iterable[str]) -> None:
    """``DataError`` unless texts can name columns, groups and features: short, in UTF-8, without NUL."""
    longest = TABLE["characters of a name"][0]
    for name in names:
        if len(name) > longest or "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            needed = f"needed are at most {longest:,} characters of UTF-8"
            raise DataError(f"{what} {name[:60]!a}, which cannot name anything: {needed}. Change or exclude it.")


def listed(counts: Mapping[str, int]) -> str:
    """Columns with their numbers of cells, for a message."""
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in list(counts.items())[:8])
    return f"{len(counts)} column{'s' if len(counts) > 1 else ''}: {shown}{', ...' if len(counts) > 8 else ''}"


# -- the target --------------------------------------------------------------------------------------------------------


def target_of(use: ColumnUse, series: pd.Series) -> ColumnUse:
    """The column to be predicted, as a number or as a category; ``DataError`` if it can be neither."""
    if use.kind == "id-like" and _kind_of(series) == "number":
        return replace(use, kind="numeric", used="target (number)", note="")
    if use.used == "left out":
        raise DataError(f"target {use.name!r} cannot be predicted: {use.note}. Needed are numbers or few categories.")
    if use.infinite:
        raise DataError(f"target {use.name!r} has {use.infinite:,} infinite value(s); needed are finite numbers.")
    if use.kind in ("category", "boolean") or use.distinct == 2:
        return replace(use, used="target (category)", note="")
    return replace(use, used="target (number)")


def target_values(target: ColumnUse, series: pd.Series) -> np.ndarray:
    """The target of some rows: float64, or texts; missing ones are NaN, or empty."""
    if target.used == "target (number)":
        return days(series) if target.kind == "date" else numbers(series)
    codes, words = coded(series)
    return np.append(words, "")[codes].astype(str)
