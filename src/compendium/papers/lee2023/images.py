"""The experiment of Lee et al. (2023) on images in their original resolution, and the memory that methods take.

In the place of CelebA come made portraits (:mod:`compendium.data.portraits`) of as many values, drawn batch by batch.
The peak of all allocations that Python sees is measured on small samples and carried on to the size of CelebA.
"""

import resource
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize
from sklearn.base import BaseEstimator, clone

from evenspan import metrics
from evenspan.core.errors import SurplusComponentsWarning
from evenspan.core.estimator import NotConvergedWarning
from evenspan.core.moments import GroupMoments
from evenspan.core.streams import FunctionStream, Stream
from evenspan.representation import INLP, LEACE, FairKernelPCA, FairPCA, MMDFairPCA, NullItOutPCA, StreamingFairPCA
from evenspan.representation.erasure import IncompleteErasureWarning

from ...data.portraits import CELEBA_SHARE, CELEBA_SIZE, CELEBA_TRAIN, PortraitStream
from ...records import in_order, tidy
from ..kleindessner2023.protocol import READERS

#: The method of the paper, and ours beside it: every image both without and with glasses.
SHOWN, PAIRED = "m = 5", "m = 5, paired"
ORDER = ("PCA", "mean", "m = 1", "m = 2", SHOWN, "m = 10", PAIRED)
#: Height and width of the ablations, and power steps of both phases; seeds to fit, to train probes and to evaluate.
HALF, BLOCKS = (109, 89), 5
FITTED, PROBED, EVALUATED = 2023, 2024, 2025


def named(size: tuple[int, int]) -> str:
    """What the results call portraits of this height and width."""
    return f"portraits-{size[0]}x{size[1]}"


def stream(size: tuple[int, int], seed: int, rows: int, **options) -> PortraitStream:
    """Portraits of this height and width, with glasses on the share of CelebA."""
    return PortraitStream(rows, size=size, share=CELEBA_SHARE, seed=seed, **options)


def training(size: tuple[int, int], images: int, *, paired: bool = False) -> Stream:
    """What a fit reads: each image once, or half as many both without and with glasses."""
    if not paired:
        return stream(size, FITTED, images)

    def pairs():
        both = (stream(size, FITTED, images // 2, batch_size=128, glasses=who) for who in ("none", "all"))
        for (without, _), (with_, _) in zip(*both, strict=True):
            yield np.vstack([without, with_]), np.repeat([0, 1], [len(without), len(with_)])

    return FunctionStream(pairs)


def costs(seconds: float, size: tuple[int, int], images: int, passes: int) -> dict[str, float]:
    """Time and memory of a fit; some images are drawn without a fit as well, to know what the drawing takes."""
    peak = peak_memory()
    start, some = time.perf_counter(), 1024
    for _ in stream(size, PROBED, some):
        pass
    drawing = (time.perf_counter() - start) / some * images * passes
    return {
        "seconds": seconds,
        "seconds without drawing": max(seconds - drawing, 0.0),
        "images per second": images * passes / seconds,
        "peak memory of the process, MiB": round(peak, 1),
    }


def peak_memory() -> float:
    """The most memory that this process has held, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # what Linux counts by getrusage includes the program that started this one
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def evaluate(model: StreamingFairPCA, train: Stream, test: Stream) -> dict[str, float]:
    """What the projection keeps of images that it has not seen, and what probes fitted to others find in them."""
    (E, groups), (T, truth, total) = embedded(model, train)[:2], embedded(model, test)
    moments = GroupMoments.from_data(T, truth)
    found = {
        "explained variance ratio": float(T.var(axis=0).sum(axis=0) / total["all"]),
        "share of glasses": float(truth.mean(axis=0)),
        "mean gap": metrics.mean_gap(moments),
        "mean gap of the images": total["gap"],
        "covariance gap": metrics.covariance_gap(moments),
    }
    for g, name in ((0, "without"), (1, "with")):
        found[f"explained variance ratio {name} glasses"] = float(T[truth == g].var(axis=0).sum(axis=0) / total[g])
    for probe, reader in READERS.items():
        found[f"AUC ({probe})"] = metrics.auc(truth == 1, metrics.probe_scores(reader, E, groups == 1, T))
    return found


def embedded(model: StreamingFairPCA, stream: Stream) -> tuple[np.ndarray, np.ndarray, dict]:
    """Embedding (n, k) and groups (n,) of a stream; also the variance of the images, overall and by group, and f."""
    V, parts, labels = model.components_.T, [], []
    sums, squares, counts = np.zeros((2, len(V)), V.dtype), np.zeros(2), np.zeros(2)
    for X, groups in stream:
        X, inside = X - model.mean_.astype(V.dtype), np.array([groups == 0, groups == 1])
        parts.append(X @ V)
        labels.append(groups)
        sums += inside.astype(X.dtype) @ X
        squares += inside @ np.einsum("qd,qd->q", X, X, dtype=np.float64)
        counts += inside.sum(axis=1)
    means, mean = sums / counts[:, None], sums.sum(axis=0) / counts.sum()
    total = {g: float(squares[g] / counts[g] - means[g] @ means[g]) for g in (0, 1)}
    total |= {"all": float(squares.sum() / counts.sum() - mean @ mean)}
    total |= {"gap": float(np.linalg.norm(means[1] - means[0]))}
    return np.vstack(parts).astype(np.float64), np.concatenate(labels), total


def kept_change(model: StreamingFairPCA, none: Stream, every: Stream) -> float:
    """Of the squared change that glasses make to images, the share that the projection keeps."""
    kept = total = 0.0
    for (plain, _), (worn, _) in zip(none, every, strict=True):
        change = worn - plain
        kept += float(np.linalg.norm(change @ model.components_.T)) ** 2
        total += float(np.linalg.norm(change)) ** 2
    return kept / total


def by_setting(rows: pd.DataFrame) -> pd.DataFrame:
    """One line a size, method and number of blocks, the metrics across."""
    some = rows[rows["dataset"].str.startswith("portraits")]
    some = some.assign(method=pd.Categorical(some["method"], ORDER))
    keys = ["dataset", "method", "blocks"]
    wide = some.pivot_table(index=keys, columns="metric", values="value", observed=True).reset_index()
    return wide.astype({"method": str}).rename_axis(columns=None)


MEMORY, LIMIT = "memory", 16e9  # the limit in bytes under which the methods are compared
K, M, BATCH = 10, 5, 64
#: Rows and features of the small samples, in whole batches of rows; those of streams have more features.
POINTS = ((128, 64), (128, 256), (128, 512), (512, 64), (512, 256), (1024, 16), (2048, 64), (4096, 16))
WIDE = ((512, 1600), (512, 3200), (512, 6400), (512, 12_800), (2048, 3200))
#: The bound of the claim: components and batch of the largest run.
LARGEST_K, LARGEST_BATCH = 100, 256
STREAMED, STREAMED_MEAN = "FNPM, m = 5", "mean constraint, streamed"


def rows_of(n: int, d: int, batch: int = BATCH, dtype=np.float64) -> FunctionStream:
    """Gaussian rows of two groups that differ in the mean and in the variance of the first feature, in batches."""

    def make() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng((FITTED, n, d))
        for start in range(0, n, batch):
            groups = np.arange(start, min(start + batch, n)) % 3 == 0
            X = rng.standard_normal((len(groups), d), dtype=dtype)
            X[groups, 0] = 3 * X[groups, 0] + 1
            yield X, groups

    return FunctionStream(make)


METHODS = {
    "Fair PCA": FairPCA(K),
    "Fair PCA-S": FairPCA(K, match="covariance"),
    "LEACE": LEACE(K),
    "null it out, exact": NullItOutPCA(K, M),
    "INLP": INLP(K, max_iter=2),
    "MbF-PCA": MMDFairPCA(K, max_iter=1, max_inner=2, random_state=FITTED),
    "Fair Kernel PCA": FairKernelPCA(K),
    STREAMED: StreamingFairPCA(K, M, n_blocks=2),
    STREAMED_MEAN: StreamingFairPCA(K, constraint="mean", n_blocks=2),
}


def peak_bytes(estimator: BaseEstimator, stream: Stream) -> int:
    """Peak of what is allocated while a method is fitted to the stream, to its rows, or to moments of its batches."""
    model = clone(estimator)
    with warnings.catch_warnings():
        for expected in (NotConvergedWarning, IncompleteErasureWarning, SurplusComponentsWarning):
            warnings.simplefilter("ignore", expected)  # cut short: its memory is asked for, not its answer
        tracemalloc.start()
        if isinstance(model, StreamingFairPCA):
            model.fit(stream)
        elif isinstance(model, INLP | MMDFairPCA | FairKernelPCA):
            X, groups = map(np.concatenate, zip(*stream, strict=True))
            model.fit(X, sensitive_features=groups)
        else:
            model.fit_moments(GroupMoments.from_batches(stream))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def memory_rows(most: int, largest: int) -> list[dict]:
    """Peak bytes of the methods on samples of at most so many rows, of streaming ones up to so many features."""
    rows = []
    points, wide = [(n, d) for n, d in POINTS if n <= most], [(n, d) for n, d in WIDE if d <= largest]

    def measure(method: str, estimator: BaseEstimator, n: int, d: int, **form) -> None:
        key = {"dataset": MEMORY, "method": method, "k": estimator.n_components, "protocol": "peak allocation"}
        peak = float(peak_bytes(estimator, rows_of(n, d, **form)))
        rows.extend(tidy({f"bytes, n = {n}, d = {d}": peak}, **key, blocks=2))

    for method in METHODS:
        streamed = method in (STREAMED, STREAMED_MEAN)
        dtype = np.float32 if streamed else np.float64
        peak_bytes(METHODS[method], rows_of(64, 32, dtype=dtype))  # what the first call imports is no one's memory
        for n, d in wide if streamed else points:
            measure(method, METHODS[method], n, d, dtype=dtype)
    model = StreamingFairPCA(LARGEST_K, M, n_blocks=2)
    for part in (8, 4, 2, 1):
        measure(STREAMED, model, 2 * LARGEST_BATCH, largest // part, batch=LARGEST_BATCH, dtype=np.float32)
    return rows


def peaks(rows: pd.DataFrame) -> pd.DataFrame:
    """The measured peaks with their n and d as columns."""
    some = rows[rows["dataset"] == MEMORY]
    return some.join(some["metric"].str.extract(r"n = (?P<n>\d+), d = (?P<d>\d+)").astype(int))


def terms(n, d) -> np.ndarray:
    """What bytes may consist of: d squared, n d, n squared, d, n; shape (len, 5)."""
    n, d = (size.astype(float) for size in np.broadcast_arrays(n, d))
    return np.stack([d * d, n * d, n * n, d, n], axis=-1)


def carried_on(rows: pd.DataFrame) -> pd.DataFrame:
    """For every method the coefficients of its bytes, and the most features it can take for all images of CelebA.

    Non-negative least squares of relative errors; ``error`` is the largest of them."""
    measured, found = peaks(rows), []
    for method, some in measured[measured["k"] == K].groupby("method", sort=False):
        A, value = terms(some["n"], some["d"]), some["value"].to_numpy(dtype=float)
        scale = A.max(axis=0)
        weights = optimize.nnls(A / scale / value[:, None], np.ones(len(value)))[0] / scale
        error = float(np.abs(A @ weights / value - 1.0).max(axis=0))
        square, across, alone, line, each = weights
        held = alone * CELEBA_TRAIN**2 + each * CELEBA_TRAIN - LIMIT
        most = max(0.0, float(np.roots([square, across * CELEBA_TRAIN + line, held]).real.max()))
        full = float(terms(CELEBA_TRAIN, 3 * CELEBA_SIZE[0] * CELEBA_SIZE[1]) @ weights)
        found.append((method, *weights, error, most, full))
    names = ["d^2", "n d", "n^2", "d", "n", "error", "most features", "bytes at full size"]
    return in_order(pd.DataFrame(found, columns=["method", *names]), list(METHODS))


def largest_runs(rows: pd.DataFrame) -> tuple[pd.DataFrame, float, float]:
    """The runs with many features, the fitted exponent of their peak in d, and the peak in units of 4 d (k + m + q)."""
    some = peaks(rows)
    some = some[some["k"] == LARGEST_K].sort_values("d")
    slope = float(np.polyfit(np.log(some["d"]), np.log(some["value"]), 1)[0])
    last = some.iloc[-1]
    return some, slope, float(last["value"] / (4 * last["d"] * (LARGEST_K + M + LARGEST_BATCH)))
