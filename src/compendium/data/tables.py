"""From a name to arrays: every table that can be loaded, by the paper that it is of.

``LOADERS``, at the end, lists them. Files come verified (:mod:`.fetch`).
"""

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import evenspan
from evenspan.core.errors import ConfigurationError, DataError, RegistryError

from .fetch import fetch_file
from .registry import Entry, entry

AGAIN = "Compare the file with its origin in the registry, or correct the registry's checksum for another release."
#: Rows of a block that is read at once.
BLOCK_ROWS = 2**15


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, label and groups of one sample."""

    name: str  #: in the registry, or that of the generator
    X: np.ndarray  #: features (n, d), float64
    y: np.ndarray  #: label (n,)
    groups: np.ndarray  #: value of the sensitive attribute (n,)
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

    def __repr__(self) -> str:
        labels, counts = np.unique(self.groups, return_counts=True)
        groups = ", ".join(f"{label} ({count})" for label, count in zip(labels.tolist(), counts.tolist(), strict=True))
        where = self.part if self.split is None else f"{self.part} part of split {self.split}"
        return f"Dataset({self.name}, {where}: n={self.n}, d={self.d}, groups: {groups})"


def loadable() -> tuple[str, ...]:
    """Names of the data sets that ``load`` knows.

    >>> "compas" in loadable()
    True
    """
    return tuple(LOADERS)


def load(name: str) -> Dataset:
    """One whole data set (one of ``loadable()``) as arrays, with ``part="all"``.

    Files come from the mirror or the cache; what is missing in the cache is downloaded first, and every file is
    compared with its recorded SHA-256 before it is read. Features are not standardised, except those of ``adult``,
    which were published only after z-scoring: they are the people of split 0 in the units of its training part.
    """
    found = with_loader(name)
    return LOADERS[name](found)


def with_loader(name: str) -> Entry:
    """The registry's entry of a data set that can be loaded."""
    found = entry(name)
    if name not in LOADERS:
        raise RegistryError(
            f"data set {name!r} can be fetched and verified, but has no loader yet. Data sets with a loader: "
            f"{', '.join(LOADERS)}."
        )
    return found


def batches(name: str) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Features and groups of all rows in the order of ``load``, in blocks where the file is read in blocks.

    ``diabetes`` (253,680 rows) is read block by block, the others come as one. ``GroupMoments.from_batches`` of them
    are the moments of all rows.
    """
    if name == "diabetes":
        for block in diabetes_blocks(entry(name)):
            yield block.drop(columns="Diabetes_binary"), block["Sex"].to_numpy(int)
    else:
        data = load(name)
        yield pd.DataFrame(data.X, columns=list(data.feature_names)), data.groups


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


def read_own(path: str, **named: str) -> pd.DataFrame:
    """A CSV file of one's own; the columns which parameters of a notebook name are there, with a value in every row."""
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"dataset={path!r} cannot be read ({error}). Give the path of a CSV file.") from error
    for parameter, column in named.items():
        if column not in table:
            known = ", ".join(table)
            raise ConfigurationError(f"{parameter}={column!r}; {path} has the columns {known}. Name one of these.")
    if table.empty:
        raise ConfigurationError(f"{path} has no rows. Give a table with some.")
    for column in named.values():
        if table[column].isna().any():
            raise ConfigurationError(f"{path}: the column {column} has cells without a value. Leave out their rows.")
    return table


# -- the published splits of fair manifold PCA, and what scikit-learn brings along ------------------------------------

#: In the ten splits that were published with the code of fair manifold PCA.
PUBLISHED = ("adult", "compas", "german")


def load_published(entry: Entry) -> Dataset:
    """All people: before standardisation where that was published, otherwise both parts of split 0."""
    whole = any(file.name == "full.csv" for file in entry.files)
    return published(entry, *(["full.csv"] if whole else ["train_0.csv", "test_0.csv"]))


def published(entry: Entry, *files: str, part: str = "all", split: int | None = None) -> Dataset:
    """The rows of some of the files: features, label, group."""
    tables = []
    for file in files:
        # loadtxt rounds every decimal correctly in all versions; fast parsers may be off in the last digit
        tables.append(np.loadtxt(fetch_file(entry, file), delimiter=",", ndmin=2))
        if tables[-1].shape[1] != entry.features + 2:
            raise DataError(
                f"{entry.name}: {file} has {tables[-1].shape[1]} columns; needed are {entry.features} features, "
                "label, group."
            )
    table = np.vstack(tables)
    y, groups = table[:, -2].astype(int), table[:, -1].astype(int)
    return Dataset(entry.name, np.ascontiguousarray(table[:, :-2]), y, groups, entry.feature_names, part, split)


def load_bundled(entry: Entry) -> Dataset:
    """The diabetes data of scikit-learn, which need no download: unscaled, without sex, which is the group.

    y = 1 for a progression above its median.
    """
    from sklearn.datasets import load_diabetes  # here, so that who loads another table does not wait for scikit-learn

    bunch, sex = load_diabetes(scaled=False), 1
    digest = hashlib.sha256()
    for array in (bunch.data, bunch.target):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    if digest.hexdigest() != entry.bundled_sha256:
        raise DataError(
            f"{entry.name}: the diabetes data of this scikit-learn have SHA-256 {digest.hexdigest()}, expected is "
            f"{entry.bundled_sha256}. Install the versions in requirements.lock."
        )
    X = np.delete(bunch.data, sex, axis=1)
    names = tuple(name for j, name in enumerate(bunch.feature_names) if j != sex)
    y = (bunch.target > np.median(bunch.target)).astype(int)
    return Dataset(entry.name, X, y, bunch.data[:, sex].astype(int), names)


# -- Vu et al. (2022) -------------------------------------------------------------------------------------------------

RFPCA = (
    *("default_credit", "biodeg", "ecoli", "energy", "german_credit", "image", "letter", "magic", "parkinsons"),
    *("skillcraft", "statlog", "steel", "taiwan_credit", "wine_quality"),
)
#: The faces that stand in for theirs: how many of each group are drawn, with which seed, and height and width.
FACES_PER_GROUP, FACES_SEED, FACES_SIDE = 2000, 2022, 24


def load_rfpca(entry: Entry) -> Dataset:
    """A table of Vu et al. (2022): last column the group, second to last the target, constant columns dropped."""
    table = pd.read_csv(fetch_file(entry, entry.files[0].name))
    features = table.iloc[:, :-2]
    features = features.loc[:, features.nunique() > 1]
    if entry.name == "steel":
        # the authors' loader leaves these two out, and only then is d the one in their Table 2
        features = features.drop(columns=["perimX", "perimY"])
    y, groups = table.iloc[:, -2].to_numpy(int), table.iloc[:, -1].to_numpy(int)
    names = tuple(str(column).strip('"') for column in features.columns)
    return Dataset(entry.name, features.to_numpy(float), y, groups, names)


def load_faces(entry: Entry) -> Dataset:
    """A stand-in for their LFW faces, which are not public: grey values divided by 255 of 2,000 women and 2,000 men.

    Group 0 is drawn first, both without replacement from ``numpy.random.default_rng(2022)``, and the rows keep the
    order of the file. The files have no label, so y repeats the group.
    """
    with np.load(fetch_file(entry, "lfw24.npz"), allow_pickle=False) as stored:
        images, male = stored["images"], stored["male"].astype(int)
    side = FACES_SIDE
    if images.shape != (len(male), side * side):
        raise DataError(f"{entry.name}: images {images.shape}, labels {male.shape}; needed are (n, 576) and (n,).")
    rng = np.random.default_rng(FACES_SEED)
    drawn = [rng.choice(np.flatnonzero(male == group), FACES_PER_GROUP, replace=False) for group in (0, 1)]
    rows = np.sort(np.concatenate(drawn))
    names = tuple(f"pixel_{row:02d}_{column:02d}" for row in range(side) for column in range(side))
    return Dataset(entry.name, images[rows] / 255.0, male[rows].copy(), male[rows], names)


# -- for the comparison with reductions -------------------------------------------------------------------------------

ADULT_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)


def load_adult_uci(entry: Entry) -> Dataset:
    """The original Adult files together, sex and income removed, "?" kept as a level; y = 1 for income above 50K."""
    parts = []
    for file, skipped in (("adult.data", 0), ("adult.test", 1)):
        path = fetch_file(entry, file)
        parts.append(pd.read_csv(path, header=None, names=ADULT_COLUMNS, skiprows=skipped, skipinitialspace=True))
    table = pd.concat(parts, ignore_index=True)
    y = table["income"].str.startswith(">50K").to_numpy(int)
    return _one_hot(entry, table.drop(columns=["sex", "income"]), y, table["sex"].to_numpy(str))


def load_bank_marketing(entry: Entry) -> Dataset:
    """Bank Marketing, age and subscription removed; groups: 1 for people older than 40."""
    with zipfile.ZipFile(fetch_file(entry, "bank-additional.zip")) as archive:
        table = pd.read_csv(archive.open("bank-additional/bank-additional-full.csv"), sep=";")
    groups = (table["age"] > 40).to_numpy(int)
    return _one_hot(entry, table.drop(columns=["age", "y"]), (table["y"] == "yes").to_numpy(int), groups)


def _one_hot(entry: Entry, features: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> Dataset:
    encoded = pd.get_dummies(features, drop_first=True, dtype=float)
    return Dataset(entry.name, encoded.to_numpy(float), y, groups, tuple(encoded.columns))


# -- Rathore and Manwani (2025) ---------------------------------------------------------------------------------------
#
# Raw values, every column a feature, the sensitive one among them. That these columns and rows are the paper's was
# found by standard PCA, whose printed numbers they give to the last digit on diabetes, npha, obesity and ``lsac_bw``:
# the white and black people of ``lsac_clean``. The other three LSAC tables are what the search for it began with;
# ``lsac_arff`` reads the public file that holds the same rows.

DIABETES_COLUMNS = (
    *("Diabetes_binary", "HighBP", "HighChol", "CholCheck", "BMI", "Smoker", "Stroke", "HeartDiseaseorAttack"),
    *("PhysActivity", "Fruits", "Veggies", "HvyAlcoholConsump", "AnyHealthcare", "NoDocbcCost", "GenHlth", "MentHlth"),
    *("PhysHlth", "DiffWalk", "Sex", "Age", "Education", "Income"),
)
NPHA_COLUMNS = (
    *("Number of Doctors Visited", "Age", "Physical Health", "Mental Health", "Dental Health", "Employment"),
    *("Stress Keeps Patient from Sleeping", "Medication Keeps Patient from Sleeping"),
    *("Pain Keeps Patient from Sleeping", "Bathroom Needs Keeps Patient from Sleeping"),
    *("Unknown Keeps Patient from Sleeping", "Trouble Sleeping", "Prescription Sleep Medication", "Race", "Gender"),
)
OBESITY_COLUMNS = (
    *("Gender", "Age", "Height", "Weight", "family_history_with_overweight", "FAVC", "FCVC", "NCP", "CAEC", "SMOKE"),
    *("CH2O", "SCC", "FAF", "TUE", "CALC", "MTRANS", "NObeyesdad"),
)
OBESITY_NUMBERS = ("Age", "Height", "Weight", "FCVC", "NCP", "CH2O", "FAF", "TUE")
#: Names for the file without a header, from its comparison with the other two.
LSAC_COLUMNS = (
    *("zfygpa", "zgpa", "DOB_yr", "fulltime", "sex", "race", "tier", "fam_inc", "lsat", "ugpa", "index6040"),
    "pass_bar",
)
CLEAN_COLUMNS = (
    *("decile1b", "decile3", "lsat", "ugpa", "zfygpa", "zgpa", "fulltime", "fam_inc", "male", "tier", "race"),
    "pass_bar",
)
#: What the two smaller files have in common, in the order of ``CLEAN_COLUMNS``: enough to know a person again.
SHARED = ("lsat", "ugpa", "zfygpa", "zgpa", "fulltime", "fam_inc", "male", "tier")
#: What the third file has for the columns of ``CLEAN_COLUMNS``; race and bar passed are words there.
BAR_COLUMNS = (*CLEAN_COLUMNS[:-2], "race2", "bar1")
#: Those of the file of this very table, where race has another name and place.
ARFF_COLUMNS = (*CLEAN_COLUMNS[:-3], "racetxt", "tier", "pass_bar")


def diabetes_blocks(entry: Entry) -> Iterator[pd.DataFrame]:
    """The Diabetes table, label included, in blocks of rows straight from its archive."""
    path = fetch_file(entry, entry.files[0].name)
    try:
        with zipfile.ZipFile(path) as archive, archive.open(path.name.removesuffix(".zip")) as file:
            for block in pd.read_csv(file, chunksize=BLOCK_ROWS):
                yield numeric(entry, headed(entry, block, DIABETES_COLUMNS))
    except (*NO_TABLE, zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise unreadable(entry, path.name, error) from error


def load_diabetes_health(entry: Entry) -> Dataset:
    """Diabetes Health Indicators: 21 answers with Sex; y = 1 for diabetes or prediabetes."""
    table = pd.concat(diabetes_blocks(entry), ignore_index=True)
    return _dataset(entry, table.drop(columns="Diabetes_binary"), table["Diabetes_binary"], table["Sex"].astype(int))


def load_npha(entry: Entry) -> Dataset:
    """NPHA: all 15 codes; y = the code of the number of doctors visited, which is the first feature too."""
    table = numeric(entry, read(entry, NPHA_COLUMNS, skipinitialspace=True))
    return _dataset(entry, table, table["Number of Doctors Visited"], table["Gender"].astype(int))


def load_obesity(entry: Entry) -> Dataset:
    """Obesity levels: every text column one-hot without dropping a level, 38 columns; y = 1 for three of the levels."""
    table = read(entry, OBESITY_COLUMNS)
    numbers = numeric(entry, table[list(OBESITY_NUMBERS)])
    words = table.drop(columns=list(OBESITY_NUMBERS))
    if words.isna().any(axis=None):
        raise DataError(f"{entry.name}: there are empty cells; needed is a word in every text column. {AGAIN}")
    features = pd.concat([numbers, pd.get_dummies(words, dtype=float)], axis=1)
    y = words["NObeyesdad"].str.startswith("Obesity").astype(int)
    return _dataset(entry, features, y, words["Gender"].astype(str))


def load_lsac(entry: Entry) -> Dataset:
    """One of the LSAC tables: 12 columns; y = bar passed (``lsac_clean``, ``lsac_bw``: at first), a feature too."""
    table = LSAC[entry.name](entry)
    return _dataset(entry, table, table["pass_bar"], table["sex" if "sex" in table else "male"].astype(int))


def read_lsac(entry: Entry, file: str | None = None) -> pd.DataFrame:
    """LSAC as the paper cites it, a file without a header, under ``LSAC_COLUMNS``."""
    path = fetch_file(entry, file or entry.files[0].name)
    table = parsed(entry, path.name, lambda: pd.read_csv(path, header=None))
    if table.shape[1] != len(LSAC_COLUMNS):
        raise DataError(f"{entry.name}: {table.shape[1]} columns; needed are {len(LSAC_COLUMNS)}. {AGAIN}")
    return numeric(entry, table.set_axis(list(LSAC_COLUMNS), axis=1))


def read_clean(entry: Entry) -> pd.DataFrame:
    """law_school_clean in numbers, race 1 = White, 0 = Non-White."""
    table = read(entry, CLEAN_COLUMNS)
    return numeric(entry, table.assign(race=table["race"].map({"White": 1.0, "Non-White": 0.0})))


def read_bw(entry: Entry) -> pd.DataFrame:
    """The white and black people of law_school_clean: race 1 = white, 0 = black. The table of the paper.

    That file only tells White from Non-White. Each of its people is found again in the file that the paper cites, by
    eight columns that both have, and race is read there.
    """
    table = read_clean(entry)
    race = race_codes(entry, table, read_lsac(entry, entry.files[1].name))
    return table[race < 3].reset_index(drop=True)


def race_codes(entry: Entry, clean: pd.DataFrame, cited: pd.DataFrame) -> np.ndarray:
    """Race of every row of law_school_clean (1 white, 2 black, 3 other), read in the file that the paper cites."""
    same = cited.assign(male=2 - cited["sex"], fulltime=3 - cited["fulltime"])  # 1 and 2 are exchanged there
    hundredths = [frame[list(SHARED)].mul(100).round().astype(int) for frame in (clean, same)]
    known = hundredths[1].assign(race=cited["race"]).drop_duplicates()
    found = hundredths[0].reset_index(names="row").merge(known, on=list(SHARED), how="left")
    race = found["race"].to_numpy()
    if len(found) != len(clean) or not np.isin(race, (1, 2, 3)).all() or ((race == 1) != (clean["race"] == 1)).any():
        raise DataError(
            f"{entry.name}: of {len(clean)} people, {int(np.isnan(race).sum(axis=0))} are not in the other file, "
            f"{len(found) - len(clean)} are there with two races, and others may be white in one file only; needed is "
            f"one and the same race for each. {AGAIN}"
        )
    return race


def read_bar(entry: Entry) -> pd.DataFrame:
    """bar_pass_prediction: the columns and people of ``lsac_bw`` as far as this file has them, rows complete."""
    table = read(entry, BAR_COLUMNS, others=True)[list(BAR_COLUMNS)].dropna()
    table = table[table["race2"] != "c other"]
    race = table["race2"].map({"b white": 1.0, "a black": 0.0})
    passed = table["bar1"].map({"P": 1.0, "F": 0.0})
    return numeric(entry, table.assign(race2=race, bar1=passed).rename(columns={"race2": "race", "bar1": "pass_bar"}))


def read_arff(entry: Entry) -> pd.DataFrame:
    """law_dataset.arff: the rows of ``lsac_bw`` in another order, as the public file of this table has them.

    Types of the header are not looked at: it declares ``tier`` as one of 0 and 1, and the rows have 1 to 6.
    """
    path = fetch_file(entry, entry.files[0].name)
    head, _, body = path.read_text(encoding="utf-8", errors="replace").partition("@data\n")
    names = tuple(re.findall(r"^@attribute (\S+)", head, re.MULTILINE))
    table = parsed(entry, path.name, lambda: pd.read_csv(io.StringIO(body), header=None))
    if names != ARFF_COLUMNS or table.shape[1] != len(ARFF_COLUMNS):
        raise DataError(
            f"{entry.name}: the header names {', '.join(names) or 'nothing'}, and the rows have {table.shape[1]} "
            f"cells; needed are {', '.join(ARFF_COLUMNS)}. {AGAIN}"
        )
    table = numeric(entry, table.set_axis(list(ARFF_COLUMNS), axis=1)).rename(columns={"racetxt": "race"})
    return table[list(CLEAN_COLUMNS)]


def _dataset(entry: Entry, features: pd.DataFrame, y: pd.Series, groups: pd.Series) -> Dataset:
    X = np.ascontiguousarray(features.to_numpy(float))
    return Dataset(entry.name, X, y.to_numpy(), groups.to_numpy(), tuple(map(str, features.columns)))


# -- files that must be what is expected ------------------------------------------------------------------------------

NO_TABLE = (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError)


def read(
    entry: Entry, columns: tuple[str, ...], file: str | None = None, *, others: bool = False, **options
) -> pd.DataFrame:
    """A file of a data set (the first) as a table with these columns; ``others`` allows more of them."""
    path = fetch_file(entry, file or entry.files[0].name)
    table = parsed(entry, path.name, lambda: pd.read_csv(path, **options))
    return headed(entry, table.rename(columns=lambda name: str(name).strip()), columns, others=others)


def parsed(entry: Entry, file: str, parse: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """What ``parse`` reads; a file that is no table is a `DataError`."""
    try:
        return parse()
    except NO_TABLE as error:
        raise unreadable(entry, file, error) from error


def unreadable(entry: Entry, file: str, error: Exception) -> DataError:
    """The error for a file that cannot be read to its end."""
    return DataError(f"{entry.name}: {file} cannot be read as a table ({error}). {AGAIN}")


def headed(entry: Entry, table: pd.DataFrame, columns: tuple[str, ...], *, others: bool = False) -> pd.DataFrame:
    """The table, if its header has the columns in their order (with ``others``: has them at all)."""
    seen = tuple(map(str, table.columns))
    missing = [name for name in columns if name not in seen]
    if missing or (seen != columns and not others):
        lack = f"without {', '.join(missing)}" if missing else "in another order or with more columns"
        raise DataError(
            f"{entry.name}: the header is {', '.join(seen[:6])}, ... ({len(seen)} columns), {lack}; needed are "
            f"{', '.join(columns)}. {AGAIN}"
        )
    return table


def numeric(entry: Entry, table: pd.DataFrame) -> pd.DataFrame:
    """The table as float64; a cell that is empty or no number is a `DataError`."""
    found = table.apply(pd.to_numeric, errors="coerce").astype(float)
    bad = found.isna() | np.isinf(found)
    if bad.any(axis=None):
        name = bad.columns[bad.any(axis=0)][0]
        row = int(bad[name].to_numpy().argmax())
        raise DataError(
            f"{entry.name}: column {name} has '{table[name].iloc[row]}' in row {row} (of {len(table)} read at once); "
            f"needed is a finite number in every cell. {AGAIN}"
        )
    return found


LSAC: dict[str, Callable[[Entry], pd.DataFrame]] = {
    "lsac": read_lsac,
    "lsac_clean": read_clean,
    "lsac_bar": read_bar,
    "lsac_bw": read_bw,
    "lsac_arff": read_arff,
}
#: The tables of Rathore and Manwani, and of the search for one of them.
RATHORE = ("diabetes", "npha", "obesity", *LSAC)

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
