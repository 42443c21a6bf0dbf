"""The judge of learnability: closed forms in the plane, gaps below zero, slopes of exact power laws."""

import numpy as np
import pytest

from evenspan.core.errors import DataError
from evenspan.metrics import learnability as judge

E = np.eye(4)


def turned(angle: float) -> np.ndarray:
    return (np.cos(angle) * E[0] + np.sin(angle) * E[2])[:, None]


def test_gaps_of_a_turned_direction_have_their_closed_form():
    """One component turned by t from the first axis to the third: sin t everywhere, and sin^2 t of variance."""
    C, t = np.diag([5.0, 3.0, 1.0, 0.5]), 0.3
    V, target, U = turned(t), E[:, :1], E[:, 2:]
    assert judge.optimality_gap(V, target, C) == pytest.approx(4.0 * np.sin(t) ** 2)
    assert judge.optimality_gap(V, target, C, relative=True) == pytest.approx(0.8 * np.sin(t) ** 2)
    assert judge.fairness_gap(V, U) == pytest.approx(np.sin(t))
    assert judge.subspace_sine(V, target) == pytest.approx(np.sin(t))
    assert judge.direction_sine(-7 * V[:, 0], 0.1 * target[:, 0]) == pytest.approx(np.sin(t))


def test_an_unfair_subspace_may_keep_more_than_the_best_fair_one():
    C, U, target = np.diag([5.0, 3.0, 1.0, 0.5]), E[:, :1], E[:, 1:2]
    assert judge.optimality_gap(E[:, :1], target, C) == pytest.approx(-2.0)
    assert judge.optimality_gap(E[:, :1], target, C, relative=True) == pytest.approx(-0.4)
    assert judge.fairness_gap(E[:, :1], U) == 1.0
    assert judge.fairness_gap(target, U) == 0.0
    assert judge.fairness_gap(target, U[:, :0]) == 0.0


def test_measures_see_the_subspace_not_the_basis():
    rng = np.random.default_rng(3)
    V, T, R = (np.linalg.qr(rng.normal(size=shape))[0] for shape in ((6, 2), (6, 2), (2, 2)))
    C = np.cov(rng.normal(size=(6, 40)))
    for measure in (lambda V: judge.optimality_gap(V, T, C), lambda V: judge.fairness_gap(V, T),
                    lambda V: judge.subspace_sine(V, T)):  # fmt: skip
        assert measure(V @ R) == pytest.approx(measure(V), rel=1e-12)


def test_the_worst_share_of_the_runs_is_dropped():
    values = np.arange(1.0, 11.0)[:, None] * [1.0, 2.0]
    np.testing.assert_array_equal(judge.upper_quantiles(values[::-1], 0.1), [9.0, 18.0])
    np.testing.assert_array_equal(judge.upper_quantiles(values, 0.3), [7.0, 14.0])


def test_a_power_law_has_its_exponent_and_its_required_size():
    sizes, rng = np.array([10, 100, 1000, 10_000]), np.random.default_rng(0)
    exact = np.tile(3.0 * sizes**-0.5, (20, 1))
    found = judge.quantile_slope(sizes, exact)
    assert (found.slope, found.low, found.high) == pytest.approx((-0.5, -0.5, -0.5))
    assert 10**found.intercept == pytest.approx(3.0)
    np.testing.assert_allclose(judge.required_size(sizes, exact, 0.3, draws=10), 100.0)
    noisy = exact[:1] * np.exp(0.3 * rng.standard_normal((200, 4)))
    found = judge.quantile_slope(sizes, noisy)
    assert found.low < -0.5 < found.high
    assert 0.005 < found.high - found.low < 0.1
    wide = judge.quantile_slope(sizes, noisy[:10])
    assert wide.high - wide.low > 2 * (found.high - found.low)


def test_no_logarithm_of_what_is_not_above_zero():
    sizes = np.array([10, 100, 1000])
    values = np.tile([1.0, 0.1, -1.0], (10, 1))
    found = judge.quantile_slope(sizes, values)
    assert (found.used, found.slope) == (2, pytest.approx(-1.0))
    nothing = judge.quantile_slope(sizes, -np.abs(values))
    assert (nothing.used, np.isnan(nothing.slope)) == (0, True)
    assert np.isnan(judge.required_size(sizes, np.tile([0.1, 0.2, 0.3], (10, 1)), 0.01, draws=5)).all()


def test_wrong_shapes_are_refused():
    with pytest.raises(DataError, match="different spaces"):
        judge.fairness_gap(E, np.eye(3))
    with pytest.raises(DataError, match="same number of runs"):
        judge.quantile_slope([1, 2, 3], np.ones((5, 2)))
