"""Much work at once, each piece in a process of its own: units of a study, and pages of the book."""

import contextlib
import fcntl
import multiprocessing
import os
import re
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from threadpoolctl import threadpool_limits

from evenspan.core.errors import FairError, FairWarning

from . import paths, provenance, records, store
from .catalogue import Experiment
from .errors import FetchError

#: The signals that ask a process to end.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(NamedTuple):
    """Why a unit was not computed, and whether the data were missing."""

    reason: str
    no_data: bool = False
    ok = False


@dataclass(frozen=True, eq=False)
class Job:
    """A unit to be computed: its name and parameters, the function that computes it, and the file of its record."""

    entry: Experiment
    name: str
    task: Mapping[str, object]
    unit: Callable
    home: Path
    seed: object = None


def compute(
    due: Sequence[Job], *, jobs: int | None = None, ended: Callable[[Job, str], None] | None = None
) -> dict[Job, Failed]:
    """Compute units, ``jobs`` at once, and store each as it ends; ``ended`` is told of it. The result: what failed.

    The seconds of a unit are those of processors, so that waiting for other programs is no part of them."""
    made, failed = provenance.environment(), {}

    def work(job: Job) -> tuple[pd.DataFrame, float]:
        rows = rows_of(job.unit, job.task, job.name)  # in a process of its own
        return rows, sum(os.times()[:4])

    for place, (job, answer) in enumerate(each(work, due, max(jobs or cores(), 1)), 1):
        if isinstance(answer, Failed):
            failed[job] = answer
            said = f"{job.name} failed: {answer.reason}"
        else:
            rows, took = answer
            noted = {"seed": job.task.get("seed", job.seed), **made}
            store.save(job.entry, job.task, rows, job.home, seconds=took, **noted)
            said = f"{job.name}: {took:.1f} s"
        if ended:
            ended(job, said)
        else:
            print(f"[{place}/{len(due)}] {said}", flush=True)
    return failed


def rows_of(unit: Callable, task: Mapping, source: str) -> pd.DataFrame:
    """The rows of a unit, with one thread each; what its warnings say, its rows say as numbers and reasons."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FairWarning)
        return records.checked(records.whole(unit(**task)), source)


def each(work: Callable[[Any], object], names: Sequence, jobs: int) -> Iterator[tuple[Any, object]]:
    """What ``work``, perhaps of a notebook, gives for each name in a fork, or why it failed; ``jobs`` at once."""
    context = multiprocessing.get_context("fork")
    waiting, running = list(reversed(names)), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop()
                here, there = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(work, name, there))
                # What asks to end in the middle of a fork would be lost in its hooks: it comes afterwards.
                signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
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


def _work(work: Callable[[Any], object], name: Any, there: Connection) -> None:
    def end_with_parent() -> None:  # a killed run leaves no work behind that would hold its lock
        wait([multiprocessing.parent_process().sentinel])
        os._exit(1)

    for number in SIGNALS:  # this process says nothing; the one that started it does
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        there.send(work(name))
    except FetchError as error:
        there.send(Failed(error.remedy, no_data=True))
    except FairError as error:
        there.send(Failed(str(error)))
    except Exception as error:
        traceback.print_exc()
        there.send(Failed(f"{type(error).__name__}: {error}"))


def end_at_interrupt() -> None:
    """From now on Ctrl-C ends this process with one line, and its forks without."""
    here = os.getpid()

    def end(*_) -> None:
        if os.getpid() == here:
            for child in multiprocessing.active_children():
                child.kill()
            os.write(2, b"Interrupted. What is finished is kept; the same command continues.\n")
        os._exit(130)

    signal.signal(signal.SIGINT, end)


@contextlib.contextmanager
def exclusive_lock(what: str) -> Iterator[None]:
    """Inside, only this process of the checkout does what is named; another one says that it waits, and waits."""
    lock = paths.build("locks", f"{re.sub(r'[^A-Za-z0-9]+', '-', what)}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Another process does this already ({what}); waiting until it has ended.", flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
