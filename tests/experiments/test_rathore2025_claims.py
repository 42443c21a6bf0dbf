"""Claims of Rathore and Manwani (2025) about their tables: answers from print, and that each can come out otherwise."""

import numpy as np
import pandas as pd
import pytest

from evenspan import paths
from evenspan.experiments import rathore2025_claims as claims
from evenspan.experiments import rathore2025_counting as counting
from evenspan.experiments import rathore2025_identities as identities
from evenspan.experiments.rathore2025_counting import NAMES
from evenspan.experiments.rathore2025_protocol import PRINTED, PUBLISHED, RELEASED, TABLES, printed
from evenspan.experiments.rathore2025_speed import claims as speed
from evenspan.experiments.rathore2025_theorems import claims as theorems

EXPECTED = {
    "R12": "holds in part",
    "R13": "holds in part",
    "R14": "holds",
    "R15": "does not hold",
    "R16": "holds",
    "R17": "does not hold",
    "R18": "does not hold",
    "R20": "holds in part",
    "R21": "holds in part",
    "R22": "holds",
    "R23": "holds",
    "R24": "holds",
    "R25": "not computable",
}
KEYS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]


@pytest.fixture
def empty(monkeypatch):
    """No results of ours."""
    for module in (claims, counting):
        monkeypatch.setattr(module, "read_results", lambda name: pd.DataFrame(columns=KEYS))


@pytest.fixture
def tables(monkeypatch, empty):
    """A function that puts other printed tables in place: a column for each (method, metric), the same everywhere."""

    def put(change):
        made = {name: printed(name).copy() for name in TABLES}
        for wide in made.values():
            for method in PUBLISHED:
                wide[method, "R.E."], wide[method, "V.E."] = 10.0 / wide.index, 1.0 - 0.1 / wide.index
                wide[method, "MMD^2"] = 0.1
            change(wide)
        for module in (counting, identities):
            monkeypatch.setattr(module, "printed", made.__getitem__)

    return put


def test_all_26_claims_are_answered_somewhere_and_once():
    ids = [*theorems, *speed, *claims.claims]
    assert sorted(ids) == [f"R{number:02d}" for number in range(1, 27)]


@pytest.mark.parametrize("claim", sorted(EXPECTED))
def test_answers_from_the_printed_tables(claim, empty):
    answer, evidence = claims.claims[claim]()
    assert answer == EXPECTED[claim], evidence
    assert evidence.endswith(".")
    assert "Ours:" not in evidence


def test_everything_claimed_holds_of_tables_in_which_it_does(tables):
    def as_claimed(wide):
        wide["JevdPCA", "MMD^2"] = 0.1 / 2.0
        wide["StandardPCA", "R.E."], wide["StandardPCA", "V.E."] = 9.9 / wide.index, 1.0 - 0.099 / wide.index

    tables(as_claimed)
    for claim in ("R12", "R13", "R15", "R16", "R17", "R18", "R20", "R21"):
        answer, evidence = claims.claims[claim]()
        assert answer == "holds", evidence


def test_nothing_claimed_holds_of_tables_in_which_it_does_not(tables):
    def otherwise(wide):
        wide["JevdPCA", "MMD^2"] = 3.0 - 0.1 * np.arange(len(wide))
        wide["JevdPCA", "R.E."], wide["JevdPCA", "V.E."] = 20.0 / wide.index, 0.3
        wide["StandardPCA", "R.E."], wide["StandardPCA", "V.E."] = 12.0 / wide.index, 0.4
        wide["StandardPCA", "MMD^2"] = wide["JevdPCA", "MMD^2"]

    tables(otherwise)
    for claim in ("R12", "R13", "R14", "R15", "R16", "R17", "R18", "R20", "R21"):
        answer, evidence = claims.claims[claim]()
        assert answer == "does not hold", evidence


def test_printed_numbers_that_cannot_be():
    found = identities.impossible()
    assert set(found["dataset"]) == {"Diabetes"}
    assert set(found["method"]) == {"JevdPCA"}
    assert found.loc[found["what"] == "MMD^2 falls", "r"].tolist() == [12, 18]
    above = found[found["what"].str.startswith("MMD^2 above")]
    assert above["r"].tolist() == [16, 17, 18, 19]
    assert above["limit"].unique() == pytest.approx([3.694], abs=1e-3)


def test_pca_with_less_variance_than_another_is_impossible(tables):
    def worse(wide):
        wide["StandardPCA", "V.E."] = 0.5
        wide["StandardPCA", "R.E."] = 30.0

    tables(worse)
    found = identities.impossible()
    assert {"V.E. above StandardPCA", "R.E. below StandardPCA"} <= set(found["what"])
    assert "beyond" in identities.pca_is_best()[1].lower()


def test_the_range_of_the_baselines():
    wide = printed(NAMES["Diabetes"]).loc[[1]].copy()
    for method, value in zip(PUBLISHED, (1.0, 2.0, 2.2, 2.0), strict=True):
        wide[method, "R.E."] = value
        wide[method, "V.E."] = value / 10
    others = [method for method in PUBLISHED if method != "JevdPCA"]
    assert claims.beyond(wide, "R.E.", others).iloc[0] == pytest.approx(0.1)
    assert claims.beyond(wide, "V.E.", others).iloc[0] == pytest.approx(0.02)
    assert claims.similar(wide, "R.E.", others).all()
    wide["JevdPCA", "R.E."] = 2.3
    assert not claims.similar(wide, "R.E.", others).any()
    wide["JevdPCA", "R.E."] = 1.5
    assert claims.beyond(wide, "R.E.", others).iloc[0] == 0.0


def test_our_numbers_stand_beside_those_in_print(monkeypatch):
    rows = [
        (name, method, k, 0, RELEASED, metric, printed(name).loc[k, (method, metric)] + 0.001)
        for name in TABLES for k in printed(name).index for method in PUBLISHED for metric in PRINTED
    ]  # fmt: skip
    rows += [
        (name, method, k, 0, RELEASED, "worst loss", value)
        for name in TABLES for k in printed(name).index
        for method, value in (("JevdPCA", 2.0), ("FairPCA_SDP_LP", 1.0), ("StandardPCA", 1.5))
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=KEYS)
    for module in (claims, counting):
        monkeypatch.setattr(module, "read_results", lambda name: frame)
    assert counting.ours("npha")[PUBLISHED[0], "R.E."].tolist() == printed("npha")[PUBLISHED[0], "R.E."].tolist()
    for claim in ("R12", "R14", "R17", "R18", "R20"):
        evidence = claims.claims[claim]()[1]
        told = evidence.split("Printed: ")[1].split(". Ours: ")
        assert told[1].startswith(told[0]), evidence
    assert "above the least possible in 54" in claims.claims["R18"]()[1]


def test_counts_of_rows_and_features_can_differ(monkeypatch):
    from dataclasses import replace

    right = claims.datasets.entry
    monkeypatch.setattr(claims.datasets, "entry", lambda name: replace(right(name), rows=1, features=2))
    assert claims.claims["R22"]()[0] == "does not hold"
    assert claims.claims["R23"]()[0] == "does not hold"
    monkeypatch.setattr(claims.datasets, "entry", lambda name: replace(right(name), features=35))
    assert claims.claims["R22"]()[0] == "holds in part"


def test_one_algorithm_under_two_names_would_be_noticed(monkeypatch):
    right = claims.search_reference
    monkeypatch.setattr(claims, "search_reference", lambda family, constrained: right(family, False))
    assert claims.claims["R24"]()[0] == "does not hold"


def test_numbers_of_the_figure_would_be_compared(tmp_path, monkeypatch):
    cells = pd.concat([pd.read_csv(paths.data("paper", f"{t.stem}.csv"), dtype=str) for t in TABLES.values()])
    folder = tmp_path / "paper"
    folder.mkdir()
    for table in TABLES.values():
        (folder / f"{table.stem}.csv").write_bytes(paths.data("paper", f"{table.stem}.csv").read_bytes())
    cells.to_csv(folder / "rathore2025_figure1.csv", index=False)
    monkeypatch.setattr(claims.paths, "data", lambda *parts: tmp_path.joinpath(*parts))
    assert claims.figure_shows_the_tables()[0] == "holds"
    cells.assign(value="0").to_csv(folder / "rathore2025_figure1.csv", index=False)
    assert claims.figure_shows_the_tables()[0] == "does not hold"
