"""Our side of the ledger: the mean over the splits of the stored results, for each published number that has one."""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from evenspan.core.errors import ResultError

from ..catalogue import Experiment, catalogue
from ..states import COUNTED, DAMAGED, STATES, Stored, inspect
from ..store import read_results

#: A protocol that gives a metric exactly from moments serves wherever the published protocol has no row of its own.
MOMENTS = "moments"


@dataclass(frozen=True)
class Ours:
    """Our side of a cell: mean and population standard deviation over the splits, or why there is none; its state."""

    mean: float | None
    std: float | None
    splits: int
    reason: str
    experiment: Experiment
    dataset: str
    tasks: tuple[str, ...]
    state: str = "current"
    changed: str = ""

    @property
    def counted(self) -> bool:
        """Whether it may be judged, and bear witness for or against other numbers."""
        return self.mean is not None and self.state in COUNTED and self.dataset not in self.experiment.stand_ins

    @property
    def draws(self) -> tuple[int, int | None] | None:
        """Our number of random splits or starts and the paper's, where they are not the same ones."""
        return (self.splits, self.experiment.repetitions) if self.experiment.splits == "own" else None


def collect(cells: pd.DataFrame) -> dict[tuple[str, ...], Ours]:
    """Our numbers by the key of the cell they belong to."""
    found: dict[tuple[str, ...], Ours] = {}
    for entry in catalogue().values():
        if not entry.published:
            continue
        printed = cells[cells["stem"].isin(entry.published)]
        rows = read_results(entry.id, damaged=True)
        # Of all that an experiment measures, what the tables print is a small part.
        rows = rows[rows["method"].isin(printed["method"]) & rows["metric"].isin(printed["metric"])]
        states = {unit.name: unit for unit in inspect(entry.id)}
        for key, ours in _means(entry, rows, states):
            if key in found:
                raise ResultError(
                    f"{entry.id} and {found[key].experiment.id} both give a number for {', '.join(key)}. Only one "
                    "experiment may judge a cell; correct experiments.yml."
                )
            found[key] = ours
    return found


def _means(
    entry: Experiment, frame: pd.DataFrame, states: Mapping[str, Stored]
) -> Iterable[tuple[tuple[str, ...], Ours]]:
    frame = frame[frame["dataset"].isin(list(entry.published_datasets))]
    for split, protocol in entry.published_protocols.items():
        groups: dict[tuple[str, ...], tuple[str, pd.DataFrame]] = {}
        for wanted in (protocol, MOMENTS):
            rows = frame[frame["protocol"] == wanted]
            for (dataset, method, metric, k), group in rows.groupby(["dataset", "method", "metric", "k"], dropna=False):
                for stem, theirs in itertools.product(entry.published, entry.published_datasets[dataset]):
                    key = (stem, theirs, method, metric, "" if pd.isna(k) else str(k), split)
                    groups.setdefault(key, (dataset, group))
        for key, (dataset, group) in groups.items():
            yield key, _mean(entry, dataset, group, key, states)


def _mean(
    entry: Experiment,
    dataset: str,
    group: pd.DataFrame,
    key: tuple[str, ...],
    states: Mapping[str, Stored],
) -> Ours:
    numbered = group[group["split"].map(lambda split: split != "all")]
    group = numbered if len(numbered) else group
    tasks = tuple(sorted(set(group["task"])))
    found = {task: states[task] for task in tasks}
    state = max((unit.state for unit in found.values()), key=STATES.index)
    changed = "; ".join(f"{task}: {unit.reason}" for task, unit in found.items() if not unit.counts)
    if state != DAMAGED and group["split"].duplicated().any():
        raise ResultError(
            f"{entry.id} has two numbers for one split of {', '.join(key)}, in the tasks {', '.join(tasks)}. Remove "
            "the results of tasks that the protocol no longer has."
        )
    values = group["value"].tolist()
    if not all(map(math.isfinite, values)):
        reasons = sorted({str(reason) for reason in group.loc[~group["value"].map(math.isfinite), "reason"]})
        return Ours(None, None, len(group), "; ".join(reasons), entry, dataset, tasks, state, changed)
    # fsum rounds once: the mean does not depend on the order of the splits. Equal values have no spread, nor its noise.
    mean = math.fsum(values) / len(values) if min(values) < max(values) else values[0]
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) if len(values) > 1 else None
    return Ours(mean, std, len(group), "", entry, dataset, tasks, state, changed)
