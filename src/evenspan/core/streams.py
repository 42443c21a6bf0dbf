"""Streams: data read in batches, as often as a method needs, never as a whole.

Every pass yields ``(X, sensitive_features)``: a numeric array of shape (b, d), and the groups of its b rows in any form
that ``encode_groups`` takes. What comes out of the streams below has been checked, and a mistake is told with the
number of its batch and its rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from weakref import ref

import numpy as np
from scipy import sparse

from .containers import in_pandas, to_numpy
from .errors import ConfigurationError, DataError, GroupError
from .groups import encode_groups, union_labels
from .inputs import feature_names, in_batch, length, require_numeric_columns, row_blocks, rows_of, whole_number


class Stream(ABC):
    """Batches of rows with their groups; every ``iter`` starts a new pass from the first row.

    A subclass needs ``__iter__``. ``from_row`` then works by reading and dropping the rows before.

    Attributes
    ----------
    one_shot : bool
        Whether the stream can be read only once.
    n_rows, n_features : int or None
        Where they are known.
    feature_names : tuple of str or None
        Names of the columns; a stream of data frames knows them after its first batch.
    labels : ndarray or None
        Sorted labels of all groups, where they can be found without reading the features.
    """

    one_shot: bool = False
    n_rows: int | None = None
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    labels: np.ndarray | None = None

    @abstractmethod
    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the batches."""

    def from_row(self, start: int) -> Iterator[tuple]:
        """A new pass that begins with a later row, in the middle of a batch if need be.

        From there on the batches end where those of a pass from the beginning do, so that sums over them are the same
        to the last bit. Arrays and files skip what they can; other streams read the rows before and drop them.

        Parameters
        ----------
        start : int
            The first row, counted from 0.

        Returns
        -------
        iterator
            The batches.
        """
        return self._from(whole_number("start", start, 0))

    def _from(self, start: int) -> Iterator[tuple]:
        return iter(self) if start == 0 else _dropped(iter(self), start)

    def _checked(self, raw: Iterable, start: int = 0, at: int = 0) -> Iterator[tuple]:
        """The batches of one pass, checked. ``raw`` begins with row ``at``; what lies before ``start`` is dropped."""
        d, names = self.n_features, self.feature_names
        for number, item in enumerate(raw, 1):
            X, groups = _pair(item, number, at)
            with in_batch(number, at, length(X)):
                n, batch_d, rows = row_blocks(X)
                batch_names = feature_names(X)
                if batch_d == 0:
                    raise DataError(f"X has 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
                if d is not None and batch_d != d:
                    raise DataError(f"it has {batch_d} features, the batches before it had {d}.")
                if names and batch_names and names != batch_names:
                    raise DataError(
                        f"it has features {list(batch_names)[:5]}..., the batches before it {list(names)[:5]}..."
                    )
                if (labelled := length(groups)) is not None and labelled != n:
                    raise GroupError(f"there are {labelled} group labels for {n} rows. Yield one for each row.")
            d, names = batch_d, names or batch_names
            if self.n_features is None:
                self.n_features = d
            if self.feature_names is None:
                self.feature_names = names
            at += n
            if n and at > start:
                cut = max(start - (at - n), 0)
                yield np.asarray(rows(cut, n)), (groups if cut == 0 else rows_of(groups, cut, n))
        if at < start:
            raise DataError(f"the stream has {at} rows; row {start} was asked for.")
        if at == 0:
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
        self.batch_size = whole_number("batch_size", batch_size, 1)
        if sensitive_features is None:
            raise GroupError("sensitive_features is None; needed is one group label for each row of X.")
        X = to_numpy(X)
        if sparse.issparse(X):
            X = X.tocsr()
        elif not hasattr(X, "shape"):
            X = np.asarray(X)
        if len(X.shape) != 2:
            raise DataError(
                f"X has shape {tuple(X.shape)}; needed is a table of n rows and d columns. "
                "An array of images becomes one by X.reshape(len(X), -1)."
            )
        require_numeric_columns(X)
        # HDF5 hands out text as bytes unless it is asked for text.
        text = hasattr(sensitive_features, "asstr") and sensitive_features.dtype.kind in "OS"
        groups = sensitive_features.asstr() if text else in_pandas(sensitive_features)
        if not hasattr(groups, "shape"):
            groups = groups if text else np.asarray(groups, dtype=object)
        n = int(X.shape[0])
        if (labelled := length(groups) or 0) != n:
            raise GroupError(
                f"sensitive_features has {labelled} rows but X has {n}. Pass one entry for each row of X, in the "
                "same order."
            )
        self.X, self.sensitive_features = X, groups
        self.n_rows, self.n_features, self.feature_names = n, int(X.shape[1]), feature_names(X)

    @cached_property
    def labels(self) -> np.ndarray:
        """Sorted labels of all groups."""
        return labels_of((b, rows_of(self.sensitive_features, a, b)) for a, b in self._bounds(0))

    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the batches."""
        return self._from(0)

    def _from(self, start: int) -> Iterator[tuple]:
        return self._checked(self._slices(min(start, self.n_rows)), start, min(start, self.n_rows))

    def _slices(self, start: int) -> Iterator[tuple]:
        for a, b in self._bounds(start):
            yield rows_of(self.X, a, b), rows_of(self.sensitive_features, a, b)

    def _bounds(self, start: int) -> Iterator[tuple[int, int]]:
        ends = range((start // self.batch_size + 1) * self.batch_size, self.n_rows + self.batch_size, self.batch_size)
        a = start
        for end in ends:
            if a < self.n_rows:
                yield a, min(end, self.n_rows)
            a = end


class FunctionStream(Stream):
    """The batches of whatever a function returns; it is called anew for every pass.

    Parameters
    ----------
    make : callable
        Takes nothing and returns an iterable of ``(X, sensitive_features)``, for instance a generator function. To be
        read several times it must give the same rows in the same order every time: draw random numbers from a
        generator with a fixed seed that is made inside.

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
        if not callable(make):
            raise ConfigurationError(
                f"make is {_what(make)}; needed is a function without arguments that returns the batches of a pass, "
                "for instance FunctionStream(lambda: batches)."
            )
        self.make = make
        self._last: ref | None = None

    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the batches."""
        return self._from(0)

    def _from(self, start: int) -> Iterator[tuple]:
        batches = self.make()
        if not isinstance(batches, Iterable):
            raise DataError(f"the function returned {_what(batches)}; needed is an iterable of batches (X, groups).")
        if isinstance(batches, Iterator):
            if self._last is not None and batches is self._last():
                raise DataError(
                    "the function returned the same iterator as for the pass before, which is used up. Let it make a "
                    "new one every time, for instance by opening the file inside the function."
                )
            with suppress(TypeError):  # of iterators that cannot be watched, as those of lists
                self._last = ref(batches)  # not the iterator itself: it may hold a batch
        return self._checked(batches, start)


class OneShotStream(Stream):
    """The batches of an iterator, which can be read only once.

    Parameters
    ----------
    iterator : iterable
        Yields ``(X, sensitive_features)``.
    """

    one_shot = True

    def __init__(self, iterator: Iterable):
        if not isinstance(iterator, Iterable):
            raise ConfigurationError(f"iterator is {_what(iterator)}; needed is an iterable of batches (X, groups).")
        self._iterator: Iterable | None = iterator

    def __iter__(self) -> Iterator[tuple]:
        """The one pass over the batches; ``DataError`` when asked for a second time."""
        return self._from(0)

    def _from(self, start: int) -> Iterator[tuple]:
        if self._iterator is None:
            raise DataError(
                "this stream can be read only once, and a pass over it has been started already. Pass a function that "
                "makes the batches anew, FunctionStream(make), or ask for a single pass."
            )
        iterator, self._iterator = self._iterator, None
        return self._checked(iterator, start)


def as_stream(source) -> Stream:
    """The stream that ``source`` stands for.

    Parameters
    ----------
    source : Stream, callable or iterator
        A stream is returned as it is, a function becomes a ``FunctionStream``, an iterator a ``OneShotStream``.
        Anything else is refused, because a table, a file and a list of batches would look alike.

    Returns
    -------
    Stream
        Batches of rows with their groups.

    Examples
    --------
    >>> import numpy as np
    >>> def batches():
    ...     for start in (0, 2):
    ...         yield np.arange(start, start + 2.0)[:, None], np.array(["a", "b"])
    >>> [len(X) for X, groups in as_stream(batches)]
    [2, 2]
    """
    if isinstance(source, Stream):
        return source
    if callable(source):
        return FunctionStream(source)
    if isinstance(source, Iterator):
        return OneShotStream(source)
    raise DataError(
        f"{_what(source)} is no stream. Wrap a table in ArrayStream(X, groups), files in ParquetStream(path, columns), "
        "and a list or loader of batches in FunctionStream(lambda: batches)."
    )


# -- parts of batches -------------------------------------------------------------------------------------------------


def labels_of(parts: Iterable) -> np.ndarray:
    """Sorted union of the labels in parts of the groups, given with the number of rows up to their end."""
    found, at = None, 0
    for number, (stop, groups) in enumerate(parts, 1):
        with in_batch(number, at, stop - at):
            labels = encode_groups(groups)[0]
            found = labels if found is None else union_labels(found, labels)
        at = stop
    if found is None:
        raise DataError("the stream is empty: it has not one row. Needed is at least one batch (X, groups).")
    return found


def _pair(item, number: int, at: int) -> tuple:
    if isinstance(item, tuple | list) and len(item) == 2:
        return item[0], item[1]
    what = f"a {type(item).__name__} of length {len(item)}" if isinstance(item, tuple | list) else _what(item)
    raise DataError(f"batch {number} (from row {at}) is {what}; needed is a pair (X, sensitive_features).")


def _dropped(batches: Iterator, start: int) -> Iterator[tuple]:
    at = 0
    for X, groups in batches:
        n = len(X)
        if at + n > start:
            cut = max(start - at, 0)
            yield (X, groups) if cut == 0 else (X[cut:], rows_of(groups, cut, n))
        at += n
    if at < start:
        raise DataError(f"the stream has {at} rows; row {start} was asked for.")


def _what(thing) -> str:
    kind = type(thing).__name__
    return f"an object of type {kind} and shape {tuple(thing.shape)}" if hasattr(thing, "shape") else f"a {kind}"
