"""Where the ledger's links lead: pages of experiments, stored results with their records, data cards, chapters.

A link to a page leads to the very cell of the table, or to the claim, if the page shows it.
"""

import re
from functools import cache
from html import escape
from pathlib import Path

import nbformat

from .. import paths
from ..catalogue import Experiment, catalogue
from ..store import units_of
from .heat import anchor

#: Calls that show a published number beside ours.
_JUDGED = re.compile(r"\b(verdict_table|result_grid|result_table|judged_cells)\(")


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
    units = units_of(experiment)
    files = dict.fromkeys(units[name].path.stem for name in row["tasks"].split())
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
