"""Features as blocks of numbers: what may come in, and what is said when it may not."""

import contextlib
import importlib
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from .errors import ConfigurationError, DataError, FairWarning, FeatureTypeError, LimitError

#: What features may be: finite numbers up to this in size (root mean square of a column) ...
LARGEST = 1e30
#: ... in columns that are constant or have at least this standard deviation.
SMALLEST = 1e-30
#: A standard deviation below this share of the mean is what rounding leaves of a constant.
ROUNDING = 1e-14
#: No more of the memory that is free now is asked for by one step.
SHARE = 0.8


def require_package(module: str, extra: str):
    """The package of an optional module, which is imported; ConfigurationError unless it is installed."""
    try:
        importlib.import_module(module)
        return sys.modules[module.partition(".")[0]]
    except ImportError as error:
        raise ConfigurationError(
            f"this needs {module}, not installed here: pip install 'evenspan[{extra}]'."
        ) from error


def in_pandas(table):
    """A table or column of polars or pyarrow as one of pandas, a tensor as an array; anything else as it is."""
    if hasattr(table, "detach") and hasattr(table, "cpu"):  # of torch, on any device; NumPy has no bfloat16
        return (table.float() if str(table.dtype) == "torch.bfloat16" else table).detach().cpu().numpy(force=True)
    if hasattr(table, "collect_schema") and not hasattr(table, "to_pandas"):
        raise DataError(f"a {type(table).__name__} is a query and no table yet. Pass what its collect() returns.")
    return table.to_pandas() if hasattr(table, "to_pandas") else table


def is_frame(X) -> bool:
    """Whether X is a data frame of pandas."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def feature_names(X) -> tuple[str, ...] | None:
    """Column names of a data frame whose names are all strings, otherwise None."""
    columns = getattr(X, "columns", None)
    return None if columns is None or not all(isinstance(name, str) for name in columns) else tuple(columns)


def batch_names(X, before: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Names of the columns of a batch; without any those before it, by whose order it is taken, with a warning."""
    if (names := feature_names(X)) is None and before:
        warn_caller(
            f"a batch without names of its columns follows batches with {first_few(before)}: its columns are taken by "
            "position. Give every batch as a data frame, or none."
        )
    return names or before


def require_numeric_columns(X) -> None:
    """Raise FeatureTypeError naming every column of a data frame that is neither numeric nor boolean."""
    if not is_frame(X):
        return
    types = [(name, dtype) for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "O") not in "biuf"]
    if types:
        raise FeatureTypeError(
            f"{len(types)} of {X.shape[1]} columns are not numeric: "
            f"{first_few(f'{name!r} ({dtype})' for name, dtype in types)}. Encode them as numbers first (for instance "
            "with sklearn.preprocessing.OneHotEncoder) or drop them."
        )


def refuse_entries(X, names: tuple[str, ...] | None) -> None:
    """DataError naming the columns of a table that hold missing or infinite entries, if there are any."""
    n, d, rows = row_blocks(X)
    blocks = (rows(start, start + 4096) for start in range(0, n, 4096))
    counts = sum(((~np.isfinite(block)).sum(axis=0, dtype=np.int64) for block in blocks), start=np.zeros(d, np.int64))
    if counts.any():
        bad = (f"{names[j]!r} ({counts[j]})" if names else f"{j} ({counts[j]})" for j in np.flatnonzero(counts))
        raise DataError(
            f"X contains NaN or inf: column (number of entries) {first_few(bad)}. Needed are finite numbers. Impute "
            "or drop the rows; evenspan never fills in values by itself."
        )


def first_few(texts: Iterable[str]) -> str:
    """The first five of some texts, for a message."""
    texts = list(texts)
    return ", ".join(texts[:5]) + (", ..." if len(texts) > 5 else "")


def row_blocks(X) -> tuple[int, int, Callable[[int, int], np.ndarray]]:
    """Shape of X and a function that reads rows ``start:stop`` as numbers; frames and sparse rows block by block."""
    X = in_pandas(X)
    require_numeric_columns(X)
    if is_frame(X):
        return *X.shape, lambda start, stop: X.iloc[start:stop].to_numpy(dtype=np.float64)
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise DataError(
            f"X has {X.ndim} dimension(s) and shape {X.shape}; needed is a table of n rows and d columns. "
            "Reshape your data: X.reshape(-1, 1) for a single feature, X.reshape(1, -1) for a single sample."
        )
    if X.dtype.kind == "c":
        raise DataError("X holds complex numbers; needed are real ones. Pass X.real, or the two parts as columns.")
    if sparse.issparse(X):
        rows = X.tocsr()
        return *X.shape, lambda start, stop: rows[start:stop].toarray()
    if X.dtype.kind not in "biuf":
        for j, column in enumerate(X.T):
            try:
                column.astype(np.float64)
            except (TypeError, ValueError, OverflowError) as error:
                raise FeatureTypeError(
                    f"column {j} of X (type {X.dtype}) is not numeric: {error}. Encode it as numbers first or drop it."
                ) from error
        X = X.astype(np.float64)
    return *X.shape, lambda start, stop: X[start:stop]


def require_range(counts: np.ndarray, means: np.ndarray, squares: np.ndarray, X, names: tuple[str, ...] | None) -> None:
    """DataError naming the columns that are not finite, above ``LARGEST``, or vary by less than ``SMALLEST``.

    Counts (G,), means and squares about them (G, d) are enough: a bad entry spoils those of its column. X may be None.
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
        refuse_entries(X, names)
    raise DataError(
        f"column(s) {first_few(repr(names[j]) if names else str(j) for j in bad)} of X hold NaN, inf, numbers above "
        f"{LARGEST:.0e} in size or such that vary by less than {SMALLEST:.0e}; needed are finite numbers up to "
        f"{LARGEST:.0e}, in columns that are constant or have a standard deviation of at least {SMALLEST:.0e}. "
        "Rescale these columns, or drop them."
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


#: What reads the file of a representation, by its ending: of Parquet with the checksums of its pages, if there are any.
read_parquet = partial(pd.read_parquet, page_checksum_verification=True)
READERS = {".npy": np.load, ".parquet": read_parquet}


def as_representation(X, n: int) -> np.ndarray:
    """A representation (n, m) as float64, of an array, a data frame, or the path of a .npy or .parquet file.

    Its mean is subtracted and the spread of all entries divided by, so that its unit changes nothing. DataError unless
    it has n rows of numbers that ``require_range`` lets pass, not all the same.
    """
    name, ending = "the representation", None
    if isinstance(X, str | Path):
        name, ending = f"{name} ({Path(X).name})", Path(X).suffix.lower()
        if ending not in READERS:
            raise DataError(f"{name} has the ending {ending!r}; needed is .npy or .parquet. Save it so.")
    try:
        X = X if ending is None else READERS[ending](X)
        m, _, rows = row_blocks(X)
        E = rows(0, m).astype(np.float64)
        require_points(E, feature_names(X))
    except Exception as error:  # damaged bytes make readers raise almost anything
        raise DataError(f"{name} cannot be used ({type(error).__name__}): {str(error)[:400]}") from error
    same = not np.ptp(E, axis=0).any()
    if m != n or same:
        raise DataError(
            f"{name} has {m:,} rows{', all the same' * same}; needed is one for each of the {n:,} rows of "
            "the table, in its order, with numbers that vary."
        )
    E -= E.mean(axis=0)
    return E / np.sqrt(np.mean(E**2, axis=None))


def rows_of(table, start: int, stop: int):
    """Rows ``start:stop`` of an array, data frame, series, list or data set on disk."""
    if sparse.issparse(table):
        return table[start:stop].toarray()
    part = table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]
    if getattr(getattr(part, "dtype", None), "kind", None) == "T":  # NumPy's text of any length, as Zarr hands it out
        return np.asarray(part).astype(object)
    return part if hasattr(part, "iloc") or hasattr(part, "codes") or isinstance(part, list) else np.asarray(part)


def length(table) -> int | None:
    """Number of rows, or None for what has none."""
    try:
        return int(table.shape[0]) if hasattr(table, "shape") else len(table)
    except (TypeError, IndexError):
        return None


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


def free_memory() -> int | None:
    """Bytes that this process can still get, by Linux and by its control group; None if neither says."""
    found = []
    with contextlib.suppress(OSError, ValueError):  # no control group, or one without a limit
        root = Path("/sys/fs/cgroup")
        found.append(int((root / "memory.max").read_text()) - int((root / "memory.current").read_text()))
    with contextlib.suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return min(found, default=None)


def require_memory(needed: float, what: str, remedy: str) -> None:
    """LimitError unless so many bytes, if more than 64 MiB, are free; ``remedy`` says what to do otherwise."""
    free = free_memory() if needed > 2**26 else None
    if free is not None and needed > SHARE * free:
        raise LimitError(
            f"{what} would need {needed / 2**30:,.1f} GiB of memory; {free / 2**30:,.1f} GiB are free here. {remedy}"
        )


class RowOrderWarning(FairWarning):
    """Features and groups, target or weights share row labels at different places; they are paired by position."""


def warn_of_order(X, **others) -> None:
    """Warn where a pandas object has row labels of X, or some of them, but not in the rows where X has them."""
    here = getattr(X, "index", None)
    for name, other in others.items():
        there = getattr(other, "index", None)
        if not (isinstance(here, pd.Index) and isinstance(there, pd.Index)) or here.equals(there):
            continue
        if len(here) == len(there) and not here.intersection(there, sort=False).empty:
            warn_caller(
                f"X has the rows {first_few(map(repr, here))} and {name} has them as {first_few(map(repr, there))}: "
                f"rows are paired by position, not by label. Pass {name}.loc[X.index] if labels count, else arrays.",
                RowOrderWarning,
            )
