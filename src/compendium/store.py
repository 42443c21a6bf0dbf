"""What is stored: one CSV and one record for each execution of an experiment, and which of it counts.

The rows of all units of an execution stand in one CSV, sorted; the record beside it has the digest of the CSV and says
how every unit was computed. A unit counts as long as the data and the declared versions are those of its record.
"""

import contextlib
import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path

import pandas as pd

from evenspan.core.errors import ResultError

from . import paths, provenance, records
from .catalogue import Experiment, experiment, task_id

#: Where units of small executions are stored, below those of their experiment.
SMALL = "small"
#: What the record of every unit has, beside more.
_NEEDED = itemgetter("parameters", "data", "versions", "seconds")


class MissingNumbersError(ResultError):
    """Numbers that a claim, a finding or a contradiction needs are not there: it is not judged, and this is why."""


@dataclass(eq=False)
class Unit:
    """A stored unit: its rows as text, its record, and the file of the record."""

    experiment: str
    name: str
    rows: list[dict[str, str]]
    record: dict
    path: Path

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows with numbers."""
        return records.frame(self.rows).assign(task=self.name)

    @cached_property
    def methods(self) -> set[str]:
        """The methods of its rows."""
        return {row["method"] for row in self.rows}

    @property
    def changed(self) -> str:
        """Why the unit is outdated; blank if it is valid."""
        data = self.record["data"]
        if other := [name for name, digest in data.items() if provenance.checksums(name) != {name: digest}]:
            return f"its data changed since: {', '.join(other)}"
        now = provenance.versions(self.experiment, self.methods)
        names = sorted(dict(self.record["versions"].items() ^ now.items()))
        return f"another version of {', '.join(names)} was declared since" if names else ""


# -- what is read -------------------------------------------------------------------------------------------------


def read_results(experiment_id: str, **where: object) -> pd.DataFrame:
    """Stored rows that count, the name of their unit in ``task``; ``where`` gives columns their value, or a list."""
    experiment(experiment_id)  # an unknown name is an error
    return chosen(_joined(*(unit for unit in units_of(experiment_id).values() if not unit.changed)).copy(), where)


def full(experiment_id: str, *every: str, **where: object) -> pd.DataFrame:
    """The same, of which there have to be some, and some with each value that is wanted in the columns ``every``."""
    return complete(read_results(experiment_id), experiment_id, *every, **where)


def complete(rows: pd.DataFrame, what: str, *every: str, **where: object) -> pd.DataFrame:
    """Those of some rows that ``where`` asks for; an error that says what is missing if they are not all there."""
    rows = chosen(rows, where)
    missing = {column: sorted(set(where[column]) - set(rows[column]), key=str) for column in every}
    said = [f"{column} {', '.join(map(str, values))}" for column, values in missing.items() if values]
    if rows.empty or said:
        wanted = said or [f"{column} {', '.join(map(str, _several(values)))}" for column, values in where.items()]
        raise MissingNumbersError(f"no rows of {what}" + (f" with {'; '.join(wanted)}" if wanted else ""))
    return rows


def chosen(rows: pd.DataFrame, where: Mapping[str, object]) -> pd.DataFrame:
    """Rows whose columns have the values that ``where`` gives them, or one of a list."""
    for column, wanted in where.items():
        rows = rows[rows[column].isin(_several(wanted))]
    return rows


def _several(wanted: object) -> list:
    return [wanted] if isinstance(wanted, str | int | float) else list(wanted)


def archived(name: str) -> tuple[pd.DataFrame, dict]:
    """Rows that no code here computes again, never counted as computed, and their record: commits, command, when."""
    path = paths.data("results", "archive", f"{name}.csv")
    record = paths.read(path.with_suffix(".json"), json.loads)
    return records.frame(_rows(records.content_of(path, record["sha256"]))), record


def units_of(experiment_id: str, folder: Path | None = None) -> dict[str, Unit]:
    """Every unit that is stored, by its name, sorted; in another ``folder`` if given."""
    paths_here = (folder or paths.results(experiment_id)).glob("*.json")
    found = {name: unit for path in paths_here for name, unit in units_at(path).items()}
    return {name: found[name] for name in sorted(found)}


def units_at(path: Path) -> Mapping[str, Unit]:
    """The units of an execution, whose record is at ``path``, by name; none if nothing is stored there."""
    found = [one.stat() for one in (path, path.with_suffix(".csv")) if one.is_file()]
    return _read(path, *((one.st_mtime_ns, one.st_size) for one in found)) if path.is_file() else {}


def summary(experiment_id: str) -> str:
    """How many units are stored, and how many of them do not count."""
    units = units_of(experiment_id).values()
    changed = sum(bool(unit.changed) for unit in units)
    return f"{len(units)} units" + (f", {changed} of other data or versions" if changed else "")


@lru_cache(maxsize=512)
def _read(path: Path, *_: tuple[int, int]) -> Mapping[str, Unit]:
    table, rows = path.with_suffix(".csv"), {}

    def parse(content: bytes) -> Mapping[str, Unit]:
        record, late = json.loads(content), path.with_suffix(".next")
        if late.is_file() and records.digest(table.read_bytes()) != record["sha256"]:
            record = json.loads(late.read_bytes())  # of a run that was killed before the last of its three steps
            with contextlib.suppress(OSError):  # a checkout may be read alone
                late.replace(path)
        for row in _rows(records.content_of(table, record["sha256"])):
            rows.setdefault(row.pop("task"), []).append(row)
        units = {name: one for name, one in record["units"].items() if _NEEDED(one)}
        return {name: Unit(record["experiment"], name, rows[name], unit, path) for name, unit in units.items()}

    return paths.read(path, parse, "Restore it and its CSV from the repository, or delete both and compute them again.")


def _rows(content: bytes) -> list[dict[str, str]]:
    names, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    return [dict(zip(names, row, strict=True)) for row in rows]


@lru_cache(maxsize=64)
def _joined(*units: Unit) -> pd.DataFrame:
    return pd.concat([unit.frame for unit in units] or [records.frame([]).assign(task="")], ignore_index=True)


# -- what is written ----------------------------------------------------------------------------------------------


def save(entry: Experiment, task: Mapping, rows: pd.DataFrame, path: Path, *, seconds: float, **noted: object) -> None:
    """Put a unit into the files of an execution, whose record is at ``path``; ``noted`` is what else its record has."""
    name = task_id(task)
    unit = {
        "parameters": dict(task),
        "command": f"python -m compendium run {entry.id} --profile full --task {name}",
        "data": provenance.checksums(task.get("dataset")),
        "versions": provenance.versions(entry.id, rows["method"]),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    } | {name: value for name, value in noted.items() if value is not None}
    made = Unit(entry.id, name, records.lines(records.checked(rows, f"{entry.id}, {name}")), unit, path)
    write(entry.id, {**units_at(path), name: made}, path)


def write(experiment_id: str, units: Mapping[str, Unit], path: Path) -> None:
    """Write the CSV and its record, which waits beside its place: killed anywhere, the old one or the next one fits."""
    content = records.to_csv({name: unit.rows for name, unit in units.items()})
    of_units = {name: unit.record for name, unit in units.items()}
    record = {"experiment": experiment_id, "sha256": records.digest(content), "units": of_units}
    records.write(path.with_suffix(".next"), records.to_json(record))
    records.write(path.with_suffix(".csv"), content)
    with contextlib.suppress(FileNotFoundError):  # who reads meanwhile may have done it
        path.with_suffix(".next").replace(path)


def cells_of(experiment_id: str) -> Path:
    """The file with the digests of the code cells that the results of an experiment belong to."""
    return paths.results(experiment_id).with_suffix(".cells")


def record_path(entry: Experiment, task: Mapping[str, object], execution: str | None = None) -> Path:
    """The record that holds a unit: that of the execution to which it belongs, or of its data set.

    Those of small executions are kept apart, so that neither ledger nor claims read them."""
    if execution in entry.small:
        return paths.results(entry.id, SMALL, f"{execution}.json")
    # The method of a unit is one of the notebook's; the parameter of that name is a reader's own.
    shared = {name: value for name, value in task.items() if name in entry.parameters and name != "method"}
    fitting = [one for one in entry.executions if shared.items() <= entry.execution(one).items()]
    name = task_id({"dataset": str(task["dataset"])}) if "dataset" in task else "other"
    if len(fitting) == 1:
        name = fitting[0] + (f"-{task_id({entry.files: task[entry.files]})}" if entry.files else "")
    return paths.results(entry.id, f"{name}.json")
