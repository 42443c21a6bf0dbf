"""Running times: the published algorithm on the points, and a stopwatch.

Times of different machines cannot be compared, ratios measured side by side can: the notebooks time all methods in turn
on the same data, and divide each time by that of standard PCA.
"""

import time
from collections.abc import Callable

import numpy as np
from scipy import linalg


def algorithm_1(X: np.ndarray, groups: np.ndarray, k: int, fraction: float | None = None) -> np.ndarray:
    """Algorithm 1 of the paper as printed: on the points, with a null space by singular values, for two groups.

    Signs and order (increasing eigenvalues) are left as the solvers give them. ``fraction`` gives the
    covariance-matching variant, with a dense solver where the authors use a sparse one.
    """
    first, second = np.unique(groups)
    z = (groups == second).astype(np.float64)
    R = linalg.null_space(((z - z.mean(axis=0)) @ X)[None, :])
    if fraction is not None:
        difference = np.cov(X[groups == first], rowvar=False) - np.cov(X[groups == second], rowvar=False)
        values, vectors = np.linalg.eigh(R.T @ difference @ R)
        kept = max(k, min(len(values), int(fraction * X.shape[1])))
        R = R @ vectors[:, np.argsort(np.abs(values), kind="stable")[:kept]]
    XR = X @ R
    m = XR.shape[1]
    _, A = linalg.eigh(XR.T @ XR, subset_by_index=(m - k, m - 1))
    return R @ A


def best_time(work: Callable, attempts: int = 5) -> float:
    """Shortest of several timings in seconds: what the work costs when nothing else disturbs it."""
    timings = []
    for _ in range(attempts):
        start = time.perf_counter()
        work()
        timings.append(time.perf_counter() - start)
    return min(timings)
