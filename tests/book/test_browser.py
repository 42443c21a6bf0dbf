"""The built book in a real browser: the parts that need scripts. Every page is visited in ``test_pages.py``."""

import pandas as pd
import pytest

from compendium.catalogue import experiment
from compendium.ledger import table as ledger

pytestmark = pytest.mark.browser

SHOWN = "table.ledger tbody tr:not([hidden])"


def test_every_number_has_a_field_that_leads_to_its_row(reader):
    page = reader("ledger.html")
    names = page.eval_on_selector_all(".ledger-grid a", "links => links.map(link => link.hash.slice(1))")
    rows = page.eval_on_selector_all("table.ledger tbody tr", "rows => rows.map(row => row.id)")
    assert sorted(names) == sorted(rows)
    field = page.locator(".ledger-grid a").last
    field.focus()
    assert page.inner_text(".ledger-readout") == field.get_attribute("title")
    page.keyboard.press("Enter")
    assert page.get_attribute(".ledger-here", "id") == names[-1]
    assert page.locator(SHOWN).count() < len(rows)
    assert page.trouble == []


def test_rows_of_the_ledger_are_chosen_sorted_and_downloaded(open_page, tmp_path):
    """The address keeps what was chosen; claims have choices of their own."""
    page = open_page("ledger.html?paper=vu2022&table=Table+1%2C+out-of-sample&find=letter")
    said = page.locator(".ledger-filters output")
    page.select_option("#ledger-metric", "ARE")
    page.reload()
    assert [said.nth(place).inner_text() for place in (0, 1)] == ["4 of 1,260 rows", "91 of 91 rows"]
    with page.expect_download() as started:
        page.click(".ledger-download")
    started.value.save_as(tmp_path / "rows.csv")
    committed = pd.read_csv(ledger.path(), dtype=str, keep_default_na=False)
    mine = committed[(committed["table"] == "Table 1") & (committed["split"] == "out-of-sample")]
    mine = mine[(mine["dataset"] == "Letter") & (mine["metric"] == "ARE")]
    rows = pd.read_csv(tmp_path / "rows.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(rows, mine.reset_index(drop=True))
    page.click("text=Show all")
    page.wait_for_function("document.querySelector('.ledger-filters output').textContent.startsWith('1,260 of')")
    page.select_option("#ledger-metric", "%Var")
    for backwards in (False, True):
        page.click("th button:has-text('Published')")
        texts = page.eval_on_selector_all(f"{SHOWN} td:nth-child(8)", "cells => cells.map(c => c.textContent)")
        numbers = [float(text.split("\u00a0")[0]) for text in texts]
        assert numbers == sorted(numbers, reverse=backwards)
    page.select_option("#claims-claim-paper", "lee2023")
    assert said.nth(1).inner_text() == "9 of 91 rows"
    assert page.trouble == []


@pytest.mark.parametrize(("paper", "counts"), [("vu2022", "numbers"), ("lee2023", "claims")])
def test_the_address_of_a_paper_chooses_its_numbers_and_claims(open_page, paper, counts):
    page = open_page(f"ledger.html#ledger-{paper}")
    assert page.locator("#claims-claim-paper").input_value() == paper
    papers = page.eval_on_selector_all(f"{SHOWN} td:nth-child(2)", "cells => cells.map(c => c.textContent)")
    pictures = page.locator("#table-by-table > section")
    shown = [one.get_attribute("id") for one in pictures.all() if one.is_visible()]
    if counts == "numbers":
        assert (set(papers), shown) == ({paper}, [paper])
    else:
        assert len(shown) == len(set(papers)) == 4, "no number is printed there: those of the others stay"
    page.locator(".ledger-filters").first.get_by_role("button", name="Show all").click()
    page.wait_for_function(
        "() => [...document.querySelectorAll('#table-by-table > section')].every(one => !one.hidden)"
    )
    assert page.trouble == []


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("width", [1400, 390])
def test_the_address_of_a_number_lands_on_its_row(browser, site, width, scripts):
    context = browser.new_context(java_script_enabled=scripts, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(f"{site}ledger.html#vu2022_table3_in_sample-047")
    row = page.locator("tr:target")
    head, bar = page.locator("table.ledger thead"), page.locator(".bd-header-article").first
    if scripts:
        page.wait_for_selector(".ledger-here")
        page.wait_for_timeout(500)
    top = row.bounding_box()["y"]
    covered = [box["y"] + box["height"] for one in (head, bar) if (box := one.bounding_box())]
    assert max(covered) <= top <= 900 - 40, "below what stays in place, inside the window"
    assert row.evaluate("row => getComputedStyle(row).outlineStyle") == "solid", "marked"
    context.close()


@pytest.mark.parametrize("width", [1400, 390])
def test_tabs_need_no_script_and_have_addresses(browser, site, html, width):
    entry = experiment("vu2022-tables")
    first, *_, last = entry.executions
    context = browser.new_context(java_script_enabled=False, viewport={"width": width, "height": 900})
    page = context.new_page()

    def shown():
        return [tab.get_attribute("id") for tab in page.locator("section.tab").all() if tab.is_visible()]

    page.goto(f"{site}experiments/{entry.id}.html")
    assert shown() == [first]
    page.focus(f'.tab-links a[href="#{last}"]')
    page.keyboard.press("Enter")
    assert shown() == [last]
    assert page.locator(f'.tab-links a[href="#{last}"]').is_visible(), "the links stay in sight"

    page.emulate_media(media="print")
    assert shown() == [last], "also on paper"
    context.close()
