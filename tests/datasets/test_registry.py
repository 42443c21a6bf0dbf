"""The registry: complete, pinned, consistent; a card for every data set; published tables unchanged."""

import re

import pytest

from compendium import data as datasets
from compendium import paths
from compendium.errors import RegistryError

PAPERS = {path.name.partition("_")[0] for path in paths.data("paper").glob("*_*.csv")} | {"lee2023"}
SECTIONS = ["Origin", "Who is in it", "Columns", "Known problems", "What may not be concluded"]
ENTRIES = [datasets.entry(name) for name in datasets.names()]


def test_every_entry_is_pinned_and_adds_up():
    for entry in ENTRIES:
        for file in entry.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256), entry.name
            assert file.bytes > 0, entry.name
            pinned = re.fullmatch(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.+", file.url)
            assert bool(pinned) != bool(entry.unavailable), entry.name
        assert bool(entry.files) != bool(entry.bundled_sha256), entry.name
        assert not entry.groups or sum(entry.groups.values()) == entry.rows, entry.name
        assert not entry.group_names or set(entry.group_names) == set(entry.groups), entry.name
        assert (entry.name in datasets.loadable()) == bool(entry.measured), entry.name
        assert set(entry.papers) <= PAPERS, entry.name
        assert len(entry.files) == len({file.name for file in entry.files}), entry.name
    files = {(entry.folder, file) for entry in ENTRIES for file in entry.files}
    assert len(files) == len({(folder, file.name) for folder, file in files}), "a place is shared by one file only"


def test_every_data_set_has_a_card_with_its_facts_and_a_line_of_the_index():
    for entry in ENTRIES:
        card = datasets.card(entry.name)
        assert card.startswith("# "), entry.name
        assert re.findall(r"^## (.+)$", card, re.MULTILINE) == SECTIONS, entry.name
        facts = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", card, re.MULTILINE))
        found = facts["Rows"], facts["Features"], facts["Name"]
        assert found == (f"{entry.rows:,}", f"{entry.features:,}", f"`{entry.name}`")
        assert all(f"({count:,})" in facts["Groups"] for count in entry.groups.values()), entry.name
        assert entry.licence in facts["Licence"], entry.name
        assert ("Download" in facts) == bool(entry.unavailable), entry.name
        assert "](" not in card, entry.name  # a card stands alone: nothing to break
    assert {path.stem for path in paths.data("cards").glob("*.md")} == set(datasets.names())
    index = datasets.card_index().splitlines()
    assert [re.search(r"\]\((\w+)\.md\)", line)[1] for line in index[2:]] == list(datasets.names())


def test_a_card_says_whether_the_data_may_be_used():
    answers = {name: re.search(r"\*\*May I use it\?\*\* (\w+):", datasets.card(name))[1] for name in datasets.names()}
    assert (answers["adult"], answers["jaffe"], answers["compas"]) == ("Yes", "No", "Ask")
    shipped = {path.stem for path in paths.data("tables").glob("*.parquet")} & answers.keys()
    assert {answers[name] for name in shipped} == {"Yes"}, "rows are in the checkout only where the licence allows it"


def test_what_there_is_not_is_said():
    for match, call in (
        (r"no data set 'adlut'\. Did you mean adult\?", lambda: datasets.load("adlut")),
        (r"no data set 'people'.*adult.*sklearn_diabetes", lambda: datasets.load("people")),
        (r"no table of people.*adult, compas, german", lambda: datasets.load("jaffe")),
        (r"no fixed splits.*adult, compas, german, sklearn_diabetes", lambda: datasets.load_split("wine_quality", 0)),
        ("splits 0 to 9", lambda: datasets.load_split("sklearn_diabetes", 10)),
        ("splits 0 to 9", lambda: datasets.split_moments("compas", 10, "train")),
        ("train and test", lambda: datasets.split_moments("adult", 0, "all")),
    ):
        with pytest.raises(RegistryError, match=match):
            call()


@pytest.mark.raw
@pytest.mark.parametrize("name", datasets.names())
def test_raw_files_have_their_checksums(name, raw):
    raw(name)
    assert len(datasets.verify(name)) == len(datasets.entry(name).files)
