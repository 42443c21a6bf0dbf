"""More than two groups: the relaxation, its extreme points, and what rounding loses."""

import numpy as np
import pytest

from evenspan import StandardPCA
from evenspan.reconstruction.group_errors import kept, losses
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.multi_criteria import (
    criteria_offsets,
    descend,
    fill_trace,
    rank_bound,
    reduce_rank,
    round_iteratively,
    solve_multi_criteria,
)
from evenspan.reconstruction.relaxation import relax
from evenspan.reconstruction.samadi import operator_rank, run

from .samples import angle

OBJECTIVES = ("loss", "error")


def covariances(G, d, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(G, d, d)) * (1.0 + np.arange(G))[:, None, None] / np.sqrt(np.arange(1, d + 1))
    return np.array([a.T @ a / d for a in A])


def conic(S, k, a):
    """The value of the relaxation by an interior-point method on the programme as a modelling language states it."""
    cvxpy = pytest.importorskip("cvxpy")
    X = cvxpy.Variable(S[0].shape, symmetric=True)
    kept = cvxpy.hstack([cvxpy.sum(cvxpy.multiply(M, X)) for M in S])
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.max(a - kept)), [X >> 0, np.eye(len(S[0])) - X >> 0, cvxpy.trace(X) <= k]
    )
    problem.solve(solver=cvxpy.CLARABEL)
    return float(problem.value)


# -- relaxation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("G", "d", "k"), [(1, 5, 2), (3, 7, 6), (6, 12, 11), (4, 9, 1), (6, 12, 4)])
def test_value_and_bound_meet_and_are_those_of_a_conic_solver(G, d, k, objective):
    S = covariances(G, d, G)
    a = criteria_offsets(S, k, objective)
    found = relax(S, k, a)
    size = float(np.trace(S, axis1=1, axis2=2).max())
    assert -1e-12 * size <= found.value - found.bound <= 2e-8 * max(abs(found.value), 1e-3 * size)
    assert found.value == pytest.approx(conic(S, k, a), abs=1e-6 * size)
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


@pytest.mark.parametrize("objective", ["loss", "error"])
def test_many_groups_in_many_dimensions_need_few_eigenvalue_problems(objective):
    rng = np.random.default_rng(0)
    d, G, k = 100, 16, 3
    S = np.array([X.T @ X / 300 for X in rng.normal(size=(G, 300, d)) * np.arange(1, d + 1) ** -0.3])
    a = criteria_offsets(S, k, objective)
    found = relax(S, k, a)
    assert found.value - found.bound <= 1e-8 * found.value
    assert found.evaluations <= 2 * G
    assert found.Q.shape[1] < d
    _, certificate = solve_multi_criteria(S, k, objective)
    assert certificate.gap <= 1e-3 * certificate.primal
    weighed = run(S, k, [3.0], iterations=30, scale=True, offsets=a)[0]
    assert certificate.primal <= weighed.value
    assert certificate.dual >= weighed.bound  # the reference is on the far side of both
    control = np.linalg.eigh(S.mean(axis=0))[1][:, -k:]
    assert (a - kept(S, control)).max() > 1.002 * certificate.primal


def test_one_answer_whatever_units_names_and_axes_the_groups_have():
    S, k = covariances(4, 8, 2), 2
    a = criteria_offsets(S, k, "loss")
    found = relax(S, k, a)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    order = [2, 0, 3, 1]
    assert relax(1e6 * S, k, 1e6 * a).value == pytest.approx(1e6 * found.value, rel=1e-7)
    assert relax(S[order], k, a[order]).value == pytest.approx(found.value, rel=1e-7)
    np.testing.assert_allclose(relax(S[order], k, a[order]).weights, found.weights[order], atol=1e-3)
    assert relax(Q @ S @ Q.T, k, a).value == pytest.approx(found.value, rel=1e-7)


# -- rounding ----------------------------------------------------------------------------------------------------------


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


def test_iterative_rounding_costs_two_groups_nothing():
    """Nobody has to be given up; leading eigenvectors of the same fractional answer, the control, often cost one."""
    lost = []
    for seed in range(10):
        S, k = covariances(2, 7, seed), 3
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(7, 7)))[0]
        Z = turn * np.array([0.9, 0.8, 0.6, 0.3, 0.2, 0.1, 0.1]) @ turn.T
        before = np.tensordot(S, Z, axes=2)
        assert (kept(S, round_iteratively(Z, S, k)) - before).min() >= -1e-5 * before.max()
        lost.append((kept(S, turn[:, :k]) - before).min() < -0.01 * before.max())
    assert sum(lost) >= 3


def test_iterative_rounding_ends_at_a_projector_that_loses_no_more_than_the_published_bound():
    for seed in range(5):
        S, k = covariances(6, 7, seed), 2
        Z = 2 / 7 * np.eye(7)  # as fractional as can be
        V = round_iteratively(Z, S, k)
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
        # The most that a group can lose: the largest average of some groups over floor(sqrt(2 |T|)) + 1 directions.
        subsets = [[g for g in range(6) if code >> g & 1] for code in range(1, 64)]
        bound = max(np.linalg.eigvalsh(S[T].mean(axis=0))[-int(np.sqrt(2 * len(T))) - 1 :].sum(axis=0) for T in subsets)
        assert (np.tensordot(S, Z, axes=2) - kept(S, V)).max() <= bound + 1e-9


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


def test_no_descent_from_anywhere_ends_lower():
    """Roundings that look best are not those below which it is lowest: all of them have to be followed down."""
    for seed in range(12):
        S = covariances(4, 9, seed)
        a = criteria_offsets(S, 1, "loss")
        _, certificate = solve_multi_criteria(S, 1)
        starts = np.random.default_rng(seed).normal(size=(20, 9, 1))
        lowest = min((a - kept(S, descend(a, S, V / np.linalg.norm(V)))).max() for V in starts)
        assert certificate.primal <= lowest * (1 + 1e-6)


def test_two_groups_reach_the_exact_value_through_the_relaxation():
    S = covariances(2, 6, 3)
    for objective in ("loss", "error"):
        V, certificate = solve_multi_criteria(S, 2, objective)
        W, exact = solve_min_max(*S, 2, objective)
        assert certificate.primal == pytest.approx(exact.primal, rel=1e-8)
        assert angle(V, W) < 1e-4


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


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_one_group_is_served_by_pca(objective):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 5)) * np.array([4.0, 3.0, 1.0, 0.5, 0.2]) @ rng.normal(size=(5, 5))
    S = np.cov(X.T, ddof=0)[None]
    V, _ = solve_multi_criteria(S, 2, objective)
    assert angle(V, StandardPCA(2).fit(X).components_.T) < 1e-3
