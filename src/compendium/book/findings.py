"""Findings: one list, ``data/paper/findings.csv``, for the overview, the links and the heads of the sections.

The section of a finding computes its evidence in its own cell, which fails if the numbers do not bear it out.
"""

import html

import pandas as pd
from IPython.display import HTML

from .. import records

#: Kinds of evidence, and how sure one can be of what rests on it.
KINDS = {
    "theorem": "proved; the numbers check the proof or are the counter-example",
    "exact computation": "computed to rounding on the data named, without sampling and without a choice of ours",
    "experiment": "measured on the data named, in the stored full run; other data can give other numbers",
    "recount": "counted in the printed numbers",
    "reading of code": "read in the released program, whose effect is measured below",
}


def listed(up: str = "../") -> pd.DataFrame:
    """All findings by key; ``link`` leads to the section, ``up`` is the way from the page to the book's root."""
    found = records.paper_table("findings", words=True).set_index("key")
    found["link"] = [
        f'<a href="{up}papers/{row.paper}/findings.html#finding-{row.Index}">{html.escape(row.title)}</a>'
        for row in found.itertuples()
    ]
    return found


def about(key: str) -> HTML:
    """The head of a section: the kinds of evidence and whom it concerns."""
    one = listed().loc[key]
    kinds = "; ".join(f"<b>{kind}</b> ({html.escape(KINDS[kind])})" for kind in one["kinds"].split("; "))
    return HTML(f'<p class="finding-about">Evidence: {kinds}. Concerns {html.escape(one["affects"])}.</p>')


def links(*keys: str, up: str = "../../") -> HTML:
    """Findings as a list of links to their sections."""
    return HTML(f"<ul>{''.join(f'<li>{link}</li>' for link in listed(up).loc[list(keys), 'link'])}</ul>")
