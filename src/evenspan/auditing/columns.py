"""What the columns of a table hold, whatever type their cells came in, and what each of them is used as."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..core.errors import DataError
from .cells import WRITTEN, coded, days, days_of, iso, kind_of, numbers, numbers_of, require_plain, text_of, texts
from .limits import TABLE
from .table import Table

#: A category of more values than these is text, and left out.
MAX_CATEGORIES = TABLE["categories"][0]
#: From this share of values that occur once a column of text names its rows.
ID_SHARE = 0.9
#: Fewer values than these say nothing about whether a column numbers the rows.
ID_LEAST = 20
#: Values that a sketch keeps. Up to this number all is exact; above, the number of values is known to about 3 %.
KEPT = 1024
_ID_NAME = re.compile(r"(^|[\W_])(id|ids|nr|no|num|number|key|index|uuid|rownames?)$", re.IGNORECASE)
#: Days since 1 January 1970 of 1678 and of 2262: dates before and after rarely mean a day.
ORDINARY_DAYS = (-106_650, 106_650)


# -- how many different values -----------------------------------------------------------------------------------------


class Sketch:
    r"""The values with the smallest hashes, each with the number of times it occurred.

    Which values are kept depends on their hashes alone: neither on the order of the rows nor on how they were cut into
    batches. A value that is kept at the end was kept from its first occurrence on, so its count is exact. If the
    k-th smallest hash is the fraction :math:`u` of the largest possible one, there are about :math:`(k - 1) / u`
    different values.

    References
    ----------
    Z. Bar-Yossef, T. S. Jayram, R. Kumar, D. Sivakumar and L. Trevisan (2002), Counting distinct elements in a data
    stream, section 2.

    Examples
    --------
    >>> sketch = Sketch()
    >>> sketch.add(np.array(["b", "a"], dtype=object), np.array([2, 1]))
    >>> sketch.add(np.array(["a"], dtype=object), np.array([4]))
    >>> sketch.counts_by_value()
    {'a': 5, 'b': 2}
    """

    def __init__(self):
        self.hashes = np.empty(0, dtype=np.uint64)
        self.counts = np.empty(0, dtype=np.int64)
        self.values = np.empty(0, dtype=object)

    def add(self, values: np.ndarray, counts: np.ndarray) -> None:
        """Fold in values (m,), texts or float64, that occur ``counts`` (m,) times; a value may be among them twice."""
        if values.dtype.kind == "f":
            values = values + 0.0  # minus zero becomes zero
        hashes = pd.util.hash_array(values, categorize=False)
        if len(self.hashes) == KEPT:
            small = hashes <= self.hashes[-1]
            hashes, values, counts = hashes[small], values[small], counts[small]
        if not len(hashes):
            return
        together = np.concatenate([self.hashes, hashes])
        self.hashes, first, at = np.unique(together, return_index=True, return_inverse=True)
        summed = np.bincount(at, weights=np.concatenate([self.counts, counts])).astype(np.int64)
        self.values = np.concatenate([self.values, values.astype(object)])[first][:KEPT]
        self.hashes, self.counts = self.hashes[:KEPT], summed[:KEPT]

    @property
    def full(self) -> bool:
        """Whether there are more values than are kept."""
        return len(self.hashes) == KEPT

    @property
    def once(self) -> float:
        """Share of the different values that occur once."""
        return float(np.mean(self.counts == 1, axis=0)) if len(self.counts) else 0.0

    def distinct(self, n: int) -> int:
        """Number of different values among n."""
        if not self.full:
            return len(self.hashes)
        if self.once == 1.0:
            return n
        return min(n, round((KEPT - 1) / (float(self.hashes[-1]) / 2.0**64)))

    def counts_by_value(self) -> dict:
        """The kept values in order, with their counts."""
        order = np.argsort(self.values, kind="stable")
        return dict(zip(self.values[order].tolist(), self.counts[order].tolist(), strict=True))


# -- a column after a pass ---------------------------------------------------------------------------------------------


class ColumnProfile:
    """What is known of one column after the batches so far."""

    def __init__(self, name: str, *, as_text: bool = False):
        self.name, self.as_text = name, as_text
        self.n = self.missing = self.infinite = 0
        self.types: dict[str, int] = {}  # number, truth, date, text or other -> cells
        self.low, self.high, self.last = np.inf, -np.inf, None
        self.whole = self.rising = self.falling = self.dates = self.truths = True
        self.numeric_texts, self.first_word = 0, None
        self.written, self.first_written = 0, None  # cells with numbers as people write them, and the first of these
        self.digits = 0  # of the longest number written as text that float64 does not hold
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
        kind = kind_of(series) if not self.as_text else "text"
        if kind is None:
            self.missing += len(series)
        elif kind in ("number", "truth"):
            self._add_numbers(series, kind)
        elif kind == "date":
            self._add_dates(series)
        else:
            self._add_texts(series, row, kind)

    def _look_at_words(self, texts, numeric, codes, counts, row: int) -> None:
        """Among texts that are no numbers, those which a reader takes for numbers."""
        pairs = zip(texts, numeric, strict=True)
        written = np.array([not plain and bool(WRITTEN.fullmatch(text)) for text, plain in pairs])
        self.written += int(counts[written].sum(axis=0))
        if self.first_written is None and written.any():
            at = int(np.flatnonzero(np.append(written, False)[codes])[0])
            self.first_written = (row + at, texts[codes[at]])

    @property
    def badly_written(self) -> str:
        """How the numbers of a column of texts are written, if that is why they are texts."""
        if not self.written or self.written + self.numeric_texts < ID_SHARE * self.values:
            return ""
        row, word = self.first_written
        return f"its numbers are written as {word!r} (row {row + 1:,}); only numbers such as 1234.5 are read as numbers"

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
        self._between(days(series))
        texts = np.array([iso(value) for value in distinct], dtype=object)
        self.sketch.add(texts, np.bincount(codes[codes >= 0], minlength=len(texts)))

    def _between(self, found: np.ndarray) -> None:
        self.low = float(np.fmin.reduce(found, initial=self.low))
        self.high = float(np.fmax.reduce(found, initial=self.high))

    def _add_texts(self, series: pd.Series, row: int, kind: str) -> None:
        codes, distinct = coded(series)
        texts = np.array([text_of(value) for value in distinct], dtype=object)
        there = codes >= 0
        self.missing += int((~there).sum(axis=0))
        self._count(kind, int(there.sum(axis=0)))
        if not len(texts):
            return
        counts = np.bincount(codes[there], minlength=len(texts))
        try:
            self.sketch.add(texts, counts)
        except UnicodeEncodeError:
            require_plain(self.name, texts)
        read = numbers_of(texts)
        numeric = ~np.isnan(read)
        self.digits = max(self.digits, *(sum(map(str.isdigit, text)) for text in texts[np.isinf(read)]), 0)
        self.numeric_texts += int(counts[numeric].sum(axis=0))
        if self.first_word is None and not numeric.all():
            at = int(np.flatnonzero(there & ~np.append(numeric, True)[codes])[0])
            self.first_word = (row + at, texts[codes[at]])
        self._look_at_words(texts, numeric, codes, counts, row)
        if self.dates:
            found = days_of(distinct)
            self.dates = not bool(np.isnan(found).any())
            self._between(found)
        self.truths = self.truths and len(texts) <= 6 and {text.lower() for text in texts} <= {"true", "false"}


def profile(batches: Iterable[pd.DataFrame], columns: Iterable[str], as_text: Iterable[str] = ()) -> dict:
    """Profiles of the columns of some batches, by name; some are taken as text whatever they hold."""
    texts = set(as_text)
    profiles = {name: ColumnProfile(name, as_text=name in texts) for name in columns}
    for frame in batches:
        for name, one in profiles.items():
            one.add(frame[name])
    return profiles


def profile_columns(table: Table, columns, batches=None, *, as_text=(), rows: int | None = None) -> dict:
    """Profiles of some columns; those of several types are read once more, as text throughout."""
    first = table.batches(columns, rows=rows) if batches is None else batches
    profiles: dict[str, ColumnProfile] = profile(first, columns, as_text)
    if mixed := [name for name, one in profiles.items() if one.mixed]:
        profiles |= profile(table.batches(mixed, types=dict.fromkeys(mixed, "text"), rows=rows), mixed, mixed)
    return profiles


# -- what it is used as ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnUse:
    """What a column is, what it is used as, and why."""

    name: str
    kind: str  # numeric, boolean, category, date, text, constant or id-like
    used: str  # number, 0/1, categories, days or left out
    note: str = ""  # the reason, or what was done
    categories: tuple[str, ...] = ()  # the values of a category, sorted


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
        return use("date", "days", "days since 1 January 1970" + _far(one))
    if one.truths:
        return use("boolean", "0/1")
    return _use_of_text(one, use, distinct, max_categories)


def _use_of_text(one: ColumnProfile, use, distinct: int, max_categories: int) -> ColumnUse:
    share = one.numeric_texts / one.values
    few = distinct <= max_categories
    names_rows = one.values >= ID_LEAST and one.sketch.once >= ID_SHARE
    if one.badly_written and (names_rows or not few):
        return use("text", "left out", one.badly_written)
    note = f"{one.badly_written}; read as text" if one.badly_written else ""
    if 0 < share < 1 and not note:
        row, word = one.first_word
        note = f"{one.numeric_texts:,} of {one.values:,} values are numbers, but row {row + 1:,} has {word!r}: read as "
        note += "text"
    if share >= ID_SHARE and not few:
        long = f"holds a number of {one.digits} digits" if one.digits else ""
        what = note or long or "holds numbers written as text"
        raise DataError(
            f"column {one.name!r}: {what}, of which {distinct:,} are different, too many for categories. Correct these "
            "cells (leave them empty if they are missing, convert text with pandas.to_numeric), or leave the column "
            f"out: exclude=[{one.name!r}]."
        )
    if names_rows:
        return use("id-like", "left out", f"{distinct:,} different texts in {one.values:,} rows: it names the rows")
    if not few:
        why = f"{distinct:,} different texts, more than {max_categories}"
        return use("text", "left out", f"{note}; {why}" if note else why)
    categories = tuple(one.sketch.counts_by_value())
    require_plain(one.name, categories)
    if len(categories) == 2:
        note = f"{note}; " if note else ""
        note += f"one column: 1 for {categories[1]!r}, 0 for {categories[0]!r}"
    return use("category", "categories", note, categories)


def _far(one: ColumnProfile) -> str:
    """A word on dates that rarely mean a day: 9999-12-31 and its like."""
    first, last = ORDINARY_DAYS
    if first <= one.low and one.high <= last:
        return ""
    at = [np.datetime64(int(np.floor(day)), "D") for day in (one.low, one.high)]
    return (
        f", from {at[0]} to {at[1]}: a date so far off often means that there is none, and as a number of days it "
        "outweighs all others; leave such cells empty"
    )


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


@dataclass(frozen=True)
class Target:
    """The column to be predicted, and how it is read: as a number, or as a category."""

    name: str
    kind: str  # as in the table of columns
    used: str  # target (number) or target (category)
    note: str = ""  # what was done

    @classmethod
    def of(cls, one: ColumnProfile) -> "Target":
        """The target that a column is; ``DataError`` if it can be none."""
        use = use_of(one)
        if use.kind == "id-like" and "number" in one.types:
            return cls(one.name, "numeric", "target (number)")
        if use.used == "left out":
            raise DataError(
                f"target {one.name!r} cannot be predicted: {use.note}. Needed are numbers, or texts of at most "
                f"{MAX_CATEGORIES} different values."
            )
        if one.infinite:
            raise DataError(f"target {one.name!r} has {one.infinite:,} infinite value(s); needed are finite numbers.")
        if use.kind in ("category", "boolean") or one.distinct == 2:
            return cls(one.name, use.kind, "target (category)")
        return cls(one.name, use.kind, "target (number)", use.note)

    def values(self, series: pd.Series, row: int = 0) -> np.ndarray:
        """The target of some rows: float64, or texts; missing ones are NaN, or empty."""
        if self.used == "target (number)":
            return days(series, row) if self.kind == "date" else numbers(series, row)
        cells, distinct = texts(series)
        return np.append(distinct, "")[cells].astype(str)
