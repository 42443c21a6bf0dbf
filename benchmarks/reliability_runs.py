"""Runs that are killed, and runs in several places: what :mod:`reliability` measures with real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd

from evenspan import paths
from evenspan.experiments import records

#: Experiments without running times among their numbers, and how often each is killed at a random moment.
KILLS = {
    "kleindessner2023-illustration": 4,
    "rathore2025-tables": 16,
    "rathore2025-factorial": 14,
    "rathore2025-origin": 8,
    "vu2022-descent": 8,
}
NOTEBOOKS = {"rathore2025-tables": "npha", "rathore2025-factorial": "npha", "vu2022-descent": "k3"}
LONGEST_WAIT = 12.0
#: Kills while a worker writes, of all workers, of the scheduler alone, and the experiment that they happen to.
WRITING, WORKERS, SCHEDULER, SHORT = 30, 6, 6, "rathore2025-tables"
PAUSE = 0.15
# Put before everything else on the workers' path: writing then takes long enough to be hit.
SLOW = f"""
import os, sys, time
if "evenspan.experiments._worker" in sys.orig_argv:
    fsync, replace = os.fsync, os.replace
    def slow_fsync(file):
        time.sleep({PAUSE}); fsync(file)
    def slow_replace(*names, **options):
        time.sleep({PAUSE}); replace(*names, **options); time.sleep({PAUSE})
    os.fsync, os.replace = slow_fsync, slow_replace
"""
FILES = {"CSV in part": ".{}.csv.part", "CSV": "{}.csv", "record in part": ".{}.json.part", "record": "{}.json"}
#: Settings around the same experiments: name of the folder, environment, words before the command, options.
PLACES = {
    "first": ("first", {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"}, [], ["--jobs", "1"]),
    "second": (
        "an öther place",
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Pacific/Auckland"}
        | {"PYTHONHASHSEED": "12345", "OPENBLAS_NUM_THREADS": "2"},
        [],
        ["--jobs", "2"],
    ),
    "third": ("third", {"TZ": "America/St_Johns", "PYTHONHASHSEED": "7"}, ["taskset", "-c", "0"], []),
}


class Checkout:
    """A checkout and the settings under which its command ``evenspan`` is called."""

    def __init__(self, root: Path, settings: dict | None = None, before: list | None = None):
        own = {"EVENSPAN_ROOT": str(root)} | ({"PYTHONPATH": str(root / "src")} if (root / "src").is_dir() else {})
        self.root, self.settings, self.before = root, own | (settings or {}), before or []

    def start(self, *words: str, path: Path | None = None, log: Path | None = None) -> subprocess.Popen:
        """The command in a process of its own; ``path`` goes before everything else that Python imports from."""
        environment = os.environ | self.settings
        if path is not None:
            environment["PYTHONPATH"] = os.pathsep.join([str(path), environment["PYTHONPATH"]])
        command = [*self.before, sys.executable, "-m", "evenspan.cli", *words]
        with (log or Path(os.devnull)).open("wb") as stream:
            return subprocess.Popen(
                command, cwd=self.root, env=environment, stdout=stream, stderr=stream, start_new_session=True
            )

    def say(self, *words: str) -> str:
        """What the command printed; a command that fails ends the measurement with its own words."""
        log = self.root / "_build" / "said.txt"
        log.parent.mkdir(exist_ok=True)
        code = self.start(*words, log=log).wait()
        text = log.read_text(encoding="utf-8", errors="replace")
        if code:
            raise SystemExit(f"evenspan {' '.join(words)} in {self.root} ended with code {code}: {text}")
        return text

    def folder(self, experiment: str) -> Path:
        """Where the results of the full run are."""
        return self.root / "data" / "results" / "full" / experiment

    def clear(self, experiment: str) -> None:
        """Remove the results of an experiment, half-written ones too."""
        for path in self.folder(experiment).glob("*"):
            path.unlink()


def clone(source: Path, target: Path) -> Path:
    """A fresh clone."""
    subprocess.run(["git", "clone", "-q", str(source), str(target)], check=True)
    return target


def states(folder: Path, tasks: list[str]) -> Counter:
    """How many tasks have which files: ``CSV + record in part``, say, or ``nothing``."""
    there = {path.name for path in folder.glob("*")}
    found = ([what for what, form in FILES.items() if form.format(name) in there] for name in tasks)
    return Counter(" + ".join(files) or "nothing" for files in found)


def believed(folder: Path) -> dict[str, bytes]:
    """The results that count as finished: the record is there and states the digest of the CSV."""
    found = {}
    for beside in sorted(folder.glob("*.json")):
        result = beside.with_suffix(".csv")
        content = result.read_bytes() if result.is_file() else None
        if content is not None and json.loads(beside.read_text())["sha256"] == records.digest(content):
            found[result.stem] = content
    return found


def compare(whole: Path, other: Path) -> dict:
    """How far two folders of results agree: CSVs byte by byte, records field by field, and what else lies there."""
    one, two = ({p.name: p.read_bytes() for p in sorted(folder.glob("*"))} for folder in (whole, other))
    tables, described = ([name for name in one if name.endswith(kind)] for kind in (".csv", ".json"))
    fields = set()
    agreeing = 0
    for name in described:
        first, second = json.loads(one[name]), json.loads(two.get(name, b"{}"))
        different = {key for key in first | second if first.get(key) != second.get(key)}
        fields |= different
        agreeing += different <= records.VARYING
    return {
        "tasks": len(tables),
        "same_csv": sum(one[name] == two.get(name) for name in tables),
        "same_record": agreeing,
        "fields": " ".join(sorted(fields)),
        "other_files": len(set(two) - set(one)),
    }


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
        computed = int(again.split(f"{experiment}: ")[1].split(" computed")[0])
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
        row["states"] = "; ".join(f"{n} {what}" for what, n in sorted(states(folder, list(expected)).items()))
        kills.append(row)
        print(row, flush=True)
    finish()
    return kills, runs


def at_random(rng, longest: float):
    """A moment drawn evenly from the first ``longest`` seconds of a run."""

    def draw(folder, process):
        wait = rng.uniform(0, longest)
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait)
            return None
        return wait

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


def measure_places(work: Path) -> dict[str, pd.DataFrame]:
    """The same experiments and notebooks in every place, each compared with the first place."""
    rows, here = [], {}
    for place, (name, settings, before, options) in PLACES.items():
        home = work / f"home-{place}"
        home.mkdir(parents=True)
        here[place] = Checkout(clone(paths.root(), work / name), settings | {"HOME": str(home)}, before)
        for experiment in KILLS:
            committed = believed(here[place].folder(experiment))
            here[place].clear(experiment)
            start = time.monotonic()
            here[place].say("run", experiment, "--profile", "full", *options)
            row = {"place": place, "what": "full run", "experiment": experiment}
            row |= compare(here["first"].folder(experiment), here[place].folder(experiment))
            row["same_as_committed"] = len(committed.items() & believed(here[place].folder(experiment)).items())
            rows.append(row | {"seconds": round(time.monotonic() - start, 1)})
            print(rows[-1], flush=True)
        for experiment, execution in NOTEBOOKS.items():
            start = time.monotonic()
            here[place].say("run", experiment, "--execution", execution)
            stored, page = (
                [c.root.joinpath("_build", *parts) for c in (here["first"], here[place])]
                for parts in (("results", "embedded", experiment), ("runs", experiment, f"{execution}.ipynb"))
            )
            row = {"place": place, "what": "notebook", "experiment": experiment} | compare(*stored)
            row["same_notebook"] = page[0].read_bytes() == page[1].read_bytes()
            rows.append(row | {"seconds": round(time.monotonic() - start, 1)})
            print(rows[-1], flush=True)
    return {"places": pd.DataFrame(rows)}


def measure_kills(work: Path, seed: int) -> dict[str, pd.DataFrame]:
    """Kills of all kinds, compared with the uninterrupted run in a second clone."""
    rng = np.random.default_rng(seed)
    whole, checkout = (Checkout(clone(paths.root(), work / name)) for name in ("whole", "killed"))
    slow = work / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(SLOW)
    kills, runs = [], []

    def add(*given, **options) -> None:
        some, others = killed_runs(checkout, *given, rng=rng, **options)
        kills.extend(some)
        runs.extend(others)

    for experiment, wanted in KILLS.items():
        whole.clear(experiment)
        start = time.monotonic()
        whole.say("run", experiment, "--profile", "full", "--jobs", "1")
        longest = min(time.monotonic() - start, LONGEST_WAIT)
        draw = at_random(rng, longest)
        add(experiment, whole.folder(experiment), wanted=wanted, who="all at random", draw=draw)
    target, draw = whole.folder(SHORT), while_writing(rng)
    add(SHORT, target, wanted=WRITING, who="all while writing", draw=draw, slow=slow)
    add(SHORT, target, wanted=WORKERS, who="workers only", draw=draw, slow=slow)
    add(SHORT, target, wanted=SCHEDULER, who="scheduler only", draw=draw, slow=slow)
    return {"kills": pd.DataFrame(kills), "killed-runs": pd.DataFrame(runs)}
