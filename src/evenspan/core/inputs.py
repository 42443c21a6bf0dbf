"""Features as blocks of numbers: what may come in, and what is said when it may not."""

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from .containers import double_rows, frame_of, namespace, to_numpy
from .errors import ConfigurationError, DataError, FairError, FairWarning, FeatureTypeError
from .groups import as_array


def feature_names(X) -> tuple[str, ...] | None:
    """Column names of a data frame whose names are all strings, otherwise None."""
    columns = getattr(X if (frame := frame_of(X)) is None else frame, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(columns)


def require_numeric_columns(X) -> None:
    """Raise FeatureTypeError naming every column of a data frame that is neither numeric nor boolean.

    Outside of pandas, where they are counted already, nulls raise DataError with their columns and numbers.
    """
    frame = frame_of(X)
    if frame is not None:
        columns, dtypes = frame.columns, list(frame.schema.values())
        bad = [not (dtype.is_numeric() or str(dtype) == "Boolean") for dtype in dtypes]
    elif hasattr(X, "dtypes") and hasattr(X, "columns"):
        columns, dtypes = X.columns, X.dtypes
        bad = [getattr(dtype, "kind", "O") not in "biuf" for dtype in dtypes]
    else:
        return
    bad = [f"{name!r} ({dtype})" for name, dtype, one in zip(columns, dtypes, bad, strict=True) if one]
    if bad:
        raise FeatureTypeError(
            f"{len(bad)} of {len(dtypes)} columns are not numeric: {', '.join(bad[:5])}"
            f"{', ...' if len(bad) > 5 else ''}. "
            "Encode them as numbers first (for instance with sklearn.preprocessing.OneHotEncoder) or drop them."
        )
    if frame is not None:
        refuse_entries("nulls", [frame[name].null_count() for name in columns], columns)


def refuse_entries(what: str, counts: Sequence[int], names: Sequence[str] | None) -> None:
    """DataError naming the columns unless all counts, one for each column, are zero."""
    bad = [f"{names[j]!r} ({count})" if names else f"{j} ({count})" for j, count in enumerate(counts) if count]
    if bad:
        raise DataError(
            f"X contains {what}: column (number of entries) {', '.join(bad[:5])}{', ...' if len(bad) > 5 else ''}. "
            "Needed are finite numbers. Impute or drop the rows; evenspan never fills in values by itself."
        )


def row_blocks(X) -> tuple[int, int, Callable[[int, int], np.ndarray]]:
    """Shape of X and a function that reads rows ``start:stop`` as a numeric array.

    Arrays and memory maps are sliced; data frames, sparse matrices and tensors are converted block by block, so that
    nothing larger than a block is ever copied.
    """
    require_numeric_columns(X)
    if (frame := frame_of(X)) is not None:
        return *frame.shape, lambda start, stop: double_rows(frame[start:stop])
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return *X.shape, lambda start, stop: X.iloc[start:stop].to_numpy(dtype=np.float64)
    xp = namespace(X)
    if xp is None and not isinstance(X, np.ndarray) and not sparse.issparse(X):
        X = as_array(X, "X", DataError)
    if X.ndim != 2:
        raise DataError(
            f"X has {X.ndim} dimension(s) and shape {X.shape}; needed is a table of n rows and d columns. "
            "Reshape your data: X.reshape(-1, 1) for a single feature, X.reshape(1, -1) for a single sample."
        )
    if X.dtype.kind == "c" if xp is None else xp.isdtype(X.dtype, "complex floating"):
        raise DataError("X holds complex numbers; needed are real ones. Pass X.real, or the two parts as columns.")
    if sparse.issparse(X):
        rows = X.tocsr()
        return *X.shape, lambda start, stop: rows[start:stop].toarray()
    if xp is not None:
        n, d = X.shape
        return n, d, lambda start, stop: to_numpy(X[start : min(stop, n), :])
    if X.dtype.kind not in "biuf":
        X = _numbers(X)
    return X.shape[0], X.shape[1], lambda start, stop: X[start:stop]


def _numbers(X: np.ndarray) -> np.ndarray:
    for j in range(X.shape[1]):
        try:
            X[:, j].astype(np.float64)
        except OverflowError as error:
            raise DataError(
                f"column {j} of X holds a whole number that does not fit 64-bit floating point ({error}); needed are "
                f"numbers up to {LARGEST:.0e} in size. Rescale the column, or drop it."
            ) from error
        except (TypeError, ValueError) as error:
            raise FeatureTypeError(
                f"column {j} of X (type {X.dtype}) is not numeric: {error}. Encode it as numbers first or drop it."
            ) from error
    return X.astype(np.float64)


#: What features may be: finite numbers up to this in size (root mean square of a column) ...
LARGEST = 1e30
#: ... in columns that are constant or have at least this standard deviation.
SMALLEST = 1e-30
#: A standard deviation below this share of the mean is what rounding leaves of a constant.
ROUNDING = 1e-14


def require_range(counts: np.ndarray, means: np.ndarray, squares: np.ndarray, X, names: tuple[str, ...] | None) -> None:
    """DataError naming the columns that are not finite, above ``LARGEST``, or vary by less than ``SMALLEST``.

    The columns are judged by the counts (G,), means (G, d) and sums of squares about the means (G, d) of groups: one
    missing or infinite entry spoils those of its column, so that no pass over the data is needed. X, or None, is read
    again only to count such entries.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        n, centre = counts.sum(axis=0), counts @ means / counts.sum(axis=0)
        # A part that was taken away may leave a constant column a square of rounding, below zero.
        spread = np.sqrt(np.maximum(squares.sum(axis=0) + counts @ (means - centre) ** 2, 0.0) / n)
        fits = np.hypot(centre, spread) <= LARGEST
    constant = spread <= ROUNDING * np.abs(centre)
    bad = np.flatnonzero(~(fits & (constant | (spread >= SMALLEST))))
    if not len(bad):
        return
    if X is not None:
        rows_of_X = row_blocks(X)[2]
        blocks = (rows_of_X(start, start + 4096) for start in range(0, length(X), 4096))
        entries = sum((~np.isfinite(block)).sum(axis=0, dtype=np.int64) for block in blocks)
        if entries.any():
            refuse_entries("NaN or inf", entries, names)
    shown = ", ".join(repr(names[j]) if names else str(j) for j in bad[:5]) + (", ..." if len(bad) > 5 else "")
    seen = f"numbers that vary by less than {SMALLEST:.0e}"
    if not fits[bad].all():
        seen = f"{'' if X is not None else 'NaN, inf or '}numbers above {LARGEST:.0e} in size"
    raise DataError(
        f"column(s) {shown} of X hold {seen}; needed are finite numbers up to {LARGEST:.0e}, in columns that are "
        f"constant or have a standard deviation of at least {SMALLEST:.0e}. Rescale these columns, or drop them."
    )


def require_points(X: np.ndarray, names: tuple[str, ...] | None) -> None:
    """The same for the rows of a table (n, d); of a sparse one only the size of its columns is looked at."""
    n = X.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            means, squares = np.zeros(X.shape[1]), np.asarray(X.astype(np.float64).power(2).sum(axis=0)).ravel()
        else:
            means, squares = X.mean(axis=0, dtype=np.float64), n * X.var(axis=0, dtype=np.float64)
    require_range(np.array([float(n)]), means[None], squares[None], X, names)


@contextmanager
def told(place: str):
    """Errors of evenspan raised inside are told with the place where they arose."""
    try:
        yield
    except FairError as error:
        raise type(error)(f"{place}: {error}") from error


def in_batch(number: int, at: int, n: int | None):
    """Errors of evenspan raised inside are told with the batch, counted from 1, and its rows, counted from 0."""
    return told(f"batch {number}" if n is None else f"batch {number} (rows {at}:{at + n})")


def rows_of(table, start: int, stop: int):
    """Rows ``start:stop`` of an array, data frame, series, list or data set on disk."""
    if sparse.issparse(table):
        return table[start:stop].toarray()
    part = table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]
    if getattr(getattr(part, "dtype", None), "kind", None) == "T":  # NumPy's text of any length, as Zarr hands it out
        return np.asarray(part).astype(object)
    if hasattr(part, "iloc") or isinstance(part, np.ndarray | list | tuple) or not hasattr(part, "shape"):
        return part
    return part if hasattr(part, "codes") or hasattr(part, "dtypes") or frame_of(part) is not None else np.asarray(part)


def length(table) -> int | None:
    """Number of rows, or None for what has none."""
    try:
        return int(table.shape[0]) if hasattr(table, "shape") else len(table)
    except (TypeError, IndexError):
        return None


def whole_number(name: str, value, least: int) -> int:
    """The value as an int; ``ConfigurationError`` naming the argument unless it is a whole number, and no smaller."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < least:
        raise ConfigurationError(f"{name}={value!r}; needed is a whole number of at least {least}.")
    return int(value)


def require_generator(random_state) -> np.random.Generator:
    """The generator of random numbers for a seed, or the one given."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"random_state={random_state!r}; needed is None, a whole number of at least 0 or a numpy Generator."
        ) from error


def warn_caller(message: str, category: type[Warning] = FairWarning) -> None:
    """Warn at the line outside this package that led here, however deep inside the package it is noticed."""
    package, frame, level = str(Path(__file__).parents[1]), sys._getframe(), 1
    while frame.f_back and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class RowOrderWarning(FairWarning):
    """Features and groups have the same row labels in another order; they are paired by position."""


def warn_of_order(X, sensitive_features) -> None:
    """Warn where the indices of two pandas objects hold the same labels in different orders."""
    here, there = getattr(X, "index", None), getattr(sensitive_features, "index", None)
    if not (isinstance(here, pd.Index) and isinstance(there, pd.Index)) or here.equals(there):
        return
    if len(here) == len(there) and here.symmetric_difference(there, sort=False).empty:
        first = [", ".join(map(repr, index[:3].tolist())) for index in (here, there)]
        warn_caller(
            f"X has the rows {first[0]}, ... and sensitive_features has them as {first[1]}, ...: rows are paired by "
            "position, not by label. Pass sensitive_features.loc[X.index] if labels count, else arrays.",
            RowOrderWarning,
        )
