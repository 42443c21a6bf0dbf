"""CSV and TSV files, as they are or packed: how they are written is found out, and what is no text is told."""

import bz2
import csv
import gzip
import lzma
import re
import warnings
import zlib
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from ..core.errors import DataError, FairError, LimitError
from .files import START, Unchanged, really
from .limits import TABLE
from .table import Table, named

#: Texts of a CSV, TSV or Excel file that stand for a missing value; the question mark is the custom of many archives.
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# Characters at the head of a file that are looked at to find out how it is written.
_HEAD = 2**18
_UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
_AGAIN = "Get or write it again"
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
            raise DataError(f"{self.path} cannot be read ({error}). {really(self.path) or _AGAIN}.") from error

    def _not_text(self, error: UnicodeDecodeError) -> str:
        if instead := really(self.path):
            return f"{self.path} is not a text file in UTF-8. {instead}."
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
            start = file.read(START)
    except _UNREADABLE as error:
        raise DataError(f"{path} cannot be read ({error}). {really(path) or _AGAIN}.") from error
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in start:
        raise DataError(f"{path} holds NUL bytes, so it is no text in UTF-8. {really(path, start) or _AGAIN}.")
    return "utf-8-sig"


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
