"""Stored results computed again from the raw data and compared: a sample, a part, what code was edited under, or all.

Every unit is a process of its own that knows nothing of what is stored. Edits of code touch what rests on it; of that
the cheapest units are computed again at once, and a rotating part of everything with every commit.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from evenspan.auditing.execution import numeric_environment
from evenspan.core.errors import ConfigurationError

from . import paths, protocol, store
from .catalogue import Experiment, catalogue, experiment
from .ledger.table import ledger
from .recheck import Comparison, compare, tolerances
from .states import DAMAGED, TOUCHED, inspect
from .store import file_of, read_records, unit_rows

Task = tuple[str, str]


@dataclass(frozen=True)
class Verified:
    """One task computed again: the numbers that rest on it, and how it compares or why it could not be."""

    experiment: str
    task: str
    numbers: int
    comparison: Comparison | None
    failure: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was computed and agrees."""
        return self.comparison is not None and self.comparison.ok


def numbers() -> dict[str, tuple[Task, ...]]:
    """The tasks behind each published number that has any, by its cell."""
    frame = ledger()
    frame = frame[(frame["published"] != "") & (frame["tasks"] != "")]
    return {row.cell: tuple((row.experiment, name) for name in row.tasks.split()) for row in frame.itertuples()}


def sample(size: str, seed: str) -> list[Task]:
    """The tasks behind numbers drawn at random: ``size`` is a count (``20``) or a share (``5%``) of them.

    The seed may be any text, such as the name of a commit.
    """
    behind = numbers()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(%?)", size)
    count = 0 if match is None else round(float(match[1]) * (len(behind) / 100 if match[2] else 1))
    if not 1 <= count <= len(behind):
        raise ConfigurationError(
            f"The sample {size!r} must be a count from 1 to {len(behind)} or a share such as 5% of these numbers."
        )
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big"))
    drawn = rng.choice(sorted(behind), size=count, replace=False)
    return sorted({task for cell in drawn for task in behind[cell]})


def part(number: int, seconds: float) -> list[Task]:
    """One of the parts into which all units behind numbers are divided: about ``seconds`` of computing each.

    ``number`` counts on beyond the last part, so that a running number goes through all of them again and again. A unit
    that takes longer alone is in no part.
    """
    behind = sorted({task for several in numbers().values() for task in several})
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
    took, chosen, spent, seen = _seconds(found), [], 0.0, set()
    cheapest = sorted(found, key=lambda task: (took[task], task))
    firsts = [(task, (task[0],)) for task in cheapest]
    methods = [(task, (task[0], unit_methods(task))) for task in cheapest]
    for task, group in [*firsts, *methods]:
        if group not in seen and (task in chosen or spent + took[task] <= seconds):
            seen.add(group)
            if task not in chosen:
                chosen.append(task)
                spent += took[task]
    return sorted(chosen)


def unit_methods(task: Task) -> tuple[str, ...]:
    """The methods of which a unit has rows."""
    return tuple(sorted(set(unit_rows(*task)["method"])))


def of_cells(cells: Iterable[str]) -> list[Task]:
    """The tasks behind some cells of the ledger."""
    behind = numbers()
    if unknown := [cell for cell in cells if cell not in behind]:
        near = ", ".join(list(behind)[:3])
        raise ConfigurationError(
            f"No result of ours stands behind {', '.join(unknown)}. A cell is written as in {near}."
        )
    return sorted({task for cell in cells for task in behind[cell]})


def stored(experiments: Collection[str] = ()) -> list[Task]:
    """All stored units of the full run, or of some experiments."""
    known = catalogue()
    if unknown := [name for name in experiments if name not in known]:
        raise ConfigurationError(f"There is no experiment {', '.join(unknown)}; there are {', '.join(known)}.")
    return [(name, unit.name) for name in experiments or known for unit in inspect(name) if unit.state != DAMAGED]


def verify(chosen: Collection[Task], *, jobs: int | None = None, confirm: bool = False) -> list[Verified]:
    """Compute tasks again and compare, within the tolerances of ``data/tolerances.yml``.

    Parameters
    ----------
    chosen : collection of pairs
        Experiment and task.
    jobs : int, optional
        Processes at once.
    confirm : bool
        Note in the record when and with which code the unit was computed again, and whether it agreed: what did is
        current, what did not is no longer counted. The stored rows stay.
    """
    carried = pd.Series([task for several in numbers().values() for task in several], dtype=object).value_counts()
    found = []
    for name in dict.fromkeys(one for one, _ in chosen):
        wanted = [task for one, task in chosen if one == name]
        folder = paths.build("check", name)
        compared, failed = again(experiment(name), wanted, folder=folder, jobs=jobs)
        for one in compared:
            if confirm:
                record = folder / f"{file_of(name, one.name)}.json"
                store.confirm(name, one.name, record, "" if one.ok else one.where or "the rows differ")
            found.append(Verified(name, one.name, int(carried.get((name, one.name), 0)), one))
        found += [Verified(name, task, int(carried.get((name, task), 0)), None, why) for task, why in failed.items()]
    return found


def again(
    entry: Experiment, names: Collection[str], *, folder: Path, jobs: int | None
) -> tuple[list[Comparison], dict[str, str]]:
    """Compute stored units of an experiment again and compare: the comparisons, and the reason of each failure.

    Every execution runs in a fresh interpreter, which has loaded nothing that its notebook does not ask for, and with
    the routines that the stored numbers were made with: where rounding decides, others give other numbers.
    """
    shutil.rmtree(folder, ignore_errors=True)
    left, failed = list(names), {}
    for execution in _executions(entry, names):
        if not left:
            break
        job = {"experiment": entry.id, "execution": execution, "names": left, "folder": str(folder), "jobs": jobs}
        command = [sys.executable, "-m", "compendium.verify", json.dumps(job)]
        ended = subprocess.run(command, env=os.environ | numeric_environment(), check=False)
        told = folder / f"{execution}.run"
        if not told.is_file():
            reason = f"{entry.notebook} with the execution {execution} ended with code {ended.returncode}"
            return [], failed | dict.fromkeys(left, reason)
        done = json.loads(told.read_text(encoding="utf-8"))
        failed |= done["failed"]
        left = [name for name in left if name not in done["units"]]
    failed |= dict.fromkeys(left, f"{entry.notebook} no longer has this unit")
    pairs = {
        name: (unit_rows(entry.id, name), unit_rows(entry.id, name, folder)) for name in names if name not in failed
    }
    return [compare(name, *pair, tolerances(entry.id)) for name, pair in pairs.items()], failed


def _executions(entry: Experiment, names: Collection[str]) -> list[str]:
    """The executions, those first to whose files some units belong."""
    files = {file_of(entry.id, name) for name in names}
    return sorted(entry.runs, key=lambda name: not any(f"{file}-".startswith(f"{name}-") for file in files))


def main(job: str) -> None:
    """Units of one execution for :func:`again`, in an interpreter of its own."""
    asked = json.loads(job)
    entry, folder = experiment(asked["experiment"]), Path(asked["folder"])
    run = protocol.replay(entry, entry.execution(asked["execution"]), asked["names"], folder=folder, jobs=asked["jobs"])
    folder.mkdir(parents=True, exist_ok=True)
    done = {"units": run.units, "failed": run.failed}
    (folder / f"{asked['execution']}.run").write_text(json.dumps(done), encoding="utf-8")


def _seconds(chosen: Iterable[Task]) -> dict[Task, float]:
    chosen = list(chosen)
    known = {name: read_records(name) for name in {name for name, _ in chosen}}
    return {(name, unit): float(known[name][unit]["seconds"]) for name, unit in chosen}


if __name__ == "__main__":
    main(sys.argv[1])
