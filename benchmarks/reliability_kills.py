"""Runs that are killed and resumed, against the uninterrupted run (see :mod:`reliability`)."""

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from reliability_runs import KILLS, Checkout, believed, clone, compare, git

from compendium import paths

#: Seconds within which a run is killed: after its first worker has started or, for this share, after the start itself.
LONGEST_WAIT, AT_ONCE = 12.0, 0.2
#: Kills while a worker writes, and the experiment that they happen to.
AIMED, SHORT = {"all while writing": 12, "workers only": 3, "scheduler only": 3}, "rathore2025-tables"
PAUSE = 0.15
# Put before everything else on the path of a run: writing then takes long enough to be hit.
SLOW = f"""
import os, sys, time
if "compendium" in sys.orig_argv:
    fsync, replace = os.fsync, os.replace
    def slow_fsync(file):
        time.sleep({PAUSE}); fsync(file)
    def slow_replace(*names, **options):
        time.sleep({PAUSE}); replace(*names, **options); time.sleep({PAUSE})
    os.fsync, os.replace = slow_fsync, slow_replace
"""
#: Where a task may stand in what is left behind: which files, and how its name is written there.
FILES = {
    "CSV in part": (".*.csv.part", "\n{},"),
    "CSV": ("*.csv", "\n{},"),
    "record in part": (".*.json.part", '"{}": {{'),
    "record": ("*.json", '"{}": {{'),
}


def states(folder: Path, tasks: list[str]) -> Counter:
    """How many tasks stand in which files: ``CSV + record in part``, say, or ``nothing``."""
    texts = {
        what: "".join(path.read_text(errors="replace") for path in sorted(folder.glob(form)))
        for what, (form, _) in FILES.items()
    }
    found = ([what for what, (_, form) in FILES.items() if form.format(name) in texts[what]] for name in tasks)
    return Counter(" + ".join(files) or "nothing" for files in found)


def tree(pid: int) -> list[int]:
    """A process and everything below it."""
    found = [pid]
    for one in found:
        with suppress(OSError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    with suppress(OSError):
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


def kill(process: subprocess.Popen, who: str) -> tuple[int, float]:
    """SIGKILL for the scheduler, the workers or all: processes hit, and seconds until what was to end had ended."""
    process.send_signal(signal.SIGSTOP)  # nothing is started between looking and killing
    below = tree(process.pid)[1:]
    hit = {"all": [process.pid, *below], "workers": below, "scheduler": [process.pid]}[who]
    for pid in hit:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    start = time.monotonic()
    if who == "workers":
        process.send_signal(signal.SIGCONT)
        process.wait()
    while any(alive(pid) for pid in (process.pid, *below)):
        if time.monotonic() - start > 60:
            raise SystemExit(f"killed {who}, and after a minute one of {below} still runs")
        time.sleep(0.005)
    process.wait()
    return len(hit), time.monotonic() - start


def killed_runs(checkout, experiment, whole, *, wanted, who, draw, rng, slow=None) -> tuple[list[dict], list[dict]]:
    """Kill runs of one experiment ``wanted`` times, resuming each time; compare whenever one is complete.

    ``draw(folder, process)`` waits for the moment and returns the seconds waited, or None if the run ended before.
    """
    folder, expected = checkout.folder(experiment), believed(whole)
    kills, runs, turn = [], [], 1
    log = checkout.root / "_build" / "killed.txt"
    log.parent.mkdir(exist_ok=True)
    checkout.clear(experiment)

    def finish() -> None:
        checkout.say("run", experiment, "--profile", "full")
        agreement = compare(whole, folder)
        again = checkout.say("run", experiment, "--profile", "full")
        computed = int(re.search(rf"{experiment}: (\d+) computed", again)[1])
        here = [row for row in kills if row["run"] == turn]
        runs.append({"killed": who, "experiment": experiment, "kills": len(here)} | agreement | {"again": computed})
        checkout.clear(experiment)

    while len(kills) < wanted:
        jobs = 2 if who == "workers" else int(rng.integers(1, 3))
        before = believed(folder)
        process = checkout.start("run", experiment, "--profile", "full", "--jobs", str(jobs), path=slow, log=log)
        waited = draw(folder, process)
        if waited is None:
            finish()
            turn += 1
            continue
        hit, seconds = kill(process, who.split()[0])
        after = believed(folder)
        row = {"killed": who, "experiment": experiment, "run": turn, "jobs": jobs, "waited": round(waited, 3)}
        row |= {"processes": hit, "seconds_to_end": round(seconds, 3), "code": process.returncode}
        row |= {"told": "signal 9" in log.read_text(), "before": len(before), "finished": len(after)}
        # What was finished stays as it was, and nothing but the whole result counts as one.
        row["sound"] = before.items() <= after.items() <= expected.items()
        left = states(folder, sorted(expected.keys() - after.keys()))
        row["states"] = "; ".join(f"{n} {what}" for what, n in sorted(left.items())) or "0 nothing"
        kills.append(row)
        print(row, flush=True)
    finish()
    return kills, runs


def at_random(rng):
    """A moment drawn evenly from the first seconds in which workers work, or in which a run begins."""

    def draw(folder, process):
        start, at_once = time.monotonic(), rng.random() < AT_ONCE
        while not at_once and process.poll() is None and len(tree(process.pid)) < 2:
            time.sleep(0.01)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0, LONGEST_WAIT))
            return None
        return time.monotonic() - start

    return draw


def while_writing(rng):
    """A moment after a worker has begun to write, drawn evenly from what writing takes with its pauses."""

    def parts(folder):
        found = set()
        for path in folder.glob(".*.part"):
            with suppress(FileNotFoundError):
                found.add((path.name, path.stat().st_mtime_ns))
        return found

    def draw(folder, process):
        start, left = time.monotonic(), parts(folder)
        while not parts(folder) - left:
            if process.poll() is not None:
                return None
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0, 5.5 * PAUSE))
            return None
        return time.monotonic() - start

    return draw


def clones(work: Path, first: Path | None, experiments: Iterable[str]) -> tuple[Checkout, Checkout]:
    """A clone to kill runs in, and one with uninterrupted runs of experiments: ``first``, or a new one."""
    checkout, whole = (
        Checkout(clone(paths.root(), work / "killed")),
        Checkout(first or clone(paths.root(), work / "whole")),
    )
    for experiment in experiments if first is None else ():
        whole.clear(experiment)
        whole.say("run", experiment, "--profile", "full", "--jobs", "1")
    sources, others = (git(one.root, "rev-parse", "HEAD:src", "HEAD:experiments.yml") for one in (checkout, whole))
    if sources != others:
        raise SystemExit(f"{whole.root} has other sources than {checkout.root}; name a clone with the same.")
    return checkout, whole


def measure_kills(work: Path, seed: int, first: Path | None = None) -> dict[str, pd.DataFrame]:
    """Scheduler and workers killed at random moments of several experiments."""
    rng, (checkout, whole) = np.random.default_rng(seed), clones(work, first, KILLS)
    kills, runs = [], []
    for experiment, wanted in KILLS.items():
        target = whole.folder(experiment)
        options = {"wanted": wanted, "who": "all at random", "draw": at_random(rng), "rng": rng}
        some, others = killed_runs(checkout, experiment, target, **options)
        kills, runs = kills + some, runs + others
    return {"kills": pd.DataFrame(kills), "killed-runs": pd.DataFrame(runs)}


def measure_writing(work: Path, seed: int, first: Path | None = None) -> dict[str, pd.DataFrame]:
    """Kills while a worker writes: of all, of the workers, and of the scheduler."""
    rng, (checkout, whole) = np.random.default_rng(seed + 1), clones(work, first, [SHORT])
    slow = work / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(SLOW)
    kills, runs = [], []
    for who, wanted in AIMED.items():
        options = {"wanted": wanted, "who": who, "draw": while_writing(rng), "rng": rng, "slow": slow}
        some, others = killed_runs(checkout, SHORT, whole.folder(SHORT), **options)
        kills, runs = kills + some, runs + others
    return {"writing": pd.DataFrame(kills), "writing-runs": pd.DataFrame(runs)}
