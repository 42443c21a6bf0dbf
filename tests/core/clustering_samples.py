"""Samples for the tests of fair kernel k-means, and the row update written plainly as an independent judge."""

from collections import namedtuple
from itertools import pairwise

import numpy as np

#: Points, and the groups by which they are best clustered.
Crossed = namedtuple("Crossed", "X groups codes")
#: Labels at the end and after each sweep, all moves as (point, from, to), and the trace after each sweep.
Plain = namedtuple("Plain", "labels sweeps moves history")


def crossed(seed=3, across=6.0, along=3.0, noise=0.25) -> Crossed:
    """Groups of 40, 25 and 15, far apart along two directions; three unequal sites along a third; rows shuffled."""
    rng, counts = np.random.default_rng(seed), (40, 25, 15)
    codes = np.repeat(np.arange(3), counts)
    # every group is spread over the sites in nearly the same shares
    sites = np.digitize(np.concatenate([np.arange(count) * 10 // count for count in counts]), [5, 8])
    X = noise * rng.normal(size=(80, 4)) * [1.0, 0.6, 1.4, 0.8]
    X[:, :2] += across * np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1]])[codes]
    X[:, 2] += along * np.array([0.0, 1.0, -1.2])[sites]
    order = rng.permutation(80)
    return Crossed(X[order], np.array(["crimson", "azure", "beige"])[codes[order]], codes[order])


def scattered(n=80, d=3, c=4, seed=0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A positive definite kernel matrix without structure, groups of unequal size, and random labels, none missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (1.0 + np.arange(d)) + rng.exponential(size=(n, 1))
    K = X @ X.T + np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    codes = np.concatenate([np.arange(3), rng.choice(3, size=n - 3, p=(0.5, 0.3, 0.2))])
    labels = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    return K, rng.permutation(codes), rng.permutation(labels)


def stuck() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two places with two points of each of two groups; one point of group 0 of each place is in the other cluster.

    Points, codes, these labels, and the places.
    """
    place, codes = np.repeat([0, 1], 4), np.array([0, 0, 1, 1] * 2)
    labels = place.copy()
    labels[[1, 4]] = [1, 0]
    return np.array([[1.0, 0.2], [-0.5, 1.1]])[place] + 0.01 * np.arange(16).reshape(8, 2), codes, labels, place


def indicator(labels, n_columns) -> np.ndarray:
    return (np.asarray(labels)[:, None] == np.arange(n_columns)).astype(float)


def fair_matrix(K, codes, weight, alpha=0.0) -> np.ndarray:
    """K + alpha I - weight G G^T, formed."""
    G = indicator(codes, int(np.max(codes)) + 1)
    return np.asarray(K, dtype=float) + alpha * np.eye(len(K)) - weight * (G @ G.T)


def trace_objective(K, labels, n_clusters) -> float:
    """Tr(Y^T K Y (Y^T Y)^-1), with the matrices of the formula."""
    Y = indicator(labels, n_clusters)
    return float(np.trace(Y.T @ K @ Y @ np.linalg.inv(Y.T @ Y)))


def plain_sweeps(K, labels, n_clusters, *, order=None, max_sweeps=10, tol=1e-10) -> Plain:
    """The row update on a matrix as it is, everything computed anew for every point."""
    labels = np.array(labels)
    order = range(len(labels)) if order is None else order
    sweeps, moves, history = [], [], [trace_objective(K, labels, n_clusters)]
    for sweep in range(1, max_sweeps + 1):
        before = len(moves)
        for i in order:
            m = labels[i]
            Y = indicator(labels, n_clusters)
            sizes, KY = Y.sum(axis=0), K @ Y
            if sizes[m] == 1:
                continue
            q, s = np.einsum("nk,nk->k", Y, KY), KY[i]
            gains = (q + 2.0 * s + K[i, i]) / (sizes + 1.0) - q / sizes
            gains[m] = q[m] / sizes[m] - (q[m] - 2.0 * s[m] + K[i, i]) / (sizes[m] - 1.0)
            target = int(np.argmax(gains))
            if gains[target] > gains[m] + 1e-12 * np.abs(q / sizes).max():
                moves.append((int(i), int(m), target))
                labels[i] = target
        sweeps.append(labels.copy())
        history.append(trace_objective(K, labels, n_clusters))
        if len(moves) == before or (sweep >= 3 and abs(history[-1] - history[-2]) < tol * abs(history[-1])):
            break
    return Plain(labels, tuple(sweeps), tuple(moves), tuple(history))


def improving(K, labels, n_clusters, slack=1e-9) -> tuple[list, list]:
    """All single moves, and all swaps of two points, that raise the trace, found by making each of them."""
    labels, moves, swaps = np.asarray(labels), [], []
    least = trace_objective(K, labels, n_clusters) + slack * (1.0 + abs(trace_objective(K, labels, n_clusters)))
    for i in range(len(labels)):
        for k in range(n_clusters) if (labels == labels[i]).sum() > 1 else ():
            moved = np.where(np.arange(len(labels)) == i, k, labels)
            moves += [(i, k)] if trace_objective(K, moved, n_clusters) > least else []
        for j in range(i):
            swapped = labels.copy()
            swapped[[i, j]] = swapped[[j, i]]
            swaps += [(i, j)] if trace_objective(K, swapped, n_clusters) > least else []
    return moves, swaps


def optimum(K, n_clusters) -> float:
    """The largest trace over all labellings without an empty cluster."""
    n = len(K)
    all_labels = np.stack(np.unravel_index(np.arange(n_clusters**n), (n_clusters,) * n), axis=1)
    Y = (all_labels[:, :, None] == np.arange(n_clusters)).astype(float)
    sizes = Y.sum(axis=1)
    full = (sizes > 0).all(axis=1)
    q = np.einsum("lnk,nm,lmk->lk", Y[full], K, Y[full], optimize=True)
    return float((q / sizes[full]).sum(axis=1).max())


def never_falls(values, slack=1e-12) -> bool:
    return all(b >= a - slack * (1.0 + abs(a)) for a, b in pairwise(values))


def same_partition(a, b) -> bool:
    """Whether two labellings are the same up to the names of the clusters."""
    pairs = set(zip(np.asarray(a).tolist(), np.asarray(b).tolist(), strict=True))
    return len(pairs) == len({p for p, _ in pairs}) == len({q for _, q in pairs})
