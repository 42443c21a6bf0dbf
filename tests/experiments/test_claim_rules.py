"""The rules of the claims: one file has them all, each is used, and no answer compares with a typed number."""

import ast
import re
from pathlib import Path

import pandas as pd
import pytest

from compendium import claim_rules, paths
from compendium.book import findings
from compendium.catalogue import catalogue
from compendium.claim_rules import rule, rules
from compendium.ledger import claims, contradictions
from evenspan.core.errors import ResultError

PACKAGE = Path(claim_rules.__file__).parent
#: Numbers that compare without being a rule: nothing, everything, a sign, a pair.
PLAIN = {0, 1, -1, 2}
#: What is compared in the functions that answer, and decides no claim, by module.
SETTINGS = {
    # the probability that the theorem itself is stated with
    "zhou2024.theorems": {"DELTA"},
}
#: What functions that answer claims return.
RETURNS = ("Answer", "Answer | None", "Outcome", "Evidence", "Evidence | None")
RETURNS += ("tuple[str, str]", "tuple[str, Numbers]")


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


def test_rules_belong_to_claims_of_the_papers_and_quote_them():
    listed = pd.read_csv(paths.data("paper", "claims.csv"), dtype=str, keep_default_na=False).set_index("id")["claim"]
    findings_ = set(findings.listed().index)
    quoted = 0
    for claim, named in rules().items():
        assert (claim in listed.index) != (claim in findings_), claim
        for name, one in named.items():
            assert one.words.endswith("."), (claim, name)
            if one.said and claim in listed.index:
                assert one.said in listed[claim], (claim, name)
                numbers = [float(text.replace(",", "")) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", one.said)]
                inside = not numbers or any(abs(one.value) == number for number in numbers) or "/" in one.said
                assert inside, f"{claim}, {name}: {one.value} is not in {one.said!r}"
                quoted += 1
    assert quoted > 20


def answering(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions of a module that answer claims, or give the evidence of findings."""
    return [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef) and ast.unparse(one.returns or ast.Constant(0)) in RETURNS
    ]


def constants(tree: ast.Module) -> set[str]:
    """Names of numbers at the top of a module."""
    found = set()
    for one in tree.body:
        if isinstance(one, ast.Assign):
            values = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
            if all(isinstance(value, ast.Constant) and isinstance(value.value, int | float) for value in values):
                found |= {name.id for target in one.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def terms(side: ast.expr) -> list:
    """Numbers and names of which an expression is made by arithmetic, without what stands in calls and brackets."""
    if isinstance(side, ast.Constant) and type(side.value) in (int, float):
        return [side.value]
    if isinstance(side, ast.Name):
        return [side.id]
    if isinstance(side, ast.UnaryOp):
        return terms(side.operand)
    return [*terms(side.left), *terms(side.right)] if isinstance(side, ast.BinOp) else []


def typed(text: str, allowed: set) -> list[str]:
    """Numbers with which the functions that answer compare: literals and constants, alone or in a sum or product."""
    tree = ast.parse(text)
    names, found = constants(tree), []
    for node in (node for function in answering(tree) for node in ast.walk(function)):
        if isinstance(node, ast.Compare):
            given = [one for side in (node.left, *node.comparators) for one in terms(side)]
            found += [
                f"line {node.lineno}: {one}"
                for one in given
                if one not in allowed and (one in names if isinstance(one, str) else one not in PLAIN)
            ]
    return found


def test_no_answer_compares_with_a_number_typed_in_its_module():
    """In every module of every room: those of one name in two rooms are two."""
    found, looked_at = {}, {}
    for path in PACKAGE.glob("papers/*/*.py"):
        text, name = path.read_text(encoding="utf-8"), f"{path.parent.name}.{path.stem}"
        looked_at[name] = len(answering(ast.parse(text)))
        found[name] = typed(text, SETTINGS.get(name, set()))
    found = {name: numbers for name, numbers in found.items() if numbers}
    assert not found, "put the number into data/tolerances.yml and ask claim_rules.rule for it"
    answered = {*SETTINGS, *(f"{entry.room}.claims" for entry in catalogue().values())} - {"across.claims"}
    assert all(looked_at[name] for name in answered), "of the rooms only the comparison answers no claim"


def test_a_typed_threshold_is_noticed():
    head = "MUCH = 2.5\n\ndef claim(x) -> Answer:\n    return "
    assert typed(f"{head}x < 0.25", set()) == ["line 4: 0.25"]
    assert typed(f"{head}len(x) == 11 and x >= 2 * MUCH", set()) == ["line 4: 11", "line 4: MUCH"]
    assert typed(f"{head}0.0 < x <= rule('K01', 'much')", set()) == []
    assert typed(f"{head}x < MUCH", {"MUCH"}) == []


def test_the_file_decides_and_what_it_lacks_is_named():
    assert rule("V14", "data sets") == 11
    with pytest.raises(ResultError, match="no rule 'luck' for V14; it has data sets"):
        rule("V14", "luck")
    with pytest.raises(ResultError, match="for K99; it has none"):
        rule("K99", "rounding")
