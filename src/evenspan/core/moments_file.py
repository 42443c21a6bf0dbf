"""Group moments on disk: a compressed, versioned ``.npz`` without pickles."""

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np

from .errors import ResultError

FORMAT_VERSION = 1


def write(path, labels, counts, means, scatters, feature_names) -> None:
    """Write the arrays; only the upper triangles of the scatters are stored. Equal moments give equal bytes."""
    arrays = {
        "version": np.array(FORMAT_VERSION),
        "attributes": np.array(labels.dtype.names or (), dtype=str),
        "counts": counts,
        "means": means,
        "scatters": scatters[:, *np.triu_indices(means.shape[1])],
    }
    for attribute in labels.dtype.names or ("group",):
        arrays[f"labels.{attribute}"] = labels[attribute] if labels.dtype.names else labels
    if feature_names:
        arrays["feature_names"] = np.array(feature_names)
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))  # numpy.savez would stamp the present time
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def read(path) -> tuple:
    """Labels, counts, means, scatters and feature names as written by ``write``."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise ResultError(f"there is no moments file {path}. Check the path, or make the file.") from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        version = int(arrays["version"])
        if version == FORMAT_VERSION:
            return _parts(arrays)
    except DAMAGE as error:
        raise ResultError(f"{path} is not a moments file ({error}). Make it again from the raw data.") from error
    raise ResultError(
        f"{path} has moments format {version}; this evenspan reads format {FORMAT_VERSION}. Make the file again "
        "from the raw data, or use the version that wrote it."
    )


#: What zipfile, zlib and numpy raise on files that are cut short, altered or something else altogether.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    EOFError,
    AttributeError,
    TypeError,
    RuntimeError,
    OSError,
)


def _parts(arrays: dict[str, np.ndarray]) -> tuple:
    names = arrays["attributes"].tolist()
    columns = [arrays[f"labels.{name}"] for name in names or ["group"]]
    labels = columns[0]
    if names:
        labels = np.empty(len(labels), dtype=[(name, c.dtype) for name, c in zip(names, columns, strict=True)])
        for name, column in zip(names, columns, strict=True):
            labels[name] = column
    counts, means, triangles = arrays["counts"], arrays["means"], arrays["scatters"]
    G, d = means.shape
    rows, columns = np.triu_indices(d)
    if labels.shape != (G,) or counts.shape != (G,) or triangles.shape != (G, len(rows)):
        raise ValueError("its arrays do not fit together")
    scatters = np.zeros((G, d, d))
    scatters[:, rows, columns] = scatters[:, columns, rows] = triangles
    feature_names = tuple(arrays["feature_names"].tolist()) if "feature_names" in arrays else None
    return labels, counts, means, scatters, feature_names
