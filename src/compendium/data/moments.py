"""Group moments of data sets: of rows that are in the checkout, or shipped where rows may not be passed on.

``data/moments/NAME`` holds the latter for COMPAS and the LSAC tables, and a record of the raw data they were made from.
"""

import json
from pathlib import Path

import numpy as np

from evenspan.core.errors import ResultError
from evenspan.core.files import replacing
from evenspan.core.moments import GroupMoments

from .. import paths
from ..errors import RegistryError
from .raw import LSAC
from .registry import entry
from .splits import check_split, fold_rows, half_rows, load_split
from .tables import Dataset, load

PARTS = ("train", "test")
#: Of these tables moments are shipped, because their rows may not be.
SHIPPED = ("compas", *LSAC)
WHOLE, RECORD = "whole.npz", "record.json"


def group_moments(name: str, groups: str = "") -> GroupMoments:
    """Moments of all rows by the values of the sensitive attribute, features not standardised.

    Of a data set, or of a CSV file with a column of ``groups`` (``own_table``)."""
    return _shipped(name, WHOLE) if name in SHIPPED and not groups else moments_of(load(name, groups))


def split_moments(name: str, split: int, part: str) -> GroupMoments:
    """Moments of one part, ``"train"`` or ``"test"``, of one published split (from 0), by the sensitive attribute."""
    if part not in PARTS:
        raise RegistryError(f"part {part!r} does not exist; parts are {' and '.join(PARTS)}.")
    if name in SHIPPED:
        check_split(entry(name), split)
        return _shipped(name, f"{part}_{split}.npz")
    return moments_of(load_split(name, split)[PARTS.index(part)])


def moments_of(part: Dataset, rows: np.ndarray | slice = slice(None)) -> GroupMoments:
    """Moments of a sample, or of some of its rows, by the values of the sensitive attribute, with feature names."""
    m = GroupMoments.from_data(part.X[rows], part.groups[rows])
    return GroupMoments(m.labels, m.counts, m.means, m.scatters, part.feature_names)


def parts_of(data: Dataset, seed: int, *, halves: bool = False) -> dict[str, GroupMoments]:
    """Moments of the parts of one split of Vu et al. (2022), not standardised (``fold_rows``, ``half_rows``)."""
    rows = half_rows(data.groups, seed) if halves else fold_rows(data.name, data.groups, seed)
    return {part: moments_of(data, index) for part, index in rows.items()}


# -- shipped ----------------------------------------------------------------------------------------------------------


def folder(name: str) -> Path:
    """The folder of the shipped moments of a data set."""
    return paths.data("moments", name)


def _shipped(name: str, file: str) -> GroupMoments:
    """A file of shipped moments that was made from the raw data of the registry."""
    record = folder(name) / RECORD
    made_from = paths.read(record, lambda text: json.loads(text)["raw_checksum"]) if record.is_file() else "no record"
    if made_from != entry(name).checksum():
        raise ResultError(
            f"{folder(name) / file} was made from raw data with checksum {made_from}; the registry has "
            f"{entry(name).checksum()}. Make it again: python -m compendium data ship {name}"
        )
    return GroupMoments.load(folder(name) / file)


def make_moments(name: str) -> tuple[Path, ...]:
    """Compute and write the shipped moments of a data set from its raw files; returns the files written."""
    found, where = entry(name), folder(name)
    where.mkdir(parents=True, exist_ok=True)
    made = {WHOLE: moments_of(load(name))}
    for i in range(found.splits):
        made |= {f"{part.part}_{i}.npz": moments_of(part) for part in load_split(name, i)}
    for file, moments in made.items():
        moments.save(where / file)
    record = {"dataset": name, "raw_checksum": found.checksum(), "files": len(made)}
    with replacing(where / RECORD) as file:
        file.write((json.dumps(record, indent=2) + "\n").encode())
    return (*(where / file for file in made), where / RECORD)
