"""Fair shares of clusters as whole numbers, and the cheapest assignment that has these numbers."""

import heapq
import itertools

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ..core.errors import DataError

#: Paths that are shorter by less than this, relative to the largest cost, are no shorter.
TIE = 1e-12


def fair_counts(group_sizes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    r"""Whole numbers of rows of each group in each cluster, next to shares in proportion, as balanced as can be.

    Every count is :math:`|G_j| n_k / n` rounded down or up, and the counts of a group sum to its size. Among these
    tables those are taken whose balance is highest (the smallest count by the largest in the worst cluster), and among
    these the nearest to the shares. No cluster is empty; its size may change by rounding.

    With m and M the lowest and highest rounded-down count of a cluster, the balance of the cluster is one of m/M,
    (m+1)/M, m/(M+1) and (m+1)/(M+1). So there are at most 4c values to try, each by a small integer programme.

    Parameters
    ----------
    group_sizes : ndarray of shape (G,)
        Rows of each group, at least 1.
    sizes : ndarray of shape (c,)
        Rows of each cluster, at least 1; the same sum.

    Returns
    -------
    ndarray of shape (G, c), int64
    """
    n = int(sizes.sum(axis=0))
    low, rest = np.divmod(np.multiply.outer(group_sizes, sizes).astype(np.int64), n)
    down, up = low.min(axis=0), low.max(axis=0)
    options = np.concatenate([(down + a) / np.maximum(up + b, 1) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))])
    values = np.unique(np.append(options[options <= 1.0], 0.0))
    first, last, best = 0, len(values) - 1, _rounding(low, rest, group_sizes, 0.0)
    if best is None:
        raise DataError(f"no counts for groups of {group_sizes.tolist()} in clusters of {sizes.tolist()} rows exist.")
    while first < last:  # the highest value that some table reaches
        middle = (first + last + 1) // 2
        found = _rounding(low, rest, group_sizes, values[middle])
        if found is None:
            last = middle - 1
        else:
            first, best = middle, found
    return best


def _rounding(low: np.ndarray, rest: np.ndarray, group_sizes: np.ndarray, balance: float) -> np.ndarray | None:
    """The table nearest to the shares in which every cluster is so balanced; None where there is none."""
    G, c = low.shape
    slack = 1e-12
    down, up = low.min(axis=0), low.max(axis=0)
    lowest, highest = low == down, low == up
    wide = down >= (balance - slack) * (up + 1)  # any rounding will do
    flat = ~wide & (down >= (balance - slack) * up)  # will do if no highest count is rounded up
    raised = ~wide & (down + 1 >= (balance - slack) * (up + 1))  # will do if all lowest counts are rounded up
    # both at once where neither is enough; one of the two, by a switch z, where either is
    both = ~wide & ~flat & ~raised
    if (both & (down + 1 < (balance - slack) * up)).any():
        return None
    switch = flat & raised
    least = (lowest & ((raised & ~flat) | both)).astype(float)
    most = ((rest > 0) & ~(highest & ((flat & ~raised) | both))).astype(float)
    if (least > most).any():
        return None
    u = np.arange(G * c).reshape(G, c)
    ties = [(u[j, k], G * c + k) for j, k in np.argwhere(switch & lowest)]
    caps = [(G * c + k, u[j, k]) for j, k in np.argwhere(switch & highest)]
    variables = sparse.eye(G * c, G * c + c, format="csr")  # the counts, then the switches
    of_groups = sparse.kron(sparse.eye(G), np.ones((1, c)), format="csr") @ variables
    of_clusters = sparse.kron(np.ones((1, G)), sparse.eye(c), format="csr") @ variables
    missing = group_sizes - low.sum(axis=1)
    rows = [
        LinearConstraint(of_groups, missing, missing),
        LinearConstraint(of_clusters, 1 - low.sum(axis=0), np.inf),
    ]
    if ties or caps:
        larger, smaller = np.array(ties + caps).T
        index, ones = np.arange(len(larger)), np.ones(len(larger))
        matrix = sparse.csr_matrix((ones, (index, larger)), shape=(len(larger), G * c + c))
        matrix -= sparse.csr_matrix((ones, (index, smaller)), shape=(len(larger), G * c + c))
        rows.append(LinearConstraint(matrix, 0.0, np.inf))
    bounds = Bounds(np.append(least.ravel(), np.zeros(c)), np.append(most.ravel(), np.ones(c)))
    cost = np.append(-rest.ravel() / group_sizes.sum(axis=0), np.zeros(c))
    found = milp(cost, integrality=np.ones(len(cost)), bounds=bounds, constraints=rows)
    return None if found.x is None else low + np.rint(found.x[: G * c]).astype(np.int64).reshape(G, c)


def transport(costs: np.ndarray, capacities: np.ndarray) -> np.ndarray:
    r"""The cheapest assignment of rows to clusters with given numbers of rows in each.

    .. math:: \min_{l} \sum_i c_{i l_i} \quad \text{subject to} \quad |\{i : l_i = k\}| = b_k .

    Every row starts where it is cheapest. Then one row's worth at a time flows from a cluster with too many to one with
    too few along the cheapest chain of moves; a chain that passes through a cluster pushes one of its rows on. No chain
    of moves back to its start can then lower the cost, which is optimality.

    Parameters
    ----------
    costs : ndarray of shape (n, c)
        What each row costs in each cluster.
    capacities : ndarray of shape (c,), int
        The numbers of rows; their sum is n.

    Returns
    -------
    ndarray of shape (n,)
        Cluster of each row.

    Complexity
    ----------
    O(n c log n + m c^2 log n) for m rows too many, and O(n c) memory.

    References
    ----------
    Successive shortest paths, as in R. K. Ahuja, T. L. Magnanti and J. B. Orlin (1993), Network Flows, section 9.7.
    """
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
