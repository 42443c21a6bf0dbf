"""The rules of the claims: one file has them all, and each is used."""

import re

import pytest

from compendium import claim_rules, paths
from compendium.claim_rules import rule, rules
from compendium.ledger import claims, contradictions
from evenspan.core.errors import ResultError


class Asked(dict):
    """Rules of a claim by name; those that are read are kept."""

    def __init__(self, claim, named, asked):
        super().__init__(named)
        self.claim, self.asked = claim, asked

    def __getitem__(self, name):
        self.asked.add((self.claim, name))
        return super().__getitem__(name)


def test_every_rule_is_asked_for(monkeypatch):
    """By the answers and checks, which are computed here, and by the pages; one that does not exist is an error."""
    have, asked = rules(), set()
    named = {claim: Asked(claim, some, asked) for claim, some in have.items()}
    monkeypatch.setattr(claim_rules, "rules", lambda: named)
    for _, answer in claims.registered().values():
        answer()
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
