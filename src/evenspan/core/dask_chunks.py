"""Tables cut into chunks by Dask: which rows belong together, and sums over all chunks on a cluster.

A chunk is worked on where it is made or stored; what travels between the workers are sums. They are added along a tree
that the order of the chunks fixes, so that a result does not depend on how many workers there were, on which of them
did what, or on one that was lost and whose chunks were done again.
"""

import pickle
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from .dask_alignment import array_parts, frame_parts
from .dask_cluster import finished, require
from .errors import DataError, FairError, GroupError
from .inputs import feature_names, require_numeric_columns

#: So many sums are added in one task of the tree, whose worker holds all of them at once.
FAN_IN = 8
#: A source that all chunks share, such as an open Zarr array, is sent along with every chunk up to this many bytes.
SMALL_SOURCE = 2**16


@dataclass(eq=False)
class Chunk:
    """One chunk, as a recipe that a worker can follow, or as positions of X and the groups among values given to it.

    Parameters
    ----------
    number : int
        Its place, counted from 0 as in ``X.blocks[number]``.
    start, stop : int or None
        Its rows, where sizes are known.
    shape_of_table : tuple
        The number of features and their names, as those of every chunk must be.
    attributes : list of str or None
        Columns of the chunk that hold the groups, if they come within the frame.
    labels, codes : ndarray or None
        The groups, if they were given as an array in memory: ``labels[codes]``.
    """

    number: int
    start: int | None
    stop: int | None
    shape_of_table: tuple[int, tuple[str, ...] | None]
    attributes: list[str] | None = None
    labels: np.ndarray | None = None
    codes: np.ndarray | None = None
    graph: dict | None = None
    keys: tuple = ()

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if it is known before the chunk is made."""
        return None if self.start is None else self.stop - self.start

    def groups(self, *given):
        """The groups alone; the features are made only if the groups are columns among them."""
        if self.labels is not None:
            return self.labels[self.codes]
        if self.attributes is not None:
            return self.load(*given)[1]
        return given[-1] if self.graph is None else self._made(self.keys[-1:])[0]

    def load(self, *given) -> tuple:
        """Features and groups, as they must be."""
        if self.graph is not None:
            given = self._made(self.keys)
        X, groups = given[0], given[1] if len(given) > 1 else None
        if self.attributes is not None:
            groups = X[self.attributes[0]] if len(self.attributes) == 1 else X[self.attributes]
            X = X.drop(columns=self.attributes)
        elif self.labels is not None:
            groups = self.labels[self.codes]
        self._check(X, groups)
        return X, groups

    def _made(self, keys) -> tuple:
        dask = require("dask")
        try:
            return dask.get(self.graph, list(keys))
        except FairError:
            raise
        except Exception as error:  # whatever the code that makes the chunk may raise
            raise DataError(f"it cannot be made: {type(error).__name__}: {error}") from error

    def _check(self, X, groups) -> None:
        d, names = self.shape_of_table
        shape = tuple(np.shape(X))
        if len(shape) != 2 or shape[1] != d:
            raise DataError(f"it has shape {shape}; needed is (rows, {d}), the same features in every chunk.")
        if names is not None and (found := feature_names(X)) != names:
            raise DataError(f"it has features {list(found or ())[:5]}..., but the table says {list(names)[:5]}...")
        if len(groups) != shape[0]:
            raise GroupError(
                f"there are {len(groups)} group labels for its {shape[0]} rows. Cut both in the same places."
            )

    @contextmanager
    def told(self):
        """Errors of evenspan raised inside are told with the number of the chunk and its rows."""
        try:
            yield
        except FairError as error:
            rows = "" if self.start is None else f", rows {self.start}:{self.stop}"
            raise type(error)(f"chunk {self.number} (counted from 0{rows}): {error}") from error


class ChunkedTable:
    """Features and groups of a Dask collection, chunk by chunk.

    Parameters
    ----------
    X : dask Array of shape (n, d) or dask DataFrame
        Cut by rows. An array that is cut by columns too is rechunked to whole rows.
    sensitive_features : dask or NumPy array, Series, DataFrame, list, column name or list of column names
        Names mean columns of the data frame X, which are then no features. Groups cut differently from X are cut again.
    """

    def __init__(self, X, sensitive_features):
        array, frame = require("dask.array"), require("dask.dataframe")
        self.source = (X, sensitive_features)  # what is persisted on the workers stays there as long as it is held
        if isinstance(X, frame.DataFrame):
            X, groups, attributes = frame_parts(X, sensitive_features, frame)
        elif isinstance(X, array.Array):
            X, groups, attributes = (*array_parts(X, sensitive_features, array), None)
        else:
            raise DataError(
                f"X is a {type(X).__module__}.{type(X).__name__}; needed is a Dask array or data frame. For a table in "
                "memory use GroupMoments.from_data, for batches GroupMoments.from_batches; dask.array.from_array(X, "
                "chunks=(rows, -1)) cuts a table into chunks."
            )
        is_frame = hasattr(X, "npartitions") and hasattr(X, "columns")
        meta = X._meta.drop(columns=attributes or []) if is_frame else None
        if is_frame:
            require_numeric_columns(meta)
        self.feature_names = feature_names(meta)
        self.n_features = meta.shape[1] if is_frame else int(X.shape[1])
        if self.n_features == 0:
            raise DataError("X has 0 feature(s) while a minimum of 1 is required.")
        sizes = (np.nan,) * X.npartitions if is_frame else X.chunks[0]
        self._parts = [_delayed(X)]
        labels = codes = None
        if isinstance(groups, tuple):
            labels, codes = groups
        elif groups is not None:
            self._parts.append(_delayed(groups))
        known = not np.isnan(sizes).any()
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(int) if known else None
        self.chunks = []
        for number in range(len(sizes)):
            start, stop = (int(bounds[number]), int(bounds[number + 1])) if known else (None, None)
            own = None if codes is None else codes[start:stop]
            shape = (self.n_features, self.feature_names)
            self.chunks.append(Chunk(number, start, stop, shape, attributes, labels, own))
        self.n_rows, self.labels = int(bounds[-1]) if known else None, labels
        _write_recipes(self.chunks, self._parts)

    def given(self, chunk: Chunk) -> list:
        """What must be computed before the chunk can be loaded: nothing where it has a recipe."""
        return [] if chunk.graph is not None else [part[chunk.number] for part in self._parts]

    def map_reduce(self, work, combine, client, operand=None, chunks: slice = slice(None), groups_only: bool = False):
        """``combine`` of what ``work(X, groups, operand)`` returns for each chunk, along a tree in their order.

        Parameters
        ----------
        work : callable
            Returns the sums of one chunk. With ``groups_only`` it is given the groups alone.
        combine : callable
            Takes a list of such sums and returns their total.
        client : distributed.Client
            Computes it.
        operand : object, optional
            Sent to every worker once.
        chunks : slice
            Which chunks.
        groups_only : bool
            Whether the features are not needed.

        Returns
        -------
        object
            The total.
        """
        dask = require("dask")
        chosen = self.chunks[chunks]

        def graph(sent):
            token = uuid.uuid4().hex
            do = dask.delayed(partial(_work, work, groups_only), pure=False, traverse=False)
            add = dask.delayed(partial(_combine, combine), pure=False)
            level = [
                (do(Parcel(c), sent, *self.given(c), dask_key_name=(f"evenspan-sums-{token}", c.number)), c.number)
                for c in chosen
            ]
            height = 0
            while len(level) > 1:
                height += 1
                groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
                level = [
                    (add([part for part, _ in g], (g[0][1], g[-1][1]), dask_key_name=(f"evenspan-tree{height}-{token}", i)), g[0][1])  # noqa: E501
                    for i, g in enumerate(groups)
                ]  # fmt: skip
            return level[0][0]

        return finished(client, graph, None if operand is None else Parcel(operand)).value

    def load(self, first: int = 0, client=None) -> Iterator[tuple]:
        """The chunks from number ``first`` on, one after the other; recipes are followed in this process."""
        dask = require("dask")
        for chunk in self.chunks[first:]:
            with chunk.told():
                given = self.given(chunk)
                values = dask.compute(*given) if client is None else [f.result() for f in client.compute(given)]
                pair = chunk.load(*values)
            yield pair


class Parcel:
    """A value as one object whose size Dask knows, and does not look into for tasks of its own."""

    def __init__(self, value):
        self.value = value

    def __sizeof__(self) -> int:
        """Bytes that travel when the value does: the scheduler lets large sums stay where they are."""
        buffers = []
        head = pickle.dumps(self.value, protocol=5, buffer_callback=buffers.append)
        return len(head) + sum(buffer.raw().nbytes for buffer in buffers)


def _work(work: Callable, groups_only: bool, chunk: Parcel, operand: Parcel | None, *given) -> Parcel:
    with chunk.value.told():
        if groups_only:
            return Parcel(work(chunk.value.groups(*given)))
        return Parcel(work(*chunk.value.load(*given), None if operand is None else operand.value))


def _combine(combine: Callable, parts: list[Parcel], ends: tuple[int, int]) -> Parcel:
    try:
        return Parcel(combine([part.value for part in parts]))
    except FairError as error:
        raise type(error)(f"chunks {ends[0]} to {ends[1]} (counted from 0) together: {error}") from error


def _delayed(collection) -> list:
    parts = collection.to_delayed()
    return list(parts.ravel()) if isinstance(parts, np.ndarray) else list(parts)


def _write_recipes(chunks: list[Chunk], parts: list[list]) -> None:
    """Give every chunk that shares no work with another one its tasks as a recipe: it is then made where it is summed.

    Data that lie on the workers already (persisted) and work that several chunks share stay tasks of Dask's own.
    """
    from dask._task_spec import DataNode, convert_legacy_graph

    future = require("distributed").Future
    whole = {}
    for part in (part for column in parts for part in column):
        if part.key not in whole:
            whole |= dict(part.__dask_graph__())
    if any(isinstance(task, future) for task in whole.values()):
        return
    whole = convert_legacy_graph(whole)
    closures, users = [], {}
    for chunk in chunks:
        keys, seen = [part[chunk.number].key for part in parts], set()
        waiting = list(keys)
        while waiting:
            key = waiting.pop()
            if key in seen:
                continue
            if key not in whole:
                return  # its value is on the workers
            seen.add(key)
            waiting += whole[key].dependencies
        closures.append((tuple(keys), seen))
        for key in seen:
            users[key] = users.get(key, 0) + 1
    shared = {key for key, count in users.items() if count > 1}
    for key in shared:
        if not isinstance(whole[key], DataNode) or len(pickle.dumps(whole[key])) > SMALL_SOURCE:
            return
    for chunk, (keys, seen) in zip(chunks, closures, strict=True):
        chunk.graph, chunk.keys = {key: whole[key] for key in seen}, keys
