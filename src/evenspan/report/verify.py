"""Stored results computed again from the raw data and compared: a sample, one part of all, or what is asked for.

What is compared are the tasks behind published numbers: each is a process of its own that knows nothing of what is
stored. A part is one share of a fixed division, so that consecutive parts go through everything.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..errors import ConfigurationError
from ..experiments import records, tasks
from ..experiments.catalogue import catalogue
from ..experiments.recheck import Comparison
from ..experiments.store import folder_of, inspect
from .ledger import ledger

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


def part(which: str) -> list[Task]:
    """The tasks of one share, ``I/N``: all tasks behind numbers, shuffled once and dealt by their recorded seconds.

    ``I`` counts on beyond ``N``, so that a running number serves.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", which)
    behind = sorted({task for several in numbers().values() for task in several})
    if match is None or not 1 <= int(match[2]) <= len(behind):
        raise ConfigurationError(f"The part {which!r} must be I/N, with N from 1 to {len(behind)} tasks; such as 3/20.")
    number, parts = int(match[1]), int(match[2])
    order = np.random.default_rng(0).permutation(len(behind))
    seconds = {task: _seconds(task) for task in behind}
    dealt: list[list[Task]] = [[] for _ in range(parts)]
    for task in sorted((behind[i] for i in order), key=lambda task: -seconds[task]):
        min(dealt, key=lambda share: sum(seconds[one] for one in share)).append(task)
    return sorted(dealt[number % parts])


def of_cells(cells: Iterable[str]) -> list[Task]:
    """The tasks behind some cells of the ledger."""
    behind = numbers()
    if unknown := [cell for cell in cells if cell not in behind]:
        near = ", ".join(list(behind)[:3])
        raise ConfigurationError(
            f"No result of ours stands behind {', '.join(unknown)}. A cell is written as in {near}."
        )
    return sorted({task for cell in cells for task in behind[cell]})


def stored(experiments: Collection[str] = (), *, stale: bool = False) -> list[Task]:
    """All stored tasks of the full run, or of some experiments; with ``stale`` only those."""
    known = catalogue()
    if unknown := [name for name in experiments if name not in known]:
        raise ConfigurationError(f"There is no experiment {', '.join(unknown)}; there are {', '.join(known)}.")
    return [
        (name, task.name)
        for name in experiments or known
        for task in inspect(name)
        if task.status == "finished" and (task.stale or not stale)
    ]


def verify(chosen: Collection[Task], *, jobs: int | None = None, renew: bool = False) -> list[Verified]:
    """Compute tasks again and compare, within the tolerances of ``data/tolerances.yml``.

    Parameters
    ----------
    chosen : collection of pairs
        Experiment and task.
    jobs : int, optional
        Processes at once.
    renew : bool
        Let a result that agrees take the place of the stored one, with its record: it is then no longer stale.
    """
    carried = pd.Series([task for several in numbers().values() for task in several], dtype=object).value_counts()
    found = []
    for name in dict.fromkeys(experiment for experiment, _ in chosen):
        wanted = [task for experiment, task in chosen if experiment == name]
        compared, failed = tasks.check(name, wanted, jobs)
        for one in compared:
            if renew and one.ok:
                _renew(name, one.name)
            found.append(Verified(name, one.name, int(carried.get((name, one.name), 0)), one))
        found += [Verified(name, task, int(carried.get((name, task), 0)), None, why) for task, why in failed.items()]
    return found


def _renew(experiment: str, task: str) -> None:
    again, original = tasks.again_folder(experiment), folder_of(experiment, "full")
    # As in the store: at no moment does a record stand beside a result that is not its own.
    (original / f"{task}.json").unlink()
    for suffix in (".csv", ".json"):
        records.write(original / f"{task}{suffix}", (again / f"{task}{suffix}").read_bytes())


def _seconds(task: Task) -> float:
    return float(records.read(folder_of(task[0], "full") / f"{task[1]}.json")["seconds"])
