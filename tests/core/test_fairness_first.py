"""Fairness-first clustering: each stage beside enumeration, the whole beside k-means on data where that is unfair."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering import fairness_first as stages
from evenspan.clustering.fairness_first import FairnessFirstClustering, Partition
from evenspan.clustering.transport import transport
from evenspan.core.cluster_counts import ClusterCounts, balance_of
from evenspan.core.errors import SingleGroupWarning


def crossed(counts=((40, 25), (30, 20), (20, 15)), seed=0):
    """Groups far apart along one axis, clusters nearer along another: k-means of two clusters finds groups."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(3), [sum(pair) for pair in counts])
    side = np.concatenate([np.repeat([0, 1], pair) for pair in counts])
    X = rng.normal(size=(len(codes), 4)) * [0.5, 0.7, 0.3, 0.2] + np.outer(9.0 * codes, [1, 0, 0, 0])
    X[:, 1] += 3.0 * side
    order = rng.permutation(len(codes))
    return X[order], np.array(["azure", "beige", "crimson"])[codes][order]


X, GROUPS = crossed()


def fit(c=3, data=X, groups=GROUPS, **options):
    return FairnessFirstClustering(c, **options).fit(data, sensitive_features=groups)


def inertia(X, labels) -> float:
    return sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))


def changed(labels, *pairs):
    after = labels.copy()
    for i, k in pairs:
        after[i] = k
    return after


def roundings(group_sizes, sizes):
    """Every table of shares rounded down or up with the right sum for each group and no empty cluster."""
    low, rest = np.divmod(np.multiply.outer(group_sizes, sizes), sizes.sum())
    free = np.argwhere(rest > 0)
    for bits in itertools.product((0, 1), repeat=len(free)):
        table = low.copy()
        table[tuple(free.T)] += np.array(bits, dtype=int)
        if (table.sum(axis=1) == group_sizes).all() and table.sum(axis=0).all():
            yield table


@pytest.mark.parametrize("seed", range(24))
def test_the_counts_are_the_best_balanced_roundings_nearest_to_the_shares(seed):
    rng = np.random.default_rng(seed)
    G, c = [(1, 4), (2, 2), (2, 4), (3, 3), (3, 2), (4, 2)][seed % 6]
    group_sizes = rng.integers(4, 14, size=G)
    n = int(group_sizes.sum())
    sizes = 1 + rng.multinomial(n - c, rng.dirichlet(np.ones(c)))
    found, every = stages.fair_counts(group_sizes, sizes), list(roundings(group_sizes, sizes))
    best, shares = max(map(balance_of, every)), np.multiply.outer(group_sizes, sizes) / n
    assert any(np.array_equal(found, table) for table in every)
    assert balance_of(found) == pytest.approx(best, abs=1e-12)
    off = [((t - shares) ** 2).sum() for t in every if balance_of(t) >= best - 1e-12]
    assert ((found - shares) ** 2).sum() == pytest.approx(min(off), abs=1e-9)


def test_rounding_the_largest_remainders_up_would_not_do():
    assert stages.fair_counts(np.array([2, 2, 6]), np.array([4, 6])).tolist() == [[1, 1], [1, 1], [3, 3]]


@pytest.mark.parametrize("seed", range(15))
def test_the_assignment_is_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(11, 60)), int(rng.integers(1, 7))
    costs = rng.random((n, c)) if seed % 3 else np.round(3 * rng.random((n, c)))  # with many ties
    capacities = rng.multinomial(n, rng.dirichlet(np.ones(c)))
    labels, places = transport(costs, capacities), np.repeat(np.arange(c), capacities)
    assert np.array_equal(np.bincount(labels, minlength=c), capacities)
    rows, columns = linear_sum_assignment(costs[:, places])
    reached = costs[np.arange(n), labels].sum()
    assert reached == pytest.approx(costs[rows, places[columns]].sum(), abs=1e-9)
    if seed % 3 and (capacities > 0).sum() > 1:  # the control: filling one cluster after another is dearer
        assert costs[np.arange(n), places].sum() > reached


class Watched(Partition):
    """Keeps the sum of squares and the counts after every change."""

    def __init__(self, *args):
        super().__init__(*args)
        self.seen = [(self.inertia, self.counts.copy())]

    def move(self, i, target):
        super().move(i, target)
        self.seen.append((self.inertia, self.counts.copy()))

    def swap(self, i, other):
        assert self.codes[i] == self.codes[other]
        super().swap(i, other)
        self.seen.append((self.inertia, self.counts.copy()))


def watched(seed=0, fair=True):
    """A few points in their fair start, or at random."""
    points, groups = crossed(((12, 7), (9, 8), (6, 6)), seed)
    codes, rng = np.unique(groups, return_inverse=True)[1], np.random.default_rng(seed)
    labels = stages.fair_start(points, codes, 3, rng) if fair else rng.integers(0, 3, len(points))
    return Watched(points - points.mean(axis=0), codes, labels, 3)


@pytest.mark.parametrize("share", [0.3, 0.7, 1.0])
def test_moves_are_greedy_and_end_where_no_allowed_move_helps(share):
    p = watched()
    start, floor = p.labels.copy(), share * balance_of(p.counts)

    def allowed(labels):
        for i, k in itertools.product(range(len(start)), range(3)):
            table = ClusterCounts.from_labels(changed(labels, (i, k)), p.codes, 3)
            if k != labels[i] and table.sizes.all() and table.balance >= floor - 1e-12:
                yield inertia(p.X, changed(labels, (i, k)))

    best = min(allowed(start), default=np.inf)
    moves, values = stages.move_points(p, floor), [value for value, _ in p.seen]
    assert moves == len(values) - 1
    assert all(np.diff(values) < 0)
    assert all(balance_of(table) >= floor - 1e-12 for _, table in p.seen)
    assert moves > 0 or share > 0.7
    assert (values[1] == pytest.approx(best)) if moves else (best >= values[0] - 1e-9)
    assert min(allowed(p.labels), default=np.inf) >= p.inertia - 1e-9
    fresh = Partition(p.X, p.codes, p.labels, 3)
    for name in ("counts", "sizes", "sums", "products"):  # kept up to date are those computed anew
        np.testing.assert_allclose(getattr(p, name), getattr(fresh, name), atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_swaps_change_no_count_and_end_where_no_swap_helps(seed, monkeypatch):
    monkeypatch.setattr(stages, "NARROW", 2)  # several parts of a group
    p = watched(seed, fair=False)
    swaps, _, converged = stages.swap_points(p, 100)
    values = [value for value, _ in p.seen]
    assert swaps == len(values) - 1 > 0
    assert converged
    assert all(np.diff(values) < 0)
    assert all(np.array_equal(table, p.seen[0][1]) for _, table in p.seen)
    for i, j in itertools.combinations(range(len(p.labels)), 2):
        if p.codes[i] == p.codes[j]:
            assert inertia(p.X, changed(p.labels, (i, p.labels[j]), (j, p.labels[i]))) >= p.inertia - 1e-9


@pytest.mark.parametrize("c", [2, 3, 5])
def test_it_is_fair_where_k_means_is_not_and_the_stages_say_how(c):
    model = fit(c, threshold=0.8)
    names, values, balances = zip(*((s["stage"], s["inertia"], s["balance"]) for s in model.stages_), strict=True)
    assert names == ("fair start", "moves", "swaps")
    assert values[0] >= values[1] >= values[2] == pytest.approx(model.inertia_)
    assert balances[1] == balances[2] == model.counts_.balance >= 0.8 * balances[0] > 0.8 * 0.8 * 35 / 65
    assert model.inertia_ == pytest.approx(inertia(X, model.labels_))
    np.testing.assert_allclose(model.centers_, [X[model.labels_ == k].mean(axis=0) for k in range(c)])
    plain = ClusterCounts.from_labels(KMeans(c, n_init=10, random_state=0).fit_predict(X), GROUPS)
    assert plain.balance < 0.1 < 0.9 < model.counts_.mnce
    assert np.array_equal(model.counts_.labels, ["azure", "beige", "crimson"])
    after = [fit(c, threshold=share).stages_[1]["inertia"] for share in (1.0, 0.6, 0.0)]
    assert after[0] > after[1] > after[2]


def test_one_group_is_k_means_and_single_moves_from_it():
    plain = KMeans(4, n_init=10, random_state=int(np.random.default_rng(0).integers(2**31))).fit(X - X.mean(axis=0))
    with pytest.warns(SingleGroupWarning):
        model = fit(4, groups=["all"] * len(X), on_single_group="warn")
    assert model.stages_[0]["inertia"] == pytest.approx(plain.inertia_)
    assert model.inertia_ <= plain.inertia_ + 1e-9


def test_small_groups_and_equal_points_leave_no_cluster_empty():
    rng, equal = np.random.default_rng(0), np.repeat([[0.0, 0.0], [1.0, 2.0]], 10, axis=0)
    rare = fit(6, rng.normal(size=(40, 3)), np.array(["rare"] * 3 + ["common"] * 37))
    assert rare.counts_.balance == 0.0  # three points cannot be in six clusters
    few, single = fit(4, equal, np.arange(20) % 2), fit(12, rng.normal(size=(12, 2)), np.arange(12) % 3)
    assert min(model.counts_.sizes.min() for model in (rare, few, single)) > 0
    assert single.inertia_ == 0.0


def test_an_end_before_rest_is_told():
    noisy = X + 3 * np.random.default_rng(0).normal(size=X.shape)
    with pytest.warns(ConvergenceWarning, match=r"after 1 passes.*max_iter"):
        model = fit(data=noisy, max_iter=1)
    rested = fit(data=noisy)
    assert (model.converged_, rested.converged_) == (False, True)
    assert rested.inertia_ <= model.inertia_
    assert rested.n_swaps_ >= model.n_swaps_ > 0
