"""Fair clustering by alignment: the decomposition of the cost, the cheapest pairs, and what pairs guarantee."""

from itertools import combinations, permutations

import numpy as np
import pytest

from evenspan.clustering import FairAlignmentClustering, KernelKMeans
from evenspan.clustering.alignment import aligned, couple, couple_by_clusters
from evenspan.clustering.transport import squared_distances
from evenspan.core.errors import ComponentsError, GroupError


def made(sizes, seed=0):
    """Two groups whose means are farther apart than the two clusters in either of them."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b"], sizes)
    X = rng.normal(size=(len(groups), 2)) + np.outer(groups == "b", [8.0, 0.0])
    return X + np.outer(np.arange(len(groups)) % 2, [0.0, 5.0]), groups


def test_pairs_are_the_cheapest_with_even_columns():
    costs = np.random.default_rng(1).random((5, 2))
    found = couple(costs)
    even = [np.isin(range(5), ones) for size in (2, 3) for ones in combinations(range(5), size)]
    least = min(costs[np.arange(5), chosen.astype(int)].sum() for chosen in even)
    assert costs[np.arange(5), found].sum() == pytest.approx(least)


def test_of_all_pairs_and_their_clusters_the_answer_is_the_best():
    X, groups = made((4, 4))
    model = FairAlignmentClustering(2).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(model.counts_.counts, [[2, 2], [2, 2]])

    def cost(rows):
        return ((rows - rows.mean(axis=0)) ** 2).sum()

    orders = [list(order) for order in permutations(range(4))]
    least = min(
        cost(X[[*a[:2], *(4 + k for k in b[:2])]]) + cost(X[[*a[2:], *(4 + k for k in b[2:])]])
        for a in orders
        for b in orders
    )
    assert sum(cost(X[model.labels_ == k]) for k in (0, 1)) == pytest.approx(least)
    # the cost of pairs is that of rows, and k-means without pairs separates the groups
    assert model.inertia_ == pytest.approx(2.0 * model.history_[-1])
    assert set(KernelKMeans(2).fit(X).labels_[:4]) != set(KernelKMeans(2).fit(X).labels_[4:])


def test_a_turn_states_the_cost_of_its_pairs_and_never_raises_it():
    X, groups = made((30, 75), seed=2)
    rows = np.flatnonzero(groups == "a"), np.flatnonzero(groups == "b")
    pairs, centres, history, converged = aligned(X, rows, 2, 50, 0)
    first, second = (((X[part, None] - centres) ** 2).sum(axis=2) for part in rows)
    assert history[-1] == pytest.approx((30 / 105 * first[pairs] + 75 / 105 * second).min(axis=1).sum())
    assert converged
    assert (np.diff(history) <= 1e-9).all()


def test_released_rows_trade_balance_for_cost():
    X, groups = made((30, 75), seed=2)
    X[groups == "a", 1] += 5.0 * (np.arange(30) % 3 == 0)  # more of this group are in the upper cluster
    fits = [FairAlignmentClustering(2, released=r).fit(X, sensitive_features=groups) for r in (0.0, 0.05, 1.0)]
    counts = [one.counts_.counts for one in fits]
    assert np.abs(counts[0][0] - counts[0][1] * 30 / 75).max() < 1
    assert (np.diff([one.inertia_ for one in fits]) < 0).all()
    assert (np.diff([one.counts_.balance for one in fits]) <= 0).all()
    assert fits[2].counts_.balance < fits[0].counts_.balance
    np.testing.assert_array_equal(fits[2].labels_, fits[2].predict(X))
    with pytest.raises(GroupError, match="pairs two groups, and there are 3"):
        FairAlignmentClustering(2).fit(X, sensitive_features=np.arange(105) % 3)


@pytest.mark.parametrize("sizes", [(30, 30), (20, 45), (7, 28)])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_pairs_by_clusters_cost_what_those_of_all_pairs_cost(sizes, unit):
    rng = np.random.default_rng(3)
    first, second = (unit * rng.normal(size=(size, 3)) for size in sizes)
    centres, share = unit * rng.normal(size=(4, 3)), sizes[0] / sum(sizes)
    costs = share * squared_distances(first, centres)[None] + (1 - share) * squared_distances(second, centres)[:, None]
    of_pairs = costs.min(axis=2)
    pairs, cost = couple_by_clusters(share, first, second, centres)
    least = of_pairs[np.arange(sizes[1]), couple(of_pairs / unit**2)].sum()
    assert cost == pytest.approx(least, rel=1e-9)
    assert of_pairs[np.arange(sizes[1]), pairs].sum() == pytest.approx(least, rel=1e-9)
    assert np.ptp(np.bincount(pairs, minlength=sizes[0])) <= 1


def test_more_clusters_than_pairs_are_refused():
    X, groups = made((5, 5))
    with pytest.raises(ComponentsError, match=r"n_clusters=8, and the rows make 5 pairs.* at most 5 clusters"):
        FairAlignmentClustering().fit(X, sensitive_features=groups)
    assert FairAlignmentClustering(5).fit(X, sensitive_features=groups).counts_.balance == 1.0


@pytest.mark.parametrize("released", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("different", [1, 2])
def test_no_cluster_is_empty_where_few_points_differ(different, released):
    groups, X = np.tile(["a", "b"], 5), np.repeat([[1.0, 2.0], [5.0, 2.0]][:different], 10 // different, axis=0)
    fitted = FairAlignmentClustering(3, released=released).fit(X, sensitive_features=groups)
    assert (fitted.counts_.counts.sum(axis=0) > 0).all()
    assert fitted.counts_.counts.sum() == 10
