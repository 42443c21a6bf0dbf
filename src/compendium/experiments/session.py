"""What a notebook calls: run an experiment in a profile, keep the result, lay the stored full run beside it."""

import time

import numpy as np
import pandas as pd

from evenspan.core.errors import ExecutionError

from . import provenance, store, tasks
from .catalogue import experiment


def run(experiment_id: str, *, profile: str = "embedded", **parameters) -> pd.DataFrame:
    """Tidy rows of an experiment with a column ``source``: ``this build`` and ``full run``.

    Parameters
    ----------
    experiment_id : str
        An entry of ``experiments.yml``.
    profile : {"embedded", "full"}
        "embedded" computes what needs no raw data and stores it among the build products. "full" first completes the
        tasks of the full run that have these parameters, on the raw data; finished ones are not computed again.
    **parameters
        Those of the entry.

    Returns
    -------
    pandas.DataFrame
    """
    entry = experiment(experiment_id)
    arguments = entry.arguments(profile=profile, given=[(name, str(value)) for name, value in parameters.items()])
    own = {name: value for name, value in arguments.items() if name != "profile"}
    matching = [name for name, task in entry.tasks().items() if _agrees(task, own)]
    if profile == "full":
        summary = tasks.run(experiment_id, only=matching)
        if not summary.ok:
            reasons = "\n".join(dict.fromkeys(summary.failed.values()))
            raise ExecutionError(
                f"{experiment_id}: {len(summary.failed)} task(s) of the full profile failed. Remove the cause and run "
                f"the notebook again; finished tasks are kept. {reasons}"
            )
        frames = []
    else:
        with provenance.recorded() as made:
            start = time.perf_counter()
            rows = entry.protocol().run(**own)
            seconds = time.perf_counter() - start
        store.save(experiment_id, own, rows, made=made, seconds=seconds)
        frames = [rows.assign(source="this build")]
    stored = store.read_results(experiment_id)
    stored = stored[stored["task"].isin(matching)].drop(columns="task")
    if len(stored):
        frames.append(stored.assign(source="full run"))
    return pd.concat(frames, ignore_index=True)


def stored(experiment_id: str, **parameters) -> pd.DataFrame:
    """What is stored already for these parameters, from the full run and from this build, with a column ``source``."""
    frames = []
    for profile, source in (("embedded", "this build"), ("full", "full run")):
        rows = store.read_results(experiment_id, profile)
        for name, value in parameters.items():
            rows = rows[rows[name] == value]
        frames.append(rows.drop(columns="task").assign(source=source))
    return pd.concat([frame for frame in frames if len(frame)], ignore_index=True)


def best_source(rows: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The rows of the full run where there are any, otherwise those of this build.

    Parameters
    ----------
    rows : DataFrame
        With a column ``source``, as ``run`` and ``stored`` give it.
    *by : str
        Columns; decided for each combination of their values, otherwise for all rows at once.

    Returns
    -------
    DataFrame
    """
    full = rows["source"] == "full run"
    has_full = full.groupby([rows[name] for name in by]).transform("any") if by else full.any()
    return rows[full | ~np.asarray(has_full)]


def _agrees(task: dict, parameters: dict) -> bool:
    """Whether a task has the value of every parameter that it shares with the notebook."""
    return all(parameters[name] == value for name, value in task.items() if name in parameters)
