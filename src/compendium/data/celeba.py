"""CelebA, for those who have obtained it: its own folder layout read into rows of pixels and one attribute.

The images are licensed for non-commercial research and are not part of this project; nothing here downloads them.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from evenspan.core.errors import ConfigurationError, DataError, FetchError
from evenspan.core.stream_images import WHITE, ImageFolderStream, Unreadable

from .tables import Dataset

PARTITIONS = {"train": 0, "validation": 1, "test": 2}
#: Folders below the given one in which the distribution and its copies keep the lists, and the images.
LIST_FOLDERS = (".", "Anno", "Eval")
IMAGE_FOLDERS = ("img_align_celeba", "Img/img_align_celeba", "img_align_celeba/img_align_celeba")


def celeba_stream(
    folder,
    attribute: str = "Eyeglasses",
    size: tuple[int, int] | None = None,
    *,
    grey: bool = False,
    partition: str = "train",
    limit: int | None = None,
    scale: Literal["unit", "signed"] = "signed",
    on_unreadable: Unreadable = "error",
    batch_size: int = 256,
) -> ImageFolderStream:
    """Images of one part of CelebA with one attribute as the group, in float32, as often as a method needs them.

    Unless told otherwise it is the data of Lee et al. (2023): colour, the original 218 x 178 pixels, hence 116,412
    numbers in a row, scaled to lie between -1 and 1, in the order of the list.

    Parameters
    ----------
    folder : str or Path
        Holds ``img_align_celeba/*.jpg``, ``list_attr_celeba.txt`` and ``list_eval_partition.txt`` (or ``.csv``); the
        folders ``Img``, ``Anno`` and ``Eval`` of the distribution are looked into as well.
    attribute : str
        One of the 40 attributes; group 1 are the images that have it, group 0 those without.
    size : tuple of int or None
        Height and width to which every image is shrunk; None keeps the 218 x 178 pixels of the distribution.
    grey : bool
        One grey value for each pixel; otherwise red, green and blue, pixel after pixel.
    partition : {"train", "validation", "test", "all"}
        The official parts.
    limit : int, optional
        Only so many images, the first of the part.
    scale : {"signed", "unit"}
        Values from -1 to 1, or from 0 to 1.
    on_unreadable : {"error", "skip"}
        "skip" leaves missing and damaged images out and says in a warning how many and which.
    batch_size : int
        Images held at once.
    """
    if limit is not None and limit < 1:
        raise ConfigurationError(f"limit={limit!r}; needed is None or at least 1.")
    images, chosen = image_folder(folder), _chosen(Path(folder), attribute, partition)
    return ImageFolderStream(
        images,
        dict(chosen[:limit]),
        size=size,
        grey=grey,
        scale=scale,
        batch_size=batch_size,
        on_unreadable=on_unreadable,
    )


def celeba_batches(
    folder, attribute="Eyeglasses", size=(50, 50), *, grey=True, batch_size=1024, **part
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The images batch by batch, as ``GroupMoments.from_batches`` takes them: values from 0 to 1 in double precision.

    ``part`` are ``partition``, ``limit`` and ``on_unreadable``; all parameters mean what they do in ``celeba_stream``.
    """
    return _doubles(celeba_stream(folder, attribute, size, grey=grey, batch_size=batch_size, **part))


def load_celeba(folder, attribute="Eyeglasses", size=(50, 50), *, grey=True, partition="train", **part) -> Dataset:
    """The images at once, values from 0 to 1 in double precision; the label repeats the group.

    ``part`` are ``limit`` and ``on_unreadable``; all parameters mean what they do in ``celeba_stream``. All pixels are
    held: 3.2 GB for the full training part at 50 x 50. For less, give the moments ``celeba_batches``.
    """
    stream = celeba_stream(folder, attribute, size, grey=grey, partition=partition, **part)
    blocks = list(_doubles(stream))
    groups = np.concatenate([z for _, z in blocks])
    name = "celeba" if partition == "all" else f"celeba ({partition})"
    (height, width), colours = stream.image_size, ("",) if grey else ("_red", "_green", "_blue")
    names = [f"pixel_{r:02d}_{c:02d}{colour}" for r in range(height) for c in range(width) for colour in colours]
    return Dataset(name, np.vstack([X for X, _ in blocks]), groups.copy(), groups, tuple(names))


def _doubles(stream: ImageFolderStream) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return ((rows / WHITE, groups) for rows, groups in stream.pixels())


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
