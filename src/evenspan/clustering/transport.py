"""Fair shares of clusters as whole numbers, and the cheapest assignment that has these numbers."""

import itertools

import numpy as np
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
    u = np.eye(G * c).reshape(G, c, G * c)  # u[j, k] picks one of the variables: which counts are rounded up
    missing = group_sizes - low.sum(axis=1)
    constraints = [
        LinearConstraint(u.sum(axis=1), missing, missing),
        LinearConstraint(u.sum(axis=0), 1 - low.sum(axis=0), np.inf),
    ]
    share = balance - 1e-12
    for j, other in itertools.permutations(range(G), 2):
        constraints.append(LinearConstraint(u[j] - share * u[other], share * low[other] - low[j], np.inf))
    cost = -rest.ravel() / group_sizes.sum(axis=0)
    found = milp(cost, integrality=np.ones(G * c), bounds=Bounds(0, (rest > 0).ravel()), constraints=constraints)
    return None if found.x is None else low + np.rint(found.x).astype(np.int64).reshape(G, c)


def transport(costs: np.ndarray, capacities: np.ndarray) -> np.ndarray:
    r"""The cheapest assignment of rows to clusters with given numbers of rows in each.

    .. math:: \min_{l} \sum_i c_{i l_i} \quad \text{subject to} \quad |\{i : l_i = k\}| = b_k .

    The costs are (n, c), the capacities b (c,) sum to n. Every row starts where it is cheapest. Then one row's worth at
    a time flows from a cluster with too many to one with too few along the cheapest chain of moves; a chain that passes
    through a cluster pushes one of its rows on. No chain of moves back to its start can then lower the cost, which is
    optimality.

    Complexity
    ----------
    O(n + c^3) for each row too many, and O(n c) memory.

    References
    ----------
    Successive shortest paths, as in R. K. Ahuja, T. L. Magnanti and J. B. Orlin (1993), Network Flows, section 9.7.
    """
    c = costs.shape[1]
    labels = costs.argmin(axis=1)
    excess = np.bincount(labels, minlength=c) - capacities
    tie = TIE * float(np.abs(costs).max(initial=0.0))
    # For every pair of clusters the row of the first that loses least by going to the second, and what it loses.
    mover, change = np.zeros((c, c), dtype=np.intp), np.full((c, c), np.inf)

    def refresh(k: int) -> None:
        members, change[k] = np.flatnonzero(labels == k), np.inf
        if len(members):
            losses = costs[members] - costs[members, k][:, None]
            first = losses.argmin(axis=0)
            mover[k], change[k] = members[first], losses[first, np.arange(c)]
            change[k, k] = np.inf

    for k in range(c):
        refresh(k)
    for _ in range(int(excess[excess > 0].sum(axis=0))):
        path = _cheapest_path(change, excess, tie)
        for k, other in itertools.pairwise(path):
            labels[mover[k, other]] = other
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
