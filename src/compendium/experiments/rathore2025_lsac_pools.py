"""What the search for the LSAC table of Rathore and Manwani (2025) chooses from: columns and rules for rows, by file.

Every column is a number or a code of words. Columns that differ only by an affine map (fulltime and parttime, ugpa and
gpa, male and sex) give the same numbers in standard PCA, so one of them is here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from evenspan.core.moments import GroupMoments

from ..data import entry, jevd_tables

FILES = ("lsac", "lsac_clean", "lsac_bar")
#: Text columns of bar_pass_prediction.csv whose levels are coded by 0, 1, ... in the order of the alphabet.
CODED = ("bar1", "bar2", "bar", "race1", "race2")
#: Its columns without a use: a key, the same as another up to an affine map or a grouping of it, and columns so nearly
#: constant (a variance below 0.005) that no printed digit depends on them.
LEFT_OUT = (
    *("ID", "sex", "gender", "parttime", "gpa", "indxgrp", "indxgrp2"),
    *("grad", "Dropout", "hisp", "dnn_bar_pass_prediction"),
)
FILLS = ("mean", "median", "zero")
#: How a rule for rows ends, or how it goes on.
COMPLETE, COMPLETE_HERE, PART = "; complete rows", "; rows complete in these columns", "; train share "
EVERYBODY = "everybody"


@dataclass(frozen=True)
class Pool:
    """Columns of one file, the one that tells sex, and which rows each rule for race keeps."""

    table: pd.DataFrame
    sex: str
    races: dict[str, np.ndarray]

    def rules(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Every rule for rows: who is kept, and what is done about gaps."""
        gaps = self.table.isna().any(axis=None)
        for who, kept in self.races.items():
            rows = self.table[kept & self.table[self.sex].notna()]
            if not gaps:
                yield who, rows
                continue
            yield f"{who}{COMPLETE}", rows.dropna()
            for fill in FILLS:
                yield f"{who}; gaps filled with the {fill}", filled(rows, fill)

    def rows(self, rule: str, names: tuple[str, ...]) -> pd.DataFrame:
        """The rows of a rule, with some columns; a rule that goes on with a train share gives the train part."""
        rule, part, split = rule.partition(PART)
        who, _, gaps = rule.partition("; ")
        rows = self.table[self.races[who] & self.table[self.sex].notna()]
        if gaps.startswith("gaps filled"):
            rows = filled(rows, gaps.rpartition(" ")[2])
        rows = rows[list(names)].dropna() if f"; {gaps}" == COMPLETE_HERE else rows.dropna()[list(names)]
        if part:
            share, seed = split.split(", seed ")
            rows, _ = train_test_split(rows, train_size=float(share), random_state=int(seed))
        return rows


def filled(rows: pd.DataFrame, fill: str) -> pd.DataFrame:
    """The rows with every gap filled by the mean or median of its column, or by zero."""
    return rows.fillna(0.0 if fill == "zero" else rows.agg(fill))


def moments_of(table: pd.DataFrame, sex: str) -> GroupMoments:
    """Moments of a table by sex, with the names of its columns."""
    return GroupMoments.from_data(table, table[sex].to_numpy())


def pool(file: str) -> Pool:
    """The pool of one of the three files."""
    return {"lsac": _lsac, "lsac_clean": _clean, "lsac_bar": _bar}[file]()


def _lsac() -> Pool:
    found = entry("lsac")
    table = jevd_tables.read_lsac(found, found.files[0].name)
    return Pool(*_indicators(table.rename(columns={"race": "race (1, 2, 3)"}), "race (1, 2, 3)"), _races(table["race"]))


def _clean() -> Pool:
    found = entry("lsac_bw")
    clean, cited = (file.name for file in found.files)
    table = jevd_tables.read_clean(found, clean)
    race = pd.Series(jevd_tables.race_codes(found, table, jevd_tables.read_lsac(found, cited)))
    table = table.rename(columns={"race": "white"}).assign(**{"race (1, 2, 3)": race})
    return Pool(*_indicators(table, "race (1, 2, 3)"), _races(race))


def _indicators(table: pd.DataFrame, race: str) -> tuple[pd.DataFrame, str]:
    codes = {"white": 1, "black": 2, "other": 3}
    indicators = {name: (table[race] == code).astype(float) for name, code in codes.items()}
    return table.assign(**indicators), "male" if "male" in table else "sex"


def _races(race: pd.Series) -> dict[str, np.ndarray]:
    """All non-empty sets of the three races: white, black, other."""
    names = {1: "white", 2: "black", 3: "other"}
    found = {EVERYBODY: np.ones(len(race), bool)}
    for mask in range(1, 7):
        members = [code for code in names if mask >> (code - 1) & 1]
        found[" and ".join(names[code] for code in members)] = race.isin(members).to_numpy()
    return found


def _bar() -> Pool:
    found = entry("lsac_bar")
    table = jevd_tables.read(found, jevd_tables.BAR_COLUMNS, others=True)
    race = table["race2"].map({"b white": 1, "a black": 2, "c other": 3})
    races = _races(race)
    for name in ("asian", "hisp", "other"):
        races[f"all but {name}"] = (table["race1"] != name).to_numpy()
    races["full-time"] = (table["fulltime"] == 1).to_numpy()
    coded = {name: table[name].astype("category").cat.codes.astype(float) for name in CODED}
    coded = {name: codes.where(table[name].notna()) for name, codes in coded.items()}
    white = (table["race1"] == "white").astype(float)
    numbers = table.assign(**coded, white=white).drop(columns=list(LEFT_OUT)).astype(float)
    return Pool(numbers, "male", races)
