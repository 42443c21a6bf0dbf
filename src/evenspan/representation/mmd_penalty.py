"""The squared maximum mean discrepancy between projected groups, with its gradient in the projection."""

from itertools import combinations

import numpy as np

#: Rows of one block of kernel values: three blocks of this order fit into a processor's second cache.
BLOCK_ROWS = 256


class DiscrepancyPenalty:
    r"""Sum over pairs of groups of the squared discrepancy of the rows of XV, and its gradient in V.

    For groups a and b of the rows :math:`e_i` of :math:`E = XV`, with :math:`\kappa` Gaussian of bandwidth
    :math:`\sigma`,

    .. math::

        \operatorname{MMD}^2_{ab} = T_{aa} + T_{bb} - 2 T_{ab}, \qquad
        T_{gh} = \frac{1}{n_g n_h} \sum_{i \in g, j \in h} \kappa(e_i, e_j),

    so that the sum over pairs is :math:`\sum_{gh} M_{gh} T_{gh}` with :math:`M = GI - 11^\top`, and

    .. math::

        \nabla_{e_i} = \frac{2}{\sigma^2} \sum_j M_{g(i) g(j)} w_i w_j \kappa(e_i, e_j) (e_j - e_i),
        \qquad \nabla_V = X^\top \nabla_E .

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred rows. Equal rows of a group are merged, with weights.
    codes : ndarray of shape (n,)
        Group of each row, from 0 to G - 1, each of them present.
    bandwidth : float
        :math:`\sigma`.

    Complexity
    ----------
    O(n^2 k + n d k) time, by symmetry half of the n^2 kernel values; O(n (d + k)) memory.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, bandwidth: float):
        self.G = int(codes.max(axis=0)) + 1
        parts = [np.unique(X[codes == g], axis=0, return_counts=True) for g in range(self.G)]
        self.X = np.vstack([rows for rows, _ in parts])
        self.weights = np.concatenate([counts / counts.sum(axis=0) for _, counts in parts])
        self.bandwidth = bandwidth
        self.coupling = self.G * np.eye(self.G) - 1.0
        self.evaluations = 0
        ends = np.cumsum([len(rows) for rows, _ in parts])
        self._blocks = [
            (g, slice(start, min(start + BLOCK_ROWS, end)))
            for g, (end, (rows, _)) in enumerate(zip(ends, parts, strict=True))
            for start in range(end - len(rows), end, BLOCK_ROWS)
        ]

    def evaluate(self, V: np.ndarray) -> tuple[float, float, np.ndarray]:
        """Sum over pairs, largest pair (clipped at 0), and the gradient (d, k) of the sum."""
        self.evaluations += 1
        E = self.X @ V
        k = E.shape[1]
        halves = (E**2).sum(axis=1) / (-2.0 * self.bandwidth**2)
        ones = np.ones(len(E))
        # One product of these two gives -|e_i - e_j|^2 / (2 sigma^2).
        left = np.column_stack([E / self.bandwidth**2, halves, ones])
        right = np.column_stack([E, ones, halves])
        weighted = np.column_stack([E, ones]) * self.weights[:, None]
        sums = np.zeros((len(E), k + 1))  # over j: M w_j kappa_ij (e_j, 1)
        means = np.zeros((self.G, self.G))
        for place, (g, rows) in enumerate(self._blocks):
            for h, columns in self._blocks[place:]:
                kernel = left[rows] @ right[columns].T
                np.exp(kernel, out=kernel)
                found = kernel @ weighted[columns]
                sums[rows] += self.coupling[g, h] * found
                part = float(self.weights[rows] @ found[:, k])
                means[g, h] += part
                if rows != columns:
                    sums[columns] += self.coupling[g, h] * (kernel.T @ weighted[rows])
                    means[h, g] += part
        slopes = (sums[:, :k] - sums[:, k:] * E) * (self.weights * (2.0 / self.bandwidth**2))[:, None]
        pairs = [means[g, g] + means[h, h] - 2.0 * means[g, h] for g, h in combinations(range(self.G), 2)]
        return sum(pairs), max(max(pairs), 0.0), self.X.T @ slopes
