"""Kernel matrices as the clusterers need them: whole, as a factor or block by block; checked on the way in."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar
from weakref import WeakValueDictionary

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.errors import ConfigurationError, DataError, FairWarning
from ..core.estimator import warn_caller
from ..core.kernels import Kernel, resolve_kernel
from ..core.limits import require_memory
from ..core.options import PRECISION, Option, flag, one_of
from .base_kernels import CentralPointWarning, center_and_normalise
from .estimator import numeric_table

#: Up to this number of rows all eigenvectors are computed.
DENSE = 600


class KernelWarning(FairWarning):
    """A kernel matrix is not symmetric, or not positive semidefinite: the message says what still holds."""


class Gram(ABC):
    """A symmetric kernel matrix of n points: its diagonal, its rows and its product with a thin matrix."""

    #: Number of points.
    n: int
    #: The diagonal, shape (n,).
    diagonal: np.ndarray
    #: Relative accuracy that an iteration can reach with these products; 0 asks for all that double precision has.
    precision: float = 0.0

    @abstractmethod
    def product(self, Y: np.ndarray) -> np.ndarray:
        """K Y for Y of shape (n, c), in double precision."""

    @abstractmethod
    def row(self, i: int) -> np.ndarray:
        """Row i, shape (n,)."""

    @abstractmethod
    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The entries of some rows and columns."""

    def sums(self, labels: np.ndarray, n_clusters: int) -> "CachedSums":
        """The similarities of all points to all clusters, kept up to date while labels change."""
        return CachedSums(self, labels, n_clusters)


class DenseGram(Gram):
    """The matrix itself, n x n, in single or double precision."""

    def __init__(self, K: np.ndarray):
        self.K, self.n = K, len(K)
        self.diagonal = np.diagonal(K).astype(np.float64)
        self.precision = accuracy(K.dtype)

    def product(self, Y):
        return np.asarray(self.K @ Y.astype(self.K.dtype), dtype=np.float64)

    def row(self, i):
        return self.K[i]

    def block(self, rows, columns):
        return self.K[np.ix_(rows, columns)].astype(np.float64)


class FactorGram(Gram):
    """K = Z Z^T of rank at most d, from Z (n, d): nothing of size n x n is ever formed."""

    def __init__(self, Z: np.ndarray):
        self.Z, self.n = Z, len(Z)
        self.diagonal = np.einsum("nd,nd->n", Z, Z, dtype=np.float64)
        self.precision = accuracy(Z.dtype)

    def product(self, Y):
        return np.asarray(self.Z @ (self.Z.T @ Y.astype(self.Z.dtype)), dtype=np.float64)

    def row(self, i):
        return self.Z @ self.Z[i]

    def block(self, rows, columns):
        return np.asarray(self.Z[rows] @ self.Z[columns].T, dtype=np.float64)

    def sums(self, labels, n_clusters):
        return FactorSums(self, labels, n_clusters)


class BlockGram(Gram):
    """Entries computed from the points whenever they are needed; n x n values are never held at once."""

    def __init__(self, kernel: Kernel, X: np.ndarray, dtype=np.float32):
        self.kernel, self.X = kernel.moved(X.astype(dtype, copy=False))
        self.n, self.dtype = len(X), np.dtype(dtype)
        parts = (self.X[a : a + 64] for a in range(0, self.n, 64))
        self.diagonal = np.concatenate([np.diagonal(self.kernel.block(p, p)) for p in parts]).astype(np.float64)
        self.precision = accuracy(self.dtype)

    def product(self, Y):
        Y, found = Y.astype(self.dtype), np.empty(Y.shape)
        for rows, values in self.kernel.blocks(self.X, self.X):
            found[rows] = self.kernel.finite(values) @ Y
        return found

    def row(self, i):
        return self.kernel.block(self.X[i : i + 1], self.X)[0]

    def block(self, rows, columns):
        return np.asarray(self.kernel.block(self.X[rows], self.X[columns]), dtype=np.float64)


class CachedSums:
    r"""Similarities :math:`S_{ki} = y_k^\top K e_i` of points and clusters for labels that change one at a time.

    All of S is held, c x n; a move costs two updates of n numbers.
    """

    def __init__(self, gram: Gram, labels: np.ndarray, n_clusters: int):
        self.gram, self.n_clusters = gram, n_clusters
        self._fill(labels)

    def _fill(self, labels: np.ndarray) -> None:
        self.moves = 0
        self.S = np.ascontiguousarray(self.gram.product(indicator(labels, self.n_clusters)).T)

    def window(self, start: int, stop: int) -> np.ndarray:
        """The columns ``start:stop`` of S, shape (c, stop - start)."""
        return self.S[:, start:stop]

    def move(self, i: int, source: int, target: int) -> None:
        """Point i has left one cluster for another: two rows of S change by row i of K."""
        row = self.gram.row(i)
        self.S[source] -= row
        self.S[target] += row
        self.moves += 1

    def within(self, labels: np.ndarray) -> np.ndarray:
        r"""The sums :math:`q_k = y_k^\top K y_k` for the present labels, shape (c,).

        After n moves S is computed anew, so that rounding does not accumulate.
        """
        if self.moves > self.gram.n:
            self._fill(labels)
        return np.bincount(labels, weights=self.S[labels, np.arange(len(labels))], minlength=self.n_clusters)


class FactorSums(CachedSums):
    """The same from sums of the rows of Z for each cluster, c x d; S is computed for the window that is asked for."""

    def _fill(self, labels):
        self.Z, self.sums = self.gram.Z, np.zeros((self.n_clusters, self.gram.Z.shape[1]))
        order = np.argsort(labels, kind="stable")
        present, firsts = np.unique(labels[order], return_index=True)
        # ordered sums of blocks: no product with an indicator matrix of n x c
        for k, rows in zip(present, np.split(order, firsts[1:]), strict=True):
            self.sums[k] = self.Z[rows].sum(axis=0, dtype=np.float64)

    def window(self, start, stop):
        return self.sums @ self.Z[start:stop].T

    def move(self, i, source, target):
        self.sums[source] -= self.Z[i]
        self.sums[target] += self.Z[i]

    def within(self, labels):
        self._fill(labels)
        return np.einsum("kd,kd->k", self.sums, self.sums)


def accuracy(dtype) -> float:
    """The tolerance of iterations on a kernel stored in this precision."""
    return 0.0 if np.dtype(dtype) == np.float64 else 1e-5


def indicator(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The matrix Y (n, c) with a one where a point is in a cluster."""
    Y = np.zeros((len(labels), n_clusters))
    Y[np.arange(len(labels)), labels] = 1.0
    return Y


class KernelInput:
    """The kernel options of an estimator, as a mixin: ``_gram(X)`` gives the kernel matrix of the rows of X.

    A precomputed matrix that is read-only is checked in the first fit alone.

    ``_remember`` keeps what ``predict`` needs of the fitting sample: with a linear kernel the centres, otherwise the
    points themselves.
    """

    _options: ClassVar[Mapping[str, Option]] = {
        "center": flag(),
        "normalize": flag(),
        "storage": one_of("auto", "dense", "factor", "blocks"),
        "dtype": PRECISION,
    }

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _gram(self, X) -> Gram:
        dtype = np.dtype(self.dtype)
        if self._precomputed:
            if self.storage in ("factor", "blocks"):
                raise ConfigurationError(
                    f"storage={self.storage!r} with kernel='precomputed': the matrix is there already. Pass the points "
                    "and a kernel, or storage='auto'."
                )
            if X.dtype == dtype and passed(X):
                return DenseGram(self._rescaled(X))
            K = self._rescaled(symmetric_kernel(X, dtype))
            if not warn_if_indefinite(K, "the precomputed kernel") and K is X:
                keep_passed(X)
            return DenseGram(K)
        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        kernel = resolve_kernel(self.kernel, X, np.ones(len(X)), **options)
        self.gamma_ = kernel.gamma
        if kernel.name == "linear":
            X = self._factor(X)
            if self.storage == "blocks":
                return BlockGram(kernel, X, dtype)
            if self.storage == "dense":
                return DenseGram(dense_kernel(kernel, X, dtype))
            return FactorGram(np.ascontiguousarray(X, dtype=dtype))
        if self.storage == "factor":
            raise ConfigurationError(
                f"storage='factor' with kernel={kernel.name!r}: only the linear kernel is the product of the points. "
                "Map them first, for instance with sklearn.kernel_approximation.Nystroem, and use kernel='linear'."
            )
        if kernel.origin is not None:
            kernel = replace(kernel, origin=kernel.origin.astype(dtype))
        if self.storage == "blocks":
            if self.center or self.normalize:
                raise ConfigurationError(
                    "storage='blocks' with center or normalize: both need the means of all rows of the kernel first. "
                    "Use a kernel with a unit diagonal such as 'rbf' as it is, or storage='dense'."
                )
            return BlockGram(kernel, X, dtype)
        K = self._rescaled(dense_kernel(kernel, X, dtype))
        if not kernel.is_positive:
            warn_if_indefinite(K, f"the {kernel.name} kernel")
        return DenseGram(K)

    def _factor(self, X: np.ndarray, n: int | None = None) -> np.ndarray:
        """Points Z with the kernel Z Z^T, always about their mean: far from zero inner products lose their digits.

        Clusters stay what they are, as the objective moves by the same number for all of them. The mean is that of the
        first n rows, the fitting sample.
        """
        Z = X.astype(np.float64)
        if self.center or not self.normalize:
            Z -= Z[:n].mean(axis=0)
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
            Z -= 0.0 if self.center else Z[:n].mean(axis=0)
        return Z

    def _rescaled(self, K: np.ndarray) -> np.ndarray:
        """The kernel in a feature space moved to its mean, and with all points at length one."""
        if not (self.center or self.normalize):
            return K
        self.kernel_means_ = means = K.mean(axis=0, dtype=np.float64) if self.center else np.zeros(len(K))
        squares = np.diagonal(K) - 2.0 * means + means.mean(axis=0)
        self.kernel_lengths_ = np.sqrt(np.maximum(squares, 0.0)) if self.normalize else np.ones(len(K))
        if self.center and self.normalize:
            return center_and_normalise(K)
        if self.center:
            return (K - means[:, None] - means + means.mean(axis=0)).astype(K.dtype)
        lengths = self.kernel_lengths_.astype(K.dtype)
        empty = int((lengths <= 1e-8 * lengths.max(initial=0.0)).sum(axis=0))
        if empty:
            raise DataError(
                f"normalize=True, but {empty} diagonal entries of the kernel are zero. Remove those points."
            )
        return K / lengths[:, None] / lengths

    def _remember(self, X: np.ndarray, gram: Gram, labels: np.ndarray) -> None:
        c = int(labels.max()) + 1
        sizes = np.bincount(labels, minlength=c)
        #: Squared lengths of the centres in the feature space.
        self.squared_centers_ = gram.sums(labels, c).within(labels) / sizes**2
        self.X_fit_ = X

    def predict(self, X) -> np.ndarray:
        """The cluster whose centre in the feature space is nearest to each row.

        Groups play no part: on the fitting sample the answer need not be ``labels_``, which pay for fairness.

        Parameters
        ----------
        X : array-like or DataFrame of shape (m, d)
            New rows; with ``kernel="precomputed"`` their kernel values with the fitting sample, (m, n).

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        X = numeric_table(self, X, reset=False)
        fitted, labels = self.X_fit_, self.labels_
        share = indicator(labels, len(self.squared_centers_)) / np.bincount(labels)
        if isinstance(self.kernel, str) and self.kernel == "linear":
            both = self._factor(np.vstack([fitted, X]).astype(np.float64), len(fitted))
            similar = both[len(fitted) :] @ (both[: len(fitted)].T @ share)
        else:
            similar = np.vstack([rows @ share for rows in self._kernel_rows(X)])
        return (self.squared_centers_ - 2.0 * similar).argmin(axis=1)

    def _kernel_rows(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Values of the centred and normalised kernel between new rows and the fitting sample, some rows at a time."""
        if self._precomputed:
            if self.normalize:
                raise ConfigurationError(
                    "predict with kernel='precomputed' and normalize=True needs the lengths of the new points, which "
                    "their kernel values with others do not tell. Normalise the kernel before, and fit with "
                    "normalize=False."
                )
            blocks = [(slice(0, len(X)), X)]
        else:
            options = {"gamma": self.gamma_ or self.gamma, "degree": self.degree, "coef0": self.coef0}
            kernel = resolve_kernel(self.kernel, self.X_fit_, np.ones(len(self.X_fit_)), **options)
            blocks = kernel.blocks(X, self.X_fit_)
        for rows, K in blocks:
            if self.center or self.normalize:
                means = K.mean(axis=1, keepdims=True) if self.center else np.zeros((len(K), 1))
                overall = float(self.kernel_means_.mean(axis=0))
                lengths = np.where(self.kernel_lengths_ > 0, self.kernel_lengths_, 1.0)
                K = (K - means - self.kernel_means_ + overall) / lengths
                if self.normalize:
                    own = np.array([float(kernel.block(x[None], x[None])[0, 0]) for x in X[rows]])
                    own = np.sqrt(np.maximum(own - 2.0 * means[:, 0] + overall, 0.0))
                    K /= np.where(own > 0, own, 1.0)[:, None]
            yield K

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
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
    n, dtype = len(X), np.dtype(dtype)
    require_memory(
        n * n * dtype.itemsize,
        f"a kernel matrix of {n} points ({dtype})",
        "storage='blocks' computes it piece by piece, kernel='linear' (on the points, or on features of "
        "sklearn.kernel_approximation) needs no such matrix, and dtype='float32' needs half of float64.",
    )
    kernel, X = kernel.moved(X.astype(dtype, copy=False))
    K = np.empty((n, n), dtype=dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n, 1024):
            K[start : start + 1024] = kernel.block(X[start : start + 1024], X)
    if kernel.name == "rbf":
        np.fill_diagonal(K, 1.0)
    kernel.finite(K)
    return symmetric_kernel(K, dtype, f"the {kernel.name} kernel") if kernel.name == "callable" else K


#: Read-only kernel matrices, or stacks of them, that have passed all checks, by the identity of the array.
_passed: WeakValueDictionary[int, np.ndarray] = WeakValueDictionary()


def read_only(K: np.ndarray) -> np.ndarray:
    """The same kernel matrix or stack, to which nobody can write any more: the first fit to it alone checks it."""
    part = K
    while part is not None:
        part.flags.writeable, part = False, part.base
    return K


def passed(K: np.ndarray) -> bool:
    """Whether this very array has passed all checks: a search fits many models to one kernel, and checks it once."""
    return not K.flags.writeable and _passed.get(id(K)) is K


def keep_passed(K: np.ndarray) -> None:
    """Remember that K has passed, if nobody can write to it: it is read-only, and so is what it is a view of."""
    part = K
    while isinstance(part, np.ndarray) and not part.flags.writeable:
        part = part.base
    if part is None:
        _passed[id(K)] = K


def warn_if_indefinite(K: np.ndarray, what: str) -> bool:
    """Warn if the symmetric matrix K has a clearly negative eigenvalue; whether it has."""
    lowest, highest = extreme_eigenvalues(K)
    negative = lowest < -1e-8 * max(abs(lowest), abs(highest)) * (1 if K.dtype == np.float64 else 1e3)
    if negative:
        warn_caller(
            f"{what} is not positive semidefinite: an eigenvalue is {lowest:.3g}, the largest {highest:.3g}. The row "
            "update still raises its objective with every move and ends; but the objective is no sum of squared "
            "distances, and the bound of the theory does not apply.",
            KernelWarning,
        )
    return negative


def extreme_eigenvalues(K: np.ndarray, steps: int = 30) -> tuple[float, float]:
    """The smallest and the largest eigenvalue; for large matrices what so many Lanczos steps reach, from inside."""
    if len(K) > DENSE:
        start = np.random.default_rng(0).standard_normal((len(K), 1))
        Q = start / np.linalg.norm(start)
        for _ in range(steps - 1):
            Q, _ = np.linalg.qr(np.column_stack([Q, K @ Q[:, -1].astype(K.dtype)]))
        K = Q.T @ np.asarray(K @ Q.astype(K.dtype), dtype=np.float64)
    values = np.linalg.eigvalsh(np.asarray(0.5 * (K + K.T), dtype=np.float64))
    return float(values[0]), float(values[-1])
