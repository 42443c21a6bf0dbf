"""Assemble what the book is made of in ``_build/stage``, so that its addresses are clean.

Pages that somebody wrote are copied from ``book/``; chapters and experiments come executed from ``_build/executed``;
data cards and the ledger are generated; sources and results are copied beside them so that pages can
include and link to them. The folder is made anew each time: nothing stale can survive in it.
"""

import filecmp
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import yaml

from compendium import data as datasets
from compendium import paths
from compendium.catalogue import catalogue
from evenspan.core.errors import ExecutionError, ResultError

from ..ledger import page as ledger_page
from ..ledger import table as ledger
from . import experiment_page
from .pages import chapters

_PAGE = {".md", ".ipynb"}
#: Files below ``_build/examples`` by the chapter that writes them.
EXAMPLES = {"yours/audit": "audit/report.html"}


class Entry(NamedTuple):
    """A line of the contents: ``page`` is empty for the caption of a part."""

    level: int
    page: str


def contents(toc: Path, html: Path | None = None) -> list[Entry]:
    """All lines of the contents in their order; a pattern stands for those of its pages that are in a built book."""
    read = yaml.safe_load(Path(toc).read_text(encoding="utf-8"))
    found = [Entry(0, read["root"])]
    for part in read.get("parts", [read]):
        if "caption" in part:
            found.append(Entry(0, ""))
        found += _walk(part.get("chapters", []), int("caption" in part), html)
    return found


def _walk(chapters: list[dict[str, Any]], level: int, html: Path | None) -> Iterator[Entry]:
    for chapter in chapters:
        if "file" in chapter:
            yield Entry(level, re.sub(r"\.(md|ipynb)$", "", chapter["file"]))
        for path in sorted(html.glob(f"{chapter['glob']}.html")) if html and "glob" in chapter else ():
            yield Entry(level, path.relative_to(html).with_suffix("").as_posix())
        yield from _walk(chapter.get("sections", []), level + 1, html)


def toc_pages(toc: Path) -> list[str]:
    """Every page that the table of contents names, in its order; patterns are left out."""
    return [line.page for line in contents(toc) if line.page]


def stage() -> bool:
    """Assemble the source folder of the book; files that stay the same are left alone. Whether pages came or went.

    Raises
    ------
    ExecutionError
        A chapter or experiment has not been executed, or the table of contents names a page that does not exist.
    """
    root, target = paths.root(), paths.build("stage.new")
    shutil.rmtree(target, ignore_errors=True)
    _copy_book(root / "book", target)
    for name in chapters():
        notebook = nbformat.read(_executed("chapters", f"{name}.ipynb"), as_version=4)
        experiment_page.number_cells(notebook)
        _write_page(notebook, target / f"{name}.ipynb")
    _copy_experiments(target)
    for package in ("evenspan", "compendium"):
        _copy_tree(root / "src" / package, target / "_src" / package, "*.py")
    for shown in (root / "CITATION.cff", paths.data("tolerances.yml")):
        _copy(shown, target / "_src" / shown.name)
    _copy_tree(paths.results(), target / "_static" / "results" / "full", "*.csv", "*.json")
    _copy_tree(root / "notebooks", target / "_static" / "notebooks", "*.ipynb")
    _copy_tree(paths.build("numbers"), target / "_static" / "numbers", "*.csv")
    _copy_examples(target)
    _copy_tree(paths.data("paper"), target / "_static" / "paper", "*.csv")
    _write_cards(target)
    _write_ledger(target)
    _copy_toc(root / "_toc.yml", target)
    return _settle(target, paths.build("stage"))


def _settle(fresh: Path, target: Path) -> bool:
    """Put a freshly assembled folder in the place of the last one; whether there are other pages than in that one."""
    new, old = (
        {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()} if folder.is_dir() else set()
        for folder in (fresh, target)
    )
    for name in old - new:
        (target / name).unlink()
    for name in new:
        if name not in old or not filecmp.cmp(fresh / name, target / name, shallow=False):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (fresh / name).replace(target / name)
    shutil.rmtree(fresh)
    return any(name.suffix in _PAGE for name in old ^ new)


def _copy_book(book: Path, target: Path) -> None:
    executed = {f"{name}.md" for name in chapters()}
    for source in sorted(p for p in book.rglob("*") if p.is_file()):
        name = source.relative_to(book)
        if name.parts[0] == "_ext" or "__pycache__" in name.parts or name.as_posix() in executed:
            continue
        _copy(source, target / name)


def _copy_experiments(target: Path) -> None:
    for experiment in catalogue().values():
        executed = {
            name: nbformat.read(_executed("experiments", experiment.id, f"{name}.ipynb"), as_version=4)
            for name in experiment.executions
        }
        _write_page(experiment_page.page(experiment, executed), target / "experiments" / f"{experiment.id}.ipynb")


def _write_page(notebook, page: Path) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, page)


def _copy_examples(target: Path) -> None:
    """What a chapter wrote for readers to open, such as a whole report: a page that links to it must find it."""
    for chapter, example in EXAMPLES.items():
        if chapter in chapters() and not paths.build("examples", example).is_file():
            raise ExecutionError(
                f"{paths.build('examples', example)}, which book/{chapter}.md writes, is not there. Delete "
                f"{paths.build('executed', 'chapters', f'{chapter}.ipynb')} and run 'make book'."
            )
    _copy_tree(paths.build("examples"), target / "_static" / "examples", "*.html", "*.csv", "*.svg", "*.npz", "*.json")


def _executed(*parts: str) -> Path:
    source = paths.build("executed", *parts)
    if not source.is_file():
        raise ExecutionError(f"{source} has not been made. Run 'make book'; a failed notebook is under _build/failed/.")
    return source


def _write_cards(target: Path) -> None:
    for name in datasets.names():
        _write(target / "data" / "cards" / f"{name}.md", datasets.card(name))
    index = datasets.card_index().replace("](", "](cards/")  # its links are those of a page beside the cards
    _write(
        target / "data" / "index.md",
        "# Data cards\n\nOne card for each data set: where it comes from, under which licence, who is in it, which "
        f"groups are compared, what is known to be wrong with it and what may not be concluded from it.\n\n{index}\n",
    )


def _write_ledger(target: Path) -> None:
    pages = ledger.pages()
    pages["_static/ledger-rows.mjs"] = ledger_page.rows_script(pages["_static/ledger.csv"])
    for name, text in pages.items():
        _write(target / name, text)


def _copy_toc(toc: Path, target: Path) -> None:
    """The table of contents, where Jupyter Book's own command looks for it; every page that it names must be there."""
    present = {
        p.relative_to(target).with_suffix("").as_posix()
        for p in target.rglob("*")
        if p.suffix in _PAGE and not p.relative_to(target).parts[0].startswith("_")
    }
    if missing := [page for page in toc_pages(toc) if page not in present]:
        raise ExecutionError(
            f"_toc.yml names pages that do not exist: {', '.join(missing)}. Write them or take them out."
        )
    _copy(toc, target / toc.name)


def _copy_tree(source: Path, target: Path, *patterns: str) -> None:
    for pattern in patterns:
        for file in sorted(source.rglob(pattern)):
            _copy(file, target / file.relative_to(source))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _write(target: Path, text: str) -> None:
    if target.exists():
        raise ResultError(f"Two sources make the same page, {target}. Rename one of them.")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
