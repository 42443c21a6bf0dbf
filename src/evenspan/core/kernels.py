"""Kernels: a frozen value that knows its parameters and computes blocks of kernel matrices."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

from .accumulator import BLOCK_ENTRIES
from .errors import ConfigurationError, DataError, FairWarning
from .inputs import SMALLEST
from .units import ORDINARY

KERNELS = ("rbf", "polynomial", "sigmoid", "linear", "precomputed")

#: So many distances between points are held at once while their median is sought.
PAIRS = 2**20

#: Eigenvalues of a kernel matrix below this, relative to its Frobenius norm, count as zero.
RANK_CUT = 1e-10


@dataclass(frozen=True, eq=False)
class Kernel:
    r"""A kernel with all its parameters fixed.

    .. math::

        e^{-\gamma \|x - y\|^2}, \quad (\gamma\, x^\top y + c)^p, \quad \tanh(\gamma\, x^\top y + c), \quad x^\top y .

    Parameters
    ----------
    name : str
        One of ``KERNELS``, or "callable".
    gamma : float, optional
        The factor of the first three.
    degree : int
        The power p of "polynomial".
    coef0 : float
        The constant c of "polynomial" and "sigmoid".
    origin : ndarray of shape (d,), optional
        For "rbf" and "linear": subtracted from all points first. Points far from zero keep their digits; distances
        stay the same, and so do products as soon as they are centred.
    function : callable, optional
        For "callable": ``function(X, Y)`` gives the block of shape (n, m).
    """

    name: str
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    origin: np.ndarray | None = None
    function: Callable | None = None

    @property
    def is_positive(self) -> bool:
        """Whether every kernel matrix is known to be positive semidefinite."""
        return self.name in ("rbf", "linear") or (self.name == "polynomial" and self.coef0 >= 0)

    def anchors(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """What ``block`` needs to know of some rows of the fitting sample: the points, or their positions in it."""
        return rows if self.name == "precomputed" else X[rows]

    def block(self, X: np.ndarray, anchors: np.ndarray) -> np.ndarray:
        """Kernel values (n, m) between the rows of X and the anchors."""
        if self.name == "precomputed":
            return X[:, anchors]
        if self.name in ("linear", "rbf") and self.origin is not None:
            X, anchors = X - self.origin, anchors - self.origin
        if self.name == "linear":
            return linear_kernel(X, anchors)
        if self.name == "rbf":
            if X.dtype == anchors.dtype == np.float32:
                return _gaussian(X, anchors, self.gamma)
            return rbf_kernel(X, anchors, gamma=self.gamma)
        if self.name == "polynomial":
            return polynomial_kernel(X, anchors, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        if self.name == "sigmoid":
            return sigmoid_kernel(X, anchors, gamma=self.gamma, coef0=self.coef0)
        values = np.asarray(self.function(X, anchors), dtype=np.float64)
        if values.shape != (len(X), len(anchors)):
            raise DataError(
                f"the kernel function returned shape {values.shape} for {len(X)} and {len(anchors)} points; needed is "
                f"{(len(X), len(anchors))}. It is called with two tables of points, not with two points."
            )
        return values

    def moved(self, X: np.ndarray) -> tuple["Kernel", np.ndarray]:
        """The kernel for points from which its origin has been subtracted, and those points: once for all blocks."""
        if self.name != "rbf" or self.origin is None:
            return self, X
        return replace(self, origin=None), (X - self.origin).astype(X.dtype, copy=False)

    def blocks(self, X: np.ndarray, anchors: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """The same for some rows of X at a time, with the slice of X that they are."""
        step = max(BLOCK_ENTRIES // max(len(anchors), 1), 16)
        for start in range(0, len(X), step):
            rows = slice(start, min(start + step, len(X)))
            yield rows, self.block(X[rows], anchors)

    def finite(self, values: np.ndarray) -> np.ndarray:
        """The values of this kernel; DataError unless they are finite."""
        if not np.isfinite(values).all():
            raise DataError(
                f"the {self.name} kernel has NaN or infinite values on these data. Rescale the features, or choose a "
                "smaller gamma or degree."
            )
        return values

    def matrix(self, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The symmetric kernel matrix of some rows of the fitting sample."""
        K = self.finite(self.block(X[rows], self.anchors(X, rows)))
        if self.name in ("precomputed", "callable"):
            difference, largest = float(np.abs(K - K.T).max(initial=0.0)), float(np.abs(K).max(initial=0.0))
            if difference > 1e-10 * largest:
                raise DataError(
                    f"the {self.name} kernel is not symmetric: K and its transpose differ by up to {difference:.3g}, "
                    f"with entries up to {largest:.3g}. Pass a symmetric kernel, for instance (K + K.T) / 2."
                )
        return 0.5 * (K + K.T)


def _gaussian(X: np.ndarray, anchors: np.ndarray, gamma: float) -> np.ndarray:
    """The Gaussian kernel in single precision throughout; points should lie about zero, where differences keep digits.

    An entry is wrong by about 1e-7 of gamma times the squared lengths of its points.
    """
    values = X @ anchors.T
    values *= 2.0
    values -= np.einsum("nd,nd->n", anchors, anchors)
    values -= np.einsum("nd,nd->n", X, X)[:, None]
    np.minimum(values, 0.0, out=values)
    values *= np.float32(gamma)
    return np.exp(values, out=values)


def of_ordinary_size(K: np.ndarray) -> tuple[np.ndarray, int]:
    """A kernel matrix divided by ``4**exponent``, which is exact, and the exponent: 0 unless its size is far from 1."""
    exponent = int(np.frexp(np.abs(K).max(initial=0.0))[1]) // 2
    return (np.ldexp(K, -2 * exponent), exponent) if abs(exponent) > ORDINARY else (K, 0)


def require_digits(before: np.ndarray, centred: np.ndarray) -> None:
    """DataError where centring has cancelled so much of a kernel matrix that the cut for its rank is below rounding."""
    left, size = float(np.linalg.norm(centred)), float(np.linalg.norm(before))
    if np.finfo(float).eps * size > RANK_CUT * left:
        raise DataError(
            f"the points are too alike in this kernel: centring leaves {left / size:.3g} of the norm of its values, "
            "too few digits to tell means that coincide from others. Move the features to their mean "
            "(X - X.mean(axis=0)) or standardise them, or choose a larger gamma."
        )


def resolve_kernel(kernel, X: np.ndarray, weights: np.ndarray, *, gamma, degree, coef0) -> Kernel:
    """The kernel with its parameters checked, and ``gamma`` computed from the rows of X.

    "scale" is 1 / (d v), v being the population variance of all entries of X pooled, each row with its weight; "auto"
    is 1 / d.
    """
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if not isinstance(kernel, str) or kernel not in KERNELS:
        raise ConfigurationError(
            f"kernel={kernel!r}; needed is one of {', '.join(KERNELS)}, or a function of two tables of points."
        )
    if kernel in ("linear", "precomputed"):
        return Kernel(kernel)
    if kernel == "polynomial" and (not isinstance(degree, Integral) or isinstance(degree, bool) or degree < 1):
        raise ConfigurationError(f"degree={degree!r}; needed is a whole number from 1.")
    if kernel != "rbf" and (not isinstance(coef0, Real) or not np.isfinite(coef0)):
        raise ConfigurationError(f"coef0={coef0!r}; needed is a finite number.")
    origin = np.average(X, axis=0, weights=weights)
    return Kernel(kernel, resolve_gamma(gamma, X, weights, origin), degree, coef0, origin)


def resolve_gamma(gamma, X: np.ndarray, weights: np.ndarray, origin: np.ndarray) -> float:
    """``gamma`` as a number; ``origin`` is the mean of the rows of X."""
    d = X.shape[1]
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / d
    if isinstance(gamma, str) and gamma == "scale":
        within = float(np.average(np.einsum("nd,nd->n", X - origin, X - origin), axis=0, weights=weights)) / d
        variance = within + float(np.var(origin, axis=0))
        if variance <= max((1e-12 * float(np.abs(origin).max(initial=0.0))) ** 2, SMALLEST**2):
            raise ConfigurationError(
                f"all entries of the fitted rows equal {origin[0]:.6g}, or so nearly that their variance vanishes, so "
                "gamma='scale', which is 1 / (features times that), does not exist. Give gamma as a number, or "
                "gamma='auto'."
            )
        return 1.0 / (d * variance)
    if isinstance(gamma, str) or not isinstance(gamma, Real) or isinstance(gamma, bool) or not 0 < gamma < np.inf:
        raise ConfigurationError(f"gamma={gamma!r}; needed is 'scale', 'auto' or a number above 0.")
    return float(gamma)


def median_bandwidth(E: np.ndarray) -> float:
    r"""The bandwidth :math:`\sigma = \sqrt{\operatorname{median}_{i<j} \lVert e_i - e_j \rVert^2 / 2}`.

    Parameters
    ----------
    E : ndarray of shape (n, k)
        An embedding. The published tables use standard PCA of the training part.

    Returns
    -------
    float

    Notes
    -----
    The median is exact. Up to ``PAIRS`` distances are held at once; of more, those in the interval that holds the
    median are picked out after a count of all, which takes twice to four times as long. If more than half of the
    distances are zero, the mean of the others takes the place of the median, with a warning.

    References
    ----------
    Lee et al. (2022), as used for the table of Kleindessner et al. (2023).

    Examples
    --------
    >>> import numpy as np
    >>> median_bandwidth(np.array([[0.0], [2.0]]))
    1.4142135623730951
    """
    if len(E) < 2:
        raise DataError(f"a bandwidth needs at least 2 points; there are {len(E)}.")
    middle = _median_distance(E)
    if middle == 0.0:
        positive = [(float(part[part > 0].sum(axis=0)), int((part > 0).sum(axis=0))) for part in _squared_distances(E)]
        total, number = (sum(column) for column in zip(*positive, strict=True))
        if not number:
            raise DataError("all points are equal, so no bandwidth exists. Give one explicitly.")
        middle = total / number
        warnings.warn(
            "more than half of the distances are zero; the bandwidth uses the mean of the others.",
            FairWarning,
            stacklevel=2,
        )
    return float(np.sqrt(middle / 2.0))


def _squared_distances(E: np.ndarray) -> Iterator[np.ndarray]:
    """The squared distances of all pairs of rows, some rows at a time."""
    if len(E) * (len(E) - 1) // 2 <= PAIRS:
        yield pdist(E, "sqeuclidean")
        return
    step = max(PAIRS // len(E), 1)
    for start in range(0, len(E) - 1, step):
        block = cdist(E[start : start + step], E[start:], "sqeuclidean")
        yield block[np.arange(block.shape[1]) > np.arange(len(block))[:, None]]


def _median_distance(E: np.ndarray) -> float:
    """The median of the squared distances of all pairs of rows."""
    number = len(E) * (len(E) - 1) // 2
    if number <= PAIRS:
        return float(np.median(pdist(E, "sqeuclidean"), axis=0))
    below, beyond = _of_rank(E, (number - 1) // 2)
    if number % 2:
        return below
    return 0.5 * (below + (_of_rank(E, number // 2)[0] if beyond is None else beyond))


def _of_rank(E: np.ndarray, rank: int) -> tuple[float, float | None]:
    """The squared distance of that rank among all pairs, from 0, and the next one if it came up by the way.

    Numbers that are not negative have the order of their bits, so that counts of the leading 16 bits, then of the next
    ones, close in on it.
    """
    prefix = 0
    for shift in (48, 32, 16, 0):
        counts = np.zeros(2**16, dtype=np.int64)
        for part in _squared_distances(E):
            bits = part.view(np.uint64)
            bits = bits[bits >> (shift + 16) == prefix] if shift < 48 else bits
            counts += np.bincount((bits >> shift & 0xFFFF).astype(np.int64), minlength=2**16)
        place = int(np.searchsorted(np.cumsum(counts), rank, side="right"))
        rank, prefix = rank - int(counts[:place].sum(axis=0)), prefix << 16 | place
        if counts[place] <= PAIRS:
            inside = [part[part.view(np.uint64) >> shift == prefix] for part in _squared_distances(E)]
            found = np.sort(np.concatenate(inside))
            return float(found[rank]), float(found[rank + 1]) if rank + 1 < len(found) else None
    value = float(np.array([prefix], dtype=np.uint64).view(np.float64)[0])
    return value, value if rank + 1 < counts[place] else None
