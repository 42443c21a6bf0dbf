"""Raw files against a local server: right, wrong, damaged, unreachable; and the mirror, which is only read."""

import gc
import logging
import os

import pooch
import pytest

from compendium.data.fetch import fetch, fetch_file, present, verify
from evenspan.core.errors import FetchError, RegistryError

BODY = bytes(range(250)) * 1000


@pytest.fixture
def toy(server, cache, make_entry):
    """A served set of two files, and the folder in which it is kept."""
    server.contents = {"a.csv": BODY, "b.csv": BODY[::-1]}
    return make_entry(server.contents, server.url), cache / "toy"


def test_a_set_is_downloaded_once_and_verified(server, toy, capsys):
    entry, folder = toy
    with pytest.raises(FetchError, match=r"a\.csv is missing.*data fetch toy'"):
        verify(entry)
    paths = fetch(entry)
    assert [path.read_bytes() for path in paths] == [BODY, BODY[::-1]]
    assert paths == fetch(entry) == verify(entry) == (folder / "a.csv", folder / "b.csv")
    assert server.asked == sorted(os.listdir(folder)) == ["a.csv", "b.csv"]
    assert present(entry) == 2
    assert capsys.readouterr() == ("", "")
    assert not pooch.get_logger().isEnabledFor(logging.INFO)


def test_loaders_fetch_the_one_file_they_need(server, toy):
    assert fetch_file(toy[0], "b.csv").read_bytes() == BODY[::-1]
    assert server.asked == ["b.csv"]
    with pytest.raises(RegistryError, match=r"no file 'c\.csv'.*a\.csv, b\.csv"):
        fetch_file(toy[0], "c.csv")


@pytest.mark.parametrize(("body", "sent"), [(b"x" + BODY[1:], None), (BODY * 2, None), (BODY[:9], None), (BODY, 1000)])
def test_wrong_content_is_refused_and_nothing_of_it_is_left(server, toy, body, sent):
    entry, folder = toy
    server.contents, server.sent = {"a.csv": body}, sent
    with pytest.raises(FetchError, match=f"{server.url('a.csv')}[\\s\\S]*{entry.files[0].sha256}"):
        fetch(entry)
    assert os.listdir(folder) == []


def test_a_damaged_file_is_refused_by_loaders_and_replaced_by_fetch(server, toy):
    entry, folder = toy
    fetch(entry)
    (folder / "a.csv").write_bytes(BODY[:-1])
    for loader in (lambda: fetch_file(entry, "a.csv"), lambda: verify(entry)):
        with pytest.raises(FetchError, match=r"a\.csv has wrong content \(249999 bytes[\s\S]*data fetch toy'"):
            loader()
    assert fetch(entry)[0].read_bytes() == BODY
    assert server.asked == ["a.csv", "b.csv", "a.csv"]


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # pooch does not close an answer that it refuses
def test_a_failed_download_names_file_address_and_what_to_do(server, toy):
    entry, folder = toy
    server.contents = {}
    with pytest.raises(FetchError, match=r"could not be downloaded.*404") as caught:
        fetch_file(entry, "a.csv")
    for said in (str(folder / "a.csv"), entry.files[0].url, entry.files[0].sha256, "data fetch toy'"):
        assert said in str(caught.value)
    del caught
    gc.collect()


def test_what_cannot_be_downloaded_says_why(cache, make_entry):
    never = make_entry({"a.csv": BODY}, lambda name: "", unavailable="never published.")
    for way in (fetch, lambda entry: fetch_file(entry, "a.csv")):
        with pytest.raises(FetchError, match=r"never published\."):
            way(never)


def test_a_mirror_is_read_in_place_and_never_written(server, toy, cache, tmp_path, monkeypatch):
    entry, mirror = toy[0], tmp_path / "mirror" / "toy"
    mirror.mkdir(parents=True)
    monkeypatch.setenv("EVENSPAN_DATA", str(mirror.parent))
    (mirror / "a.csv").write_bytes(BODY)
    assert fetch_file(entry, "a.csv") == mirror / "a.csv"
    assert present(entry) == 1
    for way in (fetch, verify, lambda entry: fetch_file(entry, "b.csv")):
        with pytest.raises(FetchError, match=r"b\.csv is missing.*mirror: put the file there, or unset EVENSPAN_DATA"):
            way(entry)
    (mirror / "a.csv").write_bytes(BODY[:-1])
    with pytest.raises(FetchError, match=r"a\.csv has wrong content"):
        fetch(entry)
    assert (mirror / "a.csv").read_bytes() == BODY[:-1]
    assert (server.asked, cache.exists(), os.listdir(mirror)) == ([], False, ["a.csv"])
