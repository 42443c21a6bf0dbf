r"""What a map does to the groups of one part, fitting or held out: tidy rows with 95 % intervals.

Errors are mean squared distances between rows and their reconstructions about the overall mean of the fitting part,
summed over features. The loss of a group is its error less that of the best k directions for it alone, fitted to the
group's fitting rows about the same mean: on held-out rows it can be negative.

Intervals say how sure a number is for *this* map, the blocks of the part being drawn anew. Errors, losses and averages
have percentile intervals. A gap, a distance or the largest of several numbers is biased upwards by noise, so that
percentiles of its draws would exclude zero even where nothing is there. With :math:`d_p` the difference of a pair of
groups, :math:`s_p` the root mean square of its deviations over the draws and q the 95 % quantile of the largest
:math:`|d_p^* - d_p| / s_p` of all pairs, the gap :math:`\max_p |d_p|` lies between

.. math:: \max_p (|d_p| - q s_p) \quad\text{and}\quad \max_p (|d_p| + q s_p)

at least as often as stated, and a group of a few rows, whose numbers are noise, hides no gap between two others. The
column ``chance`` is the distance from the gap to the lower end, cut at zero or not: a gap above it cannot be made by
chance alone. For two groups it is the 95 % quantile of the deviations.

The column ``bound`` says what the distance of means and the error gap are at most in the population that the rows were
drawn from, with 95 % confidence and without draws (``evenspan.metrics.mean_gap_bound``, ``error_gap_bound``). Errors
have one on the held-out part only: on the rows that it was fitted to, a map is better than elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.answer import FairSubspace
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from ..metrics.bootstrap import BlockSums, block_sums, cells_of, interval, multiplicities, quantiles
from ..metrics.linear_map import LinearMap
from ..metrics.population import bound_of_blocks, mean_gap_bound
from ..reconstruction.group_errors import group_matrices

LEVEL = 0.95
#: Columns of tidy rows; ``group`` is empty for what concerns all rows.
COLUMNS = ["attribute", "k", "method", "part", "group", "metric", "value", "low", "high", "chance", "bound", "note"]
#: What each metric is, in one line.
METRICS = {
    "error": "mean squared distance between the rows of the group and their reconstructions",
    "loss": "the group's error less that of the best k directions for it alone",
    "share kept": "share of the group's mean squared distance to the overall mean that the reconstruction keeps",
    "mean offset": "distance of the group's mean from the mean of all rows, after the projection",
    "average error": "error over all rows",
    "explained variance": "share of the variance of all rows after the projection",
    "worst error": "largest error of a group",
    "error gap": "largest less smallest error of a group",
    "worst loss": "largest loss of a group",
    "loss gap": "largest less smallest loss of a group",
    "mean distance": "largest distance between the means of two groups after the projection",
    "linear AUC": "how well a linear classifier ranks the groups by the representation; 0.5 is nothing",
    "kernel AUC": "the same of a classifier with a Gaussian kernel",
    "target AUC": "how well a linear classifier ranks the two classes of the target by the representation",
    "target accuracy": "share of rows whose target a linear classifier predicts from the representation",
    "target R2": "share of the target's variance that a linear regression explains by the representation",
    "certificate": "how far from the optimum of its own problem the method can be, relative to it",
    "seconds": "time of the fit",
}


@dataclass(frozen=True)
class Row:
    """One number: what, of which group, between what, what chance alone would give, a note, and the most it can be."""

    metric: str
    value: float
    low: float = np.nan
    high: float = np.nan
    chance: float = np.nan
    group: str = ""
    note: str = ""
    bound: float = np.nan


# -- one part of the rows, as blocks -----------------------------------------------------------------------------------


class Part:
    """Blocked moments of one part ("fitting" or "held out"), and the draws with which its blocks are resampled.

    The moments have the attribute "block" and the one that is looked at. The draws (n_boot, m) say how often each block
    is in each sample; they are the same for all methods, so that methods are compared in pairs.
    """

    def __init__(self, name: str, moments: GroupMoments, attribute: str, n_boot: int, random_state):
        self.name, self.moments, self.attribute = name, moments, attribute
        labels, self._block, self._group = cells_of(moments, attribute)
        self.labels = [str(label) for label in labels]
        self.m = int(self._block.max(axis=0)) + 1
        self.draws = multiplicities(self.m, n_boot, random_state).astype(float)
        self.counts = self.laid_out(np.asarray(moments.counts, dtype=float))  # rows by block and group, (m, G)
        self.resampled_counts = self.draws @ self.counts  # rows of the groups in every sample, (n_boot, G)
        self._traces = np.einsum("cdd->c", moments.scatters)

    @cached_property
    def plain(self) -> GroupMoments:
        """The ordinary moments of the groups."""
        return self.moments.marginal(self.attribute)

    def laid_out(self, values: np.ndarray) -> np.ndarray:
        """Numbers of the cells, shape (cells, ...), by block and group, shape (m, G, ...)."""
        table = np.zeros((self.m, len(self.labels), *values.shape[1:]))
        table[self._block, self._group] = values
        return table

    def sums(self, answer: FairSubspace | LinearMap) -> BlockSums:
        """What every block contributes under a map."""
        return block_sums(self.moments, answer, self.attribute)

    def totals_about(self, point: np.ndarray) -> np.ndarray:
        """Squared distances of the rows to a point (d,), by block and group, (m, G)."""
        offsets = self.moments.means - point
        return self.laid_out(self._traces + self.moments.counts * (offsets**2).sum(axis=1))

    def offsets_from(self, point: np.ndarray) -> np.ndarray:
        """Sums of the rows less a point, by block, (m, d)."""
        return self.laid_out(self.moments.counts[:, None] * (self.moments.means - point)).sum(axis=1)

    def resampled(self, sums: np.ndarray) -> np.ndarray:
        """Means of the groups in every sample, (n_boot, G, ...), of sums by block and group (m, G, ...)."""
        flat = sums.reshape(len(sums), -1)
        counts = self.resampled_counts.reshape(-1, self.counts.shape[1], *(1,) * (sums.ndim - 2))
        drawn = (self.draws @ flat).reshape(-1, *sums.shape[1:])
        return np.divide(drawn, counts, out=np.full(drawn.shape, np.nan), where=counts > 0)


def own_directions(moments: GroupMoments, most: int) -> list[np.ndarray]:
    """For every group its own best directions about the overall mean, the first ``most`` of them, each (d, most)."""
    return [top_eigenspace(M, most)[1] for M in group_matrices(moments)]


# -- a map on one part -------------------------------------------------------------------------------------------------


class Judgement:
    """A map on one part: values by group, and the same in every sample of blocks.

    ``own`` (m, G) are squared residuals by block under each group's own best directions.
    """

    def __init__(self, part: Part, answer: FairSubspace | LinearMap, own: np.ndarray):
        self.part, self.answer, self.sums = part, answer, part.sums(answer)
        self.n = part.counts.sum(axis=0)
        self.errors = self.sums.errors.sum(axis=0) / self.n  # (G,)
        self.drawn_errors = part.resampled(self.sums.errors)  # (n_boot, G)
        self.losses = self.errors - own.sum(axis=0) / self.n
        self.drawn_losses = self.drawn_errors - part.resampled(own)
        self.means = self.sums.firsts.sum(axis=0) / self.n[:, None]  # after the projection, (G, k)
        self.drawn_means = part.resampled(self.sums.firsts)
        self.average = float(self.sums.errors.sum(axis=None) / self.n.sum(axis=0))  # error over all rows
        self.drawn_average = part.draws @ self.sums.errors.sum(axis=1) / part.resampled_counts.sum(axis=1)

    @property
    def spread(self) -> float:
        """Root mean square deviation of the projected rows along a direction, about their mean."""
        n = self.n.sum(axis=0)
        mean = self.n @ self.means / n
        variance = self.sums.squares.sum(axis=None) / n - float(mean @ mean)
        return float(np.sqrt(max(variance, 0.0) / len(mean)))

    def rows(self) -> Iterator[Row]:
        """All linear metrics."""
        labels = self.part.labels
        yield from self._by_group("error", self.errors, self.drawn_errors)
        yield from self._by_group("loss", self.losses, self.drawn_losses)
        yield from self._by_group("share kept", *self._share_kept())
        overall = self.n @ self.means / self.n.sum(axis=0)
        shares = self.part.resampled_counts / self.part.resampled_counts.sum(axis=1, keepdims=True)
        drawn = self.drawn_means - np.einsum("bg,bgk->bk", shares, np.nan_to_num(self.drawn_means))[:, None]
        offsets = self.means - overall
        chance = quantiles(np.linalg.norm(drawn - offsets, axis=2), [LEVEL], labels)[0]
        for g, size in enumerate(np.linalg.norm(offsets, axis=1)):
            yield Row("mean offset", size, max(size - chance[g], 0.0), size + chance[g], chance[g], labels[g])
        low, high = interval(self.drawn_average, LEVEL)
        yield Row("average error", self.average, float(low), float(high))
        yield self._explained()
        yield from self._spread("error", self.errors, self.drawn_errors)
        yield from self._spread("loss", self.losses, self.drawn_losses)
        yield self._distance()

    def statistic(self, metric: str) -> tuple[float, np.ndarray]:
        """The value of a metric of all groups, and its value in every sample: for comparisons in pairs."""
        if metric == "mean distance":
            return float(largest_distance(self.means)), largest_distance(self.drawn_means)
        if metric == "average error":
            return self.average, self.drawn_average
        values, drawn = (self.errors, self.drawn_errors) if "error" in metric else (self.losses, self.drawn_losses)
        if metric.startswith("worst"):
            return float(values.max(axis=0)), drawn.max(axis=1)
        return float(np.ptp(values, axis=0)), np.ptp(drawn, axis=1)

    def _by_group(self, metric: str, values: np.ndarray, drawn: np.ndarray) -> Iterator[Row]:
        low, high = interval(drawn, LEVEL, self.part.labels)
        for g, label in enumerate(self.part.labels):
            yield Row(metric, float(values[g]), float(low[g]), float(high[g]), group=label)

    def _share_kept(self) -> tuple[np.ndarray, np.ndarray]:
        totals = self.part.totals_about(self.answer.mean)
        values = 1.0 - self.sums.errors.sum(axis=0) / totals.sum(axis=0)
        return values, 1.0 - self.drawn_errors / self.part.resampled(totals)

    def _explained(self) -> Row:
        # About the mean of the part, or of the sample drawn from it: sums of squares less that of the mean.
        part, squares, firsts = self.part, self.sums.squares.sum(axis=1), self.sums.firsts.sum(axis=1)
        totals, means = part.totals_about(self.answer.mean).sum(axis=1), part.offsets_from(self.answer.mean)

        def share(draws):
            n = draws @ part.counts.sum(axis=1)
            kept = draws @ squares - ((draws @ firsts) ** 2).sum(axis=1) / n
            return kept / (draws @ totals - ((draws @ means) ** 2).sum(axis=1) / n)

        low, high = interval(share(part.draws), LEVEL)
        return Row("explained variance", float(share(np.ones((1, part.m)))[0]), float(low), float(high))

    def _spread(self, kind: str, values: np.ndarray, drawn: np.ndarray) -> Iterator[Row]:
        deviations = drawn - values
        margins = simultaneous(np.abs(deviations))
        bounds = float((values - margins).max(axis=0)), float((values + margins).max(axis=0))
        yield Row(f"worst {kind}", float(values.max(axis=0)), *bounds)
        g, h = self._pairs
        bound = np.nan
        if kind == "error" and self.part.name == "held out":
            bound = bound_of_blocks(self.sums.labels, self.sums.counts, self.sums.errors, LEVEL)
        apart = np.abs(deviations[:, g] - deviations[:, h])
        yield _largest(f"{kind} gap", np.abs(values[g] - values[h]), apart, bound)

    def _distance(self) -> Row:
        deviations = self.drawn_means - self.means
        pairs = list(zip(*self._pairs, strict=True))
        sizes = np.array([np.linalg.norm(self.means[g] - self.means[h]) for g, h in pairs])
        apart = [np.linalg.norm(deviations[:, g] - deviations[:, h], axis=1) for g, h in pairs]
        bound = mean_gap_bound(self.part.plain, self.answer, level=LEVEL)
        return _largest("mean distance", sizes, np.column_stack(apart), bound)

    @property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(len(self.n), 1)


def simultaneous(deviations: np.ndarray) -> np.ndarray:
    """Margins (P,), each in proportion to its own noise, that the sizes of P deviations (n_boot, P) rarely pass.

    In 95 % of the draws none of them passes its margin.
    """
    size = np.sqrt(np.nanmean(deviations**2, axis=0))
    # Absent groups are nan in a few draws, and what has no noise never passes anything.
    ratios = np.nan_to_num(np.divide(deviations, size, out=np.zeros_like(deviations), where=size > 0))
    return float(quantiles(ratios.max(axis=1), [LEVEL])[0]) * size


def _largest(metric: str, sizes: np.ndarray, deviations: np.ndarray, bound: float) -> Row:
    """The largest of the differences of all pairs."""
    margins, value = simultaneous(deviations), float(sizes.max(axis=0))
    low, high = float((sizes - margins).max(axis=0)), float((sizes + margins).max(axis=0))
    return Row(metric, value, max(low, 0.0), high, value - low, bound=bound)


def largest_distance(means: np.ndarray) -> np.ndarray:
    """Largest distance between two of G means (..., G, k)."""
    G = means.shape[-2]
    pairs = [np.linalg.norm(means[..., g, :] - means[..., h, :], axis=-1) for g in range(G) for h in range(g)]
    return np.max(pairs, axis=0)


def told_apart(one: tuple[float, np.ndarray], other: tuple[float, np.ndarray]) -> tuple[float, float]:
    """How much larger a statistic is than another of the same rows, and the most that chance makes of no difference.

    Both are given with their values in the same samples; chance is the 95 % quantile of the deviations.
    """
    difference = one[0] - other[0]
    return difference, float(quantiles(np.abs(one[1] - other[1] - difference), [LEVEL])[0])
