"""Mend in the pages as they are written what the theme leaves out for people who listen to a page or use the keyboard.

- Buttons that unfold the navigation have no name: they get one from the link they stand beside.
- The name of the book and the search stand outside all landmarks: they become the banner of the page.
- The button above folded code is read as "Toggle hidden content" whatever it says: it is read as it is written.
- An empty corner of a table is no header of a column.
- A work in the list of references has a role that is no longer in use: it is an item of its list.
- Tables in boxes that scroll are landmarks: those with the same name on one page are numbered.

Every mending looks for the theme's own text. If the first page has none, the theme has changed and the build says so.
"""

import html
import re
from collections import Counter
from pathlib import Path

from sphinx.errors import ExtensionError

_UNFOLD = re.compile(
    r'(<a class="(?:current )?reference internal"[^>]*>(?P<title>(?:(?!</a>).)*)</a><details[^>]*>)<summary>', re.DOTALL
)
_START = '<div class="sidebar-primary-items__start sidebar-primary__section">'
_BANNER = '<div class="sidebar-primary-items__start sidebar-primary__section" role="banner">'
_FOLDED = '<summary aria-label="Toggle hidden content">'
_ENTRY = ' role="doc-biblioentry"'
_CORNER = re.compile(r'<th(?: (?!class)[a-z]+="[^"]*")*( class="[^"]*")?[^>]*>(?:\s|<p>\s*</p>|&nbsp;)*</th>')
_REGION = re.compile(r'(role="region" aria-label=")([^"]*)"')
_TAG = re.compile(r"<[^>]+>")


def mend(page: str) -> str:
    """A page with names, landmarks and headers put right; once done, doing it again changes nothing."""
    page = _UNFOLD.sub(_named, page)
    page = page.replace(_START, _BANNER).replace(_FOLDED, "<summary>").replace(_ENTRY, ' role="listitem"')
    page = _CORNER.sub(r"<td\1></td>", page)
    seen = Counter()

    def numbered(found: re.Match) -> str:
        seen[found[2]] += 1
        return found[0] if seen[found[2]] == 1 else f'{found[1]}{found[2]}, number {seen[found[2]]}"'

    return _REGION.sub(numbered, page)


def _named(found: re.Match) -> str:
    title = html.escape(html.unescape(_TAG.sub("", found["title"])).strip())
    return f'{found[1]}<summary aria-label="Pages below: {title}">'


def _mend_each(app):
    if app.builder.format == "html":
        render = app.builder.templates.render
        app.builder.templates.render = lambda template, context: mend(render(template, context))


def _check(app, error):
    if error is not None or app.builder.format != "html":
        return
    if _BANNER not in Path(app.builder.get_outfilename(app.config.root_doc)).read_text(encoding="utf-8"):
        raise ExtensionError("The start of the sidebar was not found: the theme has changed (evenspan_access.py).")


def setup(app):
    app.connect("builder-inited", _mend_each)
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
