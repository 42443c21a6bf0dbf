"""The built book in a real browser: every page, wide and narrow, and the parts that need scripts."""

import pytest

from compendium import paths
from compendium.ledger.verdicts import Kind

from ..sight import contrast, hexadecimal

pytestmark = pytest.mark.browser

HTML = paths.build("html")
KINDS = [kind.name.lower() for kind in Kind]
PAGES = sorted(
    p.relative_to(HTML).as_posix() for p in HTML.rglob("*.html") if not p.relative_to(HTML).parts[0].startswith("_")
)


def test_there_are_pages(html):
    assert "index.html" in PAGES


@pytest.mark.parametrize("name", PAGES)
def test_page(open_page, name):
    page = open_page(name)
    page.evaluate("() => document.querySelectorAll('img').forEach(i => { i.loading = 'eager' })")
    page.evaluate("() => Promise.all([...document.images].map(i => i.decode().catch(() => null)))")
    images = page.evaluate(
        "() => [...document.images].map(i => [i.src.slice(0, 100), i.naturalWidth, (i.alt || '').trim()])"
    )
    assert [src for src, width, _ in images if not width] == [], "images that do not load"
    assert [src for src, _, alt in images if not alt] == [], "images without an alternative text"
    bare = page.evaluate(
        "() => [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))"
        ".map(e => e.textContent)"
    )
    assert bare == [], "formulas that were not typeset"
    wrong = page.evaluate(
        "() => [...document.querySelectorAll('mjx-merror, [data-mjx-error]')].map(e => e.textContent)"
    )
    assert wrong == [], "formulas with an error"
    assert page.trouble == []


@pytest.mark.parametrize("name", PAGES)
def test_page_on_a_phone(open_page, name):
    page = open_page(name, width=390, height=844)
    wide = page.evaluate("() => document.scrollingElement.scrollWidth - window.innerWidth")
    # An element may be wider than the screen only inside a box that scrolls by itself.
    culprits = page.evaluate(
        """() => [...document.querySelectorAll('.bd-article *')].filter(e => {
            if (e.getBoundingClientRect().right <= window.innerWidth + 1) return false;
            if (e.closest('mjx-assistive-mml')) return false;
            for (let p = e; p && !p.matches('.bd-article'); p = p.parentElement) {
                if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(p).overflowX)) return false;
            }
            return true;
        }).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert wide <= 1, f"the page is {wide} px wider than the screen"
    assert culprits == []
    assert page.trouble == []


def test_four_doors_lead_somewhere(open_page, html):
    page = open_page("index.html")
    doors = page.locator(".doors a.sd-stretched-link")
    targets = [doors.nth(place).get_attribute("href").partition("#")[0] for place in range(doors.count())]
    assert len(set(targets)) == 4
    assert "yours/index.html" in targets
    for target in targets:
        assert (html / target).is_file(), target


def test_search_finds_a_word(open_page):
    page = open_page("search.html?q=Binder")
    page.wait_for_selector("#search-results li", timeout=20_000)
    assert "Rerun" in page.locator("#search-results").inner_text()
    assert page.trouble == []


def test_next_link(open_page):
    page = open_page("index.html")
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
def test_verdict_marks_can_be_read(open_page, theme):
    page = open_page("index.html")
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
    assert len(set(shapes.values())) == len(KINDS), "two verdicts have the same shape"
    for name, colour in colours.items():
        assert contrast(hexadecimal(colour), ground) >= 4.5, name


BESIDE = [name for name in PAGES if 'class="beside docutils' in (HTML / name).read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", BESIDE)
def test_derivation_stands_beside_its_code(open_page, name):
    boxes = """() => [...document.querySelectorAll('.beside')].map(e => ['.beside-text', '.beside-code'].map(
        s => { const r = e.querySelector(s).getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; }))"""
    wide = open_page(name).evaluate(boxes)
    assert wide
    for text, code in wide:
        assert text[2] <= code[0], "two columns"
        assert code[2] <= 1400, "inside the screen"
    for text, code in open_page(name, width=390).evaluate(boxes):
        assert code[1] >= text[3] - 1, "one below the other"


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

    choice = page.locator("#ledger-verdict")
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
        "table.ledger tbody tr", "rows => rows.slice(0, 200).map(row => row.cells[5].textContent.trim().toLowerCase())"
    )
    assert methods == sorted(methods)
    assert page.trouble == []


def test_every_number_has_a_field_that_leads_to_its_row(open_page):
    page = open_page("ledger.html")
    names = page.eval_on_selector_all(".ledger-grid a", "links => links.map(link => link.hash.slice(1))")
    rows = page.eval_on_selector_all("table.ledger tbody tr", "rows => rows.map(row => row.id)")
    assert sorted(names) == sorted(rows)
    titles = page.eval_on_selector_all(".ledger-grid a", "links => links.map(link => link.title)")
    assert all(titles), "a field that says nothing"
    page.locator(".ledger-grid a").last.click()
    assert page.get_attribute(".ledger-here", "id") == names[-1]
    assert page.locator("table.ledger tbody tr:not([hidden])").count() < len(rows)
    assert page.trouble == []


def test_the_rows_shown_can_be_downloaded(open_page, tmp_path):
    page = open_page("ledger.html?verdict=not+computable")
    with page.expect_download() as started:
        page.click(".ledger-download")
    started.value.save_as(tmp_path / "rows.csv")
    lines = (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == page.locator("table.ledger tbody tr:not([hidden])").count() + 1
    assert page.trouble == []


def test_the_ledger_can_be_used_with_the_keyboard(open_page):
    page = open_page("ledger.html")
    page.focus("#ledger-search")
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    for wanted in ("ledger-verdict", "ledger-metric", "ledger-differing", "ledger-download", "ledger-scroll"):
        assert wanted in reached, f"{wanted} among {reached}"
    page.focus(".ledger-grid a")
    page.keyboard.press("Enter")
    assert page.locator(".ledger-here").count() == 1
    assert page.trouble == []


def test_the_first_page_says_how_much_held(open_page):
    page = open_page("index.html")
    text = page.locator(".bd-article").inner_text()
    assert "published numbers:" in text.partition("The field in one figure")[0], "above the first figure"
    lines = page.locator("p", has_text="published numbers:")
    assert lines.count() == 1
    assert page.locator(".bd-article a[href='ledger.html']").count() >= 2
