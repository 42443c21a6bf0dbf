"""The sum form of the covariance penalty: against a conic solver, limits, monotonicity; the larger form as control."""

import warnings

import numpy as np
import pytest

from evenspan import GroupMoments, StandardPCA
from evenspan.reconstruction.convex import CollapsedRelaxationWarning, ConvexFairPCA, solve_bounded, solve_convex

from .samples import angle, draw


def moments(d=6, seed=1):
    sample = draw(counts=(130, 70), names=("crimson", "azure"), d=d, seed=seed)
    return GroupMoments.from_data(sample.X, sample.groups).standardised()


def stated(m):
    """M, f, Q and the roots of the printed program, from the moments."""
    S = m.scatter / m.n
    C = m.scatters / m.counts[:, None, None]
    Q = C[1] - C[0]
    values, vectors = np.linalg.eigh(Q)
    shifts = max(-values[0], 0.0), max(values[-1], 0.0)
    roots = [
        (np.sqrt(np.maximum(sign * values + shift, 0.0)) * vectors).T
        for sign, shift in zip((1, -1), shifts, strict=True)
    ]
    return S / np.sqrt(m.n * np.trace(S)), m.means[1] - m.means[0], Q, roots


def objective(X, M, roots, mu):
    return float(np.trace(M @ X)) - mu * sum(np.linalg.norm(R @ X, ord=2) ** 2 for R in roots)


def conic(M, f, roots, k, delta, mu):
    """The printed program with delta = 0 as an equality, by an interior-point method."""
    cvxpy = pytest.importorskip("cvxpy")
    d = len(M)
    # An interior point of P f = 0 does not exist: with delta = 0 the matrix lives on the complement of f.
    N = np.linalg.svd(f[None])[2][1:].T if delta == 0 else np.eye(d)
    Y, ts = cvxpy.Variable((N.shape[1], N.shape[1]), symmetric=True), cvxpy.Variable(2)
    P = N @ Y @ N.T
    constraints = [Y >> 0, np.eye(len(N.T)) - Y >> 0, cvxpy.trace(Y) == k]
    constraints += [cvxpy.sigma_max(R @ P) <= t for R, t in zip(roots, ts, strict=True)]
    if delta:
        constraints.append(cvxpy.quad_form(f, P) <= delta**2)
    value = (cvxpy.trace(M @ P) - mu * cvxpy.sum_squares(ts)) / np.abs(M).max()
    problem = cvxpy.Problem(cvxpy.Maximize(value), constraints)
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
    assert problem.status == "optimal"
    return float(problem.value) * np.abs(M).max()


@pytest.mark.parametrize("delta", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("mu", [1e-4, 1e-2])
def test_against_a_conic_solver(delta, mu):
    m = moments()
    M, f, _, roots = stated(m)
    answer = solve_convex(m, 2, delta=delta, mu=mu, covariance=True, penalty="sum", tol=1e-7)
    assert answer.status == "solved"
    values = np.linalg.eigvalsh(answer.X)
    assert np.trace(answer.X) == pytest.approx(2, abs=1e-9)
    assert values[0] > -1e-9
    assert values[-1] < 1 + 1e-9
    assert f @ answer.X @ f <= delta**2 * (1 + 1e-9) + 1e-12
    assert answer.certificate.primal == pytest.approx(objective(answer.X, M, roots, mu), rel=1e-9, abs=1e-12)
    expected = conic(M, f, roots, 2, delta, mu)
    size = np.trace(M @ answer.X)
    assert answer.certificate.primal == pytest.approx(expected, abs=2e-5 * size)
    assert answer.certificate.dual >= expected - 2e-5 * size
    assert -1e-12 <= answer.certificate.gap <= 1e-6 * size
    other = solve_convex(m, 2, delta=delta, mu=mu, covariance=True, tol=1e-7)
    assert objective(other.X, M, roots, mu) <= answer.certificate.dual  # the larger form is no better at the sum


@pytest.mark.parametrize("first", [0.4, 2.5])
def test_shifts_of_the_wrong_sign_are_zero(first):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 5)) * np.where(np.arange(200) < 120, first, 1.0)[:, None] * [1, 1.5, 1, 2, 0.7]
    m = GroupMoments.from_data(X, np.repeat(["a", "b"], [120, 80])).standardised()
    M, _, Q, roots = stated(m)
    values = np.linalg.eigvalsh(Q)
    assert values[0] > 0.2 or values[-1] < -0.2  # definite: one of the two extreme eigenvalues counts as zero
    answer = solve_convex(m, 2, delta=0.0, mu=1e-2, covariance=True, penalty="sum", tol=1e-6)
    assert answer.certificate.primal == pytest.approx(objective(answer.X, M, roots, 1e-2), rel=1e-9)


def test_a_search_that_is_stopped_keeps_its_bound():
    M, f, Q, _ = stated(moments())
    values = np.linalg.eigvalsh(Q)
    program = {"Q": Q, "phi": (-float(values[0]), float(values[-1])), "mu": 0.01, "penalty": "sum", "f": f, "c": 0.3}
    searched, stopped = solve_bounded(M, 2, **program), solve_bounded(M, 2, **program, tol=1e-12, max_iter=30)
    assert (searched.status, stopped.status) == ("solved", "stopped at max_iter")
    assert stopped.bound >= searched.value


def test_the_value_falls_with_mu_and_grows_with_delta():
    m = moments(seed=4)

    def value(delta, mu):
        return solve_convex(m, 2, delta=delta, mu=mu, covariance=True, penalty="sum", tol=1e-7).certificate.primal

    falling = [value(0.2, mu) for mu in (1e-4, 1e-3, 1e-2, 1e-1)]
    growing = [value(delta, 1e-2) for delta in (0.0, 0.1, 0.3, 1.0)]
    assert (np.diff(falling) < 0).all()
    assert (np.diff(growing) >= -1e-7 * abs(growing[0])).all()
    assert growing[-1] > growing[0]


def test_delta_zero_removes_the_mean_gap_of_the_components_exactly():
    sample = draw(counts=(130, 70), names=("crimson", "azure"))
    with pytest.warns(CollapsedRelaxationWarning):
        fitted = ConvexFairPCA(2, mu=0.05, covariance=True, penalty="sum").fit(
            sample.X, sensitive_features=sample.groups
        )
    assert fitted.mean_distance_ < 1e-10
    pca = StandardPCA(2, standardize=True).fit(sample.X, sensitive_features=sample.groups)
    m = moments()
    assert np.linalg.norm((m.means[1] - m.means[0]) @ pca.components_.T) > 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedRelaxationWarning)
        small = ConvexFairPCA(2, mu=1e-7, covariance=True, penalty="sum").fit(
            sample.X, sensitive_features=sample.groups
        )
    mean_only = ConvexFairPCA(2).fit(sample.X, sensitive_features=sample.groups)
    assert angle(small.components_.T, mean_only.components_.T) < 0.02 < angle(pca.components_.T, small.components_.T)


def test_equal_covariances_leave_nothing_to_penalise():
    scatters = np.array([np.diag([9.0, 4.0, 1.0])] * 2) * np.array([60.0, 40.0])[:, None, None]
    means = np.array([[0.3, 0.0, 0.0], [-0.45, 0.0, 0.0]])
    m = GroupMoments(np.array(["a", "b"]), np.array([60.0, 40.0]), means, scatters)
    for delta in (0.0, 0.2):
        free = solve_convex(m, 1, delta=delta)
        answer = solve_convex(m, 1, delta=delta, mu=1.0, covariance=True, penalty="sum")
        assert answer.status == "exact"
        np.testing.assert_array_equal(answer.X, free.X)
    # Unequal only by rounding, where a splitting would chase noise.
    noisy = m.scatters + 1e-14 * np.array([np.ones((3, 3)), -np.ones((3, 3))])
    near = solve_convex(
        GroupMoments(m.labels, m.counts, means, noisy), 1, delta=0.2, mu=1.0, covariance=True, penalty="sum"
    )
    assert near.status == "exact"
    larger = solve_convex(m, 1, delta=0.2, mu=1.0, covariance=True, penalty="largest")
    assert larger.certificate.primal < free.certificate.primal - 0.1  # its shift has a half that counts


def test_the_certificate_says_how_far_the_bound_is_passed():
    m, setting = moments(), {"delta": 0.3, "mu": 1e-2, "covariance": True, "penalty": "sum", "tol": 1e-12}
    f = m.means[1] - m.means[0]
    short = solve_convex(m, 2, **setting, max_iter=20)
    passed = (f @ short.X @ f - 0.09) / (f @ f)
    assert passed > 0.1
    assert short.certificate.feasibility == pytest.approx(passed)
    assert solve_convex(m, 2, **setting).certificate.feasibility < 1e-12
