"""The robust objective against its definition, its derivative, and the theorems it corrects."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from compendium.papers.vu2022.methods import closed_form, printed_objective
from evenspan.core.linalg import complement
from evenspan.reconstruction.group_errors import errors
from evenspan.reconstruction.robust import lower_bound
from evenspan.reconstruction.robust_descent import (
    RobustObjective,
    conditions,
    objective,
    radii,
    worst_case,
)

COUNTS = {2: np.array([150.0, 70.0]), 3: np.array([200.0, 120.0, 60.0])}


def problem(G=2, d=5, seed=0):
    """Positive definite matrices of unequal size, shares, a generator."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(G, d, d)) * rng.lognormal(size=(G, 1, d)) * np.array([1.0, 0.5, 2.0])[:G, None, None]
    return roots.swapaxes(1, 2) @ roots / d, COUNTS[G] / COUNTS[G].sum(axis=0), rng


def orthonormal(rng, d, k):
    return np.linalg.qr(rng.normal(size=(d, k)))[0]


def test_radius_is_inverse_to_the_root_of_the_group_size():
    np.testing.assert_allclose(radii([100, 400], 0.1), [0.01, 0.005])
    assert radii([100, 400], [0.1, 0.2, 0.3]).shape == (3, 2)


@pytest.mark.parametrize("v", [1.3, -0.7])
@pytest.mark.parametrize("e", [0.05, 4.0])
def test_worst_case_is_the_supremum_over_the_ball(v, e):
    # The ball by its definition: Sigma = L L', mean free; the divergence has a matrix square root.
    rng = np.random.default_rng(3)
    d, mean, root = 2, np.array([0.3, -0.4]), rng.normal(size=(2, 2))
    Sigma = root @ root.T
    U = orthonormal(rng, d, 1)
    q = float((U.T @ (Sigma + np.outer(mean, mean)) @ U)[0, 0])
    half = np.real(sqrtm(Sigma))

    def divergence(x):
        S = x[d:].reshape(d, d) @ x[d:].reshape(d, d).T
        cross = np.sqrt(np.maximum(np.linalg.eigvalsh(half @ S @ half), 0.0)).sum(axis=0)
        return float(((x[:d] - mean) ** 2).sum(axis=0) + np.trace(S) + np.trace(Sigma) - 2.0 * cross)

    def error(x):
        return v * float(((U.T @ x[:d]) ** 2).sum(axis=0) + ((U.T @ x[d:].reshape(d, d)) ** 2).sum())

    best = max(
        -found.fun
        for _ in range(6)
        if divergence(
            (
                found := minimize(
                    lambda x: -error(x),
                    np.concatenate([mean, half.ravel()]) + 0.05 * rng.normal(size=d + d * d),
                    constraints={"type": "ineq", "fun": lambda x: e - divergence(x)},
                    method="SLSQP",
                    options={"maxiter": 300, "ftol": 1e-12},
                )
            ).x
        )
        <= e + 1e-6
    )
    assert best == pytest.approx(float(worst_case(v, q, e)), rel=1e-4, abs=1e-5)


def test_no_division_at_zero_errors_and_radii():
    with np.errstate(all="raise"):
        assert objective([0.0, 0.0], [0.7, 0.3], [0.0, 0.0], 1.0) == 0.0
        np.testing.assert_allclose(RobustObjective.of([0.7, 0.3], [0.0, 0.0], 1.0).gradient([0.0, 0.0]), [1.7, -0.7])
        assert np.isfinite(RobustObjective.of([0.7, 0.3], [0.1, 0.0], 0.5).gradient([0.0, 2.0])).all()
    # At q = eps the subtracted term is flat, from both sides.
    at = RobustObjective.of([0.7, 0.3], [0.1, 0.1], 1.0).slopes(np.array([2.0, 0.1]))
    assert at[0, 1] == 0.0
    assert abs(RobustObjective.of([0.7, 0.3], [0.1, 0.1], 1.0).slopes(np.array([2.0, 0.1 + 1e-9]))[0, 1]) < 1e-7


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


def test_two_groups_are_the_case_of_two():
    matrices, shares, rng = problem()
    e, penalty = radii(COUNTS[2], 0.5), 0.9
    q = errors(matrices, orthonormal(rng, 5, 2))
    expected = [
        worst_case(shares[a] + penalty, q[a], e[a]) + worst_case(shares[b] - penalty, q[b], e[b])
        for a, b in ((0, 1), (1, 0))
    ]
    np.testing.assert_allclose(RobustObjective.of(shares, e, penalty).branches(q), expected, rtol=1e-14)


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


def test_without_radii_it_is_error_plus_penalised_gap():
    matrices, shares, rng = problem(3)
    q = errors(matrices, orthonormal(rng, 5, 2))
    expected = shares @ q + 1.7 * (q.max(axis=0) - q.min(axis=0))
    assert objective(q, shares, np.zeros(3), 1.7) == pytest.approx(expected, rel=1e-14)


def test_closed_form_needs_its_conditions():
    shares, e = np.array([0.7, 0.3]), np.array([0.5, 0.5])
    above, below = np.array([3.0, 1.0]), np.array([3.0, 0.01])
    assert closed_form(above, shares, e, 1.0) == pytest.approx(objective(above, shares, e, 1.0))
    assert closed_form(below, shares, e, 1.0) < objective(below, shares, e, 1.0) - 1e-2


def test_theorem_b2_as_printed_drops_what_depends_on_the_projection():
    matrices, shares, rng = problem()
    pairs = np.array([errors(matrices, orthonormal(rng, 5, 2)) for _ in range(5)])
    zero = np.zeros(2)
    assert np.ptp(objective(pairs, shares, zero, 0.0), axis=0) > 0.1
    assert (printed_objective(pairs, shares, zero, 0.0) == 0).all()
    # The dropped sum is all that is missing.
    e = radii(COUNTS[2], 0.1)
    missing = objective(pairs, shares, e, 0.2) - printed_objective(pairs, shares, e, 0.2)
    np.testing.assert_allclose(missing, (pairs + e) @ shares, rtol=1e-12)


def test_conditions_say_which_group_and_by_how_much():
    matrices = np.array([np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 0.1, 0.0])])
    found = conditions(matrices, 1, np.array([0.2, 0.3]), [0.75, 0.25], 0.5)
    np.testing.assert_array_equal(found.marginal, [True, False])
    np.testing.assert_array_equal(found.eigenvalue, [True, False])
    assert not found.hold
    np.testing.assert_allclose([found.penalty_excess[1], found.radius_excess[1]], [0.25, 0.2])


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
