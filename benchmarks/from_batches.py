"""Speed of the moments of batches, beside one product ``X.T @ X`` for each batch.

As in ``run.py``: both sides are timed in turn on the same batches in every round. Shown is the throughput of
``GroupMoments.from_batches`` in per cent of the product's: median, smallest and largest over the rounds. The two groups
come in random order. The reference for batches of float32 is the product of the same batches in float64, because the
moments are summed in float64 whatever comes in.
"""

import argparse

import numpy as np
from run import ratios
from threadpoolctl import threadpool_limits

from evenspan import GroupMoments

SHAPES = ((4096, 200), (8192, 500), (65536, 50))
ENTRIES = 16_000_000  # of all batches of a shape together: more than the caches hold


def throughput(rows: int, features: int, dtype, rounds: int) -> np.ndarray:
    """Per cent of the product's throughput, for every round."""
    rng = np.random.default_rng(0)
    number = max(2, ENTRIES // (rows * features))
    exact = [rng.normal(size=(rows, features)) for _ in range(number)]
    batches = [(X.astype(dtype, copy=False), rng.integers(0, 2, rows)) for X in exact]

    def moments():
        GroupMoments.from_batches(batches)

    def products():
        for X in exact:
            X.T @ X

    return 100 / ratios(moments, products, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    print(f"{'batches':<16}{'type':<10}{'threads':>8}{'median %':>10}{'min %':>8}{'max %':>8}")
    for threads in given.threads:
        with threadpool_limits(threads):
            for rows, features in SHAPES:
                for dtype in (np.float64, np.float32):
                    r = throughput(rows, features, dtype, given.rounds)
                    name = f"{rows} x {features}"
                    print(
                        f"{name:<16}{np.dtype(dtype).name:<10}{threads:>8}{np.median(r):>10.0f}{r.min():>8.0f}"
                        f"{r.max():>8.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
