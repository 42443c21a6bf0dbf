"""Speed and memory of fair kernel k-means, beside a plain transcription of its steps and beside scikit-learn.

As in ``run.py``: both sides of a pair are timed in turn on the same data in every round, and the median, smallest and
largest ratio over the rounds are shown. The first pair repeats the search for the fairness weight on the Jaffe kernels
(or, without them, on made points of the same size) and asserts that both sides pass through the same labels.
"""

import argparse
import os
import tracemalloc
import warnings

import numpy as np
from run import ratios
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from compendium import data as datasets
from compendium.data.clustering import load_clustering
from compendium.data.clustering_files import read_mnist
from compendium.papers.zhou2024.base_kernels import base_kernel, twelve_kernels
from evenspan.clustering import FairKernelKMeans, WeightRule
from evenspan.clustering.fairness_first import FairnessFirstClustering
from evenspan.clustering.kernel_kmeans import relaxed_start
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.row_update import row_updates
from evenspan.core.cluster_counts import ClusterCounts, tally

SEEDS = 10


def plain_updates(K: np.ndarray, codes: np.ndarray, labels: np.ndarray, c: int, weight: float):
    """The row update as it is written down: K~ formed, and s = Y'K~e_i computed for every row."""
    n, G = len(K), np.eye(codes.max() + 1)[codes]
    shift = weight * G.sum(axis=0).max()
    fair = K + shift * np.eye(n) - weight * (G @ G.T)
    Y = np.eye(c)[labels]
    sizes, q = Y.sum(axis=0), np.einsum("nk,nm,mk->k", Y, fair, Y, optimize=True)
    labels, history = labels.copy(), []
    for sweep in range(1, 11):
        for i in range(n):
            m = labels[i]
            if sizes[m] == 1:
                continue
            s = Y.T @ fair[:, i]
            gains = (q + 2 * s + fair[i, i]) / (sizes + 1) - q / sizes
            gains[m] = q[m] / sizes[m] - (q[m] - 2 * s[m] + fair[i, i]) / (sizes[m] - 1)
            p = gains.argmax()
            if gains[p] > gains[m] + 1e-9:
                q[m], q[p] = q[m] - 2 * s[m] + fair[i, i], q[p] + 2 * s[p] + fair[i, i]
                sizes[m], sizes[p], labels[i] = sizes[m] - 1, sizes[p] + 1, p
                Y[i, m], Y[i, p] = 0.0, 1.0
        history.append((q / sizes).sum())
        if sweep >= 3 and abs(history[-1] - history[-2]) < 1e-10 * abs(history[-1]):
            break
    return labels


def mnce(labels, codes, c) -> float:
    G = int(codes.max()) + 1
    return ClusterCounts(np.arange(G), np.arange(c), tally(codes, labels, G, c)).mnce


def search_plainly(K, codes, starts, c):
    """For every start the labels of all weights that the rule tries, one run after another."""
    found = []
    for start in starts:
        path = []

        def evaluate(weight, start=start, path=path):
            path.append(plain_updates(K, codes, start, c, weight))
            return None, mnce(path[-1], codes, c)

        WeightRule().search(evaluate)
        found.append(path)
    return found


def search_singly(gram, codes, starts, c):
    """The same with the library's row update."""
    found = []
    for start in starts:
        path = []

        def evaluate(weight, start=start, path=path):
            path.append(row_updates(gram, codes, start, c, weight).labels)
            return None, mnce(path[-1], codes, c)

        WeightRule().search(evaluate)
        found.append(path)
    return found


def same(paths, others) -> bool:
    return len(paths) == len(others) and all(
        len(a) == len(b) and all(map(np.array_equal, a, b)) for a, b in zip(paths, others, strict=True)
    )


def there(name: str) -> bool:
    return datasets.at_hand(name)


def faces():
    """Kernel 7, group codes and cluster number of Jaffe, and what they are called."""
    if there("jaffe"):
        data = load_clustering("jaffe")
        return np.array(data.kernels[6]), np.unique(data.groups, return_inverse=True)[1], data.n_clusters, "Jaffe"
    rng = np.random.default_rng(0)
    y, codes = rng.integers(0, 10, 213), rng.integers(0, 7, 213)
    X = rng.normal(size=(10, 60))[y] + 0.6 * rng.normal(size=(7, 60))[codes] + 0.8 * rng.normal(size=(213, 60))
    return base_kernel(X / np.linalg.norm(X, axis=1, keepdims=True), 7), codes, 10, "made points of Jaffe's size"


def digits(n: int):
    """MNIST test images with two groups by the amount of ink, or made points of that size."""
    if there("mnist"):
        X = read_mnist()[0][:n].astype(np.float32)
        return X, (X.sum(axis=1) > np.median(X.sum(axis=1))).astype(int), "MNIST test images"
    rng = np.random.default_rng(0)
    X = 0.3 * rng.normal(size=(10, 784))[rng.integers(0, 10, n)] + 0.5 * rng.normal(size=(n, 784))
    return X.astype(np.float32), (X[:, 0] > 0).astype(int), "made points of the size of MNIST"


def points(n: int, d: int):
    rng = np.random.default_rng(0)
    X = 2.0 * rng.normal(size=(10, d))[rng.integers(0, 10, n)] + rng.normal(size=(n, d))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def fit(X, groups, weight=1.0, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten sweeps, as published
        return FairKernelKMeans(10, weight, **options).fit(X, sensitive_features=groups)


def peak(work) -> int:
    """Bytes that were allocated at once at most, beside what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--digits", type=int, default=10_000, help="rows for the dense kernel")
    parser.add_argument("--rows", type=int, default=100_000, help="rows for the linear kernel")
    given = parser.parse_args()
    print(f"{given.rounds} rounds, {os.environ.get('OMP_NUM_THREADS', 'all')} thread(s)\n")
    print(f"{'ratio':<76}{'median':>9}{'min':>9}{'max':>9}")

    def show(name: str, ours, reference, rounds: int = given.rounds) -> None:
        r = ratios(ours, reference, rounds)
        print(f"{name:<76}{np.median(r):>9.3g}{r.min():>9.3g}{r.max():>9.3g}", flush=True)

    K, codes, c, name = faces()
    gram = DenseGram(K)
    starts = np.array([relaxed_start(gram, c, np.random.default_rng(seed)).labels for seed in range(SEEDS)])
    paths = search_plainly(K, codes, starts, c)
    if not same(paths, search_singly(gram, codes, starts, c)):
        raise AssertionError("the library does not pass through the labels of the plain steps")
    tried = sum(map(len, paths))
    show(
        f"plain steps / library, {name}, {SEEDS} starts",
        lambda: search_plainly(K, codes, starts, c),
        lambda: search_singly(gram, codes, starts, c),
    )
    P, sides = points(1000, 20)
    larger = DenseGram(base_kernel(P, 7))
    starts = np.array([relaxed_start(larger, 10, np.random.default_rng(seed)).labels for seed in range(SEEDS)])
    show(
        f"plain steps / library, made points, n = 1,000, {SEEDS} starts",
        lambda: [plain_updates(larger.K, sides, labels, 10, 1.0) for labels in starts],
        lambda: [row_updates(larger, sides, labels, 10, 1.0) for labels in starts],
        1,
    )

    X, groups, name = digits(given.digits)
    n = len(X)
    gamma = 1.0 / (X.shape[1] * X.var(axis=None))
    show(
        f"fit, dense / its kernel, {name}, n = {n:,}",
        lambda: fit(X, groups, gamma=gamma),
        lambda: rbf_kernel(X, gamma=gamma),
    )
    show(
        f"one base kernel / rbf_kernel, {name}, n = {n:,}",
        lambda: base_kernel(X, 7),
        lambda: rbf_kernel(X, gamma=gamma),
    )
    few = X[: n // 4]
    show(
        f"twelve base kernels / rbf_kernel, {name}, n = {len(few):,}",
        lambda: twelve_kernels(few),
        lambda: rbf_kernel(few),
    )

    P, sides = points(given.rows, 50)
    show(
        f"fit, linear kernel / scikit-learn KMeans, 10 starts, n = {given.rows:,}, d = 50",
        lambda: fit(P, sides, kernel="linear"),
        lambda: KMeans(10, n_init=10, random_state=0).fit(P),
    )
    Q, halves = points(4000, 20)
    show(
        "fairness first / scikit-learn KMeans, 10 starts, n = 4,000, d = 20",
        lambda: FairnessFirstClustering(10).fit(Q, sensitive_features=halves),
        lambda: KMeans(10, n_init=10, random_state=0).fit(Q),
    )

    print(f"\n{tried} runs of the row update in the {SEEDS} searches; the labels of all agree")
    print(f"\n{'largest memory at once, beside the data':<76}{'MiB':>9}{'of n x n':>12}")
    for label, work, rows, width in (
        (f"fit, linear kernel, n = {given.rows:,}, d = 50", lambda: fit(P, sides, kernel="linear"), given.rows, 8),
        (f"fit, dense, n = {n:,}", lambda: fit(X, groups, gamma=gamma), n, 8),
        ("fairness first, n = 4,000", lambda: FairnessFirstClustering(10).fit(Q, sensitive_features=halves), 4000, 8),
    ):  # fmt: skip
        most = peak(work)
        print(f"{label:<76}{most / 2**20:>9.0f}{most / (width * rows**2):>12.2g}", flush=True)


if __name__ == "__main__":
    main()
