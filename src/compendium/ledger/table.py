"""The ledger: every number of the published tables beside ours, with its verdict and its trail.

``data/results/ledger.csv`` is a function of committed files only: the published tables, the rules, the list of
experiments and the stored results.

Every number has one of four results (:class:`~compendium.ledger.verdicts.Result`). Beside the tested ones stands the
chance agreement: how often our result of another method of the same table would agree by the same rules.
"""

import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths, records
from ..catalogue import TIMING, Experiment, catalogue
from ..claim_rules import rule_file
from ..protocol import Study
from ..store import read_results
from . import page as ledger_page
from .verdicts import (
    ALONE,
    ALWAYS,
    UNAVAILABLE,
    Kind,
    Peer,
    Result,
    Rules,
    Verdict,
    judge,
    passes,
    printed_digits,
    rules,
)

PUBLISHED = ("paper", "table", "dataset", "method", "metric", "k", "split", "value", "std", "bold", "unit", "note")
#: Columns of ledger.csv.
COLUMNS = (
    "cell", "paper", "table", "dataset", "method", "metric", "k", "split", "unit", "published", "published_std",
    "printed_digits", "ours", "ours_std", "splits", "verdict", "deviation_digits", "deviation_sd", "reason",
    "experiment", "execution", "tasks", "data_card", "result", "no_test", "chance", "ours_described", "described",
    "procedure", "ours_procedure", "by_procedure",
)  # fmt: skip
#: Of tested numbers: whether they agree as the paper describes, and by the named procedure.
YES, NO = "yes", "no"
#: A protocol that gives a metric exactly from moments serves wherever the published protocol has no row of its own.
MOMENTS = "moments"
#: Files beside the published tables: what the papers claim, where they contradict themselves, and what we found.
NOT_TABLES = frozenset({"claims", "contradictions", "findings"})
#: Where other methods stand beside a cell; what is the same on other data.
_place = operator.attrgetter("stem", "dataset", "metric", "k", "split")
_quantity = operator.attrgetter("paper", "method", "metric", "k", "split")


class Key(NamedTuple):
    """Which number of a published table a cell holds."""

    stem: str
    dataset: str
    method: str
    metric: str
    k: str
    split: str


def _key(cell) -> Key:
    return Key(*(getattr(cell, name) for name in Key._fields))


def published() -> pd.DataFrame:
    """Every number of the published tables as text, in printed order; ``cell`` names it: ``file/row``."""
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
        frames.append(frame[frame["value"] != ""])  # where words are printed, the note has them
    if not frames:
        raise ResultError(f"No published table in {paths.data('paper')}. Restore the folder from the repository.")
    return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True)
class Ours:
    """Our side of a cell: mean and population standard deviation over the splits, or why there is none."""

    mean: float | None
    std: float | None
    splits: int
    reason: str
    experiment: Experiment
    dataset: str
    tasks: tuple[str, ...]

    @property
    def counted(self) -> bool:
        """Whether it may be judged, and bear witness for or against other numbers."""
        return self.mean is not None and self.dataset not in self.experiment.stand_ins

    @property
    def draws(self) -> tuple[int, int | None] | None:
        """Our number of random splits or starts and the paper's, where they are not the same ones."""
        return (self.splits, self.experiment.repetitions) if self.experiment.splits == "own" else None


def collect(cells: pd.DataFrame, run: Study | None = None) -> dict[Key, Ours]:
    """Our numbers by the key of the cell they belong to: the stored ones, those of a page's ``run`` in their place."""
    found: dict[Key, Ours] = {}
    for entry in catalogue().values():
        if not set(entry.published) & set(cells["stem"]):
            continue
        printed = cells[cells["stem"].isin(entry.published)]
        rows = read_results(entry.id)
        if run and run.entry.id == entry.id:
            own = set(zip(run.results["dataset"], run.results["k"].astype(str), strict=True))
            others = [key not in own for key in zip(rows["dataset"], rows["k"].astype(str), strict=True)]
            rows = pd.concat([rows[others], run.results], ignore_index=True)
        # Of all that an experiment measures, what the tables print is a small part.
        others = [one.described or one.rows for one in entry.procedures]
        for one in entry.procedures:
            if one.experiment:
                elsewhere = read_results(one.experiment)
                rows = pd.concat([rows, elsewhere[elsewhere["method"] == one.rows]], ignore_index=True)
        rows = rows[rows["method"].isin([*printed["method"], *others]) & rows["metric"].isin(printed["metric"])]
        columns = rows.reindex(columns=["split", "task", "value", "reason"])
        columns = {name: column.to_numpy() for name, column in columns.items()}
        for key, (dataset, at) in _behind(entry, rows).items():
            if key in found:
                raise ResultError(
                    f"{entry.id} and {found[key].experiment.id} both give a number for {', '.join(key)}. Only one "
                    "experiment may judge a cell; correct experiments.yml."
                )
            behind = {name: column[at] for name, column in columns.items()}
            found[key] = _mean(entry, dataset, behind, key)
    return found


def _behind(entry: Experiment, rows: pd.DataFrame) -> dict[Key, tuple[str, np.ndarray]]:
    """Where the rows behind each cell are that an experiment judges, with our name of the data set."""
    places: dict[Key, tuple[str, np.ndarray]] = {}
    judged = rows["dataset"].isin(list(entry.published_datasets))
    for (split, protocol), moments in itertools.product(entry.published_protocols.items(), (False, True)):
        some = np.flatnonzero(judged & (rows["protocol"] == (MOMENTS if moments else protocol)))
        groups = rows.iloc[some].groupby(["dataset", "method", "metric", "k"], dropna=False).indices
        for (dataset, method, metric, k), at in groups.items():
            for stem, theirs in itertools.product(entry.published, entry.published_datasets[dataset]):
                key = Key(stem, theirs, method, metric, "" if pd.isna(k) else str(k), split)
                places.setdefault(key, (dataset, some[at]))
    return places


def _mean(entry: Experiment, dataset: str, behind: dict, key: Key) -> Ours:
    """Mean and spread of the rows ``behind`` a cell, whose columns are given as arrays."""
    numbered = behind["split"] != "all"
    if numbered.any():
        behind = {name: column[numbered] for name, column in behind.items()}
    splits, values, reasons = behind["split"], behind["value"].tolist(), behind["reason"]
    tasks = tuple(sorted(set(behind["task"])))
    if len(set(splits)) < len(splits):
        raise ResultError(
            f"{entry.id} has two numbers for one split of {', '.join(key)}, in the tasks {', '.join(tasks)}. Remove "
            "the results of tasks that the protocol no longer has."
        )
    if not all(map(math.isfinite, values)):
        reasons = sorted({str(why) for why, value in zip(reasons, values, strict=True) if not math.isfinite(value)})
        return Ours(None, None, len(values), "; ".join(reasons), entry, dataset, tasks)
    # fsum rounds once: the mean does not depend on the order of the splits. Equal values have no spread, nor its noise.
    mean = math.fsum(values) / len(values) if min(values) < max(values) else values[0]
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) if len(values) > 1 else None
    return Ours(mean, std, len(values), "", entry, dataset, tasks)


def ledger(run: Study | None = None) -> pd.DataFrame:
    """One row for each published number, as text: the columns ``COLUMNS``.

    On the page of a study (``run``) of its tables alone, and with its rows in the place of those that are stored.
    """
    if not run and (known := records.computed_once("ledger")) is not None:
        return known
    cells, current = published(), rules()
    if run:
        cells = cells[cells["stem"].isin(run.entry.published)]
    full = collect(cells, run)
    # What a number is judged beside: other methods on the same data, and the same method on other data.
    methods, datasets = defaultdict(dict), defaultdict(dict)
    for cell in cells.itertuples():
        if (ours := full.get(_key(cell))) and ours.counted:
            methods[_place(cell)][cell.method] = (cell.value, ours)
            datasets[_quantity(cell)][cell.dataset] = ours
    rows = []
    for _, column in cells.groupby(["stem", "metric"], sort=False):
        digits = printed_digits(column["value"])
        for cell in column.itertuples():
            ours = full.get(_key(cell))
            others = [one for method, one in methods[_place(cell)].items() if method != cell.method]
            elsewhere = [one for dataset, one in datasets[_quantity(cell)].items() if dataset != cell.dataset]
            row = {name: getattr(cell, name) for name in COLUMNS[: COLUMNS.index("published")]}
            row |= {"published": cell.value, "published_std": cell.std, "printed_digits": digits}
            row |= _verdict(cell, full, digits, others, elsewhere, current)
            row |= _trail(ours, cell.k)
            rows.append({name: "" if value is None else str(value) for name, value in row.items()})
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).fillna("")
    return frame.sort_values("cell", ignore_index=True)


def judged_numbers(run: Study) -> pd.DataFrame:
    """Rows of the ledger for the printed cells that the rows of a run stand beside, judged just now.

    Of a reader's own run those alone for which it gave a number.
    """
    names = [name for one in run.results["dataset"].unique() for name in run.entry.published_datasets.get(one, ())]
    if not names:
        return pd.DataFrame(columns=list(COLUMNS))
    rows = ledger(run)
    rows = rows[rows["dataset"].isin(names)]
    return rows[rows["ours"] != ""] if run.own else rows


def tally(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Rows of the ledger counted by result; the values of the columns ``by`` become the rows, in their order.

    Returns
    -------
    pandas.DataFrame
        ``printed`` numbers, those that are ``not a test``, the ``tested`` ones, a column for each other result, and
        ``chance agreement``: how often another method's result of the same table would agree with a tested number, or
        the result on another data set where a table has no methods.
    """
    by = list(by)
    tested = frame["result"] != Result.NO_TEST.value
    shown = frame[by].assign(printed=1, tested=tested, chance=pd.to_numeric(frame["chance"]).where(tested))
    kinds = pd.DataFrame({result.value: frame["result"] == result.value for result in Result})
    groups = pd.concat([shown, kinds], axis=1).groupby(by, sort=False)
    names = ["printed", Result.NO_TEST.value, "tested", *(one.value for one in Result if one is not Result.NO_TEST)]
    table = groups[names].sum()
    table["chance agreement"] = groups["chance"].mean()
    return table


def counts(frame: pd.DataFrame) -> pd.DataFrame:
    """The :func:`tally` by paper; the last row is that of all."""
    return pd.concat([tally(frame, ["paper"]), tally(frame.assign(paper="all"), ["paper"])])


def columns(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of the printed tables, that is the methods of each: how many tested numbers agree, and by what.

    A column is another procedure's by the rule ``column`` of ``data/tolerances.yml``; it is as described if the share
    asked there agrees as the paper describes it, and not reproduced if too few do and no other procedure is known.
    """
    rule = rule_file().column
    tested = frame[frame["result"] != Result.NO_TEST.value]
    flags = tested.assign(described=tested["described"] == YES, by_procedure=tested["by_procedure"] == YES)
    where = ["paper", "table", "method"]
    found = flags.groupby(where, sort=False).agg(
        tested=("cell", "size"),
        described=("described", "sum"),
        procedure=("procedure", "max"),
        by_procedure=("by_procedure", "sum"),
    )
    found = found.reset_index()
    agree, least = (found[name] / found["tested"] for name in ("described", "by_procedure"))
    few = agree < rule.described_below
    whole = np.select(
        [agree >= rule.agree, few & (least >= rule.agree), few],
        [Result.DESCRIBED.value, Result.OTHER.value, Result.NOT.value],
        "partly as described",
    )
    return found.assign(column=whole)


def to_csv(frame: pd.DataFrame) -> bytes:
    """The committed columns as CSV; equal rows give equal bytes."""
    return frame.to_csv(columns=list(COLUMNS), index=False, lineterminator="\n").encode()


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
        raise ResultError(f"{path()} is missing. Write it: python -m compendium ledger")
    stored = path().read_bytes()
    if stored == to_csv(frame):
        return
    old, new = stored.decode(errors="replace").splitlines(), to_csv(frame).decode().splitlines()
    differing = [i for i in range(max(len(old), len(new))) if old[i : i + 1] != new[i : i + 1]]
    where = f", first in line {differing[0] + 1}" if differing else "; line endings or the last line"
    raise ResultError(
        f"{path()} differs from what the results give in {len(differing)} line(s){where}. A result, a rule or a "
        "published table changed, or the file was edited by hand. Write it again (python -m compendium ledger) and "
        "read the change."
    )


def pages() -> dict[str, str]:
    """Generated files of the book by their place in its source: the page and the table to download."""
    frame = ledger()
    return {
        "ledger.md": ledger_page.page(frame, counts(frame), columns(frame)),
        "_static/ledger.csv": to_csv(frame).decode(),
    }


def _verdict(
    cell, full: Mapping[Key, Ours], digits: int, others: list[tuple[str, Ours]], elsewhere: list[Ours], current: Rules
) -> dict[str, object]:
    """Grade, result and chance agreement of a cell, beside other methods on its data and its method on other data."""
    ours = full.get(_key(cell))
    row = {"result": Result.NO_TEST.value, "no_test": UNAVAILABLE}
    if ours:
        row |= {"ours": _number(ours.mean), "ours_std": _number(ours.std), "splits": ours.splits}
    if ours and (missing := ours.experiment.stand_ins.get(ours.dataset)):
        return row | {"verdict": Kind.NA.value, "reason": missing}
    if ours is None or ours.mean is None:
        result = judge(cell.value, None, rules=current, digits=digits, reason=ours.reason if ours else "")
        return row | {"verdict": result.kind.value, "reason": result.reason}
    declared = _declared(ours.experiment.not_a_test, cell, ours)
    timed = declared is not None and declared.because == TIMING

    def judged(one: Ours) -> Verdict:
        return judge(
            cell.value,
            one.mean,
            rules=current,
            digits=digits,
            std=cell.std,
            our_std=one.std,
            draws=one.draws,
            timed=timed,
            peers=[Peer(value, other.mean) for value, other in others],
        )

    def agrees(one: Ours | None) -> bool:
        return one is not None and one.counted and passes(judged(one).kind, timed)

    result, wrong = judged(ours), [one for _, one in others] if cell.method else elsewhere
    chance = sum(map(agrees, wrong)) / len(wrong) if wrong else None
    row |= {
        "verdict": result.kind.value,
        "deviation_digits": _short(result.deviation_digits),
        "deviation_sd": _short(result.deviation_sd),
        "reason": result.reason,
        "chance": _short(chance),
    }
    if declared or chance is None or chance == 1:
        return row | {"no_test": declared.because if declared else ALONE if chance is None else ALWAYS}
    other = _declared(ours.experiment.procedures, cell, ours)
    described, by = ours, None
    if other and other.described:
        described, by = full.get(_key(cell)._replace(method=other.described)), ours
    elif other:
        by = full.get(_key(cell)._replace(method=other.rows))
    came_out = Result.DESCRIBED if agrees(described) else Result.OTHER if agrees(by) else Result.NOT
    row |= {"result": came_out.value, "no_test": "", "described": YES if agrees(described) else NO}
    row |= {"ours_described": _number(described.mean) if described else ""}
    if other:
        row |= {"procedure": other.name, "by_procedure": YES if agrees(by) else NO}
        row |= {"ours_procedure": _number(by.mean) if by else ""}
    return row


def _declared(given: Iterable, cell, ours: Ours):
    """What ``experiments.yml`` declares for a number, the first that fits; None if nothing does."""
    place = {"dataset": ours.dataset, "method": cell.method, "metric": cell.metric}
    return next(
        (x for x in given if all(getattr(x, name, None) in (None, value) for name, value in place.items())), None
    )


def _trail(ours: Ours | None, k: str) -> dict[str, str]:
    """Where our number comes from: experiment, execution (the book's page), tasks and data card."""
    if ours is None:
        return {}
    cell = {"dataset": ours.dataset, "k": k}
    given = {name: ours.experiment.execution(name) for name in ours.experiment.executions}
    fitting = (name for name, own in given.items() if all(cell[x] == str(own[x]) for x in cell.keys() & own.keys()))
    execution = next(fitting, "")
    trail = {"experiment": ours.experiment.id, "execution": execution}
    # data that are not at hand have no number, and may have no card
    known = ours.mean is not None or paths.data("cards", f"{ours.dataset}.md").is_file()
    card = ours.dataset if known else ""
    return trail | {"tasks": " ".join(ours.tasks), "data_card": card}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _short(value) -> str:
    return "" if value is None else f"{float(value):.4g}"
