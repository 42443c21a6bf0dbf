"""All units of a paper computed again beside what is stored: ``python -m compendium reproduce zhou2024``.

The results go to a folder of their own below ``_build``, laid out as the stored ones, and ledger and claims judge them
as they judge those. A run that was interrupted goes on where it was, unless code or notebooks changed.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pandas as pd
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from evenspan.core.errors import ConfigurationError

from . import data as datasets
from . import edits, paths, records, store, verify, workers
from .catalogue import Experiment, catalogue
from .compare import Comparison
from .engine import inspect_study
from .ledger import state, table
from .ledger.claims import ANSWERS, SIDES, claims
from .ledger.verdicts import Result
from .study import duration, fetch_data_of
from .workers import Job

#: Is told a line of what goes on.
Tell = Callable[[str], None]
#: Every paper, in the place of the name of one.
ALL = "all"


class Side(NamedTuple):
    """What results say: how many printed numbers have each word, and the answers to the claims."""

    words: pd.Series
    answers: pd.DataFrame


def experiments(paper: str) -> list[Experiment]:
    """The experiments of a paper, or of all."""
    known = dict.fromkeys(entry.paper for entry in catalogue().values())
    if paper not in (ALL, *known):
        raise ConfigurationError(f"There is no paper {paper!r}; there are {', '.join(known)}, and {ALL}.")
    return [entry for entry in catalogue().values() if paper in (ALL, entry.paper)]


def due_units(entries: Iterable[Experiment]) -> tuple[list[Job], dict[str, list[str]]]:
    """Of all executions what is not stored or outdated, and the names of all units by experiment."""
    due, units = {}, {}
    for entry in entries:
        if all(unit.changed for unit in verify.known(entry.id).values()):
            edits.accept_current_cells(entry)  # the results will belong to the cells that the notebook has now
        for execution in entry.runs:
            study = inspect_study(entry, entry.execution(execution))
            due |= {(job.home, job.name): job for job in study.due()}
            before = f"{store.SMALL}/" if execution in entry.small else ""
            units.setdefault(entry.id, []).extend(before + name for name in study.units)
    return [*due.values()], {name: [*dict.fromkeys(all_units)] for name, all_units in units.items()}


def compute_missing(
    entries: Iterable[Experiment], stored: Mapping[str, Mapping[str, store.Unit]], jobs: int | None, tell: Tell
) -> tuple[dict[str, list[str]], dict[Job, workers.Failed]]:
    """Compute what is due, the long units of all experiments first: the names of all units, and what failed.

    The times are those of ``stored`` units; a bar advances by them."""
    due, units = due_units(entries)
    seconds = {job: _seconds(stored[job.entry.id].get(_name(job))) for job in due}
    for line in _plan(due, units, seconds, jobs or workers.cores()):
        tell(line)
    fetch_data_of(due)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, TextColumn("left:"), TimeRemainingColumn()) as progress:
        bar = progress.add_task("seconds of work", total=round(sum(seconds.values())))
        silent = progress.console.is_terminal  # where no bar can move, each unit has its line

        def ended(job: Job, said: str) -> None:
            progress.advance(bar, seconds[job])
            if not silent or "failed" in said:
                tell(f"{job.entry.id}, {said}")

        longest_first = sorted(due, key=seconds.__getitem__, reverse=True)
        return units, workers.compute(longest_first, jobs=jobs, ended=ended)


def reproduce(paper: str, jobs: int | None, tell: Tell) -> tuple[list[tuple[str, ...]], int]:
    """Compute all units of a paper again and compare them; the rows of a table, and the code to exit with."""
    entries = experiments(paper)
    stored, before = {entry.id: verify.known(entry.id) for entry in entries}, _side(paper)
    folder = paths.build("reproduce", paper)
    with workers.exclusive_lock(f"reproduce {paper}"), paths.results_in(folder):
        _start_again_if_changed(entries, tell)
        units, failed = compute_missing(entries, stored, jobs, tell)
        found = {}
        for name, names in units.items():
            here = [unit for unit in names if unit in stored[name]]
            why = {_name(job): one for job, one in failed.items() if job.entry.id == name}
            found |= {(name, unit): one for unit, one in verify.compared(name, here, stored[name], why).items()}
        return _table(found, _side(paper), before, tell)


def _name(job: Job) -> str:
    return f"{store.SMALL}/{job.name}" if job.home.parent.name == store.SMALL else job.name


def _seconds(unit: store.Unit | None) -> float:
    return unit.record["seconds"] if unit else 1.0


def _side(paper: str) -> Side:
    words = table.counts(table.ledger()).loc[paper]
    return Side(words, claims(paper=None if paper == ALL else paper))


def _start_again_if_changed(entries: Iterable[Experiment], tell: Tell) -> None:
    """Results of another state of code and notebooks are no part of this run."""
    root, folder = paths.root(), paths.results()
    files = [root / "experiments.yml", root / "requirements.lock", *(root / entry.notebook for entry in entries)]
    files += (root / "src").rglob("*.py")
    digest = records.digest("".join(records.digest(path.read_bytes()) for path in sorted({*files})).encode())
    stamp = folder / "code.sha256"
    if folder.exists() and not (stamp.is_file() and stamp.read_text() == digest):
        tell("Code or notebooks changed since the run that was interrupted: everything is computed anew.")
        shutil.rmtree(folder)
    records.write(stamp, digest.encode())


def _plan(due: list[Job], units: Mapping[str, list[str]], seconds: Mapping[Job, float], jobs: int) -> Iterable[str]:
    total = sum(map(len, units.values()))
    work = duration(sum(seconds.values()) / jobs)
    yield (
        f"{total:,} units, of which {total - len(due):,} are here already. The other {len(due):,} take about {work} "
        f"with {jobs} process{'es' if jobs > 1 else ''}, by the records of the stored run."
    )
    named = dict.fromkeys(str(job.task["dataset"]) for job in due if job.task.get("dataset") in datasets.names())
    away = [datasets.entry(name) for name in named if not datasets.at_hand(name)]
    if fetched := [f"{one.name} ({one.bytes / 1e6:.1f} MB)" for one in away if not one.unavailable]:
        yield f"To fetch: {', '.join(fetched)}."
    if missing := [one.name for one in away if one.unavailable]:
        yield f"Not to be had (python -m compendium data card NAME says why): {', '.join(missing)}."


def _table(
    found: Mapping[tuple[str, str], verify.Found], now: Side, before: Side, tell: Tell
) -> tuple[list[tuple[str, ...]], int]:
    """What came out beside what is stored; above it what differs, with its place."""
    compared = {unit: one for unit, one in found.items() if isinstance(one, Comparison)}
    failed = {unit: one for unit, one in found.items() if not isinstance(one, Comparison)}
    for (name, unit), one in compared.items():
        if not one.ok:
            tell(f"DIFFERS: {name}, {unit}: {one.outside} of {one.rows} numbers, most at {one.where}")
    for why, count in Counter(f"{unit[0]}: {one.reason.splitlines()[0]}" for unit, one in failed.items()).items():
        tell(f"Not computed: {why} ({count} unit{'s' if count > 1 else ''})")
    known = before.answers.set_index("id")
    for row in now.answers.to_dict("records"):
        for side, words in SIDES.items():
            if row[side] != (stored := known.at[row["id"], side]):
                tell(f"Claim {row['id']}, {words}: {row[side]}, stored: {stored} ({row['evidence']})")
    outside = sum(one.outside for one in compared.values())
    total = sum(one.rows for one in compared.values())
    rows = [("", "this run", "stored")]
    rows += [("numbers", f"{total:,}", f"{total:,}"), ("  equal within the rules", f"{total - outside:,}", "")]
    rows += [("  differ", f"{outside:,}", ""), ("units not computed", f"{len(failed):,}", "")]
    shown = [("printed", "printed numbers"), *((one.value, f"  {one.value}") for one in Result)]
    rows += [(text, f"{now.words[name]:,.0f}", f"{before.words[name]:,.0f}") for name, text in shown]
    mine, stored = (state.claim_counts(side.answers).loc["all"] for side in (now, before))
    mine = mine.reindex(stored.index, fill_value=0)
    for side in stored.index:
        named = [(f"claims {SIDES[side]}", "claims"), *((f"  {name}", name) for name in ANSWERS)]
        rows += [(text, f"{mine.at[side, name]}", f"{stored.at[side, name]}") for text, name in named]
    bad = outside or any(not one.no_data for one in failed.values())
    return rows, 1 if bad else 0 if compared else 3
