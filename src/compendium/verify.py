"""Stored results computed again from the raw data and compared: a sample, a part, what code was edited under, or all.

Every unit is a process of its own that knows nothing of what is stored. Edits of code touch what rests on it; of that
the cheapest units are computed again at once, and a rotating part of everything with every commit.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenspan.auditing.execution import numeric_environment
from evenspan.core.errors import ConfigurationError

from . import paths, processes, protocol, records, store
from .catalogue import Experiment, catalogue, experiment, listed
from .ledger.table import ledger
from .recheck import Comparison, compare, tolerances
from .states import DAMAGED, TOUCHED, inspect
from .store import file_of, units_of

Task = tuple[str, str]


@dataclass(frozen=True)
class Verified:
    """One unit computed again: the numbers that rest on it, and how it compares or why it could not be."""

    experiment: str
    task: str
    numbers: int
    comparison: Comparison | None
    failure: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was computed and agrees."""
        return self.comparison is not None and self.comparison.ok


# -- what is computed again ---------------------------------------------------------------------------------------


def numbers() -> dict[str, tuple[Task, ...]]:
    """The units behind each published number that has any, by its cell."""
    frame = ledger()
    frame = frame[(frame["published"] != "") & (frame["tasks"] != "")]
    return {row.cell: tuple((row.experiment, name) for name in row.tasks.split()) for row in frame.itertuples()}


def of_cells(cells: Iterable[str] | None = None) -> list[Task]:
    """The units behind some cells of the ledger, by default behind all."""
    behind = numbers()
    chosen = behind if cells is None else list(cells)
    if unknown := [cell for cell in chosen if cell not in behind]:
        raise ConfigurationError(
            f"No result of ours stands behind {listed(unknown)}. A cell is written as in {listed(list(behind)[:3])}."
        )
    return sorted({task for cell in chosen for task in behind[cell]})


def sample(size: str, seed: str) -> list[Task]:
    """The units behind numbers drawn at random: ``size`` is a count (``20``) or a share (``5%``) of them.

    The seed may be any text, such as the name of a commit.
    """
    match = re.fullmatch(r"0*([0-9]{1,9}(?:\.[0-9]{1,9})?)%|0*([0-9]{1,9})", size)
    share, count = (float(match[1] or 0), int(match[2] or 0)) if match else (0.0, 0)
    if not (count or 0 < share <= 100):
        raise ConfigurationError(f"The sample {size!r} must be a count from 1, such as 20, or a share such as 5%.")
    cells = sorted(numbers())
    count = count or round(share * len(cells) / 100)
    if not 1 <= count <= len(cells):
        raise ConfigurationError(f"The sample {size!r} must be a count from 1 to {len(cells)}, or a share of them.")
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big"))
    return of_cells(rng.choice(cells, size=count, replace=False))


def part(number: int, seconds: float) -> list[Task]:
    """One of the parts into which all units behind numbers are divided: about ``seconds`` of computing each.

    ``number`` counts on beyond the last part, so that a running number goes through all of them again and again. A unit
    that takes longer alone is in no part.
    """
    behind = of_cells()
    took = _seconds(behind)
    parts: list[list[Task]] = [[]]
    for i in np.random.default_rng(0).permutation(len(behind)):
        if took[behind[i]] > seconds:
            continue
        if sum(took[task] for task in parts[-1]) + took[behind[i]] > seconds:
            parts.append([])
        parts[-1].append(behind[i])
    return sorted(parts[number % len(parts)])


def touched(seconds: float | None = None, experiments: Collection[str] = ()) -> list[Task]:
    """Units over code that was edited since they were made: all, or with ``seconds`` the cheapest that fit into it.

    Of every experiment the cheapest unit comes first, then of every method in it, as long as the time lasts.
    """
    found = [
        (name, unit.name) for name in experiments or catalogue() for unit in inspect(name) if unit.state == TOUCHED
    ]
    if seconds is None:
        return found
    took, units = _seconds(found), {name: units_of(name) for name in {name for name, _ in found}}
    cheapest = sorted(found, key=lambda task: (took[task], task))
    firsts = [(one, one[0]) for one in cheapest]
    methods = [(one, (one[0], frozenset(row["method"] for row in units[one[0]][one[1]].rows))) for one in cheapest]
    chosen, seen = {}, set()
    for task, group in [*firsts, *methods]:
        more = chosen | {task: took[task]}
        if group not in seen and sum(more.values()) <= seconds:
            chosen = more
            seen.add(group)
    return sorted(chosen)


def stored(experiments: Collection[str] = ()) -> list[Task]:
    """All stored units of the full run, or of some experiments."""
    known = catalogue()
    if unknown := [name for name in experiments if name not in known]:
        raise ConfigurationError(f"There is no experiment {listed(unknown)}; there are {listed(known)}.")
    return [(name, unit.name) for name in experiments or known for unit in inspect(name) if unit.state != DAMAGED]


def _seconds(chosen: Iterable[Task]) -> dict[Task, float]:
    units = {name: units_of(name) for name in {name for name, _ in chosen}}
    return {(name, unit): store.latest_seconds(units[name][unit].record) for name, unit in chosen}


# -- computing it again -------------------------------------------------------------------------------------------


def verify(chosen: Collection[Task], *, jobs: int | None = None, confirm: bool = False) -> list[Verified]:
    """Compute units again and compare, within the tolerances of ``data/tolerances.yml``; ``jobs`` processes at once.

    With ``confirm`` the records note when and with which code a unit was computed again, and whether it agreed: what
    did is current, what did not is no longer counted. The stored rows stay.
    """
    carried = Counter(task for several in numbers().values() for task in several)
    found = []
    for name in dict.fromkeys(one for one, _ in chosen):
        wanted, folder = [task for one, task in chosen if one == name], paths.build("check", name)
        with processes.alone(f"verify {name}"):
            failed = _again(experiment(name), wanted, folder, jobs)
            old, new, allowed = units_of(name), units_of(name, folder), tolerances(name)
            peers = [unit.frame for unit in old.values()]
            for task in sorted(wanted, key=lambda task: task in failed):
                if task in failed:
                    found.append(Verified(name, task, carried[name, task], None, failed[task]))
                    continue
                one = compare(task, old[task].frame, new[task].frame, allowed, peers=peers)
                if confirm:
                    store.confirm(name, task, new[task].path, "" if one.ok else one.where or "the rows differ")
                found.append(Verified(name, task, carried[name, task], one))
    return found


def _again(entry: Experiment, names: Collection[str], folder: Path, jobs: int | None) -> dict[str, str]:
    """Compute stored units of an experiment again, with results in ``folder``; the reason of each failure.

    Every execution runs in a fresh interpreter, which has loaded nothing that its notebook does not ask for, and with
    the routines that the stored numbers were made with: where rounding decides, others give other numbers.
    """
    shutil.rmtree(folder, ignore_errors=True)
    left, failed = list(names), {}
    files = {file_of(entry.id, name) for name in names}
    # Those executions first to whose files some units belong.
    for execution in sorted(entry.runs, key=lambda run: not any(f"{file}-".startswith(f"{run}-") for file in files)):
        if not left:
            break
        job = {"experiment": entry.id, "execution": execution, "names": left, "folder": str(folder), "jobs": jobs}
        command = [sys.executable, "-m", "compendium.verify", json.dumps(job)]
        ended = processes.run(command, os.environ | numeric_environment())
        told = folder / f"{execution}.run"
        if not told.is_file():
            reason = f"{entry.notebook} with the execution {execution} ended with code {ended.returncode}"
            return failed | dict.fromkeys(left, reason)
        done = json.loads(told.read_text(encoding="utf-8"))
        failed |= done["failed"]
        left = [name for name in left if name not in done["units"]]
    return failed | dict.fromkeys(left, f"{entry.notebook} no longer has this unit")


def main(job: str) -> None:
    """Units of one execution for :func:`_again`, in an interpreter of its own."""
    processes.attend()
    asked = json.loads(job)
    entry, folder = experiment(asked["experiment"]), Path(asked["folder"])
    run = protocol.replay(entry, entry.execution(asked["execution"]), asked["names"], folder=folder, jobs=asked["jobs"])
    done = {"units": run.units, "failed": run.failed}
    records.write(folder / f"{asked['execution']}.run", json.dumps(done).encode())


if __name__ == "__main__":
    main(sys.argv[1])
