"""Adult, COMPAS and German Credit in the ten splits that were published with the fair manifold PCA code."""

import numpy as np

from evenspan.core.errors import DataError

from .dataset import Dataset
from .fetch import fetch_file
from .registry import Entry


def load(entry: Entry) -> Dataset:
    """All people of the data set: before standardisation where that was published, otherwise both parts of split 0."""
    if any(file.name == "full.csv" for file in entry.files):
        return _dataset(entry, _table(entry, "full.csv"), "all", None)
    table = np.vstack([_table(entry, f"{part}_0.csv") for part in ("train", "test")])
    return _dataset(entry, table, "all", None)


def load_split(entry: Entry, i: int) -> tuple[Dataset, Dataset]:
    """Train and test part of one split, z-scored with the training part as published."""
    train, test = (_dataset(entry, _table(entry, f"{part}_{i}.csv"), part, i) for part in ("train", "test"))
    return train, test


def _table(entry: Entry, name: str) -> np.ndarray:
    # loadtxt rounds every decimal correctly in all versions; fast parsers may be off in the last digit
    table = np.loadtxt(fetch_file(entry, name), delimiter=",", ndmin=2)
    if table.shape[1] != entry.features + 2:
        raise DataError(
            f"{entry.name}: {name} has {table.shape[1]} columns; needed are {entry.features} features, label, group."
        )
    return table


def _dataset(entry: Entry, table: np.ndarray, part: str, split: int | None) -> Dataset:
    X = np.ascontiguousarray(table[:, :-2])
    y, groups = table[:, -2].astype(int), table[:, -1].astype(int)
    return Dataset(entry.name, X, y, groups, entry.feature_names, part, split)
