"""From a name to arrays: ``load`` for a whole data set, ``load_split`` for a train and test part."""

from evenspan.core.errors import RegistryError

from . import bundled, published_splits
from .dataset import Dataset
from .jevd_tables import LOADERS as JEVD_TABLES
from .registry import Entry, entry
from .tables import LOADERS as VU_TABLES

TABLES = {**VU_TABLES, **JEVD_TABLES}

WITH_SPLITS = {
    "adult": published_splits,
    "compas": published_splits,
    "german": published_splits,
    "sklearn_diabetes": bundled,
}


def loadable() -> tuple[str, ...]:
    """Names of the data sets that ``load`` knows."""
    return (*WITH_SPLITS, *TABLES)


def load(name: str) -> Dataset:
    """One whole data set as arrays.

    Files come from the mirror or the cache; what is missing in the cache is downloaded first, and every file is
    compared with its recorded SHA-256 before it is read. Features are not standardised, except those of ``adult``,
    which were published only after z-scoring: they are the people of split 0 in the units of its training part.

    Parameters
    ----------
    name : str
        One of ``loadable()``.

    Returns
    -------
    Dataset
        With ``part="all"``.
    """
    found = _with_loader(name)
    return WITH_SPLITS[name].load(found) if name in WITH_SPLITS else TABLES[name](found)


def load_split(name: str, i: int) -> tuple[Dataset, Dataset]:
    """Train and test part of one fixed split, z-scored with the training part.

    Parameters
    ----------
    name : str
        A data set with splits: adult, compas and german (as published), sklearn_diabetes (ours, seeded).
    i : int
        Number of the split, from 0.

    Returns
    -------
    train, test : Dataset
    """
    found = _with_loader(name)
    if name not in WITH_SPLITS:
        raise RegistryError(
            f"data set {name!r} has no fixed splits; those that have are {', '.join(WITH_SPLITS)}. Use load({name!r}) "
            "and draw a split of your own."
        )
    check_split(found, i)
    return WITH_SPLITS[name].load_split(found, int(i))


def splits(name: str) -> int:
    """Number of fixed splits of a data set, 0 if there are none."""
    return entry(name).splits


def check_split(entry: Entry, i: int) -> None:
    """Raise `RegistryError` unless the data set has a split of that number."""
    if isinstance(i, bool) or i not in range(entry.splits):
        raise RegistryError(f"data set {entry.name!r} has no split {i!r}; it has splits 0 to {entry.splits - 1}.")


def _with_loader(name: str) -> Entry:
    found = entry(name)
    if name not in WITH_SPLITS and name not in TABLES:
        raise RegistryError(
            f"data set {name!r} can be fetched and verified, but has no loader yet. Data sets with a loader: "
            f"{', '.join(loadable())}."
        )
    return found
