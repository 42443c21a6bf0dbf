"""What the columns of a table hold, and what each of them is used as."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from ...core.errors import DataError
from .sketch import Sketch
from .values import are_dates, coded, looks_numeric, numbers, text_of

#: A category of more values than these is text, and left out.
MAX_CATEGORIES = 50
#: From this share of values that occur once a column of text names its rows.
ID_SHARE = 0.9
#: Fewer values than these say nothing about whether a column numbers the rows.
ID_LEAST = 20
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|nr|no|num|number|key|index|uuid|rownames?)$", re.IGNORECASE)


class ColumnProfile:
    """What is known of one column after the batches so far."""

    def __init__(self, name: str, *, as_text: bool = False):
        self.name, self.as_text = name, as_text
        self.n = self.missing = self.infinite = 0
        self.types: dict[str, int] = {}  # number, truth, date, text or other -> cells
        self.low, self.high, self.last = np.inf, -np.inf, None
        self.whole = self.rising = self.falling = self.dates = self.truths = True
        self.numeric_texts, self.first_word = 0, None
        self.sketch = Sketch()

    @property
    def mixed(self) -> bool:
        """Whether some batches held numbers and others text, so that it must be read again, as text throughout."""
        return len(self.types) > 1

    @property
    def values(self) -> int:
        """Cells that are not missing."""
        return self.n - self.missing

    @property
    def distinct(self) -> int:
        """Different values; above 1,024 an estimate."""
        return self.sketch.distinct(self.values - self.infinite)

    def add(self, series: pd.Series) -> None:
        """Fold in the next rows."""
        row, self.n = self.n, self.n + len(series)
        kind = _kind(series) if not self.as_text else "text"
        if kind is None:
            self.missing += len(series)
        elif kind in ("number", "truth"):
            self._add_numbers(series, kind)
        elif kind == "date":
            self._add_dates(series)
        else:
            self._add_texts(series, row, kind)

    def _count(self, kind: str, cells: int) -> None:
        if cells:
            self.types[kind] = self.types.get(kind, 0) + cells

    def _add_numbers(self, series: pd.Series, kind: str) -> None:
        values = numbers(series)
        there = values[~np.isnan(values)]
        finite = there[np.isfinite(there)]
        self.missing += len(values) - len(there)
        self.infinite += len(there) - len(finite)
        self._count(kind, len(there))
        if not len(finite):
            return
        codes, distinct = pd.factorize(finite)
        self.sketch.add(distinct, np.bincount(codes))
        self.low, self.high = min(self.low, distinct.min()), max(self.high, distinct.max())
        if self.whole:
            self.whole = bool((distinct == np.floor(distinct)).all())
        if self.rising or self.falling:
            steps = np.diff(finite if self.last is None else np.append(self.last, finite))
            self.rising, self.falling = self.rising and (steps > 0).all(), self.falling and (steps < 0).all()
            self.last = finite[-1]

    def _add_dates(self, series: pd.Series) -> None:
        codes, distinct = coded(series)
        self.missing += int((codes < 0).sum(axis=0))
        self._count("date", int((codes >= 0).sum(axis=0)))
        texts = np.array([value.isoformat() for value in distinct], dtype=object)
        self.sketch.add(texts, np.bincount(codes[codes >= 0], minlength=len(texts)))

    def _add_texts(self, series: pd.Series, row: int, kind: str) -> None:
        codes, distinct = coded(series)
        texts = np.array([text_of(value) for value in distinct], dtype=object)
        there = codes >= 0
        self.missing += int((~there).sum(axis=0))
        self._count(kind, int(there.sum(axis=0)))
        if not len(texts):
            return
        counts = np.bincount(codes[there], minlength=len(texts))
        self.sketch.add(texts, counts)
        numeric = looks_numeric(texts)
        self.numeric_texts += int(counts[numeric].sum(axis=0))
        if self.first_word is None and not numeric.all():
            at = int(np.flatnonzero(there & ~np.append(numeric, True)[codes])[0])
            self.first_word = (row + at, texts[codes[at]])
        self.dates = self.dates and bool(are_dates(distinct).all())
        self.truths = self.truths and len(texts) <= 6 and {text.lower() for text in texts} <= {"true", "false"}


@dataclass(frozen=True)
class ColumnUse:
    """What a column is, what it is used as, and why.

    Parameters
    ----------
    name : str
        The column.
    kind : str
        ``numeric``, ``boolean``, ``category``, ``date``, ``text``, ``constant`` or ``id-like``.
    used : str
        ``number``, ``0/1``, ``categories``, ``days`` or ``left out``.
    note : str
        The reason, or what was done.
    categories : tuple of str
        The values of a category, sorted.
    """

    name: str
    kind: str
    used: str
    note: str = ""
    categories: tuple[str, ...] = ()


def profile(batches: Iterable[pd.DataFrame], columns: Iterable[str], as_text: Iterable[str] = ()) -> dict:
    """Profiles of the columns of some batches, by name; some are taken as text whatever they hold."""
    texts = set(as_text)
    profiles = {name: ColumnProfile(name, as_text=name in texts) for name in columns}
    for frame in batches:
        for name, one in profiles.items():
            one.add(frame[name])
    return profiles


def use_of(one: ColumnProfile, max_categories: int = MAX_CATEGORIES, *, keep: bool = False) -> ColumnUse:
    """What a column is used as.

    With ``keep`` numbers that look as if they numbered the rows are used. It is a ``DataError`` if a column that is to
    be kept cannot be a feature, or if numbers would be lost because of a few texts among them.
    """
    found = _use(one, max_categories, keep)
    if keep and found.used == "left out":
        raise DataError(f"column {one.name!r} cannot be kept: {found.note}. Take it out of keep.")
    return found


def _use(one: ColumnProfile, max_categories: int, keep: bool) -> ColumnUse:
    use = lambda kind, used, note="", categories=(): ColumnUse(one.name, kind, used, note, categories)  # noqa: E731
    distinct = one.distinct
    if "other" in one.types:
        return use("text", "left out", "cells are neither numbers, texts, dates nor truth values")
    if distinct == 0:
        return use("constant", "left out", "no values")
    if distinct == 1:
        only = text_of(one.sketch.values[0])
        return use("constant", "left out", f"one value only, {only!r}{', or missing' if one.missing else ''}")
    if "truth" in one.types:
        return use("boolean", "0/1")
    if "number" in one.types:
        if reason := _numbers_rows(one, distinct):
            return use("numeric", "number", "kept on request") if keep else use("id-like", "left out", reason)
        two = distinct == 2 and one.low == 0 and one.high == 1
        return use("boolean", "0/1") if two else use("numeric", "number")
    if "date" in one.types or one.dates:
        return use("date", "days", "days since 1 January 1970")
    if one.truths:
        return use("boolean", "0/1")
    return _use_of_text(one, use, distinct, max_categories)


def _use_of_text(one: ColumnProfile, use, distinct: int, max_categories: int) -> ColumnUse:
    share = one.numeric_texts / one.values
    few = distinct <= max_categories
    note = ""
    if 0 < share < 1:
        row, word = one.first_word
        note = f"{one.numeric_texts:,} of {one.values:,} values are numbers, but row {row + 1:,} has {word!r}: read as "
        note += "text"
    if share >= ID_SHARE and not few:
        what = note or "holds numbers written as text"
        raise DataError(
            f"column {one.name!r}: {what}, of which {distinct:,} are different, too many for categories. Correct these "
            "cells (leave them empty if they are missing, convert text with pandas.to_numeric), or leave the column "
            f"out: exclude=[{one.name!r}]."
        )
    if one.values >= ID_LEAST and one.sketch.once >= ID_SHARE:
        return use("id-like", "left out", f"{distinct:,} different texts in {one.values:,} rows: it names the rows")
    if not few:
        why = f"{distinct:,} different texts, more than {max_categories}"
        return use("text", "left out", f"{note}; {why}" if note else why)
    categories = tuple(one.sketch.counts_by_value())
    if len(categories) == 2:
        note = f"{note}; " if note else ""
        note += f"one column: 1 for {categories[1]!r}, 0 for {categories[0]!r}"
    return use("category", "categories", note, categories)


def _numbers_rows(one: ColumnProfile, distinct: int) -> str:
    """Why a column of numbers is taken for the number of the row or of a customer; empty if it is not."""
    values = one.values - one.infinite
    if not one.whole or values < ID_LEAST or distinct < values:
        return ""
    different = "whole numbers, no two alike,"
    if one.rising or one.falling:
        return f"{different} {'rising' if one.rising else 'falling'} from row to row: it numbers the rows"
    if one.high - one.low < 2 * values:
        return f"{different} and nearly all from {one.low:.0f} to {one.high:.0f} occur: it numbers the rows"
    if _ID_NAME.search(one.name):
        return f"{different} and its name says so: it names the rows"
    return ""


def _kind(series: pd.Series) -> str | None:
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
        distinct = pd.factorize(series)[1]
    except TypeError:  # lists, dicts and other values without a hash
        return "other"
    found = {_kind_of(value) for value in distinct}
    if len(found) > 1:
        return "other" if "other" in found else "text"
    return found.pop() if found else None


def _kind_of(value) -> str:
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Real | Decimal):
        return "number"
    return "date" if isinstance(value, date | np.datetime64) else "other"


def kind_of_text(one: ColumnProfile) -> str:
    """The kind of a column that was not asked to be a feature, by the types of its cells alone."""
    if one.distinct <= 1:
        return "constant"
    if one.types.keys() <= {"number"}:
        return "numeric"
    if one.types.keys() <= {"truth"}:
        return "boolean"
    if one.types.keys() <= {"date"} or one.dates:
        return "date"
    return "category" if one.distinct <= MAX_CATEGORIES else "text"
