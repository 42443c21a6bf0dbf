"""Contradictions: descriptions and checks belong together, outcomes can come out either way, nothing is typed."""

import pytest

from compendium.claim_rules import HOLDS, IN_PART, NOT_SO, Answer
from compendium.ledger import contradictions
from compendium.ledger.contradictions import BOTH, CHECKS, FIRST, MARKS, PART, SECOND, UNDECIDED, ByClaim
from compendium.store import MissingNumbersError


def test_every_description_has_a_check_two_sides_and_no_outcome():
    frame = contradictions.described()
    assert list(frame["id"]) == [f"X{number:02d}" for number in range(1, len(frame) + 1)]
    assert list(frame["id"]) == sorted(contradictions.checks())
    assert (frame["says"] != frame["against"]).all()
    text = " ".join(frame["says"]) + " ".join(frame["against"])
    assert not any(outcome in text for outcome in MARKS)


def test_answers_of_claims_become_outcomes(monkeypatch):
    given = {"C1": None}
    monkeypatch.setattr(contradictions, "registered", lambda: {name: ("", lambda n=name: given[n]) for name in given})
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
    monkeypatch.setattr(contradictions, "registered", lambda: {name: ("", lambda n=name: given[n]) for name in given})
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
