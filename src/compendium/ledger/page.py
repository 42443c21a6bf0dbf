"""The ledger as a page: its state in one line, counts, a picture of every table, every number, every claim.

All of it is plain HTML that reads without scripts; ``ledger.js`` adds filters that stay in the address, sorting and the
download of what is shown. A row is named after its cell, so that it can be linked: ``ledger.html#file-007``.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from urllib.parse import urlencode

import pandas as pd
from IPython.display import HTML

from . import heat as ledger_heat
from . import links as ledger_links
from . import state as ledger_state
from .claims import ANSWERS, SIDES, badge, claims
from .heat import anchor, percent, shown
from .verdicts import EVIDENCE, Kind, explanation, rules

#: Numbers with these verdicts stand beside a published one and do not agree with it.
DIFFERING = {Kind.RANK.value, Kind.DIFFERS.value}
#: Where a built page says how to cite a number (:mod:`compendium.book.addresses`).
CITED = "cite-entry cite-number"
NUMBERS, CLAIMS = "all-numbers", "claims-of-the-papers"
#: Columns with the name under which the script keeps their filter in the address; without a name there is none.
# The verdict and what it is worth stand first, so that a phone shows them without scrolling.
_HEAD = {
    "Verdict": "verdict", "Evidence": "evidence", "Paper": "paper", "Table": "table", "Data set": "dataset",
    "Method": "method", "Metric": "metric", "k": "k", "Published": "", "Ours": "",
    "Off by, digits": "", "Off by, deviations": "", "Control": "", "Control, data": "", "Why": "",
    "Trail": "",
}  # fmt: skip
_CLAIMS_HEAD = {
    "Reproduced here": "answer", "As printed": "printed",
    "Claim": "", "Paper": "claim-paper", "What it says": "", "Evidence": "", "Where": "",
}  # fmt: skip
#: Columns that are sorted by their size, whatever the sign.
_SIZES = {"Off by, digits", "Off by, deviations"}


def page(frame: pd.DataFrame, numbers: pd.DataFrame, judged: pd.DataFrame | None = None) -> str:
    """Markdown of the page: the rows of the ledger, their counts, and the claims, computed now unless given."""
    judged = claims() if judged is None else judged
    pictures = "\n".join(f"### {paper}\n\n{raw(figures)}\n" for paper, figures in ledger_heat.sections(frame))
    return f"""---
html_theme.sidebar_secondary.remove: true
---

# The ledger

{raw(_state(numbers, judged))}

## Does it hold?

{raw(_counts(numbers, judged))}

## Table by table

One field for each number, with its verdict. A field leads to its row below, and to those beside it. The stronger
its colour, the less ours agrees. A small field holds a number that cannot tell the methods apart, or has another reason
to come out or not.

{raw(ledger_heat.legend())}

{pictures}
## What the verdicts mean

The rules stand in `data/tolerances.yml`. Ours is the mean over the splits of the full run.

{raw(_definitions({kind.badge(): text for kind, text in explanation(rules()).items()}))}

## What a number can show

A verdict is worth what a wrong answer would not have got. **Control** is the share of the other methods of the same
table, data set, metric, number of components and split whose result of ours would agree with the printed number under
the same rule; **control, data** the share of the other data sets of the paper for which that of the same method would.
To agree is to be exact or close; of a measured time, to have the same rank.

{raw(_definitions({escape(kind.value): text for kind, text in EVIDENCE.items()}))}

## All numbers

{len(frame):,} numbers. A deviation is ours minus published: beside the verdict in per cent of the published number, and
in units of the last printed digit and in standard deviations.

{raw(_table(frame))}

## Cite a number

The first link of a row is its address, which does not change: table and row. Cite the paper for its number, and the
compendium for ours. `python -m compendium verify EXPERIMENT` computes the numbers of its experiment again from the raw
data. The link *cite* of a row writes the row into this entry:

{raw(f'<pre class="{CITED}"></pre>')}

## Claims of the papers

{len(judged)} claims. An answer is computed, never typed. *As printed* says whether the paper's own tables bear the
claim out, *reproduced here* whether our computation or our runs do.

{raw(_filtered("Claims", "claims", "claim-find", _CLAIMS_HEAD, _claims(judged)))}
"""


def choices(name: str, label: str, head: Mapping[str, str], rows: Iterable[str]) -> HTML:
    """A table over which ``ledger.js`` puts a search and choices; without the script it is a plain table.

    Its name is unique on its page; the label says what it holds, for those who cannot see it. ``head`` maps the heading
    of each column to the name of its choice, empty for none; rows are HTML.
    """
    return HTML(_filtered(label, name, f"{name}-q", head, rows))


def rows_script(table: str) -> str:
    """The CSV of the ledger as a script that a page can load without a server: its lines by the cell they are about."""
    head, *rows = csv.reader(io.StringIO(table))
    lines = {row[0]: _line(row) for row in rows}
    return f"window.evenspanLedger = {json.dumps({'head': _line(head), 'rows': lines}, ensure_ascii=False)};\n"


def _line(row: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(row)
    return stream.getvalue()


def _state(numbers: pd.DataFrame, judged: pd.DataFrame) -> str:
    places = {"table-by-table": "table by table", NUMBERS: "all numbers", CLAIMS: "claims"}
    links = ", ".join(f'<a href="#{to}">{text}</a>' for to, text in places.items())
    line = escape(ledger_state.one_line(numbers, judged))
    return f'<p class="ledger-state">{line}</p>\n<p>Below: {links}.</p>'


def _counts(numbers: pd.DataFrame, judged: pd.DataFrame) -> str:
    """Both tables of counts; every count leads to the rows that were counted."""
    kinds = [kind for kind in Kind if numbers[kind.value].any()]
    head = ["Paper", "Evidence", "Numbers", "Agree", "Of another method", "Of other data", "Most fail"]
    head += [*(kind.badge() for kind in kinds), "Shares"]
    body = []
    texts = ledger_state.counted(numbers)
    for (_, row), shown_as in zip(numbers.iterrows(), texts.to_dict("records"), strict=True):
        paper, evidence = shown_as["paper"], shown_as["evidence"]
        own = {"evidence": evidence} | ({} if paper == "total" else {"paper": paper})
        cells = [escape(evidence), _to(shown_as["numbers"], own, NUMBERS)]
        cells += [shown_as[name] for name in ("agree", "wrong method", "wrong data", "most fail")]
        cells += [_to(shown_as[kind.value], own | {"verdict": kind.value}, NUMBERS) for kind in kinds]
        body.append((paper, [*cells, ledger_heat.bar(row, row["numbers"])]))
    tables = [_plain("Numbers per paper, evidence and verdict", "ledger-counts ledger-evidence", head, body)]
    answers = {name: f'<span class="{kind.css}">{escape(name)}</span>' for name, kind in ANSWERS.items()}
    for side, choice in {"here": "answer", "printed": "printed"}.items():
        body = []
        for paper, row in ledger_state.claim_counts(judged, side).iterrows():
            own = {} if paper == "total" else {"claim-paper": str(paper)}
            cells = [_to(f"{row[name]:,}", own | {choice: name}, CLAIMS) for name in answers]
            body.append((str(paper), [*cells, f"{row['claims']:,}"]))
        label = f"Claims {SIDES[side]}"
        tables.append(_plain(label, "ledger-counts", [f"Paper, {label.lower()}", *answers.values(), "Claims"], body))
    return "\n".join(tables)


def _to(text: str, filters: dict[str, str], place: str) -> str:
    return f'<a href="?{escape(urlencode(filters))}#{place}">{text}</a>' if text != "0" else text


def _plain(label: str, css: str, head: list[str], body: list[tuple[str, list[str]]]) -> str:
    columns = "".join(f'<th scope="col">{name}</th>' for name in head)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"
        for name, cells in body
    )
    return _scroll(label, f'<table class="{css}"><thead><tr>{columns}</tr></thead>\n<tbody>\n{rows}</tbody></table>')


def _definitions(meanings: Mapping[str, str]) -> str:
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>\n" for name, text in meanings.items()) + "</dl>"


def _table(frame: pd.DataFrame) -> str:
    body = "".join(map(_row, frame.to_dict("records")))
    # not "q" for the search: the theme's own search answers to that on every page
    return '<p><a href="_static/ledger.csv" download>Download all rows as CSV</a></p>\n' + _scroll(
        "All numbers",
        '<table class="ledger" data-ledger="ledger" data-search="find" data-rows="_static/ledger-rows.mjs" '
        f'data-differing="only what differs"><thead><tr>{_head(_HEAD)}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table>",
    )


def _filtered(label: str, name: str, search: str, head: Mapping[str, str], rows: Iterable[str]) -> str:
    return _scroll(
        escape(label),
        f'<table class="ledger-claims" data-ledger="{name}" data-search="{search}">'
        f"<thead><tr>{_head(head)}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody></table>",
    )


def _head(columns: Mapping[str, str]) -> str:
    return "".join(
        f'<th scope="col"{f" data-choice={key}" if key else ""}{" data-size" if name in _SIZES else ""}>{name}</th>'
        for name, key in columns.items()
    )


def _row(row: dict[str, str]) -> str:
    digits = int(row["printed_digits"])
    unit = f" {row['unit']}" if row["unit"] and not row["metric"].startswith(row["unit"]) else ""
    about = row["table"] + (f", {row['split']}" if row["split"] else "")
    texts = [row["paper"], about, row["dataset"], row["method"], row["metric"] + unit, row["k"]]
    ours = _pair(shown(row["ours"], digits), shown(row["ours_std"], digits))
    numbers = [_pair(row["published"], row["published_std"]), ours]
    off = [_signed(row["deviation_digits"], 1), _signed(row["deviation_sd"], 2)]
    controls = [percent(row["control"]), percent(row["control_data"])]
    cells = [
        Kind(row["verdict"]).badge() + ledger_heat.off(row),
        *(escape(text) for text in (row["evidence"], *texts, *numbers, *off, *controls, row["reason"])),
        f'{ledger_links.of_number(row)} <a href="#cite-a-number">cite</a>',
    ]
    marks = " data-differs" if row["verdict"] in DIFFERING else ""
    name = escape(anchor(row["cell"]))
    opening = f'<tr id="{name}" data-cell="{escape(row["cell"])}"{marks}>'
    return opening + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _claims(frame: pd.DataFrame) -> Iterator[str]:
    for row in frame.to_dict("records"):
        texts = [escape(row[name]) for name in ("id", "paper", "claim", "evidence")]
        cells = [badge(row["here"]), badge(row["printed"]), *texts, ledger_links.of_claim(row)]
        yield f'<tr id="claim-{texts[0]}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _scroll(label: str, table: str) -> str:
    # A region that scrolls must be reachable with the keyboard, and then needs a name.
    return f'<div class="ledger-scroll" role="region" tabindex="0" aria-label="{label}">\n{table}</div>'


def raw(html: str) -> str:
    """HTML as it stands, in the Markdown of a page."""
    return f"```{{raw}} html\n{html}\n```"


def _pair(value: str, std: str) -> str:
    return f"{value}\u00a0±\u00a0{std}" if value and std else value  # never broken into two lines


def _signed(text: str, digits: int) -> str:
    return f"{float(text):+z.{digits}f}" if text else ""
