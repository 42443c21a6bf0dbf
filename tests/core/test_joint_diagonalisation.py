"""Joint diagonalisation: exact where matrices commute, Jacobi's value where not; how the printed algorithm fails."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from compendium.papers.rathore2025.jacobi import disjoint_pairs, jacobi_diagonalise
from evenspan import GroupMoments, joint_diagonalise
from evenspan.core.errors import ConfigurationError, DataError
from evenspan.reconstruction import joint_criterion
from evenspan.reconstruction.group_errors import best_kept, group_matrices

from .samples import draw

MODES = ("orthogonal", "paper")
every_mode = pytest.mark.parametrize("mode", MODES)


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


@every_mode
@pytest.mark.parametrize("init", ["pooled", "identity"])
def test_common_eigenvectors_are_found(mode, init):
    Q, S = commuting()
    found = joint_diagonalise(S, mode, init=init)
    assert found.status == "converged"
    assert found.criterion <= 1e-9 * found.path[0] or found.path[0] <= 1e-20
    cosines = np.abs(Q.T @ (found.U / found.column_norms))
    np.testing.assert_allclose(np.sort(cosines, axis=0)[-1], 1.0, atol=1e-8)
    assert len(set(cosines.argmax(axis=0).tolist())) == 5
    alone = np.linalg.eigh(S[0])[1]  # the control: eigenvectors of one matrix are not those of both
    assert joint_criterion(alone, S) > 1e-3


@every_mode
@pytest.mark.parametrize("r", [1, 3])
def test_the_basis_does_not_depend_on_the_shift_and_so_not_on_r(mode, r):
    S = covariances(2, 6, 3)
    shifted = S - best_kept(S, r)[:, None, None] / r * np.eye(6)  # the paper's M_A and M_B
    assert np.abs(shifted - S).max() > 0.1
    for init in ("pooled", "identity"):
        # The weighted sum is shifted by a multiple of the identity too.
        plain, other = (joint_diagonalise(M, mode, init=init, weights=[0.7, 0.3]) for M in (S, shifted))
        signs = np.sign((plain.U * other.U).sum(axis=0))  # of the eigenvectors they start from
        np.testing.assert_allclose(other.U * signs, plain.U, atol=1e-10)


@every_mode
def test_what_is_reported_is_what_the_basis_has(mode):
    S = covariances(3, 7, 1)
    found = joint_diagonalise(S, mode)
    assert joint_criterion(found.U, S) == pytest.approx(found.criterion, rel=1e-9)
    T = np.linalg.solve(found.U, S @ found.U)
    np.testing.assert_allclose(found.diagonals, np.diagonal(T, axis1=1, axis2=2), atol=1e-9)
    assert len(found.path) == found.n_iter + 1
    assert all(type(value) is float for value in found.path)
    unit = found.U / found.column_norms
    assert found.orthogonality == pytest.approx(np.abs(unit.T @ unit - np.eye(7)).max(), abs=1e-12)


@every_mode
def test_one_matrix_has_its_eigenvectors(mode):
    (S,) = covariances(1, 6, 2)
    found = joint_diagonalise([S], mode, init="identity" if mode == "orthogonal" else "pooled")
    np.testing.assert_allclose(np.sort(found.diagonals[0]), np.linalg.eigvalsh(S), rtol=1e-8)


@every_mode
def test_weights_are_those_of_the_sum_at_the_start(mode):
    S, weights = covariances(3, 6, 4), [0.7, 0.2, 0.1]
    start = np.linalg.eigh(np.tensordot(weights, S, axes=1))[1]
    first = joint_diagonalise(S, mode, weights=weights).path[0]
    assert first == pytest.approx(joint_criterion(start, S), rel=1e-9)
    assert first != pytest.approx(joint_diagonalise(S, mode).path[0], rel=1e-3)


@every_mode
@pytest.mark.parametrize("S", [np.zeros((2, 3, 3)), np.array([np.eye(3), 2 * np.eye(3)]), np.ones((2, 1, 1))])
def test_nothing_to_do(mode, S):
    found = joint_diagonalise(S, mode)
    assert (found.status, found.n_iter, found.criterion) == ("converged", 0, 0.0)


# -- orthogonal -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("d", [3, 6, 7, 12])
@pytest.mark.parametrize("seed", [0, 1, 2])
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
    if init == "identity":
        gaps = np.diagonal(S, axis1=1, axis2=2)
        assert np.ptp(gaps) <= 1e-12  # every slope is zero: a stationary point, and not a minimum
    assert found.status == "converged"
    assert found.criterion < 0.5 * joint_criterion(np.eye(6), S)
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(6), atol=1e-10)
    if init == "pooled":
        assert found.criterion == pytest.approx(jacobi_diagonalise(S).criterion, rel=1e-6)


def test_a_converged_basis_is_stationary():
    S = covariances(3, 8, 5)
    U = joint_diagonalise(S, rtol=1e-13).U
    rng = np.random.default_rng(0)

    def slope(U):
        A = rng.normal(size=(8, 8))
        step = 1e-5 * (A - A.T) / np.linalg.norm(A - A.T)
        turned = [np.linalg.solve(np.eye(8) - s * step, np.eye(8) + s * step) for s in (1.0, -1.0)]
        return abs(joint_criterion(U @ turned[0], S) - joint_criterion(U @ turned[1], S)) / 2e-5

    at_answer = max(slope(U) for _ in range(20))
    at_start = max(slope(np.linalg.eigh(S.mean(axis=0))[1]) for _ in range(20))
    assert at_answer < 1e-4 * at_start


def test_rotated_features_give_the_rotated_basis_from_the_pooled_start_only():
    S, Q = covariances(2, 6, 4), ortho_group.rvs(6, random_state=0)
    rotated = Q.T @ S @ Q
    plain, other = joint_diagonalise(S), joint_diagonalise(rotated)
    np.testing.assert_allclose(np.abs((Q.T @ plain.U).T @ other.U), np.eye(6), atol=1e-6)
    plain, other = (joint_diagonalise(M, "paper", init="identity") for M in (S, rotated))
    assert other.criterion != pytest.approx(plain.criterion, rel=1e-3)


def test_many_features():
    S = covariances(2, 110, 0, power=2.0)
    found = joint_diagonalise(S)
    assert found.status == "converged"
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(110), atol=1e-10)
    assert np.diff(found.path).max() <= 0.0
    assert joint_criterion(found.U, S) == pytest.approx(found.criterion, rel=1e-9)
    # Stationary: from the answer on nothing is gained.
    again = joint_diagonalise(S, init=found.U)
    assert again.criterion == pytest.approx(found.criterion, rel=1e-7)


def test_few_steps_say_so():
    found = joint_diagonalise(covariances(2, 8, 0), max_iter=2)
    assert (found.status, found.n_iter) == ("not converged", 2)
    assert jacobi_diagonalise(covariances(2, 8, 0), max_sweeps=1).status == "not converged"


@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_a_sweep_of_jacobi_meets_every_pair_once(d):
    rounds = disjoint_pairs(d)
    pairs = [(int(p), int(q)) for ps, qs in rounds for p, q in zip(ps, qs, strict=True)]
    assert sorted(pairs) == [(p, q) for p in range(d) for q in range(p + 1, d)]
    for p, q in rounds:
        assert len(np.unique(np.concatenate([p, q]))) == 2 * len(p)


@pytest.mark.parametrize("rtol", [1e-12, 1e-6])
@pytest.mark.parametrize("seed", range(4))
def test_jacobi_stops_at_the_first_sweep_that_gains_less_than_asked(rtol, seed):
    S = covariances(2, 8, seed)
    found = jacobi_diagonalise(S, rtol=rtol)
    gains = -np.diff(found.path) / found.path[:-1]
    assert found.status == "converged"
    assert gains[-1] <= rtol < gains[:-1].min()
    again = jacobi_diagonalise(S, init=found.U, max_sweeps=1).path  # nor is more to be gained from there
    assert again[0] - again[1] <= rtol * again[0]
    if rtol == 1e-12:  # what is asked where nothing is given
        assert jacobi_diagonalise(S).path == found.path


def test_jacobi_in_the_plane_is_brute_force():
    S = covariances(3, 2, 1)
    angles = np.linspace(0.0, np.pi / 2, 20001)
    U = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
    beside = np.einsum("dn,kde,en->kn", U[:, 0], S, U[:, 1])
    least = 2.0 * (beside**2).sum(axis=0).min()
    assert jacobi_diagonalise(S).criterion == pytest.approx(least, rel=1e-6)
    assert joint_diagonalise(S).criterion == pytest.approx(least, rel=1e-6)


# -- as printed -----------------------------------------------------------------------------------------------------


def test_one_step_is_that_of_the_paper():
    A, B = covariances(2, 4, 7)
    V = np.zeros((4, 4))
    for m in range(4):
        for n in range(4):
            if m != n:
                a, b = A[m, m] - A[n, n], B[m, m] - B[n, n]
                V[m, n] = -(A[m, n] * a + B[m, n] * b) / (a * a + b * b)
    found = joint_diagonalise([A, B], "paper", init="identity", max_iter=1)
    np.testing.assert_allclose(found.U, np.eye(4) + V, rtol=1e-12)


def test_printed_columns_have_other_lengths_than_one():
    S = covariances(2, 6, 1)
    found = joint_diagonalise(S, "paper")
    assert found.status == "converged"
    assert found.orthogonality < 1e-4
    assert found.column_norms.max() > 1.05
    # A matrix U U' that is no projection: the printed reconstruction error is not one.
    P = found.U[:, :2] @ found.U[:, :2].T
    assert np.abs(P @ P - P).max() > 0.05


def test_the_printed_algorithm_diverges_from_the_identity():
    factors = np.random.default_rng(55).integers(-2, 3, size=(2, 8, 6))
    S = (factors.transpose(0, 2, 1) @ factors).astype(float)
    assert np.linalg.eigvalsh(S).min() > 0
    found = joint_diagonalise(S, "paper", init="identity")
    assert found.status == "diverged"
    assert not found.path[-1] <= 1e6 * found.path[0]
    assert not np.isnan(found.path).any()
    # What is handed back is the best it had.
    assert np.isfinite(found.U).all()
    assert found.criterion == min(found.path)
    assert joint_criterion(found.U, S) == pytest.approx(found.criterion)
    assert joint_diagonalise(S, init="identity").status == "converged"


def test_the_printed_step_is_undefined_for_groups_standardised_on_their_own():
    S = equal_gaps()
    found = joint_diagonalise(S, "paper", init="identity")
    assert (found.status, found.n_iter, found.skipped) == ("undefined step", 0, 15)
    assert np.array_equal(found.U, np.eye(6))
    assert not np.isnan(found.path).any()
    skipping = joint_diagonalise(S, "paper", init="identity", undefined="skip")
    assert skipping.skipped == 15
    assert np.array_equal(skipping.U, np.eye(6))  # nothing else is left to do


def one_hot():
    """Second moments of two groups with a pair of columns that say yes and no."""
    rng = np.random.default_rng(3)
    parts = []
    for share in (0.3, 0.6):
        yes = (rng.random(200) < share).astype(float)
        parts.append(
            np.column_stack([rng.normal(size=(200, 2)) @ rng.normal(size=(2, 2)) + yes[:, None], yes, 1 - yes])
        )
    return np.array([np.cov(X.T, ddof=0) for X in parts])


def test_the_printed_step_is_undefined_for_a_pair_of_yes_and_no():
    S = one_hot()
    assert abs(S[:, 2, 2] - S[:, 3, 3]).max() < 1e-12
    assert abs(S[:, 2, 3]).min() > 0.1
    found = joint_diagonalise(S, "paper", init="identity")
    assert (found.status, found.skipped) == ("undefined step", 1)
    skipping = joint_diagonalise(S, "paper", init="identity", undefined="skip")
    assert skipping.skipped >= 1
    assert np.isfinite(skipping.U).all()
    assert joint_diagonalise(S, "paper", init="pooled").status == "converged"
    assert joint_diagonalise(S, init="identity").status == "converged"


def test_never_nan():
    for seed in range(60):
        factors = np.random.default_rng(seed).integers(-2, 3, size=(2, 10, 8))
        S = (factors.transpose(0, 2, 1) @ factors).astype(float)
        for undefined in ("stop", "skip"):
            found = joint_diagonalise(S, "paper", init="identity", undefined=undefined)
            assert np.isfinite(found.U).all()
            assert np.isfinite(found.diagonals).all()
            assert np.isfinite(found.criterion)
            assert not np.isnan(found.path).any()


# -- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        (np.eye(3), r"\(3, 3\)"),
        (np.ones((2, 3, 2)), r"\(2, 3, 2\)"),
        (np.zeros((0, 3, 3)), "at least one"),
        ([np.diag([1.0, np.nan])], "of finite numbers"),
        ([[[1.0, 2.0], [0.0, 1.0]]], "not symmetric"),
    ],
)
def test_matrices(matrices, words):
    for solve in (joint_diagonalise, jacobi_diagonalise):
        with pytest.raises(DataError, match=words):
            solve(matrices)


@pytest.mark.parametrize("solve", [joint_diagonalise, jacobi_diagonalise])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_asymmetry_beyond_rounding_errors_is_refused(solve, scale):
    S = scale * covariances(2, 4, 0)
    tilted = np.triu(np.ones((4, 4)), 1) * S.max(axis=None)
    assert solve(S + 1e-12 * tilted).criterion == pytest.approx(solve(S).criterion, rel=1e-6)
    with pytest.raises(DataError, match="not symmetric"):
        solve(S + 1e-5 * tilted)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "printed"}, "mode='printed'"),
        ({"init": "random"}, "'random'.*'pooled' or 'identity'"),
        ({"init": np.eye(3)}, r"(?s)init=.*\(4, 4\) array of orthonormal"),
        ({"init": np.ones((4, 3)), "mode": "paper"}, "(?s)linearly independent"),
        ({"init": 2 * np.eye(4)}, "(?s)orthonormal"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"rtol": -1.0}, "rtol=-1.0"),
        ({"undefined": "zero"}, "undefined='zero'"),
    ],
)
def test_settings(options, words):
    with pytest.raises(ConfigurationError, match=words):
        joint_diagonalise(covariances(2, 4, 0), **options)
    joint_diagonalise(covariances(2, 4, 0), "paper", init=2 * np.eye(4))  # any basis will do there
