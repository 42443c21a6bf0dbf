"""Every claim can come out otherwise: by planted changes of stored results, and by printed tables in another order."""

import fnmatch
import itertools
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.experiments.test_paper_judges import ANSWERS

from compendium import paths, store
from compendium.catalogue import experiment
from compendium.claim_rules import HOLDS, IN_PART, NOT_JUDGED, NOT_SO
from compendium.ledger import claims
from compendium.papers.kleindessner2023 import claims as adult
from compendium.papers.rathore2025 import claims as rathore2025_claims
from compendium.papers.vu2022 import claims as vu2022_claims
from compendium.papers.vu2022 import theorems as vu2022_theorems
from compendium.papers.vu2022.readings import NAMES
from compendium.papers.zhou2024 import claims as zhou2024_claims
from compendium.store import MissingNumbersError
from evenspan.core.errors import ResultError

MISSING = "not all is stored"
JUDGED = {HOLDS, IN_PART, NOT_SO}


def times(factor: float):
    return lambda rows: rows["value"] * factor


def by_size(power: float):
    """Values times a power of the number of features in the name of a data set or of a metric."""

    def grown(rows):
        names = rows["metric"].where(rows["dataset"].eq("memory"), rows["dataset"])
        return rows["value"] * names.str.extract(r"d(?: = )?(\d+)$")[0].astype(float) ** power

    return grown


def as_printed(rows):
    """The printed number in the place of ours, in each split."""
    theirs = {own: name for name, own in experiment("vu2022-tables").described(vu2022_claims.METHODS).items()}
    keys = rows[["protocol", "metric"]].drop_duplicates().itertuples(index=False, name=None)
    tables = {key: vu2022_claims.printed(*key).rename(index=NAMES) for key in keys}
    return [
        tables[row.protocol, row.metric].at[row.dataset, theirs.get(row.method, row.method)]
        for row in rows.itertuples()
    ]


def by_parameter(factor: float):
    return lambda rows: factor * rows["parameter"].astype(float)


CURVES, GAP = {"metric": "accuracy|DP violation"}, {"metric": "EO violation"}
FASTER = {"method": "reductions", "metric": "time*"}, 0.0  # reductions cost nothing
AHEAD, BEHIND = (({"method": "reductions", "metric": "accuracy"}, value) for value in (1.0, 0.0))
ENDED = {"method": "JevdPCA*", "metric": "converged"}, 1.0
ROBUST, FAIRER = {"method": "RFPCA"}, {"method": "FairPCA (rank k)"}
JEVD, FROM_IDENTITY = {"method": "JevdPCA"}, {"method": "JevdPCA (from U = I)"}


def of(claim: str, metric: str, method: str = "*", protocol: str = "") -> dict[str, str]:
    """Where numbers of a search for a claim are."""
    return {"protocol": protocol or claim, "metric": metric, "method": method}


#: A claim, what is put in the place of which stored values (None: the rows are lost), and the answer then.
PLANTED = [
    *((claim, of(claim, "violation"), 1e3, NOT_SO) for claim in ("K01", "K02", "K03", "K08", "K12", "K13")),
    *((claim, of(claim, "violation", protocol="*control"), 0.0, NOT_SO) for claim in ("K08", "K12", "K13")),
    ("K04", {"method": "Fair PCA"}, 4.0, NOT_SO),  # constant, but large
    ("K04", {"method": "Fair PCA"}, lambda rows: by_size(1)(rows) / 1000, NOT_SO),  # it grows with d
    ("K06", CURVES, by_parameter(1), HOLDS),
    ("K06", CURVES, by_parameter(-1), {"metric": "score gap"}, by_parameter(1), NOT_SO),
    ("K06", {"protocol": "*1/10000*"}, None, MISSING),
    ("K07", GAP | {"method": "no fairness"}, 1.0, GAP | {"protocol": "DP*"}, 1.0, HOLDS),
    ("K07", GAP | {"method": "Fair*", "protocol": "EO*"}, 1.0, NOT_SO),
    ("K09", {"method": "Fair PCA-S (0.5)"}, 9e9, IN_PART),
    ("K09", {"method": "Fair PCA-S*"}, 9e9, NOT_SO),
    ("K09", {"protocol": "in sample|released"}, 9e9, HOLDS),  # on new data alone
    ("K09", {"split": 9}, None, MISSING),
    ("K10", {"metric": "%Majority"}, 75.13, NOT_SO),
    ("K10", {"method": "PCA"}, None, NOT_JUDGED),
    ("K11", {"method": "INLP", "metric": "%Var"}, 99.0, IN_PART),
    ("K11", {"method": "INLP"}, 99.0, NOT_SO),
    ("K11", {"method": "PCA|LEACE"}, 99.0, HOLDS),  # not among the fair rows of the paper
    ("K11", {"split": 9}, None, NOT_JUDGED),
    ("K14", {"method": "INLP"}, 0.0, NOT_SO),
    ("K15", *BEHIND, HOLDS),
    ("K15", *BEHIND, *FASTER, IN_PART),
    ("K15", *AHEAD, *FASTER, NOT_SO),
    ("L05", {}, times(10), IN_PART),
    ("L05", {}, by_size(1), NOT_SO),
    ("L06", {"metric": "sine to the largest"}, 0.0, HOLDS),
    ("L06", {"metric": "sine to the largest in absolute value"}, 1.0, NOT_SO),
    ("L08", {"method": "mean constraint, streamed"}, times(10), HOLDS),
    ("L08", {"method": "FNPM*"}, times(1e4), NOT_SO),
    ("L01", {"metric": "angle of the maximisers"}, 1.0, NOT_SO),
    ("L02", {"method": "no room|smaller rank"}, None, HOLDS),
    ("L03", {"protocol": "slopes"}, lambda rows: rows["value"] * rows.get("size", 1.0) ** 1.2, NOT_SO),
    ("R01", of("R01", "difference", "exact solver"), 0.1, NOT_SO),
    ("R01", of("R01", "difference", "control*"), 0.0, IN_PART),
    ("R02", of("R02", "difference", "orthonormal"), 0.1, NOT_SO),
    ("R02", of("R02", "difference", "control*"), 0.0, NOT_SO),
    ("R03", of("R03", "difference", "columns of U"), 0.0, HOLDS),
    ("R04", of("R04", "difference"), 0.0, HOLDS),
    ("R05", of("R05", "difference", "Algorithm 1*"), 0.0, HOLDS),
    ("R26", of("R26", "difference", "rotations"), 0.0, HOLDS),
    ("R26", of("R26", "above Jacobi", "rotations"), 0.1, NOT_SO),
    ("R06", *ENDED, HOLDS),
    ("R06", *ENDED, {"method": "JevdPCA (from U = I)"}, 0.0, IN_PART),
    ("R06", *ENDED, JEVD | {"metric": "seconds"}, by_size(2), IN_PART),
    ("R06", {"metric": "seconds per step"}, by_size(2), NOT_SO),
    ("R06", JEVD, None, MISSING),
    ("R07", {"dataset": "synthetic-d[1-4]*"}, None, MISSING),
    ("R08", {"metric": "solver, SDP", "dataset": "npha"}, 0.0, IN_PART),
    ("R08", {"metric": "solver, SDP"}, 0.0, NOT_SO),
    ("R08", {"method": "min-max*"}, 9e9, NOT_SO),
    # Were there results from U = I on LSAC, Obesity or both, these claims would be judged.
    ("R12", FROM_IDENTITY, 0.0, HOLDS),
    ("R14", FROM_IDENTITY, 9.0, NOT_SO),
    ("R15", FROM_IDENTITY, 9e9, NOT_SO),
    ("R16", FROM_IDENTITY, 9e9, NOT_SO),
    ("R18", FROM_IDENTITY, 0.0, IN_PART),
    ("R13", FROM_IDENTITY | {"metric": "MMD*"}, times(0.1), IN_PART),
    ("R13", FROM_IDENTITY | {"metric": "MMD*"}, -1.0, HOLDS),
    ("R17", FROM_IDENTITY | {"metric": "R.E."}, 9e9, IN_PART),
    ("R21", FROM_IDENTITY, 9.0, HOLDS),
    ("R21", FROM_IDENTITY, lambda rows: -rows["k"].astype(float), IN_PART),
    ("R20", FROM_IDENTITY, 9e9, IN_PART),
    ("R20", FROM_IDENTITY, 0.0, FROM_IDENTITY | {"metric": "R.E."}, 9e9, HOLDS),
    ("R19", of("R19", "difference", "orthonormal"), 0.1, NOT_SO),
    ("R19", of("R19", "difference", "control*"), 0.0, NOT_SO),
    ("R22", {"metric": "rows"}, 9.0, IN_PART),
    ("R22", {"dataset": "diabetes"}, None, MISSING),
    ("R23", {"protocol": "counted"}, 9.0, NOT_SO),
    ("R23", {"dataset": "npha"}, None, MISSING),
    ("R08", {"dataset": "lsac_bw"}, None, MISSING),
    ("R06", {"dataset": "synthetic-d[1-9][0-9]*"}, None, MISSING),
    *((claim, ROBUST, 9e9, NOT_SO) for claim in ("V14", "V16", "V18")),
    *((claim, ROBUST, 0.0, IN_PART) for claim in ("V15", "V19")),  # on another number, but on more than the others
    ("V20", ROBUST | {"metric": "ARE"}, 9e9, FAIRER | {"metric": "ARE"}, 9e9, HOLDS),  # neither is ever best
    ("V14", ROBUST, None, NOT_JUDGED),
    ("V17", ROBUST, 0.0, HOLDS),
    ("V21", ROBUST | {"metric": "Delta*"}, 9e9, FAIRER | {"metric": "Delta*"}, 9e9, HOLDS),
    *((f"V{i:02d}", of(f"V{i:02d}", "violation"), 1e3, NOT_SO) for i in (2, 3, 6, 9)),
    *((f"V{i:02d}", of(f"V{i:02d}", "violation"), 0.0, HOLDS) for i in (4, 5, 7, 11)),
    ("V13", of("V13", "min-max error"), 0.0, HOLDS),
    ("V13", of("V13", "min-max error"), 1.0, NOT_SO),
    ("V01", {"metric": "gap of the toy"}, 1.0, HOLDS),
    ("V10", {"metric": "smallest slack"}, 9e9, HOLDS),
    ("V10", {"metric": "smallest angle"}, 0.0, NOT_SO),
    ("V12", {"metric": "angle", "method": "RFPCA*"}, 0.0, IN_PART),
    ("V24", {}, as_printed, HOLDS),
    ("V24", {"dataset": "[!e]*"}, None, NOT_JUDGED),  # where data are missing a claim is not judged by the others
    ("V26", ROBUST, times(10), NOT_SO),
    ("V26", {"method": "PCA"}, times(10), HOLDS),  # the control is no better than any other point
    ("V26", {"dataset": "[!b]*"}, None, NOT_JUDGED),
    ("V27", ROBUST, lambda rows: rows["value"] ** 2, NOT_SO),
    ("V27", {"method": "FairPCA (exact)"}, 0.0, NOT_SO),
    ("V27", {"dataset": "[!b]*"}, None, NOT_JUDGED),
    ("V28", {"dataset": "toy"}, 0.0, NOT_SO),
    ("V29", {"dataset": "energy"}, times(2), NOT_SO),
    ("V29", {"dataset": "lfw_24x24"}, times(2), NOT_JUDGED),  # the stand-in for the faces refutes nothing
    ("V29", {"dataset": "[!b]*"}, None, NOT_JUDGED),
    ("Z01", {"metric": "outside the bounds"}, 1.0, NOT_SO),
    ("Z01", {"metric": "misses*"}, 0.0, HOLDS),
    *((f"Z{i:02d}", {"metric": "largest violation"}, 1.0, NOT_SO) for i in (2, 3, 4, 5, 7)),
    ("Z03", {"metric": "several*best clustering"}, 0.0, HOLDS),
    ("Z06", {"metric": "control"}, 0.0, HOLDS),
    ("Z06", {"metric": "clusterings that fail"}, 9e9, NOT_SO),
    ("Z11", {}, 0.0, NOT_SO),
    ("Z11", {"protocol": "cells"}, lambda rows: rows["value"] + rows["metric"].str.match(r"(\d+) \1 "), HOLDS),
]
#: The same of the answers by the released program.
PROGRAM = [
    *((claim, ROBUST, 9e9, NOT_SO) for claim in ("V14", "V15", "V16", "V18", "V19", "V20")),
    *((claim, ROBUST, 0.0, answer) for claim, answer in (("V17", HOLDS), ("V21", NOT_SO))),
    ("V24", {"metric": "ARE"}, times(1.5), NOT_SO),
    ("V26", ROBUST, times(10), NOT_SO),
    ("V27", {"method": "FairPCA"}, 0.0, NOT_SO),
]


def chosen(rows: pd.DataFrame, where: dict) -> pd.Series:
    """Which rows have what is wanted in all columns; of words patterns, one of which is enough."""
    found = pd.Series(True, index=rows.index)
    for column, wanted in where.items():
        patterns = wanted.split("|") if isinstance(wanted, str) else ()
        names = [n for n in rows[column].unique() if any(fnmatch.fnmatchcase(str(n), one) for one in patterns)]
        found &= rows[column].isin(names or [wanted])
    return found


@pytest.mark.parametrize(
    ("side", "planted"),
    [(side, one) for side, planted in (("described", PLANTED), ("program", PROGRAM)) for one in planted],
    ids=lambda given: given if isinstance(given, str) else given[0],
)
def test_an_answer_follows_the_rows(side, planted):
    claim, *changes, answer = planted
    function = claims.registered()[claim][1]

    def changed(experiment: str, *every: str, **which) -> pd.DataFrame:
        rows = store.read_results(experiment, **which)
        for where, value in zip(changes[::2], changes[1::2], strict=True):
            some = chosen(rows, where)
            made = value(rows) if callable(value) else value
            rows = rows[~some] if value is None else rows.assign(value=rows["value"].mask(some, made))
        return store.complete(rows, experiment, *every, **which)

    if answer == MISSING:
        with pytest.raises(MissingNumbersError):
            function(changed)
    else:
        assert getattr(function(changed), side) == answer


def answers(side: str) -> dict[str, str]:
    """The answers of one side that a claim has."""
    place = list(claims.SIDES).index(side)
    found = {claim: three[place] for three, names in ANSWERS.items() for claim in names.split()}
    return {claim: answer for claim, answer in found.items() if answer in JUDGED}


@pytest.mark.parametrize(("side", "planted"), [("described", PLANTED), ("program", PROGRAM)])
def test_every_judged_answer_is_planted_with_another(side, planted):
    now = answers(side)
    other = {claim for claim, *_, answer in planted if answer in JUDGED - {now.get(claim)}}
    assert now.keys() - other == ({"V25"} if side == "described" else set())


def test_another_radius_turns_what_is_said_of_it(monkeypatch):
    """V25 reads no rows, but the formula of the radius."""
    assert vu2022_theorems.claims["V25"](None).described == NOT_SO
    monkeypatch.setattr(vu2022_theorems, "radii", lambda counts, alpha: alpha / np.asarray(counts))
    assert vu2022_theorems.claims["V25"](None).described == HOLDS


def as_pca(table: pd.DataFrame) -> pd.DataFrame:
    """Every method has the numbers of StandardPCA."""
    return table.assign(value=table.groupby(["k", "metric"])["value"].transform("last"))


def robust_first(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(value=table["value"].mask(table["method"] == "RFPCA", 1e-9))


def filled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(value=table["value"].fillna(1.0))


def with_another(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table.head(3).assign(dataset="Another")])


#: Printed answers that no other order of the printed numbers moves: tables that are printed otherwise, and the answer.
REPRINTED = {
    "R15": ("rathore2025_table[2-4]*", as_pca, HOLDS),
    "R21": ("rathore2025_table*", as_pca, HOLDS),
    "V17": ("vu2022_table1*", robust_first, HOLDS),
    "V22": ("vu2022_table[13]*", filled, NOT_SO),
    "V29": ("vu2022_table2*", with_another, NOT_SO),
}


@pytest.mark.parametrize("claim", REPRINTED)
def test_another_print_turns_a_printed_answer(claim, monkeypatch):
    pattern, change, answer = REPRINTED[claim]
    assert answers("printed")[claim] != answer
    right, folder = pd.read_csv, paths.data("paper")

    def reprinted(path, *given, **options):
        frame = right(path, *given, **options)
        return change(frame) if Path(path).parent == folder and fnmatch.fnmatch(Path(path).name, pattern) else frame

    monkeypatch.setattr(pd, "read_csv", reprinted)
    assert claims.registered()[claim][1](store.full).printed == answer


def shuffled(values: pd.Series, rng: np.random.Generator) -> pd.Series:
    """The same values in another order; what is missing stays missing."""
    found = values.to_numpy(copy=True)
    there = np.flatnonzero(~pd.isna(found) & (found != ""))
    found[there] = rng.permutation(found[there])
    return pd.Series(found, index=values.index)


def multiplied(values: pd.Series, rng: np.random.Generator) -> pd.Series:
    """The values times independent factors of about the size e."""
    return values * rng.lognormal(sigma=1.0, size=len(values))


def not_asked(*given, **named):
    raise MissingNumbersError("Only the printed numbers are asked.")


def moved(function, right: str) -> bool:
    """Whether there is another printed answer now; none at all, because noise cannot be read, is not another one."""
    try:
        answer = function(store.full).printed
    except (ResultError, TypeError, ValueError, KeyError, IndexError, np.linalg.LinAlgError):
        return False
    return answer in JUDGED - {right}


@pytest.mark.filterwarnings("ignore")
def test_printed_tables_in_another_order_move_every_printed_answer_that_is_not_listed(monkeypatch):
    right_of, still = answers("printed"), {*REPRINTED}
    waiting, functions = set(right_of), claims.registered()
    folder, right = paths.data("paper"), pd.read_csv
    for module in (adult, rathore2025_claims, vu2022_claims, zhou2024_claims):
        monkeypatch.setattr(module, "ours", not_asked)
    for how, seed in itertools.product((shuffled, multiplied), range(8)):

        def mixed(path, *given, how=how, seed=seed, **options):
            frame = right(path, *given, **options)
            if Path(path).parent != folder or "value" not in frame or (how is multiplied and "dtype" in options):
                return frame
            rng = np.random.default_rng((seed, zlib.crc32(Path(path).name.encode())))
            return frame.assign(value=frame.groupby("metric", sort=False)["value"].transform(how, rng))

        monkeypatch.setattr(pd, "read_csv", mixed)
        trying = waiting if seed == 0 else waiting - still
        waiting -= {one for one in trying if moved(functions[one][1], right_of[one])}
    assert waiting == still
