"""CelebA, for those who have obtained it: its own folder layout read into rows of pixels and one attribute.

The images are licensed for non-commercial research and are not part of this project; nothing here downloads them.
"""

import csv
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import ConfigurationError, DataError, FetchError
from .dataset import Dataset

PARTITIONS = {"train": 0, "validation": 1, "test": 2}
WHITE = 255.0
#: Folders below the given one in which the distribution and its copies keep the lists, and the images.
LIST_FOLDERS = (".", "Anno", "Eval")
IMAGE_FOLDERS = ("img_align_celeba", "Img/img_align_celeba", "img_align_celeba/img_align_celeba")

Unreadable = Literal["error", "skip"]


class UnreadableImagesWarning(UserWarning):
    """Some images were left out because they are missing or damaged."""


def load_celeba(
    folder,
    attribute: str = "Eyeglasses",
    size: tuple[int, int] = (50, 50),
    *,
    grey: bool = True,
    partition: str = "train",
    limit: int | None = None,
    on_unreadable: Unreadable = "error",
) -> Dataset:
    """Images of one part of CelebA as rows of pixel values between 0 and 1, with one attribute as the group.

    Parameters
    ----------
    folder : str or Path
        Holds ``img_align_celeba/*.jpg``, ``list_attr_celeba.txt`` and ``list_eval_partition.txt`` (or ``.csv``); the
        folders ``Img``, ``Anno`` and ``Eval`` of the distribution are looked into as well.
    attribute : str
        One of the 40 attributes; group 1 are the images that have it.
    size : tuple of int
        Height and width to which every image is shrunk.
    grey : bool
        One grey value for each pixel; otherwise red, green and blue, pixel after pixel.
    partition : {"train", "validation", "test", "all"}
        The official parts.
    limit : int, optional
        Only so many images, the first of the part.
    on_unreadable : {"error", "skip"}
        "skip" leaves missing and damaged images out and says in a warning how many and which.

    Returns
    -------
    Dataset
        The label repeats the group. All pixels are held at once: 3.2 GB for the full training part at 50 x 50. For
        less, give the moments ``celeba_batches``.
    """
    parts = list(
        celeba_batches(
            folder, attribute, size, grey=grey, partition=partition, limit=limit, on_unreadable=on_unreadable
        )
    )
    groups = np.concatenate([part[1] for part in parts])
    name = "celeba" if partition == "all" else f"celeba ({partition})"
    return Dataset(name, np.vstack([part[0] for part in parts]), groups.copy(), groups, pixel_names(size, grey))


def celeba_batches(
    folder,
    attribute: str = "Eyeglasses",
    size: tuple[int, int] = (50, 50),
    *,
    grey: bool = True,
    partition: str = "train",
    limit: int | None = None,
    on_unreadable: Unreadable = "error",
    batch_size: int = 1024,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same images batch by batch, as ``GroupMoments.from_batches`` takes them.

    Parameters
    ----------
    folder, attribute, size, grey, partition, limit, on_unreadable
        As in ``load_celeba``.
    batch_size : int
        Images held at once.

    Yields
    ------
    X : ndarray of shape (b, height * width), or three times as many columns without ``grey``
    groups : ndarray of shape (b,)
        1 where the attribute is present, 0 elsewhere.
    """
    _check(size, limit, on_unreadable, batch_size)
    image = _pillow()
    images, chosen = image_folder(folder), _chosen(Path(folder), attribute, partition)
    chosen = chosen if limit is None else chosen[:limit]
    left_out, given = [], 0
    rest = iter(chosen)
    while batch := list(islice(rest, batch_size)):
        rows, groups = [], []
        for name, group in batch:
            try:
                rows.append(_pixels(image, images / name, size, grey))
            except DataError:
                if on_unreadable == "error":
                    raise
                left_out.append(name)
            else:
                groups.append(group)
        if rows:
            given += len(rows)
            yield np.array(rows), np.array(groups)
    if not given:
        raise DataError(f"none of {len(chosen)} image(s) in {images} can be read, the first is {chosen[0][0]}.")
    if left_out:
        shown = ", ".join(left_out[:5]) + (", ..." if len(left_out) > 5 else "")
        warnings.warn(
            f"{len(left_out)} of {len(chosen)} images in {images} are missing or damaged and were left out: {shown}.",
            UnreadableImagesWarning,
            stacklevel=2,
        )


def celeba_attributes(folder) -> tuple[str, ...]:
    """Names of the attributes in the list of the folder."""
    return tuple(_attribute_table(Path(folder))[0])


def image_folder(folder) -> Path:
    """Where the aligned images are; ``FetchError`` where there are none."""
    folder = Path(folder)
    for place in reversed(IMAGE_FOLDERS):  # a nested copy before the folder around it
        if (folder / place).is_dir():
            return folder / place
    what = f"it has no folder {IMAGE_FOLDERS[0]}" if folder.is_dir() else "it does not exist"
    raise FetchError(
        f"{folder}: {what}. CelebA is handed out by its authors for non-commercial research; unpack the aligned images "
        f"to {folder / IMAGE_FOLDERS[0]} and put list_attr_celeba.txt and list_eval_partition.txt beside that folder."
    )


def pixel_names(size: tuple[int, int], grey: bool = True) -> tuple[str, ...]:
    """Names of the columns: ``pixel_00_07``, followed by ``_red``, ``_green``, ``_blue`` for coloured images."""
    colours = ("",) if grey else ("_red", "_green", "_blue")
    return tuple(f"pixel_{r:02d}_{c:02d}{colour}" for r in range(size[0]) for c in range(size[1]) for colour in colours)


def _chosen(folder: Path, attribute: str, partition: str) -> list[tuple[str, int]]:
    """File name and group of the images of a part, in the order of the list of attributes."""
    names, table = _attribute_table(folder)
    if attribute not in names:
        raise ConfigurationError(f"attribute={attribute!r}; the list has {', '.join(names)}.")
    if partition not in (*PARTITIONS, "all"):
        raise ConfigurationError(f"partition={partition!r}; needed is one of {', '.join(PARTITIONS)}, all.")
    place = names.index(attribute)
    groups = {name: _sign(name, values[place]) for name, values in table.items()}
    if partition != "all":
        parts = _partition_table(folder)
        if missing := [name for name in groups if name not in parts]:
            raise DataError(
                f"{len(missing)} image(s) of the list of attributes are not in the list of partitions, the first is "
                f"{missing[0]}. Take both lists from the same distribution."
            )
        groups = {name: group for name, group in groups.items() if parts[name] == PARTITIONS[partition]}
    if not groups:
        raise DataError(f"{folder}: the lists name no image of the part {partition!r}.")
    return list(groups.items())


def _attribute_table(folder: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Attribute names, and the values of every image; the text begins with a count, the CSV with its columns."""
    path, lines = _list(folder, "list_attr_celeba")
    if path.suffix == ".txt":
        if len(lines) < 2 or len(lines[0]) != 1 or not lines[0][0].isdigit():
            raise DataError(f"{path}: the first line must be the number of images, the second the attributes.")
        count, names, rows = int(lines[0][0]), lines[1], lines[2:]
        if count != len(rows):
            raise DataError(f"{path} announces {count} images and lists {len(rows)}. Get the whole file again.")
    else:
        names, rows = lines[0][1:], lines[1:]
    for row in rows:
        if len(row) != len(names) + 1:
            raise DataError(f"{path}: {row[0]} has {len(row) - 1} values for {len(names)} attributes.")
    return names, {row[0]: row[1:] for row in rows}


def _partition_table(folder: Path) -> dict[str, int]:
    path, lines = _list(folder, "list_eval_partition")
    rows = lines[1:] if path.suffix == ".csv" else lines
    for row in rows:
        if len(row) != 2 or row[1] not in ("0", "1", "2"):
            raise DataError(f"{path}: the line {' '.join(row)!r} is not the name of an image and 0, 1 or 2.")
    return {name: int(part) for name, part in rows}


def _list(folder: Path, stem: str) -> tuple[Path, list[list[str]]]:
    """Path and lines, split into fields, of a list as text or CSV; empty lines are left out."""
    image_folder(folder)  # says what is missing if this is no CelebA at all
    for path in (folder / place / f"{stem}{ending}" for place in LIST_FOLDERS for ending in (".txt", ".csv")):
        if path.is_file():
            text = path.read_text(encoding="utf-8").splitlines()
            lines = [line.split() for line in text] if path.suffix == ".txt" else list(csv.reader(text))
            lines = [line for line in lines if line]
            if not lines:
                raise DataError(f"{path} is empty. Get it again.")
            return path, lines
    raise FetchError(f"{folder} has neither {stem}.txt nor {stem}.csv. It belongs to the distribution; put it there.")


def _sign(name: str, value: str) -> int:
    if value not in ("1", "-1", "0"):
        raise DataError(f"the attribute of {name} is {value!r}; needed is 1 (present), or -1 or 0 (absent).")
    return int(value == "1")


def _pixels(image, path: Path, size: tuple[int, int], grey: bool) -> np.ndarray:
    try:
        with image.open(path) as opened:
            shown = opened.convert("L" if grey else "RGB").resize((size[1], size[0]), image.Resampling.BOX)
    except FileNotFoundError as error:
        raise DataError(
            f"{path} is in the lists but not in the folder. Unpack all images, or on_unreadable='skip'."
        ) from error
    except (OSError, SyntaxError) as error:  # what Pillow raises for damaged and truncated files
        raise DataError(
            f"{path} cannot be read ({error}). Get it again, or leave it out: on_unreadable='skip'."
        ) from error
    return np.asarray(shown, dtype=np.float64).ravel() / WHITE


def _pillow():
    try:
        from PIL import Image
    except ImportError as error:
        raise ConfigurationError(
            "reading images needs Pillow, which is not installed: pip install 'evenspan[experiments]'."
        ) from error
    return Image


def _check(size, limit, on_unreadable, batch_size) -> None:
    if len(size) != 2 or min(size) < 1:
        raise ConfigurationError(f"size={size!r}; needed are a height and a width of at least 1.")
    if limit is not None and limit < 1:
        raise ConfigurationError(f"limit={limit!r}; needed is None or at least 1.")
    if on_unreadable not in ("error", "skip"):
        raise ConfigurationError(f"on_unreadable={on_unreadable!r}; needed is 'error' or 'skip'.")
    if batch_size < 1:
        raise ConfigurationError(f"batch_size={batch_size!r}; needed is at least 1.")
