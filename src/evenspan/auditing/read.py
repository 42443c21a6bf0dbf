"""Tables from data frames and files: pandas reads workbooks, Parquet and Arrow files, whose cells have types."""

from collections import Counter
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, DataError, FairError, LimitError
from ..core.inputs import require_memory
from .table import IN_BATCHES, MISSING, Table, checked, names_in, no_such_column, note_missing, require_names
from .text_files import MAGIC, PACKED, text_file

TEXT_FILES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
EXCEL_FILES = (".xlsx", ".xlsm")
TYPED_FILES = {".parquet": pd.read_parquet, ".pq": pd.read_parquet, ".feather": pd.read_feather,
               ".arrow": pd.read_feather, ".ipc": pd.read_feather}  # fmt: skip
#: Bytes of memory for each byte of a file with types.
TYPED_BYTES = 10


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
    return checked("table", table, (), decimal, thousands)


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
            require_memory(TYPED_BYTES * size, f"{path.name} ({size:,} bytes)", IN_BATCHES)
            frame = TYPED_FILES.get(kind, pd.read_parquet)(path)
            index = ", ".join(str(name) for name in frame.index.names if name is not None)
            notes = [f"{index}: the index of a data frame, not read"] if index else []
            return checked(path.name, frame, notes, decimal, thousands)
        if kind in EXCEL_FILES:
            return _workbook(path, sheet, decimal, thousands, skip_rows, header)
        if kind in TEXT_FILES:
            return text_file(path, decimal, thousands, skip_rows, header)
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
        raise LimitError(f"{path} does not fit into memory. {IN_BATCHES}") from error
    except Exception as error:  # damaged bytes make openpyxl, zipfile and pyarrow raise almost anything
        start = b""
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(8)
        real = next((ending for magic, ending in MAGIC.items() if start.startswith(magic)), path.suffix)
        remedy = "Get or write it again" if real == path.suffix else f"It looks like a file that should end with {real}"
        raise DataError(f"{path} cannot be read ({type(error).__name__}: {str(error)[:200]}). {remedy}.") from error


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
    names = names_in(head.to_numpy().tolist(), head.index.tolist(), title, header, notes)
    raw = raw if header is False else raw.iloc[1:]
    gaps = raw.isin(MISSING)
    note_missing(Counter(raw.to_numpy()[gaps.to_numpy()].tolist()), notes)
    frame = raw.where(~gaps, np.nan).infer_objects().reset_index(drop=True).set_axis(names, axis=1)
    found = checked(title, frame, notes, decimal, thousands)
    if header is None:
        require_names(found.frame, title)
    return found
