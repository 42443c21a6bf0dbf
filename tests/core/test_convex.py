"""The convex relaxation of Olfat and Aswani: closed forms, monotonicity, certificates, collapse; PCA as control."""

import warnings

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from compendium.papers.vu2022.methods import convex_as_published
from evenspan import GroupMoments, StandardPCA
from evenspan.core.errors import ConfigurationError, GroupError, SurplusComponentsWarning
from evenspan.core.estimator import NotConvergedWarning
from evenspan.reconstruction.convex import CollapsedRelaxationWarning, ConvexFairPCA, solve_convex


def sample(d=7, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b"], [130, 70])
    X = rng.normal(size=(200, d)) @ (rng.normal(size=(d, d)) * np.exp(-np.arange(d) / 3)[:, None])
    X[groups == "b"] = X[groups == "b"] * np.linspace(0.6, 1.6, d) + rng.normal(size=d) * X.std(axis=0)
    return X * np.linspace(1, 20, d) + 3.0, groups


@pytest.fixture(scope="module")
def data():
    return sample()


def gap(fitted, X, groups):
    T = (X - fitted.mean_) / X.std(axis=0) @ fitted.components_.T
    return float(np.linalg.norm(T[groups == "a"].mean(axis=0) - T[groups == "b"].mean(axis=0)))


def test_a_slack_constraint_recovers_pca(data):
    X, groups = data
    pca = StandardPCA(2, standardize=True).fit(X)
    moments = GroupMoments.from_data(X, groups).standardised()
    for solve in (solve_convex, convex_as_published):
        found = solve(moments, 2, delta=1e4)
        assert subspace_angles(found.V, pca.components_.T).max() < 1e-7
        assert found.certificate.is_optimal()


def test_delta_zero_is_the_closed_form_and_removes_the_mean_gap(data):
    X, groups = data
    fitted = ConvexFairPCA(2).fit(X, sensitive_features=groups)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    f = Z[groups == "b"].mean(axis=0) - Z[groups == "a"].mean(axis=0)
    rest = np.eye(7) - np.outer(f, f) / (f @ f)
    expected = np.linalg.eigvalsh(rest @ Z.T @ Z @ rest)[-2:].sum(axis=0) / (Z**2).sum(axis=None)
    assert fitted.explained_variance_ratio_.sum(axis=0) == pytest.approx(expected, rel=1e-10)
    assert gap(fitted, X, groups) < 1e-10 < 0.3 < gap(StandardPCA(2, standardize=True).fit(X), X, groups)
    assert fitted.certificate_.is_optimal()


def test_explained_variance_grows_with_delta_and_the_bound_is_used_up(data):
    X, groups = data
    free = gap(StandardPCA(2, standardize=True).fit(X), X, groups)
    shares = []
    for delta in np.linspace(0.0, 1.2, 13) * free:
        fitted = ConvexFairPCA(2, delta=delta).fit(X, sensitive_features=groups)
        assert fitted.mean_distance_ == pytest.approx(gap(fitted, X, groups), abs=1e-10)
        assert fitted.mean_distance_ == pytest.approx(min(delta, free), rel=1e-6, abs=1e-10)
        assert fitted.certificate_.is_optimal(1e-8)
        shares.append(fitted.explained_variance_ratio_.sum(axis=0))
    assert (np.diff(shares) >= -1e-12).all()
    assert shares[-1] > shares[0] + 0.01


def test_one_multiplier_at_tied_eigenvalues():
    # Independent features, a mean gap along two of them: the k-th eigenvalue is tied at the multiplier.
    scatters = np.array([np.diag([9.0, 4.0, 1.0]), np.diag([3.0, 4.0, 1.0])]) * 50
    means = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    moments = GroupMoments(np.array(["a", "b"]), np.array([50.0, 50.0]), means, scatters)
    answer = solve_convex(moments, 1, delta=0.5)
    assert answer.certificate.is_optimal(1e-9)
    np.testing.assert_allclose(np.abs(answer.V[:, 0]), [0.25, np.sqrt(1 - 0.25**2), 0.0], atol=1e-9)


def test_a_tie_among_directions_that_carry_nothing():
    # All rows on a line: the one direction that carries variance is bounded by its gap, all others are alike.
    rng = np.random.default_rng(0)
    X = np.outer(rng.normal(size=30), rng.normal(size=5)) + 2.0
    fitted = ConvexFairPCA(1, delta=0.1).fit(X, sensitive_features=np.where(X[:, 0] > np.median(X[:, 0]), "a", "b"))
    assert fitted.mean_distance_ == pytest.approx(0.1)
    assert fitted.certificate_.is_optimal()


def test_a_penalty_with_nothing_left_to_gain():
    # One row alone differs; the gap of the means, which is removed, was all that varied.
    X, groups = np.zeros((12, 4)), np.repeat(["a", "b"], 6)
    X[0] = [3.0, 1.0, -2.0, 5.0]
    with pytest.warns(SurplusComponentsWarning), pytest.warns(CollapsedRelaxationWarning):
        fitted = ConvexFairPCA(2, covariance=True, mu=0.1).fit(X, sensitive_features=groups)
    assert fitted.mean_distance_ == pytest.approx(0.0, abs=1e-12)


def test_brute_force_in_the_plane(data):
    X, groups = data
    X = X[:, :2]
    moments = GroupMoments.from_data(X, groups).standardised()
    f, S = moments.means[1] - moments.means[0], moments.scatter
    angles = np.linspace(0, np.pi, 200_001)
    lines = np.stack([np.cos(angles), np.sin(angles)])
    for delta in (0.05, 0.2):
        values = np.einsum("ij,il,lj->j", lines, S, lines, optimize=True)
        best = values[np.abs(f @ lines) <= delta].max()
        answer = solve_convex(moments, 1, delta=delta)
        assert np.trace(answer.V.T @ S @ answer.V) == pytest.approx(best, rel=1e-4)
        assert np.abs(f @ answer.V).max() <= delta * (1 + 1e-9)


def test_the_released_grid_of_delta_hardly_moves_the_answer(data):
    X, groups = data
    moments = GroupMoments.from_data(X, groups).standardised()
    ends, released = (
        [solve(moments, 2, delta=delta) for delta in (0.0, 0.9)] for solve in (solve_convex, convex_as_published)
    )
    moved = [subspace_angles(a.V, b.V).max() for a, b in (ends, released)]
    assert moved[1] < 0.01 < 0.2 < moved[0]
    f = np.diff(moments.means, axis=0)[0]
    bound = 0.9**2 / (200 * 7)
    assert np.linalg.norm(released[1].X @ f) * np.linalg.norm(f) <= bound * (1 + 1e-9)
    assert released[1].certificate.is_optimal(1e-6)


def test_small_mu_keeps_the_mean_only_answer_and_large_mu_collapses(data):
    X, groups = data
    mean_only = ConvexFairPCA(2).fit(X, sensitive_features=groups)
    small = ConvexFairPCA(2, mu=1e-5, covariance=True).fit(X, sensitive_features=groups)
    assert small.certificate_.is_optimal(1e-5)
    assert subspace_angles(small.components_.T, mean_only.components_.T).max() < 0.02
    with pytest.warns(CollapsedRelaxationWarning, match="eigenvalue 2 of the relaxed answer"):
        large = ConvexFairPCA(2, mu=0.5, covariance=True).fit(X, sensitive_features=groups)
    assert large.eigenvalues_[1] < 0.6
    assert large.eigenvalues_.sum(axis=0) == pytest.approx(2.0, abs=1e-8)
    # t falls below phi, which no projector can reach: the penalty is met by flattening, not by a fairer subspace.
    moments = GroupMoments.from_data(X, groups).standardised()
    C = moments.scatters / moments.counts[:, None, None]
    Q, phi = C[1] - C[0], np.linalg.norm(C[1] - C[0], ord=2) + 0.5
    t = [
        max(np.linalg.norm(M.fractional_ @ (phi * np.eye(7) + sign * Q) @ M.fractional_, ord=2) for sign in (1, -1))
        for M in (small, large)
    ]
    assert t[1] < 0.5 * phi < phi < t[0]


def test_the_covariance_penalty_with_a_slack_mean_constraint_lies_between(data):
    moments = GroupMoments.from_data(*data).standardised()
    values = [solve_convex(moments, 2, delta=delta, mu=1e-3, covariance=True) for delta in (0.0, 0.3, 10.0)]
    assert [answer.status for answer in values] == ["solved"] * 3
    assert values[0].certificate.primal < values[1].certificate.primal < values[2].certificate.primal
    f = moments.means[1] - moments.means[0]
    assert f @ values[1].X @ f <= 0.09 * (1 + 1e-9)


def test_swapping_the_groups_changes_nothing(data):
    X, groups = data
    swapped = np.where(groups == "a", "z", groups)
    for settings in ({"delta": 0.3}, {"mu": 1e-3, "covariance": True}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapsedRelaxationWarning)
            first, second = (ConvexFairPCA(2, **settings).fit(X, sensitive_features=g) for g in (groups, swapped))
        np.testing.assert_allclose(first.fractional_, second.fractional_, atol=1e-3)
        assert first.certificate_.primal == pytest.approx(second.certificate_.primal, rel=1e-5)


def test_equal_means_leave_pca():
    rng = np.random.default_rng(2)
    half = rng.normal(size=(40, 4)) * [4, 3, 2, 1]
    X, groups = np.vstack([half, -half, 2 * half, -2 * half]), np.repeat(["a", "b"], 80)
    fitted = ConvexFairPCA(2).fit(X, sensitive_features=groups)
    assert subspace_angles(fitted.components_.T, StandardPCA(2, standardize=True).fit(X).components_.T).max() < 1e-7


def test_refusals(data):
    X, groups = data
    for wrong, message in [
        ({"delta": -0.1}, "delta=-0.1"),
        ({"mu": 0.1}, "mu=0.1 with covariance=False"),
        ({"covariance": True}, "mu=0.0 with covariance=True"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            ConvexFairPCA(2, **wrong).fit(X, sensitive_features=groups)
    with pytest.raises(GroupError, match="exactly two groups, but there are 3"):
        ConvexFairPCA(2).fit(X, sensitive_features=np.arange(200) % 3)


@pytest.mark.filterwarnings("ignore::evenspan.reconstruction.convex.CollapsedRelaxationWarning")
def test_a_programme_that_is_not_solved_says_so(data):
    X, groups = data
    stopped = ConvexFairPCA(2, mu=0.05, covariance=True, max_iter=3)
    with pytest.warns(NotConvergedWarning, match="stopped at max_iter with relative gap"):
        stopped.fit(X, sensitive_features=groups)
    assert not stopped.converged_
