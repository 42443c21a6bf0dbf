"""Fair kernel k-means as a whole: what Theorem 1 and the row update promise, with unfair clusterings as controls."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.bounds import certified, deflated_bound
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.weight_rule import WeightRule
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import FairWarning, NotSolvedError

from .clustering_samples import (
    crossed,
    fair_matrix,
    improving,
    never_falls,
    optimum,
    plain_sweeps,
    same_partition,
    scattered,
    stuck,
    trace_objective,
)

PAPER = {"kernel": "precomputed"}  # of `normalised` points
S = crossed()


def fitted(X, groups, c=3, weight=1.0, **options) -> FairKernelKMeans:
    X = normalised(X) if options.get("kernel") == "precomputed" and np.shape(X) != (len(X), len(X)) else X
    return FairKernelKMeans(c, weight, **options).fit(X, sensitive_features=groups)


def normalised(X) -> np.ndarray:
    """The linear kernel, centred and with a unit diagonal."""
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    return Z @ Z.T


def several(sample, c=3, weight=1.0, **options) -> FairMultipleKernelKMeans:
    stack = np.array([normalised(sample.X), normalised(sample.X[:, :3]), normalised(sample.X[:, 1:])])
    model = FairMultipleKernelKMeans(c, weight, kernels="precomputed", **options)
    return model.fit(stack, sensitive_features=sample.groups)


METHODS = {
    "paper": lambda sample, c=3, weight=1.0, **more: fitted(sample.X, sample.groups, c, weight, **PAPER, **more),
    "Gaussian": lambda sample, c=3, weight=1.0, **more: fitted(sample.X, sample.groups, c, weight, gamma=0.02, **more),
    "several": several,
}


@pytest.mark.parametrize("method", METHODS)
def test_a_large_weight_makes_clusters_proportional_and_weight_zero_does_not(method):
    fair, free = (METHODS[method](S, weight=weight, max_iter=60) for weight in (1e5, 0.0))
    assert same_partition(free.labels_, S.codes)  # the control: clusters are groups
    assert free.counts_.fair_gap == pytest.approx(1.0)
    assert free.counts_.balance == free.counts_.mnce == 0.0
    assert fair.counts_.fair_gap < 0.01
    assert fair.counts_.mnce > 0.95
    assert fair.counts_.lowest_regulariser == pytest.approx((40**2 + 25**2 + 15**2) / 80)
    np.testing.assert_array_equal(fair.initial_labels_, free.initial_labels_)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_clusters", [1, 7, 79, 80])
def test_no_cluster_is_ever_empty(method, n_clusters):
    for weight in (0.0, 1e6, "auto"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairWarning)
            assert METHODS[method](S, n_clusters, weight).counts_.sizes.min() >= 1


@pytest.mark.parametrize(("method", "told"), [("paper", "after 1 sweeps single"), ("several", "moved in round 1, the")])
def test_passes_used_up_are_flagged_and_warned(method, told):
    start = np.random.default_rng(1).integers(3, size=80)
    with pytest.warns(ConvergenceWarning, match=f"{told}.*Raise max_iter"):
        model = METHODS[method](S, init=start, max_iter=1)
    assert (model.converged_, model.n_iter_) == (False, 1)
    assert METHODS[method](S, init=start, max_iter=100).converged_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert METHODS[method](S, 8, init=np.arange(80) % 8, tol=1e9).n_iter_ == 3  # the tolerance counts from there


@pytest.mark.parametrize(("method", "rule"), [("paper", "auto"), ("several", WeightRule(start=0.05, step=0.1))])
def test_the_rule_is_recorded_and_starts_anew_for_every_weight(method, rule):
    sample = crossed(across=1.2, along=2.0)  # groups less far apart: MNCE rises over several weights
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairWarning)
        model = METHODS[method](sample, weight=rule, max_iter=60)
    weights, mnce = ([entry[name] for entry in model.search_] for name in ("fairness_weight", "mnce"))
    rises = np.diff(mnce)
    assert (rises[:-1][np.array(mnce[:-2]) > 0] > 0.005).all()
    assert rises[-1] <= 0.005
    assert len(weights) > 2
    for entry in model.search_:
        alone = METHODS[method](sample, weight=entry["fairness_weight"], init=model.initial_labels_, max_iter=60)
        assert (entry["mnce"], entry["balance"]) == (alone.counts_.mnce, alone.counts_.balance)
        assert entry["objective"] == pytest.approx(alone.objective_, rel=1e-12)
        assert entry["n_sweeps" if method == "paper" else "n_rounds"] == alone.n_iter_
    np.testing.assert_array_equal(model.labels_, alone.labels_)  # the last weight, not the best one
    assert model.fairness_weight_ == weights[-1]


def test_what_is_stored_belongs_together():
    start = np.random.default_rng(0).integers(3, size=80)
    kept, K, codes = start.copy(), normalised(S.X), np.unique(S.groups, return_inverse=True)[1]
    model = fitted(K, S.groups, weight=2.0, init=start, **PAPER)
    expected = ClusterCounts.from_labels(model.labels_, S.groups, 3)
    np.testing.assert_array_equal(model.counts_.counts, expected.counts)
    np.testing.assert_array_equal(model.counts_.labels, expected.labels)
    fair_K = fair_matrix(K, codes, 2.0)
    assert model.objective_ == pytest.approx(trace_objective(fair_K, model.labels_, 3), rel=1e-10)
    assert model.objective_ == model.history_[-1] == model.certificate_.primal
    assert never_falls(model.history_)
    assert (model.fairness_weight_, model.search_, model.n_swaps_, model.converged_) == (2.0, [], 0, True)
    plain = plain_sweeps(fair_K, start, 3)
    np.testing.assert_array_equal(model.labels_, plain.labels)
    assert (model.n_iter_, model.n_moves_) == (len(plain.sweeps), len(plain.moves))
    assert improving(fair_K, model.labels_, 3)[0] == []
    for given in (start, model.initial_labels_):  # labels that are given are kept, and not changed in place
        np.testing.assert_array_equal(given, kept)


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_exhaustive_optimum_is_between_answer_and_bound(seed, n_clusters):
    K, codes, _ = scattered(9 - seed % 2, 2, n_clusters, seed=seed)
    for weight in (0.0, 1.5, 50.0):
        fair_K = fair_matrix(K, codes, weight)
        best = optimum(fair_K, n_clusters)
        slack = 1e-9 * (1 + abs(best))
        moves, swaps = (fitted(K, codes, n_clusters, weight, swaps=s, max_iter=100, **PAPER) for s in (False, True))
        for model in (moves, swaps):
            assert model.objective_ <= best + slack
            assert best <= model.certificate_.dual + slack
            assert improving(fair_K, model.labels_, n_clusters)[0] == []
        assert improving(fair_K, swaps.labels_, n_clusters) == ([], [])
        assert swaps.objective_ >= moves.objective_ - slack


def test_bound_is_met_where_clusters_are_exact_and_proportional():
    # three places with all groups in the same shares: eigenvalues and regulariser reach their bounds together
    place, codes = np.repeat([0, 1, 2], [8, 12, 4]), np.tile([0, 0, 1, 2], 6)
    model = fitted(np.eye(3)[place] * [3.0, 2.0, 5.0], codes, 3, 4.0, kernel="linear")
    assert same_partition(model.labels_, place)
    assert model.certificate_.is_optimal(1e-10)
    assert model.counts_.fair_gap == pytest.approx(0.0, abs=1e-12)
    assert model.certificate_.dual == pytest.approx(
        9 * 8 + 4 * 12 + 25 * 4 - ((9 * 64 + 4 * 144 + 25 * 16) / 24) - 4.0 * (12**2 + 6**2 + 6**2) / 24
    )
    # the control: where single moves are stuck the gap is open, by at least what is left to gain
    X, groups, start, place = stuck()
    moves, swaps = (fitted(X, groups, 2, 50.0, kernel="linear", init=start, swaps=flag) for flag in (False, True))
    np.testing.assert_array_equal(moves.labels_, start)
    np.testing.assert_array_equal(swaps.labels_, place)
    assert (moves.n_swaps_, swaps.n_swaps_, swaps.converged_) == (0, 1, True)
    left = swaps.objective_ - moves.objective_
    assert moves.certificate_.gap >= left > 1.0
    assert swaps.certificate_.gap < 0.01 * left
    assert swaps.certificate_.primal == swaps.objective_ == swaps.history_[-1]


@pytest.mark.parametrize("n", [90, 650])
@pytest.mark.parametrize("weight", [0.0, 40.0])
def test_bound_is_that_of_explicit_eigenvalues_and_sharper_than_kernel_and_fairness_apart(n, weight):
    K, codes, labels = scattered(n, 3, 4, seed=1)
    M, centring = fair_matrix(K, codes, weight), np.eye(n) - 1.0 / n
    values = np.linalg.eigvalsh(centring @ M @ centring)[::-1]
    counts, scale = ClusterCounts.from_labels(labels, codes, 4), float(np.abs(M).sum(axis=None)) / n
    for c in (1, 2, 4):
        found = deflated_bound(DenseGram(K), codes, weight, c, np.random.default_rng(0))
        assert found == pytest.approx(M.sum(axis=None) / n + values[: c - 1].sum(axis=0), abs=1e-8 * scale)
        apart = np.linalg.eigvalsh(K)[::-1][:c].sum() - weight * counts.lowest_regulariser
        assert found <= apart + 1e-8 * scale
    assert found < apart - 1e-6 * scale


def test_a_bound_below_the_value_reached_is_an_error():
    with pytest.raises(NotSolvedError, match=r"the bound 1 is below the value reached, 2"):
        certified("a problem", 2.0, 1.0, DenseGram(np.eye(4)))
    assert certified("a problem", 2.0, 2.0 - 1e-9, DenseGram(np.eye(4))).gap == 0.0


def test_scaling_and_order_change_no_label():
    K, start = normalised(S.X), np.random.default_rng(2).integers(3, size=80)
    options = {"init": start, **PAPER}
    model = fitted(K, S.groups, weight=1.5, **options)
    np.testing.assert_array_equal(fitted(7.0 * K, S.groups, weight=10.5, **options).labels_, model.labels_)
    names = np.array([2, 0, 1])
    other = fitted(K, S.groups, weight=1.5, **options | {"init": names[start]})
    np.testing.assert_array_equal(other.labels_, names[model.labels_])
    order = np.random.default_rng(3).permutation(80)
    shuffled = fitted(K[np.ix_(order, order)], S.groups[order], weight=1.5, **options | {"init": start[order]})
    plain = plain_sweeps(fair_matrix(K, S.codes, 1.5), start, 3, order=order)
    np.testing.assert_array_equal(shuffled.labels_, plain.labels[order])


def test_the_curve_is_a_fit_with_each_weight_from_one_start():
    sample, model, weights = crossed(across=1.2, along=2.0), FairKernelKMeans(3, **PAPER), [4.0, 0.0, 1.0]
    points = model.curve(normalised(sample.X), weights, sensitive_features=sample.groups)
    assert [point.weight for point in points] == weights
    assert not hasattr(model, "group_labels_")
    for point in points:
        alone = fitted(sample.X, sample.groups, weight=point.weight, **PAPER)
        np.testing.assert_array_equal(point.labels, alone.labels_)
        np.testing.assert_array_equal(point.counts.counts, alone.counts_.counts)
        np.testing.assert_array_equal(point.updates.history, alone.history_)
        assert (point.updates.n_sweeps, point.updates.converged) == (alone.n_iter_, alone.converged_)
    assert points[0].counts.fair_gap < points[2].counts.fair_gap <= points[1].counts.fair_gap
