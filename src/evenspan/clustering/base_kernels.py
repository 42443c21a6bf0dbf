"""The twelve base kernels of the multiple-kernel experiments: linear, polynomial, Gaussian; centred, unit diagonal."""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel

from ..core.errors import DataError
from ..core.inputs import require_memory, require_points
from ..core.linalg import require_symmetric
from ..core.options import whole

#: In the order of the paper's stacks; ``base_kernel`` counts them from 1.
KERNEL_NAMES = (
    "linear x'y",
    "polynomial (x'y)^2",
    "polynomial (x'y)^4",
    "polynomial (x'y + 1)^2",
    "polynomial (x'y + 1)^4",
    *(f"Gaussian, s^2 = {square}" for square in ("D^2 / 8", "D^2 / 4", "D^2 / 2", "D^2", "2 D^2", "4 D^2", "8 D^2")),
)
#: Constant and power of those that are powers of inner products; kernels from 6 on are Gaussian, number 9 with s = D.
POLYNOMIALS = {1: (0.0, 1), 2: (0.0, 2), 3: (0.0, 4), 4: (1.0, 2), 5: (1.0, 4)}
UNIT_WIDTH = 9


def twelve_kernels(X) -> np.ndarray:
    r"""All twelve base kernels of the rows of X, each centred and then scaled to a unit diagonal.

    With :math:`D` the mean of all :math:`n^2` Euclidean distances between rows, those of a row to itself included,

    .. math::

        x^\top y, \quad (x^\top y)^2, \; (x^\top y)^4, \quad (x^\top y + 1)^2, \; (x^\top y + 1)^4, \quad
        e^{-\|x - y\|^2 / (2 s_q^2)}, \; s_q^2 = 2^q D^2, \; q = -3, \ldots, 3 .

    Parameters
    ----------
    X : array-like, DataFrame or scipy.sparse matrix of shape (n, d)
        Rows are used as given. In the paper's experiments they have unit length: that is the caller's to do.

    Returns
    -------
    ndarray of shape (12, n, n)
        In the order of ``KERNEL_NAMES``.

    References
    ----------
    Zhou, Li and Du (2024); order, constants and the sequence of centring and scaling are those of the authors' shipped
    stack of kernels.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> K = twelve_kernels(X / np.linalg.norm(X, axis=1, keepdims=True))
    >>> K.shape
    (12, 30, 30)
    >>> bool(np.allclose(np.diagonal(K, axis1=1, axis2=2), 1.0))
    True
    """
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    require_memory(
        16 * 8 * n**2, f"twelve kernel matrices of {n} rows", "base_kernel makes one at a time, in a quarter of it."
    )
    found = np.empty((len(KERNEL_NAMES), n, n))
    for place, K in zip(found, base_kernels(X, range(1, 13)), strict=True):
        place[:] = K
    return found


def base_kernel(X, number) -> np.ndarray:
    """One of the twelve base kernels of the rows of X, centred and then scaled to a unit diagonal.

    Parameters
    ----------
    X : array-like, DataFrame or scipy.sparse matrix of shape (n, d)
        Rows are used as given.
    number : int
        From 1 to 12, in the order of ``KERNEL_NAMES``; 7 is the one of the paper's single-kernel experiments.

    Returns
    -------
    ndarray of shape (n, n)
        The same as ``twelve_kernels(X)[number - 1]``.
    """
    whole(1, 12).require("number", number)
    return next(base_kernels(X, [number]))


def base_kernels(X, numbers: Iterable[int]) -> Iterator[np.ndarray]:
    """Some of the base kernels, one after the other; inner products and distances are computed once for all of them."""
    X = X.tocsr().astype(np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    require_points(X, None)
    n, products, squares = X.shape[0], None, None
    require_memory(4 * 8 * n**2, f"a kernel matrix of {n} rows", "Use fewer rows, or a linear kernel on the rows.")
    for number in numbers:
        if number in POLYNOMIALS:
            products = linear_kernel(X, dense_output=True) if products is None else products
            constant, power = POLYNOMIALS[number]
            K = products + constant
            K **= power
        else:
            if squares is None:  # points far from zero keep the digits of their distances about the mean
                squares = euclidean_distances(X if sparse.issparse(X) else X - X.mean(axis=0), squared=True)
                width = float(np.sqrt(squares).mean(axis=None))
            if width == 0.0:
                raise DataError(f"X has {n} sample(s), all equal: the Gaussian kernels have no width. Needed are two.")
            K = squares * (-0.5 / (2.0 ** (number - UNIT_WIDTH) * width**2))
            np.exp(K, out=K)
        yield _centred_and_normalised(require_symmetric(K, "K"))


def center_and_normalise(K) -> np.ndarray:
    r"""The kernel of the centred points, scaled to unit length.

    .. math:: K^c = H K H, \quad H = I - \tfrac1n \mathbf 1 \mathbf 1^\top, \qquad K^c_{ij} / \sqrt{K^c_{ii} K^c_{jj}} .

    Parameters
    ----------
    K : array-like of shape (n, n)
        A symmetric kernel matrix, one at a time.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, with ones on the diagonal. A point at the mean of the feature space has no length and is refused.
    """
    return _centred_and_normalised(require_symmetric(K, "K").copy())


def _centred_and_normalised(K: np.ndarray) -> np.ndarray:
    """The same of a symmetric matrix that may be overwritten."""
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
