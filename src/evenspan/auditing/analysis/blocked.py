"""One part of the rows, fitting or held out, as blocks: what a linear map does to each group, and how sure that is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.answer import FairSubspace
from ...core.linalg import top_eigenspace
from ...core.moments import GroupMoments
from ...metrics.bootstrap import BlockSums, block_sums, cells_of, multiplicities
from ...metrics.linear_map import LinearMap
from ...reconstruction.group_errors import group_matrices


@dataclass(frozen=True, eq=False)
class Part:
    """Blocked moments of one part, and the draws with which its blocks are resampled.

    Parameters
    ----------
    name : str
        ``"fitting"`` or ``"held out"``.
    moments : GroupMoments
        With the attribute "block" and one more.
    attribute : str
        The other one.
    draws : ndarray of shape (n_boot, m)
        How often each block is in each sample; the same for all methods, so that they are compared in pairs.
    """

    name: str
    moments: GroupMoments
    attribute: str
    draws: np.ndarray

    @classmethod
    def of(cls, name: str, moments: GroupMoments, attribute: str, n_boot: int, random_state) -> "Part":
        """The part with draws of its own."""
        m = int(cells_of(moments, attribute)[1].max(axis=0)) + 1
        return cls(name, moments, attribute, multiplicities(m, n_boot, random_state).astype(float))

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return cells_of(self.moments, self.attribute)

    @property
    def labels(self) -> list[str]:
        """Names of the groups."""
        return [str(label) for label in self._cells[0]]

    @property
    def m(self) -> int:
        """Number of blocks."""
        return int(self._cells[1].max(axis=0)) + 1

    @cached_property
    def plain(self) -> GroupMoments:
        """The ordinary moments of the groups."""
        return self.moments.marginal(self.attribute)

    def laid_out(self, values: np.ndarray) -> np.ndarray:
        """Numbers of the cells, shape (cells, ...), by block and group, shape (m, G, ...)."""
        labels, block, group = self._cells
        table = np.zeros((self.m, len(labels), *values.shape[1:]))
        table[block, group] = values
        return table

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows by block and group, (m, G)."""
        return self.laid_out(np.asarray(self.moments.counts, dtype=float))

    @cached_property
    def _traces(self) -> np.ndarray:
        return np.einsum("cdd->c", self.moments.scatters)

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

    @cached_property
    def resampled_counts(self) -> np.ndarray:
        """Rows of the groups in every sample, (n_boot, G)."""
        return self.draws @ self.counts


def own_directions(moments: GroupMoments, most: int) -> list[np.ndarray]:
    """For every group its own best directions about the overall mean, the first ``most`` of them, each (d, most)."""
    return [top_eigenspace(M, most)[1] for M in group_matrices(moments, "fitted")]
