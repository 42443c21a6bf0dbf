"""The ``public-names`` directive: everything in a module's ``__all__``, documented from its docstrings.

Used inside ``{eval-rst}``. A name that is added to ``__all__`` appears on the page by itself, and one that cannot be
imported fails the build. ``:skip:`` names those that another section shows.
"""

import importlib
import inspect

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


class PublicNames(SphinxDirective):
    """Document the public names of one module."""

    required_arguments = 1
    option_spec = {"skip": str.split, "only": str.split}  # noqa: RUF012 - docutils wants a plain class attribute

    def run(self):
        module = importlib.import_module(self.arguments[0])
        if not hasattr(module, "__all__"):
            raise self.error(f"public-names: {module.__name__} has no __all__.")
        names = self.options.get("only", module.__all__)
        lines = []
        for name in names:
            if name not in module.__all__:
                raise self.error(f"public-names: {name!r} is not in {module.__name__}.__all__.")
            if name in self.options.get("skip", ()):
                continue
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
            if kind == "class" and issubclass(value, BaseException):
                kind = "exception"
            if kind == "data":  # a constant has no docstring of its own; its type's would be shown
                lines += [f".. py:data:: {module.__name__}.{name}", "", f"   {', '.join(map(str, value))}.", ""]
                continue
            lines.append(f".. auto{kind}:: {module.__name__}.{name}")
            lines += ["   :members:"] * (kind == "class") + ["   :show-inheritance:"] * (kind == "exception") + [""]
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(lines, source=module.__name__), 0, node)
        return node.children


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
