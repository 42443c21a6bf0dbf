"""The robust objective against its definition, the descent as published, the estimator: limits and certificates."""

import numpy as np
import pytest

from compendium.papers.vu2022.methods import u_form
from evenspan import GroupMoments
from evenspan.core.estimator import NotConvergedWarning
from evenspan.core.linalg import complement
from evenspan.reconstruction import StandardPCA
from evenspan.reconstruction.group_errors import errors, group_matrices
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.robust import RobustFairPCA, lower_bound
from evenspan.reconstruction.robust_descent import (
    RobustObjective,
    _iterate,
    descend,
    objective,
    radii,
    random_starts,
    worst_case,
)
from evenspan.reconstruction.robust_exact import solve_exact

from .samples import angle

COUNTS = {2: np.array([150.0, 70.0]), 3: np.array([200.0, 120.0, 60.0])}


def problem(G=2, d=5, seed=0):
    """Positive definite matrices of unequal size, shares, a generator."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(G, d, d)) * rng.lognormal(size=(G, 1, d)) * np.array([1.0, 0.5, 2.0])[:G, None, None]
    return roots.swapaxes(1, 2) @ roots / d, COUNTS[G] / COUNTS[G].sum(axis=0), rng


def orthonormal(rng, d, k):
    return np.linalg.qr(rng.normal(size=(d, k)))[0]


def test_worst_case_is_the_supremum_over_the_ball():
    # Whatever the moments, an expected error q within the ball moves its root by at most that of the radius.
    for v, e, q in ((1.3, 0.05, 0.4), (1.3, 4.0, 0.4), (-0.7, 0.05, 0.4), (-0.7, 4.0, 0.4)):
        roots = np.linspace(0.0, 4.0, 400_001)
        best = (v * roots**2)[np.abs(roots - np.sqrt(q)) <= np.sqrt(e)].max()
        assert best == pytest.approx(float(worst_case(v, q, e)), abs=1e-4)


def test_no_division_at_zero_errors_and_radii():
    with np.errstate(all="raise"):
        assert objective([0.0, 0.0], [0.7, 0.3], [0.0, 0.0], 1.0) == 0.0
        np.testing.assert_allclose(RobustObjective.of([0.7, 0.3], [0.0, 0.0], 1.0).gradient([0.0, 0.0]), [1.7, -0.7])
    # At q = eps the subtracted term is flat.
    assert RobustObjective.of([0.7, 0.3], [0.1, 0.1], 1.0).slopes(np.array([2.0, 0.1]))[0, 1] == 0.0


@pytest.mark.parametrize("G", [2, 3])
@pytest.mark.parametrize("penalty", [0.0, 0.2, 2.5])
def test_gradient_matches_differences_along_tangent_directions(G, penalty):
    matrices, shares, rng = problem(G, seed=G)
    e, d, k, t = radii(COUNTS[G], 0.8), 5, 2, 1e-6
    for _ in range(5):
        U = orthonormal(rng, d, d - k)
        Z = rng.normal(size=(d, d - k))
        Z -= U @ (U.T @ Z)
        q = np.einsum("dk,gde,ek->g", U, matrices, U)

        def along(s, U=U, Z=Z):
            W = np.linalg.qr(U + s * Z)[0]
            return float(objective(np.einsum("dk,gde,ek->g", W, matrices, W), shares, e, penalty))

        slope = np.einsum("g,gdk->dk", 2.0 * RobustObjective.of(shares, e, penalty).gradient(q), matrices @ U)
        assert (along(t) - along(-t)) / (2 * t) == pytest.approx(float(np.vdot(slope, Z)), rel=1e-5, abs=1e-6)


def test_several_groups_are_a_maximum_over_ordered_pairs():
    matrices, shares, rng = problem(3)
    e, penalty = radii(COUNTS[3], 0.5), 0.4
    q = errors(matrices, orthonormal(rng, 5, 2))
    values = [
        sum(float(worst_case(shares[g] + penalty * ((g == a) - (g == b)), q[g], e[g])) for g in range(3))
        for a in range(3)
        for b in range(3)
        if a != b
    ]
    assert objective(q, shares, e, penalty) == pytest.approx(max(values), rel=1e-14)
    batch = objective(np.array([q, 2 * q]), shares, e, np.array([penalty, 0.1]))
    np.testing.assert_allclose(batch, [objective(q, shares, e, penalty), objective(2 * q, shares, e, 0.1)], rtol=1e-14)


@pytest.mark.parametrize("G", [2, 3])
def test_lower_bound_is_below_every_projection(G):
    matrices, shares, rng = problem(G)
    for alpha, penalty in ((0.0, 0.3), (0.5, 1.0), (30.0, 2.0)):
        f = RobustObjective.of(shares, radii(COUNTS[G], alpha), penalty)
        V = orthonormal(rng, 5, 2)
        bound, weights, _ = lower_bound(matrices, 2, f, V)
        values = np.array([f.value(errors(matrices, orthonormal(rng, 5, 2))) for _ in range(500)])
        assert bound <= values.min(axis=0)
        # Without radii the weights alone give the bound: no projection is below the smallest eigenvalues.
        if alpha == 0.0:
            U = complement(np.linalg.eigh(np.einsum("g,gde->de", weights, matrices))[1][:, -2:])
            assert np.einsum("dk,gde,ek,g->", U, matrices, U, weights) == pytest.approx(bound, rel=1e-9)


# -- the descent --


SETTINGS = [(0.05, 0.0), (0.1, 0.5), (0.15, 2.5)]


@pytest.mark.parametrize("G", [2, 3])
def test_v_form_and_u_form_reach_the_same_projector(G):
    matrices, shares, _ = problem(G, d=6)
    # A scale at which the step is a fraction of the largest stable one: a longer one blows up rounding errors.
    matrices /= np.linalg.norm(matrices, 2, axis=(1, 2)).max(axis=0)
    f = RobustObjective.of(shares, radii(COUNTS[G], 0.3), 0.4)
    k = 2
    for seed in range(5):
        start = random_starts(np.random.default_rng(seed), 1, 1, 6, k)[0]
        one = RobustObjective(f.factors[None], f.shifts[None])
        V = _iterate(matrices, one, start, 40)[0][0].T
        U = u_form(matrices, f, complement(start[0].T), 40)
        np.testing.assert_allclose(V @ V.T, np.eye(6) - U @ U.T, atol=1e-8)


def test_every_run_is_independent_of_the_batch():
    matrices, shares, _ = problem()
    together = descend(matrices, COUNTS[2], 2, SETTINGS, rng=np.random.default_rng(5), restarts=4, iterations=60)
    starts = random_starts(np.random.default_rng(5), 3, 4, 5, 2)
    for s, (alpha, penalty) in enumerate(SETTINGS):
        f = RobustObjective.of(shares, radii(COUNTS[2], alpha)[None], np.array([penalty]))
        alone = [_iterate(matrices, f, starts[s, r : r + 1], 60)[1][0] for r in range(4)]
        np.testing.assert_allclose(together.runs[s, :4], alone, rtol=1e-9)
    assert together.runs.shape == (3, 5)
    np.testing.assert_array_equal(together.objective, together.runs.min(axis=1))


def test_never_below_the_exact_optimum_and_short_of_it_where_the_penalty_is_heavy():
    matrices, shares, rng = problem(seed=4)
    settings = [(a, p) for a in (0.05, 0.15) for p in (0.0, 1.0, 2.5)]
    joint = JointRange(*matrices, 2)
    exact = np.array([solve_exact(joint, shares, radii(COUNTS[2], a), p)[1].primal for a, p in settings])
    published = descend(matrices, COUNTS[2], 2, settings, rng=rng, iterations=300).objective / exact - 1.0
    assert published.min() > -1e-9
    assert published[0] < 1e-6
    assert published.max() > 1e-3


# -- the estimator --


#: Appendix D.2.1 at population moments; 500 and 200 points as in the figure.
TOY = GroupMoments(
    np.array(["majority", "minority"]),
    np.array([500.0, 200.0]),
    np.zeros((2, 2)),
    np.array([500.0, 200.0])[:, None, None] * np.array([[[4.0, 0.0], [0.0, 0.2]], [[0.2, 0.4], [0.4, 3.0]]]),
)


def direction(fitted) -> float:
    x, y = fitted.components_[0]
    return float(np.degrees(np.arctan2(y, x)) % 180.0)


@pytest.mark.parametrize(
    ("penalty", "degrees"), [(0.0, 3.40), (0.2, 16.59), (0.25, 29.17), (0.2713, 37.22), (5, 37.22)]
)
def test_toy_directions(penalty, degrees):
    fitted = RobustFairPCA(1, alpha=0.0, penalty=penalty).fit_moments(TOY)
    assert direction(fitted) == pytest.approx(degrees, abs=0.006 if penalty != 0.2713 else 0.1)
    assert fitted.certificate_.is_optimal(1e-8)
    if penalty == 5:
        np.testing.assert_allclose(fitted.group_errors_, 1.5903, atol=5e-5)


@pytest.mark.parametrize("solver", ["exact", "subgradient"])
@pytest.mark.parametrize("standardize", [False, True])
def test_without_radius_and_penalty_it_is_pca(pair, solver, standardize):
    fitted = RobustFairPCA(2, alpha=0.0, penalty=0.0, solver=solver, standardize=standardize, max_iter=2000)
    fitted.fit(pair.X, sensitive_features=pair.groups)
    plain = StandardPCA(2, standardize=standardize).fit(pair.X)
    assert angle(fitted.components_.T, plain.components_.T) < 1e-8
    shares = fitted.group_counts_ / fitted.group_counts_.sum(axis=0)
    assert fitted.objective_ == pytest.approx(shares @ fitted.group_errors_, rel=1e-12)


def test_objective_and_certificate_of_both_solvers(pair):
    moments = GroupMoments.from_data(pair.X, pair.groups)
    exact = RobustFairPCA(2, alpha=0.1, penalty=1.0).fit_moments(moments)
    with pytest.warns(NotConvergedWarning, match="solver='exact'"):
        descent = RobustFairPCA(2, alpha=0.1, penalty=1.0, solver="subgradient", max_iter=200).fit_moments(moments)
    assert exact.converged_
    assert not descent.converged_
    for fitted in (exact, descent):
        q = errors(group_matrices(moments), fitted.components_.T)
        value = objective(q, moments.counts / moments.n, fitted.radii_, 1.0)
        assert fitted.objective_ == pytest.approx(float(value), rel=1e-10)
        assert fitted.certificate_.primal == fitted.objective_
    assert exact.certificate_.is_optimal(1e-8)
    assert exact.runs_ is None
    assert descent.runs_.shape == (21,)
    assert descent.objective_ >= exact.certificate_.dual
    assert descent.certificate_.dual == pytest.approx(exact.certificate_.dual, rel=1e-12)


def test_violated_conditions_are_told():
    # With the last direction almost empty in the second group, a large ball reaches below its smallest error.
    scatters = TOY.counts[:, None, None] * np.array([np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 0.01, 0.001])])
    moments = GroupMoments(TOY.labels, TOY.counts, np.zeros((2, 3)), scatters)
    settings = {"n_components": 1, "alpha": 1.0, "penalty": 1.0}
    exact = RobustFairPCA(**settings).fit_moments(moments)
    share, radius = exact.violations_["minority"]
    assert share == pytest.approx(1.0 - 2 / 7)
    assert radius == pytest.approx(1 / np.sqrt(200) - 0.011)
    assert not RobustFairPCA(1, alpha=0.0).fit_moments(moments).violations_
