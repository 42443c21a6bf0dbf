"""The table of contradictions as HTML: described, resolved by computation, filtered by ``ledger.js`` where it runs."""

import html
from collections.abc import Iterable, Mapping

import pandas as pd
from IPython.display import HTML

from ..book import tables
from .contradictions import OUTCOMES, PENDING
from .contradictions_claims import BOTH, FIRST, NEITHER, OPEN, PART, SECOND
from .verdicts import Kind

#: The mark that an outcome shares with a verdict.
MARKS = {
    FIRST: Kind.EXACT, SECOND: Kind.DIFFERS, PART: Kind.ORDER, BOTH: Kind.CLOSE, NEITHER: Kind.DIFFERS, OPEN: Kind.NA,
    PENDING: Kind.PENDING,
}  # fmt: skip
#: Columns, the mark first, with the choice that ``ledger.js`` offers.
_HEAD = {
    "Outcome": "outcome", "Number": "", "Paper": "paper", "Statement and objection": "", "Evidence": "",
    "Kind": "kind", "Known by": "known",
}  # fmt: skip


def table(found: pd.DataFrame) -> HTML:
    """All rows of ``contradictions.resolved()``, one line each, with choices by paper, kind and outcome."""
    return choices("errata", "Contradictions", _HEAD, map(_row, found.to_dict("records")))


def choices(name: str, label: str, head: Mapping[str, str], rows: Iterable[str]) -> HTML:
    """A table over which ``ledger.js`` puts a search and choices; without the script it is a plain table.

    Parameters
    ----------
    name : str
        Of the table, unique on its page.
    label : str
        What the table holds, for those who cannot see it.
    head : mapping of str to str
        Heading of each column -> name of its choice, empty for none.
    rows : iterable of str
        Table rows as HTML.
    """
    cells = "".join(
        f'<th scope="col"{f" data-choice={key}" if key else ""}>{title}</th>' for title, key in head.items()
    )
    return HTML(
        f'<div class="ledger-scroll" role="region" tabindex="0" aria-label="{html.escape(label)}">\n'
        f'<table class="ledger-claims" data-ledger="{name}" data-search="{name}-q"><thead><tr>{cells}</tr></thead>\n'
        f"<tbody>\n{''.join(rows)}</tbody></table></div>"
    )


def counted(found: pd.DataFrame) -> HTML:
    """How many contradictions of each paper had which outcome."""
    known = [name for name in (*OUTCOMES, PENDING) if name in set(found["outcome"])]
    counts = pd.crosstab(found["paper"], found["outcome"]).reindex(columns=known, fill_value=0)
    counts.loc["all"] = counts.sum(axis=0)
    shown = counts.assign(together=counts.sum(axis=1)).rename_axis(index="paper", columns=None).reset_index()
    shown = shown.rename(columns={name: _badge(name) for name in known})
    return tables.table(shown, caption="Contradictions by paper and outcome", classes="result-table words-1")


def _badge(outcome: str) -> str:
    return f'<span class="{MARKS[outcome].css}">{html.escape(outcome)}</span>'


def _row(row: dict[str, str]) -> str:
    said = f"{html.escape(row['where'])}. <b>{html.escape(row['says'])}</b> {html.escape(row['against'])}"
    old = f"<br>{Kind.CHANGED.badge()}" if row["changed"] else ""
    cells = [_badge(row["outcome"]) + old, html.escape(row["id"]), html.escape(row["paper"]), said]
    cells += [html.escape(row[name]) for name in ("evidence", "kind", "known_by")]
    return f'<tr id="{html.escape(row["id"])}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"
