"""What is stored: results and records on disk, whether they are current, and reading them.

A task is *finished* when its CSV and its record are both there, the CSV has the digest that the record states, and
the record states the current parameters and data. It is *stale* if the code or the data behind it are no longer those
of the record: it is kept and shown, but never counted as reproduced until ``evenspan verify`` has computed it again.
Files are written whole, the record last, so that a run may be killed at any moment.
"""

import contextlib
import platform
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import pandas as pd

from .. import paths
from ..errors import ConfigurationError, ResultError
from . import records
from .catalogue import PROFILES, Experiment, experiment, task_id

# Those who want to know what is read while a block of theirs lasts.
_WATCHING: list[set[tuple[str, str, str]]] = []


@dataclass(frozen=True)
class Stored:
    """State of one task: ``finished``, ``missing`` or ``outdated``.

    ``stale`` says of a stored result that its code or its data are not those it was made with. ``reason`` says why a
    task is outdated or stale.
    """

    name: str
    status: str
    reason: str = ""
    stale: bool = False


def data_checksum(task: Mapping[str, object]) -> str | None:
    """Checksum of the data set that a task names, or None for a task without one."""
    from .. import datasets

    return datasets.checksum(task["dataset"]) if "dataset" in task else None


def inspect(experiment_id: str) -> list[Stored]:
    """State of every task of the full protocol, in its order."""
    entry = experiment(experiment_id)
    return _inspect_all(entry, entry.tasks(), folder_of(experiment_id, "full"))


def inspect_build(experiment_id: str) -> dict[str, Stored]:
    """State of what the embedded profile stored for each execution."""
    entry = experiment(experiment_id)
    own = {name: entry.arguments(name) for name in entry.executions}
    tasks = [{key: value for key, value in given.items() if key != "profile"} for given in own.values()]
    found = _inspect_all(entry, {task_id(task): task for task in tasks}, folder_of(experiment_id, "embedded"))
    return dict(zip(own, found, strict=True))


def state(experiment_id: str) -> str:
    """How much of the full protocol is stored: ``full 24 of 24``."""
    tasks = inspect(experiment_id)
    outdated = sum(task.status == "outdated" for task in tasks)
    stale = sum(task.stale for task in tasks if task.status == "finished")
    text = f"full {sum(task.status == 'finished' for task in tasks)} of {len(tasks)}"
    text += f", {outdated} outdated" if outdated else ""
    return text + (f", {stale} stale" if stale else "")


@contextlib.contextmanager
def reading() -> Iterator[set[tuple[str, str, str]]]:
    """What is read inside of the block: experiment, profile and task of the rows that were asked for."""
    found: set[tuple[str, str, str]] = set()
    _WATCHING.append(found)
    try:
        yield found
    finally:
        _WATCHING.pop()


def watched(function: Callable, known: dict[str, set[str]]) -> tuple[object, tuple[str, ...]]:
    """What a function returns, and the experiments of which it asked for rows that are stale.

    ``known`` keeps what was found of an experiment from one call to the next.
    """
    with reading() as read:
        value = function()
    full = {(name, task) for name, profile, task in read if profile == "full"}
    for name in {name for name, _ in full}:
        if name not in known:
            known[name] = {task.name for task in inspect(name) if task.stale}
    return value, tuple(sorted({name for name, task in full if task in known[name]}))


def read_results(
    experiment_id: str, profile: str = "full", names: Collection[str] | None = None, **where: object
) -> pd.DataFrame:
    """Stored rows of an experiment with the name of their task; no rows, but all columns, if none is stored.

    ``where`` names the rows that are needed: a column with its value, or with a list of values. A claim that rests on
    what is read here inherits the state of these rows, and of no others.

    A result without a record is that of an interrupted run and is left out. A record without its result, or a result
    that is not the one its record was written for, is an error. With ``names`` no other results are opened: some may
    be in the middle of being written by another process.
    """
    experiment(experiment_id)
    frames = []
    for path in sorted(folder_of(experiment_id, profile).glob("*.json")):
        if names is not None and path.stem not in names:
            continue
        record, result = records.read(path), path.with_suffix(".csv")
        found = records.digest(result.read_bytes()) if result.is_file() else ""
        if not found or found != record.get("sha256"):
            fault = "was altered: it is not the one" if result.is_file() else "is missing: it is the one"
            raise ResultError(
                f"{result} {fault} that {path.name} beside it describes. Compute it again: evenspan run "
                f"{experiment_id} --profile {profile}"
            )
        frames.append(_rows(found, result).assign(task=path.stem))
    if not frames:
        kinds = {"k": "Int64", "split": object, "value": float}
        return pd.DataFrame({name: pd.Series(dtype=kinds.get(name, str)) for name in (*records.TIDY, "task")})
    rows = pd.concat(frames, ignore_index=True)
    for column, wanted in where.items():
        rows = rows[rows[column].isin([wanted] if isinstance(wanted, str | int | float) else list(wanted))]
    for read in _WATCHING:
        read.update((experiment_id, profile, task) for task in rows["task"].unique())
    return rows


@lru_cache(maxsize=4096)
def _rows(sha256: str, path: Path) -> pd.DataFrame:
    """The rows of a file whose content has this digest; claims and pages ask for the same ones many times."""
    return records.read_csv(path)


def store(
    entry: Experiment,
    task: Mapping[str, object],
    frame: pd.DataFrame,
    *,
    folder: Path,
    profile: str,
    seconds: float,
    command: str | None = None,
) -> Path:
    """Write the rows of a task and their record; returns the path of the CSV.

    ``command`` makes the result again; by default that of the full profile.
    """
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
        "command": command or f"evenspan run {entry.id} --profile {profile} --task {name}",
        "data_sha256": data_checksum(task),
        "source_sha256": entry.source_digest(),
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
    command = f"evenspan run {experiment_id}" + "".join(f" -p {name} {value}" for name, value in own.items())
    folder = folder_of(experiment_id, "embedded")
    return store(entry, own, frame, folder=folder, profile="embedded", seconds=seconds, command=command)


def folder_of(experiment_id: str, profile: str) -> Path:
    """Where the results of an experiment are."""
    if profile not in PROFILES:
        raise ConfigurationError(f"There is no profile {profile!r}; the profiles are {', '.join(PROFILES)}.")
    return paths.results(profile, experiment_id)


def _inspect_all(entry: Experiment, tasks: Mapping[str, Mapping], folder: Path) -> list[Stored]:
    checksums = {task.get("dataset"): data_checksum(task) for task in tasks.values()}
    sources = entry.source_digest()
    return [
        _inspect(entry, name, task, folder, checksums[task.get("dataset")], sources) for name, task in tasks.items()
    ]


def _inspect(entry: Experiment, name: str, task: Mapping, folder: Path, checksum: str | None, sources: str) -> Stored:
    result, beside = folder / f"{name}.csv", folder / f"{name}.json"
    if not result.is_file() and not beside.is_file():
        return Stored(name, "missing")
    if not beside.is_file():
        return Stored(name, "outdated", "its record is missing, as after an interruption")
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
    changed = [
        what
        for what, field, now in (("data", "data_sha256", checksum), ("code", "source_sha256", sources))
        if record.get(field) != now
    ]
    reason = f"its {' and '.join(changed)} changed since" if changed else ""
    # Other data are another task; other code most often gives the same numbers, and what it gave is not thrown away.
    return Stored(name, "outdated" if "data" in changed else "finished", reason, bool(changed))
