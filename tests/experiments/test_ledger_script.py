"""The ledger's script in a real browser, on the page's own tables: filters, address, count, sorting, download."""

import csv
import re
import shutil

import pandas as pd
import pytest

from compendium import paths
from compendium.ledger import claims
from compendium.ledger import page as ledger_page
from compendium.ledger import table as ledger

pytestmark = pytest.mark.browser
SHOWN = "table.ledger tbody tr:not([hidden])"


@pytest.fixture(scope="module")
def committed():
    """The committed rows."""
    return pd.read_csv(ledger.path(), dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def tables(committed):
    """The HTML of the page's tables; no claim is computed, and one holds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "registered", dict)
        judged = claims.claims()
    judged.loc[3, "answer"] = "holds"
    text = ledger_page.page(committed, ledger.counts(committed), judged)
    return "".join(re.findall(r"```\{raw\} html\n(.*?)\n```", text, re.DOTALL))


@pytest.fixture(scope="module")
def address(tables, committed, tmp_path_factory):
    """The page as a file, opened as a reader opens it without a server."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "_static").mkdir()
    for name in ("ledger.js", "ledger.css"):
        shutil.copy(paths.root() / "book" / "_static" / name, folder / "_static")
    rows = ledger_page.rows_script(ledger.to_csv(committed).decode())
    (folder / "_static" / "ledger-rows.mjs").write_text(rows, encoding="utf-8")
    head = '<meta charset="utf-8"><link rel="stylesheet" href="_static/ledger.css">'
    body = f'<article class="bd-article"><section id="all-numbers">{tables}</section></article>'
    body += '<script src="_static/ledger.js"></script>'
    page = f"<!doctype html><html lang=en data-theme=light><head>{head}</head><body>{body}</body></html>"
    (folder / "ledger.html").write_text(page, encoding="utf-8")
    return (folder / "ledger.html").as_uri()


@pytest.fixture
def visit(browser, address):
    context = browser.new_context()
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def go(query: str = ""):
        page.goto(address + query)
        return page

    yield go
    context.close()
    assert errors == []


def shown(page, column: int) -> list[str]:
    return page.eval_on_selector_all(f"{SHOWN} td:nth-child({column})", "cells => cells.map(c => c.textContent)")


def said(page, place: int = 0) -> str:
    return page.locator(".ledger-filters output").nth(place).inner_text()


def query(page) -> str:
    return page.evaluate("location.search")


def test_choices_search_count_and_reset(visit, committed):
    page = visit()
    assert said(page) == "1,260 of 1,260 rows"
    assert len(shown(page, 2)) == 1260
    page.select_option("#ledger-paper", "kleindessner2023")
    assert said(page) == "86 of 1,260 rows"
    assert set(shown(page, 2)) == {"kleindessner2023"}
    offered = page.eval_on_selector("#ledger-dataset", "s => [...s.options].map(o => o.value)")
    assert offered == ["", "Adult Income"]
    page.fill("#ledger-search", "KERNEL svm")
    assert said(page) == "22 of 1,260 rows"
    page.fill("#ledger-search", "0.16 ± 0.01")
    assert set(shown(page, 5)) == {"PCA", "Fair PCA"}
    page.fill("#ledger-search", "no such word")
    assert said(page) == "0 of 1,260 rows"
    page.click("text=Show all")
    page.wait_for_function("document.querySelector('.ledger-filters output').textContent.startsWith('1,260 of')")
    assert query(page) == ""
    page.select_option("#ledger-result", "not reproduced")
    assert len(shown(page, 1)) == (committed["result"] == "not reproduced").sum() > 100
    assert query(page) == "?result=not+reproduced"


def test_filters_stay_in_the_address(visit):
    page = visit("?paper=vu2022&table=Table+1%2C+out-of-sample&find=letter")
    some = shown(page, 4)
    assert some == ["Letter"] * 8
    assert page.input_value("#ledger-search") == "letter"
    page.select_option("#ledger-metric", "ARE")
    assert len(shown(page, 4)) == 4
    again = visit(query(page))
    assert len(shown(again, 4)) == 4
    assert again.input_value("#ledger-metric") == "ARE"
    nothing = visit("?paper=nobody1999")
    assert said(nothing) == "0 of 1,260 rows"
    assert nothing.input_value("#ledger-paper") == "nobody1999", "what was asked for is said"


def test_a_field_of_a_picture_leads_to_its_row_and_back(visit):
    page = visit()
    field = page.locator(".ledger-grid a[href$='#vu2022_table1_out_of_sample-017']")
    field.focus()
    title = field.get_attribute("title")
    assert page.inner_text(".ledger-readout") == title
    dataset, method = title.split(", ")[:2]
    page.keyboard.press("Enter")
    assert {*shown(page, 4)} == {dataset}
    assert {*shown(page, 5)} == {method}
    assert len(shown(page, 6)) == 2, "both metrics"
    assert page.get_attribute(".ledger-here", "id") == "vu2022_table1_out_of_sample-017"
    assert page.evaluate("document.activeElement.id") == "vu2022_table1_out_of_sample-017"
    page.go_back()
    page.wait_for_function("document.querySelector('.ledger-filters output').textContent.startsWith('1,260 of')")


def test_claims_have_filters_of_their_own(visit):
    page = visit("?answer=holds")
    assert said(page, 0) == "1,260 of 1,260 rows"
    assert said(page, 1) == "1 of 91 rows"
    page.select_option("#claims-answer", "")
    page.select_option("#claims-claim-paper", "lee2023")
    assert said(page, 1) == "9 of 91 rows"
    assert query(page) == "?claim-paper=lee2023"


def test_the_rows_shown_can_be_downloaded(visit, committed, tmp_path):
    page = visit("?paper=vu2022&dataset=Letter")
    with page.expect_download() as started:
        page.click(".ledger-download")
    started.value.save_as(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    wanted = committed[(committed["paper"] == "vu2022") & (committed["dataset"] == "Letter")]
    assert head == list(ledger.COLUMNS)
    assert rows == wanted.to_numpy().tolist()


def test_columns_sort_as_numbers_both_ways(visit):
    page = visit("?metric=%25Var")
    for direction, backwards in (("ascending", False), ("descending", True)):
        page.click("th button:has-text('Published')")
        numbers = [float(text.split("\u00a0")[0]) for text in shown(page, 8)]
        assert len(numbers) == 10
        assert numbers == sorted(numbers, reverse=backwards)
        assert page.get_attribute("th:has-text('Published')", "aria-sort") == direction
    page.click("th button:has-text('digits')")
    off = [abs(float(text)) for text in shown(page, 11) if text]
    assert off == sorted(off), "deviations are sorted by their size"


def test_a_filter_answers_at_once(visit):
    """Far above what it takes (some 30 ms), far below what laying out the whole table took (4 s)."""
    page = visit()
    spent = page.evaluate(
        """() => ['f', 'fa', 'fair', ''].map(word => {
            const search = document.querySelector('#ledger-search');
            const start = performance.now();
            search.value = word;
            search.dispatchEvent(new Event('input', { bubbles: true }));
            document.body.getBoundingClientRect();
            return performance.now() - start;
        })"""
    )
    assert max(spent) < 1500


def test_without_the_script_the_whole_table_is_there(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}#zhou2024_table1_single_kernel-001")
    assert page.locator(SHOWN).count() == 1260
    assert page.locator(".ledger-filters").count() == 0
    assert page.locator("#zhou2024_table1_single_kernel-001").is_visible()
    context.close()
