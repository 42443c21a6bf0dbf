"""Speed of fair kernel PCA, beside one full eigendecomposition of the same kernel matrix, and of LEACE beside fair PCA.

As in ``run.py``: both sides of a pair are timed in turn on the same data in every round, and the median, smallest and
largest ratio over the rounds are shown. The reference is ``scipy.linalg.eigh(K, driver="evd")`` of a K that is already
there; a fit computes K, leading eigenvectors of the deflated matrix by Lanczos steps, and the certificate; with
covariance matching or landmarks it decomposes matrices. LEACE and fair PCA both start from the same group moments.
"""

import argparse

import numpy as np
from run import ratios
from scipy import linalg
from sklearn.metrics.pairwise import rbf_kernel

from evenspan import GroupMoments
from evenspan.representation import LEACE, FairKernelPCA, FairPCA


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--landmarks", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    n, d, k, m = given.rows, given.features, given.components, given.landmarks

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)
    groups = (rng.random(n) < 0.4).astype(int)
    X[groups == 1] += rng.normal(size=d) / 2
    K = rbf_kernel(X, gamma=1.0 / (d * np.var(X, axis=None)))

    def fit(**options):
        return FairKernelPCA(k, **options).fit(X, sensitive_features=groups)

    def decompose():
        linalg.eigh(K, driver="evd")

    pairs = {
        "fit / eigh of K": (fit, decompose),
        "fit, not centred / eigh of K": (lambda: fit(center="none"), decompose),
        "fit with trade-off / eigh of K": (lambda: fit(tradeoff=0.5), decompose),
        "fit with covariance matching / eigh of K": (lambda: fit(match="covariance"), decompose),
        f"fit with {m} landmarks / fit": (lambda: fit(n_landmarks=m), fit),
    }
    print(f"n = {n:,} rows, d = {d} features, k = {k}, RBF kernel, two groups, {given.rounds} rounds\n")
    print(f"{'ratio':<52}{'median':>8}{'min':>8}{'max':>8}")
    for name, (ours, reference) in pairs.items():
        r = ratios(ours, reference, given.rounds)
        print(f"{name:<52}{np.median(r):>8.2f}{r.min():>8.2f}{r.max():>8.2f}", flush=True)
    kept = fit(n_landmarks=m).certificate_.primal / fit().certificate_.primal
    for features in (100, 300):
        X = rng.normal(size=(20 * features, features)) @ rng.normal(size=(features, features))
        moments = GroupMoments.from_data(X, (rng.random(len(X)) < 0.4).astype(int))
        name = f"LEACE / fair PCA, from moments of {features} features"
        r = ratios(lambda m=moments: LEACE(k).fit_moments(m), lambda m=moments: FairPCA(k).fit_moments(m), given.rounds)
        print(f"{name:<52}{np.median(r):>8.2f}{r.min():>8.2f}{r.max():>8.2f}", flush=True)

    print(f"\n{m} landmarks keep {100 * kept:.1f} % of what the full answer keeps")


if __name__ == "__main__":
    main()
