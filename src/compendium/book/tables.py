"""Tables of the notebooks and chapters, and the CSV files that stand beside tables and figures."""

import html
import re
from collections.abc import Mapping, Sequence

import pandas as pd
from IPython.display import HTML

from .. import data as datasets
from .. import paths, records, store
from ..catalogue import experiment
from ..claim_rules import IN_PART, NOT_SO
from ..ledger import state as ledger_state
from ..ledger.claims import ANSWERS, badge, claims
from ..ledger.heat import mark, off, percent
from ..ledger.links import stored
from ..ledger.table import columns, counts, judged_numbers, ledger, tally
from ..ledger.verdicts import Kind, Result
from ..protocol import Study
from ..store import home, units_at

#: Rows beyond which a table stays folded under its caption until it is asked for.
LONGEST_OPEN = 40
_MISSING = re.compile(r"(?<!\w)[+-]?nan\b( ?%)?")


def csv_link(frame: pd.DataFrame, name: str, *, up: int = 2, text: str = "Numbers of this figure (CSV)") -> HTML:
    """Write ``frame`` where the book finds it, and a link to it.

    Parameters
    ----------
    frame : DataFrame
    name : str
        Path without ending, unique in the book: ``foundations/moments-shift``.
    up : int
        How many folders the page lies below the book's root.
    text : str
        What the link says.
    """
    rows = frame.to_csv(index=False, lineterminator="\n").encode()
    records.write(paths.build("numbers", f"{name}.csv"), rows)
    address = html.escape(f"{'../' * up}_static/numbers/{name}.csv")
    return HTML(f'<p class="csv-link"><a href="{address}" download>{html.escape(text)}</a></p>')


def table(rows: pd.DataFrame, *, caption: str, classes: str = "result-table") -> HTML:
    """A frame as an HTML table with a caption, folded if long; text cells may hold markup made by this package."""
    body = rows.rename_axis(columns=None).to_html(
        index=False, escape=False, border=0, classes=classes, justify="left", na_rep="–"
    )
    body = body.replace("<thead>", f"<caption>{html.escape(caption)}</caption>\n  <thead>", 1)
    label = f'role="region" aria-label="{html.escape(caption)}"'
    shown = f'<div class="table-scroll" tabindex="0" {label}>{body}</div>'
    if len(rows) > LONGEST_OPEN:
        shown = (
            f'<details class="long-table"><summary>{len(rows)} rows: {html.escape(caption)}</summary>{shown}</details>'
        )
    return HTML(shown)


def published(experiment_id: str, dataset: str, k: int) -> pd.DataFrame | None:
    """The paper's own numbers for one data set and k as ``method, metric, mean, std``; None where it prints none."""
    cells = _cells(ledger(), experiment_id, dataset, k)
    if cells.empty:
        return None
    return pd.DataFrame(
        {
            "method": cells["method"],
            "metric": cells["metric"],
            "mean": cells["published"].astype(float),
            "std": pd.to_numeric(cells["published_std"], errors="coerce"),
        }
    )


def verdict_table(study: Study, rows: pd.DataFrame) -> HTML:
    """The printed table of a setting, methods down and metrics across, each cell printed, ours and its result.

    Ours alone where nothing was published for a setting.

    Parameters
    ----------
    study : Study
        Of a notebook with the parameters ``dataset``, ``k`` and ``splits``.
    rows : DataFrame
        Mean and standard deviation by ``method, metric, protocol``.
    """
    entry, caption = study.entry, f"mean ± standard deviation over {study.setting['splits']} splits"
    cells = judged_numbers(study)
    cells = cells[cells["k"] == str(study.setting["k"])]
    run = cells[cells["ours"] != ""]
    if run.empty:
        released = rows[rows["protocol"].isin(entry.published_protocols.values())]
        several = ["protocol"] if released["protocol"].nunique() > 1 else []
        nothing = "Nothing is printed for this setting, so that there is nothing to judge."
        shown = _wide(released, ["metric", *several], _spreads(released, "mean", "std"))
        return HTML(f"<p>{nothing}</p>" + table(shown, caption=f"Ours: {caption}", classes="result-table words-1").data)
    several = ["table", "split"] if cells["table"].nunique() > 1 else []
    pending = int((cells["verdict"] == Kind.PENDING.value).sum())
    caption = f"Printed, ours and the result, with the deviation in per cent of the printed number; {caption}"
    more = f"<p>{pending} more numbers of this table belong to methods that have not been run.</p>" if pending else ""
    return HTML(_results(run, ["metric", *several], caption).data + more)


def result_table(study: Study, *, caption: str) -> HTML:
    """The printed table of a study: methods down and metrics across, each cell printed, ours and its result."""
    cells = judged_numbers(study)
    cells = cells[cells["dataset"].isin(study.entry.published_datasets.get(study.setting["dataset"], ()))]
    if cells.empty:
        return sentence("Nothing is printed for this setting.")
    missing = sorted(set(cells.loc[cells["verdict"] == Kind.NA.value, "reason"]))
    return HTML(_results(cells, ["metric"], caption).data + "".join(sentence(f"{why}.").data for why in missing))


def _results(cells: pd.DataFrame, across: list[str], caption: str) -> HTML:
    shown = _wide(cells, across, [printed_and_ours(row) for row in cells.to_dict("records")])
    return table(shown, caption=caption, classes="result-table words-1")


def printed_and_ours(row: Mapping[str, str]) -> str:
    """A cell of a printed table: the printed number, ours, and the mark of the verdict with the deviation."""
    ours = _spreads(pd.DataFrame([row]), "ours", "ours_std")[0]
    theirs = html.escape(row["published"])
    theirs += f" ± {html.escape(row['published_std'])}" if row["published_std"] else ""
    return f"{theirs}{'<br>' if '±' in theirs + ours else ' | '}{ours}<br>{mark(row)}"


def result_grid(study: Study, metric: str, *, caption: str) -> HTML:
    """One metric, as printed, of a study: k down, methods across, each cell ``printed | ours`` with its result."""
    cells = judged_numbers(study)
    cells = cells[cells["metric"] == metric]
    if cells.empty:
        return sentence("Nothing is printed for this setting.")
    ours = [f"{float(value):.2f}" if value else "–" for value in cells["ours"]]
    marks = [mark(row) for row in cells.to_dict("records")]
    text = [f"{html.escape(p)} | {o}<br>{m}" for p, o, m in zip(cells["published"], ours, marks, strict=True)]
    wide = cells.assign(text=text, k=cells["k"].astype(int)).pivot(index="k", columns="method", values="text")
    return table(wide[list(dict.fromkeys(cells["method"]))].reset_index(), caption=caption)


def _wide(rows: pd.DataFrame, across: list[str], text: list[str]) -> pd.DataFrame:
    """Texts by method down and what the columns ``across`` hold, in the order of the rows."""
    columns = rows[across].agg(", ".join, axis=1)
    wide = rows.assign(across=columns, text=text).pivot(index="method", columns="across", values="text")
    return wide.loc[rows["method"].unique(), columns.unique()].fillna("–").reset_index()


def trail(study: Study) -> HTML:
    """Links to everything behind a results page: rows and records, and the card of the data set."""
    base, dataset = "../../", str(study.setting.get("dataset", ""))
    folder = f"{base}_static/results/full/{study.entry.id}"
    lines = {"Data card": f'<a href="{base}data/cards/{dataset}.html">{html.escape(dataset)}</a>'}
    lines = lines if dataset in datasets.names() else {}
    shown = ""
    if study.published:
        homes = {name: home(study.entry, task) for name, task in study.units.items()}
        files = dict.fromkeys(path.stem for name, path in homes.items() if name in units_at(path))
        shown = ", ".join(f"{name} ({stored(f'{folder}/{name}')})" for name in files)
    lines["Numbers"] = shown or "computed just now, and not stored"
    lines["This run"] = html.escape(study.note())
    items = "".join(f"<li>{name}: {text}</li>" for name, text in lines.items())
    return HTML(f'<ul class="trail">{items}</ul>')


def archived(name: str) -> HTML:
    """What rows of the archive are, for the page that shows them (:func:`compendium.store.archived`)."""
    rows, record = store.archived(name)
    commits = ", ".join(sorted({commit[:8] for commit in record["commit"].values()}))
    return sentence(
        f"Archived: {len(rows):,} numbers, computed until {record['finished']} at commit {commits} by "
        f"'{record['command']}'. That code is no longer here, and nothing of it was computed again for this page."
    )


def judged_cells(study: Study, *columns: str, caption: str) -> HTML:
    """The printed numbers of a study with ours and their verdicts, one line each, named by columns of the ledger."""
    cells = judged_numbers(study)
    if cells.empty:
        return sentence("Nothing is printed for this setting.")
    shown = cells[[*columns, "published"]].assign(
        ours=[f"{float(value):.3g}" if value else "–" for value in cells["ours"]],
        verdict=[mark(row) for row in cells.to_dict("records")],
        chance=cells["chance"].map(percent),
    )
    return table(shown, caption=caption)


def claim_table(ids: list[str]) -> HTML:
    """Claims of a paper with the computed answers."""
    judged = claims(ids)
    shown = pd.DataFrame(
        {
            "claim": [f'<span id="claim-{claim}">{claim}</span>' for claim in judged["id"]],
            "statement": judged["claim"].map(html.escape),
            "answer": judged["answer"].map(badge),
            "numbers": judged["evidence"].map(html.escape),
        }
    )
    return table(shown, caption="Claims and their computed answers")


def result_counts(paper: str = "") -> HTML:
    """How many printed numbers of a paper, or of all papers, had which result, with the chance agreement."""
    rows = counts(ledger())
    shown = ledger_state.shown(rows.loc[[paper]] if paper else rows)
    heads = {one.value: one.badge() for one in Result}
    return table(shown.rename(columns=heads), caption="Printed numbers by result", classes="result-table words-1")


def result_tally(rows: pd.DataFrame, by: list[str], *, caption: str) -> HTML:
    """The results of rows of the ledger (:func:`compendium.ledger.table.ledger`) by some of its columns."""
    return table(ledger_state.shown(tally(rows, by)), caption=caption, classes=f"result-table words-{len(by)}")


def column_table(paper: str) -> HTML:
    """The columns of a paper's tables, and which procedure each is."""
    rows = columns(ledger())
    rows = rows[rows["paper"] == paper].drop(columns="paper")
    for name in ("by_procedure", "procedure"):
        rows[name] = rows[name].where(rows["procedure"] != "", "–")
    names = {"column": "the column is", "described": "as described", "by_procedure": "by the procedure"}
    order = ["table", "method", "column", "tested", "described", "by_procedure", "procedure"]
    return table(rows[order].rename(columns=names), caption="Column by column", classes="result-table words-3")


def paper_claims(paper: str) -> HTML:
    """How many claims of a paper had which answer."""
    row = ledger_state.claim_counts(claims(paper=paper)).loc[paper]
    marks = (f'<span class="{ANSWERS[one].css}">{row[one]} {one}</span>' for one in ANSWERS if row[one])
    return HTML(f'<p class="verdict-counts">{row["claims"]} claims: {", ".join(marks)}.</p>')


def printed_claims() -> HTML:
    """The claims that the printed tables alone do not bear out."""
    judged = claims()
    judged = judged[judged["printed"].isin((IN_PART, NOT_SO))]
    shown = {"claim": judged["id"], "paper": judged["paper"], "statement": judged["claim"].map(html.escape)}
    shown |= {"as printed": judged["printed"].map(badge), "numbers": judged["evidence"].map(html.escape)}
    return table(pd.DataFrame(shown), caption="Claims and the paper's own tables", classes="result-table words-3")


def differing(experiment_id: str, *, dataset: str, k: int) -> HTML:
    """The tested cells that are not exact, with their deviation and the rule that applied."""
    cells = _cells(ledger(), experiment_id, dataset, k)
    tested = cells[cells["result"] != Result.NO_TEST.value]
    other = tested[tested["verdict"] != Kind.EXACT.value]
    if other.empty:
        return sentence(f"Nothing: all {len(tested)} numbers are equal to the printed digits.")
    shown = pd.DataFrame(
        {
            **_places(cells, other),
            "metric": other["metric"],
            "method": other["method"],
            "published": other["published"],
            "ours": _spreads(other, "ours", "ours_std"),
            "result": [Result(row["result"]).badge() + off(row) for row in other.to_dict("records")],
            "in last digits": [f"{float(v):+.1f}" for v in other["deviation_digits"]],
            "in standard deviations": [f"{float(v):+.2f}" if v else "–" for v in other["deviation_sd"]],
            "grade": other["verdict"],
        }
    )
    return table(shown, caption=f"{len(other)} of {len(tested)} tested numbers are not equal to the printed digits")


def sentence(text: str) -> HTML:
    """A paragraph whose numbers were computed in the cell that shows it; a number that is missing reads "unknown"."""
    return HTML(f"<p>{html.escape(_MISSING.sub('unknown', text))}</p>")


def in_place_of_pca(rows: pd.DataFrame, method: str, metrics: Sequence[str], *, where: str = "") -> HTML:
    """What a method gives up and what it gains: each metric of PCA and of the method, from ``method, metric, mean``."""
    wide = rows.pivot(index="method", columns="metric", values="mean").reindex(["PCA", method])
    if wide.loc[method].isna().all():
        return sentence(f"{method} has no answer here.")
    changed = [f"{one} {wide.loc['PCA', one]:.3g} → {wide.loc[method, one]:.3g}" for one in metrics if one in wide]
    return sentence(f"{method} in the place of PCA{f' ({where})' if where else ''}: {', '.join(changed)}.")


def mean_and_spread(mean: float, std: float | None) -> str:
    """``81.31 ± 1.23``: two decimals above ten, three below, a dash where there is no number."""
    if mean is None or pd.isna(mean):
        return "–"
    digits = 2 if abs(mean) >= 10 else 3
    spread = "" if std is None or pd.isna(std) else f" ± {std:.{digits}f}"
    return f"{mean:.{digits}f}{spread}"


def _cells(rows: pd.DataFrame, experiment_id: str, dataset: str, k: int) -> pd.DataFrame:
    entry = experiment(experiment_id)
    stems = rows["cell"].str.rpartition("/")[0]
    named = rows["dataset"].isin(entry.published_datasets.get(dataset, ()))
    return rows[stems.isin(entry.published) & named & (rows["k"] == str(k))]


def _places(cells: pd.DataFrame, run: pd.DataFrame) -> dict[str, pd.Series]:
    """Which of several published tables a row belongs to; nothing where there is only one."""
    return {"table": run["table"], "sample": run["split"]} if cells["table"].nunique() > 1 else {}


def _spreads(rows: pd.DataFrame, *columns: str) -> list[str]:
    numbers = (pd.to_numeric(rows[column], errors="coerce") for column in columns)
    return [mean_and_spread(mean, spread) for mean, spread in zip(*numbers, strict=True)]
