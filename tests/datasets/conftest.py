"""A local file server that can misbehave, and the raw data where they are present."""

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from compendium.data import Entry, RawFile


class FileServer(ThreadingHTTPServer):
    """Serves the bytes in ``contents`` and keeps a list of what was asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.drop_after: dict[str, int] = {}  # break the connection once after so many bytes
        self.ranges = True
        self.shift = 0  # ranges begin so many bytes later than asked for
        self.announce = True

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server, name, asked = self.server, self.path.lstrip("/"), self.headers.get("Range")
        server.requests.append((name, asked))
        if name not in server.contents:
            self.send_error(404)
            return
        body, start = server.contents[name], 0
        if asked and server.ranges:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start + server.shift}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        body = body[start:]
        if server.announce:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # a client that has seen enough hangs up
            self.wfile.write(body[: server.drop_after.pop(name, len(body))])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no mirror."""
    monkeypatch.delenv("EVENSPAN_DATA", raising=False)
    monkeypatch.setenv("EVENSPAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def make_entry():
    return build_entry


def build_entry(files: dict[str, bytes], url, name: str = "toy", **changes) -> Entry:
    """A registry entry for made-up files."""
    raw = tuple(
        RawFile(name=file, bytes=len(body), sha256=hashlib.sha256(body).hexdigest(), url=url(file))
        for file, body in files.items()
    )
    texts = dict.fromkeys(("licence", "origin", "sensitive", "preprocessing", "notes"), "none")
    facts = {"title": "Toy", "folder": name, "rows": 1, "features": 1, "splits": 0, "matches_paper": False} | texts
    facts |= {"groups": {}, "group_names": {}, "papers": ()}
    return Entry(name=name, files=raw, **(facts | changes))


@pytest.fixture
def body() -> bytes:
    """A file of several blocks whose bytes differ from block to block."""
    return np.random.default_rng(3).bytes(300_000)
