"""How reliable the compendium is, measured: ``python benchmarks/reliability.py PART --work FOLDER [--seed S]``.

Parts, each on fresh clones of this checkout's last commit below FOLDER:

places       the same experiments in three folders, with other settings around them
kills        runs killed at random moments and resumed, compared with the uninterrupted run
writing      the same with kills aimed at the moments of writing, at the workers, and at the scheduler alone
alterations  one byte changed in a committed file: what notices, and does it name the file

Numbers go to ``data/results/reliability/``: one CSV for each table and one record for each part. Raw data are needed.
"""

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from reliability_alterations import measure_alterations
from reliability_kills import measure_kills, measure_writing
from reliability_runs import clone, measure_places

from compendium import paths, provenance, records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("places", "kills", "writing", "alterations"))
    parser.add_argument("--work", type=Path, required=True, help="a folder for the clones; a new one is made in it")
    parser.add_argument(
        "--first", type=Path, help="kills, writing: the clone 'first' that places made of the same commit"
    )
    parser.add_argument("--resume", type=Path, help="places: the folder of an interrupted measurement")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--trials", type=int, default=200, help="alterations: how many")
    given = parser.parse_args()
    work = given.work.resolve() / f"{given.part}-{datetime.now(UTC):%H%M%S}"
    if given.resume:
        work = given.resume.resolve()
    work.mkdir(parents=True, exist_ok=bool(given.resume))
    start, made = time.monotonic(), provenance.Provenance()
    measured = {
        "places": lambda: measure_places(work),
        "kills": lambda: measure_kills(work, given.seed, given.first),
        "writing": lambda: measure_writing(work, given.seed, given.first),
        "alterations": lambda: measure_alterations(clone(paths.root(), work / "copy"), given.seed, given.trials),
    }[given.part]()
    options = f" --seed {given.seed}" * (given.part != "places")
    options += f" --trials {given.trials}" * (given.part == "alterations")
    record = {
        "command": f"python benchmarks/reliability.py {given.part} --work FOLDER{options}",
        "seed": None if given.part == "places" else given.seed,
        "cores": len(os.sched_getaffinity(0)),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - start, 1),
        "sha256": {},
        **made.environment(),
    }
    folder = paths.data("results", "reliability")
    for name, frame in measured.items():
        content = frame.to_csv(index=False, lineterminator="\n").encode()
        records.write(folder / f"{name}.csv", content)
        record["sha256"][f"{name}.csv"] = records.digest(content)
    records.write(folder / f"{given.part}.json", records.to_json(record))


if __name__ == "__main__":
    main()
