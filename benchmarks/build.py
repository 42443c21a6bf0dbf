"""What building, testing and computing everything takes: ``make bench`` prints it last.

In a clone of the last commit: the book from nothing, again after one more sentence in a chapter and after an edited
method, and the tests. Times are beside the time of what cannot be saved: that of the cells themselves, on all cores. Of
the full run the seconds that its records state are added up. Give the names of parts to measure only these.
"""

import argparse
import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from compendium import paths
from compendium.catalogue import catalogue
from compendium.store import units_of

MADE = re.compile(r"^ *([\d.]+) s  ", re.MULTILINE)
CHAPTER, METHOD = "book/papers/lee2023/index.md", "src/evenspan/representation/leace.py"


def timed(clone: Path, target: str) -> tuple[float, str]:
    """Wall time of ``make`` in a clone, which must succeed, and what it said."""
    start = time.perf_counter()
    command = ["make", "--no-print-directory", "-C", str(clone), target]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(clone / "src")}, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"make {target} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds, done.stdout + done.stderr


def book(clone: Path, cores: int) -> None:
    cold, said = timed(clone, "book")
    took = [float(seconds) for seconds in MADE.findall(said)]
    bare = sum(took) / cores
    print(f"{'book':<34}{'seconds':>9}{'of bare cells':>15}{'pages':>7}")
    print(f"{'bare cells on all cores':<34}{bare:>9.0f}{1:>15.2f}{len(took):>7}")
    print(f"{'from nothing':<34}{cold:>9.0f}{cold / bare:>15.2f}{len(MADE.findall(said)):>7}", flush=True)
    for what, name, more in (
        ("nothing changed", CHAPTER, ""),
        ("one more sentence in a chapter", CHAPTER, "\nOne more sentence.\n"),
        ("one edited method", METHOD, "\n# one more comment\n"),
    ):
        (clone / name).write_text((clone / name).read_text(encoding="utf-8") + more, encoding="utf-8")
        seconds, said = timed(clone, "book")
        print(f"{what:<34}{seconds:>9.0f}{seconds / bare:>15.2f}{len(MADE.findall(said)):>7}", flush=True)


def tests(clone: Path, cores: int) -> None:
    seconds, said = timed(clone, "test")
    print(f"{'tests':<34}{seconds:>9.0f}  {said.strip().splitlines()[-1]}", flush=True)


def full(clone: Path, cores: int) -> None:
    took = {name: [unit.record["seconds"] for unit in units_of(name).values()] for name in catalogue()}
    whole = sum(map(sum, took.values()))
    print(f"{'full run':<34}{'minutes':>9}{'share':>8}{'units':>7}{'longest':>9}")
    for name, seconds in sorted(took.items(), key=lambda one: -sum(one[1])):
        longest = max(seconds, default=0.0) / 60
        print(f"{name:<34}{sum(seconds) / 60:>9.1f}{sum(seconds) / whole:>8.0%}{len(seconds):>7}{longest:>9.1f}")
    print(f"{'together, on one core':<34}{whole / 60:>9.1f}")


PARTS = {"book": book, "tests": tests, "full": full}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=list(PARTS))
    parts, cores, root = parser.parse_args().parts, len(os.sched_getaffinity(0)), paths.root()
    with tempfile.TemporaryDirectory(prefix="evenspan-bench-") as folder:
        clone = Path(folder, "evenspan")
        subprocess.run(["git", "clone", "--quiet", str(root), str(clone)], check=True)
        (clone / ".venv").symlink_to(root / ".venv")
        print(f"{cores} cores\n", flush=True)
        for part in parts:
            PARTS[part](clone, cores)


if __name__ == "__main__":
    main()
