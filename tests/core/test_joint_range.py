"""The joint range: its boundary encloses every projection, is reached by projections, and has ends at ties."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from evenspan import GroupMoments
from evenspan.core.errors import ComponentsError, DataError, GroupError
from evenspan.reconstruction.group_errors import errors, group_matrices
from evenspan.reconstruction.joint_range import JointRange

from .samples import draw

TIED = (np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0]))


def two_groups(d=6, seed=1):
    s = draw(counts=(200, 60), d=d, seed=seed)
    return GroupMoments.from_data(s.X, s.groups)


def random_bases(d, k, number, seed=0):
    rng = np.random.default_rng(seed)
    return [np.linalg.qr(rng.normal(size=(d, k)))[0] for _ in range(number)]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_every_projection_lies_inside_and_every_boundary_point_is_reached(k):
    moments = two_groups()
    joint = JointRange.from_moments(moments, k)
    matrices = group_matrices(moments)
    joint.boundary(64)
    directions = np.array([[np.cos(s.angle), np.sin(s.angle)] for s in joint.known()])
    values = np.array([s.value for s in joint.known()])
    slack = np.array([directions @ errors(matrices, V) - values for V in random_bases(6, k, 500)])
    assert slack.min() >= -1e-10 * joint.scale
    for support in joint.known():
        V = support.basis()
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
        np.testing.assert_allclose(joint.pair(V), support.ends[0], rtol=1e-9, atol=1e-9 * joint.scale)
        assert np.cos(support.angle) * support.ends[0, 0] + np.sin(support.angle) * support.ends[0, 1] == pytest.approx(
            support.value, abs=1e-9 * joint.scale
        )


def test_the_boundary_in_the_plane_is_the_ellipse_of_brute_force():
    joint = JointRange(np.array([[4.0, 0.0], [0.0, 0.2]]), np.array([[0.2, 0.4], [0.4, 3.0]]), 1)
    angles = np.linspace(0.0, np.pi, 20001)
    V = np.array([np.cos(angles), np.sin(angles)])
    pairs = joint.traces[:, None] - np.array([np.einsum("dn,de,en->n", V, M, V) for M in (joint.M0, joint.M1)])
    for angle in np.linspace(0.0, 2 * np.pi, 17):
        lowest = (np.cos(angle) * pairs[0] + np.sin(angle) * pairs[1]).min()
        assert joint.support(float(angle)).value == pytest.approx(lowest, abs=1e-6)


def test_the_polygon_runs_counter_clockwise_and_is_convex():
    polygon = JointRange.from_moments(two_groups(), 2).boundary(128)
    steps = np.roll(polygon, -1, axis=0) - polygon
    turns = steps[:, 0] * np.roll(steps[:, 1], -1) - steps[:, 1] * np.roll(steps[:, 0], -1)
    assert turns.min() >= -1e-8 * np.abs(turns).max()
    assert turns.max() > 0


def test_a_tie_is_a_straight_piece_all_of_which_is_reached():
    joint = JointRange(*TIED, 1)
    support = joint.support(float(np.arctan2(0.4, 0.6)))
    np.testing.assert_allclose(support.ends, [[3.0, 5.0], [5.0, 2.0]], atol=1e-12)
    for at in np.linspace(0.0, 1.0, 11):
        V = support.basis(at)
        assert np.linalg.norm(V) == pytest.approx(1.0)
        np.testing.assert_allclose(joint.pair(V), (1 - at) * support.ends[0] + at * support.ends[1], atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_a_tie_of_several_directions(k):
    joint = JointRange(np.diag([5.0, 4, 3, 2, 1, 0]), np.diag([0.0, 1, 2, 3, 4, 5]), k)
    support = joint.support(np.pi / 4)
    assert support.tied.shape == (6, 6)
    for at in np.linspace(0.0, 1.0, 13):
        V = support.basis(at)
        np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
        np.testing.assert_allclose(joint.pair(V), (1 - at) * support.ends[0] + at * support.ends[1], atol=1e-12)


def test_whether_equal_errors_exist():
    meets = JointRange(np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), 1).extreme_gaps()
    misses = JointRange(np.diag([9.0, 8.0, 7.0]), np.diag([1.0, 2.0, 1.0]), 1).extreme_gaps()
    np.testing.assert_allclose(meets, [-1.0, 1.0], atol=1e-12)
    assert 0 < misses[0] < misses[1]
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(3, 1)))[0]
    q = JointRange(np.diag([9.0, 8.0, 7.0]), np.diag([1.0, 2.0, 1.0]), 1).pair(V)
    assert misses[0] <= q[0] - q[1] <= misses[1]


def test_rotation_leaves_the_range_alone_and_exchange_of_groups_mirrors_it():
    moments = two_groups()
    M0, M1 = group_matrices(moments)
    Q = ortho_group.rvs(6, random_state=0)
    joint, rotated, mirrored = JointRange(M0, M1, 2), JointRange(Q.T @ M0 @ Q, Q.T @ M1 @ Q, 2), JointRange(M1, M0, 2)
    for angle in (0.1, 0.9, 2.5, 4.0):
        assert rotated.support(angle).value == pytest.approx(joint.support(angle).value)
        assert mirrored.support(np.pi / 2 - angle).value == pytest.approx(joint.support(angle).value)


def test_a_direction_is_solved_once():
    joint = JointRange(*TIED, 1)
    assert joint.support(0.3) is joint.support(0.3)
    assert joint.evaluations == 1


def test_refusals():
    with pytest.raises(ComponentsError, match="at most 2"):
        JointRange(*TIED, 3)
    with pytest.raises(DataError, match=r"\(3, 3\) and \(2, 2\)"):
        JointRange(np.eye(3), np.eye(2), 1)
    s = draw()
    with pytest.raises(GroupError, match="exactly two groups, but there are 3"):
        JointRange.from_moments(GroupMoments.from_data(s.X, s.groups), 2)


def test_a_direction_keeps_what_it_needs_and_not_all_eigenvectors():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(2, 60, 60))
    joint = JointRange(A @ A.T, B @ B.T, 2)
    joint.boundary(32)
    held = [array.base for found in joint.known() for array in (found.fixed, found.tied) if array.base is not None]
    assert max((array.size for array in held), default=0) <= 3 * 60


def test_in_many_dimensions_directions_are_those_of_full_eigendecompositions():
    rng, sizes = np.random.default_rng(4), np.exp(-np.arange(310) / 4.0)
    parts = [rng.normal(size=(n, 310)) * sizes for n in (400, 350)]
    parts[1] = parts[1] @ ortho_group.rvs(310, random_state=2)
    M = [Z.T @ Z / len(Z) for Z in parts]
    joint, shared = JointRange(*M, 2), []
    for angle in np.linspace(-np.pi / 2, np.pi, 9):
        found = joint.support(float(angle))
        values = np.linalg.eigvalsh(np.cos(angle) * M[0] + np.sin(angle) * M[1])
        assert found.value == pytest.approx(values[:-2].sum(axis=0), rel=1e-11, abs=1e-11 * joint.scale)
        V = found.basis()
        np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
        assert [np.cos(angle), np.sin(angle)] @ found.ends[0] == pytest.approx(found.value, rel=1e-10)
        shared.append(found)
    assert joint.evaluations == len(shared)
