"""What it costs to put points into clusters, and the cheapest assignment to clusters whose sizes are given."""

import heapq
import itertools

import numpy as np

#: A chain of moves must lower the cost by more than this, relative to the largest cost.
TIE = 1e-12


def squared_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared distances (n, c) of points (n, d) to centres (c, d)."""
    lengths = np.einsum("nd,nd->n", points, points)[:, None] + np.einsum("kd,kd->k", centres, centres)
    return np.maximum(lengths - 2.0 * points @ centres.T, 0.0)


def transport(costs: np.ndarray, capacities: np.ndarray) -> np.ndarray:
    r"""Labels :math:`l` with the least :math:`\sum_i c_{i l_i}` such that :math:`|\{i : l_i = k\}| = b_k`.

    Costs are (n, c), capacities b (c,), with sum n. O(n c log n + m c^2 log n) for m rows too many, and O(n c) memory.
    """
    # Successive shortest paths (Ahuja, Magnanti and Orlin 1993, section 9.7): every row starts where it is cheapest,
    # then one row's worth at a time flows from a cluster with too many to one with too few along the cheapest chain of
    # moves; a chain that passes through a cluster pushes one of its rows on. No chain back to its start can then lower
    # the cost, which is optimality.
    c = costs.shape[1]
    labels = costs.argmin(axis=1)
    excess = np.bincount(labels, minlength=c) - capacities
    tie = TIE * float(np.abs(costs).max(initial=0.0))
    # For every pair of clusters the rows of the first, those that lose least by going to the second on top.
    heaps = [[[] for _ in range(c)] for _ in range(c)]
    for k in range(c):
        members = np.flatnonzero(labels == k)
        for other in range(c):
            if other != k:
                losses = (costs[members, other] - costs[members, k]).tolist()
                heaps[k][other] = list(zip(losses, members.tolist(), strict=True))
                heapq.heapify(heaps[k][other])
    change = np.full((c, c), np.inf)

    def refresh(k: int) -> None:
        for other in range(c):
            heap = heaps[k][other]
            while heap and labels[heap[0][1]] != k:
                heapq.heappop(heap)
            change[k, other] = heap[0][0] if heap else np.inf

    for k in range(c):
        refresh(k)
    for _ in range(int(excess[excess > 0].sum(axis=0))):
        path = _cheapest_path(change, excess, tie)
        steps = [(heaps[k][other][0][1], other) for k, other in itertools.pairwise(path)]
        for i, target in steps:
            labels[i] = target
            for other, loss in enumerate((costs[i] - costs[i, target]).tolist()):
                if other != target:
                    heapq.heappush(heaps[target][other], (loss, i))
        for k in path:
            refresh(k)
        excess[path[0]] -= 1
        excess[path[-1]] += 1
    return labels


def _cheapest_path(change: np.ndarray, excess: np.ndarray, tie: float) -> list[int]:
    """Clusters from one with too many rows to one with too few, by Bellman and Ford."""
    distance = np.where(excess > 0, 0.0, np.inf)
    before = np.full(len(distance), -1)
    every = np.arange(len(distance))
    for _ in every[1:]:
        through = distance[:, None] + change
        best = through.argmin(axis=0)
        value = through[best, every]
        better = value < np.where(np.isfinite(distance), distance - tie, np.inf)
        if not better.any():
            break
        distance[better], before[better] = value[better], best[better]
    path = [int(np.where(excess < 0, distance, np.inf).argmin())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return path[::-1]
