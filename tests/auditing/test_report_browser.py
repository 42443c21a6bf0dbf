"""The report in a real browser: no accessibility violation in light and dark, no sideways scrolling on a phone."""

import pytest

from ..book.axe import look_at
from .tables import report_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["hostile", "plain"])
def address(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_of(request.param), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def visit(browser):
    contexts = []

    def go(address, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.trouble = trouble = []
        page.on("console", lambda m: trouble.append(f"console: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: trouble.append(f"script: {e}"))
        page.on("dialog", lambda d: trouble.append(f"dialog: {d.message}"))
        page.on(
            "request",
            lambda r: None if r.url == address or r.url.startswith("data:") else trouble.append(f"foreign: {r.url}"),
        )
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()


def violations(page) -> list[str]:
    return [f"{rule}: {examples[0][:120]}" for rule, _, examples in look_at(page)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit, address, scheme):
    page = visit(address, viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    assert violations(page) == []
    assert page.trouble == []
    dark = page.evaluate("() => getComputedStyle(document.body.parentElement).backgroundColor")
    assert (dark == "rgb(20, 24, 26)") == (scheme == "dark")


def test_nothing_is_wider_than_a_phone(visit, address):
    page = visit(address, viewport={"width": 390, "height": 844})
    assert page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth") <= 0
    outside = page.evaluate(
        """() => [...document.querySelectorAll('body *')].filter(e => {
            if (e.getBoundingClientRect().right <= window.innerWidth + 1) return false;
            for (let p = e; p; p = p.parentElement) {
                if (['auto', 'scroll'].includes(getComputedStyle(p).overflowX)) return false;
            }
            return true;
        }).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert outside == []
    # Every cell of every table is on the screen, with the name of its column.
    cells = page.evaluate("() => [...document.querySelectorAll('td')].filter(e => e.offsetParent).length")
    assert cells == page.evaluate(
        "() => document.querySelectorAll('td').length - document.querySelectorAll('details:not([open]) td').length"
    )
    name = page.evaluate("() => getComputedStyle(document.querySelector('.answer td'), '::before').content")
    assert name.strip('"') == "effect"
    broken = page.evaluate("() => [...document.images].filter(i => !i.naturalWidth).length")
    assert broken == 0


def test_the_skip_link_is_the_first_stop_of_the_keyboard(visit, address):
    page = visit(address, viewport={"width": 1280, "height": 900})
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "answer"


def test_on_paper_nothing_is_cut(visit, address):
    page = visit(address, viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("() => getComputedStyle(document.querySelector('.skip')).display") == "none"
    assert page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth") <= 0
