r"""Local search for a lower sum of squares: moves that keep the clusters balanced, swaps that keep all counts.

With sums :math:`s_k` and sizes :math:`n_k` of the clusters, what a move or a swap changes needs only the inner products
:math:`x_i^\top s_k`, an n x c table that one product of X with a vector brings up to date.
"""

import numpy as np

from ..core.cluster_counts import tally

#: A change must lower the sum of squares by more than this, relative to the total scatter.
TIE = 1e-12
#: Points looked at together in the search for swaps: at least, and entries of their table at most.
NARROW, ENTRIES = 16, 2**19


class Partition:
    """Points in clusters, with the sums, sizes and counts that belong to them.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred points.
    codes : ndarray of shape (n,)
        Group of each point, from 0.
    labels : ndarray of shape (n,)
        Cluster of each point; none of the clusters is empty.
    n_clusters : int
        Number of clusters.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, labels: np.ndarray, n_clusters: int):
        self.X, self.codes = X, codes.astype(np.intp)
        self.labels, self.n_clusters = np.array(labels, dtype=np.intp), n_clusters
        self.squares = np.einsum("nd,nd->n", X, X)
        self.scatter = float(self.squares.sum(axis=0))
        self.counts = tally(self.codes, self.labels, int(self.codes.max(initial=0)) + 1, n_clusters)
        self.refresh()

    def refresh(self) -> None:
        """Compute the sums anew, so that rounding does not accumulate."""
        self.sizes = self.counts.sum(axis=0).astype(float)
        self.sums = np.zeros((self.n_clusters, self.X.shape[1]))
        for k in range(self.n_clusters):
            self.sums[k] = self.X[self.labels == k].sum(axis=0)
        self.products = self.X @ self.sums.T

    @property
    def inertia(self) -> float:
        """The sum of squared distances of the points to the means of their clusters."""
        means = self.sums / self.sizes[:, None]
        return float(sum(((self.X[self.labels == k] - means[k]) ** 2).sum(axis=None) for k in range(self.n_clusters)))

    @property
    def balance(self) -> float:
        """The smallest count of a group by the largest, in the least balanced cluster."""
        return float((self.counts.min(axis=0) / self.counts.max(axis=0)).min(axis=0))

    def move(self, i: int, target: int) -> None:
        """Take one point to another cluster."""
        source, point = self.labels[i], self.X[i]
        self._shift(source, target, point)
        self.counts[self.codes[i], source] -= 1
        self.counts[self.codes[i], target] += 1
        self.sizes[source] -= 1.0
        self.sizes[target] += 1.0
        self.labels[i] = target

    def swap(self, i: int, other: int) -> None:
        """Exchange the clusters of two points of the same group: no count changes."""
        self._shift(self.labels[i], self.labels[other], self.X[i] - self.X[other])
        self.labels[i], self.labels[other] = self.labels[other], self.labels[i]

    def _shift(self, source: int, target: int, vector: np.ndarray) -> None:
        change = self.X @ vector
        self.sums[source] -= vector
        self.sums[target] += vector
        self.products[:, source] -= change
        self.products[:, target] += change


def move_points(partition: Partition, lowest_balance: float) -> int:
    """Move single points, always the one that lowers the sum of squares most, while every cluster stays so balanced.

    Parameters
    ----------
    partition : Partition
        Changed in place.
    lowest_balance : float
        No cluster may fall below it.

    Returns
    -------
    int
        Number of moves.
    """
    p, floor = partition, lowest_balance - 1e-12
    every = np.arange(len(p.labels))
    tie, moves = TIE * p.scatter, 0
    removable, addable = np.empty(p.counts.shape, dtype=bool), np.empty(p.counts.shape, dtype=bool)
    changed = range(p.n_clusters)
    while True:
        for k in changed:
            removable[:, k] = (p.sizes[k] > 1) & (_balances(p.counts[:, k], -1) >= floor)
            addable[:, k] = _balances(p.counts[:, k], 1) >= floor
        change = _move_changes(p)
        change[~addable[p.codes]] = np.inf
        change[~removable[p.codes, p.labels]] = np.inf
        change[every, p.labels] = np.inf
        i, target = np.unravel_index(change.argmin(axis=None), change.shape)
        if not change[i, target] < -tie:
            return moves
        changed = int(p.labels[i]), int(target)
        p.move(int(i), int(target))
        moves += 1


def _move_changes(p: Partition) -> np.ndarray:
    """What the sum of squares changes by when a point goes to a cluster, shape (n, c); that of its own is no number."""
    within = np.einsum("kd,kd->k", p.sums, p.sums)
    distances = p.squares[:, None] - (2.0 / p.sizes) * p.products + within / p.sizes**2
    sizes = p.sizes[p.labels]
    leaving = distances[np.arange(len(p.labels)), p.labels] * sizes / np.maximum(sizes - 1.0, 1.0)
    distances *= p.sizes / (p.sizes + 1.0)
    return distances - leaving[:, None]


def _balances(counts: np.ndarray, step: int) -> np.ndarray:
    """The balance of one cluster after a point of each group in turn has gone (-1) or come (1), shape (G,)."""
    after = counts + step * np.eye(len(counts), dtype=np.int64)
    return after.min(axis=1) / np.maximum(after.max(axis=1), 1)


def swap_points(partition: Partition, max_sweeps: int) -> tuple[int, bool]:
    """Swap points of the same group in different clusters while that lowers the sum of squares.

    A sweep goes through the points of each group in order. A point is swapped with the partner that lowers the sum of
    squares most, if any lowers it.

    Parameters
    ----------
    partition : Partition
        Changed in place; its counts stay as they are.
    max_sweeps : int
        Largest number of sweeps.

    Returns
    -------
    n_swaps : int
        Number of swaps.
    at_rest : bool
        Whether the last sweep found none.
    """
    swaps = 0
    for _ in range(max_sweeps):
        partition.refresh()
        found = sum(
            _sweep(partition, np.flatnonzero(partition.codes == group)) for group in range(len(partition.counts))
        )
        swaps += found
        if not found:
            return swaps, True
    return swaps, False


def _sweep(p: Partition, members: np.ndarray) -> int:
    tie, swaps, at = TIE * p.scatter, 0, 0
    points = p.X[members]
    width = max(ENTRIES // max(len(members), 1), NARROW)
    while True:
        hopeful = at + np.flatnonzero(_hopeful(p, members)[at:])
        found = None
        start, step = 0, NARROW
        while start < len(hopeful) and found is None:
            part = hopeful[start : start + step]
            change = _swap_changes(p, members[part], members, points[part] @ points.T)
            gaining = change.min(axis=1) < -tie
            if gaining.any():
                first = int(gaining.argmax())
                found = int(part[first]), int(change[first].argmin())
            start, step = start + step, min(2 * step, width)
        if found is None:
            return swaps
        p.swap(int(members[found[0]]), int(members[found[1]]))
        swaps, at = swaps + 1, found[0] + 1


def _hopeful(p: Partition, members: np.ndarray) -> np.ndarray:
    r"""Points for which a lower bound does not rule out that some swap helps; O(c) for each.

    In the change for i in cluster a and j in b, :math:`x_j^\top (m_a - m_b)` is at most its maximum over b, and
    :math:`\lVert x_i - x_j \rVert \le \lVert x_i - m_b \rVert + \max_{j} \lVert x_j - m_b \rVert`.
    """
    every, labels, inverse = np.arange(len(members)), p.labels[members], 1.0 / p.sizes
    near = p.products[members] * inverse
    own = near[every, labels][:, None]
    within = np.einsum("kd,kd->k", p.sums, p.sums) * inverse**2
    distances = np.sqrt(np.maximum(p.squares[members][:, None] - 2.0 * near + within, 0.0))
    order = np.argsort(labels, kind="stable")
    present, firsts = np.unique(labels[order], return_index=True)
    nearest, radius = np.full((p.n_clusters, p.n_clusters), -np.inf), np.zeros(p.n_clusters)
    nearest[:, present] = np.maximum.reduceat((near - own)[order], firsts, axis=0).T
    radius[present] = np.maximum.reduceat(distances[every, labels][order], firsts)
    bound = 2.0 * (own - near - nearest[labels])
    bound -= (inverse[labels][:, None] + inverse) * (distances + radius) ** 2
    bound[every, labels] = np.inf
    return bound.min(axis=1) < 0.0


def _swap_changes(p: Partition, rows: np.ndarray, members: np.ndarray, inner: np.ndarray) -> np.ndarray:
    r"""What the sum of squares changes by when two points change places, shape (rows, members).

    For i in cluster a and j in b, with the means m,
    :math:`2 (x_i - x_j)^\top (m_a - m_b) - (1/n_a + 1/n_b) \lVert x_i - x_j \rVert^2`.
    """
    a, b, inverse = p.labels[rows], p.labels[members], 1.0 / p.sizes
    near_rows, near_members = p.products[rows] * inverse, p.products[members] * inverse
    change = near_rows[np.arange(len(rows)), a][:, None] + near_members[np.arange(len(members)), b]
    change -= near_rows[:, b]
    change -= near_members[:, a].T
    change *= 2.0
    distances = p.squares[rows][:, None] + p.squares[members] - 2.0 * inner
    distances *= inverse[a][:, None] + inverse[b]
    change -= distances
    change[a[:, None] == b] = np.inf
    return change
