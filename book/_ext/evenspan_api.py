"""The reference: what docstrings do not say is added to them, and autosummary's pages stand in the one contents."""

from sphinx.ext.autosummary import autosummary_toc
from sphinx.transforms import SphinxTransform

import evenspan
from compendium.book import api


class OneContents(SphinxTransform):
    """Drops the contents that autosummary makes beside those of ``_toc.yml``."""

    default_priority = 50

    def apply(self):
        for node in list(self.document.findall(autosummary_toc)):
            node.parent.remove(node)


def _skip(app, what, name, value, skip, options):
    # scikit-learn makes the first from a template whose cross-references lead to its own glossary; the second are
    # fitted attributes, which the docstring of their class lists.
    request = name.startswith("set_") and name.endswith(("_request", "_output"))
    fitted = isinstance(value, property) and name.endswith("_")
    return True if request or fitted else None


def _add(app, what, name, value, options, lines):
    module, _, short = name.rpartition(".")
    if what == "class" and module == "evenspan" and short in evenspan.__all__ and (text := api.used(short)):
        lines += ["", text, ""]


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _add, priority=600)  # after napoleon
    app.add_transform(OneContents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
