"""Where things are: the one module that knows the layout of the repository.

The compendium is used from a checkout (an editable install), so that notebooks, results and book stand
beside the code. ``EVENSPAN_ROOT`` overrides the search for the checkout.
"""

import os
from functools import cache
from pathlib import Path

from evenspan.core.errors import ConfigurationError


@cache
def root() -> Path:
    """The checkout: the folder that holds ``experiments.yml``."""
    override = os.environ.get("EVENSPAN_ROOT")
    candidates = [Path(override)] if override else list(Path(__file__).resolve().parents)
    for folder in candidates:
        if (folder / "experiments.yml").is_file():
            return folder
    raise ConfigurationError(
        f"No experiments.yml found in {', '.join(map(str, candidates))}. The library works anywhere, but data, results "
        "and experiments need a checkout of the repository: install it with 'pip install -e .' from there, or set "
        "EVENSPAN_ROOT to it."
    )


def data(*parts: str) -> Path:
    """A path below ``data/``: registry, cards, published tables, moments, results."""
    return root().joinpath("data", *parts)


def results(*parts: str) -> Path:
    """Results of the full runs, which are committed."""
    return data("results", "full", *parts)


def build(*parts: str) -> Path:
    """A path below ``_build/``, or below the folder ``EVENSPAN_BUILD``: whatever can be made again."""
    return Path(os.environ.get("EVENSPAN_BUILD") or root() / "_build").joinpath(*parts)


def given(path: str) -> Path:
    """A file that a reader names: from the folder in which this runs, or from the one where the command was typed."""
    return Path(path) if Path(path).exists() else Path(os.environ.get("PWD", "."), path)
