"""Where the ledger's links lead: pages of experiments, stored results with their records, data cards, chapters."""

import re
from html import escape

from .. import paths
from ..catalogue import Experiment, catalogue
from ..store import units_of
from .heat import anchor


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
    """Links of a row: itself, its page, the stored results with their records, and the data card."""
    links = [f'<a href="#{anchor(row["cell"])}">{escape(row["cell"])}</a>']
    if row["execution"]:
        links.append(f'<a href="{page_of(catalogue()[row["experiment"]], row["execution"])}">page</a>')
    units = units_of(row["experiment"])
    for name in dict.fromkeys(units[task].path.stem for task in row["tasks"].split()):
        links.append(stored(f"_static/results/full/{row['experiment']}/{name}"))
    if card := row["data_card"]:
        links.append(f'<a href="data/cards/{card}.html">data</a>')
    return " ".join(links)


def of_claim(row: dict[str, str]) -> str:
    """Links of a claim: itself, the experiment that answers it, the chapter with all verdicts."""
    claim, chapter = row["id"], f"papers/{row['paper']}/verdicts"
    links = [f'<a href="#claim-{claim}">{claim}</a>']
    if experiment := row["experiment"]:
        links.append(f'<a href="experiments/{experiment}.html">{experiment}</a>')
    if (paths.root() / "book" / f"{chapter}.md").is_file():
        links.append(f'<a href="{chapter}.html#claim-{claim}">verdicts</a>')
    return " ".join(links)


def slug(heading: str) -> str:
    """The name that a heading has on its page.

    >>> slug("What differs, and why")
    'what-differs-and-why'
    """
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-").lstrip("0123456789-")
