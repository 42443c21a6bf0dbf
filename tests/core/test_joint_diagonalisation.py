"""Joint diagonalisation: exact where matrices commute, Jacobi's value where not."""

import numpy as np
import pytest

from compendium.papers.rathore2025.algorithm_1 import DIAGONALISERS, joint_criterion
from compendium.papers.rathore2025.jacobi import jacobi_diagonalise
from evenspan import GroupMoments, joint_diagonalise
from evenspan.core.errors import ConfigurationError, DataError
from evenspan.reconstruction.group_errors import group_matrices

from .samples import draw


def covariances(K, d, seed, power=1.0):
    """Covariance matrices of 2d samples each, with eigenvalues that fall and directions of their own."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(K, 2 * d, d)) / np.arange(1, d + 1) ** (0.5 * power)
    return factors.transpose(0, 2, 1) @ factors / (2 * d)


def commuting(d=5, seed=0):
    """Two matrices with the same eigenvectors, a mild rotation of the axes, and spectra that are distinct together."""
    skew = np.random.default_rng(seed).normal(scale=0.2, size=(d, d))
    Q = np.linalg.solve(np.eye(d) - skew + skew.T, np.eye(d) + skew - skew.T)
    # Neither spectrum is simple: no matrix alone knows the eigenvectors.
    spectra = np.array([[7.0, 7.0, 4.0, 2.0, 2.0], [1.0, 5.0, 5.0, 9.0, 2.5]])
    return Q, np.array([Q @ np.diag(s) @ Q.T for s in spectra])


def equal_gaps():
    """Groups standardised on their own: every diagonal entry is 1."""
    s = draw(counts=(150, 70))
    moments = GroupMoments.from_data(s.X, s.groups)
    C = group_matrices(moments, "group")
    scale = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    return C / scale[:, :, None] / scale[:, None, :]


# -- both modes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["orthogonal", "paper"])
@pytest.mark.parametrize("init", ["pooled", "identity"])
def test_common_eigenvectors_are_found(mode, init):
    Q, S = commuting()
    found = DIAGONALISERS[mode](S, init=init)
    assert found.status == "converged"
    assert found.criterion <= 1e-9 * found.path[0] or found.path[0] <= 1e-20
    cosines = np.abs(Q.T @ (found.U / np.linalg.norm(found.U, axis=0)))
    np.testing.assert_allclose(np.sort(cosines, axis=0)[-1], 1.0, atol=1e-8)
    assert len(set(cosines.argmax(axis=0).tolist())) == 5
    alone = np.linalg.eigh(S[0])[1]  # the control: eigenvectors of one matrix are not those of both
    assert joint_criterion(alone, S) > 1e-3


# -- orthogonal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("K", "d", "seed"), [(2, 3, 0), (3, 6, 1), (2, 7, 2), (3, 12, 0)])
def test_rotations_reach_the_value_of_jacobi_and_never_rise(K, d, seed):
    S = covariances(K, d, seed)
    found, reference = joint_diagonalise(S), jacobi_diagonalise(S, max_sweeps=400)
    assert found.status == reference.status == "converged"
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(d), atol=1e-10)
    assert np.diff(found.path).max() <= 0.0
    assert found.criterion == pytest.approx(reference.criterion, rel=1e-6)
    # The control: the eigenvectors of the average, where both start, miss it by three thousand times as much.
    assert found.path[0] > 1.003 * found.criterion


@pytest.mark.parametrize("init", ["pooled", "identity"])
def test_a_start_without_slope_is_left(init):
    S = equal_gaps()
    found = joint_diagonalise(S, init=init)
    assert np.ptp(np.diagonal(S, axis1=1, axis2=2)) <= 1e-12  # every slope is zero at the identity, and no minimum
    assert found.status == "converged"
    assert found.criterion < 0.5 * joint_criterion(np.eye(6), S)
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(6), atol=1e-10)
    if init == "pooled":
        assert found.criterion == pytest.approx(jacobi_diagonalise(S).criterion, rel=1e-6)


def test_jacobi_in_the_plane_is_brute_force():
    S = covariances(3, 2, 1)
    angles = np.linspace(0.0, np.pi / 2, 20001)
    U = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
    beside = np.einsum("dn,kde,en->kn", U[:, 0], S, U[:, 1])
    least = 2.0 * (beside**2).sum(axis=0).min()
    assert jacobi_diagonalise(S).criterion == pytest.approx(least, rel=1e-6)
    assert joint_diagonalise(S).criterion == pytest.approx(least, rel=1e-6)


# -- refusals -------------------------------------------------------------------------------------------------------


def test_what_is_refused_is_said():
    for matrices, words in (
        (np.eye(3), r"\(3, 3\)"),
        ([np.diag([1.0, np.nan])], "of finite numbers"),
        ([[[1.0, 2.0], [0.0, 1.0]]], "not symmetric"),
    ):
        with pytest.raises(DataError, match=words):
            joint_diagonalise(matrices)
    for options, words in (
        ({"init": "random"}, "'random'.*'pooled' or 'identity'"),
        ({"init": np.eye(3)}, r"(?s)init=.*\(4, 4\) orthonormal"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"rtol": 1.0}, "rtol=1.0"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            joint_diagonalise(covariances(2, 4, 0), **options)
