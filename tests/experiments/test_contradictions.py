"""Rules of claims, each asked for; contradictions, each resolved once, and their outcomes can come out either way."""

import re

import pytest
from tests.experiments.test_paper_judges import ANSWERS

from compendium import claim_rules, paths
from compendium.claim_rules import HOLDS, IN_PART, NOT_SO, Answer, rule, rules
from compendium.ledger import claims, contradictions
from compendium.ledger.contradictions import BOTH, FIRST, MARKS, PART, SECOND, UNDECIDED
from compendium.store import MissingNumbersError
from evenspan.core.errors import ResultError

ROWS = contradictions.described().to_dict("records")
ROW = {"claims": "C1", "known_by": "computation", "holds": "", "in_part": BOTH, "not_so": "", "also": "More."}


class Asked(dict):
    """Rules of a claim by name; those that are read are kept."""

    def __init__(self, claim, named, asked):
        super().__init__(named)
        self.claim, self.asked = claim, asked

    def __getitem__(self, name):
        self.asked.add((self.claim, name))
        return super().__getitem__(name)


def test_every_claim_has_its_answer_and_every_rule_is_asked_for(monkeypatch):
    """By the answers and checks, which are computed here, and by the pages; one that does not exist is an error."""
    have, asked = rules(), set()
    named = {claim: Asked(claim, some, asked) for claim, some in have.items()}
    monkeypatch.setattr(claim_rules, "rules", lambda: named)
    found = claims.claims().set_index("id")[list(claims.SIDES)].apply(tuple, axis=1).to_dict()
    assert found == {claim: three for three, names in ANSWERS.items() for claim in names.split()}
    contradictions.resolved()
    for path in (*(paths.root() / "book").rglob("*.md"), *(paths.root() / "notebooks").rglob("*.ipynb")):
        asked |= set(re.findall(r'rule\(\\?"([^"\\]+)\\?", \\?"([^"\\]+)\\?"\)', path.read_text(encoding="utf-8")))
    assert asked == {(claim, name) for claim, some in have.items() for name in some}
    assert len(asked) > 100


def test_the_file_decides_and_what_it_lacks_is_named():
    assert rule("V14", "data sets") == 11
    with pytest.raises(ResultError, match="no rule 'luck' for V14; it has data sets"):
        rule("V14", "luck")
    with pytest.raises(ResultError, match="for K99; it has none"):
        rule("K99", "rounding")


def test_every_description_has_one_check_two_sides_and_no_outcome():
    assert [row["id"] for row in ROWS] == [f"X{number:02d}" for number in range(1, len(ROWS) + 1)]
    of_rooms = [key for module in claims.answering().values() for key in getattr(module, "CONTRADICTIONS", ())]
    assert sorted([*of_rooms, *(row["id"] for row in ROWS if row["claims"])]) == [row["id"] for row in ROWS]
    for row in ROWS:
        assert row["says"] != row["against"]
        assert not any(outcome in row["says"] + row["against"] for outcome in MARKS)


def test_the_weakest_of_the_answers_to_claims_decides(monkeypatch):
    given = {"C1": None, "C2": Answer(HOLDS, "other")}
    known = {name: ("", lambda rows, n=name: given[n]) for name in given}
    monkeypatch.setattr(contradictions, "registered", lambda: known)
    for answer, outcome in ((HOLDS, FIRST), (IN_PART, BOTH), (NOT_SO, SECOND), ("not computable", UNDECIDED)):
        given["C1"] = Answer(answer, "computed", NOT_SO)
        assert contradictions.by_claims(ROW) == (outcome, f"computed (Claim C1: {answer}.) More.")
    given["C1"] = Answer("not judged", "printed only", HOLDS)
    with pytest.raises(MissingNumbersError):
        contradictions.by_claims(ROW)
    assert contradictions.by_claims(ROW | {"known_by": "recount"})[0] == FIRST
    given["C1"] = Answer(IN_PART, "one")
    assert contradictions.by_claims(ROW | {"claims": "C1 C2", "in_part": ""})[0] == PART


@pytest.mark.parametrize("row", [row for row in ROWS if row["claims"]], ids=lambda row: row["id"])
def test_a_contradiction_never_says_otherwise_than_its_claims(row):
    """Whatever the answers are: words that hold are not refuted, and words that do not hold are not upheld."""
    against = row["id"] == "X11"  # its statement is the other number, of which the claim is the objection
    assert {row[column] for column in contradictions.OUTCOMES} <= {"", *MARKS}
    for answer, refuted in ((HOLDS, against), (NOT_SO, not against)):
        outcome = contradictions.outcome_of(row, [answer] * len(row["claims"].split()))
        assert outcome in ({SECOND, UNDECIDED} if refuted else {FIRST, BOTH, UNDECIDED})
    assert contradictions.outcome_of(row, [HOLDS, NOT_SO]) == contradictions.outcome_of(row, [NOT_SO])
