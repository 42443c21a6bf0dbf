"""The ledger as a page: its state in one line, counts, a picture of every table, every number, every claim.

All of it is plain HTML that reads without scripts; ``ledger.js`` adds filters that stay in the address, sorting and the
download of what is shown. A row is named after its cell: ``ledger.html#file-007``.
"""

import json
import re
from collections.abc import Iterable, Mapping
from html import escape

import pandas as pd
from IPython.display import HTML

from ..catalogue import Experiment, catalogue
from ..store import units_of
from . import heat as ledger_heat
from . import state as ledger_state
from .claims import ANSWERS, SIDES, badge, claims
from .heat import anchor, percent, shown
from .verdicts import Result

#: Columns with the name under which the script keeps their filter in the address; without a name there is none.
# The result stands first, so that a phone shows it without scrolling.
_HEAD = {
    "Result": "result", "Paper": "paper", "Table": "table", "Data set": "dataset", "Method": "method",
    "Metric": "metric", "k": "k", "Published": "", "Ours": "", "Grade": "grade",
    "Off by, digits": "", "Distance": "", "Procedure, or why no test": "why",
    "Chance agreement": "", "Links": "",
}  # fmt: skip
#: Columns that are sorted by their size, whatever the sign.
_SIZES = {"Off by, digits"}


def page(frame: pd.DataFrame, numbers: pd.DataFrame, judged: pd.DataFrame | None = None) -> str:
    """Markdown of the page: rows of the ledger, their counts, and the claims, which are computed unless given."""
    judged = claims() if judged is None else judged
    # not "q" for the search: the theme's own search answers to that on every page
    rows = 'class="ledger" data-ledger="ledger" data-rows="_static/ledger-rows.mjs"'
    table = _filtered("All numbers", _HEAD, map(_row, frame.to_dict("records")), rows, "find")
    drawn = dict(ledger_heat.sections(frame))
    pictures = "\n".join(f"(ledger-{paper})=\n### {paper}\n\n{raw(figures)}\n" for paper, figures in drawn.items())
    others = "".join(f"(ledger-{paper})=\n" for paper in judged["paper"].unique() if paper not in drawn)
    answers = shown_counts(judged)
    results = ledger_state.shown(numbers).rename(columns={one.value: one.badge() for one in Result})
    return f"""---
html_theme.sidebar_secondary.remove: true
---

# The ledger

{raw(f'<p class="ledger-state">{escape(ledger_state.sentence(numbers))}</p>')}

The ledger lists the numbers of the printed tables, and ours beside those that can be computed:
[table by table](#table-by-table) as pictures, and [number by number](#all-numbers). It also lists the
[claims of the papers](#claims-of-the-papers). The chapter
[Certificates and results](ch-verdicts) explains the four results, the grades and the [chance agreement](ch-chance). The
chapter *Experiments* of each paper names the procedure behind each column of its tables. The address
`ledger.html#vu2022` shows one paper.

## By paper

{raw(_plain("Numbers per paper and result", results))}

Each claim of a paper has up to three answers: what the paper's own numbers say, what the released program's rows say,
and what our computation says of the method as the paper describes it. None overrides another.

{raw(_plain("Claims per paper and answer", answers))}

(table-by-table)=
## Table by table

Each field is one printed number. Select a field to see its row.

{raw(ledger_heat.legend())}

{pictures}

(all-numbers)=
## All numbers

{len(frame):,} numbers. A deviation is our number minus the published one: in per cent of the published number beside
the result, and in units of the last printed digit. The distance is its size in units of what the
[rule](ch-distances) of the number allows: at most 1 agrees. The first link of a row is its permanent address;
[how to cite a number](ch-cite), [what the columns of the CSV mean, and how to score your own numbers](ch-ledger-data).

{raw(f'<p><a href="_static/ledger.csv" download>Download all rows as CSV</a></p>{chr(10)}{table}')}

{others}(claims-of-the-papers)=
## Claims of the papers

{len(judged)} claims. Each answer is computed, and the numbers that it follows from stand beside it. *Agreement* counts,
by method, how many of the printed numbers behind an answer ours agree with. A claim is *not judged* if what it needs is
missing, if no outcome could make it false, or if it rests on choices that the paper leaves open. Where the printed
tables contradict the text, the [errata](findings/errata) say so.

{raw(_claims(judged))}
"""


def shown_counts(judged: pd.DataFrame) -> pd.DataFrame:
    """How many claims have which answer, with the marks of the answers as heads."""
    table = ledger_state.claim_counts(judged).rename(index=SIDES, level="side").reset_index()
    heads = {"side": "answers", "claims": "asked"} | {name: badge(name) for name in ANSWERS}
    return table.rename(columns=heads)


def choices(name: str, table: pd.DataFrame, choice: Mapping[str, str]) -> HTML:
    """A table of HTML over which ``ledger.js`` puts a search, and choices by headings with a name in the address."""
    head = {one: choice.get(one, "") for one in table}
    rows = (f"<tr><td>{'</td><td>'.join(row)}</td></tr>\n" for row in table.itertuples(index=False))
    return HTML(_filtered(name, head, rows, f'class="ledger-claims" data-ledger="{name}"', f"{name}-q"))


def rows_script(table: str) -> str:
    """The CSV of the ledger as a script that a page can load without a server: its lines by the cell they are about."""
    head, *lines = table.splitlines(keepends=True)
    rows = {line.partition(",")[0]: line for line in lines}
    return f"window.evenspanLedger = {json.dumps({'head': head, 'rows': rows}, ensure_ascii=False)};\n"


def raw(html: str) -> str:
    """HTML as it stands, in the Markdown of a page."""
    return f"```{{raw}} html\n{html}\n```"


def _plain(label: str, table: pd.DataFrame) -> str:
    return _scroll(label, table.to_html(index=False, escape=False, border=0, classes="ledger-counts"))


def _filtered(label: str, head: Mapping[str, str], rows: Iterable[str], attributes: str, search: str) -> str:
    columns = "".join(
        f'<th scope="col"{f" data-choice={key}" if key else ""}{" data-size" if name in _SIZES else ""}>{name}</th>'
        for name, key in head.items()
    )
    body = f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody>"
    return _scroll(escape(label), f'<table {attributes} data-search="{search}">{body}</table>')


def _row(row: dict[str, str]) -> str:
    digits = int(row["printed_digits"])
    unit = f" {row['unit']}" if row["unit"] and not row["metric"].startswith(row["unit"]) else ""
    about = row["table"] + (f", {row['split']}" if row["split"] else "")
    texts = [row["paper"], about, row["dataset"], row["method"], row["metric"] + unit, row["k"]]
    ours = _pair(shown(row["ours"], digits), shown(row["ours_std"], digits))
    numbers = [_pair(row["published"], row["published_std"]), ours, row["verdict"]]
    shapes = {"deviation_digits": "+z.1f", "distance": ".2f"}
    off = [format(float(row[name]), shape) if row[name] else "" for name, shape in shapes.items()]
    why = row["no_test"] or (row["procedure"] if row["by_procedure"] == "yes" else "")
    chosen = escape(row["chosen"]) if row["by_procedure"] == "yes" else ""
    chance = "; ".join(filter(None, [percent(row["chance"]), ledger_heat.evaluated(row)]))
    cells = [
        Result(row["result"]).badge() + ledger_heat.off(row) + (f"<br><small>{chosen}</small>" if chosen else ""),
        *(escape(text) for text in (*texts, *numbers, *off, why, chance)),
        of_number(row),
    ]
    opening = f'<tr id="{anchor(row["cell"])}" data-cell="{row["cell"]}">'
    return opening + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _claims(frame: pd.DataFrame) -> str:
    shown = {
        "Claim": [f'<span id="claim-{claim}">{claim}</span>' for claim in frame["id"]],
        **{name.capitalize(): frame[side].map(badge) for side, name in SIDES.items()},
        "What it says": frame["claim"].map(escape),
        "Numbers": frame["evidence"].map(escape),
        "Agreement": frame["agreement"].map(escape),
        "Paper": frame["paper"],
        "Where": [of_claim(row) for row in frame.to_dict("records")],
    }
    names = {name.capitalize(): side for side, name in SIDES.items()}
    return choices("claims", pd.DataFrame(shown), names | {"Paper": "claim-paper"}).data


def _scroll(label: str, table: str) -> str:
    # A region that scrolls must be reachable with the keyboard, and then needs a name.
    return f'<div class="ledger-scroll" role="region" tabindex="0" aria-label="{label}">\n{table}</div>'


def _pair(value: str, std: str) -> str:
    return f"{value}\u00a0±\u00a0{std}" if value and std else value  # never broken into two lines


# -- where links lead -----------------------------------------------------------------------------------------------


def page_of(entry: Experiment, execution: str = "", name: str = "") -> str:
    """Address of an experiment, of one of its executions, or of what has a name there."""
    place = entry.place(execution, name)
    return f"{entry.page}.html" + (f"#{place}" if place else "")


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
    """Links of a claim: itself, and the experiment that answers it."""
    links = [f'<a href="#claim-{row["id"]}">{row["id"]}</a>']
    if experiment := row["experiment"]:
        links.append(f'<a href="{page_of(catalogue()[experiment])}">{experiment}</a>')
    return " ".join(links)


def slug(heading: str) -> str:
    """The name that a heading has on its page: ``what-differs-and-why``."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-").lstrip("0123456789-")
