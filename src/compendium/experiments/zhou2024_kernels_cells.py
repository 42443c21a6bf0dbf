"""Means of a kernel over pairs of clusters and over blocks of points, and what they say about the fair kernel."""

import numpy as np
import pandas as pd

from .claim_rules import Answer, by_parts
from .zhou2024_judge import JointCounts

BLOCKS = 60
#: How the points are ordered: by the first, and within it by the second.
ORDERS = ("cluster, group", "group, cluster")
TYPES = ("same cluster, same group", "same cluster, other group", "other cluster, same group",
         "other cluster, other group")  # fmt: skip


def cell_means(K: np.ndarray, clusters: np.ndarray, groups: np.ndarray) -> dict[tuple[int, int, str], float]:
    """Mean of K over pairs of different points, by their two clusters and by whether they are of the same group.

    Keys are ``(a, b, "same")`` and ``(a, b, "other")`` with clusters a <= b, wherever there are such pairs.
    """
    Y = (clusters[:, None] == np.arange(clusters.max() + 1)).astype(float)
    alike = groups[:, None] == groups
    sizes, own, found = Y.sum(axis=0), np.arange(Y.shape[1]), {}
    for name, mask in (("same", alike), ("other", ~alike)):
        sums, pairs = Y.T @ ((K * mask) @ Y), Y.T @ (mask @ Y)
        if name == "same":
            sums[own, own] -= np.bincount(clusters, weights=np.diagonal(K))
            pairs[own, own] -= sizes
        for a, b in zip(*np.triu_indices(len(sizes)), strict=True):
            if pairs[a, b] > 0:
                found[int(a), int(b), name] = float(sums[a, b] / pairs[a, b])
    return found


def order_of(order: str, clusters: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The points ordered by cluster and group or the other way round; otherwise as they come."""
    first, second = (clusters, groups) if order == ORDERS[0] else (groups, clusters)
    return np.lexsort((second, first))


def cuts(n: int, blocks: int = BLOCKS) -> np.ndarray:
    """Where blocks of nearly equal length, with at least three points each, begin, and the end."""
    return np.round(np.linspace(0, n, min(blocks, n // 3) + 1)).astype(int)


def block_means(K: np.ndarray, order: np.ndarray, blocks: int = BLOCKS) -> np.ndarray:
    """Mean of K over pairs of different points in each block of the ordered matrix."""
    starts = cuts(len(K), blocks)
    block = np.empty(len(K), dtype=int)
    block[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    Y = (block[:, None] == np.arange(len(starts) - 1)).astype(float)
    sums, sizes = Y.T @ (K @ Y), np.diff(starts).astype(float)
    pairs, own = np.outer(sizes, sizes), np.arange(len(sizes))
    sums[own, own] -= np.bincount(block, weights=np.diagonal(K))
    pairs[own, own] -= sizes
    return sums / pairs


# -- read from the rows -----------------------------------------------------------------------------------------------


def counts_of(rows: pd.DataFrame, answer: str) -> JointCounts:
    """The counts of one answer."""
    some = rows[(rows["method"] == answer) & (rows["metric"] == "n")]
    return JointCounts.from_text(some["counts"].iloc[0])


def weight_of(rows: pd.DataFrame) -> float:
    """The weight of the fair kernel: that which the rule chooses for the single kernel."""
    some = rows[(rows["method"] == "FKKM") & (rows["metric"] == "chosen weight")]
    return float(some["value"].iloc[0])


def picture(rows: pd.DataFrame, order: str, *, fair: bool) -> tuple[np.ndarray, list[float]]:
    """The blocks (b, b) of one ordering, and where clusters or groups part, as shares of the points.

    In the fair kernel every pair of one group has the weight less.
    """
    some = rows[(rows["method"] == order) & (rows["protocol"] == "blocks")]
    places = np.array([[int(word) for word in metric.split()] for metric in some["metric"]])
    means = np.zeros((places.max() + 1,) * 2)
    means[places[:, 0], places[:, 1]] = means[places[:, 1], places[:, 0]] = some["value"]
    table = counts_of(rows, "FKKM").group_by_cluster
    clusters, groups = (np.repeat(part.ravel(), table.T.ravel()) for part in
                        np.indices(table.T.shape))  # fmt: skip
    sequence = order_of(order, clusters, groups)
    n = len(sequence)
    if fair:
        alike = groups[:, None] == groups
        means = means - weight_of(rows) * block_means(alike.astype(float), sequence)
    parted = (clusters if order == ORDERS[0] else groups)[sequence]
    return means, [float(place) / n for place in np.flatnonzero(np.diff(parted)) + 1]


def types(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean of both kernels over the four types of pairs, by the clustering that tells them apart."""
    weight, found = weight_of(rows), []
    cells = rows[rows["protocol"] == "cells"]
    for answer, some in cells.groupby("method", sort=False):
        table = counts_of(rows, answer).group_by_cluster
        keys = [metric.split() for metric in some["metric"]]
        a, b = (np.array([int(key[end]) for key in keys]) for end in (0, 1))
        same = a == b, np.array([key[2] == "same" for key in keys])
        sizes, alike = table.sum(axis=0), table.T @ table
        pairs = np.where(same[1], alike[a, b], sizes[a] * sizes[b] - alike[a, b]).astype(float)
        pairs = np.where(same[0], (pairs - same[1] * sizes[a]) / 2.0, pairs)  # each pair once, none with itself
        for name, chosen in zip(
            TYPES, (same[0] & same[1], same[0] & ~same[1], ~same[0] & same[1], ~same[0] & ~same[1]), strict=True
        ):
            total = float(pairs[chosen].sum(axis=0))
            mean = float((pairs * some["value"].to_numpy())[chosen].sum(axis=0)) / total if total else np.nan
            found.append((answer, name, int(total), mean, mean - weight * ("same group" in name)))
    return pd.DataFrame(found, columns=["clusters of", "pairs", "number", "standard", "fair"])


def contrasts(rows: pd.DataFrame, answer: str = "FKKM") -> pd.DataFrame:
    """How far pairs of one cluster, and pairs of one group, are above the others, in both kernels."""
    table = types(rows)
    some = table[table["clusters of"] == answer].set_index("pairs")
    found = {}
    for kernel in ("standard", "fair"):
        a, b, c, d = (some.loc[name, kernel] for name in TYPES)
        found[kernel] = {"cluster": (a + b - c - d) / 2, "group": (a + c - b - d) / 2}
    return pd.DataFrame(found)


def correlation(rows: pd.DataFrame) -> float:
    """Correlation of the entries of the two kernels over all pairs of different points."""
    table = types(rows)
    some = table[table["clusters of"] == "classes"]
    weight, total = weight_of(rows), float(some["number"].sum(axis=0))
    same = some[some["pairs"].str.endswith("same group")]
    share = float(same["number"].sum(axis=0)) / total
    overall = float((some["number"] * some["standard"]).sum(axis=0)) / total
    within = float((same["number"] * same["standard"]).sum(axis=0) / same["number"].sum(axis=0))
    std = float(rows[rows["metric"] == "standard deviation"]["value"].iloc[0])
    both = share * (within - overall)
    variance = std**2 - 2.0 * weight * both + weight**2 * share * (1.0 - share)
    return (std**2 - weight * both) / (std * np.sqrt(variance))


def in_words(rows: pd.DataFrame) -> str:
    """What sets the pairs of points apart in either kernel, with the numbers."""
    table = contrasts(rows)
    before, after = table["standard"], table["fair"]
    return (
        f"In the standard kernel pairs of one cluster are {before['cluster']:.3f} above pairs of two, and pairs of one "
        f"group {before['group']:+.3f} against pairs of two groups. In the fair kernel (λ = {weight_of(rows):g}) it is "
        f"{after['cluster']:.3f} and {after['group']:+.3f}. The entries of the two kernels correlate with "
        f"{correlation(rows):.3f}."
    )


def claim(rows: pd.DataFrame, datasets: tuple[str, ...]) -> Answer | None:
    """Z11, told by what sets pairs of points apart most: clusters in the standard kernel, groups in the fair one."""
    answers, texts = [], []
    for dataset in datasets:
        some = rows[rows["dataset"] == dataset]
        if some.empty:
            return None
        table = contrasts(some).abs()
        by_cluster = table.loc["cluster", "standard"] > table.loc["group", "standard"]
        by_group = table.loc["group", "fair"] > table.loc["cluster", "fair"]
        answers.append(bool(by_cluster and by_group))
        texts.append(f"{dataset}: {in_words(some)}")
    rule = (
        "Asked on each: are pairs set apart most by cluster in the standard kernel, and by group in the fair one? "
        f"So it is on {sum(answers)} of {len(answers)}. "
    )
    texts.append(
        "That groups push apart is built in: the fair kernel is the standard one less the weight within groups."
    )
    return Answer(by_parts(answers), rule + " ".join(texts))
