"""The twelve base kernels: beside their definition entry by entry, and beside the stack that the authors ship."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from compendium.papers.zhou2024.variants import unit_rows
from evenspan.clustering.base_kernels import (
    KERNEL_NAMES,
    CentralPointWarning,
    base_kernel,
    center_and_normalise,
    twelve_kernels,
)
from evenspan.core import inputs
from evenspan.core.errors import ConfigurationError, DataError, LimitError

from .samples import draw


def points(n=37, d=5, seed=3, *, unit=True) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, d)) * [1.0, 0.5, 2.0, 0.1, 1.5][:d] + 0.7
    return X / np.linalg.norm(X, axis=1, keepdims=True) if unit else X


def plain(X: np.ndarray, number: int) -> np.ndarray:
    """The definition, one pair of points at a time."""
    n = len(X)
    distance = [[math.dist(x, y) for y in X] for x in X]
    D = sum(map(sum, distance)) / n**2

    def value(i, j):
        inner = float(X[i] @ X[j])
        if number <= 5:
            return [inner, inner**2, inner**4, (inner + 1) ** 2, (inner + 1) ** 4][number - 1]
        return math.exp(-(distance[i][j] ** 2) / (2 * 2.0 ** (number - 9) * D**2))

    return np.array([[value(i, j) for j in range(n)] for i in range(n)])


def by_projection(K: np.ndarray) -> np.ndarray:
    """Centred by the matrix H, then normalised."""
    H = np.eye(len(K)) - np.ones_like(K) / len(K)
    C = H @ K @ H
    return C / np.sqrt(np.outer(np.diag(C), np.diag(C)))


@pytest.fixture(scope="module")
def stack():
    return twelve_kernels(points())


@pytest.mark.parametrize("number", range(1, 13))
def test_each_kernel_is_its_definition_centred_and_then_normalised(stack, number):
    expected = by_projection(plain(points(), number))
    np.testing.assert_allclose(stack[number - 1], expected, atol=1e-12)
    # The other order is another matrix: normalising first and centring afterwards.
    K = plain(points(), number)
    H = np.eye(37) - np.ones((37, 37)) / 37
    other = H @ (K / np.sqrt(np.outer(np.diag(K), np.diag(K)))) @ H
    assert np.abs(stack[number - 1] - other).max() > 1e-2


def test_one_kernel_is_the_one_of_the_stack(stack):
    for number in range(1, 13):
        np.testing.assert_allclose(base_kernel(points(), number), stack[number - 1], atol=1e-13)
    assert len(KERNEL_NAMES) == 12
    assert base_kernel(points(), np.int64(7)).shape == (37, 37)


def test_what_is_true_of_every_kernel(stack):
    for K in stack:
        assert np.array_equal(K, K.T)
        assert np.array_equal(np.diagonal(K), np.ones(37))
        assert np.linalg.eigvalsh(K)[0] > -1e-12
        assert np.abs(K).max() <= 1.0 + 1e-12
        assert K.min() < -0.01  # centred: no kernel is left without negative entries
        v = np.linalg.svd(K)[2][-1]
        assert np.abs(K @ v).max() < 1e-10
    # Wider Gaussians are smoother: more of the trace in the first directions.
    first = [np.linalg.eigvalsh(K)[-1] for K in stack[5:]]
    assert np.all(np.diff(first) > 0.0)


def test_rows_are_used_as_given():
    X = points(unit=False)
    for number in (2, 4, 7):
        np.testing.assert_allclose(base_kernel(X, number), by_projection(plain(X, number)), atol=1e-11)
    assert np.abs(base_kernel(X, 4) - base_kernel(points(), 4)).max() > 0.05
    # Linear and Gaussian kernels know no scale of the data.
    for number in (1, 7):
        np.testing.assert_allclose(base_kernel(1e3 * X, number), base_kernel(X, number), atol=1e-11)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_matrix, sparse.csc_array])
def test_sparse_rows_give_the_same(kind):
    X = np.where(np.random.default_rng(0).random((29, 40)) < 0.2, 1.0, 0.0) * np.arange(1, 41)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(twelve_kernels(kind(X)), twelve_kernels(X), atol=1e-12)
    np.testing.assert_allclose(base_kernel(kind(X), 6), base_kernel(X, 6), atol=1e-12)


def test_frames_and_single_precision(stack):
    np.testing.assert_allclose(twelve_kernels(pd.DataFrame(points())), stack, atol=1e-13)
    single = twelve_kernels(points().astype(np.float32))
    np.testing.assert_allclose(single, stack, atol=2e-5)
    assert single.dtype == np.float64


def test_distances_keep_their_digits_far_from_zero():
    X = points(unit=False)
    near, far = base_kernel(X, 7), base_kernel(X + 1e6, 7)
    assert np.abs(near - far).max() < 1e-7
    naive = np.exp(-2.0 * euclidean_distances(X + 1e6, squared=True) / euclidean_distances(X).mean() ** 2)
    assert np.abs(by_projection(naive) - near).max() > 1e-4


def test_the_points_are_not_changed():
    X = points()
    kept, K = X.copy(), X @ X.T
    before = K.copy()
    twelve_kernels(X)
    center_and_normalise(K)
    assert np.array_equal(X, kept)
    assert np.array_equal(K, before)


def test_center_and_normalise_takes_the_symmetric_part():
    K = points() @ points().T
    skew = np.triu(np.ones_like(K), 1) - np.tril(np.ones_like(K), -1)
    np.testing.assert_allclose(center_and_normalise(K + 0.3 * skew), by_projection(K), atol=1e-12)
    np.testing.assert_allclose(center_and_normalise(5.0 * K + 3.0), center_and_normalise(K), atol=1e-12)


def test_a_point_at_the_mean_gets_a_unit_of_its_own():
    X = np.vstack([points(6, 3), -points(6, 3), np.zeros((1, 3))])
    with pytest.warns(CentralPointWarning, match=r"1 of 13 points .* first is row 12") as told:
        K = center_and_normalise(X @ X.T)
    assert told[0].filename == __file__
    assert np.array_equal(K[12], np.eye(13)[12])
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    with pytest.warns(CentralPointWarning, match="1 of 13 points"):
        stack = twelve_kernels(X)
    assert np.array_equal(stack[0, 12], np.eye(13)[12])
    assert np.abs(stack[6, 12, :12]).max() > 0.01  # a Gaussian tells it from the others
    with pytest.warns(CentralPointWarning, match="4 of 4 points"):
        assert np.array_equal(center_and_normalise(np.full((4, 4), 0.1)), np.eye(4))


def test_no_warning_without_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twelve_kernels(draw().X)


# -- the published kernels ----------------------------------------------------------------------------------------


def test_points_of_unit_length_are_found_again_in_two_kernels():
    X = np.random.default_rng(5).normal(size=(24, 60)) + np.linspace(0, 1, 60)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = unit_rows(base_kernel(X, 1), base_kernel(X, 4))
    np.testing.assert_allclose(found @ found.T, X @ X.T, atol=1e-9)
    # Without unit lengths the promise is empty.
    X *= np.linspace(1, 2, 24)[:, None]
    found = unit_rows(base_kernel(X, 1), base_kernel(X, 4))
    assert np.abs(found @ found.T - X @ X.T).max() > 0.05


@pytest.mark.raw
def test_the_authors_kernels_are_these(raw):
    raw("jaffe")
    from compendium.data.clustering import load_clustering

    shipped = np.asarray(load_clustering("jaffe").kernels)
    assert shipped.shape == (12, 213, 213)
    for K in shipped:
        assert np.abs(np.diagonal(K) - 1.0).max() < 1e-12
        assert np.abs(K - K.T).max() < 1e-12
        values, vectors = np.linalg.eigh(K)
        # Centred before it was normalised: one null vector, which is positive, the lengths that were divided out.
        assert abs(values[0]) < 1e-9 < values[1]
        lengths = vectors[:, 0] * np.sign(vectors[0, 0])
        assert lengths.min() > 0.5 / np.sqrt(213)
        assert np.abs((K * np.outer(lengths, lengths)).sum(axis=1)).max() < 1e-11
        assert np.abs(K.sum(axis=1)).max() > 1e-2  # normalised before it was centred, the rows would sum to zero
    # The faces, up to a rotation, from the two of them that determine these; all twelve follow.
    faces = unit_rows(shipped[0], shipped[3])
    np.testing.assert_allclose(np.linalg.norm(faces, axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(twelve_kernels(faces), shipped, atol=1e-8)


# -- refusals -----------------------------------------------------------------------------------------------------

BAD = points()
BAD[3, 1] = np.nan
REFUSALS = {
    "nan": (lambda: twelve_kernels(BAD), DataError, ["NaN"]),
    "nan, sparse": (lambda: base_kernel(sparse.csr_matrix(BAD), 1), DataError, ["NaN"]),
    "equal rows": (lambda: base_kernel(np.ones((5, 2)), 7), DataError, ["5 sample(s), all equal"]),
    "number 0": (lambda: base_kernel(points(), 0), ConfigurationError, ["number=0", "from 1 to 12"]),
    "number 13": (lambda: base_kernel(points(), 13), ConfigurationError, ["number=13", "from 1 to 12"]),
    "not square": (lambda: center_and_normalise(np.ones((3, 4))), DataError, ["(3, 4)", "a square matrix"]),
    "a stack": (lambda: center_and_normalise(np.ones((2, 3, 3))), DataError, ["(2, 3, 3)", "a square matrix"]),
    "nan in a kernel": (lambda: center_and_normalise(BAD[:5, :5]), DataError, ["finite"]),
    "not semidefinite": (lambda: center_and_normalise(-np.eye(4)), DataError,
                         ["lowest is -0.75", "not positive semidefinite"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_what_was_seen_and_what_to_do(name):
    act, error, parts = REFUSALS[name]
    with pytest.raises(error) as told:
        act()
    for part in parts:
        assert part in str(told.value)


def test_memory_is_asked_for_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**20)
    X = np.zeros((6000, 2))  # would be refused as equal rows, had the memory been there
    with pytest.raises(LimitError) as told:
        twelve_kernels(X)
    for part in ("twelve kernel matrices of 6000 rows", "0.0 GiB", "base_kernel makes one at a time"):
        assert part in str(told.value)
    with pytest.raises(LimitError, match=r"a kernel matrix of 6000 rows.*fewer rows"):
        base_kernel(X, 7)
