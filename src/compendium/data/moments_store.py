"""Group moments of real data, made from the verified raw files and shipped: numbers can be recomputed offline."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from evenspan import TableEncoder
from evenspan.core.errors import ConfigurationError, RegistryError
from evenspan.core.moments import GroupMoments

from . import jevd_tables
from .dataset import Dataset
from .fold_store import WITH_FOLDS, fold_moments, write_fold_moments
from .loaders import check_split, load, load_split
from .registry import entry
from .shipped import folder, shipped_file, write_record

PARTS = ("train", "test")
SHIPPED = ("adult", "compas", "german")
#: Tables without splits, shipped as the moments of all their rows.
WHOLE = tuple(jevd_tables.LOADERS)
WHOLE_FILE = "whole.npz"


def moments_of(part: Dataset) -> GroupMoments:
    """Moments of one part of a split, by the values of the sensitive attribute, with feature names."""
    return named(GroupMoments.from_data(part.X, part.groups), part.feature_names)


def named(moments: GroupMoments, feature_names: tuple[str, ...]) -> GroupMoments:
    """The same moments under names of features."""
    return GroupMoments(moments.labels, moments.counts, moments.means, moments.scatters, feature_names)


def batches(name: str) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Features and groups of all rows of a data set, in blocks where its file is read in blocks.

    Parameters
    ----------
    name : str
        One of ``loadable()``. ``diabetes`` (253,680 rows) is read block by block, the others come as one.

    Yields
    ------
    X, groups : DataFrame and ndarray
        Rows in the order of ``load``; ``GroupMoments.from_batches(batches(name))`` are the moments of all of them.
    """
    if name == "diabetes":
        for block, groups in jevd_tables.diabetes_blocks(entry(name)):
            yield block.drop(columns="Diabetes_binary"), groups
    else:
        data = load(name)
        yield pd.DataFrame(data.X, columns=list(data.feature_names)), data.groups


def make_moments(name: str) -> tuple[Path, ...]:
    """Compute and write the moments of a data set: of every part of its splits, or of all its rows.

    Parameters
    ----------
    name : str
        A data set with fixed splits, with seeded folds, or one of the whole tables, whose raw files are present or can
        be fetched.

    Returns
    -------
    tuple of Path
        The files written: ``data/moments/NAME/PART_SPLIT.npz`` for fixed splits, ``protocol.npz`` for seeded ones or
        ``whole.npz`` for all rows, and ``record.json`` beside them.
    """
    found = entry(name)
    if not found.splits and name not in WITH_FOLDS and name not in WHOLE:
        raise RegistryError(
            f"data set {name!r} has no fixed splits, no seeded folds and no moments of the whole; moments are made for "
            f"{', '.join((*SHIPPED, *WITH_FOLDS, *WHOLE))}."
        )
    folder(name).mkdir(parents=True, exist_ok=True)
    written = [write_fold_moments(name)] if name in WITH_FOLDS else []
    if name in WHOLE:
        written.append(folder(name) / WHOLE_FILE)
        GroupMoments.from_batches(batches(name)).save(written[-1])
    for i in range(found.splits):
        for part in load_split(name, i):
            written.append(folder(name) / f"{part.part}_{i}.npz")
            moments_of(part).save(written[-1])
    return (*written, write_record(name, len(written)))


def shipped_moments(name: str, split: int, part: str) -> GroupMoments:
    """Stored moments of one part of one published split.

    Parameters
    ----------
    name : str
        adult, compas or german, or another data set for which ``make_moments`` was run.
    split : int
        Number of the split, from 0.
    part : {"train", "test"}
        Which part.

    Returns
    -------
    GroupMoments
        Groups are the values of the sensitive attribute.
    """
    check_split(entry(name), split)
    if part not in PARTS:
        raise RegistryError(f"part {part!r} does not exist; parts are {' and '.join(PARTS)}.")
    return GroupMoments.load(shipped_file(name, f"{part}_{split}.npz"))


def whole_moments(name: str) -> GroupMoments:
    """Shipped moments of all rows, features not standardised.

    Parameters
    ----------
    name : str
        One of the 14 tables of Vu et al. (2022), where they are the sum of the parts of split 0, or one of the six of
        Rathore and Manwani (2025).

    Returns
    -------
    GroupMoments
        Groups are the values of the sensitive attribute.
    """
    if name in WHOLE:
        return GroupMoments.load(shipped_file(name, WHOLE_FILE))
    if name not in WITH_FOLDS:
        raise RegistryError(
            f"no moments of all rows of {name!r} are shipped; those shipped are {', '.join((*WITH_FOLDS, *WHOLE))}."
        )
    first, *others = fold_moments(name, 0).values()
    return sum(others, first)


def own_table(path: str, groups: str) -> Dataset:
    """A CSV file with a column of ``groups``; every text column becomes one column for each of its values."""
    table = pd.read_csv(path)
    if groups not in table:
        raise ConfigurationError(f"groups={groups!r}; {path} has the columns {', '.join(table)}. Name one of these.")
    X = TableEncoder(standardize=False).fit_transform(table.drop(columns=groups))
    labels = table[groups].to_numpy()
    return Dataset(Path(path).stem, X.to_numpy(float), labels, labels, tuple(X.columns))


def group_moments(name: str, groups: str = "", *, from_points: bool = False) -> GroupMoments:
    """Moments of all rows by group: of a registered data set, or of a table of one's own.

    Parameters
    ----------
    name : str
        A data set, or the path of a CSV file.
    groups : str
        The column of that file that holds the groups. Other text columns become one column for each of their values.
    from_points : bool
        Compute them from the raw data; otherwise they are those that are shipped.
    """
    if Path(name).suffix == ".csv":
        return moments_of(own_table(name, groups))
    return moments_of(load(name)) if from_points else whole_moments(name)
