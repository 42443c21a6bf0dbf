"""The page *How it fails* shows the numbers of the stored outcomes and no others."""

import json
import re

import pytest

from compendium import paths
from compendium.book import failures
from evenspan.core import limits
from evenspan.core.errors import ResultError

PCA = {
    "kind": "estimator", "subject": "PCA", "tried": 10_000, "right": 7_001, "neither": 0, "seconds": 3.5,
    "named": {"DataError": 2_990, "GroupError": 9}, "hypothesis": "6.1", "commit": "a" * 40,
}  # fmt: skip
RECORD = PCA | {"kind": "file", "subject": "record", "tried": 7, "right": 4, "named": {"ResultError": 3}}
COMMAND = RECORD | {"kind": "command", "subject": "data list"}


@pytest.fixture
def keep(tmp_path, monkeypatch):
    """A function that makes these the stored outcomes."""
    monkeypatch.setattr(paths, "data", tmp_path.joinpath)

    def keep(*outcomes):
        (tmp_path / "outcomes").mkdir(exist_ok=True)
        for one in outcomes:
            name = f"{one.get('kind')}-{one.get('subject')}.json"
            (tmp_path / "outcomes" / name).write_text(json.dumps(one))

    return keep


def text(shown) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", shown.data).split())


def test_the_numbers_of_the_page_are_those_of_the_files(keep):
    keep(COMMAND, RECORD, PCA)
    said = text(failures.total())
    for part in ("10,014 draws of 3 subjects", "7,009 were answered", "3,005 were refused", "and 0 were neither"):
        assert part in said
    assert "commit aaaaaaaaaaaa with Hypothesis 6.1" in said
    shown = text(failures.counted())
    rows = ("PCA 10,000 7,001 2,999 0 DataError 2,990, GroupError 9", "record 7 4 3 0 ResultError 3", "data list 7 4")
    at = [shown.index(row) for row in rows]
    assert at == sorted(at)  # in the order of the kinds


def test_what_is_neither_is_shown(keep):
    keep(PCA | {"right": 6_998, "neither": 3}, RECORD)
    assert "and 3 were neither" in text(failures.total())
    assert "PCA 10,000 6,998 2,999 3 DataError 2,990, GroupError 9" in text(failures.counted())


@pytest.mark.parametrize(
    "wrong",
    [PCA | {"right": 7_002}, PCA | {"kind": "unheard"}, {"kind": "file"}, PCA | {"named": None}, PCA | {"tried": "7"}],
)
def test_outcomes_that_do_not_add_up_are_refused(keep, wrong):
    keep(wrong)
    with pytest.raises(ResultError, match="Count again: make test ALL=1"):
        failures.outcomes()


def test_without_outcomes_there_is_no_page(keep):
    with pytest.raises(ResultError, match="Count them: make test ALL=1"):
        failures.total()


def test_limits_have_the_values_that_the_code_has():
    shown = text(failures.limits())
    assert f"SHARE of evenspan.core.limits {limits.SHARE} No more of the memory" in shown
    for name, (most, why) in limits.TABLE.items():
        assert f" {name} {most:,} {why}" in shown
    for name in (one for some in failures.LIMITS.values() for one in some):
        assert f" {name} " in shown
