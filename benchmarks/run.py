"""Speed of the core, as ratios measured side by side in one process: ``make bench``.

Absolute times say more about the machine than about the code, so none is printed. In every round both sides of a pair
are timed in turn on the same data; the median, smallest and largest ratio over the rounds are shown. The number of
threads is that of OPENBLAS_NUM_THREADS: run it with 1 and with 2, on a machine that does nothing else.
"""

import argparse
import time

import numpy as np
from sklearn.decomposition import PCA

from compendium.papers.kleindessner2023.protocol import algorithm_1
from evenspan import FairPCA, GroupMoments


def ratios(ours, reference, rounds: int) -> np.ndarray:
    """Time of ``ours`` over time of ``reference`` in each round, after one round that is not counted."""
    measured = []
    for _ in range(rounds + 1):
        times = []
        for work in (ours, reference):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        measured.append(times[0] / times[1])
    return np.array(measured[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    n, d, k = given.rows, given.features, given.components

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    groups = rng.integers(0, 2, size=n)
    X[groups == 1] += rng.normal(size=d)

    def pca():
        PCA(k, svd_solver="covariance_eigh").fit(X)

    pairs = {
        "GroupMoments.from_data / X.T @ X": (lambda: GroupMoments.from_data(X, groups), lambda: X.T @ X),
        "the same, one scatter / X.T @ X": (
            lambda: GroupMoments.from_data(X, groups, scatters="total"),
            lambda: X.T @ X,
        ),
        "FairPCA.fit / scikit-learn PCA.fit": (lambda: FairPCA(k).fit(X, sensitive_features=groups), pca),
        "Algorithm 1 on the points / scikit-learn PCA.fit": (lambda: algorithm_1(X, groups, k), pca),
    }
    print(f"n = {n:,} rows, d = {d} features, k = {k}, two groups, {given.rounds} rounds\n")
    print(f"{'ratio':<52}{'median':>8}{'min':>8}{'max':>8}")
    for name, (ours, reference) in pairs.items():
        r = ratios(ours, reference, given.rounds)
        print(f"{name:<52}{np.median(r):>8.2f}{r.min():>8.2f}{r.max():>8.2f}", flush=True)


if __name__ == "__main__":
    main()
