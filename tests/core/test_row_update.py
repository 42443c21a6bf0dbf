"""The row update against its plain transcription, and what is true of every sweep, move and answer."""

import numpy as np
import pytest

from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.kernels import DenseGram, FactorGram
from evenspan.clustering.row_update import _State, row_updates
from evenspan.core.cluster_counts import ClusterCounts

from .clustering_samples import (
    crossed,
    fair_matrix,
    improving_moves,
    indicator,
    never_falls,
    optimum,
    plain_sweeps,
    scattered,
    trace_objective,
)

WEIGHTS = (0.0, 0.7, 25.0)


class Watched(_State):
    """A state that compares itself with recomputed values after every move."""

    def __init__(self, K, gram, codes, labels, n_clusters, weight):
        self.moves, self.before = [], None
        self.fair_K, self.K, self.c = fair_matrix(K, codes, weight), K, n_clusters
        super().__init__(gram, codes, labels, n_clusters, weight)
        self.before = trace_objective(self.fair_K, self.labels, self.c)

    def _move(self, i, target):
        source = int(self.labels[i])
        super()._move(i, target)
        self.moves.append((int(i), source, int(target)))
        self.check(ahead=i + 1)
        after = trace_objective(self.fair_K, self.labels, self.c)
        assert after > self.before
        self.before = after

    def check(self, ahead=0):
        """Sizes, counts, q, and the similarities of all points from ``ahead`` on."""
        Y = indicator(self.labels, self.c)
        scale = float(np.abs(self.fair_K).sum(axis=None))
        np.testing.assert_array_equal(self.sizes, Y.sum(axis=0))
        np.testing.assert_allclose(self.q, np.diagonal(Y.T @ self.fair_K @ Y), rtol=0, atol=1e-9 * scale)
        G = indicator(self.codes, int(self.codes.max()) + 1)
        np.testing.assert_allclose(self.fair, self.weight * (Y.T @ G), rtol=1e-12, atol=1e-12 * (self.weight or 1.0))
        if ahead < self.n:
            stop = min(ahead + 40, self.n)
            S = (Y.T @ self.K)[:, ahead:stop]
            np.testing.assert_allclose(self.sums.window(ahead, stop), S, rtol=0, atol=1e-9 * np.abs(S).max())


def linear_problem(n=150, d=3, c=4, seed=5):
    """Points, whose linear kernel is meant, with groups and random labels."""
    _, codes, labels = scattered(n, d, c, seed=seed)
    Z = np.random.default_rng(seed + 100).normal(size=(n, d)) * [3.0, 1.0, 0.5] + [0.5, 0.0, -0.2]
    return Z, codes, labels


def grams(Z):
    return {
        "dense": DenseGram(Z @ Z.T),
        "factor": FactorGram(Z),
    }


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("storage", ["dense", "factor"])
def test_state_after_every_move_and_sweep_equals_recomputed_values(storage, weight):
    Z, codes, labels = linear_problem()
    K = Z @ Z.T
    state = Watched(K, grams(Z)[storage], codes, labels, 4, weight)
    for _ in range(3):
        moved = state.sweep()
        state.check(ahead=state.n)
        value = state.refresh()
        state.check()
        assert value == pytest.approx(trace_objective(state.fair_K, state.labels, 4), rel=1e-10)
    assert len(state.moves) > 40
    # the control: labels that changed behind the back of the sums are noticed
    state.labels[0] = (state.labels[0] + 1) % 4
    with pytest.raises(AssertionError):
        state.check()
    assert moved >= 0


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("storage", ["dense", "factor"])
def test_moves_are_those_of_the_plain_transcription_one_by_one(storage, weight):
    Z, codes, labels = linear_problem(n=200)
    K = Z @ Z.T
    state = Watched(K, grams(Z)[storage], codes, labels, 4, weight)
    plain = plain_sweeps(state.fair_K, labels, 4)
    for after in plain.sweeps:
        state.sweep()
        np.testing.assert_array_equal(state.labels, after)
        state.refresh()
    assert tuple(state.moves) == plain.moves
    assert len(plain.moves) > 60


@pytest.mark.parametrize("weight", WEIGHTS)
def test_all_storages_give_the_sequence_of_the_transcription(weight):
    Z, codes, labels = linear_problem(n=540, seed=8)
    plain = plain_sweeps(fair_matrix(Z @ Z.T, codes, weight), labels, 4, max_sweeps=2)
    for gram in grams(Z).values():
        for sweeps, after in enumerate(plain.sweeps, start=1):
            found = row_updates(gram, codes, labels, 4, weight, max_sweeps=sweeps)
            np.testing.assert_array_equal(found.labels, after)
            assert found.n_sweeps == sweeps
        assert found.n_moves == len(plain.moves)
        np.testing.assert_allclose(found.history, plain.history, rtol=1e-9)


def test_windows_wider_than_the_widest_find_the_late_moves():
    # only points beyond the narrow, the factor's and the doubled windows move
    rng = np.random.default_rng(1)
    n = 9300
    labels = np.repeat([0, 1], [n // 2, n - n // 2])
    rng.shuffle(labels)
    Z = 0.01 * rng.normal(size=(n, 2)) + np.array([[3.0, 0.0], [0.0, 4.0]])[labels]
    start = labels.copy()
    wrong = [63, 64, 575, 576, 8191, 8192, 8255, 8256, 9298, 9299]
    start[wrong] = 1 - start[wrong]
    found = row_updates(FactorGram(Z), np.arange(n) % 3, start, 2, 0.0)
    np.testing.assert_array_equal(found.labels, labels)
    assert (found.n_moves, found.converged) == (len(wrong), True)
    late = labels.copy()
    late[-1] = 1 - late[-1]
    assert _State(FactorGram(Z), np.arange(n) % 3, late, 2, 0.0).improvable()
    assert not _State(FactorGram(Z), np.arange(n) % 3, labels, 2, 0.0).improvable()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("weight", WEIGHTS)
def test_shift_is_invisible(seed, weight):
    K, codes, labels = scattered(60, 3, 4, seed=seed)
    found = row_updates(DenseGram(K), codes, labels, 4, weight)
    alpha = weight * float(np.bincount(codes).max())
    for shift in (0.0, alpha, 100.0 * alpha, 7.0):
        plain = plain_sweeps(fair_matrix(K, codes, weight, shift), labels, 4)
        np.testing.assert_array_equal(found.labels, plain.labels)
        assert plain.history[-1] - 4 * shift == pytest.approx(found.objective, rel=1e-8)
        shifted = row_updates(DenseGram(K + shift * np.eye(60)), codes, labels, 4, weight)
        np.testing.assert_array_equal(shifted.labels, found.labels)
    other = np.diag(np.linspace(0.0, 3.0 * np.abs(np.diagonal(K)).max(), 60))
    unequal = row_updates(DenseGram(K + other), codes, labels, 4, weight)
    assert not np.array_equal(unequal.labels, found.labels)  # the control: a shift that is not a multiple of I


def test_shift_of_the_paper_is_just_enough():
    codes = crossed().codes
    G = indicator(codes, 3)
    for K in (np.zeros((80, 80)), G @ G.T, scattered(80)[0]):
        assert np.linalg.eigvalsh(fair_matrix(K, codes, 2.0, alpha=80.0))[0] >= -1e-8
    assert np.linalg.eigvalsh(fair_matrix(np.zeros((80, 80)), codes, 2.0, alpha=72.0))[0] < -7.9


@pytest.mark.parametrize("weight", WEIGHTS)
def test_scaling_and_relabelling(weight):
    K, codes, labels = scattered(90, 3, 4, seed=11)
    found = row_updates(DenseGram(K), codes, labels, 4, weight)
    for scale in (1e-6, 0.3, 1e7):
        scaled = row_updates(DenseGram(scale * K), codes, labels, 4, scale * weight)
        np.testing.assert_array_equal(scaled.labels, found.labels)
        np.testing.assert_allclose(scaled.history, scale * np.array(found.history), rtol=1e-9)
    groups = row_updates(DenseGram(K), np.array([2, 0, 1])[codes], labels, 4, weight)
    np.testing.assert_array_equal(groups.labels, found.labels)
    names = np.array([3, 1, 0, 2])
    clusters = row_updates(DenseGram(K), codes, names[labels], 4, weight)
    np.testing.assert_array_equal(clusters.labels, names[found.labels])
    if weight:  # the control: weight alone scaled is another problem
        assert not np.array_equal(row_updates(DenseGram(K), codes, labels, 4, 9 * weight).labels, found.labels)


def test_order_of_points_is_the_order_of_the_sweep_and_nothing_else():
    K, codes, labels = scattered(70, 3, 4, seed=2)
    order = np.random.default_rng(4).permutation(70)
    shuffled = row_updates(DenseGram(K[np.ix_(order, order)]), codes[order], labels[order], 4, 1.5)
    plain = plain_sweeps(fair_matrix(K, codes, 1.5), labels, 4, order=order)
    np.testing.assert_array_equal(shuffled.labels, plain.labels[order])
    assert shuffled.n_moves == len(plain.moves)
    assert not np.array_equal(plain.labels, plain_sweeps(fair_matrix(K, codes, 1.5), labels, 4).labels)


def test_weight_zero_on_a_linear_kernel_is_the_sum_of_squares_of_k_means():
    Z, codes, labels = linear_problem()
    found = row_updates(FactorGram(Z), codes, labels, 4, 0.0)
    within = sum(
        float(((Z[found.labels == k] - Z[found.labels == k].mean(axis=0)) ** 2).sum(axis=None)) for k in range(4)
    )
    assert float((Z**2).sum(axis=None)) - found.objective == pytest.approx(within, rel=1e-12)
    other_groups = row_updates(FactorGram(Z), np.zeros(len(Z), dtype=int), labels, 4, 0.0)
    np.testing.assert_array_equal(found.labels, other_groups.labels)


def test_objective_is_trace_less_regulariser():
    K, codes, labels = scattered(seed=4)
    found = row_updates(DenseGram(K), codes, labels, 4, 3.0)
    F = ClusterCounts.from_labels(found.labels, codes, 4).regulariser
    assert found.objective == pytest.approx(trace_objective(K, found.labels, 4) - 3.0 * F, rel=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_between_start_and_exhaustive_optimum(seed, n_clusters):
    n = 9 - seed % 3
    K, codes, labels = scattered(n, 2, n_clusters, seed=seed)
    for weight in (0.0, 1.0, 40.0):
        fair_K = fair_matrix(K, codes, weight)
        found = row_updates(DenseGram(K), codes, labels, n_clusters, weight, max_sweeps=100)
        assert found.converged
        assert improving_moves(fair_K, found.labels, n_clusters) == []
        best = optimum(fair_K, n_clusters)
        assert trace_objective(fair_K, labels, n_clusters) <= found.objective + 1e-9 <= best + 2e-9 * (1 + abs(best))
        assert never_falls(found.history)


def test_what_is_not_at_rest_says_so_and_what_is_admits_no_move():
    K, codes, labels = scattered(40, 3, 4, seed=6)
    fair_K = fair_matrix(K, codes, 1.0)
    first = row_updates(DenseGram(K), codes, labels, 4, 1.0, max_sweeps=1)
    assert not first.converged
    assert improving_moves(fair_K, first.labels, 4) != []
    last = row_updates(DenseGram(K), codes, labels, 4, 1.0, max_sweeps=100)
    assert last.converged
    assert improving_moves(fair_K, last.labels, 4) == []
    # exactly as many sweeps as have moves: at rest without the one that would find nothing
    exact = row_updates(DenseGram(K), codes, labels, 4, 1.0, max_sweeps=last.n_sweeps - 1)
    np.testing.assert_array_equal(exact.labels, last.labels)
    assert exact.converged
    again = row_updates(DenseGram(K), codes, last.labels, 4, 1.0)
    assert (again.n_sweeps, again.n_moves) == (1, 0)


def test_tolerance_counts_from_the_third_sweep():
    for seed in range(40):
        K, codes, labels = scattered(80, 3, 5, seed=seed)
        free = row_updates(DenseGram(K), codes, labels, 5, 0.5, max_sweeps=100, tol=0.0)
        if free.n_sweeps >= 5:
            break
    else:
        pytest.fail("no sample takes five sweeps")
    assert row_updates(DenseGram(K), codes, labels, 5, 0.5, tol=1e9).n_sweeps == 3
    assert row_updates(DenseGram(K), codes, labels, 5, 0.5, max_sweeps=2, tol=1e9).n_sweeps == 2
    changes = np.abs(np.diff(free.history)) / np.abs(free.history[1:])
    found = row_updates(DenseGram(K), codes, labels, 5, 0.5, tol=float(1.0001 * changes[3]), max_sweeps=100)
    assert found.n_sweeps == (3 if changes[2] < 1.0001 * changes[3] else 4)
    assert found.history == free.history[: found.n_sweeps + 1]


def test_large_weight_makes_shares_equal_and_weight_zero_does_not():
    sample = crossed()
    gram = FactorGram(sample.X - sample.X.mean(axis=0))
    gaps = []
    for weight in (0.0, 1e6):
        found = row_updates(gram, sample.codes, sample.codes, 3, weight, max_sweeps=50)
        gaps.append(ClusterCounts.from_labels(found.labels, sample.codes, 3).fair_gap)
    assert gaps[0] == pytest.approx(1.0)
    assert gaps[1] < 0.01


@pytest.mark.parametrize("weight", [0.0, 1.0, 1e6])
def test_no_cluster_becomes_empty(weight):
    # many clusters, few points, two places only: almost every cluster should vanish
    K = np.kron(np.eye(2), np.ones((6, 6))) + 1e-3 * np.eye(12)
    codes = np.array([0, 1, 1, 0, 2, 0] * 2)
    for seed in range(10):
        labels = np.random.default_rng(seed).permutation(np.r_[np.arange(9), 0, 0, 1])
        found = row_updates(DenseGram(K), codes, labels, 9, weight, max_sweeps=50)
        assert (np.bincount(found.labels, minlength=9) > 0).all()
    # two points, both alone: neither may move although together they are better
    found = row_updates(DenseGram(np.ones((2, 2))), np.array([0, 1]), np.array([1, 0]), 2, 5.0)
    assert found.labels.tolist() == [1, 0]


def test_one_cluster_and_as_many_as_points():
    K, codes, _ = scattered(12)
    one = row_updates(DenseGram(K), codes, np.zeros(12, dtype=int), 1, 2.0)
    assert (one.n_moves, one.converged) == (0, True)
    assert one.objective == pytest.approx(float(fair_matrix(K, codes, 2.0).mean(axis=None)) * 12)
    own = row_updates(DenseGram(K), codes, np.arange(12)[::-1], 12, 2.0)
    assert (own.n_moves, own.converged) == (0, True)
    assert own.objective == pytest.approx(float(np.trace(K)) - 2.0 * 12)


def test_one_group_is_weight_zero():
    K, _, labels = scattered(50, 3, 4, seed=9)
    codes = np.zeros(50, dtype=int)
    found, free = (row_updates(DenseGram(K), codes, labels, 4, weight) for weight in (6.0, 0.0))
    np.testing.assert_array_equal(found.labels, free.labels)
    assert found.objective == pytest.approx(free.objective - 6.0 * 50)


def test_ties_stay_and_go_to_the_first():
    # all points equal: every gain is a tie, nothing moves
    labels = np.array([2, 0, 1, 2, 1, 0, 0])
    for K in (np.ones((7, 7)), np.full((7, 7), 0.1), np.zeros((7, 7))):
        for weight in (0.0, 0.3):  # with 0.3 some gains differ in their last digit
            found = row_updates(DenseGram(K), np.zeros(7, dtype=int), labels, 3, weight)
            np.testing.assert_array_equal(found.labels, labels)
            assert (found.n_moves, found.converged) == (0, True)
    # point 0 fits clusters 1 and 2 equally well: it goes to the lower number
    Z = np.array([[1.0, 0.0], [0.0, 5.0], [0.0, 5.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    found = row_updates(FactorGram(Z), np.zeros(7, dtype=int), np.array([0, 0, 0, 2, 2, 1, 1]), 3, 0.0)
    assert found.labels[0] == 1


def test_duplicates_come_to_rest_and_are_reproducible():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(6, 2))[rng.integers(6, size=120)] / 3.0
    codes, labels = np.arange(120) % 3, rng.integers(4, size=120)
    K = Z @ Z.T
    for weight in (0.0, 0.01, 1.0):
        found = [row_updates(gram, codes, labels, 4, weight, max_sweeps=100) for gram in grams(Z).values()]
        assert all(one.converged for one in found)
        assert improving_moves(fair_matrix(K, codes, weight), found[0].labels, 4) == []
        again = row_updates(DenseGram(K), codes, labels, 4, weight, max_sweeps=100)
        np.testing.assert_array_equal(again.labels, found[0].labels)


def test_single_precision_gives_the_same_labels_on_separated_data():
    sample = crossed(noise=0.1)
    Z = sample.X - sample.X.mean(axis=0)
    labels = np.random.default_rng(0).integers(3, size=80)
    small = Z.astype(np.float32)
    single = (DenseGram((Z @ Z.T).astype(np.float32)), DenseGram(small @ small.T))
    for weight in (0.0, 40.0):
        double = row_updates(DenseGram(Z @ Z.T), sample.codes, labels, 3, weight)
        for gram in single:
            found = row_updates(gram, sample.codes, labels, 3, weight)
            np.testing.assert_array_equal(found.labels, double.labels)
            assert found.objective == pytest.approx(double.objective, rel=1e-5, abs=1e-4 * weight * 80)


def test_input_labels_are_not_changed():
    K, codes, labels = scattered(30)
    kept = labels.copy()
    assert row_updates(DenseGram(K), codes, labels, 4, 1.0).n_moves > 0
    np.testing.assert_array_equal(labels, kept)


def test_sums_are_computed_anew_after_many_moves():
    # numbers of very different size: after taking the large ones out again, small sums would keep the rounding
    K, _, labels = scattered(40, 3, 3, seed=7)
    sums = DenseGram(K).sums(labels, 3)
    sums.S += 1.0  # an error as rounding would leave it, made visible
    for _ in range(41):
        sums.move(0, int(labels[0]), int(labels[0]))
    Y = indicator(labels, 3)
    np.testing.assert_allclose(sums.within(labels), np.diagonal(Y.T @ K @ Y), rtol=1e-12)


def test_the_curve_is_a_fit_with_each_weight_from_one_start():
    K, codes, start = scattered(60, 3, 4, seed=3)
    weights = (0.0, 0.7, 25.0, 25.0, 3.0)
    for options in ({}, {"max_iter": 2}, {"max_iter": 50, "tol": 0.0}, {"tol": 1e9}):
        model = FairKernelKMeans(4, kernel="precomputed", init=start, **options)
        points = model.curve(K, weights, sensitive_features=codes)
        assert [point.weight for point in points] == list(weights)
        assert not hasattr(model, "labels_")
        for point in points:
            own = {"max_sweeps": options.get("max_iter", 10), "tol": options.get("tol", 1e-10)}
            alone = row_updates(DenseGram(K), codes, start, 4, point.weight, **own)
            np.testing.assert_array_equal(point.labels, alone.labels)
            assert point.updates.history == alone.history
            assert (point.updates.n_sweeps, point.updates.converged) == (alone.n_sweeps, alone.converged)
            assert point.counts.sizes.tolist() == np.bincount(alone.labels, minlength=4).tolist()
        assert len({point.labels.tobytes() for point in points}) > 2


def test_clusters_of_two_may_become_one_and_no_less():
    K, codes, _ = scattered(60, 3, 4, seed=3)
    pairs = np.arange(60) % 30
    for weight in (0.0, 9.0):
        found = row_updates(DenseGram(K), codes, pairs, 30, weight)
        np.testing.assert_array_equal(found.labels, plain_sweeps(fair_matrix(K, codes, weight), pairs, 30).sweeps[-1])
        assert np.bincount(found.labels, minlength=30).min() == 1
