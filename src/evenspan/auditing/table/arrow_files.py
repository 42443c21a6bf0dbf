"""Parquet and Arrow files and folders as data sets of pyarrow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from ...core.errors import ConfigurationError, DataError
from ...core.stream_files import FORMATS


@contextmanager
def reading(path: Path):
    """Inside, what pyarrow raises for damaged files is raised as ``DataError``."""
    try:
        import pyarrow
    except ImportError as error:
        raise ConfigurationError(
            "reading Parquet and Arrow files needs pyarrow, which is not installed: pip install 'evenspan[audit]'."
        ) from error
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read ({error}). Get or write it again.") from error


def open_dataset(path: Path):
    """The data set, and the names of columns that are the index of the data frame that was written.

    Parameters
    ----------
    path : Path
        A file, or a folder: its files in the order of their paths, those in folders such as ``year=2020`` with the
        column ``year``.

    Returns
    -------
    dataset : pyarrow.dataset.Dataset
        With at least one row.
    index : list of str
        To be left alone.
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
            file = parquet.ParquetFile(fragment.path, pre_buffer=False, buffer_size=2**16)
            stored = [name for name in columns if name not in fixed]
            records = file.iter_batches(batch_size=rows, columns=stored, use_threads=False)
        for record in records:
            if len(record):
                frame = record.to_pandas()
                yield frame.assign(**{name: fixed[name] for name in columns if name in fixed})[columns]
