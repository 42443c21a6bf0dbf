"""Blocks of rows from a stream: exactly so many rows, or one whole pass, whatever the size of the batches."""

from collections.abc import Iterator

import numpy as np

from ..core.errors import DataError, GroupError
from ..core.groups import encode_groups, label_text, positions, union_labels
from ..core.moments import GroupMoments
from ..core.streams import Stream, in_batch
from .block_sums import BlockSums, Operand, batch_sums

#: Rows multiplied at once, in numbers: 128 MiB of single precision. A batch larger than that is cut.
STEP_ENTRIES = 2**25


class BlockReader:
    """Reads a stream block by block and returns the sums of each.

    Parameters
    ----------
    stream : Stream
        Where the rows come from.
    groups : array-like, optional
        The labels to expect. By default those that the stream knows, or those met until there are two.
    """

    def __init__(self, stream: Stream, groups=None):
        self.stream, self.one_shot = stream, stream.one_shot
        self._batches: Iterator | None = None
        self._rest: tuple | None = None
        self._number = 0
        self._at = 0  # rows of this pass that have been read
        first = self._peek(groups)
        self.d, self.dtype = first.shape[1], precision_of(first.dtype)
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
        total = None
        wanted = np.inf if rows is None else rows
        while wanted > 0 and (batch := self._next(wanted)) is not None:
            X, codes, number, at = batch
            with in_batch(number, at, len(X)):
                part = batch_sums(X, codes, G, operand)
            wanted -= len(X)
            if total is None:
                total = part
            else:
                total += part
        return total

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
        self._batches = iter(self.stream)
        first = None
        found = None
        for X, given in self._batches:
            first = (X, given) if first is None else first
            labels = encode_groups(given, len(X))[0]
            found = labels if found is None else union_labels(found, labels)
            if expected is not None or len(found) > 1 or self.one_shot:
                break
        if first is None:
            raise DataError("the stream has not one row; needed is at least one batch (X, groups).")
        self.labels = found if expected is None else encode_groups(expected)[0]
        if self.one_shot:
            self._rest = first[0], expected_codes(self.labels, first[1], len(first[0]))
            self._number = 1
        else:
            self._batches = None
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
        products = np.stack(
            [
                scatter @ W + count * np.outer(shift, shift @ W)
                for scatter, count, shift in zip(self.moments.scatters, counts, self.shifts, strict=True)
            ]
        )
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
