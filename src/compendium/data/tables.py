"""Tables without published splits: 14 of Vu et al. (2022), a stand-in, and two for the comparison with reductions."""

import zipfile
from collections.abc import Callable

import numpy as np
import pandas as pd

from .dataset import Dataset
from .faces import load_faces
from .fetch import fetch_file
from .registry import Entry

ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)


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


RFPCA = (
    "default_credit",
    "biodeg",
    "ecoli",
    "energy",
    "german_credit",
    "image",
    "letter",
    "magic",
    "parkinsons",
    "skillcraft",
    "statlog",
    "steel",
    "taiwan_credit",
    "wine_quality",
)

LOADERS: dict[str, Callable[[Entry], Dataset]] = {
    **dict.fromkeys(RFPCA, load_rfpca),
    "adult_uci": load_adult_uci,
    "bank_marketing": load_bank_marketing,
    "lfw_24x24": load_faces,
}
