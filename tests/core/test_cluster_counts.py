"""Counts of groups in clusters: they add, and every measure is that of its definition, with the bounds of Theorem 1."""

from itertools import product

import numpy as np
import pytest

from evenspan.core.cluster_counts import ClusterCounts, tally
from evenspan.core.errors import GroupError

GROUPS = np.repeat(["a", "b", "c"], [200, 120, 60])


def clustering(share, c=4, seed=0):
    """Clusters that follow the groups but for a share of the samples, which are spread at random."""
    rng = np.random.default_rng(seed)
    labels = np.unique(GROUPS, return_inverse=True)[1]
    drawn = rng.random(len(labels)) < share
    labels[drawn] = rng.integers(c, size=int(drawn.sum(axis=0)))
    return labels


def measures(counts):
    return counts.regulariser, counts.lowest_regulariser, counts.fair_gap, counts.balance, counts.mnce


def test_counting():
    labels = clustering(0.5)
    counts = ClusterCounts.from_labels(labels, GROUPS)
    for j, group in enumerate("abc"):
        for k in range(4):
            assert counts.counts[j, k] == np.count_nonzero((group == GROUPS) & (labels == k))
    assert (counts.n, counts.group_sizes.tolist()) == (380, [200, 120, 60])
    assert counts.sizes.tolist() == np.bincount(labels).tolist()
    assert counts.counts.dtype == np.int64
    assert tally(np.array([0, 1, 1]), np.array([2, 0, 0]), 2, 3).tolist() == [[0, 0, 1], [2, 0, 0]]


@pytest.mark.parametrize(("sizes", "c"), [((4, 2), 3), ((3, 3), 2), ((4, 2, 2), 2)])
def test_theorem_1_on_every_clustering(sizes, c):
    n, groups = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    lowest = sum(size**2 for size in sizes) / n
    seen = set()
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
    assert (False, False) in seen
    assert (True, False) in seen
    assert ((False, True) in seen) == (c >= len(sizes))


def test_parts_add_up_to_the_whole():
    labels = clustering(0.4)
    first = np.arange(380) < 210  # one group and some clusters are absent from one part
    parts = [ClusterCounts.from_labels(labels[part], GROUPS[part]) for part in (first, ~first)]
    whole = ClusterCounts.from_labels(labels, GROUPS)
    for total in (parts[0] + parts[1], parts[1] + parts[0]):
        assert total.labels.tolist() == whole.labels.tolist()
        assert total.clusters.tolist() == whole.clusters.tolist()
        assert np.array_equal(total.counts, whole.counts)
    assert measures(parts[0]) != measures(whole)


def test_names_and_order_do_not_matter():
    labels, order = clustering(0.4), np.random.default_rng(1).permutation(380)
    names = np.array(["z", "p", "q", "m"])
    renamed = ClusterCounts.from_labels(names[labels][order], np.where(GROUPS == "a", "x", GROUPS)[order])
    assert measures(renamed) == pytest.approx(measures(ClusterCounts.from_labels(labels, GROUPS)), rel=1e-12)
    shuffled = ClusterCounts.from_labels(labels[order], GROUPS)
    assert shuffled.fair_gap < 0.1 < ClusterCounts.from_labels(labels, GROUPS).fair_gap


def test_empty_clusters_are_kept_and_ignored():
    labels = clustering(0.4)
    with_empty, without = ClusterCounts.from_labels(labels, GROUPS, 7), ClusterCounts.from_labels(labels, GROUPS)
    assert with_empty.sizes.tolist() == [*without.sizes.tolist(), 0, 0, 0]
    assert measures(with_empty) == measures(without)


def test_one_group_has_nothing_to_be_fair_to():
    counts = ClusterCounts.from_labels(np.arange(10) % 3, np.full(10, "a"))
    assert (counts.regulariser, counts.fair_gap, counts.balance) == (pytest.approx(10.0), 0.0, 1.0)
    assert np.isnan(counts.mnce)


def test_refusals():
    with pytest.raises(GroupError, match="whole numbers from 0 to 2; seen were 0, 3"):
        ClusterCounts.from_labels([0, 3], ["a", "b"], 3)
    with pytest.raises(GroupError, match="whole numbers from 0 to 2"):
        ClusterCounts.from_labels([0.0, 1.0], ["a", "b"], 3)
    with pytest.raises(GroupError):
        ClusterCounts.from_labels([0, 1, 1], ["a", "b"])
    labels = np.arange(2)
    for counts in (np.ones((2, 3), dtype=int), np.ones((2, 2)), np.array([[1, -1], [1, 1]])):
        with pytest.raises(GroupError, match="needed are whole numbers from 0"):
            ClusterCounts(labels, labels, counts)
    with pytest.raises(GroupError, match="all counts are zero"):
        ClusterCounts(labels, labels, np.zeros((2, 2), dtype=int))
