"""From what a user passes to a kernel matrix: checked, and stored whole, as a factor or block by block."""

from dataclasses import replace

import numpy as np

from ..core.errors import ConfigurationError, DataError, FairWarning
from ..core.estimator import warn_caller
from ..core.kernels import Kernel, resolve_kernel
from .base_kernels import CentralPointWarning, center_and_normalise, require_memory
from .eigen import SMALL
from .gram import BlockGram, DenseGram, FactorGram, Gram

STORAGE = ("auto", "dense", "factor", "blocks")


class KernelWarning(FairWarning):
    """A kernel matrix is not symmetric, or not positive semidefinite: the message says what still holds."""


class KernelInput:
    """The kernel options of an estimator, as a mixin: ``_gram(X)`` gives the kernel matrix of the rows of X."""

    def _gram(self, X) -> Gram:
        if self.storage not in STORAGE:
            raise ConfigurationError(f"storage={self.storage!r}; needed is one of {', '.join(STORAGE)}.")
        if self.dtype not in ("float64", "float32", np.float64, np.float32):
            raise ConfigurationError(f"dtype={self.dtype!r}; needed is 'float64' or 'float32'.")
        dtype = np.dtype(self.dtype)
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            if self.storage in ("factor", "blocks"):
                raise ConfigurationError(
                    f"storage={self.storage!r} with kernel='precomputed': the matrix is there already. Pass the points "
                    "and a kernel, or storage='auto'."
                )
            K = symmetric_kernel(X, dtype)
            if self.center or self.normalize:
                K = rescaled(K, self.center, self.normalize)
            warn_if_indefinite(K, "the precomputed kernel")
            return DenseGram(K)
        weights = np.ones(len(X))
        kernel = resolve_kernel(self.kernel, X, weights, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        self.gamma_ = kernel.gamma
        if self.storage == "factor" or (self.storage == "auto" and kernel.name == "linear"):
            return FactorGram(self._factor(kernel, X, dtype))
        if kernel.origin is not None:
            kernel = replace(kernel, origin=kernel.origin.astype(dtype))
        if self.storage == "blocks":
            if self.center or self.normalize:
                raise ConfigurationError(
                    "storage='blocks' with center or normalize: both need the means of all rows of the kernel first. "
                    "Use a kernel with a unit diagonal such as 'rbf' as it is, or storage='dense'."
                )
            return BlockGram(kernel, X, dtype)
        K = dense_kernel(kernel, X, dtype)
        if self.center or self.normalize:
            K = rescaled(K, self.center, self.normalize)
        if not kernel.is_positive:
            warn_if_indefinite(K, f"the {kernel.name} kernel")
        return DenseGram(K)

    def _factor(self, kernel: Kernel, X: np.ndarray, dtype) -> np.ndarray:
        if kernel.name != "linear":
            raise ConfigurationError(
                f"storage='factor' with kernel={kernel.name!r}: only the linear kernel is the product of the points. "
                "Map them first, for instance with sklearn.kernel_approximation.Nystroem, and use kernel='linear'."
            )
        Z = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64) if self.center else X
        if self.normalize:
            lengths = np.linalg.norm(Z, axis=1, keepdims=True)
            largest = float(lengths.max(initial=0.0))
            central = int((lengths <= 1e-8 * largest).sum(axis=None))
            if central:
                warn_caller(
                    f"{central} point(s) have length zero{' after centring' if self.center else ''} and cannot be "
                    "scaled to length one; they stay at zero, alike to no other point.",
                    CentralPointWarning,
                )
            Z = np.divide(Z, lengths, out=np.zeros(Z.shape), where=lengths > 1e-8 * largest)
        return np.ascontiguousarray(Z, dtype=dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def symmetric_kernel(K, dtype=np.float64, what: str = "the precomputed kernel") -> np.ndarray:
    """A kernel matrix that was passed: square, finite, and made symmetric with a warning where it is not."""
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(
            f"{what} has shape {K.shape}; needed is the square matrix (n, n) of all points with each other. Pass it, "
            "or pass the points and choose another kernel."
        )
    if not np.isfinite(K).all():
        raise DataError(
            f"{what} has {int((~np.isfinite(K)).sum(axis=None))} NaN or infinite entries; needed are finite numbers."
        )
    K = K.astype(dtype, copy=False)
    largest = float(np.abs(K).max(initial=0.0))
    difference = max(float(np.abs(K[a : a + 512] - K[:, a : a + 512].T).max()) for a in range(0, len(K), 512))
    if difference > (1e-10 if K.dtype == np.float64 else 1e-5) * largest:
        warn_caller(
            f"{what} is not symmetric: it and its transpose differ by up to {difference:.3g}, with entries up to "
            f"{largest:.3g}. Their mean is used; the result is that of the symmetric kernel (K + K.T) / 2.",
            KernelWarning,
        )
    return 0.5 * (K + K.T) if difference > 0 else K


def dense_kernel(kernel: Kernel, X: np.ndarray, dtype) -> np.ndarray:
    """The whole kernel matrix, after a look at the memory that it needs."""
    n = len(X)
    dtype = np.dtype(dtype)
    require_memory(
        n * n * dtype.itemsize,
        f"a kernel matrix of {n} points ({dtype})",
        "storage='blocks' computes it piece by piece, kernel='linear' (on the points, or on features of "
        "sklearn.kernel_approximation) needs no such matrix, and dtype='float32' needs half of float64",
    )
    X = X.astype(dtype, copy=False)
    K = np.empty((n, n), dtype=dtype)
    kernel, X = kernel.moved(X)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n, 1024):
            K[start : start + 1024] = kernel.block(X[start : start + 1024], X)
    if kernel.name == "rbf":
        np.fill_diagonal(K, 1.0)
    if not np.isfinite(K).all():
        raise DataError(
            f"the {kernel.name} kernel has NaN or infinite values on these data. Rescale the features, or choose a "
            "smaller gamma or degree."
        )
    return symmetric_kernel(K, dtype, f"the {kernel.name} kernel") if kernel.name == "callable" else K


def rescaled(K: np.ndarray, center: bool, normalize: bool) -> np.ndarray:
    """The kernel in a feature space moved to its mean, and with all points at length one."""
    if center and normalize:
        return center_and_normalise(K)
    if center:
        means = K.mean(axis=0, dtype=np.float64)
        return (K - means[:, None] - means + means.mean(axis=0)).astype(K.dtype)
    lengths = np.sqrt(np.maximum(np.diagonal(K), 0.0))
    if (lengths <= 1e-8 * lengths.max(initial=0.0)).any():
        raise DataError(
            f"normalize=True, but {int((lengths <= 1e-8 * lengths.max(initial=0.0)).sum(axis=0))} diagonal entries of "
            "the kernel are zero. Remove those points."
        )
    return K / lengths[:, None] / lengths


def warn_if_indefinite(K: np.ndarray, what: str) -> None:
    """Warn if the symmetric matrix K has a clearly negative eigenvalue."""
    lowest, highest = extreme_eigenvalues(K)
    if lowest < -1e-8 * max(abs(lowest), abs(highest)) * (1 if K.dtype == np.float64 else 1e3):
        warn_caller(
            f"{what} is not positive semidefinite: an eigenvalue is {lowest:.3g}, the largest {highest:.3g}. The row "
            "update still raises its objective with every move and ends; but the objective is no sum of squared "
            "distances, and the bound of the theory does not apply.",
            KernelWarning,
        )


def extreme_eigenvalues(K: np.ndarray, steps: int = 30) -> tuple[float, float]:
    """The smallest and the largest eigenvalue; for large matrices what so many Lanczos steps reach, from inside."""
    n = len(K)
    if n <= SMALL:
        values = np.linalg.eigvalsh(np.asarray(K, dtype=np.float64))
        return float(values[0]), float(values[-1])
    start = np.random.default_rng(0).standard_normal(n)
    Q, images = np.empty((n, 0)), np.empty((n, 0))
    q = start / np.linalg.norm(start)
    for _ in range(steps):
        image = np.asarray(K @ q.astype(K.dtype), dtype=np.float64)
        Q, images = np.column_stack([Q, q]), np.column_stack([images, image])
        for _ in range(2):  # twice, so that the basis is orthonormal to rounding
            image = image - Q @ (Q.T @ image)
        length = np.linalg.norm(image)
        if length <= 1e-12 * np.linalg.norm(images[:, -1]):
            break
        q = image / length
    T = Q.T @ images
    values = np.linalg.eigvalsh(0.5 * (T + T.T))
    return float(values[0]), float(values[-1])
