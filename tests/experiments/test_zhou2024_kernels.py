"""The twelve base kernels of Zhou et al.: each by its definition, and the authors' own file."""

import math

import numpy as np
import pytest
from scipy import sparse

from compendium.papers.zhou2024.base_kernels import KERNEL_NAMES, base_kernel, twelve_kernels
from compendium.papers.zhou2024.variants import unit_rows
from evenspan.clustering import center_and_normalise
from evenspan.core.errors import DataError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 4)) * [1.0, 2.0, 0.5, 3.0] + [1.0, 0.0, -2.0, 4.0]
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)


def plain(X: np.ndarray, number: int) -> np.ndarray:
    """The definition, one pair of points at a time; then centred by the matrix H, then normalised."""
    n, distance = len(X), np.array([[math.dist(x, y) for y in X] for x in X])
    width, powers = distance.mean(), {1: (0, 1), 2: (0, 2), 3: (0, 4), 4: (1, 2), 5: (1, 4)}
    if number in powers:
        constant, power = powers[number]
        K = np.array([[(x @ y + constant) ** power for y in X] for x in X])
    else:
        K = np.exp(-(distance**2) / (2 * 2.0 ** (number - 9) * width**2))
    H = np.eye(n) - np.ones((n, n)) / n
    C = H @ K @ H
    return C / np.sqrt(np.outer(np.diag(C), np.diag(C)))


def test_each_of_the_twelve_is_its_definition():
    stack, kept = twelve_kernels(UNIT), UNIT.copy()
    for number, K in enumerate(stack, 1):
        np.testing.assert_allclose(K, plain(UNIT, number), atol=1e-12)
        np.testing.assert_array_equal(base_kernel(UNIT, number), K)
        assert np.array_equal(np.diagonal(K), np.ones(40))
        assert np.linalg.eigvalsh(K)[0] > -1e-12
    np.testing.assert_array_equal(UNIT, kept)
    assert len(KERNEL_NAMES) == 12
    # rows are used as given, keep their digits far from zero, and may be sparse
    np.testing.assert_allclose(base_kernel(X, 4), plain(X, 4), atol=1e-11)
    np.testing.assert_allclose(base_kernel(X + 1e6, 7), base_kernel(X, 7), atol=1e-7)
    np.testing.assert_allclose(twelve_kernels(sparse.csr_array(UNIT)), stack, atol=1e-12)
    # the other order, normalised first, is another matrix
    K = X @ X.T
    other = center_and_normalise(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))
    assert np.abs(other - base_kernel(X, 1)).max() > 1e-2


@pytest.mark.raw
def test_the_authors_kernels_are_these(raw):
    raw("jaffe")
    from compendium.data.clustering import load_clustering

    shipped = np.asarray(load_clustering("jaffe").kernels)
    # The faces, up to a rotation, from the two of them that determine these; all twelve follow.
    faces = unit_rows(shipped[0], shipped[3])
    np.testing.assert_allclose(np.linalg.norm(faces, axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(twelve_kernels(faces), shipped, atol=1e-8)


def test_equal_rows_have_no_width():
    with pytest.raises(DataError, match="all rows of X are equal"):
        base_kernel(np.ones((5, 2)), 7)
