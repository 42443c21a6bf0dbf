"""Streams: data read in batches, as often as a method needs, never as a whole.

Every pass yields ``(X, sensitive_features)``: a numeric array of shape (b, d), and the groups of its b rows in any form
that ``encode_groups`` takes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from scipy import sparse

from .errors import DataError, GroupError
from .groups import encode_groups
from .inputs import batch_names, feature_names, in_pandas, length, require_numeric_columns, row_blocks, rows_of
from .options import whole


@contextmanager
def telling(place: str, foreign: tuple = ()):
    """An error about a batch or file begins with its place; a foreign one becomes a ``DataError``."""
    try:
        yield
    except (DataError, GroupError) as error:
        raise type(error)(f"{place}: {error}") from error
    except foreign as error:
        raise DataError(f"{place}: {error}. Needed are whole files with one kind of values in a column.") from error


class Stream(ABC):
    """Batches of rows with their groups; every ``iter``, which a subclass defines, starts a pass from the first row."""

    one_shot: bool = False  #: Whether the stream can be read only once.
    n_rows: int | None = None  #: Where it is known, as the next.
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None  #: Of data frames known after the first batch.
    place: str = "no batch"  #: Which batch was the last.
    labels: np.ndarray | None = None  #: Sorted labels of all groups, where they are found without reading the features.

    @abstractmethod
    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the batches."""

    def _checked(self, raw: Iterable, placed: bool = False) -> Iterator[tuple]:
        """The batches of one pass as arrays with their groups; they must have the same features."""
        empty, named = True, None
        for number, item in enumerate(raw, 1):
            place = self.place = self.place if placed else f"batch {number}"
            if not isinstance(item, tuple | list) or len(item) != 2:
                raise DataError(f"{place} is a {type(item).__name__}; needed is (X, groups).")
            X, groups = item
            (n, d, rows), names = row_blocks(X), feature_names(X)
            if d == 0 or d != (self.n_features or d):
                raise DataError(f"{place} has {d} features; needed are {self.n_features or 'a minimum of 1'}.")
            if names and names != (self.feature_names or names):
                raise DataError(f"{place} has columns {names[:5]}, those before it {self.feature_names[:5]}.")
            named = batch_names(X, named)
            if (labelled := length(groups)) is not None and labelled != n:
                raise GroupError(f"{place} has {labelled} group labels for {n} rows. Yield one for each row.")
            if self.n_features is None:
                self.n_features, self.feature_names = d, names
            if n:
                empty = False
                yield np.asarray(rows(0, n)), groups
        if empty:
            raise DataError("the stream is empty: it has not one row. Needed is at least one batch (X, groups).")


class ArrayStream(Stream):
    """Batches of consecutive rows of a table that need not be in memory.

    Parameters
    ----------
    X : array-like of shape (n, d)
        An array, a memory map, a data frame, a data set of an HDF5 file, a Zarr array, a sparse matrix: anything with a
        shape that can be sliced by rows. Only one batch of it is read at a time. Arrays keep their type of number.
    sensitive_features : array-like of shape (n,) or (n, p)
        The groups, which may be on disk as well.
    batch_size : int
        Rows in a batch. For a file stored in chunks, a multiple of the rows of a chunk reads each chunk once.

    Examples
    --------
    >>> import numpy as np
    >>> X, groups = np.arange(10.0).reshape(5, 2), np.array(list("aabab"))
    >>> stream = ArrayStream(X, groups, batch_size=2)
    >>> [len(batch) for batch, labels in stream]
    [2, 2, 1]
    """

    def __init__(self, X, sensitive_features, *, batch_size: int = 1024):
        self.batch_size = whole(1).require("batch_size", batch_size)
        if sensitive_features is None:
            raise GroupError("sensitive_features is None; needed is one group label for each row of X.")
        X = in_pandas(X)
        X = X.tocsr() if sparse.issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
        if len(X.shape) != 2:
            raise DataError(f"X has shape {X.shape}; needed is (n, d): images become rows by X.reshape(len(X), -1).")
        require_numeric_columns(X)
        # HDF5 hands out text as bytes unless it is asked for text.
        text = hasattr(sensitive_features, "asstr") and sensitive_features.dtype.kind in "OS"
        groups = sensitive_features.asstr() if text else in_pandas(sensitive_features)
        if not (text or hasattr(groups, "shape")):
            groups = np.asarray(groups, dtype=object)
        if length(groups) != X.shape[0]:
            seen = f"sensitive_features has {length(groups) or 0} rows but X has {X.shape[0]}"
            raise GroupError(f"{seen}. Pass one entry for each row of X.")
        self.X, self.sensitive_features = X, groups
        self.n_rows, self.n_features, self.feature_names = int(X.shape[0]), int(X.shape[1]), feature_names(X)

    @cached_property
    def labels(self) -> np.ndarray:
        """Sorted labels of all groups."""
        return encode_groups(rows_of(self.sensitive_features, 0, self.n_rows))[0]

    def __iter__(self) -> Iterator[tuple]:
        bounds = ((a, min(a + self.batch_size, self.n_rows)) for a in range(0, self.n_rows, self.batch_size))
        return self._checked((rows_of(self.X, a, b), rows_of(self.sensitive_features, a, b)) for a, b in bounds)


class FunctionStream(Stream):
    """The batches of whatever a function returns; it is called anew for every pass.

    Parameters
    ----------
    make : callable
        Takes nothing and returns an iterable of ``(X, sensitive_features)``, for instance a generator function. It must
        give the same rows every time: random numbers come from a generator with a fixed seed that is made inside.

    Examples
    --------
    >>> import numpy as np
    >>> def batches():
    ...     rng = np.random.default_rng(0)
    ...     for _ in range(3):
    ...         yield rng.normal(size=(4, 2)), rng.integers(0, 2, 4)
    >>> stream = FunctionStream(batches)
    >>> sum(len(X) for X, groups in stream), sum(len(X) for X, groups in stream)
    (12, 12)
    """

    def __init__(self, make: Callable[[], Iterable]):
        self.make = make

    def __iter__(self) -> Iterator[tuple]:
        return self._checked(self.make())


class OneShotStream(Stream):
    """The batches ``(X, sensitive_features)`` of an iterator, which can be read only once."""

    one_shot = True

    def __init__(self, iterator: Iterator):
        self._iterator: Iterator | None = iterator

    def __iter__(self) -> Iterator[tuple]:
        if self._iterator is None:
            raise DataError("this stream can be read only once. Pass a function that makes it: FunctionStream(make).")
        iterator, self._iterator = self._iterator, None
        return self._checked(iterator)


def as_stream(source) -> Stream:
    """A stream as it is, a function as a ``FunctionStream``, an iterator as a ``OneShotStream``; nothing else."""
    if isinstance(source, Stream):
        return source
    if callable(source):
        return FunctionStream(source)
    if isinstance(source, Iterator):
        return OneShotStream(source)
    raise DataError(
        f"a {type(source).__name__} is no stream. Wrap a table in ArrayStream(X, groups), files in "
        "ParquetStream(path, columns), and a list or loader of batches in FunctionStream(lambda: batches)."
    )
