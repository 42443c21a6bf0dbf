"""The judge of representations: MMD against the double sum, gaps against the points, and where they must vanish."""

from itertools import combinations

import numpy as np
import pytest

from evenspan import GroupMoments, metrics
from evenspan.core.errors import FairError
from evenspan.metrics import representation


def literal_mmd2(A, B, bandwidth):
    def mean(P, Q):
        values = [np.exp(-((p - q) ** 2).sum(axis=0) / (2 * bandwidth**2)) for p in P for q in Q]
        return sum(values) / len(values)

    return mean(A, A) + mean(B, B) - 2 * mean(A, B)


def test_mmd_is_the_double_sum_of_the_worst_pair_in_any_basis_and_blocks(monkeypatch):
    rng = np.random.default_rng(5)
    E, z = rng.normal(size=(65, 2)), np.repeat(["a", "b", "c"], [30, 20, 15])
    E[30:] = E[30:] * 2 + 1
    worst = max(literal_mmd2(E[z == g], E[z == h], 0.8) for g, h in combinations("abc", 2))
    Q = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    assert metrics.mmd2(E, z, 0.8) == pytest.approx(worst, rel=1e-10)
    assert metrics.mmd2(E @ Q, z, 0.8) == pytest.approx(worst, rel=1e-10)
    monkeypatch.setattr(representation, "BLOCK_ROWS", 7)
    assert metrics.mmd2(E, z, 0.8) == pytest.approx(worst, rel=1e-10)
    twice = np.repeat([0, 1], 65)
    assert abs(metrics.mmd2(np.vstack([E, E]), twice, 0.8)) < 1e-14 < metrics.mmd2(np.vstack([E, E + 0.5]), twice, 0.8)


def test_gaps_are_those_of_the_worst_pair_of_the_points(sample):
    X, frame = sample
    moments = GroupMoments.from_data(X, frame["colour"])
    V = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 2)))[0]
    for T, given in ((X, None), (X @ V, V)):
        parts = [T[frame["colour"] == label] for label in moments.labels]
        means = [np.linalg.norm(A.mean(axis=0) - B.mean(axis=0)) for A, B in combinations(parts, 2)]
        spreads = [np.linalg.norm(np.cov(A.T) - np.cov(B.T), 2) for A, B in combinations(parts, 2)]
        assert metrics.mean_gap(moments, given) == pytest.approx(max(means))
        assert metrics.covariance_gap(moments, given) == pytest.approx(max(spreads))
        assert max(means) > 1.1 * min(means)


def test_the_median_bandwidth_and_what_is_refused():
    assert metrics.median_bandwidth(np.array([[0.0], [1.0], [3.0]])) == pytest.approx(np.sqrt(4 / 2))  # 1, 4, 9
    with pytest.warns(UserWarning, match="more than half"):
        assert metrics.median_bandwidth(np.array([[0.0]] * 5 + [[2.0]])) == pytest.approx(np.sqrt(4 / 2))
    for match, call in [
        ("all points are equal", lambda: metrics.median_bandwidth(np.zeros((4, 2)))),
        ("at least 2", lambda: metrics.median_bandwidth(np.zeros((1, 2)))),
        ("one group only", lambda: metrics.mmd2(np.eye(3), np.zeros(3), 1.0)),
        ("needs at least 2", lambda: metrics.covariance_gap(GroupMoments.from_data(np.eye(3), [0, 0, 1]))),
    ]:
        with pytest.raises(FairError, match=match):
            call()
