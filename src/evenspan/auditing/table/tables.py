"""Tables from anywhere: data frames, CSV, Parquet, Arrow and Excel, handed out in batches of rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from zipfile import BadZipFile

import pandas as pd

from ...core.errors import ConfigurationError, DataError
from ...core.stream_files import FORMATS
from .values import MISSING

#: Entries of a batch: 32 MiB of float64. Rows in a batch follow from the number of columns.
BATCH_ENTRIES = 2**22
TEXT_FILES = (".csv", ".tsv", ".tab", ".txt")
EXCEL_FILES = (".xlsx", ".xlsm")
PACKED = (".gz", ".bz2", ".xz")


class Table(ABC):
    """A table that can be read again and again in batches of rows, never as a whole.

    Attributes
    ----------
    name : str
        Name of the file, or ``"table"``.
    columns : tuple of str
        Names of the columns, all different.
    n_rows : int or None
        Number of rows, where it is known without reading them.
    notes : list of str
        What had to be found out or decided to read it.
    """

    def __init__(self, name: str, columns: Iterable, notes: Iterable[str] = ()):
        self.name, self.notes, self.n_rows = name, list(notes), None
        self.columns = _distinct_names(columns, name)

    @abstractmethod
    def batches(self, columns=None, *, types: Mapping[str, str] | None = None, rows: int | None = None) -> Iterator:
        """A new pass over the rows.

        Parameters
        ----------
        columns : collection of str, optional
            The columns that are needed; all unless given. They come in the order of the table.
        types : mapping of str to {"number", "text"}, optional
            How a file without types of its own (CSV) is to be read; other columns are read as whatever they look like
            in each batch.
        rows : int, optional
            Rows in a batch; the batches of some files are smaller.

        Yields
        ------
        DataFrame
            The next rows.
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


class FrameTable(Table):
    """A data frame in memory; nothing of it is copied but the batch."""

    def __init__(self, frame: pd.DataFrame, name: str = "table", notes: Iterable[str] = ()):
        if isinstance(frame.columns, pd.MultiIndex):
            raise DataError(
                f"{name} has column names of {frame.columns.nlevels} levels; needed are plain names. Join them, for "
                'instance frame.columns = ["_".join(map(str, names)) for names in frame.columns].'
            )
        super().__init__(name, frame.columns, notes)
        self.frame, self.n_rows = frame, len(frame)

    def batches(self, columns=None, *, types=None, rows=None):
        """A new pass over the rows; the cells have types of their own."""
        wanted = self._wanted(columns)
        positions, step = [self.columns.index(name) for name in wanted], self._rows(rows)
        for start in range(0, self.n_rows, step):
            part = self.frame.iloc[start : start + step, positions]
            part.columns = wanted
            yield part


class ArrowTable(Table):
    """Parquet and Arrow files, read record batch by record batch."""

    def __init__(self, path: Path):
        from .arrow_files import open_dataset

        self.path = path
        self.dataset, index = open_dataset(path)
        notes = [f"{', '.join(index)}: the index of a data frame, not read"] if index else []
        super().__init__(path.name, [name for name in self.dataset.schema.names if name not in index], notes)
        self.n_rows = self.dataset.count_rows()

    def batches(self, columns=None, *, types=None, rows=None):
        """A new pass over the rows; the cells have the types of the file."""
        from .arrow_files import frames, reading

        with reading(self.path):
            yield from frames(self.dataset, self._wanted(columns), self._rows(rows))


def open_table(table) -> Table:
    """Open a data frame or a file.

    Parameters
    ----------
    table : DataFrame, str or Path
        A data frame (of pandas, or anything with ``to_pandas``), or the path of a CSV or TSV file (also packed as
        ``.gz``, ``.bz2``, ``.xz``), a Parquet file or folder, an Arrow or Feather file, or an Excel workbook (its first
        sheet, or ``path::sheet``).

    Returns
    -------
    Table
        Ready for passes over its rows.
    """
    if isinstance(table, Table):
        return table
    if isinstance(table, str | Path):
        return _open_path(str(table))
    if not isinstance(table, pd.DataFrame) and hasattr(table, "to_pandas"):
        table = table.to_pandas()
    if not isinstance(table, pd.DataFrame):
        raise DataError(
            f"a {type(table).__name__} is no table with named columns; needed is a data frame or the path of a file. "
            "Put an array into pandas.DataFrame(X, columns=[...]) together with the sensitive column."
        )
    if len(table) == 0:
        raise DataError("the data frame has no rows; needed is at least one.")
    return FrameTable(table)


def _open_path(text: str) -> Table:
    place, _, sheet = text.partition("::")
    path = Path(place)
    if not path.exists():
        near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()]) if path.parent.is_dir() else []
        raise DataError(f"{path} does not exist.{f' Did you mean {near[0]}?' if near else ''}")
    endings = [ending.lower() for ending in path.suffixes]
    ending = endings[-1] if endings else ""
    if sheet and ending not in EXCEL_FILES:
        raise DataError(f"{text}: only Excel workbooks ({', '.join(EXCEL_FILES)}) have sheets.")
    if path.is_dir() or ending in FORMATS:
        return ArrowTable(path)
    if ending in EXCEL_FILES:
        return _excel(path, sheet)
    if (endings[-2] if ending in PACKED and len(endings) > 1 else ending) in TEXT_FILES:
        from .csv_files import CsvTable

        return CsvTable(path)
    raise DataError(
        f"{path}: tables with the ending {ending or '(none)'} are not read; needed is {', '.join(TEXT_FILES)} (also "
        f"with {', '.join(PACKED)}), {', '.join(FORMATS)}, or {', '.join(EXCEL_FILES)}. Save it in one of these."
    )


def _excel(path: Path, sheet: str) -> FrameTable:
    """One sheet of a workbook, in memory: a sheet has at most 1,048,576 rows."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "reading Excel files needs openpyxl, which is not installed: pip install 'evenspan[audit]'."
        ) from error
    try:
        with pd.ExcelFile(path, engine="openpyxl") as book:
            names = book.sheet_names
            if sheet and sheet not in names:
                raise DataError(no_such_column(sheet, names, str(path), "sheet"))
            options = {"header": None, "keep_default_na": False, "na_values": list(MISSING)}
            raw = pd.read_excel(book, sheet_name=sheet or names[0], **options)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} cannot be read as an Excel workbook ({error}). Save it again as .xlsx.") from error
    notes = []
    if not sheet and len(names) > 1:
        notes.append(f"the first of {len(names)} sheets, {names[0]!r}, was read; name another as {path.name}::SHEET")
    raw = raw.dropna(how="all").reset_index(drop=True)
    if len(raw) < 2:
        raise DataError(f"{path}, sheet {sheet or names[0]!r}: no rows below a header; needed is at least one.")
    raw = raw.loc[:, raw.notna().any(axis=0)]
    header, empty = named([None if pd.isna(name) else str(name) for name in raw.iloc[0]])
    frame = raw.iloc[1:].infer_objects().reset_index(drop=True)
    frame.columns = _distinct_names(header, path.name)
    return FrameTable(frame, path.name, notes + empty)


# -- names ------------------------------------------------------------------------------------------------------------


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


def _distinct_names(columns: Iterable, where: str) -> tuple[str, ...]:
    names = pd.Index([str(name) for name in columns])
    if not len(names):
        raise DataError(f"{where} has no columns.")
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise DataError(
            f"{where} has more than one column named {', '.join(map(repr, twice[:5]))}; every column needs a name of "
            "its own. Rename them."
        )
    return tuple(names)
