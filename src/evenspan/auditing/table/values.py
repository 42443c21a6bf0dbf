"""Cells of a table as numbers, texts, days or truth values, whatever type the column came in."""

import re
from datetime import date
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from ...core.errors import DataError

#: Texts of a CSV, TSV or Excel file that stand for a missing value; the question mark is the custom of many archives.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")
#: Dates written as 2024-02-29, with or without a time of day.
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
_DAY = pd.Timedelta(days=1)


def text_of(value) -> str:
    """A cell as text; whole numbers without a decimal point, so that 1, 1.0 and "1" give one text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Real | Decimal):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return str(value)


def coded(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Position of every cell among the distinct values (-1 if missing), and these values in order of appearance."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        used, codes = np.unique(series.cat.codes.to_numpy(), return_inverse=True)
        held = used[used >= 0]
        return codes - int(len(used) > len(held)), np.asarray(series.cat.categories[held], dtype=object)
    try:
        codes, distinct = pd.factorize(series)
    except TypeError:  # lists and other values without a hash
        codes, distinct = pd.factorize(series.map(str, na_action="ignore"))
    return codes, np.asarray(distinct, dtype=object)


def texts(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Like ``coded``, with the distinct values as texts; values of one text may occur twice among them."""
    codes, distinct = coded(series)
    return codes, np.array([text_of(value) for value in distinct], dtype=object)


def numbers(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every cell as float64, NaN if missing; ``DataError`` naming the first cell that is none."""
    if series.dtype.kind in "biuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    codes, distinct = coded(series)
    known = np.append(pd.to_numeric(pd.Series(distinct, dtype=object), errors="coerce").to_numpy(np.float64), np.nan)
    values = known[codes]
    _require(series, ~np.isnan(values) | (codes < 0), row, "a number")
    return values


def truths(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every cell as 0 or 1, NaN if missing; ``DataError`` naming the first cell that is neither true nor false."""
    if series.dtype.kind == "b" and not series.hasnans:
        return series.to_numpy(dtype=np.float64)
    codes, distinct = coded(series)
    known = np.array([_TRUTH.get(text_of(value).lower(), np.nan) for value in distinct] + [np.nan])
    values = known[codes]
    _require(series, ~np.isnan(values) | (codes < 0), row, "true or false")
    return values


_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}


def days(series: pd.Series, row: int = 0) -> np.ndarray:
    """Every date as days since 1 January 1970 (UTC), NaN if missing; ``DataError`` naming the first that is none."""
    if series.dtype.kind == "M":
        return _days_of(pd.to_datetime(series, utc=True))
    codes, distinct = coded(series)
    values = np.append(_parsed_days(distinct), np.nan)[codes]
    _require(series, ~np.isnan(values) | (codes < 0), row, "a date such as 2024-02-29")
    return values


def are_dates(distinct: np.ndarray) -> np.ndarray:
    """For each value, whether it is a date, or a text such as 2024-02-29 that stands for a day that exists."""
    if len(distinct) and isinstance(distinct[0], str) and not _ISO_DATE.fullmatch(distinct[0]):
        return np.zeros(len(distinct), dtype=bool)  # saves the parsing of most columns of text
    return ~np.isnan(_parsed_days(distinct))


def _parsed_days(distinct: np.ndarray) -> np.ndarray:
    written = [
        value if isinstance(value, str) and _ISO_DATE.fullmatch(value)
        else value.isoformat() if isinstance(value, date) and not pd.isna(value)
        else None
        for value in distinct
    ]  # fmt: skip
    stamps = pd.to_datetime(pd.Series(written, dtype=object), format="ISO8601", utc=True, errors="coerce")
    return _days_of(stamps)


def _days_of(stamps: pd.Series) -> np.ndarray:
    return ((stamps - pd.Timestamp(0, tz="UTC")) / _DAY).to_numpy(dtype=np.float64)


def looks_numeric(distinct: np.ndarray) -> np.ndarray:
    """For each text, whether it can be read as a number."""
    return pd.to_numeric(pd.Series(distinct, dtype=object), errors="coerce").notna().to_numpy()


def _require(series: pd.Series, fine: np.ndarray, row: int, needed: str) -> None:
    if not fine.all():
        at = int(np.flatnonzero(~fine)[0])
        raise DataError(
            f"column {series.name!r} has {text_of(series.iloc[at])!r} in row {row + at + 1:,}; needed is {needed}, as "
            "in the table that was fitted. Correct the cell or leave it empty."
        )
