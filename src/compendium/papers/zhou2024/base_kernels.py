"""The twelve base kernels of the multiple-kernel experiments: linear, polynomial, Gaussian; centred, unit diagonal."""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel

from evenspan.clustering.kernels import center_and_normalise
from evenspan.core.errors import DataError
from evenspan.core.inputs import require_points

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

    They are (12, n, n), in the order of ``KERNEL_NAMES``. Rows are used as given; in the paper's experiments they have
    unit length. Order, constants and the sequence of centring and scaling are those of the authors' shipped stack.
    """
    return np.stack(list(base_kernels(X, range(1, len(KERNEL_NAMES) + 1))))


def base_kernel(X, number: int) -> np.ndarray:
    """``twelve_kernels(X)[number - 1]``; 7 is the one of the paper's single-kernel experiments."""
    return next(base_kernels(X, [number]))


def base_kernels(X, numbers: Iterable[int]) -> Iterator[np.ndarray]:
    """Some of the base kernels, one after the other; inner products and distances are computed once for all of them."""
    X = X.tocsr().astype(np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    require_points(X, None)
    products, squares = None, None
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
                raise DataError("all rows of X are equal: the Gaussian kernels have no width.")
            K = squares * (-0.5 / (2.0 ** (number - UNIT_WIDTH) * width**2))
            np.exp(K, out=K)
        yield center_and_normalise(K, copy=False)
