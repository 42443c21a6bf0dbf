"""Variational fair clustering: the energy falls, its derivative is the one used, and its limits are known problems."""

from itertools import product

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering import variational as bound
from evenspan.clustering.kernels import indicator
from evenspan.clustering.variational import KMeansCosts, VariationalFairClustering, variational_rounds
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import SingleGroupWarning


def crossed():
    """Three groups along one axis and two clusters along a shorter one: the unconstrained optimum is unfair."""
    rng, counts = np.random.default_rng(3), (90, 50, 30)
    groups = np.repeat(["crimson", "azure", "beige"], counts)
    X = 0.4 * rng.normal(size=(170, 3))
    X[:, 0] += 4.0 * (groups == "crimson") + 5.0 * (groups == "beige")
    X[:, 1] += 2.0 * np.concatenate([np.arange(count) % 2 for count in counts])
    order = rng.permutation(170)
    return X[order], groups[order]


X, GROUPS = crossed()
INDICATORS = indicator(np.unique(GROUPS, return_inverse=True)[1], 3)
SHARES = INDICATORS.mean(axis=0)


def fit(data=X, groups=GROUPS, n_clusters=2, **options):
    return VariationalFairClustering(n_clusters, **options).fit(data, sensitive_features=groups)


def soft(S):
    """The fairness error of soft assignments (c, n), written out from its definition."""
    total = 0.0
    for row in S:
        for share, column in zip(SHARES, INDICATORS.T, strict=True):
            total += share * (np.log(share) - np.log((row * column).sum(axis=0) / row.sum(axis=0)))
    return total


def some_costs(scale=1.0):
    return scale * np.random.default_rng(5).random((4, len(X))) * (1 + INDICATORS[:, 0])


#: As of features that nobody has scaled: a group has no mass in some cluster that a number could hold.
WIDE = some_costs(3000.0) + 3000.0 * np.outer(np.arange(4), INDICATORS[:, 1])
UNEQUAL = some_costs() + 2.0 * np.outer([1, 0, 0, 1], INDICATORS[:, 1])


def test_the_fairness_error_and_its_derivative():
    rng = np.random.default_rng(1)
    S, direction, h = rng.dirichlet(np.ones(4), size=len(X)).T, rng.normal(size=(4, len(X))), 1e-5
    np.testing.assert_allclose(bound.fairness_error(np.log(S @ INDICATORS).T, SHARES), soft(S), rtol=1e-12)
    assert abs(bound.fairness_error(np.log(np.full_like(S, 0.25) @ INDICATORS).T, SHARES)) < 1e-14
    table, codes = bound.fairness_gradient(np.log(S @ INDICATORS).T, SHARES), INDICATORS.argmax(axis=1)
    numerical = (soft(S + h * direction) - soft(S - h * direction)) / (2 * h)
    np.testing.assert_allclose(float((direction * table.T[:, codes]).sum(axis=None)), numerical, rtol=1e-7)
    # the control: without the term of the cluster size it is no derivative
    wrong = table - 1.0 / S.sum(axis=1)
    assert abs(float((direction * wrong.T[:, codes]).sum(axis=None)) / numerical - 1) > 1e-3


def plain_updates(costs, weight, steps):
    """The updates as they are written, with S itself and L = 2; energies and the last S."""
    S = np.exp(-costs) / np.exp(-costs).sum(axis=0)
    energies = [float((S * costs).sum(axis=None)) + weight * soft(S)]
    for _ in range(steps):
        gradient = np.zeros_like(S)
        for share, column in zip(SHARES, INDICATORS.T, strict=True):
            gradient += share / S.sum(axis=1)[:, None] - np.outer(share / (S @ column), column)
        S = S * np.exp(-(costs + weight * gradient) / 2.0)
        S /= S.sum(axis=0)
        energies.append(float((S * costs).sum(axis=None)) + weight * soft(S))
    return np.array(energies), S


def test_a_table_of_groups_and_clusters_replaces_the_updates_of_all_samples():
    found = bound.bound_updates(some_costs(), INDICATORS, 10.0, tol=0.0, max_iter=25)
    energies, S = plain_updates(some_costs(), 10.0, 25)
    np.testing.assert_allclose(found.history, energies, rtol=1e-11)
    np.testing.assert_allclose(found.S, S, rtol=1e-8, atol=1e-14)


def test_the_energy_never_rises_where_the_fixed_step_lets_it_rise():
    fixed, _ = plain_updates(UNEQUAL, 300.0, 1)
    assert fixed[1] > 2.0 * fixed[0]
    found = bound.bound_updates(UNEQUAL, INDICATORS, 300.0)
    assert (np.diff(found.history) <= 1e-13 * np.abs(found.history[:-1])).all()
    assert found.converged


def test_mass_too_small_for_a_number_is_still_moved():
    begin, found = (bound.bound_updates(WIDE, INDICATORS, 1e7, max_iter=most) for most in (0, 10_000))
    assert (begin.S @ INDICATORS).min() == 0.0  # no number holds it
    assert begin.fairness > 1e3 > 0.05 > found.fairness


def test_the_smallest_problem_against_a_fine_grid():
    costs, indicators = np.array([[0.0, 0.3, 0.9], [0.8, 0.2, 0.1]]), indicator(np.array([0, 0, 1]), 2)
    shares, best = indicators.mean(axis=0), np.inf
    for s in product(np.linspace(0.005, 0.995, 34), repeat=3):
        S = np.array([s, 1 - np.array(s)])
        unfair = bound.fairness_error(np.log(S @ indicators).T, shares)
        best = min(best, float((S * costs).sum(axis=None)) + 0.3 * unfair)
    found = bound.bound_updates(costs, indicators, 0.3, tol=1e-12)
    assert found.converged
    assert best - 5e-3 < found.history[-1] <= best + 1e-6  # the grid is coarser than the answer


def test_without_weight_it_is_lloyds_k_means():
    model = fit(X + 1e5, n_clusters=4, fairness_weight=0, tol=0.0)
    again = KMeans(4, init=model.centers_ - 1e5, n_init=1).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)  # a fixed point of Lloyd
    np.testing.assert_allclose(model.centers_ - 1e5, again.cluster_centers_, atol=1e-8)
    np.testing.assert_allclose(model.inertia_, again.inertia_, rtol=1e-8)


def test_weight_makes_crossed_data_fair_and_none_leaves_them_unfair():
    plain, fair = (fit(fairness_weight=weight) for weight in (0.0, 1000.0))
    assert plain.counts_.balance == 0.0
    assert plain.fairness_error_ > 0.5 > 0.05 > fair.fairness_error_
    assert fair.counts_.mnce > 0.97
    assert plain.inertia_ < fair.inertia_
    assert fair.converged_
    with pytest.warns(SingleGroupWarning):  # one group feels no weight
        labels = [fit(groups=["all"] * 170, on_single_group="warn", fairness_weight=w).labels_ for w in (0.0, 1e3)]
    np.testing.assert_array_equal(*labels)


def test_what_is_stored_is_what_the_labels_say():
    model = fit(fairness_weight=400.0, n_clusters=3)
    counts = ClusterCounts.from_labels(model.labels_, GROUPS, 3)
    np.testing.assert_array_equal(model.counts_.counts, counts.counts)
    divergence = float((SHARES[:, None] * np.log(SHARES[:, None] / (counts.counts / counts.sizes))).sum(axis=None))
    np.testing.assert_allclose(model.fairness_error_, divergence, rtol=1e-12)
    S, costs = model.soft_labels_.T, ((X[None] - model.centers_[:, None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(S.argmax(axis=0), model.labels_)
    np.testing.assert_allclose(model.inertia_, costs[model.labels_, np.arange(170)].sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.soft_fairness_error_, soft(S), rtol=1e-9)
    np.testing.assert_allclose(model.objective_, float((S * costs).sum(axis=None)) + 400.0 * soft(S), rtol=1e-9)
    np.testing.assert_allclose(model.history_[-1], model.objective_, rtol=1e-12)
    assert model.n_iter_ == len(model.history_) >= 2
    for weight, point in zip((400.0, 30.0), VariationalFairClustering(3).curve(
        X, [400.0, 30.0], sensitive_features=np.char.upper(GROUPS)), strict=True):  # fmt: skip
        np.testing.assert_array_equal(point.labels, fit(fairness_weight=weight, n_clusters=3).labels_)


def test_an_empty_cluster_leads_to_new_seeds_and_then_to_a_former_state():
    class Emptying(KMeansCosts):
        """Costs at which nobody is assigned to the last cluster, from the second time on that they are asked for."""

        asked = 0

        def costs(self, centres):
            self.asked += 1
            return super().costs(centres) + 1e3 * (self.asked > 1) * (np.arange(3) == 2)[:, None]

        def seeds(self, c, rng):
            return KMeansCosts(X).seeds(c, rng)

    problem, rng = Emptying(X), np.random.default_rng(0)
    found = variational_rounds(problem, INDICATORS, problem.seeds(3, rng), 0.0, rng)
    assert problem.asked == 5  # at the start, with the first means, and with three new sets of seeds
    assert (found.degenerate, found.converged) == (True, False)
    assert (np.bincount(found.labels, minlength=3) > 0).all()


def test_too_few_rounds_or_updates_are_flagged():
    for options in ({"max_iter": 1}, {"max_bound_iter": 2}):
        with pytest.warns(ConvergenceWarning, match="Raise max_iter or max_bound_iter"):
            assert not fit(n_clusters=4, fairness_weight=30.0, **options).converged_
