"""A server of the book with kernels, and its pages in a browser."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from compendium import paths

#: What the server says when it is ready.
READY = re.compile(r"http://127\.0\.0\.1:\d+/book/index\.html\?token=\S+")


@contextmanager
def serving(build: Path):
    """The address of a server of its own, with its process; it is ended as Ctrl-C ends it.

    ``build`` is an empty folder: a reader's server, or that of another test, may be running for the one of the book.
    """
    for name in ("html", "cache", "once"):
        (build / name).symlink_to(paths.build(name))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = os.environ | {"EVENSPAN_BUILD": str(build)}
    command = [sys.executable, "-m", "compendium", "live", "--port", str(port)]
    process = subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = process.stdout.readline()
        found = READY.search(line)
        assert found, line + process.stdout.read()
        yield found[0], process
    finally:
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
        assert "Traceback" not in said, said  # nor of a kernel that was just starting


@pytest.fixture(scope="session")
def built(absent):
    """There is a book to serve."""
    if not paths.build("html", "index.html").is_file():
        absent("of the built book (not built: make book)")


@pytest.fixture(scope="session")
def live(built, tmp_path_factory):
    """The address of the served book, with its token."""
    with serving(tmp_path_factory.mktemp("build")) as (address, _):
        yield address


@pytest.fixture
def visit(browser, live):
    """Open a page as a reader who has the address."""
    contexts = []

    def opened(name: str, *, width: int = 1400, height: int = 900, context=None):
        if context is None:
            context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
            contexts.append(context)
        page = context.new_page()
        page.goto(live)
        page.goto(live.partition("index.html")[0] + name)
        return page

    yield opened
    for context in contexts:
        context.close()


def begin(page):
    """The page, in which cells can be run."""
    page.get_by_role("button", name="Run here").click()
    page.get_by_text("Ready.").wait_for(timeout=120_000)
    return page


def done(page, *, word: str = "Done in", seconds: float = 120) -> str:
    """What the bar says at the end of a run, which has the word in it."""
    status = page.locator(".live-said")
    ended, began = re.compile("Done in|failed: |The kernel ended|does not answer"), time.monotonic()
    while not ended.search(said := status.inner_text()):
        assert time.monotonic() < began + seconds, said
        page.wait_for_timeout(20)
    assert word in said
    return said


def write(page, cell: int, text: str) -> None:
    """Replace the code of a cell by typing, and run it."""
    editor = page.locator(f'.cm-content[aria-label="Code of cell {cell}"]')
    folded = page.locator("details:not([open])", has=editor)
    if folded.count():
        folded.locator("summary").first.click()
    editor.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    page.keyboard.press("Shift+Enter")
