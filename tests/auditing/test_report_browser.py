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
    def go(address, **options):
        page = browser.new_page(**options)
        page.trouble = trouble = []
        page.on("console", lambda message: trouble.append(message.text))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto(address)
        return page

    return go


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit, address, scheme):
    page = visit(address, viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    assert [f"{rule}: {examples[0][:120]}" for rule, _, examples in look_at(page)] == []
    assert [one for one in page.trouble if not one.startswith((address, "data:"))] == []
    dark = page.evaluate("() => getComputedStyle(document.body.parentElement).backgroundColor")
    assert (dark == "rgb(20, 24, 26)") == (scheme == "dark")
    page.close()


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
    name = page.evaluate("() => getComputedStyle(document.querySelector('.answer td'), '::before').content")
    assert name.strip('"') == "effect"
    assert page.evaluate("() => [...document.images].filter(i => !i.naturalWidth).length") == 0
    page.keyboard.press("Tab")  # the skip link is the first stop of the keyboard
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "answer"
    page.set_viewport_size({"width": 720, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth") <= 0
    page.close()
