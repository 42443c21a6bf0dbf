"""The synthetic experiments of Kleindessner et al. (2023): samples, and what is measured of them.

Two samples are those of Lee et al. (2022), from a seed of ours. In the first, two groups have equal mean and
covariance, so that only a method which looks at whole distributions has anything to do; in the second they differ.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

from evenspan import metrics
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction import StandardPCA
from evenspan.representation import MMDFairPCA

from ...data import Dataset, equal_moments, paired_splits, two_latent_groups
from .protocol import SEED

#: Methods of the first experiment: one is fitted to the moments of the distributions, one looks at the points.
EXACT, MATCHED = "Fair PCA, exact moments", "MbF-PCA (10^-5)"
CENTRED = "Fair PCA, centred"


class DocumentedMMDFairPCA(MMDFairPCA):
    """With the first weight of the documentation, 0.1 / MMD^2; the public scripts, as elsewhere, have 1 / MMD^2."""

    _first_weight = 0.1


def equal_samples(n: int, draw: int) -> tuple[Dataset, Dataset]:
    """A sample to fit on and a fresh one of the same size, n points in each group."""
    return equal_moments((SEED, draw, 1), n), equal_moments((SEED, draw, 2), n)


def exact_moments(n: int) -> GroupMoments:
    """Moments of the two distributions themselves, with the sizes of the sample: the groups have the same."""
    scatter = (n - 1.0) * (0.1 * np.eye(3) + 1.0)
    return GroupMoments(np.array([0, 1]), np.array([n, n], dtype=float), np.zeros((2, 3)), np.array([scatter] * 2))


def latent_splits(d: int, number: int) -> Iterator[tuple[Dataset, Dataset]]:
    """Splits of one sample with 240 points in each group: 336 to fit on, 144 to test on."""
    return paired_splits(two_latent_groups(d, (SEED, d)), number, (SEED, d, 1))


def bandwidth(train: Dataset, k: int) -> float:
    """The MMD bandwidth shared by all methods, from 2,000 of the points: standard PCA and the median heuristic."""
    fitted = StandardPCA(k).fit(train.X, sensitive_features=train.groups)
    return metrics.median_bandwidth(fitted.transform(train.X[:: max(1, train.n // 2000)]))


def embedding(fitted, X: np.ndarray) -> np.ndarray:
    """The representation that is evaluated: ``transform``; of FPCA the loadings, applied to raw points as published."""
    if getattr(getattr(fitted, "subspace_", None), "scale", None) is not None:
        return X @ fitted.components_.T
    return fitted.transform(X)


def kept_variance(X: np.ndarray, E: np.ndarray) -> float:
    """Variance of the embedding as a percentage of that of the points."""
    return float(100.0 * E.var(axis=0).sum(axis=0) / X.var(axis=0).sum(axis=0))


def separability(E: np.ndarray, groups: np.ndarray) -> float:
    """Share of points whose group a logistic regression gets wrong that was fitted to these points; 0.5 is ideal."""
    probe = LogisticRegression(C=1.0, solver="newton-cholesky").fit(E, groups)
    return 1.0 - accuracy_score(groups, probe.predict(E))


def fitted_map(fitted, d: int) -> dict[str, float]:
    """What an affine ``transform`` does to differences of points, by entry of (d, k); and whether it converged."""
    corners = embedding(fitted, np.vstack([np.eye(d), np.zeros((1, d))]))
    found = {f"map {i} {j}": value for (i, j), value in np.ndenumerate(corners[:-1] - corners[-1])}
    return found | ({"converged": float(fitted.converged_)} if isinstance(fitted, MMDFairPCA) else {})


def gaps(E: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """How far apart means and covariances of the groups are in an embedding."""
    moments = GroupMoments.from_data(E, groups)
    return {"mean gap": metrics.mean_gap(moments), "covariance gap": metrics.covariance_gap(moments)}
