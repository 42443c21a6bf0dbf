"""Blocks of rows summed on a cluster: what the noisy power method reads where the rows are a Dask collection."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np

from ..core.dask_cluster import connected
from ..core.dask_tables import DaskStream
from ..core.errors import DataError
from ..core.groups import encode_groups, union_labels
from ..core.inputs import row_blocks
from .block_reader import STEP_ENTRIES, expected_codes, precision_of
from .block_sums import BlockSums, Operand, batch_sums


class DaskReader:
    """Reads blocks as a ``BlockReader`` does; the sums of their chunks are made and added on the cluster.

    A block is a whole pass, or as many whole chunks as are needed for its rows. Labels that the chunks hold themselves
    are gathered in a pass over the groups, unless they are named.

    Parameters
    ----------
    stream : DaskStream
        Where the rows come from.
    client : distributed.Client
        Computes the sums.
    groups : array-like, optional
        The labels to expect.
    """

    def __init__(self, stream: DaskStream, client, groups=None):
        self.stream, self.table, self.client = stream, stream.table, client
        self.one_shot = False
        self._next = 0  # the chunk that the next block begins with
        self._sizes = [chunk.n_rows for chunk in self.table.chunks]
        if groups is not None:
            self.labels = encode_groups(groups)[0]
        else:
            self.labels = self.table.labels if self.table.labels is not None else self._survey()
        self.d = self.table.n_features
        self.dtype, self.origin = self._first()

    def start_pass(self, row: int = 0) -> None:
        """Begin at a row of the table, which must be the first of a chunk."""
        starts = [0, *(int(at) for at in np.cumsum(self._known_sizes()))] if row else [0]
        if row not in starts:
            raise DataError(
                f"row {row}, where the blocks done so far end, is not the first of a chunk. Cut the table as it was "
                "when these blocks were read, or delete the checkpoint."
            )
        self._next = starts.index(row)

    def read(self, rows: int | None, operand: Operand, G: int) -> BlockSums | None:
        """The sums over the next whole chunks that have at least ``rows`` rows together, or over all that are left."""
        first = last = self._next
        if rows is None:
            last = len(self.table.chunks)
        else:
            sizes, got = self._known_sizes(), 0
            while last < len(sizes) and got < rows:
                got += sizes[last]
                last += 1
        if first == last:
            return None
        self._next = last
        work = partial(chunk_products, self.labels, G)
        total = self.table.map_reduce(work, added, self.client, operand, slice(first, last))
        if total.rows == 0:
            return None
        # What came over the network may be a view of a buffer that cannot be written to.
        return BlockSums(total.counts.copy(), total.sums.copy(), total.products.copy(), total.squares, total.rows)

    def _known_sizes(self) -> list[int]:
        if None in self._sizes:
            self._survey()
        return self._sizes

    def _survey(self) -> np.ndarray:
        """The labels of all chunks, in one pass over the groups; on the way the sizes of the chunks."""
        labels, self._sizes = self.table.map_reduce(labels_and_size, gathered, self.client, groups_only=True)
        if labels is None:
            raise DataError(f"X has no rows in any of its {len(self.table.chunks)} chunks; needed is at least one.")
        return labels

    def _first(self) -> tuple[np.dtype, np.ndarray]:
        for number in range(len(self.table.chunks)):
            one = slice(number, number + 1)
            found = self.table.map_reduce(type_and_mean, added, self.client, chunks=one)
            if found is not None:
                return found
        raise DataError(f"X has no rows in any of its {len(self.table.chunks)} chunks; needed is at least one.")


@contextmanager
def dask_reader(X, sensitive_features, groups=None) -> Iterator[DaskReader]:
    """A reader of a DaskStream, or of a Dask collection and its groups, and the cluster for as long as it lasts."""
    stream = X if isinstance(X, DaskStream) else DaskStream(X, sensitive_features)
    with connected(stream.client) as client:
        yield DaskReader(stream, client, groups)


def chunk_products(expected: np.ndarray, G: int, X, groups, operand: Operand) -> BlockSums:
    """The sums of one chunk, made in steps that stay small."""
    n, d, rows = row_blocks(X)
    w, slabs = operand.W.shape[1], max(len(operand.sides), 1)
    if n == 0:
        return BlockSums(np.zeros(G), np.zeros((G, d)), np.zeros((slabs, d, w), dtype=operand.W.dtype))
    codes = expected_codes(expected, groups, n)
    step = max(STEP_ENTRIES // d, 1)
    parts = (
        batch_sums(np.asarray(rows(a, min(a + step, n))), codes[a : a + step], G, operand) for a in range(0, n, step)
    )
    total = next(parts)
    for part in parts:
        total += part
    return total


def added(parts: list[BlockSums]) -> BlockSums:
    """The total, from left to right; the parts stay as they are."""
    total = parts[0]
    for place, part in enumerate(parts[1:]):
        if place:
            total += part
        else:
            total = total + part
    return total


def labels_and_size(groups) -> tuple[np.ndarray | None, list[int]]:
    """The labels of one chunk and its number of rows."""
    n = len(groups)
    return (encode_groups(groups, n)[0] if n else None), [n]


def gathered(parts: list[tuple]) -> tuple[np.ndarray | None, list[int]]:
    """The labels of several chunks and the numbers of rows of each."""
    some = [labels for labels, _ in parts if labels is not None]
    return (union_labels(*some) if some else None), [n for _, sizes in parts for n in sizes]


def type_and_mean(X, groups, operand=None) -> tuple[np.dtype, np.ndarray] | None:
    """Precision of the computation and a point near the data; None for a chunk without rows."""
    n, d, rows = row_blocks(X)
    if n == 0:
        return None
    block = np.asarray(rows(0, min(n, max(STEP_ENTRIES // d, 1))))
    mean = block.mean(axis=0, dtype=np.float64)
    # Where the mean is not finite, the first block will name the entry.
    return precision_of(block.dtype), (mean if np.isfinite(mean).all() else np.zeros(d))
