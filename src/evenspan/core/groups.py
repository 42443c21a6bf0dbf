"""Sensitive features as group codes: any labels, one attribute or several."""

from collections.abc import Mapping
from numbers import Real

import numpy as np
import pandas as pd

from .errors import GroupError
from .inputs import in_pandas


def encode_groups(sensitive_features, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Sorted group labels (G,) and, for each row, the position of its label: ``labels[codes]`` gives the rows back.

    Several columns are several attributes, and each occurring combination of their values is a group: the labels then
    have a structured dtype with one field per attribute. ``n`` is the number of rows expected.
    """
    columns = attribute_columns(sensitive_features)
    length = len(next(iter(columns.values())))
    if n is not None and length != n:
        raise GroupError(
            f"sensitive_features has {length} rows but X has {n}. Pass one entry for each row of X, in the same order."
        )
    if length == 0:
        raise GroupError("sensitive_features is empty; needed is one entry for each row of X.")
    encoded = {name: _encode_column(values, name) for name, values in columns.items()}
    if len(encoded) == 1:
        labels, codes = next(iter(encoded.values()))
        return labels, _smallest(codes, len(labels))
    # The cells that occur, numbered in lexicographic order of their attribute values.
    shape = [len(values) for values, _ in encoded.values()]
    cells, codes = np.unique(np.ravel_multi_index([one for _, one in encoded.values()], shape), return_inverse=True)
    labels = np.empty(len(cells), dtype=[(name, values.dtype) for name, (values, _) in encoded.items()])
    for (name, (values, _)), part in zip(encoded.items(), np.unravel_index(cells, shape), strict=True):
        labels[name] = values[part]
    return labels, _smallest(codes, len(labels))


def label_text(label) -> str:
    """A group label as a reader would write it: ``female`` or ``sex=female, race=other``; other labels, other texts."""
    if isinstance(label, np.void):
        values = {name: str(label[name]) for name in label.dtype.names}  # in quotes with a separator inside
        return ", ".join(f"{k}={v!r}" if ", " in v else f"{k}={v}" for k, v in values.items())
    return str(label)


def union_labels(*collections: np.ndarray) -> np.ndarray:
    """Sorted union of label arrays of the same kind; GroupError when the kinds differ."""
    kinds = {_kind(labels) for labels in collections}
    if len(kinds) > 1:
        raise GroupError(
            f"labels of different kinds cannot be merged: {', '.join(sorted(kinds))}. Use the same attribute "
            "names and the same label type (all strings, or all whole numbers) on both sides."
        )
    return np.unique(np.concatenate(collections))


def positions(labels: np.ndarray, within: np.ndarray) -> np.ndarray:
    """The index in ``within`` of each label; every label must occur there."""
    index = {label: i for i, label in enumerate(within.tolist())}
    return np.array([index[label] for label in labels.tolist()], dtype=np.intp)


def attribute_columns(sensitive_features) -> dict[str, np.ndarray]:
    """The attributes by name: a column without a name is called "group", several are ``attribute0`` and so on."""
    if sensitive_features is None:
        raise GroupError("sensitive_features is None; needed is one group label for each row of X.")
    found = in_pandas(sensitive_features)
    if isinstance(found, Mapping):
        return {str(name): np.asarray(in_pandas(values)) for name, values in found.items()}
    if isinstance(found, pd.DataFrame):
        names = [str(name) for name in found.columns]
        if not names:
            raise GroupError("sensitive_features is a data frame without columns; needed is at least one attribute.")
        if len(set(names)) < len(names):
            raise GroupError(f"sensitive_features has columns of the same name: {', '.join(names)}. Rename them.")
        return {name: found.iloc[:, j].to_numpy() for j, name in enumerate(names)}
    if isinstance(found, pd.Series):
        return {found.name if isinstance(found.name, str) else "group": found.to_numpy()}
    values = np.asarray(found)
    if values.dtype.kind in "US" and not isinstance(found, np.ndarray):
        # As strings, a missing value in a list would become the label "nan", and the number 1 the label "1".
        values = np.asarray(found, dtype=object)
    if values.dtype.names:
        return {name: values[name] for name in values.dtype.names}
    if values.ndim not in (1, 2) or 0 in values.shape[1:]:
        raise GroupError(
            f"sensitive_features has shape {values.shape}; needed is (n,) for one attribute or (n, p) for p attributes."
        )
    columns = [values] if values.ndim == 1 else values.T
    return {"group": columns[0]} if len(columns) == 1 else {f"attribute{j}": one for j, one in enumerate(columns)}


_NEEDED = "needed are strings, booleans or whole numbers, all of one kind."


def _encode_column(values: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        codes, uniques = pd.factorize(values)
    except TypeError as error:  # lists and other values without a hash
        raise GroupError(
            f"sensitive feature {name!r} has labels of no kind that is known ({error}); {_NEEDED}"
        ) from error
    if missing := int((codes < 0).sum(axis=0)):
        raise GroupError(
            f"sensitive feature {name!r} has {missing} missing value(s). Drop those rows, or give them "
            "a label of their own."
        )
    found = np.asarray(uniques).tolist()
    kinds = {_python_kind(label) for label in found}
    if len(kinds) > 1 or not kinds <= {"strings", "booleans", "numbers"}:
        raise GroupError(f"sensitive feature {name!r} has labels of the kind {', '.join(sorted(kinds))}; {_NEEDED}")
    labels = np.array(found)
    order = np.argsort(labels, kind="stable")
    labels = labels[order]
    if labels.dtype.kind in "fuO" and not all(abs(label) < 2**63 and label == round(label) for label in found):
        raise GroupError(
            f"sensitive feature {name!r} has {len(labels)} distinct values that are no whole numbers of 64 bits, so it "
            "looks continuous. Bin it into groups, or pass it to FairPCA or LEACE through numeric_attributes to remove "
            "its correlation."
        )
    if labels.dtype.kind not in "bU":
        labels = labels.astype(np.int64)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return labels, rank[codes]


def _python_kind(label) -> str:
    if isinstance(label, bool | np.bool_):
        return "booleans"
    if isinstance(label, str):
        return "strings"
    return "numbers" if isinstance(label, Real) else type(label).__name__


def _smallest(codes: np.ndarray, G: int) -> np.ndarray:
    # Small unsigned codes make the stable sort inside every block a radix sort.
    return codes.astype(np.min_scalar_type(G))


def _kind(labels: np.ndarray) -> str:
    if labels.dtype.names:
        return "attributes (" + ", ".join(f"{name}: {_kind(labels[name])}" for name in labels.dtype.names) + ")"
    return {"U": "strings", "b": "booleans"}.get(labels.dtype.kind, "whole numbers")
