"""The ledger: every number of the published tables beside ours, with its verdict and its trail.

``data/results/ledger.csv`` is a function of committed files only: the published tables, the rules, the list of
experiments and the stored results of the full run. What this build computed itself is added on the page.
"""

import csv
import io
import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from .. import paths
from ..errors import ResultError
from ..experiments import records
from ..experiments.catalogue import Experiment, catalogue, task_id
from ..experiments.store import inspect, read_results
from . import ledger_page
from .verdicts import Kind, Peer, judge, printed_digits, rules

PUBLISHED = ("paper", "table", "dataset", "method", "metric", "k", "split", "value", "std", "bold", "unit", "note")
#: Columns of ledger.csv.
COLUMNS = (
    "cell",
    "paper",
    "table",
    "dataset",
    "method",
    "metric",
    "k",
    "split",
    "unit",
    "published",
    "published_std",
    "printed_digits",
    "ours",
    "ours_std",
    "splits",
    "verdict",
    "deviation_digits",
    "deviation_sd",
    "reason",
    "experiment",
    "execution",
    "tasks",
    "data_card",
)
#: Columns that a page adds for what this build computed.
BUILD_COLUMNS = ("build", "build_std", "build_experiment", "build_execution", "build_tasks", "build_data_card")
#: Files beside the published tables: what the papers claim, and where they contradict themselves.
NOT_TABLES = frozenset({"claims", "contradictions"})
#: A protocol that gives a metric exactly from moments serves wherever the published protocol has no row of its own.
MOMENTS = "moments"


@dataclass(frozen=True)
class Ours:
    """Our side of a cell: mean and population standard deviation over the splits, or why there is none; why stale."""

    mean: float | None
    std: float | None
    splits: int
    reason: str
    experiment: Experiment
    dataset: str
    tasks: tuple[str, ...]
    stale: str = ""


def published() -> pd.DataFrame:
    """Every cell of the published tables as text, in printed order; ``cell`` names it: ``file/row``."""
    frames = []
    for path in sorted(paths.data("paper").glob("*.csv")):
        if path.stem in NOT_TABLES:
            continue
        try:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise ResultError(f"{path} is damaged ({error}). Restore it from the repository.") from error
        if tuple(frame.columns) != PUBLISHED:
            raise ResultError(f"{path} must have the columns {', '.join(PUBLISHED)}, but has {', '.join(frame)}.")
        frame.insert(0, "cell", [f"{path.stem}/{row:03d}" for row in range(1, len(frame) + 1)])
        frame.insert(1, "stem", path.stem)
        key = ["dataset", "method", "metric", "k", "split"]
        if (twice := frame.duplicated(key)).any():
            raise ResultError(f"{path} has two rows for {frame.loc[twice, key].iloc[0].to_dict()}.")
        frames.append(frame)
    if not frames:
        raise ResultError(f"No published table in {paths.data('paper')}. Restore the folder from the repository.")
    return pd.concat(frames, ignore_index=True)


def ledger(build: bool = False, *, tasks: Collection[str] | None = None) -> pd.DataFrame:
    """One row for each published cell, as text.

    Parameters
    ----------
    build : bool
        Add ``BUILD_COLUMNS``: what the embedded profile computed in this checkout, and where.
    tasks : collection of str, optional
        Which results of the embedded profile to read; by default those of all executions. A page that is executed
        beside others names its own, as theirs may not be complete.

    Returns
    -------
    pandas.DataFrame
        Columns ``COLUMNS``. Cells in which the paper prints words (``n/a``, ``fail to converge``) are kept; they have
        an empty ``published`` and the words in ``reason``, and are not counted.
    """
    cells, current = published(), rules()
    full = _collect("full", cells)
    mine = _collect("embedded", cells, tasks) if build else {}
    rows = []
    for (_stem, metric), column in cells.groupby(["stem", "metric"], sort=False):
        digits = printed_digits(column.loc[column["value"] != "", "value"])
        for _, group in column.groupby(["dataset", "k", "split"], sort=False):
            known = {cell.method: (cell.value, full[_key(cell)]) for cell in group.itertuples() if _key(cell) in full}
            for cell in group.itertuples():
                ours = full.get(_key(cell))
                peers = [
                    Peer(value, other.mean)
                    for method, (value, other) in known.items()
                    if method != cell.method and value and other.mean is not None and not other.stale
                ]
                row = {name: getattr(cell, name) for name in ("cell", "paper", "table", "dataset", "method")}
                row |= {"metric": metric, "k": cell.k, "split": cell.split, "unit": cell.unit}
                row |= {"published": cell.value, "published_std": cell.std, "printed_digits": digits}
                row |= _verdict(cell, ours, digits, peers, current)
                row |= {"experiment": "", "execution": "", "tasks": "", "data_card": ""} | _trail(ours, cell.k)
                if build and (here := mine.get(_key(cell))):
                    row |= {f"build_{name}": value for name, value in _trail(here, cell.k).items()}
                    row |= {"build": _number(here.mean), "build_std": _number(here.std)}
                rows.append({name: "" if value is None else str(value) for name, value in row.items()})
    names = [*COLUMNS, *BUILD_COLUMNS] if build else list(COLUMNS)
    frame = pd.DataFrame(rows, columns=names, dtype=object).fillna("")
    return frame.sort_values("cell", ignore_index=True)


def counts(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers per paper (rows, the last is their total) and verdict (columns); cells with words do not count."""
    counted = frame[frame["published"] != ""]
    table = pd.crosstab(counted["paper"], counted["verdict"]).reindex(
        columns=[kind.value for kind in Kind], fill_value=0
    )
    table.loc["total"] = table.sum(axis=0)
    table["numbers"] = table.sum(axis=1)
    table.columns.name = None
    return table


def to_csv(frame: pd.DataFrame) -> bytes:
    """The committed columns as CSV; equal rows give equal bytes."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(frame[list(COLUMNS)].itertuples(index=False, name=None))
    return stream.getvalue().encode()


def path() -> Path:
    """Where the committed ledger is."""
    return paths.data("results", "ledger.csv")


def write(frame: pd.DataFrame) -> Path:
    """Write the committed ledger."""
    records.write(path(), to_csv(frame))
    return path()


def check(frame: pd.DataFrame) -> None:
    """Raise if the committed ledger is not the one that the committed results give."""
    if not path().is_file():
        raise ResultError(f"{path()} is missing. Write it: evenspan ledger")
    stored = path().read_bytes()
    if stored == to_csv(frame):
        return
    old, new = stored.decode(errors="replace").splitlines(), to_csv(frame).decode().splitlines()
    differing = [i for i in range(max(len(old), len(new))) if old[i : i + 1] != new[i : i + 1]]
    where = "; line endings or the last line" if not differing else f", first in line {differing[0] + 1}"
    raise ResultError(
        f"{path()} differs from what the results give in {len(differing)} line(s){where}. Either a result, a rule or a "
        "published table changed, or the file was edited by hand. Write it again (evenspan ledger) and read the change."
    )


def pages() -> dict[str, str]:
    """Generated files of the book by their place in its source: the page and the table to download."""
    frame = ledger(build=True)
    return {
        "ledger.md": ledger_page.page(frame, counts(frame)),
        "_static/ledger.csv": to_csv(frame[list(COLUMNS)]).decode(),
    }


def _key(cell) -> tuple[str, ...]:
    return (cell.stem, cell.dataset, cell.method, cell.metric, cell.k, cell.split)


def _collect(profile: str, cells: pd.DataFrame, tasks: Collection[str] | None = None) -> dict[tuple[str, ...], Ours]:
    """Our numbers by the key of the cell they belong to."""
    found: dict[tuple[str, ...], Ours] = {}
    for entry in catalogue().values():
        if not entry.published:
            continue
        names = None
        if profile == "embedded":
            # Runs with other parameters than an execution's, started by hand, are not part of this build.
            own = [entry.arguments(name, profile) for name in entry.executions]
            names = {task_id({key: value for key, value in given.items() if key != "profile"}) for given in own}
            names = names if tasks is None else names & set(tasks)
        printed = cells[cells["stem"].isin(entry.published)]
        rows = read_results(entry.id, profile, names, damaged=True)
        # Of all that an experiment measures, what the tables print is a small part.
        rows = rows[rows["method"].isin(printed["method"]) & rows["metric"].isin(printed["metric"])]
        stale = {task.name: task.reason for task in inspect(entry.id) if not task.counts} if profile == "full" else {}
        for key, ours in _means(entry, rows, stale):
            if key in found:
                raise ResultError(
                    f"{entry.id} and {found[key].experiment.id} both give a number for {', '.join(key)}. Only one "
                    "experiment may judge a cell; correct experiments.yml."
                )
            found[key] = ours
    return found


def _means(entry: Experiment, frame: pd.DataFrame, stale: Mapping[str, str]) -> Iterable[tuple[tuple[str, ...], Ours]]:
    frame = frame[frame["dataset"].isin(list(entry.published_datasets))]
    for split, protocol in entry.published_protocols.items():
        groups: dict[tuple[str, ...], tuple[str, pd.DataFrame]] = {}
        for wanted in (protocol, MOMENTS):
            rows = frame[frame["protocol"] == wanted]
            for (dataset, method, metric, k), group in rows.groupby(["dataset", "method", "metric", "k"], dropna=False):
                for stem, theirs in itertools.product(entry.published, entry.published_datasets[dataset]):
                    key = (stem, theirs, method, metric, "" if pd.isna(k) else str(k), split)
                    groups.setdefault(key, (dataset, group))
        for key, (dataset, group) in groups.items():
            yield key, _mean(entry, dataset, group, key, stale)


def _mean(entry: Experiment, dataset: str, group: pd.DataFrame, key: tuple[str, ...], stale: Mapping[str, str]) -> Ours:
    numbered = group[group["split"].map(lambda split: split != "all")]
    group = numbered if len(numbered) else group
    tasks = tuple(sorted(set(group["task"])))
    if group["split"].duplicated().any():
        raise ResultError(
            f"{entry.id} has two numbers for one split of {', '.join(key)}, in the tasks {', '.join(tasks)}. Remove "
            "the results of tasks that the protocol no longer has."
        )
    changed = "; ".join(f"{task}: {stale[task]}" for task in tasks if task in stale)
    values = group["value"].tolist()
    if not all(map(math.isfinite, values)):
        reasons = sorted({str(reason) for reason in group.loc[~group["value"].map(math.isfinite), "reason"]})
        return Ours(None, None, len(group), "; ".join(reasons), entry, dataset, tasks, changed)
    # fsum rounds once: the mean does not depend on the order of the splits.
    mean = math.fsum(values) / len(values)
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) if len(values) > 1 else None
    return Ours(mean, std, len(group), "", entry, dataset, tasks, changed)


def _verdict(cell, ours: Ours | None, digits: int, peers: list[Peer], current) -> dict[str, object]:
    mean, std = (ours.mean, ours.std) if ours else (None, None)
    row = {"ours": _number(mean), "ours_std": _number(std), "splits": ours.splits if ours else ""}
    if not cell.value:
        words = cell.note.rpartition("; ")[2]
        return row | {"verdict": Kind.NA.value, "reason": f"the paper prints no number: {words}"}
    if ours and (missing := ours.experiment.stand_ins.get(ours.dataset)):
        return row | {"verdict": Kind.NA.value, "reason": missing}
    if ours and ours.stale and ours.mean is not None:
        return row | {"verdict": Kind.STALE.value, "reason": ours.stale}
    result = judge(
        cell.value,
        mean,
        rules=current,
        digits=digits,
        std=cell.std,
        our_std=std,
        peers=peers,
        reason=ours.reason if ours else "",
    )
    return row | {
        "verdict": result.kind.value,
        "deviation_digits": _short(result.deviation_digits),
        "deviation_sd": _short(result.deviation_sd),
        "reason": result.reason,
    }


def _trail(ours: Ours | None, k: str) -> dict[str, str]:
    """Where our number comes from: experiment, execution (the book's page), tasks and data card."""
    if ours is None:
        return {}
    cell = {"dataset": ours.dataset, "k": k}
    execution = next(
        (
            name
            for name in ours.experiment.executions
            if all(cell[key] == str(v) for key, v in ours.experiment.execution(name).items() if key in cell)
        ),
        "",
    )
    trail = {"experiment": ours.experiment.id, "execution": execution}
    # data that are not at hand have no number, and may have no card
    known = ours.mean is not None or paths.data("cards", f"{ours.dataset}.md").is_file()
    card = ours.dataset if known else ""
    return trail | {"tasks": " ".join(ours.tasks), "data_card": card}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _short(value) -> str:
    return "" if value is None else f"{float(value):.4g}"
