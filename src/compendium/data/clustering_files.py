"""The clustering data of Zhou, Li and Du (2024) as their files have them, and scalings of features."""

import gzip
import warnings
from pathlib import Path

import numpy as np
from scipy import io, sparse

from evenspan.core.errors import ConfigurationError, DataError, FetchError

from .fetch import fetch_file
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
    if counts.nnz and counts.data.min() < 0:
        raise DataError(f"there is a count of {counts.data.min():g}; counts of terms cannot be negative.")
    n = counts.shape[0]
    documents = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    return sparse.csr_matrix(counts @ sparse.diags(1.0 + np.log((1.0 + n) / (1.0 + documents))))


# -- files of the registry: no scaling, no choice of groups -----------------------------------------------------------


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
    membership = np.loadtxt(fetch_file(found, "k1b_correct.txt"), dtype=np.int64, ndmin=2)
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
    rows = table("har_means")
    y = rows["activity"].map({name: code for code, name in enumerate(ACTIVITIES, 1)}).to_numpy(np.int64)
    X = rows.drop(columns=["subjectId", "activity"]).to_numpy(float)
    return X, y, rows["subjectId"].to_numpy(np.int64)


# -- archives in UCI's own layouts, for those who have obtained them: nothing here downloads them ---------------------

HAR_FEATURES, HAR_ROWS, HAR_PARTS = 561, 10_299, ("train", "test")
SPORTS_ACTIVITIES, SPORTS_PEOPLE, SPORTS_SEGMENTS, SPORTS_SHAPE = 19, 8, 60, (125, 45)
WHERE = {
    "har": "the archive of Human Activity Recognition Using Smartphones, UCI Machine Learning Repository, data set 240",
    "daily_sports": "the archive of Daily and Sports Activities, UCI Machine Learning Repository, data set 256",
}


def load_har(folder, *, complete: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Human Activity Recognition Using Smartphones, training part first.

    Parameters
    ----------
    folder : str or Path
        Holds ``train`` and ``test``, each with ``X_*.txt``, ``y_*.txt`` and ``subject_*.txt``; or the folder
        ``UCI HAR Dataset`` that does.
    complete : bool
        Whether fewer or more than the 10,299 rows of the original are an error.

    Returns
    -------
    X, y, groups : ndarray of shape (n, 561), (n,) and (n,)
        Features as published; activity, 1 to 6; the person, 1 to 30.
    """
    base = _base(Path(folder), "UCI HAR Dataset", "train", "har")
    parts = []
    for part in HAR_PARTS:
        X, y, people = (_numbers(base / part / f"{stem}_{part}.txt", "har") for stem in ("X", "y", "subject"))
        if X.shape[1] != HAR_FEATURES or y.shape[1] != 1 or people.shape[1] != 1:
            columns = (X.shape[1], y.shape[1], people.shape[1])
            raise DataError(
                f"{base / part}: features, activity and person have {columns} columns; needed are "
                f"{(HAR_FEATURES, 1, 1)}. Unpack the archive again."
            )
        if not len(X) == len(y) == len(people):
            raise DataError(
                f"{base / part}: there are {len(X)} rows of features, {len(y)} activities and {len(people)} people; a "
                "file is cut off. Unpack the archive again."
            )
        parts.append((X, y[:, 0].astype(np.int64), people[:, 0].astype(np.int64)))
    X, y, people = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if complete and len(X) != HAR_ROWS:
        raise DataError(f"{base}: {len(X)} rows; the original has {HAR_ROWS}. Unpack the archive again.")
    return X, y, people


def load_daily_sports(folder, *, complete: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Daily and Sports Activities: every segment of five seconds with all its readings in one row.

    Parameters
    ----------
    folder : str or Path
        Holds ``a01`` to ``a19``, in each ``p1`` to ``p8``, in each ``s01.txt`` to ``s60.txt``; or the folder ``data``
        that does.
    complete : bool
        Whether a missing file is an error; otherwise those that are there are read.

    Returns
    -------
    X, y, groups : ndarray of shape (n, 5625), (n,) and (n,)
        125 readings of 45 sensors, one reading after the other; activity, 1 to 19; the person, 1 to 8.
    """
    base = _base(Path(folder), "data", "a01", "daily_sports")
    names = [
        (activity, person, base / f"a{activity:02d}" / f"p{person}" / f"s{segment:02d}.txt")
        for activity in range(1, SPORTS_ACTIVITIES + 1)
        for person in range(1, SPORTS_PEOPLE + 1)
        for segment in range(1, SPORTS_SEGMENTS + 1)
    ]
    there = [(activity, person, path) for activity, person, path in names if path.is_file()]
    if complete and len(there) < len(names):
        missing = next(path for _, _, path in names if not path.is_file())
        raise FetchError(
            f"{base}: {len(names) - len(there)} of {len(names)} files are not there, the first is {missing}. Unpack "
            f"{WHERE['daily_sports']} again."
        )
    if not there:
        raise FetchError(f"{base} holds no file aXX/pX/sXX.txt. Unpack {WHERE['daily_sports']} there.")
    X = np.empty((len(there), SPORTS_SHAPE[0] * SPORTS_SHAPE[1]))
    for row, (_, _, path) in zip(X, there, strict=True):
        readings = _numbers(path, "daily_sports", separator=",")
        if readings.shape != SPORTS_SHAPE:
            raise DataError(f"{path}: {readings.shape} readings; needed are {SPORTS_SHAPE}. Unpack the archive again.")
        row[:] = readings.ravel()
    return X, np.array([one[0] for one in there]), np.array([one[1] for one in there])


def _base(folder: Path, inner: str, sign: str, name: str) -> Path:
    """The folder that has ``sign`` in it: the given one, or the one that the archive makes inside it."""
    for base in (folder, folder / inner):
        if (base / sign).is_dir():
            return base
    what = f"has neither {sign} nor {inner}/{sign}" if folder.is_dir() else "does not exist"
    raise FetchError(f"{folder} {what}. Obtain {WHERE[name]}, and unpack it there.")


def _numbers(path: Path, name: str, separator: str | None = None) -> np.ndarray:
    """A table of finite numbers as text; every line must have as many as the first."""
    try:
        with warnings.catch_warnings(action="error"):  # numpy only warns of an empty file
            table = np.loadtxt(path, delimiter=separator, comments=None, ndmin=2)
    except FileNotFoundError:
        raise FetchError(f"{path} is not there. Unpack {WHERE[name]} again.") from None
    except (ValueError, UserWarning) as error:
        raise DataError(
            f"{path} is empty or cut off, or holds something that is not a number ({error}). Get it again."
        ) from error
    if not np.isfinite(table).all():
        raise DataError(f"{path} holds missing or infinite numbers. Get it again.")
    return table
