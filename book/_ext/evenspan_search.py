"""What the search knows: the words of a page as they are read, and places by name.

Sphinx puts everything that stands in a page into its index, formulas in LaTeX and folded code too, and joins the words
of neighbouring cells of a table. Here the index has the words that are shown. Beside them it has names with the
place that they lead to: people and papers, methods under all their names, printed tables, terms, figures, equations.
``search/ranking.mjs`` looks both up.
"""

import html
import re

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from pybtex.database import parse_file
from sphinx.search import IndexBuilder, WordStore

from compendium import method_styles, paths
from compendium.book import api
from compendium.catalogue import catalogue
from compendium.ledger.heat import anchor
from compendium.ledger.table import ledger

#: Weights of places beside 1: the five papers come first, figures, which are found by their captions too, last.
PAPER, FIGURE = 1.4, 0.5
_freeze = IndexBuilder.freeze
_TAG = re.compile(r"<(style|script)\b.*?</\1>|<[^<]+?>", re.DOTALL | re.IGNORECASE)


def _words(builder, doctree) -> WordStore:
    """The words and titles of a page."""
    store, split = WordStore(), builder.lang.split

    def visit(node, folded=False):
        if isinstance(node, nodes.comment | nodes.math | nodes.math_block):
            return
        if folded and isinstance(node, nodes.literal_block):
            return
        if isinstance(node, nodes.raw):
            if "html" in node.get("format", "").split():
                store.words.extend(split(html.unescape(_TAG.sub(" ", node.astext()))))
            return
        if isinstance(node, nodes.Text):
            store.words.extend(split(node.astext()))
        elif isinstance(node, nodes.title):
            title, ids = _plain(node), node.parent["ids"]
            store.titles.append((title, ids[0] if ids and store.titles else None))
            store.title_words.extend(split(title))
        for child in node.children:
            visit(child, folded or isinstance(node, HideCodeCellNode))

    visit(doctree)
    return store


def _plain(node) -> str:
    """The text of a node without LaTeX: of formulas the letters alone."""
    parts = []
    for text in node.findall(nodes.Text):
        formula = isinstance(text.parent, nodes.math | nodes.math_block)
        parts.append(re.sub(r"\\[A-Za-z]+|[{}$\\^]", "", text) if formula else text)
    return " ".join("".join(parts).split())


def _places(env):
    """Names with their places: label, page, id on the page or nothing, further words by which it is found, weight."""
    yield from _papers(env)
    yield from _methods(env)
    yield from _tables(env)
    for (kind, name), (page, place) in env.domains["std"].objects.items():
        if kind == "term":
            yield name, page, place, "term glossary", 1
    for page, numbered in env.toc_fignumbers.items():
        captions = {}
        if "figure" in numbered:
            for figure in env.get_doctree(page).findall(nodes.figure):
                captions |= {one: _plain(text) for text in figure.findall(nodes.caption) for one in figure["ids"]}
        for place, number in numbered.get("figure", {}).items():
            yield f"Figure {'.'.join(map(str, number))}", page, place, captions.get(place, ""), FIGURE
        for place, number in numbered.get("displaymath", {}).items():
            yield f"Equation {'.'.join(map(str, number))}", page, place, "", 1


def _papers(env):
    """Every paper of the references by its people, year and title; the five of this book lead to their chapters."""
    entries = parse_file(paths.root() / "book" / "references.bib").entries
    listed = {one.key: (one.bibliography_key.docname, one.citation_id) for one in env.domains["cite"].citations}
    for key, entry in entries.items():
        authors = entry.persons.get("author", ())
        people = [" ".join(person.last_names) for person in authors]
        given = [name for person in authors for name in (*person.first_names, *person.middle_names)]
        short = " and ".join(people) if len(people) < 3 and "others" not in people else f"{people[0]} et al."
        title = entry.fields["title"].replace("{", "").replace("}", "")
        label, words = f"{short} ({entry.fields.get('year', '')}): {title}", " ".join([*people, *given, key])
        if (chapter := f"papers/{key}/index") in env.found_docs:
            yield label, chapter, "", f"{words} paper", PAPER
        if key in listed:
            yield label, *listed[key], f"{words} reference", 1


def _methods(env):
    """Every method by all its names: the page of its class, and the chapter that derives it."""
    for name, some in api.methods_of().items():
        for method in some:
            names = dict.fromkeys(name for variant in method_styles.NAMES.get(method, ()) for name in variant)
            family = method_styles.known().get(method, ())[:1]  # none where it stands in no stored result
            words = " ".join([*names, *family, "method"])
            yield f"{method} ({name})", api.page(name), "", words, 1
            derived = api.derivations(name)
            for chapter in (chapter for chapter in derived if chapter in env.titles):  # some books have a part of it
                yield f"{method}: {env.titles[chapter].astext()}", chapter, "", f"{name} {words}", 1


def _tables(env):
    """Every printed table: its rows in the ledger, and the page of each experiment that repeats it."""
    rows = ledger()
    for (paper, table, dataset), part in rows.groupby(["paper", "table", "dataset"], sort=False):
        yield f"{table} of {paper}, {dataset}", "ledger", anchor(part["cell"].iloc[0]), "ledger numbers", 1
    for (paper, table), part in rows.groupby(["paper", "table"], sort=False):
        yield f"{table} of {paper}", "ledger", anchor(part["cell"].iloc[0]), "ledger numbers", 1
        for experiment in dict.fromkeys(part["experiment"]):
            entry = catalogue()[experiment]
            if entry.page in env.found_docs:
                yield f"{table} of {paper}: {entry.title}", entry.page, entry.place(), "experiment", 1


def _frozen(builder):
    """The index with the places on pages that the book has; a page by its number."""
    frozen = _freeze(builder)
    numbers = {page: number for number, page in enumerate(frozen["docnames"])}
    places = _places(builder.env)
    frozen["places"] = [[label, numbers[page], *rest] for label, page, *rest in places if page in numbers]
    return frozen


def _rank(app, pagename, templatename, context, doctree):
    if pagename == "search":
        app.add_js_file("search/ranking.mjs", defer="defer")


def setup(app):
    IndexBuilder._word_collector, IndexBuilder.freeze = _words, _frozen
    app.connect("html-page-context", _rank)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
