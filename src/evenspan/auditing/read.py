"""Tables from data frames and files: every cell has one reading, or there is a question.

pandas reads workbooks, Parquet and Arrow files, whose cells have types. Of text files pyarrow gives every cell as text,
so that nothing is lost before it is decided what it is.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, DataError, FairError, LimitError
from ..core.inputs import first_few, read_parquet, require_memory
from ..core.options import flag, none, one_of, whole
from .columns import EXACT, MARKS, MAX_CATEGORIES, MISSING_CODES, cleared, coded, no_such_column, read_numbers, readings

TEXT_FILES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
PACKED = (".gz", ".bz2", ".zst")
EXCEL_FILES = (".xlsx", ".xlsm")
_ARROW = dict.fromkeys((".feather", ".arrow", ".ipc"), pd.read_feather)
TYPED_FILES = {".parquet": read_parquet, ".pq": read_parquet} | _ARROW
#: Bytes of memory for each byte of a file with types, and of text, also of a workbook as it is unpacked.
TYPED_BYTES, TEXT_BYTES = 10, 6
#: Texts that stand for a missing value; the last are errors of a spreadsheet.
_GAPS = "? NA N/A n/a NaN nan -nan NAN None null NULL <NA> \\N #N/A #NA #DIV/0! #VALUE! #REF! #NAME? #NUM! #NULL!"
MISSING = frozenset(["", *_GAPS.split()])
#: What the last row of a table calls itself that is none of the rows.
_TOTAL = re.compile(r"(grand |sub)?(total|sum|mean|average)s?:?|gesamt|summe|insgesamt|mittelwert", re.IGNORECASE)
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
#: In the XML of a sheet a formula whose value was not computed (an empty text is a value), and its column.
_NO_VALUE = re.compile(
    rb'<(?:\w+:)?c r="([A-Z]+)\d+"(?![^>]*t="str")[^>]*>\s*<f(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v ?/>|<v></v>)?\s*</'
)
#: Bytes at the head of a text file by which it is found out how it is written.
_HEAD = 2**18
_SMALLER = "Audit rows drawn at random; evenspan.GroupMoments.from_batches sums moments of all rows, batch by batch."


class Table(NamedTuple):
    """A table in memory: its columns have different names, each is numbers, dates, truth values or texts."""

    name: str  # of the file, or "table"
    frame: pd.DataFrame
    notes: tuple[str, ...] = ()  # what had to be found out or decided to read it
    doubts: tuple[str, ...] = ()  # what may have been meant otherwise

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.frame.columns)


def open_table(
    table, *, decimal: str | None = None, thousands: str | None = None, skip_rows: int = 0, header: bool | None = None,
    missing_codes=(),
) -> Table:  # fmt: skip
    """A data frame (of pandas, or anything with ``to_pandas``), or a file by its path; ``path::sheet`` of a workbook.

    The options say how numbers are written, how many lines of a file stand above the names, whether it has names, and
    what stands for no answer.
    """
    (one_of(".", ",") | none("to find out")).require("decimal", decimal)
    (one_of(*MARKS) | none("to find out")).require("thousands", thousands)
    if decimal and thousands == decimal:
        raise ConfigurationError(f"decimal={decimal!r}, thousands={thousands!r}; needed is another mark for each.")
    whole(0).require("skip_rows", skip_rows)
    (flag() | none("to find out")).require("header", header)
    MISSING_CODES.require("missing_codes", missing_codes)
    name, notes, doubts, frame = "table", [], [], table
    if isinstance(table, str | Path):
        path, sheet = split_path(str(table))
        name = f"{path.name}::{sheet}" if sheet else path.name
        frame = _from_path(path, sheet, decimal, thousands, skip_rows, header, notes, doubts)
    elif hasattr(table, "to_pandas"):
        frame = table.to_pandas()
    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"a {type(table).__name__} is no table; needed is a data frame, or the path of a file.")
    if frame.size and frame.iloc[-1].isna().all():
        frame = frame.dropna(how="all")
        notes.append("the empty rows at the end, and others without any value, were left out")
    if not frame.shape[0] or not frame.shape[1]:
        raise DataError(f"{name} has no {'rows' if frame.shape[1] else 'columns'}; needed is at least one.")
    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    if twice := [column for column, times in Counter(frame.columns).items() if times > 1]:
        raise DataError(
            f"{name} has more than one column named {first_few(map(repr, twice))}. Rename them; if the first line "
            "holds data instead of names, say --no-header (header=False)."
        )
    for column in missing_codes if isinstance(missing_codes, Mapping) else ():
        if column not in frame.columns:
            raise DataError(no_such_column(column, frame.columns, f"missing_codes: {name}"))
    frame, gone = cleared(frame, missing_codes)
    if gone:
        what = "; ".join(f"{one} {first_few(f'{w!r} ({n:,})' for w, n in of.items())}" for one, of in gone.items())
        notes.append(f"cells of no answer became missing, by column: {what}")
    if decimal or thousands or "point" in frame.attrs:
        read_numbers(frame, name, decimal, thousands, notes)
    if _is_total(frame):
        raise DataError(f"{name}: the last row looks like the totals or means of those above it. Delete it.")
    return Table(name, frame, tuple(notes), tuple(doubts))


def _is_total(frame: pd.DataFrame) -> bool:
    """Whether the last row calls itself a total, or most of its numbers, two or more, are sums of those above."""
    sums = []
    for column, cell in zip(frame, frame.tail(1).to_numpy(dtype=object)[0], strict=True):
        if isinstance(cell, str) and _TOTAL.fullmatch(cell) and (frame[column] == cell).sum() == 1:
            return True
        if frame[column].dtype.kind in "iuf" and pd.notna(cell):
            above = frame[column].iloc[:-1]
            sums.append(cell > above.max() and np.isclose(cell, above.sum()))
    return 2 <= sum(sums) > len(sums) / 2


def split_path(text: str) -> tuple[Path, str]:
    """The path and the sheet of a workbook that are named; ``::`` may be part of a name."""
    place, _, sheet = text.rpartition("::")
    return (Path(place), sheet) if place.lower().endswith(EXCEL_FILES) and not Path(text).exists() else (Path(text), "")


def _from_path(path: Path, sheet: str, decimal, thousands, skip_rows, header, notes, doubts) -> pd.DataFrame:
    """The table in a file, or in a folder of Parquet files."""
    if not path.exists():
        near = get_close_matches(path.name, [p.name for p in path.parent.iterdir()]) if path.parent.is_dir() else []
        raise DataError(f"{path} does not exist.{f' Did you mean {near[0]}?' if near else ''}")
    endings = ["", *(ending.lower() for ending in path.suffixes)]
    kind = endings[-2] if endings[-1] in PACKED else endings[-1]
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    size = sum(file.stat().st_size for file in files)
    _require_room(path, size, TEXT_BYTES if kind in TEXT_FILES else TYPED_BYTES)
    try:
        if path.is_dir() or kind in TYPED_FILES:
            frame = TYPED_FILES.get(kind, read_parquet)(path)
            if index := ", ".join(str(name) for name in frame.index.names if name is not None):
                notes.append(f"{index}: the index of a data frame, not read")
            for name in {part.partition("=")[0] for file in files for part in file.parts if "=" in part} & {*frame}:
                if isinstance(frame[name].dtype, pd.CategoricalDtype):  # numbers in the names of folders are numbers
                    frame[name] = frame[name].astype(frame[name].cat.categories.dtype)
            return frame
        if kind in EXCEL_FILES:
            return _workbook(path, sheet, skip_rows, header, notes, doubts)
        if kind in TEXT_FILES:
            return _text_file(path, decimal, thousands, skip_rows, header, notes)
    except FairError:
        raise
    except MemoryError as error:
        raise LimitError(f"{path.name} needs more memory than this process can get. {_SMALLER}") from error
    except ImportError as error:
        raise ConfigurationError(f"reading {path.name} needs more: pip install 'evenspan[audit]' ({error}).") from error
    except Exception as error:  # damaged bytes make openpyxl, zipfile and pyarrow raise almost anything
        raise DataError(
            f"{path} cannot be read ({type(error).__name__}: {str(error)[:200]}). It is damaged, or of another kind "
            "than its ending says: write it again, or rename it."
        ) from error
    raise DataError(
        f"{path}: tables with the ending {kind or '(none)'} are not read; needed is {', '.join(TEXT_FILES)} (also with "
        f"{', '.join(PACKED)}), {', '.join(TYPED_FILES)}, or {', '.join(EXCEL_FILES)}. Save or rename it so."
    )


def _require_room(path: Path, size: int, each: int, how: str = "") -> None:
    require_memory(each * size, f"{path.name} ({size:,} bytes{how})", _SMALLER)


def _workbook(path: Path, sheet: str, skip_rows: int, header: bool | None, notes, doubts) -> pd.DataFrame:
    """One sheet of a workbook."""
    with ZipFile(path) as packed:  # nothing reads more of a file in it than is stated there
        _require_room(path, sum(file.file_size for file in packed.infolist()), TEXT_BYTES, " unpacked")
    with pd.ExcelFile(path, engine="openpyxl") as book:
        sheets = book.sheet_names
        if sheet and sheet not in sheets:
            raise DataError(no_such_column(sheet, sheets, str(path), "sheet"))
        read = sheet or sheets[0]
        raw = pd.read_excel(book, read, header=None, dtype=object, keep_default_na=False, na_values=[""])
        with book.book[read]._get_source() as source:
            xml = source.read()
        hidden = [one for one in sheets if book.book[one].sheet_state != "visible"]
    if not sheet and len(sheets) > 1:
        notes.append(f"the first of {len(sheets)} sheets, {sheets[0]!r}, was read; name another as {path.name}::SHEET")
    if hidden:
        doubts.append(f"hidden sheets of the workbook: {first_few(map(repr, hidden))}; the sheet {read!r} was read")
    raw = raw.iloc[skip_rows:].dropna(how="all").dropna(how="all", axis=1)
    raw = raw.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    if len(raw) < 2 - (header is False):
        raise DataError(f"{path.name} has no rows below a line of names; needed is at least one.")
    head = raw.head(100).astype(object).where(raw.head(100).notna(), "").map(str)
    names = _names(head.to_numpy().tolist(), head.index.tolist(), path.name, header, notes)
    raw = raw if header is False else raw.iloc[1:]
    _unseen(xml, raw, names, doubts)
    gaps = raw.isin(MISSING)
    missing = Counter(raw.to_numpy()[gaps.to_numpy()].tolist())
    frame = raw.where(~gaps, np.nan).infer_objects().reset_index(drop=True).set_axis(names, axis=1)
    return _named(frame, path.name, header, missing, notes)


def _unseen(xml: bytes, raw: pd.DataFrame, names: list[str], doubts: list[str]) -> None:
    """Tell of hidden rows and columns and of formulas without values in a sheet; ``raw`` counts its cells from 0."""
    from openpyxl.utils import column_index_from_string

    hidden = {b"row": [], b"col": []}
    for kind, tag in re.findall(rb'<(?:\w+:)?(row|col) ([^>]*hidden="(?:1|true)"[^>]*)>', xml):
        at = {key: int(value) for key, value in re.findall(rb'\b(r|min|max)="(\d+)"', tag)}
        hidden[kind] += range(at.get(b"r", at.get(b"min", 1)) - 1, at.get(b"r", at.get(b"max", 0)))
    how = "hidden in the workbook, and used as all others:"
    if rows := [i + 1 for i in hidden[b"row"] if i in raw.index]:
        doubts.append(f"{len(rows):,} rows (the first in line {rows[0]}) are {how} delete them if they do not belong")
    if columns := [name for j, name in zip(raw, names, strict=True) if j in hidden[b"col"]]:
        doubts.append(f"columns {first_few(map(repr, columns))} are {how} --exclude leaves them out")
    empty = Counter(column_index_from_string(letters.decode()) - 1 for letters in _NO_VALUE.findall(xml))
    if told := [f"{name!r} ({empty[j]:,})" for j, name in zip(raw, names, strict=True) if empty[j]]:
        doubts.append(f"formulas without values, read as missing: {first_few(told)}. Save the file in a spreadsheet")


# -- text files --------------------------------------------------------------------------------------------------------


def _text_file(path: Path, decimal, thousands, skip_rows, header, notes: list[str]) -> pd.DataFrame:
    """A file of lines, each with the cells of a row; cells may be quoted and hold line breaks."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    data = bytearray()
    with pa.input_stream(str(path)) as file:  # which unpacks by the ending
        while block := file.read(2**24):
            data += block
            _require_room(path, len(data), TEXT_BYTES - 1, " unpacked so far")  # beside those that are read
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16").encode()
    if b"\0" in data[:_HEAD]:
        raise ValueError("it holds bytes that are no text in UTF-8")
    names: list[str] = []
    try:
        whole = len(data) <= _HEAD
        head = codecs.getincrementaldecoder("utf-8-sig")().decode(data[:_HEAD], final=whole)
        separator, starts, rows = _layout(head, whole, path, skip_rows)
        if data.count(b'"') % 2 or b'\\"' in data:
            _require_closed(data, separator, path)
        if separator != ",":
            notes.append(f"cells are separated by {_SEPARATORS.get(separator, repr(separator))}")
        names = _names(rows, starts, path.name, header, notes)
        ids = [str(j) for j in range(len(names))]
        cells = arrow.read_csv(
            pa.BufferReader(data),
            arrow.ReadOptions(column_names=ids, skip_rows=starts[header is not False], block_size=2**24),
            arrow.ParseOptions(delimiter=separator, newlines_in_values=True),
            arrow.ConvertOptions(column_types=dict.fromkeys(ids, pa.large_string()), strings_can_be_null=False),
        )
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        if names:
            _require_closed(data, separator, path, failed=True)
        why = f"a line has more or fewer cells than the {len(names)} names ({str(error)[:150]}). Correct or delete it."
        if "utf" in str(error).lower():
            how = f"iconv -f WINDOWS-1252 -t UTF-8 {path.name} > new.csv"
            why = f"it is not encoded as UTF-8. Save it as UTF-8, for instance: {how}"
        raise DataError(f"{path}: {why}") from error
    if b'"' in data and data.count(b"\n") > cells.num_rows + starts[header is not False]:  # rows of several lines
        _require_closed(data, separator, path)
    missing: Counter = Counter()
    told, columns, point = decimal == "," or thousands == ".", [], False
    for one in cells.columns:
        values, marked = (None, False) if told else _plain(one, missing)
        columns.append(pd.Categorical.from_codes(*_words(one, missing)) if values is None else values)
        point |= marked and separator == ","
    frame = pd.DataFrame(dict(enumerate(columns)), copy=False).set_axis(names, axis=1)
    frame.attrs["point"] = point  # for read_numbers
    return _named(frame, path.name, header, missing, notes)


def _require_closed(data: bytes, separator: str, path: Path, *, failed: bool = False) -> None:
    """Refuse a quoted cell of several lines or cells that goes on behind its last mark; any, where reading failed."""
    ends = (b"", b"\n", b"\r", separator.encode())
    opened = b"(?<![^\n\r" + re.escape(ends[-1]) + b"])"
    for cell in re.finditer(opened + rb'"((?:[^"]++|"")*+)("?) *+(?=(.?))', data, re.DOTALL):
        text, closed, escaped = cell[1], bool(cell[2]), cell[1].endswith(b"\\")
        if closed and (cell[3] in ends or not (failed or escaped or b"\n" in text or ends[-1] in text)):
            continue
        line, lines = data.count(b"\n", 0, cell.start()) + 1, (text if closed else text.rstrip()).count(b"\n")
        how = f"closed in line {line + lines}, where the cell goes on" if closed else "never closed"
        how = "closed behind a backslash, for which pandas.read_csv has escapechar" if closed and escaped else how
        told = f", so that {lines:,} row(s) are swallowed" if lines else ""
        raise DataError(f"{path}: a quotation mark in line {line} is {how}{told}. Correct the line.")


def _layout(head: str, whole: bool, path: Path, skip_rows: int) -> tuple[str, list[int], list[list[str]]]:
    """From the first lines of a file its separator, where each row begins (and the last one ends), and their cells."""
    lines = list(io.StringIO(head, newline=""))
    asked = re.fullmatch(r'"?sep=(.)"?', lines[0].strip("\r\n"), re.IGNORECASE) if lines else None
    skip = max(skip_rows, 1 if asked else 0)
    csv.field_size_limit(max(csv.field_size_limit(), _HEAD))

    def cut(separator: str) -> tuple[list[int], list[list[str]]]:
        reader, starts, rows, at = csv.reader(lines[skip:], delimiter=separator), [], [], skip
        for row in reader:
            if row and (whole or reader.line_num < len(lines) - skip):
                starts.append(at)
                rows.append([cell.strip() for cell in row])
            at = skip + reader.line_num
        return [*starts, at], rows

    def fit(separator: str) -> tuple[float, int]:
        """The share of rows of the most frequent number of cells, and this number."""
        sizes = Counter(map(len, found[separator][1]))
        width, times = sizes.most_common(1)[0] if sizes else (1, 1)
        return (times / sizes.total(), width) if width > 1 and 2 * times > sizes.total() else (0.0, 1)

    usual = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    found = {separator: cut(separator) for separator in ([asked[1]] if asked else [usual, *_SEPARATORS])}
    separator = max(found, key=fit)
    starts, rows = found[separator]
    if not rows:
        raise DataError(f"{path} is empty; needed is a line of column names and at least one row.")
    if max(map(len, rows)) < 2:
        raise DataError(
            f"{path.name}: every line is one cell, the first {rows[0][0][:60]!r}; needed are cells separated by "
            f"{', '.join(_SEPARATORS.values())}. Save it so, or write the separator into a first line such as sep=~."
        )
    return separator, starts, rows


def _plain(cells, missing: Counter) -> tuple[np.ndarray | None, bool]:
    """Cells as float64 if they are plainly numbers, and whether that shows the point to be a decimal mark."""
    import pyarrow as pa
    from pyarrow import compute

    gaps = compute.is_in(cells, value_set=pa.array(sorted(MISSING), pa.large_string()))
    try:
        values = compute.cast(compute.if_else(gaps, None, cells), pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None, False
    zeros = compute.match_substring_regex(cells, "^[+-]?0[0-9]")
    if np.isnan(values).all() or np.nanmax(np.abs(values)) >= EXACT or compute.any(zeros).as_py():
        return None, False
    points = cells.filter(compute.match_substring(cells, "."))
    thousands = compute.match_substring_regex(points, r"^[+-]?[1-9][0-9]{0,2}[.][0-9]{3}$")
    if len(points) and compute.all(thousands).as_py():
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


# -- names -------------------------------------------------------------------------------------------------------------


def _names(rows: list[list[str]], lines: list[int], name: str, header: bool | None, notes: list[str]) -> list[str]:
    """The names of the columns, from the first rows and the numbers of their lines; a question if others are meant.

    Programs may name the columns but not the row index before them, or end each row with a separator.
    """
    first, rest = rows[0], rows[1:]
    if header is False:
        return [f"column {j}" for j in range(1, len(first) + 1)]
    if header is None:
        width = Counter(map(len, rest or rows)).most_common(1)[0][0]
        same = [row for row in rest if len(row) == width]
        full = next((i for i, row in enumerate(rows) if len(row) == width and sum(map(bool, row)) >= width / 2), 0)
        at, odd, why = 0, [0], ""
        one_less = len(first) == width - 1 and all(first)
        if one_less and all(not row[-1] for row in same):
            first = [*first, ""]
        elif one_less and len({row[0] for row in same}) == len(same) and any(readings([cell]) for cell in rest[0]):
            first = ["", *first]
        elif full > 0:
            at, why = full, f"does not name the {width} columns"
        elif at := _texts_below(rest[:29]):
            odd, why = list(range(1, at + 1)), f"hold{'s' if at == 1 else ''} no number, other than the rows"
        if why:
            seen = " and ".join(f"line {lines[i] + 1} {'; '.join(filter(None, rows[i]))[:60]!r}" for i in odd)
            raise DataError(
                f"{name}: {seen} {why} below. If the names stand in line {lines[at] + 1}, say --skip-rows {lines[at]} "
                f"(skip_rows={lines[at]}); else delete {'that line' if len(odd) == 1 else 'these lines'}, or say "
                "--header (header=True) if all is right."
            )
    names = [word.strip() or f"column {j}" for j, word in enumerate(first, 1)]
    if empty := [new for new, word in zip(names, first, strict=True) if not word.strip()]:
        notes.append(f"columns without a name are called by their position: {first_few(empty)}")
    return names


def _texts_below(rows: list[list[str]]) -> int:
    """How many of the first rows hold no number, above a column of numbers, which is headed by texts; 0 if none."""
    numeric = [[None if cell in MISSING else bool(readings([cell])) for cell in row] for row in rows]
    for most in range(1, min(6, len(rows))):
        if any(numeric[most - 1]):
            return 0
        for column in zip(*numeric, strict=False):
            below = [one for one in column[most:] if one is not None]
            if False in column[:most] and len(below) >= 3 and all(below):
                return most
    return 0


def _named(frame: pd.DataFrame, name: str, header, missing: Counter, notes: list[str]) -> pd.DataFrame:
    """The frame, unless what was taken for names looks like its first row; notes say which words were missing cells."""
    if told := [f"{word!r} ({count:,})" for word, count in missing.most_common() if word]:
        notes.append(f"read as missing, besides empty cells: {first_few(told)}")
    if header is not None:
        return frame
    values = [word for word in frame.columns if readings([word]) and re.search("[0-9]", word)]
    whole = sorted(int(word) for word in values if word.isdigit())
    counted = len(set(np.diff(whole))) == 1 or whole == [0] or all(1900 <= year <= 2100 for year in whole)
    words = {column: set(coded(cells)[1]) for column, cells in frame.items() if cells.dtype.kind not in "biufM"}
    words = {column: found for column, found in words.items() if 1 < len(found) <= MAX_CATEGORIES}
    again = [column for column, found in words.items() if column in found]
    why = ""
    if values and (len(whole) < len(values) or not counted):
        why = f"{values[0]!r} would be the name of a column"
    elif again and len(again) >= len(words) / 2:
        why = f"the name {again[0]!r} is also a value in the rows of its column"
    if why:
        raise DataError(
            f"{name}: the first line looks like data, since {why}. Say --no-header (header=False) if there are no "
            "names, --header (header=True) if these are the names; delete lines that repeat the names."
        )
    return frame
