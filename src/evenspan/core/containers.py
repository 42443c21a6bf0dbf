"""Tables and arrays of other libraries: polars and pyarrow through narwhals, tensors through the array API standard.

narwhals and scikit-learn are imported when such an object is met, not before.
"""

import sys

import numpy as np
import pandas as pd

from .errors import DataError


def frame_of(X):
    """The narwhals DataFrame of a table of polars, pyarrow or another library than pandas; otherwise None."""
    found = _narwhal(X)
    return found if hasattr(found, "columns") else None


def is_frame(X) -> bool:
    """Whether X is a table with named columns, of pandas or another library."""
    return (hasattr(X, "iloc") and hasattr(X, "columns")) or frame_of(X) is not None


def _narwhal(table):
    if isinstance(table, np.ndarray | list | tuple) or hasattr(table, "iloc"):
        return None
    import narwhals.stable.v2 as nw

    if (arrow := sys.modules.get("pyarrow")) is not None:  # narwhals knows tables and chunked arrays only
        if isinstance(table, arrow.RecordBatch):
            table = arrow.Table.from_batches([table])
        elif isinstance(table, arrow.Array):
            table = arrow.chunked_array([table])
    found = nw.from_native(table, allow_series=True, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        raise DataError(
            f"a {type(table).__name__} is a query and not yet a table in memory. Pass what its collect() returns, or, "
            "where that does not fit, parts of it to GroupMoments.from_batches."
        )
    return found if isinstance(found, nw.DataFrame | nw.Series) else None


def double_rows(frame) -> np.ndarray:
    """The numbers of a narwhals DataFrame in double precision (n, d)."""
    import narwhals.stable.v2 as nw

    if any(dtype != nw.Float64 for dtype in frame.schema.values()):
        frame = frame.select(nw.all().cast(nw.Float64))
    return np.ascontiguousarray(frame.to_numpy())


def in_pandas(features):
    """Labels in a table or column of polars or pyarrow as those of pandas; anything else as it is."""
    found = _narwhal(features)
    if found is None:
        return features
    if hasattr(found, "columns"):
        return pd.DataFrame({name: _values(found[name]) for name in found.columns})
    return pd.Series(_values(found), name=found.name or None)


def _values(column) -> np.ndarray:
    # A null of a coded pyarrow column would become one of its labels in to_numpy, without a word.
    return np.array(column.to_list(), dtype=object) if column.null_count() else column.to_numpy()


def namespace(X):
    """The array API namespace of a tensor, where scikit-learn's ``array_api_dispatch`` is on; otherwise None."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__") or "sklearn" not in sys.modules:
        return None
    from sklearn.utils._array_api import get_namespace  # what every estimator of scikit-learn asks

    xp, dispatched = get_namespace(X)
    return xp if dispatched else None


def to_numpy(X):
    """A tensor as an array of single or double precision, in its own memory where it can be; anything else as it is."""
    xp = namespace(X)
    if xp is None:
        return X
    return np.from_dlpack(X if X.dtype == xp.float32 else xp.astype(X, xp.float64, copy=False))


def doubles(array: np.ndarray, X):
    """The array as a tensor in double precision on the device of the tensor X."""
    # A copy, because some libraries warn of memory that may not be written to.
    return namespace(X).asarray(array.astype(np.float64), device=X.device)


def like(X, T):
    """T, an array or a tensor as X is one, in the kind and precision of X; as it is unless X is a tensor."""
    xp = namespace(X)
    if xp is None:
        return T
    T = doubles(T, X) if isinstance(T, np.ndarray) else T
    return xp.astype(T, X.dtype) if xp.isdtype(X.dtype, "real floating") else T
