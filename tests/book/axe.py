"""An open page by night, on paper, and in the eyes of axe-core: people who see little, listen, or have no mouse."""

from pathlib import Path

import axe_playwright_python

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
#: What axe does not look at, and why. Formulas are drawn glyph by glyph in the colour of the text round them, each with
#: a copy in MathML for screen readers; the visit of a page sees to both. They are most of the elements of a derivation.
#: A header that is a formula and nothing else would count as empty: axe does not read MathML, screen readers do.
LEFT_OUT = ["mjx-container", "th:has(mjx-assistive-mml math)"]
#: A4 less its margins, in CSS pixels.
PAPER = {"width": 672, "height": 1000}
RUN = """([left_out, options]) => axe.run({exclude: left_out.map(one => [one])}, options).then(found =>
    found.violations.map(v => [v.id, v.nodes.length, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))"""


def look_at(page, *, rules=None):
    """What axe-core finds on a page: rule, count, examples."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    only = {"type": "rule", "values": rules} if rules else {"type": "tag", "values": TAGS}
    return page.evaluate(RUN, [LEFT_OUT, {"runOnly": only}])


def by_night(page):
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
