"""K-means with a promised balance: the assignment against its linear programme, promises kept, k-means the control."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.cluster import KMeans

from evenspan import FairAssignmentKMeans
from evenspan.clustering.fair_assignment import Promise, assign, whole_counts
from evenspan.clustering.transport import squared_distances
from evenspan.core.errors import ConfigurationError, DataError
from evenspan.metrics import balance


def draw(n, G=2, d=3, seed=0):
    """Points around six centres, with groups that lie apart."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(G, size=n, p=np.arange(G, 0, -1) / (G * (G + 1) / 2))
    X = rng.normal(size=(n, d)) + rng.integers(0, 6, size=n)[:, None] * rng.normal(size=d)
    return X + 1.5 * np.outer(groups, rng.normal(size=d)), np.array(["f", "m", "x", "y"])[groups]


def programme(costs, codes, promises):
    """The cheapest fractional assignment, with an unknown for every point and cluster."""
    n, c = costs.shape
    width = n * c + len(promises) * c
    rows = []
    for a, promise in enumerate(promises):
        for members, k in itertools.product(promise.members, range(c)):
            count = np.zeros(width)
            count[: n * c].reshape(n, c)[:, k] = members[codes]
            top = np.zeros(width)
            top[n * c + a * c + k] = 1.0
            rows += [count - top, promise.balance * top - count]
    one = np.hstack([np.kron(np.eye(n), np.ones(c)), np.zeros((n, len(promises) * c))])
    cost = np.append(costs.ravel(), np.zeros(len(promises) * c))
    return linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=one, b_eq=np.ones(n)).fun


@pytest.mark.parametrize(("G", "share"), [(2, 0.9), (2, 0.3), (3, 0.7), (4, 0.6)])
def test_prices_reach_the_linear_programme_and_every_price_is_a_bound(G, share):
    X, groups = draw(70, G, seed=G)
    codes = np.unique(groups, return_inverse=True)[1]
    costs = squared_distances(X, np.random.default_rng(1).normal(size=(3, X.shape[1])) * 3)
    sizes = np.bincount(codes)
    promises = [Promise(np.eye(G), share * sizes.min() / sizes.max())]
    found = assign(costs, codes, promises, np.zeros((G, 3)))
    exact = programme(costs, codes, promises)
    assert found.value == pytest.approx(exact, rel=2e-4)
    assert found.bound <= exact * (1 + 1e-9)
    assert found.bound >= exact * (1 - 2e-4)
    assert exact > costs.min(axis=1).sum() * 1.001  # the promise costs something
    # Its counts, fractional and whole, add up and keep the promise.
    counts, whole = found.counts(), whole_counts(found.counts(), promises)
    for one in (counts, whole):
        np.testing.assert_allclose(one.sum(axis=1), sizes)
        assert (one.min(axis=0) >= promises[0].balance * one.max(axis=0) - 1e-6).all()
    assert np.abs(whole - counts).max() <= G
    labels = found.rounded(costs, promises)
    np.testing.assert_array_equal([np.bincount(labels[codes == g], minlength=3) for g in range(G)], whole)
    assert costs[np.arange(70), labels].sum() >= found.bound


def test_counts_over_which_the_solver_stumbles_are_rounded_all_the_same():
    counts = np.array([[6.95, 1.25, 4.8], [7.0, 1.0, 6.0]])
    found = whole_counts(counts, [Promise(np.eye(2), 0.8)])
    np.testing.assert_array_equal(found, [[7, 1, 5], [7, 1, 6]])


def test_a_turn_never_costs_more_and_its_means_are_weighed_by_the_shares():
    X, groups = draw(300, seed=4)
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    promises, prices = [Promise(np.eye(2), 0.9 * sizes.min() / sizes.max())], np.zeros((2, 4))
    centres, values = X[:4].copy(), []
    for _ in range(12):
        found = assign(squared_distances(X, centres), codes, promises, prices)
        weights, centres, prices = found.counts().sum(axis=0), found.means(X, centres), found.prices
        np.testing.assert_allclose(weights @ centres, X.sum(axis=0))  # everybody is somewhere, once
        values.append(found.value)
    assert (np.diff(values) <= 2e-4 * values[0]).all()  # but for how well an assignment is solved
    assert values[-1] < 0.8 * values[0]


def test_two_attributes_are_promised_something_each():
    X, groups = draw(400, 3, seed=5)
    rng = np.random.default_rng(2)
    both = np.column_stack([groups, rng.choice(["old", "young"], size=400, p=[0.7, 0.3])])
    model = FairAssignmentKMeans(4).fit(X, sensitive_features=both)
    plain = KMeans(4, n_init=1, random_state=0).fit(X)
    for column, reached in zip(both.T, model.balances_, strict=True):
        counts = np.unique(column, return_counts=True)[1]
        promised = 0.9 * counts.min() / counts.max()
        assert balance(model.labels_, column) == pytest.approx(reached)
        assert reached >= promised
    assert balance(plain.labels_, groups) < 0.5 * model.balances_[0]  # the control keeps nothing
    crossed = FairAssignmentKMeans(4, attributes="intersection").fit(X, sensitive_features=both)
    assert len(crossed.balances_) == 1
    assert crossed.counts_.balance == pytest.approx(crossed.balances_[0])


@pytest.mark.parametrize("asked", [0.0, 0.1, 0.4, None])
def test_the_promise_is_kept_beside_a_bound_and_k_means_breaks_it(asked):
    X, groups = draw(600)
    counts = np.unique(groups, return_counts=True)[1]
    promised = 0.9 * counts.min() / counts.max() if asked is None else asked
    model = FairAssignmentKMeans(5, min_balance=asked).fit(X, sensitive_features=groups)
    assert balance(model.labels_, groups) >= promised
    assert 0 <= model.certificate_.gap <= 0.02 * model.inertia_
    assert model.inertia_ == pytest.approx(((X - model.centers_[model.labels_]) ** 2).sum())
    plain = KMeans(5, n_init=1, random_state=0).fit(X)
    if promised > 0.05:
        assert balance(plain.labels_, groups) < promised
    if asked == 0.0:
        assert model.inertia_ <= plain.inertia_ * (1 + 1e-9)  # nothing promised: k-means


def test_brute_force_on_few_points_is_not_below_the_bound():
    X, groups = draw(10, seed=3)
    codes = np.unique(groups, return_inverse=True)[1]
    model = FairAssignmentKMeans(2, min_balance=0.2).fit(X, sensitive_features=groups)
    costs = squared_distances(X, model.centers_)
    fair = []
    for labels in itertools.product(range(2), repeat=10):
        counts = np.array([[np.sum((codes == g) & (np.array(labels) == k)) for k in range(2)] for g in range(2)])
        if (counts.min(axis=0) >= 0.2 * counts.max(axis=0)).all() and counts.any(axis=0).all():
            fair.append(costs[np.arange(10), list(labels)].sum())
    assert model.certificate_.dual <= min(fair) + 1e-9
    assert model.inertia_ >= min(fair) - 1e-9


def test_what_cannot_be_promised_is_refused():
    X, groups = draw(200)
    with pytest.raises(ConfigurationError, match=r"min_balance=0\.99, but the balance of the whole sample .*Ask for"):
        FairAssignmentKMeans(3, min_balance=0.99).fit(X, sensitive_features=groups)
    with pytest.raises(DataError, match="no whole numbers of points"):
        FairAssignmentKMeans(6, min_balance=0.15).fit(X[:20], sensitive_features=["a"] * 3 + ["b"] * 17)
