"""Kernel matrices as the row update needs them: whole, as a factor, or computed block by block."""

from abc import ABC, abstractmethod

import numpy as np

from ..core.errors import DataError
from ..core.kernels import Kernel


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

    def sums(self, labels: np.ndarray, n_clusters: int) -> "ClusterSums":
        """The similarities of all points to all clusters, kept up to date while labels change."""
        return CachedSums(self, labels, n_clusters)


class DenseGram(Gram):
    """The matrix itself, n x n, in single or double precision."""

    def __init__(self, K: np.ndarray):
        self.K, self.n = K, len(K)
        self.diagonal = np.diagonal(K).astype(np.float64)
        self.precision = accuracy(K.dtype)

    def product(self, Y: np.ndarray) -> np.ndarray:
        """K Y for Y of shape (n, c)."""
        return np.asarray(self.K @ Y.astype(self.K.dtype), dtype=np.float64)

    def row(self, i: int) -> np.ndarray:
        """Row i, shape (n,)."""
        return self.K[i]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The entries of some rows and columns."""
        return self.K[np.ix_(rows, columns)].astype(np.float64)


class FactorGram(Gram):
    """K = Z Z^T of rank at most d, from Z (n, d): nothing of size n x n is ever formed."""

    def __init__(self, Z: np.ndarray):
        self.Z, self.n = Z, len(Z)
        self.diagonal = np.einsum("nd,nd->n", Z, Z, dtype=np.float64)
        self.precision = accuracy(Z.dtype)

    def product(self, Y: np.ndarray) -> np.ndarray:
        """Z (Z^T Y)."""
        return np.asarray(self.Z @ (self.Z.T @ Y.astype(self.Z.dtype)), dtype=np.float64)

    def row(self, i: int) -> np.ndarray:
        """Row i, shape (n,)."""
        return self.Z @ self.Z[i]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The entries of some rows and columns."""
        return np.asarray(self.Z[rows] @ self.Z[columns].T, dtype=np.float64)

    def sums(self, labels: np.ndarray, n_clusters: int) -> "ClusterSums":
        """Sums of the rows of Z for each cluster, and similarities for a window of points."""
        return FactorSums(self, labels, n_clusters)


class BlockGram(Gram):
    """Entries computed from the points whenever they are needed; n x n values are never held at once."""

    def __init__(self, kernel: Kernel, X: np.ndarray, dtype=np.float32):
        self.kernel, self.X = kernel.moved(X.astype(dtype, copy=False))
        self.n, self.dtype = len(X), np.dtype(dtype)
        parts = [np.diagonal(self.kernel.block(part, part)) for part in self._parts(64)]
        self.diagonal = np.concatenate(parts).astype(np.float64)
        self.precision = accuracy(self.dtype)

    def _parts(self, step: int):
        return (self.X[a : a + step] for a in range(0, self.n, step))

    def product(self, Y: np.ndarray) -> np.ndarray:
        """K Y, a block of rows of K at a time."""
        Y, found = Y.astype(self.dtype), np.empty(Y.shape)
        for rows, values in self.kernel.blocks(self.X, self.X):
            if not np.isfinite(values).all():
                raise DataError(
                    f"the {self.kernel.name} kernel has NaN or infinite values on these data. Rescale the features, or "
                    "choose a smaller gamma or degree."
                )
            found[rows] = values @ Y
        return found

    def row(self, i: int) -> np.ndarray:
        """Row i, shape (n,)."""
        return self.kernel.block(self.X[i : i + 1], self.X)[0]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The entries of some rows and columns."""
        return np.asarray(self.kernel.block(self.X[rows], self.X[columns]), dtype=np.float64)


class ClusterSums(ABC):
    r"""Similarities :math:`S_{ki} = y_k^\top K e_i` of points and clusters for labels that change one at a time."""

    @abstractmethod
    def window(self, start: int, stop: int) -> np.ndarray:
        """The columns ``start:stop`` of S, shape (c, stop - start)."""

    @abstractmethod
    def move(self, i: int, source: int, target: int) -> None:
        """Point i has left one cluster for another."""

    @abstractmethod
    def within(self, labels: np.ndarray) -> np.ndarray:
        r"""The sums :math:`q_k = y_k^\top K y_k` for the present labels, shape (c,)."""


class CachedSums(ClusterSums):
    """All of S, n x c; a move costs two updates of n numbers."""

    def __init__(self, gram: Gram, labels: np.ndarray, n_clusters: int):
        self.gram, self.n_clusters, self.moves = gram, n_clusters, 0
        self._fill(labels)

    def _fill(self, labels: np.ndarray) -> None:
        self.S = np.ascontiguousarray(self.gram.product(indicator(labels, self.n_clusters)).T)

    def window(self, start: int, stop: int) -> np.ndarray:
        """The columns ``start:stop`` of S."""
        return self.S[:, start:stop]

    def move(self, i: int, source: int, target: int) -> None:
        """Two rows of S change by row i of K."""
        row = self.gram.row(i)
        self.S[source] -= row
        self.S[target] += row
        self.moves += 1

    def within(self, labels: np.ndarray) -> np.ndarray:
        """The sums q; after n moves S is computed anew, so that rounding does not accumulate."""
        if self.moves > self.gram.n:
            self._fill(labels)
            self.moves = 0
        return np.bincount(labels, weights=self.S[labels, np.arange(len(labels))], minlength=self.n_clusters)


class FactorSums(ClusterSums):
    """Sums of the rows of Z for each cluster, c x d; S is kept for a window of points only."""

    def __init__(self, gram: FactorGram, labels: np.ndarray, n_clusters: int):
        self.Z, self.n_clusters = gram.Z, n_clusters
        self._fill(labels)

    def _fill(self, labels: np.ndarray) -> None:
        self.sums = np.zeros((self.n_clusters, self.Z.shape[1]))
        order = np.argsort(labels, kind="stable")
        present, firsts = np.unique(labels[order], return_index=True)
        # ordered sums of blocks: no product with an indicator matrix of n x c
        for k, rows in zip(present, np.split(order, firsts[1:]), strict=True):
            self.sums[k] = self.Z[rows].sum(axis=0, dtype=np.float64)
        self.start = self.stop = 0
        self.S = np.empty((self.n_clusters, 0))

    def window(self, start: int, stop: int) -> np.ndarray:
        """The columns ``start:stop`` of S."""
        if not (self.start <= start and stop <= self.stop):
            self.start, self.stop = start, max(stop, min(start + 512, len(self.Z)))
            self.S = self.sums @ self.Z[self.start : self.stop].T
        return self.S[:, start - self.start : stop - self.start]

    def move(self, i: int, source: int, target: int) -> None:
        """Two sums change by row i of Z."""
        self.sums[source] -= self.Z[i]
        self.sums[target] += self.Z[i]
        if i + 1 >= self.stop:
            return
        # what lies before the point is not asked for again in this sweep
        similar = self.Z[i + 1 : self.stop] @ self.Z[i]
        self.S[source, i + 1 - self.start :] -= similar
        self.S[target, i + 1 - self.start :] += similar

    def within(self, labels: np.ndarray) -> np.ndarray:
        """The sums q, from sums computed anew."""
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
