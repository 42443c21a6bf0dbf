r"""What a map does to the groups of one part of the rows, training set or held out: tidy rows with 95 % intervals.

Errors are mean squared distances between rows and their reconstructions about the overall mean of the training set. The
loss of a group is its error less that of the best k directions for its own training rows: on held-out rows it can be
negative. With fewer than ``ROWS_A_FEATURE`` rows a feature those directions are noise, and losses are not given.

Intervals say how sure a number is for *this* map, the blocks of the part being drawn anew: percentiles, for errors,
losses and averages. Of a gap, a distance or the largest of several numbers, which noise only raises, percentiles would
exclude zero even where nothing is there. With :math:`d_p` the difference of a pair of groups, :math:`s_p` the root mean
square of its deviations over the draws and q the 95 % quantile of the largest :math:`|d_p^* - d_p| / s_p` of all pairs,
the gap :math:`\max_p |d_p|` lies between :math:`\max_p (|d_p| - q s_p)` and :math:`\max_p (|d_p| + q s_p)` at least as
often as stated, and a group of a few rows, whose numbers are noise, hides no gap between two others. The column
``noise_q95`` is the distance from the gap to the lower end, the 95 % null quantile: a larger gap is significant.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.stats import norm

from ..core.answer import FairSubspace
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from ..metrics.bootstrap import block_sums, cells_of, interval, multiplicities, quantiles
from ..metrics.linear_map import LinearMap
from ..metrics.prediction import auc, auc_standard_error, effective_size
from ..reconstruction.group_errors import group_matrices

LEVEL = 0.95
#: Rows of every group for each feature below which the group's own directions are not estimated.
ROWS_A_FEATURE = 10
#: Columns of tidy rows; ``group`` is empty for what concerns all rows.
COLUMNS = ["attribute", "k", "method", "part", "group", "metric", "value", "low", "high", "noise_q95", "note"]


@dataclass(frozen=True)
class Row:
    """One number: what, of which group, its interval, the 95 % null quantile, and a note."""

    metric: str
    value: float
    low: float = np.nan
    high: float = np.nan
    noise_q95: float = np.nan
    group: str = ""
    note: str = ""


class Part:
    """Moments by block and ``attribute``, and how often each of m blocks is in each sample, of all methods alike."""

    def __init__(self, name: str, moments: GroupMoments, attribute: str, n_boot: int, random_state):
        self.name, self.moments, self.attribute = name, moments, attribute
        labels, self._block, self._group = cells_of(moments, attribute)
        self.labels = [str(label) for label in labels]
        self.m = int(self._block.max(axis=0)) + 1
        self.draws = multiplicities(self.m, n_boot, random_state).astype(float)
        self.counts = self._laid_out(np.asarray(moments.counts, dtype=float))  # or sums of weights, (m, G)
        self._traces = np.einsum("cdd->c", moments.scatters)

    @cached_property
    def plain(self) -> GroupMoments:
        """The ordinary moments of the groups."""
        return self.moments.marginal(self.attribute)

    def _laid_out(self, values: np.ndarray) -> np.ndarray:
        table = np.zeros((self.m, len(self.labels), *values.shape[1:]))
        table[self._block, self._group] = values
        return table

    def about(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances of the rows to a point, by block and group (m, G); sums of the offsets, by block (m, d)."""
        offsets, counts = self.moments.means - point, self.moments.counts
        squares = self._laid_out(self._traces + counts * (offsets**2).sum(axis=1))
        return squares, self._laid_out(counts[:, None] * offsets).sum(axis=1)


def own_errors(parts: list[Part], sizes) -> dict[int, list[np.ndarray]]:
    """By k and part: squared residuals by block (m, G), each group under its own best directions of the first part."""
    moments = parts[0].plain
    bases = [top_eigenspace(M, max(sizes))[1] for M in group_matrices(moments)]

    def residuals(part, k):
        maps = (LinearMap(V[:, :k], V[:, :k], moments.mean) for V in bases)
        found = [block_sums(part.moments, one, part.attribute).errors[:, g] for g, one in enumerate(maps)]
        return np.column_stack(found)

    return {k: [residuals(part, k) for part in parts] for k in sizes}


class Evaluation:
    """A map on one part: values by group, and in every sample of blocks; losses with ``own`` (:func:`own_errors`)."""

    def __init__(self, part: Part, answer: FairSubspace | LinearMap, own: np.ndarray | None = None):
        self.part, self.answer, self.own = part, answer, own
        self.sums = block_sums(part.moments, answer, part.attribute)
        self.n = part.counts.sum(axis=0)
        self.errors = self.sums.errors.sum(axis=0) / self.n  # (G,)
        self.drawn_errors = self.sums.group_errors(part.draws)  # (n_boot, G)
        self.means = self.sums.firsts.sum(axis=0) / self.n[:, None]  # after the projection, (G, k)
        self.drawn_means = self.sums.group_means(part.draws)
        self.average = float(self.sums.errors.sum(axis=None) / self.n.sum(axis=0))  # error over all rows
        self.drawn_average = part.draws @ self.sums.errors.sum(axis=1) / (part.draws @ part.counts.sum(axis=1))
        self._everybody = np.ones((1, part.m))

    def rows(self, note: str = "") -> Iterator[Row]:
        """All metrics that moments determine, the first with a note about the fit."""
        draws, counts = self.part.draws, self.part.counts
        squares, offsets = self.part.about(self.answer.mean)
        yield replace(_row("average error", self.average, self.drawn_average), note=note)
        yield from self._by_group("error", self.errors, self.drawn_errors)
        explained, drawn = (1.0 - _quotient(one @ self.sums.errors, one @ squares) for one in (self._everybody, draws))
        yield from self._by_group("explained share", explained[0], drawn)
        retained, drawn = (self._retained(one, squares.sum(axis=1), offsets) for one in (self._everybody, draws))
        yield _row("retained variance", retained[0], drawn)
        yield from self._differences("error", self.errors, self.drawn_errors)
        yield from self._distances()
        if self.own is not None:
            losses = self.errors - self.own.sum(axis=0) / self.n
            drawn = self.drawn_errors - _quotient(draws @ self.own, draws @ counts)
            yield from self._by_group("loss", losses, drawn)
            yield from self._differences("loss", losses, drawn)

    def variances(self) -> Iterator[Row]:
        """The variance of every group about its own mean, of one component on average."""
        of = (self._everybody, self.means[None]), (self.part.draws, self.drawn_means)
        found = [_quotient(a @ self.sums.squares, a @ self.part.counts) - (m**2).sum(axis=2) for a, m in of]
        yield from self._by_group("variance", *(one / self.means.shape[1] for one in (found[0][0], found[1])))

    def statistic(self, metric: str) -> tuple[float, np.ndarray]:
        """A metric of all groups and its value in every sample of blocks, for comparisons in pairs."""
        if metric == "average error":
            return self.average, self.drawn_average
        if metric == "scaled mean distance":
            value = largest_distance(self.means[None]) / self._spread(self._everybody)
            return float(value[0]), largest_distance(self.drawn_means) / self._spread(self.part.draws)
        return float(np.ptp(self.errors, axis=0)), np.ptp(self.drawn_errors, axis=1)

    def _by_group(self, metric: str, values: np.ndarray, drawn: np.ndarray) -> Iterator[Row]:
        low, high = interval(drawn, LEVEL, self.part.labels)
        for g, label in enumerate(self.part.labels):
            yield Row(metric, float(values[g]), float(low[g]), float(high[g]), group=label)

    def _kept(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows in every sample, and the sum of squares of their representation about its mean."""
        n = draws @ self.part.counts.sum(axis=1)
        squares, firsts = self.sums.squares.sum(axis=1), self.sums.firsts.sum(axis=1)
        return n, draws @ squares - ((draws @ firsts) ** 2).sum(axis=1) / n

    def _retained(self, draws: np.ndarray, squares: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        n, kept = self._kept(draws)
        return kept / (draws @ squares - ((draws @ offsets) ** 2).sum(axis=1) / n)

    def _spread(self, draws: np.ndarray) -> np.ndarray:
        """Standard deviation of the representation along a component, in every sample."""
        n, kept = self._kept(draws)
        return np.sqrt(np.maximum(kept, np.finfo(float).tiny) / n / self.means.shape[1])

    def _differences(self, kind: str, values: np.ndarray, drawn: np.ndarray) -> Iterator[Row]:
        margins = simultaneous(np.abs(drawn - values))
        ends = float((values - margins).max(axis=0)), float((values + margins).max(axis=0))
        yield Row(f"worst {kind}", float(values.max(axis=0)), *ends)
        yield _gap(f"{kind} gap", values[:, None], drawn[:, :, None])

    def _distances(self) -> Iterator[Row]:
        row = _gap("mean distance", self.means, self.drawn_means)
        yield row
        # In standard deviations of the representation: a map that discards variance brings all rows closer.
        numbers = np.array([row.value, row.low, row.high, row.noise_q95]) / self._spread(self._everybody)
        yield Row("scaled mean distance", *map(float, numbers))


def _row(metric: str, value: float, drawn: np.ndarray) -> Row:
    return Row(metric, float(value), *map(float, interval(drawn, LEVEL)))


def _quotient(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def simultaneous(deviations: np.ndarray) -> np.ndarray:
    """Margins (P,), each in proportion to its own noise, that in 95 % of the draws none of P deviations passes."""
    size = np.sqrt(np.nanmean(deviations**2, axis=0))
    # Absent groups are nan in a few draws, and what has no noise never passes anything.
    ratios = np.nan_to_num(np.divide(deviations, size, out=np.zeros_like(deviations), where=size > 0))
    return float(quantiles(ratios.max(axis=1), [LEVEL])[0]) * size


def _gap(metric: str, values: np.ndarray, drawn: np.ndarray) -> Row:
    """The largest distance between the values (G, q) of two groups, drawn (n_boot, G, q) times."""
    deviations, pairs = drawn - values, list(combinations(range(len(values)), 2))
    sizes = np.array([np.linalg.norm(values[g] - values[h]) for g, h in pairs])
    apart = [np.linalg.norm(deviations[:, g] - deviations[:, h], axis=1) for g, h in pairs]
    margins = simultaneous(np.column_stack(apart))
    value, low, high = (float(ends.max(axis=0)) for ends in (sizes, sizes - margins, sizes + margins))
    return Row(metric, value, max(low, 0.0), high, value - low)


def largest_distance(means: np.ndarray) -> np.ndarray:
    """Largest distance between two of G means (..., G, k)."""
    g, h = np.triu_indices(means.shape[-2], 1)
    return np.linalg.norm(means[..., g, :] - means[..., h, :], axis=-1).max(axis=-1)


def auc_row(metric: str, member: np.ndarray, scores: np.ndarray, w: np.ndarray, group: str = "", tests: int = 1) -> Row:
    """An area under the ROC curve with its normal interval about other scored rows, simultaneous over ``tests`` such.

    Its 95 % null quantile is what the largest of so many scores without any information exceeds in one of twenty cases,
    by the normal approximation of the rank sum. With weights w (n,) both are those of the effective sizes.
    """
    area, z = auc(member, scores, w), norm.isf((1.0 - LEVEL) / 2.0 / tests)
    inside, outside = effective_size(w[member]), effective_size(w[~member])
    chance = np.sqrt((inside + outside + 1.0) / (12.0 * inside * outside))
    null = 0.5 + norm.isf((1.0 - LEVEL) / tests) * chance
    margin = z * auc_standard_error(member, scores, w)
    return Row(metric, area, max(area - margin, 0.0), min(area + margin, 1.0), float(null), group)


def paired_difference(one: tuple[float, np.ndarray], other: tuple[float, np.ndarray]) -> tuple[float, float]:
    """How much larger a statistic is than another, and the 95 % quantile of the deviations of that in their samples."""
    difference = one[0] - other[0]
    return difference, float(quantiles(np.abs(one[1] - other[1] - difference), [LEVEL])[0])
