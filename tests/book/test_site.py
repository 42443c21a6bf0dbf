"""The built book as files: it holds no address that a page would fetch, and all its links lead somewhere."""

import re
import zipfile
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from compendium import paths

FETCHED = dict.fromkeys(("script", "iframe", "audio", "embed"), ("src",))
FETCHED |= {"img": ("src", "srcset"), "source": ("src", "srcset"), "video": ("src", "poster"), "object": ("data",)}
RELATIONS = {
    "shortcut icon",
    "stylesheet",
    "icon",
    "preload",
    "modulepreload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
}


class _Addresses(HTMLParser):
    def __init__(self):
        super().__init__()
        self.fetched, self.linked, self.names = [], [], set()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.fetched += [given[key] for key in FETCHED.get(tag, ()) if given.get(key)]
        if tag == "link" and (given.get("rel") or "").lower() in RELATIONS:
            self.fetched.append(given.get("href") or "")
        if tag == "a" and given.get("href"):
            self.linked.append(given["href"])
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}


@pytest.fixture(scope="module")
def pages(html):
    found = {}
    for file in sorted(html.rglob("*.html")):
        if not file.relative_to(html).parts[0].startswith("_"):
            parser = _Addresses()
            parser.feed(file.read_text(encoding="utf-8"))
            found[file] = parser
    return found


def test_nothing_is_fetched_from_elsewhere(html, pages):
    fetched = {f"{file.name}: {one}" for file, page in pages.items() for one in page.fetched}
    assert {one for one in fetched if re.search(r": (https?:)?//", one)} == set()
    styles = {file.name: file.read_text(encoding="utf-8") for file in html.rglob("*.css")}
    pattern = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\"]+")
    assert {f"{name}: {hit}" for name, text in styles.items() for hit in pattern.findall(text)} == set()


def test_links_within_the_book_lead_somewhere(html, pages):
    broken = set()
    for file, page in pages.items():
        for address in page.linked:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            known = pages[target].names if target in pages and parts.fragment else {unquote(parts.fragment)}
            if not target.exists() or unquote(parts.fragment) not in known:
                broken.add(f"{file.relative_to(html)}: {address}")
    assert broken == set()


def test_a_page_loads_what_it_needs_and_a_drawing_is_kept_for_a_page(html, pages):
    shown = {one.rpartition("/")[2] for page in pages.values() for one in page.fetched if "_images/" in one}
    assert {file.name for file in (html / "_images").iterdir()} == shown
    programs = {file.relative_to(html).as_posix(): " ".join(page.fetched) for file, page in pages.items()}
    assert [name for name, loaded in programs.items() if "fontawesome.js" in loaded] == []
    assert [name for name, loaded in programs.items() if "searchindex.js" in loaded] == ["search.html"]


def test_all_results_are_one_file_and_what_a_page_links_to_is_beside_it(html, pages):
    stored = {p for p in paths.results().rglob("*") if p.suffix in (".csv", ".json")}
    with zipfile.ZipFile(html / "_static" / "results.zip") as whole:
        assert {name: whole.read(name) for name in whole.namelist()} == {
            p.relative_to(paths.results().parent).as_posix(): p.read_bytes() for p in stored
        }
    linked = {
        (file.parent / one).resolve() for file, page in pages.items() for one in page.linked if "/results/" in one
    }
    assert {p.resolve() for p in (html / "_static" / "results").rglob("*.*")} == linked


def test_every_page_says_version_and_commit_and_how_to_cite_it(html, pages):
    for file in pages:
        if file.parent.parent != html / "experiments":  # the addresses that executions once had only lead on
            text = file.read_text(encoding="utf-8")
            assert text.count('<p class="made-of">evenspan ') == 1, file
    text = (html / "papers" / "vu2022" / "derivation.html").read_text(encoding="utf-8")
    assert "@inproceedings{vu2022," in text


def test_figures_and_equations_have_the_number_of_their_chapter(pages):
    seen = set()
    for file in pages:
        text = file.read_text(encoding="utf-8")
        said = re.search(r"<p>Chapter (\d+)\. ", text)
        numbers = re.findall(r'class="caption-number">Figure (\d+)\.\d+ ', text)
        numbers += re.findall(r'class="eqno">\((\d+)\.\d+\)?<', text)
        beside = re.findall(r'<li class="(?:current )?toctree-l1[^"]*"', text)
        here = [place for place, one in enumerate(beside, start=1) if "current" in one or "active" in one]
        if numbers:
            assert set(numbers) == {said[1]}, file
            assert here == [int(said[1])], f"{file}: the contents count otherwise"
            seen.add(said[1])
    assert len(seen) >= 8


def test_every_table_has_an_address(pages):
    for file in pages:
        article = re.search(r"<article.*</article>", file.read_text(encoding="utf-8"), re.DOTALL)
        bare = re.findall(r"<table(?![^>]* id=)[^>]*>", article[0] if article else "")
        assert bare == [] or file.name in {"genindex.html", "py-modindex.html", "search.html"}, file


def test_lists_of_like_pages_are_beside_their_own_pages_alone(html):
    def listed(page, folder):
        text = (html / page).read_text(encoding="utf-8")
        nav = text[text.index('<nav class="bd-links') :].partition("</nav>")[0]
        return len(re.findall(rf'href="[^"]*{folder}[^"]*"', nav))

    assert listed("index.html", "data/cards/") == listed("index.html", "reference/api/") == 0
    assert listed("index.html", "experiments/zhou2024") == 0
    assert listed("data/index.html", "cards/") > 30
    assert listed("reference/api.html", "api/") > 50
    assert listed("papers/zhou2024/experiments.html", "experiments/zhou2024") > 0
    source = (html / "_sources" / "ledger.md").read_text(encoding="utf-8")
    assert "# The ledger" in source
    assert "<!-- generated -->" in source
