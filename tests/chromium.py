"""A headless Chromium that sees nothing but a folder of this machine."""

import functools
import http.server
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Chromium asks the network for many things of its own; nothing but this machine may be reached.
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]  # fmt: skip
_RUNNING = threading.local()


def program() -> str | None:
    """Path of the browser: ``EVENSPAN_CHROMIUM``, or what is installed."""
    found = os.environ.get("EVENSPAN_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    return found if found and Path(found).is_file() else None


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser with a home folder of its own, so that it leaves nothing in the user's.

    Playwright runs once in a thread, so a block within another one gets the browser of the outer.
    """
    if outer := getattr(_RUNNING, "browser", None):
        yield outer
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        own = {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
        browser = playwright.chromium.launch(executable_path=program(), args=_FLAGS, env=os.environ | own)
        _RUNNING.browser = browser
        try:
            yield browser
        finally:
            _RUNNING.browser = None
            browser.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # a page that is closed while it loads breaks its connections; anything else is worth a traceback
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address under which a folder can be read on this machine while a block lasts."""
    server = _Server(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
