"""Every data set has a card, and its numbers are those of the registry."""

import re

import pytest

from compendium import data as datasets
from compendium import paths
from compendium.data import moments_store
from compendium.data.fold_store import WITH_FOLDS
from evenspan.core.errors import ResultError

SECTIONS = ["Origin", "Who is in it", "Columns", "Known problems", "What may not be concluded"]


@pytest.mark.parametrize("name", datasets.names())
def test_a_card_has_its_facts_and_all_sections(name):
    entry, card = datasets.entry(name), datasets.card(name)
    assert card.startswith("# ")
    assert re.findall(r"^## (.+)$", card, re.MULTILINE) == SECTIONS
    facts = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", card, re.MULTILINE))
    assert facts["Rows"] == f"{entry.rows:,}"
    assert facts["Features"] == f"{entry.features:,}"
    assert facts["Name"] == f"`{name}`"
    for count in entry.groups.values():
        assert f"({count:,})" in facts["Groups"]
    assert entry.licence in facts["Licence"]
    assert ("Download" in facts) == bool(entry.unavailable)
    assert "](" not in card  # a card stands alone: nothing to break


def test_no_card_without_a_data_set():
    assert {path.stem for path in paths.data("cards").glob("*.md")} == set(datasets.names())


def test_the_index_links_every_card():
    index = datasets.card_index().splitlines()
    assert [re.search(r"\]\((\w+)\.md\)", line)[1] for line in index[2:]] == list(datasets.names())
    assert {line.count("|") for line in index} == {9}
    shipped = {name for name, line in zip(datasets.names(), index[2:], strict=True) if line.endswith("yes |")}
    assert shipped == {*moments_store.SHIPPED, *WITH_FOLDS, *moments_store.WHOLE}


def test_a_missing_card_and_a_card_without_heading_are_errors(tmp_path, monkeypatch):
    real = paths.data
    monkeypatch.setattr(
        paths, "data", lambda *parts: tmp_path.joinpath(*parts) if parts[0] == "cards" else real(*parts)
    )
    with pytest.raises(ResultError, match="missing"):
        datasets.card("adult")
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "adult.md").write_text("no heading")
    with pytest.raises(ResultError, match="level-1 heading"):
        datasets.card("adult")
