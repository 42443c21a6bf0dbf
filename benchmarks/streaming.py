"""Speed and memory of the fair noisy power method on rows of full images, beside the bare products of the same batches.

The reference is ``X.T @ (X @ W)`` for every batch X with as many columns as the phase has: no method that forms
products of covariances from batches can do without them. As in ``run.py``, both sides are timed in turn on the same
data in every round, and the median, smallest and largest ratio are shown; a ratio below 1 / 0.6 = 1.67 is a throughput
above 60 % of the bare products. All batches at hand are one block, so the step at its end weighs more here than in
the blocks of the paper, of 32,554 rows: the last column computes the ratio for these from both rows of a phase. The
batches are made beforehand, and their making is not timed.

The peak memory is that of a process of its own, which draws made portraits of the same size batch by batch.
"""

import argparse
import subprocess
import sys

import numpy as np
from run import ratios

from compendium.data.portraits import CELEBA_SIZE, PortraitStream
from evenspan.core.streams import FunctionStream
from evenspan.representation import StreamingFairPCA
from evenspan.representation.streaming_fair_pca import BlockReader

PAPER_BLOCK = 32_554
FIT = """
import sys
from pathlib import Path
from compendium.data.portraits import PortraitStream
from evenspan.representation import StreamingFairPCA
rows, batch, k, m, height, width = map(int, sys.argv[1:])
def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("VmHWM"))
before = peak()
stream = PortraitStream(2 * rows, size=(height, width), batch_size=batch)
StreamingFairPCA(k, m, n_blocks=2, block_size=rows).fit(stream)
print(before, peak())
"""


def phases(stream, k: int, m: int):
    """Name, width, and the method at the beginning of a block, of each of the two phases."""
    reader = BlockReader(stream)
    power = StreamingFairPCA(k, m)._begin(reader)
    for phase, width in (("gap", m), ("components", k)):
        yield phase, width, power, reader
        if phase == "gap":
            power.end_gap_phase()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--height", type=int, default=CELEBA_SIZE[0])
    parser.add_argument("--width", type=int, default=CELEBA_SIZE[1])
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--components", type=int, default=100)
    parser.add_argument("--gap-directions", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    size, k, m = (given.height, given.width), given.components, given.gap_directions
    rows = given.batches * given.batch_size
    drawn = PortraitStream(rows, size=size, batch_size=given.batch_size)
    batches, d = list(drawn), drawn.n_features
    stream = FunctionStream(lambda: batches)

    print(f"{rows:,} images of {size[0]} x {size[1]} x 3 (d = {d:,}) in batches of {given.batch_size}\n")
    print(f"{'ratio of times':<52}{'median':>8}{'min':>8}{'max':>8}{'paper block':>13}")
    for phase, width, power, reader in phases(stream, k, m):
        W = power.W if phase == "gap" else power.V

        def bare(W=W):
            total = np.zeros_like(W)
            for X, _ in batches:
                total += X.T @ (X @ W)

        def products(power=power, reader=reader):
            reader.start_pass()
            return reader.read(None, power.operand(), len(power.labels))

        def block(power=power, products=products):
            power.step(products())

        summed, whole = (ratios(work, bare, given.rounds) for work in (products, block))
        at_paper = np.median(summed) + (np.median(whole) - np.median(summed)) * rows / PAPER_BLOCK
        for name, r, last in (("sums of a block", summed, ""), ("block with its step", whole, f"{at_paper:.2f}")):
            label = f"{phase} phase, {width} columns: {name} / bare"
            print(f"{label:<52}{np.median(r):>8.2f}{r.min():>8.2f}{r.max():>8.2f}{last:>13}", flush=True)

    sizes = [str(value) for value in (rows, given.batch_size, k, m, *size)]
    run = subprocess.run([sys.executable, "-c", FIT, *sizes], capture_output=True, text=True, check=True)
    before, peak = (int(kib) / 1024**2 for kib in run.stdout.split())
    print(
        f"\na process that fits 2 + 2 blocks of {rows:,} images: at most {peak:.2f} GiB, {before:.2f} GiB of it imports"
    )
    print(f"a d x d matrix would take {4 * d * d / 1024**3:.1f} GiB")


if __name__ == "__main__":
    main()
