"""What is stored: results and records on disk, whether they are current, and reading them.

A task is *finished* when its CSV and its record are both there, the CSV has the digest that the record states, and
the record states the current parameters and data. Files are written whole, the record last, so that a run may be
killed at any moment.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from .. import paths
from ..errors import ConfigurationError, ResultError
from . import records
from .catalogue import PROFILES, Experiment, experiment, task_id


@dataclass(frozen=True)
class Stored:
    """State of one task: ``finished``, ``missing`` or ``outdated`` (with the reason)."""

    name: str
    status: str
    reason: str = ""


def data_checksum(task: Mapping[str, object]) -> str | None:
    """Checksum of the data set that a task names, or None for a task without one."""
    from .. import datasets

    return datasets.checksum(task["dataset"]) if "dataset" in task else None


def inspect(experiment_id: str, profile: str = "full") -> list[Stored]:
    """State of every task of the full protocol, in its order."""
    entry = experiment(experiment_id)
    folder = folder_of(experiment_id, profile)
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
    for path in sorted(folder_of(experiment_id, profile).glob("*.json")):
        record, result = records.read(path), path.with_suffix(".csv")
        if not result.is_file() or records.digest(result.read_bytes()) != record.get("sha256"):
            fault = "was altered: it is not the one" if result.is_file() else "is missing: it is the one"
            raise ResultError(
                f"{result} {fault} that {path.name} beside it describes. Compute it again: evenspan run "
                f"{experiment_id} --profile {profile}"
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
    folder = folder_of(experiment_id, "embedded")
    path = store(entry, own, frame, folder=folder, profile="embedded", seconds=seconds)
    record = records.read(path.with_suffix(".json")) | {"command": f"evenspan run {experiment_id}{command}"}
    records.write(path.with_suffix(".json"), records.to_json(record))
    return path


def folder_of(experiment_id: str, profile: str) -> Path:
    """Where the results of an experiment are."""
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
