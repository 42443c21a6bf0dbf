"""The ledger as a page: counts, the rules in words, every number, every claim.

The table is plain HTML that reads without scripts; ``ledger.js`` adds search, filters and sorting where it can.
"""

from collections.abc import Iterable
from html import escape

import pandas as pd

from .claims import ANSWERS, OPEN, claims
from .verdicts import Kind, explanation, rules

# The verdict stands first, so that a phone shows it without scrolling.
_HEAD = (
    "Verdict", "Paper", "Table", "Data set", "Method", "Metric", "k", "Published", "Full run", "This build", "Trail",
)  # fmt: skip
# Columns that the script offers as a choice.
_CHOICES = {"Paper", "Data set", "Method", "Metric", "Verdict"}


def page(frame: pd.DataFrame, numbers: pd.DataFrame) -> str:
    """Markdown of the page from the rows of the ledger, with this build's numbers, and their counts."""
    judged = claims()
    kinds = {kind.value: kind for kind in Kind}
    open_claims = list(judged["answer"]).count(OPEN)
    words = list(frame["published"]).count("")
    return f"""---
html_theme.sidebar_secondary.remove: true
---

# The ledger

Every number that the tables of the papers print, beside ours: {len(frame) - words:,} numbers. The tables hold
{words} more cells in which no number stands; they are listed and not counted.

{_raw(_counts(numbers))}

## What the verdicts mean

The rules stand in `data/tolerances.yml` and were committed before the full run. Ours is the mean over the
splits of the full run. "This build" is what the machine that made these pages computed itself, without the raw data.

{_raw(_definitions())}

## All numbers

A deviation is ours minus published, in units of the last printed digit.

{_raw(_table(frame, kinds))}

## Claims of the papers

{len(judged)} claims, of which {len(judged) - open_claims} are judged. An answer is computed, never typed.

{_raw(_claims(judged))}
"""


def _counts(table: pd.DataFrame) -> str:
    head = "".join(f'<th scope="col">{kind.badge()}</th>' for kind in Kind)
    body = "".join(
        f'<tr><th scope="row">{escape(str(paper))}</th>'
        + "".join(f"<td>{row[kind.value]:,}</td>" for kind in Kind)
        + f"<td>{row['numbers']:,}</td></tr>\n"
        for paper, row in table.iterrows()
    )
    return _scroll(
        "Numbers per paper and verdict",
        '<table class="ledger-counts"><thead><tr><th scope="col">Paper</th>'
        f'{head}<th scope="col">Numbers</th></tr></thead>\n<tbody>\n{body}</tbody></table>',
    )


def _definitions() -> str:
    meanings = explanation(rules())
    return "<dl>" + "".join(f"<dt>{kind.badge()}</dt><dd>{escape(meanings[kind])}</dd>\n" for kind in Kind) + "</dl>"


def _table(frame: pd.DataFrame, kinds: dict[str, Kind]) -> str:
    head = "".join(f'<th scope="col"{" data-choice" if name in _CHOICES else ""}>{name}</th>' for name in _HEAD)
    body = "".join(_row(row, kinds) for row in frame.to_dict("records"))
    return (
        '<p><a href="_static/ledger.csv" download>Download all rows as CSV</a> (without this build\'s numbers).</p>\n'
        + _scroll(
            "All numbers",
            f'<table class="ledger" data-ledger><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>',
        )
    )


def _row(row: dict[str, str], kinds: dict[str, Kind]) -> str:
    digits = int(row["printed_digits"])
    unit = f" {row['unit']}" if row["unit"] and not row["metric"].startswith(row["unit"]) else ""
    theirs = _pair(row["published"], row["published_std"]) if row["published"] else row["reason"].partition(": ")[2]
    about = row["table"] + (f", {row['split']}" if row["split"] else "")
    deviation = f"{float(row['deviation_digits']):+.1f} digits" if row["deviation_digits"] else ""
    texts = [row["paper"], about, row["dataset"], row["method"], row["metric"] + unit, row["k"]]
    numbers = [theirs, *(_pair(_shown(row[n], digits), _shown(row[f"{n}_std"], digits)) for n in ("ours", "build"))]
    badge = kinds[row["verdict"]].badge(row["reason"])
    note = f'<span class="ledger-deviation">{deviation}</span>' if deviation else ""
    cells = [badge + note, *(escape(text) for text in (*texts, *numbers)), _links(row)]
    return (
        f'<tr id="{escape(row["cell"].replace("/", "-"))}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"
    )


def _links(row: dict[str, str]) -> str:
    """The page, the stored result with its record, and the data card."""
    links = []
    for prefix, profile, where in (("", "full", "full run"), ("build_", "embedded", "this build")):
        experiment, execution = row[f"{prefix}experiment"], row[f"{prefix}execution"]
        if execution and not any(text == "page" for text, _, _ in links):
            links.append(("page", f"experiments/{experiment}/{execution}.html", f"{experiment}, {execution}"))
        if prefix and row["tasks"]:
            continue
        for task in row[f"{prefix}tasks"].split():
            links.append(
                ("CSV", f"_static/results/{profile}/{experiment}/{task}.csv", f"result of the {where}, {task}")
            )
            links.append(("record", f"_static/results/{profile}/{experiment}/{task}.json", f"record of {task}"))
    if card := row["data_card"] or row["build_data_card"]:
        links.append(("data", f"data/cards/{card}.html", f"data card of {card}"))
    return " ".join(f'<a href="{escape(to)}" title="{escape(title)}">{text}</a>' for text, to, title in links)


def _claims(frame: pd.DataFrame) -> str:
    body = "".join(
        f'<tr id="claim-{escape(row["id"])}"><td>{escape(row["id"])}</td><td>{escape(row["paper"])}</td>'
        f"<td>{escape(row['claim'])}</td>"
        f'<td><span class="{ANSWERS[row["answer"]].css}">{escape(row["answer"])}</span></td>'
        f"<td>{escape(row['evidence'])}</td></tr>\n"
        for row in frame.to_dict("records")
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("Claim", "Paper", "What it says", "Answer", "Evidence"))
    return _scroll(
        "Claims", f'<table class="ledger-claims"><thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>'
    )


def _scroll(label: str, table: str) -> str:
    # A region that scrolls must be reachable with the keyboard, and then needs a name.
    return f'<div class="ledger-scroll" role="region" tabindex="0" aria-label="{label}">\n{table}\n</div>'


def _raw(html: str) -> str:
    return f"```{{raw}} html\n{html}\n```"


def _pair(value: str, std: str) -> str:
    return f"{value}\u00a0±\u00a0{std}" if value and std else value  # never broken into two lines


def _shown(text: str, digits: int) -> str:
    """Ours with one decimal more than printed: enough to see why a verdict is what it is."""
    return f"{float(text):.{digits + 1}f}" if text else ""


def summary(table: pd.DataFrame) -> Iterable[str]:
    """One line of counts per paper, from :func:`evenspan.report.ledger.counts`."""
    width = max(map(len, map(str, table.index)))
    for paper, row in table.iterrows():
        said = [f"{row[kind.value]} {kind.value}" for kind in Kind if row[kind.value]]
        yield f"{paper!s:<{width}}  {row['numbers']:>5} numbers: {', '.join(said)}"
