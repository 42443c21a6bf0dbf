"""Folders of images as streams: every image one row of pixel values, read when its batch is due."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from .errors import ConfigurationError, DataError, FairWarning, GroupError
from .groups import encode_groups
from .inputs import whole_number
from .streams import Stream

WHITE = 255.0

Unreadable = Literal["error", "skip"]


class UnreadableImagesWarning(FairWarning):
    """Some images were left out because they are missing or damaged."""


class ImageFolderStream(Stream):
    """Batches of images as rows of pixels in float32: height, then width, then red, green and blue.

    Parameters
    ----------
    folder : str or Path
        Where the images are.
    groups : mapping or Series
        The group of every image to read, by its file name (relative to the folder), in the order of reading.
    size : tuple of int, optional
        Height and width to which every image is shrunk by averaging. Unless given, images keep their own resolution,
        which must then be the same for all.
    grey : bool
        One grey value for each pixel instead of three colours.
    scale : {"unit", "signed"}
        Values from 0 to 1, or from -1 to 1.
    batch_size : int
        Images held at once.
    on_unreadable : {"error", "skip"}
        "skip" leaves missing and damaged images out, and those of more pixels than Pillow opens (178 million unless
        told otherwise), and says in a warning after every pass how many and which.

    Attributes
    ----------
    n_unreadable : int
        Images left out in the last whole pass.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.png", "b.png"):
    ...         Image.new("RGB", (4, 2)).save(Path(folder, name))
    ...     stream = ImageFolderStream(folder, {"a.png": "f", "b.png": "m"}, grey=True)
    ...     [(X.shape, list(groups)) for X, groups in stream]
    [((2, 8), ['f', 'm'])]
    """

    def __init__(
        self,
        folder,
        groups,
        *,
        size: tuple[int, int] | None = None,
        grey: bool = False,
        scale: Literal["unit", "signed"] = "unit",
        batch_size: int = 256,
        on_unreadable: Unreadable = "error",
    ):
        if size is not None and (len(size) != 2 or min(size) < 1):
            raise ConfigurationError(f"size={size!r}; needed are a height and a width of at least 1.")
        if scale not in ("unit", "signed"):
            raise ConfigurationError(f"scale={scale!r}; needed is 'unit' (0 to 1) or 'signed' (-1 to 1).")
        if on_unreadable not in ("error", "skip"):
            raise ConfigurationError(f"on_unreadable={on_unreadable!r}; needed is 'error' or 'skip'.")
        self.batch_size = whole_number("batch_size", batch_size, 1)
        self.folder, self.size, self.grey, self.scale = Path(folder), size, grey, scale
        self.on_unreadable = on_unreadable
        self._image = _pillow()
        if not self.folder.is_dir():
            raise DataError(f"{self.folder} is no folder; needed is the one in which the images are.")
        self._names, self._labels = _names_and_labels(groups)
        self.n_unreadable = 0
        self._size = size
        self._readable = None if on_unreadable == "skip" else len(self._names)

    @property
    def n_rows(self) -> int | None:
        """Number of images; None while it is not known how many are left out."""
        return self._readable

    @property
    def labels(self) -> np.ndarray | None:
        """Sorted labels of all groups; None if images, and with them a group, may be left out."""
        return None if self.on_unreadable == "skip" else encode_groups(self._labels)[0]

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width; without a given size those of the first image that can be opened."""
        if self._size is None:
            for name in self._names:
                try:
                    with self._opened(self.folder / name) as opened:
                        self._size = opened.height, opened.width
                    break
                except _UnreadableError as error:
                    if self.on_unreadable == "error":
                        raise DataError(str(error)) from error.__cause__
            else:
                raise self._none_readable()
        return self._size

    @property
    def n_features(self) -> int:
        """Numbers in an image."""
        return self.image_size[0] * self.image_size[1] * (1 if self.grey else 3)

    def __iter__(self) -> Iterator[tuple]:
        """A new pass over the batches."""
        return self._from(0)

    def _from(self, start: int) -> Iterator[tuple]:
        at = 0 if self.on_unreadable == "skip" else min(start, len(self._names))
        return self._checked(self._scaled(at), start, at)

    def pixels(self, start: int = 0) -> Iterator[tuple]:
        """The batches as bytes.

        Parameters
        ----------
        start : int
            The first image, counted from 0, readable or not.

        Yields
        ------
        rows : ndarray of shape (b, d)
            Pixels from 0 to 255.
        groups : ndarray of shape (b,)
            Their groups.
        """
        d, size = self.n_features, self.image_size
        left_out, given = [], 0
        # Batches end where they do in a pass from the beginning.
        begin = start - start % self.batch_size
        for a in range(begin, len(self._names), self.batch_size):
            stop, a = a + self.batch_size, max(a, start)
            names = self._names[a:stop]
            rows, kept = np.empty((len(names), d), dtype=np.uint8), []
            for i, name in enumerate(names):
                try:
                    rows[len(kept)] = self._read(self.folder / name, size)
                except _UnreadableError as error:
                    if self.on_unreadable == "error":
                        raise DataError(str(error)) from error.__cause__
                    left_out.append(name)
                else:
                    kept.append(a + i)
            given += len(kept)
            if kept:
                yield rows[: len(kept)], self._labels[kept]
        self.n_unreadable = len(left_out)
        if left_out and not given:
            raise self._none_readable()
        self._readable = start + given
        if left_out:
            shown = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
            warnings.warn(
                f"{len(left_out)} of {len(self._names)} images in {self.folder} are missing or damaged and were left "
                f"out: {shown}.",
                UnreadableImagesWarning,
                stacklevel=2,
            )

    def _scaled(self, start: int) -> Iterator[tuple]:
        for rows, labels in self.pixels(start):
            X = rows.astype(np.float32)
            X /= np.float32(WHITE)
            if self.scale == "signed":
                X -= np.float32(0.5)
                X /= np.float32(0.5)
            yield X, labels

    def _read(self, path: Path, size: tuple[int, int]) -> np.ndarray:
        with self._opened(path) as opened:
            shown = opened.convert("L" if self.grey else "RGB")
        if self.size is not None:
            shown = shown.resize((size[1], size[0]), self._image.Resampling.BOX)
        elif (shown.height, shown.width) != size:
            raise DataError(
                f"{path} is {shown.height} x {shown.width} pixels, the first image {size[0]} x {size[1]}. Images of "
                "different sizes make rows of one length only after size=(height, width)."
            )
        return np.asarray(shown).ravel()

    @contextmanager
    def _opened(self, path: Path) -> Iterator:
        """The image at a path; what Pillow raises inside is raised as ``_UnreadableError``."""
        try:
            if path.exists() and not path.is_file():
                raise OSError("it is no file")  # and might never end
            with self._image.open(path) as opened:
                yield opened
        # Damaged and hostile files end in errors of any kind: OSError, SyntaxError, DecompressionBombError, ...
        except Exception as error:
            raise _UnreadableError(_unreadable(path, error)) from error

    def _none_readable(self) -> DataError:
        return DataError(
            f"none of {len(self._names)} image(s) in {self.folder} can be read, the first is {self._names[0]}."
        )


class _UnreadableError(DataError):
    """One image cannot be read."""


def _unreadable(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path} is listed but does not exist. Get all images, or on_unreadable='skip'."
    return f"{path} cannot be read ({error}). Get it again, or leave it out: on_unreadable='skip'."


def _names_and_labels(groups) -> tuple[list[str], np.ndarray]:
    if isinstance(groups, pd.Series):
        names, labels = [str(name) for name in groups.index], groups
    elif isinstance(groups, Mapping):
        names, labels = [str(name) for name in groups], pd.Series(list(groups.values()))
    else:
        raise GroupError(
            f"groups is a {type(groups).__name__}; needed is a mapping from file names to groups, or a Series of "
            "groups with the file names as its index."
        )
    if not names:
        raise GroupError("groups is empty; needed is the group of at least one image.")
    if (missing := labels.isna().to_numpy()).any():
        raise GroupError(
            f"{missing.sum(axis=0)} of {len(names)} images have no group, the first is "
            f"{names[np.flatnonzero(missing)[0]]}. Leave them out, or give them a group of their own."
        )
    return names, labels.to_numpy()


def _pillow():
    try:
        from PIL import Image
    except ImportError as error:
        raise ConfigurationError(
            "reading images needs Pillow, which is not installed: pip install 'evenspan[experiments]'."
        ) from error
    return Image
