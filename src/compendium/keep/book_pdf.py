"""The book as one PDF: every page printed by Chromium, then joined with an outline, page numbers and inner links.

A printed page is kept below ``_build/pdf/pages`` under a digest of all that it shows, so that an interrupted run goes
on where it ended and a second one prints only what has changed.
"""

import importlib.metadata
import re
import urllib.parse
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenspan.core.errors import ConfigurationError, ExecutionError, ResultError

from .. import paths, records
from ..book.browser import chromium, program, served
from ..book.progress import bar
from . import book_join, ingredients, page_style
from .book_order import Entry, entries

# Change it when a page would be printed in another way from the same files.
_WAY = "A4 2"
_PAPER = {
    "format": "A4",
    "print_background": True,
    "scale": 0.8,
    "margin": {"top": "16mm", "bottom": "18mm", "left": "16mm", "right": "16mm"},
}
# The paper between its margins in pixels of the page, so that what is too wide for it can be measured before.
_WIDTH = round((210 - 2 * 16) / 25.4 * 96 / _PAPER["scale"])


@dataclass(frozen=True)
class Printed:
    """A written PDF: where it is, its leaves and size, and how many pages of the book were printed or kept."""

    path: Path
    leaves: int
    bytes: int
    printed: int
    kept: int


def target() -> Path:
    """Where the PDF of the whole book is."""
    return paths.build("pdf", f"evenspan-{importlib.metadata.version('evenspan')}.pdf")


def current(html: Path) -> Path | None:
    """The PDF of the whole book if there is one; one of another book is an error."""
    if not target().is_file():
        return None
    if book_join.digest_in(target()) != _digest_of(html):
        raise ResultError(
            f"{target()} is not of the book in {html}. Run 'python -m compendium pdf' again, or delete it."
        )
    return target()


def write(html: Path | None = None, output: Path | None = None, only: Collection[str] = ()) -> Printed:
    """Print the built book.

    Parameters
    ----------
    html : Path, optional
        The built book; that of the checkout by default.
    output : Path, optional
        Name of the PDF; below ``_build/pdf`` by default.
    only : collection of str
        Pages to print, as in ``_toc.yml``; all by default.

    Returns
    -------
    Printed
        What was written.

    Raises
    ------
    ResultError
        There is no book.
    ConfigurationError
        There is no Chromium, or no page of that name.
    ExecutionError
        A page cannot be shown as it should, for instance because a formula failed.
    """
    html = Path(html or paths.build("html"))
    if not (html / "index.html").is_file():
        raise ResultError(f"There is no book in {html}: run 'make book' first.")
    program()
    contents = entries(paths.root() / "_toc.yml", html)
    pages = list(dict.fromkeys(entry.page for entry in contents if entry.page))
    if unknown := sorted(set(only) - set(pages)):
        raise ConfigurationError(f"The book has no page {', '.join(unknown)}; _toc.yml names them.")
    pages = [page for page in pages if page in set(only or pages)]
    if missing := [page for page in pages if not (html / f"{page}.html").is_file()]:
        raise ResultError(f"The book in {html} lacks {', '.join(missing)}: run 'make book' again.")
    path = Path(output) if output else target() if not only else paths.build("pdf", "part.pdf")
    printed, addresses, anew = _print(html, pages)
    shown = [entry for entry in contents if not entry.page or entry.page in addresses]
    sheets = [book_join.Sheet(one, printed[one.page] if one.page else None, _title(html, one)) for one in shown]
    records.write(path, book_join.join(printed[""], sheets, _about(html)))
    return Printed(path, book_join.leaves(path), path.stat().st_size, anew, len(pages) - anew)


def _print(html: Path, pages: list[str]) -> tuple[dict[str, Path], set[str], int]:
    folder = paths.build("pdf", "pages")
    folder.mkdir(parents=True, exist_ok=True)
    shared = records.digest(
        b"".join((_WAY + page_style.STYLE + page_style.READY).encode() + one.read_bytes() for one in _styles(html))
    )
    wanted = {page: folder / f"{_key(html, page, shared)}.pdf" for page in pages}
    title = _title_page()
    wanted[""] = folder / f"{records.digest(title.encode())[:32]}.pdf"
    todo = [page for page in wanted if not wanted[page].is_file()]
    if todo:
        with chromium() as browser, served(html) as address, bar("pdf", len(todo)) as advance:
            for page in todo:
                records.write(wanted[page], _leaves(browser, address, page, title))
                advance()
    return wanted, set(pages), sum(bool(page) for page in todo)


def _leaves(browser: Any, address: str, page: str, title: str) -> bytes:
    """One page of the book as PDF; the empty name is the title page."""
    context = browser.new_context(viewport={"width": _WIDTH, "height": 1300}, reduced_motion="reduce")
    try:
        context.set_default_timeout(300_000)  # the ledger has more than a thousand rows
        view = context.new_page()
        view.emulate_media(media="print", color_scheme="light")
        if not page:
            view.set_content(title)
            return view.pdf(**_PAPER)
        view.goto(f"{address}{page}.html")
        view.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
        view.add_style_tag(content=page_style.STYLE)
        view.evaluate(page_style.READY)
        if broken := view.locator("mjx-merror").count():
            raise ExecutionError(f"{broken} formulas of the page {page} cannot be shown; build the book again.")
        return view.pdf(**_PAPER)
    finally:
        context.close()


def _styles(html: Path) -> list[Path]:
    return sorted((html / "_static").rglob("*.css"))


def _key(html: Path, page: str, shared: str) -> str:
    """A digest of what a printed page depends on: its text, its pictures, and the styles of the book."""
    text = (html / f"{page}.html").read_bytes()
    seen = [text]
    for name in sorted(set(re.findall(rb"""<(?:img|source)[^>]+?src=["']([^"'#?]+)""", text))):
        picture = (html / page).parent / urllib.parse.unquote(name.decode())
        if picture.is_file():
            seen.append(picture.read_bytes())
    return records.digest(shared.encode() + b"".join(records.digest(one).encode() for one in seen))[:32]


def _title(html: Path, entry: Entry) -> str:
    if entry.title or not entry.page:
        return entry.title
    import html as entities

    text = (html / f"{entry.page}.html").read_text(encoding="utf-8")
    found = re.search(r"<title>(.*?)</title>", text, flags=re.DOTALL)
    return entities.unescape(found[1]).partition(" — ")[0].strip() if found else entry.page


def _digest_of(html: Path) -> str:
    listed = html / ingredients.NAME
    return records.digest((listed if listed.is_file() else html / "index.html").read_bytes())


def _about(html: Path) -> dict[str, str]:
    from .citation import citation

    cited = citation()
    return {
        "/Title": str(cited["title"]),
        "/Author": str(cited["authors"][0]["name"]),
        "/Subject": f"Version {cited['version']}",
        book_join.DIGEST: _digest_of(html),
    }


def _title_page() -> str:
    """The first leaf: title, version, commit, and the counts of the ledger as README.md has them."""
    from .citation import citation

    cited = citation()
    readme = (paths.root() / "README.md").read_text(encoding="utf-8")
    counts = re.search(r"<!-- counts -->\s*(.+?)\n\n", readme, flags=re.DOTALL)
    commit, changed = records.commit()
    state = f"Commit {commit}{', with changes' if changed else ''}" if not commit.startswith("unknown") else ""
    name, _, rest = cited["title"].partition(": ")
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>{cited["title"]}</title>
<style>body {{ font: 12pt/1.5 sans-serif; margin: 55mm 10mm 0 }} h1 {{ font-size: 34pt; margin: 0 }}
h2 {{ font-size: 17pt; font-weight: normal; margin: 0 0 18mm }} p {{ max-width: 130mm }}</style>
<h1>{name}</h1><h2>{rest}</h2>
<p>{cited["authors"][0]["name"]}<br>Version {cited["version"]}<br><small>{state}</small></p>
<p>{counts[1] if counts else ""}</p>
<p><small>Text and figures under CC BY 4.0, code under BSD-3-Clause.</small></p></html>"""
