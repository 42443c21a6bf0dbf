"""Parquet and Arrow files as streams: columns of numbers as features, other columns as groups."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from .errors import ConfigurationError, DataError, FeatureTypeError, GroupError
from .inputs import whole_number
from .streams import Stream, labels_of

#: Endings of the files that are read, and how.
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".feather": "ipc", ".arrow": "ipc", ".ipc": "ipc"}
# Rows converted from columns to rows at once: their numbers stay in cache meanwhile.
CONVERTED = 16384


class ParquetStream(Stream):
    """Batches of the rows of Parquet or Arrow files, in the order of the files and of the rows in them.

    Parameters
    ----------
    path : str, Path, list of these, or pyarrow.dataset.Dataset
        A file, several files, a folder (its files in the order of their paths, those in folders such as ``year=2020``
        with the column ``year``), or a data set of pyarrow, filtered if need be. Arrow files (Feather, IPC) are read
        as well. The columns that are read have one type in all files, which may not change from one pass to the next;
        checksums of Parquet's pages are compared where files have them.
    sensitive_features : str or list of str
        The column of the groups, or several columns for several attributes. They are no features.
    columns : list of str, optional
        The features, in this order; all other columns unless given.
    batch_size : int
        Rows in a batch, whatever the row groups of the files.

    Attributes
    ----------
    dtype : numpy.dtype
        float32 if every feature is, otherwise float64. Missing values come out as NaN, for the methods to refuse.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"x": [1.0, 2.0, 3.0], "sex": ["f", "m", "f"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows.to_parquet(Path(folder, "rows.parquet"))
    ...     [(X.shape, sex.tolist()) for X, sex in ParquetStream(folder, "sex", batch_size=2)]
    [((2, 1), ['f', 'm']), ((1, 1), ['f'])]
    """

    def __init__(self, path, sensitive_features, *, columns=None, batch_size: int = 65536):
        self.batch_size = whole_number("batch_size", batch_size, 1)
        self._arrow = _pyarrow()
        self.dataset = _dataset(path)
        schema = self.dataset.schema
        self.attributes = _names("sensitive_features", sensitive_features)
        # A data frame that was written with its index has it as a column.
        index = [name for name in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)]
        others = [name for name in schema.names if name not in self.attributes and name not in index]
        features = others if columns is None else _names("columns", columns)
        if missing := [name for name in (*self.attributes, *features) if name not in schema.names]:
            raise DataError(f"no column {missing[0]!r}; the columns are {', '.join(schema.names)}.")
        if both := [name for name in features if name in self.attributes]:
            raise ConfigurationError(f"column {both[0]!r} is asked for as a feature and as the group. Take it once.")
        if not features:
            raise DataError(f"no column is left for the features; the columns are {', '.join(schema.names)}.")
        self.feature_names, self.n_features = tuple(features), len(features)
        self.dtype = _common_type(schema, features)
        self._seen: dict = {}  # size and time of the files when they were looked at first

    @cached_property
    def n_rows(self) -> int:
        """Number of rows, from the heads of the files."""
        return sum(rows for _, rows in self._pieces)

    @cached_property
    def labels(self) -> np.ndarray:
        """Sorted labels of all groups, from a pass over the sensitive columns alone."""
        return labels_of(self._labelled_parts())

    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the batches."""
        return self._from(0)

    def _from(self, start: int) -> Iterator[tuple]:
        at, first = 0, 0
        if start > 0:
            while first < len(self._pieces) and at + self._pieces[first][1] <= start:
                at += self._pieces[first][1]
                first += 1
        return self._checked(self._batches(first, at), start, at)

    @cached_property
    def _pieces(self) -> list:
        """What can be skipped as a whole, with its rows: row groups, or files, or the one filtered data set."""
        self._require_unchanged()
        with self._reading():
            try:
                fragments = list(self.dataset.get_fragments())
            except ValueError as error:  # of a filtered data set, which pyarrow does not take apart
                if isinstance(error, self._arrow.ArrowException):
                    raise
                schemas = {file: self.dataset.format.inspect(file, self.dataset.filesystem) for file in self._seen}
                every = {*self.dataset.schema.names}
                self._require_columns([(file, there, every - {*there.names}) for file, there in schemas.items()])
                return [(self.dataset, self.dataset.count_rows())]
            self._require_columns([(_place(one), one.physical_schema, _partition_names(one)) for one in fragments])
            pieces = []
            for fragment in fragments:
                groups = getattr(fragment, "row_groups", None)
                if groups is None:
                    pieces.append((fragment, fragment.count_rows()))
                else:
                    parts = fragment.split_by_row_group()
                    pieces += [(part, group.num_rows) for part, group in zip(parts, groups, strict=True)]
            return pieces

    def _require_unchanged(self) -> None:
        """DataError if a file was written since it was looked at first: passes over other rows do not fit together."""
        for path, seen in _sizes_and_times(self.dataset).items():
            if (before := self._seen.setdefault(path, seen)) != seen:
                raise DataError(
                    f"{path} was written to while it was in use: it had {before[0]} bytes, and has {seen[0]} now, of "
                    "another time. Begin again when it no longer changes, or read a copy."
                )

    def _require_columns(self, heads: list) -> None:
        """DataError unless all files, of which place, schema and keys in the path are given, have the columns alike."""
        # Arrow would fill a column that a file does not have with missing values, and cast one of another type.
        for place, there, keys in heads:
            for name in [name for name in (*self.feature_names, *self.attributes) if name not in keys]:
                if name not in there.names:
                    raise DataError(
                        f"{place} has no column {name!r}; the first file has. Its columns are {', '.join(there.names)}."
                    )
                wanted, found = self.dataset.schema.field(name).type, there.field(name).type
                if self._plain(wanted) != self._plain(found):
                    raise DataError(
                        f"column {name!r} is {found} in {place}, but {wanted} in {heads[0][0]}. Write all files with "
                        "one type for each column."
                    )

    def _plain(self, kind):
        """The type of the values, however text and categories are stored."""
        kind = kind.value_type if self._arrow.types.is_dictionary(kind) else kind
        return self._arrow.string() if self._arrow.types.is_large_string(kind) else kind

    def _batches(self, first: int, at: int) -> Iterator[tuple]:
        held, rows, wanted = [], 0, self.batch_size - at % self.batch_size  # batches end where they do in a whole pass
        for record in self._records(first, [*self.feature_names, *self.attributes]):
            while len(record):
                part = record.slice(0, wanted - rows)
                record = record.slice(len(part))
                held.append(part)
                rows += len(part)
                if rows == wanted:
                    yield self._batch(held, at)
                    at, held, rows, wanted = at + rows, [], 0, self.batch_size
        if held:
            yield self._batch(held, at)

    def _labelled_parts(self) -> Iterator[tuple]:
        at = 0
        for record in self._records(0, self.attributes):
            if len(record):
                groups = self._groups([self._arrow.chunked_array([column]) for column in record.columns], at)
                at += len(record)
                yield at, groups

    def _records(self, first: int, columns: list[str]) -> Iterator:
        """Record batches of some columns; read one after the other, so that few are in memory."""
        options = {"columns": columns, "batch_size": min(self.batch_size, CONVERTED), "batch_readahead": 1}
        pieces = self._pieces[first:]
        self._require_unchanged()
        for piece, _ in pieces:
            whole = piece is self.dataset
            more = {"fragment_readahead": 1} if whole else {"schema": self.dataset.schema}
            with self._reading(getattr(piece, "path", "the data set")):
                for record in piece.to_batches(**options, **more, **_checked_pages(piece)):
                    record.validate(full=True)  # offsets that lead outside of their buffers would end the process
                    yield record
        self._require_unchanged()

    def _batch(self, records: list, at: int) -> tuple:
        d = self.n_features
        number = self._arrow.float32() if self.dtype == np.float32 else self._arrow.float64()
        X = np.empty((sum(len(record) for record in records), d), dtype=self.dtype)
        filled = 0
        for record in records:
            columns = [column.cast(number, safe=False) for column in record.columns[:d]]
            block = self._arrow.record_batch(columns, list(self.feature_names))
            X[filled : filled + len(record)] = block.to_tensor(null_to_nan=True, row_major=True).to_numpy()
            filled += len(record)
        columns = [self._arrow.chunked_array(parts) for parts in zip(*(r.columns[d:] for r in records), strict=True)]
        return X, self._groups(columns, at)

    def _groups(self, columns: list, at: int) -> np.ndarray | pd.DataFrame:
        """The sensitive columns of some rows, the first of which is row ``at``."""
        groups = {}
        for name, column in zip(self.attributes, columns, strict=True):
            if missing := column.null_count:
                raise GroupError(
                    f"rows {at}:{at + len(column)}: sensitive column {name!r} has {missing} missing value(s). "
                    "Drop those rows (pass a pyarrow.dataset.Dataset with a filter), or give them a label of their own."
                )
            if self._arrow.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)  # the coding may differ from file to file
            if self._arrow.types.is_string(column.type) or self._arrow.types.is_large_string(column.type):
                coded = column.dictionary_encode().combine_chunks()  # few labels become Python's text, not all rows
                groups[name] = np.array(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
            else:
                groups[name] = column.to_numpy()
        return next(iter(groups.values())) if len(groups) == 1 else pd.DataFrame(groups)

    def _reading(self, what="the data set"):
        return _told(self._arrow, what)


@contextmanager
def _told(arrow, what):
    """Inside, what pyarrow raises for damaged files is raised as ``DataError``."""
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{what} cannot be read ({error}). Get or write it again.") from error


def _dataset(path):
    """The data set of pyarrow that a path, a list of paths or a data set stands for."""
    from pyarrow import dataset

    if isinstance(path, dataset.Dataset):
        return path
    files, partitioning = [], None
    for place in path if isinstance(path, list | tuple) else [path]:
        place = Path(place)
        if place.is_dir():
            partitioning = "hive"
            files += sorted(
                file for file in place.rglob("*")
                if file.suffix in FORMATS and not any(part[0] in "._" for part in file.relative_to(place).parts)
            )  # fmt: skip
        elif place.is_file():
            files.append(place)
        else:
            raise DataError(f"{place} does not exist. Give a file, a folder of files or a pyarrow.dataset.Dataset.")
    formats = {FORMATS.get(file.suffix) for file in files}
    if len(formats) != 1 or None in formats:
        found = ", ".join(sorted({file.suffix or "no ending" for file in files})) or "no such file"
        raise DataError(f"{path}: found {found}; needed are files of one format, with endings {', '.join(FORMATS)}.")
    base = str(path) if partitioning and not isinstance(path, list | tuple) else None
    with _told(_pyarrow(), files[0] if len(files) == 1 else path):
        return dataset.dataset(
            [str(file) for file in files], format=formats.pop(), partitioning=partitioning, partition_base_dir=base
        )


def _sizes_and_times(source) -> dict[str, tuple]:
    """Size and time of change of each file of a data set; of one in memory, or of several data sets, nothing."""
    files = getattr(source, "files", [])
    return (
        {found.path: (found.size, found.mtime_ns) for found in source.filesystem.get_file_info(files)} if files else {}
    )


def _checked_pages(piece) -> dict:
    """The option with which the pages of Parquet files are compared with their checksums."""
    from pyarrow import dataset

    parquet = isinstance(getattr(piece, "format", None), dataset.ParquetFileFormat)
    options = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
    return {"fragment_scan_options": options} if parquet else {}


def _place(fragment) -> str:
    return getattr(fragment, "path", "a part of the data set")


def _partition_names(fragment) -> tuple[str, ...]:
    from pyarrow import dataset

    return tuple(dataset.get_partition_keys(fragment.partition_expression))


def _common_type(schema, features: list[str]) -> np.dtype:
    """float32 if all features are, float64 for other numbers and booleans; ``FeatureTypeError`` naming the rest."""
    from pyarrow import types

    kinds = {name: schema.field(name).type for name in features}
    bad = [
        f"{name!r} ({kind})"
        for name, kind in kinds.items()
        if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind))
    ]
    if bad:
        raise FeatureTypeError(
            f"{len(bad)} of {len(features)} columns are not numeric: {', '.join(bad[:5])}"
            f"{', ...' if len(bad) > 5 else ''}. Encode them as numbers first, or choose others: columns=[...]."
        )
    return np.dtype(np.float32 if all(types.is_float32(kind) for kind in kinds.values()) else np.float64)


def _names(argument: str, names) -> list[str]:
    given = [names] if isinstance(names, str) else list(names) if isinstance(names, list | tuple) else []
    if not given or not all(isinstance(name, str) for name in given) or len(set(given)) < len(given):
        raise ConfigurationError(f"{argument}={names!r}; needed is the name of a column, or several different names.")
    return given


def _pyarrow():
    try:
        import pyarrow
        import pyarrow.dataset
    except ImportError as error:
        raise ConfigurationError(
            "reading Parquet and Arrow files needs pyarrow, which is not installed: pip install 'evenspan[scale]'."
        ) from error
    return pyarrow
