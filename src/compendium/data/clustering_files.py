"""Readers of the registry's clustering files as they are: no scaling, no choice of groups."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import io, sparse

from evenspan.core.errors import ConfigurationError, DataError

from .fetch import fetch_file
from .registry import entry

__all__ = ["read_har_means", "read_jaffe", "read_k1b", "read_mnist", "read_mnist_usps", "read_usps", "shrunk"]

ACTIVITIES = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")


def _file(name: str, place: int = 0) -> Path:
    found = entry(name)
    return fetch_file(found, found.files[place].name)


def _h5py():
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "reading MATLAB 7.3 and HDF5 files needs h5py, which is not installed: pip install 'evenspan[scale]'."
        ) from error
    return h5py


def read_jaffe() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The twelve kernels (12, 213, 213) in the authors' order, the ten people, and the seven expressions."""
    content = io.loadmat(_file("jaffe"))
    kernels = np.ascontiguousarray(np.moveaxis(content["Ks"], -1, 0))
    return kernels, content["y"].ravel().astype(np.int64), content["g"].ravel().astype(np.int64)


def read_mnist_usps() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels of 2,000 + 1,800 images (3800, 256), digits, and the source of each."""
    h5py = _h5py()
    with h5py.File(_file("mnist_usps"), "r") as content:
        parts = [np.asarray(content[name], dtype=float) for name in ("Xs", "Xt")]
        labels = [np.asarray(content[name]).ravel() for name in ("Ys", "Yt")]
    groups = np.repeat(["MNIST", "USPS"], [len(part) for part in parts])
    return np.vstack(parts), np.concatenate(labels).astype(np.int64) - 1, groups  # 1 stands for the digit 0


def read_usps() -> tuple[np.ndarray, np.ndarray]:
    """All images of USPS, training part first (9298, 256), and their digits."""
    h5py = _h5py()
    with h5py.File(_file("usps"), "r") as content:
        X = [np.asarray(content[part]["data"], dtype=float) for part in ("train", "test")]
        y = [np.asarray(content[part]["target"], dtype=np.int64) for part in ("train", "test")]
    return np.vstack(X), np.concatenate(y)


def read_mnist(side: int = 28) -> tuple[np.ndarray, np.ndarray]:
    """The test images of MNIST (10000, side^2) between 0 and 1, shrunk to ``side`` x ``side``, and their digits."""
    images, digits = (_idx(_file("mnist", place)) for place in (0, 1))
    images = images.astype(float) / 255.0
    return shrunk(images, side).reshape(len(images), -1), digits.astype(np.int64)


def shrunk(images: np.ndarray, side: int) -> np.ndarray:
    """Square images (n, s, s) at a smaller side: every new pixel is the mean of the area it covers."""
    old = images.shape[1]
    if not 1 <= side <= old:
        raise ConfigurationError(f"side={side}; images of {old} x {old} pixels can be shrunk to 1 to {old}.")
    edges = np.arange(side + 1) * old / side
    low, high = edges[:-1, None], edges[1:, None]
    share = np.clip(np.minimum(high, np.arange(1, old + 1)) - np.maximum(low, np.arange(old)), 0.0, None)
    share *= side / old
    return share @ images @ share.T


def _idx(path: Path) -> np.ndarray:
    """An IDX file of unsigned bytes: the third byte of the head is the type, the fourth the number of axes."""
    content = gzip.decompress(path.read_bytes())
    axes = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=axes, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape)


def read_k1b() -> tuple[sparse.csr_matrix, np.ndarray]:
    """Counts of terms (2340, 21839), and the subject of each document, 0 to 5."""
    found = entry("k1b")
    counts = parse_counts(fetch_file(found, "sparse_k1b.txt").read_text().splitlines())
    membership = np.array(
        [line.split() for line in fetch_file(found, "k1b_correct.txt").read_text().splitlines() if line.strip()],
        dtype=np.int64,
    )
    if membership.shape[1] != counts.shape[0] or not (membership.sum(axis=0) == 1).all():
        raise DataError(f"k1b: {counts.shape[0]} documents, but their subjects are a table of {membership.shape}.")
    return counts, membership.argmax(axis=0)


def parse_counts(lines: list[str]) -> sparse.csr_matrix:
    """A sparse matrix from text: its size, then for each row the number of entries and pairs of column and count."""
    n, d = (int(number) for number in lines[0].split())
    rows = [np.array(line.split(), dtype=np.int64) for line in lines[1:] if line.strip()]
    if len(rows) != n:
        raise DataError(f"the first line announces {n} rows, but {len(rows)} follow. Get the whole file again.")
    for place, row in enumerate(rows, 1):
        if len(row) != 1 + 2 * row[0]:
            raise DataError(f"row {place} announces {row[0]} entries and has {(len(row) - 1) / 2:g}.")
    sizes = [int(row[0]) for row in rows]
    columns = np.concatenate([row[1::2] for row in rows])
    values = np.concatenate([row[2::2] for row in rows]).astype(float)
    if len(columns) and not 0 <= columns.min() <= columns.max() < d:
        raise DataError(f"the columns run from {columns.min()} to {columns.max()}; needed is 0 to {d - 1}.")
    return sparse.csr_matrix((values, columns, np.concatenate([[0], np.cumsum(sizes)])), shape=(n, d))


def read_har_means() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """66 averages for each person and activity (180, 66), activities 1 to 6 in UCI's order, and the people."""
    table = pd.read_csv(_file("har_means"))
    y = table["activity"].map({name: code for code, name in enumerate(ACTIVITIES, 1)}).to_numpy(np.int64)
    X = table.drop(columns=["subjectId", "activity"]).to_numpy(float)
    return X, y, table["subjectId"].to_numpy(np.int64)
