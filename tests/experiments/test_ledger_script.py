"""The ledger's script in a real browser, on the page's own tables: search, choices, count, sorting."""

import re

import pytest

from evenspan import paths
from evenspan.report import ledger

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(browser):
    opened = browser.new_page()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def tables():
    """The HTML of the page's tables."""
    return "".join(re.findall(r"```\{raw\} html\n(.*?)\n```", ledger.pages()["ledger.md"], re.DOTALL))


@pytest.fixture
def opened(page, tables):
    page.set_content(f"<!doctype html><html lang=en><body>{tables}</body></html>")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_script_tag(content=(paths.root() / "book" / "_static" / "ledger.js").read_text())
    yield page
    assert errors == []


def shown(page, column: int) -> list[str]:
    return page.eval_on_selector_all(
        f"table.ledger tbody tr:not([hidden]) td:nth-child({column})", "cells => cells.map(c => c.textContent)"
    )


def said(page) -> str:
    return page.inner_text(".ledger-filters output")


def test_choices_search_count_and_reset(opened):
    assert said(opened) == "1,285 of 1,285 rows"
    assert len(shown(opened, 2)) == 1285
    opened.select_option("label:has-text('Paper') select", "kleindessner2023")
    assert said(opened) == "88 of 1,285 rows"
    assert set(shown(opened, 2)) == {"kleindessner2023"}
    offered = opened.eval_on_selector("label:has-text('Data set') select", "s => [...s.options].map(o => o.value)")
    assert offered == ["", "Adult Income"]
    opened.fill("#ledger-search", "KERNEL svm")
    assert said(opened) == "22 of 1,285 rows"
    opened.fill("#ledger-search", "0.16 ± 0.01")
    assert set(shown(opened, 5)) == {"PCA", "Fair PCA"}
    opened.fill("#ledger-search", "no such word")
    assert said(opened) == "0 of 1,285 rows"
    opened.click("text=Show all")
    opened.wait_for_function("document.querySelector('.ledger-filters output').textContent.startsWith('1,285 of')")


def test_columns_sort_as_numbers_both_ways(opened):
    opened.select_option("label:has-text('Metric') select", "%Var")
    for direction, backwards in (("ascending", False), ("descending", True)):
        opened.click("th button:has-text('Published')")
        texts = [text for text in shown(opened, 8) if text != "n/a"]
        numbers = [float(text.split("\u00a0")[0]) for text in texts]
        assert len(numbers) == 10
        assert numbers == sorted(numbers, reverse=backwards)
        assert opened.get_attribute("th:has-text('Published')", "aria-sort") == direction


def test_without_the_script_the_whole_table_is_there(page, tables):
    page.set_content(tables)
    assert len(shown(page, 1)) == 1285
    assert page.locator(".ledger-filters").count() == 0
