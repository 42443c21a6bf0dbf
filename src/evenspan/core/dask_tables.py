"""Tables cut into chunks by Dask: which rows belong together, sums over chunks on a cluster, chunks as a stream.

A chunk is worked on where it is made or stored; what travels between the workers are sums. They are added along a tree
that the order of the chunks fixes, so that a result does not depend on how many workers there were, on which of them
did what, or on one that was lost and whose chunks were done again.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from .dask_cluster import connected, finished, require
from .errors import DataError, FairError, GroupError
from .groups import encode_groups
from .inputs import feature_names, require_numeric_columns, told
from .running import RunningMoments
from .streams import Stream

#: So many sums are added in one task of the tree, whose worker holds all of them at once.
FAN_IN = 8


@dataclass(eq=False)
class Chunk:
    """What is known of one chunk before it is made."""

    number: int  # counted from 0, as in X.blocks[number]
    start: int | None  # its rows start:stop, where sizes are known
    stop: int | None
    d: int  # features and their names, as every chunk must have them
    names: tuple[str, ...] | None
    attributes: list[str] | None = None  # columns that hold the groups, if they come within the frame
    labels: np.ndarray | None = None  # the groups labels[codes], if they were given as an array in memory
    codes: np.ndarray | None = None

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if it is known before the chunk is made."""
        return None if self.start is None else self.stop - self.start

    def pair(self, X, groups=None) -> tuple:
        """Features and groups of the chunk, as they must be."""
        if self.attributes is not None:
            groups = X[self.attributes[0]] if len(self.attributes) == 1 else X[self.attributes]
            X = X.drop(columns=self.attributes)
        elif self.labels is not None:
            groups = self.labels[self.codes]
        shape = tuple(np.shape(X))
        if len(shape) != 2 or shape[1] != self.d:
            raise DataError(f"it has shape {shape}; needed is (rows, {self.d}), the same features in every chunk.")
        if self.names is not None and (found := feature_names(X)) != self.names:
            raise DataError(f"it has features {list(found or ())[:5]}..., but the table says {list(self.names)[:5]}...")
        if len(groups) != shape[0]:
            raise GroupError(
                f"there are {len(groups)} group labels for its {shape[0]} rows. Cut both in the same places."
            )
        return X, groups

    def told(self):
        """Errors of evenspan raised inside are told with the number of the chunk and its rows."""
        return told(
            f"chunk {self.number} (counted from 0{'' if self.start is None else f', rows {self.start}:{self.stop}'})"
        )


@dataclass(eq=False)
class Recipe:
    """How the features of a chunk, and its groups if they are a collection too, are made on a worker."""

    wanted: list  # their keys
    tasks: dict = field(default_factory=dict)
    outside: list = field(default_factory=list)  # keys of tasks of others that these need

    def made(self, wanted: list, outside: list) -> list:
        """The values of some keys, given those of the tasks of others."""
        known = dict(zip(self.outside, outside, strict=True))
        found = require("dask").get({**self.tasks, **known}, wanted) if wanted else []
        return list(found)


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
        labels = codes = None
        self._parts = [_delayed(X)]
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
            what = (self.n_features, self.feature_names, attributes, labels, own)
            self.chunks.append(Chunk(number, start, stop, *what))
        self.n_rows, self.labels = int(bounds[-1]) if known else None, labels

    def _made(self, chunk: Chunk) -> list:
        return [part[chunk.number] for part in self._parts]

    @cached_property
    def _recipes(self) -> tuple[list[Recipe], dict]:
        """How each chunk is made, and the tasks that stay with Dask.

        These are those that several chunks are made from, and what lies on the workers already. All others are done
        together with the sums of their chunk: as tasks of their own, chunks would travel to idle workers.
        """
        of, future = require("dask.core").get_dependencies, require("distributed").Future
        graphs = [made.__dask_graph__() for part in self._parts for made in part]
        tasks = {key: task for graph in {id(one): one for one in graphs}.values() for key, task in graph.items()}
        needs = {key: getattr(task, "dependencies", None) or of(tasks, key) for key, task in tasks.items()}
        there = [key for key, task in tasks.items() if isinstance(task, future) or not needs[key] <= tasks.keys()]
        owners = dict.fromkeys(there)
        for chunk in self.chunks:
            waiting = [made.key for made in self._made(chunk)]
            while waiting:
                key = waiting.pop()
                if key in tasks and owners.get(key, -1) not in (chunk.number, None):
                    owners[key] = None if key in owners else chunk.number
                    waiting += needs[key]
        recipes = [Recipe([made.key for made in self._made(chunk)]) for chunk in self.chunks]
        for key, number in owners.items():
            if number is not None:
                recipes[number].tasks[key] = tasks[key]
        for recipe in recipes:
            needed = {*recipe.wanted}.union(*(needs[key] for key in recipe.tasks))
            recipe.outside = sorted(needed - {*recipe.tasks}, key=str)
        return recipes, {key: tasks[key] for key, number in owners.items() if number is None}

    def map_reduce(self, work, combine, client, operand=None, chunks: slice = slice(None), groups_only: bool = False):
        """``combine`` of what ``work(X, groups, operand)`` returns for each chunk, along a tree in their order.

        ``combine`` takes a list of sums and returns their total; the operand is sent to every worker once; with
        ``groups_only`` the features are not made, and ``work`` is given the groups alone.
        """
        delayed, delayed_key = require("dask").delayed, require("dask.delayed").Delayed
        recipes, rest = self._recipes

        def one(chunk: Chunk, sent):
            recipe = recipes[chunk.number]
            made = {part.key: part for part in self._made(chunk)}  # which may lie on the workers, without a task
            outside = [delayed_key(key, rest) if key in rest else made[key] for key in recipe.outside]
            return delayed(partial(_sums, work, chunk, groups_only, recipe), pure=False)(sent, outside)

        def tree(sent):
            level = [(one(chunk, sent), chunk.number) for chunk in self.chunks[chunks]]
            while len(level) > 1:
                parts = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
                level = [
                    (delayed(partial(_total, combine, p[0][1], p[-1][1]), pure=False)([sums for sums, _ in p]), p[0][1])
                    for p in parts
                ]
            return level[0][0]

        try:
            return finished(client, tree, operand)
        except FairError:
            raise
        except Exception:  # whatever the code that makes a chunk may raise: which one it is, making them tells
            for _ in self.load(client=client):
                pass
            raise

    def load(self, first: int = 0, client=None) -> Iterator[tuple]:
        """The chunks from number ``first`` on, one after the other."""
        dask = require("dask")
        for chunk in self.chunks[first:]:
            with chunk.told():
                made = self._made(chunk)
                try:
                    values = dask.compute(*made) if client is None else [f.result() for f in client.compute(made)]
                except FairError:
                    raise
                except Exception as error:  # whatever the code that makes the chunk may raise
                    raise DataError(f"it cannot be made: {type(error).__name__}: {error}") from error
                pair = chunk.pair(*values)
            yield pair


def _sums(work: Callable, chunk: Chunk, groups_only: bool, recipe: Recipe, operand, outside: list):
    with chunk.told():
        if groups_only and chunk.attributes is None:
            groups = recipe.made(recipe.wanted[1:], outside)
            return work(groups[0] if groups else chunk.labels[chunk.codes])
        X, groups = chunk.pair(*recipe.made(recipe.wanted, outside))
        return work(groups) if groups_only else work(X, groups, operand)


def _total(combine: Callable, first: int, last: int, parts: list):
    with told(f"chunks {first} to {last} (counted from 0) together"):
        return combine(parts)


def _delayed(collection) -> list:
    parts = collection.to_delayed()
    return list(parts.ravel()) if isinstance(parts, np.ndarray) else list(parts)


def array_parts(X, sensitive_features, array) -> tuple:
    """An array cut by whole rows, and its groups cut alike: a Dask array, or labels and codes in memory."""
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise DataError(f"X has shape {X.shape}; needed is a table of n rows and a known number of columns.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    known = not np.isnan(X.chunks[0]).any()
    groups = sensitive_features
    if hasattr(groups, "to_dask_array"):  # a Dask series or data frame beside an array
        groups = groups.to_dask_array()
    if isinstance(groups, array.Array):
        if groups.ndim == 2 and groups.numblocks[1] > 1:
            groups = groups.rechunk({1: -1})
        if groups.ndim not in (1, 2):
            raise GroupError(f"sensitive_features has shape {groups.shape}; needed is (n,) or (n, p) for p attributes.")
        if known and not np.isnan(groups.chunks[0]).any():
            if groups.shape[0] != X.shape[0]:
                raise GroupError(
                    f"sensitive_features has {groups.shape[0]} rows but X has {X.shape[0]}. Pass one entry for each "
                    "row of X, in the same order."
                )
            if groups.chunks[0] != X.chunks[0]:
                groups = groups.rechunk({0: X.chunks[0]})
        elif groups.numblocks[0] != X.numblocks[0]:
            raise GroupError(
                f"X has {X.numblocks[0]} chunks and sensitive_features {groups.numblocks[0]}, of unknown sizes, so "
                "that rows cannot be matched. Call compute_chunk_sizes() on both first."
            )
        return X, groups
    if not known:
        raise DataError(
            "the sizes of X's chunks are unknown, so that labels in memory cannot be cut to fit. Call "
            "X.compute_chunk_sizes() first, or pass the labels as a Dask array that is cut like X."
        )
    return X, encode_groups(groups, int(X.shape[0]))


def frame_parts(X, sensitive_features, frame) -> tuple:
    """A data frame, and its groups: a series cut alike, or the names of columns."""
    names = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    if isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names):
        missing = [repr(name) for name in names if name not in X.columns]
        if not missing:
            return X, None, list(names)
        if len(names) < 20:
            raise GroupError(
                f"X has no column {', '.join(missing)} to take the groups from; its columns are "
                f"{', '.join(map(str, X.columns[:20]))}{', ...' if len(X.columns) > 20 else ''}."
            )
    if not isinstance(sensitive_features, frame.Series | frame.DataFrame):
        raise GroupError(
            f"sensitive_features is a {type(sensitive_features).__name__}; beside a Dask data frame, whose partitions "
            "are of unknown size, needed is the name of a column, a list of names, or a Dask series cut like X."
        )
    if sensitive_features.npartitions != X.npartitions:
        raise GroupError(
            f"X has {X.npartitions} partitions and sensitive_features {sensitive_features.npartitions}, so that rows "
            "cannot be matched. Assign the series to X as a column and pass its name."
        )
    return X, sensitive_features, None


def running_moments(X, sensitive_features, client=None) -> RunningMoments:
    """The running sums of all rows of a Dask array or data frame; ``GroupMoments.from_dask`` makes moments of them."""
    table = ChunkedTable(X, sensitive_features)
    with connected(client) as own:
        sums = table.map_reduce(chunk_sums, merged_sums, own)
    if sums.total is None:
        raise DataError(f"X has no rows in any of its {len(table.chunks)} chunks; needed is at least one.")
    return sums


def chunk_sums(X, groups, operand=None) -> RunningMoments:
    """The sums of one chunk, which may be empty."""
    sums = RunningMoments()
    if len(X):
        sums.add(X, groups)
        sums.require_finite(X)
    return sums


def merged_sums(parts: list[RunningMoments]) -> RunningMoments:
    """The sums of several chunks, merged from left to right."""
    total = RunningMoments()
    for part in parts:
        total.combine(part)
    return total


class DaskStream(Stream):
    """The chunks of a Dask array or data frame with their groups.

    ``StreamingFairPCA`` sums all chunks of a block on the cluster. Everything else that takes a stream reads the
    chunks in this process, one after the other.

    Parameters
    ----------
    X : dask Array of shape (n, d) or dask DataFrame
        Cut by rows; an array cut by columns too is rechunked to whole rows.
    sensitive_features : dask or NumPy array, Series, DataFrame, str or list of str
        Group labels; cut to fit the chunks of X. Names mean columns of a data frame, which are then no features.
    client : distributed.Client or str, optional
        A client or the address of a scheduler. Without one the current client, or a cluster of this machine's cores
        for as long as it is needed.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> X = da.from_array(np.arange(10.0).reshape(5, 2), chunks=(2, 2))
    >>> stream = DaskStream(X, np.array(list("aabab")))
    >>> [len(batch) for batch, labels in stream]
    [2, 2, 1]
    """

    def __init__(self, X, sensitive_features, *, client=None):
        self.table = ChunkedTable(X, sensitive_features)
        self.client = client
        self.labels = self.table.labels
        self.n_rows, self.n_features = self.table.n_rows, self.table.n_features
        self.feature_names = self.table.feature_names

    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the chunks."""
        return self._checked(self._chunks(0))

    def _from(self, start: int) -> Iterator[tuple]:
        # Chunks before it are not made if their sizes are known.
        first = next((c for c in self.table.chunks if c.stop is not None and c.stop > start), None)
        if first is None:
            return super()._from(start)
        return self._checked(self._chunks(first.number), start, first.start)

    def _chunks(self, first: int) -> Iterator[tuple]:
        with nullcontext() if self.client is None else connected(self.client) as own:
            yield from self.table.load(first, own)
