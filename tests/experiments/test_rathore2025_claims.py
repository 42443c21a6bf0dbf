"""Claims of Rathore and Manwani (2025) about their tables: answers from print, and that each can come out otherwise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from compendium import paths
from compendium.experiments import rathore2025_claims as claims
from compendium.experiments import rathore2025_counting as counting
from compendium.experiments import rathore2025_identities as identities
from compendium.experiments.claim_rules import OPEN
from compendium.experiments.rathore2025_counting import NAMES
from compendium.experiments.rathore2025_protocol import PRINTED, PUBLISHED, RELEASED, TABLES, printed
from compendium.experiments.rathore2025_speed import claims as speed
from compendium.experiments.rathore2025_theorems import claims as theorems
from evenspan.core.errors import ResultError

EXPECTED = {
    "R12": "holds in part",
    "R13": "holds in part",
    "R14": "holds",
    "R15": "holds in part",
    "R16": "holds",
    "R17": "holds in part",
    "R18": "holds in part",
    "R20": "holds",
    "R21": "holds in part",
    "R22": "holds",
    "R23": "holds",
    "R24": "does not hold",
    "R25": "not computable",
}
BOTH = [f"R{number}" for number in (*range(12, 19), 20, 21)]
KEYS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]


@pytest.fixture
def empty(reads):
    """No results of ours."""
    for module in (claims, counting):
        reads(module, pd.DataFrame(columns=KEYS))


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
    here, evidence, answer = claims.claims[claim]()
    assert (answer or here) == EXPECTED[claim], evidence
    assert evidence.endswith(".")
    assert "Ours:" not in evidence
    assert here == (OPEN if claim in BOTH else None if claim == "R25" else "holds")


def test_everything_claimed_holds_of_tables_in_which_it_does(tables):
    def as_claimed(wide):
        wide["JevdPCA", "MMD^2"] = 0.1 / 2.0
        wide["StandardPCA", "R.E."], wide["StandardPCA", "V.E."] = 9.9 / wide.index, 1.0 - 0.099 / wide.index

    tables(as_claimed)
    for claim in ("R12", "R13", "R15", "R16", "R17", "R18", "R20", "R21"):
        _, evidence, answer = claims.claims[claim]()
        assert answer == "holds", evidence


def test_nothing_claimed_holds_of_tables_in_which_it_does_not(tables):
    def otherwise(wide):
        wide["JevdPCA", "MMD^2"] = 3.0 - 0.1 * np.arange(len(wide))
        wide["JevdPCA", "R.E."], wide["JevdPCA", "V.E."] = 30.0, 0.3
        wide["StandardPCA", "R.E."], wide["StandardPCA", "V.E."] = 12.0 / wide.index, 0.4
        wide["StandardPCA", "MMD^2"] = wide["JevdPCA", "MMD^2"]

    tables(otherwise)
    for claim in ("R12", "R13", "R14", "R15", "R16", "R17", "R18", "R20", "R21"):
        _, evidence, answer = claims.claims[claim]()
        assert answer == "does not hold", evidence


def test_where_the_two_scales_disagree_a_claim_holds_in_part(tables):
    def small_share(wide):
        wide["JevdPCA", "R.E."], wide["JevdPCA", "MMD^2"] = 10.0 / wide.index * 1.3, 0.05

    tables(small_share)
    for claim in ("R15", "R18"):
        _, evidence, answer = claims.claims[claim]()
        assert answer == "holds in part", evidence
        assert ": does not hold; in shares" in evidence
        assert evidence.split(". Ours")[0].rstrip(".").endswith(": holds") or claim == "R18"
    evidence = claims.claims["R15"]().evidence
    total = identities.least_total("npha")
    assert f"Diabetes 19 of 19 (outside by at most {3.0 / total:.3f})" in evidence


def test_what_counts_as_huge_and_where_larger_r_begins(tables):
    tables(lambda wide: wide.__setitem__(("JevdPCA", "MMD^2"), 0.1 / 1.8))
    _, evidence, answer = claims.claims["R13"]()
    assert answer == "holds in part"
    assert "strictly lowest at 10 of 10 r" in evidence
    assert "times as much at 0" in evidence
    evidence = claims.claims["R17"]().evidence
    assert evidence.startswith("r from 5 on.")
    assert "of 6 r" in evidence


def test_the_printed_excess_is_small_as_a_share_of_the_total_variance(empty):
    """One quantity on two scales: the excess of R.E. in total variances is about what V.E. is too low by."""
    evidence = claims.claims["R15"]().evidence
    assert "Diabetes 19 of 19 (outside by at most 0.003)" in evidence
    assert "Obesity 14 of 14 (outside by at most 0.002)" in evidence
    for name in TABLES:
        wide, total = printed(name), identities.least_total(name)
        excess = claims.beyond(wide, "R.E.", claims.BASELINES, total)
        lacking = claims.beyond(wide, "V.E.", claims.BASELINES)
        assert (excess - lacking).abs().max() < 0.03, name


def test_rounding_alone_does_not_make_a_number_impossible(tables):
    def touching(wide):
        wide["StandardPCA", "V.E."] = 0.50
        wide["StandardPCA", "R.E."] = 5.00
        for method in PUBLISHED[:3]:
            wide[method, "V.E."], wide[method, "R.E."] = 0.51, 4.99

    tables(touching)
    assert identities.impossible().empty
    assert identities.pca_is_best().printed == "holds"
    tables(lambda wide: (touching(wide), wide.__setitem__(("JevdPCA", "V.E."), 0.52)))
    assert set(identities.impossible()["what"]) == {"V.E. above StandardPCA"}
    assert identities.pca_is_best().printed == "holds in part"


def test_the_distance_of_the_means_limits_only_tables_of_known_data(monkeypatch):
    assert identities.impossible()["what"].str.startswith("MMD^2 above").any()
    right = identities.datasets.entry
    monkeypatch.setattr(identities.datasets, "entry", lambda name: replace(right(name), matches_paper=False))
    assert not identities.impossible()["what"].str.startswith("MMD^2 above").any()


def test_printed_numbers_that_cannot_be():
    found = identities.impossible()
    # V.E. is printed 0.01 above that of PCA at r = 3 and 10: rounding explains it.
    assert set(found["what"]) == {"MMD^2 falls", "MMD^2 above the distance of the means"}
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
    assert "beyond" in identities.pca_is_best().evidence.lower()


def test_the_range_of_the_baselines():
    wide = printed(NAMES["Diabetes"]).loc[[1]].copy()
    for method, value in zip(PUBLISHED, (1.0, 2.0, 2.2, 2.0), strict=True):
        wide[method, "R.E."] = value
        wide[method, "V.E."] = value / 10
    others = [method for method in PUBLISHED if method != "JevdPCA"]
    assert claims.beyond(wide, "R.E.", others).iloc[0] == pytest.approx(0.1)
    assert claims.beyond(wide, "V.E.", others).iloc[0] == pytest.approx(0.02)
    assert claims.similar(wide, "R.E.", others, 0.1).all()
    wide["JevdPCA", "R.E."] = 2.3
    assert not claims.similar(wide, "R.E.", others, 0.1).any()
    wide["JevdPCA", "R.E."] = 1.5
    assert claims.beyond(wide, "R.E.", others).iloc[0] == 0.0
    for method, value in zip(others, (2.0, 3.0, 4.0), strict=True):
        wide[method, "R.E."] = value
    assert claims.beyond(wide, "R.E.", others).iloc[0] == pytest.approx(0.25)
    assert claims.beyond(wide, "R.E.", others, 50.0).iloc[0] == pytest.approx(0.01)
    assert claims.similar(wide, "R.E.", others, 0.05, 50.0).all()
    assert not claims.similar(wide, "R.E.", others, 0.05, 5.0).any()


def our_rows(add=0.001):
    return [
        (name, method, k, 0, RELEASED, metric, printed(name).loc[k, (method, metric)] + add)
        for name in TABLES for k in printed(name).index for method in PUBLISHED for metric in PRINTED
    ]  # fmt: skip


def test_one_missing_number_of_ours_is_refused(reads):
    frame = pd.DataFrame(our_rows(), columns=KEYS)
    reads(counting, frame)
    assert len(counting.ours("npha")) == 10
    at = frame.index[(frame["dataset"] == "npha") & (frame["metric"] == "R.E.") & (frame["k"] == 3)][0]
    frame.loc[at, "value"] = np.nan
    with pytest.raises(ResultError, match="npha has not all of our numbers"):
        counting.ours("npha")
    assert len(counting.ours("obesity")) == 14


def test_our_numbers_stand_beside_those_in_print(reads):
    rows = our_rows()
    rows += [
        (name, method, k, 0, RELEASED, "worst loss", value)
        for name in TABLES for k in printed(name).index
        for method, value in (("JevdPCA", 2.0), ("FairPCA_SDP_LP", 1.0), ("StandardPCA", 1.5))
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=KEYS)
    for module in (claims, counting):
        reads(module, frame)
    assert counting.ours("npha")[PUBLISHED[0], "R.E."].tolist() == printed("npha")[PUBLISHED[0], "R.E."].tolist()
    for claim in ("R12", "R14", "R17", "R18", "R20"):
        evidence = claims.claims[claim]().evidence
        told = evidence.split("Printed: ")[1].split(". Ours: ")
        assert told[1].startswith(told[0]), evidence
    assert "above the least possible in 54" in claims.claims["R18"]().evidence


def test_counts_of_rows_and_features_can_differ(monkeypatch):
    right = claims._counted
    assert right("diabetes") == (253_680, 21)
    monkeypatch.setattr(claims, "_counted", lambda name: (1, 2))
    assert claims.claims["R22"]().here == "does not hold"
    assert claims.claims["R23"]().here == "does not hold"
    monkeypatch.setattr(claims, "_counted", lambda name: (right(name)[0], 35))
    assert claims.claims["R22"]().here == "holds in part"


def test_rows_are_counted_in_the_moments_and_read_in_the_registry_where_there_are_none(monkeypatch):
    entry = claims.datasets.entry("diabetes")
    monkeypatch.setattr(claims.datasets, "entry", lambda name: replace(entry, rows=1, features=2))
    assert claims._counted("diabetes") == (253_680, 21)
    monkeypatch.setattr(claims, "moments_of", lambda name: None)
    assert claims._counted("diabetes") == (1, 2)


def test_what_the_printed_tables_need_is_measured(monkeypatch):
    assert identities.pca_errors("diabetes") == (19, 19)
    assert identities.pca_errors("npha") == (10, 10)
    assert identities.pca_errors("npha", claims.LABELS["npha"])[1] == 10
    evidence = claims.claims["R23"]().evidence
    assert "NPHA needs its label too" in evidence
    assert "Obesity needs its label too" in evidence
    assert "gives Table 4 is another one" in evidence
    monkeypatch.setattr(claims, "pca_errors", lambda name, without="": (10 if without else 3, 10))
    right = claims.datasets.entry
    monkeypatch.setattr(claims.datasets, "entry", lambda name: replace(right(name), rows=2111, matches_paper=False))
    monkeypatch.setattr(claims, "_counted", lambda name: (2111, 15))
    evidence = claims.claims["R23"]().evidence
    assert "NPHA needs not its label" in evidence
    assert "label too" not in evidence
    assert "comes nearest to Table 4 is the same" in evidence


def test_one_algorithm_under_two_names_would_be_noticed(monkeypatch):
    right = claims.search_reference
    evidence = claims.claims["R24"]().evidence
    assert "in 26 of 54 rows" in evidence
    monkeypatch.setattr(claims, "search_reference", lambda family, constrained: right(family, False))
    answer, evidence, _ = claims.claims["R24"]()
    assert answer == "does not hold"
    assert "in 0 of 54 rows." in evidence
    # One data set in which they differ is enough, a last digit is not.
    monkeypatch.setattr(
        claims, "search_reference", lambda family, constrained: right(family, constrained and len(family.C) == 15)
    )
    assert claims.claims["R24"]().here == "holds"
    monkeypatch.setattr(
        claims, "search_reference",
        lambda family, constrained: (family.basis(0.5 + 1e-6 * constrained), 0.5, 1),
    )  # fmt: skip
    assert claims.claims["R24"]().here == "does not hold"


def test_numbers_of_the_figure_would_be_compared(tmp_path, monkeypatch):
    cells = pd.concat([pd.read_csv(paths.data("paper", f"{t.stem}.csv"), dtype=str) for t in TABLES.values()])
    folder = tmp_path / "paper"
    folder.mkdir()
    for table in TABLES.values():
        (folder / f"{table.stem}.csv").write_bytes(paths.data("paper", f"{table.stem}.csv").read_bytes())
    cells.to_csv(folder / "rathore2025_figure1.csv", index=False)
    (tmp_path / "tolerances.yml").write_bytes(paths.data("tolerances.yml").read_bytes())
    monkeypatch.setattr(claims.paths, "data", lambda *parts: tmp_path.joinpath(*parts))
    assert claims.figure_shows_the_tables().printed == "holds"
    cells.assign(value="0").to_csv(folder / "rathore2025_figure1.csv", index=False)
    assert claims.figure_shows_the_tables().printed == "does not hold"
