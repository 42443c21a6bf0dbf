"""Many units of a study at once, each in a process of its own, and each stored as it ends."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from threadpoolctl import threadpool_limits

from evenspan.core.ending import SIGNALS
from evenspan.core.errors import TOLD, ConfigurationError, ExecutionError, FairError, FairWarning

from . import edits, paths, processes, provenance, records, store
from .states import TOUCHED, state_of

if TYPE_CHECKING:
    from .protocol import Study


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

    def take(self, study: "Study", unit: Callable, seed) -> dict[str, str]:
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
            study.adopts = edits.new_cells(study.entry)
            if not study.adopts:
                self.units = _not_stored(study, self.units)
            return self._compute(study, unit, seed, jobs)

    def _compute(self, study: "Study", unit: Callable, seed, jobs: int) -> dict[str, str]:
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


def _not_stored(study: "Study", names: Collection[str]) -> list[str]:
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


def _work(study: "Study", unit: Callable, name: str, seed, path: Path, log: Path, alive: int, held: int) -> None:
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
                rows = rows_of(unit, task, f"{study.entry.id}, {name}")
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


def rows_of(unit: Callable, task: Mapping, source: str) -> pd.DataFrame:
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
