"""The twelve base kernels of the multiple-kernel experiments: linear, polynomial, Gaussian; centred, unit diagonal."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from ..core.accumulator import BLOCK_ENTRIES
from ..core.errors import ConfigurationError, DataError, FairWarning
from ..core.estimator import warn_caller
from ..core.inputs import row_blocks
from ..core.limits import require_memory
from ..core.options import PRECISION

#: In the order of the paper's stacks; ``base_kernel`` counts them from 1.
KERNEL_NAMES = (
    "linear x'y",
    "polynomial (x'y)^2",
    "polynomial (x'y)^4",
    "polynomial (x'y + 1)^2",
    "polynomial (x'y + 1)^4",
    "Gaussian, s^2 = D^2 / 8",
    "Gaussian, s^2 = D^2 / 4",
    "Gaussian, s^2 = D^2 / 2",
    "Gaussian, s^2 = D^2",
    "Gaussian, s^2 = 2 D^2",
    "Gaussian, s^2 = 4 D^2",
    "Gaussian, s^2 = 8 D^2",
)
#: Constant and power of the polynomials; kernels from 6 on are Gaussian, number 9 with s = D.
POLYNOMIALS = {2: (0.0, 2), 3: (0.0, 4), 4: (1.0, 2), 5: (1.0, 4)}
FIRST_GAUSSIAN, UNIT_WIDTH = 6, 9


class CentralPointWarning(FairWarning):
    """Some points lie at the mean of the feature space, where a centred kernel has nothing to normalise."""


def twelve_kernels(X, *, dtype="float64") -> np.ndarray:
    r"""All twelve base kernels of the rows of X, each centred and then scaled to a unit diagonal.

    With :math:`D` the mean of all :math:`n^2` Euclidean distances between rows, those of a row to itself included,

    .. math::

        x^\top y, \quad (x^\top y)^2, \; (x^\top y)^4, \quad (x^\top y + 1)^2, \; (x^\top y + 1)^4, \quad
        e^{-\|x - y\|^2 / (2 s_q^2)}, \; s_q^2 = 2^q D^2, \; q = -3, \ldots, 3 .

    Parameters
    ----------
    X : array-like, DataFrame or scipy.sparse matrix of shape (n, d)
        Rows are used as given. In the paper's experiments they have unit length: that is the caller's to do.
    dtype : {"float64", "float32"}, default "float64"
        Of the answer; the second halves the memory. Inner products and distances are computed in double precision.

    Returns
    -------
    ndarray of shape (12, n, n)
        In the order of ``KERNEL_NAMES``.

    Complexity
    ----------
    12 n^2 numbers and one block of rows of memory, and X once more if it is not of float64. When less is free,
    LimitError says how much is needed.

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
    return _kernels(X, range(1, 13), dtype)


def base_kernel(X, number, *, dtype="float64") -> np.ndarray:
    """One of the twelve base kernels of the rows of X, centred and then scaled to a unit diagonal.

    Parameters
    ----------
    X : array-like, DataFrame or scipy.sparse matrix of shape (n, d)
        Rows are used as given.
    number : int
        From 1 to 12, in the order of ``KERNEL_NAMES``; 7 is the one of the paper's single-kernel experiments.
    dtype : {"float64", "float32"}, default "float64"
        Of the answer; the second halves the memory.

    Returns
    -------
    ndarray of shape (n, n)
        The same as ``twelve_kernels(X)[number - 1]``, from n^2 numbers of memory and one block of rows.
    """
    if isinstance(number, bool | np.bool_) or not isinstance(number, int | np.integer) or not 1 <= number <= 12:
        listed = ", ".join(f"{i} {name}" for i, name in enumerate(KERNEL_NAMES, 1))
        raise ConfigurationError(f"number={number!r}; needed is a whole number from 1 to 12: {listed}.")
    return _kernels(X, [number], dtype)[0]


def _kernels(X, numbers: Sequence[int], dtype) -> np.ndarray:
    """Some of the twelve, (m, n, n); the first and the last hold inner products and squared distances meanwhile."""
    precision, table = np.dtype(PRECISION.require("dtype", dtype)), _table(X)
    m, n = len(numbers), table.shape[0]
    if m > 1:
        what, remedy = "twelve kernel matrices", "base_kernel makes one at a time, in a twelfth of it."
    else:
        what, remedy = "a kernel matrix", "Use fewer rows, or a linear kernel, whose factor X takes its place."
    if precision.itemsize == 8:
        remedy = f"dtype='float32' needs half of that; {remedy[0].lower()}{remedy[1:]}"
    require_memory(m * n * n * precision.itemsize, f"{what} of {n} rows ({precision})", remedy)
    stack = np.empty((m, n, n), dtype=precision)
    with np.errstate(over="ignore", invalid="ignore"):
        if numbers[0] < FIRST_GAUSSIAN:
            for rows, block in _blocks(table):
                stack[0][rows] = block
        if numbers[-1] >= FIRST_GAUSSIAN:
            mean_distance = _fill_squared_distances(stack[-1], table)
        for number, K in zip(numbers, stack, strict=True):
            if number in POLYNOMIALS:
                constant, power = POLYNOMIALS[number]
                np.add(stack[0], precision.type(constant), out=K)
                for _ in range(power // 2):  # 2 = one squaring, 4 = two
                    np.multiply(K, K, out=K)
                if not np.isfinite(np.diagonal(K)).all():  # the largest entries of a positive semidefinite matrix
                    raise DataError(
                        f"the power {power} of the inner products overflows {K.dtype} (entries of X up to "
                        f"{float(abs(table).max()):.3g}). Scale the rows to unit length."
                    )
            elif number >= FIRST_GAUSSIAN:
                np.multiply(stack[-1], precision.type(-0.5 / (2.0 ** (number - UNIT_WIDTH) * mean_distance**2)), out=K)
                np.exp(K, out=K)
    for number, K in zip(numbers, stack, strict=True):
        _center_and_normalise(K, f"kernel {number} ({KERNEL_NAMES[number - 1]})")
    return stack


def center_and_normalise(K) -> np.ndarray:
    r"""The kernel of the centred points, scaled to unit length.

    .. math:: K^c = H K H, \quad H = I - \tfrac1n \mathbf 1 \mathbf 1^\top, \qquad K^c_{ij} / \sqrt{K^c_{ii} K^c_{jj}} .

    Parameters
    ----------
    K : array-like of shape (n, n)
        A kernel matrix; its symmetric part is taken.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric to the last bit, with ones on the diagonal. A point at the mean of the feature space, of length zero
        after centring, gets zeros elsewhere and a 1 on the diagonal, with a ``CentralPointWarning``.
    """
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        raise DataError(f"K has shape {K.shape}; needed is a square matrix (n, n). Pass one kernel matrix at a time.")
    if K.dtype.kind not in "biuf":
        raise DataError(f"K has type {K.dtype}; needed are real numbers.")
    K = K.astype(np.float32 if K.dtype == np.float32 else np.float64)
    _center_and_normalise(K, "the kernel")
    return K


def _table(X) -> np.ndarray | sparse.csr_matrix:
    """X in double precision, finite, with at least one row; sparse stays sparse."""
    if sparse.issparse(X):
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise DataError(f"X is sparse of shape {X.shape} and type {X.dtype}; needed is a table of real numbers.")
        table = X.tocsr().astype(np.float64)
        values = table.data
    else:
        n, _, rows = row_blocks(X)
        values = table = np.ascontiguousarray(rows(0, n), dtype=np.float64)
    bad = values.size - int(np.isfinite(values).sum(axis=None))
    if bad:
        raise DataError(
            f"X has {bad} entries that are NaN or infinite; needed are finite numbers. Impute or drop them."
        )
    if not table.shape[0]:
        raise DataError("X has no row; needed are at least 2 different ones.")
    return table


def _blocks(table) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows of the matrix of inner products in double precision, some at a time."""
    n = table.shape[0]
    step = max(4 * BLOCK_ENTRIES // n, 16)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        block = table[rows] @ table.T
        yield rows, block.toarray() if sparse.issparse(block) else block


def _fill_squared_distances(K: np.ndarray, table) -> float:
    """Squared distances into K; the mean distance, the zeros of the diagonal included."""
    if not sparse.issparse(table):
        table = table - table.mean(axis=0)  # distances stay the same, and points far from zero keep their digits
        lengths = np.einsum("nd,nd->n", table, table)
    else:
        lengths = np.asarray(table.multiply(table).sum(axis=1)).ravel()
    n, total = len(lengths), 0.0
    for rows, block in _blocks(table):
        block *= -2.0
        block += lengths[rows, None]
        block += lengths
        np.maximum(block, 0.0, out=block)
        block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = 0.0
        K[rows] = block
        total += float(np.sqrt(block, out=block).sum(axis=None))
    if not total > 0.0:
        what = "X has one sample only" if n == 1 else f"all {n} rows of X are equal"
        raise DataError(f"{what}, so the Gaussian kernels have no width. Needed are at least two different rows.")
    return total / n**2


def _center_and_normalise(K: np.ndarray, name: str) -> None:
    """In place, in blocks of rows, with sums in double precision."""
    n = len(K)
    step = max(BLOCK_ENTRIES // n, 16)
    blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    largest = float(np.abs(np.diagonal(K)).max(initial=0.0))
    means = np.empty(n)
    for rows in blocks:
        # The symmetric part: what is left of this block of columns is read before it is overwritten.
        with np.errstate(invalid="ignore", over="ignore"):
            part = 0.5 * (K[rows, rows.start :] + K[rows.start :, rows].T)
        K[rows, rows.start :] = part
        K[rows.start :, rows] = part.T
    for rows in blocks:
        with np.errstate(invalid="ignore", over="ignore"):
            means[rows] = K[rows].mean(axis=1, dtype=np.float64)
    if not np.isfinite(means).all():
        raise DataError(f"{name} has NaN or infinite values. Needed are finite numbers; scale the rows to unit length.")
    least = float(np.finfo(K.dtype).tiny / np.finfo(K.dtype).eps)
    if 0.0 < largest < least:
        raise DataError(
            f"{name} has no value above {largest:.3g}; needed are some above {least:.0e}, below which floating point "
            "has fewer digits. Scale the rows to unit length."
        )
    overall = float(means.mean(axis=0))
    # The correction is formed first: it is then symmetric to the last bit, and so is the answer.
    for rows in blocks:
        K[rows] -= means[rows, None] + means - overall
    lengths = np.diagonal(K).astype(np.float64)
    cut = 64.0 * float(np.finfo(K.dtype).eps) * largest
    negative = int((lengths < -cut).sum(axis=0))
    if negative:
        raise DataError(
            f"{name} has {negative} negative diagonal entries after centring (the lowest is {lengths.min():.3g}): it "
            "is not positive semidefinite and cannot be normalised. Pass a positive semidefinite kernel."
        )
    central = lengths <= cut
    if central.any():
        warn_caller(
            f"{name}: {int(central.sum(axis=0))} of {n} points lie at the mean of the feature space, the first is row "
            f"{int(np.argmax(central))}. Their kernel values with all others become 0. Drop them if they are empty.",
            CentralPointWarning,
        )
    scale = np.where(central, 0.0, 1.0 / np.sqrt(np.where(central, 1.0, lengths)))
    for rows in blocks:
        K[rows] *= scale[rows, None] * scale
    np.fill_diagonal(K, 1.0)
