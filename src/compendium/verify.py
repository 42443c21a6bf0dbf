"""Stored units computed again from the data and compared: some experiments, a sample, or everything.

Every unit is compared by the rules of ``data/tolerances.yml``. Where the units of a notebook agree, its cells are those
that the stored rows belong to.
"""

import hashlib
import shutil
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from . import edits, paths, store, workers
from .catalogue import Experiment, catalogue, experiment
from .compare import Comparison, compare, tolerances
from .engine import inspect_study

Found = Comparison | workers.Failed


def chosen(ids: Collection[str] = (), seconds: float | None = None, seed: str = "") -> list[tuple[str, str]]:
    """Stored units that count, each with its experiment: all, or a sample of so many ``seconds`` drawn by the seed."""
    names = [experiment(name).id for name in ids] or list(catalogue())
    units = {(name, task): one for name in names for task, one in _known(name).items() if not one.changed}
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
        with workers.exclusive_lock(f"verify {name}"):
            failed = _again(experiment(name), wanted, jobs)
            old, new = _known(name), _known(name, paths.build("check", name))
        allowed, peers = tolerances(name), [unit.frame for unit in old.values()]
        for task in wanted:
            again = failed.get(task)
            found[name, task] = again or compare(old[task].frame, new[task].frame, allowed, peers=peers)
    return found


def _known(experiment_id: str, folder: Path | None = None) -> dict[str, store.Unit]:
    """The stored units of an experiment; those of small executions are called ``small/...``."""
    folder = folder or paths.results(experiment_id)
    small = store.units_of(experiment_id, folder / store.SMALL)
    return store.units_of(experiment_id, folder) | {f"{store.SMALL}/{name}": one for name, one in small.items()}


def _again(entry: Experiment, names: Collection[str], jobs: int | None) -> dict[str, workers.Failed]:
    """Compute stored units of an experiment again, apart from what is stored; the reason of each failure."""
    folder, stored = paths.build("check", entry.id), _known(entry.id)
    shutil.rmtree(folder, ignore_errors=True)
    left, failed = list(names), {}
    files = {f"{stored[name].path.stem}-" for name in names}
    # Those executions first to whose files some units belong.
    for execution in sorted(entry.runs, key=lambda run: not any(file.startswith(f"{run}-") for file in files)):
        if left:
            study = inspect_study(entry, entry.execution(execution))
            before = f"{store.SMALL}/" if execution in entry.small else ""
            here = {name: before + name for name in study.units if before + name in left}
            paths_of = {name: folder / before / study.record_path(name).name for name in here}
            told = workers.compute(entry, study.unit, study.units, paths_of, seed=study.seed, jobs=jobs)
            failed |= {here[name]: why for name, why in told.items()}
            left = [name for name in left if name not in here.values()]
    return failed | dict.fromkeys(left, workers.Failed(f"{entry.notebook} no longer has this unit"))


def accepted(ids: Collection[str], found: Mapping[tuple[str, str], Found]) -> list[str]:
    """Those of some experiments whose units all agreed; their stored rows now belong to the cells that are here."""
    agreed = [name for name in ids if {one.ok for (own, _), one in found.items() if own == name} == {True}]
    for name in agreed:
        edits.accept_current_cells(experiment(name))
    return agreed
