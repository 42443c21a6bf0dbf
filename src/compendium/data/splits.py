"""Train and test parts: fixed ones, those of Vu et al. (2022), and those of two groups row by row."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from evenspan.core.errors import ConfigurationError, GroupError

from ..errors import RegistryError
from .registry import Entry, entry
from .tables import PUBLISHED, Dataset, from_files, load, of_two_groups, own_table, table, with_loader

# -- fixed splits -----------------------------------------------------------------------------------------------------

WITH_SPLITS = (*PUBLISHED, "sklearn_diabetes")
#: Share of the training part: of the published splits rounded down, of those that are drawn here rounded.
TRAINED = 0.7


def splits(name: str) -> int:
    """Number of fixed splits of a data set, 0 if there are none."""
    return entry(name).splits


def load_split(name: str, i: int) -> tuple[Dataset, Dataset]:
    """Train and test part of the i-th fixed split (from 0), z-scored with the training part.

    Of sklearn_diabetes ours, a seeded 70 / 30 split; of the others as published with fair manifold PCA."""
    found = with_loader(name)
    if name not in WITH_SPLITS:
        raise RegistryError(
            f"data set {name!r} has no fixed splits; those that have are {', '.join(WITH_SPLITS)}. Use load({name!r}) "
            "and draw a split of your own."
        )
    check_split(found, i)
    i = int(i)
    if name == "sklearn_diabetes":
        return _drawn(load(name), i)
    if not found.shipped:
        return tuple(from_files(found, f"{part}_{i}.csv", part=part, split=i) for part in ("train", "test"))
    rows = np.argsort(table(name)[f"split_{i}"].to_numpy())
    return _parts(load(name), rows, int(TRAINED * len(rows)), i)


def own_split(path: str, i: int, groups: str, target: str | None = None) -> tuple[Dataset, Dataset]:
    """Train and test part of the i-th seeded 70 / 30 split of a table of one's own with two groups (``own_table``)."""
    return _drawn(of_two_groups(own_table(path, groups, target)), i)


def _drawn(whole: Dataset, i: int) -> tuple[Dataset, Dataset]:
    rows = np.random.default_rng(i).permutation(whole.n)
    return _parts(whole, rows, round(TRAINED * whole.n), i)


def _parts(whole: Dataset, rows: np.ndarray, cut: int, i: int) -> tuple[Dataset, Dataset]:
    """The first rows and the others, z-scored with the first; what is constant there becomes zero in it."""
    base = whole.X[rows[:cut]]
    scale = base.std(axis=0)
    whole = replace(whole, X=(whole.X - base.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0))
    return _part(whole, rows[:cut], "train", i), _part(whole, rows[cut:], "test", i)


def check_split(entry: Entry, i: int) -> None:
    """Raise `RegistryError` unless the data set has a split of that number."""
    if isinstance(i, bool) or i not in range(entry.splits):
        raise RegistryError(f"data set {entry.name!r} has no split {i!r}; it has splits 0 to {entry.splits - 1}.")


# -- the random splits of Vu et al. (2022): 30 / 70 within each group with folds inside, and halves -------------------
#
# The paper fixes shares, folds and numbers of repetitions. How the rows are drawn, with which seeds, and how the folds
# are cut stands in the program that its authors published (github.com/hieuvt29/distributionally_robust_fair_pca), and
# is done here in the same way, so that these splits and folds are theirs.

SEEDS = range(10)
TRAIN_SHARE = 0.3
HALF = 0.5
FOLDS = 3
#: Two folds for the faces, as the paper says.
OTHER_FOLDS: Mapping[str, int] = {"lfw_24x24": 2}


def split_rows(groups: np.ndarray, seed: int, *, share: float = TRAIN_SHARE, folds: int = FOLDS) -> dict:
    """Sorted row numbers of the parts of a split: ``fold0``, ... (or ``train``), a ``share`` of each group, ``test``.

    Rows of one group after the other are permuted, then together; ``KFold`` shuffles them again before it cuts."""
    rng = np.random.default_rng(seed)
    train, test = [], []
    for label in np.unique(groups):
        order = rng.permutation(np.flatnonzero(groups == label))
        cut = int(np.floor(np.round(share * len(order), 9)))  # 0.3 * 690 must not fall below 207
        train.append(order[:cut])
        test.append(order[cut:])
    rows, order = {}, rng.permutation(np.concatenate(train))
    if folds == 1:
        rows["train"] = np.sort(order)
    else:
        from sklearn.model_selection import KFold  # here, as a third of a second passes until it is imported

        for i, (_, held_out) in enumerate(KFold(folds, shuffle=True, random_state=seed).split(order)):
            rows[f"fold{i}"] = np.sort(order[held_out])
    rows["test"] = np.sort(np.concatenate(test))
    for name, part in rows.items():
        if missing := set(groups.tolist()) - set(groups[part].tolist()):
            raise GroupError(f"part {name} of split {seed} has no row of group {missing}. Use fewer folds.")
    return rows


def fold_rows(name: str, groups: np.ndarray, seed: int) -> dict:
    """Row numbers ``fold0``, ``fold1``, ..., ``test`` of the cross-validation protocol for a data set."""
    return split_rows(groups, seed, folds=OTHER_FOLDS.get(name, FOLDS))


def half_rows(groups: np.ndarray, seed: int) -> dict:
    """Row numbers ``train`` and ``test`` of a 50 / 50 split within each group."""
    return split_rows(groups, seed, share=HALF, folds=1)


# -- two groups of equal size, row by row -----------------------------------------------------------------------------


def paired_splits(data: Dataset, number: int, seed, train_share: float = 0.7) -> Iterator[tuple[Dataset, Dataset]]:
    """Random train and test parts of a data set of ``synthetic.py``, the same row numbers drawn in both groups.

    ``data`` has the rows of group 1 first, then as many of group 0; neither part is standardised."""
    half = data.n // 2
    if not (np.all(data.groups[:half] == 1) and np.all(data.groups[half:] == 0)) or data.n != 2 * half:
        raise ConfigurationError(f"{data.name} must have all rows of group 1 first, then as many of group 0.")
    rng = np.random.default_rng(seed)
    cut = round(train_share * half)
    for i in range(number):
        order = rng.permutation(half)
        parts = (("train", order[:cut]), ("test", order[cut:]))
        train, test = (_part(data, np.concatenate([rows, half + rows]), part, i) for part, rows in parts)
        yield train, test


def _part(data: Dataset, rows: np.ndarray, part: str, split: int) -> Dataset:
    return replace(data, X=data.X[rows], y=data.y[rows], groups=data.groups[rows], part=part, split=split)
