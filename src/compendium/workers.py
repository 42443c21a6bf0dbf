"""Much work at once, each piece in a process of its own: units of a study, and pages of the book."""

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from threadpoolctl import threadpool_limits

from evenspan.core.ending import SIGNALS
from evenspan.core.errors import ConfigurationError, FairError, FairWarning, FetchError

from . import provenance, records, store
from .catalogue import Experiment
from .compare import tolerances


class Failed(NamedTuple):
    """Why a unit was not computed, and whether it lacked data that are not at hand."""

    reason: str
    no_data: bool = False


def compute(
    entry: Experiment,
    unit: Callable,
    tasks: Mapping[str, Mapping],
    homes: Mapping[str, Path],
    *,
    seed: object = None,
    jobs: int | None = None,
) -> dict[str, Failed]:
    """Compute units, ``jobs`` at once, and store each as it ends; what failed and why.

    ``tasks`` has the parameters of units by name, ``homes`` of those that are to be computed the files of their
    records. A run that is ended goes on with the units that are not stored.
    """
    jobs = cores() if jobs is None else jobs
    if jobs < 1:
        raise ConfigurationError(f"jobs is {jobs}, but at least 1 process is needed.")
    made, allowed, failed = provenance.environment(), tolerances(entry.id), {}

    def work(name: str) -> tuple[pd.DataFrame, float]:
        start = time.perf_counter()
        return rows_of(unit, tasks[name], name), time.perf_counter() - start

    for place, (name, answer) in enumerate(each(work, list(homes), jobs), 1):
        if isinstance(answer, Failed):
            failed[name] = answer
            said = f"{name} failed: {answer.reason}"
        else:
            rows, took = answer
            noted = {"seed": tasks[name].get("seed", seed), "compared": allowed.own(rows) or None}
            store.save(entry, tasks[name], rows, homes[name], seconds=took, **noted, **made)
            said = f"{name}: {took:.1f} s"
        print(f"[{place}/{len(homes)}] {said}", flush=True)
    return failed


def rows_of(unit: Callable, task: Mapping, source: str) -> pd.DataFrame:
    """The rows of a unit, with one thread each; what its warnings say, its rows say as numbers and reasons."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FairWarning)
        return records.checked(records.whole(unit(**task)), source)


def each(work: Callable[[str], object], names: Sequence[str], jobs: int) -> Iterator[tuple[str, object]]:
    """What ``work`` gives for each name, or why it failed, as they end, ``jobs`` at once.

    A process is forked from this one, so that the work may be a function of a notebook.
    """
    context = multiprocessing.get_context("fork")
    waiting, running = list(reversed(names)), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop()
                here, there = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(work, name, os.getpid(), there))
                signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # what is raised in a fork's hooks would be lost
                process.start()
                running[here] = name, process
                signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
                there.close()
            for here in wait(list(running)):
                name, process = running.pop(here)
                try:
                    answer = here.recv()
                except EOFError:
                    process.join()
                    answer = Failed(f"its process ended with code {process.exitcode} and gave no answer")
                process.join()
                yield name, answer
    finally:
        for _, process in running.values():
            process.kill()
            process.join()


def _work(work: Callable[[str], object], name: str, parent: int, there: Connection) -> None:
    """One piece of work, in a process that ends with the one that started it."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        there.send(work(name))
    except Exception as error:
        if not isinstance(error, FairError):
            traceback.print_exc(file=sys.stderr)
        reason = str(error) if isinstance(error, FairError) else f"{type(error).__name__}: {error}"
        there.send(Failed(reason, isinstance(error, FetchError)))
    there.close()
    sys.stdout.flush()
    os._exit(0)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
