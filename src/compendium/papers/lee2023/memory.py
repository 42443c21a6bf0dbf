"""How much memory each method of this library takes, measured on small samples and carried on to the size of CelebA.

What is measured is the peak of all allocations that Python sees from the first row to the fitted answer, the rows
included where a method has to hold them. The methods that start from group moments get the rows in batches.
"""

import tracemalloc
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy import optimize

from evenspan.core.errors import SurplusComponentsWarning
from evenspan.core.moments import GroupMoments
from evenspan.core.streams import FunctionStream
from evenspan.representation import INLP, LEACE, FairKernelPCA, FairPCA, MMDFairPCA, NullItOutPCA, StreamingFairPCA
from evenspan.representation.erasure import IncompleteErasureWarning
from evenspan.representation.mmd_fair_pca import UnmetToleranceWarning

from ...data.portraits import CELEBA_SIZE, CELEBA_TRAIN
from ...records import tidy

SEED, DATASET = 2023, "memory"
K, M = 10, 5
#: Rows and features of the small samples: few rows of many features, many of few, and both; whole batches of rows.
POINTS = ((128, 64), (128, 256), (128, 512), (512, 64), (512, 256), (1024, 16), (2048, 64), (4096, 16))
#: The streaming method is measured at more features, with at least four batches in each block.
WIDE = ((512, 1600), (512, 3200), (512, 6400), (512, 12_800), (2048, 3200))
BATCH = 64
#: The bound of the claim: features, components, removed directions and batch of the largest run, and its neighbours.
LARGEST, LARGEST_K, LARGEST_BATCH = 50_000, 100, 256
#: The limit under which the methods are compared.
LIMIT = 16e9
STREAMED, STREAMED_MEAN = "FNPM, m = 5", "mean constraint, streamed"


def rows_of(n: int, d: int, batch: int = BATCH, dtype=np.float64) -> FunctionStream:
    """Gaussian rows of two groups that differ in the mean and in the variance of the first feature, in batches."""

    def make() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng((SEED, n, d))
        for start in range(0, n, batch):
            groups = np.arange(start, min(start + batch, n)) % 3 == 0
            X = rng.standard_normal((len(groups), d), dtype=dtype)
            X[groups, 0] = 3 * X[groups, 0] + 1
            yield X, groups

    return FunctionStream(make)


def from_moments(make: Callable) -> Callable:
    """Fit from the moments of the batches."""
    return lambda stream: make().fit_moments(GroupMoments.from_batches(stream))


def from_points(make: Callable) -> Callable:
    """Fit to the rows, which are held."""

    def fit(stream):
        parts = list(stream)
        X, groups = np.concatenate([X for X, _ in parts]), np.concatenate([g for _, g in parts])
        del parts
        return make().fit(X, sensitive_features=groups)

    return fit


METHODS: dict[str, Callable] = {
    "Fair PCA": from_moments(lambda: FairPCA(K)),
    "Fair PCA-S": from_moments(lambda: FairPCA(K, match="covariance")),
    "LEACE": from_moments(lambda: LEACE(K)),
    "null it out, exact": from_moments(lambda: NullItOutPCA(K, M)),
    "INLP": from_points(lambda: INLP(K, max_iter=2)),
    "MbF-PCA": from_points(lambda: MMDFairPCA(K, max_iter=1, max_inner=2, random_state=SEED)),
    "Fair Kernel PCA": from_points(lambda: FairKernelPCA(K)),
    STREAMED: lambda stream: StreamingFairPCA(K, M, n_blocks=2).fit(stream),
    STREAMED_MEAN: lambda stream: StreamingFairPCA(K, constraint="mean", n_blocks=2).fit(stream),
}


def peak_bytes(work: Callable, *arguments) -> int:
    """Peak of what is allocated while ``work`` runs."""
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            for expected in (UnmetToleranceWarning, IncompleteErasureWarning, SurplusComponentsWarning):
                warnings.simplefilter("ignore", expected)  # cut short: its memory is asked for, not its answer
            work(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def memory_rows(points=POINTS, wide=WIDE, largest: int = LARGEST, methods=tuple(METHODS)) -> list[dict]:
    """Peak bytes of the methods at several sizes, and of the streaming method at many features."""
    rows = []

    def add(method: str, k: int, n: int, d: int, peak: int) -> None:
        key = {"dataset": DATASET, "method": method, "k": k, "protocol": "peak allocation", "blocks": 2}
        rows.extend(tidy({f"bytes, n = {n}, d = {d}": float(peak)}, **key))

    for method in methods:
        streamed, fit = method in (STREAMED, STREAMED_MEAN), METHODS[method]
        dtype = np.float32 if streamed else np.float64
        peak_bytes(fit, rows_of(64, 32, dtype=dtype))  # what is imported at the first call is no one's memory
        for n, d in wide if streamed else points:
            add(method, K, n, d, peak_bytes(fit, rows_of(n, d, dtype=dtype)))
    for d in (largest // 8, largest // 4, largest // 2, largest):
        model = StreamingFairPCA(LARGEST_K, M, n_blocks=2)
        peak = peak_bytes(model.fit, rows_of(2 * LARGEST_BATCH, d, LARGEST_BATCH, np.float32))
        add(STREAMED, LARGEST_K, 2 * LARGEST_BATCH, d, peak)
    return rows


def sizes(rows: pd.DataFrame) -> pd.DataFrame:
    """The measured peaks with their n and d as columns."""
    some = rows[rows["dataset"] == DATASET]
    return some.join(some["metric"].str.extract(r"n = (?P<n>\d+), d = (?P<d>\d+)").astype(int))


def terms(n, d) -> np.ndarray:
    """What bytes may consist of: d squared, n d, n squared, d, n; shape (len, 5)."""
    n, d = np.asarray(n, dtype=float), np.asarray(d, dtype=float)
    return np.stack([d * d, n * d, n * n, d, n], axis=-1)


def models(rows: pd.DataFrame) -> pd.DataFrame:
    """For every method the coefficients of its bytes, and the most features it can take for all images of CelebA.

    Least squares of relative errors with coefficients that are not negative. Columns ``method``, the five terms,
    ``error`` (the largest relative error of the fit), ``most features`` within the limit, and ``bytes at full size``.
    """
    measured, found = sizes(rows), []
    measured = measured[measured["k"] == K]
    for method in [method for method in METHODS if method in set(measured["method"])]:
        some = measured[measured["method"] == method]
        A, peaks = terms(some["n"], some["d"]), some["value"].to_numpy(dtype=float)
        scale = A.max(axis=0)
        weights = optimize.nnls(A / scale / peaks[:, None], np.ones(len(peaks)))[0] / scale
        error = float(np.abs(A @ weights / peaks - 1.0).max(axis=0))
        square, across, alone, line, each = weights
        # The positive root of a d^2 + b d + c = limit.
        a, b, c = square, across * CELEBA_TRAIN + line, alone * CELEBA_TRAIN**2 + each * CELEBA_TRAIN - LIMIT
        most = 0.0 if c >= 0 else (2 * -c) / (b + np.sqrt(b * b - 4 * a * c)) if a > 0 or b > 0 else np.inf
        whole = float(terms(CELEBA_TRAIN, 3 * CELEBA_SIZE[0] * CELEBA_SIZE[1]) @ weights)
        found.append((method, *weights, error, most, whole))
    names = ["d^2", "n d", "n^2", "d", "n", "error", "most features", "bytes at full size"]
    return pd.DataFrame(found, columns=["method", *names])


def largest_runs(rows: pd.DataFrame) -> tuple[pd.DataFrame, float, float]:
    """The runs with many features, the fitted exponent of their peak in d, and the peak in units of 4 d (k + m + q)."""
    some = sizes(rows)
    some = some[some["k"] == LARGEST_K].sort_values("d")
    slope = float(np.polyfit(np.log(some["d"]), np.log(some["value"]), 1)[0])
    last = some.iloc[-1]
    return some, slope, float(last["value"] / (4 * last["d"] * (LARGEST_K + M + LARGEST_BATCH)))
