"""Raw files against a local server: right, wrong, damaged, unreachable; and the mirror, which is only read."""

import os

import pytest

from compendium.data.fetch import fetch, present, raw_file, verify
from compendium.errors import FetchError

BODY = bytes(range(250)) * 1000


@pytest.fixture
def toy(server, cache, make_entry):
    """A served set of two files, and the folder in which it is kept."""
    server.contents = {"a.csv": BODY, "b.csv": BODY[::-1]}
    return make_entry(server.contents, server.url), cache / "toy"


def test_a_set_is_downloaded_once_and_verified(server, toy):
    entry, folder = toy
    with pytest.raises(FetchError, match=r"a\.csv is missing.*data fetch toy'"):
        verify(entry)
    paths = fetch(entry)
    assert [path.read_bytes() for path in paths] == [BODY, BODY[::-1]]
    assert paths == fetch(entry) == verify(entry) == (folder / "a.csv", folder / "b.csv")
    assert server.asked == sorted(os.listdir(folder)) == ["a.csv", "b.csv"]
    assert present(entry) == 2


@pytest.mark.parametrize(("body", "sent"), [(b"x" + BODY[1:], None), (BODY * 2, None), (BODY[:9], None), (BODY, 1000)])
def test_wrong_content_is_refused_and_nothing_of_it_is_left(server, toy, body, sent):
    entry, folder = toy
    server.contents, server.sent = {"a.csv": body}, sent
    with pytest.raises(
        FetchError, match=f"could not be downloaded from {server.url('a.csv')}.*{entry.files[0].sha256}"
    ):
        fetch(entry)
    assert os.listdir(folder) == []


def test_a_damaged_file_is_refused_by_loaders_and_replaced_by_fetch(server, toy):
    entry, folder = toy
    fetch(entry)
    (folder / "a.csv").write_bytes(BODY[:-1])
    for loader in (lambda: raw_file(entry, "a.csv"), lambda: verify(entry)):
        with pytest.raises(FetchError, match=r"a\.csv has wrong content \(249999 bytes[\s\S]*data fetch toy'"):
            loader()
    assert fetch(entry)[0].read_bytes() == BODY
    assert server.asked == ["a.csv", "b.csv", "a.csv"]


def test_a_mirror_is_read_in_place_and_never_written(server, toy, cache, tmp_path, monkeypatch):
    entry, mirror = toy[0], tmp_path / "mirror" / "toy"
    mirror.mkdir(parents=True)
    monkeypatch.setenv("EVENSPAN_DATA", str(mirror.parent))
    (mirror / "a.csv").write_bytes(BODY)
    assert raw_file(entry, "a.csv") == mirror / "a.csv"
    assert present(entry) == 1
    for way in (fetch, verify, lambda entry: raw_file(entry, "b.csv")):
        with pytest.raises(FetchError, match=r"b\.csv is missing.*mirror: put the file there, or unset EVENSPAN_DATA"):
            way(entry)
    (mirror / "a.csv").write_bytes(BODY[:-1])
    with pytest.raises(FetchError, match=r"a\.csv has wrong content"):
        fetch(entry)
    assert (mirror / "a.csv").read_bytes() == BODY[:-1]
    assert (server.asked, cache.exists(), os.listdir(mirror)) == ([], False, ["a.csv"])
