"""More than two groups: the relaxation, its extreme points, what rounding loses, and Nash social welfare."""

import numpy as np
import pytest

from evenspan import StandardPCA
from evenspan.core.errors import DataError
from evenspan.reconstruction.group_errors import kept, losses, operator_rank
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.multi_criteria import (
    criteria_offsets,
    fill_trace,
    nash_welfare,
    rank_bound,
    reduce_rank,
    relax,
    solve_multi_criteria,
)

from .samples import angle


def covariances(G, d, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(G, d, d)) * (1.0 + np.arange(G))[:, None, None] / np.sqrt(np.arange(1, d + 1))
    return np.array([a.T @ a / d for a in A])


def test_the_rank_bound_is_the_published_one():
    assert [rank_bound(0, m) for m in range(1, 11)] == [0, 0, 1, 1, 1, 2, 2, 2, 2, 3]


@pytest.mark.parametrize("G", [2, 3, 4, 6])
def test_extreme_points_keep_the_value_and_have_few_fractions(G):
    S, k = covariances(G, 7, G), 2
    a = criteria_offsets(S, k, "loss")
    relaxation = relax(S, k, a)
    X = reduce_rank(relaxation.X, S, k)
    assert operator_rank(X, tol=1e-5) <= rank_bound(k, G)
    assert np.trace(X) == pytest.approx(k)
    assert (a - (S * X).sum(axis=(1, 2))).max() <= relaxation.value + 1e-4 * a.max()


def test_rank_reduction_starts_anywhere():
    """A point deep inside moves along many directions, and no group keeps less."""
    S, k = covariances(3, 8, 1), 3
    inside = fill_trace(0.3 * np.eye(8), k)
    assert np.trace(inside) == pytest.approx(k)
    X = reduce_rank(k / 8 * np.eye(8), S, k)
    values = np.linalg.eigvalsh(X)
    fractional = ((values > 1e-5) & (values < 1 - 1e-5)).sum()
    assert fractional * (fractional + 1) // 2 <= 3
    before, after = k / 8 * np.trace(S, axis1=1, axis2=2), (S * X).sum(axis=(1, 2))
    change = after - before
    assert change.min() >= -1e-5 * before.max()
    assert np.ptp(change) <= 1e-5 * before.max()


def test_two_groups_reach_the_exact_value_through_the_relaxation():
    S = covariances(2, 6, 3)
    for objective in ("loss", "error"):
        V, certificate, _ = solve_multi_criteria(S, 2, objective)
        W, exact = solve_min_max(*S, 2, objective)
        assert certificate.primal == pytest.approx(exact.primal, rel=1e-6)
        assert angle(V, W) < 1e-3


@pytest.mark.parametrize("objective", ["loss", "error", "variance", "nsw"])
def test_the_certificate_of_four_groups_is_honest(objective):
    S = covariances(4, 7, 11)
    V, certificate, _ = solve_multi_criteria(S, 2, objective)
    assert np.abs(V.T @ V - np.eye(2)).max() < 1e-10
    assert -1e-8 <= certificate.gap < 0.05 * abs(certificate.primal)
    rng = np.random.default_rng(0)
    for _ in range(50):  # no projector passes the bound
        P = np.linalg.qr(V + 0.1 * rng.normal(size=V.shape))[0]
        if objective == "nsw":
            assert nash_welfare(kept(S, P)) <= certificate.dual
        else:
            assert (criteria_offsets(S, 2, objective) - kept(S, P)).max() >= certificate.dual
    if objective == "loss":
        assert losses(S, V).max() == pytest.approx(certificate.primal)
        pooled = np.linalg.eigh(S.sum(axis=0))[1][:, -2:]
        assert losses(S, pooled).max() > 1.02 * certificate.primal  # what plain PCA does to its worst group


def test_nash_welfare_is_free_of_scale_and_the_two_criteria_bound_each_other():
    S = covariances(3, 6, 4)
    V, nash, _ = solve_multi_criteria(S, 2, "nsw")
    scaled = S * np.array([100.0, 1.0, 0.02])[:, None, None]
    W, _, _ = solve_multi_criteria(scaled, 2, "nsw")
    assert angle(V, W) < 1e-3
    smallest, certificate, _ = solve_multi_criteria(S, 2, "variance")
    assert kept(S, V).min() <= -certificate.dual + 1e-9
    assert nash_welfare(kept(S, smallest)) <= nash.dual + 1e-9
    other, _, _ = solve_multi_criteria(scaled, 2, "variance")
    assert angle(other, smallest) > 0.05  # the smallest variance is not free of scale


@pytest.mark.parametrize("objective", ["loss", "error", "variance", "nsw"])
def test_one_group_is_served_by_pca(objective):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5)) * np.array([4.0, 3.0, 1.0, 0.5, 0.2]) @ rng.normal(size=(5, 5))
    S = np.cov(X.T, ddof=0)[None]
    V, _, _ = solve_multi_criteria(S, 2, objective)
    assert angle(V, StandardPCA(2).fit(X).components_.T) < 1e-3


def test_a_group_without_variance_has_no_nash_welfare():
    S = covariances(2, 4, 0)
    S[1] = 0.0
    with pytest.raises(DataError, match="group 1"):
        solve_multi_criteria(S, 2, "nsw")
