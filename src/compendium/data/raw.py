"""Tables as the files of their publishers have them, and the command that puts them into ``data/tables``.

Files come verified (:mod:`.fetch`), so that what is read here is known. ``READERS``, at the end, lists the tables.
"""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evenspan.core.errors import DataError
from evenspan.core.files import replacing

from .. import paths
from ..errors import RegistryError
from .fetch import raw_file
from .registry import Entry, entry

#: Columns of the tables of published splits, after their features.
LABEL, GROUP = "label", "group"


def read(name: str) -> pd.DataFrame:
    """The rows of a table from its raw files."""
    return READERS[name](entry(name))


def ship(name: str) -> Path:
    """Write ``data/tables/NAME.parquet`` from the raw files; its size and SHA-256 belong into the registry."""
    found = entry(name)
    if name not in READERS or not found.attribution:
        raise RegistryError(
            f"{name!r} cannot be shipped: its licence is {found.licence}, attribution {found.attribution!r}."
        )
    columns = {str(column): _smallest(values) for column, values in read(name).items()}
    path = paths.data("tables", f"{name}.parquet")
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as file:
        pq.write_table(pa.table(columns), file, compression="brotli", compression_level=11, write_statistics=False)
    return path


def _smallest(values: pd.Series) -> np.ndarray | list[str]:
    """A column in the smallest type in which it is the same numbers; text as it is."""
    if not pd.api.types.is_numeric_dtype(values):
        return values.astype(str).tolist()
    wide = values.to_numpy()
    for kind in ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float32"):
        with np.errstate(invalid="ignore", over="ignore"):
            small = wide.astype(kind)
        if np.array_equal(small.astype(wide.dtype), wide):
            return small
    return wide


def columns(found: Entry, *files: str) -> np.ndarray:
    """Features, label and group of some files of the published splits, which have no header."""
    # loadtxt rounds every decimal correctly in all versions; fast parsers may be off in the last digit
    return np.vstack([np.loadtxt(raw_file(found, file), delimiter=",", ndmin=2) for file in files])


# -- one file, one table ----------------------------------------------------------------------------------------------

ADULT_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)


def read_adult(found: Entry) -> pd.DataFrame:
    """The original Adult files, ``adult.data`` and ``adult.test`` (which has a line before its rows)."""
    form = {"header": None, "names": ADULT_COLUMNS, "skipinitialspace": True}
    files = (("adult.data", 0), ("adult.test", 1))
    parts = [pd.read_csv(raw_file(found, file), skiprows=skipped, **form) for file, skipped in files]
    return pd.concat(parts, ignore_index=True)


def read_csv(found: Entry, **options) -> pd.DataFrame:
    """The first file."""
    return pd.read_csv(raw_file(found, found.files[0].name), **options).rename(columns=lambda name: str(name).strip())


def read_bank(found: Entry) -> pd.DataFrame:
    """Bank Marketing, from its archive."""
    with zipfile.ZipFile(raw_file(found, "bank-additional.zip")) as archive:
        return pd.read_csv(archive.open("bank-additional/bank-additional-full.csv"), sep=";")


def read_bundled(found: Entry) -> pd.DataFrame:
    """The diabetes data that come with scikit-learn, unscaled, and their target."""
    from sklearn.datasets import load_diabetes  # here, so that who loads another table does not wait for scikit-learn

    return load_diabetes(scaled=False, as_frame=True).frame


# -- LSAC: ``lsac_bw`` gives the printed numbers of standard PCA of Rathore and Manwani (2025) to the last digit; the
# others are what the search for it began with -------------------------------------------------------------------------

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


def read_lsac(found: Entry, file: int = 0) -> pd.DataFrame:
    """LSAC as the paper cites it, a file without a header, under ``LSAC_COLUMNS``."""
    return pd.read_csv(raw_file(found, found.files[file].name), header=None, names=LSAC_COLUMNS).astype(float)


def read_clean(found: Entry) -> pd.DataFrame:
    """law_school_clean in numbers, race 1 = White, 0 = Non-White."""
    table = read_csv(found)
    return table.assign(race=table["race"] == "White").astype(float)[list(CLEAN_COLUMNS)]


def read_bw(found: Entry) -> pd.DataFrame:
    """The table of the paper: white (1) and black (0) people of law_school_clean, by their race in the cited file."""
    table = read_clean(found)
    return table[race_codes(table, read_lsac(found, 1)) < 3].reset_index(drop=True)


def race_codes(clean: pd.DataFrame, cited: pd.DataFrame) -> np.ndarray:
    """Race of every row of law_school_clean (1 white, 2 black, 3 other), read in the file that the paper cites."""
    same = cited.assign(male=2 - cited["sex"], fulltime=3 - cited["fulltime"])  # 1 and 2 are exchanged there
    hundredths = [frame[list(SHARED)].mul(100).round().astype(int) for frame in (clean, same)]
    known = hundredths[1].assign(race=cited["race"]).drop_duplicates()
    race = hundredths[0].merge(known, on=list(SHARED), how="left")["race"].to_numpy()
    if len(race) != len(clean) or ((race == 1) != (clean["race"] == 1)).any():
        raise DataError("lsac_bw: the people of law_school_clean are not found again in lsac.csv, each with one race.")
    return race


def read_bar(found: Entry) -> pd.DataFrame:
    """bar_pass_prediction: the columns and people of ``lsac_bw`` as far as this file has them, rows complete."""
    table = read_csv(found)[list(BAR_COLUMNS)].dropna()
    table = table[table["race2"] != "c other"]
    table = table.assign(race2=table["race2"] == "b white", bar1=table["bar1"] == "P").astype(float)
    return table.rename(columns={"race2": "race", "bar1": "pass_bar"})


def read_arff(found: Entry) -> pd.DataFrame:
    """law_dataset.arff: the rows of ``lsac_bw`` in another order. Its header misstates ``tier``: it is not read."""
    head, _, body = raw_file(found, found.files[0].name).read_text(encoding="utf-8").partition("@data\n")
    names = re.findall(r"^@attribute (\S+)", head, re.MULTILINE)
    table = pd.read_csv(io.StringIO(body), header=None, names=names).astype(float)
    return table.rename(columns={"racetxt": "race"})[list(CLEAN_COLUMNS)]


LSAC: dict[str, Callable[[Entry], pd.DataFrame]] = {
    "lsac": read_lsac,
    "lsac_clean": read_clean,
    "lsac_bar": read_bar,
    "lsac_bw": read_bw,
    "lsac_arff": read_arff,
}
#: The tables of Vu et al. (2022).
RFPCA = (
    *("default_credit", "biodeg", "ecoli", "energy", "german_credit", "image", "letter", "magic", "parkinsons"),
    *("skillcraft", "statlog", "steel", "taiwan_credit", "wine_quality"),
)

READERS: dict[str, Callable[[Entry], pd.DataFrame]] = {
    **dict.fromkeys(RFPCA, read_csv),
    **dict.fromkeys(("diabetes", "obesity", "har_means"), read_csv),
    "npha": lambda found: read_csv(found, skipinitialspace=True),
    "credit_card": lambda found: read_csv(found, header=1, index_col="ID"),
    "adult_uci": read_adult,
    "bank_marketing": read_bank,
    "sklearn_diabetes": read_bundled,
    **LSAC,
}
