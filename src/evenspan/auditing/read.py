"""Tables from data frames and files: read as they are written, or answered with a plain question.

pandas reads workbooks, Parquet and Arrow files, whose cells have types. Of text files pyarrow gives every cell as text,
so that nothing is lost before it is decided: a column becomes numbers only if there is one reading of all its cells.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, DataError, FairError, LimitError
from ..core.inputs import require_memory
from .columns import EXACT, MAX_CATEGORIES, coded, kept_as_text, number_of, readings, require_plain
from .limits import TABLE

TEXT_FILES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
EXCEL_FILES = (".xlsx", ".xlsm")
TYPED_FILES = {".parquet": pd.read_parquet, ".pq": pd.read_parquet, ".feather": pd.read_feather,
               ".arrow": pd.read_feather, ".ipc": pd.read_feather}  # fmt: skip
PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: Texts of a file that stand for a missing value; the last are errors of a spreadsheet.
_GAPS = (
    "? NA N/A n/a NaN nan -nan -NaN NAN None null NULL <NA> \\N #N/A #NA 1.#IND -1.#IND 1.#QNAN -1.#QNAN "
    "#DIV/0! #VALUE! #REF! #NAME? #NUM! #NULL!"
)
MISSING = frozenset(["", *_GAPS.split()])
#: Names that a column gets which has none, here or by pandas.
UNNAMED = re.compile(r"Unnamed: .*|column \d+")
#: Bytes of memory for each byte of a text file, and of one with types.
TEXT_BYTES, TYPED_BYTES = 6, 10
_IN_BATCHES = (
    "Audit rows drawn at random; evenspan.GroupMoments.from_batches sums group moments of all rows, batch by batch."
)
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
#: Bytes at the head of a text file by which it is found out how it is written.
_HEAD = 2**18
#: What a file begins with, and the ending that it should have.
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"PAR1": ".parquet", b"ARROW1": ".feather",
          b"PK\x03\x04": ".xlsx"}  # fmt: skip


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


def open_table(
    table, *, decimal: str | None = None, thousands: str | None = None, skip_rows: int = 0, header: bool | None = None
) -> Table:
    """A data frame (of pandas, or anything with ``to_pandas``), or a file by its path; ``path::sheet`` of a workbook.

    The options say how numbers are written, how many lines of a file stand above the names, and whether it has names.
    """
    if isinstance(table, str | Path):
        return _open_path(str(table), decimal, thousands, skip_rows, header)
    if not isinstance(table, pd.DataFrame) and hasattr(table, "to_pandas"):
        table = table.to_pandas()
    if not isinstance(table, pd.DataFrame):
        raise DataError(
            f"a {type(table).__name__} is no table with named columns; needed is a data frame or the path of a file. "
            "Put an array into pandas.DataFrame(X, columns=[...]) together with the sensitive column."
        )
    return _checked("table", table, (), decimal, thousands)


def _open_path(text: str, decimal, thousands, skip_rows, header) -> Table:
    path, sheet = split_path(text)
    if not path.exists():
        near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()]) if path.parent.is_dir() else []
        raise DataError(f"{path} does not exist.{f' Did you mean {near[0]}?' if near else ''}")
    endings = ["", *(ending.lower() for ending in path.suffixes)]
    kind = endings[-2] if endings[-1] in PACKED else endings[-1]
    if sheet and kind not in EXCEL_FILES:
        raise DataError(f"{text}: only Excel workbooks ({', '.join(EXCEL_FILES)}) have sheets.")
    with _reading(path):
        if path.is_dir() or kind in TYPED_FILES:
            size = sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]))
            require_memory(TYPED_BYTES * size, f"{path.name} ({size:,} bytes)", _IN_BATCHES)
            frame = TYPED_FILES.get(kind, pd.read_parquet)(path)
            index = ", ".join(str(name) for name in frame.index.names if name is not None)
            notes = [f"{index}: the index of a data frame, not read"] if index else []
            return _checked(path.name, frame, notes, decimal, thousands)
        if kind in EXCEL_FILES:
            return _workbook(path, sheet, decimal, thousands, skip_rows, header)
        if kind in TEXT_FILES:
            return _text_file(path, decimal, thousands, skip_rows, header)
    raise DataError(
        f"{path}: tables with the ending {kind or '(none)'} are not read; needed is {', '.join(TEXT_FILES)} (also with "
        f"{', '.join(PACKED)}), {', '.join(TYPED_FILES)}, or {', '.join(EXCEL_FILES)}. Save or rename it so."
    )


def split_path(text: str) -> tuple[Path, str]:
    """The path and the sheet that are named; ``::`` may be part of a name."""
    place, _, sheet = text.rpartition("::")
    return (Path(text), "") if not place or Path(text).exists() else (Path(place), sheet)


@contextmanager
def _reading(path: Path):
    """Inside, whatever a reader of damaged or foreign bytes raises is raised as ``DataError``."""
    try:
        yield
    except FairError:
        raise
    except ImportError as error:
        raise ConfigurationError(f"reading {path.name} needs more: pip install 'evenspan[audit]' ({error}).") from error
    except MemoryError as error:
        raise LimitError(f"{path} does not fit into memory. {_IN_BATCHES}") from error
    except Exception as error:  # damaged bytes make openpyxl, zipfile and pyarrow raise almost anything
        start = b""
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(8)
        real = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), path.suffix)
        remedy = "Get or write it again" if real == path.suffix else f"It looks like a file that should end with {real}"
        raise DataError(f"{path} cannot be read ({type(error).__name__}: {str(error)[:200]}). {remedy}.") from error


def _checked(name: str, frame: pd.DataFrame, notes: Iterable[str], decimal=None, thousands=None) -> Table:
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


def _names_in(rows: list[list[str]], lines: list[int], name: str, header: bool | None, notes: list[str]) -> list[str]:
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


def _require_names(frame: pd.DataFrame, name: str) -> None:
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


# -- workbooks ---------------------------------------------------------------------------------------------------------


def _workbook(path: Path, sheet: str, decimal, thousands, skip_rows: int, header: bool | None) -> Table:
    """One sheet of a workbook."""
    with pd.ExcelFile(path, engine="openpyxl") as book:
        sheets = book.sheet_names
        if sheet and sheet not in sheets:
            raise DataError(no_such_column(sheet, sheets, str(path), "sheet"))
        raw = pd.read_excel(book, sheet or sheets[0], header=None, dtype=object, keep_default_na=False, na_values=[""])
    raw = raw.iloc[skip_rows:].dropna(how="all").dropna(how="all", axis=1)
    raw = raw.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    title = f"{path.name}::{sheet}" if sheet else path.name
    if len(raw) < 2 - (header is False):
        raise DataError(f"{title} has no rows below a line of names; needed is at least one.")
    other = f"the first of {len(sheets)} sheets, {sheets[0]!r}, was read; name another as {path.name}::SHEET"
    notes = [] if sheet or len(sheets) == 1 else [other]
    head = raw.head(100).astype(object).where(raw.head(100).notna(), "").map(str)
    names = _names_in(head.to_numpy().tolist(), head.index.tolist(), title, header, notes)
    raw = raw if header is False else raw.iloc[1:]
    gaps = raw.isin(MISSING)
    _note_missing(Counter(raw.to_numpy()[gaps.to_numpy()].tolist()), notes)
    frame = raw.where(~gaps, np.nan).infer_objects().reset_index(drop=True).set_axis(names, axis=1)
    found = _checked(title, frame, notes, decimal, thousands)
    if header is None:
        _require_names(found.frame, title)
    return found


def _note_missing(words: Counter, notes: list[str]) -> None:
    if told := [f"{word!r} ({count:,})" for word, count in words.most_common() if word]:
        notes.append(f"read as missing, besides empty cells: {', '.join(told[:8])}")


# -- text files --------------------------------------------------------------------------------------------------------


def _text_file(path: Path, decimal, thousands, skip_rows: int, header: bool | None) -> Table:
    """A file of lines, each with the cells of a row; cells may be quoted and hold line breaks."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    require_memory(TEXT_BYTES * path.stat().st_size, f"{path.name} ({path.stat().st_size:,} bytes)", _IN_BATCHES)
    with PACKED.get(path.suffix.lower(), open)(path, "rb") as file:
        data, notes = file.read(), []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16").encode()
        notes.append("the text is encoded as UTF-16")
    if data.startswith(tuple(_MAGIC)) or b"\0" in data[:_HEAD]:
        raise ValueError("it holds bytes that are no text in UTF-8")
    names: list[str] = []
    try:
        head = codecs.getincrementaldecoder("utf-8-sig")().decode(data[:_HEAD], final=len(data) <= _HEAD)
        separator, names, skip = _layout(head, len(data) <= _HEAD, path, skip_rows, header, notes)
        ids = [str(j) for j in range(len(names))]
        cells = arrow.read_csv(
            pa.BufferReader(data),
            arrow.ReadOptions(column_names=ids, skip_rows=skip, block_size=2**24),
            arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
            arrow.ConvertOptions(column_types=dict.fromkeys(ids, pa.large_string()), strings_can_be_null=False),
        )
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        why = (
            f"a line has more or fewer cells than the {len(names)} names ({str(error)[:150]}). Correct the line, or "
            "delete it if it is no row of the table."
        )
        if "utf" in str(error).lower():
            how = f"iconv -f WINDOWS-1252 -t UTF-8 {path.name} > new.csv"
            why = f"it is not encoded as UTF-8. Save it as UTF-8, for instance: {how}"
        raise DataError(f"{path}: {why}") from error
    if not cells.num_rows:
        raise DataError(f"{path} has a line of column names but no rows; needed is at least one.")
    if data.count(b'"') % 2 and any("\n" in str(column[-1]) for column in cells.columns):
        raise DataError(f"{path}: a quotation mark is never closed, so that rows are swallowed. Close or delete it.")
    frame = _columns(cells, names, path.name, separator == ",", decimal, thousands, notes)
    found = _checked(path.name, frame, notes)
    if header is None:
        _require_names(found.frame, path.name)
    return found


def _layout(head: str, whole: bool, path: Path, skip_rows: int, header, notes: list[str]) -> tuple[str, list[str], int]:
    """Separator, names, and number of lines above the first row, from the first lines of a file."""
    lines = list(io.StringIO(head, newline=""))
    asked = re.fullmatch(r'"?sep=(.)"?', lines[0].strip("\r\n"), re.IGNORECASE) if lines else None
    skip = max(skip_rows, 1 if asked else 0)
    csv.field_size_limit(max(csv.field_size_limit(), _HEAD))

    def cut(separator: str) -> tuple[list[int], list[list[str]]]:
        """Where each row begins, and its cells."""
        reader, starts, rows, at = csv.reader(lines[skip:], delimiter=separator), [], [], skip
        for row in reader:
            if row and (whole or reader.line_num < len(lines) - skip):
                starts.append(at)
                rows.append([cell.strip() for cell in row])
            at = skip + reader.line_num
        return [*starts, at], rows

    def fit(separator: str) -> tuple[float, int]:
        """The share of rows of the most frequent number of cells, and this number."""
        sizes = Counter(map(len, cut(separator)[1]))
        width, times = sizes.most_common(1)[0] if sizes else (1, 1)
        return (times / sizes.total(), width) if width > 1 and 2 * times > sizes.total() else (0.0, 1)

    usual = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    separator = asked[1] if asked else max([usual, *_SEPARATORS], key=fit)
    if separator != ",":
        notes.append(f"cells are separated by {_SEPARATORS.get(separator, repr(separator))}")
    starts, rows = cut(separator)
    if not rows:
        raise DataError(f"{path} is empty; needed is a line of column names and at least one row.")
    return separator, _names_in(rows, starts, path.name, header, notes), starts[0 if header is False else 1]


def _columns(cells, names: list[str], name: str, commas: bool, decimal, thousands, notes: list[str]) -> pd.DataFrame:
    """The columns of a text file: float64 where there is one reading of their cells, and categories of texts."""
    missing: Counter = Counter()
    found, unsure, point = [], {}, False
    for j, column in enumerate(names):
        values, marked = (None, False) if decimal == "," or thousands == "." else _plain(cells[j], missing)
        point |= marked
        if values is None:
            codes, words = _words(cells[j], missing)
            conventions = readings(words, decimal, thousands) if len(words) and not kept_as_text(words) else []
            values = pd.Categorical.from_codes(codes, words)
            if len(conventions) == 1:
                numbers = [number_of(word, *conventions[0]) for word in words]
                values = np.append(numbers, np.nan)[codes]
                at = next((i for i, word in enumerate(words) if not word.isdigit()), 0)
                if conventions[0] != (".", ""):
                    notes.append(f"{column}: numbers such as {words[at]!r} were read as {numbers[at]:.15g}")
            elif conventions:
                unsure[j] = words, conventions
        found.append(values)
    for j, (words, conventions) in unsure.items():
        if commas and point and (".", "") in conventions:  # other columns of the file have the point for decimals
            found[j] = found[j].astype(float)
            continue
        word = next(word for word in words if "," in word or "." in word)
        mark, (low, high) = "," if "," in word else ".", sorted(number_of(word, *c) for c in conventions)
        raise DataError(
            f"{name}: is {word!r} in column {names[j]!r} {low:.15g} or {high:.15g}? Every "
            f"{'comma' if mark == ',' else 'point'} of the column is followed by three digits: say --decimal '{mark}' "
            f"or --thousands '{mark}' (decimal= or thousands= in Python)."
        )
    _note_missing(missing, notes)
    return pd.DataFrame(dict(enumerate(found)), copy=False).set_axis(names, axis=1)


def _plain(cells, missing: Counter) -> tuple[np.ndarray | None, bool]:
    """Cells as float64 if they are plainly numbers, and whether that shows the point to be a decimal mark."""
    import pyarrow as pa
    from pyarrow import compute

    def everywhere(some, pattern: str) -> bool:
        return compute.all(compute.match_substring_regex(some, pattern)).as_py() is not False

    gaps = compute.is_in(cells, value_set=pa.array(sorted(MISSING), pa.large_string()))
    try:
        values = compute.cast(compute.if_else(gaps, None, cells), pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None, False
    zeros = cells.filter(compute.starts_with(cells, "0"))
    if np.isnan(values).all() or np.nanmax(np.abs(values)) >= EXACT or not everywhere(zeros, "^0([^0-9]|$)"):
        return None, False
    points = cells.filter(compute.match_substring(cells, "."))
    three = r"^[+-]?[1-9][0-9]{0,2}[.][0-9]{3}$"
    if len(points) and everywhere(points[:1000], three) and everywhere(points, three):
        return None, False
    missing.update(cells.filter(gaps).to_pylist())
    return values, len(points) > 0


def _words(cells, missing: Counter) -> tuple[np.ndarray, np.ndarray]:
    """Position of every cell among the distinct texts, without blanks around them, -1 if missing; and these texts."""
    found = cells.combine_chunks().dictionary_encode()
    at, words = found.indices.to_numpy(), [word.strip() for word in found.dictionary.to_pylist()]
    for word, times in zip(words, np.bincount(at, minlength=len(words)), strict=True):
        if word in MISSING:
            missing[word] += int(times)
    codes, distinct = pd.factorize(np.array([None if word in MISSING else word for word in words], dtype=object))
    return codes[at], np.asarray(distinct, dtype=object)
