"""The toy example of Vu et al. (2022): two centred Gaussians in the plane."""

import numpy as np

from evenspan.core.moments import GroupMoments

#: Rows of the two groups in Figure 1.
FIGURE_1 = (500, 200)
COVARIANCES = np.array([[[4.0, 0.0], [0.0, 0.2]], [[0.2, 0.4], [0.4, 3.0]]])


def sample(counts: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points and groups of the two centred Gaussians."""
    parts = [rng.standard_normal((n, 2)) @ np.linalg.cholesky(C).T for n, C in zip(counts, COVARIANCES, strict=True)]
    return np.vstack(parts), np.repeat([0, 1], counts)


def population(counts: tuple[int, int]) -> GroupMoments:
    """Moments of the distributions themselves, with the shares of the sample."""
    n = np.array(counts, dtype=float)
    return GroupMoments(np.array([0, 1]), n, np.zeros((2, 2)), COVARIANCES * n[:, None, None])


def degrees(v: np.ndarray) -> float:
    """Angle of a direction with the first axis, from -90 to 90 degrees."""
    x, y = v.reshape(2)
    return float(np.degrees(np.arctan2(y, x))) if x > 0 else float(np.degrees(np.arctan2(-y, -x)))


def second_moments(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Second moments of both groups about the origin, shape (2, 2, 2)."""
    return np.array([X[groups == g].T @ X[groups == g] / (groups == g).sum(axis=0) for g in (0, 1)])
