"""The engine of the experiments: a notebook states data, methods and loop, and its units run here.

A *unit* is what is computed, stored, resumed and checked as a whole: a method on a split, say. A notebook opens a
:func:`study` with its parameters and hands it a function and the list of its units::

    study = protocol.study("vu2022-tables", dataset=dataset, k=k, profile=profile)
    results = study.run(judge, over=[{"dataset": dataset, "method": name} for name in methods])

What a unit gives is a tidy table: a row for each number, whose ``source`` is *computed* (in this run) or *published*
(stored by the full run of the committed notebook).

Published rows belong to the committed cells. The cells that were executed in this kernel are compared with the digests
that lie beside the results, the parameters with the published settings. If all is as published, the units that take
little time are computed and compared with what is stored, and the others are filled in. If a cell was edited, or a
parameter has another value, everything is computed now, until a time limit; what is left is missing, with its reason.

With ``profile="full"`` everything is computed, in processes of their own, as many at once as there are cores, and
stored unit by unit: a run that was killed goes on where it was. Results of committed cells with a published setting are
stored in ``data/results``; all others below ``_build``. The same loop computes stored units again to verify them
(:func:`replay`).
"""

import ast
import contextlib
import io
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
import tokenize
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import wait
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from evenspan.core.ending import SIGNALS
from evenspan.core.errors import TOLD, ConfigurationError, ExecutionError, FairError, FairWarning

from . import paths, processes, provenance, records, store
from .catalogue import PROFILES, Experiment, experiment, task_id
from .data.fetch import may_download
from .provenance import RUNS_UNITS
from .recheck import Comparison, compare, tolerances
from .states import TOUCHED, shortened, state_of

#: Seconds, by the times of the full run, that the units may take which a run as published computes; a build of the book
#: computes less of each page (:data:`compendium.records.BUDGET`).
BUDGET = 60.0
#: One unit of a page is computed in any case if it takes no longer than so many seconds.
CHEAP = 10.0
#: Seconds after which a run of edited cells or of another setting ends, if the notebook gives no other number.
LIMIT = 120.0
COMPUTED, PUBLISHED = "computed", "published"

__all__ = ["Study", "cells", "replay", "study", "tidy"]

Unit = Callable[..., pd.DataFrame | list[dict]]
tidy, whole = records.tidy, records.whole


def study(experiment_id: str, *, profile: str = "embedded", **setting) -> "Study":
    """A run of a notebook: the name of its entry in ``experiments.yml``, and its parameters with their values.

    ``profile`` is ``"embedded"`` or ``"full"``; ``setting`` are all others. What is not given has its default. Only
    with ``"full"`` raw files are downloaded.

    Examples
    --------
    >>> study("vu2022-toy").setting["penalty"]
    0.1
    """
    if profile not in PROFILES:
        raise ConfigurationError(f"profile={profile!r}; needed is one of {', '.join(PROFILES)}.")
    may_download(profile == "full")
    entry = experiment(experiment_id)
    own = entry.complete(setting)
    return Study(entry, own, profile == "full", provenance.data_now(f"{provenance.SET} {own.get('dataset')}"))


@dataclass
class Study:
    """One run: see :func:`study`. Shown at the end of a cell, it says what was computed and what was read."""

    entry: Experiment
    setting: Mapping[str, object]
    full: bool
    #: The checksum of the data set that the parameters name, when the run began.
    data_checksum: str | None = None
    units: dict[str, dict] = field(default_factory=dict)
    #: The rows of all units that have some, with their ``source``.
    results: pd.DataFrame = field(default_factory=pd.DataFrame)
    seconds: float = 0.0
    compared: list[Comparison] = field(default_factory=list)
    #: Why units, or rows of them, are missing or were not computed.
    left_out: dict[str, str] = field(default_factory=dict)
    #: What :attr:`own` was when the units ran, whatever is executed later.
    told: str | None = None
    #: Whether its cells are committed, so that its results take the place of those that other cells gave.
    adopts: bool = False
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

    @property
    def own(self) -> str:
        """What of this run is the reader's own, in words: cells and parameters; blank if all is as published."""
        if self.told is not None:
            return self.told
        edited = () if self.adopts else edited_cells(self.entry)
        found = [f"cell {place} was edited (it begins with {begin!r})" for place, begin in edited]
        return " and ".join([*found, *([] if self.published else [f"the setting is another one ({self._said()})"])])

    @property
    def budget(self) -> float:
        """Seconds that the units may take which a run as published computes."""
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

        Parameters
        ----------
        unit : callable
            Called with the parameters of a unit; returns its rows, those of :func:`tidy` or a data frame with the
            columns ``dataset``, ``method``, ``k``, ``split``, ``protocol``, ``metric``, ``value`` and perhaps others,
            among them ``reason`` where there is no value.
        over : iterable of mapping
            The parameters of every unit.
        quick : collection of mapping
            Units of which a run as published computes a part, unless the run is to be ``whole``.
        seconds : float
            Limit of a run of edited cells, or of another setting; ``profile="full"`` has none.
        seed : object
            Noted in the records.
        """
        self.units, self.told = _named(over), None
        if _replaying:
            _replaying[-1].take(self, unit, seed)
            raise _Done
        if self.full and (failed := Replay().take(self, unit, seed)):
            reasons = "\n".join(f"{name}: {reason}" for name, reason in failed.items())
            raise ExecutionError(
                f"{self.entry.id}: {len(failed)} of {len(self.units)} units failed. Remove the cause and run the "
                f"notebook again; finished units are kept.\n{reasons}"
            )
        self.told = self.own
        stored = {} if self.own and not self.full else {name: self._read(name) for name in self.units}
        computed = {} if self.full else self._computed(unit, _named(quick), stored, seconds)
        allowed = tolerances(self.entry.id)
        peers, rows = [frame for frame in stored.values() if frame is not None], []
        for name in self.units:
            old, new = stored.get(name), computed.get(name)
            if old is not None and new is not None:
                self.compared.append(compare(name, old, new, allowed, part=True, peers=peers))
            rows.append(_filled(new, old, COMPUTED if self.full else PUBLISHED))
        if not any(map(len, rows)):
            reasons = "; ".join(dict.fromkeys(self.left_out.values()))
            raise ExecutionError(f"{self.entry.id}: no unit gave a number ({reasons}). {self._remedy()}")
        self.results = pd.concat([frame for frame in rows if len(frame)], ignore_index=True)
        return self.results.copy()

    def _computed(
        self, unit: Unit, quick: Mapping, stored: Mapping[str, pd.DataFrame | None], limit: float
    ) -> dict[str, pd.DataFrame]:
        """Units computed now: of a run as published those that fit into the budget, else until the limit."""
        took = {name: self.took(task) for name, task in self.units.items()}
        due = sorted(self.units, key=lambda name: (name not in quick, took[name]))
        if not self.own:
            quick = () if self.whole else quick
            spent = dict(zip(due, np.cumsum([0.0 if name in quick else took[name] for name in due]), strict=True))
            first = [name for name in due if took[name] <= CHEAP][:1]
            due = [one for one in due if one in (*quick, *first) or stored[one] is None or spent[one] <= self.budget]
        found, begun = {}, time.perf_counter()
        for name in due:
            left = limit - (time.perf_counter() - begun)
            try:
                with _ends_after(left if self.own or stored[name] is None else float("inf")):
                    rows = _rows(unit, self.units[name], f"{self.entry.id}, {name}")
            except _LateError:
                self.left_out[name] = f"not computed within {limit:g} s"
            except FairError as error:
                self.left_out[name] = str(error).partition("\n")[0]
            except Exception as error:  # of a reader's code: the other units are kept
                self.left_out[name] = f"{type(error).__name__}: {error}"
            else:
                # As they would be read from the store, so that both can be compared and shown alike.
                found[name] = records.frame(records.lines(rows), records.extra(rows)).assign(task=name)
        self.seconds = time.perf_counter() - begun
        return found

    def took(self, task: Mapping) -> float:
        """Seconds that a unit took when it was stored, 0 if it is not."""
        unit = store.units_at(store.home(self.entry, task)).get(task_id(task))
        return float(unit.record["seconds"]) if unit and unit.record else 0.0

    def _read(self, name: str) -> pd.DataFrame | None:
        path = self._home(self.units[name])
        found = state_of(self.entry, name, path, self.edited)
        if found.counts:
            return store.units_at(path)[name].frame
        if found.reason:
            self.left_out[name] = f"{found.state}: {found.reason}"
        return None

    def _home(self, task: Mapping) -> Path:
        if not self.own:
            return store.home(self.entry, task)
        # The digest tells cells apart, and settings of which the names are alike, such as a-b.csv and a_b.csv.
        own = [sorted(self.setting.items()), [digest_of(source) for source in executed()]]
        name = f"{task_id(self.setting)}-{records.digest(repr(own).encode())[:8]}.json"
        return paths.build("results", self.entry.id, name)

    def _said(self) -> str:
        own = {name: value for name, value in self.setting.items() if value != self.entry.parameters[name]}
        return ", ".join(f"{name} = {value!r}" for name, value in own.items()) or "the defaults"

    def _remedy(self) -> str:
        return "" if self.full else 'Set profile = "full" to compute all of it, which also fetches raw data.'

    def note(self) -> str:
        """What was computed now and what was read, and how far the two are apart."""
        rows = self.results[self.results["value"].notna()]
        own = int((rows["source"] == COMPUTED).sum())
        text = f"Computed now: {own:,} of {len(rows):,} numbers ({self.seconds:.0f} s)."
        if self.full:
            text = f"All {len(self.units)} units were computed by the full protocol: {len(rows):,} numbers."
        if own < len(rows):
            text += f" The others were stored {self._stored()}."
        if self.own:
            text += f" This run is your own: {self.own}. Nothing that is stored was used."
        if numbers := sum(one.rows for one in self.compared):
            worst = max(self.compared, key=lambda one: (one.outside, one.largest_absolute))
            outside = sum(one.outside for one in self.compared)
            text += f" Of {numbers:,} that are stored as well "
            if not worst.largest_absolute:
                text += "all are equal."
            elif outside:
                text += f"{outside:,} DIFFER by more than is allowed, most at {worst.where}."
            else:
                text += f"none differs by more than {worst.largest_absolute:.1g} ({worst.where})."
        why: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            if self.own or name not in set(rows["task"]):
                why.setdefault(reason, []).append(name)
        for reason, names in why.items():
            text += f" Missing: {shortened(names)} ({reason})."
        return f"{text} {self._remedy()}" if why else text

    def _stored(self) -> str:
        """When and at which commits the published rows were stored."""
        made = Counter()
        known = store.read_records(self.entry.id)
        for name in set(self.results.loc[self.results["source"] == PUBLISHED, "task"]):
            made[known[name]["finished"][:10], known[name]["commit"][:8]] += 1
        shown = [f"on {day} at commit {commit}" for (day, commit), _ in made.most_common(2)]
        return " and ".join(shown) + (f" and {len(made) - 2} more" if len(made) > 2 else "")

    def _repr_html_(self) -> str:
        return f'<p class="recomputed">{self.note()}</p>'

    def __repr__(self) -> str:
        return self.note()


def _filled(new: pd.DataFrame | None, old: pd.DataFrame | None, source: str) -> pd.DataFrame:
    """Rows of a unit: those computed now, and of the stored ones those that were not."""
    if new is None:
        return pd.DataFrame() if old is None else old.assign(source=source)
    new = new.assign(source=COMPUTED)
    if old is None:
        return new
    new = new.reindex(columns=[*dict.fromkeys([*old.columns, *new.columns])])
    key = [name for name in old.columns if name not in ("value", "reason")]
    mine, theirs = (pd.MultiIndex.from_frame(rows[key].astype(str)) for rows in (new, old))
    known = new[new["value"].notna() | ~mine.isin(theirs[old["value"].notna()])]
    rest = old[~theirs.isin(pd.MultiIndex.from_frame(known[key].astype(str)))]
    return pd.concat([known, rest.assign(source=source)], ignore_index=True)


class _LateError(Exception):
    """The time of a unit is over."""


@contextlib.contextmanager
def _ends_after(seconds: float) -> Iterator[None]:
    """Break off a block after so many seconds; a limit that was set before goes on."""
    if seconds == float("inf") or threading.current_thread() is not threading.main_thread():
        yield
        return
    if seconds <= 0:
        raise _LateError

    def late(*_: object) -> None:
        raise _LateError

    handler, begun = signal.signal(signal.SIGALRM, late), time.monotonic()
    before, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(before - (time.monotonic() - begun), 0.001) if before else 0.0)
        signal.signal(signal.SIGALRM, handler)


# -- which cells ran --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def digest_of(source: str) -> str:
    """The digest of a cell's code, which comments, blank lines and layout do not change."""
    words = []
    marks = {tokenize.INDENT: ">", tokenize.DEDENT: "<", tokenize.NEWLINE: "\n"}
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"{source}\n").readline):
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
                words.append(marks.get(token.type) or re.sub(r"\s+", "", token.string))
    except (tokenize.TokenError, SyntaxError):  # no Python
        words = [source]
    # A literal with names in it is one token or many, by the version of Python; braces are doubled in the one alone.
    text = "".join(words).replace("{{", "{").replace("}}", "}")
    return records.digest(text.encode())[:16]


def committed_cells(entry: Experiment) -> list[str]:
    """Digests of the code cells that the stored results of an experiment belong to."""
    path = store.cells_of(entry.id)
    return path.read_text(encoding="utf-8").split() if path.is_file() else []


def adopt(entry: Experiment) -> None:
    """The stored results belong to the code cells that the notebook has now."""
    path = store.cells_of(entry.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    records.write(path, "".join(f"{digest}\n" for digest in _cells_now(entry)).encode())


def _cells_now(entry: Experiment) -> list[str]:
    found = nbformat.read(paths.root() / entry.notebook, as_version=4).cells
    return [digest_of(cell.source) for cell in found if cell.cell_type == "code"]


def _new_cells(entry: Experiment) -> bool:
    """Whether the notebook is committed as it is, and its cells are other ones than those of the stored results."""
    changed = committed_cells(entry) != _cells_now(entry)
    return bool(_running) and changed and records.unchanged(entry.notebook)


def edited_cells(entry: Experiment) -> list[tuple[int, str]]:
    """Number and first line of executed cells that are none of the committed ones; cells of parameters do not count."""
    known, names = set(committed_cells(entry)), {*entry.parameters, "profile"}
    found = []
    for place, source in enumerate(executed(), 1):
        if digest_of(source) not in known and not _sets(source, names):
            lines = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
            found.append((place, lines[0][:60] if lines else ""))
    return found


def _sets(source: str, names: Collection[str]) -> bool:
    """Whether a cell does nothing but give values to some names."""
    with contextlib.suppress(SyntaxError, ValueError):
        for line in ast.parse(source).body:
            target = line.targets[0] if isinstance(line, ast.Assign) else None
            if not isinstance(target, ast.Name) or target.id not in names:
                return False
            ast.literal_eval(line.value)
        return True
    return False


def executed() -> list[str]:
    """The sources of the cells that this kernel has executed, in their order, or those of :func:`cells`."""
    if _running:
        return _running[-1]
    from IPython import get_ipython  # a kernel has it loaded

    shell = get_ipython()
    return [] if shell is None else shell.history_manager.input_hist_raw[1:]


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
            study.adopts = _new_cells(study.entry)
            if not study.adopts:
                self.units = _not_stored(study, self.units)
            failed = self._compute(study, unit, seed, jobs)
            if study.adopts and not failed and self.names is None:
                adopt(study.entry)
            return failed

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
                    task = study.units[name]
                    path = self.folder / store.home(study.entry, task).name if self.folder else study._home(task)
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
#: Sources of the cells that ran without a kernel.
_running: list[list[str]] = []


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
    _running.append([])
    try:
        for cell in nbformat.read(paths.root() / entry.notebook, as_version=4).cells:
            if cell.cell_type != "code":
                continue
            parameters = "parameters" in cell.metadata.get("tags", [])
            _running[-1].append("" if parameters else cell.source)
            exec(compile(cell.source, entry.notebook, "exec"), space)
            if parameters:
                space |= dict(setting) | {"profile": profile}
            if RUNS_UNITS in cell.source and not all_of_it:
                break
    finally:
        _running.pop()
    return space
