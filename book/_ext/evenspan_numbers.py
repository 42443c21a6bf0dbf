"""Number figures and equations by chapter: *Figure 9.4*, *(9.12)*.

A chapter is an entry of the first level of the contents with all pages below it, counted over the parts. Sections and
titles stay without numbers, so that they can move; the contents beside every page count the chapters in the same way
(``addresses.css``).
"""

from sphinx import addnodes
from sphinx.environment.collectors.toctree import TocTreeCollector

_by_section = TocTreeCollector.assign_figure_numbers


def chapters(env) -> list[str]:
    """The first page of each chapter, in their order."""
    root = env.get_doctree(env.config.root_doc)
    return [page for toctree in root.findall(addnodes.toctree) for _, page in toctree["entries"]]


def _by_chapter(collector, env):
    # Sphinx counts within numbered sections, and lends a page the number of the one above it.
    own, env.toc_secnumbers = env.toc_secnumbers, {page: {"": (n,)} for n, page in enumerate(chapters(env), start=1)}
    try:
        return _by_section(collector, env)
    finally:
        env.toc_secnumbers = own


def setup(app):
    TocTreeCollector.assign_figure_numbers = _by_chapter
    return {"parallel_read_safe": True, "parallel_write_safe": True}
