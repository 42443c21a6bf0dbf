"""A built book: whether it is there, the order of its pages, and whether it is still that of the sources beside it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from evenspan.core.errors import ResultError

from .. import paths
from ..records import digest

#: Where the list of what a book was made from is in it, relative to its first page.
MADE_OF = "_static/made-of.txt"
_HEAD = "# SHA-256 of every file that this book was made from\n"
#: As in the rule 'html' of the Snakefile, with the notebooks.
_SOURCES = ("src/**/*.py", "book/**/*", "data/**/*", "notebooks/**/*.ipynb")
_SOURCES += ("_config.yml", "_toc.yml", "experiments.yml", "CITATION.cff")


class Entry(NamedTuple):
    """A line of the contents: ``page`` is empty for the caption of a part; ``title`` may be that of the contents."""

    level: int
    page: str
    title: str


def there(html: Path | None = None) -> Path:
    """The folder of a built book, by default that of the checkout; an error if there is none."""
    html = Path(html or paths.build("html"))
    if not (html / "index.html").is_file():
        raise ResultError(f"There is no book in {html}: run 'make book' first.")
    return html


def contents(toc: Path, html: Path | None = None) -> list[Entry]:
    """All lines of the contents in their order; a pattern stands for those of its pages that are in the book."""
    read = yaml.safe_load(Path(toc).read_text(encoding="utf-8"))
    found = [Entry(0, read["root"], read.get("title", ""))]
    for part in read.get("parts", [read]):
        if "caption" in part:
            found.append(Entry(0, "", part["caption"]))
        found += _walk(part.get("chapters", []), int("caption" in part), html)
    return found


def _walk(chapters: list[dict[str, Any]], level: int, html: Path | None) -> Iterator[Entry]:
    for chapter in chapters:
        if "file" in chapter:
            yield Entry(level, re.sub(r"\.(md|ipynb)$", "", chapter["file"]), chapter.get("title", ""))
        for path in sorted(html.glob(f"{chapter['glob']}.html")) if html and "glob" in chapter else ():
            yield Entry(level, path.relative_to(html).with_suffix("").as_posix(), "")
        yield from _walk(chapter.get("sections", []), level + 1, html)


def made_of() -> str:
    """The list of the sources as they are now, in the format of ``sha256sum``."""
    return _HEAD + sums(_sources())


def changed(html: Path) -> list[str]:
    """Files that differ from those that the book in a folder was made from, with a word each; none if it is current."""
    listed = Path(html) / MADE_OF
    if not listed.is_file():
        raise ResultError(
            f"The book in {html} does not say what it was made from ({MADE_OF} is missing): run 'make book'."
        )
    then, now = read_sums(listed.read_text(encoding="utf-8")), _sources()
    words = {True: "changed", False: "new"}
    found = [f"{name} ({words[name in then]})" for name in now if then.get(name) != now[name]]
    return sorted(found + [f"{name} (gone)" for name in then.keys() - now.keys()])


def sums(digests: Mapping[str, str]) -> str:
    """Digests by name as a list for ``sha256sum -c``."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))


def read_sums(text: str) -> dict[str, str]:
    """What :func:`sums` wrote."""
    return {name: value for value, name in re.findall(r"^([0-9a-f]{64})  (.+)$", text, flags=re.MULTILINE)}


def _sources() -> dict[str, str]:
    root = paths.root()
    return {
        path.relative_to(root).as_posix(): digest(path.read_bytes())
        for path in {path for pattern in _SOURCES for path in root.glob(pattern)}
        if path.is_file() and not path.name.startswith(".") and "__pycache__" not in path.parts
    }
