"""Two sets of activities in UCI's own layouts, for those who have obtained them: HAR (240), Daily and Sports (256).

Neither is part of this project's registry; nothing here downloads them.
"""

from pathlib import Path

import numpy as np

from evenspan.core.errors import DataError, FetchError

from .fetch import place

__all__ = ["load_daily_sports", "load_har"]

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
    X : ndarray of shape (n, 561)
        Features as published.
    y : ndarray of shape (n,)
        Activity, 1 to 6.
    groups : ndarray of shape (n,)
        The person, 1 to 30.
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
    X : ndarray of shape (n, 5625)
        125 readings of 45 sensors, one reading after the other.
    y : ndarray of shape (n,)
        Activity, 1 to 19.
    groups : ndarray of shape (n,)
        The person, 1 to 8.
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
    """A table of numbers as text; every line must have as many as the first."""
    try:
        lines = [line.split(separator) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError:
        raise FetchError(f"{path} is not there. Unpack {WHERE[name]} again.") from None
    widths = [len(line) for line in lines]
    if not lines or min(widths) != max(widths):
        raise DataError(f"{path} is empty or cut off: its lines have {sorted(set(widths))} numbers. Get it again.")
    try:
        table = np.array(lines, dtype=float)
    except ValueError as error:
        raise DataError(f"{path} holds something that is not a number ({error}). Get it again.") from error
    if not np.isfinite(table).all():
        raise DataError(f"{path} holds missing or infinite numbers. Get it again.")
    return table
