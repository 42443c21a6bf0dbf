"""Blocks of rows for the noisy power method: from a stream, from known moments, or summed on a cluster."""

import hashlib
from collections.abc import Iterator
from functools import partial
from itertools import chain

import numpy as np

from ..core.dask_tables import DaskStream
from ..core.errors import DataError, GroupError
from ..core.groups import encode_groups, label_text, positions, union_labels
from ..core.inputs import row_blocks, rows_of
from ..core.moments import GroupMoments
from ..core.streams import Stream, in_batch
from .noisy_power import BlockSums, Operand, batch_sums

#: Rows multiplied at once, in numbers: 128 MiB of single precision. A batch larger than that is cut.
STEP_ENTRIES = 2**25
#: Rows by which a stream is known again.
FIRST_ROWS = 1024


class BlockReader:
    """Reads a stream block by block and returns the sums of each.

    ``groups`` are the labels to expect: by default those that the stream knows, or those met until there are two.
    """

    def __init__(self, stream: Stream, groups=None):
        self.stream, self.one_shot = stream, stream.one_shot
        self._batches: Iterator | None = None
        self._rest: tuple | None = None  # of the last batch
        self._number = self._at = 0  # batches and rows of this pass that have been read
        first = self._peek(groups)
        self.d, self.dtype = first.shape[1], precision_of(first.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            self.origin = np.ascontiguousarray(first).mean(axis=0, dtype=np.float64)
        if not np.isfinite(self.origin).all():
            self.origin = np.zeros(self.d)  # the first block will name the entry

    def start_pass(self, row: int = 0) -> None:
        """Begin at a row of the stream; one that can be read only once goes forward to it."""
        if self.one_shot:
            while self._at < row and self._next(row - self._at) is not None:
                pass
            return
        self._batches, self._rest, self._number, self._at = self.stream.from_row(row), None, 0, row

    def read(self, rows: int | None, operand: Operand, G: int) -> BlockSums | None:
        """The sums over the next ``rows`` rows, or over all that are left; None when there are none."""
        return total_of(self._parts(np.inf if rows is None else rows, operand, G))

    def _parts(self, wanted: float, operand: Operand, G: int) -> Iterator[BlockSums]:
        while wanted > 0 and (batch := self._next(wanted)) is not None:
            X, codes, number, at = batch
            with in_batch(number, at, len(X)):
                part = batch_sums(X, codes, G, operand)
            wanted -= len(X)
            yield part

    def _next(self, most: float) -> tuple | None:
        if self._rest is None:
            found = next(self._batches, None)
            if found is None:
                return None
            X, groups = found
            self._number += 1
            with in_batch(self._number, self._at, len(X)):
                self._rest = X, expected_codes(self.labels, groups, len(X))
        X, codes = self._rest
        take = int(min(most, len(X), max(STEP_ENTRIES // max(self.d, 1), 1)))
        self._rest = (X[take:], codes[take:]) if take < len(X) else None
        at, self._at = self._at, self._at + take
        return X[:take], codes[:take], self._number, at

    def _peek(self, groups) -> np.ndarray:
        """The first batch, left to be read again; on the way the labels are settled."""
        expected = groups if groups is not None else getattr(self.stream, "labels", None)
        batches, first, found = iter(self.stream), None, None
        for X, given in batches:
            first = (X, given) if first is None else first
            labels = encode_groups(given, len(X))[0]
            found = labels if found is None else union_labels(found, labels)
            if expected is not None or len(found) > 1 or self.one_shot:
                break
        if first is None:
            raise DataError("the stream has not one row; needed is at least one batch (X, groups).")
        self.labels = found if expected is None else encode_groups(expected)[0]
        if self.one_shot:
            self._batches = chain([first], batches)
        self.first_rows = digest_of(*first)
        return np.asarray(first[0])


class ExactSums:
    """Stands in for a reader of rows where the group moments are known: every block is the whole sample."""

    def __init__(self, moments: GroupMoments):
        self.moments, self.labels, self.d, self.dtype = moments, moments.labels, moments.d, np.dtype(np.float64)
        self.one_shot = False
        self.origin = moments.mean
        self.shifts = moments.means - self.origin

    def start_pass(self, row: int = 0) -> None:
        """Nothing is read."""

    def read(self, rows: int | None, operand: Operand, G: int) -> BlockSums:
        """The sums that a pass over the sample would give."""
        counts, W = self.moments.counts, operand.W
        groups = zip(self.moments.scatters, counts, self.shifts, strict=True)
        products = np.stack([S @ W + count * np.outer(shift, shift @ W) for S, count, shift in groups])
        sides = operand.sides or (np.ones((G, W.shape[1])),)
        slabs = np.stack([np.einsum("gdw,gw->dw", products, side.astype(np.float64)) for side in sides])
        squares = float(np.trace(self.moments.scatter))
        return BlockSums(counts.copy(), counts[:, None] * self.shifts, slabs, squares, round(self.moments.n))


def expected_codes(expected: np.ndarray, groups, n: int) -> np.ndarray:
    """Positions among the expected labels of those of n rows; a label that was not expected is an error."""
    labels, codes = encode_groups(groups, n)
    merged = union_labels(expected, labels)
    if len(merged) > len(expected):
        known = set(expected.tolist())
        new = next(label for label in merged if label.item() not in known)
        raise GroupError(
            f"group {label_text(new)!r} appears for the first time, after the comparisons were set up for "
            f"{', '.join(label_text(label) for label in expected)}. Name all groups at the start: groups=[...]."
        )
    return positions(labels, expected)[codes]


def precision_of(dtype: np.dtype) -> np.dtype:
    """Of the computation: single for single precision and for pixels of one byte, double for all else."""
    pixels = dtype.kind in "bu" and dtype.itemsize == 1
    return np.dtype(np.float32) if pixels or dtype == np.float32 else np.dtype(np.float64)


class DaskReader:
    """Reads blocks as a ``BlockReader`` does; the sums of their chunks are made and added on the cluster.

    A block is a whole pass, or as many whole chunks as are needed for its rows. Labels that the chunks hold themselves
    are gathered in a pass over the groups, unless they are named.
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
        self.dtype, self.origin, self.first_rows = self._first()

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
        return total.copy()  # what came over the network may be a view of a buffer that cannot be written to

    def _known_sizes(self) -> list[int]:
        if None in self._sizes:
            self._survey()
        return self._sizes

    def _survey(self) -> np.ndarray:
        """The labels of all chunks, in one pass over the groups; on the way the sizes of the chunks."""
        labels, self._sizes = self.table.map_reduce(labels_and_size, gathered, self.client, groups_only=True)
        return self._found(labels)

    def _first(self) -> tuple[np.dtype, np.ndarray, str]:
        ones = (slice(number, number + 1) for number in range(len(self.table.chunks)))
        seen = (self.table.map_reduce(first_sight, added, self.client, chunks=one) for one in ones)
        return self._found(next((found for found in seen if found is not None), None))

    def _found(self, value):
        if value is None:
            raise DataError(f"X has no rows in any of its {len(self.table.chunks)} chunks; needed is at least one.")
        return value


def chunk_products(expected: np.ndarray, G: int, X, groups, operand: Operand) -> BlockSums:
    """The sums of one chunk, made in steps that stay small."""
    n, d, rows = row_blocks(X)
    w, slabs = operand.W.shape[1], max(len(operand.sides), 1)
    if n == 0:
        return BlockSums(np.zeros(G), np.zeros((G, d)), np.zeros((slabs, d, w), dtype=operand.W.dtype))
    codes = expected_codes(expected, groups, n)
    step = max(STEP_ENTRIES // d, 1)
    starts = range(0, n, step)
    return total_of(batch_sums(np.asarray(rows(a, min(a + step, n))), codes[a : a + step], G, operand) for a in starts)


def added(parts: list[BlockSums]) -> BlockSums:
    """The total, from left to right; the parts stay as they are."""
    return total_of(chain([parts[0].copy()], parts[1:]))


def total_of(parts: Iterator[BlockSums]) -> BlockSums | None:
    """The total, from left to right, in the memory of the first part; None when there is none."""
    total = next(parts, None)
    for part in parts:
        total += part
    return total


def labels_and_size(groups) -> tuple[np.ndarray | None, list[int]]:
    """The labels of one chunk and its number of rows."""
    n = len(groups)
    return (encode_groups(groups, n)[0] if n else None), [n]


def gathered(parts: list[tuple]) -> tuple[np.ndarray | None, list[int]]:
    """The labels of several chunks and the numbers of rows of each."""
    some = [labels for labels, _ in parts if labels is not None]
    return (union_labels(*some) if some else None), [n for _, sizes in parts for n in sizes]


def first_sight(X, groups, operand=None) -> tuple[np.dtype, np.ndarray, str] | None:
    """Precision of the computation, a point near the data, the digest of the first rows; None for a chunk without."""
    n, d, rows = row_blocks(X)
    if n == 0:
        return None
    block = np.asarray(rows(0, min(n, max(STEP_ENTRIES // d, 1))))
    mean = block.mean(axis=0, dtype=np.float64)
    # Where the mean is not finite, the first block will name the entry.
    return precision_of(block.dtype), (mean if np.isfinite(mean).all() else np.zeros(d)), digest_of(block, groups)


def digest_of(X: np.ndarray, groups) -> str:
    """SHA-256 of the first rows of a batch with their groups."""
    first = np.ascontiguousarray(X[:FIRST_ROWS], dtype=np.float64)
    labels, codes = encode_groups(rows_of(groups, 0, len(first)))
    whole = hashlib.sha256(first)
    whole.update(f"{first.shape} {labels.tolist()} {codes.tolist()}".encode())
    return whole.hexdigest()
