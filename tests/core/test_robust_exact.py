"""The global optimum of the robust objective: certified, never beaten, closed forms, and shared eigenvalue problems."""

from types import SimpleNamespace

import numpy as np
import pytest

from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.robust_descent import RobustObjective
from evenspan.reconstruction.robust_exact import Branches, crossing, edge_bound, piece_bound, solve_exact

KINDS = ("general", "diagonal", "low rank", "duplicated columns", "integers")


def pair_of(kind, d, rng):
    def square():
        A = rng.normal(size=(d, d)) * rng.lognormal(size=d)
        return A @ A.T

    if kind == "diagonal":
        return np.diag(rng.random(d)), np.diag(rng.random(d))
    if kind == "integers":
        return np.diag(rng.integers(0, 6, d).astype(float)), np.diag(rng.integers(0, 6, d).astype(float))
    if kind == "low rank":
        A, B = rng.normal(size=(d, 2)), rng.normal(size=(d, 2))
        return A @ A.T, B @ B.T
    if kind == "duplicated columns":
        return np.kron(square(), np.eye(2)), np.kron(square(), np.eye(2))
    return square(), square()


def rivals(V, rng, number=100):
    """Random subspaces, and small rotations of the answer, where an error would be hardest to see."""
    for trial in range(number):
        near = V + 10.0 ** rng.uniform(-6, 0) * rng.normal(size=V.shape)
        yield np.linalg.qr(near if trial % 2 else rng.normal(size=V.shape))[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trial", range(12))
def test_the_answer_is_certified_and_nothing_beats_it(kind, trial):
    rng = np.random.default_rng((KINDS.index(kind), trial))
    d = int(rng.integers(2, 7))
    M0, M1 = pair_of(kind, d, rng)
    k = int(rng.integers(1, len(M0)))
    shares, penalty = rng.dirichlet([2, 2]), float(rng.choice([0, 0.2, 0.5, 1, 2.5]))
    radii = rng.choice([0, 0.01, 0.5, 3], 2)
    joint = JointRange(M0, M1, k)
    V, certificate = solve_exact(joint, shares, radii, penalty)
    value = Branches(tuple(shares), tuple(radii), penalty).value
    scale = max(abs(certificate.primal), joint.scale)
    assert -1e-12 * scale <= certificate.gap <= 5e-9 * scale
    assert certificate.sense == "min"
    assert certificate.primal == pytest.approx(value(tuple(joint.pair(V))))
    assert min(value(tuple(joint.pair(W))) for W in rivals(V, rng)) >= certificate.primal - 1e-9 * scale


def test_without_radii_it_is_the_one_dimensional_dual():
    rng = np.random.default_rng(4)
    M0, M1 = pair_of("general", 6, rng)
    for penalty in (0.3, 1.0, 2.5):
        weights = np.linspace(-1, 1, 4001)[:, None, None]
        mixed = (0.7 + penalty * weights) * M0 + (0.3 - penalty * weights) * M1
        dual = np.linalg.eigvalsh(mixed)[:, :-2].sum(axis=1).max()
        _, certificate = solve_exact(JointRange(M0, M1, 2), (0.7, 0.3), (0.0, 0.0), penalty)
        assert certificate.primal == pytest.approx(dual, rel=1e-5)
        assert certificate.primal >= dual - 1e-9 * abs(dual)


@pytest.mark.parametrize("trial", range(40))
def test_the_bound_on_a_straight_piece_is_one(trial):
    rng = np.random.default_rng((7, trial))
    f = Branches(tuple(rng.dirichlet([1, 1])), tuple(rng.choice([0, 0.1, 2.0], 2)), float(rng.choice([0.1, 0.7, 3])))
    a, b = rng.uniform(0, 5, size=(2, 2))
    lowest = min(f.value(tuple(a + t * (b - a))) for t in np.linspace(0, 1, 2001))
    bound = edge_bound(f, tuple(a), tuple(b))
    assert lowest - 0.02 <= bound <= lowest + 1e-9


@pytest.mark.parametrize("penalty", [0.0, 0.2, 2.0])
def test_the_two_branches_are_those_of_the_general_objective(penalty):
    shares, balls = (0.7, 0.3), (0.3, 0.8)
    f, general = Branches(shares, balls, penalty), RobustObjective.of(shares, balls, penalty)
    for q in np.random.default_rng(3).uniform(0.0, 4.0, size=(20, 2)):
        np.testing.assert_allclose(f(tuple(q)), general.branches(q), rtol=1e-13)
        np.testing.assert_allclose(f.descent(tuple(q)), general.gradient(q), rtol=1e-13)


def test_the_bound_on_a_thin_piece_is_below_the_corner_of_its_triangle():
    middle, width, length = np.pi / 4, 9e-9, 1e6  # long enough for the corner's distance, 2e-3, to be no rounding
    inward, along = np.array([np.cos(middle), np.sin(middle)]), np.array([np.sin(middle), -np.cos(middle)])
    centre = np.array([2e6, 2e6])
    a, b = centre - 0.5 * length * along, centre + 0.5 * length * along
    corner = centre - 0.5 * length * np.tan(0.5 * width) * inward
    left = SimpleNamespace(angle=middle - 0.5 * width, ends=np.array([a, a]))
    right = SimpleNamespace(angle=middle + 0.5 * width, ends=np.array([b, b]))
    f = Branches((0.5, 0.5), (0.0, 0.0), 0.0)
    assert piece_bound(f, left, right) <= f.value(tuple(corner)) < f.value(tuple(centre)) - 1e-3


def test_a_crossing_beside_the_end_is_the_end():
    """Equal errors at b up to rounding: on the way there the branches part again, by less."""
    f, a = Branches((0.5, 0.5), (0.0, 0.0), 0.4), (1.033975765691965, 0.02297723923763992)
    b = (0.02297723923763986, 0.022977239237639863)
    assert f.balance(a) * f.balance(b) < 0
    assert crossing(f, a, b) == 1.0
    assert edge_bound(f, a, b) == pytest.approx(b[1], rel=1e-15)
