"""The built book as files: it holds no address that a page would fetch, and all its links lead somewhere."""

import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

FETCHED = dict.fromkeys(("script", "iframe", "audio", "embed"), ("src",))
FETCHED |= {"img": ("src", "srcset"), "source": ("src", "srcset"), "video": ("src", "poster"), "object": ("data",)}
RELATIONS = {"shortcut icon", "icon", "stylesheet", "preload", "modulepreload", "prefetch", "preconnect"}


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


def test_a_page_has_one_title(html, pages):
    """In the sidebar, at its head, in the browser's line and in the search."""
    index = json.loads(re.sub(r"^Search.setIndex\(|\)$", "", (html / "searchindex.js").read_text(encoding="utf-8")))
    found = dict(zip(index["docnames"], index["titles"], strict=True))
    names = {}
    for file in pages:
        text = file.read_text(encoding="utf-8")
        name = file.relative_to(html).with_suffix("").as_posix()
        head = re.search(r'<h1>((?:(?!h1>).)*)<a class="headerlink"', text, re.DOTALL)
        sidebar = re.search(r'<a class="current reference internal" href="#">(.*?)</a>', text, re.DOTALL)
        line = re.search(r"<title>(.*?)(?: &#8212; evenspan)?</title>", text, re.DOTALL)
        given = [" ".join(_plain(one[1]).split()) for one in (head, sidebar, line) if one]
        if name in found:
            names[name] = {*given, " ".join(_plain(found[name]).split())}
    assert {name: some for name, some in names.items() if len(some) > 1} == {}
    titles = Counter(title for some in names.values() for title in some)
    assert [title for title, count in titles.items() if count > 1] == []


def _plain(text: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", text))


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
