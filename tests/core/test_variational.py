"""Variational fair clustering: the energy falls, its derivative is the one used, and its limits are known problems."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from compendium.data.clustering_files import standardised, unit_rows
from evenspan.clustering.kernels import indicator
from evenspan.clustering.variational import VariationalFairClustering
from evenspan.clustering.variational_round import (
    KMeansCosts,
    bound_updates,
    fairness_error,
    fairness_gradient,
)
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    FeatureTypeError,
    GroupError,
    SingleGroupWarning,
)


def crossed(seed=3, counts=(90, 50, 30)):
    """Three groups along one axis and two clusters along another that is shorter: the unconstrained optimum is unfair.

    Returns features, group names and the cluster that is fair.
    """
    rng = np.random.default_rng(seed)
    n = sum(counts)
    groups = np.repeat(["crimson", "azure", "beige"], counts)
    side = np.concatenate([np.arange(count) % 2 for count in counts])
    X = 0.4 * rng.normal(size=(n, 3))
    X[:, 0] += 4.0 * (groups == "crimson") + 5.0 * (groups == "beige")
    X[:, 1] += 2.0 * side
    order = rng.permutation(n)
    return X[order], groups[order], side[order]


X, GROUPS, SIDE = crossed()
INDICATORS = indicator(np.unique(GROUPS, return_inverse=True)[1], 3)
SHARES = INDICATORS.mean(axis=0)


def soft(S):
    """The fairness error of soft assignments (c, n), written out from its definition."""
    total = 0.0
    for row in S:
        for share, column in zip(SHARES, INDICATORS.T, strict=True):
            total += share * (np.log(share) - np.log((row * column).sum(axis=0) / row.sum(axis=0)))
    return total


def some_costs(c=4, seed=5, scale=1.0):
    return scale * np.random.default_rng(seed).random((c, len(X))) * (1 + INDICATORS[:, 0])


def wide_costs():
    """As of features that nobody has scaled: a group has no mass in some cluster that a number could hold."""
    return some_costs(scale=3000.0) + 3000.0 * np.outer(np.arange(4), INDICATORS[:, 1])


# -- the bound -----------------------------------------------------------------------------------------------------


def test_the_fairness_error_is_the_divergence_of_the_shares():
    S = np.random.default_rng(0).dirichlet(np.ones(4), size=len(X)).T
    np.testing.assert_allclose(fairness_error(np.log(S @ INDICATORS).T, SHARES), soft(S), rtol=1e-12)
    proportional = np.full_like(S, 0.25)
    assert abs(fairness_error(np.log(proportional @ INDICATORS).T, SHARES)) < 1e-14


def test_the_derivative_is_that_of_the_fairness_error():
    rng = np.random.default_rng(1)
    S = rng.dirichlet(np.ones(4), size=len(X)).T
    table = fairness_gradient(np.log(S @ INDICATORS).T, SHARES)
    direction = rng.normal(size=S.shape)
    h = 1e-5
    numerical = (soft(S + h * direction) - soft(S - h * direction)) / (2 * h)
    exact = float((direction * table.T[:, INDICATORS.argmax(axis=1)]).sum(axis=None))
    np.testing.assert_allclose(exact, numerical, rtol=1e-7)
    # Control: without the term of the cluster size it is no derivative.
    wrong = table - 1.0 / S.sum(axis=1)
    assert abs(float((direction * wrong.T[:, INDICATORS.argmax(axis=1)]).sum(axis=None)) / numerical - 1) > 1e-3


def plain_updates(costs, weight, lipschitz, steps):
    """The updates as they are written, with S itself and one L; energies and the last S."""
    S = np.exp(-costs) / np.exp(-costs).sum(axis=0)
    energies = [float((S * costs).sum(axis=None)) + weight * soft(S)]
    for _ in range(steps):
        gradient = np.zeros_like(S)
        for share, column in zip(SHARES, INDICATORS.T, strict=True):
            gradient += share / S.sum(axis=1)[:, None] - np.outer(share / (S @ column), column)
        S = S * np.exp(-(costs + weight * gradient) / lipschitz)
        S /= S.sum(axis=0)
        energies.append(float((S * costs).sum(axis=None)) + weight * soft(S))
    return np.array(energies), S


def test_a_table_of_groups_and_clusters_replaces_the_updates_of_all_samples():
    costs = some_costs()
    found = bound_updates(costs, INDICATORS, 10.0, 2.0, tol=0.0, max_iter=25)
    energies, S = plain_updates(costs, 10.0, 2.0, 25)
    assert found.n_doublings == 0
    np.testing.assert_allclose(found.history, energies, rtol=1e-11)
    np.testing.assert_allclose(found.S, S, rtol=1e-8, atol=1e-14)


def test_the_energy_never_rises_where_the_fixed_step_lets_it_rise():
    costs = some_costs() + 2.0 * np.outer([1, 0, 0, 1], INDICATORS[:, 1])
    fixed, _ = plain_updates(costs, 300.0, 2.0, 1)
    assert fixed[1] > 2.0 * fixed[0]
    found = bound_updates(costs, INDICATORS, 300.0, 2.0)
    assert found.n_doublings > 0
    assert found.lipschitz > 2.0
    assert (np.diff(found.history) <= 1e-13 * np.abs(found.history[:-1])).all()
    assert found.converged


@pytest.mark.parametrize("weight", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("costs", [some_costs(), some_costs(scale=1e-3), wide_costs()], ids=["unit", "tiny", "wide"])
def test_assignments_are_on_the_simplex_and_the_energy_falls(costs, weight):
    found = bound_updates(costs, INDICATORS, weight, 2.0, max_iter=3000)
    assert np.isfinite(found.S).all()
    assert (found.S >= 0).all()
    np.testing.assert_allclose(found.S.sum(axis=0), 1.0, rtol=1e-12)
    assert np.isfinite(found.history).all()
    assert (np.diff(found.history) <= 1e-12 * np.abs(found.history[:-1])).all()


def test_mass_too_small_for_a_number_is_still_moved():
    found = bound_updates(wide_costs(), INDICATORS, 1e7, 2.0)
    begin = bound_updates(wide_costs(), INDICATORS, 1e7, 2.0, max_iter=0)
    assert (begin.S @ INDICATORS).min() == 0.0  # no number holds it
    assert begin.fairness > 1e3
    assert found.fairness < 0.05


def test_without_weight_the_softmax_hardens_to_the_cheapest_cluster():
    costs = some_costs()
    found = bound_updates(costs, INDICATORS, 0.0, 1.0, tol=1e-9)
    np.testing.assert_array_equal(found.S.argmax(axis=0), costs.argmin(axis=0))
    np.testing.assert_allclose(found.history[-1], costs.min(axis=0).sum(axis=0), rtol=1e-5)


def test_a_heavy_weight_gives_every_cluster_the_overall_shares():
    costs = some_costs() + 2.0 * np.outer([1, 0, 0, 1], INDICATORS[:, 1])
    plain, fair = (bound_updates(costs, INDICATORS, weight, 2.0, tol=1e-8) for weight in (0.0, 1e5))
    apart = [float(np.abs((r.S @ INDICATORS) / r.S.sum(axis=1)[:, None] - SHARES).max()) for r in (plain, fair)]
    assert apart[1] < 1e-3 < 0.2 < apart[0]


def test_the_smallest_problem_against_a_fine_grid():
    costs = np.array([[0.0, 0.3, 0.9], [0.8, 0.2, 0.1]])
    indicators = indicator(np.array([0, 0, 1]), 2)
    shares, best = indicators.mean(axis=0), np.inf
    grid = np.linspace(0.005, 0.995, 34)
    for first, second, third in product(grid, repeat=3):
        s = np.array([[first, second, third]])
        S = np.vstack([s, 1 - s])
        best = min(best, float((S * costs).sum(axis=None)) + 0.3 * fairness_error(np.log(S @ indicators).T, shares))
    found = bound_updates(costs, indicators, 0.3, 2.0, tol=1e-12)
    assert found.converged
    assert best - 5e-3 < found.history[-1] <= best + 1e-6  # the grid is coarser than the answer


# -- the costs -----------------------------------------------------------------------------------------------------


def test_costs_of_k_means_against_their_definition():
    labels = np.arange(len(X)) % 3
    for problem in (KMeansCosts(X), KMeansCosts(sparse.csr_array(X))):
        centres, centred = problem.update(labels, 3), X - problem.origin
        away = np.linalg.norm(centred[None] - centres[:, None], axis=2)
        np.testing.assert_allclose(problem.costs(centres), away**2, atol=1e-7)
        for k, centre in enumerate(centres):
            np.testing.assert_allclose(centre, centred[labels == k].mean(axis=0), atol=1e-12)


# -- the estimator -------------------------------------------------------------------------------------------------


def fit(data=X, groups=GROUPS, n_clusters=2, **options):
    return VariationalFairClustering(n_clusters, **options).fit(data, sensitive_features=groups)


def test_without_weight_it_is_lloyds_k_means():
    model = fit(n_clusters=4, fairness_weight=0, tol=0.0)
    away = np.linalg.norm(X[:, None] - model.centers_[None], axis=2)
    np.testing.assert_array_equal(away.argmin(axis=1), model.labels_)  # a fixed point of Lloyd
    again = KMeans(4, init=model.centers_, n_init=1).fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_allclose(model.clustering_energy_, again.inertia_, rtol=1e-10)


def test_weight_makes_crossed_data_fair_and_none_leaves_them_unfair():
    plain, fair = (fit(fairness_weight=weight) for weight in (0.0, 1000.0))
    assert plain.counts_.balance == 0.0
    assert plain.fairness_error_ > 0.5 > 0.05 > fair.fairness_error_
    assert fair.counts_.mnce > 0.97
    assert plain.clustering_energy_ < fair.clustering_energy_
    np.testing.assert_allclose(fair.soft_labels_.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(fair.soft_labels_.argmax(axis=1), fair.labels_)
    assert (fair.counts_.sizes > 0).all()
    assert fair.converged_


def test_what_is_stored_is_what_the_labels_say():
    model = fit(fairness_weight=400.0, n_clusters=3)
    counts = ClusterCounts.from_labels(model.labels_, GROUPS, 3)
    np.testing.assert_array_equal(model.counts_.counts, counts.counts)
    np.testing.assert_array_equal(model.group_labels_, np.unique(GROUPS))
    shares = counts.counts / counts.sizes
    divergence = float((SHARES[:, None] * np.log(SHARES[:, None] / shares)).sum(axis=None))
    np.testing.assert_allclose(model.fairness_error_, divergence, rtol=1e-12)
    sse = sum(((X[model.labels_ == k] - model.centers_[k]) ** 2).sum(axis=None) for k in range(3))
    np.testing.assert_allclose(model.clustering_energy_, sse, rtol=1e-10)
    S = model.soft_labels_.T
    costs = ((X[None] - model.centers_[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(model.energy_, float((S * costs).sum(axis=None)) + 400.0 * soft(S), rtol=1e-9)
    np.testing.assert_allclose(model.history_[-1], model.energy_, rtol=1e-12)
    assert model.n_iter_ == len(model.history_) >= 2


def test_names_and_order_of_groups_do_not_matter():
    model = fit(fairness_weight=50.0, n_clusters=3)
    renamed = np.select([GROUPS == "crimson", GROUPS == "azure"], [7, 1], 3)
    other = fit(groups=renamed, fairness_weight=50.0, n_clusters=3)
    np.testing.assert_array_equal(model.labels_, other.labels_)


def test_one_group_feels_no_weight():
    options = {"groups": np.ones(len(X)), "on_single_group": "warn"}
    with pytest.warns(SingleGroupWarning):
        labels = [fit(fairness_weight=weight, **options).labels_ for weight in (0.0, 1e3)]
    np.testing.assert_array_equal(*labels)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_small_problems_against_all_partitions(weight):
    rng = np.random.default_rng(11)
    points, groups = rng.normal(size=(9, 2)), np.array([0, 1, 1] * 3)

    def energy(labels):
        counts = ClusterCounts.from_labels(labels, groups).counts
        if counts.shape[1] < 2 or (weight and (counts == 0).any()):
            return np.inf
        unfair = fairness_error(np.log(counts), np.array([1 / 3, 2 / 3])) if weight else 0.0
        sse = sum(((points[labels == k] - points[labels == k].mean(axis=0)) ** 2).sum(axis=None) for k in (0, 1))
        return sse + weight * unfair

    optimum = min(energy(np.array(labels)) for labels in product((0, 1), repeat=9))
    reached = [energy(fit(points, groups, fairness_weight=weight, random_state=seed).labels_) for seed in range(12)]
    assert min(reached) >= optimum - 1e-9
    assert min(reached) <= 1.05 * optimum


def test_sparse_features_are_not_made_dense_differently():
    dense, thin = fit(X, fairness_weight=20.0), fit(sparse.csr_array(X), fairness_weight=20.0)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)


def test_the_curve_is_made_of_fits():
    weights = [1000.0, 0.0, 30.0, 100.0]
    clusterer = VariationalFairClustering(2)
    curve = clusterer.curve(X, weights, sensitive_features=GROUPS)
    for weight, point in zip(weights, curve, strict=True):
        np.testing.assert_array_equal(point.labels, fit(fairness_weight=weight).labels_)


def test_an_empty_cluster_leads_to_new_seeds_and_then_to_a_former_state():
    class Emptying(KMeansCosts):
        """Costs at which nobody is assigned to the last cluster, from the second time on that they are asked for."""

        asked = 0

        def costs(self, centres):
            self.asked += 1
            found = super().costs(centres)
            found[-1] += 1e3 * (self.asked > 1)
            return found

    from evenspan.clustering.variational import variational_rounds

    problem = Emptying(X)
    rng = np.random.default_rng(0)
    found = variational_rounds(problem, INDICATORS, 3, 0.0, problem.seeds(3, rng), 1)
    assert problem.asked == 5  # at the start, with the first means, and with three new sets of seeds
    assert found.degenerate
    assert not found.converged
    assert (np.bincount(found.labels, minlength=3) > 0).all()


def test_standardised_columns_and_rows_of_unit_length():
    data = np.column_stack([1e3 + X[:, 0], 1e-3 * X[:, 1], np.full(len(X), 0.1), X[:, 2]])
    scaled = unit_rows(standardised(data))
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), 1.0, rtol=1e-12)
    assert (scaled[:, 2] == 0).all()
    standard = (data - data.mean(axis=0))[:, [0, 1, 3]] / data.std(axis=0)[[0, 1, 3]]
    cosine = np.einsum("nd,nd->n", scaled[:, [0, 1, 3]], standard) / np.linalg.norm(standard, axis=1)
    np.testing.assert_allclose(cosine, 1.0, rtol=1e-9)
    assert (unit_rows(standardised(np.ones((3, 2)))) == 0).all()


# -- flags and refusals --------------------------------------------------------------------------------------------


def test_too_few_rounds_or_updates_are_flagged():
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = fit(n_clusters=4, fairness_weight=30.0, max_iter=1)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match="max_bound_iter"):
        assert not fit(n_clusters=4, fairness_weight=30.0, max_bound_iter=2).converged_


REFUSALS = {
    "weight": ({"fairness_weight": -1.0}, ConfigurationError, ["fairness_weight=-1.0", "at least 0"]),
    "weight nan": ({"fairness_weight": np.nan}, ConfigurationError, ["nan", "finite"]),
    "rounds": ({"max_iter": 0}, ConfigurationError, ["max_iter=0", "at least 1"]),
    "tolerance": ({"tol": -1e-3}, ConfigurationError, ["tol=-0.001"]),
    "updates": ({"max_bound_iter": 1.5}, ConfigurationError, ["max_bound_iter=1.5"]),
    "seed": ({"random_state": "zero"}, ConfigurationError, ["random_state='zero'"]),
    "clusters": ({"n_clusters": 171}, ComponentsError, ["n_clusters=171", "at most 170"]),
    "equal points": ({"data": np.ones((170, 2))}, DataError, ["1 different", "n_clusters=2", "at most 1"]),
    "nan": ({"data": np.where(np.arange(3) == 1, np.nan, X)}, ValueError, ["NaN"]),
    "text": ({"data": np.column_stack([X.astype(object), GROUPS])}, FeatureTypeError, ["column 3 of X"]),
    "no groups": ({"groups": None}, GroupError, ["None"]),
    "lengths": ({"groups": GROUPS[:9]}, GroupError, ["9 rows", "X has 170"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_say_what_was_seen_and_needed(case):
    options, error, words = REFUSALS[case]
    with pytest.raises(error) as told:
        fit(**options)
    for word in words:
        assert word in str(told.value)


def test_refusals_of_the_curve():
    with pytest.raises(ConfigurationError, match="a fairness weight=-2"):
        VariationalFairClustering(2).curve(X, [1, -2], sensitive_features=GROUPS)
