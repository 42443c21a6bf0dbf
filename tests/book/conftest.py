"""The built book, served on this machine only, and a browser. In CI neither may be missing."""

from pathlib import Path

import pytest

from compendium import paths

from ..chromium import served


@pytest.fixture(scope="session")
def html(absent) -> Path:
    """The folder of the built book."""
    folder = paths.build("html")
    if not (folder / "index.html").is_file():
        absent("of the built book (not built: make book)")
    return folder


@pytest.fixture(scope="session")
def site(html):
    """Address under which the book is served."""
    with served(html) as address:
        yield address


def watched(page, site: str):
    """A tab whose ``trouble`` lists what goes wrong on the page that is open in it."""
    page.trouble = trouble = []
    page.on("console", lambda m: trouble.append(f"console: {m.text}") if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: trouble.append(f"script: {e}"))
    page.on("request", lambda r: foreign(r.url))
    page.on("requestfailed", lambda r: None if r.failure == "net::ERR_ABORTED" else trouble.append(f"no {r.url}"))
    page.on("response", lambda r: trouble.append(f"{r.status} {r.url}") if r.status >= 400 else None)

    def foreign(url):
        if not url.startswith((site, "data:", "blob:")):
            trouble.append(f"foreign: {url}")

    return page


def visited(page, address: str, *, width: int = 1400, height: int = 900):
    """A page of the book with its formulas set."""
    page.set_viewport_size({"width": width, "height": height})
    page.goto(address)
    page.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
    return page


@pytest.fixture
def open_page(browser, site):
    """Open a page of the book as somebody who comes for the first time."""
    contexts = []

    def visit(name: str, **size):
        contexts.append(browser.new_context())
        return visited(watched(contexts[-1].new_page(), site), site + name, **size)

    yield visit
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def tab(browser, site):
    """A tab of one who has been here before: what pages share is loaded. Nothing moves."""
    context = browser.new_context(reduced_motion="reduce")
    yield watched(context.new_page(), site)
    context.close()


@pytest.fixture
def reader(tab, site):
    """Open a page of the book as the next one of many."""

    def visit(name: str):
        if "#" in name:
            tab.goto("about:blank")  # or the page that is open might only be scrolled
        tab.emulate_media(media="null", reduced_motion="reduce")
        tab.trouble.clear()
        return visited(tab, site + name)

    return visit
