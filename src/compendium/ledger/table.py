"""The ledger: every number of the published tables beside ours, with its verdict and its trail.

``data/results/ledger.csv`` is a function of committed files only: the published tables, the rules, the list of
experiments and the stored results.

Beside every verdict stand its controls: how many wrong answers the same rule would have let pass. A wrong answer is
another method's number of ours on the same data, or the same method's on other data.
"""

import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from evenspan.core.errors import ResultError

from .. import paths, records
from ..catalogue import Experiment, catalogue
from ..protocol import Study
from ..store import read_results
from . import page as ledger_page
from .verdicts import Evidence, Kind, Peer, Rules, Verdict, judge, passes, printed_digits, rules

PUBLISHED = ("paper", "table", "dataset", "method", "metric", "k", "split", "value", "std", "bold", "unit", "note")
#: Columns of ledger.csv.
COLUMNS = (
    "cell", "paper", "table", "dataset", "method", "metric", "k", "split", "unit", "published", "published_std",
    "printed_digits", "ours", "ours_std", "splits", "verdict", "deviation_digits", "deviation_sd", "reason",
    "experiment", "execution", "tasks", "data_card", "evidence", "control", "control_data",
)  # fmt: skip
#: A protocol that gives a metric exactly from moments serves wherever the published protocol has no row of its own.
MOMENTS = "moments"
#: Files beside the published tables: what the papers claim, where they contradict themselves, and what we found.
NOT_TABLES = frozenset({"claims", "contradictions", "findings"})
#: Which number of a paper a cell holds; where other methods stand beside it; what is the same on other data.
_key = operator.attrgetter("stem", "dataset", "method", "metric", "k", "split")
_place = operator.attrgetter("stem", "dataset", "metric", "k", "split")
_quantity = operator.attrgetter("paper", "method", "metric", "k", "split")


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


#: Of a cell: file, data set, method, metric, k and split.
Key = tuple[str, ...]


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
        rows = rows[rows["method"].isin(printed["method"]) & rows["metric"].isin(printed["metric"])]
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
                key = (stem, theirs, method, metric, "" if pd.isna(k) else str(k), split)
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
    if not run and (known := records.computed_table("ledger")) is not None:
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
            row |= _verdict(cell, ours, digits, others, elsewhere, current)
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
    """Rows of the ledger counted by verdict, with what wrong answers would have got.

    The values of the columns ``by`` become the rows, in the order in which they first appear.

    Returns
    -------
    pandas.DataFrame
        A column for each verdict, then ``numbers``; ``agree``, the share of them that is exact or close (of measured
        times: of the same rank); ``wrong method``, the mean share of the other methods that would have agreed as
        well, or of the other data sets where a table has no methods; ``most fail``, of how many numbers less than half
        of them would; and ``wrong data``, the mean share of the other data sets.
    """
    by = list(by)
    timed = frame["evidence"] == Evidence.TIME.value
    control = frame["control"].where(frame["method"] != "", frame["control_data"])
    shares = frame[by].assign(
        numbers=1,
        agree=[passes(Kind(verdict), time) for verdict, time in zip(frame["verdict"], timed, strict=True)],
        control=pd.to_numeric(control),
        data=pd.to_numeric(frame["control_data"]),
    )
    shares["fail"] = shares["control"] < 1 / 2
    kinds = pd.DataFrame({kind.value: frame["verdict"] == kind.value for kind in Kind})
    groups = pd.concat([shares, kinds], axis=1).groupby(by, sort=False)
    table = groups[[*kinds, "numbers"]].sum()
    table["agree"] = groups["agree"].mean()
    table["wrong method"], table["most fail"] = groups["control"].mean(), groups["fail"].sum()
    table["wrong data"] = groups["data"].mean()
    return table


def counts(frame: pd.DataFrame) -> pd.DataFrame:
    """The :func:`tally` by paper, the last is their ``total``, and kind of evidence."""
    frame = pd.concat([frame, frame.assign(paper="total")])
    order = [(paper, kind.value) for paper in dict.fromkeys(frame["paper"]) for kind in Evidence]
    table = tally(frame, ["paper", "evidence"])
    return table.loc[[place for place in order if place in table.index]]


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
        "ledger.md": ledger_page.page(frame, counts(frame)),
        "_static/ledger.csv": to_csv(frame).decode(),
    }


def _verdict(
    cell, ours: Ours | None, digits: int, others: list[tuple[str, Ours]], elsewhere: list[Ours], current: Rules
) -> dict[str, object]:
    """Verdict and controls of a cell, beside other methods on its data and its method on other data."""
    row = {"ours": "", "ours_std": "", "splits": "", "evidence": Evidence.NONE.value}
    if ours:
        row |= {"ours": _number(ours.mean), "ours_std": _number(ours.std), "splits": ours.splits}
    if ours and (missing := ours.experiment.stand_ins.get(ours.dataset)):
        return row | {"verdict": Kind.NA.value, "reason": missing}
    if ours is None or ours.mean is None:
        result = judge(cell.value, None, rules=current, digits=digits, reason=ours.reason if ours else "")
        return row | {"verdict": result.kind.value, "reason": result.reason}
    declared = _declared(cell, ours)
    timed = declared is Evidence.TIME

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

    def control(wrong: list[Ours]) -> float | None:
        return sum(passes(judged(one).kind, timed) for one in wrong) / len(wrong) if wrong else None

    result, of_methods, of_data = judged(ours), control([one for _, one in others]), control(elsewhere)
    share = of_methods if cell.method else of_data
    reason = result.reason
    if share is None:
        alone = f"no other {'method' if cell.method else 'data set'} of ours to compare with"
        reason = f"{reason}; {alone}" if reason else alone
    weighed = Evidence.ALONE if share is None else Evidence.DISCRIMINATING if share < 1 else Evidence.WEAK
    return row | {
        "verdict": result.kind.value,
        "deviation_digits": _short(result.deviation_digits),
        "deviation_sd": _short(result.deviation_sd),
        "reason": reason,
        "evidence": (declared or weighed).value,
        "control": _short(of_methods),
        "control_data": _short(of_data),
    }


def _declared(cell, ours: Ours) -> Evidence | None:
    """The kind of evidence that ``experiments.yml`` declares for a number."""
    place = {"dataset": ours.dataset, "method": cell.method, "metric": cell.metric}
    for one in ours.experiment.evidence:
        if all(getattr(one, name) in (None, value) for name, value in place.items()):
            return Evidence(one.kind)
    return None


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
