"""The book as one PDF: every page printed by Chromium, then joined with an outline, page numbers and inner links.

A printed page is kept below ``_build/pdf/pages`` under a digest of all that it shows, so that an interrupted run goes
on where it ended and a second one prints only what has changed.
"""

import html as entities
import importlib.metadata
import io
import re
import urllib.parse
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evenspan.core.errors import ConfigurationError, ExecutionError, ResultError

from .. import paths, records
from . import built
from .browser import chromium, program, served
from .built import Entry
from .citation import citation
from .progress import shown

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
# Field of the PDF that says of which book it is.
_DIGEST = "/EvenspanBook"

# What only a screen needs, and what paper must show: the theme's own print rules leave some of it.
_STYLE = """
.bd-header-article, .bd-sidebar-primary, .bd-sidebar-secondary, .prev-next-footer, .bd-footer, .headerlink,
.copybtn, .toggle-button, .skip-link, #pst-skip-link, .pst-scroll-pixel-helper, #pst-scroll-pixel-helper,
#jb-print-toc, .ledger-filters, button.btn__top, .search-button__overlay, dialog { display: none !important; }
* { animation: none !important; transition: none !important; content-visibility: visible !important; }
html, body, .bd-main, .bd-content { background: #fff !important; }
.bd-main .bd-content .bd-article-container { max-width: 100% !important; padding: 0 !important; overflow: visible; }
.cell_output, .output, pre, .table-wrapper, div.math, .pst-scrollable-table-container { overflow: visible !important; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
thead { display: table-header-group; }
tr, figure, .admonition-title { break-inside: avoid; }
/* The ledger's rows lie on a grid for the screen; on paper they are a table again, whose head every leaf repeats. */
table.ledger { display: table !important; table-layout: fixed; width: 100% !important; font-size: 0.6rem !important; }
table.ledger th:is(:nth-child(8), :nth-child(n + 12):nth-child(-n + 16)) { width: 4.5%; }
table.ledger th:is(:nth-child(4), :nth-child(17), :nth-child(18)) { width: 11%; }
table.ledger thead { display: table-header-group !important; position: static !important; }
table.ledger tbody { display: table-row-group !important; }
table.ledger tr { display: table-row !important; }
table.ledger :is(td, th) { display: table-cell !important; position: static !important; min-width: 0 !important; }
table.ledger :is(td, th) { white-space: normal !important; overflow-wrap: anywhere; }
table.ledger td:last-child > * + * { display: none; }
table.ledger tr { break-inside: auto !important; }
"""

# Everything open and loaded, in light colours; what is wider than the paper is made smaller until it fits.
_READY = """async () => {
  document.documentElement.dataset.theme = 'light';
  document.documentElement.dataset.mode = 'light';
  for (const one of document.querySelectorAll('details')) one.open = true;
  for (const one of document.querySelectorAll('img[loading=lazy]')) one.loading = 'eager';
  await Promise.all([...document.images].map(one => one.decode().catch(() => null)));
  await document.fonts.ready;
  // A head that every leaf repeats holds words: Chromium repeats no buttons.
  for (const one of document.querySelectorAll('th button')) one.replaceWith(one.textContent);
  // Boxes that scroll on a screen show all that they hold.
  for (const one of document.querySelectorAll('article *')) {
    const style = getComputedStyle(one);
    if (/(auto|scroll)/.test(style.overflowX + style.overflowY) && one.scrollHeight > one.clientHeight + 1) {
      Object.assign(one.style, { overflow: 'visible', maxHeight: 'none', height: 'auto' });
    }
  }
  const room = document.querySelector('article')?.clientWidth ?? document.body.clientWidth;
  for (const one of document.querySelectorAll('article table, article mjx-container[display=true], article svg')) {
    const width = Math.max(one.scrollWidth ?? 0, one.getBoundingClientRect().width);
    const outer = Math.min(one.parentElement.clientWidth || room, room);
    if (width > outer + 1) one.style.zoom = Math.max(outer / width, 0.35);
  }
}"""


class Printed(NamedTuple):
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
    from pypdf import PdfReader

    if (PdfReader(target()).metadata or {}).get(_DIGEST) != _digest_of(html):
        raise ResultError(
            f"{target()} is not of the book in {html}. Run 'python -m compendium pdf' again, or delete it."
        )
    return target()


def write(html: Path | None = None, output: Path | None = None, only: Collection[str] = ()) -> Printed:
    """Print the built book, by default all pages of that of the checkout into a file below ``_build/pdf``.

    Parameters
    ----------
    html, output : Path, optional
        The built book, and the name of the PDF.
    only : collection of str
        Pages to print, as in ``_toc.yml``.

    Raises
    ------
    ResultError
        There is no book.
    ConfigurationError
        There is no Chromium, or no page of that name.
    ExecutionError
        A page cannot be shown as it should, for instance because a formula failed.
    """
    html = built.there(html)
    program()
    contents = built.contents(paths.root() / "_toc.yml", html)
    pages = list(dict.fromkeys(entry.page for entry in contents if entry.page))
    if unknown := sorted(set(only) - set(pages)):
        raise ConfigurationError(f"The book has no page {', '.join(unknown)}; _toc.yml names them.")
    pages = [page for page in pages if page in set(only or pages)]
    if missing := [page for page in pages if not (html / f"{page}.html").is_file()]:
        raise ResultError(f"The book in {html} lacks {', '.join(missing)}: run 'make book' again.")
    path = Path(output) if output else target() if not only else paths.build("pdf", "part.pdf")
    printed, anew = _print(html, pages)
    entries = [one._replace(title=_title(html, one)) for one in contents if not one.page or one.page in pages]
    content, leaves = _join(printed, entries, _about(html))
    records.write(path, content)
    return Printed(path, leaves, len(content), anew, len(pages) - anew)


def _print(html: Path, pages: Sequence[str]) -> tuple[dict[str, Path], int]:
    """The printed pages by name, the title page first under the empty name, and how many pages were printed anew."""
    folder, title = paths.build("pdf", "pages"), _title_page()
    styles = [one.read_bytes() for one in sorted((html / "_static").rglob("*.css"))]
    shared = records.digest(b"".join([(_WAY + _STYLE + _READY).encode(), *styles]))
    wanted = {"": folder / f"{records.digest(title.encode())[:32]}.pdf"}
    wanted |= {page: folder / f"{_key(html, page, shared)}.pdf" for page in pages}
    todo = [page for page in wanted if not wanted[page].is_file()]
    if todo:
        with chromium() as browser, served(html) as address, _reader(browser) as context:
            for page in shown(todo, "pdf"):
                records.write(wanted[page], _leaves(context, address, page, title))
    return wanted, sum(bool(page) for page in todo)


def _key(html: Path, page: str, shared: str) -> str:
    """A digest of what a printed page depends on: its text, its pictures, and the styles of the book."""
    text = (html / f"{page}.html").read_bytes()
    seen = [text]
    for name in sorted(set(re.findall(rb"""<(?:img|source)[^>]+?src=["']([^"'#?]+)""", text))):
        picture = (html / page).parent / urllib.parse.unquote(name.decode())
        if picture.is_file():
            seen.append(picture.read_bytes())
    return records.digest(shared.encode() + b"".join(records.digest(one).encode() for one in seen))[:32]


@contextmanager
def _reader(browser: Any) -> Iterator[Any]:
    """One who opens all pages, so that what they share is loaded once."""
    context = browser.new_context(viewport={"width": _WIDTH, "height": 1300}, reduced_motion="reduce")
    try:
        context.set_default_timeout(300_000)  # the ledger has more than a thousand rows
        yield context
    finally:
        context.close()


def _leaves(context: Any, address: str, page: str, title: str) -> bytes:
    """One page of the book as PDF, from a tab of its own; the empty name is the title page."""
    view = context.new_page()
    try:
        view.emulate_media(media="print", color_scheme="light")
        if not page:
            view.set_content(title)
            return view.pdf(**_PAPER)
        view.goto(f"{address}{page}.html")
        view.evaluate("() => window.MathJax && MathJax.startup && MathJax.startup.promise")
        view.add_style_tag(content=_STYLE)
        view.evaluate(_READY)
        if broken := view.locator("mjx-merror").count():
            raise ExecutionError(f"{broken} formulas of the page {page} cannot be shown; build the book again.")
        return view.pdf(**_PAPER)
    finally:
        view.close()


def _title(html: Path, entry: Entry) -> str:
    if entry.title or not entry.page:
        return entry.title
    text = (html / f"{entry.page}.html").read_text(encoding="utf-8")
    found = re.search(r"<title>(.*?)</title>", text, flags=re.DOTALL)
    return entities.unescape(found[1]).partition(" — ")[0].strip() if found else entry.page


def _digest_of(html: Path) -> str:
    listed = html / built.MADE_OF
    return records.digest((listed if listed.is_file() else html / "index.html").read_bytes())


def _about(html: Path) -> dict[str, str]:
    """The properties of the document."""
    cited = citation()
    return {
        "/Producer": "evenspan",
        "/Creator": "python -m compendium pdf",
        "/Title": str(cited["title"]),
        "/Author": str(cited["authors"][0]["name"]),
        "/Subject": f"Version {cited['version']}",
        _DIGEST: _digest_of(html),
    }


def _title_page() -> str:
    """The first leaf: title, version, commit, and the counts of the ledger as README.md has them."""
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


# ---- joining: the printed pages, the title page first, as one document ----

#: Where the named places of a page are: number of the leaf, and height on it.
_Places = dict[str, tuple[int, Any]]


def _join(printed: Mapping[str, Path], entries: Sequence[Entry], about: Mapping[str, str]) -> tuple[bytes, int]:
    """The document, and the number of its leaves."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    starts: dict[str, int] = {}
    places: dict[str, _Places] = {}
    page_of: list[str] = []
    for page, path in printed.items():
        starts[page] = len(writer.pages)
        places[page] = _append(writer, PdfReader(path))
        page_of += [page] * (len(writer.pages) - starts[page])
    for leaf, page in enumerate(page_of):
        if page:
            _lead_inside(writer, leaf, page, starts, places)
    _outline(writer, entries, starts)
    for number in range(1, len(writer.pages)):
        _number(writer, number)
    writer.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    writer.add_metadata(dict(about))
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue(), len(page_of)


def _append(writer: Any, reader: Any) -> _Places:
    """Add the leaves of a PDF; returns where its named places are now."""
    first = len(writer.pages)
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(reader.pages)}
    named = {}
    for name, place in reader.named_destinations.items():
        target = place.raw_get("/Page")
        if (number := numbers.get(getattr(target, "idnum", None))) is not None:
            named[name.lstrip("/")] = (first + number, place.get("/Top"))
    for page in reader.pages:
        writer.add_page(page)
    return named


def _lead_inside(writer: Any, leaf: int, page: str, starts: Mapping[str, int], places: Mapping[str, _Places]) -> None:
    """Let links to pages of the book lead to their leaves; those to other files of the built book are taken out."""
    from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject

    kept = ArrayObject()
    for link in writer.pages[leaf].get("/Annots", ()):
        one = link.get_object()
        goal = _goal(one, page) if one.get("/Subtype") == "/Link" else None
        if goal is not None:
            name, anchor = goal
            if name not in starts:
                continue  # a table, a notebook or a script beside the book: not on paper
            number, top = places[name].get(anchor, (starts[name], None))
            height = NullObject() if top is None else FloatObject(top)
            there = writer.pages[number].indirect_reference
            one.pop("/A", None)
            one[NameObject("/Dest")] = ArrayObject([there, NameObject("/XYZ"), NullObject(), height, NullObject()])
        kept.append(link)
    writer.pages[leaf][NameObject("/Annots")] = kept


def _goal(link: Any, page: str) -> tuple[str, str] | None:
    """Page of the book and place on it that a link leads to; None if it leads out of the book."""
    if "/Dest" in link:
        return page, str(link["/Dest"]).lstrip("/")
    action = link["/A"].get_object() if "/A" in link else {}
    if action.get("/S") == "/GoTo":
        return page, str(action.get("/D")).lstrip("/")
    address = urllib.parse.urlsplit(str(action.get("/URI", "")))
    if address.hostname != "127.0.0.1":
        return None
    return urllib.parse.unquote(address.path).strip("/").removesuffix(".html") or "index", address.fragment


def _outline(writer: Any, entries: Sequence[Entry], starts: Mapping[str, int]) -> None:
    above: list[Any] = []
    for entry, following in zip(entries, [*entries[1:], Entry(0, "", "")], strict=True):
        # A part begins where its first chapter does, and is left out with all of its chapters.
        if page := entry.page or following.page:
            above = above[: entry.level]
            parent = above[-1] if above else None
            item = writer.add_outline_item(
                title=entry.title, page_number=starts[page], parent=parent, is_open=entry.level == 0
            )
            above.append(item)


def _number(writer: Any, number: int) -> None:
    """Write the number of a leaf at its foot."""
    from pypdf.generic import ArrayObject, DecodedStreamObject, DictionaryObject, NameObject

    def stream(drawing: str) -> Any:
        made = DecodedStreamObject()
        made.set_data(drawing.encode())
        return writer._add_object(made)

    page, text = writer.pages[number], str(number + 1)
    at = float(page.mediabox.width) / 2 - 2.5 * len(text)
    face = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    fonts = page["/Resources"].get_object().setdefault(NameObject("/Font"), DictionaryObject()).get_object()
    fonts[NameObject("/EvNumber")] = DictionaryObject({NameObject(key): NameObject(one) for key, one in face.items()})
    # The page's own drawing may end with another scale: it stands between marks that restore the first one.
    own = page.raw_get("/Contents") if "/Contents" in page else ArrayObject()
    inner = own.get_object() if isinstance(own.get_object(), list) else [own]
    stamp = f"q BT /EvNumber 9 Tf 0.3 g 1 0 0 1 {at:.1f} 24 Tm ({text}) Tj ET Q"
    page[NameObject("/Contents")] = ArrayObject([stream("q\n"), *inner, stream("\nQ\n"), stream(stamp)])
