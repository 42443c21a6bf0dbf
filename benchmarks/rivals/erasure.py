"""LEACE of evenspan beside concept-erasure, time and memory in batches: ``python benchmarks/rivals/erasure.py``.

Many groups and features of full rank, 28 and 4,096 unless said otherwise. Each library runs in a process and in the
environment of its own (``make rivals`` installs the other one). Memory is the peak of the process beyond the data,
which are there before; Linux only. The displacement is what the method minimises.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


def ours(batches, d, G):
    from evenspan import LEACE, GroupMoments

    return LEACE().fit_moments(GroupMoments.from_batches(batches, scatters="total")).transform


def theirs(batches, d, G):
    import torch
    from concept_erasure import LeaceFitter

    fitter = LeaceFitter(d, G, dtype=torch.float64)
    for X, groups in batches:
        fitter.update(torch.from_numpy(X), torch.nn.functional.one_hot(torch.from_numpy(groups), G).double())
    eraser = fitter.eraser
    return lambda X: eraser(torch.from_numpy(X)).numpy()


def mebibytes(what: str) -> float:
    """Of this process: VmRSS now, VmHWM at most since it was reset."""
    return int(re.search(rf"{what}:\s+(\d+)", Path("/proc/self/status").read_text()).group(1)) / 1024


def measure(library, n: int, d: int, G: int, size: int) -> dict:
    """Seconds, memory, displacement and what is left of the groups' means, of one library in this process."""
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((n, d)), rng.integers(0, G, n)
    for g, shift in enumerate(0.3 * rng.standard_normal((G, d))):
        X[groups == g] += shift
    parts = [slice(start, start + size) for start in range(0, n, size)]
    library(((X[:200, :20].copy(), groups[:200]) for _ in range(2)), 20, G)  # imports, and what routines keep
    Path("/proc/self/clear_refs").write_text("5")
    before, start = mebibytes("VmRSS"), time.perf_counter()
    erase = library(((X[part], groups[part]) for part in parts), d, G)
    found = {"seconds": time.perf_counter() - start, "MiB": mebibytes("VmHWM") - before}
    moved, sums = 0.0, np.zeros((G, d))
    for part in parts:
        T = erase(X[part])
        moved += float(np.sum((T - X[part]) ** 2, axis=None))
        np.add.at(sums, groups[part], T)
    means = sums / np.bincount(groups)[:, None]
    return found | {"displacement": moved / n, "gap": float(np.ptp(means, axis=0).max())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="_build/rivals/venv/bin/python", help="of the other library")
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--features", type=int, default=4096)
    parser.add_argument("--groups", type=int, default=28)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--library", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.library:
        library = {"ours": ours, "theirs": theirs}[given.library]
        print(json.dumps(measure(library, given.rows, given.features, given.groups, given.batch)))
        return
    print(f"n = {given.rows:,}, d = {given.features:,}, {given.groups} groups, batches of {given.batch}, one thread\n")
    print(f"{'library':<18}{'seconds':>9}{'MiB':>8}{'displacement':>15}{'largest gap':>14}")
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for name, which, python in (("evenspan", "ours", sys.executable), ("concept-erasure", "theirs", given.python)):
        command = [python, __file__, *sys.argv[1:], "--library", which]
        said = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True, check=True).stdout
        one = json.loads(said.splitlines()[-1])
        print(
            f"{name:<18}{one['seconds']:>9.1f}{one['MiB']:>8.0f}{one['displacement']:>15.6g}{one['gap']:>14.1g}",
            flush=True,
        )


if __name__ == "__main__":
    main()
