"""Tables from anywhere are opened here: data frames, Excel, Parquet and Arrow files, and those of text."""

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from ..core.errors import ConfigurationError, DataError, LimitError
from ..core.inputs import require_memory
from ..core.stream_files import FORMATS
from .files import EXCEL_FILES, PACKED, TEXT_FILES, Unchanged, foreign
from .limits import TABLE
from .table import Table, distinct_names, named, no_such_column, shown, unusable
from .text_files import MISSING, CsvTable

#: Bytes of memory for each unpacked byte of a workbook.
EXCEL_BYTES = 8


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
    with foreign(path, "as an Excel workbook", "Save it again as .xlsx"):
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
    frame.columns = distinct_names(header, path.name)
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
    with foreign(path, "as Parquet or Arrow", "Get or write it again"):
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
            record.validate(full=True)  # offsets that lead outside of their buffers would end the process
            if len(record):
                frame = record.to_pandas()
                yield frame.assign(**{name: fixed[name] for name in columns if name in fixed})[columns]
