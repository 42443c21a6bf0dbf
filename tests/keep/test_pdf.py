"""The book on paper: order, outline, numbers, inner links, and pages that are printed once."""

from pathlib import Path

import pytest

from compendium import paths, records
from compendium.keep import browser, built, pdf
from compendium.keep.browser import chromium
from evenspan.core.errors import ConfigurationError, ResultError

TOC = """
format: jb-book
root: index
parts:
  - caption: Start
    chapters:
      - file: one
        sections:
          - file: deep/two
            title: The second
  - caption: Cards
    chapters:
      - glob: cards/*
"""
CFF = "{title: 'evenspan: a book', authors: [{name: The A developers}], version: 0.1.0}\n"
PAGE = "<!doctype html><html><head><title>{name} — evenspan</title></head><body><article>{text}</article></body></html>"


def made(root: Path) -> Path:
    """A checkout with a small built book in it, whose folder is told."""
    (root / "experiments.yml").touch()
    (root / "_toc.yml").write_text(TOC)
    (root / "CITATION.cff").write_text(CFF)
    (root / "README.md").write_text("# x\n\n<!-- counts -->\n7 published numbers.\n\n| a |\n<!-- /counts -->\n")
    html = root / "_build" / "html"
    texts = {
        "index": "<style>@media print { .screen { display: none } }</style><p class='screen'>for the screen</p>"
        "<h1>Index</h1><a href='deep/two.html#low'>inside</a> <a href='x.csv'>file</a>",
        "one": "<h1>One</h1><a href='https://example.org/'>outside</a><p style='break-before:page'>second leaf</p>",
        "deep/two": "<h1>Two</h1><a href='#low'>below</a><p style='break-before:page' id='low'>low</p>",
        "cards/a": "<h1>A</h1><div style='height:60px;overflow:auto'>" + "<p>line</p>" * 20 + "<p>last line</p></div>",
        "cards/b": "<h1>B</h1><details><summary>s</summary>folded</details><table style='width:3000px'><td>x</table>",
    }
    for name, text in texts.items():
        (html / name).parent.mkdir(parents=True, exist_ok=True)
        (html / f"{name}.html").write_text(PAGE.format(name=name, text=text))
    (html / "_static").mkdir()
    return html


def stand_in(root: Path, patch: pytest.MonkeyPatch) -> None:
    """Let this checkout be the one that is worked in."""
    patch.setattr(paths, "root", lambda: root)
    patch.setattr(records, "commit", lambda: ("unknown: not a git repository of its own", None))


@pytest.fixture
def book(tmp_path, monkeypatch) -> Path:
    """The built book of a small checkout."""
    stand_in(tmp_path, monkeypatch)
    return made(tmp_path)


def test_the_order_is_that_of_the_contents(book):
    assert built.contents(paths.root() / "_toc.yml", book) == [
        (0, "index", ""),
        (0, "", "Start"),
        (1, "one", ""),
        (2, "deep/two", "The second"),
        (0, "", "Cards"),
        (1, "cards/a", ""),
        (1, "cards/b", ""),
    ]


def test_what_is_missing_is_said(book, monkeypatch, tmp_path):
    monkeypatch.setattr(pdf, "program", lambda: "chromium")
    with pytest.raises(ConfigurationError, match="no page three"):
        pdf.write(only=["three"])
    with pytest.raises(ResultError, match="make book"):
        pdf.write(tmp_path / "nothing")
    (book / "one.html").unlink()
    with pytest.raises(ResultError, match="lacks one"):
        pdf.write()


def test_without_a_browser_the_message_says_what_to_install(book, monkeypatch):
    monkeypatch.delenv("EVENSPAN_CHROMIUM", raising=False)
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    with pytest.raises(ConfigurationError, match="apt-get install chromium"):
        pdf.write()
    monkeypatch.setenv("EVENSPAN_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(ConfigurationError, match="at /nowhere/chromium"):
        pdf.write()


@pytest.mark.browser
def test_a_block_within_another_gets_the_running_browser(browser):
    with chromium() as inner:
        assert inner is browser
    assert browser.is_connected()


@pytest.fixture(scope="module")
def small(browser, tmp_path_factory):
    """A small checkout, and its book printed; the last test that gets it changes it."""
    root = tmp_path_factory.mktemp("checkout")
    made(root)
    with pytest.MonkeyPatch.context() as patch:
        stand_in(root, patch)
        return root, pdf.write()


@pytest.fixture
def printed(small, monkeypatch):
    root, found = small
    stand_in(root, monkeypatch)
    return found


@pytest.mark.browser
def test_a_small_book_on_paper(printed):
    from pypdf import PdfReader

    read = PdfReader(printed.path)
    assert (printed.printed, printed.kept) == (5, 0)
    assert printed.leaves == len(read.pages) == 8  # title, index, one (2), two (2), a, b
    texts = [page.extract_text() for page in read.pages]
    assert "7 published numbers." in texts[0]
    assert "Version 0.1.0" in texts[0]
    for leaf, words in enumerate(["Index", "One", "second leaf", "Two", "low", "last line", "folded"], 1):
        assert words in texts[leaf]
        assert texts[leaf].split()[-1] == str(leaf + 1)

    assert not any("for the screen" in text for text in texts)

    def lines(items, level=0):
        for item in items:
            if isinstance(item, list):
                yield from lines(item, level + 1)
            else:
                yield level, item.title, read.get_destination_page_number(item)

    assert list(lines(read.outline)) == [
        (0, "index", 1),
        (0, "Start", 2),
        (1, "one", 2),
        (2, "The second", 4),
        (0, "Cards", 6),
        (1, "cards/a", 6),
        (1, "cards/b", 7),
    ]

    def goals(leaf):
        for link in read.pages[leaf].get("/Annots", ()):
            link = link.get_object()
            if "/Dest" in link:
                yield next(n for n, page in enumerate(read.pages) if page.indirect_reference == link["/Dest"][0])
            else:
                yield link["/A"]["/URI"]

    assert list(goals(1)) == [5]  # to the place on the other page; the file beside the book is no link on paper
    assert list(goals(2)) == ["https://example.org/"]
    assert list(goals(4)) == [5]


@pytest.mark.browser
def test_only_what_changed_is_printed_again(printed):
    book = paths.build("html")
    first = printed.path.read_bytes()
    again = pdf.write()
    assert (again.printed, again.kept) == (0, 5)
    assert again.path.read_bytes() == first
    assert pdf.current(book) == again.path
    (book / "one.html").write_text((book / "one.html").read_text().replace("second leaf", "another leaf"))
    assert (pdf.write().printed, pdf.write().kept) == (1, 5)
    (book / "index.html").write_text((book / "index.html").read_text() + " ")
    with pytest.raises(ResultError, match="python -m compendium pdf"):
        pdf.current(book)


@pytest.mark.browser
def test_pages_of_the_real_book(absent, tmp_path):
    from pypdf import PdfReader

    html = paths.build("html")
    if not (html / "index.html").is_file():
        absent("The book has not been built: run 'make book' first.")
    part = pdf.write(html, tmp_path / "part.pdf", ["rerun", "references"])
    read = PdfReader(part.path)
    assert part.leaves == len(read.pages) > 3
    assert [one.title for one in read.outline if not isinstance(one, list)] == ["Start", "Reference"]
    assert "make book" in "".join(page.extract_text() for page in read.pages)
