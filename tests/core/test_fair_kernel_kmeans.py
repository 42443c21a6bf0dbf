"""Fair kernel k-means as a whole: what Theorem 1 and the row update promise, with unfair clusterings as controls."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from compendium.papers.zhou2024.protocol import PublishedRule
from evenspan.clustering.bounds import certified, deflated_bound
from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.kernels import DenseGram
from evenspan.clustering.weight_rule import WeightRule, WorseWeightWarning
from evenspan.core.cluster_counts import ClusterCounts
from evenspan.core.errors import NotSolvedError, SingleGroupWarning

from .clustering_samples import (
    crossed,
    fair_matrix,
    improving_moves,
    improving_swaps,
    never_falls,
    optimum,
    plain_sweeps,
    same_partition,
    scattered,
    trace_objective,
)

PAPER = {"kernel": "precomputed"}  # of `normalised` points
MILD = {"across": 1.2, "along": 2.0}  # groups less far apart: MNCE rises over several weights


def fitted(X, groups, c=3, weight=1.0, **options) -> FairKernelKMeans:
    X = normalised(X) if options.get("kernel") == "precomputed" and np.shape(X) != (len(X), len(X)) else X
    return FairKernelKMeans(c, weight, **options).fit(X, sensitive_features=groups)


def normalised(X) -> np.ndarray:
    """The linear kernel, centred and with a unit diagonal."""
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    return Z @ Z.T


@pytest.mark.parametrize("options", [PAPER, {"kernel": "rbf", "gamma": 0.02}, {"kernel": "linear"}])
def test_a_large_weight_makes_clusters_proportional_and_weight_zero_does_not(options):
    sample = crossed()
    fair = fitted(sample.X, sample.groups, weight=1e5, max_iter=50, **options)
    free = fitted(sample.X, sample.groups, weight=0.0, **options)
    assert same_partition(free.labels_, sample.codes)  # the control: clusters are groups
    assert free.counts_.fair_gap == pytest.approx(1.0)
    assert free.counts_.balance == free.counts_.mnce == 0.0
    assert fair.counts_.fair_gap < 0.01
    assert fair.counts_.mnce > 0.97
    assert fair.counts_.regulariser >= fair.counts_.lowest_regulariser * (1 - 1e-12)
    assert fair.counts_.lowest_regulariser == pytest.approx((40**2 + 25**2 + 15**2) / 80)


def test_what_is_stored_belongs_together():
    sample = crossed()
    model = fitted(sample.X, sample.groups, weight=2.0, **PAPER)
    assert list(model.group_labels_) == ["azure", "beige", "crimson"]
    assert model.group_counts_.tolist() == [25, 15, 40]
    expected = ClusterCounts.from_labels(model.labels_, sample.groups, 3)
    np.testing.assert_array_equal(model.counts_.counts, expected.counts)
    np.testing.assert_array_equal(model.counts_.labels, expected.labels)
    np.testing.assert_array_equal(model.counts_.clusters, [0, 1, 2])
    K = normalised(sample.X)
    codes = np.unique(sample.groups, return_inverse=True)[1]
    assert model.objective_ == pytest.approx(trace_objective(fair_matrix(K, codes, 2.0), model.labels_, 3), rel=1e-10)
    assert model.objective_ == model.history_[-1] == model.certificate_.primal
    assert never_falls(model.history_)
    assert len(model.history_) == model.n_iter_ + 1
    assert (model.fairness_weight_, model.search_, model.n_swaps_, model.converged_) == (2.0, [], 0, True)
    assert model.labels_.dtype == np.int64
    plain = plain_sweeps(fair_matrix(K, codes, 2.0), model.initial_labels_, 3)
    np.testing.assert_array_equal(model.labels_, plain.labels)
    assert (model.n_iter_, model.n_moves_) == (len(plain.sweeps), len(plain.moves))
    assert improving_moves(fair_matrix(K, codes, 2.0), model.labels_, 3) == []


@pytest.mark.parametrize("weight", [0.0, 1.0, 30.0])
def test_a_factor_and_a_precomputed_kernel_of_either_precision_agree(weight):
    sample = crossed(noise=0.15)
    start = np.random.default_rng(1).integers(3, size=80)
    reference = fitted(sample.X, sample.groups, weight=weight, kernel="linear", init=start)
    Z = sample.X - sample.X.mean(axis=0)  # a linear kernel is that of the points about their mean
    K = Z @ Z.T
    single = fitted(K.astype(np.float32), sample.groups, weight=weight, kernel="precomputed", init=start)
    np.testing.assert_array_equal(single.labels_, reference.labels_)
    assert single.n_moves_ == reference.n_moves_
    for shift in (0.0, 40.0 * weight, 4000.0 * weight, 3.0):
        options = {"kernel": "precomputed", "init": start}
        found = fitted(K + shift * np.eye(80), sample.groups, weight=weight, **options)
        np.testing.assert_array_equal(found.labels_, reference.labels_)
        assert found.objective_ - 3 * shift == pytest.approx(reference.objective_, rel=1e-8)
    unpaid = fair_matrix(K, np.unique(sample.groups, return_inverse=True)[1], weight)
    np.testing.assert_array_equal(plain_sweeps(unpaid, start, 3).labels, reference.labels_)


def test_relaxed_start_is_the_same_for_all_weights():
    sample = crossed()
    options = {"kernel": "rbf", "gamma": 0.02, "max_iter": 50}
    starts = [
        fitted(sample.X, sample.groups, weight=weight, **options).initial_labels_ for weight in (0.0, 3.0, "auto")
    ]
    for start in starts[1:]:
        np.testing.assert_array_equal(start, starts[0])


def test_rule_of_the_paper_gives_up_at_once_where_the_first_weight_is_too_small():
    # groups far apart: weight 1 leaves MNCE at 0, which is no rise over 0, although weight 4 would do
    sample = crossed()
    ruled = fitted(sample.X, sample.groups, weight=PublishedRule(), **PAPER)
    assert (ruled.fairness_weight_, ruled.counts_.mnce) == (1.0, 0.0)
    patient = fitted(sample.X, sample.groups, weight=PublishedRule(patience=3), max_iter=50, **PAPER)
    assert patient.counts_.mnce > 0.95


@pytest.mark.parametrize("n_clusters", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_exhaustive_optimum_is_between_answer_and_bound(seed, n_clusters):
    n = 9 - seed % 2
    K, codes, _ = scattered(n, 2, n_clusters, seed=seed)
    for weight in (0.0, 1.5, 50.0):
        fair_K = fair_matrix(K, codes, weight)
        best = optimum(fair_K, n_clusters)
        slack = 1e-9 * (1 + abs(best))
        values = []
        for swaps in (False, True):
            options = {"kernel": "precomputed", "swaps": swaps, "max_iter": 100}
            model = fitted(K, codes, n_clusters, weight, **options)
            assert model.objective_ <= best + slack
            assert best <= model.certificate_.dual + slack
            assert model.certificate_.gap >= -slack
            assert improving_moves(fair_K, model.labels_, n_clusters) == []
            values.append(model.objective_)
        assert improving_swaps(fair_K, model.labels_, n_clusters) == []
        assert values[1] >= values[0] - slack


def test_bound_is_met_where_clusters_are_exact_and_proportional():
    # three places with all groups in the same shares: eigenvalues and regulariser reach their bounds together
    place, codes = np.repeat([0, 1, 2], [8, 12, 4]), np.tile([0, 0, 1, 2], 6)
    Z = np.eye(3)[place] * [3.0, 2.0, 5.0]
    model = fitted(Z, codes, 3, 4.0, kernel="linear")
    assert same_partition(model.labels_, place)
    assert model.certificate_.is_optimal(1e-10)
    assert model.counts_.fair_gap == pytest.approx(0.0, abs=1e-12)
    assert model.certificate_.dual == pytest.approx(
        9 * 8 + 4 * 12 + 25 * 4 - ((9 * 64 + 4 * 144 + 25 * 16) / 24) - 4.0 * (12**2 + 6**2 + 6**2) / 24
    )
    # the control: where single moves are stuck the gap is open, by at least what is left to gain
    X, groups, start, place = stuck()
    moves, swaps = (fitted(X, groups, 2, 50.0, kernel="linear", init=start, swaps=flag) for flag in (False, True))
    left = swaps.objective_ - moves.objective_
    assert left > 1.0
    assert moves.certificate_.gap >= left
    assert swaps.certificate_.gap < 0.01 * left


@pytest.mark.parametrize("n", [90, 650])
@pytest.mark.parametrize("weight", [0.0, 0.5, 40.0])
def test_bound_is_that_of_explicit_eigenvalues_and_sharper_than_kernel_and_fairness_apart(n, weight):
    K, codes, labels = scattered(n, 3, 4, seed=1)
    M = fair_matrix(K, codes, weight)
    centring = np.eye(n) - 1.0 / n
    values = np.linalg.eigvalsh(centring @ M @ centring)[::-1]
    counts = ClusterCounts.from_labels(labels, codes, 4)
    for c in (1, 2, 4):
        found = deflated_bound(DenseGram(K), codes, weight, c, np.random.default_rng(0))
        scale = float(np.abs(M).sum(axis=None)) / n
        assert found == pytest.approx(M.sum(axis=None) / n + values[: c - 1].sum(axis=0), abs=1e-8 * scale)
        apart = np.linalg.eigvalsh(K)[::-1][:c].sum() - weight * counts.lowest_regulariser
        assert found <= apart + 1e-8 * scale
    assert found < apart - 1e-6 * scale


def stuck():
    place, codes = np.repeat([0, 1], 4), np.array(["a", "a", "b", "b"] * 2)
    start = place.copy()
    start[[1, 4]] = [1, 0]
    return np.array([[1.0, 0.2], [-0.5, 1.1]])[place] + 0.01 * np.arange(16).reshape(8, 2), codes, start, place


def test_swaps_leave_what_single_moves_cannot():
    X, groups, start, place = stuck()
    moves = fitted(X, groups, 2, 50.0, kernel="linear", init=start)
    swaps = fitted(X, groups, 2, 50.0, kernel="linear", init=start, swaps=True)
    np.testing.assert_array_equal(moves.labels_, start)
    np.testing.assert_array_equal(swaps.labels_, place)
    assert (moves.n_swaps_, swaps.n_swaps_, swaps.converged_) == (0, 1, True)
    assert swaps.objective_ > moves.objective_
    assert swaps.certificate_.primal == swaps.objective_ == swaps.history_[-1]
    assert swaps.counts_.fair_gap == pytest.approx(0.0, abs=1e-12)


def test_scaling_shifting_and_relabelling_change_no_label():
    sample = crossed()
    K, start = normalised(sample.X), np.random.default_rng(2).integers(3, size=80)
    options = {"kernel": "precomputed", "init": start}
    model = fitted(K, sample.groups, weight=1.5, **options)
    for other in (
        fitted(7.0 * K, sample.groups, weight=10.5, **options),
        fitted(K, sample.codes, weight=1.5, **options),
        fitted(K, [f"g{2 - code}" for code in sample.codes], weight=1.5, **options),
        fitted(K, pd.Series(sample.groups, index=range(100, 180)), weight=1.5, **options),
        fitted(K, sample.groups.astype(object), weight=1.5, **options),
    ):
        np.testing.assert_array_equal(other.labels_, model.labels_)
    names = np.array([2, 0, 1])
    other = fitted(K, sample.groups, weight=1.5, kernel="precomputed", init=names[start])
    np.testing.assert_array_equal(other.labels_, names[model.labels_])
    words = fitted(K, sample.groups, weight=1.5, kernel="precomputed", init=np.array(["x", "y", "z"])[start])
    np.testing.assert_array_equal(words.labels_, model.labels_)
    order = np.random.default_rng(3).permutation(80)
    options["init"] = start[order]
    shuffled = fitted(K[np.ix_(order, order)], sample.groups[order], weight=1.5, **options)
    plain = plain_sweeps(fair_matrix(K, sample.codes, 1.5), start, 3, order=order)
    np.testing.assert_array_equal(shuffled.labels_, plain.labels[order])


def test_several_sensitive_columns_are_their_combinations():
    sample = crossed()
    second = np.arange(80) % 2
    frame = pd.DataFrame({"colour": sample.groups, "parity": second})
    model = fitted(sample.X, frame, weight=3.0, **PAPER)
    joint = fitted(sample.X, [f"{a}/{b}" for a, b in zip(sample.groups, second, strict=True)], weight=3.0, **PAPER)
    assert len(model.group_labels_) == 6
    np.testing.assert_array_equal(model.labels_, joint.labels_)
    np.testing.assert_array_equal(model.counts_.counts, joint.counts_.counts)


def test_given_labels_are_kept_and_never_changed_in_place():
    sample = crossed()
    start = np.random.default_rng(0).integers(3, size=80)
    kept = start.copy()
    model = fitted(sample.X, sample.groups, weight=2.0, init=start, **PAPER)
    assert model.n_moves_ > 0
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(model.initial_labels_, kept)
    model = fitted(sample.X, sample.groups, weight="auto", init=start, swaps=True, **PAPER)
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(model.initial_labels_, kept)


def test_empty_clusters_of_given_labels_are_filled():
    sample = crossed()
    start = np.where(sample.codes == 0, 3, 1)
    model = fitted(sample.X, sample.groups, 5, 1.0, init=start, **PAPER)
    assert np.bincount(model.initial_labels_, minlength=5).min() == 1
    assert (model.initial_labels_ != start).sum() == 3
    assert model.counts_.sizes.min() >= 1
    assert model.counts_.sizes.sum() == 80
    shifted = fitted(sample.X, sample.groups, 2, 1.0, init=start, **PAPER)  # 3 is no number of a cluster of two
    assert set(shifted.initial_labels_) == {0, 1}


@pytest.mark.parametrize("weight", [0.0, 1.0, 1e6, "auto"])
@pytest.mark.parametrize("n_clusters", [1, 2, 7, 30, 79, 80])
def test_no_cluster_is_ever_empty(weight, n_clusters):
    sample = crossed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", WorseWeightWarning)
        model = fitted(sample.X, sample.groups, n_clusters, weight, **PAPER)
    assert model.counts_.sizes.min() >= 1
    assert len(model.counts_.sizes) == n_clusters


def test_one_cluster_and_one_for_each_point():
    sample = crossed()
    one = fitted(sample.X, sample.groups, 1, 3.0, **PAPER)
    assert not one.labels_.any()
    assert one.counts_.mnce == pytest.approx(1.0)
    assert (one.converged_, one.n_moves_) == (True, 0)
    own = fitted(sample.X, sample.groups, 80, 3.0, swaps=True, **PAPER)
    assert sorted(own.labels_) == list(range(80))
    assert own.objective_ == pytest.approx(80 - 3.0 * 80)
    assert (own.converged_, own.n_swaps_) == (True, 0)


def test_one_group_warns_and_equals_weight_zero():
    sample = crossed()
    with pytest.warns(SingleGroupWarning, match="one group only"):
        model = fitted(sample.X, ["all"] * 80, weight=5.0, on_single_group="warn", **PAPER)
    free = fitted(sample.X, sample.groups, weight=0.0, **PAPER)
    np.testing.assert_array_equal(model.labels_, free.labels_)
    assert model.objective_ == pytest.approx(free.objective_ - 5.0 * 80)
    assert np.isnan(model.counts_.mnce)
    with pytest.warns(SingleGroupWarning):
        ruled = fitted(sample.X, ["all"] * 80, weight="auto", on_single_group="warn", **PAPER)
    assert [entry["fairness_weight"] for entry in ruled.search_] == [1.0]
    np.testing.assert_array_equal(ruled.labels_, free.labels_)


def test_duplicates_are_reproducible():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5, 2))[rng.integers(5, size=60)]
    groups = rng.integers(3, size=60)
    for weight in (0.0, 0.5, "auto"):
        first, second = (fitted(X, groups, 4, weight, kernel="rbf", max_iter=100, random_state=3) for _ in range(2))
        np.testing.assert_array_equal(first.labels_, second.labels_)
        assert first.converged_


def test_seed_decides_the_start_and_fit_changes_no_argument():
    sample = crossed()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    first, again = (fitted(X, sample.groups, 8, 0.5, kernel="rbf", random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, again.labels_)
    starts = [fitted(X, sample.groups, 8, 0.5, kernel="rbf", random_state=seed).initial_labels_ for seed in range(5)]
    assert len({start.tobytes() for start in starts}) > 1
    generator = fitted(X, sample.groups, 8, 0.5, kernel="rbf", random_state=np.random.default_rng(7))
    np.testing.assert_array_equal(generator.labels_, first.labels_)
    model = FairKernelKMeans(3, "auto", **PAPER)
    before = model.get_params()
    K = normalised(sample.X)
    model.fit(K, sensitive_features=sample.groups)
    assert model.get_params() == before
    again = FairKernelKMeans(3, **PAPER).fit_predict(K, sensitive_features=sample.groups)
    np.testing.assert_array_equal(model.labels_, again)


def test_sweeps_used_up_is_flagged_and_warned():
    K, codes, start = scattered(80, 3, 5, seed=1)
    with pytest.warns(ConvergenceWarning, match="after 1 sweeps single moves still improve"):
        model = fitted(K, codes, 5, 1.0, kernel="precomputed", init=start, max_iter=1)
    assert not model.converged_
    assert model.n_iter_ == 1
    assert improving_moves(fair_matrix(K, codes, 1.0), model.labels_, 5) != []
    assert fitted(K, codes, 5, 1.0, kernel="precomputed", init=start, max_iter=100).converged_
    with pytest.warns(ConvergenceWarning):
        assert fitted(K, codes, 5, 1.0, kernel="precomputed", init=start, tol=1e9, max_iter=9).n_iter_ == 3


def test_rule_of_the_paper_is_recorded_and_starts_anew_for_every_weight():
    sample = crossed(**MILD)
    model = fitted(sample.X, sample.groups, weight="auto", **PAPER)
    weights = [entry["fairness_weight"] for entry in model.search_]
    mnce = [0.0] + [entry["mnce"] for entry in model.search_]
    assert weights == [float(w) for w in range(1, len(weights) + 1)]
    assert model.fairness_weight_ == weights[-1]
    rises = np.diff(mnce)
    assert (rises[:-1] > 0.005).all()
    assert rises[-1] <= 0.005
    assert len(weights) > 1
    for entry in model.search_:
        alone = fitted(sample.X, sample.groups, weight=entry["fairness_weight"], init=model.initial_labels_, **PAPER)
        assert entry == {
            "fairness_weight": alone.fairness_weight_,
            "mnce": alone.counts_.mnce,
            "balance": alone.counts_.balance,
            "objective": pytest.approx(alone.objective_, rel=1e-12),
            "n_sweeps": alone.n_iter_,
        }
    np.testing.assert_array_equal(model.labels_, alone.labels_)  # the last weight, not the best one


def test_rule_with_other_steps_and_undecided():
    sample = crossed(**MILD)
    rule = WeightRule(start=0.25, step=0.5)
    with pytest.warns(WorseWeightWarning, match=r"ended at the weight 2 .* but the weight 1\.5 reached"):
        model = fitted(sample.X, sample.groups, weight=rule, max_iter=50, **PAPER)
    assert [entry["fairness_weight"] for entry in model.search_][:3] == [0.25, 0.5, 1.0]
    assert model.search_[0]["mnce"] == 0.0  # the rule of the paper would have ended here; ours doubles
    with pytest.warns(ConvergenceWarning, match="MNCE still rose, or was still 0, at the largest weight tried, 1"):
        short = fitted(sample.X, sample.groups, weight=WeightRule(max_weight=1.0), **PAPER)
    assert short.fairness_weight_ == 1.0
    assert len(short.search_) == 1


def test_curve_starts_every_weight_from_the_same_labels():
    sample = crossed(**MILD)
    model = FairKernelKMeans(3, **PAPER)
    weights = [4.0, 0.0, 1.0]
    points = model.curve(normalised(sample.X), weights, sensitive_features=sample.groups)
    assert [point.weight for point in points] == weights
    for point in points:
        alone = fitted(sample.X, sample.groups, weight=point.weight, **PAPER)
        np.testing.assert_array_equal(point.labels, alone.labels_)
        np.testing.assert_array_equal(point.counts.counts, alone.counts_.counts)
        np.testing.assert_array_equal(point.counts.labels, alone.group_labels_)
        assert point.updates.objective == pytest.approx(alone.objective_, rel=1e-12)
    assert points[0].counts.fair_gap < points[2].counts.fair_gap <= points[1].counts.fair_gap


def test_weight_zero_with_a_linear_kernel_is_k_means_without_groups():
    sample = crossed()
    model = fitted(sample.X, sample.groups, weight=0.0, kernel="linear")
    means = np.array([sample.X[model.labels_ == k].mean(axis=0) for k in range(3)])
    inertia = float(((sample.X - means[model.labels_]) ** 2).sum(axis=None))
    about = sample.X - sample.X.mean(axis=0)
    assert float((about**2).sum(axis=None)) - model.objective_ == pytest.approx(inertia, rel=1e-9)
    other = fitted(sample.X, sample.groups[::-1], weight=0.0, kernel="linear")
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert not np.array_equal(fitted(sample.X, sample.groups, weight=300.0, kernel="linear").labels_, model.labels_)


def test_a_bound_below_the_value_reached_is_an_error():
    gram = DenseGram(np.eye(4))
    with pytest.raises(NotSolvedError, match=r"the bound 1 is below the value reached, 2"):
        certified("a problem", 2.0, 1.0, gram)
    assert certified("a problem", 2.0, 2.0 - 1e-9, gram).gap == 0.0
