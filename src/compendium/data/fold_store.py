"""Group moments of all parts of the random splits of Vu et al. (2022): one small file for each data set."""

import io
import zipfile
from functools import lru_cache
from pathlib import Path

import numpy as np

from evenspan.core.errors import RegistryError, ResultError
from evenspan.core.moments import GroupMoments
from evenspan.core.moments_file import DAMAGE

from .dataset import Dataset
from .loaders import load
from .protocol_splits import HALF_SEEDS, SEEDS, fold_rows, half_rows
from .shipped import command, folder, shipped_file
from .tables import RFPCA

FILE = "protocol.npz"
FORMAT_VERSION = 1
#: Data sets with folds, and those of them that are also split in halves (figures of error against k).
WITH_FOLDS = RFPCA
WITH_HALVES = ("biodeg", "default_credit", "ecoli", "magic", "steel", "wine_quality")


def parts_of(data: Dataset, seed: int, *, halves: bool = False) -> dict[str, GroupMoments]:
    """Moments of the parts of one split from the data points: raw features, not standardised."""
    rows = half_rows(data.groups, seed) if halves else fold_rows(data.name, data.groups, seed)
    found = {}
    for part, index in rows.items():
        moments = GroupMoments.from_data(data.X[index], data.groups[index])
        found[part] = GroupMoments(moments.labels, moments.counts, moments.means, moments.scatters, data.feature_names)
    return found


def fold_moments(name: str, seed: int) -> dict[str, GroupMoments]:
    """Shipped moments of ``fold0``, ``fold1``, ``fold2`` and ``test`` of one 30 / 70 split; their sum is all rows.

    Parameters
    ----------
    name : str
        One of the 14 tables of Vu et al. (2022).
    seed : int
        0 to 9.
    """
    return _parts(name, "folds", seed, SEEDS, WITH_FOLDS)


def half_moments(name: str, seed: int) -> dict[str, GroupMoments]:
    """Shipped moments of ``train`` and ``test`` of one 50 / 50 split, seeds 0 to 4, for six of the tables."""
    return _parts(name, "halves", seed, HALF_SEEDS, WITH_HALVES)


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
    path = folder(name) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for key, array in arrays.items():
            member = zipfile.ZipInfo(f"{key}.npy", (1980, 1, 1, 0, 0, 0))  # no time of day: equal data, equal bytes
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
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
    path = shipped_file(name, FILE)
    stored = _read(path, path.stat().st_mtime_ns)
    try:
        counts, means = stored[f"{kind}.counts"][seed], stored[f"{kind}.means"][seed]
        scatters = stored[f"{kind}.scatters"][seed]
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
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        if int(arrays["version"]) != FORMAT_VERSION:
            raise ValueError(f"format {int(arrays['version'])}, this evenspan reads {FORMAT_VERSION}")
        for kind in ("folds", "halves"):
            if f"{kind}.scatters" in arrays:
                arrays[f"{kind}.scatters"] = restored(arrays[f"{kind}.scatters"], arrays[f"{kind}.shape"])
    except DAMAGE as error:
        raise ResultError(f"{path} is not a file of fold moments ({error}). Make it again from raw data.") from error
    return arrays
