"""More than two groups: the relaxation, its extreme points, and what rounding loses."""

import numpy as np
import pytest

from evenspan.reconstruction.group_errors import kept, losses
from evenspan.reconstruction.multi_criteria import (
    criteria_offsets,
    descend,
    reduce_rank,
    solve_multi_criteria,
)
from evenspan.reconstruction.relaxation import relax

OBJECTIVES = ("loss", "error")


def covariances(G, d, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(G, d, d)) * (1.0 + np.arange(G))[:, None, None] / np.sqrt(np.arange(1, d + 1))
    return np.array([a.T @ a / d for a in A])


# -- relaxation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("G", "d", "k"), [(1, 5, 2), (3, 7, 6), (6, 12, 11), (4, 9, 1), (6, 12, 4)])
def test_value_and_bound_meet_and_are_what_they_say(G, d, k, objective):
    S = covariances(G, d, G)
    a = criteria_offsets(S, k, objective)
    found = relax(S, k, a)
    size = float(np.trace(S, axis1=1, axis2=2).max())
    assert -1e-12 * size <= found.value - found.bound <= 2e-8 * max(abs(found.value), 1e-3 * size)
    values = np.linalg.eigvalsh(found.X)
    assert values[0] > -1e-12
    assert values[-1] < 1 + 1e-12
    assert values.sum() <= k + 1e-12
    assert (found.weights > 0).all()
    # What it says of itself is so: the value of X, and the leading eigenvalues at the weights.
    top = np.linalg.eigvalsh(np.tensordot(found.weights, S, axes=1))[-k:].sum()
    assert (a - np.tensordot(S, found.X, axes=2)).max() == pytest.approx(found.value, rel=1e-9, abs=1e-12 * size)
    assert found.weights @ a - top == pytest.approx(found.bound, rel=1e-9, abs=1e-12 * size)


def test_three_lines_of_the_plane_leave_a_gap_that_no_direction_closes():
    turns = np.deg2rad([0.0, 60.0, 120.0])
    u = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    S = u[:, :, None] * u[:, None, :]
    relaxed = relax(S, 1, np.ones(3))
    assert relaxed.value == pytest.approx(0.5)
    assert relaxed.bound == pytest.approx(0.5)
    np.testing.assert_allclose(relaxed.X, np.eye(2) / 2, atol=1e-7)
    _, certificate = solve_multi_criteria(S, 1)
    assert certificate.primal == pytest.approx(0.75)  # sin^2 60
    assert certificate.gap == pytest.approx(0.25)


# -- rounding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("G", [2, 3, 4, 6])
def test_extreme_points_keep_the_value_and_have_few_fractions(G):
    S, k = covariances(G, 7, G), 2
    a = criteria_offsets(S, k, "loss")
    relaxation = relax(S, k, a)
    X = reduce_rank(relaxation.X, S, k)
    assert (np.linalg.eigvalsh(X) > 1e-5).sum() <= k + int(np.sqrt(2 * G + 0.25) - 1.5)
    assert np.trace(X) == pytest.approx(k)
    assert (a - (S * X).sum(axis=(1, 2))).max() <= relaxation.value + 1e-4 * a.max()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_descent_ends_where_no_turn_is_better_and_its_start_was_none(objective):
    S, k, rng = covariances(5, 8, 3), 2, np.random.default_rng(1)
    a = criteria_offsets(S, k, objective)
    start = np.linalg.qr(rng.normal(size=(8, k)))[0]
    V = descend(a, S, start)
    reached = (a - kept(S, V)).max()
    turns = [np.linalg.qr(V + 1e-3 * rng.normal(size=V.shape))[0] for _ in range(300)]
    assert min((a - kept(S, W)).max() for W in turns) >= reached - 1e-7 * abs(reached)
    turns = [np.linalg.qr(start + 1e-3 * rng.normal(size=V.shape))[0] for _ in range(20)]
    assert min((a - kept(S, W)).max() for W in turns) < (a - kept(S, start)).max()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_certificate_of_four_groups_is_honest(objective):
    S = covariances(4, 7, 11)
    V, certificate = solve_multi_criteria(S, 2, objective)
    assert np.abs(V.T @ V - np.eye(2)).max() < 1e-10
    assert -1e-8 <= certificate.gap < 0.05 * abs(certificate.primal)
    rng = np.random.default_rng(0)
    for _ in range(50):  # no projector passes the bound
        P = np.linalg.qr(V + 0.1 * rng.normal(size=V.shape))[0]
        assert (criteria_offsets(S, 2, objective) - kept(S, P)).max() >= certificate.dual
    if objective == "loss":
        assert losses(S, V).max() == pytest.approx(certificate.primal)
        pooled = np.linalg.eigh(S.sum(axis=0))[1][:, -2:]
        assert losses(S, pooled).max() > 1.02 * certificate.primal  # what plain PCA does to its worst group
