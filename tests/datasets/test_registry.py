"""The registry itself: complete, pinned, consistent."""

import hashlib
import re

import pytest

from compendium import data as datasets
from compendium import paths
from evenspan.core.errors import RegistryError

PAPERS = {path.name.partition("_")[0] for path in paths.data("paper").glob("*_*.csv")} | {"lee2023"}


@pytest.fixture(params=datasets.names())
def entry(request):
    return datasets.entry(request.param)


def test_every_file_is_pinned_to_a_commit_and_has_a_checksum(entry):
    for file in entry.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.bytes > 0
        pinned = re.fullmatch(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.+", file.url)
        assert bool(pinned) != bool(entry.unavailable)
    assert bool(entry.files) != bool(entry.bundled_sha256)


def test_groups_add_up_to_the_rows(entry):
    assert not entry.groups or sum(entry.groups.values()) == entry.rows
    assert not entry.group_names or set(entry.group_names) == set(entry.groups)
    assert (entry.name in datasets.loadable()) == bool(entry.measured)


def test_papers_are_those_of_the_published_tables(entry):
    assert set(entry.papers) <= PAPERS


def test_no_path_of_a_machine_is_in_the_registry():
    text = paths.data("registry.toml").read_text()
    assert "raw/" not in text.replace("raw.githubusercontent.com/", "")
    assert not re.search(r"[\"' ]/[a-z]+/", text)


def test_sets_share_a_place_only_for_the_same_file():
    entries = list(map(datasets.entry, datasets.names()))
    files = {(entry.folder, file) for entry in entries for file in entry.files}
    assert len(files) == len({(folder, file.name) for folder, file in files})
    sizes = [len(entry.files) - len({file.name for file in entry.files}) for entry in entries]
    assert not any(sizes)


def test_the_checksum_of_a_set_depends_on_every_file_and_not_on_their_order(make_entry):
    files = {"a": b"1", "b": b"2"}
    entry = make_entry(files, str)
    lines = "".join(sorted(f"{hashlib.sha256(body).hexdigest()}  {name}\n" for name, body in files.items()))
    assert entry.checksum() == hashlib.sha256(lines.encode()).hexdigest()
    assert entry.checksum() == make_entry(dict(reversed(files.items())), str).checksum()
    assert entry.checksum() != make_entry({"a": b"1", "b": b"3"}, str).checksum()
    assert entry.checksum() != make_entry({"a": b"2", "b": b"1"}, str).checksum()


def test_a_missing_registry_is_an_error(tmp_path):
    from compendium.data.registry import read

    with pytest.raises(RegistryError, match=r"registry\.toml is missing"):
        read(tmp_path / "registry.toml")


def test_status_covers_every_data_set():
    states = {state.name: state for state in datasets.status()}
    assert tuple(states) == datasets.names()
    assert states["sklearn_diabetes"].place == "bundled"
    assert states["sklearn_diabetes"].complete


@pytest.mark.raw
def test_raw_files_have_their_checksums(entry, raw):
    raw(entry.name)
    assert len(datasets.verify(entry.name)) == len(entry.files)
