"""A Dask collection as a stream: its chunks one after the other, or, for a method that knows how, on a cluster."""

from collections.abc import Iterator
from contextlib import nullcontext

from .dask_chunks import ChunkedTable
from .dask_cluster import connected
from .streams import Stream


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
