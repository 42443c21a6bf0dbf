"""The explorer in the built book: keyboard, links, contrast, phone, and no scripts."""

import re

import pytest

pytestmark = pytest.mark.browser

BYTES = 1_500_000
READY = "[data-explorer][data-state=ready]"
NUMBER = r"[−-]?\d+(?:\.\d+)?(?:e[−-]?\d+)?"


@pytest.fixture
def opened(reader):
    """The explorer, drawn; ``query`` is what stands behind the question mark of its address."""

    def visit(query: str = ""):
        page = reader(f"explorer.html{query}")
        ready(page)
        return page

    return visit


def ready(page) -> None:
    page.wait_for_selector(READY, timeout=20_000)


def test_it_draws_and_says_so(opened, html):
    page = opened()
    assert page.locator(".explorer-picture").get_attribute("role") == "img"
    text = page.locator(".explorer-picture").get_attribute("aria-label")
    assert "Biodeg, k = 3" in text
    assert "Equal errors are impossible" in text
    assert page.locator(".explorer-summary").get_attribute("aria-live") == "polite"
    assert page.locator(".explorer-points .explorer-point:visible").count() > 5
    assert len((html / "explorer.html").read_bytes()) < BYTES
    assert page.trouble == []


def test_without_scripts_it_says_why_and_shows_a_figure(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}explorer.html")
    assert "needs scripts" in page.locator("[data-explorer]").inner_text()
    figure = page.locator("#fig-explorer-biodeg img")
    assert len(figure.get_attribute("alt")) > 80
    context.close()


def test_everything_can_be_reached_with_the_keyboard(opened):
    page = opened("?criterion=robust")
    page.focus("#explorer-data")
    reached, spoken = [], []
    for _ in range(60):
        now = page.evaluate(
            """() => { const e = document.activeElement; const style = getComputedStyle(e);
                const ring = e.querySelector && e.querySelector('.ring');
                const seen = style.outlineStyle !== 'none' || (ring && getComputedStyle(ring).stroke !== 'none');
                const name = e.id || e.className.baseVal || e.dataset.view || e.className || e.tagName;
                return [name, e.getAttribute('aria-label') || '', seen]; }"""
        )
        if now[0] == "SUMMARY":
            reached.append(now[0])
            break
        reached.append(now[0])
        assert now[0] != "explorer-points", "the layer takes the focus from its points"
        assert now[2], f"{now[0]} does not show that it has the focus"
        if "explorer-point" in now[0]:
            spoken.append(now[1])
            assert page.locator(".explorer-readout").inner_text() == now[1]
        page.keyboard.press("Tab")
    for wanted in ("criterion", "k", "penalty", "radius"):
        assert f"explorer-{wanted}" in reached
    assert {"frontier", "whole", "SUMMARY"} <= set(reached)
    assert sum("PCA" in text for text in spoken) >= 3
    assert all(re.search(NUMBER, text) for text in spoken)
    page.keyboard.press("Enter")
    assert page.locator(".explorer-numbers").is_visible()
    assert page.trouble == []
