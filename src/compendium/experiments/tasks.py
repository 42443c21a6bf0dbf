"""Run the tasks of an experiment, each in a process of its own; resume; and check stored results again.

Results that are finished are kept, everything else is computed again, and the reason is said (:mod:`.store`).
"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evenspan.auditing.execution import numeric_environment
from evenspan.core.errors import TOLD, ConfigurationError, RegistryError, ResultError

from .. import paths
from .catalogue import experiment
from .recheck import Comparison, compare, tolerances
from .states import CHANGED, DAMAGED, MISSING, TOUCHED, inspect
from .store import folder_of, unit_rows

__all__ = ["Comparison", "Summary", "check", "run", "select"]

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Summary:
    """What one call of :func:`run` did: names of the tasks computed and kept, and the reason of each failure."""

    experiment: str
    done: tuple[str, ...]
    kept: tuple[str, ...]
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every task that was asked for now has its result."""
        return not self.failed


def select(
    experiment_id: str, values: Mapping[str, object] | None = None, names: Iterable[str] | None = None
) -> list[str]:
    """Names of the tasks that have all the given parameter values and, if given, one of the ``names``."""
    tasks = experiment(experiment_id).tasks()
    wanted = list(tasks) if names is None else list(names)
    if unknown := [name for name in wanted if name not in tasks]:
        raise RegistryError(
            f"{experiment_id} has no task {', '.join(unknown)}; its tasks are {', '.join(tasks) or 'none'}."
        )
    values = dict(values or {})
    chosen = [n for n in tasks if n in set(wanted) and all(tasks[n].get(key) == v for key, v in values.items())]
    if not chosen:
        asked = ", ".join(f"{key} = {value}" for key, value in values.items())
        raise RegistryError(
            f"{experiment_id} has no task in its full protocol with {asked or 'these names'}; its tasks are "
            f"{', '.join(tasks) or 'none'}."
        )
    return chosen


def run(
    experiment_id: str,
    profile: str = "full",
    only: Iterable[str] | None = None,
    jobs: int | None = None,
    progress: bool = True,
) -> Summary:
    """Compute every task that is not finished, each in a process of its own.

    Parameters
    ----------
    experiment_id : str
        Experiment of ``experiments.yml``.
    profile : {"full"}
        The embedded profile is run by the notebooks.
    only : iterable of str, optional
        Names of the tasks to consider; all of them by default.
    jobs : int, optional
        How many run at once; by default one for each core this process may use.
    progress : bool
        Say what happens, on standard error.

    Returns
    -------
    Summary
        A task that fails does not stop the others; its output is kept in ``_build/failed/EXPERIMENT/TASK.txt``.
    """
    if profile != "full":
        raise ConfigurationError(
            f"Tasks belong to the full profile, but the profile is {profile!r}. The embedded profile is run by the "
            f"notebook: python -m compendium run {experiment_id}"
        )
    chosen = select(experiment_id, names=only)
    states = {task.name: task for task in inspect(experiment_id)}
    kept = tuple(name for name in chosen if states[name].counts)
    todo = [name for name in chosen if name not in kept]
    with _reporter(experiment_id, len(todo), progress) as say:
        if kept:
            say(f"{len(kept)} of {len(chosen)} tasks are stored already")
        if touched := [name for name in kept if states[name].state == TOUCHED]:
            say(
                f"code behind {len(touched)} of these was edited since, and they are kept; to compute them again and "
                f"compare: python -m compendium verify --experiment {experiment_id} --touched --confirm"
            )
        for name in todo:
            if states[name].state in (CHANGED, DAMAGED):
                say(f"{name} is computed again: {states[name].reason}")
        done, failed = _compute(experiment_id, todo, folder_of(experiment_id, profile), jobs, say)
    return Summary(experiment_id, tuple(done), kept, failed)


def check(
    experiment_id: str, only: Iterable[str] | None = None, jobs: int | None = None, progress: bool = True
) -> tuple[list[Comparison], Mapping[str, str]]:
    """Compute stored tasks again and compare, within the tolerance of ``data/tolerances.yml``.

    Returns the comparisons and, by task, the reason of each failure; a task without a finished result is one.
    """
    chosen = select(experiment_id, names=only)
    states = [task for task in inspect(experiment_id) if task.name in chosen]
    stored = [task.name for task in states if task.state not in (MISSING, DAMAGED)]
    if not stored:
        raise ResultError(
            f"{experiment_id} has no finished result of {', '.join(chosen)} to compare with. Compute it first: "
            f"python -m compendium run {experiment_id} --profile full"
        )
    unfinished = {
        task.name: f"there is no finished result to compare with: {task.reason or 'it is not stored'}"
        for task in states
        if task.state in (MISSING, DAMAGED)
    }
    again = again_folder(experiment_id)
    shutil.rmtree(again, ignore_errors=True)
    with _reporter(experiment_id, len(stored), progress) as say:
        done, failed = _compute(experiment_id, stored, again, jobs, say)
    pairs = {name: (unit_rows(experiment_id, name), unit_rows(experiment_id, name, again)) for name in sorted(done)}
    return [compare(name, *pair, tolerances(experiment_id)) for name, pair in pairs.items()], unfinished | failed


def again_folder(experiment_id: str) -> Path:
    """Where :func:`check` leaves what it computed."""
    return paths.build("check", experiment_id)


def _compute(
    experiment_id: str, todo: list[str], folder: Path, jobs: int | None, say: Callable
) -> tuple[list[str], dict[str, str]]:
    """Run tasks in processes of their own, at most ``jobs`` at once."""
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jobs < 1:
        raise ConfigurationError(f"jobs is {jobs}, but at least 1 process is needed.")
    waiting, running, done, failed = list(reversed(todo)), {}, [], {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop()
                running[name] = (_start(experiment_id, name, folder), time.perf_counter())
                say(running=list(running))
            for name, (process, start) in list(running.items()):
                if process.poll() is None:
                    continue
                process.stdin.close()
                del running[name]
                log = _log(experiment_id, name)
                if process.returncode == 0:
                    log.unlink(missing_ok=True)  # another run of the same task may have removed it
                    done.append(name)
                    say(f"{name}: {time.perf_counter() - start:.1f} s", running=list(running), advance=True, calm=True)
                else:
                    failed[name] = _reason(log, process.returncode)
                    first = failed[name].partition("\n")[0]
                    say(f"{name} failed: {first}\n  all of it: {log}", running=list(running), advance=True)
            if running:
                time.sleep(_POLL_SECONDS)
    finally:
        for process, _ in running.values():
            process.kill()
            process.wait()
            process.stdin.close()
    return sorted(done, key=todo.index), failed


def _start(experiment_id: str, name: str, folder: Path) -> subprocess.Popen:
    log = _log(experiment_id, name)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "compendium.experiments._worker", experiment_id, name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            cwd=paths.root(),
            env=os.environ | numeric_environment() | {"EVENSPAN_ROOT": str(paths.root())},
            # Ctrl-C reaches this process only; it then ends its workers itself.
            start_new_session=True,
        )


def _log(experiment_id: str, name: str) -> Path:
    return paths.build("failed", experiment_id, f"{name}.txt")


def _reason(log: Path, code: int) -> str:
    """Why a task failed: the whole message if it was raised on purpose, otherwise the last line of a traceback."""
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if code == TOLD and lines:
        return text.strip()
    if code < 0:
        return f"it was ended by signal {-code}" + (f" after: {lines[-1]}" if lines else "")
    return lines[-1] if lines else f"it ended with code {code} and said nothing"


@contextlib.contextmanager
def _reporter(experiment_id: str, total: int, progress: bool) -> Iterator[Callable]:
    """A function that says what happens: a bar on a terminal, one line for each finished task elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, quiet=not progress, soft_wrap=True, highlight=False, markup=False)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    columns.append(TextColumn("{task.fields[now]}"))
    with Progress(*columns, console=console, disable=not console.is_terminal or not total) as bar:
        job = bar.add_task(experiment_id, total=total, now="")
        count = 0

        def say(text: str = "", *, running: list[str] | None = None, advance: bool = False, calm: bool = False) -> None:
            nonlocal count
            count += advance
            if text and not (calm and console.is_terminal):
                console.print(f"[{count}/{total}] {text}" if advance else text)
            if running is not None:
                bar.update(job, now=", ".join(running), advance=int(advance))

        yield say
