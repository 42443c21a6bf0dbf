"""The built book in a real browser: every page, wide and narrow, and the parts that need scripts."""

import pytest

from evenspan import paths

pytestmark = pytest.mark.browser

HTML = paths.build("html")
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


def test_three_doors_lead_somewhere(open_page, html):
    page = open_page("index.html")
    doors = page.locator(".doors a.sd-stretched-link")
    assert doors.count() == 3
    for place in range(3):
        target = doors.nth(place).get_attribute("href").partition("#")[0]
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


def _relative_luminance(colour):
    channels = [value / 255 for value in colour]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_verdict_marks_can_be_read(open_page, theme):
    page = open_page("index.html")
    colours = page.evaluate(
        """theme => {
            document.documentElement.dataset.theme = theme;
            const rgb = c => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
            const out = {ground: rgb(getComputedStyle(document.body).backgroundColor)};
            for (const name of ['exact', 'close', 'order', 'differs', 'na', 'pending']) {
                const mark = document.createElement('span');
                mark.className = `verdict verdict-${name}`;
                mark.textContent = name;
                document.querySelector('.bd-article').append(mark);
                out[name] = rgb(getComputedStyle(mark).color);
                out[`${name}-shape`] = getComputedStyle(mark, '::before').content;
            }
            return out;
        }""",
        theme,
    )
    ground = _relative_luminance(colours.pop("ground"))
    shapes = {name: colours.pop(name) for name in list(colours) if name.endswith("-shape")}
    assert len(set(shapes.values())) == 6, "two verdicts have the same shape"
    for name, colour in colours.items():
        bright, dim = sorted([ground, _relative_luminance(colour)], reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= 4.5, name


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
    rows = page.locator("table[data-ledger] tbody tr")
    shown = page.locator("table[data-ledger] tbody tr:not([hidden])")
    everything = rows.count()
    assert shown.count() == everything > 100

    page.fill("#ledger-search", "fair pca-s")
    some = shown.count()
    assert 0 < some < everything
    assert all("fair pca-s" in text.lower() for text in shown.all_inner_texts())
    assert page.locator(".ledger-filters output").inner_text().startswith(f"{some:,} of")

    choice = page.locator(".ledger-filters select").first
    wanted = choice.locator("option").nth(1).get_attribute("value")
    choice.select_option(wanted)
    assert 0 < shown.count() <= some
    assert all(wanted.lower() in text.lower() for text in shown.all_inner_texts())
    page.click(".ledger-filters button[type=reset]")
    page.wait_for_function("() => document.querySelectorAll('table[data-ledger] tbody tr[hidden]').length === 0")

    header = page.locator("table[data-ledger] thead .ledger-sort", has_text="Method")
    header.click()
    place = page.locator("table[data-ledger] thead th").all_inner_texts().index(header.inner_text())
    methods = [row.split("\t")[place].strip().lower() for row in rows.all_inner_texts()[:200]]
    assert methods == sorted(methods)
    assert page.trouble == []
