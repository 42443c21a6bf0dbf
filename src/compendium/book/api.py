"""What the reference says beside docstrings: where a class is derived, and which experiments run its methods.

The pages are those of ``sphinx.ext.autosummary``, for the names that ``book/reference/api.md`` lists.
"""

import inspect
import re
import sys
from contextlib import suppress
from functools import cache

import evenspan
from evenspan import methods
from evenspan.core.errors import ConfigurationError

from .. import looks, paths
from ..catalogue import catalogue
from ..ledger.table import ledger

_STEP = re.compile(r"^`{3,}\{beside\} +(.+)$", re.MULTILINE)


def page(name: str) -> str:
    """The page of a public name of ``evenspan``."""
    return f"reference/api/evenspan.{name}"


def used(name: str) -> str:
    """Where a class is derived and which experiments run it, in reStructuredText; nothing where there is neither."""
    derived = [f":doc:`/{chapter}`" for chapter in derivations(getattr(evenspan, name).__module__)]
    run = [f":doc:`/experiments/{experiment}`" for experiment in experiments_of(name)]
    lines = [f"Derived in {', '.join(derived)}."] * bool(derived) + [f"Run by {', '.join(run)}."] * bool(run)
    return " ".join(lines)


@cache
def derivations(module: str) -> list[str]:
    """The chapters that show code of a module beside its derivation, or the one that shows most of what it imports."""
    steps = _steps()
    if own := [chapter for chapter, shown in steps.items() if module in shown]:
        return own
    room = module.rpartition(".")[0]
    taken = {getattr(value, "__module__", None) or "" for value in vars(sys.modules[module]).values()}
    taken = {part for part in taken if part.rpartition(".")[0] == room}
    most = max(steps, key=lambda chapter: sum(part in taken for part in steps[chapter]))
    return [most] if taken.intersection(steps[most]) else []


@cache
def _steps() -> dict[str, list[str]]:
    """The modules of the steps of each chapter."""
    book = paths.root() / "book"
    return {
        chapter.relative_to(book).with_suffix("").as_posix(): [
            step.partition(":")[0] for step in " ".join(_STEP.findall(chapter.read_text(encoding="utf-8"))).split()
        ]
        for chapter in sorted(book.rglob("*.md"))
    }


@cache
def methods_of() -> dict[str, list[str]]:
    """For every class its methods of the table of methods, with the settings there or with its defaults."""
    found: dict[str, list[str]] = {}
    for method, row in methods.METHODS.items():
        found.setdefault(type(row.make(2, 0)).__name__, []).append(method)
    for name in evenspan.__all__:
        value = getattr(evenspan, name)
        if inspect.isclass(value) and hasattr(value, "fit") and name not in found:
            with suppress(ConfigurationError):  # an encoder, which is no method
                found[name] = [methods.of_estimator(value())]
    return found


def experiments_of(name: str) -> list[str]:
    """Experiments whose notebook makes an estimator of a class, or whose numbers in the ledger are of its methods."""
    of_class, call = set(methods_of().get(name, ())), re.compile(rf"\b{name}\(")
    return [
        experiment
        for experiment, about in catalogue().items()
        if of_class & _judged().get(experiment, set())
        or call.search((paths.root() / about.notebook).read_text(encoding="utf-8"))
    ]


@cache
def _judged() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in ledger()[["method", "experiment"]].drop_duplicates().itertuples():
        with suppress(ConfigurationError):  # a row of no method, such as a count
            found.setdefault(row.experiment, set()).add(looks.meaning(row.method).method)
    return found
