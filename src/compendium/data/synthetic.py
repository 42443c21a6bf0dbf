"""Synthetic data of the papers, for a seed and any size: samples, and Gaussian groups whose moments are known exactly.

Label and group coincide in all samples. ``seed`` is what ``numpy.random.default_rng`` takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy
from scipy import linalg

from evenspan.core.errors import ConfigurationError, DataError
from evenspan.core.moments import GroupMoments
from evenspan.core.streams import FunctionStream

from .tables import Dataset

# -- samples ----------------------------------------------------------------------------------------------------------

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
    two moments. Rows of group 1 come first; they are not centred and not scaled.

    References
    ----------
    Lee et al. (2022), Fast and efficient MMD-based fair PCA via optimization over Stiefel manifold, synthetic data 2.
    """
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
    return scipy.signal.lfilter([1.0], [1.0, -r], noise, axis=1)


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
    Rows of group 1 come first, the half around -1 before the other; ``n_per_group`` is even.

    References
    ----------
    Lee et al. (2022), synthetic data 1.
    """
    rng = np.random.default_rng(seed)
    noise = np.sqrt(0.1) * rng.standard_normal((2, n_per_group, 3))
    signs = np.repeat([-1.0, 1.0], n_per_group // 2)[:, None]
    common = rng.standard_normal((n_per_group, 1))  # the same in all coordinates: covariance 1 1^T
    return _dataset("equal_moments", [noise[0] + signs, noise[1] + common])


STRETCH = np.array([[1.0, 0.0, 10.0], [1.0, 10.0, 10.0], [0.0, 10.0, 0.0]])


def stretched_group(seed, n_per_group: int = 500, d: int = 10) -> Dataset:
    """Two standard normal groups, one of them stretched within its first three features.

    Both have mean zero; rows of group 1, which come first, are multiplied from the right by a matrix that is the
    identity except for its leading 3 x 3 block. It shows what matching covariances adds to matching means.

    References
    ----------
    Kleindessner et al. (2023), Efficient fair PCA for fair representation learning, Figure 1.
    """
    rng = np.random.default_rng(seed)
    stretch = np.eye(d)
    stretch[: len(STRETCH), : len(STRETCH)] = STRETCH
    plain, other = rng.standard_normal((2, n_per_group, d))
    return _dataset("stretched_group", [other @ stretch, plain])


def _dataset(name: str, parts: list[np.ndarray]) -> Dataset:
    X = np.vstack(parts)
    groups = np.repeat([1, 0], [len(part) for part in parts])
    return Dataset(name, X, groups.copy(), groups, tuple(f"x{j}" for j in range(X.shape[1])))


# -- two Gaussian groups: by the recipe of Lee et al. (2023), and with prescribed gaps --------------------------------


@dataclass(frozen=True, eq=False)
class GaussianPair:
    """A mixture of two Gaussian groups, as a population: it can be sampled, streamed and asked for its moments."""

    means: np.ndarray  #: of group 0 and group 1, shape (2, d)
    covariances: np.ndarray  #: theirs, shape (2, d, d), positive semidefinite
    p: float  #: share of group 1, between 0 and 1
    _roots: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        means, covariances = (np.asarray(A, dtype=np.float64) for A in (self.means, self.covariances))
        if not 0.0 < self.p < 1.0:
            raise ConfigurationError(f"p={self.p}; needed is a share of group 1 strictly between 0 and 1.")
        values, vectors = np.linalg.eigh(covariances)
        if (values[:, 0] < -1e-10 * values[:, -1]).any():
            raise DataError(f"a covariance has the eigenvalue {values.min():.3g}; needed are none below zero.")
        # The symmetric root, which is unique. In another one would stand eigenvectors, which for equal eigenvalues are
        # whatever the linear algebra of a processor makes of them: one seed would draw other rows on each.
        roots = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)
        for name, value in (("means", means), ("covariances", covariances), ("_roots", roots)):
            object.__setattr__(self, name, value)

    @property
    def d(self) -> int:
        """Number of features."""
        return self.means.shape[1]

    @property
    def mean_difference(self) -> np.ndarray:
        """Mean of group 1 minus mean of group 0, shape (d,)."""
        return self.means[1] - self.means[0]

    @property
    def covariance_difference(self) -> np.ndarray:
        """Covariance of group 1 minus covariance of group 0, shape (d, d)."""
        return self.covariances[1] - self.covariances[0]

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the mixture, shape (d, d)."""
        shares, f = np.array([1.0 - self.p, self.p]), self.mean_difference
        return np.tensordot(shares, self.covariances, axes=1) + self.p * (1.0 - self.p) * np.outer(f, f)

    def shifted(self, vector) -> "GaussianPair":
        """The same pair with a vector (d,) added to both means."""
        return GaussianPair(self.means + np.asarray(vector, dtype=np.float64), self.covariances, self.p)

    def moments(self, n: float = 1e12) -> GroupMoments:
        """The exact moments as those of n rows; n is large, so that a divisor of n - 1 makes no difference."""
        counts = n * np.array([1.0 - self.p, self.p])
        return GroupMoments(np.array([0, 1]), counts, self.means, self.covariances * counts[:, None, None])

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n, d) in random order and their groups (n,)."""
        n_0 = n - rng.binomial(n, self.p)
        noise = rng.standard_normal((n, self.d))
        X = np.empty_like(noise)
        for g, rows in enumerate((slice(n_0), slice(n_0, None))):
            np.matmul(noise[rows], self._roots[g], out=X[rows])
            X[rows] += self.means[g]
        order = rng.permutation(n)
        return X[order], (order >= n_0).astype(np.int64)

    def stream(self, batch_size: int, seed, n_rows: int | None = None) -> FunctionStream:
        """Fresh batches, without end or n_rows in all, where the last may be shorter; every pass draws the same again.

        ``seed`` is a whole number or a sequence of them."""
        return FunctionStream(lambda: self._batches(batch_size, seed, n_rows))

    def _batches(self, batch_size: int, seed, n_rows: int | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng, left = np.random.default_rng(seed), np.inf if n_rows is None else n_rows
        while left > 0:
            yield self.sample(int(min(batch_size, left)), rng)
            left -= batch_size


def authors_pair(d: int, p: float, rank: int, mean_norm: float, eps: float, e0: float, e1: float, seed) -> GaussianPair:
    r"""The synthetic groups of Lee et al. (2023): a shared spectrum, and own directions of each group beside it.

    Group 1 has a mean of random direction, group 0 the one that makes the overall mean zero. In one random orthogonal
    basis both have d - rank variances in common, squares of uniform numbers scaled to a largest value of
    :math:`\min(e_0, e_1)`; group 0 has rank // 2 more directions of its own with largest variance :math:`e_0`, group 1
    the others with largest variance :math:`e_1`. Both get :math:`\tfrac{\epsilon}{2} I` on top. The difference of the
    covariances therefore has exactly rank - rank // 2 positive and rank // 2 negative eigenvalues. Squares of uniform
    numbers leave **small, random gaps** between eigenvalues.

    Parameters
    ----------
    d : int
        Number of features.
    p : float
        Share of group 1.
    rank : int
        Rank of the difference of the covariances, at most d.
    mean_norm : float
        Length of the mean of group 1.
    eps : float
        Twice the variance that is added to every direction.
    e0, e1 : float
        Largest variance of the own directions of group 0 and group 1.

    References
    ----------
    Lee et al. (2023), Fair streaming principal component analysis, the synthetic data of their program. The recipe is
    theirs, the random numbers are not.
    """
    if not 0 <= rank <= d:
        raise ConfigurationError(f"rank={rank}; needed is a whole number from 0 to d={d}.")
    rng = np.random.default_rng(seed)
    mean = _direction(d, rng) * mean_norm
    basis = _orthogonal(d, rng)
    r0 = rank // 2
    spectra = np.zeros((2, d))
    spectra[:, rank:] = _squares(d - rank, min(e0, e1), rng)
    spectra[0, :r0] = _squares(r0, e0, rng)
    spectra[1, r0:rank] = _squares(rank - r0, e1, rng)
    return _pair(np.array([-p / (1.0 - p) * mean, mean]), spectra + eps / 2.0, basis, p)


def gap_controlled_pair(d: int, shared, base: float, gaps, mean_norm: float, p: float, seed) -> GaussianPair:
    r"""Two groups with prescribed spectral gaps, so that the rates of the theory can be seen.

    In one random orthogonal basis: the first directions have the variances ``shared`` in both groups; each of the next
    has ``base`` plus its gap, a positive gap in group 1 only and the size of a negative one in group 0 only; all others
    have ``base``. The means differ by a vector of random direction, and the overall mean is zero.

    Parameters
    ----------
    d : int
        Number of features.
    shared : sequence of float
        Large variances common to both groups.
    base : float
        Variance of every other direction.
    gaps : sequence of float
        The nonzero eigenvalues of the difference of the covariances, of either sign.
    mean_norm : float
        Distance of the means.
    p : float
        Share of group 1.
    """
    shared, gaps = np.asarray(shared, dtype=np.float64), np.asarray(gaps, dtype=np.float64)
    rng = np.random.default_rng(seed)
    f = _direction(d, rng) * mean_norm
    own = slice(len(shared), len(shared) + len(gaps))
    spectra = np.full((2, d), float(base))
    spectra[:, : len(shared)] = shared
    spectra[0, own] += np.maximum(-gaps, 0.0)
    spectra[1, own] += np.maximum(gaps, 0.0)
    return _pair(np.array([-p * f, (1.0 - p) * f]), spectra, _orthogonal(d, rng), p)


def _pair(means: np.ndarray, spectra: np.ndarray, basis: np.ndarray, p: float) -> GaussianPair:
    halves = np.sqrt(spectra)[:, :, None] * basis.T
    # A product of a matrix with its own transpose is symmetric to the last bit.
    return GaussianPair(means, np.array([half.T @ half for half in halves]), p)


def _squares(size: int, largest: float, rng: np.random.Generator) -> np.ndarray:
    values = rng.random(size) ** 2
    return values * (largest / values.max()) if size else values


def _direction(d: int, rng: np.random.Generator) -> np.ndarray:
    vector = rng.standard_normal(d)
    return vector / np.linalg.norm(vector)


def _orthogonal(d: int, rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.standard_normal((d, d)))
    return Q * np.sign(np.diag(R))  # uniformly distributed over all bases
