"""Parquet and Arrow files as streams: columns of numbers as features, other columns as groups."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import chain, count
from pathlib import Path

import numpy as np
import pandas as pd

from .errors import ConfigurationError, DataError, FeatureTypeError, GroupError
from .groups import encode_groups, union_labels
from .inputs import first_few, require_package
from .options import whole
from .streams import Stream, telling

#: Endings of the files that are read, and how.
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".feather": "ipc", ".arrow": "ipc", ".ipc": "ipc"}

#: What pyarrow raises.
ARROW = (OSError, ValueError, TypeError, NotImplementedError)


class ParquetStream(Stream):
    """Batches of the rows of Parquet or Arrow files, in the order of the files and of the rows in them.

    All schemas are compared before a row is read. However slow the work with the batches is, no more is held than two
    groups of rows of Parquet, or two Arrow files; a filtered data set is read by one thread, a few batches ahead.

    Parameters
    ----------
    path : str, Path, list of these, or pyarrow.dataset.Dataset
        A file, several files, a folder (its files in the order of their paths, those in folders such as ``year=2020``
        with the column ``year``), or a data set of pyarrow, filtered if need be. Integers may be floats in other files.
    sensitive_features : str or list of str
        The column of the groups, or several columns for several attributes. They are no features.
    columns : list of str, optional
        The features, in this order; all other columns unless given, which must then be the same in every file.
    batch_size : int
        Most rows of a batch; a batch ends where a file or a group of rows in it ends.

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
        self.batch_size = whole(1).require("batch_size", batch_size)
        self.dataset = _dataset(path)
        schema = self.dataset.schema
        self.attributes = [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features)
        # A data frame that was written with its index has it as a column.
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        others = [name for name in schema.names if name not in (*self.attributes, *index)]
        features = others if columns is None else [columns] if isinstance(columns, str) else list(columns)
        if missing := [name for name in (*self.attributes, *features) if name not in schema.names]:
            raise DataError(f"no column {missing[0]!r}; the columns are {', '.join(schema.names)}.")
        if not features or {*features} & {*self.attributes}:
            raise ConfigurationError(f"features {features}, groups {self.attributes}; needed are columns for either.")
        self.feature_names, self.n_features = tuple(features), len(features)
        self.schema = _widest(self.dataset, None if columns is None else {*features, *self.attributes})
        self.dtype = _common_type(self.schema, features)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows, from the heads of the files."""
        return self.dataset.count_rows()

    @cached_property
    def labels(self) -> np.ndarray:
        """Sorted labels of all groups, from a pass over the sensitive columns alone."""
        found = (self._groups(record) for record in self._records(self.attributes))
        return union_labels(*[encode_groups(groups)[0] for groups in found if len(groups)] or [encode_groups([])[0]])

    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the batches."""
        return self._checked(self._batches(), placed=True)

    def _batches(self) -> Iterator[tuple]:
        for record in self._records([*self.feature_names, *self.attributes]):
            X = np.empty((len(record), self.n_features), dtype=self.dtype)
            for j, name in enumerate(self.feature_names):
                X[:, j] = record.column(name).cast(self.dtype.name, safe=False).to_numpy(zero_copy_only=False)
            yield X, self._groups(record)

    def _records(self, columns: list[str]) -> Iterator:
        """The record batches of a pass; while one is worked with, the next is read."""
        with ThreadPoolExecutor(1) as reader:
            records = self._scanned(columns)
            coming = reader.submit(next, records, None)
            while found := coming.result():
                coming = reader.submit(next, records, None)
                self.place, record = found
                yield record

    def _scanned(self, columns: list[str]) -> Iterator[tuple]:
        """The record batches and their places. Arrow reads ahead in a scan without end: each scan is of few rows."""
        number, ahead = count(1), {"batch_readahead": 1, "fragment_readahead": 1}
        how = ahead | {"columns": columns, "batch_size": self.batch_size}
        try:
            parts, how["schema"] = list(self.dataset.get_fragments()), self.schema
        except ValueError as error:  # filtered
            if self.schema != self.dataset.schema:
                raise DataError("a filtered data set has files of several types: give it the widest schema.") from error
            parts, how["use_threads"] = [self.dataset], False
        for part in parts:
            file = getattr(part, "path", "the data set")
            pieces = part.split_by_row_group() if hasattr(part, "split_by_row_group") else [part]
            with telling(file, ARROW):
                for record in chain.from_iterable(piece.to_batches(**how) for piece in pieces):
                    yield f"{file}, batch {next(number)}", record

    def _groups(self, records) -> np.ndarray | pd.DataFrame:
        """The sensitive columns of a table or record batch."""
        if missing := [name for name in self.attributes if records.column(name).null_count]:
            raise GroupError(
                f"{self.place}: sensitive column {missing[0]!r} has missing values. Give them a label of their own, "
                "or pass a pyarrow.dataset.Dataset that filters them out."
            )
        groups = records.select(self.attributes).to_pandas()
        return groups[self.attributes[0]].to_numpy() if len(self.attributes) == 1 else groups


def _dataset(path):
    """The data set of pyarrow that a path, a list of paths or a data set stands for."""
    dataset = require_package("pyarrow.dataset", "scale").dataset
    if isinstance(path, dataset.Dataset):
        return path
    files, options = list(map(Path, path if isinstance(path, list | tuple) else [path])), {}
    if missing := [file for file in files if not file.exists()]:
        raise DataError(f"{missing[0]} does not exist. Give a file, a folder of files or a pyarrow.dataset.Dataset.")
    if files and files[0].is_dir():
        options = {"partitioning": "hive", "partition_base_dir": str(files[0])}
        found = [file.relative_to(files[0]) for file in sorted(files[0].rglob("*")) if file.suffix.lower() in FORMATS]
        files = [files[0] / file for file in found if not any(part[0] in "._" for part in file.parts)]
    formats = {FORMATS.get(file.suffix.lower()) for file in files}
    if len(formats) != 1 or None in formats:
        found = ", ".join(sorted({file.suffix or "no ending" for file in files})) or "no such file"
        raise DataError(f"{path}: found {found}; needed are files of one format, with endings {', '.join(FORMATS)}.")
    kind, checked = formats.pop(), dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
    form = dataset.ParquetFileFormat(default_fragment_scan_options=checked) if kind == "parquet" else kind
    return dataset.dataset([str(file) for file in files], format=form, **options)


def _widest(dataset, chosen: set[str] | None):
    """The schema in the widest types over all files; DataError unless these have the same (chosen) columns."""
    pa, schema, first = require_package("pyarrow", "scale"), dataset.schema, None
    for file in getattr(dataset, "files", []):
        with telling(file, ARROW):
            found = dataset.format.inspect(file, dataset.filesystem)
            index = [name for name in (found.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)]
            names = {*found.names} - {*index} if chosen is None else {*found.names} & chosen
            first = first or (file, names)
            for name in sorted(names ^ first[1]):
                seen = f"{'a' if name in names else 'no'} column {name!r}, unlike {first[0]}"
                raise DataError(f"{seen}. Needed are the same in every file; choose some that all have: columns=[...].")
            own = [found.field(name) for name in schema.names if name in names]
            if any(field.type != schema.field(field.name).type for field in own):  # dictionaries cannot be widened
                kinds = [{f.name: getattr(f.type, "value_type", f.type) for f in part} for part in (schema, own)]
                schema = pa.unify_schemas(list(map(pa.schema, kinds)), promote_options="permissive")
    return schema


def _common_type(schema, features: list[str]) -> np.dtype:
    """float32 if all features are, float64 for other numbers and booleans; ``FeatureTypeError`` naming the rest."""
    from pyarrow import types

    kinds = {name: schema.field(name).type for name in features}
    numeric = (types.is_floating, types.is_integer, types.is_boolean)
    if bad := [f"{name!r} ({kind})" for name, kind in kinds.items() if not any(test(kind) for test in numeric)]:
        seen = f"{len(bad)} of {len(features)} columns are not numeric: {first_few(bad)}"
        raise FeatureTypeError(f"{seen}. Encode them as numbers first, or choose others: columns=[...].")
    return np.dtype(np.float32 if all(types.is_float32(kind) for kind in kinds.values()) else np.float64)
