"""The ``public-names`` directive: a table of the pages of the reference about some packages or modules.

Used inside ``{eval-rst}``. Every name can be addressed in the table, ``reference/api.html#evenspan.FairPCA``, and
``reference.mjs`` leads on from there. The pages themselves are made by ``compendium.book.api``.
"""

import sys

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from compendium.book import api
from evenspan.core.errors import ConfigurationError

_ROLES = {"class": "class", "exception": "exc", "function": "func", "data": "data"}


class PublicNames(SphinxDirective):
    """A row for each page: its link, what its first name is for, and its other names."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        try:
            pages = api.overview(self.arguments[0].split())
        except ConfigurationError as error:
            raise self.error(f"public-names: {error}") from None
        lines = [".. list-table::", "   :class: public-names", ""]
        for page, names in pages:
            first, *more = names
            alone = first.name == page
            for one in names:
                self.env.note_dependency(sys.modules[one.source].__file__)
            lines += [f"   * - :doc:`{page} </{api.FOLDER}/{page}>`", ""]
            said = [first.summary] if alone else []
            if listed := [f":py:{_ROLES[one.kind]}:`~{one.full}`" for one in (more if alone else names)]:
                said.append(", ".join(listed))
            lines += [f"     - {said[0]}", "", *(line for one in said[1:] for line in (f"       {one}", ""))]
        node = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.get_source_info()[0]), 0, node)
        (table,) = node.children
        for row, (_, names) in zip(table.findall(nodes.row), pages, strict=True):
            row[0][0]["ids"] += [one.full for one in names]
        return [table]


def _skip(app, what, name, value, skip, options):
    # scikit-learn makes the first from a template whose cross-references lead to its own glossary; the second are
    # fitted attributes, which the docstring of their class lists.
    request = name.startswith("set_") and name.endswith("_request")
    fitted = isinstance(value, property) and name.endswith("_")
    return True if request or fitted else None


def setup(app):
    app.connect("autodoc-skip-member", _skip)
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
