"""Tables of the notebooks and chapters, and the CSV files that stand beside tables and figures."""

import html
from collections.abc import Iterable

import pandas as pd
from IPython.display import HTML

from .. import paths
from ..experiments.catalogue import experiment, task_id
from ..experiments.store import read_records
from .claims import ANSWERS, CHANGED, SIDES, UNMOVED, answered, badge, claims, unmoved
from .ledger import counts, ledger, tally
from .ledger_heat import mark, percent
from .ledger_links import stored
from .ledger_state import agreement, counted, sentences
from .verdicts import VERSION, Evidence, Kind


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
    path = paths.results("embedded", "figures", f"{name}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, lineterminator="\n")
    return HTML(_link(f"{'../' * up}_static/results/embedded/figures/{name}.csv", text))


def table(rows: pd.DataFrame, *, caption: str, classes: str = "result-table") -> HTML:
    """A frame as an HTML table with a caption; text cells may hold markup made by this package."""
    body = rows.rename_axis(columns=None).to_html(
        index=False, escape=False, border=0, classes=classes, justify="left", na_rep="–"
    )
    body = body.replace("<thead>", f"<caption>{html.escape(caption)}</caption>\n  <thead>", 1)
    label = f'role="region" aria-label="{html.escape(caption)}"'
    return HTML(f'<div class="table-scroll" tabindex="0" {label}>{body}</div>')


def published(experiment_id: str, dataset: str, k: int) -> pd.DataFrame | None:
    """The paper's own numbers for one data set and k as ``method, metric, mean, std``; None where it prints none."""
    cells = _cells(experiment_id, dataset, k)
    cells = cells[cells["published"] != ""]
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


def verdict_table(experiment_id: str, rows: pd.DataFrame, *, dataset: str, k: int) -> HTML:
    """Published, full run and this build side by side, with verdicts; without them where nothing was published.

    Parameters
    ----------
    experiment_id : str
    rows : DataFrame
        Mean and standard deviation by ``method, metric, protocol, source``.
    dataset, k
        Which part of the published table to lay beside them.
    """
    released = rows[rows["protocol"].isin(experiment(experiment_id).published_protocols.values())]
    cells = _cells(experiment_id, dataset, k)
    run = cells[cells["ours"] != ""]
    if run.empty:
        if len(cells):  # only what the paper prints is to be compared one day
            released = released[released["method"].isin(cells["method"]) & released["metric"].isin(cells["metric"])]
        shown = released.assign(
            text=[mean_and_spread(m, s) for m, s in zip(released["mean"], released["std"], strict=True)]
        )
        several = ["protocol"] if released["protocol"].nunique() > 1 else []
        index = [*several, "metric", "method"]
        wide = shown.pivot(index=index, columns="source", values="text")
        wide = wide.reindex(pd.MultiIndex.from_frame(released[index].drop_duplicates())).reset_index()
        note = "No published numbers for these data and this k are at hand, so there is nothing to judge."
        if len(cells):
            note = f"The {len(cells)} numbers that the paper prints have not been run yet."
        return HTML(
            f"<p>{note}</p>" + table(wide.fillna("–"), caption="Mean ± standard deviation over the splits").data
        )
    shown = pd.DataFrame(
        {
            **_places(cells, run),
            "metric": run["metric"],
            "method": run["method"],
            "published": [
                _printed(value, std) for value, std in zip(run["published"], run["published_std"], strict=True)
            ],
            "full run": _column(run, "ours", "ours_std"),
            "this build": _column(run, "build", "build_std"),
            "verdict": [mark(row) for row in run.to_dict("records")],
            "deviation": [f"{float(v):+.1f}" if v else "" for v in run["deviation_digits"]],
            "control": run["control"].map(percent),
        }
    )
    pending = int((cells["verdict"] == Kind.PENDING.value).sum())
    caption = (
        "Mean ± standard deviation over the splits; deviation in units of the last printed digit; control: how many of "
        "the other methods would have passed as well"
    )
    note = (
        f"<p>{pending} more numbers of this table belong to methods that have not been run yet.</p>" if pending else ""
    )
    return HTML(table(shown, caption=caption).data + note)


def trail(experiment_id: str, *, up: int = 2, **parameters) -> HTML:
    """Links to everything behind a results page: rows and records of both runs, and the card of the data set.

    ``parameters`` are those of the page; full-run tasks that agree with them are listed.
    """
    entry, base = experiment(experiment_id), "../" * up

    def files(profile: str, names: Iterable[str]) -> str:
        folder = f"{base}_static/results/{profile}/{experiment_id}"
        return ", ".join(f"{name} ({stored(f'{folder}/{name}')})" for name in names) or "nothing stored"

    shared = {name: {key: task[key] for key in task if key in parameters} for name, task in entry.tasks().items()}
    full = [name for name, task in shared.items() if all(parameters[key] == value for key, value in task.items())]
    there = read_records(experiment_id)
    dataset = parameters.get("dataset")
    card = {"Data card": f'<a href="{base}data/cards/{dataset}.html">{html.escape(dataset)}</a>'} if dataset else {}
    lines = card | {
        "This build": files("embedded", [task_id(parameters)]),
        "Full run": files("full", dict.fromkeys(there[name]["file"] for name in full if name in there)),
    }
    items = "".join(f"<li>{name}: {text}</li>" for name, text in lines.items())
    return HTML(f'<ul class="trail">{items}</ul>')


def claim_table(ids: list[str]) -> HTML:
    """Claims of a paper with the computed answers."""
    judged = claims(ids)
    shown = pd.DataFrame(
        {
            "claim": judged["id"],
            "statement": judged["claim"].map(html.escape),
            SIDES["here"]: [
                badge(answer, state) for answer, state in zip(judged["here"], judged["state"], strict=True)
            ],
            SIDES["printed"]: judged["printed"].map(badge),
            "evidence": judged["evidence"].map(html.escape),
        }
    )
    return table(shown, caption="Claims and their computed answers")


def verdict_counts(paper: str) -> HTML:
    """How many of a paper's numbers received which verdict, by what they can show, with their control."""
    rows = counts(ledger()).loc[paper]
    return sentence(f"{rows['numbers'].sum(axis=0)} printed numbers: {'; '.join(sentences(rows))}.")


def verdict_tally(rows: pd.DataFrame, by: list[str], *, caption: str) -> HTML:
    """Verdicts of rows of the ledger by some of its columns, with what another method would have got.

    Parameters
    ----------
    rows : DataFrame
        Rows of :func:`compendium.report.ledger.ledger`.
    by : list of str
        Columns of the ledger.
    caption : str
    """
    note = " (agree: exact or close, of times the same order; wrong method, wrong data: how many of those would agree)"
    return table(counted(tally(rows, by)), caption=caption + note, classes=f"result-table words-{len(by)}")


def verdict_versions() -> HTML:
    """The judged numbers by paper under both versions of the rules, with the controls of each."""
    versions = {version: ledger(version=version) for version in range(1, VERSION + 1)}
    rows = pd.concat([rows.assign(rules=f"version {version}") for version, rows in versions.items()])
    rows = rows[rows["evidence"] != Evidence.NONE.value].sort_values("paper", kind="stable")
    rows = pd.concat([rows, rows.assign(paper="total")])
    return verdict_tally(rows, ["paper", "rules"], caption="Judged numbers under both versions of the rules")


def paper_claims(paper: str) -> HTML:
    """How many of a paper's claims received which answer, on either side."""
    judged, lines = claims(paper=paper), []
    for side, name in SIDES.items():
        answers = answered(judged, side).value_counts()
        marks = [f"{answers[one]} {badge(one)}" for one in ANSWERS if one in answers]
        marks += [f"{answers[CHANGED]} {Kind.CHANGED.badge()}"] if CHANGED in answers else []
        if marks:
            lines.append(f"{answers.sum(axis=0)} {name}: {', '.join(marks)}")
    return HTML(f'<p class="verdict-counts">Of {len(judged)} claims {"; ".join(lines)}</p>')


def unmoved_claims() -> HTML:
    """The answers that our stored results cannot move, counted by what they rest on; those with a reason one by one."""
    found = unmoved(claims())
    named = found["id"].isin(UNMOVED)
    lines = [
        (len(some), ", ".join(some["id"]), html.escape(why))
        for why, some in [*found[~named].groupby("why", sort=False), *found[named].groupby("why", sort=False)]
    ]
    shown = pd.DataFrame(lines, columns=["number", "claims", "rests on, or why nothing moves it"])
    return table(shown, caption="Claims whose answer our stored results cannot move")


def inexact(experiment_id: str, *, dataset: str, k: int) -> HTML:
    """The judged cells that are not equal to the printed digits, with their deviation and the rule that applied."""
    cells = _cells(experiment_id, dataset, k)
    judged = cells[cells["deviation_digits"] != ""]
    other = judged[judged["verdict"] != Kind.EXACT.value]
    whole = tally(judged, ["paper"])
    control = "" if whole.empty else f"; {agreement(whole.iloc[0])}"
    if other.empty:
        return sentence(f"Nothing: all {len(judged)} numbers are equal to the printed digits{control}.")
    shown = pd.DataFrame(
        {
            **_places(cells, other),
            "metric": other["metric"],
            "method": other["method"],
            "published": other["published"],
            "full run": _column(other, "ours", "ours_std"),
            "verdict": [Kind(verdict).badge() for verdict in other["verdict"]],
            "deviation in last digits": [f"{float(v):+.1f}" for v in other["deviation_digits"]],
            "in standard deviations": [f"{float(v):+.2f}" if v else "–" for v in other["deviation_sd"]],
            "reason": other["reason"].map(html.escape),
        }
    )
    return table(shown, caption=f"{len(other)} of {len(judged)} numbers are not equal to the printed digits{control}")


def sentence(text: str) -> HTML:
    """A paragraph whose numbers were computed in the cell that shows it."""
    return HTML(f"<p>{html.escape(text)}</p>")


def mean_and_spread(mean: float, std: float | None) -> str:
    """``81.31 ± 1.23``: two decimals above ten, three below, a dash where there is no number."""
    if mean is None or pd.isna(mean):
        return "–"
    digits = 2 if abs(mean) >= 10 else 3
    spread = "" if std is None or pd.isna(std) else f" ± {std:.{digits}f}"
    return f"{mean:.{digits}f}{spread}"


def _cells(experiment_id: str, dataset: str, k: int) -> pd.DataFrame:
    entry = experiment(experiment_id)
    rows = ledger(build=True, tasks=[task_id({"dataset": dataset, "k": k})])
    stems = rows["cell"].str.rpartition("/")[0]
    named = rows["dataset"].isin(entry.published_datasets.get(dataset, ()))
    return rows[stems.isin(entry.published) & named & (rows["k"] == str(k))]


def _places(cells: pd.DataFrame, run: pd.DataFrame) -> dict[str, pd.Series]:
    """Which of several published tables a row belongs to; nothing where there is only one."""
    return {"table": run["table"], "sample": run["split"]} if cells["table"].nunique() > 1 else {}


def _printed(value: str, std: str) -> str:
    return f"{value} ± {std}" if std else value or "–"


def _column(rows: pd.DataFrame, value: str, std: str) -> list[str]:
    numbers = (
        (pd.to_numeric(v, errors="coerce"), pd.to_numeric(s, errors="coerce"))
        for v, s in zip(rows[value], rows[std], strict=True)
    )
    return [mean_and_spread(mean, spread) for mean, spread in numbers]


def _link(address: str, text: str) -> str:
    return f'<p class="csv-link"><a href="{html.escape(address)}" download>{html.escape(text)}</a></p>'
