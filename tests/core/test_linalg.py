"""Eigenspaces and complements: orders, signs, ties, and cut-offs that do not depend on the unit of measurement."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from evenspan.core.errors import DataError
from evenspan.core.linalg import (
    complement,
    excess,
    fix_signs,
    krylov_eigenspace,
    require_symmetric,
    smallest_eigenspace,
    symmetrise,
    top_eigenspace,
)

from .samples import angle


def with_spectrum(values, seed=0) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric matrix with these eigenvalues, and its eigenvectors in the same order."""
    Q = ortho_group.rvs(len(values), random_state=seed)
    return Q @ np.diag(values) @ Q.T, Q


def assert_orthonormal(V):
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-12)


# -- signs --------------------------------------------------------------------------------------------------------


def test_the_largest_entry_is_positive_and_the_first_decides_ties():
    V = np.array([[0.6, -0.5, 0.5, 0.0], [-0.8, -0.5, -0.5, 0.0], [0.0, 0.2, 0.2, 0.0]])
    fixed = fix_signs(V)
    assert fixed.tolist() == [[-0.6, 0.5, 0.5, 0.0], [0.8, 0.5, -0.5, 0.0], [0.0, -0.2, 0.2, 0.0]]
    assert V[0, 0] == 0.6, "the argument must not change"
    assert fix_signs(fixed).tolist() == fixed.tolist()
    assert fix_signs(-V).tolist() == fixed.tolist()
    assert fix_signs(np.zeros((3, 0))).shape == (3, 0)


# -- leading eigenspaces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(1, 6))
def test_leading_eigenspace_in_decreasing_order(k):
    H, Q = with_spectrum([1.0, -7.0, 5.0, 3.0, -0.5])
    values, V = top_eigenspace(H, k)
    np.testing.assert_allclose(values, [5.0, 3.0, 1.0, -0.5, -7.0][:k], atol=1e-13)  # algebraic, not absolute, order
    assert_orthonormal(V)
    for j, source in enumerate([2, 3, 0, 4, 1][:k]):
        assert angle(V[:, [j]], Q[:, [source]]) < 1e-7
    np.testing.assert_allclose(H @ V, V * values, atol=1e-12)


# -- complements --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@pytest.mark.parametrize("r", range(8))
def test_complement_is_all_that_is_orthogonal_and_dependent_columns_do_not_count(factor, r):
    C = np.random.default_rng(0).normal(size=(7, r))
    copy, combination = C[:, :1] * (1 + 1e-15), C.sum(axis=1, keepdims=True)
    for columns in ([C], [C, copy, np.zeros((7, 1))], [combination, C]):
        R = complement(factor * np.hstack(columns))
        assert R.shape == (7, 7 - r)
        assert_orthonormal(R)
        np.testing.assert_allclose(C.T @ R, 0, atol=1e-12)


# -- smallest eigenspaces, and what decides a tie -----------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize(("spectrum", "size"), [([0.0, 0, 0, 0, 2, 5], 2), ([3.0, -3, 3, 1, 1, 9], 4)])
def test_ties_at_the_cut_go_to_the_preferred_directions(spectrum, size, factor):
    B, Q = with_spectrum(spectrum)
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 6)) * np.arange(1, 7)
    preference = root.T @ root
    V = smallest_eigenspace(factor * B, size, preference=factor**2 * preference)
    assert_orthonormal(V)
    size_of = np.abs(spectrum)
    cut = np.sort(size_of)[size - 1]
    below, tied = Q[:, size_of < cut], Q[:, size_of == cut]
    assert angle(below, V @ (V.T @ below)) < 1e-7 if below.shape[1] else True
    # No choice of directions inside the tied space is preferred (Ky Fan).
    free = size - below.shape[1]
    best = np.linalg.eigvalsh(tied.T @ preference @ tied)[::-1][:free].sum(axis=0)
    reached = np.trace(V.T @ preference @ V) - np.trace(below.T @ preference @ below)
    assert reached == pytest.approx(best, rel=1e-9)
    drawn = tied @ np.linalg.qr(rng.normal(size=(tied.shape[1], free)))[0]
    assert np.trace(drawn.T @ preference @ drawn) < 0.98 * reached, "the preference must have something to decide"


# -- few leading eigenvectors of a large matrix -------------------------------------------------------------------


def large(leading, d=320) -> tuple[np.ndarray, np.ndarray]:
    """A symmetric matrix with these leading eigenvalues above a tail from 1 to -1, and its eigenvectors."""
    H, Q = with_spectrum(np.concatenate([leading, np.linspace(1.0, -1.0, d - len(leading))]))
    return symmetrise(H), Q


def block(d=320, b=6, seed=3):
    return np.random.default_rng(seed).normal(size=(d, b))


def test_few_leading_eigenvectors_are_those_of_the_full_decomposition():
    H, Q = large([9.0, 7.0, 4.0, 2.0])
    values, V, rest = found = krylov_eigenspace(H, 3, block())
    np.testing.assert_allclose(values[:3], [9.0, 7.0, 4.0], rtol=1e-13)
    assert_orthonormal(V)
    assert angle(V[:, :3], Q[:, :3]) < 1e-6
    np.testing.assert_allclose(rest, np.linalg.norm(H @ V - V * values, axis=0)[:3], atol=1e-12)
    assert 0.0 <= excess(H, *found) < 1e-12
    assert krylov_eigenspace(H, 3, block(), 0.0)[2].max() > rest.max()  # enough to gain on what is known


@pytest.mark.parametrize("shift", [0.0, 20.0])
def test_an_eigenvector_that_was_overlooked_is_noticed(shift):
    H, Q = large([9.0, 7.0, 4.0, 2.0, 1.9, 1.8, 1.7])
    H = H - shift * np.eye(320)  # all eigenvalues negative
    values, _, rest = found = krylov_eigenspace(H, 3, Q[:, 1:7])  # an invariant subspace without the first eigenvector
    np.testing.assert_allclose(values[:3] + shift, [7.0, 4.0, 2.0], rtol=1e-9)
    assert rest.max() < 1e-12  # the control: residuals do not show it
    assert excess(H, *found) == np.inf


def test_small_matrices_many_eigenvectors_and_ties_are_left_to_the_full_decomposition():
    H, _ = large([9.0, 7.0, 4.0])
    assert krylov_eigenspace(H[:100, :100], 3, block(100)) is None
    assert krylov_eigenspace(H, 14, block(b=17)) is None
    assert krylov_eigenspace(large([9.0, 7.0, 7.0])[0], 2, block()) is None


def test_a_matrix_that_is_not_symmetric_is_refused_and_rounding_is_not():
    H, _ = large([9.0, 7.0])
    tilted = np.triu(np.ones((320, 320)), 1)
    found = require_symmetric(H + 1e-12 * tilted, "H")
    np.testing.assert_allclose(found, H, atol=1e-11)
    np.testing.assert_array_equal(found, found.T)
    for matrix in (H + 1e-5 * tilted, np.diag([1.0, np.nan])):
        with pytest.raises(DataError, match="H is not symmetric"):
            require_symmetric(matrix, "H")
