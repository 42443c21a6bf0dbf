"""A local file server, and registry entries for made-up files."""

import contextlib
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compendium.data import Entry, RawFile


class FileServer(ThreadingHTTPServer):
    """Serves the bytes in ``contents``, of each as many as ``sent``, and keeps a list of what was asked for."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents: dict[str, bytes] = {}
        self.sent: int | None = None
        self.asked: list[str] = []

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        if name not in self.server.contents:
            self.send_error(404)
            return
        body = self.server.contents[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # a client that has seen enough hangs up
            self.wfile.write(body[: self.server.sent])

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
