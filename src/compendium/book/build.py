"""The pages of the book: assembled in ``_build/stage``, and written by Sphinx as Jupyter Book sets it up.

Pages that somebody wrote are copied from ``book/``; chapters and experiments come executed from ``_build/executed``;
data cards and the ledger are generated; sources and results are copied beside them so that pages can link to them.
Jupyter Book's own command writes with one process. After a build that had a warning or was ended all is made anew.
"""

import argparse
import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from jupyter_book.sphinx import build_sphinx

from compendium import data as datasets
from compendium import paths, records, workers
from compendium.catalogue import catalogue
from compendium.ledger import page as ledger_page
from compendium.ledger import score, state
from compendium.ledger import table as ledger
from evenspan.core.errors import ExecutionError, FairError

from . import experiment_page
from .pages import chapters

#: The folder of the sources with what decides how all pages are read and written.
SETTINGS = "_settings"
CARDS = """# Data cards

One card for each data set: where it comes from, under which licence, who is in it, which groups are compared, what is
known to be wrong with it and what may not be concluded from it.

"""


def build(jobs: int) -> bool:
    """Write the book into ``_build/html``; whether it is without warnings."""
    root, html, doctrees = paths.root(), paths.build("html"), paths.build(".doctrees")
    finished = doctrees / "finished"
    whole = finished.is_file()
    finished.unlink(missing_ok=True)
    if stage() or not whole:
        shutil.rmtree(doctrees, ignore_errors=True)
        shutil.rmtree(html, ignore_errors=True)
    failed = build_sphinx(
        paths.build("stage"),
        html,
        noconfig=True,
        path_config=root / "_config.yml",
        confoverrides={"external_toc_path": str(root / "_toc.yml"), "latex_individualpages": False, "nitpicky": True},
        doctreedir=doctrees,
        warningiserror=True,
        keep_going=True,
        quiet=True,
        jobs=jobs,
    )
    if not failed:
        finished.touch()
    return not failed


def stage() -> bool:
    """Assemble the source folder of the book; whether every page changes: pages came or went, or settings changed."""
    root, target = paths.root(), paths.build("stage")
    generated = target / "reference" / "api"  # by autosummary, from the names in reference/api.md
    old = {path for path in target.rglob("*") if path.is_file() and generated not in path.parents}
    made = {target / name: content for name, content in _contents(root)}
    changed = [path for path, content in made.items() if path not in old or path.read_bytes() != content]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made[path])
    for path in old - made.keys():
        path.unlink()
    pages = any(path.suffix in (".md", ".ipynb") for path in old ^ made.keys())
    return pages or any(path.parent.name == SETTINGS for path in changed)


def _contents(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of the source folder: its name below it, and its content."""
    written = [path for path in sorted((root / "book").rglob("*")) if path.is_file() and "_ext" not in path.parts]
    executed = {f"{name}.md" for name in chapters()}
    for name, source in ((str(path.relative_to(root / "book")), path) for path in written):
        if name not in executed:
            yield name, source.read_bytes()
    pages = {name: _executed("chapters", f"{name}.ipynb") for name in chapters()}
    for notebook in pages.values():
        experiment_page.number_cells(notebook)
    for entry in catalogue().values():
        executed = {name: _executed("experiments", entry.id, f"{name}.ipynb") for name in entry.executions}
        made = experiment_page.page(entry, executed)
        if entry.stands_on:
            pages[entry.page].cells += made.cells
        else:
            pages[entry.page] = made
    for name, notebook in pages.items():
        yield f"{name}.ipynb", nbformat.writes(notebook).encode()
    yield from _tree(root / "src", "_src", "py")
    yield from _tree(paths.results(), "_static/results/full", "csv", "json")
    yield from _tree(root / "notebooks", "_static/notebooks", "ipynb")
    yield from _tree(paths.build("numbers"), "_static/numbers", "csv")
    yield from _tree(paths.build("examples"), "_static/examples", "html", "csv", "svg", "npz", "json")
    yield from _tree(paths.data("paper"), "_static/paper", "csv")
    for shown in (root / "CITATION.cff", paths.data("tolerances.yml")):
        yield f"_src/{shown.name}", shown.read_bytes()
    for decides in (root / "_config.yml", root / "requirements.lock", *(root / "book" / "_ext").glob("*.py")):
        yield f"{SETTINGS}/{decides.name}", decides.read_bytes()
    yield "_toc.yml", (root / "_toc.yml").read_bytes()
    for name in datasets.names():
        yield f"data/cards/{name}.md", datasets.card(name).encode()
    index = datasets.card_index().replace("](", "](cards/")  # its links are those of a page beside the cards
    yield "data/index.md", f"{CARDS}{index}\n".encode()
    frame = ledger.ledger()
    table = ledger.to_csv(frame)
    yield "ledger.md", ledger_page.page(frame, ledger.counts(frame)).encode()
    yield "_static/ledger.csv", table
    yield "_static/tasks.csv", score.tasks().to_csv(index=False, lineterminator="\n").encode()
    yield "_static/ledger-rows.mjs", ledger_page.rows_script(table.decode()).encode()


def _executed(*parts: str) -> nbformat.NotebookNode:
    source = paths.build("executed", *parts)
    if not source.is_file():
        raise ExecutionError(f"{source} has not been made. Run 'make book'.")
    return nbformat.read(source, as_version=4)


def _tree(folder: Path, target: str, *endings: str) -> Iterator[tuple[str, bytes]]:
    for ending in endings:
        for file in sorted(folder.rglob(f"*.{ending}")):
            yield f"{target}/{file.relative_to(folder)}", file.read_bytes()


def main() -> int:
    """Entry point of ``python -m compendium.book.build --jobs N``."""
    parser = argparse.ArgumentParser(prog="python -m compendium.book.build", description=main.__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    jobs = parser.parse_args().jobs
    workers.end_at_interrupt()
    os.environ[records.ONCE] = str(paths.build("once"))
    gc.set_threshold(100_000, 50, 100)  # trees of nodes, read and dropped whole: a fifth of the time went into looking
    try:
        with workers.exclusive_lock("make book"):
            if not build(jobs):
                return 1
    except FairError as error:
        print(error, file=sys.stderr)
        return 1
    print(state.sentence(ledger.counts(ledger.ledger())))
    print(f"The book: {paths.build('html', 'index.html')}   (with search summaries: make serve)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
