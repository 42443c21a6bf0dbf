"""The order of the book: its parts, chapters and sections as one list, for whoever puts it on paper."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Entry:
    """One line of the contents: ``page`` is empty for the caption of a part; ``title`` may be that of the contents."""

    level: int
    page: str
    title: str


def entries(toc: Path, html: Path) -> list[Entry]:
    """All lines of the contents in the order of the book, with patterns replaced by the pages that are in the book."""
    read = yaml.safe_load(Path(toc).read_text(encoding="utf-8"))
    found = [Entry(0, read["root"], read.get("title", ""))]
    parts = read["parts"] if "parts" in read else [{"chapters": read.get("chapters", [])}]
    for part in parts:
        if "caption" in part:
            found.append(Entry(0, "", part["caption"]))
        found += _walk(part.get("chapters", []), 1 if "caption" in part else 0, html)
    return found


def _walk(chapters: list[dict[str, Any]], level: int, html: Path) -> Iterator[Entry]:
    for chapter in chapters:
        if "file" in chapter:
            yield Entry(level, chapter["file"].removesuffix(".md").removesuffix(".ipynb"), chapter.get("title", ""))
        for path in sorted(html.glob(f"{chapter['glob']}.html")) if "glob" in chapter else ():
            yield Entry(level, path.relative_to(html).with_suffix("").as_posix(), "")
        yield from _walk(chapter.get("sections", []), level + 1, html)
