"""The pages of the reference: one for each class of ``evenspan``, one for each other module with public names.

What a page says stands in the docstrings. Added here is where its method is derived, which experiments run it, and
under which names tables give it. A name that becomes public has its page by itself.
"""

import importlib
import inspect
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import nbformat

import evenspan
from evenspan import methods
from evenspan.core.errors import ConfigurationError

from .. import paths
from ..catalogue import catalogue
from ..ledger.table import ledger

FOLDER = "reference/api"
#: The page of all errors and warnings.
ERRORS = "errors"
#: Modules whose ``__all__`` is public, and what else a user meets: bases, warnings, what is handed back.
_MODULES = (
    "evenspan", "evenspan.reconstruction", "evenspan.representation", "evenspan.clustering", "evenspan.metrics",
    "compendium.data", "compendium.protocol",
)  # fmt: skip
_BESIDE = {
    "evenspan.core.estimator": ("SubspaceEstimator", "PointsEstimator", "NotConvergedWarning"),
    "evenspan.core.streams": ("Stream", "OneShotStream", "as_stream"),
    "evenspan.clustering.estimator": ("FairClusterer",),
    "evenspan.saving": ("OtherVersionWarning",),
}
_STEP = re.compile(r"^`{3,}\{beside\} +(.+)$", re.MULTILINE)


class Name(NamedTuple):
    """A public name: under which module it is documented, and what it is."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """As Sphinx calls it."""
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if callable(self.value) else "data"

    @property
    def source(self) -> str:
        """The module that defines it."""
        if self.kind != "data":
            return self.value.__module__
        below = (part for part in sys.modules if part.startswith(f"{self.module}."))
        return next((part for part in below if vars(sys.modules[part]).get(self.name) is self.value), self.module)

    @property
    def summary(self) -> str:
        """The first sentence of the docstring; of a constant its values, as the docstring would be that of its type."""
        if self.kind == "data":
            return f"{', '.join(map(str, self.value))}."
        return (inspect.getdoc(self.value) or "").partition("\n\n")[0].replace("\n", " ")


@cache
def names() -> tuple[Name, ...]:
    """All public names, each once, in the order of the modules and of their lists."""
    listed = {module: importlib.import_module(module).__all__ for module in _MODULES} | _BESIDE
    errors = importlib.import_module("evenspan.core.errors")
    listed[errors.__name__] = [name for name, value in vars(errors).items() if inspect.isclass(value)]
    found: dict[tuple[str, str], Name] = {}
    for module, some in listed.items():
        for name in some:
            one = Name(module, name, getattr(importlib.import_module(module), name))
            if not inspect.ismodule(one.value):
                found.setdefault((one.source, name), one)
    return tuple(found.values())


@cache
def pages() -> dict[str, list[Name]]:
    """The names of every page, that of the page first.

    A class of ``evenspan`` has its own page, on which stands what is public of its module besides; where a module has
    several such classes, or none, the rest of it has a page.
    """
    own = [one for one in names() if one.module == "evenspan" and one.kind == "class"]
    classes: dict[str, list[str]] = {}
    for one in own:
        classes.setdefault(one.source, []).append(one.name)
    found: dict[str, list[Name]] = {one.name: [one] for one in own}
    for one in names():
        beside = classes.get(one.source, [])
        if one.kind == "exception":
            found.setdefault(ERRORS, []).append(one)
        elif one not in own:
            page = beside[0] if len(beside) == 1 else one.source.removeprefix("evenspan.")
            found.setdefault(page, []).append(one)
    return dict(sorted(found.items()))


def overview(parts: Iterable[str]) -> list[tuple[str, list[Name]]]:
    """The pages of some packages or modules, or that of the errors, each with its names."""
    found = [
        (page, some)
        for page, some in pages().items()
        if (page in parts if page == ERRORS else any(f"{some[0].source}.".startswith(f"{part}.") for part in parts))
    ]
    if not found:
        raise ConfigurationError(f"No page of the reference is about {', '.join(parts)}.")
    return found


def markdown(page: str, places: Iterable[str]) -> str:
    """A page of the reference; ``places`` are the pages of the book in their order."""
    some = pages()[page]
    lines = [f"# {'Errors and warnings' if page == ERRORS else page}", ""]
    if page not in (ERRORS, some[0].name):
        lines += [(importlib.import_module(some[0].source).__doc__ or "").partition("\n\n")[0], ""]
    lines.append("```{eval-rst}")
    for one in some:
        if one.kind == "data":
            lines += [f".. py:data:: {one.full}", "", f"   {one.summary}", ""]
            continue
        lines.append(f".. auto{one.kind}:: {one.full}")
        lines += {"class": ["   :members:"], "exception": ["   :show-inheritance:"]}.get(one.kind, [])
        lines += ["   :inherited-members:"] if one.name == "GroupFrame" else []
        lines += ["   :exclude-members: set_output", ""] if one.name == "SubspaceEstimator" else [""]
    lines.append("```\n")
    if used := list(_used(page, list(places))):
        lines += ["## Where it is used", "", *used, ""]
    return "\n".join(lines)


def _used(page: str, places: list[str]) -> Iterator[str]:
    first = pages()[page][0]
    if chapters := [chapter for chapter in derivations(first.source) if chapter in places]:
        yield f"- Derived in {', '.join(f'{{doc}}`/{chapter}`' for chapter in chapters)}."
    runs = [
        f"[{entry.title}](/experiments/{name})"
        for name, entry in catalogue().items()
        if name in experiments_of(page) and f"experiments/{name}" in places
    ]
    if runs:
        yield f"- Run by the experiments {', '.join(runs)}."
    for method in methods_of(page):
        row = methods.KNOWN[method]
        also = dict.fromkeys(name for variant in row.names for name in variant if name != page)
        called = f" Tables and figures also call it {', '.join(f'*{name}*' for name in also)}." if also else ""
        yield f"- *{method}* in the table of methods; what it makes equal: {row.equalises}.{called}"
    if inspect.isclass(first.value):
        bases = [one for base in first.value.__mro__[1:] for one in names() if one.value is base]
        if bases and first.kind == "class":
            yield f"- What it has in common with others, such as `fit`: {{py:class}}`~{bases[0].full}`."


@cache
def derivations(module: str) -> list[str]:
    """The chapters that show code of a module beside its derivation.

    Where none does, the one that shows most of the modules beside it from which it takes something.
    """
    steps = _steps()
    if own := [chapter for chapter, shown in steps.items() if shown[module]]:
        return own
    room = module.rpartition(".")[0]
    taken = {getattr(value, "__module__", "") or "" for value in vars(sys.modules[module]).values()}
    taken = {part for part in taken if part.rpartition(".")[0] == room}
    most = max(steps, key=lambda chapter: sum(steps[chapter][part] for part in taken))
    return [most] if any(steps[most][part] for part in taken) else []


@cache
def _steps() -> dict[str, Counter[str]]:
    """How often each chapter shows which module."""
    book = paths.root() / "book"
    return {
        chapter.relative_to(book).with_suffix("").as_posix(): Counter(
            step.partition(":")[0] for step in " ".join(_STEP.findall(chapter.read_text(encoding="utf-8"))).split()
        )
        for chapter in sorted(book.rglob("*.md"))
    }


def methods_of(page: str) -> list[str]:
    """The methods of the table of methods that a class carries out, with the settings there or with its defaults."""
    value = getattr(evenspan, page, None)
    made = [name for name, row in methods.KNOWN.items() if row.make and type(row.make(2, 0)) is value]
    if made or not hasattr(value, "fit"):
        return made
    try:
        return [methods.of_estimator(value())]
    except ConfigurationError:
        return []


@cache
def experiments_of(page: str) -> set[str]:
    """Experiments whose notebook makes an estimator of a class, or whose numbers in the ledger are of its method."""
    call = re.compile(rf"\b{re.escape(page)}\(")
    found = set().union(*(_judged().get(method, ()) for method in methods_of(page)))
    return found | {name for name, entry in catalogue().items() if call.search(_code(entry.notebook))}


@cache
def _judged() -> dict[str, set[str]]:
    """The experiments whose numbers in the ledger are of a method, by the methods."""
    found = defaultdict(set)
    for row in ledger()[["method", "experiment"]].drop_duplicates().itertuples():
        with suppress(ConfigurationError):  # a row of no method, such as a count
            found[methods.meaning(row.method).method].add(row.experiment)
    return found


@cache
def _code(notebook: str) -> str:
    cells = nbformat.read(paths.root() / notebook, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")
