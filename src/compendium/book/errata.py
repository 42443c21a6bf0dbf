"""Contradictions within and between the papers, as tables of the book."""

import html

import pandas as pd
from IPython.display import HTML

from ..ledger.contradictions import MARKS
from ..ledger.page import choices
from . import tables


def counted(found: pd.DataFrame) -> HTML:
    """How many contradictions of each paper had which outcome."""
    known = [name for name in MARKS if name in set(found["outcome"])]
    counts = pd.crosstab(found["paper"], found["outcome"]).reindex(columns=known, fill_value=0)
    counts.loc["all"] = counts.sum(axis=0)
    shown = counts.assign(together=counts.sum(axis=1)).rename_axis(index="paper", columns=None).reset_index()
    shown = shown.rename(columns={name: _badge(name) for name in known})
    return tables.table(shown, caption="Contradictions by paper and outcome", classes="result-table words-1")


def table(found: pd.DataFrame) -> HTML:
    """All rows of :func:`resolved`, one line each, with choices by paper, kind and outcome where ``ledger.js`` runs."""
    head = {"Outcome": "outcome", "Number": "", "Paper": "paper", "Statement and objection": "", "Evidence": ""}
    head |= {"Kind": "kind", "Known by": "known"}
    return choices("errata", "Contradictions", head, map(_row, found.to_dict("records")))


def _badge(outcome: str) -> str:
    return f'<span class="{MARKS[outcome].css}">{html.escape(outcome)}</span>'


def _row(row: dict[str, str]) -> str:
    text = {name: html.escape(value) for name, value in row.items()}
    cells = [_badge(row["outcome"]), text["id"], text["paper"]]
    cells += [f"{text['where']}. <b>{text['says']}</b> {text['against']}"]
    cells += [text[name] for name in ("evidence", "kind", "known_by")]
    return f'<tr id="{text["id"]}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"
