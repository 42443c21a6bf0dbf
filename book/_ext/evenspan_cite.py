"""How to cite a page, and its version and commit, at its end."""

import re
from functools import cache
from html import escape, unescape

from pybtex import plugin

from compendium import citation


@cache
def cited() -> tuple[dict, str]:
    """What is cited, and the commit that is checked out."""
    return citation.citation(), citation.state()


def cite(app, page, template, context, doctree):
    """Add BibTeX entries of the page and of the paper that it is about."""
    if doctree is None:
        return
    whole, at = cited()
    state = escape(", ".join(filter(None, [f"evenspan {whole['version']}", at])))
    title, place = unescape(re.sub(r"<[^>]+>", "", context["title"])), f"{page}.html"
    key = "evenspan-" + re.sub(r"[^a-z0-9]+", "-", page.lower()).strip("-")
    entries = [citation.part(whole, key, title, place, at)]
    papers = [paper for paper in whole["references"] if paper["notes"] in re.split(r"[/-]", page)]
    entries += [citation.bibtex(paper, paper["notes"]) for paper in papers]
    listed = "".join(f'<pre class="cite-entry">{escape(entry)}</pre>' for entry in entries)
    context["body"] += (
        '<details class="cite" id="cite-this-page"><summary>Cite this page</summary>'
        f"<p>{escape(title)}. {state}, {place}.</p>{listed}</details>"
        f'<p class="made-of">{state}.</p>'
    )


def setup(app):
    # Styles are looked for in the metadata of all packages: once, and not for every work that is cited.
    plugin._load_entry_point = cache(plugin._load_entry_point)
    app.connect("html-page-context", cite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
