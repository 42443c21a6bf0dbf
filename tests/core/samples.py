"""Asymmetric samples: what is true of them by accident of symmetry is true of none."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import subspace_angles

# Group means as far apart as the spread, in directions that no axis shares.
CENTRES = np.array(
    [[2.0, -1.0, 0.5, 0.0, 3.0, -0.5], [-1.0, 0.5, 1.5, 1.0, -2.0, 0.0], [0.0, 3.0, -1.0, -2.5, 0.5, 1.0]]
)
SCALES = np.array([0.6, 1.2, 0.2])


@dataclass(frozen=True)
class Sample:
    """Features, one group label for each row, and the labels in sorted order."""

    X: np.ndarray
    groups: np.ndarray

    @property
    def labels(self) -> np.ndarray:
        return np.unique(self.groups)

    def rows(self, label) -> np.ndarray:
        return self.X[self.groups == label]


def draw(counts=(200, 120, 60), names=("crimson", "azure", "beige"), d=6, seed=1) -> Sample:
    """Gaussian groups of unequal size, mean, scale and covariance; rows shuffled."""
    rng = np.random.default_rng(seed)
    parts = [
        CENTRES[g, :d] + SCALES[g] * rng.normal(size=(count, d)) @ rng.normal(size=(d, d))
        for g, count in enumerate(counts)
    ]
    order = rng.permutation(sum(counts))
    return Sample(np.vstack(parts)[order], np.repeat(names[: len(counts)], counts)[order])


def two_attributes(seed=2, d=8) -> tuple[np.ndarray, np.ndarray]:
    """Features, and two attributes (3 and 2 values) whose effects on the mean interact; cells of unequal size."""
    rng = np.random.default_rng(seed)
    cells = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "x"), ("c", "y")]
    counts = (120, 60, 45, 80, 30, 55)
    centres = 2.0 * rng.normal(size=(6, d))
    X = np.vstack(
        [c + rng.normal(size=(n, d)) * (0.5 + i) for i, (c, n) in enumerate(zip(centres, counts, strict=True))]
    )
    groups = np.array([cell for cell, n in zip(cells, counts, strict=True) for _ in range(n)])
    order = rng.permutation(len(X))
    return X[order], groups[order]


def group_gap(T: np.ndarray, groups) -> float:
    """Largest distance between two group means of the rows of T."""
    groups = np.asarray(groups)
    means = np.array([T[groups == label].mean(axis=0) for label in np.unique(groups)])
    return float(np.linalg.norm(means[:, None] - means[None], axis=2).max())


def size(X: np.ndarray) -> float:
    """Root mean square length of a row: the scale against which gaps are small."""
    return float(np.linalg.norm(X) / np.sqrt(len(X)))


def angle(V: np.ndarray, W: np.ndarray) -> float:
    """Largest principal angle between two subspaces; V and W have the same number of columns."""
    assert V.shape == W.shape
    return float(subspace_angles(V, W).max())
