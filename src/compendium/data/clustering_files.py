"""The clustering data of Zhou, Li and Du (2024) as their files have them, and scalings of features."""

import gzip
from pathlib import Path

import numpy as np
from scipy import io, sparse

from evenspan.core.errors import DataError

from ..errors import FetchError
from .fetch import raw_file
from .registry import entry
from .tables import table

ACTIVITIES = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")

# -- scalings ---------------------------------------------------------------------------------------------------------


def unit_rows(X):
    """Every row divided by its length; a row of zeros stays one."""
    if sparse.issparse(X):
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.csr_matrix(sparse.diags(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ X)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0.0, lengths, 1.0)


def standardised(X: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and standard deviation 1; a constant column becomes 0."""
    deviations = X.std(axis=0)
    constant = deviations <= np.abs(X).max(axis=0) * len(X) * np.finfo(float).eps
    return np.where(constant, 0.0, (X - X.mean(axis=0)) / np.where(constant, 1.0, deviations))


def min_max(X: np.ndarray) -> np.ndarray:
    """Every column between 0 and 1; a constant column becomes 0."""
    low, spread = X.min(axis=0), np.ptp(X, axis=0)
    return (X - low) / np.where(spread > 0.0, spread, 1.0)


def tf_idf(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """Counts times ``1 + log((1 + n) / (1 + df))``, with df the number of rows that have the term."""
    n = counts.shape[0]
    documents = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    return sparse.csr_matrix(counts @ sparse.diags(1.0 + np.log((1.0 + n) / (1.0 + documents))))


# -- files of the registry: no scaling, no choice of groups -----------------------------------------------------------


def _file(name: str, place: int = 0) -> Path:
    found = entry(name)
    return raw_file(found, found.files[place].name)


def read_jaffe() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The twelve kernels (12, 213, 213) in the authors' order, the ten people, and the seven expressions."""
    content = io.loadmat(_file("jaffe"))
    kernels = np.ascontiguousarray(np.moveaxis(content["Ks"], -1, 0))
    return kernels, content["y"].ravel().astype(np.int64), content["g"].ravel().astype(np.int64)


def read_mnist_usps() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels of 2,000 + 1,800 images (3800, 256), digits, and the source of each."""
    import h5py  # of the extra "scale"

    with h5py.File(_file("mnist_usps"), "r") as content:
        parts = [np.asarray(content[name], dtype=float) for name in ("Xs", "Xt")]
        labels = [np.asarray(content[name]).ravel() for name in ("Ys", "Yt")]
    groups = np.repeat(["MNIST", "USPS"], [len(part) for part in parts])
    return np.vstack(parts), np.concatenate(labels).astype(np.int64) - 1, groups  # 1 stands for the digit 0


def read_usps() -> tuple[np.ndarray, np.ndarray]:
    """All images of USPS, training part first (9298, 256), and their digits."""
    import h5py  # of the extra "scale"

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
    counts = parse_counts(raw_file(found, "sparse_k1b.txt").read_text().splitlines())
    membership = np.loadtxt(raw_file(found, "k1b_correct.txt"), dtype=np.int64, ndmin=2)
    return counts, membership.argmax(axis=0)


def parse_counts(lines: list[str]) -> sparse.csr_matrix:
    """A sparse matrix from text: its size, then for each row the number of entries and pairs of column and count."""
    n, d = (int(number) for number in lines[0].split())
    rows = [np.array(line.split(), dtype=np.int64) for line in lines[1:] if line.strip()]
    columns, values = (np.concatenate([row[first::2] for row in rows]) for first in (1, 2))
    ends = np.cumsum([0, *(int(row[0]) for row in rows)])
    return sparse.csr_matrix((values.astype(float), columns, ends), shape=(n, d))


def read_har_means() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """66 averages for each person and activity (180, 66), activities 1 to 6 in UCI's order, and the people."""
    rows = table("har_means")
    y = rows["activity"].map({name: code for code, name in enumerate(ACTIVITIES, 1)}).to_numpy(np.int64)
    X = rows.drop(columns=["subjectId", "activity"]).to_numpy(float)
    return X, y, rows["subjectId"].to_numpy(np.int64)


# -- archives in UCI's own layouts, for those who have obtained them: nothing here downloads them ---------------------

HAR_SHAPE = (10_299, 561)
SPORTS_ACTIVITIES, SPORTS_PEOPLE, SPORTS_SEGMENTS, SPORTS_SHAPE = 19, 8, 60, (125, 45)


def load_har(folder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Human Activity Recognition Using Smartphones (UCI data set 240): features as published, activities, people.

    The folder holds ``train`` and ``test``, or the folder ``UCI HAR Dataset`` that does; the training part is first."""
    base = _base(Path(folder), "UCI HAR Dataset", "train", 240)
    X, y, people = (
        np.vstack([_numbers(base / part / f"{stem}_{part}.txt") for part in ("train", "test")])
        for stem in ("X", "y", "subject")
    )
    if X.shape != HAR_SHAPE or not len(X) == len(y) == len(people):
        raise DataError(
            f"{base}: {X.shape} features, {len(y)} activities and {len(people)} people; needed are {HAR_SHAPE} "
            "features. Unpack the archive again."
        )
    return X, y[:, 0].astype(np.int64), people[:, 0].astype(np.int64)


def load_daily_sports(folder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Daily and Sports Activities (UCI data set 256): each segment with its 125 x 45 readings, activities, people.

    The folder holds ``a01`` to ``a19``, in each ``p1`` to ``p8``, in each ``s01.txt`` to ``s60.txt``; or it is inside.
    """
    base = _base(Path(folder), "data", "a01", 256)
    counts = (SPORTS_ACTIVITIES, SPORTS_PEOPLE, SPORTS_SEGMENTS)
    places = np.indices(counts).reshape(3, -1).T + 1
    X = np.empty((len(places), SPORTS_SHAPE[0] * SPORTS_SHAPE[1]))
    for row, (activity, person, segment) in zip(X, places, strict=True):
        path = base / f"a{activity:02d}" / f"p{person}" / f"s{segment:02d}.txt"
        readings = _numbers(path, ",")
        if readings.shape != SPORTS_SHAPE:
            raise DataError(f"{path}: {readings.shape} readings; needed are {SPORTS_SHAPE}. Unpack the archive again.")
        row[:] = readings.ravel()
    return X, places[:, 0], places[:, 1]


def _base(folder: Path, inner: str, sign: str, number: int) -> Path:
    """The folder that has ``sign`` in it: the given one, or the one that the archive makes inside it."""
    for base in (folder, folder / inner):
        if (base / sign).is_dir():
            return base
    raise FetchError(
        f"Neither {folder / sign} nor {folder / inner / sign} is there. Obtain data set {number} of the UCI Machine "
        f"Learning Repository, and unpack it in {folder}."
    )


def _numbers(path: Path, separator: str | None = None) -> np.ndarray:
    try:
        return np.loadtxt(path, delimiter=separator, ndmin=2)
    except (OSError, ValueError) as error:
        raise FetchError(f"{path} cannot be read ({error}). Unpack the archive again.") from error
