"""The engine of the experiments: a notebook states data, methods and loop, and its units run here.

A *unit* is what is computed, stored, resumed and checked as a whole: a method on a split, say::

    study = Study("vu2022-tables", dataset=dataset, k=k, profile=profile)
    results = study.run(evaluate, over=[{"dataset": dataset, "method": name} for name in methods])

Its rows are *computed* (in this run) or *published* (stored by the full run of the committed notebook). What a unit
computes depends on its arguments alone; whether it is computed now depends on the run. If cells (:mod:`.edits`) and
parameters are as published, units are computed until a budget of time is full and compared with what is stored, and the
others are read. Else everything is computed now, until a time limit; what is left is missing, with its reason. With
``profile="full"`` all is stored unit by unit: as published in ``data/results``, else below ``_build``, where an earlier
run of the same cells and modules may have left rows: their source is *stored*.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from evenspan.core.errors import ConfigurationError, ExecutionError

from . import edits, own, paths, provenance, records, store
from .catalogue import PLAN, experiment, task_id
from .compare import Comparison, compare, tolerances
from .data.fetch import fetch_missing
from .errors import FetchError
from .workers import Job, compute, exclusive_lock, rows_of

#: Seconds that a run as published computes, by the times of the full run; a build less (:data:`.records.BUDGET`).
BUDGET = 60.0
#: One unit of a page is computed in any case if it takes no longer than so many seconds.
CHEAP = 5.0
#: Seconds after which a run of edited cells or of another setting ends, if the notebook gives no other number.
LIMIT = 120.0
REMEDY = 'set profile = "full"'
#: Where a row comes from: fitted in this run; read from the full run of the committed cells; read from an earlier full
#: run of the reader's own cells.
COMPUTED, PUBLISHED, STORED = "computed", "published", "stored"

Unit = Callable[..., pd.DataFrame | list[dict]]
tidy, whole = records.tidy, records.whole


class Study:
    """A run of a notebook: the name of its entry in ``experiments.yml``, and its parameters with their values.

    ``profile`` is ``"embedded"``, ``"full"``, which downloads what raw data it names, or ``"plan"``, which only lists
    the units. Shown at the end of a cell, a study says what was computed, what was read, and why.
    """

    def __init__(self, experiment_id: str, *, profile: str = "embedded", **parameters) -> None:
        self.entry = experiment(experiment_id)
        #: The parameters as they were given.
        self.given = parameters | {"profile": profile}
        self.setting = self.entry.arguments(None, profile, parameters)
        self.profile = self.setting.pop("profile")
        if self.setting.get("method"):
            self.setting["method"] = own.method_fingerprint(str(self.setting["method"]))
        if self.full:
            fetch_missing(self.setting.values())
        #: The parameters of each unit by its name; the function that computes one, and the seed of all.
        self.units: dict[str, dict] = {}
        self.unit: Unit | None = None
        self.seed: object = None
        #: The rows of all units that have some, with their ``source``.
        self.results = pd.DataFrame()
        self.seconds = 0.0
        self.compared: list[Comparison] = []
        #: Why units were not computed, by their names.
        self.left_out: dict[str, str] = {}
        #: What of this run is the reader's own, in words: cells and parameters; blank if all is as published.
        self.edited_reason = ""
        #: Digests of the cells that led to it, and of modules of the reader's that they import.
        self.cells: list[str] = []
        self.modules: dict[str, str] = {}

    @property
    def full(self) -> bool:
        """Whether all units are computed and stored."""
        return self.profile == "full"

    @property
    def page(self) -> str:
        """A name for what the page writes, unique in the book, another for every edit: ``rathore2025-tables/npha``."""
        name = self.entry.execution_for(self.setting)
        return f"{self.entry.id}/{name if name and not self.edited_reason else self._own_name()}"

    @property
    def published(self) -> bool:
        """Whether the setting is one of the book's pages, so that there are numbers to lay beside it."""
        return self.entry.execution_for(self.setting) is not None

    @property
    def alone(self) -> bool:
        """Whether tables, claims and sentences stand on the rows of this run only: a reader's own, or a small one."""
        return bool(self.edited_reason) or self.entry.execution_for(self.setting) in self.entry.small

    @property
    def budget(self) -> float:
        """Seconds that a run as published computes."""
        return float(os.environ.get(records.BUDGET, BUDGET))

    def run(self, unit: Unit, over: Iterable[Mapping], *, seconds: float = LIMIT, seed: object = None) -> pd.DataFrame:
        """Rows of all units, with their names in ``task`` and their ``source``.

        ``unit`` is called with each mapping of ``over``, the parameters of a unit, and returns rows of :func:`tidy`, or
        a data frame with their columns and perhaps others. The limit in ``seconds`` is that of a run of edited cells or
        of another setting; ``seed`` is noted in the records.
        """
        self._refuse_drift()
        self.units, self.unit, self.seed, begun = _named(over), unit, seed, time.perf_counter()
        self.edited_reason, self.cells = self._edited_reason(), edits.digests(self.entry)
        self.modules = edits.reader_modules() if self.edited_reason else {}
        self.left_out, self.compared = {}, []
        if self.profile == PLAN:
            return self.results
        made, stored = self.compute() if self.full else [], {}
        if self.full or not self.edited_reason:
            stored = {name: known.frame for name in self.units if (known := self.stored(name))}
        computed = {} if self.full else self._computed(stored, seconds)
        self.seconds = time.perf_counter() - begun
        allowed, both = tolerances(self.entry.id), [name for name in self.units if name in stored and name in computed]
        peers = stored.values()
        self.compared = [compare(stored[name], computed[name], allowed, peers=peers) for name in both]
        read = STORED if self.edited_reason else PUBLISHED
        rows = [frame.assign(source=COMPUTED) for frame in computed.values()]
        rows += [
            frame.assign(source=COMPUTED if name in made else read)
            for name, frame in stored.items()
            if name not in computed
        ]
        if not rows:
            reasons = "; ".join(dict.fromkeys(self.left_out.values()))
            raise ExecutionError(f"{self.entry.id}: no unit gave a number ({reasons}).")
        place = {name: i for i, name in enumerate(self.units)}
        rows.sort(key=lambda frame: place[frame["task"].iloc[0]])
        self.results = pd.concat(rows, ignore_index=True)
        return self.results.copy()

    def compute(self, names: Collection[str] | None = None, *, jobs: int | None = None) -> list[str]:
        """Compute and store the units, or some of them, that are not stored or are outdated; their names."""
        with exclusive_lock(f"run {self.page}"):
            due = self.due(names)
            asked = len(self.units if names is None else [*filter(self.units.get, names)])
            print(f"{self.entry.id}: {asked - len(due)} of {asked} units are stored already", flush=True)
            fetch_data_of(due)
            if failed := compute(due, jobs=jobs):
                self.left_out |= {job.name: one.reason for job, one in failed.items()}
                reasons = "\n".join(f"{job.name}: {one.reason}" for job, one in failed.items())
                raise ExecutionError(
                    f"{self.entry.id}: {len(failed)} of {len(due)} units failed. Remove the cause and run it again; "
                    f"finished units are kept.\n{reasons}"
                )
        return [job.name for job in due]

    def due(self, names: Collection[str] | None = None) -> list[Job]:
        """The units, or those of some names, that are not stored or are outdated."""
        wanted = [name for name in self.units if (names is None or name in names) and not self.stored(name)]
        return [
            Job(self.entry, name, self.units[name], self.unit, self.record_path(name), self.seed) for name in wanted
        ]

    def _computed(self, stored: Mapping[str, pd.DataFrame], limit: float) -> dict[str, pd.DataFrame]:
        """Units computed now: of a run as published those that fit into the budget, else until the limit."""
        due = self._in_order()
        if not self.edited_reason:
            took = np.cumsum([self.took(name) for name in due])
            fits = [name for name, time in zip(due, took, strict=True) if time <= self.budget]
            first = [name for name in due[:1] if self.took(name) <= CHEAP]
            due = [name for name in due if name in {*first, *fits} or name not in stored]
        found, begun = {}, time.perf_counter()
        for name in due:
            if name not in stored and time.perf_counter() - begun >= limit:
                self.left_out[name] = f"not computed within {limit:g} s"
                continue
            try:
                rows = rows_of(self.unit, self.units[name], f"{self.entry.id}, {name}")
            except Exception as error:
                no_data = isinstance(error, FetchError)
                if not self.edited_reason and not no_data:  # a published unit that fails is not to be passed over
                    raise
                why = error.remedy if no_data else f"{type(error).__name__}: {error}"
                self.left_out[name] = why.partition("\n")[0]
            else:
                # As they would be read from the store, so that both can be compared and shown alike.
                found[name] = records.frame(records.lines(rows)).assign(task=name)
        return found

    def _in_order(self) -> list[str]:
        """The units in the order in which they are computed: a reader's own method, the quickest unit of each method,
        the others, each time the quick ones first."""
        added, seen = str(self.given.get("method", "")).rpartition(":")[2], Counter()
        order = {}
        for name in sorted(self.units, key=self.took):
            method = str(self.units[name].get("method", ""))
            order[name] = (not (added and method == added), seen[method], self.took(name))
            seen[method] += 1
        return sorted(self.units, key=order.get)

    def took(self, name: str) -> float:
        """Seconds that the full run took for a unit; 0 if it is not stored."""
        unit = store.units_at(self._published_path(name)).get(name)
        return float(unit.record["seconds"]) if unit else 0.0

    def stored(self, name: str) -> store.Unit | None:
        """The stored unit if it is valid, else None."""
        unit = store.units_at(self.record_path(name)).get(name)
        if unit and unit.changed:
            self.left_out[name] = unit.changed
        return None if unit and unit.changed else unit

    def record_path(self, name: str) -> Path:
        """The record that holds a unit: of the published results, or below ``_build`` where something is edited."""
        if not self.edited_reason:
            return self._published_path(name)
        return paths.build("results", self.entry.id, f"{self._own_name()}.json")

    def _published_path(self, name: str) -> Path:
        return store.record_path(self.entry, self.units[name], self.entry.execution_for(self.setting))

    def _own_name(self) -> str:
        # The digest tells cells apart, and settings of which the names are alike, such as a-b.csv and a_b.csv.
        mine = [sorted(self.setting.items()), self.cells, sorted(self.modules.items())]
        return f"{task_id(self.setting)}-{records.digest(repr(mine).encode())[:8]}"

    def _refuse_drift(self) -> None:
        """Parameters in the kernel that are no longer those of the study are an error."""
        there = edits.namespace()
        other = {name: there[name] for name, value in self.given.items() if name in there and there[name] != value}
        method = str(self.given.get("method", ""))
        if not other and method and own.method_fingerprint(method) != self.setting["method"]:
            other = {"method": f"{method}, edited since"}
        if other:
            now = ", ".join(f"{name} = {value!r}" for name, value in other.items())
            then = ", ".join(f"{name} = {self.given[name]!r}" for name in other)
            raise ConfigurationError(
                f"{now} in this kernel, but the study was made with {then}. Run the cell with "
                f'Study("{self.entry.id}", ...) and those below it again.'
            )

    def _edited_reason(self) -> str:
        found = edits.differences_from_committed(self.entry)
        if not self.published:
            changed = {name: value for name, value in self.setting.items() if value != self.entry.parameters[name]}
            said = ", ".join(f"{name} = {value!r}" for name, value in changed.items()) or "the defaults"
            found = [*found, f"the setting is another one ({said})"]
        return " and ".join(found)

    def rows(self, experiment_id: str, *every: str, **where: object) -> pd.DataFrame:
        """Rows of this run as a claim asks for them (:data:`compendium.claim_rules.Rows`): of its experiment alone."""
        if experiment_id != self.entry.id:
            raise store.MissingNumbersError(f"no rows of {experiment_id}, which did not run here")
        return store.complete(self.results, "this run", *every, **where)

    # -- what is said of it -------------------------------------------------------------------------------------------

    def note(self) -> str:
        """What was computed now and what was read, why, and how far the two are apart."""
        if self.results.empty:
            return f"{len(self.units)} units; nothing was computed."
        return " ".join(filter(None, [self._counts(), self._reading(), self._comparison(), self._missing()]))

    def _counts(self) -> str:
        rows = self.results[self.results["value"].notna()]
        new = int((rows["source"] == COMPUTED).sum())
        text = f"Computed now: {new:,} of {len(rows):,} numbers ({self.seconds:.0f} s)."
        if self.edited_reason:
            text += f" This run is your own: {self.edited_reason}. Nothing that is published was used."
        return text

    def _reading(self) -> str:
        """Which units were read, and why each was not computed."""
        read = [
            name for name in self.units if name in set(self.results.loc[self.results["source"] != COMPUTED, "task"])
        ]
        if not read:
            return ""
        text = f"The others were stored by {'the same cells' if self.edited_reason else 'the full run'}"
        if self.full:
            return f"{text}."
        why = [f"{self.left_out[name]} ({count} units)" for name, count in self._counted(read)]
        if long := [name for name in read if name not in self.left_out]:
            why.append(f"{len(long)} units need about {duration(sum(map(self.took, long)))} ({REMEDY})")
        text = f"{text}: {'; '.join(why)}."
        if differ := provenance.changed_files():
            names = ", ".join(differ[:3]) + (f" and {len(differ) - 3} more" if differ[3:] else "")
            text += f" These files differ from the commit, and stored numbers may not be theirs: {names}."
        return text

    def _comparison(self) -> str:
        if not (numbers := sum(one.rows for one in self.compared)):
            return ""
        worst = max(self.compared, key=lambda one: (one.outside, one.share))
        text = f"Of {numbers:,} that are stored as well "
        if outside := sum(one.outside for one in self.compared):
            return f"{text}{outside:,} DIFFER by more than is allowed, most at {worst.where}."
        if not worst.largest:
            return f"{text}all agree."
        most = f"most by {worst.largest:.1g} where {worst.stored:.3g} is stored ({worst.where})"
        return f"{text}none differs by more than is allowed, {most}."

    def _missing(self) -> str:
        """Units without rows, and why."""
        there = set(self.results["task"])
        missing = [name for name in self.left_out if name not in there]
        said = []
        for first, count in self._counted(missing):
            names = [name for name in missing if self.left_out[name] == self.left_out[first]]
            said.append(f"{', '.join(names[:3])}{', ...' if count > 3 else ''} ({self.left_out[first]})")
        return f"Missing: {'; '.join(said)}." if said else ""

    def _counted(self, names: Iterable[str]) -> list[tuple[str, int]]:
        """The reasons of some units, each by a unit that has it, with their number."""
        counts = Counter(self.left_out[name] for name in names if name in self.left_out)
        return [(next(name for name, why in self.left_out.items() if why == reason), n) for reason, n in counts.items()]

    __repr__ = note

    def _repr_html_(self) -> str:
        return f'<p class="recomputed">{self.note()}</p>'


def fetch_data_of(due: Iterable[Job]) -> None:
    """Download what raw data units name; a unit whose data cannot be had says so when it is computed."""
    for dataset in dict.fromkeys(str(job.task.get("dataset", "")) for job in due):
        try:
            fetch_missing([dataset])
        except FetchError as error:
            print(error, flush=True)


def duration(seconds: float) -> str:
    """Seconds in words: ``40 s``, ``12 min``, ``1.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _named(over: Iterable[Mapping]) -> dict[str, dict]:
    found: dict[str, dict] = {}
    for task in over:
        if (name := task_id(task)) in found:
            raise ConfigurationError(f"{found[name]} and {dict(task)} have the same name {name!r}; rename one.")
        found[name] = dict(task)
    return found
