"""The ``gallery`` directive: a thumbnail of every figure of the book with the first sentence of its caption.

A thumbnail is the image of the page itself, drawn smaller, and leads to the figure there. Pages stand in the order of
the contents; of tabs, which show one figure for several data sets, the first one counts.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from evenspan_numbers import chapters
from sphinx.util.docutils import SphinxDirective

#: The end of the first sentence: a full stop before a capital letter.
_SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")


class GalleryPlace(nodes.General, nodes.Element):
    """The place of the thumbnails, until all pages are read."""


class Gallery(SphinxDirective):
    """All figures of the book."""

    def run(self):
        self.env.gallery_pages.add(self.env.docname)
        return [GalleryPlace()]


def _begin(app):
    for name, empty in (("gallery_figures", {}), ("gallery_pages", set())):
        if not hasattr(app.env, name):
            setattr(app.env, name, empty)


def _collect(app, doctree):
    found = []
    for figure in doctree.findall(nodes.figure):
        images, captions = [*figure.findall(nodes.image)], [*figure.findall(nodes.caption)]
        if images and captions and figure["ids"] and not _in_further_tab(figure):
            image = images[0]
            found.append((figure["ids"][0], image["uri"], image.get("alt", ""), captions[0].astext()))
    app.env.gallery_figures[app.env.docname] = found


def _in_further_tab(node: nodes.Node) -> bool:
    while node.parent is not None:
        beside = [one for one in node.parent.children if isinstance(one, nodes.section) and "tab" in one["classes"]]
        if node in beside[1:]:
            return True
        node = node.parent
    return False


def _purge(app, env, page):
    env.gallery_figures.pop(page, None)
    env.gallery_pages.discard(page)


def _merge(app, env, pages, other):
    env.gallery_figures |= {page: other.gallery_figures[page] for page in pages if page in other.gallery_figures}
    env.gallery_pages |= other.gallery_pages


def _in_order(env, page: str) -> Iterator[str]:
    yield page
    for below in env.toctree_includes.get(page, ()):
        yield from _in_order(env, below)


def _fill(app, doctree, page):
    env = app.env
    for place in [*doctree.findall(GalleryPlace)]:
        filled = []
        for chapter in chapters(env):
            shown = [(one, *figure) for one in _in_order(env, chapter) for figure in env.gallery_figures.get(one, ())]
            if shown:
                filled.append(nodes.rubric("", env.titles[chapter].astext()))
                filled.append(nodes.container("", *(_thumbnail(app, page, *one) for one in shown), classes=["gallery"]))
        place.replace_self(filled)


def _thumbnail(app, page, of, name, uri, alt, caption) -> nodes.Node:
    address = f"{app.builder.get_relative_uri(page, of)}#{name}"
    image = nodes.image("", uri=uri, candidates={"*": uri}, alt=alt, loading="lazy")
    words = nodes.inline("", "", nodes.Text(_SENTENCE.split(caption, maxsplit=1)[0]))
    link = nodes.reference("", "", image, words, refuri=address, internal=True)
    return nodes.paragraph("", "", link)


def setup(app):
    app.add_node(GalleryPlace)
    app.add_directive("gallery", Gallery)
    app.connect("builder-inited", _begin)
    app.connect("doctree-read", _collect)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("env-updated", lambda app, env: env.gallery_pages)  # it is written again when any page changed
    app.connect("doctree-resolved", _fill)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
