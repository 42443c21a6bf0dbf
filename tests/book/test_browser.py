"""The built book in a real browser: the parts that need scripts. Every page is visited in ``test_pages.py``."""

import pytest

from compendium.catalogue import experiment
from compendium.ledger.verdicts import Result

from ..sight import contrast, hexadecimal

pytestmark = pytest.mark.browser

KINDS = [one.name.lower() for one in Result]


def test_four_doors_lead_somewhere(reader, html):
    page = reader("index.html")
    doors = page.locator(".doors a.sd-stretched-link")
    targets = [doors.nth(place).get_attribute("href").partition("#")[0] for place in range(doors.count())]
    assert len(set(targets)) == 4
    assert "yours/index.html" in targets
    for target in targets:
        assert (html / target).is_file(), target


def test_search_finds_a_word(reader):
    page = reader("search.html?q=Binder")
    page.wait_for_selector("#search-results li", timeout=20_000)
    assert "Reproduce" in page.locator("#search-results").inner_text()
    icon, field = (page.locator(f".bd-search {one}:visible").bounding_box() for one in (":is(i, svg)", "input"))
    assert 0 < icon["x"] + icon["width"] <= field["x"], "the icon is beside the words"
    assert page.trouble == []


def test_next_link(reader):
    page = reader("index.html")
    page.click("a.right-next")
    page.wait_for_url(lambda url: not url.endswith("index.html"))
    assert page.locator(".bd-article h1").count() == 1


def test_dark_mode(open_page):
    page = open_page("index.html")
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    for _ in range(3):  # the button goes through light, dark and the system's choice
        page.locator("button.theme-switch-button:visible").first.click()
        if page.evaluate("() => document.documentElement.dataset.theme") == "dark":
            break
    assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(background) != light
    assert page.trouble == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_of_results_can_be_read(reader, theme):
    page = reader("index.html")
    colours = page.evaluate(
        """([theme, kinds]) => {
            document.documentElement.dataset.theme = theme;
            const out = {ground: getComputedStyle(document.body).backgroundColor};
            for (const name of kinds) {
                const mark = document.createElement('span');
                mark.className = `verdict verdict-${name}`;
                mark.textContent = name;
                document.querySelector('.bd-article').append(mark);
                out[name] = getComputedStyle(mark).color;
                out[`${name}-shape`] = getComputedStyle(mark, '::before').content;
            }
            return out;
        }""",
        [theme, KINDS],
    )
    ground = hexadecimal(colours.pop("ground"))
    shapes = {name: colours.pop(name) for name in list(colours) if name.endswith("-shape")}
    assert len(set(shapes.values())) == len(KINDS), "two results have the same shape"
    for name, colour in colours.items():
        assert contrast(hexadecimal(colour), ground) >= 4.5, name


@pytest.mark.exhaustive  # test_ledger_script.py does it with the tables of this page
def test_ledger_can_be_filtered_and_sorted(open_page):
    page = open_page("ledger.html")
    rows = page.locator("table.ledger tbody tr")
    shown = page.locator("table.ledger tbody tr:not([hidden])")
    everything = rows.count()
    assert shown.count() == everything > 100

    page.fill("#ledger-search", "fair pca-s")
    some = shown.count()
    assert 0 < some < everything
    assert all("fair pca-s" in text.lower() for text in shown.all_text_contents())
    assert page.locator(".ledger-filters output").first.inner_text().startswith(f"{some:,} of")

    choice = page.locator("#ledger-result")
    wanted = choice.locator("option").nth(1).get_attribute("value")
    choice.select_option(wanted)
    assert 0 < shown.count() <= some
    assert all(wanted.lower() in text.lower() for text in shown.all_text_contents())
    kept = shown.count()
    page.reload()
    assert shown.count() == kept, "the address keeps the filters"
    page.locator(".ledger-filters button[type=reset]").first.click()
    page.wait_for_function("() => document.querySelectorAll('table.ledger tbody tr[hidden]').length === 0")

    header = page.locator("table.ledger thead .ledger-sort", has_text="Method")
    header.click()
    methods = page.eval_on_selector_all(
        "table.ledger tbody tr", "rows => rows.slice(0, 200).map(row => row.cells[4].textContent.trim().toLowerCase())"
    )
    assert methods == sorted(methods)
    assert page.trouble == []


def test_every_number_has_a_field_that_leads_to_its_row(reader):
    page = reader("ledger.html")
    names = page.eval_on_selector_all(".ledger-grid a", "links => links.map(link => link.hash.slice(1))")
    rows = page.eval_on_selector_all("table.ledger tbody tr", "rows => rows.map(row => row.id)")
    assert sorted(names) == sorted(rows)
    titles = page.eval_on_selector_all(".ledger-grid a", "links => links.map(link => link.title)")
    assert all(titles), "a field that says nothing"
    page.locator(".ledger-grid a").last.click()
    assert page.get_attribute(".ledger-here", "id") == names[-1]
    assert page.locator("table.ledger tbody tr:not([hidden])").count() < len(rows)
    assert page.trouble == []


@pytest.mark.exhaustive  # test_ledger_script.py does it with the tables of this page
def test_the_rows_shown_can_be_downloaded(open_page, tmp_path):
    page = open_page("ledger.html?result=not+a+test")
    with page.expect_download() as started:
        page.click(".ledger-download")
    started.value.save_as(tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == page.locator("table.ledger tbody tr:not([hidden])").count() + 1
    assert page.trouble == []


def test_the_ledger_can_be_used_with_the_keyboard(reader):
    page = reader("ledger.html")
    page.focus("#ledger-search")
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    for wanted in ("ledger-result", "ledger-metric", "ledger-download", "ledger-scroll"):
        assert wanted in reached, f"{wanted} among {reached}"
    page.focus(".ledger-grid a")
    page.keyboard.press("Enter")
    assert page.locator(".ledger-here").count() == 1
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
    if width == 1400:
        wide = page.eval_on_selector_all(
            ".ledger-scroll", "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
        )
        assert wide == 0, "all columns can be seen"
    context.close()


def test_the_first_page_says_how_much_held(reader):
    page = reader("index.html")
    opening, figure, _ = page.locator(".bd-article").inner_text().partition("The field in one figure")
    assert figure
    assert "can tell methods apart" not in opening, "what it is comes before any count"
    assert "five papers" in opening
    assert page.locator(".bd-article .output ul li").count() == 3, "three findings"
    assert page.locator("p", has_text="numbers that can tell methods apart").count() == 1
    assert page.locator("table td", has_text="kleindessner2023").count()
    assert page.locator(".bd-article a[href='ledger.html']").count()


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
    assert shown() == list(entry.executions), "all of them on paper"
    context.close()
