"""Null-it-out fair PCA: its two constraints, its optimality, and what they cost."""

from itertools import pairwise

import numpy as np
import pytest
from evenspan.representation.null_it_out import contrasts, nullified_basis
from scipy.stats import ortho_group

from evenspan import FairPCA, GroupMoments, NullItOutPCA, StandardPCA, metrics
from evenspan.core.errors import ComponentsError, ConfigurationError, GroupError
from evenspan.representation.null_it_out import balancing_directions, gap_eigenspace, group_gap

from .samples import angle, draw, size
from .samples import group_gap as mean_distance


def gap_of(X, groups, gap="covariance", point=None):
    """The gap matrix from the rows, by another route than the moments."""
    second, first = (X[groups == label] for label in np.unique(groups)[::-1])
    if gap == "covariance":
        return np.cov(second, rowvar=False) - np.cov(first, rowvar=False)
    second, first = second - point, first - point
    return second.T @ second / len(second) - first.T @ first / len(first)


def norm(M):
    return float(np.linalg.norm(M, 2))


@pytest.fixture
def wide():
    """Two groups, 7 features."""
    rng = np.random.default_rng(3)
    s = draw(counts=(150, 70), names=("woman", "man"), d=6, seed=3)
    return np.hstack([s.X, rng.normal(size=(220, 1))]), s.groups


@pytest.mark.parametrize("gap", ["covariance", "second_moment"])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_means_coincide_and_of_the_gap_only_the_next_eigenvalue_is_left(wide, gap, m):
    X, groups = wide
    model = NullItOutPCA(2, m, gap=gap).fit(X, sensitive_features=groups)
    Q = gap_of(X, groups, gap, X.mean(axis=0))
    left = np.sort(np.abs(np.linalg.eigvalsh(Q)))[::-1][m]
    assert mean_distance(model.transform(X), groups) <= 1e-12 * size(X)
    assert norm(model.components_ @ Q @ model.components_.T) <= left * (1 + 1e-12)
    pca = StandardPCA(2).fit(X).components_
    assert norm(pca @ Q @ pca.T) > 1.5 * left or m < 4
    assert mean_distance(X @ pca.T, groups) > 0.1 * size(X)
    np.testing.assert_allclose(np.abs(model.gap_eigenvalues_), np.sort(np.abs(np.linalg.eigvalsh(Q)))[::-1][:m])


def test_no_other_directions_leave_less_of_one_sided_products(wide):
    X, groups = wide
    Q, d = gap_of(X, groups), X.shape[1]
    _, P = gap_eigenspace(Q, 2, 1.0)
    best = norm((np.eye(d) - P @ P.T) @ Q)
    assert best == pytest.approx(np.sort(np.abs(np.linalg.eigvalsh(Q)))[-3], rel=1e-10)
    for other in neighbours(P):
        assert norm((np.eye(d) - other @ other.T) @ Q) >= best * (1 - 1e-12)


def neighbours(P, number=300):
    rng = np.random.default_rng(0)
    for _ in range(number):
        yield np.linalg.qr(P + rng.choice([0.01, 0.3, 3.0]) * rng.normal(size=P.shape))[0]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_balancing_leaves_least_of_the_gap_between_projected_covariances(m):
    rng = np.random.default_rng(4)
    turn = ortho_group.rvs(8, random_state=0)
    spectrum = np.array([5.0, 4.5, 2.0, 0.3, -1.0, -1.2, -4.0, -6.0])
    Q, S = turn.T @ np.diag(spectrum) @ turn, np.cov(rng.normal(size=(40, 8)), rowvar=False)

    def left(P):
        outside = np.eye(8) - P @ P.T
        return norm(outside @ Q @ outside)

    _, paired = balancing_directions(Q, S, m, 1.0)
    _, single = gap_eigenspace(Q, m, 1.0)
    np.testing.assert_allclose(paired.T @ paired, np.eye(m), atol=1e-12)
    bound = max(spectrum[m], -spectrum[-m - 1])
    assert left(paired) == pytest.approx(bound, rel=1e-10)
    assert left(single) == pytest.approx(np.sort(np.abs(spectrum))[-m - 1], rel=1e-10)
    assert left(single) > 1.1 * left(paired)  # twice as many eigenvectors are needed for as little
    assert all(left(other) >= bound * (1 - 1e-12) for other in neighbours(paired))


@pytest.mark.parametrize("removal", ["eigenvectors", "balance"])
def test_small_gaps_are_found_wherever_the_data_lie(wide, removal):
    X, groups = wide
    here, there = (
        NullItOutPCA(2, 3, removal=removal).fit(Y, sensitive_features=groups) for Y in (X, X + 1e7 * np.arange(7))
    )
    assert len(here.gap_directions_) == len(there.gap_directions_) == 3
    assert angle(here.components_.T, there.components_.T) < 1e-5


@pytest.mark.parametrize("together", [0.8, -0.8])
def test_of_the_two_balanced_directions_the_one_of_more_variance_is_kept(together):
    Q, S = np.diag([4.0, -1.0]), np.array([[2.0, together], [together, 1.0]])
    _, removed = balancing_directions(Q, S, 1, 1.0)
    kept = np.array([-removed[1, 0], removed[0, 0]])
    other = kept * [1.0, -1.0]
    assert abs(kept @ Q @ kept) < 1e-12
    assert abs(other @ Q @ other) < 1e-12
    assert kept @ S @ kept > 1.5 * (other @ S @ other)


def test_balancing_keeps_more_variance_for_the_same_rest_of_the_gap(wide):
    X, groups = wide
    Q = gap_of(X, groups)
    fit = {"sensitive_features": groups}
    values = np.linalg.eigvalsh(Q)
    pairs = int(min((values > 0).sum(axis=0), (values < 0).sum(axis=0)))
    enough = max(int((values > 0).sum(axis=0)), int((values < 0).sum(axis=0)))
    model = NullItOutPCA(7 - enough, enough, constraint="covariance", removal="balance").fit(X, **fit)
    assert pairs >= 2
    assert norm(model.components_ @ Q @ model.components_.T) < 1e-12 * norm(Q)
    with pytest.raises(ComponentsError):  # eigenvectors would leave nothing at all
        NullItOutPCA(1, 7, constraint="covariance").fit(X, **fit)
    assert model.certificate_.is_optimal()


@pytest.mark.parametrize("constraint", ["all", "covariance", "mean", "vanilla"])
@pytest.mark.parametrize("center", [True, False])
def test_no_feasible_projection_captures_more(wide, constraint, center):
    X, groups = wide
    model = NullItOutPCA(2, 2, constraint=constraint, center=center).fit(X, sensitive_features=groups)
    assert model.certificate_.is_optimal()
    Y = X - X.mean(axis=0) if center else X
    captured = np.linalg.norm(Y @ model.components_.T) ** 2
    assert captured == pytest.approx(model.certificate_.primal, rel=1e-10)
    U = model.nullified_.T
    assert U.shape[1] == {"all": 3, "covariance": 2, "mean": 1, "vanilla": 0}[constraint]
    np.testing.assert_allclose(np.hstack([U, model.components_.T]).T @ np.hstack([U, model.components_.T]),
                               np.eye(U.shape[1] + 2), atol=1e-12)  # fmt: skip
    rng = np.random.default_rng(1)
    for spread in (1e-3, 0.1, 1.0, 10.0):
        for _ in range(50):
            V = model.components_.T + spread * rng.normal(size=(X.shape[1], 2))
            V = np.linalg.qr(V - U @ (U.T @ V))[0]
            assert np.linalg.norm(Y @ V) ** 2 <= captured * (1 + 1e-12)


def test_brute_force_on_the_sphere():
    s = draw(counts=(150, 70), names=("woman", "man"), d=3, seed=5)
    model = NullItOutPCA(1, 1, constraint="covariance").fit(s.X, sensitive_features=s.groups)
    values, vectors = np.linalg.eigh(gap_of(s.X, s.groups))
    p = vectors[:, np.argmax(np.abs(values))]
    basis = np.linalg.svd(p[None])[2][1:]
    turns = np.linspace(0, np.pi, 100_001)
    candidates = np.outer(np.cos(turns), basis[0]) + np.outer(np.sin(turns), basis[1])
    spread = np.einsum("td,de,te->t", candidates, np.cov(s.X, rowvar=False), candidates)
    assert abs(candidates[np.argmax(spread)] @ model.components_[0]) > 1 - 1e-8


def test_every_removed_direction_costs_variance(wide):
    X, groups = wide

    def captured(**options):
        return NullItOutPCA(2, **options).fit(X, sensitive_features=groups).certificate_.primal

    chain = [captured(constraint="vanilla"), captured(constraint="mean")]
    chain += [captured(n_gap_directions=m) for m in (1, 2, 3, 4)]
    assert all(a > b for a, b in pairwise(chain))


def test_the_limits_are_the_methods_they_should_be(wide):
    X, groups = wide
    fit = {"sensitive_features": groups}
    for center in (True, False):
        V = NullItOutPCA(2, constraint="vanilla", center=center).fit(X, **fit).components_.T
        assert angle(V, StandardPCA(2, center=center).fit(X).components_.T) < 1e-7
        V = NullItOutPCA(2, constraint="mean", center=center).fit(X, **fit).components_.T
        assert angle(V, FairPCA(2, center=center).fit(X, **fit).components_.T) < 1e-7
        assert angle(V, NullItOutPCA(2, 0, center=center).fit(X, **fit).components_.T) < 1e-7
    three = draw()
    V = NullItOutPCA(2, constraint="mean").fit(three.X, sensitive_features=three.groups).components_.T
    assert angle(V, FairPCA(2).fit(three.X, sensitive_features=three.groups).components_.T) < 1e-7
    V = NullItOutPCA(2, 2, strength=0.0).fit(X, **fit).components_.T
    assert angle(V, StandardPCA(2).fit(X).components_.T) < 1e-7
    soft = NullItOutPCA(2, 2, strength=1.0 - 1e-9).fit(X, **fit).components_.T
    assert angle(soft, NullItOutPCA(2, 2).fit(X, **fit).components_.T) < 1e-6


def test_less_strength_lets_more_through(wide):
    X, groups = wide
    models = [NullItOutPCA(2, 2, strength=c).fit(X, sensitive_features=groups) for c in (0.0, 0.3, 0.6, 0.9, 1.0)]
    through = [norm(model.nullified_ @ model.components_.T) for model in models]
    assert all(a >= b for a, b in pairwise(through))
    assert through[0] > 0.5 > 1e-12 > through[-1]


@pytest.mark.parametrize("p", [0.5, 0.2])
def test_the_two_gaps_differ_by_the_mean_gap_when_the_mean_is_zero(p):
    rng = np.random.default_rng(0)
    d, f, n = 5, np.array([1.0, -2.0, 0.5, 0.0, 3.0]), 1000.0
    A, B = (M @ M.T for M in rng.normal(size=(2, d, d)))
    counts = n * np.array([1 - p, p])
    moments = GroupMoments(
        np.array(["a", "b"]), counts, np.array([-p * f, (1 - p) * f]), counts[:, None, None] * np.array([A, B])
    )
    (contrast,) = contrasts(moments.labels)
    S, mean_gap = group_gap(moments, contrast, "second_moment", np.zeros(d))
    np.testing.assert_allclose(mean_gap, f)
    np.testing.assert_allclose(S, (B - A) + (1 - 2 * p) * np.outer(f, f), atol=1e-12)
    shifted = GroupMoments(moments.labels, counts, moments.means + 1.0, moments.scatters)
    crossed, _ = group_gap(shifted, contrast, "second_moment", np.zeros(d))
    np.testing.assert_allclose(crossed - S, np.outer(np.ones(d), f) + np.outer(f, np.ones(d)), atol=1e-12)
    about_mean, _ = group_gap(shifted, contrast, "second_moment", shifted.mean)
    np.testing.assert_allclose(about_mean, S, atol=1e-12)


def test_without_enough_variance_no_removed_direction_comes_back():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], [40, 30])
    X = np.zeros((70, 6))
    X[:, :2] = rng.normal(size=(70, 2)) * np.where(groups == "a", 1.0, 3.0)[:, None]
    X[:, 2] = rng.normal(size=70)
    with pytest.warns(UserWarning, match="carry no variance"):
        model = NullItOutPCA(2, 2, constraint="covariance").fit(X, sensitive_features=groups)
    assert norm(model.nullified_ @ model.components_.T) < 1e-12
    # The control: leading eigenvectors of the projected matrix, as the formulation has it, may lie in what is removed.
    outside = np.eye(6) - model.nullified_.T @ model.nullified_
    values, vectors = np.linalg.eigh(outside @ np.cov(X, rowvar=False) @ outside)
    rank = int((np.abs(values) > 1e-10).sum(axis=0))
    assert rank < 2
    assert norm(model.nullified_ @ vectors[:, np.abs(values) < 1e-10]) > 0.99


def test_equal_covariances_have_no_direction_to_remove_and_equal_means_neither():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(60, 4)) * [4, 3, 2, 1]
    Y -= Y.mean(axis=0)
    groups = np.repeat(["a", "b"], 60)
    moved = NullItOutPCA(2, 2).fit(np.vstack([Y, Y + np.array([1, 1, 0, 0])]), sensitive_features=groups)
    assert moved.gap_directions_.shape == (0, 4)
    assert moved.nullified_.shape == (1, 4)
    scaled = NullItOutPCA(2, 1).fit(np.vstack([Y, Y * [1, 2, 1, 1]]), sensitive_features=groups)
    assert scaled.nullified_.shape == (1, 4)
    np.testing.assert_allclose(np.abs(scaled.nullified_), [[0, 1, 0, 0]], atol=0.25)
    same = NullItOutPCA(2, 2).fit(np.vstack([Y, Y]), sensitive_features=groups)
    assert same.nullified_.shape == (0, 4)
    assert angle(same.components_.T, StandardPCA(2).fit(Y).components_.T) < 1e-7


def test_groups_that_differ_only_in_what_is_removed_become_one_distribution():
    rng = np.random.default_rng(0)
    Q = ortho_group.rvs(6, random_state=1)
    groups = np.repeat([0, 1], [300, 300])
    scales = np.where(groups[:, None] == 0, [4, 1, 3, 2, 1, 1], [1, 4, 3, 2, 1, 1])
    X = (rng.normal(size=(600, 6)) * scales) @ Q
    model = NullItOutPCA(2, 2, constraint="covariance").fit(X, sensitive_features=groups)

    def distance(T, labels):
        return metrics.mmd2(T, labels, metrics.median_bandwidth(T))

    def exceeds_chance(T):
        shuffled = [distance(T, np.random.default_rng(i).permutation(groups)) for i in range(60)]
        return distance(T, groups) > np.quantile(shuffled, 0.98)

    assert not exceeds_chance(model.transform(X))
    assert exceeds_chance(StandardPCA(2).fit(X).transform(X))


def test_several_groups_and_attributes(sample, crossed):
    model = NullItOutPCA(1, 1).fit(sample.X, sensitive_features=sample.groups)
    # Three comparisons with one direction each; of three mean gaps two are independent.
    assert model.nullified_.shape == (5, 6)
    assert model.gap_eigenvalues_.shape == (3,)
    assert mean_distance(model.transform(sample.X), sample.groups) <= 1e-12 * size(sample.X)
    X, groups = crossed
    both = NullItOutPCA(1, 1).fit(X, sensitive_features=groups)
    assert both.nullified_.shape == (3 + 1 + 2 + 1, 8)
    for j in range(2):
        assert mean_distance(both.transform(X), groups[:, j]) <= 1e-12 * size(X)


def test_a_short_rest_of_the_mean_gap_stays_orthogonal():
    rng = np.random.default_rng(0)
    P = np.linalg.qr(rng.normal(size=(50, 3)))[0]
    f = P @ rng.normal(size=3) + 1e-7 * rng.normal(size=50)
    U = nullified_basis([P], f[:, None])
    assert U.shape == (50, 4)
    assert np.abs(U.T @ U - np.eye(4)).max() < 1e-14
    assert nullified_basis([P], (P @ np.ones(3))[:, None]).shape == (50, 3)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"n_components": 4, "n_gap_directions": 3}, ComponentsError, "at most 3 are possible: 7 feature"),
        ({"n_components": 0}, ComponentsError, "n_components=0"),
        ({"n_gap_directions": -1}, ComponentsError, "n_gap_directions=-1"),
        ({"n_gap_directions": 7}, ComponentsError, "at most 6"),
        ({"n_gap_directions": 1.5}, ComponentsError, "1.5"),
        ({"constraint": "none"}, ConfigurationError, "constraint='none'"),
        ({"removal": "pairs"}, ConfigurationError, "removal='pairs'"),
        ({"gap": "cov"}, ConfigurationError, "gap='cov'"),
        ({"strength": 1.2}, ConfigurationError, "strength=1.2"),
    ],
)
def test_refusals(wide, options, error, text):
    X, groups = wide
    with pytest.raises(error, match=text):
        NullItOutPCA(**options).fit(X, sensitive_features=groups)


def test_groups_that_are_missing_or_too_small(wide):
    X, _ = wide
    with pytest.raises(GroupError, match="one group only"):
        NullItOutPCA().fit(X, sensitive_features=np.full(len(X), "all"))
    lonely = np.where(np.arange(len(X)) == 0, "alone", "other")
    with pytest.raises(GroupError, match="'alone' has 1 row"):
        NullItOutPCA().fit(X, sensitive_features=lonely)
    assert NullItOutPCA(constraint="vanilla").fit(X, sensitive_features=np.full(len(X), "all")).components_.shape == (
        2,
        7,
    )
