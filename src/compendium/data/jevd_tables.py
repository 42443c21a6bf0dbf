"""The tables of Rathore and Manwani (2025): raw values, every column a feature, the sensitive one among them.

That these columns and rows are the paper's was found by standard PCA, whose printed numbers they give to the last digit
on diabetes, npha, obesity and ``lsac_bw``: the white and black people of ``lsac_clean``. The other three LSAC tables
are what the search for it began with; ``lsac_arff`` reads the public file that holds the same rows.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from evenspan.core.errors import DataError

from .dataset import Dataset
from .fetch import fetch_file
from .registry import Entry

#: Rows of a block that is read at once.
BLOCK_ROWS = 2**15

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


def diabetes_blocks(entry: Entry, rows: int = BLOCK_ROWS) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """The Diabetes table, label included, in blocks of rows straight from its archive, each with its groups."""
    path = fetch_file(entry, entry.files[0].name)
    try:
        with zipfile.ZipFile(path) as archive, archive.open(path.name.removesuffix(".zip")) as file:
            for block in pd.read_csv(file, chunksize=rows):
                block = numeric(entry, headed(entry, block, DIABETES_COLUMNS))
                yield block, block["Sex"].to_numpy(int)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        KeyError,
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
    ) as error:
        raise unreadable(entry, path.name, error) from error


def load_diabetes_health(entry: Entry) -> Dataset:
    """Diabetes Health Indicators: 21 answers with Sex; y = 1 for diabetes or prediabetes."""
    table = pd.concat([block for block, _ in diabetes_blocks(entry)], ignore_index=True)
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
    """LSAC as the paper cites it: 12 columns without a header; y = bar passed, the last feature too."""
    table = read_lsac(entry, entry.files[0].name)
    return _dataset(entry, table, table["pass_bar"], table["sex"].astype(int))


def load_lsac_clean(entry: Entry) -> Dataset:
    """LSAC, law_school_clean: 12 columns, race 1 = White, 0 = Non-White; y = bar passed first time, a feature too."""
    table = read_clean(entry, entry.files[0].name)
    return _dataset(entry, table, table["pass_bar"], table["male"].astype(int))


def load_lsac_bw(entry: Entry) -> Dataset:
    """The white and black people of law_school_clean: race 1 = white, 0 = black. The table of the paper.

    That file only tells White from Non-White. Each of its people is found again in the file that the paper cites, by
    eight columns that both have, and race is read there.
    """
    clean, cited = (file.name for file in entry.files)
    table = read_clean(entry, clean)
    race = race_codes(entry, table, read_lsac(entry, cited))
    table = table[race < 3].reset_index(drop=True)
    return _dataset(entry, table, table["pass_bar"], table["male"].astype(int))


def load_lsac_bar(entry: Entry) -> Dataset:
    """LSAC, bar_pass_prediction: the columns and people of ``lsac_bw`` as far as this file has them, rows complete."""
    table = read(entry, BAR_COLUMNS, others=True)[list(BAR_COLUMNS)].dropna()
    table = table[table["race2"] != "c other"]
    race = table["race2"].map({"b white": 1.0, "a black": 0.0})
    passed = table["bar1"].map({"P": 1.0, "F": 0.0})
    table = table.assign(race2=race, bar1=passed).rename(columns={"race2": "race", "bar1": "pass_bar"})
    table = numeric(entry, table)
    return _dataset(entry, table, table["pass_bar"], table["male"].astype(int))


def read_lsac(entry: Entry, file: str) -> pd.DataFrame:
    """The file without a header, under ``LSAC_COLUMNS``."""
    path = fetch_file(entry, file)
    table = parsed(entry, path.name, lambda: pd.read_csv(path, header=None))
    if table.shape[1] != len(LSAC_COLUMNS):
        raise DataError(f"{entry.name}: {table.shape[1]} columns; needed are {len(LSAC_COLUMNS)}. {AGAIN}")
    return numeric(entry, table.set_axis(list(LSAC_COLUMNS), axis=1))


def read_clean(entry: Entry, file: str) -> pd.DataFrame:
    """law_school_clean in numbers, race 1 = White, 0 = Non-White."""
    table = read(entry, CLEAN_COLUMNS, file)
    return numeric(entry, table.assign(race=table["race"].map({"White": 1.0, "Non-White": 0.0})))


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


AGAIN = "Compare the file with its origin in the registry, or correct the registry's checksum for another release."


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
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
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


def _dataset(entry: Entry, features: pd.DataFrame, y: pd.Series, groups: pd.Series) -> Dataset:
    X = np.ascontiguousarray(features.to_numpy(float))
    return Dataset(entry.name, X, y.to_numpy(), groups.to_numpy(), tuple(map(str, features.columns)))


def load_lsac_arff(entry: Entry) -> Dataset:
    """LSAC, law_dataset.arff: the rows of ``lsac_bw`` in another order, as the public file of this table has them.

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
    return _dataset(entry, table[list(CLEAN_COLUMNS)], table["pass_bar"], table["male"].astype(int))


LOADERS: dict[str, Callable[[Entry], Dataset]] = {
    "diabetes": load_diabetes_health,
    "npha": load_npha,
    "obesity": load_obesity,
    "lsac": load_lsac,
    "lsac_clean": load_lsac_clean,
    "lsac_bar": load_lsac_bar,
    "lsac_bw": load_lsac_bw,
    "lsac_arff": load_lsac_arff,
}
