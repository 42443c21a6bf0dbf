"""An open page by night, on paper, and in the eyes of axe-core: people who see little, listen, or have no mouse."""

from pathlib import Path

import axe_playwright_python

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
#: Formulas are drawn glyph by glyph in the colour of the text round them, each with a copy in MathML to be read; visits
#: of pages see to both. They are most elements of a derivation: before axe looks, each becomes one letter.
ONE_LETTER = "() => document.querySelectorAll('mjx-container').forEach(e => { e.textContent = 'x' })"
#: A4 less its margins, in CSS pixels.
PAPER = {"width": 672, "height": 1000}
RUN = """([but, options]) => axe.run({exclude: but.map(one => [one])}, options).then(found =>
    found.violations.map(v => [v.id, v.nodes.length, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))"""


def look_at(page, *, rules=None, sheets=False, but=()):
    """What axe-core finds on a page, whose formulas are gone afterwards: rule, count, examples.

    With ``sheets`` it also loads every style sheet once more and reads it; ``but`` is not looked at.
    """
    page.evaluate(ONE_LETTER)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    options = {"runOnly": only, "preload": sheets, "resultTypes": ["violations"]}
    return page.evaluate(RUN, [["mjx-container", *but], options])


def by_night(page):
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
