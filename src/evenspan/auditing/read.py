"""Tables from anywhere, handed out in batches of rows: data frames, CSV, Parquet, Arrow and Excel files."""

import bz2
import csv
import gzip
import lzma
import re
import warnings
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, DataError, FairError, LimitError
from ..core.limits import TABLE, require_memory
from ..core.stream_files import FORMATS

#: Entries of a batch: 32 MiB of float64. Rows in a batch follow from the number of columns.
BATCH_ENTRIES = 2**22
#: Bytes of memory for each unpacked byte of a workbook.
EXCEL_BYTES = 8
TEXT_FILES = (".csv", ".tsv", ".tab", ".txt")
EXCEL_FILES = (".xlsx", ".xlsm")
PACKED = (".gz", ".bz2", ".xz")
#: Texts of a CSV, TSV or Excel file that stand for a missing value; the question mark is the custom of many archives.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")


class Table(ABC):
    """A table that can be read again and again in batches of rows, never as a whole.

    ``name`` is that of the file, or ``"table"``; the names of ``columns`` are all different; ``n_rows`` is None where
    it is not known without reading; ``notes`` say what had to be found out or decided to read it.
    """

    def __init__(self, name: str, columns: Iterable, notes: Iterable[str] = ()):
        self.name, self.notes, self.n_rows = name, list(notes), None
        self.columns = _distinct_names(columns, name)
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


def open_table(table) -> Table:
    """Open a data frame (of pandas, or anything with ``to_pandas``) or a file by its path.

    Files are CSV or TSV (also packed as ``.gz``, ``.bz2``, ``.xz``), Parquet (also a folder), Arrow or Feather, and
    Excel workbooks (the first sheet, or ``path::sheet``).
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
    if trouble := unusable(text, longest=2**12):
        raise DataError(f"the path {shown(text)} {trouble}. Rename the file or the folder.")
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
        return CsvTable(path)
    raise DataError(
        f"{path}: tables with the ending {ending or '(none)'} are not read; needed is {', '.join(TEXT_FILES)} (also "
        f"with {', '.join(PACKED)}), {', '.join(FORMATS)}, or {', '.join(EXCEL_FILES)}. Save it in one of these."
    )


# -- in memory ---------------------------------------------------------------------------------------------------------


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


def _excel(path: Path, sheet: str) -> FrameTable:
    """One sheet of a workbook, in memory: a sheet has at most 1,048,576 rows."""
    try:
        import openpyxl
    except ImportError as error:
        raise ConfigurationError(
            "reading Excel files needs openpyxl, which is not installed: pip install 'evenspan[audit]'."
        ) from error
    with _foreign(path, "as an Excel workbook", "Save it again as .xlsx"):
        # The sizes that an archive states are those that are read: zipfile stops there and compares a checksum.
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
        require_memory(EXCEL_BYTES * size, f"{path} (unpacked {size / 2**20:,.0f} MiB)", "Save the sheet as CSV.")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            names = book.sheetnames
            if sheet and sheet not in names:
                raise DataError(no_such_column(sheet, names, str(path), "sheet"))
            raw = _cells_of(book[sheet or names[0]], path)
        finally:
            book.close()
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
    return FrameTable(frame, f"{path.name}::{sheet}" if sheet else path.name, notes + empty)


def _cells_of(sheet, path: Path) -> pd.DataFrame:
    """The cells of a sheet as they are, NaN where nothing is."""
    sheet.reset_dimensions()  # what a file says of itself may be anything
    rows, widest, most = [], 0, TABLE["cells of a sheet"][0]
    for row in sheet.rows:
        cells = [np.nan if cell.value is None or cell.data_type == "e" else cell.value for cell in row]
        while cells and cells[-1] is np.nan:
            cells.pop()
        rows.append(cells)
        widest = max(widest, len(cells))
        if len(rows) * widest > most:
            raise LimitError(
                f"{path}, sheet {sheet.title!r}: {len(rows):,} rows and {widest:,} columns are more than {most:,} "
                "cells, empty ones included. Delete the cells that stand far from the table, or save the sheet as CSV."
            )
    frame = pd.DataFrame([cells + [np.nan] * (widest - len(cells)) for cells in rows], dtype=object)
    return frame.where(~frame.isin(MISSING), np.nan)


@contextmanager
def _foreign(path: Path, how: str, remedy: str):
    """Inside, whatever a reader of foreign bytes raises is raised as ``DataError``, or ``LimitError`` for memory."""
    try:
        yield
    except FairError:
        raise
    except MemoryError as error:
        raise LimitError(f"{path} cannot be read {how}: there is not enough memory for what it holds.") from error
    except Exception as error:  # damaged bytes make openpyxl, zipfile and xml raise almost anything
        why = f"{type(error).__name__}: {error}"
        raise DataError(f"{path} cannot be read {how} ({shown(why, 200)}). {_really(path) or remedy}.") from error


# -- Parquet and Arrow, by pyarrow -------------------------------------------------------------------------------------


class ArrowTable(Table):
    """Parquet and Arrow files, read record batch by record batch."""

    def __init__(self, path: Path):
        self.path = path
        self.dataset, index = open_dataset(path)
        notes = [f"{', '.join(index)}: the index of a data frame, not read"] if index else []
        super().__init__(path.name, [name for name in self.dataset.schema.names if name not in index], notes)
        self.n_rows = self.dataset.count_rows()
        self._files = Unchanged(self.dataset.files)

    def batches(self, columns=None, *, types=None, rows=None):
        """A new pass over the rows; the cells have the types of the file."""
        with reading(self.path), self._files:
            yield from frames(self.dataset, self._wanted(columns), self._rows(rows))


@contextmanager
def reading(path: Path):
    """Inside, what pyarrow raises for damaged files is raised as ``DataError``."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "reading Parquet and Arrow files needs pyarrow, which is not installed: pip install 'evenspan[audit]'."
        ) from error
    with _foreign(path, "as Parquet or Arrow", "Get or write it again"):
        yield


def open_dataset(path: Path):
    """The data set, and the names of columns that are the index of the data frame that was written.

    The files of a folder are read in the order of their paths, those in folders such as ``year=2020`` with the column
    ``year``. It is an error if there are no rows, or if the files differ in their columns.
    """
    with reading(path):
        from pyarrow import dataset

        files = [path]
        if path.is_dir():
            files = sorted(
                file for file in path.rglob("*")
                if file.suffix.lower() in FORMATS and not any(part[0] in "._" for part in file.relative_to(path).parts)
            )  # fmt: skip
        formats = {FORMATS[file.suffix.lower()] for file in files}
        if len(formats) != 1:
            found = "no such file" if not files else "files of several formats"
            raise DataError(
                f"{path}: found {found}; needed are files of one format, with endings {', '.join(FORMATS)}."
            )
        hive = {"partitioning": "hive", "partition_base_dir": str(path)} if path.is_dir() else {}
        data = dataset.dataset([str(file) for file in files], format=formats.pop(), **hive)
        for fragment in data.get_fragments() if len(files) > 1 else ():
            # Arrow would fill a column that a file does not have with missing values.
            there = {*fragment.physical_schema.names, *dataset.get_partition_keys(fragment.partition_expression)}
            if missing := [name for name in data.schema.names if name not in there]:
                raise DataError(f"{fragment.path} has no column {missing[0]!r}, which the first file has.")
        if data.count_rows() == 0:
            raise DataError(f"{path} has no rows; needed is at least one.")
        index = (data.schema.pandas_metadata or {}).get("index_columns", [])
    return data, [name for name in index if isinstance(name, str)]


def frames(data, columns: list[str], rows: int) -> Iterator[pd.DataFrame]:
    """Rows of the files, one file after the other.

    Parquet files are read page by page: pandas writes a million rows as one row group, which the scanner of a data set
    would decode as a whole.
    """
    from pyarrow import dataset, parquet

    for fragment in data.get_fragments():
        if not isinstance(data.format, dataset.ParquetFileFormat):
            records, fixed = fragment.to_batches(columns=columns, schema=data.schema, batch_size=rows), {}
        else:
            fixed = dataset.get_partition_keys(fragment.partition_expression)
            options = {"pre_buffer": False, "buffer_size": 2**16, "page_checksum_verification": True}
            file = parquet.ParquetFile(fragment.path, **options)
            stored = [name for name in columns if name not in fixed]
            records = file.iter_batches(batch_size=rows, columns=stored, use_threads=False)
        for record in records:
            if len(record):
                frame = record.to_pandas()
                yield frame.assign(**{name: fixed[name] for name in columns if name in fixed})[columns]


# -- CSV and TSV, by pandas --------------------------------------------------------------------------------------------


_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# Characters at the head of a file that are looked at to find out how it is written.
_HEAD = 2**18
# Bytes at its head by which a file is told from others.
_START = 2**12
_UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
_AGAIN = "Get or write it again"
# What a file begins with, what it then is, and the endings of such files.
_MAGIC = {
    b"\x1f\x8b": ("packed with gzip", (".gz",)), b"BZh": ("packed with bzip2", (".bz2",)),
    b"\xfd7zXZ\0": ("packed with xz", (".xz",)), b"PAR1": ("a Parquet file", (".parquet", ".pq")),
    b"ARROW1": ("an Arrow file", (".arrow", ".feather", ".ipc")),
    b"PK\x03\x04": ("a zip archive, as Excel workbooks are", EXCEL_FILES),
    b"\xd0\xcf\x11\xe0": ("an Excel workbook with a password, or one of before 2007", ()),
}  # fmt: skip
_DECIMAL_COMMA, _DECIMAL_POINT = re.compile(r"[+-]?\d+,\d+"), re.compile(r"[+-]?\d*\.\d+")


class CsvTable(Table):
    """A text file with one line of names and one line for each row; cells may be quoted and hold line breaks."""

    def __init__(self, path: Path):
        self.path, self._files = path, Unchanged([path])
        self.encoding = _encoding(path)
        head = self._head()
        self.separator = _separator(head, "\t" if path.suffix.lower() in (".tsv", ".tab") else ",")
        lines = _cells(head, self.separator)
        if not lines:
            raise DataError(f"{path} is empty; needed is a line of column names and at least one row.")
        names, notes = named(lines[0])
        super().__init__(path.name, names, notes)
        body = [cell for line in lines[1:-1] or lines[1:] for cell in line]
        if not body:
            raise DataError(f"{path} has a line of column names but no rows; needed is at least one.")
        comma = any(map(_DECIMAL_COMMA.fullmatch, body)) and not any(map(_DECIMAL_POINT.fullmatch, body))
        self.decimal = "," if self.separator != "," and comma else "."
        if self.separator != ",":
            self.notes.append(f"cells are separated by {_NAMES[self.separator]}")
        if self.decimal == ",":
            self.notes.append("numbers are written with a decimal comma")
        if self.encoding != "utf-8-sig":
            self.notes.append(f"the text is encoded as {self.encoding}")
        self.notes.append(f"read as missing: empty cells and {', '.join(MISSING[1:])}")
        self.first_line_is_data = len(names) > 1 and bool(
            pd.to_numeric(pd.Series(names, dtype=object), errors="coerce").notna().all()
        )
        size = path.stat().st_size / max(len(head), 1) * max(len(lines) - 1, 1)
        self.guessed_rows = int(size) if path.suffix.lower() not in _OPENERS else None

    def require(self, names, argument):
        """``DataError`` with what may have been meant unless all names are columns."""
        try:
            super().require(names, argument)
        except DataError as error:
            hint = " The first line looks like data: give the file a line of column names."
            raise DataError(f"{error}{hint if self.first_line_is_data else ''}") from None

    def batches(self, columns=None, *, types=None, rows=None):
        """A new pass over the rows."""
        kinds, wanted = {"number": "float64", "text": "str"}, self._wanted(columns)
        # Lines of too many cells are only noticed where all columns are read, as in the first pass over a table.
        chosen = None if len(wanted) == len(self.columns) else wanted
        options = {
            "sep": self.separator, "names": list(self.columns), "header": 0, "index_col": False, "usecols": chosen,
            "dtype": {name: kinds[kind] for name, kind in (types or {}).items() if name in wanted},
            "na_values": list(MISSING), "keep_default_na": False, "skipinitialspace": True, "low_memory": False,
            "decimal": self.decimal, "chunksize": self._rows(rows),
        }  # fmt: skip
        try:
            with warnings.catch_warnings():
                # Rows longer than the header would lose their last cells with no more than a warning.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                with self._files, _open(self.path, self.encoding) as file, pd.read_csv(file, **options) as reader:
                    yield from reader
        except pd.errors.ParserWarning as error:
            raise DataError(
                f"{self.path}: rows have more cells than the {len(self.columns)} names of the first line ({error}). "
                "Name every column, and take a separator off the end of each line."
            ) from error
        except UnicodeDecodeError as error:
            raise DataError(self._not_text(error)) from error
        except (pd.errors.ParserError, pd.errors.EmptyDataError, *_UNREADABLE, csv.Error) as error:
            raise DataError(f"{self.path} cannot be read as a table: {error}. Correct the line.") from error
        except MemoryError as error:
            if isinstance(error, FairError):
                raise
            raise LimitError(
                f"{self.path}: there is not enough memory for {self._rows(rows):,} of its rows. Close each quotation "
                "mark, and leave out columns of long texts."
            ) from error

    def _head(self) -> str:
        try:
            with _open(self.path, self.encoding) as file:
                return file.read(_HEAD)
        except UnicodeDecodeError as error:
            raise DataError(self._not_text(error)) from error
        except _UNREADABLE as error:
            raise DataError(f"{self.path} cannot be read ({error}). {_really(self.path) or _AGAIN}.") from error

    def _not_text(self, error: UnicodeDecodeError) -> str:
        if really := _really(self.path):
            return f"{self.path} is not a text file in UTF-8. {really}."
        return (
            f"{self.path} is not encoded as UTF-8 (byte 0x{error.object[error.start]:02x}). Save it as UTF-8, for "
            f"instance: iconv -f WINDOWS-1252 -t UTF-8 {self.path.name} > new.csv"
        )


class _Lines:
    """A text file that ends with ``LimitError`` where a line is longer than a line may be."""

    def __init__(self, file, path: Path):
        self.file, self.path, self.length, self.longest = file, path, 0, TABLE["characters of a line"][0]

    def read(self, n: int = -1) -> str:
        text = self.file.read(n)
        end = text.rfind("\n")
        self.length = self.length + len(text) if end < 0 else len(text) - end - 1
        if self.length > self.longest:
            raise LimitError(
                f"{self.path} has a line of more than {self.longest:,} characters; needed is a line for each row. "
                "Write it again, with line breaks."
            )
        return text

    def __iter__(self):
        return iter(self.file)


@contextmanager
def _open(path: Path, encoding: str):
    with _OPENERS.get(path.suffix.lower(), open)(path, "rt", encoding=encoding, newline="") as file:
        yield _Lines(file, path)


def _encoding(path: Path) -> str:
    """UTF-8, with or without a byte order mark, or UTF-16 with one."""
    try:
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            start = file.read(_START)
    except _UNREADABLE as error:
        raise DataError(f"{path} cannot be read ({error}). {_really(path) or _AGAIN}.") from error
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in start:
        raise DataError(f"{path} holds NUL bytes, so it is no text in UTF-8. {_really(path, start) or _AGAIN}.")
    return "utf-8-sig"


def _really(path: Path, start: bytes | None = None) -> str:
    """What to do with a file that is something else than its name says; empty if nothing is known of it."""
    if start is None:
        try:
            with path.open("rb") as file:
                start = file.read(_START)
        except OSError:
            return ""
    for magic, (what, endings) in _MAGIC.items():
        if start.startswith(magic) and not path.name.lower().endswith(endings):
            remedy = (
                f"rename it so that it ends with {endings[0]}" if endings else "save it as .xlsx, without a password"
            )
            return f"It is {what}, whatever its name says: {remedy}"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return ""
    odd, even = start[1::2].count(0), start[::2].count(0)
    if max(odd, even) > 0.3 * len(start) / 2:
        order = "LE" if odd > even else "BE"
        return (
            f"It is text in UTF-16 without a mark that says so. Save it as UTF-8, for instance: iconv -f UTF-16{order} "
            f"-t UTF-8 {path.name} > new.csv"
        )
    return ""


def _cells(head: str, separator: str) -> list[list[str]]:
    csv.field_size_limit(max(csv.field_size_limit(), _HEAD))
    lines = csv.reader(head.splitlines(keepends=True), delimiter=separator, skipinitialspace=True)
    return [[cell.strip() for cell in line] for line in lines if line]


def _separator(head: str, usual: str) -> str:
    """The separator that cuts most lines into as many cells as the first, and into most; the usual one if none does."""
    best, score = usual, (0.5, 1)
    for separator in _NAMES:
        lines = _cells(head, separator)
        lines = lines[:-1] if len(head) == _HEAD and len(lines) > 2 else lines  # the last may be cut off
        width = len(lines[0]) if lines else 0
        if width < 2:
            continue
        agreeing = sum(len(line) == width for line in lines) / len(lines)
        if (agreeing, width) > score:
            best, score = separator, (agreeing, width)
    return best


# -- whether a file stays what it is -----------------------------------------------------------------------------------


class Unchanged:
    """Files that are read in several passes: entered and left with each, it is a ``DataError`` if one has changed."""

    def __init__(self, files: Iterable):
        self.files = [Path(file) for file in files]
        self.seen = self._stamps()

    def __enter__(self):
        self._compare()

    def __exit__(self, kind, *raised):
        if kind is None:
            self._compare()

    def _stamps(self) -> list[tuple[int, int]]:
        try:
            return [(found.st_size, found.st_mtime_ns) for found in (file.stat() for file in self.files)]
        except OSError as error:
            raise DataError(f"{error.filename} cannot be read ({error.strerror}). Get or write it again.") from error

    def _compare(self) -> None:
        for file, before, now in zip(self.files, self.seen, self._stamps(), strict=True):
            if before != now:
                raise DataError(
                    f"{file} was changed while it was read (it had {before[0]:,} bytes, and has {now[0]:,} of another "
                    "time): its rows would be taken for others. Wait until it is written, or copy it, and begin again."
                )


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


def _distinct_names(columns: Iterable, where: str) -> tuple[str, ...]:
    names = pd.Index([str(name) for name in columns], dtype=object)
    for name in names:
        if trouble := unusable(name):
            raise DataError(f"{where} has a column {shown(name)}, whose name {trouble}. Rename it.")
    if not len(names):
        raise DataError(f"{where} has no columns.")
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise DataError(
            f"{where} has more than one column named {', '.join(map(repr, twice[:5]))}; every column needs a name of "
            "its own. Rename them."
        )
    return tuple(names)
