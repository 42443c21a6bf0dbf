"""The judge of reconstruction against the same quantities computed from the points."""

import numpy as np
import pytest

from evenspan import FairPCA, GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    groups = np.repeat(["a", "b", "c"], [200, 120, 60])
    X = rng.normal(size=(380, 5)) * np.repeat([[1.0], [2.5], [0.5]], [200, 120, 60], axis=0) * [3, 2, 1, 1, 0.5]
    X += np.repeat(rng.normal(size=(3, 5)) * 2, [200, 120, 60], axis=0)
    half = rng.permutation(380) < 250
    return X[half], groups[half], X[~half], groups[~half]


@pytest.mark.parametrize("standardize", [False, True])
def test_group_errors_are_those_of_the_points(sample, standardize):
    X, groups, X_new, groups_new = sample
    fitted = FairPCA(2, standardize=standardize).fit(X, sensitive_features=groups)
    errors = metrics.group_errors(GroupMoments.from_data(X_new, groups_new), fitted.subspace_)
    residual = X_new - fitted.inverse_transform(fitted.transform(X_new))
    if standardize:
        residual = residual / X.std(axis=0)
    by_points = [(residual[groups_new == g] ** 2).sum(axis=1).mean(axis=0) for g in "abc"]
    np.testing.assert_allclose(errors, by_points, rtol=1e-9)
    assert errors.max() > 1.5 * errors.min()  # the groups really differ, so a mix-up would show


def test_group_centring_removes_each_groups_own_mean(sample):
    X, groups, *_ = sample
    moments, subspace = GroupMoments.from_data(X, groups), StandardPCA(2).fit(X).subspace_
    errors = metrics.group_errors(moments, subspace, centring="group")
    Y = np.vstack([X[groups == g] - X[groups == g].mean(axis=0) for g in "abc"])
    labels = np.concatenate([groups[groups == g] for g in "abc"])
    residual = Y - Y @ subspace.V @ subspace.V.T
    np.testing.assert_allclose(
        errors, [(residual[labels == g] ** 2).sum(axis=1).mean(axis=0) for g in "abc"], rtol=1e-9
    )
    assert (errors < metrics.group_errors(moments, subspace) - 1e-6).any()


def test_summaries_of_the_errors(sample):
    X, groups, *_ = sample
    moments, fitted = GroupMoments.from_data(X, groups), StandardPCA(2).fit(X)
    errors = metrics.group_errors(moments, fitted.subspace_)
    residual = X - fitted.inverse_transform(fitted.transform(X))
    assert metrics.average_error(moments, fitted.subspace_) == pytest.approx((residual**2).sum(axis=1).mean(axis=0))
    assert metrics.error_gap(moments, fitted.subspace_) == pytest.approx(max(errors) - min(errors))
    assert metrics.worst_error(moments, fitted.subspace_) == pytest.approx(max(errors))
    # Error and explained variance are two views of one split of the total variance.
    total = np.trace(moments.scatter) / moments.n
    share = metrics.explained_variance(moments, fitted.components_.T)
    assert metrics.average_error(moments, fitted.subspace_) == pytest.approx((1 - share) * total)


def test_explained_variance_is_about_the_samples_own_mean(sample):
    X, _, X_new, groups_new = sample
    V = StandardPCA(2).fit(X).components_.T
    T = X_new @ V
    expected = T.var(axis=0).sum(axis=0) / X_new.var(axis=0).sum(axis=0)
    assert metrics.explained_variance(GroupMoments.from_data(X_new, groups_new), V) == pytest.approx(expected)


def test_retained_variance_is_that_of_the_map_as_it_is_applied(sample):
    X, _, X_new, groups_new = sample
    moments = GroupMoments.from_data(X_new, groups_new)
    V = StandardPCA(2).fit(X).components_.T
    assert metrics.retained_variance(moments, V) == pytest.approx(metrics.explained_variance(moments, V))
    B = np.array([[2.0, 1.0], [0.0, -3.0], [1.0, 0.0], [0.0, 0.5], [0.1, 0.0]])
    share = (X_new @ B).var(axis=0).sum(axis=0) / X_new.var(axis=0).sum(axis=0)
    assert metrics.retained_variance(moments, B) == pytest.approx(share)
    assert share > 1, "a map that stretches"
    # Not the variance that the span of B would keep.
    span = metrics.explained_variance(moments, np.linalg.qr(B)[0])
    assert abs(metrics.retained_variance(moments, B) - span) > 0.1
    assert metrics.retained_variance(moments, np.zeros((5, 1))) == 0


def test_retained_variance_refuses_what_has_none(sample):
    X, groups, *_ = sample
    moments = GroupMoments.from_data(X, groups)
    for wrong in (np.eye(4)[:, :2], np.ones(5)):
        with pytest.raises(DataError, match=r"needed is \(5, k\)"):
            metrics.retained_variance(moments, wrong)
    with pytest.raises(DataError, match="no variance to retain"):
        metrics.retained_variance(GroupMoments.from_data(np.ones((4, 3)), ["a", "a", "b", "b"]), np.eye(3)[:, :1])


def test_a_constant_sample_has_no_variance_to_explain():
    with pytest.raises(DataError, match="no variance to explain"):
        metrics.explained_variance(GroupMoments.from_data(np.ones((4, 3)), ["a", "a", "b", "b"]), np.eye(3)[:, :1])


def test_what_is_not_orthonormal_is_refused(sample):
    X, groups, *_ = sample
    moments = GroupMoments.from_data(X, groups)
    with pytest.raises(DataError, match=r"not orthonormal.*orthonormalise"):
        metrics.explained_variance(moments, 2 * np.eye(5)[:, :2])
    with pytest.raises(DataError, match=r"\(4, 2\).*5 features"):
        metrics.explained_variance(moments, np.eye(4)[:, :2])
    with pytest.raises(ConfigurationError, match=r"fitted.*group"):
        metrics.group_errors(moments, StandardPCA(2).fit(X).subspace_, centring="global")
