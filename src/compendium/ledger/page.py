"""The ledger as a page: its state in one line, counts, a picture of every table, every number, every claim.

All of it is plain HTML that reads without scripts; ``ledger.js`` adds filters that stay in the address, sorting and the
download of what is shown. A row is named after its cell, so that it can be linked: ``ledger.html#file-007``.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from html import escape
from urllib.parse import urlencode

import pandas as pd
from IPython.display import HTML

from .. import citation, provenance
from ..claim_rules import rule_file
from . import heat as ledger_heat
from . import links as ledger_links
from . import state as ledger_state
from .claims import ANSWERS, badge, claims
from .heat import anchor, percent, shown
from .verdicts import MEANING, Result, explanation, rules

NUMBERS, CLAIMS = "all-numbers", "claims-of-the-papers"
#: The results of numbers that can tell methods apart.
TESTED = [one for one in Result if one is not Result.NO_TEST]
#: Columns with the name under which the script keeps their filter in the address; without a name there is none.
# The result stands first, so that a phone shows it without scrolling.
_HEAD = {
    "Result": "result", "Paper": "paper", "Table": "table", "Data set": "dataset", "Method": "method",
    "Metric": "metric", "k": "k", "Published": "", "Ours": "", "Grade": "grade",
    "Off by, digits": "", "Off by, deviations": "", "Procedure, or why no test": "why",
    "Chance agreement": "", "Links": "",
}  # fmt: skip
_CLAIMS_HEAD = {"Answer": "answer", "Claim": "", "Paper": "claim-paper", "What it says": "", "Numbers": "", "Where": ""}
#: Columns that are sorted by their size, whatever the sign.
_SIZES = {"Off by, digits", "Off by, deviations"}


def page(frame: pd.DataFrame, numbers: pd.DataFrame, columns: pd.DataFrame, judged: pd.DataFrame | None = None) -> str:
    """Markdown of the page: rows of the ledger, their counts, the columns, and the claims, computed unless given."""
    judged, rule = claims() if judged is None else judged, rule_file().column
    pictures = "\n".join(f"### {paper}\n\n{raw(figures)}\n" for paper, figures in ledger_heat.sections(frame))
    return f"""---
html_theme.sidebar_secondary.remove: true
---

# The ledger

{raw(_state(numbers))}

## By paper

{raw(_counts(numbers, judged))}

## Column by column

A column, which is a method of a printed table, is another procedure's if at least {_share(rule.agree)} of its tested
numbers agree with that procedure and fewer than {_share(rule.described_below)} as the paper describes it; it is as
described if at least {_share(rule.agree)} agree so.

{raw(_columns(columns))}

## Table by table

One field for each number. A field leads to its row below, and to those beside it.

{raw(ledger_heat.legend())}

{pictures}
## What the results mean

{raw(_definitions({one.badge(): text for one, text in MEANING.items()}))}

**Chance agreement** is the control: the share of the other methods of the same table, data set, metric, number of
components and split whose result of ours would agree with the printed number by the same rule, and of other data sets
where a table has no methods. To agree is to be exact or close. The grades, by the rules in `data/tolerances.yml`:

{raw(_definitions({escape(kind.value): text for kind, text in explanation(rules()).items()}))}

## All numbers

{len(frame):,} numbers. A deviation is ours minus published: beside the result in per cent of the published number, and
in units of the last printed digit and in standard deviations.

{raw(_table(frame))}

## Cite a number

The first link of a row is its address, which does not change: table and row. Cite the paper for its number, and the
compendium for ours. `python -m compendium verify EXPERIMENT` computes the numbers of its experiment again from the raw
data. The link *cite* of a row writes the row into this entry:

{raw(_cite_a_number())}

## Claims of the papers

{len(judged)} claims. An answer is computed, never typed, with the numbers beside it. Where the printed tables
contradict the text, the [errata](findings/errata) say so.

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


def _cite_a_number() -> str:
    """The entry for any row of the table: ``ledger.js`` puts a row in the place of the words in capitals."""
    commit, changed = provenance.commit()
    entry = citation.part(citation.citation(), "KEY", "NUMBER", "ledger.html#TABLE-ROW", commit, bool(changed))
    text = escape(entry.replace("KEY", "evenspan-TABLE-ROW"))
    return f'<pre class="cite-entry cite-number">{text}</pre>'


def _state(numbers: pd.DataFrame) -> str:
    places = {"column-by-column": "columns", "table-by-table": "tables", NUMBERS: "all numbers", CLAIMS: "claims"}
    links = ", ".join(f'<a href="#{to}">{text}</a>' for to, text in places.items())
    line = escape(ledger_state.sentence(numbers))
    return f'<p class="ledger-state">{line}</p>\n<p>Below: {links}.</p>'


def _counts(numbers: pd.DataFrame, judged: pd.DataFrame) -> str:
    """Both tables of counts; every count leads to the rows that were counted."""
    head = [
        "Paper",
        "printed",
        Result.NO_TEST.badge(),
        "tested",
        *(one.badge() for one in TESTED),
        "chance agreement",
        "",
    ]
    body = []
    for (paper, row), text in zip(numbers.iterrows(), ledger_state.shown(numbers).to_dict("records"), strict=True):
        own = {} if paper == "all" else {"paper": paper}
        cells = [_to(text["printed"], own, NUMBERS)]
        cells += [_to(text[Result.NO_TEST.value], own | {"result": Result.NO_TEST.value}, NUMBERS), text["tested"]]
        cells += [_to(text[one.value], own | {"result": one.value}, NUMBERS) for one in TESTED]
        body.append((str(paper), [*cells, text["chance agreement"], ledger_heat.bar(row)]))
    tables = [_plain("Numbers per paper and result", "ledger-counts", head, body)]
    answers, body = {name: f'<span class="{one.css}">{escape(name)}</span>' for name, one in ANSWERS.items()}, []
    for paper, row in ledger_state.claim_counts(judged).iterrows():
        own = {} if paper == "all" else {"claim-paper": str(paper)}
        cells = [_to(f"{row[name]:,}", own | {"answer": name}, CLAIMS) for name in answers]
        body.append((str(paper), [f"{row['claims']:,}", *cells]))
    return "\n".join(
        [*tables, _plain("Claims per paper and answer", "ledger-counts", ["Paper", "claims", *answers.values()], body)]
    )


def _columns(columns: pd.DataFrame) -> str:
    head = ["Column", "tested", "as described", "by the procedure", "procedure"]
    body = [
        (
            ", ".join(filter(None, (row["paper"], row["table"], row["method"]))),
            [
                _column_mark(row["column"]),
                f"{row['tested']:,}",
                f"{row['described']:,}",
                f"{row['by_procedure']:,}" if row["procedure"] else "",
                escape(row["procedure"]),
            ],
        )
        for row in columns.to_dict("records")
    ]
    return _plain("Columns of the printed tables", "ledger-counts", [head[0], "is", *head[1:]], body)


def _column_mark(column: str) -> str:
    return Result(column).badge() if column in {one.value for one in Result} else escape(column)


def _share(size: Decimal) -> str:
    return f"{size:.0%}".replace("%", "\u00a0%")


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
        '<table class="ledger" data-ledger="ledger" data-search="find" data-rows="_static/ledger-rows.mjs">'
        f"<thead><tr>{_head(_HEAD)}</tr></thead>\n"
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
    numbers = [_pair(row["published"], row["published_std"]), ours, row["verdict"]]
    off = [_signed(row["deviation_digits"], 1), _signed(row["deviation_sd"], 2)]
    why = row["no_test"] or (row["procedure"] if row["by_procedure"] == "yes" else "")
    cells = [
        Result(row["result"]).badge() + ledger_heat.off(row),
        *(escape(text) for text in (*texts, *numbers, *off, why, percent(row["chance"]))),
        f'{ledger_links.of_number(row)} <a href="#cite-a-number">cite</a>',
    ]
    opening = f'<tr id="{escape(anchor(row["cell"]))}" data-cell="{escape(row["cell"])}">'
    return opening + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _claims(frame: pd.DataFrame) -> Iterator[str]:
    for row in frame.to_dict("records"):
        texts = [escape(row[name]) for name in ("id", "paper", "claim", "evidence")]
        cells = [badge(row["answer"]), *texts, ledger_links.of_claim(row)]
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
