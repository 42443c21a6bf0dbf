"""The diabetes data that scikit-learn brings along: a real table for whatever must run without any download."""

import hashlib

import numpy as np
from sklearn.datasets import load_diabetes

from evenspan.core.errors import DataError

from .dataset import Dataset
from .registry import Entry

SEX = 1  # column of the bundled table
TRAIN_SHARE = 0.7


def load(entry: Entry) -> Dataset:
    """Unscaled features without sex, groups by sex, y = 1 for a progression above its median."""
    bunch = load_diabetes(scaled=False)
    digest = hashlib.sha256()
    for array in (bunch.data, bunch.target):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    if digest.hexdigest() != entry.bundled_sha256:
        raise DataError(
            f"{entry.name}: the diabetes data of this scikit-learn have SHA-256 {digest.hexdigest()}, expected is "
            f"{entry.bundled_sha256}. Install the versions in requirements.lock."
        )
    X = np.delete(bunch.data, SEX, axis=1)
    names = tuple(name for j, name in enumerate(bunch.feature_names) if j != SEX)
    y = (bunch.target > np.median(bunch.target)).astype(int)
    return Dataset(entry.name, X, y, bunch.data[:, SEX].astype(int), names)


def load_split(entry: Entry, i: int) -> tuple[Dataset, Dataset]:
    """A seeded random 70 / 30 split, z-scored with the training part."""
    whole = load(entry)
    rows = np.random.default_rng(i).permutation(whole.n)
    cut = round(TRAIN_SHARE * whole.n)
    mean, scale = whole.X[rows[:cut]].mean(axis=0), whole.X[rows[:cut]].std(axis=0)
    train, test = (
        Dataset(whole.name, (whole.X[r] - mean) / scale, whole.y[r], whole.groups[r], whole.feature_names, part, i)
        for part, r in (("train", rows[:cut]), ("test", rows[cut:]))
    )
    return train, test
