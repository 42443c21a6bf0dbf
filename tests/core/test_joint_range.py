"""The joint range: its boundary encloses every projection, is reached by projections, and has ends at ties."""

import numpy as np
import pytest

from evenspan import GroupMoments
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
