"""Stored units computed again from the data and compared: some experiments, a sample, or everything.

Every unit is compared by the rules of ``data/tolerances.yml``. Where the units of a notebook agree, its cells are those
that the stored rows belong to.
"""

import hashlib
import shutil
from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np

from . import edits, paths, store, workers
from .catalogue import Experiment, catalogue, experiment
from .compare import Comparison, compare, tolerances
from .engine import inspect_study

Found = Comparison | workers.Failed


def chosen(ids: Collection[str] = (), seconds: float | None = None, seed: str = "") -> list[tuple[str, str]]:
    """Stored units that count, each with its experiment: all, or a sample of so many ``seconds`` drawn by the seed."""
    names = [experiment(name).id for name in ids] or list(catalogue())
    units = {(name, task): one for name in names for task, one in known(name).items() if not one.changed}
    if seconds is None:
        return sorted(units)
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big"))
    drawn = [list(units)[i] for i in rng.permutation(len(units))]
    found, left, seen = [], seconds, Counter()
    for task in drawn:
        group = task[0], frozenset(units[task].methods)
        seen[group] += 1
        took = units[task].record["seconds"]
        if (ids and seen[group] <= 2) or took <= left:  # of an experiment that is named two of each method
            found.append(task)
            left -= took
    return sorted(found)


def verify(tasks: Collection[tuple[str, str]], *, jobs: int | None = None) -> dict[tuple[str, str], Found]:
    """Compute units again, ``jobs`` at once, and compare them with what is stored; or why they were not computed."""
    found = {}
    for name in dict.fromkeys(one for one, _ in tasks):
        wanted = [task for one, task in tasks if one == name]
        stored = known(name)
        with workers.exclusive_lock(f"verify {name}"), paths.results_in(paths.build("check")):
            shutil.rmtree(paths.results(name), ignore_errors=True)
            failed = _again(experiment(name), {task: stored[task] for task in wanted}, jobs)
            found |= {(name, task): one for task, one in compared(name, wanted, stored, failed).items()}
    return found


def known(experiment_id: str) -> dict[str, store.Unit]:
    """The stored units of an experiment; those of small executions are called ``small/...``."""
    small = store.units_of(experiment_id, paths.results(experiment_id, store.SMALL))
    return store.units_of(experiment_id) | {f"{store.SMALL}/{name}": one for name, one in small.items()}


def compared(
    experiment_id: str, names: Collection[str], stored: Mapping[str, store.Unit], failed: Mapping[str, workers.Failed]
) -> dict[str, Found]:
    """Units that were computed again, each beside the stored one, or why it failed."""
    allowed, peers = tolerances(experiment_id), [unit.frame for unit in stored.values()]
    new = known(experiment_id)
    return {
        name: failed.get(name) or compare(stored[name].frame, new[name].frame, allowed, peers=peers) for name in names
    }


def _again(entry: Experiment, stored: Mapping[str, store.Unit], jobs: int | None) -> dict[str, workers.Failed]:
    """Compute stored units of an experiment again, apart from what is stored; the reason of each failure."""
    edits.accept_current_cells(entry)
    left, failed = [*stored], {}
    files = {f"{unit.path.stem}-" for unit in stored.values()}
    # Those executions first to whose files some units belong.
    for execution in sorted(entry.runs, key=lambda run: not any(file.startswith(f"{run}-") for file in files)):
        if left:
            study = inspect_study(entry, entry.execution(execution))
            before = f"{store.SMALL}/" if execution in entry.small else ""
            here = [name for name in left if name.startswith(before) and name.removeprefix(before) in study.units]
            due = study.due([name.removeprefix(before) for name in here])
            failed |= {before + job.name: why for job, why in workers.compute(due, jobs=jobs).items()}
            left = [name for name in left if name not in here]
    return failed | dict.fromkeys(left, workers.Failed(f"{entry.notebook} no longer has this unit"))


def accepted(ids: Collection[str], found: Mapping[tuple[str, str], Found]) -> list[str]:
    """Those of some experiments whose units all agreed; their stored rows now belong to the cells that are here."""
    agreed = [name for name in ids if {one.ok for (own, _), one in found.items() if own == name} == {True}]
    for name in agreed:
        edits.accept_current_cells(experiment(name))
    return agreed
