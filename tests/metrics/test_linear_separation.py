"""Linear separation of two groups: the classifier is optimal, the distance is the largest difference of shares."""

import numpy as np
import pytest
from evenspan.metrics.linear_separation import distance
from evenspan.metrics.linear_svm import linear_svm
from sklearn.svm import SVC

from evenspan import GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError, GroupError


def two_groups(n, p, shift, *, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    second = rng.random(n) < share
    X = rng.normal(size=(n, p)) * np.linspace(1.0, 3.0, p)
    X[second, 0] += shift
    return (X - X.mean(axis=0)) / X.std(axis=0), second


@pytest.mark.parametrize(("n", "p", "shift"), [(60, 2, 1.0), (200, 3, 1.5), (150, 6, 8.0)])
@pytest.mark.parametrize("penalty", [1e-4, 1e-2, 1.0])
def test_the_classifier_reaches_the_optimum_of_a_rival_solver(n, p, shift, penalty):
    X, second = two_groups(n, p, shift)
    ours = linear_svm(X, second, penalty)
    y = np.where(second, 1.0, -1.0)

    def objective(w, b):
        return 0.5 * w @ w + penalty * np.maximum(0.0, 1.0 - y * (X @ w + b)).sum(axis=0)

    rival = SVC(kernel="linear", C=penalty, tol=1e-8).fit(X, second)
    assert ours.primal == pytest.approx(objective(ours.w, ours.intercept), rel=1e-12)
    assert ours.primal == pytest.approx(objective(rival.coef_[0], rival.intercept_[0]), rel=1e-6)
    assert ours.dual <= ours.primal * (1 + 1e-12) <= objective(rival.coef_[0], rival.intercept_[0]) * (1 + 1e-9)
    assert objective(0.9 * ours.w, ours.intercept) > ours.primal  # and it is not merely flat


@pytest.mark.parametrize("shift", [0.3, 2.0, 20.0])
@pytest.mark.parametrize("penalty", [1e-4, 1.0, 1e4])
def test_the_gap_is_small_on_large_samples_overlapping_or_separable(shift, penalty):
    for p in (3, 10):
        X, second = two_groups(4000, p, shift, share=0.45)
        X[:, 1] = np.round(X[:, 1])  # repeated values
        answer = linear_svm(X, second, penalty)
        assert -1e-12 * answer.primal <= answer.primal - answer.dual <= 1e-9 * answer.primal
        assert answer.steps < 60


def test_a_constant_score_is_recognised_as_optimal():
    rng = np.random.default_rng(4)
    second = np.arange(400) % 5 == 0
    answer = linear_svm(rng.normal(size=(400, 3)), second, 1.0)
    assert answer.constant
    assert answer.primal == pytest.approx(2 * second.sum(axis=0), rel=1e-4)
    assert 0 < np.linalg.norm(answer.w) < 1e-4
    assert not linear_svm(*two_groups(400, 3, 3.0), 1.0).constant


def test_distance_by_brute_force_and_what_ties_do():
    rng = np.random.default_rng(1)
    score, second = rng.integers(0, 6, size=50).astype(float), rng.random(50) < 0.4
    brute = max(abs((score[second] > t).mean() - (score[~second] > t).mean()) for t in score)
    assert distance(score, second) == pytest.approx(brute, abs=1e-12)
    same = np.zeros(50)
    assert distance(same, second) == 0.0
    # The released rule puts thresholds between equal scores: sorted by group they look perfectly separated.
    assert distance(same, np.sort(second), "released") == 1.0
    # Rows that are equal but for rounding are equal.
    assert distance(1.0 + 1e-15 * rng.normal(size=50), second) == 0.0


@pytest.mark.parametrize("variant", ["defined", "released"])
def test_separable_groups_give_one_and_swapping_labels_changes_nothing(variant):
    X, second = two_groups(120, 3, 30.0)
    assert metrics.linear_separation(X, second, rng=np.random.default_rng(0), variant=variant) == 1.0
    X, second = two_groups(150, 3, 1.0)
    value = metrics.linear_separation(X, second, rng=np.random.default_rng(0), variant=variant)
    swapped = metrics.linear_separation(X, ~second, rng=np.random.default_rng(0), variant=variant)
    assert value == pytest.approx(swapped, abs=1e-12)
    assert 0.2 < value < 1.0


def test_more_separation_than_a_single_column_and_than_chance():
    X, second = two_groups(300, 3, 2.0)
    value = metrics.linear_separation(X, second, rng=np.random.default_rng(0))
    null = metrics.linear_separation(X, np.random.default_rng(5).permutation(second), rng=np.random.default_rng(0))
    assert null < 0.25 < value
    assert value > distance(X[:, 0], second) - 0.05


@pytest.mark.parametrize("shift", [0.3, 1.5, 4.0])
def test_principal_axes_make_the_value_independent_of_the_starting_basis(shift):
    X, second = two_groups(180, 6, shift)
    X = X * [5.0, 3.0, 2.0, 1.0, 0.5, 0.2]
    X[:, 1] += 0.5 * X[:, 0]
    moments = GroupMoments.from_data(X, second)
    V = StandardPCA(3).fit_moments(moments).components_.T
    values, plain = [], []
    for seed in range(4):
        R, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
        axes = metrics.principal_axes(V @ R, moments.scatter)
        H = axes.T @ moments.scatter @ axes
        np.testing.assert_allclose(H, np.diag(np.diag(H)), atol=1e-9 * H.max())
        assert (np.diff(np.diag(H)) < 0).all()
        for basis, found in [(axes, values), (V @ R, plain)]:
            rng = np.random.default_rng(0)
            # A strong penalty: without one the classifier is the same in every basis.
            found.append(metrics.linear_separation(X @ basis, second, rng=rng, penalties=(1e-2, 1e-3)))
    assert np.ptp(values) < 1e-12
    assert np.ptp(plain) > 1e-3  # without the rotation the basis shows


def test_operator_errors_are_those_of_the_points_and_agree_with_projections():
    rng = np.random.default_rng(2)
    X, groups = rng.normal(size=(90, 4)) * [3, 2, 1, 0.5] + 5.0, np.repeat(["a", "b", "c"], [50, 28, 12])
    X[groups == "b"] += [1.0, 0.0, 2.0, 0.0]
    moments, fitted = GroupMoments.from_data(X, groups), StandardPCA(2, standardize=True).fit(X)
    P, scale = 0.3 * rng.normal(size=(4, 4)), X.std(axis=0)
    training = moments.means + rng.normal(size=(3, 4))
    for centring, means, centre in [
        ("fitted", None, np.tile(fitted.mean_, (3, 1))),
        ("group", None, moments.means),
        ("group", training, training),
    ]:
        Z = (X - centre[np.repeat([0, 1, 2], [50, 28, 12])]) / scale
        literal = [((Z - Z @ P.T)[groups == g] ** 2).sum(axis=1).mean(axis=0) for g in "abc"]
        arguments = {"mean": fitted.mean_, "scale": scale, "centring": centring, "means": means}
        np.testing.assert_allclose(metrics.operator_errors(moments, P, **arguments), literal, rtol=1e-9)
        V = fitted.subspace_.V
        by_subspace = metrics.group_errors(moments, fitted.subspace_, centring=centring, means=means)
        np.testing.assert_allclose(metrics.operator_errors(moments, V @ V.T, **arguments), by_subspace, rtol=1e-9)


def test_refusals():
    X, second = two_groups(30, 2, 1.0)
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigurationError, match="'defined' or 'released'"):
        metrics.linear_separation(X, second, rng=rng, variant="exact")
    with pytest.raises(GroupError, match="exactly two groups, but there are 3"):
        metrics.linear_separation(X, np.arange(30) % 3, rng=rng)
    with pytest.raises(DataError, match="in none of 5 folds"):
        metrics.linear_separation(X, np.arange(30) == 0, rng=rng)
    moments, fitted = GroupMoments.from_data(X, second), StandardPCA(1).fit(X)
    with pytest.raises(ConfigurationError, match="go with centring='group'"):
        metrics.group_errors(moments, fitted.subspace_, means=moments.means)
    with pytest.raises(DataError, match=r"needed is \(d, d\)"):
        metrics.operator_errors(moments, np.eye(3), mean=fitted.mean_, centring="fitted")
