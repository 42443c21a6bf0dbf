"""The ``beside`` directive: a step of a derivation, and beside it the source that carries it out.

    ````{beside} evenspan.representation.fair_pca:fair_basis
    The constraint is one equation,

    $$
    c^\\top U = 0 .
    $$ (eq-one)
    ````

On wide screens the text stands left and the code right; on narrow ones they follow each other. The code is read from
the staged copy of ``src``, so it cannot drift; a name that does not exist fails the strict build. Several names may be
given, also of classes and methods (``module:Class.method``). Docstrings are left out, because the text beside says the
same; ``:docstring: show`` keeps them.

Two columns take the place of the list of sections that the theme has on the right. Every page without that list has its
sections below the title instead, if there are several.
"""

import ast
import textwrap
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.environment.adapters.toctree import TocTree
from sphinx.util.docutils import SphinxDirective

#: What the theme calls its list of sections on the right, where a page has it taken away.
_NO_LIST = "html_theme.sidebar_secondary.remove"
#: Sections from which on a page lists them.
_SEVERAL = 4
_DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _find(tree: ast.Module, name: str):
    node = tree
    for part in name.split("."):
        node = next((n for n in node.body if isinstance(n, _DEFINITION) and n.name == part), None) or next(
            (
                n
                for n in node.body
                if (isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == part for t in n.targets))
                or (isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.target.id == part)
            ),
            None,
        )
        if node is None:
            return None
    return node


def _excerpt(text: str, name: str, docstring: bool) -> tuple[str, int, int]:
    """Source of one object, with the numbers of its first and last line."""
    node = _find(ast.parse(text), name)
    if node is None:
        raise LookupError(name)
    lines = text.splitlines()
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    hidden: set[int] = set()
    if not docstring:
        for part in ast.walk(node):
            if isinstance(part, _DEFINITION) and ast.get_docstring(part) is not None and len(part.body) > 1:
                hidden |= set(range(part.body[0].lineno, part.body[0].end_lineno + 1))
                blank = part.body[0].end_lineno + 1
                if not lines[blank - 1].strip():
                    hidden.add(blank)
    kept = [lines[number - 1] for number in range(first, node.end_lineno + 1) if number not in hidden]
    return textwrap.dedent("\n".join(kept)), first, node.end_lineno


class Beside(SphinxDirective):
    """Text on the left, live source on the right."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {  # noqa: RUF012 - docutils wants a plain class attribute
        "docstring": lambda value: directives.choice(value, ("show", "hide")),
        "name": directives.unchanged,
    }

    def run(self):
        self.assert_has_content()
        text = nodes.container("", classes=["beside-text"])
        self.state.nested_parse(self.content, self.content_offset, text)
        code = nodes.container("", classes=["beside-code"])
        for name in self.arguments[0].replace(",", " ").split():
            code += self._listing(name)
        block = nodes.container("", text, code, classes=["beside"])
        self.set_source_info(block)
        self.add_name(block)
        # Two columns need the room that the list of sections on the right would take.
        self.env.metadata[self.env.docname][_NO_LIST] = True
        return [block]

    def _listing(self, name: str) -> nodes.Node:
        module, colon, attribute = name.partition(":")
        if not colon:
            raise self.error(f"beside: {name!r} is not of the form package.module:object.")
        relative = Path(*module.split("."))
        for candidate in (relative.with_suffix(".py"), relative / "__init__.py"):
            source = Path(self.env.srcdir, "_src", candidate)
            if source.is_file():
                break
        else:
            raise self.error(f"beside: there is no module {module!r} below src/.")
        self.env.note_dependency(str(source))
        show = self.options.get("docstring") == "show"
        try:
            excerpt, first, last = _excerpt(source.read_text(encoding="utf-8"), attribute, show)
        except LookupError:
            raise self.error(f"beside: {module} defines no {attribute!r}.") from None
        listing = nodes.literal_block(excerpt, excerpt, language="python", classes=["beside-listing"])
        listing["highlight_args"] = {"linenostart": first}
        self.set_source_info(listing)
        place = f"src/{source.relative_to(Path(self.env.srcdir, '_src')).as_posix()}, lines {first} to {last}"
        caption = nodes.paragraph("", "", nodes.literal("", attribute), nodes.inline("", place, classes=["place"]))
        caption["classes"].append("beside-caption")
        return nodes.container("", caption, listing, classes=["beside-source"])


def _list_sections(app, page, template, context, doctree):
    """The sections of a page below its title, where the theme does not list them."""
    if doctree is None or _NO_LIST not in app.env.metadata.get(page, {}):
        return
    title = TocTree(app.env).get_toc_for(page, app.builder)[0]
    sections = [item for below in title[1:] for item in below if isinstance(item, nodes.list_item)]
    if len(sections) < _SEVERAL:
        return
    listed = nodes.bullet_list("", *(nodes.list_item("", item[0].deepcopy()) for item in sections))
    shown = app.builder.render_partial(listed)["fragment"]
    shown = f'<nav class="on-this-page" aria-label="On this page"><p>On this page</p>{shown}</nav>'
    context["body"] = context["body"].replace("</h1>", f"</h1>\n{shown}", 1)


def setup(app):
    app.add_directive("beside", Beside)
    app.connect("html-page-context", _list_sections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
