"""Downloads against a local server: right, interrupted, corrupted, missing, unreachable; and the mirror."""

import errno
import hashlib
import multiprocessing
import socket

import pytest

from compendium import data as datasets
from compendium.data import download, storage
from compendium.data.fetch import fetch_entry, fetch_file, verify_entry
from evenspan.core.errors import FetchError, RegistryError


def left_over(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_download_is_verified_and_the_second_one_asks_nothing(server, cache, make_entry, body):
    server.contents = {"a.csv": body, "b.csv": body[:1000]}
    entry = make_entry(server.contents, server.url)
    paths = fetch_entry(entry, progress=False)
    assert [path.read_bytes() for path in paths] == [body, body[:1000]]
    assert verify_entry(entry) == paths
    assert len(server.requests) == 2
    assert fetch_entry(entry, progress=False) == paths
    assert len(server.requests) == 2
    assert left_over(cache / "toy") == ["a.csv", "b.csv"]


def test_progress_is_drawn_on_standard_error_of_a_terminal_only(server, cache, make_entry, body, capsys, monkeypatch):
    server.contents = {"a.csv": body, "b.csv": body}
    entry = make_entry(server.contents, server.url)
    fetch_file(entry, "a.csv")
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "")  # some versions of rich end with an empty line
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    monkeypatch.setenv("TERM", "xterm")
    fetch_entry(entry, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "toy: 1 file" in err
    (cache / "toy" / "b.csv").unlink()
    fetch_entry(entry, progress=False)
    assert capsys.readouterr() == ("", "")


def test_an_interrupted_file_continues_where_it_stopped(server, cache, make_entry, body):
    server.contents, server.drop_after = {"a.csv": body}, {"a.csv": 200_000}
    entry = make_entry(server.contents, server.url)
    with pytest.raises(FetchError, match="connection broke"):
        fetch_entry(entry, progress=False)
    assert not (cache / "toy" / "a.csv").exists()
    received = (cache / "toy" / ".a.csv.part").stat().st_size
    assert 0 < received <= 200_000
    assert storage.status_of(entry).present == 0
    with pytest.raises(FetchError, match="not there"):
        verify_entry(entry)
    (path,) = fetch_entry(entry, progress=False)
    assert path.read_bytes() == body
    assert server.requests == [("a.csv", None), ("a.csv", f"bytes={received}-")]
    assert left_over(cache / "toy") == ["a.csv"]


@pytest.mark.parametrize("announce", [True, False])
def test_a_server_without_ranges_sends_everything_again(server, cache, make_entry, body, announce):
    server.ranges, server.announce = False, announce
    server.contents, server.drop_after = {"a.csv": body}, {"a.csv": 200_000}
    entry = make_entry(server.contents, server.url)
    with pytest.raises(FetchError, match=r"connection broke|transfer stopped"):
        fetch_entry(entry, progress=False)
    (path,) = fetch_entry(entry, progress=False)
    assert path.read_bytes() == body
    assert server.requests[1][1] is not None


def test_a_set_continues_at_its_next_missing_file(server, cache, make_entry, body):
    server.contents = {"a.csv": body, "b.csv": body[::-1], "c.csv": body[:5]}
    server.drop_after = {"b.csv": 10}
    entry = make_entry(server.contents, server.url)
    with pytest.raises(FetchError, match=r"b\.csv"):
        fetch_entry(entry, progress=False)
    fetch_entry(entry, progress=False)
    assert [name for name, _ in server.requests] == ["a.csv", "b.csv", "b.csv", "c.csv"]


def test_a_corrupted_file_is_refused_with_both_checksums(server, cache, make_entry, body):
    entry = make_entry({"a.csv": body}, server.url)
    wrong = b"x" + body[1:]
    server.contents = {"a.csv": wrong}
    with pytest.raises(FetchError, match="wrong content") as caught:
        fetch_entry(entry, progress=False)
    for part in (server.url("a.csv"), entry.files[0].sha256, hashlib.sha256(wrong).hexdigest(), str(cache / "toy")):
        assert part in str(caught.value)
    assert left_over(cache / "toy") == []


def test_a_wrong_beginning_is_not_kept_for_the_next_attempt(server, cache, make_entry, body):
    server.contents = {"a.csv": body}
    entry = make_entry(server.contents, server.url)
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / ".a.csv.part").write_bytes(b"x" * 1000)
    with pytest.raises(FetchError, match="wrong content"):
        fetch_entry(entry, progress=False)
    (path,) = fetch_entry(entry, progress=False)
    assert path.read_bytes() == body


def test_more_bytes_than_expected_stop_the_transfer(server, cache, make_entry, body):
    entry = make_entry({"a.csv": body[:1000]}, server.url)
    server.contents = {"a.csv": body}
    with pytest.raises(FetchError, match="more than the 1000 bytes"):
        fetch_entry(entry, progress=False)
    assert left_over(cache / "toy") == []


def test_a_part_beyond_the_end_of_the_file_is_thrown_away(server, cache, make_entry, body):
    entry = make_entry({"a.csv": body}, server.url)
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / ".a.csv.part").write_bytes(body[:2000])
    server.contents = {"a.csv": body[:1000]}  # answers 416 to the range, then sends too little
    with pytest.raises(FetchError, match="wrong content"):
        fetch_entry(entry, progress=False)
    assert [asked for _, asked in server.requests] == ["bytes=2000-", None]


def test_a_dead_address_is_reported_with_its_status(server, cache, make_entry, body):
    entry = make_entry({"a.csv": body}, server.url)
    with pytest.raises(FetchError, match="404") as caught:
        fetch_entry(entry, progress=False)
    assert server.url("a.csv") in str(caught.value)
    assert "EVENSPAN_DATA" in str(caught.value)


def test_nothing_listening_is_reported_as_no_connection(cache, make_entry, body):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    entry = make_entry({"a.csv": body}, lambda name: f"http://127.0.0.1:{port}/{name}")
    with pytest.raises(FetchError, match="no connection") as caught:
        fetch_entry(entry, progress=False)
    assert entry.files[0].sha256 in str(caught.value)


def test_a_cache_that_cannot_be_written_is_reported(server, tmp_path, monkeypatch, make_entry, body):
    (tmp_path / "file").touch()
    monkeypatch.delenv("EVENSPAN_DATA", raising=False)
    monkeypatch.setenv("EVENSPAN_CACHE", str(tmp_path / "file"))
    server.contents = {"a.csv": body}
    with pytest.raises(FetchError, match="cannot be written") as caught:
        fetch_entry(make_entry(server.contents, server.url), progress=False)
    assert "EVENSPAN_CACHE" in str(caught.value)


def test_a_full_disc_is_reported_and_keeps_no_half_file(server, cache, make_entry, body, monkeypatch):
    def full(self, response, target, start):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download.ResumingDownloader, "_copy", full)
    server.contents = {"a.csv": body}
    with pytest.raises(FetchError, match="disc is full"):
        fetch_entry(make_entry(server.contents, server.url), progress=False)
    assert left_over(cache / "toy") == []


def test_a_damaged_cached_file_is_refused_by_loaders_and_replaced_by_fetch(server, cache, make_entry, body):
    server.contents = {"a.csv": body}
    entry = make_entry(server.contents, server.url)
    (path,) = fetch_entry(entry, progress=False)
    path.write_bytes(b"x" + body[1:])
    with pytest.raises(FetchError, match="wrong content"):
        fetch_file(entry, "a.csv")
    with pytest.raises(FetchError, match="1 of 1 files"):
        verify_entry(entry)
    fetch_entry(entry, progress=False)
    assert path.read_bytes() == body


def test_loaders_fetch_the_one_file_they_need(server, cache, make_entry, body):
    server.contents = {"a.csv": body, "b.csv": body}
    entry = make_entry(server.contents, server.url)
    assert fetch_file(entry, "b.csv").read_bytes() == body
    assert [name for name, _ in server.requests] == ["b.csv"]
    with pytest.raises(RegistryError, match=r"no file 'c\.csv'.*a\.csv, b\.csv"):
        fetch_file(entry, "c.csv")


def test_processes_that_fetch_the_same_file_do_not_disturb_each_other(server, cache, make_entry, body):
    server.contents = {"a.csv": body * 10}
    entry = make_entry(server.contents, server.url)
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        results = pool.starmap(fetch_entry, [(entry, False)] * 2)
        pool.close()
        pool.join()
    assert {path.read_bytes() for (path,) in results} == {body * 10}
    assert left_over(cache / "toy") == ["a.csv"]


@pytest.fixture
def mirror(tmp_path, monkeypatch, cache, body):
    folder = tmp_path / "mirror" / "toy"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_bytes(body)
    monkeypatch.setenv("EVENSPAN_DATA", str(folder.parent))
    return folder


def test_a_mirror_is_read_in_place(server, cache, make_entry, body, mirror):
    entry = make_entry({"a.csv": body}, server.url)
    assert fetch_entry(entry, progress=False) == (mirror / "a.csv",)
    assert fetch_file(entry, "a.csv") == mirror / "a.csv"
    assert storage.status_of(entry).place == "mirror"
    assert server.requests == []
    assert not cache.exists()
    assert left_over(mirror) == ["a.csv"]


@pytest.mark.parametrize("obtain", [fetch_entry, verify_entry, lambda entry: fetch_file(entry, "b.csv")])
def test_a_file_missing_in_the_mirror_is_not_downloaded(server, cache, make_entry, body, mirror, obtain):
    server.contents = {"a.csv": body, "b.csv": body}
    with pytest.raises(FetchError, match="not there") as caught:
        obtain(make_entry(server.contents, server.url))
    assert "nothing is downloaded into a mirror" in str(caught.value)
    assert server.requests == []
    assert left_over(mirror) == ["a.csv"]


def test_a_wrong_file_in_the_mirror_is_refused_and_left_alone(server, cache, make_entry, body, mirror):
    server.contents = {"a.csv": body}
    (mirror / "a.csv").write_bytes(body[:-1])
    with pytest.raises(FetchError, match="wrong content: 299999 bytes"):
        fetch_entry(make_entry(server.contents, server.url), progress=False)
    assert (mirror / "a.csv").read_bytes() == body[:-1]
    assert server.requests == []


def test_what_cannot_be_downloaded_says_why(server, cache, make_entry, body):
    entry = make_entry({"a.csv": body}, lambda name: "", unavailable="never published.")
    with pytest.raises(FetchError, match=r"never published\."):
        fetch_entry(entry, progress=False)
    assert storage.status_of(entry).place == "not downloadable"


@pytest.mark.parametrize("function", [datasets.fetch, datasets.verify, datasets.load, datasets.card, datasets.checksum])
def test_an_unknown_name_lists_the_valid_ones(function):
    with pytest.raises(RegistryError, match=r"no data set 'adlut'.*adult.*sklearn_diabetes"):
        function("adlut")
