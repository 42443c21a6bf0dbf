"""Where the ledger's links lead: pages of experiments, stored results with their records, data cards, chapters.

A link to a page leads to the very cell of the table, or to the claim, if the page shows it. Before the book is built,
:func:`check` looks every link up among the sources of its pages.
"""

import re
from functools import cache
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat

from evenspan.core.errors import ResultError

from .. import paths
from ..catalogue import Experiment, catalogue
from ..store import file_of
from .heat import anchor

#: Calls that show a published number beside ours.
_JUDGED = re.compile(r"\b(verdict_table|result_grid|result_table|judged_cells)\(")
_HEADING = re.compile(r"^#{2,6} +(.+?)\s*$", re.MULTILINE)
#: The address that a section has been given (``book/_ext/evenspan_tabs.py``).
_OWN = re.compile(r"^\{[^}\n]*\.at-([^\s}]+)\}$", re.MULTILINE)


def page_of(entry: Experiment, execution: str, name: str = "") -> str:
    """Address of an execution on the page of its experiment, or of what has a name there.

    Where an experiment has several executions, the names of each begin with its own.
    """
    place = "-".join(filter(None, [execution if len(entry.executions) > 1 else "", name]))
    return f"experiments/{entry.id}.html" + (f"#{place}" if place else "")


def stored(files: str) -> str:
    """Links to the rows and the record of an execution."""
    return f'<a href="{files}.csv">CSV</a> <a href="{files}.json">record</a>'


def of_number(row: dict[str, str]) -> str:
    """Links of a row: itself, its cell on the page, the stored results with their records, and the data card."""
    name, experiment = row["cell"], row["experiment"]
    links = [f'<a href="#{escape(anchor(name))}">{escape(name)}</a>']
    if execution := row["execution"]:
        entry = catalogue()[experiment]
        cell = anchor(name) if row["ours"] and _calls(entry, _JUDGED) else ""
        links.append(f'<a href="{escape(page_of(entry, execution, cell))}">page</a>')
    files = dict.fromkeys(file_of(experiment, name) for name in row["tasks"].split())
    links += [stored(f"_static/results/full/{experiment}/{name}") for name in files]
    if card := row["data_card"]:
        links.append(f'<a href="data/cards/{card}.html">data</a>')
    return " ".join(links)


def of_claim(row: dict[str, str]) -> str:
    """Links of a claim: itself, the experiment that answers it, the chapter with all verdicts."""
    claim = escape(row["id"])
    links = [f'<a href="#claim-{claim}">{claim}</a>']
    if row["experiment"]:
        entry = catalogue()[row["experiment"]]
        # A claim stands in a list of names; the notebook of the experiment need not have one.
        shown = re.compile(rf"\bclaim_table\([^)]*[\"']{re.escape(row['id'])}[\"']")
        first = next(iter(entry.executions)) if _calls(entry, shown) else ""
        address = page_of(entry, first, f"claim-{row['id']}") if first else f"experiments/{entry.id}.html"
        links.append(f'<a href="{escape(address)}">{escape(entry.id)}</a>')
    chapter = f"papers/{row['paper']}/verdicts"
    if (paths.root() / "book" / f"{chapter}.md").is_file():
        links.append(f'<a href="{chapter}.html#claim-{claim}">verdicts</a>')
    return " ".join(links)


def _calls(entry: Experiment, wanted: re.Pattern) -> bool:
    """Whether ``wanted`` stands in a cell of the notebook."""
    return any(wanted.search(cell.source) for cell in _cells(paths.root() / entry.notebook))


@cache
def _cells(notebook: Path) -> list:
    return [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]


def slug(heading: str) -> str:
    """The name that a heading has on its page.

    >>> slug("What differs, and why")
    'what-differs-and-why'
    """
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-").lstrip("0123456789-")


def check(page: str, folder: Path) -> None:
    """Raise if a link in the ledger's Markdown leads to what has no source in the book's assembled source folder.

    The error names the row and the page, file or section that is missing.
    """
    found = _Links()
    for block in re.findall(r"```\{raw\} html\n(.*?)\n```", page, re.DOTALL):
        found.feed(block)
    own = found.names | {slug(heading) for heading in _HEADING.findall(page)}
    names = cache(_names)
    missing = []
    for row, address in found.links:
        parts = urlsplit(address)
        name, section = unquote(parts.path), unquote(parts.fragment)
        if not name:
            if section and section not in own:
                missing.append((row, f"#{section}"))
            continue
        sources = [folder / name]
        if name.endswith(".html"):
            sources = [(folder / name).with_suffix(ending) for ending in (".md", ".ipynb")]
        source = next((source for source in sources if source.is_file()), None)
        if source is None:
            missing.append((row, name))
        elif section and section not in names(source):
            missing.append((row, f"{name}#{section}"))
    if missing:
        listed = "; ".join(f"{row or 'the page'} links to {name}" for row, name in missing[:5])
        more = f"; and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise ResultError(
            f"The ledger links to what is not in the book: {listed}{more}. Add the page to experiments.yml, data/cards "
            "or the stored results, or take the link out of the row."
        )


def _names(source: Path) -> set[str]:
    """What an address may name on a page: its sections, and what has a name in its HTML."""
    if source.suffix == ".md":
        texts = [source.read_text(encoding="utf-8")]
        shown = ""
    else:
        cells = nbformat.read(source, as_version=4).cells
        texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
        outputs = (output for cell in cells for output in cell.get("outputs", ()))
        shown = "\n".join(output.get("data", {}).get("text/html", "") for output in outputs)
    text = "\n".join(texts)
    found = _Links()
    found.feed(shown)
    return found.names | {slug(heading) for heading in _HEADING.findall(text)} | set(_OWN.findall(text))


class _Links(HTMLParser):
    """Links with the row in which they stand, and the names that can be linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.names: set[str] = set()
        self._row = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if name := given.get("id"):
            self.names.add(name)
        if tag == "tr":
            self._row = given.get("id") or ""
        if tag == "a":
            self.links.append((self._row, given.get("href") or ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            self._row = ""
