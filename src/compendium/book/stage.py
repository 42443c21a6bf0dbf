"""Assemble what the book is made of in ``_build/stage``, so that its addresses are clean.

Pages that somebody wrote are copied from ``book/``; chapters and experiments come executed from ``_build/executed``;
data cards and the ledger are generated; sources and results are copied beside them so that pages can
include and link to them. Files that stay the same are left alone, and what no source gives any more is deleted.
"""

from collections.abc import Iterator
from pathlib import Path

import nbformat

from compendium import data as datasets
from compendium import paths
from compendium.catalogue import catalogue
from evenspan.core.errors import ExecutionError

from ..ledger import page as ledger_page
from ..ledger import table as ledger
from . import experiment_page
from .pages import chapters

CARDS = """# Data cards

One card for each data set: where it comes from, under which licence, who is in it, which groups are compared, what is
known to be wrong with it and what may not be concluded from it.

"""


def stage() -> bool:
    """Assemble the source folder of the book; whether pages came or went."""
    root, target = paths.root(), paths.build("stage")
    generated = target / "reference" / "api"  # by autosummary, from the names in reference/api.md
    old = {path for path in target.rglob("*") if path.is_file() and generated not in path.parents}
    made = dict(_contents(root))
    for name, content in made.items():
        path = target / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    new = {target / name for name in made}
    for path in old - new:
        path.unlink()
    return any(path.suffix in (".md", ".ipynb") for path in old ^ new)


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of the source folder: its name below it, and its content."""
    written = [path for path in sorted((root / "book").rglob("*")) if path.is_file() and "_ext" not in path.parts]
    executed = {f"{name}.md" for name in chapters()}
    for name, source in ((str(path.relative_to(root / "book")), path) for path in written):
        if name not in executed:
            yield name, source.read_bytes()
    for name in chapters():
        notebook = _executed("chapters", f"{name}.ipynb")
        experiment_page.number_cells(notebook)
        yield f"{name}.ipynb", nbformat.writes(notebook).encode()
    for entry in catalogue().values():
        executed = {name: _executed("experiments", entry.id, f"{name}.ipynb") for name in entry.executions}
        yield f"experiments/{entry.id}.ipynb", nbformat.writes(experiment_page.page(entry, executed)).encode()
    yield from _tree(root / "src", "_src", "py")
    yield from _tree(paths.results(), "_static/results/full", "csv", "json")
    yield from _tree(root / "notebooks", "_static/notebooks", "ipynb")
    yield from _tree(paths.build("numbers"), "_static/numbers", "csv")
    yield from _tree(paths.build("examples"), "_static/examples", "html", "csv", "svg", "npz", "json")
    yield from _tree(paths.data("paper"), "_static/paper", "csv")
    for shown in (root / "CITATION.cff", paths.data("tolerances.yml")):
        yield f"_src/{shown.name}", shown.read_bytes()
    yield "_toc.yml", (root / "_toc.yml").read_bytes()
    for name in datasets.names():
        yield f"data/cards/{name}.md", datasets.card(name).encode()
    index = datasets.card_index().replace("](", "](cards/")  # its links are those of a page beside the cards
    yield "data/index.md", f"{CARDS}{index}\n".encode()
    frame = ledger.ledger()
    table = ledger.to_csv(frame)
    yield "ledger.md", ledger_page.page(frame, ledger.counts(frame)).encode()
    yield "_static/ledger.csv", table
    yield "_static/ledger-rows.mjs", ledger_page.rows_script(table.decode()).encode()


def _executed(*parts: str) -> nbformat.NotebookNode:
    source = paths.build("executed", *parts)
    if not source.is_file():
        raise ExecutionError(f"{source} has not been made. Run 'make book'; a failed notebook is under _build/failed/.")
    return nbformat.read(source, as_version=4)


def _tree(folder: Path, target: str, *endings: str) -> Iterator[tuple[str, bytes]]:
    for ending in endings:
        for file in sorted(folder.rglob(f"*.{ending}")):
            yield f"{target}/{file.relative_to(folder)}", file.read_bytes()
