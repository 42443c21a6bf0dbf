"""The contents beside every page, made once: pages differ in the addresses of its links and in what is current.

Sphinx resolves the whole tree of contents anew for each page, which takes a quarter of the time of writing it.
"""

import re
from functools import cache

from sphinx.util.osutil import relative_uri

_TAG = re.compile(r"(<[^>]+>)")
_HREF = re.compile(r'(?<=href=")[^"]*')
#: How Sphinx marks the link of the page that is open, and the lists and items around it.
_LINK = '<a class="current reference internal" href="#">'
_CURRENT = {"<ul>": '<ul class="current">'}


@cache
def _whole(builder, **given) -> tuple[list[str], dict[str, list[int]]]:
    """Tags and texts of the contents as seen from a page at the top, and of each link the place and those around it."""
    pieces, around, opened = _TAG.split(builder._get_local_toctree("search", **given)), {}, []
    for place, piece in enumerate(pieces):
        if piece.startswith(("<ul", "<li")):
            opened.append(place)
        elif piece.startswith(("</ul", "</li")):
            opened.pop()
        elif piece.startswith("<a "):
            around[_HREF.search(piece)[0]] = [place, *opened]
    return pieces, around


def _once(builder, page: str, given) -> str:
    pieces, around = _whole(builder, **given)
    here = builder.get_target_uri(page)
    link, *current = around.get(here, [None])
    made = list(pieces)
    for to, (place, *_) in around.items():
        made[place] = _LINK if place == link else _HREF.sub(relative_uri(here, to), made[place])
    for place in current:
        made[place] = _CURRENT.get(made[place]) or made[place].replace('">', ' current">')
    return "".join(made)


def _give(app, page, template, context, doctree):
    context["toctree"] = lambda **given: _once(app.builder, page, given)


def setup(app):
    app.connect("html-page-context", _give, priority=400)  # before the theme asks for it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
