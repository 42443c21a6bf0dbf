"""The registry: complete, pinned, consistent; a card for every data set; published tables unchanged."""

import hashlib
import re

import pandas as pd
import pytest

from compendium import data as datasets
from compendium import paths
from compendium.data.moments import SHIPPED
from evenspan.core.errors import RegistryError

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
    text = paths.data("registry.toml").read_text()
    assert "raw/" not in text.replace("raw.githubusercontent.com/", "")
    assert not re.search(r"[\"' ]/[a-z]+/", text), "no path of a machine"


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
    assert {line.count("|") for line in index} == {9}
    shipped = dict(zip(datasets.names(), (line.split(" | ")[-1] for line in index[2:]), strict=True))
    assert {name for name, what in shipped.items() if what == "group moments |"} == set(SHIPPED)
    assert {name for name, what in shipped.items() if what == "rows |"} == {e.name for e in ENTRIES if e.shipped}


def test_published_tables_have_the_number_of_rows_that_their_readme_states():
    folder = paths.data("paper")
    stated = dict(re.findall(r"^\| (\S+\.csv) \| (\d+) \|", (folder / "README.md").read_text(), re.MULTILINE))
    assert {path.name: len(pd.read_csv(path, dtype=str)) for path in folder.glob("*.csv")} == {
        name: int(rows) for name, rows in stated.items()
    }


def test_the_checksum_of_a_set_depends_on_every_file_and_not_on_their_order(make_entry):
    files = {"a": b"1", "b": b"2"}
    entry = make_entry(files, str)
    lines = "".join(sorted(f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in files.items()))
    assert entry.checksum() == hashlib.sha256(lines.encode()).hexdigest()
    assert entry.checksum() == make_entry(dict(reversed(files.items())), str).checksum()
    assert entry.checksum() != make_entry({"a": b"1", "b": b"3"}, str).checksum()
    assert entry.checksum() != make_entry({"a": b"2", "b": b"1"}, str).checksum()


def test_an_unknown_name_is_an_error():
    for function in (datasets.fetch, datasets.verify, datasets.load, datasets.card, datasets.checksum):
        with pytest.raises(RegistryError, match=r"no data set 'adlut'.*adult.*sklearn_diabetes"):
            function("adlut")


@pytest.mark.raw
@pytest.mark.parametrize("name", datasets.names())
def test_raw_files_have_their_checksums(name, raw):
    raw(name)
    assert len(datasets.verify(name)) == len(datasets.entry(name).files)
