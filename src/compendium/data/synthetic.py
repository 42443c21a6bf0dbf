"""Synthetic samples of the papers, written for a seed and for any size. Label and group coincide in all of them."""

from collections.abc import Iterator

import numpy as np
from scipy import linalg, signal

from evenspan.core.errors import ConfigurationError

from .dataset import Dataset

LATENT = 1000
# r of the five diagonal blocks of the latent covariance, group 1 and group 0
RATES = {1: (0.99, 0.98, 0.97, 0.98, 0.95), 0: (0.95, 0.98, 0.97, 0.98, 0.99)}
LATENT_MEAN_NORM = 2.0  # of group 0; group 1 has mean zero


def two_latent_groups(d: int, seed, n_per_group: int = 240) -> Dataset:
    r"""Two groups of different mean and covariance in 1000 latent dimensions, seen through a random d-dimensional map.

    Group 1 is drawn from :math:`N(0, \Sigma_1 / s)`, group 0 from :math:`N(m, \Sigma_0 / s)` with a constant vector
    :math:`m` of norm 2 and :math:`s = \|\Sigma_1 - \Sigma_0\|_2`. Each covariance has five 200 x 200 blocks with
    entries :math:`r^{|i-j|} / (1 - r^2)`. A latent row is multiplied by a 1000 x d standard normal matrix, **drawn
    anew for each group** as in the code of the paper: the observed groups therefore differ in much more than these
    two moments.

    Parameters
    ----------
    d : int
        Number of observed features.
    seed : int or numpy.random.Generator
        Source of randomness.
    n_per_group : int
        Rows per group; the paper has 240.

    Returns
    -------
    Dataset
        Rows of group 1 first, then those of group 0; not centred and not scaled.

    References
    ----------
    Lee et al. (2022), Fast and efficient MMD-based fair PCA via optimization over Stiefel manifold, synthetic data 2.
    """
    _positive(d=d, n_per_group=n_per_group)
    rng = np.random.default_rng(seed)
    parts = []
    for group in (1, 0):
        latent = latent_rows(group, n_per_group, rng)
        parts.append(latent @ rng.standard_normal((LATENT, d)))
    return _dataset("two_latent_groups", parts)


def latent_rows(group: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of one group of ``two_latent_groups`` before they are observed: shape (n, 1000)."""
    size = LATENT // len(RATES[group])
    rows = np.hstack([autoregressive_rows(r, n, size, rng) for r in RATES[group]])
    mean = 0.0 if group == 1 else LATENT_MEAN_NORM / np.sqrt(LATENT)
    return mean + rows / np.sqrt(covariance_distance())


def autoregressive_rows(r: float, n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    r"""Rows of :math:`N(0, C)` with :math:`C_{ij} = r^{|i-j|} / (1 - r^2)`, in O(n size) operations.

    This is the covariance of the stationary process :math:`x_j = r x_{j-1} + e_j` with unit innovations, so a linear
    filter draws the rows without any factorisation.
    """
    noise = rng.standard_normal((n, size))
    noise[:, 0] /= np.sqrt(1 - r**2)  # the process starts in its stationary distribution
    return signal.lfilter([1.0], [1.0, -r], noise, axis=1)


def covariance_distance() -> float:
    """Spectral norm of the difference of the two latent covariances: the largest over the blocks."""
    size = LATENT // len(RATES[1])
    norms = [0.0]
    for a, b in zip(RATES[1], RATES[0], strict=True):
        difference = linalg.toeplitz(a ** np.arange(size) / (1 - a**2) - b ** np.arange(size) / (1 - b**2))
        values = linalg.eigvalsh(difference)
        norms.append(max(abs(values[0]), abs(values[-1])))
    return max(norms)


def equal_moments(seed, n_per_group: int = 5000) -> Dataset:
    r"""Two groups with the same mean and the same covariance, but of different shape, in three dimensions.

    Group 1 is an equal mixture of :math:`N(-\mathbf 1, 0.1 I)` and :math:`N(\mathbf 1, 0.1 I)`; group 0 is
    :math:`N(0, 0.1 I + \mathbf 1 \mathbf 1^\top)`. A method that matches means or covariances has nothing to do here.

    Parameters
    ----------
    seed : int or numpy.random.Generator
        Source of randomness.
    n_per_group : int
        Rows per group (even); the paper has 5000.

    Returns
    -------
    Dataset
        Rows of group 1 first (first the half around -1), then those of group 0.

    References
    ----------
    Lee et al. (2022), synthetic data 1.
    """
    _positive(n_per_group=n_per_group)
    if n_per_group % 2:
        raise ConfigurationError(f"n_per_group={n_per_group} must be even: group 1 has two halves of equal size.")
    rng = np.random.default_rng(seed)
    noise = np.sqrt(0.1) * rng.standard_normal((2, n_per_group, 3))
    signs = np.repeat([-1.0, 1.0], n_per_group // 2)[:, None]
    common = rng.standard_normal((n_per_group, 1))  # the same in all coordinates: covariance 1 1^T
    return _dataset("equal_moments", [noise[0] + signs, noise[1] + common])


STRETCH = np.array([[1.0, 0.0, 10.0], [1.0, 10.0, 10.0], [0.0, 10.0, 0.0]])


def stretched_group(seed, n_per_group: int = 500, d: int = 10) -> Dataset:
    """Two standard normal groups, one of them stretched within its first three features.

    Both have mean zero; rows of group 1 are multiplied from the right by a matrix that is the identity except for its
    leading 3 x 3 block. It shows what matching covariances adds to matching means.

    Parameters
    ----------
    seed : int or numpy.random.Generator
        Source of randomness.
    n_per_group : int
        Rows per group.
    d : int
        Number of features, at least 3.

    Returns
    -------
    Dataset
        Rows of group 1 (stretched) first, then those of group 0.

    References
    ----------
    Kleindessner et al. (2023), Efficient fair PCA for fair representation learning, Figure 1.
    """
    _positive(n_per_group=n_per_group)
    if d < len(STRETCH):
        raise ConfigurationError(f"d={d} is too small: the stretched block needs at least {len(STRETCH)} features.")
    rng = np.random.default_rng(seed)
    stretch = np.eye(d)
    stretch[: len(STRETCH), : len(STRETCH)] = STRETCH
    plain, other = rng.standard_normal((2, n_per_group, d))
    return _dataset("stretched_group", [other @ stretch, plain])


def paired_splits(data: Dataset, number: int, seed, train_share: float = 0.7) -> Iterator[tuple[Dataset, Dataset]]:
    """Random train and test parts of a synthetic data set, with the same row numbers drawn in both groups.

    Parameters
    ----------
    data : Dataset
        Rows of group 1 first, then as many of group 0, as the generators of this module give them.
    number : int
        How many splits.
    seed : int or numpy.random.Generator
        Source of randomness.
    train_share : float
        Share of the training part.

    Yields
    ------
    train, test : Dataset
        Not standardised.
    """
    half = data.n // 2
    if not (np.all(data.groups[:half] == 1) and np.all(data.groups[half:] == 0)) or data.n != 2 * half:
        raise ConfigurationError(f"{data!r} must have all rows of group 1 first, then as many of group 0.")
    rng = np.random.default_rng(seed)
    cut = round(train_share * half)
    for i in range(number):
        order = rng.permutation(half)
        parts = (("train", order[:cut]), ("test", order[cut:]))
        train, test = (_rows(data, np.concatenate([rows, half + rows]), part, i) for part, rows in parts)
        yield train, test


def _rows(data: Dataset, rows: np.ndarray, part: str, split: int) -> Dataset:
    return Dataset(data.name, data.X[rows], data.y[rows], data.groups[rows], data.feature_names, part, split)


def _dataset(name: str, parts: list[np.ndarray]) -> Dataset:
    X = np.vstack(parts)
    groups = np.repeat([1, 0], [len(part) for part in parts])
    return Dataset(name, X, groups.copy(), groups, tuple(f"x{j}" for j in range(X.shape[1])))


def _positive(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise ConfigurationError(f"{name}={value} must be at least 1.")
