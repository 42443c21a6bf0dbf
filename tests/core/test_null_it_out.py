"""Null-it-out fair PCA: its two constraints, its optimality, and what they cost."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import ortho_group

from evenspan import FairPCA, GroupMoments, NullItOutPCA, StandardPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, GroupError, SingleGroupWarning
from evenspan.representation.null_it_out import (
    balancing_directions,
    contrasts,
    gap_eigenspace,
    group_gap,
    nullified_basis,
)

from .samples import angle, draw, size
from .samples import group_gap as mean_distance

PAIR = draw(counts=(150, 70), names=("woman", "man"), d=6, seed=3)
X, GROUPS = np.hstack([PAIR.X, np.random.default_rng(3).normal(size=(220, 1))]), PAIR.groups  # 7 features


def gap_of(gap="covariance"):
    """The gap matrix from the rows, by another route than the moments."""
    second, first = (X[label == GROUPS] for label in ("woman", "man"))
    if gap == "covariance":
        return np.cov(second, rowvar=False) - np.cov(first, rowvar=False)
    second, first = second - X.mean(axis=0), first - X.mean(axis=0)
    return second.T @ second / len(second) - first.T @ first / len(first)


def norm(M):
    return float(np.linalg.norm(M, 2))


def fitted(k=2, m=2, data=X, groups=GROUPS, **options):
    return NullItOutPCA(k, m, **options).fit(data, sensitive_features=groups)


def neighbours(P, number=200):
    rng = np.random.default_rng(0)
    for _ in range(number):
        yield np.linalg.qr(P + rng.choice([0.01, 0.3, 3.0]) * rng.normal(size=P.shape))[0]


@pytest.mark.parametrize("gap", ["covariance", "second_moment"])
def test_means_coincide_and_of_the_gap_only_the_next_eigenvalue_is_left(gap):
    Q = gap_of(gap)
    sizes = np.sort(np.abs(np.linalg.eigvalsh(Q)))[::-1]
    for m in (1, 2, 4):
        model = fitted(2, m, gap=gap)
        assert mean_distance(model.transform(X), GROUPS) <= 1e-12 * size(X)
        assert norm(model.components_ @ Q @ model.components_.T) <= sizes[m] * (1 + 1e-12)
        np.testing.assert_allclose(np.abs(model.gap_eigenvalues_), sizes[:m])
    pca = StandardPCA(2).fit(X).components_
    assert norm(pca @ Q @ pca.T) > 1.5 * sizes[4]
    assert mean_distance(X @ pca.T, GROUPS) > 0.1 * size(X)
    _, P = gap_eigenspace(Q, 2, 1.0)
    assert norm(Q - P @ P.T @ Q) == pytest.approx(sizes[2], rel=1e-10)
    assert all(norm(Q - other @ other.T @ Q) >= sizes[2] * (1 - 1e-12) for other in neighbours(P))


def test_balancing_leaves_least_of_the_gap_and_keeps_the_direction_of_more_variance():
    turn, spectrum = ortho_group.rvs(8, random_state=0), np.array([5.0, 4.5, 2.0, 0.3, -1.0, -1.2, -4.0, -6.0])
    Q, S = turn.T @ np.diag(spectrum) @ turn, np.cov(np.random.default_rng(4).normal(size=(40, 8)), rowvar=False)

    def left(P):
        return norm((np.eye(8) - P @ P.T) @ Q @ (np.eye(8) - P @ P.T))

    for m in (1, 2, 3):
        paired, single = balancing_directions(Q, S, m, 1.0)[1], gap_eigenspace(Q, m, 1.0)[1]
        np.testing.assert_allclose(paired.T @ paired, np.eye(m), atol=1e-12)
        bound = max(spectrum[m], -spectrum[-m - 1])
        assert left(paired) == pytest.approx(bound, rel=1e-10)
        assert left(single) > 1.1 * left(paired)  # twice as many eigenvectors are needed for as little
        assert all(left(other) >= bound * (1 - 1e-12) for other in neighbours(paired))
    for together in (0.8, -0.8):
        Q, S = np.diag([4.0, -1.0]), np.array([[2.0, together], [together, 1.0]])
        _, removed = balancing_directions(Q, S, 1, 1.0)
        kept = np.array([-removed[1, 0], removed[0, 0]])
        assert abs(kept @ Q @ kept) < 1e-12
        assert kept @ S @ kept > 1.5 * (kept * [1.0, -1.0] @ S @ (kept * [1.0, -1.0]))
    Q = gap_of()
    values = np.linalg.eigvalsh(Q)
    enough = int(max((values > 0).sum(axis=0), (values < 0).sum(axis=0)))
    model = fitted(7 - enough, enough, constraint="covariance", removal="balance")
    assert norm(model.components_ @ Q @ model.components_.T) < 1e-12 * norm(Q)
    assert model.certificate_.is_optimal()


@pytest.mark.parametrize("removal", ["eigenvectors", "balance"])
def test_small_gaps_are_found_wherever_the_data_lie(removal):
    here, there = (fitted(2, 3, Y, removal=removal) for Y in (X, X + 1e7 * np.arange(7)))
    assert len(here.gap_directions_) == len(there.gap_directions_) == 3
    assert angle(here.components_.T, there.components_.T) < 1e-5


@pytest.mark.parametrize("constraint", ["all", "covariance", "mean", "vanilla"])
@pytest.mark.parametrize("center", ["overall", "none"])
def test_no_feasible_projection_captures_more(constraint, center):
    model = fitted(constraint=constraint, center=center)
    Y, U, V = X - X.mean(axis=0) if center == "overall" else X, model.nullified_.T, model.components_.T
    captured = np.linalg.norm(Y @ V) ** 2
    assert model.certificate_.is_optimal()
    assert captured == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert U.shape[1] == {"all": 3, "covariance": 2, "mean": 1, "vanilla": 0}[constraint]
    both = np.hstack([U, V])
    np.testing.assert_allclose(both.T @ both, np.eye(U.shape[1] + 2), atol=1e-12)
    for other in neighbours(V):
        feasible = np.linalg.qr(other - U @ (U.T @ other))[0]
        assert np.linalg.norm(Y @ feasible) ** 2 <= captured * (1 + 1e-12)


def test_the_limits_are_the_methods_they_should_be_and_every_direction_costs_variance():
    for center in ("overall", "none"):
        pca, fair = StandardPCA(2, center=center).fit(X), FairPCA(2, center=center).fit(X, sensitive_features=GROUPS)
        for options, limit in (
            ({"constraint": "vanilla"}, pca),
            ({"strength": 0.0}, pca),
            ({"constraint": "mean"}, fair),
            ({"m": 0}, fair),
        ):
            assert angle(fitted(center=center, **options).components_.T, limit.components_.T) < 1e-7
    assert angle(fitted(strength=1.0 - 1e-9).components_.T, fitted().components_.T) < 1e-6
    chain = [fitted(constraint=c).certificate_.primal for c in ("vanilla", "mean")]
    assert all(a > b for a, b in pairwise(chain + [fitted(2, m).certificate_.primal for m in (1, 2, 3, 4)]))


def test_strength_shrinks_by_that_factor():
    half = fitted(strength=0.5)
    S, U = np.cov(X.T), half.nullified_.T
    shrunk = np.eye(7) - 0.5 * U @ U.T
    assert angle(half.components_.T, np.linalg.eigh(shrunk @ S @ shrunk)[1][:, -2:]) < 1e-7
    through = [norm(m.nullified_ @ m.components_.T) for m in (fitted(strength=c) for c in (0.0, 0.5, 0.9, 1.0))]
    assert all(a >= b for a, b in pairwise(through))
    assert through[0] > 0.5 > 1e-12 > through[-1]


def test_the_two_gaps_differ_by_the_mean_gap_when_the_mean_is_zero():
    rng = np.random.default_rng(0)
    d, f, n = 5, np.array([1.0, -2.0, 0.5, 0.0, 3.0]), 1000.0
    A, B = (M @ M.T for M in rng.normal(size=(2, d, d)))
    for p in (0.5, 0.2):
        counts = n * np.array([1 - p, p])
        means, scatters = np.array([-p * f, (1 - p) * f]), counts[:, None, None] * np.array([A, B])
        moments = GroupMoments(np.array(["a", "b"]), counts, means, scatters)
        (contrast,) = contrasts(moments.labels)
        S, mean_gap = group_gap(moments, contrast, "second_moment", np.zeros(d))
        np.testing.assert_allclose(mean_gap, f)
        np.testing.assert_allclose(S, (B - A) + (1 - 2 * p) * np.outer(f, f), atol=1e-12)
        shifted = GroupMoments(moments.labels, counts, means + 1.0, scatters)
        np.testing.assert_allclose(group_gap(shifted, contrast, "second_moment", shifted.mean)[0], S, atol=1e-12)
        covariance = group_gap(moments, contrast, "covariance", np.zeros(d))[0]
        np.testing.assert_allclose(covariance, B * counts[1] / (counts[1] - 1) - A * counts[0] / (counts[0] - 1))


def test_without_enough_variance_no_removed_direction_comes_back():
    rng, groups = np.random.default_rng(0), np.repeat(["a", "b"], [40, 30])
    Y = np.zeros((70, 6))
    Y[:, :3] = rng.normal(size=(70, 3)) * np.where(groups == "a", 1.0, 3.0)[:, None] ** [1, 1, 0]
    with pytest.warns(UserWarning, match="carry no variance"):
        model = fitted(2, 2, Y, groups, constraint="covariance")
    assert norm(model.nullified_ @ model.components_.T) < 1e-12


def test_equal_covariances_have_no_direction_to_remove_and_equal_means_neither():
    Y = np.random.default_rng(0).normal(size=(60, 4)) * [4, 3, 2, 1]
    Y, groups = Y - Y.mean(axis=0), np.repeat(["a", "b"], 60)
    assert fitted(2, 2, np.vstack([Y, Y + np.array([1, 1, 0, 0])]), groups).nullified_.shape == (1, 4)
    scaled = fitted(2, 1, np.vstack([Y, Y * [1, 2, 1, 1]]), groups)
    np.testing.assert_allclose(np.abs(scaled.nullified_), [[0, 1, 0, 0]], atol=0.25)
    same = fitted(2, 2, np.vstack([Y, Y]), groups)
    assert same.nullified_.shape == (0, 4)
    assert angle(same.components_.T, StandardPCA(2).fit(Y).components_.T) < 1e-7


def test_several_groups_attributes_and_their_combinations(sample, crossed):
    model = fitted(1, 1, sample.X, sample.groups)
    # Three comparisons with one direction each; of three mean gaps two are independent.
    assert model.nullified_.shape == (5, 6)
    assert mean_distance(model.transform(sample.X), sample.groups) <= 1e-12 * size(sample.X)
    data, groups = crossed
    both = fitted(1, 1, data, groups)
    assert both.nullified_.shape == (3 + 1 + 2 + 1, 8)
    for j in range(2):
        assert mean_distance(both.transform(data), groups[:, j]) <= 1e-12 * size(data)
    cells = np.array(["/".join(row) for row in groups.tolist()])
    joint = fitted(2, 0, data, groups, attributes="intersection")
    assert angle(joint.components_.T, fitted(2, 0, data, cells).components_.T) < 1e-9
    assert mean_distance(joint.transform(data), cells) < 1e-12 * size(data) < 0.05 * size(data)
    assert mean_distance(fitted(2, 0, data, groups).transform(data), cells) > 0.05 * size(data)


def test_a_short_rest_of_the_mean_gap_stays_orthogonal():
    rng = np.random.default_rng(0)
    P = np.linalg.qr(rng.normal(size=(50, 3)))[0]
    U = nullified_basis([P], (P @ rng.normal(size=3) + 1e-7 * rng.normal(size=50))[:, None])
    assert U.shape == (50, 4)
    assert np.abs(U.T @ U - np.eye(4)).max() < 1e-14
    assert nullified_basis([P], (P @ np.ones(3))[:, None]).shape == (50, 3)


def test_what_is_refused_is_said():
    everyone, lonely = np.full(220, "all"), np.where(np.arange(220) == 0, "alone", "other")
    for options, error, words in (
        ({"k": 4, "m": 3}, ComponentsError, "at most 3 are possible: 7 feature"),
        ({"k": 0}, ComponentsError, "n_components=0"),
        ({"m": -1}, ComponentsError, "n_gap_directions=-1"),
        ({"m": 7}, ComponentsError, "at most 6"),
        ({"m": 1.5}, ComponentsError, r"1\.5"),
        ({"constraint": "none"}, ConfigurationError, "constraint='none'"),
        ({"removal": "pairs"}, ConfigurationError, "removal='pairs'"),
        ({"gap": "cov"}, ConfigurationError, "gap='cov'"),
        ({"strength": 1.2}, ConfigurationError, r"strength=1\.2"),
        ({"attributes": "both"}, ConfigurationError, "attributes='both'"),
        ({"groups": everyone}, GroupError, "one group only.*on_single_group='warn'"),
        ({"groups": lonely}, GroupError, "'alone' has 1 row"),
    ):
        with pytest.raises(error, match=words):
            fitted(**options)
    with pytest.warns(SingleGroupWarning, match="one group only"):
        model = fitted(groups=everyone, on_single_group="warn")
    assert angle(model.components_.T, StandardPCA(2).fit(X).components_.T) < 1e-7
