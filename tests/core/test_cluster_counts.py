"""Counts of groups in clusters: they add, and every measure is that of its definition, with the bounds of Theorem 1."""

from itertools import product

import numpy as np
import pytest

from evenspan.core.cluster_counts import ClusterCounts

GROUPS = np.repeat(["a", "b", "c"], [200, 120, 60])
LABELS = np.where(np.random.default_rng(0).random(380) < 0.4, np.arange(380) % 4, np.repeat([0, 1, 2], [200, 120, 60]))


def measures(counts):
    return counts.regulariser, counts.lowest_regulariser, counts.fair_gap, counts.balance, counts.mnce


@pytest.mark.parametrize(("sizes", "c"), [((4, 2), 3), ((3, 3), 2), ((4, 2, 2), 2)])
def test_theorem_1_on_every_clustering(sizes, c):
    n, groups = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    lowest, seen = sum(size**2 for size in sizes) / n, set()
    for labels in product(range(c), repeat=n):
        counts = ClusterCounts.from_labels(np.array(labels), groups, c)
        value, bound, gap, balance, mnce = measures(counts)
        assert bound == pytest.approx(lowest)
        assert lowest - 1e-12 <= value <= n + 1e-12
        assert 0.0 <= gap <= 1.0 + 1e-12
        filled = counts.counts[:, counts.sizes > 0]
        proportional = (filled * n == counts.group_sizes[:, None] * filled.sum(axis=0)).all()
        pure = ((filled > 0).sum(axis=0) == 1).all()
        assert (value < lowest + 1e-9) == (gap < 1e-9) == (mnce > 1 - 1e-9) == proportional
        assert (value > n - 1e-9) == (gap > 1 - 1e-9) == pure
        assert balance <= min(sizes) / max(sizes) + 1e-12
        assert (balance == 0.0) == (filled == 0).any()
        seen.add((proportional, pure))
    assert {(False, False), (True, False)} <= seen
    assert ((False, True) in seen) == (c >= len(sizes))


def test_counts_add_and_neither_names_nor_order_nor_empty_clusters_matter():
    whole = ClusterCounts.from_labels(LABELS, GROUPS)
    for j, k in product(range(3), range(4)):
        assert whole.counts[j, k] == np.count_nonzero(("abc"[j] == GROUPS) & (k == LABELS))
    first = np.arange(380) < 210  # one group and some clusters are absent from one part
    parts = [ClusterCounts.from_labels(LABELS[part], GROUPS[part]) for part in (first, ~first)]
    for total in (parts[0] + parts[1], parts[1] + parts[0]):
        assert (total.labels.tolist(), total.clusters.tolist()) == (whole.labels.tolist(), whole.clusters.tolist())
        assert np.array_equal(total.counts, whole.counts)
    order = np.random.default_rng(1).permutation(380)
    renamed = ClusterCounts.from_labels(np.array(list("zpqm"))[LABELS][order], np.char.upper(GROUPS)[order])
    assert measures(renamed) == pytest.approx(measures(whole), rel=1e-12)
    assert ClusterCounts.from_labels(LABELS[order], GROUPS).fair_gap < 0.1 < whole.fair_gap
    empty = ClusterCounts.from_labels(LABELS, GROUPS, 7)
    assert empty.sizes.tolist() == [*whole.sizes.tolist(), 0, 0, 0]
    assert measures(empty) == measures(whole)
    alone = ClusterCounts.from_labels(np.arange(10) % 3, np.full(10, "a"))  # nothing to be fair to
    assert (alone.regulariser, alone.fair_gap, alone.balance) == (pytest.approx(10.0), 0.0, 1.0)
    assert np.isnan(alone.mnce)
