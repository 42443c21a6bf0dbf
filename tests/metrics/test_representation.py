"""The judge of representations: MMD against the double sum, closed forms, and cases in which it must be zero."""

import numpy as np
import pytest

from evenspan import GroupMoments, metrics
from evenspan.core.errors import DataError
from evenspan.metrics import representation


def literal_mmd2(A, B, bandwidth):
    def mean(P, Q):
        values = [np.exp(-((p - q) ** 2).sum(axis=0) / (2 * bandwidth**2)) for p in P for q in Q]
        return sum(values) / len(values)

    return mean(A, A) + mean(B, B) - 2 * mean(A, B)


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(5)
    E = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(25, 2)) * 2 + 1])
    return E, np.repeat([1, 0], [40, 25])


def test_mmd_is_the_double_sum(two):
    E, z = two
    assert metrics.mmd2(E, z, 0.8) == pytest.approx(literal_mmd2(E[z == 1], E[z == 0], 0.8), rel=1e-12)


def test_blocks_do_not_change_the_sum(two, monkeypatch):
    E, z = two
    whole = metrics.mmd2(E, z, 0.8)
    monkeypatch.setattr(representation, "BLOCK_ROWS", 7)
    assert metrics.mmd2(E, z, 0.8) == pytest.approx(whole, rel=1e-12)


def test_mmd_does_not_see_the_basis_but_the_mlp_might(two):
    E, z = two
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    assert metrics.mmd2(E @ rotation, z, 0.8) == pytest.approx(metrics.mmd2(E, z, 0.8), rel=1e-10)


def test_equal_samples_have_no_discrepancy(two):
    E, _ = two
    both, z = np.vstack([E, E]), np.repeat([0, 1], len(E))
    assert abs(metrics.mmd2(both, z, 0.8)) < 1e-14 < metrics.mmd2(np.vstack([E, E + 0.5]), z, 0.8)


def test_several_groups_take_the_worst_pair(two):
    E, _ = two
    z = np.repeat(["a", "b", "c"], [20, 20, 25])
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    worst = max(literal_mmd2(E[z == g], E[z == h], 1.0) for g, h in pairs)
    assert metrics.mmd2(E, z, 1.0) == pytest.approx(worst, rel=1e-10)


def test_median_bandwidth():
    assert metrics.median_bandwidth(np.array([[0.0], [1.0], [3.0]])) == pytest.approx(np.sqrt(4 / 2))  # 1, 4, 9
    with pytest.warns(UserWarning, match="more than half"):
        assert metrics.median_bandwidth(np.array([[0.0]] * 5 + [[2.0]])) == pytest.approx(np.sqrt(4 / 2))
    with pytest.raises(DataError, match="all points are equal"):
        metrics.median_bandwidth(np.zeros((4, 2)))
    with pytest.raises(DataError, match="at least 2"):
        metrics.median_bandwidth(np.zeros((1, 2)))


def test_gaps_of_three_groups():
    rng = np.random.default_rng(8)
    z = np.repeat(["a", "b", "c"], [50, 30, 20])
    X = rng.normal(size=(100, 3)) * np.repeat([[1.0], [2.0], [0.3]], [50, 30, 20], axis=0)
    X += np.repeat([[0.0, 0, 0], [1, 0, 0], [0, -4, 0]], [50, 30, 20], axis=0)
    moments = GroupMoments.from_data(X, z)
    V = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    means = [(X[z == g] @ V).mean(axis=0) for g in "abc"]
    covariances = [np.cov((X[z == g] @ V).T) for g in "abc"]
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert metrics.mean_gap(moments, V) == pytest.approx(max(np.linalg.norm(means[i] - means[j]) for i, j in pairs))
    assert metrics.covariance_gap(moments, V) == pytest.approx(
        max(np.linalg.norm(covariances[i] - covariances[j], 2) for i, j in pairs)
    )


def test_refusals(two):
    E, _ = two
    with pytest.raises(DataError, match="one group only"):
        metrics.mmd2(E, np.zeros(len(E)), 1.0)
    with pytest.raises(DataError, match="fewer than 2 rows"):
        metrics.covariance_gap(GroupMoments.from_data(E[:3], [0, 0, 1]))
