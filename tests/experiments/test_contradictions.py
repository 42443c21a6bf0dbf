"""Contradictions: descriptions and checks belong together, outcomes can come out either way, nothing is typed."""

import pandas as pd
import pytest

from evenspan import paths
from evenspan.errors import ResultError
from evenspan.experiments import contradictions, contradictions_claims
from evenspan.experiments import contradictions_others as others
from evenspan.experiments import contradictions_rathore2025 as rathore
from evenspan.experiments import rathore2025_protocol as protocol
from evenspan.experiments.contradictions_claims import BOTH, FIRST, OPEN, PART, SECOND, by_claim, by_count
from evenspan.experiments.zhou2024_search_arithmetic import printed
from evenspan.report import ledger

QUICK = ["X01", "X03", "X06", "X15", "X19", "X23", "X29", "X30", "X31"]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A data root of its own; gives the file, to be written."""
    (tmp_path / "paper").mkdir()
    monkeypatch.setattr(paths, "data", lambda *parts: tmp_path.joinpath(*parts))
    return tmp_path / "paper" / "contradictions.csv"


def test_every_description_has_a_check_and_both_sides():
    frame = contradictions.described()
    assert list(frame["id"]) == [f"X{number:02d}" for number in range(1, len(frame) + 1)]
    assert set(frame["id"]) == set(contradictions.checks)
    assert (frame["says"] != frame["against"]).all()


def test_descriptions_hold_no_outcome():
    frame = contradictions.described()
    assert not {"outcome", "evidence", "answer"} & set(frame.columns)
    text = " ".join(frame["says"]) + " ".join(frame["against"])
    assert not any(outcome in text for outcome in contradictions.OUTCOMES)


def test_the_file_is_not_read_as_a_published_table():
    assert not ledger.published()["stem"].str.startswith("contradictions").any()


def test_quick_checks_give_an_outcome_with_evidence():
    found = contradictions.resolved(QUICK)
    assert list(found["id"]) == QUICK
    assert set(found["outcome"]) <= {*contradictions.OUTCOMES, contradictions.PENDING}
    assert (found["evidence"].str.len() > 40).all()


def test_unknown_names_are_refused():
    with pytest.raises(ResultError, match="no contradiction X99"):
        contradictions.resolved(["X99"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(kind="rumour"), "rumour"),
        (lambda f: f.iloc[:-1], "X33"),
        (lambda f: pd.concat([f, f.iloc[:1]]), "X01"),
        (lambda f: f.assign(against=f["against"].where(f["id"] != "X05", " ")), "empty cells in X05"),
        (lambda f: f.drop(columns="where"), "must have the columns"),
    ],
)
def test_a_damaged_file_is_refused(elsewhere, monkeypatch, change, message):
    whole = pd.read_csv(paths.root() / "data" / "paper" / "contradictions.csv", dtype=str, keep_default_na=False)
    change(whole).to_csv(elsewhere, index=False)
    with pytest.raises(ResultError, match=message):
        contradictions.described()


def test_answers_of_claims_become_outcomes(monkeypatch):
    given = {}
    monkeypatch.setattr(contradictions_claims, "answer_of", lambda claim: given[claim])
    check = by_claim("C1", in_part=BOTH)
    for answer, outcome in (("holds", FIRST), ("holds in part", BOTH), ("does not hold", SECOND), ("odd", OPEN)):
        given["C1"] = (answer, "computed")
        assert check() == (outcome, f"computed (Claim C1: {answer}.)")
    given["C1"] = None
    assert check() is None


def test_an_unknown_claim_is_refused():
    with pytest.raises(ResultError, match="C99"):
        contradictions_claims.answer_of("C99")


def test_counts_become_outcomes():
    assert [by_count(good, 3) for good in (3, 1, 0)] == [FIRST, PART, SECOND]


def test_our_times_decide_and_could_decide_otherwise(monkeypatch):
    theirs = pd.DataFrame({name: [1.0, 2.0] for name in protocol.TABLES}, index=[rathore.JEVD, rathore.PCA])
    monkeypatch.setattr(rathore, "printed_times", lambda: theirs)
    monkeypatch.setattr(rathore, "read_results", lambda name: None)
    monkeypatch.setattr(rathore, "our_times", lambda rows: theirs.iloc[::-1].set_axis(theirs.index))
    assert rathore.slower(rathore.JEVD, rathore.PCA, 1.0)[0] == FIRST
    monkeypatch.setattr(rathore, "our_times", lambda rows: theirs)
    assert rathore.slower(rathore.JEVD, rathore.PCA, 1.0)[0] == SECOND
    monkeypatch.setattr(rathore, "our_times", lambda rows: theirs.iloc[:1])
    assert rathore.slower(rathore.JEVD, rathore.PCA, 1.0) is None


def test_falling_distances_are_seen_by_the_recount(monkeypatch):
    monkeypatch.setattr(rathore, "answer_of", lambda claim: ("holds in part", "counted"))
    assert rathore.nested_columns()[0] == FIRST
    monkeypatch.setattr(rathore, "impossible", lambda: pd.DataFrame({"what": ["V.E. above StandardPCA"]}))
    assert rathore.nested_columns()[0] == BOTH


def test_sentences_about_in_sample_results_fit_without_one_data_set_only(monkeypatch):
    assert others.best_in_sample()[0] == BOTH
    known = others.vu.printed
    worse = known("in-sample", "ARE")
    worse.loc["Magic", "RFPCA"] = worse.loc["Magic", "FairPCA"] - 1.0
    monkeypatch.setattr(others.vu, "printed", lambda split, metric: worse if metric == "ARE" else known(split, metric))
    assert others.best_in_sample()[0] == SECOND


def test_single_runs_would_be_recognised(monkeypatch):
    assert others.single_runs()[0] == BOTH
    assert "means over several runs" in others.single_runs()[1]
    share = 0.4
    balances = pd.Series([0.2, 0.35, 0.5, 0.6], index=list("abcd"))
    entropy = float(others.arithmetic.binary_entropy(share))
    table = pd.DataFrame({"Bal": balances, "MNCE": others.arithmetic.entropy_of_balance(balances) / entropy}).T
    monkeypatch.setattr(others.arithmetic, "printed", lambda dataset: table)
    assert others.single_runs() == (BOTH, "All columns can be single runs on data with the same two groups.")
    assert not printed("credit_card").equals(table)


def test_rounding_allows_only_a_small_entropy(monkeypatch):
    assert others.balance_of_many_groups()[0] == BOTH
    monkeypatch.setattr(others.arithmetic, "HALF_DIGIT", 1e-6)
    assert others.balance_of_many_groups()[0] == OPEN
