"""Pages name each other: where a title, label, term, number or the order has changed, all of them are written again.

Sphinx writes a page again when its own source changed. The contents beside it, the pages before and behind it, and the
words of its links come from others.
"""

from docutils.nodes import Element
from evenspan_cite import cited
from sphinx.addnodes import toctree


def _names(env) -> list[str]:
    """All that a page may show of others, and how it is cited."""
    tocs = (one for toc in env.tocs.values() for one in toc.findall(toctree))
    places = (one for domain in env.domains.values() for one in domain.get_objects())
    titles: dict[str, Element] = env.titles
    return [*map(str, titles.items()), *map(str, tocs), *map(str, places), str(env.toc_fignumbers), str(cited())]


def _all(app, env):
    names = sorted(_names(env))
    same, env.evenspan_names = getattr(env, "evenspan_names", None) == names, names
    return () if same else env.found_docs


def setup(app):
    app.connect("env-get-updated", _all, priority=900)  # when figures and equations have their numbers
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
