"""The rules of the claims: one file has them all, each is used, and no answer compares with a typed number."""

import ast
import re
from pathlib import Path

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import claim_rules, findings
from compendium.ledger.claim_rules import described, rule, rules
from evenspan.core.errors import ResultError

PACKAGE = Path(claim_rules.__file__).parents[1]
#: Numbers that compare without being a rule: nothing, everything, a sign, a pair.
PLAIN = {0, 1, -1, 2}
#: What is compared in the functions that answer, and decides nothing, by module.
SETTINGS = {
    "ledger.findings_data": {10},  # components of the table that is read
    "ledger.findings_programs": {10},  # the same
    "kleindessner2023.theorems": {0.5},  # made labels
    "vu2022.theorems": {3, "FLOOR"},  # every third problem is of another kind; a gap that no search can tell from none
    # of the published program, told beside the answer; the probability that the theorem itself is stated with
    "zhou2024.theorems": {"PUBLISHED_ROUNDS", "DELTA"},
}
#: What functions that answer claims return.
RETURNS = ("Answer", "Answer | None", "claim_rules.Answer | None", "tuple[str, str]", "Evidence", "Evidence | None")
#: Modules in which answers to claims are computed.
ANSWERING = sorted(
    path
    for path in (*PACKAGE.glob("papers/*/*.py"), *PACKAGE.glob("ledger/findings_*.py"))
    if "claim_rules import" in path.read_text(encoding="utf-8")
)


def named(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removeprefix("papers.")


def asked() -> set[tuple[str, str]]:
    """Every ``rule(claim, name)`` in the package; both must be written out, so that they can be found here."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if "claim_rules import" not in path.read_text(encoding="utf-8"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "rule":
                words = [one.value for one in node.args if isinstance(one, ast.Constant)]
                assert len(words) == len(node.args) == 2, f"{path.name}, line {node.lineno}: write both words out"
                found.add(tuple(words))
    return found


def test_every_rule_is_used_and_every_rule_asked_for_exists():
    have = {(claim, name) for claim, named in rules().items() for name in named}
    assert asked() == have
    assert len(have) > 100


def test_rules_belong_to_claims_of_the_papers_and_quote_them():
    listed = pd.read_csv(paths.data("paper", "claims.csv"), dtype=str, keep_default_na=False).set_index("id")["claim"]
    of_claims = {claim: named for claim, named in rules().items() if claim not in findings.checks()}
    assert set(of_claims) <= set(listed.index)
    quoted = 0
    for claim, named in of_claims.items():
        for name, one in named.items():
            assert one.words.endswith("."), (claim, name)
            if one.said:
                assert one.said in listed[claim], (claim, name)
                numbers = [float(text.replace(",", "")) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", one.said)]
                inside = not numbers or any(abs(one.value) == number for number in numbers) or "/" in one.said
                assert inside, f"{claim}, {name}: {one.value} is not in {one.said!r}"
                quoted += 1
    assert quoted > 20


def constants(tree: ast.Module) -> set[str]:
    """Names of numbers at the top of a module."""
    found = set()
    for one in tree.body:
        if isinstance(one, ast.Assign):
            values = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
            if all(isinstance(value, ast.Constant) and isinstance(value.value, int | float) for value in values):
                found |= {name.id for target in one.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def typed(text: str, allowed: set) -> list[str]:
    """Numbers with which the functions that answer compare: literals and constants, alone or in a sum or product."""
    tree = ast.parse(text)
    names, found = constants(tree), []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or ast.unparse(function.returns or ast.Constant(0)) not in RETURNS:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Compare):
                given = [one for side in (node.left, *node.comparators) for one in terms(side)]
                found += [
                    f"line {node.lineno}: {one}"
                    for one in given
                    if one not in allowed and (one in names if isinstance(one, str) else one not in PLAIN)
                ]
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


@pytest.mark.parametrize("path", ANSWERING, ids=named)
def test_no_answer_compares_with_a_number_typed_in_its_module(path):
    found = typed(path.read_text(encoding="utf-8"), SETTINGS.get(named(path), set()))
    assert not found, f"{path.name}: {found}; put the number into data/tolerances.yml and ask claim_rules.rule for it."


def test_a_typed_threshold_is_noticed():
    head = "MUCH = 2.5\n\ndef claim(x) -> Answer:\n    return "
    assert typed(f"{head}x < 0.25", set()) == ["line 4: 0.25"]
    assert typed(f"{head}len(x) == 11 and x >= 2 * MUCH", set()) == ["line 4: 11", "line 4: MUCH"]
    assert typed(f"{head}0.0 < x <= rule('K01', 'much')", set()) == []
    assert typed(f"{head}x < MUCH", {"MUCH"}) == []


def test_what_the_ledger_shows_beside_a_claim():
    table = described()
    assert list(table.columns) == ["claim", "rule", "value", "words"]
    assert not table.duplicated(["claim", "rule"]).any()
    line = table.set_index(["claim", "rule"]).loc[("V14", "data sets")]
    assert line["value"] == rule("V14", "data sets") == 11
    assert "“11 of 15 data sets”" in line["words"]
    assert "(the claim" not in table.set_index(["claim", "rule"]).loc[("K15", "times faster"), "words"]


@pytest.fixture
def given(tmp_path, monkeypatch):
    """A function that puts another file in place."""

    def put(text: str) -> None:
        (tmp_path / "tolerances.yml").write_text(text, encoding="utf-8")

    monkeypatch.setattr(paths, "data", lambda *parts: tmp_path.joinpath(*parts))
    return put


def test_another_file_gives_other_numbers_and_what_is_missing_is_named(given):
    with pytest.raises(ResultError, match="cannot be read"):
        rule("K01", "rounding")
    given("findings: {}\nclaims: {K01: {rounding: {value: 0.5, words: Half.}}}")
    assert rule("K01", "rounding") == 0.5
    with pytest.raises(ResultError, match="no rule 'control' for K01; it has rounding"):
        rule("K01", "control")
    with pytest.raises(ResultError, match="for K02; it has none"):
        rule("K02", "rounding")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1", "section claims: .* valid dictionary"),
        ("claims: [1]", "section claims: .* valid dictionary"),
        ("claims: {K01: 3}", "K01: .* valid dictionary"),
        ("claims: {K01: {}}", "K01: .* at least 1 item"),
        ("claims: {K01: {rounding: 3}}", "K01, rounding: .* valid dictionary"),
        ("claims: {K01: {rounding: {value: 3}}}", "K01, rounding, words: Field required"),
        ("claims: {K01: {rounding: {value: 3, words: a, why: b}}}", "K01, rounding, why: Extra inputs"),
        ("claims: {K01: {rounding: {value: 1e-9, words: a}}}", r"valid number, but holds '1e-9'.*1\.0e-9, not 1e-9"),
        ("claims: {K01: {rounding: {value: true, words: a}}}", "valid number, but holds True"),
        ("claims: {K01: {rounding: {value: .nan, words: a}}}", "finite number"),
        ("claims: {K01: {rounding: {value: 3, words: ''}}}", "at least 1 character"),
        ("claims: {K01: {rounding: {value: 3, words: a, said: 4}}}", "said: .* valid string"),
        ("claims: {K01: {", "is not YAML"),
    ],
)
def test_what_is_wrong_in_the_file_is_told(given, text, message):
    given(text if text.endswith("{") else f"findings: {{}}\n{text}")
    with pytest.raises(ResultError, match=message):
        rules()


def test_both_sections_are_needed_and_a_name_stands_in_one(given):
    given("claims: {}")
    with pytest.raises(ResultError, match="section findings"):
        rules()
    one = "{same: {rule: {value: 1, words: One.}}}"
    given(f"claims: {one}\nfindings: {one}")
    with pytest.raises(ResultError, match="same has rules in both sections"):
        rules()
