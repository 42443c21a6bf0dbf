"""Kernel matrices as the clusterers need them: whole or as a factor; checked on the way in."""

from dataclasses import replace

import numpy as np
import sklearn
from sklearn.utils import gen_batches

from ..core.errors import DataError
from ..core.inputs import require_memory, warn_caller
from ..core.kernels import KernelWarning, resolve_kernel
from ..core.linalg import DENSE, require_symmetric
from .estimator import NearestCentre

#: Lanczos steps that look for a negative eigenvalue of a larger matrix.
STEPS = 30


class DenseGram:
    """A symmetric kernel matrix (n, n) in the precision in which it is stored.

    ``precision`` is the relative accuracy that an iteration can reach with it; 0: all that double precision has.
    """

    def __init__(self, K: np.ndarray):
        self.K, self.n, self.precision = K, len(K), 0.0 if K.dtype == np.float64 else 1e-5
        self.diagonal = np.diagonal(K).astype(np.float64)

    def product(self, Y: np.ndarray) -> np.ndarray:
        """K Y for Y of shape (n, c), in double precision."""
        return np.asarray(self.K @ Y.astype(self.K.dtype), dtype=np.float64)

    def row(self, i: int) -> np.ndarray:
        """Row i, shape (n,)."""
        return self.K[i]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The entries of some rows and columns."""
        return self.K[np.ix_(rows, columns)].astype(np.float64)

    def sums(self, labels: np.ndarray, n_clusters: int) -> "CachedSums":
        """The similarities of all points to all clusters, kept up to date while labels change."""
        return CachedSums(self, labels, n_clusters)


class FactorGram:
    """K = Z Z^T of rank at most d, from Z (n, d): nothing of size n x n is ever formed."""

    precision = 0.0

    def __init__(self, Z: np.ndarray):
        self.Z, self.n = Z, len(Z)
        self.diagonal = np.einsum("nd,nd->n", Z, Z)

    def product(self, Y):
        return self.Z @ (self.Z.T @ Y)

    def row(self, i):
        return self.Z @ self.Z[i]

    def block(self, rows, columns):
        return self.Z[rows] @ self.Z[columns].T

    def sums(self, labels, n_clusters):
        return FactorSums(self, labels, n_clusters)


Gram = DenseGram | FactorGram


class CachedSums:
    r"""Similarities :math:`S_{ki} = y_k^\top K e_i` of points and clusters, c x n; a move updates two rows."""

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
        r"""The sums :math:`q_k = y_k^\top K y_k` for the present labels; after n moves S is computed anew."""
        if self.moves > self.gram.n:
            self._fill(labels)
        return np.bincount(labels, weights=self.S[labels, np.arange(len(labels))], minlength=self.n_clusters)


class FactorSums(CachedSums):
    """The same from sums of the rows of Z for each cluster, c x d; S is computed for the window that is asked for."""

    def _fill(self, labels):
        self.Z = self.gram.Z
        self.sums = np.array([self.Z[labels == k].sum(axis=0) for k in range(self.n_clusters)])

    def window(self, start, stop):
        return self.sums @ self.Z[start:stop].T

    def move(self, i, source, target):
        self.sums[source] -= self.Z[i]
        self.sums[target] += self.Z[i]

    def within(self, labels):
        self._fill(labels)
        return np.einsum("kd,kd->k", self.sums, self.sums)


def indicator(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The matrix Y (n, c) with a one where a point is in a cluster."""
    return (labels[:, None] == np.arange(n_clusters)).astype(np.float64)


class KernelInput(NearestCentre):
    """The options ``kernel`` and ``gamma`` of an estimator, as a mixin: the Gram matrix of X, and ``predict``.

    A precomputed matrix keeps its precision. It is not checked within ``sklearn.config_context(assume_finite=True)``.
    """

    def _gram(self, X: np.ndarray) -> Gram:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            self.kernel_ = resolve_kernel("precomputed", X, gamma=None)
            return DenseGram(checked_kernel(X, "the precomputed kernel"))
        X = X.astype(np.float64, copy=False)
        self.kernel_ = kernel = resolve_kernel(self.kernel, X, gamma=self.gamma)
        if kernel.name == "linear":
            # Clusters do not depend on where zero lies, and far from it inner products lose their digits.
            self.kernel_ = replace(kernel, origin=X.mean(axis=0))
            return FactorGram(X - self.kernel_.origin)
        require_memory(
            3 * 8 * len(X) ** 2,
            f"a kernel matrix of {len(X)} points, and two more while it is made,",
            "kernel='linear', on the points or on features of sklearn.kernel_approximation, needs no such matrix.",
        )
        K = kernel.matrix(X)
        if not kernel.is_positive:
            warn_if_indefinite(K, f"the {kernel.name} kernel")
        return DenseGram(K)

    def _remember(self, X: np.ndarray, gram: Gram, labels: np.ndarray) -> None:
        """What ``predict`` needs: the training sample, and the squared lengths of the centres in the feature space."""
        sizes = np.bincount(labels)
        self.squared_centers_ = gram.sums(labels, len(sizes)).within(labels) / sizes**2
        self.X_fit_ = self.kernel_.anchors(X, np.arange(len(X)))

    def _nearest(self, X: np.ndarray) -> np.ndarray:
        means = indicator(self.labels_, len(self.squared_centers_)) / np.bincount(self.labels_)
        similar = [self.kernel_.block(X[rows], self.X_fit_) @ means for rows in gen_batches(len(X), 1024)]
        return (self.squared_centers_ - 2.0 * np.vstack(similar)).argmin(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


def checked_kernel(K: np.ndarray, what: str) -> np.ndarray:
    """A kernel matrix that was passed: square, finite and symmetric; in the precision that it has."""
    if sklearn.get_config()["assume_finite"]:
        return K
    K = K if K.dtype == np.float32 else K.astype(np.float64, copy=False)
    K = require_symmetric(K, what, dtype=None, rtol=1e-5 if K.dtype == np.float32 else 1e-8)
    warn_if_indefinite(K, what)
    return K


def warn_if_indefinite(K: np.ndarray, what: str) -> None:
    """Warn if the symmetric matrix K has a clearly negative eigenvalue; a large one is looked at in a Krylov space."""
    if len(K) > DENSE:
        Q = np.random.default_rng(0).standard_normal((len(K), 1))
        for _ in range(STEPS):
            Q, _ = np.linalg.qr(np.column_stack([Q, K @ Q[:, -1].astype(K.dtype)]))
        K = (Q.T @ (K @ Q.astype(K.dtype))).astype(K.dtype)
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    lowest, size = float(values[0]), float(np.abs(values).max())
    if lowest < -(1e-8 if K.dtype == np.float64 else 1e-5) * size:
        warn_caller(
            f"{what} is not positive semidefinite: an eigenvalue is {lowest:.3g}, the largest {size:.3g} in size. The "
            "row update still raises its objective with every move and ends; but the objective is no sum of squared "
            "distances, and the bound of the theory does not apply.",
            KernelWarning,
        )


def center_and_normalise(K, *, copy: bool = True) -> np.ndarray:
    r"""The kernel of the centred points, scaled to unit length.

    .. math:: K^c = H K H, \quad H = I - \tfrac1n \mathbf 1 \mathbf 1^\top, \qquad K^c_{ij} / \sqrt{K^c_{ii} K^c_{jj}} .

    Parameters
    ----------
    K : array-like of shape (n, n)
        A symmetric kernel matrix, one at a time.
    copy : bool, default True
        If False, K may be overwritten.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, with ones on the diagonal. A point at the mean of the feature space has no length and is refused.
    """
    K = require_symmetric(K, "K")
    K = K.copy() if copy else K
    means, size = K.mean(axis=1), float(np.diagonal(K).max())
    mean = means.mean(axis=0)
    for row, own in zip(K, means, strict=True):  # one by one they stay in cache
        row -= (own + means) - mean
    lengths = np.diagonal(K)
    bad = np.flatnonzero(lengths <= 64.0 * float(np.finfo(np.float64).eps) * size)
    if len(bad):
        raise DataError(
            f"{len(bad)} of {len(K)} samples have no length after centring, the first is row {bad[0]} with square "
            f"{lengths[bad[0]]:.3g}: they lie at the mean of the feature space, or the kernel is not positive "
            "semidefinite. Drop them, or pass a positive semidefinite kernel."
        )
    scale = 1.0 / np.sqrt(lengths)
    for row, own in zip(K, scale, strict=True):
        row *= own * scale
    np.fill_diagonal(K, 1.0)
    return K
