"""Pages of the built book, each visited once: it is loaded, read, narrowed to a phone, and looked at by axe-core.

Of pages that one template makes (classes, data cards, experiments) some are visited, others with every commit.

What is wrong with a page is told together, under the names of the checks. By night only colours differ, and they come
from the same style sheets on all pages: contrast is measured again on one page of each kind, which is also printed, and
loaded on a phone, where the visit of a page narrows the window. With --exhaustive every page is such a page.
"""

import pytest

from compendium import paths, provenance

from .axe import PAPER, by_night, look_at

pytestmark = pytest.mark.browser

HTML = paths.build("html")
PAGES = sorted(
    p.relative_to(HTML).as_posix() for p in HTML.rglob("*.html") if not p.relative_to(HTML).parts[0].startswith("_")
) or ["index.html"]  # of a book that is not built, one page is skipped
#: Folders of pages that one template makes, of which one in so many is visited.
SAMPLED, ONE_IN = ("reference/api/", "data/cards/", "experiments/"), 6
TURN = int.from_bytes(provenance.commit()[0].encode(), "big")
#: One page of each kind: text, derivation beside code, executed experiment, wide tables, lists, search.
KINDS = """index.html yours/choose.html papers/kleindessner2023/derivation.html
    experiments/kleindessner2023-table.html papers/rathore2025/findings.html reference/api.html
    reference/api/evenspan.FairPCA.html ledger.html
    genindex.html search.html explorer.html yours/audit.html"""
KINDS = [name for name in KINDS.split() if name in PAGES] or PAGES
VISITED = [
    page
    for place, page in enumerate(PAGES)
    if page in KINDS or not page.startswith(SAMPLED) or (place + TURN) % ONE_IN == 0
]
PHONE = {"width": 390, "height": 844}

READ = """async () => {
    const images = [...document.images], short = e => e.outerHTML.slice(0, 120);
    images.forEach(i => { i.loading = 'eager' });
    await Promise.all(images.map(i => i.decode().catch(() => null)));
    const all = s => [...document.querySelectorAll(s)];
    // In points at which it is shown; exponents and indices of a formula are as small as their line makes them.
    const article = document.querySelector('.bd-article') || document.body, room = getComputedStyle(article);
    const column = article.clientWidth - parseFloat(room.paddingLeft) - parseFloat(room.paddingRight);
    const small = async i => {
        const drawn = new DOMParser().parseFromString(await (await fetch(i.src)).text(), 'image/svg+xml');
        const shown = i.clientWidth || Math.min(i.naturalWidth, column);
        const scale = 0.75 * shown / drawn.documentElement.viewBox.baseVal.width;
        const sizes = [...drawn.querySelectorAll('[id^=text_]')].map(g => Math.max(0,  // letters that are paths
            ...[...g.querySelectorAll('text, tspan')].map(e => parseFloat(e.style.fontSize) || 0)));
        const least = Math.min(...sizes);
        return scale * least > 7.99 || least === Infinity ? [] : [`${(scale * least).toFixed(2)}: ${short(i)}`];
    };
    const drawings = images.filter(i => i.closest('.bd-article') && i.src.endsWith('.svg'));
    const columns = all('.beside').map(e => ['.beside-text', '.beside-code'].map(
        s => e.querySelector(s).getBoundingClientRect()));
    const ids = new Set();
    return {
        'ids that are given twice': all('[id]').map(e => e.id).filter(id => ids.has(id) || !ids.add(id)),
        'images that do not load': images.filter(i => !i.naturalWidth).map(short),
        'images without an alternative text': images.filter(i => !(i.alt || '').trim()).map(short),
        'text of figures below 8 points': (await Promise.all(drawings.map(small))).flat(),
        'formulas that were not typeset': all('.math').filter(e => !e.querySelector('mjx-container')).map(short),
        'formulas with an error': all('mjx-merror, [data-mjx-error]').map(e => e.textContent),
        'derivations that are not left of their code, inside the screen': columns.filter(
            ([text, code]) => text.right > code.left || code.right > window.innerWidth).length,
    };
}"""
#: Rows that wait until they are scrolled to are laid out together: one by one it takes five times as long.
TOGETHER = """() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('.bd-main tr { content-visibility: visible !important }');
    document.adoptedStyleSheets = [sheet];
}"""
#: An element may be wider than the screen only inside a box that scrolls by itself.
NARROW = """() => {
    const all = s => [...document.querySelectorAll(s)], short = e => e.outerHTML.slice(0, 120);
    const apart = e => {
        if (e.getBoundingClientRect().right <= window.innerWidth + 1) return false;
        for (let p = e; p && !p.matches('.bd-article'); p = p.parentElement) {
            if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(p).overflowX)) return false;
        }
        return true;
    };
    // Where its box is scrolled, the first column of a table stays, on a ground of its own. Drawings keep their size.
    const leaves = t => {
        const box = t.closest('.table-scroll, .pst-scrollable-table-container, .ledger-scroll, .ledger-grids, .output');
        if (!box || box.scrollWidth <= box.clientWidth + 1 || t.querySelector('tbody [rowspan]')) return false;
        box.scrollLeft = 100;
        const firsts = [...t.rows].map(r => r.cells[0]), first = firsts.at(-1);
        const out = Math.min(...firsts.map(e => e.getBoundingClientRect().left)) - box.getBoundingClientRect().left;
        box.scrollLeft = 0;
        return out < -2 || /, 0\\)|transparent/.test(getComputedStyle(first).backgroundColor);
    };
    return {
        'tables without their first column': all('.bd-article table').filter(leaves).map(short),
        'drawings that a phone makes smaller': all('.bd-article img[width]').filter(
            i => i.offsetWidth && i.offsetWidth < i.getAttribute('width')).map(short),
        'pixels wider than a phone': Math.max(document.scrollingElement.scrollWidth - window.innerWidth - 1, 0),
        'what a phone cuts off': all('.bd-article :not(mjx-container *)').filter(apart).slice(0, 5).map(short),
        'derivations that are not above their code on a phone': all('.beside').filter(e => {
            const [text, code] = ['.beside-text', '.beside-code'].map(
                s => e.querySelector(s).getBoundingClientRect());
            return code.top < text.bottom - 1;
        }).length,
    };
}"""
PRINTED = """() => {
    const all = s => [...document.querySelectorAll(s)];
    const aside = ['.bd-sidebar-primary', '.bd-sidebar-secondary', '.bd-header-article', '.prev-next-area',
        '#pst-back-to-top', 'a.headerlink', 'button.copybtn', '.skip-link'];
    const cut = e => {
        const box = e.getBoundingClientRect();
        return box.width > 1 && box.right > window.innerWidth + 1;
    };
    const white = getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)';
    const title = document.querySelector('.bd-article h1');
    return {
        'paper that is not white': white ? [] : [getComputedStyle(document.body).backgroundColor],
        'what belongs to the screen and is printed': aside.filter(
            s => all(s).some(e => e.getBoundingClientRect().height > 0)),
        'a title that is not printed': title.checkVisibility() ? [] : [title.outerHTML.slice(0, 120)],
        'what paper cuts off': all('.bd-article :is(img, svg, pre, table, td, th, p, li)').filter(cut)
            .slice(0, 5).map(e => e.outerHTML.slice(0, 120)),
    };
}"""
BARE = """() => [...document.querySelectorAll('.bd-article mjx-container')].filter(e =>
    !e.querySelector('mjx-assistive-mml math')
    || getComputedStyle(e).color !== getComputedStyle(e.parentElement).color).map(e => e.outerHTML.slice(0, 120))"""
#: What one rule made many times is as good as seen when one of a kind is: rows, paragraphs, list items, cells, and
#: equations in which nothing has marks, attributes, colours, or a place that were not seen before; tokens of code,
#: documented objects. Headings stay. With --exhaustive only the ledger is thinned: axe takes minutes to see its
#: 20,000 cells.
ONE_OF_A_KIND = """() => {
    const paths = new Map([[document.querySelector('.bd-main'), '']]), seen = new Set(), again = [];
    const path = e => {
        if (!paths.has(e)) paths.set(e, `${path(e.parentElement)} ${e.tagName}.${e.getAttribute('class')}`);
        return paths.get(e);
    };
    const kind = e => {
        const style = getComputedStyle(e), says = e.getAttributeNames().map(
            a => /^(role|style|aria-.*)$/.test(a) ? a + e.getAttribute(a) : a + !e.getAttribute(a));
        return [path(e), ...says, style.color, style.backgroundColor, !!e.textContent.trim()].join();
    };
    const many = '.bd-main :is(tbody > tr, p:not(summary *), li, .cell, div.math)';
    for (const e of document.querySelectorAll(many)) {
        const within = [e, ...e.querySelectorAll('*')], kinds = within.map(kind);
        if (kinds.every(one => seen.has(one)) && e !== e.parentElement.firstElementChild
            && !e.querySelector('h1, h2, h3, h4, h5, h6')) again.push(e);
        within.forEach((one, i) => { if (one.closest(many) === e) seen.add(kinds[i]) });  // rows of a cell follow
    }
    again.push(...[...document.querySelectorAll('.bd-main dl.py')].slice(20));
    again.forEach(e => e.replaceChildren());  // what follows keeps its place
    for (const e of document.querySelectorAll('.bd-main .highlight pre span')) {
        const one = `${e.closest('.highlight').parentElement.className} ${e.className} ${e.getAttribute('style')}`;
        if (seen.has(one)) e.replaceWith(...e.childNodes);
        seen.add(one);
    }
}"""
NO_NAVIGATION = "() => document.querySelectorAll('.bd-sidebar-primary').forEach(e => e.replaceChildren())"
OPEN_ALL = """() => {
    for (const d of document.querySelectorAll('.bd-main details')) d.open = true;
    for (const e of document.querySelectorAll('.toggle-hidden')) e.classList.remove('toggle-hidden');
}"""


def printed(page) -> dict:
    """The page on paper, which is the article alone, by day, with nothing cut off."""
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")
    found = page.evaluate(PRINTED)
    page.emulate_media(media="screen")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'dark'")
    return found


def test_there_are_pages(html):
    assert {"index.html", "ledger.html"} <= {*PAGES}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in VISITED else pytest.mark.exhaustive) for name in PAGES]
)
def test_page(reader, name, request):
    page = reader(name)
    wide = page.viewport_size
    exhaustive = request.config.getoption("exhaustive")
    night = name in KINDS or exhaustive
    bare = "formulas without a copy that is read, or in a colour of their own"
    wrong = page.evaluate(READ) | {f"{bare}, by day": page.evaluate(BARE)}
    page.evaluate(TOGETHER)
    page.set_viewport_size(PHONE)
    wrong |= page.evaluate(NARROW)
    if night:
        page.set_viewport_size(wide)
        by_night(page)
        wrong[f"{bare}, by night"] = page.evaluate(BARE)
    if name in KINDS and name != "search.html":  # its answers are for the screen
        wrong |= printed(page)
    wrong["trouble while it was open"] = list(page.trouble)
    # From here on the page is taken apart.
    if name == "ledger.html" or not exhaustive:
        page.evaluate(ONE_OF_A_KIND)
    if not night:  # it is the same on all pages
        page.evaluate(NO_NAVIGATION)
    page.evaluate(OPEN_ALL)
    page.set_viewport_size(wide)
    if night:
        wrong["by night"] = look_at(page, rules=["color-contrast", "link-in-text-block"])
        page.evaluate("() => { document.documentElement.dataset.theme = 'light' }")
    wrong["by day"] = look_at(page, sheets=name in KINDS)
    assert {check: found for check, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in KINDS else pytest.mark.exhaustive) for name in PAGES]
)
def test_page_loaded_on_a_phone(open_page, name):
    page = open_page(name, **PHONE)
    page.evaluate(TOGETHER)
    wrong = page.evaluate(NARROW)
    wrong["trouble while it was open"] = list(page.trouble)
    page.evaluate(OPEN_ALL)
    page.wait_for_timeout(200)
    wrong["what scrolls and cannot be reached"] = look_at(page, rules=["scrollable-region-focusable", "meta-viewport"])
    assert {check: found for check, found in wrong.items() if found} == {}
