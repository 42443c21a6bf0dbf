"""An open page by night, and in the eyes of axe-core: people who see little, listen, or have no mouse."""

from pathlib import Path

import axe_playwright_python

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
#: Formulas are drawn glyph by glyph in the colour of the text round them, each with a copy in MathML to be read; visits
#: of pages see to both. They are most elements of a derivation: before axe looks, a letter takes the place of each.
ONE_LETTER = "() => document.querySelectorAll('mjx-container').forEach(e => e.replaceWith('x'))"
#: Contrast follows from a few computed values, and takes axe some 5 ms an element: it measures one of a kind. What
#: is laid over the page is a kind of its own. axe has no opinion on the contrast of a single letter.
ONE_COLOUR = """() => {
    const grounds = new Map([[null, '']]), seen = new Set();
    const ground = e => {
        if (!grounds.has(e)) {
            const s = getComputedStyle(e), laid = /absolute|fixed/.test(s.position) ? grounds.size : s.position;
            const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, laid].join();
            grounds.set(e, ground(e.parentElement) + (own === 'rgba(0, 0, 0, 0),none,1,none,static' ? '' : own));
        }
        return grounds.get(e);
    };
    for (const e of document.querySelectorAll('body *')) {
        e.removeAttribute('data-measured');
        const words = [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim().length > 1);
        if (!e.matches('input, select, textarea') && !(words && e.checkVisibility())) continue;
        const s = getComputedStyle(e);
        const kind = [e.tagName, ground(e), s.color, s.fontSize, s.fontWeight, s.textShadow].join();
        if (!seen.has(kind)) e.setAttribute('data-measured', '');
        seen.add(kind);
    }
    axe.configure({rules: [{id: 'color-contrast', selector: '[data-measured]'}]});
}"""
RUN = """options => axe.run(options).then(found =>
    found.violations.map(v => [v.id, v.nodes.length, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))"""


def look_at(page, *, rules=None, sheets=False):
    """What axe-core finds on a page, whose formulas are gone afterwards: rule, count, examples.

    With ``sheets`` it also loads every style sheet once more and reads it.
    """
    page.evaluate(ONE_LETTER)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    if not rules or "color-contrast" in rules:
        page.evaluate(ONE_COLOUR)
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    options = {"runOnly": only, "preload": sheets, "resultTypes": ["violations"]}
    return page.evaluate(RUN, options)


def by_night(page):
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
