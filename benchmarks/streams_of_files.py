"""Speed and memory of moments from Parquet files that are read as a stream.

In one run, round after round on the same files: pyarrow alone, which reads the same batches; the moments of
``GroupMoments.from_batches(ParquetStream(...))``; and scikit-learn's ``IncrementalPCA`` on the same batches. Shown are
rows a second, and the median, smallest and largest ratio of times to those of the moments: above 1 the moments are
faster. The peak is that of processes of their own, whose consumer sleeps after each batch; it must not grow with the
number of files. The files are made below ``_build/streams``, and kept.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import dataset, parquet
from sklearn.decomposition import IncrementalPCA

from evenspan import GroupMoments, ParquetStream

FOLDER = Path(__file__).parents[1] / "_build" / "streams"
SLOW = """
import sys, time
from evenspan import ParquetStream
for X, groups in ParquetStream(sys.argv[2:], "g"):
    time.sleep(float(sys.argv[1]))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def made(rows: int, features: int, files: int) -> list[Path]:
    """Files of so many rows together: float32 features of five groups, in groups of 50,000 rows."""
    folder = FOLDER / f"{rows}x{features}x{files}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"part-{number:03d}.parquet" for number in range(files)]
    for number, path in enumerate(paths):
        if path.exists():
            continue
        rng, n = np.random.default_rng(number), rows // files
        codes = rng.integers(0, 5, n)
        X = rng.standard_normal((n, features), dtype=np.float32) + codes[:, None].astype(np.float32)
        columns = {f"x{j}": X[:, j] for j in range(features)}
        part = path.with_suffix(".part")
        parquet.write_table(pa.table(columns | {"g": np.array(list("abcde"))[codes]}), part, row_group_size=50_000)
        part.rename(path)
    return paths


def bare(paths: list[Path]) -> None:
    """What pyarrow takes to read the batches, file by file and group by group."""
    for fragment in dataset.dataset([str(path) for path in paths]).get_fragments():
        for piece in fragment.split_by_row_group():
            for _ in piece.to_batches(batch_size=65536, batch_readahead=1):
                pass


def moments(paths: list[Path]) -> None:
    GroupMoments.from_batches(ParquetStream(paths, "g"))


def incremental(paths: list[Path]) -> None:
    model = IncrementalPCA(5)
    for X, _ in ParquetStream(paths, "g"):
        model.partial_fit(X)


NAMES = {"bare": "pyarrow alone", "moments": "moments", "incremental": "IncrementalPCA"}


def measured(rows: int, features: int = 40, files: int = 50, rounds: int = 3, nap: float = 0.05) -> dict:
    """Rows a second and ratios of times for each work, and the peak MB of slow processes by number of files."""
    paths = made(rows, features, files)
    rows = sum(parquet.read_metadata(path).num_rows for path in paths)
    times: dict[str, list[float]] = {work.__name__: [] for work in (bare, moments, incremental)}
    for _ in range(rounds):
        for work in (bare, moments, incremental):
            start = time.perf_counter()
            work(paths)
            times[work.__name__].append(time.perf_counter() - start)
    ratios = {key: np.array(took) / times["moments"] for key, took in times.items()}
    speed = {
        name: {
            "rows a second": round(rows / float(np.median(times[key]))),
            "time / moments": float(np.median(ratios[key])),
            "min": float(ratios[key].min()),
            "max": float(ratios[key].max()),
        }
        for key, name in NAMES.items()
    }
    peaks = {}
    for number in (5, 10, 20):
        command = [sys.executable, "-c", SLOW, str(nap), *map(str, paths[:number])]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks[number] = round(int(run.stdout) / 1024)
    return {"rows": rows, "features": features, "files": len(paths), "nap": nap, "speed": speed, "peak MB": peaks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=40)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nap", type=float, default=0.05, help="seconds that the slow consumer sleeps after a batch")
    print(json.dumps(measured(**vars(parser.parse_args())), indent=2))


if __name__ == "__main__":
    main()
