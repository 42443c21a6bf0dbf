"""Sparse tables: fair PCA beside scikit-learn on the same rows, its peak memory, and where dense blocks are faster.

Times are ratios as in ``run.py``. Memory is what a process of its own takes at its peak, with the libraries and the
sparse table in it, beside what the dense table alone would take.
"""

import argparse
import multiprocessing
import resource

import numpy as np
from run import ratios
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD

from evenspan import FairPCA, GroupMoments
from evenspan.core import accumulator


def table(n: int, d: int, density: float) -> tuple[sparse.csr_array, np.ndarray]:
    """Positive numbers at random places, and two groups at random."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=density, rng=rng, format="csr", data_sampler=rng.standard_exponential)
    return X, rng.integers(0, 2, n)


def peak(n: int, d: int, density: float, k: int) -> float:
    """MB that a process takes in which the table is made and fair PCA fitted and applied."""
    X, groups = table(n, d, density)
    FairPCA(k).fit(X, sensitive_features=groups).transform(X)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def block_ratios(n: int, d: int, density: float, rounds: int) -> np.ndarray:
    """Time of moments by products of stored entries over that by dense blocks."""
    X, groups = table(n, d, density)

    def moments(share: float):
        accumulator.DENSE = share
        GroupMoments.from_data(X, groups)

    return ratios(lambda: moments(1.0), lambda: moments(0.0), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=2_000)
    parser.add_argument("--density", type=float, default=0.001)
    parser.add_argument("--components", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    n, d, density, k = given.rows, given.features, given.density, given.components
    with multiprocessing.get_context("spawn").Pool(1) as apart:
        most = apart.apply(peak, (n, d, density, k))
    print(f"n = {n:,} rows, d = {d:,} features, {density:.2%} stored, k = {k}, two groups, {given.rounds} rounds\n")
    print(f"peak of a process: {most:,.0f} MB; the dense table alone: {8 * n * d / 2**20:,.0f} MB\n")

    X, groups = table(n, d, density)
    rivals = {
        "PCA, covariance_eigh": PCA(k, svd_solver="covariance_eigh"),
        "PCA, arpack": PCA(k, svd_solver="arpack", random_state=0),
        "TruncatedSVD": TruncatedSVD(k, random_state=0),
    }
    print(f"{'time ratio':<52}{'median':>8}{'min':>8}{'max':>8}")
    for name, rival in rivals.items():
        r = ratios(lambda: FairPCA(k).fit(X, sensitive_features=groups), lambda rival=rival: rival.fit(X), given.rounds)
        print(f"{f'FairPCA / scikit-learn {name}':<52}{np.median(r):>8.2f}{r.min():>8.2f}{r.max():>8.2f}", flush=True)
    for share in (0.01, 0.05, accumulator.DENSE, 0.1, 0.2):
        r = block_ratios(20_000, 500, share, given.rounds)
        print(
            f"{f'entries / dense blocks, {share:.0%} stored':<52}{np.median(r):>8.2f}{r.min():>8.2f}{r.max():>8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
