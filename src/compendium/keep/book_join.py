"""Join printed pages into one PDF: outline, page numbers, and links that lead inside."""

import io
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .book_order import Entry

#: Field of the PDF that says of which book it is.
DIGEST = "/EvenspanBook"


@dataclass(frozen=True)
class Sheet:
    """A line of the contents with its printed page, None for the caption of a part, and its title."""

    entry: Entry
    path: Path | None
    title: str


def leaves(path: Path) -> int:
    """Number of leaves of a PDF."""
    from pypdf import PdfReader

    return len(PdfReader(path).pages)


def digest_in(path: Path) -> str:
    """Which book a PDF is of; empty if it does not say."""
    from pypdf import PdfReader

    return str((PdfReader(path).metadata or {}).get(DIGEST, ""))


def join(title: Path, sheets: list[Sheet], about: dict[str, str]) -> bytes:
    """The title page and all sheets as one PDF with these document properties."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    _append(writer, PdfReader(title))
    starts: dict[str, int] = {}
    places: dict[str, dict[str, tuple[int, Any]]] = {}
    for sheet in sheets:
        if sheet.path is not None and sheet.entry.page not in starts:
            starts[sheet.entry.page] = len(writer.pages)
            places[sheet.entry.page] = _append(writer, PdfReader(sheet.path))
    _lead_inside(writer, starts, places)
    _outline(writer, sheets, starts)
    for number in range(1, len(writer.pages)):
        _number(writer, number)
    writer.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    writer.add_metadata({"/Producer": "evenspan", "/Creator": "python -m compendium pdf", **about})
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _append(writer: Any, reader: Any) -> dict[str, tuple[int, Any]]:
    """Add the leaves of a PDF; returns where its named places are now: number of the leaf, and height on it."""
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


def _lead_inside(writer: Any, starts: dict[str, int], places: dict[str, dict[str, tuple[int, Any]]]) -> None:
    """Let links to pages of the book lead to their leaves; those to other files of the built book are taken out."""
    from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject

    for page, number in _pages(starts, len(writer.pages)):
        kept = ArrayObject()
        for link in writer.pages[number].get("/Annots", ()):
            one = link.get_object()
            if one.get("/Subtype") != "/Link":
                kept.append(link)
                continue
            goal = _goal(one, page)
            if goal is None:
                kept.append(link)
                continue
            name, anchor = goal
            if name not in starts:
                continue  # a table, a notebook or a script beside the book: not on paper
            leaf, top = places[name].get(anchor, (starts[name], None))
            height = NullObject() if top is None else FloatObject(top)
            there = writer.pages[leaf].indirect_reference
            one.pop("/A", None)
            one[NameObject("/Dest")] = ArrayObject([there, NameObject("/XYZ"), NullObject(), height, NullObject()])
            kept.append(link)
        writer.pages[number][NameObject("/Annots")] = kept


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


def _pages(starts: dict[str, int], total: int) -> Iterator[tuple[str, int]]:
    ends = [*list(starts.values())[1:], total]
    for (page, first), end in zip(starts.items(), ends, strict=True):
        for number in range(first, end):
            yield page, number


def _outline(writer: Any, sheets: list[Sheet], starts: dict[str, int]) -> None:
    above: list[Any] = []
    for place, sheet in enumerate(sheets):
        level, page = sheet.entry.level, sheet.entry.page
        if not page:  # a part begins where its first chapter does, and is left out with all of its chapters
            following = sheets[place + 1].entry.page if place + 1 < len(sheets) else ""
            if not following:
                continue
            page = following
        parent = above[min(level, len(above)) - 1] if level and above else None
        above = above[: min(level, len(above))]
        above.append(
            writer.add_outline_item(title=sheet.title, page_number=starts[page], parent=parent, is_open=level == 0)
        )


def _number(writer: Any, number: int) -> None:
    """Write the number of a leaf at its foot."""
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    page = writer.pages[number]
    width = float(page.mediabox.width)
    text = str(number + 1)
    stamp = DecodedStreamObject()
    at = width / 2 - 2.5 * len(text)
    stamp.set_data(f"q BT /EvNumber 9 Tf 0.3 g 1 0 0 1 {at:.1f} 24 Tm ({text}) Tj ET Q".encode())
    face = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject({NameObject(key): NameObject(value) for key, value in face.items()})
    resources = page["/Resources"].get_object()
    fonts = resources.setdefault(NameObject("/Font"), DictionaryObject()).get_object()
    fonts[NameObject("/EvNumber")] = font
    _around(writer, page, stamp)


def _around(writer: Any, page: Any, stamp: Any) -> None:
    """Put a page's own drawing, which may end with another scale, between marks that restore it, then the stamp."""
    from pypdf.generic import ArrayObject, DecodedStreamObject, NameObject

    own = page["/Contents"] if "/Contents" in page else ArrayObject()
    own = page.raw_get("/Contents") if "/Contents" in page else own
    inner = list(own.get_object()) if isinstance(own.get_object(), list) else [own]
    before, after = DecodedStreamObject(), DecodedStreamObject()
    before.set_data(b"q\n")
    after.set_data(b"\nQ\n")
    parts = [writer._add_object(before), *inner, writer._add_object(after), writer._add_object(stamp)]
    page[NameObject("/Contents")] = ArrayObject(parts)
