"""The engine of the experiments: a notebook states data, methods and loop, and its units run here.

A *unit* is what is computed, stored, resumed and checked as a whole: a method on a split, say::

    study = protocol.study("vu2022-tables", dataset=dataset, k=k, profile=profile)
    results = study.run(judge, over=[{"dataset": dataset, "method": name} for name in methods])

Its rows are *computed* (in this run) or *published* (stored by the full run of the committed notebook). If cells
(:mod:`.edits`) and parameters are as published, units that take little time are computed and compared with what is
stored, and the others are filled in. Else everything is computed now, until a time limit; what is left is missing, with
its reason. With ``profile="full"`` all is stored unit by unit: as published in ``data/results``, else below ``_build``.
"""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError, ExecutionError

from . import edits, paths, records, store
from .catalogue import Experiment, experiment, task_id
from .compare import Comparison, compare, tolerances
from .data.fetch import may_download
from .errors import FetchError
from .workers import alone, compute, rows_of

#: Seconds that a run as published computes, by the times of the full run; a build less (:data:`.records.BUDGET`).
BUDGET = 60.0
#: One unit of a page is computed in any case if it takes no longer than so many seconds.
CHEAP = 5.0
#: The share of a ``quick`` unit's time that its part is taken to need.
PART = 0.1
#: Seconds after which a run of edited cells or of another setting ends, if the notebook gives no other number.
LIMIT = 120.0
REMEDY = 'Set profile = "full" to compute all of it, which also fetches raw data.'
COMPUTED, PUBLISHED = "computed", "published"
#: What the cell of a notebook calls that runs its units.
RUNS_UNITS = "study.run("

Unit = Callable[..., pd.DataFrame | list[dict]]
tidy, whole = records.tidy, records.whole


def study(experiment_id: str, *, profile: str = "embedded", **setting) -> "Study":
    """A run of a notebook: the name of its entry in ``experiments.yml``, and its parameters with their values.

    ``profile`` is ``"embedded"`` or ``"full"``; only with ``"full"`` raw files are downloaded."""
    entry = experiment(experiment_id)
    setting = entry.arguments(None, profile, setting)
    full = setting.pop("profile") == "full"
    may_download(full)
    return Study(entry, setting, full)


@dataclass
class Study:
    """One run: see :func:`study`. Shown at the end of a cell, it says what was computed and what was read."""

    entry: Experiment
    setting: Mapping[str, object]
    full: bool
    units: dict[str, dict] = field(default_factory=dict)
    #: The rows of all units that have some, with their ``source``.
    results: pd.DataFrame = field(default_factory=pd.DataFrame)
    seconds: float = 0.0
    compared: list[Comparison] = field(default_factory=list)
    #: Why units, or rows of them, are missing or were not computed.
    left_out: dict[str, str] = field(default_factory=dict)
    #: What of this run is the reader's own, in words: cells and parameters; blank if all is as published.
    own: str = ""
    #: Digests of the cells that led to it.
    cells: list[str] = field(default_factory=list)

    @property
    def page(self) -> str:
        """A name for what the page writes, unique in the book: ``rathore2025-tables/npha``."""
        return f"{self.entry.id}/{self.entry.execution_for(self.setting) or task_id(self.setting)}"

    @property
    def published(self) -> bool:
        """Whether the setting is one of the book's pages, so that there are numbers to lay beside it."""
        return self.entry.execution_for(self.setting) is not None

    @property
    def budget(self) -> float:
        """Seconds that a run as published computes."""
        return float(os.environ.get(records.BUDGET, BUDGET))

    @property
    def whole(self) -> bool:
        """Whether units have to give all their rows; a long run as published may compute a part of them."""
        return self.full or bool(self.own) or sum(map(self.took, self.units.values())) <= self.budget

    def run(
        self,
        unit: Unit,
        over: Iterable[Mapping],
        *,
        quick: Collection[Mapping] = (),
        seconds: float = LIMIT,
        seed: object = None,
    ) -> pd.DataFrame:
        """Rows of all units, with their names in ``task`` and their ``source``.

        ``unit`` is called with each mapping of ``over``, the parameters of a unit, and returns rows of :func:`tidy`, or
        a data frame with their columns and perhaps others. A run as published begins with the ``quick`` units, of which
        it computes a part alone unless it is to be ``whole``. The limit in ``seconds`` is that of a run of edited cells
        or of another setting; ``seed`` is noted in the records.
        """
        self.units, begun = _named(over), time.perf_counter()
        self.own, self.cells = self._own(), edits.digests(self.entry)
        if _asking:
            raise _Asked(self, unit, seed)
        made, stored = self.compute(unit, seed=seed) if self.full else [], {}
        if self.full or not self.own:
            stored = {name: known.frame for name in self.units if (known := self.stored(name))}
        computed = {} if self.full else self._computed(unit, _named(quick), stored, seconds)
        self.seconds = time.perf_counter() - begun
        allowed, both = tolerances(self.entry.id), [name for name in self.units if name in stored and name in computed]
        peers = stored.values()
        self.compared = [compare(stored[name], computed[name], allowed, part=True, peers=peers) for name in both]
        sources = {name: COMPUTED if name in made else PUBLISHED for name in self.units}
        rows = [_filled(computed.get(name), stored.get(name), source) for name, source in sources.items()]
        if not any(map(len, rows)):
            reasons = "; ".join(dict.fromkeys(self.left_out.values()))
            raise ExecutionError(f"{self.entry.id}: no unit gave a number ({reasons}). {'' if self.full else REMEDY}")
        self.results = pd.concat([frame for frame in rows if len(frame)], ignore_index=True)
        return self.results.copy()

    def compute(
        self, unit: Unit, names: Collection[str] | None = None, *, seed: object = None, jobs: int | None = None
    ) -> list[str]:
        """Compute and store the units, or some of them, that are not stored or do not count; their names."""
        with alone(f"run {self.page}"):
            homes = {name: self._home(task) for name, task in self.units.items() if names is None or name in names}
            stored = set(filter(self.stored, homes))
            print(f"{self.entry.id}: {len(stored)} of {len(homes)} units are stored already", flush=True)
            homes = {name: path for name, path in homes.items() if name not in stored}
            if failed := compute(self.entry, unit, self.units, homes, seed=seed, jobs=jobs):
                self.left_out |= {name: one.reason for name, one in failed.items()}
                reasons = "\n".join(f"{name}: {one.reason}" for name, one in failed.items())
                raise ExecutionError(
                    f"{self.entry.id}: {len(failed)} of {len(homes)} units failed. Remove the cause and run it again; "
                    f"finished units are kept.\n{reasons}"
                )
        return list(homes)

    def _computed(
        self, unit: Unit, quick: Mapping, stored: Mapping[str, pd.DataFrame], limit: float
    ) -> dict[str, pd.DataFrame]:
        """Units computed now: of a run as published those that fit into the budget, else until the limit."""
        took = {name: self.took(task) for name, task in self.units.items()}
        due = sorted(self.units, key=lambda name: (name not in quick, took[name]))
        if not self.own:
            quick = () if self.whole else quick
            spent = np.cumsum([took[name] * (PART if name in quick else 1.0) for name in due])
            first = [name for name in due if name in quick or took[name] <= CHEAP][:1]
            near = [name for name, time in zip(due, spent, strict=True) if time <= self.budget]
            due = [name for name in due if name in (*first, *near) or name not in stored]
        found, begun = {}, time.perf_counter()
        for name in due:
            if (self.own or name not in stored) and time.perf_counter() - begun >= limit:
                self.left_out[name] = f"not computed within {limit:g} s"
                continue
            try:
                rows = rows_of(unit, self.units[name], f"{self.entry.id}, {name}")
            except Exception as error:
                no_data = isinstance(error, FetchError)
                if not self.own and not no_data:  # a published unit that fails is not to be passed over
                    raise
                why = str(error) if no_data else f"{type(error).__name__}: {error}"
                self.left_out[name] = why.partition("\n")[0]
            else:
                # As they would be read from the store, so that both can be compared and shown alike.
                found[name] = records.frame(records.lines(rows)).assign(task=name)
        return found

    def took(self, task: Mapping) -> float:
        """Seconds that a unit took when it was stored, 0 if it is not."""
        unit = store.units_at(store.home(self.entry, task)).get(task_id(task))
        return float(unit.record["seconds"]) if unit else 0.0

    def stored(self, name: str) -> store.Unit | None:
        """The stored unit, if it counts."""
        unit = store.units_at(self._home(self.units[name])).get(name)
        if unit and unit.changed:
            self.left_out[name] = unit.changed
        return None if unit and unit.changed else unit

    def _home(self, task: Mapping) -> Path:
        if not self.own:
            return store.home(self.entry, task)
        # The digest tells cells apart, and settings of which the names are alike, such as a-b.csv and a_b.csv.
        own = [sorted(self.setting.items()), self.cells]
        name = f"{task_id(self.setting)}-{records.digest(repr(own).encode())[:8]}.json"
        return paths.build("results", self.entry.id, name)

    def _own(self) -> str:
        found = edits.departures(self.entry)
        if not self.published:
            changed = {name: value for name, value in self.setting.items() if value != self.entry.parameters[name]}
            said = ", ".join(f"{name} = {value!r}" for name, value in changed.items()) or "the defaults"
            found = [*found, f"the setting is another one ({said})"]
        return " and ".join(found)

    def note(self) -> str:
        """What was computed now and what was read, and how far the two are apart."""
        rows = self.results[self.results["value"].notna()]
        new = int((rows["source"] == COMPUTED).sum())
        text = f"Computed now: {new:,} of {len(rows):,} numbers ({self.seconds:.0f} s)."
        if new < len(rows):
            text += f" The others were stored by {'the same cells' if self.own else 'the full run'}."
        if self.own:
            text += f" This run is your own: {self.own}. Nothing that is published was used."
        if numbers := sum(one.rows for one in self.compared):
            worst = max(self.compared, key=lambda one: (one.outside, one.largest))
            outside = sum(one.outside for one in self.compared)
            text += f" Of {numbers:,} that are stored as well "
            if outside:
                text += f"{outside:,} DIFFER by more than is allowed, most at {worst.where}."
            elif worst.largest:
                text += f"none differs by more than {worst.largest:.1g} ({worst.where})."
            else:
                text += "all are equal."
        missing = {name: why for name, why in self.left_out.items() if self.own or name not in set(rows["task"])}
        for reason in dict.fromkeys(missing.values()):
            names = [name for name, why in missing.items() if why == reason]
            text += f" Missing: {', '.join(names[:3])}{', ...' if names[3:] else ''} ({reason})."
        return text + (f" {REMEDY}" if missing and not self.full else "")

    __repr__ = note

    def _repr_html_(self) -> str:
        return f'<p class="recomputed">{self.note()}</p>'


def _filled(new: pd.DataFrame | None, old: pd.DataFrame | None, source: str) -> pd.DataFrame:
    """Rows of a unit: those computed now, and of the stored ones those that were not; a number before its absence."""
    parts = [rows.assign(source=name) for rows, name in ((new, COMPUTED), (old, source)) if rows is not None]
    if len(parts) < 2:
        return parts[0] if parts else pd.DataFrame()
    both = pd.concat(parts, ignore_index=True)
    numbers_first = both.loc[both["value"].isna().sort_values(kind="stable").index]
    key = [name for name in old.columns if name not in ("value", "reason")]
    return both.loc[sorted(numbers_first[key].astype(str).drop_duplicates().index)]


def _named(over: Iterable[Mapping]) -> dict[str, dict]:
    found: dict[str, dict] = {}
    for task in over:
        if (name := task_id(task)) in found:
            raise ConfigurationError(f"{found[name]} and {dict(task)} have the same name {name!r}; rename one.")
        found[name] = dict(task)
    return found


# -- without a kernel ---------------------------------------------------------------------------------------------


class _Asked(BaseException):
    """A study with its units, and the function that computes them: what a notebook's cells were run for."""


_asking: list[bool] = []


def asked(entry: Experiment, setting: Mapping[str, object]) -> tuple[Study, Unit, object]:
    """The study of a notebook with its units, the function that computes them, and its seed; nothing is computed."""
    _asking.append(True)
    try:
        with contextlib.chdir(paths.root()):
            cells(entry, setting, "full")
    except _Asked as found:
        return found.args
    finally:
        _asking.pop()
    raise ConfigurationError(f"{entry.notebook} has no study that runs units; add study.run(...) to it.")


def cells(
    entry: Experiment, setting: Mapping[str, object], profile: str = "embedded", *, all_of_it: bool = False
) -> dict[str, object]:
    """What a notebook defines with these parameters up to and with the cell that runs its units; or at all."""
    space: dict[str, object] = {"__name__": "__main__"}
    edits.running.append([])
    try:
        for cell in nbformat.read(paths.root() / entry.notebook, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            parameters = "parameters" in cell.metadata.get("tags", [])
            edits.running[-1].append("" if parameters else cell.source)
            exec(compile(cell.source, entry.notebook, "exec"), space)
            if parameters:
                space |= dict(setting) | {"profile": profile}
            if RUNS_UNITS in cell.source and not all_of_it:
                break
    finally:
        edits.running.pop()
    return space
