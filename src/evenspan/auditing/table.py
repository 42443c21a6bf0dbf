"""A table that is read in batches of rows, whatever it comes from, and what its names may be."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

import pandas as pd

from ..core.errors import DataError, LimitError
from .limits import TABLE

#: Entries of a batch: 32 MiB of float64. Rows in a batch follow from the number of columns.
BATCH_ENTRIES = 2**22


class Table(ABC):
    """A table that can be read again and again in batches of rows, never as a whole.

    ``name`` is that of the file, or ``"table"``; the names of ``columns`` are all different; ``n_rows`` is None where
    it is not known without reading; ``notes`` say what had to be found out or decided to read it.
    """

    def __init__(self, name: str, columns: Iterable, notes: Iterable[str] = ()):
        self.name, self.notes, self.n_rows = name, list(notes), None
        self.columns = distinct_names(columns, name)
        if len(self.columns) > (most := TABLE["columns"][0]):
            raise LimitError(
                f"{name} has {len(self.columns):,} columns; a table may have {most:,}. Write the columns that matter "
                "to a table of their own."
            )

    @abstractmethod
    def batches(self, columns=None, *, types: Mapping[str, str] | None = None, rows: int | None = None) -> Iterator:
        """A new pass over the rows: the next ones as a data frame, of at most ``rows`` rows.

        The columns come in the order of the table. ``types`` says which columns of a file without types of its own
        (CSV) are to be read as ``"number"`` or ``"text"``; the others are read as what they look like in each batch.
        """

    def require(self, names: Iterable[str], argument: str) -> None:
        """``DataError`` with what may have been meant unless all names are columns."""
        for name in names:
            if name not in self.columns:
                raise DataError(no_such_column(name, self.columns, f"{argument}: {self.name}"))

    def _wanted(self, columns) -> list[str]:
        wanted = self.columns if columns is None else set(columns)
        return [name for name in self.columns if name in wanted]

    def _rows(self, rows: int | None) -> int:
        return rows or batch_rows(len(self.columns))


# -- names -------------------------------------------------------------------------------------------------------------


def batch_rows(columns: int) -> int:
    """Rows in a batch of a table with so many columns."""
    return max(BATCH_ENTRIES // max(columns, 1), 256)


def named(header: list) -> tuple[list[str], list[str]]:
    """Names stripped of blanks, with ``column 3`` for the third if it has none, and a note that says so."""
    names = [(name or "").strip() for name in header]
    empty = [j for j, name in enumerate(names) if not name]
    for j in empty:
        names[j] = f"column {j + 1}"
    if not empty:
        return names, []
    shown = ", ".join(names[j] for j in empty[:5]) + (", ..." if len(empty) > 5 else "")
    return names, [f"columns without a name are called by their position: {shown}"]


def no_such_column(name: str, columns, where: str, what: str = "column") -> str:
    """A message that there is no such column, with the one that may have been meant."""
    columns = [str(column) for column in columns]
    lower = {column.lower().strip(): column for column in columns}
    near = [lower[m] for m in get_close_matches(str(name).lower().strip(), list(lower), n=1)]
    hint = f"Did you mean {near[0]!r}? " if near else ""
    shown = ", ".join(columns[:20]) + (f", ... ({len(columns)} in all)" if len(columns) > 20 else "")
    return f"{where} has no {what} {name!r}. {hint}The {what}s are {shown}."


def unusable(text: str, longest: int | None = None) -> str:
    """What keeps a text from being a name that every file and figure can hold; empty if nothing does."""
    longest = longest or TABLE["characters of a name"][0]
    if len(text) > longest:
        return f"has {len(text):,} characters, more than {longest:,}"
    if "\0" in text:
        return "holds a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "holds bytes that are not UTF-8"
    return ""


def shown(text: str, most: int = 60) -> str:
    """A text as it can be printed: cut, and with escapes for what cannot."""
    return ascii(text[:most] + ("..." if len(text) > most else ""))


def distinct_names(columns: Iterable, where: str) -> tuple[str, ...]:
    """The names of columns as texts; ``DataError`` unless all differ and each can name a feature."""
    names = pd.Index([str(name) for name in columns], dtype=object)
    for name in names:
        if trouble := unusable(name):
            raise DataError(f"{where} has a column {shown(name)}, whose name {trouble}. Rename it.")
    if not len(names):
        raise DataError(f"{where} has no columns; needed is a table with at least one. Get or write it again.")
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise DataError(
            f"{where} has more than one column named {', '.join(map(repr, twice[:5]))}; every column needs a name of "
            "its own. Rename them."
        )
    return tuple(names)
