"""Downloads against a local server: right, interrupted, corrupted, missing, unreachable; and the mirror."""

import contextlib
import errno
import gzip
import hashlib
import importlib
import multiprocessing
import socket
import threading
import time

import pytest
import requests

from compendium.data.fetch import fetch, fetch_file, status_of, verify
from evenspan.core.errors import FetchError, RegistryError


def left_over(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def toy(server, cache, make_entry, body):
    """A served set of one file, the folder in which it is kept, and what obtains it."""
    server.contents = {"a.csv": body}
    entry = make_entry(server.contents, server.url)
    return entry, cache / "toy", lambda: fetch(entry)


def test_a_set_is_verified_continues_at_its_next_missing_file_and_asks_nothing_when_complete(
    server, cache, make_entry, body, capsys, monkeypatch
):
    server.contents = {"a.csv": body, "b.csv": body[::-1], "c.csv": body[:5]}
    server.drop_after = {"b.csv": 10}
    entry = make_entry(server.contents, server.url)
    with pytest.raises(FetchError, match=r"b\.csv"):
        fetch(entry)
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", ""), "progress is for terminals"  # some versions of rich end with an empty line
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    monkeypatch.setenv("TERM", "xterm")
    paths = fetch(entry)
    out, err = capsys.readouterr()
    assert (out, "toy: 2 file" in err) == ("", True)
    assert [path.read_bytes() for path in paths] == [body, body[::-1], body[:5]]
    assert verify(entry) == paths == fetch(entry)
    assert [name for name, _ in server.requests] == ["a.csv", "b.csv", "b.csv", "c.csv"]
    assert left_over(cache / "toy") == ["a.csv", "b.csv", "c.csv"]
    assert "toy" not in capsys.readouterr().err


def test_loaders_fetch_the_one_file_they_need(server, cache, make_entry, body):
    server.contents = {"a.csv": body, "b.csv": body}
    entry = make_entry(server.contents, server.url)
    assert fetch_file(entry, "b.csv").read_bytes() == body
    assert [name for name, _ in server.requests] == ["b.csv"]
    with pytest.raises(RegistryError, match=r"no file 'c\.csv'.*a\.csv, b\.csv"):
        fetch_file(entry, "c.csv")


def test_an_interrupted_file_continues_where_it_stopped(server, toy, body):
    entry, folder, obtain = toy
    server.drop_after = {"a.csv": 200_000}
    with pytest.raises(FetchError, match="connection broke"):
        obtain()
    assert not (folder / "a.csv").exists()
    received = (folder / ".a.csv.part").stat().st_size
    assert 0 < received <= 200_000
    assert status_of(entry).present == 0
    with pytest.raises(FetchError, match="not there"):
        verify(entry)
    assert obtain()[0].read_bytes() == body
    assert server.requests == [("a.csv", None), ("a.csv", f"bytes={received}-")]
    assert left_over(folder) == ["a.csv"]


@pytest.mark.parametrize("announce", [True, False])
def test_a_server_without_ranges_sends_everything_again(server, toy, body, announce):
    server.ranges, server.announce, server.drop_after = False, announce, {"a.csv": 200_000}
    with pytest.raises(FetchError, match=r"connection broke|transfer stopped"):
        toy[2]()
    assert toy[2]()[0].read_bytes() == body
    assert server.requests[1][1] is not None


def test_another_part_than_asked_for_is_not_put_together(server, toy, body):
    _, folder, obtain = toy
    server.shift, server.drop_after = 1, {"a.csv": 200_000}
    for said in ("connection broke", "another part than asked for"):
        with pytest.raises(FetchError, match=said):
            obtain()
    assert not (folder / "a.csv").exists()
    assert obtain()[0].read_bytes() == body


def test_wrong_bytes_are_refused_with_both_checksums_and_not_kept(server, toy, body):
    entry, folder, obtain = toy
    wrong = b"x" + body[1:]
    server.contents = {"a.csv": wrong}
    with pytest.raises(FetchError, match="wrong content") as caught:
        obtain()
    for part in (server.url("a.csv"), entry.files[0].sha256, hashlib.sha256(wrong).hexdigest(), str(folder)):
        assert part in str(caught.value)
    assert left_over(folder) == []
    server.contents = {"a.csv": body * 2}
    with pytest.raises(FetchError, match=f"more than the {len(body)} bytes"):
        obtain()
    assert left_over(folder) == []
    server.contents, server.requests = {"a.csv": body[:1000]}, []
    (folder / ".a.csv.part").write_bytes(body[:2000])  # beyond the end: answers 416, then sends too little
    with pytest.raises(FetchError, match="wrong content"):
        obtain()
    assert [asked for _, asked in server.requests] == ["bytes=2000-", None]
    server.contents = {"a.csv": body}
    (folder / ".a.csv.part").write_bytes(b"x" * 1000)  # a wrong beginning is not kept for the next attempt
    with pytest.raises(FetchError, match="wrong content"):
        obtain()
    (path,) = obtain()
    path.write_bytes(wrong)  # damaged later: refused by loaders and replaced by fetch
    with pytest.raises(FetchError, match="wrong content"):
        fetch_file(entry, "a.csv")
    with pytest.raises(FetchError, match="1 of 1 files"):
        verify(entry)
    assert obtain()[0].read_bytes() == body


def test_what_is_in_the_way_is_said(server, toy, make_entry, body, tmp_path, monkeypatch):
    _, folder, obtain = toy
    server.contents = {}
    with pytest.raises(FetchError, match=r"404[\s\S]*EVENSPAN_DATA") as caught:
        obtain()
    assert server.url("a.csv") in str(caught.value)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    nobody = make_entry({"a.csv": body}, lambda name: f"http://127.0.0.1:{port}/{name}")
    with pytest.raises(FetchError, match=f"no connection[\\s\\S]*{nobody.files[0].sha256}"):
        fetch(nobody)
    never = make_entry({"a.csv": body}, lambda name: "", unavailable="never published.")
    with pytest.raises(FetchError, match=r"never published\."):
        fetch(never)
    assert status_of(never).place == "not downloadable"
    server.contents = {"a.csv": body}

    def full(self, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(requests.Response, "iter_content", full)
        with pytest.raises(FetchError, match="disc is full"):
            obtain()
    assert left_over(folder) == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVENSPAN_CACHE", str(tmp_path / "file"))
    with pytest.raises(FetchError, match=r"cannot be written[\s\S]*EVENSPAN_CACHE"):
        obtain()


def test_processes_that_fetch_the_same_file_do_not_disturb_each_other(server, cache, make_entry, body):
    server.contents = {"a.csv": body * 10}
    entry = make_entry(server.contents, server.url)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        results = pool.map(fetch, [entry] * 2)
        pool.close()
        pool.join()
    assert {path.read_bytes() for (path,) in results} == {body * 10}
    assert left_over(cache / "toy") == ["a.csv"]


def test_a_mirror_is_read_in_place_never_filled_and_never_repaired(
    server, toy, cache, make_entry, body, tmp_path, monkeypatch
):
    entry, _, obtain = toy
    mirror = tmp_path / "mirror" / "toy"
    mirror.mkdir(parents=True)
    (mirror / "a.csv").write_bytes(body)
    monkeypatch.setenv("EVENSPAN_DATA", str(mirror.parent))
    assert obtain() == (mirror / "a.csv",)
    assert fetch_file(entry, "a.csv") == mirror / "a.csv"
    assert status_of(entry).place == "mirror"
    server.contents = {"a.csv": body, "b.csv": body}
    two = make_entry(server.contents, server.url)
    for way in (fetch, verify, lambda entry: fetch_file(entry, "b.csv")):
        with pytest.raises(FetchError, match=r"not there[\s\S]*nothing is downloaded into a mirror"):
            way(two)
    (mirror / "a.csv").write_bytes(body[:-1])
    with pytest.raises(FetchError, match="wrong content: 299999 bytes"):
        obtain()
    assert (mirror / "a.csv").read_bytes() == body[:-1]
    assert (server.requests, cache.exists(), left_over(mirror)) == ([], False, ["a.csv"])


# -- servers that behave as none should ---------------------------------------------------------------------------

BODY = bytes(range(250)) * 4
OK = b"HTTP/1.1 200 OK\r\n"
BOMB = gzip.compress(gzip.compress(bytes(50_000_000)))


@pytest.fixture
def answers(make_entry):
    """A function: a set of one file, asked for at a server that says these bytes, and then hangs or hangs up."""
    door = socket.create_server(("127.0.0.1", 0))
    said: list[bytes] = []
    ended = threading.Event()

    def serve():
        with contextlib.suppress(OSError):
            while True:
                line, _ = door.accept()
                with line, contextlib.suppress(ConnectionError):
                    line.recv(65_536)
                    line.sendall(said[0])
                    if said[1:]:
                        ended.wait(20)

    thread = threading.Thread(target=serve)
    thread.start()

    def answers(text: bytes, *, hangs: bool = False):
        said[:] = [text, b""] if hangs else [text]
        (ended.clear if hangs else ended.set)()
        return make_entry({"a.csv": BODY}, lambda name: f"http://127.0.0.1:{door.getsockname()[1]}/{name}")

    yield answers
    ended.set()
    door.shutdown(socket.SHUT_RDWR)
    door.close()
    thread.join()


@pytest.mark.parametrize(
    ("text", "hangs", "said"),
    [
        (OK + b"Content-Length: many\r\n\r\n" + BODY[:600], False, "stopped after 600 bytes"),
        (OK + b"Content-Length: 1000, 7\r\n\r\n" + BODY, False, "no connection"),
        (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n" + BODY[:5], False, "transfer"),
        (OK + b"Content-Length: 1000\r\n\r\n" + BODY[:600], True, "timed out"),
        (b"HTTP/1.1 200", True, "in time"),
        (b"what?\r\n\r\n", False, "no connection"),
        (b"", False, "no connection"),
        (OK + b"X: y\r\n" * 500 + b"\r\n" + BODY, False, "no connection"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + BODY, False, "connection broke"),
        (OK + b"Content-Encoding: gzip, gzip\r\n\r\n" + BOMB, False, "coded as 'gzip, gzip'"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/hostname\r\n\r\n", False, "file:///etc/hostname"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://[::1/\r\n\r\n", False, "no connection"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://a..b/\r\n\r\n", False, "no connection"),
        (b"HTTP/1.1 302 Found\r\nLocation: /a.csv\r\n\r\n", False, "redirects"),
        (b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 7-\r\n\r\n" + BODY, False, "another part"),
    ],
)
def test_whatever_a_server_says_the_old_file_stays_and_nothing_is_left_that_is_not_gone_on_from(
    answers, cache, monkeypatch, text, hangs, said
):
    monkeypatch.setattr(importlib.import_module("compendium.data.fetch"), "TIMEOUT", (2, 0.2))
    entry, folder = answers(text, hangs=hangs), cache / "toy"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_bytes(b"old")
    with pytest.raises(FetchError, match=f"{said}[\\s\\S]*to do: "):
        fetch(entry)
    assert (folder / "a.csv").read_bytes() == b"old"
    begun = folder / ".a.csv.part"
    assert left_over(folder) == ([begun.name] if begun.exists() else []) + ["a.csv"]
    assert not begun.exists() or ((body := begun.read_bytes()) and BODY.startswith(body))
    assert fetch(answers(OK + b"Content-Length: many\r\n\r\n" + BODY))[0].read_bytes() == BODY
    assert left_over(folder) == ["a.csv"]


def test_a_download_that_is_killed_leaves_what_the_next_one_goes_on_from(answers, cache):
    entry, part = answers(OK + b"Content-Length: 1000\r\n\r\n" + BODY[:600], hangs=True), cache / "toy" / ".a.csv.part"
    process = multiprocessing.get_context("fork").Process(target=fetch, args=(entry,))
    process.start()
    until = time.monotonic() + 20
    while not part.exists() and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    process.join()
    assert left_over(cache / "toy") == [part.name]
    assert fetch(answers(OK + b"\r\n" + BODY))[0].read_bytes() == BODY
    assert left_over(cache / "toy") == ["a.csv"]
