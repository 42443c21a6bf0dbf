"""What people need who use the keyboard, are spared motion, or print; and that axe-core finds what is planted.

The visit of every page with axe-core is in ``test_pages.py``.
"""

import pytest

from ..sight import contrast, hexadecimal
from .axe import by_night, look_at

pytestmark = pytest.mark.browser


def test_planted_violations_are_found(reader):
    """Control: an image without words, pale text, a button without a name, a table header without text."""
    page = reader("index.html")
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


@pytest.mark.parametrize(("name", "mode"), [("cite.html", "light"), ("reproduce.html", "dark")])
def test_the_keyboard_reaches_everything_and_shows_where_it_is(reader, name, mode):
    page = reader(name)
    if mode == "dark":
        by_night(page)
    found = walk(page)
    assert {"navigation", "bar", "article"} <= {one["of"] for one in found}
    assert len(found) < 400, "the key never comes round: there is a trap"
    ground = hexadecimal(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
    without = [one for one in found if one["seen"] and (one["ring"] in ("none", "auto") or one["width"] < 2)]
    assert without == []
    assert all(contrast(hexadecimal(one["colour"]), ground) >= 3.0 for one in found if one["seen"])
    links = page.evaluate(  # what is folded is reached once it is unfolded
        "() => [...document.querySelectorAll('.bd-article a[href]:not(.headerlink, details:not([open]) *)')]"
        ".map(e => e.getAttribute('href'))"
    )
    assert set(links) <= {one["href"] for one in found}
