"""A table in memory: its cells, the names of its columns, and what had to be found out to read it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pandas as pd

from ..core.errors import DataError, LimitError
from .columns import MAX_CATEGORIES, coded, kept_as_text, number_of, readings, require_plain
from .limits import TABLE

#: Texts of a file that stand for a missing value; the last are errors of a spreadsheet.
_GAPS = (
    "? NA N/A n/a NaN nan -nan -NaN NAN None null NULL <NA> \\N #N/A #NA 1.#IND -1.#IND 1.#QNAN -1.#QNAN "
    "#DIV/0! #VALUE! #REF! #NAME? #NUM! #NULL!"
)
MISSING = frozenset(["", *_GAPS.split()])
#: Names that a column gets which has none, here or by pandas.
UNNAMED = re.compile(r"Unnamed: .*|column \d+")
#: What to do with a table that does not fit in memory.
IN_BATCHES = (
    "Audit rows drawn at random; evenspan.GroupMoments.from_batches sums group moments of all rows, batch by batch."
)


@dataclass(frozen=True, eq=False)
class Table:
    """A table in memory: its columns have different names, each is numbers, dates, truth values or texts."""

    name: str  # of the file, or "table"
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()  # what had to be found out or decided to read it

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.columns)

    def require(self, names: Iterable[str], argument: str) -> None:
        """``DataError`` with what may have been meant unless all names are columns."""
        for name in names:
            if name not in self.columns:
                raise DataError(no_such_column(name, self.columns, f"{argument}: {self.name}"))


def checked(name: str, frame: pd.DataFrame, notes: Iterable[str], decimal=None, thousands=None) -> Table:
    """A table whose names are texts that differ; texts become numbers where a convention was asked for."""
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(
            f"{name} has column names of {frame.columns.nlevels} levels; needed are plain names. Join them, for "
            'instance frame.columns = ["_".join(map(str, names)) for names in frame.columns].'
        )
    if not frame.shape[0] or not frame.shape[1]:
        raise DataError(f"{name} has no {'rows' if frame.shape[1] else 'columns'}; needed is at least one.")
    if frame.shape[1] > (most := TABLE["columns"][0]):
        raise LimitError(f"{name} has {frame.shape[1]:,} columns; a table may have {most:,}. Leave some out.")
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    if twice := [column for column, times in Counter(frame.columns).items() if times > 1]:
        raise DataError(
            f"{name} has more than one column named {', '.join(map(repr, twice[:5]))}; every column needs a name of "
            "its own. Rename them; if the first line holds data instead of names, say --no-header (header=False)."
        )
    require_plain(f"{name} has a column", frame.columns)
    if decimal or thousands:
        for column in frame.select_dtypes(["object", "string"]):
            codes, words = coded(frame[column])
            if len(words) and (found := readings(words, decimal, thousands)) and not kept_as_text(words):
                frame[column] = np.append([number_of(word, *found[0]) for word in words], np.nan)[codes]
    return Table(name, frame, tuple(notes))


# -- names -------------------------------------------------------------------------------------------------------------


def no_such_column(name: str, columns, where: str, what: str = "column") -> str:
    """A message that there is no such column, with the one that may have been meant."""
    lower = {str(column).lower().strip(): str(column) for column in columns}
    near = [lower[m] for m in get_close_matches(str(name).lower().strip(), list(lower), n=1)]
    hint = f"Did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(map(str, columns[:20])) + (f", ... ({len(columns)} in all)" if len(columns) > 20 else "")
    return f"{where} has no {what} {name!r}. {hint}The {what}s are {shown}."


def names_in(rows: list[list[str]], lines: list[int], name: str, header: bool | None, notes: list[str]) -> list[str]:
    """The names of the columns, from the first rows and the numbers of their lines; a question if others are meant.

    Programs may name the columns but not the row index before them, or end each row with a separator.
    """
    first, rest = rows[0], rows[1:]
    width = Counter(map(len, rest or rows)).most_common(1)[0][0]
    if header is False:
        return [f"column {j}" for j in range(1, len(first) + 1)]
    if header is None:
        numeric = [[bool(readings([cell])) for cell in row] for row in rows[1:30]]
        same = [row for row in rest if len(row) == width]
        full = [i for i, row in enumerate(rows) if len(row) == width and sum(map(bool, row)) >= width / 2]
        if len(first) == width - 1 and all(first) and all(not row[-1] for row in same):
            first = [*first, ""]
        elif len(first) == width - 1 and all(first) and len({row[0] for row in same}) == len(same) and any(numeric[0]):
            first = ["", *first]
        elif full and full[0] > 0:
            _ask_to_skip(name, f"line {lines[0] + 1} {_shown(first)} does not name the {width} columns", lines[full[0]])
        elif len(rows) > 4 and not any(numeric[0]) and any(map(all, zip(*numeric[1:], strict=False))):
            _ask_to_skip(name, f"line {lines[1] + 1} {_shown(rows[1])} holds no number, other than the rows", lines[1])
    names = [word.strip() or f"column {j}" for j, word in enumerate(first, 1)]
    if empty := [new for new, word in zip(names, first, strict=True) if not word.strip()]:
        notes.append(f"columns without a name are called by their position: {', '.join(empty[:5])}")
    return names


def _ask_to_skip(name: str, why: str, lines: int) -> None:
    raise DataError(
        f"{name}: {why} below. If the names stand in line {lines + 1}, say --skip-rows {lines} (skip_rows={lines}); "
        "else delete that line, or say --header (header=True) if it is right."
    )


def _shown(row: list[str]) -> str:
    return repr("; ".join(filter(None, row))[:60])


def require_names(frame: pd.DataFrame, name: str) -> None:
    """A question if what was taken for names looks like the first row of the data."""
    values = [word for word in frame.columns if readings([word])]
    whole = sorted(int(word) for word in values if word.isdigit())
    counted = len(set(np.diff(whole))) == 1 or whole == [0] or all(1900 <= year <= 2100 for year in whole)
    words = {column: set(coded(frame[column])[1]) for column in frame if frame[column].dtype.kind not in "biufM"}
    words = {column: found for column, found in words.items() if 1 < len(found) <= MAX_CATEGORIES}
    again = [column for column, found in words.items() if column in found]
    if values and (len(whole) < len(values) or not counted):
        why = f"{values[0]!r} would be the name of a column"
    elif again and len(again) >= len(words) / 2:
        why = f"the name {again[0]!r} is also a value in the rows of its column"
    else:
        return
    raise DataError(
        f"{name}: the first line looks like data, since {why}. Say --no-header (header=False) if there are no names, "
        "--header (header=True) if these are the names; delete lines that repeat the names."
    )


def note_missing(words: Counter, notes: list[str]) -> None:
    """Note which words were read as missing, and how often."""
    if told := [f"{word!r} ({count:,})" for word, count in words.most_common() if word]:
        notes.append(f"read as missing, besides empty cells: {', '.join(told[:8])}")
