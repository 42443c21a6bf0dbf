"""From a name to arrays: every table that can be loaded, by the paper that it is of.

``LOADERS``, at the end, lists them. Rows whose licence allows it are in ``data/tables``; others are read from their raw
files (:mod:`.raw`), which come verified (:mod:`.fetch`).
"""

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

import evenspan
from evenspan.core.errors import ConfigurationError, DataError

from .. import paths
from ..errors import RegistryError, did_you_mean
from . import raw
from .fetch import raw_file
from .raw import GROUP, LABEL, LSAC, RFPCA
from .registry import Entry, entry


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, label and groups of one sample."""

    name: str  #: in the registry, or that of the generator
    X: np.ndarray = field(repr=False)  #: features (n, d), float64
    y: np.ndarray = field(repr=False)  #: label (n,)
    groups: np.ndarray = field(repr=False)  #: value of the sensitive attribute (n,)
    feature_names: tuple[str, ...]  #: of the d features
    part: str = "all"  #: or "train" or "test" of a split
    split: int | None = None  #: number of the split, None if the data are not split

    def __post_init__(self):
        n, d = self.X.shape
        if self.y.shape != (n,) or self.groups.shape != (n,) or len(self.feature_names) != d:
            raise DataError(
                f"{self.name}: X is {self.X.shape}, y {self.y.shape}, groups {self.groups.shape}, and there are "
                f"{len(self.feature_names)} feature names; needed are (n, d), (n,), (n,) and d."
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]


def loadable() -> tuple[str, ...]:
    """Names of the data sets that ``load`` knows."""
    return tuple(LOADERS)


def load(name: str, groups: str = "", target: str = "") -> Dataset:
    """One whole data set (one of ``loadable()``), not standardised; or a CSV file of one's own (``own_table``).

    What is not in ``data/tables`` is read from the mirror or the cache, and downloaded first if it is missing there."""
    if Path(name).suffix == ".csv":
        return own_table(name, groups, target or None)
    found = with_loader(name)
    if groups or target:
        raise ConfigurationError(f"{name} has its groups and label; leave out groups={groups!r} and target={target!r}.")
    return LOADERS[name](found)


def with_loader(name: str) -> Entry:
    """The registry's entry of a data set that can be loaded."""
    found = entry(name)
    if name not in LOADERS:
        raise RegistryError(f"data set {name!r} is no table of people; the tables are {', '.join(LOADERS)}.")
    return found


def table(name: str) -> pd.DataFrame:
    """The rows of a table as its publisher has them: all columns, whole numbers, decimal numbers and text."""
    found = entry(name)
    if not found.shipped:
        return raw.read(name)
    path = paths.data("tables", f"{name}.parquet")
    content = path.read_bytes() if path.is_file() else b""
    if (seen := hashlib.sha256(content).hexdigest()) != found.shipped.sha256:
        raise DataError(f"{path} has SHA-256 {seen}; needed is {found.shipped.sha256}. Restore it from the repository.")
    return _rows(content).copy()


@lru_cache(maxsize=4)
def _rows(content: bytes) -> pd.DataFrame:
    rows = pq.read_table(io.BytesIO(content)).to_pandas()
    numbers = rows.select_dtypes(["number", "bool"]).dtypes
    return rows.astype({name: "float64" if kind.kind == "f" else "int64" for name, kind in numbers.items()})


def own_table(path: str, groups: str, target: str | None = None) -> Dataset:
    """A CSV file with a column of ``groups``, and perhaps one with a ``target`` of two values, 0 and 1 in their order.

    Every other column of text becomes one column for each of its values. Without a target the groups stand in for it.
    """
    named = {"groups": groups} | ({} if target is None else {"target": target})
    table = read_own(path, **named)
    X = evenspan.TableEncoder(standardize=False).fit_transform(table.drop(columns=list(named.values())))
    labels = table[groups].to_numpy()
    if target is None:
        return Dataset(Path(path).stem, X.to_numpy(float), labels, labels, tuple(X.columns))
    values = np.unique(table[target])
    if len(values) != 2:
        raise ConfigurationError(f"{path}: the column {target} has {len(values)} values; a target needs two.")
    y = (table[target] == values[1]).to_numpy(int)
    return Dataset(Path(path).stem, X.to_numpy(float), y, labels, tuple(X.columns))


def of_two_groups(found: Dataset) -> Dataset:
    """The data set, if it has two groups."""
    if (number := len(np.unique(found.groups))) != 2:
        raise ConfigurationError(f"{found.name} has {number} groups; needed are two. Take another data set or column.")
    return found


def read_own(path: str, **named: str) -> pd.DataFrame:
    """A CSV file of one's own; the columns which parameters of a notebook name are there, with a value in every row."""
    try:
        table = pd.read_csv(paths.resolve_user_path(path))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"dataset={path!r} cannot be read ({error}). Give the path of a CSV file.") from error
    for parameter, column in named.items():
        if column not in table:
            near = did_you_mean(column, table) or "Name one of these."
            known = ", ".join(map(repr, table))
            raise ConfigurationError(f"{parameter}={column!r}; {path} has the columns {known}. {near}")
    if table.empty:
        raise ConfigurationError(f"{path} has no rows. Give a table with some.")
    for column in named.values():
        if table[column].isna().any():
            raise ConfigurationError(f"{path}: the column {column} has cells without a value. Leave out their rows.")
    return table


# -- the published splits of fair manifold PCA, and what scikit-learn brings along ------------------------------------

#: In the ten splits that were published with the code of fair manifold PCA.
PUBLISHED = ("adult", "compas", "german")


def load_published(found: Entry) -> Dataset:
    """All people, before standardisation."""
    if found.shipped:
        rows = table(found.name)
        return _dataset(found, rows[list(found.feature_names)], rows[LABEL], rows[GROUP])
    return from_files(found, "full.csv")


def from_files(found: Entry, file: str, **which) -> Dataset:
    """The rows of a file of the published splits, which has no header: features, label, group."""
    rows = raw.columns(found, file)
    X, y, groups = np.ascontiguousarray(rows[:, :-2]), rows[:, -2].astype(int), rows[:, -1].astype(int)
    return Dataset(found.name, X, y, groups, found.feature_names, **which)


def load_bundled(found: Entry) -> Dataset:
    """The diabetes data of scikit-learn: unscaled, without sex, which is the group.

    y = 1 for a progression above its median."""
    rows = table(found.name)
    y = (rows["target"] > rows["target"].median()).astype(int)
    return _dataset(found, rows.drop(columns=["sex", "target"]), y, rows["sex"])


# -- Vu et al. (2022) -------------------------------------------------------------------------------------------------

#: The faces that stand in for theirs: how many of each group are drawn, with which seed, and height and width.
FACES_PER_GROUP, FACES_SEED, FACES_SIDE = 2000, 2022, 24


def load_rfpca(found: Entry) -> Dataset:
    """A table of Vu et al. (2022): last column the group, second to last the target, constant columns dropped."""
    rows = table(found.name)
    features = rows.iloc[:, :-2].rename(columns=lambda column: column.strip('"'))
    features = features.loc[:, features.nunique() > 1]
    if found.name == "steel":
        # the authors' loader leaves these two out, and only then is d the one in their Table 2
        features = features.drop(columns=["perimX", "perimY"])
    return _dataset(found, features, rows.iloc[:, -2].astype(int), rows.iloc[:, -1].astype(int))


def load_faces(found: Entry) -> Dataset:
    """A stand-in for their LFW faces: grey values divided by 255 of 2,000 women and 2,000 men; y repeats the group.

    Group 0 is drawn first, by ``numpy.random.default_rng(2022)``; the rows keep the order of the file."""
    with np.load(raw_file(found, "lfw24.npz"), allow_pickle=False) as stored:
        images, male = stored["images"], stored["male"].astype(int)
    side = FACES_SIDE
    rng = np.random.default_rng(FACES_SEED)
    drawn = [rng.choice(np.flatnonzero(male == group), FACES_PER_GROUP, replace=False) for group in (0, 1)]
    rows = np.sort(np.concatenate(drawn))
    names = tuple(f"pixel_{row:02d}_{column:02d}" for row in range(side) for column in range(side))
    return Dataset(found.name, images[rows] / 255.0, male[rows].copy(), male[rows], names)


# -- for the comparison with reductions -------------------------------------------------------------------------------


def load_adult_uci(found: Entry) -> Dataset:
    """The original Adult files together, sex and income removed, "?" kept as a level; y = 1 for income above 50K."""
    rows = table(found.name)
    y = rows["income"].str.startswith(">50K").astype(int)
    return _dataset(found, _one_hot(rows.drop(columns=["sex", "income"])), y, rows["sex"].to_numpy(str))


def load_bank_marketing(found: Entry) -> Dataset:
    """Bank Marketing, age and subscription removed; groups: 1 for people older than 40."""
    rows = table(found.name)
    features = _one_hot(rows.drop(columns=["age", "y"]))
    return _dataset(found, features, (rows["y"] == "yes").astype(int), (rows["age"] > 40).astype(int))


def _one_hot(features: pd.DataFrame) -> pd.DataFrame:
    return pd.get_dummies(features, drop_first=True, dtype=float)


# -- Rathore and Manwani (2025): raw values, every column a feature, the sensitive one among them ----------------------

OBESITY_NUMBERS = ("Age", "Height", "Weight", "FCVC", "NCP", "CH2O", "FAF", "TUE")


def load_diabetes_health(found: Entry) -> Dataset:
    """Diabetes Health Indicators: 21 answers with Sex; y = 1 for diabetes or prediabetes."""
    rows = table(found.name)
    return _dataset(found, rows.drop(columns="Diabetes_binary"), rows["Diabetes_binary"], rows["Sex"])


def load_npha(found: Entry) -> Dataset:
    """NPHA: all 15 codes; y = the code of the number of doctors visited, which is the first feature too."""
    rows = table(found.name)
    return _dataset(found, rows, rows["Number of Doctors Visited"], rows["Gender"])


def load_obesity(found: Entry) -> Dataset:
    """Obesity levels: every text column one-hot without dropping a level, 38 columns; y = 1 for three of the levels."""
    rows = table(found.name)
    numbers, words = rows[list(OBESITY_NUMBERS)], rows.drop(columns=list(OBESITY_NUMBERS))
    features = pd.concat([numbers, pd.get_dummies(words, dtype=float)], axis=1)
    return _dataset(found, features, words["NObeyesdad"].str.startswith("Obesity").astype(int), words["Gender"])


def load_lsac(found: Entry) -> Dataset:
    """One of the LSAC tables: 12 columns; y = bar passed (``lsac_clean``, ``lsac_bw``: at first), a feature too."""
    rows = table(found.name)
    return _dataset(found, rows, rows["pass_bar"], rows["sex" if "sex" in rows else "male"].astype(int))


def _dataset(found: Entry, features: pd.DataFrame, y: ArrayLike, groups: ArrayLike) -> Dataset:
    X = np.ascontiguousarray(features.to_numpy(float))
    return Dataset(found.name, X, np.asarray(y), np.asarray(groups), tuple(map(str, features.columns)))


LOADERS: dict[str, Callable[[Entry], Dataset]] = {
    **dict.fromkeys(PUBLISHED, load_published),
    "sklearn_diabetes": load_bundled,
    **dict.fromkeys(RFPCA, load_rfpca),
    "adult_uci": load_adult_uci,
    "bank_marketing": load_bank_marketing,
    "lfw_24x24": load_faces,
    "diabetes": load_diabetes_health,
    "npha": load_npha,
    "obesity": load_obesity,
    **dict.fromkeys(LSAC, load_lsac),
}
