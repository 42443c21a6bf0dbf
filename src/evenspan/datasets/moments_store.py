"""Group moments of real data, made from the verified raw files and shipped: numbers can be recomputed offline."""

import json
from functools import lru_cache
from pathlib import Path

from .. import paths
from ..errors import RegistryError, ResultError
from ..moments import GroupMoments
from .dataset import Dataset
from .fold_store import WITH_FOLDS, write_fold_moments
from .loaders import check_split, load_split
from .registry import Entry, entry

PARTS = ("train", "test")
SHIPPED = ("adult", "compas", "german")


def moments_of(part: Dataset) -> GroupMoments:
    """Moments of one part of a split, by the values of the sensitive attribute, with feature names."""
    moments = GroupMoments.from_data(part.X, part.groups)
    return GroupMoments(moments.labels, moments.counts, moments.means, moments.scatters, part.feature_names)


def make_moments(name: str) -> tuple[Path, ...]:
    """Compute and write the moments of every part of the splits of a data set.

    Parameters
    ----------
    name : str
        A data set with fixed splits, or one of those with seeded folds, whose raw files are present or can be fetched.

    Returns
    -------
    tuple of Path
        The files written: ``data/moments/NAME/PART_SPLIT.npz`` for fixed splits or ``protocol.npz`` for seeded ones,
        and ``record.json`` beside them.
    """
    found = entry(name)
    if not found.splits and name not in WITH_FOLDS:
        raise RegistryError(
            f"data set {name!r} has no fixed splits and no seeded folds; moments are made for "
            f"{', '.join((*SHIPPED, *WITH_FOLDS))}."
        )
    folder = _folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    written = [write_fold_moments(name)] if name in WITH_FOLDS else []
    for i in range(found.splits):
        for part in load_split(name, i):
            written.append(folder / f"{part.part}_{i}.npz")
            moments_of(part).save(written[-1])
    record = {
        "dataset": name,
        "raw_checksum": found.checksum(),
        "command": _command(name),
        "files": len(written),
    }
    written.append(folder / "record.json")
    written[-1].write_text(json.dumps(record, indent=2) + "\n")
    return tuple(written)


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
    found = entry(name)
    check_split(found, split)
    if part not in PARTS:
        raise RegistryError(f"part {part!r} does not exist; parts are {' and '.join(PARTS)}.")
    path = _folder(name) / f"{part}_{split}.npz"
    if not path.is_file():
        raise ResultError(f"{path} is missing. Make it from the raw data: {_command(name)}")
    record = path.with_name("record.json")
    made_from = _raw_checksum(record, record.stat().st_mtime_ns) if record.is_file() else "no record"
    if made_from != found.checksum():
        raise ResultError(
            f"{path} was made from raw data with checksum {made_from}; the registry has {found.checksum()}. Make it "
            f"again: {_command(name)}"
        )
    return GroupMoments.load(path)


def has_moments(entry: Entry) -> bool:
    """Whether moments of a data set are shipped."""
    return (_folder(entry.name) / "record.json").is_file()


@lru_cache(maxsize=16)
def _raw_checksum(record: Path, modified: int) -> str:
    return json.loads(record.read_text())["raw_checksum"]


def _folder(name: str) -> Path:
    return paths.data("moments", name)


def _command(name: str) -> str:
    return f"evenspan data moments {name}"
