"""The code behind a number: the definitions that a protocol reaches, and one digest of them.

A record is stale once the code that gave its numbers changed. Were whole files compared, every comment would make every
result stale, and nobody would look any more. So the digest is over *definitions*: from ``tasks``, ``run_task`` and
``SEED`` of a protocol to every function, class, method and constant of the package that these mention, directly or
through others. Comments, docstrings and the file in which a definition stands do not count; everything else does.

What is reached is read from names, and errs on the side of too much. A method counts if its class is reached and its
name stands anywhere in reached code, as an attribute or as a text; a module handed around as a value counts whole.
"""

import ast
import contextlib
import hashlib
import io
import os
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from ..errors import RegistryError
from ..paths import build, root

#: Where a protocol's numbers begin.
ENTRIES = ("tasks", "run_task", "SEED")
#: Modules that run, store, fetch and describe, and cannot move a number: files are taken only with their checksums.
OUTSIDE = frozenset(
    f"evenspan.{name}"
    for name in (
        *("errors", "paths", "cli", "report"),
        *(f"experiments.{name}" for name in ("catalogue", "records", "recheck", "schema", "session", "sources")),
        *(f"experiments.{name}" for name in ("store", "tasks", "seals", "verify", "_worker", "claim_rules")),
        *(f"datasets.{name}" for name in ("cards", "fetch", "registry", "storage")),
    )
)

#: Methods that others call: what one verb of scikit-learn calls, and who calls all of them.
IMPLIED = {"fit_transform": ("fit", "transform"), "fit_predict": ("fit", "predict")}
VERBS = ("fit", "transform", "predict", "predict_proba", "decision_function", "score", "get_feature_names_out")
CALLERS = ("Pipeline", "make_pipeline", "GridSearchCV", "cross_val_score", "cross_validate", "ExponentiatedGradient")

Place = tuple[str, str]


def reached(module: str, entries: Iterable[str] = ENTRIES, source: Path | None = None) -> dict[Place, str]:
    """Definitions behind the entries of a module, as ``(module, name)`` -> their code.

    Parameters
    ----------
    module : str
        Full name of a protocol module of the package.
    entries : iterable of str
        Names to start from; those that the module does not have are left out, but one at least must exist.
    source : Path, optional
        Folder that holds the package; by default ``src`` of this checkout.
    """
    package = _Package(source or root() / "src")
    start = package.module(module)
    waiting = [place for name in entries if name in start.bound for place in package.places(module, name)]
    if not waiting:
        raise RegistryError(f"{module} has none of {', '.join(entries)}; a protocol needs tasks() and run_task().")
    found: dict[Place, str] = {}
    called: set[str] = set()  # names by which a method may be called
    asleep: dict[str, list[Place]] = {}  # methods of reached classes that nothing has called yet
    while waiting:
        place = waiting.pop()
        if place in found or _outside(place[0]):
            continue
        home = package.module(place[0])
        found[place] = home.code(place[1])
        waiting += package.mentioned(place)
        waiting += [(place[0], name) for name in home.effects]
        for method, always in home.methods(place[1]):
            if always or method in called:
                waiting.append((place[0], f"{place[1]}.{method}"))
            else:
                asleep.setdefault(method, []).append((place[0], f"{place[1]}.{method}"))
        for name in home.spoken(place[1]) - called:
            called.add(name)
            waiting += asleep.pop(name, [])
    return found


def digest(module: str, source: Path | None = None) -> str:
    """SHA-256 of all code that a protocol of the package reaches, wherever its definitions stand.

    Reading takes a third of a second, so that it is kept in ``_build/cache`` under the digest of the whole package.
    """
    folder = source or root() / "src"
    kept = build("cache", "sources", f"{_state(folder)}-{module}.txt")
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="ascii")
    texts = sorted(set(reached(module, source=folder).values()))
    found = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Under a name of its own first: several processes may ask at once, and none may read the half of it.
    partial = kept.with_suffix(f".{os.getpid()}.part")
    partial.write_text(found, encoding="ascii")
    partial.replace(kept)
    return found


def _state(folder: Path) -> str:
    """Digest of every file of the package with its name."""
    files = sorted((folder / "evenspan").rglob("*.py"))
    stamp = tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    return _digest_of(stamp)


@lru_cache(maxsize=4)
def _digest_of(stamp: tuple) -> str:
    lines = [f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path, *_ in stamp]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def _outside(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in OUTSIDE)


@dataclass
class _Package:
    """The modules of the package as text, each read once."""

    source: Path
    known: dict[str, "_Module"] = field(default_factory=dict)

    def exists(self, name: str) -> bool:
        return self._path(name).is_file()

    def module(self, name: str) -> "_Module":
        if name not in self.known:
            path = self._path(name)
            if not path.is_file():
                raise RegistryError(f"There is no module {name} in {self.source}, so that its code cannot be read.")
            self.known[name] = _Module(name, path.read_text(encoding="utf-8"), path.name == "__init__.py")
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


class _Module:
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
        elif names := _assigned(statement):
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


def _assigned(statement: ast.stmt) -> list[str]:
    """Names that an assignment binds."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    else:
        return []
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


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
