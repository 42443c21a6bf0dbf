"""A script for each figure of the book, which draws it alone: the statements of its page that it needs, and no others.

The statements of a page are read backwards from the one that shows the figure. One is kept if it binds a name that is
needed below it, if it may change an object that is needed, or if it is a call for its effect on all that follows, such
as ``style.use()``. What only shows, writes or tests is left out. A name that is bound to a part of an object, or in one
assignment with others from one call, as in ``fig, ax = plt.subplots()``, stands for one object with them.
"""

import ast
import re
import symtable
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import NamedTuple

from docutils.nodes import make_id
from nbformat import NotebookNode

#: Methods that change their object and give a value.
_CHANGES = re.compile(r"(partial_)?fit(_\w+)?|append|extend|update|pop|popleft|setdefault|sort|shuffle")
#: Calls that show, write or test what there is.
_TELLS = re.compile(r"(.*\.)?(print|display|assert_\w+|write\w*|to_\w+)")
#: Functions that make what changes with every use.
_STATEFUL = re.compile(r"(.*\.)?(default_rng|RandomState|iter)")
#: What starts processes, each of which would run the file of the script again.
_STARTS = re.compile(r"\b(clusters|local_cluster|LocalCluster)\(")
_PASS_ON = {"zip", "enumerate", "list", "tuple", "reversed", "sorted"}
_IMPORT = ast.Import | ast.ImportFrom
_OURS = ("compendium", "evenspan")
Names = frozenset[str]


class Meaning(NamedTuple):
    """What a statement does with names, as far as its own text tells."""

    binds: Names
    always: Names  # bound whatever happens
    reads: Names
    later: Names  # read when a function is called that it defines
    changes: Names
    calls: tuple[tuple[str, bool, Names], ...]  # those that are statements: first name, whether a method, arguments
    parts: dict[str, Names]  # names bound to a part of the objects of others
    together: bool  # an assignment of a call: its names stand for one object
    stateful: Names  # names bound to what changes with every use
    carries: bool  # no call: the names that it binds may stand for functions that it reads


class Bound(NamedTuple):
    """What a name stands for at a place of a page."""

    imported: bool
    stateful: bool
    objects: frozenset[tuple[int, str]]  # the statement that made it, and its name there
    later: Names  # read when it is called
    changes: Names  # changed when it is called


class Statement(NamedTuple):
    """A statement of a page, with the comments and blank lines above it."""

    node: ast.stmt
    text: str
    cell: int
    meaning: Meaning
    effect: bool  # on all that follows
    changes: Names
    needs: Names  # what it reads, and the functions that it may call
    scope: dict[str, Bound]  # before it


def scripts(notebook: NotebookNode, page: str) -> dict[str, str]:
    """The scripts of all figures of an executed page, by the ids of the figures."""
    figures = [cell.metadata.get("mystnb", {}).get("figure", {}) for cell in notebook.cells]
    last = max((number for number, figure in enumerate(figures) if "name" in figure), default=-1)
    statements, scope, found = [], {}, {}
    for number, (cell, figure) in enumerate(zip(notebook.cells[: last + 1], figures, strict=False)):
        if cell.cell_type == "code":
            for node, text, shown in _statements(cell):
                statements.append(_placed(node, text, number, _meaning(text, shown), scope))
                scope = scope | _bound(statements[-1], len(statements))
            if name := make_id(figure.get("name", "")):
                found[name] = _script(needed(statements), name, figure.get("caption", ""), page)
    return found


def _statements(cell: NotebookNode) -> Iterator[tuple[ast.stmt, str, bool]]:
    """The statements of a cell, an import for each name; their text; whether the cell shows their value."""
    lines, above, body = cell.source.splitlines(), 0, ast.parse(cell.source).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        shared = node.lineno <= above or (after and after.lineno <= node.end_lineno)  # a line with another statement
        text = ast.unparse(node) if shared else "\n".join(lines[above : node.end_lineno]).rstrip(";")
        above = node.end_lineno
        if isinstance(node, _IMPORT):
            for name in node.names:
                one = ast.Import([name]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [name], 0)
                yield one, ast.unparse(one), False
        else:
            yield node, text, node is body[-1] and bool(cell.get("outputs"))


# ---- what a statement means by itself ----


@cache
def _meaning(text: str, shown: bool) -> Meaning:
    (node,) = ast.parse(text).body
    every = list(ast.walk(node))
    binds, reads = _names(text)
    always, defines = binds, isinstance(node, ast.FunctionDef)
    if isinstance(node, ast.For | ast.While | ast.If | ast.With | ast.Try):
        reads, always = _flow([node], frozenset())
    parts, stateful, changes, calls = {}, set(), set(), []
    for target, value in _bindings(every):
        names = _stores(target)
        parts |= {name: parts.get(name, frozenset()) | _roots(value) for name in names}
        makers = (one.func for one in (value, *getattr(value, "values", ())) if isinstance(one, ast.Call))
        if any(_STATEFUL.fullmatch(ast.unparse(maker)) for maker in makers):
            stateful |= names
    for one in every:
        match one:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                changes |= _roots(one)
            case ast.AugAssign(target=ast.Name(name)):
                changes.add(name)
            case ast.Call(func=ast.Attribute(attr=name)) if _CHANGES.fullmatch(name):
                changes |= _roots(one.func)
            case ast.Expr(ast.Call(func)) if not (shown and one is node) and not _TELLS.fullmatch(ast.unparse(func)):
                given = map(_roots, (*one.value.args, *(word.value for word in one.value.keywords)))
                first = min(_roots(func), default="")
                calls.append((first, isinstance(func, ast.Attribute), frozenset().union(*given)))
    if isinstance(node, ast.AugAssign):
        reads |= changes
    if defines:
        computed = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        at_once = _names(ast.unparse(ast.List(computed)))[1]
    return Meaning(
        binds=binds,
        always=always,
        reads=at_once if defines else reads,
        later=reads if defines else frozenset(),
        changes=frozenset(changes),
        calls=tuple(calls),
        parts=parts,
        together=isinstance(node, ast.Assign) and isinstance(node.value, ast.Call),
        stateful=frozenset(stateful),
        carries=isinstance(node, ast.Assign) and not any(isinstance(one, ast.Call) for one in every),
    )


def _names(source: str) -> tuple[Names, Names]:
    """The names that source code binds, and those that it reads, also in the functions in it."""

    def read(table: symtable.SymbolTable) -> Names:
        own = {one.get_name() for one in table.get_symbols() if one.is_global()}
        return frozenset(own).union(*map(read, table.get_children()))

    whole = symtable.symtable(source, "page", "exec")
    symbols = whole.get_symbols()
    binds = frozenset(one.get_name() for one in symbols if one.is_assigned() or one.is_imported())
    reads = frozenset(one.get_name() for one in symbols if one.is_referenced())
    return binds, reads.union(*map(read, whole.get_children()))


def _flow(body: list[ast.stmt], bound: Names) -> tuple[Names, Names]:
    """What statements read that was bound before them, and what is bound after them whatever happens."""
    found = frozenset()
    for node in body:
        inner = []  # lists of statements in it, with what is bound before them
        match node:
            case ast.For(target, read, body, orelse):
                inner = [(part, bound | _stores(target)) for part in (body, orelse)]
            case ast.If(read, body, orelse) | ast.While(read, body, orelse):
                inner = [(body, bound), (orelse, bound)]
            case ast.With(items, body):
                read = ast.Tuple([item.context_expr for item in items])
                inner = [(body, bound.union(*(_stores(item.optional_vars) for item in items)))]
            case ast.Try(body, handlers, orelse, final):
                read = ast.Tuple([one.type for one in handlers if one.type])
                names = bound | {one.name for one in handlers if one.name}
                inner = [(part, names) for part in (body, *(one.body for one in handlers), orelse, final)]
            case _:
                read = node
        binds, reads = _names(ast.unparse(read))
        found |= reads - bound
        ends = [_flow(*part) for part in inner]
        found = found.union(*(reads for reads, _ in ends))
        if isinstance(node, ast.AugAssign):
            found |= _stores(node.target) - bound
        if isinstance(node, ast.If | ast.With):
            bound = frozenset.intersection(*(after for _, after in ends))
        elif not inner:
            bound |= binds
    return found, bound


def _stores(target: ast.AST | None) -> Names:
    """The names that a target binds."""
    names = [one for one in ast.walk(target) if isinstance(one, ast.Name)] if target else []
    return frozenset(one.id for one in names if isinstance(one.ctx, ast.Store))


def _bindings(every: list[ast.AST]) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Targets and what they, or the elements of which, they are bound to: one by one where the text tells."""
    for one in every:
        match one:
            case ast.Assign(targets, value):
                pairs = [(target, value) for target in targets]
            case ast.For(target, value) | ast.comprehension(target, value) | ast.NamedExpr(target, value):
                pairs = [(target, value)]
            case ast.withitem(value, ast.AST() as target):
                pairs = [(target, value)]
            case _:
                continue
        for target, value in pairs:
            match target, value:
                case ast.Tuple(), ast.Tuple(several) | ast.Call(ast.Name("zip"), several):
                    fits = len(several) == len(target.elts)
                    yield from zip(target.elts, several, strict=True) if fits else [(target, value)]
                case _:
                    yield target, value


def _roots(node: ast.AST | None) -> Names:
    """The names of the objects of which an expression may be a part."""
    match node:
        case ast.Name(name):
            return frozenset([name])
        case ast.Attribute(value) | ast.Subscript(value) | ast.Starred(value) | ast.Call(ast.Attribute(value)):
            return _roots(value)
        case ast.Call(ast.Name(function), several) if function in _PASS_ON:
            pass
        case ast.Tuple(several) | ast.List(several) | ast.BoolOp(_, several) | ast.Dict(_, several):
            pass
        case ast.IfExp(_, one, other):
            several = [one, other]
        case ast.ListComp(one, generators) | ast.DictComp(_, one, generators):
            several = [one, *(each.iter for each in generators)]
        case _:
            several = []
    return frozenset().union(*map(_roots, several))


# ---- what it means at its place ----


def _placed(node: ast.stmt, text: str, cell: int, meaning: Meaning, scope: dict[str, Bound]) -> Statement:
    """A statement among what is bound before it."""
    modules = {name for name, bound in scope.items() if bound.imported}
    effect, changes = False, set(meaning.changes)
    for first, method, given in meaning.calls:
        changes |= given
        if method and first not in modules:
            changes.add(first)
        else:
            effect |= first in modules and not given and isinstance(node, ast.Expr)
    for _ in meaning.parts:  # a part of a part, and so on
        changes = changes.union(*(meaning.parts.get(name, ()) for name in changes))
    needs, left = set(), set(meaning.reads)
    while left:
        name = left.pop()
        needs.add(name)
        left |= scope[name].later - needs if name in scope else set()
    for bound in (scope[name] for name in needs if name in scope):
        changes |= bound.changes
    changes |= {name for name in needs if name in scope and scope[name].stateful}
    return Statement(node, text, cell, meaning, effect, frozenset(changes - modules), frozenset(needs), scope)


def _bound(one: Statement, place: int) -> dict[str, Bound]:
    """What the names stand for that a statement binds."""
    meaning, found = one.meaning, {}
    for name in meaning.binds:
        if isinstance(one.node, _IMPORT):
            found[name] = Bound(True, False, frozenset(), frozenset(), frozenset())
            continue
        of = [one.scope[other] for other in meaning.parts.get(name, ()) if other in one.scope]
        of = [other for other in of if not other.stateful]  # what it makes is no part of it
        carried = [one.scope[other] for other in meaning.reads if meaning.carries and other in one.scope]
        found[name] = Bound(
            imported=False,
            stateful=name in meaning.stateful,
            objects=frozenset([(place, "" if meaning.together else name)]).union(*(other.objects for other in of)),
            later=meaning.later.union(*(other.later for other in carried)),
            changes=(one.changes & meaning.later).union(*(other.changes for other in carried)),
        )
    return found


def needed(page: list[Statement]) -> list[Statement]:
    """The statements that the last one of a page needs, and it, in their order."""
    kept, names = [page[-1]], page[-1].needs

    def objects(names: Names) -> set[tuple[int, str]]:
        return set().union(*(one.scope[name].objects for name in names if name in one.scope))

    for one in page[-2::-1]:
        changes = frozenset() if isinstance(one.node, ast.FunctionDef) else one.changes - one.meaning.binds
        if one.effect or one.meaning.binds & names or objects(changes) & objects(names):
            kept.append(one)
            names = (names - one.meaning.always) | one.needs
    return kept[::-1]


# ---- the script ----


def _script(kept: list[Statement], name: str, caption: str, page: str) -> str:
    """The text of a script: its head, imports, the other statements cell by cell, and what saves the figure."""
    sentence = re.split(r"(?<=[.?!])\s", " ".join(caption.split()))[0]
    head = textwrap.wrap(f"Figure {name} of {page}: {sentence}", 116, break_on_hyphens=False)
    head += ["Run it in the environment of evenspan, whose repository holds the stored results:"]
    lines = [f"# {line}" for line in [*head, f"    python {name}.py [FILE.svg]"]]
    imports = [one.node for one in kept if isinstance(one.node, _IMPORT)]
    *others, last = [one for one in kept if not isinstance(one.node, _IMPORT)]
    shown = last.node.value if isinstance(last.node, ast.Expr) else None
    if isinstance(shown, ast.Name | ast.Attribute | ast.Subscript):
        figure = last.text.strip()
    else:
        others.append(last)
        names = [name.asname or name.name for one in imports for name in one.names if name.name.endswith("pyplot")]
        imports += [] if names else ast.parse("from matplotlib import pyplot").body
        figure = f"{names[0] if names else 'pyplot'}.gcf()"
    lines += ["", *_imports([*imports, *ast.parse("import sys").body])]
    if any(_STARTS.search(one.text) for one in others):
        lines += ["", "del __file__  # or processes that are started below would run it again"]
    before = None
    for one in others:
        defines = any(isinstance(each and each.node, ast.FunctionDef | ast.ClassDef) for each in (before, one))
        text = one.text.lstrip("\n")
        blank = len(one.text) - len(text) if before and before.cell == one.cell else 1
        lines += [""] * (2 if defines else blank) + [text]
        before = one
    lines += [f'\nfile = sys.argv[1] if sys.argv[1:] else "{name}.svg"']
    lines += [f'{figure}.savefig(file, bbox_inches="tight")']
    return "\n".join(lines) + "\n"


def _imports(nodes: list[ast.stmt]) -> Iterator[str]:
    """Imports in their usual order, those from one module together."""
    texts = {}
    for node in nodes:
        module = node.module if isinstance(node, ast.ImportFrom) else ""
        texts.setdefault(module, set()).update(map(ast.unparse, node.names))
    lines = [f"import {name}" for name in texts.pop("")]
    for module, names in texts.items():
        line = f"from {module} import {', '.join(sorted(names))}"
        inner = textwrap.indent(textwrap.fill(", ".join(sorted(names)), 110), "    ")
        lines.append(line if len(line) <= 120 else f"from {module} import (\n{inner},\n)")

    def order(line: str) -> tuple[int, bool, str]:
        module = line.split()[1].partition(".")[0]
        return 2 if module in _OURS else 1 - (module in sys.stdlib_module_names), line.startswith("from"), line

    for number, part in groupby(sorted(lines, key=order), key=lambda line: order(line)[0]):
        yield from [""] * (number > 0) + list(part)
