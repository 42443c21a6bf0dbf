"""Counts of classes, groups and clusters together: all that a judge of clusterings needs, and they add."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..core.errors import DataError, ResultError
from ..core.groups import encode_groups, positions, union_labels

AXES = ("classes", "groups", "clusters")


@dataclass(frozen=True, eq=False)
class JointCounts:
    """How many samples have a class, a group and a cluster: the sufficient statistic of every metric of a clustering.

    Parameters
    ----------
    classes, groups, clusters : ndarray of shape (C,), (G,), (c,)
        Labels of the three axes, without repetition. A cluster may be empty.
    counts : ndarray of shape (C, G, c), int64
        Numbers of samples.

    Guarantees
    ----------
    The counts of two halves add up to those of the whole, also when a label is absent from one half. ``from_text``
    gives back exactly what ``to_text`` wrote.

    Complexity
    ----------
    O(n) to count; everything after that is O(C G c).
    """

    classes: np.ndarray
    groups: np.ndarray
    clusters: np.ndarray
    counts: np.ndarray

    def __post_init__(self):
        counts = np.asarray(self.counts)
        wanted = tuple(len(getattr(self, axis)) for axis in AXES)
        if counts.shape != wanted:
            raise DataError(f"counts have shape {counts.shape}; needed is one entry per label of each axis, {wanted}.")
        if counts.dtype.kind not in "iu" or (counts < 0).any():
            raise DataError(f"counts have type {counts.dtype} or negative entries; needed are whole numbers from 0.")
        if not counts.any():
            raise DataError("all counts are 0; needed is at least one sample.")
        object.__setattr__(self, "counts", counts.astype(np.int64))

    @classmethod
    def from_labels(cls, y, labels, sensitive_features, n_clusters: int | None = None) -> "JointCounts":
        """Count samples: their class ``y``, their cluster ``labels`` and their group.

        With ``n_clusters`` the clusters are 0, ..., n_clusters - 1, so that empty ones are counted as such.
        """
        clusters, of_cluster = encode_labels(labels, "labels")
        n = len(of_cluster)
        classes, of_class = encode_labels(y, "y", n)
        groups, of_group = encode_groups(sensitive_features, n)
        if n_clusters is not None:
            whole = clusters.dtype.kind == "i"
            if not whole or clusters[0] < 0 or clusters[-1] >= n_clusters:
                seen = f"from {clusters[0]!s} to {clusters[-1]!s}"
                raise DataError(f"labels run {seen}; needed for n_clusters={n_clusters} are 0, ..., {n_clusters - 1}.")
            clusters, of_cluster = np.arange(n_clusters), clusters[of_cluster]
        counts = np.zeros((len(classes), len(groups), len(clusters)), dtype=np.int64)
        np.add.at(counts, (of_class, of_group, of_cluster), 1)
        return cls(classes, groups, clusters, counts)

    def __add__(self, other: "JointCounts") -> "JointCounts":
        if not isinstance(other, JointCounts):
            return NotImplemented
        union = [union_labels(getattr(self, axis), getattr(other, axis)) for axis in AXES]
        counts = np.zeros([len(labels) for labels in union], dtype=np.int64)
        for part in (self, other):
            places = [positions(getattr(part, axis), labels) for axis, labels in zip(AXES, union, strict=True)]
            counts[np.ix_(*places)] += part.counts
        return JointCounts(*union, counts)

    def __eq__(self, other) -> bool:
        if not isinstance(other, JointCounts):
            return NotImplemented
        pairs = [(getattr(self, name), getattr(other, name)) for name in (*AXES, "counts")]
        return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)

    __hash__ = None

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.counts.sum(axis=None))

    @property
    def class_by_cluster(self) -> np.ndarray:
        """Counts (C, c) of classes in clusters."""
        return self.counts.sum(axis=1)

    @property
    def group_by_cluster(self) -> np.ndarray:
        """Counts (G, c) of groups in clusters."""
        return self.counts.sum(axis=0)

    def to_text(self) -> str:
        """One line of JSON: the labels of the three axes, and the counts, ``7*3`` meaning three times 7.

        The group changes fastest, then the cluster, then the class: where a cluster has no sample of a class its zeros
        stand in one run.
        """
        flat = self.counts.transpose(0, 2, 1).ravel()
        starts = np.concatenate([[0], np.flatnonzero(np.diff(flat)) + 1])
        lengths = np.diff(np.append(starts, len(flat)))
        runs = [
            f"{value}*{length}" if length > 1 else str(value)
            for value, length in zip(flat[starts].tolist(), lengths.tolist(), strict=True)
        ]
        axes = [_plain(getattr(self, axis)) for axis in AXES]
        return json.dumps([*axes, " ".join(runs)], separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> "JointCounts":
        """Read what ``to_text`` wrote."""
        try:
            *axes, runs = json.loads(text)
            labels = [_array(values) for values in axes]
            pairs = [(*run.split("*"), "1")[:2] for run in runs.split(" ")]
            flat = np.repeat([int(value) for value, _ in pairs], [int(length) for _, length in pairs])
            C, G, c = (len(values) for values in labels)
            return cls(*labels, flat.reshape(C, c, G).transpose(0, 2, 1))
        except (ValueError, TypeError, AttributeError) as error:
            raise ResultError(
                f"{str(text)[:60]!r} is no text of joint counts ({error}). Needed is a line written by to_text."
            ) from error


def encode_labels(values: Iterable, name: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct labels of one kind (strings, booleans or whole numbers) and the position of every entry."""
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        array = np.asarray(values, dtype=object)  # as strings, None would become the label "None"
    if array.ndim != 1 or not len(array):
        raise DataError(f"{name} has shape {array.shape}; needed is (n,) with one label per sample, n at least 1.")
    if n is not None and len(array) != n:
        raise DataError(f"{name} has {len(array)} entries for {n} samples; needed is one for each, in the same order.")
    if array.dtype.kind == "O":
        kinds = sorted({type(value).__name__ for value in array.tolist()})
        array = np.array(array.tolist()) if len(kinds) == 1 else array
        if array.dtype.kind == "O":
            raise DataError(f"{name} has entries of types {', '.join(kinds)}; needed is one type and nothing missing.")
    if array.dtype.kind == "f":
        if not np.array_equal(array, np.round(array)):  # a missing value is unequal to itself
            raise DataError(f"{name} has missing or fractional values; needed are labels: strings or whole numbers.")
        array = array.astype(np.int64)
    if array.dtype.kind not in "biuU":
        raise DataError(f"{name} has type {array.dtype}; needed are strings, booleans or whole numbers.")
    labels, codes = np.unique(array.astype(np.int64) if array.dtype.kind == "u" else array, return_inverse=True)
    if labels.dtype.kind == "i":
        return labels.astype(np.int64), codes
    return (np.array(labels.tolist()) if labels.dtype.kind == "U" else labels), codes


def _plain(labels: np.ndarray) -> list | dict[str, list]:
    if labels.dtype.names:
        return {name: labels[name].tolist() for name in labels.dtype.names}
    return labels.tolist()


def _array(values: list | dict[str, list]) -> np.ndarray:
    if not isinstance(values, dict):
        return np.array(values)
    columns = {name: np.array(column) for name, column in values.items()}
    length = len(next(iter(columns.values())))
    labels = np.empty(length, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        labels[name] = column
    return labels
