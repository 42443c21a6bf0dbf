"""The answers to the theorem claims of zhou2024, and that each search can come out the other way."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from compendium.experiments import zhou2024_attainable as attainable
from compendium.experiments import zhou2024_bound as theorem_2
from compendium.experiments import zhou2024_dense as dense
from compendium.experiments import zhou2024_theorems as theorems
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.row_update import row_updates
from evenspan.core.errors import ConfigurationError
from evenspan.metrics.clustering import balance_of, fair_gap_of, mnce_of, regulariser_of

EXPECTED = {
    "Z01": "holds in part",
    "Z02": "holds",
    "Z03": "holds in part",
    "Z04": "holds",
    "Z05": "holds",
    "Z06": "holds in part",
    "Z07": "holds",
}
#: The smallest known samples in which the minimiser of F is not the fairest: group sizes by measure.
BAL, MNCE = (6, 3, 2), (3, 1, 1)


def test_every_theorem_claim_is_here():
    assert set(theorems.claims) == set(EXPECTED)


@pytest.mark.parametrize("claim", sorted(EXPECTED))
def test_answers(claim):
    answer, evidence, _ = theorems.claims[claim]()
    assert answer == EXPECTED[claim], evidence
    assert evidence.endswith(".")


# -- what can be reached ----------------------------------------------------------------------------------------------


def brute_force(sizes, c):
    """Tables as sets of columns, from all clusterings."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    found = set()
    for labels in dense.partitions(len(codes), c):
        table = np.zeros((len(sizes), c), dtype=int)
        np.add.at(table, (codes, labels), 1)
        found.add(tuple(sorted(map(tuple, table.T.tolist()), reverse=True)))
    return found


@pytest.mark.parametrize(("sizes", "c"), [((4, 3), 2), ((3, 2, 2), 3), ((2, 2, 1, 1), 2), ((5, 1), 4)])
def test_all_tables_are_listed_once(sizes, c):
    listed = [tuple(map(tuple, table.T.tolist())) for table in attainable.tables(sizes, c)]
    assert len(listed) == len(set(listed))
    assert set(listed) == brute_force(sizes, c)


def test_the_smallest_regulariser_is_that_of_all_tables():
    for t, largest in ((2, 11), (3, 8), (4, 7)):
        for sizes in combinations_with_replacement(range(1, largest), t):
            for c in (1, 2, 3, sum(sizes)):
                if c <= sum(sizes) <= largest:
                    found = attainable.smallest_regulariser(sizes, c)
                    assert found.value == min(map(regulariser_of, attainable.tables(sizes, c)))
                    assert abs(found.gap) < 1e-10
                    assert found.table.sum(axis=1).tolist() == list(sizes)


def test_no_clustering_of_real_sizes_is_below_the_bound():
    sizes, c = attainable.JAFFE
    found = attainable.smallest_regulariser(sizes, c)
    assert found.value == Fraction(457, 15)
    assert abs(found.gap) < 1e-10
    assert found.value > Fraction(sum(size**2 for size in sizes), sum(sizes))
    codes, rng = np.repeat(np.arange(7), sizes), np.random.default_rng(0)
    for _ in range(50):  # even spreads, and nearly proportional ones
        labels = rng.permutation(np.arange(213) % c) if rng.random() < 0.5 else np.arange(213) % c
        table = np.zeros((7, c), dtype=int)
        np.add.at(table, (codes, labels), 1)
        assert float(regulariser_of(table)) > found.bound
    # The bound is one for this number of clusters: fewer clusters reach less.
    assert attainable.smallest_regulariser(sizes, 2).value < found.bound


def test_the_largest_balance_is_that_of_all_tables():
    for t, largest in ((2, 13), (3, 9), (4, 7)):
        for sizes in combinations_with_replacement(range(1, largest), t):
            for c in (1, 2, 3):
                if c <= sum(sizes) <= largest:
                    value, table = attainable.largest_balance(sizes, c)
                    assert float(value) == balance_of(table) == max(map(balance_of, attainable.tables(sizes, c)))
                    assert table.shape == (t, c)
                    assert tuple(table.sum(axis=1)) == sizes
                    assert (value == 0) == (sizes[0] < c)


def test_on_jaffe_the_clustering_with_the_smallest_regulariser_has_not_the_largest_balance():
    value, table = attainable.largest_balance(*attainable.JAFFE)
    smallest = attainable.smallest_regulariser(*attainable.JAFFE)
    assert value == Fraction(7, 8)
    assert table.sum(axis=1).tolist() == list(attainable.JAFFE[0])
    assert balance_of(table) == float(value) > balance_of(smallest.table)
    assert float(regulariser_of(table)) > smallest.bound * (1 + 1e-6)


def test_sizes_that_share_a_divisor_reach_the_lower_bound():
    found = attainable.smallest_regulariser((40, 60, 20), 3)
    assert found.value == Fraction(40**2 + 60**2 + 20**2, 120)
    assert fair_gap_of(found.table) == 0
    assert fair_gap_of(attainable.smallest_regulariser((41, 60, 20), 3).table) > 0


@pytest.mark.parametrize(("sizes", "c"), [((0, 3), 2), ((2, 3), 6), ((2, 3), 0)])
def test_impossible_sizes_are_refused(sizes, c):
    with pytest.raises(ConfigurationError, match="1 <= c <= n"):
        attainable.smallest_regulariser(sizes, c)


def test_the_smallest_examples_are_the_smallest():
    found = attainable.enumerate_samples(((2, 2, 14), (2, 3, 10), (3, 2, 11), (3, 3, 7)))
    for name, sizes, measure in (("Bal", BAL, balance_of), ("MNCE", MNCE, mnce_of)):
        n, mine, _, best, _ = found.examples[name]
        assert n == sum(sizes)
        assert tuple(mine.sum(axis=1)) == tuple(best.sum(axis=1)) == sizes
        assert regulariser_of(mine) == attainable.smallest_regulariser(sizes, 2).value < regulariser_of(best)
        assert measure(mine) < measure(best)
    n, first, _, second, _ = found.examples["pair"]
    assert (n, len(first)) == (7, 2)
    assert regulariser_of(first) < regulariser_of(second)
    assert balance_of(first) < balance_of(second)
    assert mnce_of(first) < mnce_of(second)
    assert {t for _, t in found.contradicted} == {3}  # none with two groups


def test_where_proportions_are_possible_the_minimiser_is_fairest(monkeypatch):
    two_groups = ((2, 2, 12), (2, 3, 9))
    monkeypatch.setattr(theorems, "enumerate_samples", lambda: attainable.enumerate_samples(two_groups))
    assert theorems.maximal_fairness().here == "holds"


def test_a_wrong_regulariser_is_noticed(monkeypatch):
    monkeypatch.setattr(attainable, "regulariser_of", lambda table: Fraction(int((table**2).sum(axis=None))))
    assert theorems.maximal_fairness().here == "does not hold"


# -- the kernel, its shift and the weights ----------------------------------------------------------------------------


def test_less_than_the_lemma_asks_is_not_enough():
    assert theorems.difference_of_matrices(margin=0.3).here == "does not hold"


def test_a_smaller_shift_is_noticed(monkeypatch):
    def smaller(K, codes, weight, shift=None):
        return dense.fair_kernel(K, codes, weight, 0.95 * weight * np.bincount(codes).max() if shift is None else shift)

    monkeypatch.setattr(theorems, "fair_kernel", smaller)
    assert theorems.shifted_kernel().here == "does not hold"


def test_a_shift_that_differs_between_points_is_noticed(monkeypatch):
    def uneven(K, codes, weight, shift=None):
        fair = dense.fair_kernel(K, codes, weight, shift)
        return fair + (shift or 0.0) * np.diag(np.linspace(0.0, 1.0, len(codes)))

    monkeypatch.setattr(theorems, "fair_kernel", uneven)
    assert theorems.shifted_kernel().here == "does not hold"


def test_without_several_kernels_the_shift_changes_nothing(monkeypatch):
    monkeypatch.setattr(theorems, "WIDTHS", theorems.WIDTHS[:1])
    assert theorems.shifted_kernel().here == "holds"


def test_other_weights_are_beaten(monkeypatch):
    monkeypatch.setattr(theorems, "inverse_weights", lambda h: dense.inverse_weights(h * np.linspace(1.0, 1.1, len(h))))
    assert theorems.weight_update().here == "does not hold"


def test_an_update_that_makes_the_objective_worse_is_noticed(monkeypatch):
    monkeypatch.setattr(dense, "inverse_weights", lambda h: np.eye(len(h))[int(h.argmax())])
    assert theorems.convergence().here == "does not hold"


def test_too_few_rounds_are_noticed(monkeypatch):
    monkeypatch.setattr(theorems, "ROUNDS", 2)
    assert theorems.convergence().here == "does not hold"


# -- Algorithm 1 with dense matrices ----------------------------------------------------------------------------------


def problem(seed=0, n=24):
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, p=[0.5, 0.3, 0.2], size=n)
    X, _ = dense.crossed_points(n, codes, rng)
    return X, codes, rng.permutation(np.arange(n) % 3)


def trace(K, labels):
    Y = np.eye(3)[labels]
    return np.trace(Y.T @ K @ Y @ np.linalg.inv(Y.T @ Y))


def test_every_move_of_a_sweep_is_the_best_one():
    X, codes, labels = problem()
    K = dense.fair_kernel(dense.gaussian_kernels(X, [0.5])[0], codes, 0.3)
    end, moves = dense.sweep(K, labels, 3)
    now, pending = labels.copy(), dict(moves)
    for i in range(len(labels)):
        values = [trace(K, np.where(np.arange(len(now)) == i, k, now)) for k in range(3)]
        target = pending.get(i, now[i])
        assert values[target] == pytest.approx(max(values), rel=1e-12)
        assert (i in pending) == (max(values) > values[now[i]] + 1e-9)
        now[i] = target
    assert np.array_equal(now, end)
    assert len(moves) > 5


def test_the_last_point_of_a_cluster_stays():
    K = np.ones((4, 4))
    labels, moves = dense.sweep(K, np.array([0, 1, 1, 1]), 2)
    assert labels[0] == 0
    assert not moves
    assert dense.sweep(K - 2 * np.eye(4)[[0, 3, 2, 1]], np.array([0, 1, 1, 1]), 2)[0][0] == 0


def test_alternating_ends_where_neither_step_helps():
    X, codes, labels = problem(1, 60)
    fair = dense.fair_kernel(dense.gaussian_kernels(X, (0.25, 0.5, 1.0)), codes, 0.1)
    end = dense.alternate(fair, labels, 3, 100)
    assert end.at_rest
    assert len(end.history) == 2 * end.n_rounds + 1
    assert end.history[-1] < end.history[0]
    again = dense.alternate(fair, labels, 3, 1)
    assert not again.at_rest
    h = dense.residuals(fair, end.labels, 3)
    assert end.history[-1] == pytest.approx(1.0 / (1.0 / h).sum(axis=0))
    combined = np.einsum("p,pij->ij", end.weights**2, fair)
    assert dense.sweep(combined, end.labels, 3)[1] == []
    by_trace = [np.trace(K) - trace(K, end.labels) for K in fair]
    np.testing.assert_allclose(h, by_trace, rtol=1e-12)


# -- Theorem 2 --------------------------------------------------------------------------------------------------------


def test_the_bound_grows_with_weight_clusters_and_the_largest_group():
    base = {"n": 500, "c": 5, "t": 3, "largest": 200, "weight": 0.5}
    for name, more in (("weight", 0.6), ("c", 6), ("largest", 220)):
        assert theorem_2.bound(**(base | {name: more})) > theorem_2.bound(**base)
    assert theorem_2.bound(**(base | {"n": 600})) < theorem_2.bound(**base)
    # With the largest group a share of n it grows like the root of n.
    ratio = theorem_2.bound(**(base | {"n": 50000, "largest": 20000})) / theorem_2.bound(**base)
    assert ratio == pytest.approx(10.0, rel=0.02)


def test_the_bound_against_its_formula_by_hand():
    # c = t = 1 and no fairness: 2 sqrt(2 pi / n) (2 + sqrt 2) + 4 sqrt(log(1/delta) / 2n)
    expected = 2 * np.sqrt(2 * np.pi / 8) * (2 + np.sqrt(2)) + 4 * np.sqrt(np.log(10) / 16)
    assert theorem_2.bound(8, 1, 1, 8, 0.0, delta=0.1) == pytest.approx(expected)
    assert theorem_2.second_expression(8, 1, 1, 8, 0.0, delta=0.1) == pytest.approx(expected)


def test_from_where_on_the_bound_says_something():
    for c in (2, 6):
        n = theorem_2.informative_from(c, 2, 0.5, 1.0)
        for size, below in ((n, True), (n - 1, False)):
            largest = 0.5 * size
            limit = theorem_2.largest_error(largest, 1.0)
            assert (theorem_2.bound(size, c, 2, largest, 1.0) < limit) == below


def test_no_error_is_above_the_largest():
    X, codes, labels = problem(2, 40)
    fair = dense.fair_kernel(dense.gaussian_kernels(X, [0.5])[0], codes, 2.0)
    means = np.eye(3)[labels] / np.bincount(labels)
    distances = np.diag(fair)[:, None] - 2 * fair @ means + np.einsum("ik,ij,jk->k", means, fair, means)
    assert 0 < distances.max() <= theorem_2.largest_error(np.bincount(codes).max(), 2.0)


def test_a_bound_too_small_is_noticed(monkeypatch):
    right = theorem_2.bound
    monkeypatch.setattr(theorem_2, "bound", lambda *given, **named: 0.005 * right(*given, **named))
    monkeypatch.setattr(theorem_2, "informative_from", lambda *given: 1)
    assert theorem_2.generalisation().here == "does not hold"


def test_without_far_centres_the_inequality_is_met(monkeypatch):
    monkeypatch.setattr(theorem_2, "CENTRES", (0.5, 1.0))
    monkeypatch.setattr(theorem_2, "SIZES", (50, 100))
    assert theorem_2.generalisation().here == "holds"


def test_a_second_expression_that_is_larger_is_noticed(monkeypatch):
    right = theorem_2.second_expression
    monkeypatch.setattr(theorem_2, "second_expression", lambda *given, **named: 1.01 * right(*given, **named))
    assert theorem_2.expressions().here == "does not hold"


# -- the estimators against the dense transcription -------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 0.2, 5.0])
def test_the_cached_row_update_makes_the_same_sweeps(weight):
    for seed in range(5):
        X, codes, labels = problem(seed, 50)
        K = dense.gaussian_kernels(X, [0.5])[0]
        found = row_updates(DenseGram(K), codes, labels, 3, weight, max_sweeps=3)
        moves = 0
        for _ in range(found.n_sweeps):
            labels, made = dense.sweep(dense.fair_kernel(K, codes, weight), labels, 3)
            moves += len(made)
        assert np.array_equal(found.labels, labels)
        assert found.n_moves == moves
        assert found.objective == pytest.approx(trace(dense.fair_kernel(K, codes, weight, 0.0), labels), rel=1e-9)


@pytest.mark.parametrize("weight", [0.0, 0.2, 5.0])
def test_several_kernels_end_in_the_same_clusters_and_weights(weight):
    X, codes, labels = problem(3, 50)
    kernels = dense.gaussian_kernels(X, (0.25, 0.5, 2.0))
    expected = dense.alternate(dense.fair_kernel(kernels, codes, weight), labels, 3, 100)
    model = FairMultipleKernelKMeans(3, weight, kernels="precomputed", init=labels, max_iter=100)
    model.fit(kernels, sensitive_features=codes)
    assert np.array_equal(model.labels_, expected.labels)
    np.testing.assert_allclose(model.kernel_weights_, expected.weights, rtol=1e-8)
    assert model.objective_ == pytest.approx(expected.history[-1], rel=1e-8)
