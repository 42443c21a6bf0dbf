"""The convex relaxation of Olfat and Aswani: closed forms, monotonicity, certificates, collapse; PCA as control."""

import cvxpy
import numpy as np
import pytest
from scipy.linalg import subspace_angles

from compendium.papers.vu2022.methods import convex_as_published
from compendium.papers.vu2022.released_constraint import Bounded
from evenspan import GroupMoments, StandardPCA
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
    fitted = ConvexFairPCA(2, standardize=True).fit(X, sensitive_features=groups)
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
        fitted = ConvexFairPCA(2, standardize=True, delta=delta).fit(X, sensitive_features=groups)
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


def test_small_mu_keeps_the_mean_only_answer_and_large_mu_collapses(data):
    X, groups = data
    mean_only = ConvexFairPCA(2, standardize=True).fit(X, sensitive_features=groups)
    small = ConvexFairPCA(2, standardize=True, mu=1e-5, covariance=True).fit(X, sensitive_features=groups)
    assert small.certificate_.is_optimal(1e-5)
    assert subspace_angles(small.components_.T, mean_only.components_.T).max() < 0.02
    with pytest.warns(CollapsedRelaxationWarning, match="eigenvalue 2 of the relaxed answer"):
        large = ConvexFairPCA(2, standardize=True, mu=0.5, covariance=True).fit(X, sensitive_features=groups)
    assert large.eigenvalues_[1] < 0.6
    assert large.eigenvalues_.sum(axis=0) == pytest.approx(2.0, abs=1e-8)


@pytest.mark.filterwarnings("ignore::evenspan.reconstruction.convex.CollapsedRelaxationWarning")
def test_a_programme_that_is_not_solved_says_so(data):
    X, groups = data
    stopped = ConvexFairPCA(2, standardize=True, mu=0.05, covariance=True, max_iter=3)
    with pytest.warns(NotConvergedWarning, match="stopped at max_iter with relative gap"):
        stopped.fit(X, sensitive_features=groups)
    assert not stopped.converged_


# -- programs with a penalty, or with the constraint as released ------------------------------------------------------


def stated(m):
    """A, f and Q of the printed program, from the moments."""
    S, C = m.scatter / m.n, m.scatters / m.counts[:, None, None]
    return S / np.sqrt(m.n * np.trace(S)), m.means[1] - m.means[0], C[1] - C[0]


def roots_of(Q, shifts):
    values, vectors = np.linalg.eigh(Q)
    return [
        (vectors * np.sqrt(np.maximum(s + sign * values, 0.0))) @ vectors.T
        for s, sign in zip(shifts, (1, -1), strict=True)
    ]


def shifts_of(Q, penalty):
    values = np.linalg.eigvalsh(Q)
    return [max(-values[0], 0.0), max(values[-1], 0.0)] if penalty == "sum" else [np.abs(values).max() + 0.5] * 2


def objective(X, A, Q, mu, penalty):
    squares = [np.linalg.norm(R @ X, ord=2) ** 2 for R in roots_of(Q, shifts_of(Q, penalty))]
    return float(np.trace(A @ X)) - mu * (sum(squares) if penalty == "sum" else max(squares))


def conic(A, k, *, Q=None, mu=0.0, penalty="largest", f=None, delta=np.inf, c=np.inf):
    """The value by an interior-point method on the program as a modelling language states it."""
    # An interior point of X f = 0 does not exist: with delta = 0 the matrix lives on the complement of f.
    N = np.linalg.svd(f[None])[2][1:].T if delta == 0 else np.eye(len(A))
    Y, t = cvxpy.Variable((N.shape[1], N.shape[1]), symmetric=True), cvxpy.Variable(2, nonneg=True)
    X, constraints = N @ Y @ N.T, [Y >> 0, np.eye(len(N.T)) - Y >> 0, cvxpy.trace(Y) == k]
    if mu > 0:
        constraints += [cvxpy.sigma_max(R @ X) <= s for R, s in zip(roots_of(Q, shifts_of(Q, penalty)), t, strict=True)]
    constraints += [cvxpy.quad_form(f, X) <= delta**2] if 0 < delta < np.inf else []
    constraints += [cvxpy.norm(X @ f) <= c] if c < np.inf else []
    loss = cvxpy.sum_squares(t) if penalty == "sum" else cvxpy.square(cvxpy.max(t))
    value = (cvxpy.trace(A @ X) - (mu * loss if mu > 0 else 0.0)) / np.abs(A).max()
    problem = cvxpy.Problem(cvxpy.Maximize(value), constraints)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
    assert problem.status == "optimal"
    return float(problem.value) * np.abs(A).max()


@pytest.mark.parametrize("penalty", ["largest", "sum"])
@pytest.mark.parametrize(("delta", "mu"), [(0.0, 1e-4), (0.1, 1e-2), (0.6, 1e-2), (0.6, 0.5)])
def test_against_a_conic_solver(delta, mu, penalty):
    m = GroupMoments.from_data(*sample(6, seed=3)).standardised()
    A, f, Q = stated(m)
    answer = solve_convex(m, 2, delta=delta, mu=mu, covariance=True, penalty=penalty, tol=1e-7)
    assert answer.status == "solved"
    values = np.linalg.eigvalsh(answer.X)
    assert np.trace(answer.X) == pytest.approx(2, abs=1e-9)
    assert -1e-9 < values[0] <= values[-1] < 1 + 1e-9
    assert f @ answer.X @ f <= delta**2 * (1 + 1e-9) + 1e-12
    assert answer.certificate.primal == pytest.approx(objective(answer.X, A, Q, mu, penalty), rel=1e-9, abs=1e-12)
    expected, size = conic(A, 2, Q=Q, mu=mu, penalty=penalty, f=f, delta=delta), np.trace(A @ answer.X)
    assert answer.certificate.primal == pytest.approx(expected, abs=2e-5 * size)
    assert -1e-12 <= answer.certificate.gap <= 1e-6 * size
    rest = solve_convex(m, 2, delta=delta)  # the control without the penalty
    assert objective(rest.X, A, Q, mu, penalty) < answer.certificate.dual


def test_equal_covariances_leave_nothing_to_penalise():
    scatters = np.array([np.diag([9.0, 4.0, 1.0])] * 2) * np.array([60.0, 40.0])[:, None, None]
    means = np.array([[0.3, 0.0, 0.0], [-0.45, 0.0, 0.0]])
    m = GroupMoments(np.array(["a", "b"]), np.array([60.0, 40.0]), means, scatters)
    free = solve_convex(m, 1, delta=0.2)
    answer = solve_convex(m, 1, delta=0.2, mu=1.0, covariance=True, penalty="sum")
    assert answer.status == "exact"
    np.testing.assert_array_equal(answer.X, free.X)
    larger = solve_convex(m, 1, delta=0.2, mu=1.0, covariance=True, penalty="largest")
    assert larger.certificate.primal < free.certificate.primal - 0.1  # its shift has a half that counts


def test_a_program_that_is_stopped_keeps_its_bound_and_says_how_far_the_constraint_is_passed():
    m = GroupMoments.from_data(*sample(6, seed=3)).standardised()
    setting, f = {"delta": 0.3, "mu": 1e-2, "covariance": True, "penalty": "sum", "tol": 1e-12}, stated(m)[1]
    short, long = solve_convex(m, 2, **setting, max_iter=20), solve_convex(m, 2, **setting)
    passed = (f @ short.X @ f - 0.09) / (f @ f)
    assert passed > 0.1
    assert short.certificate.feasibility == pytest.approx(passed)
    assert long.certificate.feasibility < 1e-12
    assert short.certificate.dual >= long.certificate.primal


@pytest.mark.parametrize("c", [1e-4, 0.05, 0.4])
def test_the_constraint_as_released_against_a_conic_solver(c):
    A, f, _ = stated(GroupMoments.from_data(*sample(6, seed=3)).standardised())
    answer = Bounded(A, 2, f, c).run(1e-7, 20_000, None)
    assert answer.status == "solved"
    assert np.linalg.norm(answer.X @ f) <= c * (1 + 1e-9)  # feasible, not just nearly
    assert answer.value == pytest.approx(conic(A, 2, f=f, c=c), rel=1e-5, abs=1e-7)
    V = np.linalg.eigh(A)[1][:, -2:]
    assert np.linalg.norm(V.T @ f) > c  # the control without the constraint violates it
