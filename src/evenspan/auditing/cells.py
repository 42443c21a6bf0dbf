"""Cells of any type as texts, numbers, dates and truth values, and which of them are read as what."""

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from ..core.errors import DataError
from .table import shown, unusable

#: Dates written as 2024-02-29, with or without a time of day.
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_DAY, _EPOCH = pd.Timedelta(days=1), pd.Timestamp("1970-01-01", tz="UTC")
#: Digits of a second that pandas cannot hold together with the year 9999.
_BEYOND_MICROSECONDS = re.compile(r"(\.\d{6})\d+")
_CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|JPY)"
#: Numbers as people write them: 23,231.44 or 1.234,50 or 1 234, $12.30, 12.3 %, (1,200). None of them is read.
WRITTEN = re.compile(
    rf"\(?[-+]?\s?{_CURRENCY}?\s?[-+]?"
    rf"\d{{1,3}}(?:[ ,.'\u2019\u00a0\u202f]?\d{{3}})*(?:[.,]\d+)?\s?(?:%|{_CURRENCY})?\)?"
)
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


def text_of(value) -> str:
    """A cell as text; whole numbers without a decimal point, so that 1, 1.0 and "1" give one text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Real | Decimal):
        number = _float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return str(value)


def _float(value) -> float:
    """A number of Python as float64; infinite where it has more digits than that holds."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except ValueError:  # a signalling NaN
        return np.nan


def require_plain(column: str, found: Iterable[str]) -> None:
    """``DataError`` unless these texts can name groups and features: short, in UTF-8, without NUL."""
    for text in found:
        if trouble := unusable(text):
            raise DataError(
                f"column {column!r} has the value {shown(text)}, which {trouble}; it would name a group or a feature. "
                f"Write it otherwise, or leave the column out: exclude=[{column!r}]."
            )


def coded(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Position of every cell among the distinct values (-1 if missing), and these values in order of appearance."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        used, codes = np.unique(series.cat.codes.to_numpy(), return_inverse=True)
        held = used[used >= 0]
        return codes - int(len(used) > len(held)), np.asarray(series.cat.categories[held], dtype=object)
    try:
        codes, distinct = _factorized(series)
    except TypeError:  # lists and other values without a hash
        codes, distinct = pd.factorize(series.map(str, na_action="ignore"))
    return codes, np.asarray(distinct, dtype=object)


def _factorized(series: pd.Series) -> tuple:
    """As pandas does it, but for truth values among other cells: True and 1 are the same to pandas."""
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True).startswith("mixed"):
        truth = series.map(lambda value: isinstance(value, bool | np.bool_)).to_numpy(dtype=bool)
        if truth.any():
            series = series.where(~truth, series.map(str))
    return pd.factorize(series)


def texts(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Like ``coded``, with the distinct values as texts; values of one text may occur twice among them."""
    codes, distinct = coded(series)
    return codes, np.array([text_of(value) for value in distinct], dtype=object)


def numbers(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every cell as float64, NaN if missing; ``DataError`` naming the first cell that is none."""
    if series.dtype.kind in "biuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return _read(series, row, numbers_of, "a number")


def truths(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every cell as 0 or 1, NaN if missing; ``DataError`` naming the first cell that is neither true nor false."""
    if series.dtype.kind == "b" and not series.hasnans:
        return series.to_numpy(dtype=np.float64)
    return _read(series, row, lambda found: [_TRUTH.get(text_of(value).lower(), np.nan) for value in found],
                 "true or false")  # fmt: skip


def days(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every date as days since 1 January 1970 (UTC), NaN if missing; ``DataError`` naming the first that is none."""
    if series.dtype.kind == "M":
        return _days_of(pd.to_datetime(series, utc=True))
    return _read(series, row, _parsed_days, "a date such as 2024-02-29")


def _read(series: pd.Series, row: int, of_values, needed: str) -> np.ndarray:
    """Cells by what their distinct values are read as (NaN for none); the first that is none of these is told."""
    codes, distinct = coded(series)
    values = np.append(of_values(distinct), np.nan)[codes]
    if (strange := np.isnan(values) & (codes >= 0)).any():
        at = int(np.flatnonzero(strange)[0])
        raise DataError(
            f"column {series.name!r} has {text_of(series.iloc[at])!r} in row {row + at + 1:,}; needed is {needed}, as "
            "in the table that was fitted. Correct the cell or leave it empty."
        )
    return values


def numbers_of(distinct: np.ndarray) -> np.ndarray:
    """Each value as float64; NaN for what cannot be read as a number."""
    found = [_float(value) if isinstance(value, int | Decimal) else value for value in distinct]
    return pd.to_numeric(pd.Series(found, dtype=object), errors="coerce").to_numpy(np.float64)


def days_of(distinct: np.ndarray) -> np.ndarray:
    """For each value its days since 1970 if it is a date or a text such as 2024-02-29 for a day that exists, or NaN."""
    if len(distinct) and isinstance(distinct[0], str) and not _ISO_DATE.fullmatch(distinct[0]):
        return np.full(len(distinct), np.nan)  # saves the parsing of most columns of text
    return _parsed_days(distinct)


def _parsed_days(distinct: np.ndarray) -> np.ndarray:
    written = [
        value if isinstance(value, str) and _ISO_DATE.fullmatch(value)
        else iso(value) if isinstance(value, date | np.datetime64) and not pd.isna(value)
        else None
        for value in distinct
    ]  # fmt: skip
    written = [text and _BEYOND_MICROSECONDS.sub(r"\1", text) for text in written]
    stamps = pd.to_datetime(pd.Series(written, dtype=object), format="ISO8601", utc=True, errors="coerce")
    return _days_of(stamps)


def iso(value) -> str:
    """A date as text, such as 2024-02-29."""
    return str(value) if isinstance(value, np.datetime64) else value.isoformat()


def _days_of(stamps: pd.Series) -> np.ndarray:
    # The difference is in the unit of the stamps: nanoseconds end in the year 2262.
    return ((stamps - _EPOCH.as_unit(stamps.dt.unit)) / _DAY).to_numpy(dtype=np.float64)


def looks_numeric(distinct: np.ndarray) -> np.ndarray:
    """For each text, whether it can be read as a number."""
    return ~np.isnan(numbers_of(distinct))


def kind_of(series: pd.Series) -> str | None:
    """The type of the cells: number, truth, date, text, other; None if all are missing."""
    kind = series.dtype.kind
    if kind in "biufM":
        if series.isna().all():
            return None
        return {"b": "truth", "M": "date"}.get(kind, "number")
    if kind in "cmV":
        return "other"
    if isinstance(series.dtype, pd.CategoricalDtype | pd.StringDtype):
        return None if series.isna().all() else "text"
    try:
        distinct = _factorized(series)[1]
    except TypeError:  # lists, dicts and other values without a hash
        return "other"
    found = {_kind_of_one(value) for value in distinct}
    if len(found) > 1:
        return "other" if "other" in found else "text"
    return found.pop() if found else None


def _kind_of_one(value) -> str:
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Real | Decimal):
        return "number"
    return "date" if isinstance(value, date | np.datetime64) else "other"
