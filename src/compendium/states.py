"""Whether what is stored counts: the state of every unit, and of what was read.

===========  =====================================================================================================
current      made, or computed again and found to agree, with the code, data and packages that are here
touched      code or packages behind it were edited since; counted, labelled, and computed again by ``verify``
changed      declared version, data or parameters are other ones, or computing it again disagreed; not counted
damaged      rows and record do not belong together; not counted
missing      not stored
===========  =====================================================================================================
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import provenance
from .catalogue import Experiment, experiment, task_id
from .store import MissingNumbersError, parsed, reading, units_at, units_of

CURRENT, TOUCHED, CHANGED, DAMAGED, MISSING = STATES = ("current", "touched", "changed", "damaged", "missing")
#: What is counted; everything else is named and left out.
COUNTED = (CURRENT, TOUCHED)


@dataclass(frozen=True)
class Stored:
    """One unit: its name, its state (one of ``STATES``) and why it is in it."""

    name: str
    state: str
    reason: str = ""

    @property
    def counts(self) -> bool:
        """Whether numbers that rest on it may be counted."""
        return self.state in COUNTED


def inspect(experiment_id: str) -> list[Stored]:
    """State of every stored unit."""
    entry, edited = experiment(experiment_id), {}
    return [state_of(entry, unit.name, unit.path, edited) for unit in units_of(experiment_id).values()]


def summary(experiment_id: str) -> str:
    """How many units are stored, and how many of them are not current: ``24 units, 3 touched``."""
    found = inspect(experiment_id)
    counts = {state: sum(one.state == state for one in found) for state in STATES}
    text = f"{len(found)} unit{'s' if len(found) != 1 else ''}"
    return text + "".join(f", {counts[state]} {state}" for state in (TOUCHED, CHANGED, DAMAGED) if counts[state])


def watched(function: Callable, known: dict[str, dict[str, Stored]]) -> tuple[object, str, tuple[str, ...]]:
    """What a function returns, the worst state of the rows that it asked for, and the experiments in that state.

    It returns None here if it raised :class:`~compendium.store.MissingNumbersError`: the one place that catches what
    waits. ``known`` keeps the states of an experiment from one call to the next.
    """
    with reading() as read:
        try:
            value = function()
        except MissingNumbersError:
            value = None
    for name in {name for name, _ in read} - known.keys():
        known[name] = {one.name: one for one in inspect(name)}
    states = {(name, known[name][unit].state if unit in known[name] else CHANGED) for name, unit in read}
    worst = max((state for _, state in states), key=STATES.index, default=CURRENT)
    return value, worst, tuple(sorted(name for name, state in states if state == worst != CURRENT))


def state_of(
    entry: Experiment, name: str, path: Path, edited: dict[tuple[Path, str], list[str]] | None = None
) -> Stored:
    """State of one unit, whose record should be at ``path``.

    ``edited`` keeps what was edited since an environment was recorded, which most units of an experiment share.
    """
    unit = units_at(path).get(name)
    if unit is None:
        return Stored(name, MISSING)
    if unit.fault:
        return Stored(name, DAMAGED, unit.fault)
    record = unit.record
    check = record.get("computed_again", {})
    if sorted(task_id(record["parameters"]).split("-")) != sorted(name.split("-")):  # records sort their keys
        return Stored(name, CHANGED, "its record states other parameters")
    if "versions" not in record:
        return Stored(name, CHANGED, "the versions of protocol and methods are unknown: its record states none")
    now = provenance.versions(entry.id, (row["method"] for row in unit.rows))
    if record["versions"] != now:
        names = sorted(dict(record["versions"].items() ^ now.items()))
        return Stored(name, CHANGED, f"another version of {', '.join(names)} was declared since")
    if "disagreed" in check:
        return Stored(name, CHANGED, f"computed again it disagreed: {check['disagreed']}")
    data = record["data"] | check.get("data", {})
    if other := [file for file, digest in data.items() if provenance.data_now(file) != digest]:
        return Stored(name, CHANGED, f"its data changed since: {shortened(other)}")
    edited = {} if edited is None else edited
    made = [(path, one["environment"]) for one in (check, record) if one]
    for place in set(made) - edited.keys():
        edited[place] = provenance.edited(parsed(path)["environments"][place[1]])
    # agreed on other code than now, and made with other code: what differs from the code that agreed last
    since = min((edited[place] for place in made), key=bool)
    return Stored(name, TOUCHED, f"edited since: {shortened(since)}") if since else Stored(name, CURRENT)


def shortened(names: list[str]) -> str:
    """Three names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
