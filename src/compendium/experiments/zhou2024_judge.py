"""The judge of clusterings of Zhou et al. (2024): every metric from a table of counts, kept as a text."""

import json
from dataclasses import dataclass

import numpy as np

from evenspan.core.errors import DataError, ResultError
from evenspan.core.groups import encode_groups, positions, union_labels
from evenspan.metrics.clustering import (
    accuracy_of,
    balance_of,
    encode_labels,
    fair_gap_of,
    information_of,
    mnce_of,
    regulariser_of,
)

AXES = ("classes", "groups", "clusters")
#: Names and order of what ``judge_clustering`` returns.
CLUSTERING_METRICS = ("ACC", "NMI", "Bal", "MNCE", "F", "fair gap", "clusters", "empty clusters")


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
        """Count samples: their class ``y``, which no method is shown, their cluster ``labels`` and their group.

        With ``n_clusters`` the clusters are 0, ..., n_clusters - 1, so that empty ones are counted as such.
        """
        clusters, of_cluster = encode_labels(labels, "labels")
        classes, of_class = encode_labels(y, "y", len(of_cluster))
        groups, of_group = encode_groups(sensitive_features, len(of_cluster))
        if n_clusters is not None:
            if clusters.dtype.kind != "i" or clusters[0] < 0 or clusters[-1] >= n_clusters:
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


def judge_clustering(counts: JointCounts) -> dict[str, float]:
    """Every metric of a clustering from its counts, by name; see ``CLUSTERING_METRICS``.

    Parameters
    ----------
    counts : JointCounts
        Classes x groups x clusters.

    Returns
    -------
    dict
        "ACC", "NMI", "Bal", "MNCE" (nan for one group), the regulariser "F", its "fair gap", and the numbers of
        clusters with and without samples.

    Guarantees
    ----------
    Nothing depends on the order or the names of clusters, classes or groups. The fair gap is computed in fractions:
    it is 0 exactly when every cluster has the shares of the groups in the whole sample.
    """
    table, groups = counts.class_by_cluster, counts.group_by_cluster
    occupied = int(groups.any(axis=0).sum(axis=0))
    values = (
        accuracy_of(table), information_of(table), balance_of(groups), mnce_of(groups), float(regulariser_of(groups)),
        float(fair_gap_of(groups)), occupied, groups.shape[1] - occupied,
    )  # fmt: skip
    return dict(zip(CLUSTERING_METRICS, values, strict=True))


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
