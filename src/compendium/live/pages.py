"""What a page of the book runs: its cells, and the parameters that a reader may set, with what they cost."""

import io
import tokenize
from collections.abc import Mapping
from pathlib import Path

from compendium import paths
from compendium.book import experiment_page
from compendium.book import pages as book
from compendium.catalogue import PROFILES, Experiment, experiment
from evenspan.core.errors import ConfigurationError


def page(name: str, execution: str = "") -> dict:
    """The notebook of a page with the parameters of an execution, and a field for each of its parameters.

    ``name`` is the page's address without ending, ``execution`` a tab; cells have their number as the tag ``cell-7``.
    """
    folder, _, key = name.partition("/")
    if folder != "experiments":
        source = paths.root() / "book" / f"{name}.md"
        if ".." in Path(name).parts or not source.is_file() or not book.is_executable(source):
            raise ConfigurationError(f"The page {name!r} has no cells to run. Choose a chapter with code, or a result.")
        return {"title": name, "notebook": book.read(source), "parameters": [], "cost": ""}
    entry = experiment(key)
    execution = execution or next(iter(entry.executions))
    values = entry.arguments(execution)
    notebook = book.read(paths.root() / entry.notebook)
    cell = _parameters(notebook)
    meanings = _comments(cell.source)
    cell.source = experiment_page.with_values(cell.source, values)
    fields = [
        {
            "name": name,
            "value": value,
            "choices": PROFILES if name == "profile" else entry.choices.get(name, ()),
            "meaning": meanings.get(name, ""),
        }
        for name, value in values.items()
    ]
    return {
        "title": f"{entry.id}-{execution}",
        "notebook": notebook,
        "parameters": fields,
        "cost": "embedded: computed in a minute or two; of a published setting, what takes longer is read; full: the "
        f"whole protocol on the raw data, {experiment_page.cost(entry)}",
    }


def parameters(name: str, given: Mapping[str, str]) -> str:
    """The cell of the parameters of an experiment's page with values that were given as text, each of them checked."""
    entry: Experiment = experiment(name.removeprefix("experiments/"))
    profile = given.get("profile", PROFILES[0])
    values = entry.arguments(None, profile, {key: value for key, value in given.items() if key != "profile"})
    cell = _parameters(book.read(paths.root() / entry.notebook))
    return experiment_page.with_values(cell.source, values)


def _parameters(notebook):
    return next(cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))


def _comments(source: str) -> dict[str, str]:
    """What a comment at the end of its line says of each parameter."""
    found, name = {}, ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and not token.start[1]:
            name = token.string
        elif token.type == tokenize.COMMENT and token.start[1]:
            found[name] = token.string.lstrip("# ")
    return found
