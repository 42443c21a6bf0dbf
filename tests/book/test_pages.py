"""Pages of the built book, each visited once: it is loaded, read, narrowed to a phone, and looked at by axe-core.

Of pages that one template makes (classes, data cards, experiments) some are visited, others with every commit; so are
those at which axe looks, which takes most of the time, beside one page of each kind.

What is wrong with a page is told together, under the names of the checks. By night only colours differ, and they come
from the same style sheets on all pages: contrast is measured again on one page of each kind, and with --exhaustive on
every page.
"""

import pytest

from compendium import paths

from ..conftest import TURN
from .axe import by_night, look_at

pytestmark = pytest.mark.browser

HTML = paths.build("html")
PAGES = sorted(
    p.relative_to(HTML).as_posix() for p in HTML.rglob("*.html") if not p.relative_to(HTML).parts[0].startswith("_")
) or ["index.html"]  # of a book that is not built, one page is skipped
#: Folders of pages that one template makes, of which one in so many is visited.
SAMPLED, ONE_IN = ("reference/api/", "data/cards/", "experiments/"), 6
#: One page of each kind: text, derivation beside code, executed experiment, wide tables, lists, search.
KINDS = """index.html yours/choose.html papers/kleindessner2023/derivation.html
    experiments/kleindessner2023-table.html papers/rathore2025/findings.html reference/api.html
    reference/api/evenspan.FairPCA.html ledger.html
    search.html explorer.html yours/audit.html"""
KINDS = [name for name in KINDS.split() if name in PAGES] or PAGES
VISITED = [
    page
    for place, page in enumerate(PAGES)
    if page in KINDS or not page.startswith(SAMPLED) or (place + TURN) % ONE_IN == 0
]
#: At these axe looks.
LOOKED = {*KINDS, *VISITED[TURN % 3 :: 3]}
PHONE = {"width": 390, "height": 844}

READ = """async () => {
    const images = [...document.images], short = e => e.outerHTML.slice(0, 120);
    images.forEach(i => { i.loading = 'eager' });
    await Promise.all(images.map(i => i.decode().catch(() => null)));
    const all = s => [...document.querySelectorAll(s)];
    const ids = new Set();
    return {
        'ids that are given twice': all('[id]').map(e => e.id).filter(id => ids.has(id) || !ids.add(id)),
        'images that do not load': images.filter(i => !i.naturalWidth).map(short),
        'images without an alternative text': images.filter(i => !(i.alt || '').trim()).map(short),
        'formulas that were not typeset': all('.math').filter(e => !e.querySelector('mjx-container')).map(short),
        'formulas with an error': all('mjx-merror, [data-mjx-error]').map(e => e.textContent),
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
    return {
        'pixels wider than a phone': Math.max(document.scrollingElement.scrollWidth - window.innerWidth - 1, 0),
        'what a phone cuts off': all('.bd-article :not(mjx-container *)').filter(apart).slice(0, 5).map(short),
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
#: Boxes are looked at again when they have another size, which is known once the page is drawn.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100))))"
NO_NAVIGATION = "() => document.querySelectorAll('.bd-sidebar-primary').forEach(e => e.replaceChildren())"
OPEN_ALL = """() => {
    for (const d of document.querySelectorAll('.bd-main details')) d.open = true;
    for (const e of document.querySelectorAll('.toggle-hidden')) e.classList.remove('toggle-hidden');
}"""


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
    wrong["trouble while it was open"] = list(page.trouble)
    if night or name in LOOKED:  # from here on the page is taken apart
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
        page.set_viewport_size(PHONE)
        page.evaluate(DRAWN)
        reached = ["scrollable-region-focusable", "meta-viewport"]
        wrong["what scrolls and cannot be reached"] = look_at(page, rules=reached)
    assert {check: found for check, found in wrong.items() if found} == {}
