"""Multiplicative weights, and semidefinite programming with rounding, as Samadi et al. published them."""

import numpy as np
import pytest

from compendium.papers.vu2022.samadi import operator_errors, operator_rank, round_by_lp, run, square_root_map, truncate
from evenspan.reconstruction.group_errors import losses
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.multi_criteria import criteria_offsets
from evenspan.reconstruction.relaxation import relax

# -- relaxation and operators ----------------------------------------------------------------------------------------


def test_rounding_by_lp_leaves_few_fractions_and_the_operator_has_the_value():
    rng = np.random.default_rng(5)
    S = np.array([A @ A.T / 7 for A in rng.normal(size=(3, 7, 7)) * np.array([1.0, 2.0, 1.5])[:, None, None]])
    a = criteria_offsets(S, 3, "loss")
    relaxation = relax(S, 3, a)
    weights, vectors = round_by_lp(S, 3, a, relaxation.X)
    X = (vectors * weights) @ vectors.T
    P = square_root_map(X)
    assert ((weights > 1e-9) & (weights < 1 - 1e-9)).sum() <= 3
    assert operator_rank(P) <= 3 + 2
    np.testing.assert_allclose(
        operator_errors(S, P), np.trace(S, axis1=1, axis2=2) - (S * X).sum(axis=(1, 2)), rtol=1e-9
    )
    assert (a - (S * X).sum(axis=(1, 2))).max() <= relaxation.value + 1e-6
    # From a spread-out X the programme still finds a corner.
    weights, _ = round_by_lp(S, 3, a, 3 / 7 * np.eye(7))
    assert ((weights > 1e-9) & (weights < 1 - 1e-9)).sum() <= 3


def test_the_square_root_map_makes_the_squared_error_linear():
    rng = np.random.default_rng(6)
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    X = Q * np.array([1.0, 0.9, 0.5, 0.1, 0.0]) @ Q.T
    A = rng.normal(size=(40, 5))
    P = square_root_map(X)
    S = A.T @ A / 40
    literal = np.linalg.norm(A - A @ P) ** 2 / 40
    assert literal == pytest.approx(np.trace(S) - np.vdot(S, X), rel=1e-12)
    assert operator_errors(S[None], P)[0] == pytest.approx(literal, rel=1e-12)
    assert literal != pytest.approx(np.trace(S) - np.vdot(S, P), rel=1e-3)  # the short formula is for projectors
    assert np.linalg.norm(truncate(P, 2).T @ Q[:, 2:]) < 1e-7


# -- multiplicative weights ------------------------------------------------------------------------------------------


def test_weights_in_a_batch_are_those_of_one_rate_alone_and_the_bound_holds():
    spread = np.random.default_rng(0).normal(size=(2, 5, 40)) * np.random.default_rng(1).uniform(0.5, 3.0, (2, 5, 1))
    pair_matrices = spread @ spread.transpose(0, 2, 1) / 40
    rates = (0.1, 1.0, 4.25)
    _, certificate = solve_min_max(*pair_matrices, 2)
    for rate, found in zip(rates, run(pair_matrices, 2, rates, iterations=150), strict=True):
        # The iteration as it is written, for one rate.
        w, total, values, bound = np.full(2, 0.5), np.zeros((5, 5)), [], -np.inf
        for _ in range(150):
            V = np.linalg.eigh(np.tensordot(w, pair_matrices, axes=1))[1][:, -2:]
            z = losses(pair_matrices, V)
            total += V @ V.T / 150
            values.append(z.max())
            bound = max(bound, w @ z)
            last, w = w, w * np.exp(rate * (z - z.max()))
            w = w / w.sum()
        np.testing.assert_allclose(found.average, total, atol=1e-8)
        np.testing.assert_allclose(found.weights, last, atol=1e-8)
        assert found.value == pytest.approx(min(values))
        assert found.bound == pytest.approx(bound)
        assert found.bound <= certificate.primal * (1 + 1e-12)
        assert found.value >= certificate.dual * (1 - 1e-12)
        assert np.trace(found.average) == pytest.approx(2.0)
        assert losses(pair_matrices, found.best).max() == pytest.approx(found.value)
