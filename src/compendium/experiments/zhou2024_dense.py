"""Algorithm 1 of Zhou et al. (2024) written out with n x n matrices: slow, short, and independent of the estimators."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial.distance import pdist, squareform


def fair_kernel(K: np.ndarray, codes: np.ndarray, weight: float, shift: float | None = None) -> np.ndarray:
    """K + shift I - weight G G^T for one kernel (n, n) or several (m, n, n); by default with the shift of step 1."""
    same = codes[:, None] == codes
    shift = weight * np.bincount(codes).max() if shift is None else shift
    return K + shift * np.eye(len(codes)) - weight * same


def projector(labels: np.ndarray, c: int) -> np.ndarray:
    """Y (Y^T Y)^-1 Y^T for clusters 0, ..., c - 1, none of them empty."""
    Y = np.eye(c)[labels]
    return (Y / Y.sum(axis=0)) @ Y.T


def sweep(K: np.ndarray, labels: np.ndarray, c: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Step 5, one pass: every point in turn goes where the trace is largest; returns labels and moves (point, cluster).

    A point alone in its cluster stays; of equally good clusters the present one is kept.
    """
    labels, moves = labels.copy(), []
    for i in range(len(labels)):
        Y = np.eye(c)[labels]
        if Y[:, labels[i]].sum(axis=0) == 1:
            continue
        Y[i] = 0.0
        similar, sizes = K @ Y, Y.sum(axis=0)
        q = (Y * similar).sum(axis=0)
        gains = (q + 2.0 * similar[i] + K[i, i]) / (sizes + 1.0) - q / sizes
        best = int(gains.argmax(axis=0))
        if gains[best] > gains[labels[i]] + 1e-12 * np.abs(q / sizes).max(axis=0):
            labels[i] = best
            moves.append((i, best))
    return labels, moves


def residuals(kernels: np.ndarray, labels: np.ndarray, c: int) -> np.ndarray:
    """h_p = Tr(K_p (I - P)) of several kernels (m, n, n)."""
    return np.trace(kernels, axis1=1, axis2=2) - np.einsum("pij,ji->p", kernels, projector(labels, c))


def inverse_weights(h: np.ndarray) -> np.ndarray:
    """Step 6 as printed."""
    return 1.0 / h / (1.0 / h).sum(axis=0)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Where alternating ended.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Clusters.
    weights : ndarray of shape (m,)
        Weights of the kernels.
    history : tuple of float
        The objective at the start and after each of the two steps of every round.
    n_rounds : int
        Rounds until no point moved any more, or the number allowed.
    at_rest : bool
        Whether no point moved in the last round.
    """

    labels: np.ndarray
    weights: np.ndarray
    history: tuple[float, ...]
    n_rounds: int
    at_rest: bool


def alternate(kernels: np.ndarray, labels: np.ndarray, c: int, max_rounds: int) -> Rounds:
    """Steps 4 to 7 on fair kernels (m, n, n), from given labels and equal weights."""
    weights = np.full(len(kernels), 1.0 / len(kernels))
    history, moves, n_rounds = [float(weights**2 @ residuals(kernels, labels, c))], True, 0
    while moves and n_rounds < max_rounds:
        labels, moves = sweep(np.einsum("p,pij->ij", weights**2, kernels), labels, c)
        h = residuals(kernels, labels, c)
        history.append(float(weights**2 @ h))
        weights = inverse_weights(h)
        history.append(float(weights**2 @ h))
        n_rounds += 1
    return Rounds(labels, weights, tuple(history), n_rounds, not moves)


def partitions(n: int, c: int) -> Iterator[np.ndarray]:
    """All clusterings of n points into c non-empty clusters, each once: clusters are numbered as they are met."""
    for labels in product(range(c), repeat=n):
        if list(dict.fromkeys(labels)) == list(range(c)):
            yield np.array(labels)


def crossed_points(n: int, codes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 2) and classes of three: classes part them along one axis, groups more widely along the other."""
    classes = rng.integers(3, size=n)
    return np.stack([3.0 * classes, 4.0 * codes], axis=1) + rng.normal(size=(n, 2)), classes


def gaussian_kernels(X: np.ndarray, widths) -> np.ndarray:
    """Gaussian kernels (m, n, n), the widths being multiples of the mean distance."""
    squared = squareform(pdist(X, "sqeuclidean"))
    mean = np.sqrt(squared).mean(axis=None)
    return np.exp(-squared / (2.0 * (np.asarray(widths)[:, None, None] * mean) ** 2))
