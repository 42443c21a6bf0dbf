"""A kernel beside the fair kernel of Zhou et al. (2024): means over pairs of different points, and what they say.

Off the diagonal the fair kernel is less by the weight for each pair of one group: all about it follows from the same
means.
"""

from itertools import product

import numpy as np
import pandas as pd

from .protocol import COUNTED, JointCounts

#: How the points are ordered: by the first, and within it by the second.
ORDERS = ("cluster, group", "group, cluster")
TYPES = [f"{cluster} cluster, {group} group" for cluster, group in product(("same", "other"), repeat=2)]


def over_pairs(K: np.ndarray, parts: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum of K, and number, of the pairs of different points that a mask allows, by the parts of both points."""
    Y = (parts[:, None] == np.arange(parts.max() + 1)).astype(float)
    return tuple(
        Y.T @ (given @ Y) - np.diag(np.bincount(parts, weights=np.diagonal(given))) for given in (K * mask, mask)
    )


def cell_means(K: np.ndarray, clusters: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """Mean of K by the clusters a <= b of a pair and its groups, ``"a b same"`` or ``"a b other"``."""
    alike, found = groups[:, None] == groups, {}
    for name, mask in (("same", alike), ("other", ~alike)):
        sums, pairs = over_pairs(K, clusters, mask)
        for a, b in zip(*np.triu_indices(len(sums)), strict=True):
            if pairs[a, b] > 0:
                found[f"{a} {b} {name}"] = float(sums[a, b] / pairs[a, b])
    return found


def order_of(order: str, clusters: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The points ordered by cluster and group or the other way round; otherwise as they come."""
    first, second = (clusters, groups) if order == ORDERS[0] else (groups, clusters)
    return np.lexsort((second, first))


def cuts(n: int, blocks: int) -> np.ndarray:
    """Where blocks of nearly equal length, with at least three points each, begin, and the end."""
    return np.round(np.linspace(0, n, min(blocks, n // 3) + 1)).astype(int)


def block_means(K: np.ndarray, order: np.ndarray, blocks: int) -> np.ndarray:
    """Mean of K over pairs of different points in each block of the ordered matrix."""
    lengths, block = np.diff(cuts(len(K), blocks)), np.empty(len(K), dtype=int)
    block[order] = np.repeat(np.arange(len(lengths)), lengths)
    sums, pairs = over_pairs(K, block, np.ones(K.shape, dtype=bool))
    return sums / pairs


def counts_of(rows: pd.DataFrame, answer: str) -> JointCounts:
    """The counts of one answer."""
    some = rows[(rows["method"] == answer) & (rows["metric"] == COUNTED)]
    return JointCounts.from_text(some["counts"].iloc[0])


def weight_of(rows: pd.DataFrame) -> float:
    """The weight of the fair kernel: that which the rule chooses for the single kernel."""
    some = rows[(rows["method"] == "FKKM") & (rows["metric"] == "chosen weight")]
    return float(some["value"].iloc[0])


def picture(rows: pd.DataFrame, order: str, *, fair: bool) -> tuple[np.ndarray, list[float]]:
    """The blocks (b, b) of one ordering, and where clusters or groups part, as shares of the points."""
    some = rows[(rows["method"] == order) & (rows["protocol"] == "blocks")]
    places = np.array([[int(word) for word in metric.split()] for metric in some["metric"]])
    means = np.zeros((places.max() + 1,) * 2)
    means[places[:, 0], places[:, 1]] = means[places[:, 1], places[:, 0]] = some["value"]
    table = counts_of(rows, "FKKM").group_by_cluster
    clusters, groups = (np.repeat(part.ravel(), table.T.ravel()) for part in np.indices(table.T.shape))
    sequence = order_of(order, clusters, groups)
    n = len(sequence)
    if fair:
        alike = groups[:, None] == groups
        means = means - weight_of(rows) * block_means(alike.astype(float), sequence, len(means))
    parted = (clusters if order == ORDERS[0] else groups)[sequence]
    return means, [float(place) / n for place in np.flatnonzero(np.diff(parted)) + 1]


def types(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean of both kernels over the four types of pairs, by the clustering that tells them apart."""
    weight, found = weight_of(rows), []
    for answer, some in rows[rows["protocol"] == "cells"].groupby("method", sort=False):
        table = counts_of(rows, answer).group_by_cluster
        parts, sizes, alike = some["metric"].str.split(expand=True), table.sum(axis=0), table.T @ table
        a, b, same = parts[0].astype(int), parts[1].astype(int), parts[2] == "same"
        pairs = np.where(same, alike[a, b], sizes[a] * sizes[b] - alike[a, b])
        pairs = np.where(a == b, (pairs - same * sizes[a]) / 2.0, pairs)  # within a cluster each once, none with itself
        cells = pd.DataFrame({"cluster": a == b, "group": same, "number": pairs, "sum": pairs * some["value"]})
        every = pd.MultiIndex.from_product([(True, False)] * 2, names=["cluster", "group"])
        sums = cells.groupby(["cluster", "group"]).sum().reindex(every, fill_value=0.0).reset_index()
        sums["standard"] = sums["sum"] / sums["number"]
        sums["fair"] = sums["standard"] - weight * sums["group"]
        found.append(sums.assign(pairs=TYPES, number=sums["number"].astype(int), **{"clusters of": answer}))
    return pd.concat(found, ignore_index=True)[["clusters of", "pairs", "number", "standard", "fair"]]


def contrasts(rows: pd.DataFrame) -> pd.DataFrame:
    """How far pairs of one cluster of FKKM, and pairs of one group, are above the others, in both kernels."""
    table = types(rows)
    a, b, c, d = table[table["clusters of"] == "FKKM"].set_index("pairs").loc[TYPES, ["standard", "fair"]].to_numpy()
    return pd.DataFrame({"cluster": (a + b - c - d) / 2, "group": (a + c - b - d) / 2}, index=["standard", "fair"]).T
