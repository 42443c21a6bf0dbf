"""Evenspan and what people use today on the same work, side by side: ``make rivals``.

For every data set and split each method in turn is fitted in a process of its own (``methods.py``), in the environment
of its library: evenspan in the project's, all others in the one that ``requirements.lock`` describes. What a method
made of the rows is judged here (``promises.py``). After each task the rows and their record are written to
``data/results/rivals/``; a task that has a row is not run again, so that a killed run goes on where it was.
"""

import argparse
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from methods import METHODS
from promises import PROMISES, held, judge

from compendium import data as datasets
from compendium import paths, provenance, records
from compendium.data.splits import half_rows
from evenspan.core.errors import FairError

HERE = Path(__file__).resolve().parent
#: Components, clusters; new rows of made data at most; seconds and bytes that a task may take.
K, CLUSTERS, NEW_ROWS, SECONDS, BYTES = 5, 5, 10_000, 120, 12 * 2**30
LATE = f"not finished in {SECONDS} seconds"
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def made(n: int, d: int, shares: tuple[float, ...]):
    """Rows of groups with these shares, whose means, scales and shapes differ, and a label that goes with the group."""

    def draw(split: int):
        rng, total = np.random.default_rng([2026, n, d, split]), n + min(n, NEW_ROWS)
        counts = np.round(np.array(shares) * n).astype(int)
        groups = rng.permutation(np.repeat(np.arange(len(shares)), counts))
        groups = np.concatenate([groups, rng.choice(len(shares), total - n, p=shares)])
        X = rng.normal(size=(total, d)) @ (rng.normal(size=(d, d)) / np.sqrt(d))
        for g in range(len(shares)):
            X[groups == g] *= 1.0 + 0.2 * g
            X[groups == g] += 0.5 * rng.normal(size=d)
        X += 2.0 * rng.normal(size=(CLUSTERS, d))[rng.integers(0, CLUSTERS, total)]
        y = (X[:, 0] + 0.5 * (groups == 0) + rng.normal(size=total) > np.median(X[:, 0])).astype(int)
        return X, y, groups, np.arange(n), np.arange(n, total)

    return draw


def published(name: str):
    """A published split: both parts are z-scored with the first."""

    def draw(split: int):
        train, test = datasets.load_split(name, split)
        X, y, groups = (np.concatenate([getattr(p, key) for p in (train, test)]) for key in ("X", "y", "groups"))
        return X, y, groups, np.arange(train.n), np.arange(train.n, train.n + test.n)

    return draw


def halves(name: str):
    """Halves drawn within each group, with the seed of the split."""

    def draw(split: int):
        table, rows = datasets.load(name), half_rows(datasets.load(name).groups, split)
        return table.X, table.y, table.groups, rows["train"], rows["test"]

    return draw


#: Where the rows come from, and how many splits are run. In the order of their size.
DATA = {
    "german": (published("german"), 3),
    "made, equal groups": (made(2_000, 20, (0.5, 0.5)), 3),
    "made, three groups": (made(3_000, 20, (0.5, 0.3, 0.2)), 3),
    "compas": (published("compas"), 3),
    "default_credit": (halves("default_credit"), 3),
    "bank_marketing": (halves("bank_marketing"), 3),
    "adult": (published("adult"), 3),
    "made, 200,000 x 100": (made(200_000, 100, (0.6, 0.4)), 1),
    "made, 1,000,000 x 50": (made(1_000_000, 50, (0.6, 0.4)), 1),
}
TASKS = [(name, split, method) for name, (_, splits) in DATA.items() for split in range(splits) for method in METHODS]


def problem(name: str, split: int) -> SimpleNamespace:
    """What every method is given: standardised rows of the training part, groups 0, 1, ..., and new rows."""
    X, y, groups, train, new = DATA[name][0](split)
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - mean) / np.where(scale > 0.0, scale, 1.0)
    codes = np.unique(groups, return_inverse=True)[1]
    counts = np.bincount(codes[train])
    # the largest group first: centres in proportion, at least one for each
    centres = np.maximum(np.round(CLUSTERS * counts / counts.sum()).astype(int), 1)
    centres[counts.argmax()] += CLUSTERS - centres.sum()
    return SimpleNamespace(
        X=np.ascontiguousarray(X[train]), groups=codes[train], y=np.unique(y, return_inverse=True)[1][train],
        X_new=np.ascontiguousarray(X[new]), groups_new=codes[new], k=K, clusters=CLUSTERS, centres=centres,
        least=int(np.ceil(counts.max() / counts.min())), seed=split,
    )  # fmt: skip


def limited() -> None:
    """In the process of a task: no more memory than allowed, and no life beyond that of the run (Linux)."""
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def fit(method: str, source: Path, folder: Path, python: Path) -> tuple[dict, dict]:
    """What a method made of the rows, as arrays, and what its process said; or the message of its failure."""
    target, said = folder / "made.npz", folder / "made.json"
    said.unlink(missing_ok=True)
    interpreter = sys.executable if METHODS[method].library == "evenspan" else str(python)
    try:
        ended = subprocess.run(
            [interpreter, str(HERE / "methods.py"), method, str(source), str(target)],
            env=os.environ | THREADS, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False,
            preexec_fn=limited,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {}, {"message": LATE}
    if not said.is_file():
        last = (ended.stderr.strip().splitlines() or [""])[-1]
        return {}, {"message": f"its process ended with code {ended.returncode} {last}".strip()}
    with np.load(target) as stored:
        return dict(stored), json.loads(said.read_text(encoding="utf-8"))


def row(task: tuple, data: SimpleNamespace, arrays: dict, said: dict, commit: str) -> dict:
    """The row of a task: who and what, how long, every promise measured, or the message."""
    name, split, method = task
    one = METHODS[method]
    found = {"dataset": name, "split": split, "method": method, "library": one.library, "kind": one.kind}
    found |= {"version": said.get("version", ""), "n": len(data.X), "d": data.X.shape[1]}
    found |= {"groups": int(data.groups.max()) + 1, "promise": one.promise, "label": one.label, "commit": commit}
    found |= {"batches": one.said["batches"][0] if "batches" in one.said else ""}
    found |= {key: said[key] for key in ("seconds", "memory", "new_rows", "refused", "message") if key in said}
    if "message" in said:
        return found
    broken = [key for key, values in arrays.items() if not np.isfinite(values).all()]
    if broken:
        return found | {"message": f"what it gave is not finite: {', '.join(broken)}"}
    measured = judge(one.kind, data, arrays)
    if one.promise:
        found["held"] = held(one.promise, measured[one.promise])
    return found | measured


def read(path: Path) -> list[dict]:
    """The rows that are there already."""
    if not path.is_file():
        return []
    return pd.read_csv(path, keep_default_na=False, dtype=object).to_dict("records")


def write(folder: Path, rows: list[dict], record: dict) -> None:
    """Rows in the order of the tasks, then the record with their digest: both whole or not at all."""
    place = {task: i for i, task in enumerate(TASKS)}
    rows = sorted(rows, key=lambda r: place.get(key(r), len(place)))
    columns = list(dict.fromkeys(name for r in rows for name in r))
    content = pd.DataFrame(rows, columns=columns).to_csv(index=False, lineterminator="\n").encode()
    records.write(folder / "tasks.csv", content)
    records.write(folder / "tasks.json", records.to_json(record | {"sha256": {"tasks.csv": records.digest(content)}}))


def key(found: dict) -> tuple:
    return found["dataset"], int(found["split"]), found["method"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=paths.build("rivals", "venv", "bin", "python"))
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), metavar="NAME", help="; ".join(DATA))
    parser.add_argument("--again", nargs="+", choices=METHODS, default=[], metavar="METHOD", help="run these anew")
    parser.add_argument("--splits", type=int, default=len(TASKS), metavar="N", help="only the first N of each")
    given = parser.parse_args()
    folder, scratch = paths.data("results", "rivals"), paths.build("rivals", "scratch")
    scratch.mkdir(parents=True, exist_ok=True)
    environment = provenance.environment()
    asked = [task for task in TASKS if task[0] in given.data and task[1] < given.splits]
    rows = [r for r in read(folder / "tasks.csv") if not (r["method"] in given.again and key(r) in asked)]
    known = records.read(folder / "tasks.json") if (folder / "tasks.json").is_file() else {}
    record = {
        "command": "make rivals",
        "components": K, "clusters": CLUSTERS, "limits": {"seconds": SECONDS, "MiB": BYTES // 2**20},
        "seed": "the number of the split", "cores": len(os.sched_getaffinity(0)), "threads": 1,
        "data": known.get("data", {}), "rivals": known.get("rivals", {}),
        "bounds": {name: promise.bound for name, promise in PROMISES.items()},
        "promises": {name: promise.text for name, promise in PROMISES.items()},
        "tasks": [list(task) for task in TASKS],
        "lock": records.digest((HERE / "requirements.lock").read_bytes()), "finished": known.get("finished"),
        **environment,
    }  # fmt: skip
    done, source = {key(r) for r in rows}, scratch / "data.npz"
    left = [task for task in asked if task not in done]
    for number, task in enumerate(left, 1):
        if number == 1 or task[:2] != left[number - 2][:2]:
            try:
                data = problem(*task[:2])
            except (FairError, OSError) as error:
                sys.exit(f"{task[0]}: {error}\nWithout its raw data leave it out: --data NAME ...")
            np.savez(source, **vars(data))
            record["data"][f"{task[0]}, split {task[1]}"] = records.digest(data.X.tobytes() + data.groups.tobytes())
        late = [r["split"] for r in rows if (r["dataset"], r["method"], r.get("message")) == (*task[::2], LATE)]
        if late:  # the other splits are as large
            arrays, said = {}, {"message": f"not tried: {LATE} on split {late[0]}"}
        else:
            arrays, said = fit(task[2], source, scratch, given.python)
        if METHODS[task[2]].library != "evenspan" and "packages" in said:
            record["rivals"] = said["packages"]
        rows.append(row(task, data, arrays, said, environment["commit"]))
        record["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        write(folder, rows, record)
        outcome = rows[-1].get("message") or f"{rows[-1]['seconds']:.3g} s"
        print(f"{number}/{len(left)}  {task[0]}, split {task[1]}, {task[2]}: {outcome[:150]}", flush=True)
    if not left:
        write(folder, rows, record)


if __name__ == "__main__":
    main()
