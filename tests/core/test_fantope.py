"""Programs over the fantope: projections against their optimality conditions, answers against a conic solver."""

import numpy as np
import pytest

from evenspan.reconstruction.fantope import clip_level, clip_to_sum, project_ball, project_fantope, solve_fantope


def program(d, seed):
    """Objective, covariance difference, mean gap and phi of a random binary sample."""
    rng = np.random.default_rng(seed)
    n, second = 60 + 5 * d, np.arange(60 + 5 * d) % 3 == 0
    Z = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) * np.exp(-np.arange(d) / 3)[:, None])
    Z[second] = Z[second] * np.exp(0.4 * rng.normal(size=d)) + rng.normal(size=d) * Z.std(axis=0)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    f = Z[second].mean(axis=0) - Z[~second].mean(axis=0)
    Q = np.cov(Z[second].T, ddof=0) - np.cov(Z[~second].T, ddof=0)
    return Z.T @ Z / n / np.sqrt(n * d), Q, f, float(np.linalg.norm(Q, ord=2)) + 0.5


def conic(A, k, *, Q=None, phi=0.0, mu=0.0, f=None, c=np.inf):
    """The value by an interior-point method on the program as a modelling language states it."""
    cvxpy = pytest.importorskip("cvxpy")
    d = len(A)
    X, s = cvxpy.Variable((d, d), symmetric=True), cvxpy.Variable()
    constraints = [X >> 0, np.eye(d) - X >> 0, cvxpy.trace(X) == k]
    objective = cvxpy.trace(A @ X)
    if mu > 0:
        values, vectors = np.linalg.eigh(Q)
        for sign in (1, -1):
            root = (vectors * np.sqrt(phi + sign * values)) @ vectors.T
            constraints.append(cvxpy.sigma_max(root @ X) <= s)
        objective = objective - mu * cvxpy.square(s)
    if f is not None:
        constraints.append(cvxpy.norm(X @ f) <= c)
    problem = cvxpy.Problem(cvxpy.Maximize(objective), constraints)
    problem.solve(solver=cvxpy.CLARABEL)
    assert problem.status == "optimal"
    return float(problem.value)


def assert_in_fantope(X, k):
    values = np.linalg.eigvalsh(X)
    np.testing.assert_allclose(X, X.T, atol=1e-14)
    assert np.trace(X) == pytest.approx(k, abs=1e-9)
    assert values[0] > -1e-9
    assert values[-1] < 1 + 1e-9


def test_clipping_to_a_sum_satisfies_its_optimality_conditions():
    rng = np.random.default_rng(0)
    for k in range(1, 7):
        values = np.round(rng.normal(size=7) * 2, 1)  # some ties
        w = clip_to_sum(values, k)
        assert w.sum(axis=0) == pytest.approx(k, abs=1e-12)
        shifts, inside = values - w, (w > 1e-12) & (w < 1 - 1e-12)
        if inside.any():
            shift = shifts[inside][0]
            np.testing.assert_allclose(shifts[inside], shift, atol=1e-12)
            assert (values[w <= 1e-12] <= shift + 1e-12).all()
            assert (values[w >= 1 - 1e-12] >= shift + 1 - 1e-12).all()
    np.testing.assert_array_equal(clip_to_sum(np.array([3.0, 2.0, 0.5]), 3), np.ones(3))


def test_projections_are_nearer_than_any_other_feasible_point():
    rng = np.random.default_rng(1)
    H = rng.normal(size=(5, 5))
    H = H + H.T
    P, unit = project_fantope(H, 2), np.array([0.6, 0.0, 0.8, 0.0, 0.0])
    assert_in_fantope(P, 2)
    W = project_ball(H, unit, 0.3)
    assert np.linalg.norm(W @ unit) == pytest.approx(0.3, rel=1e-12)
    assert np.linalg.norm(project_ball(H, unit, 0.0) @ unit) < 1e-14
    assert project_ball(H, unit, 100.0) is H
    for _ in range(200):
        V, _ = np.linalg.qr(rng.normal(size=(5, 2)))
        assert np.vdot(H - P, V @ V.T - P) <= 1e-12  # the variational inequality of a projection
        other = rng.normal(size=(5, 5))
        other = other + other.T
        other = project_ball(W + 0.5 * other, unit, 0.3)
        assert np.vdot(H - W, other - W) <= 1e-9


def test_the_common_level_minimises_penalty_plus_distance():
    singular, weight = np.array([3.0, 2.0, 2.0, 0.1]), 1.7
    s = clip_level(singular, weight)
    cost = [0.5 * weight * t**2 + 0.5 * (np.maximum(singular - t, 0) ** 2).sum(axis=0) for t in (s - 1e-4, s, s + 1e-4)]
    assert cost[1] < min(cost[0], cost[2])


@pytest.mark.parametrize("d", [5, 8])
@pytest.mark.parametrize("mu", [1e-4, 1e-2, 0.5])
def test_the_covariance_program_against_a_conic_solver(d, mu):
    A, Q, _, phi = program(d, seed=d)
    answer = solve_fantope(A, 2, Q=Q, phi=phi, mu=mu, tol=1e-7)
    assert answer.status == "solved"
    assert_in_fantope(answer.X, 2)
    assert answer.value == pytest.approx(conic(A, 2, Q=Q, phi=phi, mu=mu), rel=1e-5, abs=1e-7)
    assert answer.value <= answer.bound


@pytest.mark.parametrize("c", [1e-4, 0.05, 0.4])
@pytest.mark.parametrize("mu", [0.0, 1e-2])
def test_the_mean_constraint_against_a_conic_solver(mu, c):
    A, Q, f, phi = program(6, seed=3)
    both = {"Q": Q, "phi": phi, "mu": mu, "f": f, "c": c}
    answer = solve_fantope(A, 2, **both, tol=1e-7)
    assert answer.status == "solved"
    assert_in_fantope(answer.X, 2)
    assert np.linalg.norm(answer.X @ f) <= c * (1 + 1e-9)  # feasible, not just nearly
    assert answer.value == pytest.approx(conic(A, 2, **both), rel=1e-5, abs=1e-7)
    free = solve_fantope(A, 2, Q=Q, phi=phi, mu=mu)
    assert np.linalg.norm(free.X @ f) > c  # the control without the constraint violates it
    assert free.value > answer.value


def test_the_bound_holds_from_the_first_steps_on_and_a_warm_start_is_accepted():
    A, Q, _, phi = program(12, seed=7)
    exact = solve_fantope(A, 3, Q=Q, phi=phi, mu=0.02, tol=1e-9, max_iter=100_000)
    assert exact.status == "solved"
    for steps in (1, 5, 20):
        early = solve_fantope(A, 3, Q=Q, phi=phi, mu=0.02, tol=1e-9, max_iter=steps)
        assert early.status == "stopped at max_iter"
        assert early.value <= exact.bound
        assert early.bound >= exact.value
    again = solve_fantope(A, 3, Q=Q, phi=phi, mu=0.02, tol=1e-6, state=exact.state)
    assert again.iterations == 10


def test_without_penalty_and_constraint_the_answer_is_the_leading_eigenspace():
    A, *_ = program(6, seed=1)
    answer = solve_fantope(A, 2)
    assert answer.value == pytest.approx(np.linalg.eigvalsh(A)[-2:].sum(axis=0), rel=1e-12)
    assert answer.iterations == 0
