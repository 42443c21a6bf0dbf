"""What people need who see little, listen to a page, use the keyboard, or print: every page of the built book.

axe-core looks at every page with all folded parts open, by every rule. By night only colours differ, and they come
from the same style sheets on all pages: contrast is measured again on one page of each kind and on every fifth page.
On a phone's width it looks at whatever scrolls in a box of its own.
"""

from pathlib import Path

import axe_playwright_python
import pytest

from compendium import paths

from ..sight import contrast, hexadecimal

pytestmark = pytest.mark.browser

HTML = paths.build("html")
PAGES = sorted(
    p.relative_to(HTML).as_posix() for p in HTML.rglob("*.html") if not p.relative_to(HTML).parts[0].startswith("_")
)
#: One page of each kind: text, derivation beside code, executed experiment, wide tables, lists, search.
KINDS = """index.html across/guide.html papers/kleindessner2023/derivation.html
    experiments/kleindessner2023-table/adult-k10.html papers/rathore2025/findings.html reference/api.html ledger.html
    genindex.html search.html explorer.html yours/audit.html"""
KINDS = [name for name in KINDS.split() if name in PAGES]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
#: What axe does not look at, and why. Formulas are drawn glyph by glyph in the colour of the text round them, each with
#: a copy in MathML for screen readers; a test below sees to both. They are most of the elements of a derivation.
#: A header that is a formula and nothing else would count as empty: axe does not read MathML, screen readers do.
LEFT_OUT = ["mjx-container", "th:has(mjx-assistive-mml math)"]
#: The ledger has 20,000 cells, all made by one rule, and axe takes minutes to see them: forty rows of each table stay.
KEEP_FEW = """() => { for (const t of document.querySelectorAll('.bd-main tbody'))
    [...t.rows].slice(40).forEach(row => row.remove()); }"""
RUN = """([left_out, options]) => axe.run({exclude: left_out.map(one => [one])}, options).then(found =>
    found.violations.map(v => [v.id, v.nodes.length, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))"""
OPEN_ALL = """() => {
    for (const d of document.querySelectorAll('.bd-main details')) d.open = true;
    for (const e of document.querySelectorAll('.toggle-hidden')) e.classList.remove('toggle-hidden');
}"""


def look_at(page, *, rules=None):
    """What axe-core finds on a page: rule, count, examples."""
    page.evaluate(AXE)
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    return page.evaluate(RUN, [LEFT_OUT, {"runOnly": only}])


def calm(open_page, name, **size):
    page = open_page(name, **size)
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_load_state("networkidle")
    return page


def by_night(page):
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.parametrize("name", PAGES)
def test_no_violation_by_day_or_night(open_page, name):
    page = calm(open_page, name)
    if name == "ledger.html":
        page.evaluate(KEEP_FEW)
    page.evaluate(OPEN_ALL)
    assert look_at(page) == []
    if name not in KINDS and name not in PAGES[::5]:
        return
    by_night(page)
    assert look_at(page, rules=["color-contrast", "link-in-text-block"]) == [], "by night"


@pytest.mark.parametrize("name", KINDS)
def test_what_scrolls_on_a_phone_can_be_scrolled_with_the_keyboard(open_page, name):
    page = calm(open_page, name, width=390, height=844)
    assert look_at(page, rules=["scrollable-region-focusable", "meta-viewport"]) == []


def test_planted_violations_are_found(open_page):
    """Control: an image without words, pale text, a button without a name, a table header without text."""
    page = calm(open_page, "index.html")
    page.evaluate(
        """() => document.querySelector('.bd-article').insertAdjacentHTML('beforeend',
            '<img src="_static/favicon.svg"><p style="color: #999; background: #fff">pale</p><button></button>'
            + '<table><tr><th></th><th>a</th></tr><tr><td>1</td><td>2</td></tr></table>')"""
    )
    found = {rule for rule, *_ in look_at(page)}
    assert {"image-alt", "color-contrast", "button-name", "empty-table-header"} <= found
    by_night(page)
    page.evaluate("() => { document.querySelector('.bd-article p').style.color = '#333' }")
    assert "color-contrast" in {rule for rule, *_ in look_at(page, rules=["color-contrast"])}


@pytest.mark.parametrize("name", [name for name in KINDS if "papers" in name])
def test_formulas_have_the_colour_of_their_text_and_a_copy_that_is_read(open_page, name):
    page = calm(open_page, name)
    for night in (False, True):
        if night:
            by_night(page)
        bare = page.evaluate(
            """() => [...document.querySelectorAll('.bd-article mjx-container')].filter(e =>
                !e.querySelector('mjx-assistive-mml math')
                || getComputedStyle(e).color !== getComputedStyle(e.parentElement).color).map(e => e.id)"""
        )
        assert bare == []
    assert page.evaluate("() => document.querySelectorAll('.bd-article mjx-container').length") > 0


# --- keyboard -------------------------------------------------------------------------------------------------------

WHERE = """() => {
    const e = document.activeElement;
    if (!e || e === document.body) return null;
    let shown = e;
    if (e.matches('.sd-stretched-link')) shown = null;  // the ring is that of its ::after
    const style = shown ? getComputedStyle(e) : getComputedStyle(e, '::after');
    const box = e.getBoundingClientRect();
    return {tag: e.tagName, words: (e.getAttribute('aria-label') || e.textContent || e.title || '').trim().slice(0, 40),
        id: e.id, ring: style.outlineStyle, width: parseFloat(style.outlineWidth), colour: style.outlineColor,
        href: e.getAttribute('href'), seen: box.width > 0 && box.height > 0,
        of: e.closest('.bd-sidebar-primary') ? 'navigation' : e.closest('.bd-article') ? 'article'
            : e.closest('.bd-sidebar-secondary') ? 'contents' : e.closest('.bd-header-article') ? 'bar' : 'other'};
}"""


def walk(page, most=400):
    """Everything that the tabulator key reaches, in order, until it comes round or leaves the page."""
    found = []
    for _ in range(most):
        page.keyboard.press("Tab")
        here = page.evaluate(WHERE)
        if here is None:
            break
        found.append(here)
    return found


@pytest.mark.parametrize("name", ["cite.html", "rerun.html"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(open_page, name, mode):
    page = calm(open_page, name)
    if mode == "dark":
        by_night(page)
    found = walk(page)
    assert {"navigation", "bar", "article"} <= {one["of"] for one in found}
    assert len(found) < 400, "the key never comes round: there is a trap"
    ground = hexadecimal(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
    without = [one for one in found if one["seen"] and (one["ring"] in ("none", "auto") or one["width"] < 2)]
    assert without == []
    assert all(contrast(hexadecimal(one["colour"]), ground) >= 3.0 for one in found if one["seen"])
    links = page.evaluate(
        "() => [...document.querySelectorAll('.bd-article a[href]:not(.headerlink)')].map(e => e.getAttribute('href'))"
    )
    assert set(links) <= {one["href"] for one in found}


def test_the_first_key_skips_to_the_text(open_page):
    page = calm(open_page, "index.html")
    page.keyboard.press("Tab")
    here = page.evaluate(WHERE)
    assert here["words"] == "Skip to main content"
    assert here["seen"]
    page.keyboard.press("Enter")
    assert page.evaluate("() => location.hash") == "#main-content"
    page.keyboard.press("Tab")
    assert page.evaluate("() => !document.activeElement.closest('.bd-sidebar-primary')"), "the navigation was skipped"


def test_search_and_the_mode_of_colours_work_without_a_mouse(open_page):
    page = calm(open_page, "index.html")
    page.keyboard.press("Control+K")
    page.wait_for_selector("#pst-search-dialog[open]")
    assert page.evaluate("() => document.activeElement.matches('input[type=search]')")
    page.keyboard.press("Escape")
    assert page.locator("#pst-search-dialog[open]").count() == 0
    modes = []
    page.locator("button.theme-switch-button:visible").first.focus()
    for _ in range(3):
        page.keyboard.press("Enter")
        modes.append(page.evaluate("() => document.documentElement.dataset.mode"))
        page.wait_for_function("() => document.activeElement.matches('.theme-switch-button')")
    assert set(modes) == {"light", "dark", "auto"}


def test_navigation_and_folded_code_open_with_a_key(open_page):
    page = calm(open_page, "across/guide.html")
    summary = page.query_selector(".bd-sidebar-primary li.has-children > details:not([open]) > summary")
    assert summary.get_attribute("aria-label").startswith("Pages below: ")
    summary.focus()
    page.keyboard.press("Enter")
    assert summary.evaluate("e => e.parentElement.open")
    folded = page.query_selector(".bd-article div.cell details.hide > summary")
    assert "code" in folded.inner_text().lower()
    assert folded.get_attribute("aria-label") is None, "it is read as it is written"
    folded.focus()
    page.keyboard.press("Space")
    assert folded.evaluate("e => e.parentElement.open")


def test_nobody_who_asked_for_less_motion_gets_any(open_page):
    page = open_page("index.html")
    page.emulate_media(reduced_motion="reduce")
    longest = page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('body *')].flatMap(e => {
            const s = getComputedStyle(e);
            return [...s.transitionDuration.split(','), ...s.animationDuration.split(',')].map(parseFloat);
        }))"""
    )
    assert longest == 0
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(
        "() => [...document.querySelectorAll("
        "'body *')].some(e => parseFloat(getComputedStyle(e).transitionDuration) > 0)"
    ), "control: something moves for the others"


# --- paper ----------------------------------------------------------------------------------------------------------

PAPER = 672  # width of A4 less its margins, in CSS pixels


@pytest.mark.parametrize("name", [name for name in KINDS if name != "search.html"])  # its answers are for the screen
def test_a_page_on_paper_is_the_article_alone_with_nothing_cut_off(open_page, name):
    page = calm(open_page, name, width=PAPER, height=1000)
    by_night(page)
    page.emulate_media(media="print")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown = page.evaluate(
        """() => ['.bd-sidebar-primary', '.bd-sidebar-secondary', '.bd-header-article', '.prev-next-area',
            '#pst-back-to-top', 'a.headerlink', 'button.copybtn', '.skip-link'].filter(
            s => [...document.querySelectorAll(s)].some(e => e.getBoundingClientRect().height > 0))"""
    )
    assert shown == []
    assert page.locator(".bd-article h1").first.is_visible()
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.bd-article :is(img, svg, pre, table, td, th, p, li)')].filter(e => {
            const box = e.getBoundingClientRect();
            return box.width > 1 && box.right > window.innerWidth + 1 && !e.closest('mjx-container');
        }).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert cut == []
    page.emulate_media(media="screen")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")


def test_paper_says_where_links_lead_and_which_code_is_folded(open_page):
    page = calm(open_page, "across/guide.html", width=PAPER, height=1000)
    page.evaluate(
        """() => document.querySelector('.bd-article p').insertAdjacentHTML('beforeend',
            '<a id="out" href="https://example.org/">out</a><a id="in" href="ranks.html">in</a>')"""
    )
    page.emulate_media(media="print")
    behind = "id => getComputedStyle(document.getElementById(id), '::after').content"
    assert "https://example.org/" in page.evaluate(behind, "out").replace("attr(href)", "https://example.org/")
    assert page.evaluate(behind, "in") == "none"
    folded = page.locator(".bd-article div.cell details.hide").first
    assert "folded" in folded.evaluate("e => getComputedStyle(e.querySelector('summary'), '::before').content")
    assert folded.evaluate("e => e.getBoundingClientRect().height") < 60


def test_tables_break_between_rows_and_repeat_their_headers(open_page, tmp_path):
    from pypdf import PdfReader

    page = calm(open_page, "index.html", width=PAPER, height=1000)
    rows = "".join(f"<tr><td>row {i}</td><td>{i * i}</td></tr>" for i in range(150))
    page.evaluate(
        """rows => { document.querySelector('.bd-article').innerHTML =
            '<h1>Long</h1><table><thead><tr><th>upper name</th><th>lower name</th></tr></thead><tbody>'
            + rows + '</tbody></table>' }""",
        rows,
    )
    page.pdf(path=tmp_path / "long.pdf", format="A4")
    texts = [sheet.extract_text() for sheet in PdfReader(tmp_path / "long.pdf").pages]
    assert len(texts) >= 3
    assert all("upper name" in text for text in texts)
    assert sum(text.count("row ") for text in texts) == 150
