"""Tables cut into chunks by Dask: moments summed where the chunks lie, and the chunks as a stream."""

from collections.abc import Iterator

import numpy as np

from .accumulator import MomentAccumulator
from .errors import DataError, GroupError
from .groups import encode_groups
from .inputs import feature_names, require_package
from .streams import Stream


class DaskStream(Stream):
    """The chunks of a Dask array or data frame with their groups, made one after the other.

    They are made on the current cluster of Dask, if there is one, and come to this process one at a time.

    Parameters
    ----------
    X : dask Array of shape (n, d) or dask DataFrame
        Cut by rows; an array cut by columns too is rechunked to whole rows.
    sensitive_features : dask or NumPy array, Series, DataFrame, str or list of str
        Group labels; cut to fit the chunks of X. Names mean columns of a data frame, which are then no features.

    Examples
    --------
    >>> import numpy as np
    >>> import dask.array as da
    >>> X = da.from_array(np.arange(10.0).reshape(5, 2), chunks=(2, 2))
    >>> stream = DaskStream(X, np.array(list("aabab")))
    >>> [len(batch) for batch, labels in stream]
    [2, 2, 1]
    """

    def __init__(self, X, sensitive_features):
        self.chunks, self.feature_names, self.n_features = _chunks(X, sensitive_features)

    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the chunks."""
        return self._checked(chunk.compute() for chunk in self.chunks)


def summed_chunks(X, sensitive_features, scatters: str) -> MomentAccumulator:
    """The sums of all rows, merged along a tree of pairs that the order of the chunks fixes."""
    chunks, delayed = _chunks(X, sensitive_features)[0], require_package("dask.array", "scale").delayed
    sums = [delayed(chunk_sums)(chunk, scatters) for chunk in chunks]
    while len(sums) > 1:
        sums = [delayed(merged_sums)(sums[i : i + 2]) for i in range(0, len(sums), 2)]
    return sums[0].compute()


def chunk_sums(chunk: tuple, scatters: str) -> MomentAccumulator:
    """The sums of one chunk, which may be empty."""
    (X, groups), sums = chunk, MomentAccumulator(scatters)
    if len(X):
        sums.add(X, groups)
        sums.require_finite(X)
    return sums


def merged_sums(parts: list[MomentAccumulator]) -> MomentAccumulator:
    """The sums of several chunks, merged from left to right."""
    total = MomentAccumulator()
    for part in parts:
        total.combine(part)
    return total


def _chunks(X, groups) -> tuple[list, tuple[str, ...] | None, int]:
    """A delayed pair of features and groups for each chunk, the names of the features and their number."""
    dask = require_package("dask.array", "scale")
    pair, split = dask.delayed(_pair, pure=False), dask.delayed(_split, pure=False)
    if hasattr(X, "partitions") and hasattr(X, "columns"):
        names, columns = ([groups] if isinstance(groups, str) else groups), list(X.columns)
        if hasattr(names, "to_delayed"):
            return _zipped(pair, X.to_delayed(), names.to_delayed()), feature_names(X._meta), len(columns)
        if missing := [name for name in names if name not in columns]:
            raise GroupError(f"X has no column {missing[0]!r} to take the groups from; its columns are {columns[:20]}.")
        rest = X._meta.drop(columns=names)
        return [split(part, names) for part in X.to_delayed()], feature_names(rest), rest.shape[1]
    if not isinstance(X, dask.array.Array) or X.ndim != 2:
        raise DataError(
            f"X is a {type(X).__name__}; needed is a Dask array (n, d) or data frame. For a table in memory use "
            "GroupMoments.from_data, for batches GroupMoments.from_batches."
        )
    X = X.rechunk({1: -1})
    if hasattr(groups, "to_dask_array"):
        groups = groups.to_dask_array()
    if not isinstance(groups, dask.array.Array):
        labels, codes = encode_groups(groups)
        groups = dask.array.from_array(labels[codes], chunks=-1)
    if not np.isnan([X.shape[0], groups.shape[0]]).any():
        if len(groups) != len(X):
            raise GroupError(f"sensitive_features has {len(groups)} rows but X has {len(X)}. Pass one for each.")
        groups = groups.rechunk((X.chunks[0], *((-1,) * (groups.ndim - 1))))
    return _zipped(pair, X.to_delayed().ravel(), groups.to_delayed().ravel()), None, int(X.shape[1])


def _pair(X, groups) -> tuple:
    return X, groups


def _split(part, names: list[str]) -> tuple:
    return part.drop(columns=names), part[names[0] if len(names) == 1 else list(names)]


def _zipped(pair, X: list, groups: list) -> list:
    if len(X) != len(groups):
        raise GroupError(
            f"X has {len(X)} chunks and sensitive_features {len(groups)}, of unknown sizes. Cut both in the same "
            "places, call compute_chunk_sizes() on both, or pass the name of a column."
        )
    return list(map(pair, X, groups))
