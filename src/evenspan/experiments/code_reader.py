"""The package read as text: what its files define, and what each definition mentions.

Nothing is imported, so that an older state of the package can be read as well as the present one.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..errors import RegistryError

#: Methods that others call: what one verb of scikit-learn calls, and who calls all of them.
IMPLIED = {"fit_transform": ("fit", "transform"), "fit_predict": ("fit", "predict")}
VERBS = ("fit", "transform", "predict", "predict_proba", "decision_function", "score", "get_feature_names_out")
CALLERS = ("Pipeline", "make_pipeline", "GridSearchCV", "cross_val_score", "cross_validate", "ExponentiatedGradient")

#: A definition: its module and its name there; ``Class.method`` for a method.
Place = tuple[str, str]


@dataclass
class Package:
    """The modules of the package as text, each read once."""

    source: Path
    known: dict[str, "Module"] = field(default_factory=dict)

    def exists(self, name: str) -> bool:
        return self._path(name).is_file()

    def module(self, name: str) -> "Module":
        if name not in self.known:
            path = self._path(name)
            if not path.is_file():
                raise RegistryError(f"There is no module {name} in {self.source}, so that its code cannot be read.")
            self.known[name] = Module(name, path.read_text(encoding="utf-8"), path.name == "__init__.py")
        return self.known[name]

    def places(self, module: str, name: str) -> list[Place]:
        """Where a name of a module is defined; all of a module if the name is one; nothing for foreign names."""
        home = self.module(module)
        if name in home.definitions:
            return [(module, name)]
        if name in home.imports:
            return self._imported(*home.imports[name])
        return self._whole(f"{module}.{name}") if self.exists(f"{module}.{name}") else []

    def mentioned(self, place: Place) -> list[Place]:
        """What the code of a definition mentions."""
        home = self.module(place[0])
        nodes = home.parts(place[1])
        local = dict(one for node in nodes for one in home.import_names(node))
        found = []
        for chain in (chain for node in nodes for chain in _chains(node)):
            if chain[0] in local:
                found += self._chain(local[chain[0]], chain[1:])
            elif chain[0] in home.imports:
                found += self._chain(home.imports[chain[0]], chain[1:])
            elif chain[0] in home.definitions:
                found.append((place[0], chain[0]))
        return found

    def _path(self, name: str) -> Path:
        folder = self.source.joinpath(*name.split("."))
        return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")

    def _chain(self, target: tuple[str, str | None], rest: list[str]) -> list[Place]:
        """What ``name.rest`` means if ``name`` is bound to an import."""
        module, name = target
        if name is not None and self._is_module(module, name):
            module, name = f"{module}.{name}", None
        if name is None and rest and module.split(".")[0] == "evenspan" and self.exists(module):
            if self._is_module(module, rest[0]):
                return self._chain((f"{module}.{rest[0]}", None), rest[1:])
            return self.places(module, rest[0]) or self._whole(module)
        return self._imported(module, name)

    def _is_module(self, module: str, name: str) -> bool:
        """Whether a name of a package is one of its modules, and not something that it defines or passes on."""
        if module.split(".")[0] != "evenspan" or not self.exists(f"{module}.{name}"):
            return False
        home = self.module(module)
        return name not in home.definitions and home.imports.get(name, (module, name)) == (module, name)

    def _imported(self, module: str, name: str | None) -> list[Place]:
        if module.split(".")[0] != "evenspan":
            return []
        if name is None or self._is_module(module, name):
            return self._whole(module if name is None else f"{module}.{name}")
        return self.places(module, name)

    def _whole(self, module: str) -> list[Place]:
        return [(module, name) for name in self.module(module).definitions]


class Module:
    """One file: its definitions, its imports, and the statements that only have effects."""

    def __init__(self, name: str, text: str, is_package: bool):
        self.name, self.is_package = name, is_package
        self.text, tree = text, ast.parse(text)
        self.definitions: dict[str, ast.stmt] = {}
        self.effects: dict[str, ast.stmt] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        for statement in tree.body:
            self._read(statement, statement)

    @property
    def bound(self) -> set[str]:
        """Names that the module has."""
        return {*self.definitions, *self.imports}

    def _read(self, statement: ast.stmt, whole: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            self.imports |= dict(self.import_names(statement))
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.definitions[statement.name] = whole
        elif (names := _assigned(statement)) and not names & self.definitions.keys():
            self.definitions |= dict.fromkeys(names, whole)
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For):
            for part in ast.iter_child_nodes(statement):
                inner = part.body if isinstance(part, ast.ExceptHandler) else [part]
                for one in inner:
                    if isinstance(one, ast.stmt):
                        self._read(one, whole)
        elif not _is_text(statement):
            self.effects[f"line {statement.lineno}"] = whole

    def import_names(self, node: ast.AST) -> Iterator[tuple[str, tuple[str, str | None]]]:
        """Names that imports inside of a node bind, with the module and the name in it."""
        for one in ast.walk(node):
            if isinstance(one, ast.Import):
                for alias in one.names:
                    bound = alias.asname or alias.name.split(".")[0]
                    yield bound, (alias.name if alias.asname else bound, None)
            elif isinstance(one, ast.ImportFrom):
                for alias in one.names:
                    yield alias.asname or alias.name, (self._absolute(one), alias.name)

    def _absolute(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - statement.level + self.is_package]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    def node(self, name: str) -> ast.stmt:
        """The statement of a name; ``Class.method`` is a method."""
        if name in self.effects:
            return self.effects[name]
        outer, _, method = name.partition(".")
        whole = self.definitions[outer]
        return next(one for one in whole.body if getattr(one, "name", None) == method) if method else whole

    def methods(self, name: str) -> list[tuple[str, bool]]:
        """Methods of a class, and whether each counts without being called by name."""
        node = self.node(name)
        if not isinstance(node, ast.ClassDef):
            return []
        # A parent from elsewhere may call what begins with an underscore, as SciPy's LinearOperator does.
        foreign = any(not self._ours(chain) for base in node.bases for chain in _chains(base))
        return [
            (one.name, one.name.startswith("__") or (foreign and one.name.startswith("_"))) for one in _functions(node)
        ]

    def parts(self, name: str) -> list[ast.AST]:
        """What of a statement counts with it: of a class everything but its methods."""
        node = self.node(name)
        if not isinstance(node, ast.ClassDef):
            return [node]
        inner = [one for one in node.body if one not in _functions(node)]
        return [*node.decorator_list, *node.bases, *node.keywords, *inner]

    def spoken(self, name: str) -> set[str]:
        """Names by which the code of a definition may call a method: attributes, and texts that could be names."""
        found = set()
        for one in (one for part in self.parts(name) for one in ast.walk(part)):
            if isinstance(one, ast.Attribute):
                found.add(one.attr)
            elif isinstance(one, ast.Name) and one.id in CALLERS:
                found.update(VERBS)
            elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value.isidentifier():
                found.add(one.value)
        return found.union(*(IMPLIED[verb] for verb in found & set(IMPLIED)))

    def code(self, name: str) -> str:
        """The lines of a definition without comments and docstrings; of a class without its methods."""
        node = self.node(name)
        wanted = set(_lines(node))
        for one in _functions(node):
            wanted -= set(_lines(one))
        lines = [self._bare[number] for number in sorted(wanted)]
        return "\n".join(line for line in lines if line)

    def _ours(self, chain: list[str]) -> bool:
        return chain[0] in self.definitions or self.imports.get(chain[0], ("", None))[0].startswith("evenspan")

    @cached_property
    def _bare(self) -> dict[int, str]:
        """The lines by their numbers, without comments, docstrings and what stands behind the last letter."""
        lines = dict(enumerate(self.text.splitlines(), start=1))
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                lines[token.start[0]] = lines[token.start[0]][: token.start[1]]
        for node in ast.walk(ast.parse(self.text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0] if node.body else None
                if first is not None and _is_text(first):
                    lines |= dict.fromkeys(range(first.lineno, first.end_lineno + 1), "")
        return {number: line.rstrip() for number, line in lines.items()}


def _functions(node: ast.stmt) -> list[ast.FunctionDef]:
    """Methods of a class whose names are its own; one defined twice, as a property with a setter is, stays with it."""
    if not isinstance(node, ast.ClassDef):
        return []
    found = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    names = [one.name for one in found]
    return [one for one in found if names.count(one.name) == 1]


def _lines(node: ast.stmt) -> range:
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    return range(first, node.end_lineno + 1)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _assigned(statement: ast.stmt) -> set[str]:
    """Names that an assignment binds; ``table[key] = value`` binds none, it has an effect."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return set()
    flat = [one for target in targets for one in getattr(target, "elts", [target])]
    return {one.id for one in flat if isinstance(one, ast.Name)}


def _chains(node: ast.AST) -> Iterator[list[str]]:
    """Dotted names in a node, ``a.b.c`` as ``[a, b, c]``; annotations are left out, because they compute nothing."""
    if isinstance(node, ast.Attribute):
        names, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield [inner.id, *reversed(names)]
        else:
            yield from _chains(inner)
    elif isinstance(node, ast.Name):
        yield [node.id]
    else:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST):
                    yield from _chains(one)
