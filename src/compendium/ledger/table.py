"""The ledger: every number of the published tables beside ours, with its verdict and its trail.

``data/results/ledger.csv`` is a function of committed files only: the published tables, the rules, the list of
experiments and the stored results. Every number has a result (:class:`~compendium.ledger.verdicts.Result`). Beside the
tested ones stands the chance agreement: how often our result of another method of the same table would agree.
"""

import math
import operator
from collections import defaultdict, namedtuple
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths, records
from ..catalogue import TIMING, Experiment, catalogue
from ..claim_rules import RuleFile, rule_file
from ..records import paper_table
from ..store import read_results
from ..study import Study
from . import evaluation
from .verdicts import ALONE, ALWAYS, NO, UNAVAILABLE, YES, Kind, Result, Verdict, judge, passes, printed_digits

#: Columns of ledger.csv; ``data/columns.yml`` says what each means.
COLUMNS = (
    "cell", "paper", "table", "dataset", "method", "metric", "k", "split", "unit", "published", "published_std",
    "printed_digits", "ours", "ours_std", "splits", "verdict", "deviation_digits", "deviation_sd", "reason",
    "experiment", "execution", "tasks", "data_card", "result", "no_test", "chance", "ours_described", "described",
    "procedure", "ours_procedure", "by_procedure", "chosen", "distance", "evaluation_mean", "evaluation_error",
    "within_evaluation", "described_within", "chance_evaluation",
)  # fmt: skip
RESULTS = tuple(one.value for one in Result)
#: A protocol that gives a metric exactly from moments serves wherever the published protocol has no row of its own.
MOMENTS = "moments"
#: Files beside the published tables: what the papers claim, where they contradict themselves, and what we found.
NOT_TABLES = frozenset({"claims", "contradictions", "findings"})
#: Where other methods stand beside a cell; what is the same on other data.
_place = operator.attrgetter("stem", "dataset", "metric", "k", "split")
_quantity = operator.attrgetter("paper", "method", "metric", "k", "split")


#: Which number of a published table a cell holds.
Key = namedtuple("Key", "stem dataset method metric k split")


def _key(cell) -> Key:
    return Key(*(getattr(cell, name) for name in Key._fields))


def published() -> pd.DataFrame:
    """Every number of the published tables as text, in printed order; ``cell`` names it: ``file/row``."""
    frames = []
    for path in sorted(paths.data("paper").glob("*.csv")):
        if path.stem not in NOT_TABLES:
            frame = paper_table(path.stem, words=True).assign(stem=path.stem)
            frame["cell"] = [f"{path.stem}/{row:03d}" for row in range(1, len(frame) + 1)]
            if (twice := frame.duplicated(list(Key._fields))).any():
                raise ResultError(f"{path} has two rows for {frame.loc[twice, Key._fields[1:]].iloc[0].to_dict()}.")
            frames.append(frame)
    cells = pd.concat(frames, ignore_index=True)
    return cells[cells["value"] != ""].reset_index(drop=True)  # where words are printed, the note has them


@dataclass(frozen=True)
class Ours:
    """Our side of a cell: mean and population standard deviation over the splits, or why there is none."""

    experiment: Experiment
    dataset: str
    tasks: str
    splits: int
    mean: float | None = None
    std: float | None = None
    reason: str = ""

    @property
    def counted(self) -> bool:
        """Whether it may be judged, and bear witness for or against other numbers."""
        return self.mean is not None and self.dataset not in self.experiment.stand_ins


def collect(cells: pd.DataFrame, run: Study | None = None) -> dict[Key, Ours]:
    """Our numbers by the key of the cell they belong to: the stored ones, those of a page's ``run`` in their place.

    Of a reader's own run its rows alone."""
    found: dict[Key, Ours] = {}
    for entry in catalogue().values():
        printed = cells[cells["stem"].isin(entry.published)]
        if printed.empty:
            continue
        others = [name for one in entry.procedures for name in (one.described, one.rows)]
        rows = _rows(entry, run)
        # Of all that an experiment measures, what the tables print is a small part.
        rows = rows[rows["method"].isin([*printed["method"], *others]) & rows["metric"].isin(printed["metric"])]
        asked = [ours for ours, names in entry.published_datasets.items() if {*names} & {*printed["dataset"]}]
        rows = rows[rows["dataset"].isin(asked)]
        rows = rows.assign(k=rows["k"].astype("string").fillna(""), moments=rows["protocol"] == MOMENTS)
        own: dict[Key, Ours] = {}
        by = ["moments", "protocol", "dataset", "method", "metric", "k"]  # moments come last
        for (moments, protocol, dataset, method, metric, k), behind in rows.groupby(by):
            splits = [split for split, one in entry.published_protocols.items() if moments or one == protocol]
            for stem, theirs, split in product(entry.published, entry.published_datasets[dataset], splits):
                key = Key(stem, theirs, method, metric, k, split)
                if key not in own:
                    own[key] = _mean(entry, dataset, behind, key)
        if twice := next(iter(own.keys() & found.keys()), None):
            raise ResultError(f"{entry.id} and {found[twice].experiment.id} both give a number for {', '.join(twice)}.")
        found |= own
    return found


def _rows(entry: Experiment, run: Study | None) -> pd.DataFrame:
    """The stored rows of an experiment, with those of a run in their place."""
    if run and run.alone:
        return run.results if run.entry.id == entry.id else read_results(entry.id).iloc[:0]
    rows = read_results(entry.id)
    if run and run.entry.id == entry.id:
        own = pd.MultiIndex.from_frame(run.results[["dataset", "k"]].astype(str))
        stored = pd.MultiIndex.from_frame(rows[["dataset", "k"]].astype(str))
        rows = pd.concat([rows[~stored.isin(own)], run.results], ignore_index=True)
    return rows


def _mean(entry: Experiment, dataset: str, behind: pd.DataFrame, key: Key) -> Ours:
    """Mean and spread of the rows behind a cell."""
    if (numbered := behind["split"] != "all").any():
        behind = behind[numbered]
    tasks, values = sorted(set(behind["task"])), behind["value"].to_numpy()
    if behind["split"].duplicated().any():
        raise ResultError(f"{entry.id} has two numbers for one split of {', '.join(key)}, in {', '.join(tasks)}.")
    ours = Ours(entry, dataset, " ".join(tasks), len(values))
    if not (finite := np.isfinite(values)).all():
        return replace(ours, reason="; ".join(sorted(set(behind["reason"][~finite]))))
    # fmean rounds once: it does not depend on the order of the splits. Equal values have no spread, nor its noise.
    mean = fmean(values) if np.ptp(values) else float(values[0])
    std = math.sqrt(fmean((values - mean) ** 2)) if len(values) > 1 else None
    return replace(ours, mean=mean, std=std)


def ledger(run: Study | None = None) -> pd.DataFrame:
    """A row of text for each published number; with a ``run`` of its tables alone, its rows in place of the stored."""
    if not run and (known := records.computed_once("ledger")) is not None:
        return known
    cells, rules = published(), rule_file()
    if run:
        cells = cells[cells["stem"].isin(run.entry.published)]
    cells["digits"] = cells.groupby(["stem", "metric"])["value"].transform(printed_digits)
    if run and cells["method"].all():  # nothing is judged beside other data
        cells = cells[cells["dataset"].isin(_printed_names(run))]
    full = collect(cells, run)
    # What a number is judged beside: other methods on the same data, and the same method on other data.
    methods, datasets = defaultdict(dict), defaultdict(dict)
    for cell in cells.itertuples():
        if (ours := full.get(_key(cell))) and ours.counted:
            methods[_place(cell)][cell.method] = (cell.value, ours)
            datasets[_quantity(cell)][cell.dataset] = ours
    rows, drawn = [], {} if run and run.alone else evaluation.evaluations()
    for cell in cells.itertuples():
        others = [one for method, one in methods[_place(cell)].items() if method != cell.method]
        elsewhere = [one for dataset, one in datasets[_quantity(cell)].items() if dataset != cell.dataset]
        row = {name: getattr(cell, name) for name in COLUMNS[: COLUMNS.index("published")]}
        row |= {"published": cell.value, "published_std": cell.std, "printed_digits": cell.digits}
        row |= _verdict(cell, full, others, elsewhere, rules) | _trail(full.get(_key(cell)), cell.k)
        if (ours := full.get(_key(cell))) and ours.counted:
            other, beside = _declared(ours.experiment.procedures, cell, ours), {*methods[_place(cell)]} - {cell.method}
            row |= evaluation.columns(cell, other and other.described, beside, drawn, rules)
        rows.append({name: "" if value is None else str(value) for name, value in row.items()})
    frame = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object).fillna("")
    return frame.sort_values("cell", ignore_index=True)


def _verdict(
    cell, full: Mapping[Key, Ours], others: list[tuple[str, Ours]], elsewhere: list[Ours], rules: RuleFile
) -> dict[str, object]:
    """Grade, result and chance agreement of a cell, beside other methods on its data and its method on other data."""
    ours = full.get(_key(cell))
    row = {"result": Result.NO_TEST.value, "no_test": UNAVAILABLE}
    if ours is None:
        return row | {"verdict": Kind.PENDING.value}
    row |= {"ours": _number(ours.mean), "ours_std": _number(ours.std), "splits": ours.splits}
    if not ours.counted:
        return row | {"verdict": Kind.NA.value, "reason": ours.experiment.stand_ins.get(ours.dataset, ours.reason)}
    declared = _declared(ours.experiment.not_a_test, cell, ours)
    timed = declared is not None and declared.because == TIMING
    given = {"rules": rules, "digits": cell.digits, "std": cell.std, "timed": timed}
    given["peers"] = [(value, other.mean) for value, other in others]

    def verdict(one: Ours) -> Verdict:
        return judge(cell.value, one.mean, our_std=one.std, **given)

    def agrees(one: Ours | None) -> bool:
        return one is not None and one.counted and passes(verdict(one).kind, timed)

    result = verdict(ours)
    wrong = [one for _, one in others] if cell.method else elsewhere
    chance = sum(map(agrees, wrong)) / len(wrong) if wrong else None
    row |= {"verdict": result.kind.value, "reason": result.reason}
    shown = {name: getattr(result, name) for name in ("deviation_digits", "deviation_sd", "distance")}
    shown["chance"] = chance
    row |= {name: None if value is None else f"{float(value):.4g}" for name, value in shown.items()}
    if declared or chance is None or chance == 1:
        return row | {"no_test": declared.because if declared else ALONE if chance is None else ALWAYS}
    other = _declared(ours.experiment.procedures, cell, ours)
    described, by = ours, None
    if other:
        by = full.get(_key(cell)._replace(method=other.rows))
        described = full.get(_key(cell)._replace(method=other.described)) if other.described else ours
    came_out = Result.DESCRIBED if agrees(described) else Result.OTHER if agrees(by) else Result.NOT
    order = (by, described) if came_out is Result.OTHER else (described, by)  # the first is what the word rests on
    if (rests_on := next((one for one in order if one and one.counted), None)) and not timed:
        row["distance"] = f"{float(verdict(rests_on).distance):.4g}"
    row |= {"result": came_out.value, "no_test": "", "described": YES if agrees(described) else NO}
    row |= {"ours_described": _number(described.mean) if described else ""}
    if other:
        row |= {"procedure": other.name, "by_procedure": YES if agrees(by) else NO, "chosen": other.chosen}
        row |= {"ours_procedure": _number(by.mean) if by else ""}
    return row


def _declared(given: Iterable, cell, ours: Ours):
    """What ``experiments.yml`` declares for a number, the first that fits; None if nothing does."""
    place = {"dataset": ours.dataset, "method": cell.method, "metric": cell.metric}
    fits = (one for one in given if all(getattr(one, name, None) in (None, value) for name, value in place.items()))
    return next(fits, None)


def _trail(ours: Ours | None, k: str) -> dict[str, str]:
    """Where our number comes from: experiment, execution (the book's page), tasks and data card."""
    if ours is None:
        return {}
    cell = {"dataset": ours.dataset, "k": k}
    given = {name: ours.experiment.execution(name) for name in ours.experiment.executions}
    fitting = (name for name, own in given.items() if all(cell[x] == str(own[x]) for x in cell.keys() & own.keys()))
    # data that are unavailable have no number, and may have no card
    known = ours.mean is not None or paths.data("cards", f"{ours.dataset}.md").is_file()
    trail = {"experiment": ours.experiment.id, "execution": next(fitting, ""), "tasks": ours.tasks}
    return trail | {"data_card": ours.dataset if known else ""}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def judged_numbers(run: Study) -> pd.DataFrame:
    """Rows of the ledger on the data of a run, judged just now; of a reader's own those that have a number of it."""
    if not (names := _printed_names(run)):
        return pd.DataFrame(columns=list(COLUMNS))
    rows = ledger(run)
    return rows[rows["dataset"].isin(names) & ((rows["ours"] != "") | (not run.alone))]


def _printed_names(run: Study) -> list[str]:
    """What the printed tables call the data of a run."""
    return [name for one in run.results["dataset"].unique() for name in run.entry.published_datasets.get(one, ())]


def tally(frame: pd.DataFrame, by: Sequence[str], results: Sequence[str] = RESULTS) -> pd.DataFrame:
    """Rows of the ledger counted by result for each value of the columns ``by``; the mean of their chance agreement."""
    kinds = pd.DataFrame({one: frame["result"] == one for one in results})
    shown = frame[list(by)].join(kinds).assign(printed=1, tested=~kinds[Result.NO_TEST.value])
    shown["chance agreement"] = pd.to_numeric(frame["chance"]).where(shown["tested"])
    counted = ["printed", Result.NO_TEST.value, "tested", *(one for one in results if one != Result.NO_TEST.value)]
    return shown.groupby(list(by), sort=False).agg(dict.fromkeys(counted, "sum") | {"chance agreement": "mean"})


def counts(frame: pd.DataFrame) -> pd.DataFrame:
    """The :func:`tally` by paper; the last row is that of all."""
    return pd.concat([tally(frame, ["paper"]), tally(frame.assign(paper="all"), ["paper"])])


def columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Methods of the printed tables: how many numbers agree, and by what (rule ``column`` of data/tolerances.yml)."""
    rule = rule_file().column
    tested = frame[frame["result"] != Result.NO_TEST.value]
    flags = tested.assign(described=tested["described"] == YES, by_procedure=tested["by_procedure"] == YES, tested=1)
    counted = {"tested": "sum", "described": "sum", "procedure": "max", "by_procedure": "sum"}
    found = flags.groupby(["paper", "table", "method"], sort=False).agg(counted).reset_index()
    agree, least = (found[name] / found["tested"] for name in ("described", "by_procedure"))
    few = agree < rule["described_below"]
    whole = np.select(
        [agree >= rule["agree"], few & (least >= rule["agree"]), few],
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
