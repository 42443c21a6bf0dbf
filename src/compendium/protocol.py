"""The engine of the experiments: a notebook states data, methods and loop, and its units run here with a budget.

A *unit* is what is computed, stored, resumed and checked as a whole: a method on a split, say. A notebook opens a
:func:`study` with its parameters and hands it a function and the list of its units::

    study = protocol.study("vu2022-tables", dataset=dataset, k=k, profile=profile)
    results = study.run(judge, over=[{"dataset": dataset, "method": name} for name in methods])

What a unit gives is a tidy table: a row for each number. Where it comes from depends on the profile.

``embedded``
    What is stored is read. The units that take little time are computed again, offline, from what is shipped, and
    compared with the stored ones; the page says in one line how many of its numbers that are, and how far they were
    apart. A setting that nobody published has nothing stored: all of it is computed.
``full``
    The paper's protocol on the raw data. What is stored and valid is kept, everything else is computed in processes of
    their own, as many at once as there are cores, and stored unit by unit: a run that was killed goes on where it was.

Results of a published setting, an execution of ``experiments.yml``, are stored in ``data/results``; others below
``_build``. The same loop computes stored units again to verify them (:func:`replay`).
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

import nbformat
import pandas as pd
from threadpoolctl import threadpool_limits

from evenspan.core.ending import SIGNALS
from evenspan.core.errors import TOLD, ConfigurationError, ExecutionError, FairError, FairWarning

from . import paths, processes, provenance, records, store
from .catalogue import PROFILES, Experiment, experiment, task_id
from .provenance import RUNS_UNITS
from .recheck import Comparison, compare, tolerances
from .states import TOUCHED, shortened, state_of

#: Where a reader runs the page (:mod:`compendium.live.kernel`): what gives the rows of a unit that the same cells gave
#: before, or computes them. A page then shows what was computed and not what is stored.
kept: Callable[[str, Callable[[], pd.DataFrame]], pd.DataFrame] | None = None
#: The embedded profile computes units again whose full run took at most so many seconds, if the notebook does not say.
SECONDS = 10.0

__all__ = ["NotAtHandError", "Study", "cells", "replay", "study", "tidy"]

Unit = Callable[..., pd.DataFrame | list[dict]]
tidy, whole = records.tidy, records.whole


class NotAtHandError(FairError):
    """A unit needs raw data, and the profile works from what is shipped."""


def study(experiment_id: str, *, profile: str = "embedded", **setting) -> "Study":
    """A run of a notebook: the name of its entry in ``experiments.yml``, and its parameters with their values.

    ``profile`` is ``"embedded"`` or ``"full"``; ``setting`` are all others. What is not given has its default.

    Examples
    --------
    >>> study("vu2022-toy").setting["penalty"]
    0.1
    """
    if profile not in PROFILES:
        raise ConfigurationError(f"profile={profile!r}; needed is one of {', '.join(PROFILES)}.")
    entry = experiment(experiment_id)
    own = entry.complete(setting)
    return Study(entry, own, profile == "full", provenance.data_now(f"{provenance.SET} {own.get('dataset')}"))


@dataclass
class Study:
    """One run: see :func:`study`. Shown at the end of a cell, it says what this build computed itself."""

    entry: Experiment
    setting: Mapping[str, object]
    full: bool
    #: The checksum of the data set that the parameters name, when the run began.
    data_checksum: str | None = None
    units: dict[str, dict] = field(default_factory=dict)
    numbers: int = 0
    fresh: int = 0
    compared: list[Comparison] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    #: Rows of units that a reader's run of the page computed.
    own: dict[str, pd.DataFrame] = field(default_factory=dict)
    #: What was edited since units were made, by the file and the environment of their records.
    edited: dict[tuple[Path, str], list[str]] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """A name for what the page writes, unique in the book: ``rathore2025-tables/npha``."""
        return f"{self.entry.id}/{self.entry.execution_for(self.setting) or task_id(self.setting)}"

    @property
    def published(self) -> bool:
        """Whether the setting is one of the book's pages, so that there are numbers to lay beside it."""
        return self.entry.execution_for(self.setting) is not None

    def run(
        self, unit: Unit, over: Iterable[Mapping], *, again: float | Collection[Mapping] = SECONDS, seed=None
    ) -> pd.DataFrame:
        """Rows of all units, with their names in ``task``: read, or computed as far as the profile allows.

        Parameters
        ----------
        unit : callable
            Called with the parameters of a unit; returns its rows, those of :func:`tidy` or a data frame with the
            columns ``dataset``, ``method``, ``k``, ``split``, ``protocol``, ``metric``, ``value`` and perhaps others,
            among them ``reason`` where there is no value.
        over : iterable of mapping
            The parameters of every unit.
        again : float or collection of mapping
            Which units the embedded profile computes again: those that took at most so many seconds, or these.
        seed : int, optional
            Noted in the records.
        """
        self.units = _named(over)
        if _replaying:
            _replaying[-1].take(self, unit, seed)
            raise _Done
        if self.full and (failed := Replay().take(self, unit, seed)):
            reasons = "\n".join(f"{name}: {reason}" for name, reason in failed.items())
            raise ExecutionError(
                f"{self.entry.id}: {len(failed)} of {len(self.units)} units failed. Remove the cause and run the "
                f"notebook again; finished units are kept.\n{reasons}"
            )
        rows = {name: self._read(name) for name in self.units}
        if not self.full:
            self._again(unit, rows, again)
        found = [frame for frame in rows.values() if frame is not None]
        if not found:
            raise ExecutionError(
                f"{self.entry.id}: nothing is stored for {self._said()}, and nothing of it can be computed from what "
                "is shipped. Compute it from the raw data: set profile to 'full'."
            )
        return pd.concat(found, ignore_index=True)

    def took(self, task: Mapping) -> float:
        """Seconds that a unit took when it was stored, 0 if it is not."""
        unit = store.units_at(self._home(task)).get(task_id(task))
        return float(unit.record["seconds"]) if unit and unit.record else 0.0

    def stored(self, **task) -> pd.DataFrame:
        """The stored rows of a unit, for what follows from them without the data; without any it is broken off."""
        rows = self._read(task_id(task))
        if rows is None:
            raise NotAtHandError("nothing is stored that it could be judged from: set profile to 'full'")
        return rows

    def need_points(self, what: str) -> None:
        """Break off a unit that cannot be computed from what is shipped; the page says so."""
        if not self.full:
            raise NotAtHandError(f"{what} needs the raw data: set profile to 'full'")

    def _read(self, name: str) -> pd.DataFrame | None:
        path = self._home(self.units[name])
        found = state_of(self.entry, name, path, self.edited)
        if found.counts:
            return store.units_at(path)[name].frame
        if found.reason:
            self.left_out[name] = f"{found.state}: {found.reason}"
        return None

    def _again(self, unit: Unit, rows: dict[str, pd.DataFrame | None], again: float | Collection[Mapping]) -> None:
        """Compute units now: compare them with the stored rows, or put them where nothing is stored."""
        wanted = None if isinstance(again, int | float) else set(_named(again))
        allowed = tolerances(self.entry.id)
        peers = [frame for frame in rows.values() if frame is not None]
        for name, task in self.units.items():
            due = name in wanted if wanted is not None else self.took(task) <= again
            if self.published and not due:
                continue
            source = f"{self.entry.id}, {name}"
            compute = partial(_rows, unit, task, source)
            try:
                computed = kept(f"{source}, {self.data_checksum}", compute) if kept else compute()
            except NotAtHandError as error:
                self.left_out[name] = str(error)
                continue
            # As they would be read from the store, so that both can be compared and shown alike.
            computed = records.frame(records.lines(computed), records.extra(computed)).assign(task=name)
            if rows[name] is None:
                self.fresh += _count(computed)
            else:
                self.compared.append(compare(name, rows[name], computed, allowed, part=True, peers=peers))
            if kept:
                self.own[name] = computed
            if rows[name] is None or kept:
                rows[name] = computed
        self.numbers = sum(_count(frame) for frame in rows.values() if frame is not None)

    def _home(self, task: Mapping) -> Path:
        if self.published:
            return store.home(self.entry, task)
        # The digest tells settings apart of which the names are alike, such as a-b.csv and a_b.csv.
        digest = records.digest(repr(sorted(self.setting.items())).encode())[:8]
        return paths.build("results", self.entry.id, f"{task_id(self.setting)}-{digest}.json")

    def _said(self) -> str:
        own = {name: value for name, value in self.setting.items() if value != self.entry.parameters[name]}
        return ", ".join(f"{name} = {value!r}" for name, value in own.items()) or "the defaults"

    def note(self) -> str:
        """How many of the page's numbers this build computed itself, and how far they were from the stored ones."""
        why: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            why.setdefault(reason, []).append(name)
        lost = "".join(f" Not shown: {shortened(names)} ({reason})." for reason, names in why.items())
        if not self.published:
            return (
                f"This setting ({self._said()}) is not one of the book's: its numbers were computed just now, and "
                f"there are no verdicts on them.{lost}"
            )
        if self.full:
            return f"All {len(self.units)} units of the full protocol are stored.{lost}"
        computed = sum(one.rows for one in self.compared)
        outside = sum(one.outside for one in self.compared)
        made = f"{computed + self.fresh:,}" if computed + self.fresh else "none"
        text = f"{'Your run' if kept else 'This build'} computed {made} of the {self.numbers:,} numbers itself"
        if self.fresh:
            text += f"; {self.fresh:,} of them are not stored, so that there is nothing to compare them with"
        if computed:
            worst = max(self.compared, key=lambda one: (one.outside, one.largest_absolute))
            if not worst.largest_absolute:
                text += "; all are equal to the stored ones"
            elif outside:
                text += f"; {outside:,} of them DIFFER from the stored ones by more than the recheck allows"
            else:
                text += f"; the largest difference from the stored ones is {worst.largest_absolute:.1g}"
            text += f" ({worst.where})" if worst.largest_absolute else ""
        return f"{text}.{lost}"

    def _repr_html_(self) -> str:
        return f'<p class="recomputed">{self.note()}</p>'

    def __repr__(self) -> str:
        return self.note()


# -- many units at once -------------------------------------------------------------------------------------------


@dataclass
class Replay:
    """What is to be computed of a run, see :func:`replay`; and what was."""

    names: Collection[str] | None = None
    folder: Path | None = None
    jobs: int | None = None
    #: What the run has, which of it was computed, and what of that failed and why.
    known: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def take(self, study: Study, unit: Unit, seed) -> dict[str, str]:
        """Compute the units of a study, each in a process of its own, and store each as it ends; what failed and why.

        A process is forked from this one, so that a unit may be a function of a notebook. It ends with this one,
        however this one ends.
        """
        self.known = list(study.units)
        self.units = [name for name in study.units if self.names is None or name in self.names]
        jobs = _cores() if self.jobs is None else self.jobs
        if jobs < 1:
            raise ConfigurationError(f"jobs is {jobs}, but at least 1 process is needed.")
        if self.folder:
            return self._compute(study, unit, seed, jobs)
        with processes.alone(f"run {study.page} {' '.join(self.names or ())}".strip()):
            self.units = _not_stored(study, self.units)
            return self._compute(study, unit, seed, jobs)

    def _compute(self, study: Study, unit: Unit, seed, jobs: int) -> dict[str, str]:
        context = multiprocessing.get_context("fork")
        waiting, running = list(reversed(self.units)), {}
        if waiting:
            provenance.ready()
        alive, held = os.pipe()
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    name = waiting.pop()
                    home = study._home(study.units[name])
                    path = self.folder / home.name if self.folder else home
                    log = paths.build("failed", study.entry.id, f"{name}.txt")
                    process = context.Process(target=_work, args=(study, unit, name, seed, path, log, alive, held))
                    with _signals_wait():
                        process.start()
                        running[process.sentinel] = (process, name, log, time.perf_counter())
                for sentinel in wait(list(running)):
                    process, name, log, start = running.pop(sentinel)
                    process.join()
                    if process.exitcode == 0:
                        log.unlink(missing_ok=True)
                        said = f"{name}: {time.perf_counter() - start:.1f} s"
                    else:
                        self.failed[name] = _reason(log, process.exitcode)
                        said = f"{name} failed: {self.failed[name].partition(chr(10))[0]}\n  all of it: {log}"
                    print(f"[{len(self.units) - len(waiting) - len(running)}/{len(self.units)}] {said}", flush=True)
        finally:
            for process, *_ in running.values():
                process.kill()
                process.join()
            os.close(held)
            os.close(alive)
        return self.failed


def _not_stored(study: Study, names: Collection[str]) -> list[str]:
    """Those of some units that are to be computed; says why, and what is kept."""
    states = {name: state_of(study.entry, name, study._home(study.units[name]), study.edited) for name in names}
    kept = [one for one in states.values() if one.counts]
    if kept:
        print(f"{study.entry.id}: {len(kept)} of {len(states)} units are stored already")
    if touched := sum(one.state == TOUCHED for one in kept):
        print(
            f"code behind {touched} of these was edited since, and they are kept; to compute them again and compare: "
            f"python -m compendium verify --experiment {study.entry.id} --touched --confirm"
        )
    for name, one in states.items():
        if one.reason and not one.counts:
            print(f"{name} is computed again: {one.reason}")
    return [name for name, one in states.items() if not one.counts]


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Signals come after the block: Python only reports what is raised in its hooks around a fork, and goes on."""
    if threading.current_thread() is not threading.main_thread():  # they never come there
        yield
        return
    came, handlers = [], {one: found for one in SIGNALS if callable(found := signal.getsignal(one))}
    for one in handlers:
        signal.signal(one, lambda *given: came.append(given))
    try:
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
    for number, frame in came[:1]:
        handlers[number](number, frame)


def _work(study: Study, unit: Unit, name: str, seed, path: Path, log: Path, alive: int, held: int) -> None:
    """One unit in a process of its own."""
    os.setsid()  # Ctrl-C reaches the parent only, which then ends its workers itself
    for one in SIGNALS:
        signal.signal(one, signal.SIG_DFL)
    os.close(held)
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as stream:
        sys.stdout = sys.stderr = stream
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
        code, task = 0, study.units[name]
        try:
            with provenance.Provenance(study.entry.notebook) as made:
                start = time.perf_counter()
                rows = _rows(unit, task, f"{study.entry.id}, {name}")
                seconds = time.perf_counter() - start
            if study.data_checksum != provenance.data_now(f"{provenance.SET} {study.setting.get('dataset')}"):
                changed = f"{study.setting['dataset']} was changed while this ran. Run the notebook again."
                raise ExecutionError(changed)
            store.store(study.entry, task, rows, made=made, seconds=seconds, seed=seed, path=path)
        except FairError as error:
            print(error)
            code = TOLD
        except BaseException:
            traceback.print_exc()
            code = 1
        stream.flush()
        os._exit(code)


def _end_with_parent(alive: int) -> None:
    processes.gone(alive)
    os._exit(1)


def _rows(unit: Unit, task: Mapping, source: str) -> pd.DataFrame:
    """The rows of a unit, with one thread each; what its warnings say, its rows say as numbers and reasons."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FairWarning)
        return records.checked(records.whole(unit(**task)), source)


def _reason(log: Path, code: int) -> str:
    """Why a unit failed: the whole message if it was raised on purpose, otherwise the last line of a traceback."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    lines = [line for line in text.splitlines() if line.strip()]
    if code == TOLD and lines:
        return text.strip()
    if code < 0:
        return f"it was ended by signal {-code}" + (f" after: {lines[-1]}" if lines else "")
    return lines[-1] if lines else f"it ended with code {code} and said nothing"


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _count(rows: pd.DataFrame) -> int:
    return int(rows["value"].notna().sum(axis=0))


def _named(over: Iterable[Mapping]) -> dict[str, dict]:
    found: dict[str, dict] = {}
    for task in over:
        name = task_id(task)
        if name in found:
            raise ConfigurationError(f"{found[name]} and {dict(task)} have the same name {name!r}; rename one.")
        found[name] = dict(task)
    return found


# -- without a kernel ---------------------------------------------------------------------------------------------


class _Done(BaseException):
    """The units of a notebook are dealt with, and the rest of it is not needed."""


_replaying: list[Replay] = []


def replay(
    entry: Experiment,
    setting: Mapping[str, object],
    names: Collection[str] | None = None,
    *,
    folder: Path | None = None,
    jobs: int | None = None,
) -> Replay:
    """Run a notebook's cells in the full profile, without a kernel, up to its units, and compute these.

    All of them, or those of these ``names``; ``jobs`` at once, or as many as there are cores. In another ``folder`` are
    results that are to be compared; in the place where they belong only those units are computed that are not stored
    yet, or do not count.
    """
    run = Replay(names, folder, jobs)
    _replaying.append(run)
    try:
        with contextlib.chdir(paths.root()), contextlib.suppress(_Done):  # where a kernel runs
            cells(entry, setting, "full")
            raise ConfigurationError(f"{entry.notebook} has no study that runs units; add study.run(...) to it.")
    finally:
        _replaying.remove(run)
    return run


def cells(
    entry: Experiment, setting: Mapping[str, object], profile: str = "embedded", *, all_of_it: bool = False
) -> dict[str, object]:
    """What a notebook defines with these parameters up to and with the cell that runs its units; or at all."""
    space: dict[str, object] = {"__name__": "__main__"}
    for cell in nbformat.read(paths.root() / entry.notebook, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        exec(compile(cell.source, entry.notebook, "exec"), space)
        if "parameters" in cell.metadata.get("tags", []):
            space |= dict(setting) | {"profile": profile}
        if RUNS_UNITS in cell.source and not all_of_it:
            break
    return space
