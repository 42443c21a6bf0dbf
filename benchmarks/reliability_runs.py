"""A checkout and its runs; the same runs in several places (see :mod:`reliability`)."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from compendium import paths, records
from compendium.recheck import compare as compare_rows
from compendium.recheck import tolerances

#: Experiments without running times among their numbers, and how often each is killed at a random moment.
KILLS = {
    "kleindessner2023-illustration": 4,
    "rathore2025-tables": 18,
    "rathore2025-factorial": 16,
    "vu2022-descent": 12,
}
NOTEBOOKS = {"rathore2025-tables": "npha", "rathore2025-factorial": "npha", "vu2022-descent": "k3"}
# Without them NumPy takes other routines for its own sums and functions, as on an older processor.
WIDE = " avx512f " in Path("/proc/cpuinfo").read_text()
FEWER_INSTRUCTIONS = {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"} if WIDE else {}
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
    "third": (
        "third",
        {"TZ": "America/St_Johns", "PYTHONHASHSEED": "7", "LC_ALL": "POSIX"} | FEWER_INSTRUCTIONS,
        ["taskset", "-c", "0"],
        [],
    ),
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
        command = [*self.before, sys.executable, "-m", "compendium", *words]
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


def rows_of(table: bytes, name: str = "") -> dict[str, list[dict[str, str]]]:
    """Rows by task; those of a file that has no such column, as earlier commits wrote them, are of ``name``."""
    found: dict[str, list] = {}
    for row in csv.DictReader(io.StringIO(table.decode(errors="replace"), newline="")):
        found.setdefault(row.pop("task", name), []).append(row)
    return found


def units(folder: Path) -> tuple[dict[str, list], dict[str, dict]]:
    """What a folder of results holds by task: rows, and the record with the environment that it names."""
    rows, described = {}, {}
    for table in sorted(folder.glob("*.csv")):
        rows |= rows_of(table.read_bytes())
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_bytes())
        described |= {n: record["environments"][one["environment"]] | one for n, one in record["units"].items()}
    return rows, described


def believed(folder: Path) -> dict[str, str]:
    """The tasks that count as finished, with the digest of their rows: it is the one that the record states."""
    rows, described = units(folder)
    digests = {name: records.rows_digest(some) for name, some in rows.items()}
    return {name: digest for name, digest in digests.items() if described.get(name, {}).get("sha256") == digest}


def compare(whole: Path, other: Path) -> dict:
    """How far two folders agree: rows of tasks as text, records field by field, and what other files lie there."""
    (rows, described), (other_rows, others) = units(whole), units(other)
    differing = {
        name: {key for key in one | others.get(name, {}) if one.get(key) != others.get(name, {}).get(key)}
        for name, one in described.items()
    }
    return {
        "tasks": len(rows),
        "same_csv": sum(some == other_rows.get(name) for name, some in rows.items()),
        "same_record": sum(fields <= records.VARYING for fields in differing.values()),
        "fields": " ".join(sorted(set().union(*differing.values()))),
        "other_files": len({p.name for p in other.iterdir()} - {p.name for p in whole.iterdir()}),
    }


def settle(root: Path, settings: dict | None = None, before: list | None = None) -> Checkout:
    """A clone without results of these experiments; one that is there already is continued."""
    new = not root.is_dir()
    checkout = Checkout(clone(paths.root(), root) if new else root, settings, before)
    for experiment in KILLS if new else ():
        checkout.clear(experiment)
    return checkout


def committed(root: Path, experiment: str) -> tuple[dict[str, list], dict[str, dict]]:
    """Rows and records by task that the commit of a clone holds."""
    with tempfile.TemporaryDirectory() as place:
        packed = git(root, "archive", "HEAD", f"data/results/full/{experiment}")
        subprocess.run(["tar", "-x", "-C", place], input=packed, check=True)
        return units(Path(place, "data", "results", "full", experiment))


def distance(experiment: str, kept: dict[str, list], folder: Path) -> dict:
    """How many results are those of the repository to the last digit, and how many at least within its tolerance."""
    now, _ = units(folder)
    within, largest = 0, 0.0
    for name, rows in kept.items():
        pair = (records.frame(some, sorted(set(some[0]) - set(records.TIDY))) for some in (rows, now[name]))
        found = compare_rows(name, *pair, tolerances(experiment))
        within, largest = within + found.ok, max(largest, found.largest_absolute)
    same = sum(rows == now[name] for name, rows in kept.items())
    return {"same_as_committed": same, "within_tolerance": within, "largest_difference": largest}


def at_own_commit(work: Path, first: Checkout) -> list[dict]:
    """What differs from the committed result, computed again by the commit that the committed record names."""
    rows = []
    for experiment in KILLS:
        now, _ = units(first.folder(experiment))
        kept, described = committed(first.root, experiment)
        for name in (name for name in kept if now[name] != kept[name]):
            folder = work / described[name]["commit"][:10]
            if not folder.is_dir():
                git(clone(paths.root(), folder), "checkout", "-q", described[name]["commit"])
                for one in KILLS:
                    Checkout(folder).clear(one)
            checkout = Checkout(folder)
            checkout.say("run", experiment, "--profile", "full", "--task", name)
            again = [rows_of(p.read_bytes(), p.stem).get(name, []) for p in checkout.folder(experiment).glob("*.csv")]
            same = records.rows_digest(kept[name]) in map(records.rows_digest, again)
            row = {"place": "commit of its record", "what": f"full run of {name}", "experiment": experiment}
            rows.append(row | {"tasks": 1, "same_as_committed": int(same)})
            print(rows[-1], flush=True)
    return rows


def git(folder: Path, *words: str) -> bytes:
    """What git says in a checkout."""
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True).stdout


def measure_places(work: Path) -> dict[str, pd.DataFrame]:
    """The same experiments and notebooks in every place, each compared with the first place."""
    rows, here = [], {}
    for place, (name, settings, before, options) in PLACES.items():
        home = work / f"home-{place}"
        home.mkdir(parents=True, exist_ok=True)
        here[place] = settle(work / name, settings | {"HOME": str(home)}, before)
        for experiment in KILLS:
            here[place].say("run", experiment, "--profile", "full", *options)
            row = {"place": place, "what": "full run", "experiment": experiment}
            row |= compare(here["first"].folder(experiment), here[place].folder(experiment))
            rows.append(
                row | distance(experiment, committed(work / name, experiment)[0], here[place].folder(experiment))
            )
            print(rows[-1], flush=True)
        for experiment, execution in NOTEBOOKS.items():
            stored, page = (
                [c.root.joinpath("_build", *parts) for c in (here["first"], here[place])]
                for parts in (("results", "embedded", experiment), ("runs", experiment, f"{execution}.ipynb"))
            )
            if not page[1].is_file():
                here[place].say("run", experiment, "--execution", execution)
            row = {"place": place, "what": "notebook", "experiment": experiment} | compare(*stored)
            rows.append(row | {"same_notebook": page[0].read_bytes() == page[1].read_bytes()})
            print(rows[-1], flush=True)
    return {"places": pd.DataFrame(rows + at_own_commit(work, here["first"]))}
