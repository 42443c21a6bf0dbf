"""The stand-in for the LFW faces of Vu et al. (2022): as many women as men, drawn with a recorded seed."""

import numpy as np

from evenspan.core.errors import DataError

from .dataset import Dataset
from .fetch import fetch_file
from .registry import Entry

SEED = 2022
PER_GROUP = 2000
SIDE = 24
WHITE = 255.0


def load_faces(entry: Entry) -> Dataset:
    """Grey values divided by 255 of 2,000 women and 2,000 men; the files have no label, so y repeats the group.

    This is a stand-in: the paper's own images are not public. Group 0 is drawn first, both without replacement from
    ``numpy.random.default_rng(2022)``, and the rows keep the order of the file.
    """
    with np.load(fetch_file(entry, "lfw24.npz"), allow_pickle=False) as stored:
        images, male = stored["images"], stored["male"].astype(int)
    if images.ndim != 2 or images.shape != (len(male), SIDE * SIDE):
        raise DataError(f"{entry.name}: images {images.shape}, labels {male.shape}; needed are (n, 576) and (n,).")
    rng = np.random.default_rng(SEED)
    drawn = [rng.choice(np.flatnonzero(male == group), PER_GROUP, replace=False) for group in (0, 1)]
    rows = np.sort(np.concatenate(drawn))
    names = tuple(f"pixel_{row:02d}_{column:02d}" for row in range(SIDE) for column in range(SIDE))
    return Dataset(entry.name, images[rows] / WHITE, male[rows].copy(), male[rows], names)
