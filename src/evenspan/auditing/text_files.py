"""Text files such as CSV: pyarrow gives every cell as text, so that nothing is lost before it is decided what it is.

A column becomes numbers only if there is one reading of all its cells.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from ..core.errors import DataError
from ..core.inputs import require_memory
from .columns import EXACT, kept_as_text, number_of, readings
from .table import IN_BATCHES, MISSING, Table, checked, names_in, note_missing, require_names

PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: What other files begin with, and the ending that they should have.
MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"PAR1": ".parquet", b"ARROW1": ".feather",
         b"PK\x03\x04": ".xlsx"}  # fmt: skip
#: Bytes of memory for each byte of a file.
TEXT_BYTES = 6
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
#: Bytes at the head of a file by which it is found out how it is written.
_HEAD = 2**18


def text_file(path: Path, decimal, thousands, skip_rows: int, header: bool | None) -> Table:
    """A file of lines, each with the cells of a row; cells may be quoted and hold line breaks."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    require_memory(TEXT_BYTES * path.stat().st_size, f"{path.name} ({path.stat().st_size:,} bytes)", IN_BATCHES)
    with PACKED.get(path.suffix.lower(), open)(path, "rb") as file:
        data, notes = file.read(), []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16").encode()
        notes.append("the text is encoded as UTF-16")
    if data.startswith(tuple(MAGIC)) or b"\0" in data[:_HEAD]:
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
    found = checked(path.name, frame, notes)
    if header is None:
        require_names(found.frame, path.name)
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
    return separator, names_in(rows, starts, path.name, header, notes), starts[0 if header is False else 1]


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
    note_missing(missing, notes)
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
