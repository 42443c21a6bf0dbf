"""What the columns of a table hold: numbers if there is one reading of them, dates, truth values, categories, text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, partial

import numpy as np
import pandas as pd

from ..core.errors import DataError
from ..core.inputs import first_few
from ..core.options import Option

#: A category of more values than these is text, and left out.
MAX_CATEGORIES = 50
#: From this share of values that occur once a column of text names its rows.
ID_SHARE = 0.9
#: Fewer values than these say nothing about whether a column numbers the rows.
ID_LEAST = 20
#: From this share of cells that are numbers, or look like them, a column of text is worth a warning.
NUMERIC_SHARE = 0.5
#: Whole numbers beyond this are not exact in float64.
EXACT = 2.0**53
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|nr|no|num|number|key|index|uuid|rownames?)$", re.IGNORECASE)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T].*)?")
#: What a whole number, and a day, has behind it in some programs.
_WHOLE = re.compile(r"\.0+$| 00:00:00$")
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


# -- cells of any type -------------------------------------------------------------------------------------------------


def text_of(value) -> str:
    """A cell as text, without blanks around it; whole numbers without a point, so that 1, 1.0 and "1" are one text."""
    if isinstance(value, float | np.floating) and float(value).is_integer() and abs(value) < EXACT:
        return str(int(value))
    return str(value).strip()


def coded(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Position of every cell among the distinct values (-1 if missing), and these values as texts."""
    if series.dtype == object:  # mixed cells: 1 and True are one value to pandas, lists are none
        series = series.map(text_of, na_action="ignore")
    codes, distinct = pd.factorize(series)
    again, words = pd.factorize(np.array([text_of(value) for value in distinct], dtype=object))
    return np.append(again, -1)[codes], words


#: What stands for no answer: codes of all columns, or of each column that is named.
MISSING_CODES = Option(
    lambda given: {*map(type, given.values() if isinstance(given, Mapping) else [given])} <= {list, tuple},
    "a list of codes, such as [-999, 99], or a dict of such lists by column",
)


def cleared(frame: pd.DataFrame, missing_codes) -> tuple[pd.DataFrame, dict[str, dict[str, int]]]:
    """The frame, where empty texts and codes for no answer are missing cells; and the number of these by column."""
    found = {}
    for name, cells in frame.items():
        asked = missing_codes.get(name, ()) if isinstance(missing_codes, Mapping) else missing_codes
        if cells.dtype.kind in ("bcmV" if asked else "biufcmMV"):
            continue
        wanted = {"", *(_WHOLE.sub("", text_of(code)) for code in asked)}
        if cells.dtype.kind in "iuf":
            codes, words = pd.factorize(cells)
            gone = np.isin(np.asarray(words, dtype=float), pd.to_numeric(pd.Series(list(wanted)), errors="coerce"))
        else:
            codes, words = coded(cells)
            gone = np.array([_WHOLE.sub("", word) in wanted for word in words], dtype=bool)
        if gone.any():
            frame = frame if found else frame.copy(deep=False)
            frame[name] = cells.mask(np.append(gone, False)[codes])
            times = np.bincount(codes[codes >= 0])
            found[name] = {text_of(words[j]): int(times[j]) for j in np.flatnonzero(gone)}
    return frame, found


def numbers(used: str, series: pd.Series, row: int = 0) -> np.ndarray:
    """Every cell as float64 by what the column is used as, NaN if missing; ``DataError`` names the first that is none.

    A "number" is itself, of "0/1" true is 1, of "days" a date is the days since 1 January 1970 (UTC).
    """
    if used == "days" and series.dtype.kind == "M":
        return _since_1970(pd.to_datetime(series, utc=True))
    if series.dtype.kind in "biuf" and (used == "number" or (used == "0/1" and series.dropna().isin([0, 1]).all())):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    of_words, needed = NUMERIC[used]
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


#: How texts become numbers, by what their column is used as, and what else is needed.
NUMERIC: dict[str, tuple[Callable, str]] = {
    "number": (lambda words: pd.to_numeric(pd.Series(words), errors="coerce"), "a number"),
    "0/1": (lambda words: [_TRUTH.get(word.lower(), np.nan) for word in words], "true or false"),
    "days": (_days_of, "a date such as 2024-02-29"),
}


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


def read_numbers(frame: pd.DataFrame, name: str, decimal: str | None, thousands: str | None, notes: list[str]) -> None:
    """Turn the columns of text that can be read as numbers in one way into these, in place; ask where there are two."""
    for column in frame.select_dtypes(["object", "string", "category"]):
        codes, words = coded(frame[column])
        found = readings(words, decimal, thousands) if len(words) and not kept_as_text(words) else []
        if len(found) > 1 and (".", "") in found and frame.attrs.get("point"):
            found = [(".", "")]  # other columns have the point for decimals
        if len(found) > 1:
            word = next(word for word in words if "," in word or "." in word)
            mark, (low, high) = "," if "," in word else ".", sorted(number_of(word, *c) for c in found)
            raise DataError(
                f"{name}: is {word!r} in column {column!r} {low:.15g} or {high:.15g}? Every {mark!r} of the column "
                f"is followed by three digits: say --decimal '{mark}' or --thousands '{mark}' (decimal= or thousands= "
                "in Python)."
            )
        if found:
            values = [number_of(word, *found[0]) for word in words]
            frame[column] = np.append(values, np.nan)[codes]
            at = next((i for i, word in enumerate(words) if not word.isdigit()), 0)
            if found[0] != (".", ""):
                notes.append(f"{column}: numbers such as {words[at]!r} were read as {values[at]:.15g}")


# -- what a column is used as ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnUse:
    """What a column is, what it is used as, and why."""

    name: str
    kind: str  # numeric, boolean, category, date, text, constant or id-like
    used: str  # number, 0/1, categories, order, days or left out; target (number) or target (category)
    note: str = ""  # the reason, or what was done
    categories: tuple[str, ...] = ()  # the values of a category, sorted, or in the order they have
    missing: int = 0
    infinite: int = 0
    distinct: int = 0
    examples: tuple[str, ...] = ()  # the first values
    warning: str = ""  # why it may have been meant otherwise


def use_of(series: pd.Series, *, keep: bool = False, index: bool = False, feature: bool = True) -> ColumnUse:
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
        found = _of_words(series, kind, use, feature)
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
    values = numbers("number", series)
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
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all() or np.ptp(values, axis=0) < 2 * len(values):
        return "in order or nearly without gaps: it numbers the rows"
    named = values.min(axis=0) >= 1e15 or _ID_NAME.search(name)
    return "and its name or length says so: it names the rows" if named else ""


def _of_words(series: pd.Series, kind: str, use: Callable, feature: bool) -> ColumnUse:
    codes, words = coded(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    use = partial(use, distinct=len(words), examples=tuple(word[:40] for word in words[:3]))
    if len(words) < 2:
        return use("constant", "left out", f"one value only, {words[0]!r}")
    if getattr(series.dtype, "ordered", False):
        order = tuple(dict.fromkeys(map(text_of, series.cat.categories)))
        return use("category", "order", f"one number, in their order: {first_few(order)}", order)
    if kind == "truth" or (len(words) <= 6 and {word.lower() for word in words} <= {"true", "false"}):
        return use("boolean", "0/1")
    if kind == "date" or not np.isnan(_days_of(words)).any():
        return use("date", "days", "days since 1 January 1970")
    warning = _looks_like(str(series.name), codes, words, counts, feature and len(words) > MAX_CATEGORIES)
    use, told = partial(use, warning=warning), f"{warning}; " if warning else ""
    n = int(counts.sum(axis=0))
    if n >= ID_LEAST and np.mean(counts == 1, axis=0) >= ID_SHARE:
        return use("id-like", "left out", f"{told}{len(words):,} different texts in {n:,} rows: it names the rows")
    if len(words) > MAX_CATEGORIES:
        return use("text", "left out", f"{told}{len(words):,} different texts, more than {MAX_CATEGORIES}")
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
        unless = f"that are texts ({words[0]!r}) unless --decimal or --thousands says how to read them"
        return f"numbers {kept_as_text(words) or unless}: kept as text"
    at = int(np.argmax(np.append(~plain, False)[codes]))
    row = f"row {at + 1:,} has {words[codes[at]]!r}"
    if numeric >= NUMERIC_SHARE * n and many:
        raise DataError(
            f"column {name!r}: {numeric:,} of {n:,} values are numbers, but {row}. Correct such cells (leave them "
            f"empty if they are missing), or leave the column out: exclude=[{name!r}] (--exclude)."
        )
    if not plain.any() and all(word[:1] in "<>\u2264\u2265" for word in words):
        return ""  # classes, such as <=50K and >50K
    some, weights = words[:1000], counts[:1000] / counts[:1000].sum(axis=0)
    dates = np.array([bool(_LIKE_DATE.fullmatch(word)) for word in some])
    like = plain[:1000] | [bool(_LIKE_NUMBER.fullmatch(word)) for word in some] & ~dates
    if weights[dates].sum(axis=0) >= NUMERIC_SHARE:
        return f"looks like dates written as {some[dates][0]!r}, read as text: only dates such as 2024-02-29 are read"
    return f"looks like numbers, but {row}: read as text" if weights[like].sum(axis=0) >= NUMERIC_SHARE else ""


def no_such_column(name: str, columns: Sequence[str], where: str, what: str = "column") -> str:
    """A message that there is no such column, with the one that may have been meant."""
    lower = {str(column).lower().strip(): str(column) for column in columns}
    near = get_close_matches(str(name).lower().strip(), list(lower), n=1)
    hint = f"Did you mean {lower[near[0]]!r}? " if near else ""
    shown = ", ".join(map(str, columns[:20])) + (", ..." if len(columns) > 20 else "")
    return f"{where} has no {what} {name!r}. {hint}The {what}s are {shown}."


def listed(counts: Mapping[str, int]) -> str:
    """Columns with their numbers of cells, for a message."""
    shown = first_few(f"{name!r} ({count:,})" for name, count in counts.items())
    return f"{len(counts)} column{'s' if len(counts) > 1 else ''}: {shown}"


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


def weights_of(series: pd.Series) -> np.ndarray:
    """The weights (n,) of all rows, in their own unit; ``DataError`` names the first rows that have none.

    Texts are weights if they are numbers. Needed are finite ones from 0 to 1e30, of which one is positive.
    """
    if series.dtype.kind in "iuf":
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        codes, words = coded(series)
        values = np.append(pd.to_numeric(pd.Series(words), errors="coerce"), np.nan).astype(float)[codes]
    bad = np.flatnonzero(~((values >= 0) & (values <= 1e30)))  # NaN is neither
    if not len(bad) and values.any():
        return values
    what = f"{len(bad):,} of {len(values):,} rows have none that counts" if len(bad) else "all rows have weight zero"
    cells = [(i + 1, series.iloc[i]) for i in (bad if len(bad) else range(len(values)))[:6]]
    seen = first_few(f"row {i:,} has {'nothing' if pd.isna(cell) else repr(text_of(cell))}" for i, cell in cells)
    raise DataError(
        f"weights {series.name!r}: {what} ({seen}). Needed are numbers from 0 to 1e30, not all of them 0: correct "
        "these cells, or leave their rows out."
    )


def target_values(target: ColumnUse, series: pd.Series) -> np.ndarray:
    """The target of some rows: float64, or texts; missing ones are NaN, or empty."""
    if target.used == "target (number)":
        return numbers("days" if target.kind == "date" else "number", series)
    codes, words = coded(series)
    return np.append(words, "")[codes].astype(str)
