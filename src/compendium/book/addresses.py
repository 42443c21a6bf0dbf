"""What a written page needs so that it can be cited: the state of its sources, how to cite it, and names of its tables.

All of it is written into the finished HTML, once more on pages that a build kept: a commit that changes no page makes
no page anew.
"""

import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from typing import NamedTuple

from compendium import paths, provenance

from ..ledger.page import CITED
from . import citation
from .stage import Entry, contents

_OURS = re.compile(r"<!-- cited -->.*?<!-- /cited -->", re.DOTALL)
_COPYRIGHT = re.compile(r'<p class="copyright">.*?</p>', re.DOTALL)
_TITLE = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)
#: In the order of a page: sections, which name the tables in them; tables; figures with their captions.
_PARTS = re.compile(
    r'<section[^>]* id="(?P<section>[^"]+)"|<table(?P<table>[^>]*)>(?:\s*<caption[^>]*>(?P<caption>.*?)</caption>)?'
    r'|<figure[^>]* id="(?P<figure>[^"]+)"[^>]*>(?:(?!</figure>).)*?<figcaption>(?P<text>.*?)</figcaption>',
    re.DOTALL,
)
_ID = re.compile(r'\sid="([^"]+)"')
_LINK = re.compile(r'<a class="headerlink".*?</a>', re.DOTALL)
_DRAWING = re.compile(r'src="([^"]*_images/[^"]+\.svg)"')
_TAG = re.compile(r"<[^>]+>")


class Cited(NamedTuple):
    """What is cited, and at which commit."""

    cff: dict
    commit: str
    changed: bool

    def entry(self, title: str, place: str) -> str:
        """The BibTeX entry of a place in the book."""
        key = "evenspan-" + re.sub(r"[^a-z0-9]+", "-", place.replace(".html", "").lower()).strip("-")
        return citation.part(self.cff, key, title, place, self.commit, self.changed)


def add(html: Path) -> None:
    """Write footers, citations and names of tables into all pages of a built book."""
    commit, changed = provenance.commit()
    known = not commit.startswith("unknown")
    cited = Cited(citation.citation(), commit if known else "", bool(changed))
    chapters = dict(_chapters(contents(paths.root() / "_toc.yml", html)))
    for path in sorted(html.rglob("*.html")):
        page = path.relative_to(html).as_posix()
        if not page.startswith("_"):
            before = path.read_text(encoding="utf-8")
            after = addressed(before, page, cited, chapters.get(page.removesuffix(".html")))
            if after != before:
                path.write_text(after, encoding="utf-8")


def _chapters(lines: list[Entry]) -> Iterator[tuple[str, int]]:
    """The number of the chapter of every page, as ``evenspan_numbers`` counts them; 0 outside of all."""
    number = 0
    for line in lines:
        number += line.level == 1 and bool(line.page)
        if line.page:
            yield line.page, number if line.level else 0


def addressed(text: str, page: str, cited: Cited, chapter: int | None) -> str:
    """A written page with its footer; if it is in the contents, with names of its tables and how to cite it."""
    text = _OURS.sub("", text)
    state = escape(citation.state(cited.cff, cited.commit, cited.changed))
    made = f'<!-- cited --><p class="made-of">{state}.</p><!-- /cited -->'
    text = _COPYRIGHT.sub(lambda found: found[0] + made, text)
    title = _TITLE.search(text)
    if chapter is None or title is None:
        return text
    head, article, rest = _article(text)
    figures, tables = [], []
    article = _named(article, figures, tables)
    # In the ledger, an entry for any row of it: ledger.js puts one in the place of the words in capitals.
    row = escape(cited.entry("NUMBER", f"{page}#TABLE-ROW")).replace("evenspan-ledger-table-row", "evenspan-TABLE-ROW")
    article = re.sub(
        rf'(<pre class="{CITED}">).*?(</pre>)', lambda found: f"{found[1]}{row}{found[2]}", article, flags=re.DOTALL
    )
    return f"{head}{article}{_block(_plain(title[1]), page, cited, chapter, figures, tables)}{rest}"


def _article(text: str) -> tuple[str, str, str]:
    start, end = text.index("<article"), text.rindex("</article>")
    return text[:start], text[start:end], text[end:]


def _named(article: str, figures: list[tuple[str, str]], tables: list[tuple[str, str]]) -> str:
    """The article with an id for every table and links to tables, drawings and citations; what has an id is listed."""
    section, taken = "page", set(_ID.findall(article))

    def named(found: re.Match) -> str:
        nonlocal section
        if found["section"]:
            section = found["section"]
            return found[0]
        if name := found["figure"]:
            caption = found["text"]
            figures.append((name, _plain(caption)))
            drawing = _DRAWING.search(found[0])
            shown = [f'<a href="{drawing[1]}">Figure as SVG</a>'] if drawing else []
            shown.append(f'<a class="cite-link" href="#cite-{name}">Cite</a>')
            shown = f'<!-- cited --> <span class="figure-links">{" ".join(shown)}</span><!-- /cited -->'
            place = caption.rfind("</p>") if "</p>" in caption else len(caption)
            return found[0].replace(caption, caption[:place] + shown + caption[place:])
        own = _ID.search(found["table"])
        name = own[1] if own else _free(f"{section}-table", taken)
        caption = found["caption"] or ""
        opening = found[0] if own else found[0].replace("<table", f'<table id="{name}"', 1)
        if "ledger-grid" in found["table"]:  # a part of a picture, which has its own address
            return opening
        tables.append((name, _plain(caption)))
        if not caption:
            return opening
        link = f'<!-- cited --><a class="headerlink" href="#{name}" title="Link to this table">#</a><!-- /cited -->'
        return opening.replace("</caption>", f"{link}</caption>", 1)

    return _PARTS.sub(named, article)


def _free(name: str, taken: set[str]) -> str:
    """The name, or with the first number that makes it new."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found


def _block(
    title: str, page: str, cited: Cited, chapter: int, figures: list[tuple[str, str]], tables: list[tuple[str, str]]
) -> str:
    """How to cite the page, the paper that it is about, and its figures; where its tables are."""
    where = f"Chapter {chapter}. " if chapter else ""
    papers = [p for p in cited.cff["references"] if p["notes"] in re.split(r"[/-]", page)]
    lines = [
        '<!-- cited --><details class="cite" id="cite-this-page"><summary>Cite this page</summary>',
        f"<p>{where}{escape(title)}. {escape(citation.state(cited.cff, cited.commit, cited.changed))}, {page}.</p>",
        _listing(cited.entry(title, page)),
        *(f"<p>Its paper:</p>{_listing(citation.bibtex(paper, paper['notes']))}" for paper in papers),
    ]
    for name, caption in figures:
        said, _, _ = caption.partition(". ")
        lines.append(f'<p><a href="#{name}">{escape(said)}</a></p>')
        lines.append(_listing(cited.entry(f"{said}. In: {title}", f"{page}#{name}"), f"cite-{name}"))
    if tables:
        links = (f'<li><a href="#{name}">{escape(said.partition(". ")[0] or name)}</a></li>' for name, said in tables)
        lines.append(f"<p>Tables have these addresses:</p><ul>{''.join(links)}</ul>")
    return "\n".join([*lines, "</details><!-- /cited -->"])


def _listing(text: str, name: str = "") -> str:
    own = f' id="{name}"' if name else ""
    return f'<pre class="cite-entry"{own}>{escape(text)}</pre>'


def _plain(markup: str) -> str:
    """Text of markup, without links to it and without the signs of formulas."""
    text = unescape(_TAG.sub("", _LINK.sub("", _OURS.sub("", markup))))
    return " ".join(re.sub(r"\\[()]", "", text).split())


if __name__ == "__main__":  # for a book that a new commit left as it was
    add(paths.build("html"))
