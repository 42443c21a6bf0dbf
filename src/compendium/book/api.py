"""What the reference says beside docstrings: where a class is derived, and which experiments run its methods.

The pages are those of ``sphinx.ext.autosummary``, for the names that ``book/reference/api.md`` lists.
"""

import inspect
import re
from contextlib import suppress
from functools import cache

import evenspan
from evenspan import methods
from evenspan.core.errors import ConfigurationError

from .. import paths
from ..catalogue import catalogue
from .guide import CHAPTERS, facts


def page(name: str) -> str:
    """The page of a public name of ``evenspan``."""
    return f"reference/api/evenspan.{name}"


def used(name: str) -> str:
    """Where a class is derived, which experiments run it and what its certificate is about, in reStructuredText."""
    derived = [f":doc:`/{chapter}`" for chapter in derivations(name)]
    run = [f":ref:`{experiment}`" for experiment in experiments_of(name)]
    lines = [f"Derived in {', '.join(derived)}."] * bool(derived) + [f"Run by {', '.join(run)}."] * bool(run)
    words = facts().set_index("method")["certificate"]
    said = [f"{words[method]} ({method})" for method in methods_of().get(name, ()) if method in words]
    return " ".join([*lines, *[f":term:`Certificate <certificate>`: {', '.join(said)}."] * bool(said)])


def derivations(name: str) -> list[str]:
    """The chapters that derive the methods of a class."""
    return list(dict.fromkeys(CHAPTERS[method] for method in methods_of().get(name, ()) if method in CHAPTERS))


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


@cache
def _text(notebook: str) -> str:
    return (paths.root() / notebook).read_text(encoding="utf-8")


def experiments_of(name: str) -> list[str]:
    """Experiments whose notebook makes an estimator of a class; that of all methods runs those of their table."""
    call, tabled = re.compile(rf"\b{name}\("), methods.METHODS.keys() & set(methods_of().get(name, ()))
    return [
        experiment
        for experiment, about in catalogue().items()
        if call.search(_text(about.notebook)) or (tabled and experiment == "across-methods")
    ]
