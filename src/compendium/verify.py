"""Stored units computed again from the data and compared: some experiments, a sample, or everything.

Every unit is computed in an interpreter that knows nothing of what is stored, and compared by the rules of
``data/tolerances.yml``. Where the units of a notebook agree, its cells are those that the stored rows belong to.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenspan.auditing.execution import numeric_environment
from evenspan.core.errors import ConfigurationError

from . import edits, paths, processes, records, store, workers
from .catalogue import Experiment, catalogue, experiment, listed
from .compare import Comparison, compare, tolerances
from .protocol import asked

#: Experiment and name of a unit.
Task = tuple[str, str]

# -- what is computed again ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verified:
    """One unit computed again: how it compares, or why it could not be computed."""

    experiment: str
    task: str
    comparison: Comparison | None
    failure: workers.Failed | None = None

    @property
    def ok(self) -> bool:
        """Whether it was computed and agrees."""
        return self.comparison is not None and self.comparison.ok


def chosen(ids: Collection[str] = (), seconds: float | None = None, seed: str = "") -> list[Task]:
    """Stored units that count: all of some experiments or of all, or with ``seconds`` a sample drawn by the seed.

    The sample is of units that took so many seconds together when they were stored. Of experiments that are named it
    has two units of each method in any case, as far as there are two.
    """
    known = catalogue()
    if unknown := [name for name in ids if name not in known]:
        raise ConfigurationError(f"There is no experiment {listed(unknown)}; there are {listed(known)}.")
    units = {(name, one.name): one for name in ids or known for one in store.units_of(name).values() if not one.changed}
    if seconds is None:
        return sorted(units)
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big"))
    drawn = [list(units)[i] for i in rng.permutation(len(units))]
    found, left, seen = [], seconds, Counter()
    for task in drawn:
        group = task[0], frozenset(units[task].methods)
        seen[group] += 1
        took = units[task].record["seconds"]
        if (ids and seen[group] <= 2) or took <= left:
            found.append(task)
            left -= took
    return sorted(found)


def verify(tasks: Collection[Task], *, jobs: int | None = None) -> list[Verified]:
    """Compute units again and compare them with what is stored; ``jobs`` processes at once."""
    found = []
    for name in dict.fromkeys(one for one, _ in tasks):
        wanted, folder = [task for one, task in tasks if one == name], paths.build("check", name)
        with processes.alone(f"verify {name}"):
            failed = _again(experiment(name), wanted, folder, jobs)
            old, new, allowed = store.units_of(name), store.units_of(name, folder), tolerances(name)
            peers = [unit.frame for unit in old.values()]
            for task in sorted(wanted, key=lambda task: task in failed):
                one = None
                if task not in failed:
                    one = compare(task, old[task].frame, new[task].frame, allowed, peers=peers)
                found.append(Verified(name, task, one, failed.get(task)))
    return found


def adopted(ids: Collection[str], found: Collection[Verified]) -> list[str]:
    """Those of some experiments whose units all agreed; their stored rows now belong to the cells that are here."""
    agreed = [name for name in ids if {one.ok for one in found if one.experiment == name} == {True}]
    for name in agreed:
        edits.adopt(experiment(name))
    return agreed


def _again(entry: Experiment, names: Collection[str], folder: Path, jobs: int | None) -> dict[str, workers.Failed]:
    """Compute stored units of an experiment again, with results in ``folder``; the reason of each failure.

    Every execution runs in a fresh interpreter, which has loaded nothing that its notebook does not ask for, and with
    the routines that the stored numbers were made with: where rounding decides, others give other numbers.
    """
    shutil.rmtree(folder, ignore_errors=True)
    left, failed = list(names), {}
    files = {store.file_of(entry.id, name) for name in names}
    # Those executions first to whose files some units belong.
    for execution in sorted(entry.runs, key=lambda run: not any(f"{file}-".startswith(f"{run}-") for file in files)):
        if not left:
            break
        job = {"experiment": entry.id, "execution": execution, "names": left, "folder": str(folder), "jobs": jobs}
        command = [sys.executable, "-m", "compendium.verify", json.dumps(job)]
        ended = subprocess.run(command, env=os.environ | numeric_environment())
        told = folder / f"{execution}.run"
        if not told.is_file():
            reason = f"{entry.notebook} with the execution {execution} ended with code {ended.returncode}"
            return failed | dict.fromkeys(left, workers.Failed(reason))
        done = json.loads(told.read_text(encoding="utf-8"))
        failed |= {name: workers.Failed(*one) for name, one in done["failed"].items()}
        left = [name for name in left if name not in done["units"]]
    return failed | dict.fromkeys(left, workers.Failed(f"{entry.notebook} no longer has this unit"))


def main(job: str) -> None:
    """Units of one execution for :func:`_again`, in an interpreter of its own."""
    given = json.loads(job)
    entry, folder = experiment(given["experiment"]), Path(given["folder"])
    with contextlib.redirect_stdout(io.StringIO()):  # what its cells print
        study, unit, seed = asked(entry, entry.execution(given["execution"]))
    names = [name for name in study.units if name in given["names"]]
    homes = {name: folder / store.home(entry, study.units[name]).name for name in names}
    failed = workers.compute(entry, unit, study.units, homes, seed=seed, jobs=given["jobs"])
    told = {"units": names, "failed": failed}
    records.write(folder / f"{given['execution']}.run", json.dumps(told).encode())


if __name__ == "__main__":
    main(sys.argv[1])
