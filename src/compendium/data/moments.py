"""Group moments of real data, made from the verified raw files and shipped: numbers can be recomputed offline.

``data/moments/NAME`` holds a file for each part of a published split, one for all parts of the random splits of Vu et
al. (2022), or one for all rows; and a record of the raw data that they were made from.
"""

import json
from functools import lru_cache
from pathlib import Path

import numpy as np

from evenspan.core import files
from evenspan.core.errors import RegistryError, ResultError
from evenspan.core.moments import GroupMoments

from .. import paths
from .registry import entry
from .splits import HALF_SEEDS, SEEDS, check_split, fold_rows, half_rows, load_split
from .tables import PUBLISHED, RATHORE, RFPCA, Dataset, batches, load, own_table

PARTS = ("train", "test")
#: Tables whose published splits are shipped; those that are shipped as the moments of all their rows; those with
#: folds; and those of them that are also split in halves (figures of error against k).
SHIPPED, WHOLE, WITH_FOLDS = PUBLISHED, RATHORE, RFPCA
WITH_HALVES = ("biodeg", "default_credit", "ecoli", "magic", "steel", "wine_quality")
WHOLE_FILE, FOLDS_FILE, RECORD = "whole.npz", "protocol.npz", "record.json"
#: Version 1, in which the files are shipped, had no digest.
FORMAT_VERSION, UNDIGESTED = 2, 1


# -- files that belong to the raw data of the registry ----------------------------------------------------------------


def folder(name: str) -> Path:
    """The folder of the shipped moments of a data set."""
    return paths.data("moments", name)


def command(name: str) -> str:
    """What makes them from the raw data."""
    return f"python -m compendium data moments {name}"


def has_moments(name: str) -> bool:
    """Whether moments of a data set are shipped."""
    return (folder(name) / RECORD).is_file()


def shipped_file(name: str, file: str) -> Path:
    """A file of shipped moments that was made from the raw data of the registry; anything else is a `ResultError`."""
    path = folder(name) / file
    if not path.is_file():
        raise ResultError(f"{path} is missing. Make it from the raw data: {command(name)}")
    record = path.with_name(RECORD)
    made_from = _raw_checksum(record, record.stat().st_mtime_ns) if record.is_file() else "no record"
    wanted = entry(name).checksum()
    if made_from != wanted:
        raise ResultError(
            f"{path} was made from raw data with checksum {made_from}; the registry has {wanted}. Make it again: "
            f"{command(name)}"
        )
    return path


@lru_cache(maxsize=16)
def _raw_checksum(record: Path, modified: int) -> str:
    try:
        return json.loads(record.read_text(encoding="utf-8"))["raw_checksum"]
    except (ValueError, KeyError, TypeError) as error:
        raise RegistryError(f"{record} is damaged ({error!r}). Restore it from the repository.") from error


def make_moments(name: str) -> tuple[Path, ...]:
    """Compute and write the moments of a data set with fixed splits or seeded folds, or of all its rows.

    Its raw files must be present or possible to fetch. Returns the files written: ``data/moments/NAME/PART_SPLIT.npz``
    for fixed splits, ``protocol.npz`` for seeded ones or ``whole.npz`` for all rows, and ``record.json`` beside them.
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
    record = {"dataset": name, "raw_checksum": found.checksum(), "command": command(name), "files": len(written)}
    path = folder(name) / RECORD
    path.write_text(json.dumps(record, indent=2) + "\n")
    return (*written, path)


# -- from points ------------------------------------------------------------------------------------------------------


def moments_of(part: Dataset, rows: np.ndarray | slice = slice(None)) -> GroupMoments:
    """Moments of a sample, or of some of its rows, by the values of the sensitive attribute, with feature names."""
    m = GroupMoments.from_data(part.X[rows], part.groups[rows])
    return GroupMoments(m.labels, m.counts, m.means, m.scatters, part.feature_names)


def parts_of(data: Dataset, seed: int, *, halves: bool = False) -> dict[str, GroupMoments]:
    """Moments of the parts of one split of Vu et al. from the data points: raw features, not standardised."""
    rows = half_rows(data.groups, seed) if halves else fold_rows(data.name, data.groups, seed)
    return {part: moments_of(data, index) for part, index in rows.items()}


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

    Examples
    --------
    >>> group_moments("biodeg").d
    40
    """
    if Path(name).suffix == ".csv":
        return moments_of(own_table(name, groups))
    return moments_of(load(name)) if from_points else whole_moments(name)


# -- as shipped -------------------------------------------------------------------------------------------------------


def shipped_moments(name: str, split: int, part: str) -> GroupMoments:
    """Shipped moments of one part of one published split, by the values of the sensitive attribute.

    Parameters
    ----------
    name : str
        adult, compas or german, or another data set for which ``make_moments`` was run.
    split : int
        Number of the split, from 0.
    part : {"train", "test"}
        Which part.
    """
    check_split(entry(name), split)
    if part not in PARTS:
        raise RegistryError(f"part {part!r} does not exist; parts are {' and '.join(PARTS)}.")
    return GroupMoments.load(shipped_file(name, f"{part}_{split}.npz"))


def whole_moments(name: str) -> GroupMoments:
    """Shipped moments of all rows by the values of the sensitive attribute, features not standardised.

    For one of the 14 tables of Vu et al. (2022), where they are the sum of the parts of split 0, or one of the six of
    Rathore and Manwani (2025).
    """
    if name in WHOLE:
        return GroupMoments.load(shipped_file(name, WHOLE_FILE))
    if name not in WITH_FOLDS:
        raise RegistryError(
            f"no moments of all rows of {name!r} are shipped; those shipped are {', '.join((*WITH_FOLDS, *WHOLE))}."
        )
    first, *others = fold_moments(name, 0).values()
    return sum(others, first)


def fold_moments(name: str, seed: int) -> dict[str, GroupMoments]:
    """Shipped moments of ``fold0``, ``fold1``, ``fold2`` and ``test`` of one 30 / 70 split; their sum is all rows.

    For the 14 tables of Vu et al. (2022), seeds 0 to 9.
    """
    return _parts(name, "folds", seed, SEEDS, WITH_FOLDS)


def half_moments(name: str, seed: int) -> dict[str, GroupMoments]:
    """Shipped moments of ``train`` and ``test`` of one 50 / 50 split, seeds 0 to 4, for six of the tables."""
    return _parts(name, "halves", seed, HALF_SEEDS, WITH_HALVES)


# -- one small file for all parts of the random splits ----------------------------------------------------------------


def write_fold_moments(name: str) -> Path:
    """Compute and write ``data/moments/NAME/protocol.npz`` from the raw data."""
    data = load(name)
    arrays = {"version": np.array(FORMAT_VERSION), "feature_names": np.array(data.feature_names)}
    arrays["labels"] = np.unique(data.groups)
    kinds = {"folds": SEEDS} | ({"halves": HALF_SEEDS} if name in WITH_HALVES else {})
    triangle = np.triu_indices(data.d)
    for kind, seeds in kinds.items():
        splits = [parts_of(data, seed, halves=kind == "halves") for seed in seeds]
        arrays[f"{kind}.parts"] = np.array(list(splits[0]))
        for field in ("counts", "means"):
            arrays[f"{kind}.{field}"] = np.array([[getattr(m, field) for m in s.values()] for s in splits])
        scatters = [[m.scatters[:, *triangle] for m in s.values()] for s in splits]
        # Bytes of equal weight beside each other: the exponents of neighbouring numbers are alike and compress.
        arrays[f"{kind}.scatters"] = shuffled(np.array(scatters))
        arrays[f"{kind}.shape"] = np.array(np.shape(scatters))
    path = folder(name) / FOLDS_FILE
    files.write(path, arrays)
    return path


def shuffled(values: np.ndarray) -> np.ndarray:
    """The bytes of 64-bit numbers, all first bytes first: shape (8, size)."""
    return np.ascontiguousarray(np.ascontiguousarray(values, dtype="<f8").reshape(-1, 1).view(np.uint8).T)


def restored(planes: np.ndarray, shape) -> np.ndarray:
    """The numbers that ``shuffled`` took apart."""
    return np.ascontiguousarray(planes.T).view("<f8").reshape(tuple(shape))


def _parts(name: str, kind: str, seed: int, seeds: range, names: tuple[str, ...]) -> dict[str, GroupMoments]:
    if name not in names:
        raise RegistryError(f"no {kind} of {name!r} are shipped; those shipped are {', '.join(names)}.")
    if isinstance(seed, bool) or seed not in seeds:
        raise RegistryError(f"there is no split {seed!r} in {kind}; there are 0 to {seeds[-1]}.")
    path = shipped_file(name, FOLDS_FILE)
    stored = _read(path, path.stat().st_mtime_ns)
    try:
        counts, means, scatters = (stored[f"{kind}.{field}"][seed] for field in ("counts", "means", "scatters"))
        parts, labels = stored[f"{kind}.parts"].tolist(), stored["labels"]
        features = tuple(stored["feature_names"].tolist())
    except (KeyError, IndexError) as error:
        raise ResultError(
            f"{path} is not complete ({error}). Make it again from the raw data: {command(name)}"
        ) from error
    rows, columns = np.triu_indices(means.shape[-1])
    found = {}
    for place, part in enumerate(parts):
        full = np.zeros((len(labels), means.shape[-1], means.shape[-1]))
        full[:, rows, columns] = full[:, columns, rows] = scatters[place]
        found[part] = GroupMoments(labels, counts[place], means[place], full, features)
    return found


@lru_cache(maxsize=4)
def _read(path: Path, modified: int) -> dict[str, np.ndarray]:
    what, remedy = "a file of fold moments", "Make it again from raw data."
    arrays = files.read(path, what, remedy, undigested=UNDIGESTED)
    with files.described(path, what, remedy):
        if int(arrays["version"]) not in (UNDIGESTED, FORMAT_VERSION):
            raise ValueError(f"format {int(arrays['version'])}, this evenspan reads {UNDIGESTED} and {FORMAT_VERSION}")
        for kind in ("folds", "halves"):
            if f"{kind}.scatters" in arrays:
                arrays[f"{kind}.scatters"] = restored(arrays[f"{kind}.scatters"], arrays[f"{kind}.shape"])
    return arrays
