"""Findings: one list, ``data/paper/findings.csv``, for the overview, the links and the heads of the sections.

The section of a finding computes its evidence in its own cell, which fails if the numbers do not bear it out.
"""

import html
import re
from typing import NamedTuple

import pandas as pd
from IPython.display import HTML

from evenspan.core.errors import ResultError

from .. import paths, records
from ..book import tables
from ..store import MissingNumbersError
from . import findings_data as data
from . import findings_programs as programs
from . import findings_theorems as theorems
from .findings_evidence import Check, Evidence
from .page import choices

_NUMBER = re.compile(r"[+-]?(\d[\d.,]*|nan)( ?%)?")

#: Kinds of evidence, and how sure one can be of what rests on it.
KINDS = {
    "theorem": "proved; the numbers check the proof or are the counter-example",
    "exact computation": "computed to rounding on the data named, without sampling and without a choice of ours",
    "experiment": "measured on the data named, in the stored full run; other data can give other numbers",
    "recount": "counted in the printed numbers",
    "reading of code": "read in the released program, whose effect is measured below",
}
MISSING = "The stored full run that this rests on is not in this checkout."


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

    @property
    def check(self) -> Check | None:
        """The function of its evidence, where that is not computed in the cell of the section itself."""
        name = self.key.replace("-", "_")
        return next((getattr(where, name) for where in (data, programs, theorems) if hasattr(where, name)), None)


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


def all_evidence() -> dict[str, Evidence | None]:
    """The evidence of every finding, by its key; None as long as it waits for stored results."""
    return {one.key: _computed(one.check) for one in FINDINGS if one.check}


def _computed(check: Check) -> Evidence | None:
    try:
        return check()
    except MissingNumbersError:
        return None


def evidence(key: str) -> Evidence | None:
    """The evidence of one finding, if there is any yet; refuses if the numbers do not bear the statement out."""
    one = finding(key)
    everything = records.computed_once("findings")
    found = _read(everything[key]) if everything else _computed(one.check)
    if found is not None and not found.supported:
        raise ResultError(
            f"The numbers no longer bear out the finding {key!r} ({one.title}): {found.sentence} Correct the "
            f"section in book/{one.page}.md, or find what changed."
        )
    return found


def _read(found: dict | None) -> Evidence | None:
    """The evidence as it was computed once for all pages."""
    if found is None:
        return None
    table = found["table"] and pd.DataFrame(found["table"]["rows"], columns=found["table"]["columns"])
    return Evidence(**found | {"table": table})


def about(key: str) -> HTML:
    """The head of a section: the kinds of evidence and whom it concerns."""
    one = finding(key)
    kinds = "; ".join(f"<b>{html.escape(kind)}</b> ({html.escape(KINDS[kind])})" for kind in one.kinds)
    return HTML(f'<p class="finding-about">Evidence: {kinds}. Concerns {html.escape(one.affects)}.</p>')


def show(key: str) -> HTML:
    """What a section shows: kind of evidence and whom it concerns, the table, and the numbers in words."""
    found, head = evidence(key), about(key).data
    if found is None:
        return HTML(head + tables.sentence(MISSING).data)
    if found.table is not None:
        head += tables.table(_escaped(found.table), caption=found.caption, classes=_classes(found.table)).data
    return HTML(head + tables.sentence(found.sentence).data)


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


def _classes(frame: pd.DataFrame) -> str:
    """How many columns the style sheet aligns as words: those before the first that holds numbers, three at most."""
    numbers = [frame.iloc[:, j].map(lambda v: bool(_NUMBER.fullmatch(str(v)))).all() for j in range(frame.shape[1])]
    leading = numbers.index(True) if any(numbers) else len(numbers)
    return "result-table" if leading == 2 else f"result-table words-{1 if leading < 2 else 3}"


def _escaped(frame: pd.DataFrame) -> pd.DataFrame:
    escaped = frame.map(lambda value: html.escape(value) if isinstance(value, str) else value)
    return escaped.rename(columns=lambda name: html.escape(str(name)))
