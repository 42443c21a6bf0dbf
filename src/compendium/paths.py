"""Where things are in the checkout, in which notebooks, results and book stand beside the code."""

import contextlib
import os
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeVar

from evenspan.core.errors import ConfigurationError
from evenspan.core.files import reading

Read = TypeVar("Read")


@cache
def root() -> Path:
    """The checkout: the folder that holds ``experiments.yml``, or ``EVENSPAN_ROOT``."""
    override = os.environ.get("EVENSPAN_ROOT")
    for folder in [Path(override)] if override else Path(__file__).resolve().parents:
        if (folder / "experiments.yml").is_file():
            return folder
    raise ConfigurationError(
        f"There is no experiments.yml in {override or 'any folder above the package'}. The compendium needs a "
        "checkout: install it with 'pip install -e .' from there, or set EVENSPAN_ROOT to it."
    )


def data(*parts: str) -> Path:
    """A path below ``data/``: registry, cards, published tables, moments, results."""
    return root().joinpath("data", *parts)


def read(path: Path, parse: Callable[[bytes], Read], remedy: str = "Correct it, or restore it.") -> Read:
    """What ``parse`` makes of the content of a file of the checkout; one sentence if it is missing or damaged."""
    with reading(path, "as the compendium needs it", remedy) as file:
        return parse(file.read())


_elsewhere: ContextVar[Path | None] = ContextVar("results", default=None)


def results(*parts: str) -> Path:
    """Results of the full runs, which are committed; inside of :func:`results_in` those of its folder."""
    return (_elsewhere.get() or data("results", "full")).joinpath(*parts)


@contextlib.contextmanager
def results_in(folder: Path) -> Iterator[None]:
    """Inside, results are read and written in another folder."""
    before = _elsewhere.set(folder)
    try:
        yield
    finally:
        _elsewhere.reset(before)


def build(*parts: str) -> Path:
    """A path below ``_build/``, or below the folder ``EVENSPAN_BUILD``: whatever can be made again."""
    return Path(os.environ.get("EVENSPAN_BUILD") or root() / "_build").joinpath(*parts)


def resolve_user_path(path: str) -> Path:
    """A file that a reader names: from the folder in which this runs, or from the one where the command was typed."""
    return Path(path) if Path(path).exists() else Path(os.environ.get("PWD", "."), path)
