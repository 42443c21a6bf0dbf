"""The first pass over a table: what its columns hold, the group of every row, and where cells are missing."""

from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd

from ...core.errors import GroupError
from ..progress import Progress
from .columns import ColumnProfile, profile
from .tables import Table
from .values import looks_numeric, text_of, texts

#: A sensitive column of more numbers than these is a quantity, not a group.
MAX_NUMBERS = 20
#: A sensitive column of more different texts than these names no groups.
MAX_GROUPS = 50
#: The group of the rows whose sensitive cell is missing, where the rule for missing values admits it.
NO_LABEL = "(missing)"


class Labels:
    """The groups of all rows by one sensitive column: a code of two bytes for each row."""

    def __init__(self, name: str):
        self.name = name
        self._code_of: dict[str, int] = {}
        self._codes: list[np.ndarray] = []

    def add(self, series: pd.Series) -> None:
        """Fold in the next rows."""
        cells, distinct = texts(series)
        known = np.array([self._code_of.setdefault(text, len(self._code_of)) for text in distinct] + [-1])
        if len(self._code_of) > 30_000:
            self._refuse()
        self._codes.append(known[cells].astype(np.int16))

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """Sorted labels, and the position of every row's label among them; -1 where it is missing."""
        names = np.array(list(self._code_of), dtype=object)
        if any("." in name for name in names) and looks_numeric(names).all():
            names = np.array([text_of(float(name)) for name in names], dtype=object)  # 1 and 1.0 are one group
        labels, at = np.unique(names.astype(str), return_inverse=True)
        if len(labels) > (MAX_NUMBERS if looks_numeric(labels.astype(object)).all() else MAX_GROUPS):
            self._refuse()
        return labels, np.append(at, -1)[np.concatenate(self._codes)].astype(np.int16)

    def _refuse(self) -> None:
        names = np.array(list(self._code_of), dtype=object)
        if looks_numeric(names).all():
            raise GroupError(
                f"sensitive column {self.name!r} has {len(names):,} different numbers, from {names[0]} on, so it looks "
                f"like a quantity; needed are at most {MAX_NUMBERS}. Bin it into groups, for instance "
                f"table[{self.name!r}] = pandas.cut(table[{self.name!r}], [0, 25, 60, 120]).astype(str)."
            )
        raise GroupError(
            f"sensitive column {self.name!r} has {len(names):,} different values, from {names[0]!r} on; needed are "
            f"at most {MAX_GROUPS} groups. Merge values into groups, or choose another column."
        )


class MissingCells:
    """Which rows miss which of some columns: one bit for each cell of the columns that miss any."""

    def __init__(self, columns: Collection[str]):
        self.columns = set(columns)
        self._parts: list[tuple[int, str, np.ndarray]] = []
        self.n = 0

    def add(self, frame: pd.DataFrame) -> None:
        """Fold in the next rows."""
        for name in frame.columns:
            if name in self.columns and frame[name].hasnans:
                self._parts.append((self.n, name, np.packbits(frame[name].isna().to_numpy())))
        self.n += len(frame)

    def rows(self, columns: Iterable[str]) -> np.ndarray:
        """Whether a row misses any of the columns, (n,)."""
        wanted, found = set(columns), np.zeros(self.n + 7, dtype=bool)
        for start, name, bits in self._parts:
            if name in wanted:
                cells = np.unpackbits(bits).astype(bool)
                found[start : start + len(cells)] |= cells
        return found[: self.n]


class Scan:
    """What the first pass over a table finds.

    Parameters
    ----------
    table : Table
        The table.
    sensitive : list of str
        Its sensitive columns.
    keep_missing : bool
        Whether to remember which rows miss which cells.
    rows : int or None
        Rows in a batch.
    tell : Progress
        Told of every batch.
    """

    def __init__(self, table: Table, sensitive: list[str], *, keep_missing: bool, rows: int | None, tell: Progress):
        self.labels = {name: Labels(name) for name in sensitive}
        self.missing = MissingCells(table.columns if keep_missing else ())
        tell.stage("reading the columns", table.n_rows or getattr(table, "guessed_rows", None))
        batches = self._watched(table.batches(types=dict.fromkeys(sensitive, "text"), rows=rows), tell)
        self.profiles = profile_columns(table, table.columns, batches, as_text=sensitive, rows=rows)
        self.n = self.missing.n

    def _watched(self, batches: Iterable[pd.DataFrame], tell: Progress) -> Iterable[pd.DataFrame]:
        for frame in batches:
            for name, labels in self.labels.items():
                labels.add(frame[name])
            self.missing.add(frame)
            yield frame
            tell.advance(len(frame))


def profile_columns(table: Table, columns, batches=None, *, as_text=(), rows: int | None = None) -> dict:
    """Profiles of some columns; those of several types are read once more, as text throughout."""
    first = table.batches(columns, rows=rows) if batches is None else batches
    profiles: dict[str, ColumnProfile] = profile(first, columns, as_text)
    if mixed := [name for name, one in profiles.items() if one.mixed]:
        profiles |= profile(table.batches(mixed, types=dict.fromkeys(mixed, "text"), rows=rows), mixed, mixed)
    return profiles
