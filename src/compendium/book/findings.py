"""Findings: one list, ``data/paper/findings.csv``, for the overview, the links and the heads of the sections.

The section of a finding computes its evidence in its own cell, which fails if the numbers do not bear it out.
"""

import html
from typing import NamedTuple

import pandas as pd
from IPython.display import HTML

from evenspan.core.errors import ResultError

from .. import paths
from ..ledger.page import choices
from . import tables

#: Kinds of evidence, and how sure one can be of what rests on it.
KINDS = {
    "theorem": "proved; the numbers check the proof or are the counter-example",
    "exact computation": "computed to rounding on the data named, without sampling and without a choice of ours",
    "experiment": "measured on the data named, in the stored full run; other data can give other numbers",
    "recount": "counted in the printed numbers",
    "reading of code": "read in the released program, whose effect is measured below",
}


class Finding(NamedTuple):
    """One finding: its key, the paper, the heading, the kinds of evidence, and whom it concerns."""

    key: str
    paper: str
    title: str
    kinds: tuple[str, ...]
    affects: str

    @property
    def page(self) -> str:
        """The page of its section, below the book's root."""
        return f"papers/{self.paper}/findings"


def _listed() -> tuple[Finding, ...]:
    rows = pd.read_csv(paths.data("paper", "findings.csv"), dtype=str).to_dict("records")
    return tuple(Finding(**row | {"kinds": tuple(row["kinds"].split("; "))}) for row in rows)


FINDINGS = _listed()


def finding(key: str) -> Finding:
    """The finding of a key."""
    for one in FINDINGS:
        if one.key == key:
            return one
    raise ResultError(f"There is no finding {key!r}; there are {', '.join(one.key for one in FINDINGS)}.")


def about(key: str) -> HTML:
    """The head of a section: the kinds of evidence and whom it concerns."""
    one = finding(key)
    kinds = "; ".join(f"<b>{html.escape(kind)}</b> ({html.escape(KINDS[kind])})" for kind in one.kinds)
    return HTML(f'<p class="finding-about">Evidence: {kinds}. Concerns {html.escape(one.affects)}.</p>')


def overview() -> HTML:
    """All findings with paper, kind of evidence, whom they concern, and a link to the section."""
    rows = (
        f'<tr><td><a href="../{one.page}.html#finding-{one.key}">{html.escape(one.title)}</a></td><td>{one.paper}</td>'
        f"<td>{', '.join(one.kinds)}</td><td>{html.escape(one.affects)}</td></tr>\n"
        for one in FINDINGS
    )
    head = {"Finding": "", "Paper": "paper", "Evidence": "evidence", "Concerns": ""}
    return choices("findings", f"{len(FINDINGS)} findings", head, rows)


def links(*keys: str, up: str = "../../") -> HTML:
    """Findings as a list of links to their sections; ``up`` is the way from the page to the book's root."""
    found = map(finding, keys)
    lines = (f'<a href="{up}{one.page}.html#finding-{one.key}">{html.escape(one.title)}</a>' for one in found)
    return HTML(f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>")


def kinds() -> HTML:
    """The kinds of evidence and what they are worth."""
    frame = pd.DataFrame(
        [(kind, words, sum(kind in one.kinds for one in FINDINGS)) for kind, words in KINDS.items()],
        columns=["evidence", "how sure one can be", "findings that rest on it"],
    )
    return tables.table(frame, caption="Kinds of evidence")
