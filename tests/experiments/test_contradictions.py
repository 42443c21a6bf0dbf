"""Contradictions: descriptions and checks belong together, outcomes can come out either way, nothing is typed."""

import pandas as pd
import pytest

from compendium import paths
from compendium.claim_rules import HOLDS, IN_PART, NOT_SO, Answer
from compendium.ledger import contradictions
from compendium.ledger.contradictions import BOTH, CHECKS, FIRST, MARKS, PART, SECOND, UNDECIDED, ByClaim, by_count
from compendium.papers.zhou2024.arithmetic import printed
from compendium.store import MissingNumbersError
from evenspan.core.errors import ResultError

QUICK = ["X01", "X03", "X06", "X15", "X19", "X23", "X29", "X30", "X31"]


def test_every_description_has_a_check_two_sides_and_no_outcome():
    frame = contradictions.described()
    assert (
        list(frame["id"])
        == sorted(contradictions.checks())
        == [f"X{number:02d}" for number in range(1, len(frame) + 1)]
    )
    assert (frame["says"] != frame["against"]).all()
    text = " ".join(frame["says"]) + " ".join(frame["against"])
    assert not any(outcome in text for outcome in MARKS)


def test_quick_checks_give_an_outcome_with_evidence():
    found = contradictions.resolved(QUICK)
    assert list(found["id"]) == QUICK
    assert set(found["outcome"]) <= {*MARKS} - {contradictions.PENDING}
    assert (found["evidence"].str.len() > 40).all()


def test_unknown_names_are_refused():
    with pytest.raises(ResultError, match="no contradiction X99"):
        contradictions.resolved(["X99"])
    with pytest.raises(ResultError, match="C99"):
        contradictions.answer_of("C99")


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
def test_a_damaged_file_is_refused(tmp_path, monkeypatch, change, message):
    whole = pd.read_csv(paths.data("paper", "contradictions.csv"), dtype=str, keep_default_na=False)
    change(whole).to_csv(tmp_path / "contradictions.csv", index=False)
    monkeypatch.setattr(paths, "data", lambda *parts: tmp_path / parts[-1])
    with pytest.raises(ResultError, match=message):
        contradictions.described()


def test_answers_of_claims_become_outcomes(monkeypatch):
    given = {}
    monkeypatch.setattr(contradictions, "answer_of", lambda claim: given[claim])
    check = ByClaim("C1", in_part=BOTH)
    for answer, outcome in ((HOLDS, FIRST), (IN_PART, BOTH), (NOT_SO, SECOND), ("not computable", UNDECIDED)):
        given["C1"] = Answer(answer, "computed", NOT_SO)
        assert check() == (outcome, f"computed (Claim C1: {answer}.)")
    assert ByClaim("C1", side="printed")()[0] == SECOND
    given["C1"] = Answer("not judged", "printed only", HOLDS)
    with pytest.raises(MissingNumbersError):
        check()
    assert ByClaim("C1", side="printed")()[0] == FIRST


def test_the_weakest_of_several_claims_decides(monkeypatch):
    given = {"C1": Answer(HOLDS, "one"), "C2": Answer(IN_PART, "other")}
    monkeypatch.setattr(contradictions, "answer_of", lambda claim: given[claim])
    assert ByClaim("C1", "C2", also="More.")() == (
        PART, "one (Claim C1: holds.) other (Claim C2: holds in part.) More.",
    )  # fmt: skip


PAIRS = {name: check for name, check in CHECKS.items() if isinstance(check, ByClaim)}


@pytest.mark.parametrize("name", PAIRS)
def test_a_contradiction_never_says_otherwise_than_its_claims(name):
    """Whatever the answers are: words that hold are not refuted, and words that do not hold are not upheld."""
    check, known_by = PAIRS[name], contradictions.described().set_index("id")["known_by"]
    assert (check.side == "printed") == (known_by[name] == "recount")
    against = name == "X11"  # its statement is the other number, of which the claim is the objection
    for answer, refuted in ((HOLDS, against), (NOT_SO, not against)):
        assert check.of([answer] * len(check.claims)) in ({SECOND, UNDECIDED} if refuted else {FIRST, BOTH, UNDECIDED})
    assert check.of([HOLDS, NOT_SO]) == check.of([NOT_SO])


def test_counts_become_outcomes():
    assert [by_count(good, 3) for good in (3, 1, 0)] == [FIRST, PART, SECOND]


def test_single_runs_would_be_recognised(monkeypatch):
    assert contradictions.single_runs()[0] == BOTH
    assert "means over several runs" in contradictions.single_runs()[1]
    share = 0.4
    balances = pd.Series([0.2, 0.35, 0.5, 0.6], index=list("abcd"))
    entropy = float(contradictions.arithmetic.binary_entropy(share))
    table = pd.DataFrame({"Bal": balances, "MNCE": contradictions.arithmetic.entropy_of_balance(balances) / entropy}).T
    monkeypatch.setattr(contradictions.arithmetic, "printed", lambda dataset: table)
    assert contradictions.single_runs() == (BOTH, "All columns can be single runs on data with the same two groups.")
    assert not printed("credit_card").equals(table)


def test_rounding_allows_only_a_small_entropy(monkeypatch):
    assert contradictions.balance_of_many_groups()[0] == BOTH
    monkeypatch.setattr(contradictions.arithmetic, "HALF_DIGIT", 1e-6)
    assert contradictions.balance_of_many_groups()[0] == UNDECIDED
