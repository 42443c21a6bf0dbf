"""Features and groups given as Dask collections: cut in the same places, or a message that says why not."""

import numpy as np

from .errors import DataError, GroupError
from .groups import encode_groups


def array_parts(X, sensitive_features, array) -> tuple:
    """An array cut by whole rows, and its groups cut alike: a Dask array, or labels and codes in memory."""
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise DataError(f"X has shape {X.shape}; needed is a table of n rows and a known number of columns.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    known = not np.isnan(X.chunks[0]).any()
    groups = sensitive_features
    if hasattr(groups, "to_dask_array"):  # a Dask series or data frame beside an array
        groups = groups.to_dask_array()
    if isinstance(groups, array.Array):
        if groups.ndim == 2 and groups.numblocks[1] > 1:
            groups = groups.rechunk({1: -1})
        if groups.ndim not in (1, 2):
            raise GroupError(f"sensitive_features has shape {groups.shape}; needed is (n,) or (n, p) for p attributes.")
        if known and not np.isnan(groups.chunks[0]).any():
            if groups.shape[0] != X.shape[0]:
                raise GroupError(
                    f"sensitive_features has {groups.shape[0]} rows but X has {X.shape[0]}. Pass one entry for each "
                    "row of X, in the same order."
                )
            if groups.chunks[0] != X.chunks[0]:
                groups = groups.rechunk({0: X.chunks[0]})
        elif groups.numblocks[0] != X.numblocks[0]:
            raise GroupError(
                f"X has {X.numblocks[0]} chunks and sensitive_features {groups.numblocks[0]}, of unknown sizes, so "
                "that rows cannot be matched. Call compute_chunk_sizes() on both first."
            )
        return X, groups
    if not known:
        raise DataError(
            "the sizes of X's chunks are unknown, so that labels in memory cannot be cut to fit. Call "
            "X.compute_chunk_sizes() first, or pass the labels as a Dask array that is cut like X."
        )
    return X, encode_groups(groups, int(X.shape[0]))


def frame_parts(X, sensitive_features, frame) -> tuple:
    """A data frame, and its groups: a series cut alike, or the names of columns."""
    names = [sensitive_features] if isinstance(sensitive_features, str) else sensitive_features
    if isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names):
        missing = [repr(name) for name in names if name not in X.columns]
        if not missing:
            return X, None, list(names)
        if len(names) < 20:
            raise GroupError(
                f"X has no column {', '.join(missing)} to take the groups from; its columns are "
                f"{', '.join(map(str, X.columns[:20]))}{', ...' if len(X.columns) > 20 else ''}."
            )
    if not isinstance(sensitive_features, frame.Series | frame.DataFrame):
        raise GroupError(
            f"sensitive_features is a {type(sensitive_features).__name__}; beside a Dask data frame, whose partitions "
            "are of unknown size, needed is the name of a column, a list of names, or a Dask series cut like X."
        )
    if sensitive_features.npartitions != X.npartitions:
        raise GroupError(
            f"X has {X.npartitions} partitions and sensitive_features {sensitive_features.npartitions}, so that rows "
            "cannot be matched. Assign the series to X as a column and pass its name."
        )
    return X, sensitive_features, None
