"""What is stored: one tidy CSV and one record for each execution of an experiment. What of it counts: :mod:`.states`.

A *unit* is what the study of a notebook computes, stores, resumes and checks as a whole. The rows of all units of an
execution stand in one CSV, sorted; the record beside it has the parameters, data, versions and digest of every unit,
and the *environments* (commit, code, packages, machine) in which they were made. Both files are written whole
and under a lock, rows first, so that a run may be killed at any moment and continues at its last unit.
"""

import contextlib
import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from itertools import chain, zip_longest
from pathlib import Path

import pandas as pd

from evenspan.core.errors import RegistryError, ResultError

from . import paths, processes, provenance, recheck, records
from .catalogue import Experiment, experiment, task_id

#: What the record of a unit has, beside its ``versions``, that it was ``computed_again`` and what then is ``compared``
#: where not each number is determined; and what the second has.
FIELDS = frozenset(
    ("parameters", "seed", "command", "data", "columns", "rows", "sha256", "finished", "seconds", "peak_memory_mib")
) | {"environment"}
AGAIN = frozenset(("finished", "seconds", "data", "environment"))
# Those who want to know what is read while a block of theirs lasts.
_WATCHING: list[set[tuple[str, str]]] = []


class MissingNumbersError(ResultError):
    """Stored numbers that a claim, a finding or a contradiction needs are not there (yet): it is not judged."""


@contextlib.contextmanager
def reading() -> Iterator[set[tuple[str, str]]]:
    """What is read inside of the block: experiment and unit of the rows that were asked for."""
    found: set[tuple[str, str]] = set()
    _WATCHING.append(found)
    try:
        yield found
    finally:
        _WATCHING.pop()


def read_results(experiment_id: str, *, damaged: bool = False, **where: object) -> pd.DataFrame:
    """Stored rows of an experiment, the name of their unit in ``task``; no rows, but all columns, if none is stored.

    ``where`` names the rows that are needed: a column with its value, or with a list of values. A claim that rests on
    what is read here inherits the state of these rows, and of no others. Rows without a record are those of an
    interrupted run and are left out; rows that are not those that their record describes are an error; with ``damaged``
    both are given, for those who name their state.
    """
    entry, units = experiment(experiment_id), {}
    for path in sorted(folder_of(experiment_id).glob("*.json")):
        if not damaged:
            parsed(path)  # one that cannot be read is an error, not an empty one
        for name, unit in units_at(path).items():
            if unit.fault and unit.record and not damaged:
                raise ResultError(
                    f"{path.with_suffix('.csv')}: {name} {unit.fault}. Compute it again: {_command(entry, name)}"
                )
            if unit.rows and (damaged or not unit.fault):
                with contextlib.suppress(*([ValueError] if unit.fault else [])):  # altered into what is no number
                    if len(unit.frame):
                        units[name] = unit
    if not units:
        return records.frame([], []).assign(task="")
    rows = _joined(*(units[name] for name in sorted(units))).copy()
    for column, wanted in where.items():
        rows = rows[rows[column].isin([wanted] if isinstance(wanted, str | int | float) else list(wanted))]
    for read in _WATCHING:
        read.update((experiment_id, name) for name in rows["task"].unique())
    return rows


def archived(name: str) -> tuple[pd.DataFrame, dict]:
    """Rows that no code here computes again, and their record: the commits that computed them, when, by which command.

    They lie in ``data/results/archive``, and are shown with that label and never counted as computed.
    """
    path = paths.data("results", "archive", f"{name}.csv")
    content, record = path.read_bytes(), records.read(path.with_suffix(".json"))
    if records.digest(content) != record["sha256"]:
        raise ResultError(f"{path} was altered: its SHA-256 is not the recorded one. Restore it from the repository.")
    rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    return records.frame(rows, [column for column in rows[0] if column not in records.TIDY]), record


@lru_cache(maxsize=64)
def _joined(*units: "Unit") -> pd.DataFrame:
    return pd.concat([unit.frame for unit in units], ignore_index=True)


def full(experiment_id: str, *every: str, **where: object) -> pd.DataFrame:
    """Stored rows as :func:`read_results` gives them: some, and some with each value wanted in the columns ``every``.

    Without them a :class:`MissingNumbersError` says that what rests on them waits.
    """
    rows = read_results(experiment_id, **where)
    if rows.empty or any(set(where[column]) - set(rows[column]) for column in every):
        raise MissingNumbersError(f"Not all is stored of {experiment_id}. Compute it: set profile to 'full'.")
    return rows


def read_records(experiment_id: str) -> dict[str, dict]:
    """The record of every stored unit by its name, with the environment in which it was made and its ``file``."""
    found = {}
    for path in sorted(folder_of(experiment_id).glob("*.json")):
        whole = parsed(path)
        for name, unit in whole["units"].items():
            made = whole["environments"][unit["environment"]]
            found[name] = {"experiment": experiment_id, "unit": name, **made, **unit, "file": path.stem}
    return found


def store(
    entry: Experiment,
    task: Mapping[str, object],
    frame: pd.DataFrame,
    *,
    made: provenance.Provenance,
    seconds: float,
    path: Path,
    seed: object = None,
) -> Path:
    """Write the rows of a unit and its record into the files of an execution; returns the path of the CSV."""
    name = task_id(task)
    rows = records.lines(records.checked(frame, f"{entry.id}, {name}"))
    unit = {
        "parameters": dict(task),
        "seed": task.get("seed", seed),
        "command": _command(entry, name),
        "data": made.data(task.get("dataset")),
        "versions": provenance.versions(entry.id, frame["method"]),
        "columns": records.extra(frame),
        "rows": len(rows),
        "sha256": records.rows_digest(rows),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "peak_memory_mib": records.peak_memory(),
    }
    if own := recheck.tolerances(entry.id).own(frame):
        unit["compared"] = own
    with _opened(path, entry.id) as (record, kept):
        for lost in kept.keys() - record["units"].keys():  # no record vouches for them
            del kept[lost]
        kept[name] = rows
        record["units"][name] = unit | {"environment": _note(record, made.environment())}
    return path.with_suffix(".csv")


def confirm(experiment_id: str, name: str, again: Path, disagreement: str = "") -> None:
    """Note that a unit was computed again, in the files of ``again``, and agreed, or in what it did not."""
    fresh = records.read(again)
    with _opened(units_of(experiment_id)[name].path, experiment_id) as (record, _):
        second = fresh["units"][name]
        environment = _note(record, fresh["environments"][second["environment"]])
        check = {name: second[name] for name in ("finished", "seconds", "data")} | {"environment": environment}
        record["units"][name]["computed_again"] = check | ({"disagreed": disagreement} if disagreement else {})


def latest_seconds(record: dict) -> float:
    """What a unit took when it was computed last: when it was made, or again."""
    return float(record.get("computed_again", {}).get("seconds", record["seconds"]))


def folder_of(experiment_id: str) -> Path:
    """Where the results of an experiment are."""
    return paths.results(experiment_id)


def cells_of(experiment_id: str) -> Path:
    """The file with the digests of the code cells that the results of an experiment belong to."""
    return folder_of(experiment_id).with_suffix(".cells")


def file_of(experiment_id: str, name: str) -> str:
    """The name, without ending, of the files that hold a unit."""
    return units_of(experiment_id)[name].path.stem


def units_of(experiment_id: str, folder: Path | None = None) -> dict[str, "Unit"]:
    """Every unit that is stored, whatever is wrong with it, by its name; in another ``folder`` if given."""
    found = sorted({path.with_suffix(".json") for path in (folder or folder_of(experiment_id)).glob("*.[cj]s[vo]*")})
    return {name: unit for path in found for name, unit in units_at(path).items()}


@dataclass(eq=False)
class Unit:
    """A unit as it lies there: its rows as text, its record, and what is wrong with the two."""

    name: str
    rows: list[dict[str, str]]
    record: dict
    path: Path
    fault: str = ""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows with numbers; claims and pages ask for the same ones many times."""
        columns = self.record.get("columns", sorted(set(self.rows[0]) - set(records.TIDY)))
        return records.frame(self.rows, columns).assign(task=self.name)


def home(entry: Experiment, task: Mapping[str, object]) -> Path:
    """The record that holds a unit: that of the execution to which it belongs, or of its data set."""
    folder = folder_of(entry.id)
    shared = {name: value for name, value in task.items() if name in entry.parameters}
    fitting = [one for one in entry.executions if shared.items() <= entry.execution(one).items()]
    if entry.files and entry.files not in task:
        raise RegistryError(
            f"{entry.id}: its results are kept apart by {entry.files!r} (files), but a unit has the parameters "
            f"{', '.join(task)}. Name one that every unit has."
        )
    if len(fitting) == 1:
        part = f"-{task_id({entry.files: task[entry.files]})}" if entry.files else ""
        return folder / f"{fitting[0]}{part}.json"
    return folder / f"{task_id({'dataset': str(task['dataset'])}) if 'dataset' in task else 'other'}.json"


def _command(entry: Experiment, name: str) -> str:
    return f"python -m compendium run {entry.id} --profile full --task {name}"


def units_at(path: Path) -> Mapping[str, Unit]:
    """All units of an execution by name; those without a record have a fault, and so have those that do not fit it."""
    table = path.with_suffix(".csv")
    content = [one.read_bytes() if one.is_file() else b"" for one in (path, table)]
    return _units(path, *content) if any(content) else {}


@lru_cache(maxsize=512)
def _units(path: Path, described: bytes, table: bytes) -> Mapping[str, Unit]:
    record = {"units": {}}
    with contextlib.suppress(ResultError):  # a damaged record vouches for nothing
        record = _read(path) if described else record
    rows = _split(table)
    found = {}
    for name in sorted(rows.keys() | record["units"].keys()):
        unit, own = record["units"].get(name), rows.get(name, [])
        fault = ""
        if unit is None:
            fault = "has rows without a record, as after an interruption or with a damaged record"
        elif not own:
            fault = "has a record without rows"
        elif unit.get("sha256") != records.rows_digest(own):
            fault = "was altered: its rows have not the digest that the record states"
        else:
            fault = _unfit(unit, own, record["environments"])
        found[name] = Unit(name, own, unit or {}, path, fault)
    return found


def _unfit(unit: Mapping, rows: list, environments: Mapping) -> str:
    """Why a record of a unit cannot be believed; an environment is named by its digest. Nothing if it can be."""
    again = unit.get("computed_again", dict.fromkeys(AGAIN) | {"environment": unit.get("environment")})
    if {*unit} - {"versions", "computed_again", "compared"} != FIELDS or {*again} - {"disagreed"} != AGAIN:
        return "was altered: its record has not the fields that it needs"
    if unit["rows"] != len(rows) or not {*_extra(rows)} <= {*unit["columns"]}:
        return "was altered: its record states other rows or columns"
    for name in (unit["environment"], again["environment"]):
        if name not in environments or not _named(name, environments[name]):
            return f"was altered: its record has no environment {name}, or another one under this name"
    return ""


def _extra(rows: list[dict[str, str]]) -> set[str]:
    return {name for row in rows for name, text in row.items() if text} - {*records.TIDY}


def _named(name: str, environment: Mapping) -> bool:
    return name == records.digest(records.to_json(environment))[:10]


def _read(path: Path) -> dict:
    record = records.read(path)
    if not all(isinstance(record.get(name), dict) for name in ("environments", "units")):
        raise ResultError(f"The record {path} has no environments and units. Restore it, or run the experiment again.")
    return record


@records.kept
def parsed(path: Path) -> dict:
    """A record, read once as long as it stays the same; one that cannot be read is an error."""
    return _read(path)


def _split(table: bytes) -> dict[str, list[dict[str, str]]]:
    """Rows by unit. Whatever an altered file holds has a place here, so that the digests can tell."""
    found: dict[str, list[dict[str, str]]] = {}
    lines = csv.reader(io.StringIO(table.decode("utf-8", errors="replace"), newline=""))
    with contextlib.suppress(csv.Error):  # a lost quotation mark; the units after it are without rows
        columns = next(lines, [])
        for line in filter(None, lines):
            row = dict(zip_longest(columns, line[: len(columns)], fillvalue=""))
            if beyond := line[len(columns) :]:
                row["beyond"] = ",".join(beyond)
            found.setdefault(row.pop("task", ""), []).append(row)
    return found


@contextlib.contextmanager
def _opened(path: Path, experiment_id: str) -> Iterator[tuple[dict, dict[str, list[dict[str, str]]]]]:
    """Record and rows of an execution, to be changed in a block, at whose end both files are written.

    Only one process at a time is in such a block; the lock ends with the process, however it ends. A damaged
    record counts as none.
    """
    with processes.locked(str(path)):
        record = {"experiment": experiment_id, "environments": {}, "units": {}}
        table = path.with_suffix(".csv")
        with contextlib.suppress(ResultError):
            record = _read(path) if path.is_file() else record
        rows = _split(table.read_bytes()) if table.is_file() else {}
        yield record, rows
        noted = chain.from_iterable((unit, unit.get("computed_again")) for unit in record["units"].values())
        used = {one["environment"] for one in noted if one}
        record["environments"] = {name: one for name, one in record["environments"].items() if name in used}
        # The rows go first: a record never vouches for rows that are not there, as it has the digest of every unit.
        records.write(table, records.to_csv(rows))
        records.write(path, records.to_json(record))


def _note(record: dict, environment: Mapping) -> str:
    """The name of an environment in a record, where it is added."""
    name = records.digest(records.to_json(environment))[:10]
    record["environments"][name] = dict(environment)
    return name
