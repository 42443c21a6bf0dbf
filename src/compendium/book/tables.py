"""Tables of the notebooks and chapters, and the CSV files that stand beside tables and figures."""

import base64
import html
import re
from collections.abc import Mapping, Sequence

import pandas as pd
from IPython.display import HTML

from .. import data as datasets
from .. import paths, records, store
from ..catalogue import experiment
from ..claim_rules import NOT_JUDGED
from ..ledger import evaluation
from ..ledger import state as ledger_state
from ..ledger.claims import SIDES, badge, claims, claims_of_run
from ..ledger.heat import mark
from ..ledger.page import shown_counts, stored
from ..ledger.table import columns, counts, judged_numbers, ledger
from ..ledger.table import published as printed_cells
from ..ledger.tried import tried
from ..ledger.verdicts import YES, Kind, Result
from ..store import units_at
from ..study import Study

#: Rows beyond which a table stays folded under its caption until it is asked for.
LONGEST_OPEN = 40
#: Columns from which on a table of fewer rows is turned: its words become the head of the columns.
WIDEST = 13
#: Columns from which on a number and its spread may stand one above the other.
MANY = 10
#: Columns of a printed table that stand side by side.
BESIDE = 4
_MISSING = re.compile(r"(?<!\w)[+-]?nan\b( ?%)?")


def csv_link(frame: pd.DataFrame, name: str, *, up: int = 2, text: str = "Numbers of this figure (CSV)") -> HTML:
    """Write ``frame`` where the book finds it by its name, and a link to it, from ``up`` folders below the root."""
    rows = frame.to_csv(index=False, lineterminator="\n").encode()
    address = html.escape(f"{'../' * up}_static/numbers/{name}.csv")
    try:
        records.write(paths.build("numbers", f"{name}.csv"), rows)
    except OSError:  # where nothing can be written, the page itself has the numbers
        address = f"data:text/csv;base64,{base64.b64encode(rows).decode()}"
    return HTML(f'<p class="csv-link"><a href="{address}" download>{html.escape(text)}</a></p>')


def table(rows: pd.DataFrame, *, caption: str, classes: str = "result-table") -> HTML:
    """A frame as an HTML table with a caption, folded if long, turned if wide; text cells may hold our own markup."""
    if rows.shape[1] >= max(WIDEST, len(rows)):
        words = list(rows.select_dtypes(exclude="number"))
        rows = rows.set_index(rows[words].agg(", ".join, axis=1)).drop(columns=words).T.reset_index(names="what")
    body = (
        rows.rename_axis(columns=None)
        .to_html(index=False, escape=False, border=0, classes=classes, justify="left", na_rep="–")
        .replace(" ± ", "\u00a0±\u00a0" if rows.shape[1] < MANY else " ± ")
    )
    body = body.replace("<thead>", f"<caption>{html.escape(caption)}</caption>\n  <thead>", 1)
    label = f'role="region" aria-label="{html.escape(caption)}"'
    shown = f'<div class="table-scroll" tabindex="0" {label}>{body}</div>'
    if len(rows) > LONGEST_OPEN:
        head = f"<summary>{len(rows)} rows: {html.escape(caption)}</summary>"
        shown = f'<details class="long-table">{head}{shown}</details>'
    return HTML(shown)


def published(experiment_id: str, dataset: str, k: int) -> pd.DataFrame | None:
    """The paper's own numbers for one data set and k as ``method, metric, mean, std``; None where it prints none."""
    entry, rows = experiment(experiment_id), printed_cells()
    named = rows["dataset"].isin(entry.published_datasets.get(dataset, ()))
    cells = rows[rows["stem"].isin(entry.published) & named & (rows["k"] == str(k))]
    numbers = {"mean": pd.to_numeric(cells["value"]), "std": pd.to_numeric(cells["std"])}
    return cells[["method", "metric"]].assign(**numbers) if len(cells) else None


def result_table(study: Study, *, caption: str, down: str = "method", across: str = "metric", metric: str = "") -> HTML:
    """The printed table of a study, each cell printed, ours and its result with the deviation in per cent.

    Of all values of k where they are its rows, and else of that of the setting; ``metric`` chooses one."""
    cells = judged_numbers(study)
    if down != "k" and "k" in study.setting:
        cells = cells[cells["k"] == str(study.setting["k"])]
    if "dataset" in study.setting:
        cells = cells[cells["dataset"].isin(study.entry.published_datasets.get(study.setting["dataset"], ()))]
    cells = cells[cells["metric"] == metric] if metric else cells
    if cells.empty:
        return sentence("Nothing is printed for this setting.")
    several = [across, *(name for name in ("table", "split") if cells["table"].nunique() > 1)]
    columns = cells[several].agg(", ".join, axis=1)
    text = [printed_and_ours(row) for row in cells.to_dict("records")]
    wide = cells.assign(across=columns, text=text).pivot(index=down, columns="across", values="text")
    wide = wide.loc[cells[down].unique(), columns.unique()].fillna("–").reset_index()
    missing = sorted(set(cells.loc[cells["verdict"] == Kind.NA.value, "reason"]))
    below = "".join(sentence(f"{why}.").data for why in missing)
    parts = [list(wide)[start : start + BESIDE] for start in range(1, wide.shape[1], BESIDE)]
    heads = [f"{caption}: {', '.join(part)}" if len(parts) > 1 else caption for part in parts]
    shown = [
        table(wide[[down, *part]], caption=head, classes="result-table words-1").data
        for part, head in zip(parts, heads, strict=True)
    ]
    return HTML("".join(shown) + below)


def printed_and_ours(row: Mapping[str, str]) -> str:
    """A cell of a printed table: the printed number, ours, and the mark of the verdict with the deviation."""
    mean, std = (pd.to_numeric(row[name], errors="coerce") for name in ("ours", "ours_std"))
    ours = mean_and_spread(mean, std)
    theirs = f"{row['published']} ± {row['published_std']}" if row["published_std"] else row["published"]
    return f"{html.escape(theirs)}{'<br>' if '±' in theirs + ours else ' | '}{ours}<br>{mark(row)}"


def trail(study: Study) -> HTML:
    """Links to everything behind a results page: rows and records, and the card of the data set."""
    base, dataset = "../../", str(study.setting.get("dataset", ""))
    if study.alone:
        shown = csv_link(study.results, f"{study.page}-rows", text="all rows of this run (CSV)").data
    else:
        there = [path for name in study.units if name in units_at(path := study.record_path(name))]
        folder = f"{base}_static/results/full/{study.entry.id}"
        files = dict.fromkeys(path.stem for path in there)
        shown = ", ".join(f"{name} ({stored(f'{folder}/{name}')})" for name in files)
    lines = [f"Numbers: {shown}", f"This run: {html.escape(study.note())}"]
    if dataset in datasets.names():
        lines.insert(0, f'Data card: <a href="{base}data/cards/{dataset}.html">{html.escape(dataset)}</a>')
    return HTML(f'<ul class="trail">{"".join(f"<li>{line}</li>" for line in lines)}</ul>')


def archived(name: str) -> HTML:
    """What rows of the archive are, for the page that shows them (:func:`compendium.store.archived`)."""
    rows, record = store.archived(name)
    commits = ", ".join(sorted({commit[:8] for commit in record["commit"].values()}))
    return sentence(
        f"Archived: {len(rows):,} numbers, computed until {record['finished']} at commit {commits} by "
        f"'{record['command']}'. That code is no longer here, and nothing of it was computed again for this page."
    )


def claim_table(study: Study, ids: list[str]) -> HTML:
    """Claims of a paper with their answers; in a reader's own run with those that its own rows give."""
    judged = claims_of_run(ids, study)
    if study.alone:
        judged[list(SIDES)] = judged[list(SIDES)].replace(NOT_JUDGED, f"{NOT_JUDGED} in this run")
    return _claims(judged)


def claim_answers(ids: list[str]) -> HTML:
    """Claims of a paper with the answers that the stored rows give."""
    return _claims(claims(ids))


def _claims(judged: pd.DataFrame) -> HTML:
    columns = {
        "claim": [f'<span id="claim-{claim}">{claim}</span>' for claim in judged["id"]],
        "statement": judged["claim"].map(html.escape),
        **{name: judged[side].map(badge) for side, name in SIDES.items() if judged[side].any()},
        "numbers": judged["evidence"].map(html.escape),
    }
    if judged["agreement"].any():
        columns["agreement"] = judged["agreement"].map(html.escape)
    return table(pd.DataFrame(columns), caption="Claims and their computed answers")


def drawn(results: pd.DataFrame, experiment_id: str) -> pd.DataFrame:
    """Draws of an evaluation, mean and error over them, beside the ``printed`` numbers of an experiment."""
    found = evaluation.of_draws(results)
    known = [
        numbers.assign(dataset=dataset, k=str(k), printed=numbers["mean"]).drop(columns=["mean", "std"])
        for dataset, k in found[["dataset", "k"]].drop_duplicates().itertuples(index=False)
        if (numbers := published(experiment_id, dataset, k)) is not None
    ]
    if not known:
        return found.assign(printed=float("nan"))
    return found.merge(pd.concat(known), how="left", on=evaluation.NAMES)


def tried_table(study: Study, experiment_id: str, metric: str, column: str, *, described: bool = False) -> HTML:
    """What was tried for the printed numbers of an experiment in one metric, and the control."""
    if not study.published or study.alone:
        return sentence("What was tried is laid beside the printed numbers in the published setting alone.")
    found = tried(study.results, experiment(experiment_id), metric, column, described=described)
    if found.empty:
        return sentence("None of the printed numbers was tried.")
    shown = found.assign(control=found["control"].map("{:.1f}".format))
    shown["best column"] = shown["best column"].map("{:.0%}".format)
    rows = ", our rows as described" if described else ""
    return table(shown, caption=f"{metric}: numbers that are not reproduced and what explains them{rows}")


def evaluation_table(paper: str = "") -> HTML:
    """By metric and method: printed numbers of evaluations that draw, and how many lie within two errors."""
    whole = ledger()
    rows = whole[(whole["within_evaluation"] != "") & whole["paper"].str.startswith(paper)]
    if rows.empty:
        return sentence("No evaluation was drawn again.")
    ours, described = (rows[name] == YES for name in ("within_evaluation", "described_within"))
    no = rows["result"] == Result.NOT.value
    flags = {"drawn": rows["result"] != "", "within two errors": ours, "as described": described}
    flags |= {"not reproduced": no, "of these within two errors": no & ours}
    names = ["paper", "table", "metric"]
    by = [rows[name] for name in names]
    chance = pd.to_numeric(rows["chance_evaluation"]).groupby(by, sort=False).mean().map("{:.0%}".format)
    found = pd.DataFrame(flags).groupby(by, sort=False).sum().assign(**{"another method": chance})
    found.insert(0, "printed", whole.groupby(names).size())
    return table(found.reset_index(), caption="Printed numbers of evaluations that draw, and our draws of them")


def result_counts(paper: str = "") -> HTML:
    """How many printed numbers of a paper, or of all papers, had which result, with the chance agreement."""
    rows = counts(ledger())
    shown = ledger_state.shown(rows.loc[[paper]] if paper else rows)
    heads = {one.value: one.badge() for one in Result}
    return table(shown.rename(columns=heads), caption="Printed numbers by result", classes="result-table words-1")


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
    """How many claims of a paper had which of the three answers."""
    rows = shown_counts(claims(paper=paper))
    return table(rows[rows["paper"] == paper].drop(columns="paper"), caption="Claims of the paper by answer")


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
