"""Fair kernel k-means with several kernels: the weights against explicit matrices, and the alternation."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.base_kernels import twelve_kernels
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans, fairness_part, kernel_weights
from evenspan.clustering.kernel_kmeans import relaxed_start
from evenspan.clustering.kernels import DenseGram, KernelWarning
from evenspan.clustering.weight_rule import WeightRule
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import SingleGroupWarning

from .clustering_samples import (
    crossed,
    fair_matrix,
    indicator,
    optimum,
    plain_sweeps,
    same_partition,
    scattered,
    trace_objective,
)

STACK = {"kernels": "precomputed"}


def stack_of(X) -> np.ndarray:
    """Four kernels that know different things: groups, sites, both, and nothing."""
    noise = np.random.default_rng(9).normal(size=X.shape)
    parts = [X[:, :2], X[:, 2:], X, noise]
    stack = []
    for p, Z in enumerate(parts):
        Z = Z - Z.mean(axis=0)
        K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / (2.0 * (1 + p) * Z.var(axis=0).sum(axis=0)))
        stack.append(K)
    return np.array(stack)


def fitted(stack, groups, c=3, weight=1.0, **options) -> FairMultipleKernelKMeans:
    options = {**STACK, "max_iter": 60, **options}
    return FairMultipleKernelKMeans(c, weight, **options).fit(stack, sensitive_features=groups)


def remainders(stack, codes, labels, c, weight) -> np.ndarray:
    """h_p from the matrices of the formula: Tr(K~_p (I - Y (Y^T Y)^-1 Y^T))."""
    Y, alpha = indicator(labels, c), weight * float(np.bincount(codes).max())
    rest = np.eye(len(Y)) - Y @ np.linalg.inv(Y.T @ Y) @ Y.T
    return np.array([np.trace(fair_matrix(K, codes, weight, alpha) @ rest) for K in stack])


@pytest.mark.parametrize("weight", [0.0, 0.02, 1.0, 20.0])
def test_weights_are_the_minimiser_for_the_final_clusters(weight):
    sample = crossed()
    stack = stack_of(sample.X)
    model = fitted(stack, sample.codes, weight=weight)
    gamma = model.kernel_weights_
    h = remainders(stack, sample.codes, model.labels_, 3, weight)
    np.testing.assert_allclose(gamma, (1.0 / h) / (1.0 / h).sum(axis=0), rtol=1e-9)
    assert (gamma >= 0).all()
    assert gamma.sum(axis=0) == pytest.approx(1.0, rel=1e-14)
    value = float((gamma**2 * h).sum(axis=0))
    assert model.objective_ == model.history_[-1]
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    others = np.random.default_rng(0).dirichlet(np.ones(4), size=2000)
    assert ((others**2 * h).sum(axis=1) >= value * (1 - 1e-12)).all()
    assert float((np.full(4, 0.25) ** 2 * h).sum(axis=0)) > value  # equal weights are worse
    assert model.objective_ == pytest.approx(1.0 / (1.0 / h).sum(axis=0), rel=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [0.0, 0.5, 10.0])
def test_objective_never_rises_from_round_to_round(seed, weight):
    stack = np.array([scattered(70, 2 + p, 4, seed=10 * seed + p)[0] for p in range(3)])
    _, codes, start = scattered(70, 2, 4, seed=seed)
    model = fitted(stack, codes, 4, weight, init=start)
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(model.history_))
    assert len(model.history_) == model.n_iter_ == model.n_iter_ >= 2
    h = remainders(stack, codes, start, 4, weight)
    assert model.history_[0] < float((h / 9.0).sum(axis=0))


@pytest.mark.parametrize("weight", [0.0, 0.5, 10.0])
def test_rounds_are_one_plain_sweep_on_the_weighted_fair_kernel_and_new_weights(weight):
    stack = np.array([(1.0 + p) * scattered(60, 2 + p, 4, seed=p)[0] for p in range(3)])
    _, codes, labels = scattered(60, 2, 4, seed=2)
    alpha = weight * float(np.bincount(codes).max())
    fair = np.array([fair_matrix(K, codes, weight, alpha) for K in stack])
    gamma, history, start = np.full(3, 1.0 / 3.0), [], labels
    for rounds in range(1, 6):
        K = np.einsum("p,pnm->nm", gamma**2, fair)
        labels = plain_sweeps(K, labels, 4, max_sweeps=1).labels
        h = remainders(stack, codes, labels, 4, weight)
        gamma = (1.0 / h) / (1.0 / h).sum(axis=0)
        history.append(float((gamma**2 * h).sum(axis=0)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fitted(stack, codes, 4, weight, init=start, max_iter=rounds, tol=0.0)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.kernel_weights_, gamma, rtol=1e-9)
        np.testing.assert_allclose(model.history_, history[: len(model.history_)], rtol=1e-9)
    assert not np.array_equal(start, labels)


@pytest.mark.parametrize("weight", [0.0, 1.0, 30.0])
def test_one_kernel_has_weight_one_and_gives_the_labels_of_one_kernel(weight):
    sample = crossed()
    K = stack_of(sample.X)[2]
    many = fitted(K[None], sample.groups, weight=weight)
    one = FairKernelKMeans(3, weight, kernel="precomputed", max_iter=60).fit(K, sensitive_features=sample.groups)
    np.testing.assert_array_equal(many.kernel_weights_, [1.0])
    np.testing.assert_array_equal(many.initial_labels_, one.initial_labels_)
    np.testing.assert_array_equal(many.labels_, one.labels_)
    alpha = 40.0 * weight
    expected = float(np.trace(K)) + alpha * 80 - weight * 80 - (one.objective_ + 3 * alpha)
    assert many.objective_ == pytest.approx(expected, rel=1e-10)
    assert many.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-10)
    assert many.certificate_.dual == pytest.approx(one.certificate_.dual, rel=1e-9)


def test_equal_kernels_share_equally():
    sample = crossed()
    K = stack_of(sample.X)[2]
    model = fitted(np.array([K, K, K]), sample.groups, weight=2.0)
    np.testing.assert_allclose(model.kernel_weights_, np.full(3, 1.0 / 3.0), rtol=1e-12)
    np.testing.assert_array_equal(model.labels_, fitted(K[None], sample.groups, weight=2.0).labels_)


def test_start_is_relaxed_kernel_k_means_on_the_sum():
    sample = crossed()
    stack = stack_of(sample.X)
    expected = relaxed_start(DenseGram(stack.sum(axis=0)), 3, np.random.default_rng(0)).labels
    for weight in (0.0, 3.0, "auto"):
        assert same_partition(fitted(stack, sample.groups, weight=weight).initial_labels_, expected)


def test_shift_makes_weights_nearly_equal_and_the_ablation_does_not():
    sample = crossed()
    stack = stack_of(sample.X)
    spread = {}
    for weight in (0.0, 1.0, 100.0):
        for weights_from in ("shifted", "unshifted"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = fitted(stack, sample.codes, weight=weight, weights_from=weights_from)
            spread[weight, weights_from] = float(np.ptp(model.kernel_weights_, axis=0))
            if weights_from == "unshifted":
                h = remainders(stack, sample.codes, model.labels_, 3, 0.0)
                np.testing.assert_allclose(model.kernel_weights_, (1 / h) / (1 / h).sum(axis=0), rtol=1e-9)
            elif weight:
                # h_p = within_p + w with the same w for all p and 0 <= within_p <= n for unit diagonals, so
                # gamma_p / gamma_q <= (n + w) / w
                counts = ClusterCounts.from_labels(model.labels_, sample.codes, 3)
                common = weight * (40.0 * (80 - 3) - (80 - counts.regulariser))
                limit = (80.0 + common) / common
                assert 1.0 < model.kernel_weights_.max() / model.kernel_weights_.min() <= limit
                assert spread[weight, weights_from] <= (limit - 1.0) / 4.0 * limit
    assert spread[0.0, "shifted"] == pytest.approx(spread[0.0, "unshifted"], rel=1e-9)
    assert spread[1.0, "shifted"] < 0.1 * spread[1.0, "unshifted"]
    assert spread[100.0, "shifted"] < 0.001
    assert spread[100.0, "unshifted"] > 0.05


def test_fairness_part_against_explicit_matrices():
    rng = np.random.default_rng(0)
    codes, labels = rng.integers(3, size=50), np.concatenate([np.arange(4), rng.integers(4, size=46)])
    for weight in (0.0, 0.3, 7.0):
        expected = remainders(np.zeros((1, 50, 50)), codes, labels, 4, weight)[0]
        found = fairness_part(ClusterCounts.from_labels(labels, codes, 4), weight)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-9)


def test_kernel_weights_guard_a_kernel_that_is_fitted_exactly():
    np.testing.assert_allclose(kernel_weights(np.array([1.0, 2.0, 4.0])), np.array([4.0, 2.0, 1.0]) / 7.0, rtol=1e-14)
    np.testing.assert_allclose(kernel_weights(np.array([0.0, 2.0, 1.0])), [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(kernel_weights(np.array([0.0, 2.0, 0.0])), [0.5, 0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(kernel_weights(np.array([-1e-17, 2.0])), [1.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(kernel_weights(np.zeros(4)), np.full(4, 0.25))
    np.testing.assert_array_equal(kernel_weights(np.array([3.0])), [1.0])
    # what is rounding is judged by the traces, not by the largest remainder
    np.testing.assert_allclose(kernel_weights(np.array([1e-15, -3e-15, 2e-15]), size=80.0), np.full(3, 1.0 / 3.0))
    np.testing.assert_allclose(kernel_weights(np.array([1.0, 3.0]), size=80.0), [0.75, 0.25])
    # kernel 0 is exactly that of three clusters
    place = np.repeat([0, 1, 2], [10, 14, 6])
    stack = np.array([indicator(place, 3) @ indicator(place, 3).T, scattered(30, 3, 3)[0]])
    model = fitted(stack, np.arange(30) % 2, weight=0.0, init=place)
    assert same_partition(model.labels_, place)
    np.testing.assert_allclose(model.kernel_weights_, [1.0, 0.0], atol=1e-10)
    assert model.objective_ == pytest.approx(0.0, abs=1e-10)


def test_large_weight_makes_clusters_proportional_and_weight_zero_does_not():
    sample = crossed()
    stack = stack_of(sample.X)[[0, 2]]
    free, fair = (fitted(stack, sample.groups, weight=weight) for weight in (0.0, 1e4))
    assert free.counts_.fair_gap > 0.9
    assert fair.counts_.fair_gap < 0.01
    assert fair.counts_.mnce > 0.95
    assert fair.converged_
    assert free.converged_


def test_what_is_stored_belongs_together():
    sample = crossed()
    stack = stack_of(sample.X)
    kept = stack.copy()
    model = fitted(stack, sample.groups, weight=0.5)
    np.testing.assert_array_equal(stack, kept)
    codes = np.unique(sample.groups, return_inverse=True)[1]
    gamma = model.kernel_weights_
    K = fair_matrix(np.einsum("p,pnm->nm", gamma**2, stack), codes, 0.5 * float((gamma**2).sum(axis=0)))
    assert model.certificate_.primal == pytest.approx(trace_objective(K, model.labels_, 3), rel=1e-9)
    assert model.certificate_.gap >= -1e-9 * abs(model.certificate_.primal)
    assert list(model.group_labels_) == ["azure", "beige", "crimson"]
    expected = ClusterCounts.from_labels(model.labels_, sample.groups, 3)
    np.testing.assert_array_equal(model.counts_.counts, expected.counts)
    assert (model.fairness_weight_, model.search_) == (0.5, [])
    # at rest: the plain sweep on the final kernel moves nothing
    assert model.converged_
    assert plain_sweeps(K, model.labels_, 3).moves == ()


@pytest.mark.parametrize("seed", range(4))
def test_bound_is_above_the_exhaustive_optimum_for_the_weights_found(seed):
    stack = np.array([scattered(9, 2, 3, seed=5 * seed + p)[0] for p in range(3)])
    _, codes, start = scattered(9, 2, 3, seed=seed)
    for weight in (0.0, 1.0, 30.0):
        model = fitted(stack, codes, 3, weight, init=start)
        gamma = model.kernel_weights_
        K = fair_matrix(np.einsum("p,pnm->nm", gamma**2, stack), codes, weight * float((gamma**2).sum(axis=0)))
        best = optimum(K, 3)
        assert model.certificate_.primal <= best + 1e-9 * (1 + abs(best))
        assert best <= model.certificate_.dual + 1e-9 * (1 + abs(best))


def test_shift_scale_and_names_change_no_label():
    sample = crossed()
    stack = stack_of(sample.X)
    start = np.random.default_rng(0).integers(3, size=80)
    model = fitted(stack, sample.groups, weight=0.3, init=start)
    scaled = fitted(5.0 * stack, sample.groups, weight=1.5, init=start)
    np.testing.assert_array_equal(scaled.labels_, model.labels_)
    np.testing.assert_allclose(scaled.kernel_weights_, model.kernel_weights_, rtol=1e-9)
    codes = fitted(stack, 2 - sample.codes, weight=0.3, init=start)
    np.testing.assert_array_equal(codes.labels_, model.labels_)
    order = [2, 0, 3, 1]
    other = fitted(stack[order], sample.groups, weight=0.3, init=start)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.kernel_weights_, model.kernel_weights_[order], rtol=1e-9)
    names = np.array([1, 2, 0])
    other = fitted(stack, sample.groups, weight=0.3, init=names[start])
    np.testing.assert_array_equal(other.labels_, names[model.labels_])
    np.testing.assert_array_equal(start, np.random.default_rng(0).integers(3, size=80))
    single = fitted(stack.astype(np.float32), sample.groups, weight=0.3, init=start)
    np.testing.assert_array_equal(single.labels_, model.labels_)
    np.testing.assert_allclose(single.kernel_weights_, model.kernel_weights_, rtol=1e-4)


def test_twelve_kernels_are_those_of_the_paper():
    X = crossed().X
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    groups = crossed().groups
    options = {"max_iter": 60}
    direct = FairMultipleKernelKMeans(3, 1.0, **options).fit(X, sensitive_features=groups)
    given = fitted(twelve_kernels(X), groups, weight=1.0)
    np.testing.assert_array_equal(direct.labels_, given.labels_)
    np.testing.assert_array_equal(direct.kernel_weights_, given.kernel_weights_)
    assert len(direct.kernel_weights_) == 12
    assert (direct.n_features_in_, given.n_features_in_) == (4, 80)


def test_rule_is_recorded_and_starts_anew_for_every_weight():
    sample = crossed(across=1.2, along=2.0)
    stack = stack_of(sample.X)
    model = fitted(stack, sample.groups, weight=WeightRule(start=0.1, step=0.2))
    mnce = [0.0] + [entry["mnce"] for entry in model.search_]
    rises = np.diff(mnce)
    assert (rises[:-1] > 0.005).all()
    assert rises[-1] <= 0.005
    assert len(rises) > 1
    for number, entry in enumerate(model.search_):
        assert entry["fairness_weight"] == pytest.approx(0.1 + 0.2 * number)
        alone = fitted(stack, sample.groups, weight=entry["fairness_weight"], init=model.initial_labels_)
        assert entry["mnce"] == alone.counts_.mnce
        assert entry["balance"] == alone.counts_.balance
        assert entry["objective"] == pytest.approx(alone.objective_, rel=1e-12)
        assert entry["n_rounds"] == alone.n_iter_
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert model.fairness_weight_ == model.search_[-1]["fairness_weight"]
    with pytest.warns(ConvergenceWarning, match="MNCE still rose"):
        fitted(stack, sample.groups, weight=WeightRule(start=0.1, step=0.2, max_weight=0.15))
    auto = fitted(stack, sample.groups, weight="auto")
    assert auto.search_[0]["fairness_weight"] == 1.0


def test_rounds_used_up_is_flagged_and_warned():
    stack = np.array([scattered(70, 2 + p, 4, seed=p)[0] for p in range(3)])
    _, codes, start = scattered(70, 2, 4, seed=1)
    with pytest.warns(ConvergenceWarning, match="points still moved in the last of 1 rounds"):
        model = fitted(stack, codes, 4, 1.0, init=start, max_iter=1)
    assert not model.converged_
    assert fitted(stack, codes, 4, 1.0, init=start).converged_
    with pytest.warns(ConvergenceWarning):
        assert fitted(stack, codes, 4, 1.0, init=start, tol=1e9).n_iter_ == 3


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_one_cluster_for_each_point_fits_all_kernels_and_they_share_equally(weight):
    stack = np.array([scattered(12, 2, 3, seed=p)[0] for p in range(3)])
    model = fitted(stack, np.arange(12) % 2, 12, weight)
    assert sorted(model.labels_) == list(range(12))
    np.testing.assert_allclose(model.kernel_weights_, np.full(3, 1.0 / 3.0), rtol=1e-9)


def test_indefinite_kernels_of_a_stack_are_told():
    K = scattered(60, 3, 3)[0]
    stack = np.array([K, scattered(60, 3, 3, seed=4)[0] - 0.9 * np.mean(np.diagonal(K)) * np.eye(60)])
    with pytest.warns(KernelWarning, match="kernel 1 of the stack is not positive semidefinite"):
        fitted(stack, np.arange(60) % 2, weight=0.0)


def test_a_stack_is_not_copied_without_need():
    stack = stack_of(crossed().X)
    assert np.shares_memory(FairMultipleKernelKMeans(**STACK)._stack(stack), stack)
    single = FairMultipleKernelKMeans(**STACK)._stack(stack.astype(np.float32))
    assert single.dtype == np.float32


def test_edges():
    sample = crossed()
    stack = stack_of(sample.X)
    one = fitted(stack, sample.groups, 1, 2.0)
    assert not one.labels_.any()
    with pytest.warns(SingleGroupWarning):
        single = fitted(stack, ["all"] * 80, weight=3.0, on_single_group="warn")
    assert np.isnan(single.counts_.mnce)
    for weight in (0.0, 1.0, 1e5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert fitted(stack, sample.groups, 70, weight).counts_.sizes.min() >= 1
    first, again = (fitted(stack, sample.groups, 6, 0.5, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    skew = stack + 0.01 * np.eye(80)
    skew[1] += 1e-3 * np.triu(np.ones((80, 80)), 1) + 0.1 * np.eye(80)
    with pytest.warns(KernelWarning, match="kernel 1 of the stack is not symmetric"):
        fitted(skew, sample.groups, weight=1.0)
