r"""Bootstrap by blocks: intervals of metrics from group moments, without the rows.

Rows are dealt at random to m blocks, and moments are collected for every block and group. What a linear metric needs of
a block is a sum over its rows (counts, squared residuals, projected rows), so that a sample of m blocks drawn with
replacement costs m additions. For blocks dealt at random the variance over such draws estimates that over samples of
rows, as if from m - 1 degrees of freedom; with one row in every block it is the ordinary bootstrap.

Blocks are dealt over all rows, not within groups: the sizes of the groups vary from draw to draw, as they would in
another sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.lib.recfunctions import repack_fields

from ..core.answer import FairSubspace
from ..core.errors import ConfigurationError, DataError, GroupError
from ..core.groups import label_text
from ..core.inputs import require_generator
from ..core.moments import GroupMoments
from ..core.options import whole
from .linear_map import LinearMap, encoder

#: The attribute that names the block of a row among the sensitive features.
BLOCK = "block"

#: The largest share of draws in which a group may be absent (or a metric undefined).
LOST = 0.05


@dataclass(frozen=True, eq=False)
class BlockSums:
    """What m blocks contribute to the linear metrics of a subspace; every entry is a sum over the rows of a block.

    Of G groups: their labels; rows (0 where a group does not occur in a block); squared residuals, centred by the
    subspace's mean and in its units; coordinates (m, G, k) of the rows, and their squared lengths.
    """

    labels: np.ndarray  # (G,)
    counts: np.ndarray  # (m, G)
    errors: np.ndarray  # (m, G)
    firsts: np.ndarray  # (m, G, k)
    squares: np.ndarray  # (m, G)

    def pooled(self) -> "BlockSums":
        """The sums of all groups together."""
        return BlockSums(np.zeros(1), *(part.sum(axis=1, keepdims=True) for part in list(vars(self).values())[1:]))

    def group_errors(self, draws: np.ndarray) -> np.ndarray:
        """Mean squared errors (n_boot, G) in samples with each block ``draws`` (n_boot, m) times; nan if absent."""
        return _quotient(draws @ self.errors, draws @ self.counts)

    def group_means(self, draws: np.ndarray) -> np.ndarray:
        """Means (n_boot, G, k) of the groups in the subspace in the same samples; nan if absent."""
        sums = np.einsum("bm,mgk->bgk", draws, self.firsts, optimize=True)
        return _quotient(sums, (draws @ self.counts)[:, :, None])


def assign_blocks(n: int, n_blocks: int, random_state=None) -> np.ndarray:
    """Deal n rows at random to blocks whose sizes differ by one at most.

    Parameters
    ----------
    n : int
        Rows.
    n_blocks : int
        Blocks, at most n.
    random_state : None, int or Generator
        Seed of the deal.

    Returns
    -------
    ndarray of shape (n,)
        Block of each row, from 0 to ``n_blocks - 1``.

    Examples
    --------
    >>> np.bincount(assign_blocks(10, 4, random_state=0))
    array([3, 3, 2, 2])
    """
    n, n_blocks = whole(1).require("n", n), whole(2).require("n_blocks", n_blocks)
    if n_blocks > n:
        raise ConfigurationError(f"n_blocks={n_blocks} for {n} rows; needed is at most one block for each row.")
    return require_generator(random_state).permutation(np.arange(n) % n_blocks)


def block_sums(moments: GroupMoments, subspace: FairSubspace | LinearMap, attribute: str | None = None) -> BlockSums:
    """What every block contributes to the linear metrics of a map: O(m G d^2 k) time, working memory O(m G d k).

    The moments have the attribute "block" and at least one more; ``attribute`` makes the groups, or all others do.
    """
    labels, block, group = cells_of(moments, attribute)
    inward = encoder(subspace)
    outward = subspace.V if subspace.scale is None else subspace.V / subspace.scale[:, None]
    weights = np.ones(moments.d) if subspace.scale is None else 1.0 / subspace.scale**2
    n, offsets = moments.counts, moments.means - subspace.mean
    # |z - V t|^2 = |z|^2 - 2 (V'z)'t + |t|^2 with t = B'z, because V has orthonormal columns.
    seen = moments.scatters.reshape(-1, moments.d) @ inward
    seen = seen.reshape(moments.G, *inward.shape)
    firsts, onto = offsets @ inward, offsets @ outward
    lengths = np.einsum("cdk,dk->c", seen, inward) + n * (firsts**2).sum(axis=1)
    products = np.einsum("cdk,dk->c", seen, outward) + n * (firsts * onto).sum(axis=1)
    wholes = np.einsum("cdd,d->c", moments.scatters, weights) + n * (offsets**2 @ weights)
    errors = np.maximum(wholes - 2.0 * products + lengths, 0.0)

    def laid_out(values):
        table = np.zeros((int(block.max(axis=0)) + 1, len(labels), *values.shape[1:]))
        # add.at: with one of several attributes as the groups, several cells belong to the same block and group.
        np.add.at(table, (block, group), values)
        return table

    return BlockSums(labels, *map(laid_out, (n.astype(float), errors, n[:, None] * firsts, lengths)))


def multiplicities(m: int, n_boot: int, random_state=None) -> np.ndarray:
    """How often (n_boot, m) each of m blocks is drawn, in ``n_boot`` samples of m blocks with replacement."""
    m, n_boot = whole(2).require("m", m), whole(1).require("n_boot", n_boot)
    return require_generator(random_state).multinomial(m, np.full(m, 1.0 / m), size=n_boot)


def resampled(moments: GroupMoments, draws: np.ndarray, attribute: str | None = None) -> Iterator[GroupMoments]:
    """The moments of the groups in every drawn sample of blocks, for metrics that are not sums over rows.

    A group that a sample does not contain is missing from its labels. O(m G d^2) for each sample.
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
        outer = shifted[rows, :, None] * shifted[rows, None, :]
        squares = moments.scatters[rows] + moments.counts[rows, None, None] * outer
        sums.append((block[rows], moments.counts[rows], shifted[rows], squares.reshape(len(rows), d * d)))
    for draw in draws:
        found = [_merged(draw[at], counts, means, squares) for at, counts, means, squares in sums]
        present = [g for g, part in enumerate(found) if part is not None]
        counts, means, scatters = (np.array([found[g][i] for g in present]) for i in range(3))
        yield GroupMoments(labels[present], counts, means + moments.mean, scatters, moments.feature_names)


def interval(samples, level: float = 0.95, labels=None) -> tuple[np.ndarray, np.ndarray]:
    """Percentile interval along the first axis, with a share ``level`` of the samples inside.

    >>> interval(np.arange(101.0), level=0.5)
    (np.float64(25.0), np.float64(75.0))
    """
    if not 0.0 < level < 1.0:
        raise ConfigurationError(f"level={level!r}; needed is a share between 0 and 1, for instance 0.95.")
    return tuple(quantiles(samples, ((1.0 - level) / 2.0, (1.0 + level) / 2.0), labels))


def quantiles(samples, shares, labels=None) -> np.ndarray:
    """Quantiles along the first axis, one entry for each share; samples without a value (nan) are left out.

    GroupError where those are more than one in twenty, naming the entry of the second axis by ``labels``.
    """
    samples = np.asarray(samples, dtype=np.float64)
    if samples.ndim == 0 or len(samples) == 0:
        raise DataError(f"samples has shape {samples.shape}; needed is one entry for each draw along the first axis.")
    lost = np.isnan(samples).mean(axis=0)
    if (lost > LOST).any():
        first = np.unravel_index(np.argmax(lost, axis=None), lost.shape)
        name = label_text(labels[first[0]]) if labels is not None and first else f"at {tuple(map(int, first))}"
        raise GroupError(
            f"group {name!r} has no value in {lost[first]:.0%} of {len(samples)} samples: it has rows in too few "
            "blocks for an interval. Merge it with another group, leave it out, or deal the rows to fewer blocks."
        )
    found = np.nanquantile if lost.any() else np.quantile  # the same numbers, and faster
    return found(samples, np.asarray(shares, dtype=np.float64), axis=0)


def cells_of(moments: GroupMoments, attribute: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels of the groups (G,), and of every cell of the moments the position of its block and of its group."""
    others = tuple(name for name in moments.attributes if name != BLOCK)
    if BLOCK not in moments.attributes or not others:
        raise GroupError(
            f"these moments have the attribute(s) {', '.join(moments.attributes)}; needed are 'block' and at least one "
            "more. Collect them with a data frame {'block': assign_blocks(n, 100), ...} as sensitive_features."
        )
    if attribute is not None and attribute not in others:
        raise GroupError(f"no attribute {attribute!r} beside 'block'; there is {', '.join(others)}.")
    names = (attribute,) if attribute is not None else others
    values = moments.labels[names[0]] if len(names) == 1 else repack_fields(moments.labels[list(names)])
    labels, group = np.unique(values, return_inverse=True)
    blocks, block = np.unique(moments.labels[BLOCK], return_inverse=True)
    if len(blocks) < 2:
        raise GroupError(f"all rows are in block {blocks[0]}; a bootstrap needs at least two blocks.")
    return labels, block, group


def _merged(times: np.ndarray, counts: np.ndarray, means: np.ndarray, squares: np.ndarray) -> tuple | None:
    """Count, mean and scatter of one group whose cells are taken ``times`` times each; None if it has no row."""
    weights = times * counts
    n = float(weights.sum(axis=0))
    if n <= 0:
        return None
    mean = weights @ means / n
    d = len(mean)
    return n, mean, (times @ squares).reshape(d, d) - n * np.outer(mean, mean)


def _quotient(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    # 0 / 0 of an absent group is nan on purpose; ``interval`` counts them.
    sums, counts = np.broadcast_arrays(sums, counts)
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
