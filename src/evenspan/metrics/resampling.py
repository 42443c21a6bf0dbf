"""Moments of bootstrap samples of blocks, for metrics that are not sums over the rows."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ..core.errors import DataError
from ..core.moments import GroupMoments
from .bootstrap import cells_of


def resampled(moments: GroupMoments, draws: np.ndarray, attribute: str | None = None) -> Iterator[GroupMoments]:
    """The moments of the groups in every drawn sample of blocks, for metrics that are not sums over rows.

    Parameters
    ----------
    moments : GroupMoments
        With the attribute "block" and at least one more.
    draws : ndarray of shape (n_boot, m)
        As ``multiplicities`` returns them; m is the number of blocks that occur.
    attribute : str, optional
        As in ``block_sums``.

    Yields
    ------
    GroupMoments
        Of one sample. A group that the sample does not contain is missing from its labels.

    Complexity
    ----------
    O(m G d^2) for each sample; memory as much again as the moments.
    """
    labels, block, group = cells_of(moments, attribute)
    m, G, d = int(block.max(axis=0)) + 1, len(labels), moments.d
    if draws.ndim != 2 or draws.shape[1] != m:
        raise DataError(f"draws has shape {draws.shape}, but the moments have {m} blocks; needed is (n_boot, {m}).")
    # Raw sums about the mean of all rows: they add, and no digit is lost to an offset of the data.
    shifted = moments.means - moments.mean
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(G + 1))
    sums = []
    for rows in (order[a:b] for a, b in pairwise(bounds)):
        squares = moments.scatters[rows] + moments.counts[rows, None, None] * _outer(shifted[rows])
        sums.append((block[rows], moments.counts[rows], shifted[rows], squares.reshape(len(rows), d * d)))
    for draw in draws:
        found = [_merged(draw[at], counts, means, squares) for at, counts, means, squares in sums]
        present = [g for g, part in enumerate(found) if part is not None]
        counts, means, scatters = (np.array([found[g][i] for g in present]) for i in range(3))
        yield GroupMoments(labels[present], counts, means + moments.mean, scatters, moments.feature_names)


def _merged(times: np.ndarray, counts: np.ndarray, means: np.ndarray, squares: np.ndarray) -> tuple | None:
    """Count, mean and scatter of one group whose cells are taken ``times`` times each; None if it has no row."""
    weights = times * counts
    n = float(weights.sum(axis=0))
    if n <= 0:
        return None
    mean = weights @ means / n
    d = len(mean)
    return n, mean, (times @ squares).reshape(d, d) - n * np.outer(mean, mean)


def _outer(rows: np.ndarray) -> np.ndarray:
    return rows[:, :, None] * rows[:, None, :]
