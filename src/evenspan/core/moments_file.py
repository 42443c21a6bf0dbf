"""Group moments on disk: a compressed, versioned ``.npz`` without pickles, with a digest since version 2."""

import numpy as np

from . import files
from .errors import ResultError

#: Version 1 had no digest, and labels under the names of the attributes.
FORMAT_VERSION, UNDIGESTED = 2, 1
WHAT, REMEDY = "a moments file", "Make it again from the raw data."


def write(path, labels, counts, means, scatters, feature_names) -> None:
    """Write the arrays; only the upper triangles of the scatters are stored. Equal moments give equal bytes."""
    arrays = {
        "version": np.array(FORMAT_VERSION),
        "attributes": np.array(labels.dtype.names or (), dtype=str),
        "counts": counts,
        "means": means,
        "scatters": scatters[:, *np.triu_indices(means.shape[1])],
    }
    columns = [labels[name] for name in labels.dtype.names] if labels.dtype.names else [labels]
    arrays |= {f"labels.{i}": column for i, column in enumerate(columns)}  # a name may be no name of an entry
    if feature_names:
        arrays["feature_names"] = np.array(feature_names)
    files.write(path, arrays)


def read(path) -> tuple:
    """Labels, counts, means, scatters and feature names as written by ``write``."""
    arrays = files.read(path, WHAT, REMEDY, undigested=UNDIGESTED)
    with files.described(path, WHAT, REMEDY):
        version = int(arrays["version"])
        if version in (UNDIGESTED, FORMAT_VERSION):
            return _parts(arrays)
    raise ResultError(
        f"{path} has moments format {version}; this evenspan reads formats {UNDIGESTED} and {FORMAT_VERSION}. Make the "
        "file again from the raw data, or use the version that wrote it."
    )


def _parts(arrays: dict[str, np.ndarray]) -> tuple:
    names = arrays["attributes"].tolist()
    keys = names or ["group"] if int(arrays["version"]) == UNDIGESTED else range(len(names) or 1)
    columns = [arrays[f"labels.{key}"] for key in keys]
    labels = columns[0]
    if names:
        labels = np.empty(len(labels), dtype=[(name, c.dtype) for name, c in zip(names, columns, strict=True)])
        for name, column in zip(names, columns, strict=True):
            labels[name] = column
    counts, means, triangles = arrays["counts"], arrays["means"], arrays["scatters"]
    G, d = means.shape
    if G == 0 or labels.shape != (G,) or counts.shape != (G,) or triangles.shape != (G, d * (d + 1) // 2):
        raise ValueError("its arrays do not fit together")
    if any(part.dtype.kind not in "iuf" or not np.isfinite(part).all() for part in (counts, means, triangles)):
        raise ValueError("its arrays do not hold finite numbers")
    rows, columns = np.triu_indices(d)
    scatters = np.zeros((G, d, d))
    scatters[:, rows, columns] = scatters[:, columns, rows] = triangles
    feature_names = tuple(arrays["feature_names"].tolist()) if "feature_names" in arrays else None
    return labels, counts, means, scatters, feature_names
