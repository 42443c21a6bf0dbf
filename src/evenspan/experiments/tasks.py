"""The task store: run the tasks of an experiment one by one, keep their results, resume, and check them again.

A task is *finished* when its CSV and its record are both there, the CSV has the digest that the record states, and
the record states the current parameters and data. Everything else is computed again, and the reason is said.
Files are written whole (:func:`records.write`), the record last, so that a run may be killed at any moment.
"""

import contextlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from .. import paths
from ..errors import ConfigurationError, RegistryError, ResultError
from . import records
from .catalogue import PROFILES, Experiment, experiment, task_id

_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Stored:
    """State of one task: ``finished``, ``missing`` or ``outdated`` (with the reason)."""

    name: str
    status: str
    reason: str = ""


@dataclass(frozen=True)
class Summary:
    """What one call of :func:`run` did: names of the tasks computed and kept, and the last line of each failure."""

    experiment: str
    done: tuple[str, ...]
    kept: tuple[str, ...]
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether every task that was asked for now has its result."""
        return not self.failed


@dataclass(frozen=True)
class Comparison:
    """A stored result against the same task computed again."""

    name: str
    rows: int
    largest_absolute: float
    largest_relative: float
    where: str
    ok: bool


# ---- what is stored -------------------------------------------------------------------------------------------


def data_checksum(task: Mapping[str, object]) -> str | None:
    """Checksum of the data set that a task names, or None for a task without one."""
    from .. import datasets

    return datasets.checksum(task["dataset"]) if "dataset" in task else None


def inspect(experiment_id: str, profile: str = "full") -> list[Stored]:
    """State of every task of the full protocol, in its order."""
    entry = experiment(experiment_id)
    folder = _folder(experiment_id, profile)
    checksums: dict[object, str | None] = {}
    found = []
    for name, task in entry.tasks().items():
        key = task.get("dataset")
        if key not in checksums:
            checksums[key] = data_checksum(task)
        found.append(_inspect(entry, name, task, folder, checksums[key]))
    return found


def state(experiment_id: str) -> str:
    """How much of the full protocol is stored: ``full 24 of 24``."""
    tasks = inspect(experiment_id)
    outdated = sum(task.status == "outdated" for task in tasks)
    text = f"full {sum(task.status == 'finished' for task in tasks)} of {len(tasks)}"
    return f"{text}, {outdated} outdated" if outdated else text


def read_results(experiment_id: str, profile: str = "full") -> pd.DataFrame:
    """All stored rows of an experiment with the name of their task; no rows, but all columns, if none is stored.

    A result without a record is that of an interrupted run and is left out. A record without its result, or a result
    that is not the one its record was written for, is an error.
    """
    experiment(experiment_id)
    frames = []
    for path in sorted(_folder(experiment_id, profile).glob("*.json")):
        record, result = records.read(path), path.with_suffix(".csv")
        if not result.is_file() or records.digest(result.read_bytes()) != record.get("sha256"):
            raise ResultError(
                f"{result} is {'not the file' if result.is_file() else 'missing, but is'} described by {path.name} beside "
                f"it. Compute it again: evenspan run {experiment_id} --profile {profile}"
            )
        frames.append(records.read_csv(result).assign(task=path.stem))
    if not frames:
        kinds = {"k": "Int64", "split": object, "value": float}
        return pd.DataFrame({name: pd.Series(dtype=kinds.get(name, str)) for name in (*records.TIDY, "task")})
    return pd.concat(frames, ignore_index=True)


def store(
    entry: Experiment,
    task: Mapping[str, object],
    frame: pd.DataFrame,
    *,
    folder: Path,
    profile: str,
    seconds: float,
) -> Path:
    """Write the rows of a task and their record; returns the path of the CSV."""
    name = task_id(task)
    content = records.to_csv(records.checked(frame, f"{entry.id}, {name}"))
    commit, dirty = records.commit()
    lock = paths.root() / "requirements.lock"
    record = {
        "experiment": entry.id,
        "task": name,
        "profile": profile,
        "parameters": dict(task),
        "seed": task.get("seed", getattr(entry.protocol(), "SEED", None)),
        "command": f"evenspan run {entry.id} --profile {profile} --task {name}",
        "data_sha256": data_checksum(task),
        "source_sha256": records.files_digest(entry.source_files()),
        "lock_sha256": records.digest(lock.read_bytes()) if lock.is_file() else None,
        "sha256": records.digest(content),
        "rows": len(frame),
        "python": platform.python_version(),
        "packages": records.versions(),
        "machine": f"{platform.system()} {platform.machine()}",
        "commit": commit,
        "dirty": dirty,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "peak_memory_mib": records.peak_memory(),
    }
    described = records.to_json(record)
    result = folder / f"{name}.csv"
    # The record goes first and comes back last: at no moment does an old record stand beside a new result.
    result.with_suffix(".json").unlink(missing_ok=True)
    records.write(result, content)
    records.write(result.with_suffix(".json"), described)
    return result


def save(experiment_id: str, parameters: Mapping[str, object], frame: pd.DataFrame, *, seconds: float) -> Path:
    """Store what a notebook computed in the embedded profile, under its own parameters (without ``profile``)."""
    own = {name: value for name, value in parameters.items() if name != "profile"}
    entry = experiment(experiment_id)
    command = "".join(f" -p {name} {value}" for name, value in own.items())
    folder = _folder(experiment_id, "embedded")
    path = store(entry, own, frame, folder=folder, profile="embedded", seconds=seconds)
    record = records.read(path.with_suffix(".json")) | {"command": f"evenspan run {experiment_id}{command}"}
    records.write(path.with_suffix(".json"), records.to_json(record))
    return path


def _folder(experiment_id: str, profile: str) -> Path:
    if profile not in PROFILES:
        raise ConfigurationError(f"There is no profile {profile!r}; the profiles are {', '.join(PROFILES)}.")
    return paths.results(profile, experiment_id)


def _inspect(entry: Experiment, name: str, task: Mapping, folder: Path, checksum: str | None) -> Stored:
    result, beside = folder / f"{name}.csv", folder / f"{name}.json"
    if not result.is_file() and not beside.is_file():
        return Stored(name, "missing")
    if not beside.is_file():
        return Stored(name, "outdated", "its record is missing: the run was interrupted")
    if not result.is_file():
        return Stored(name, "outdated", "its CSV is missing")
    try:
        record = records.read(beside)
    except ResultError:
        return Stored(name, "outdated", "its record is damaged")
    if record.get("sha256") != records.digest(result.read_bytes()):
        return Stored(name, "outdated", "its CSV is damaged: it has not the digest that the record states")
    if (record.get("experiment"), record.get("task")) != (entry.id, name) or record.get("parameters") != dict(task):
        return Stored(name, "outdated", "its record states other parameters")
    if record.get("data_sha256") != checksum:
        return Stored(name, "outdated", "it was made from other data")
    return Stored(name, "finished")


# ---- running --------------------------------------------------------------------------------------------------


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
            f"notebook: evenspan run {experiment_id}"
        )
    chosen = select(experiment_id, names=only)
    states = {task.name: task for task in inspect(experiment_id, profile)}
    kept = tuple(name for name in chosen if states[name].status == "finished")
    todo = [name for name in chosen if name not in kept]
    with _reporter(experiment_id, len(todo), progress) as say:
        if kept:
            say(f"{len(kept)} of {len(chosen)} tasks are stored already")
        for name in todo:
            if states[name].status == "outdated":
                say(f"{name} is computed again: {states[name].reason}")
        done, failed = _compute(experiment_id, todo, _folder(experiment_id, profile), profile, jobs, say)
    return Summary(experiment_id, tuple(done), kept, failed)


def check(
    experiment_id: str, task: str | None = None, jobs: int | None = None, progress: bool = True
) -> tuple[list[Comparison], Mapping[str, str]]:
    """Compute stored tasks again and compare, within the tolerance of ``data/tolerances.yml``.

    Returns the comparisons and, by task, the last line of each failure.
    """
    stored = [s.name for s in inspect(experiment_id) if s.status == "finished"]
    if task is not None:
        stored = [name for name in select(experiment_id, names=[task]) if name in stored]
    if not stored:
        raise ResultError(
            f"{experiment_id} has no finished result{f' of task {task}' if task else ''} to compare with. Compute it "
            f"first: evenspan run {experiment_id} --profile full"
        )
    again, original = paths.build("check", experiment_id), _folder(experiment_id, "full")
    for name in stored:
        (again / f"{name}.csv").unlink(missing_ok=True)
    with _reporter(experiment_id, len(stored), progress) as say:
        done, failed = _compute(experiment_id, stored, again, "full", jobs, say)
    tolerance = recheck_tolerance(experiment_id)
    return [
        compare(name, records.read_csv(original / f"{name}.csv"), records.read_csv(again / f"{name}.csv"), **tolerance)
        for name in sorted(done)
    ], failed


def compare(name: str, stored: pd.DataFrame, again: pd.DataFrame, *, rtol: float, atol: float) -> Comparison:
    """Largest difference between two results of one task, and whether all rows agree."""
    key = [column for column in stored.columns if column not in ("value", "reason")]
    if key != [column for column in again.columns if column not in ("value", "reason")]:
        return Comparison(name, len(stored), np.inf, np.inf, "the columns differ", False)
    both = stored.astype({column: str for column in key}).merge(
        again.astype({column: str for column in key}), on=key, how="outer", indicator=True, suffixes=("_old", "_new")
    )
    if not (both["_merge"] == "both").all():
        row = both.loc[both["_merge"] != "both", key].iloc[0].to_dict()
        return Comparison(name, len(stored), np.inf, np.inf, f"only one of the two has {row}", False)
    old, new = both["value_old"].to_numpy(), both["value_new"].to_numpy()
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(same, 0.0, np.abs(new - old))
        relative = np.where(same, 0.0, difference / np.abs(old))
        ok = same | (difference <= atol + rtol * np.abs(old))  # a NaN on one side only compares as False
    difference, relative = np.nan_to_num(difference, nan=np.inf), np.nan_to_num(relative, nan=np.inf)
    worst = int(np.argmax(difference))
    where = " ".join(both[key].iloc[worst]) if difference[worst] > 0 else ""
    return Comparison(name, len(stored), float(difference.max()), float(relative.max()), where, bool(ok.all()))


def recheck_tolerance(experiment_id: str) -> dict[str, float]:
    """``rtol`` and ``atol`` within which a task computed again must agree (``data/tolerances.yml``, ``recheck``)."""
    path = paths.data("tolerances.yml")
    try:
        rules = yaml.safe_load(path.read_text(encoding="utf-8"))["recheck"]
        chosen = rules["experiments"].get(experiment_id, rules)
        return {"rtol": float(chosen["rtol"]), "atol": float(chosen["atol"])}
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultError(
            f"{path} must hold 'recheck' with rtol, atol and a mapping 'experiments' of such pairs, but reading it "
            f"gave {error!r}. Correct it."
        ) from error


def _compute(
    experiment_id: str, todo: list[str], folder: Path, profile: str, jobs: int | None, say: Callable
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
                running[name] = (_start(experiment_id, name, folder, profile), time.perf_counter())
                say(running=list(running))
            for name, (process, start) in list(running.items()):
                if process.poll() is None:
                    continue
                process.stdin.close()
                del running[name]
                log = _log(experiment_id, name)
                if process.returncode == 0:
                    log.unlink()
                    done.append(name)
                    say(f"{name}: {time.perf_counter() - start:.1f} s", running=list(running), advance=True, calm=True)
                else:
                    failed[name] = _last_line(log, process.returncode)
                    say(f"{name} failed: {failed[name]}\n  all of it: {log}", running=list(running), advance=True)
            if running:
                time.sleep(_POLL_SECONDS)
    finally:
        for process, _ in running.values():
            process.kill()
            process.wait()
            process.stdin.close()
    return done, failed


def _start(experiment_id: str, name: str, folder: Path, profile: str) -> subprocess.Popen:
    log = _log(experiment_id, name)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "evenspan.experiments._worker", experiment_id, name, str(folder), profile],
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            cwd=paths.root(),
            env=os.environ | records.numeric_environment() | {"EVENSPAN_ROOT": str(paths.root())},
            # Ctrl-C reaches this process only; it then ends its workers itself.
            start_new_session=True,
        )


def _log(experiment_id: str, name: str) -> Path:
    return paths.build("failed", experiment_id, f"{name}.txt")


def _last_line(log: Path, code: int) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
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
