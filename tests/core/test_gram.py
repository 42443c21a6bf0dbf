"""Kernel matrices whole, as a factor and block by block are the same matrix, and so are the sums kept of them."""

import tracemalloc

import numpy as np
import pytest

import evenspan.core.kernels
from evenspan.clustering.kernels import BlockGram, DenseGram, FactorGram
from evenspan.clustering.kernels import indicator as gram_indicator
from evenspan.clustering.row_update import row_updates
from evenspan.core.errors import DataError
from evenspan.core.kernels import Kernel

from .clustering_samples import crossed, indicator


def three(Z, dtype=np.float64):
    Z = Z.astype(dtype)
    return DenseGram(Z @ Z.T), FactorGram(Z), BlockGram(Kernel("linear"), Z, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_blocks_products_and_diagonal_are_those_of_the_matrix(dtype):
    Z = crossed().X
    K, Y = Z @ Z.T, np.random.default_rng(0).normal(size=(80, 3))
    scale = np.abs(K).max() * (1e-13 if dtype == np.float64 else 1e-6)
    rows, columns = np.array([5, 0, 79, 5]), np.array([1, 7, 30])
    for gram in three(Z, dtype):
        assert gram.n == 80
        assert gram.product(Y).dtype == gram.diagonal.dtype == gram.block(rows, columns).dtype == np.float64
        np.testing.assert_allclose(gram.diagonal, np.diagonal(K), atol=scale, rtol=0)
        np.testing.assert_allclose(gram.product(Y), K @ Y, atol=300 * scale, rtol=0)
        np.testing.assert_allclose(gram.row(79), K[79], atol=scale, rtol=0)
        np.testing.assert_allclose(gram.block(rows, columns), K[np.ix_(rows, columns)], atol=scale, rtol=0)


def test_blocks_of_a_nonlinear_kernel_are_the_whole_matrix(monkeypatch):
    X = crossed().X
    kernel = Kernel("rbf", gamma=0.05, origin=X.mean(axis=0))
    K = np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    monkeypatch.setattr(evenspan.core.kernels, "BLOCK_ENTRIES", 80 * 17)  # blocks of 17 rows, the last one shorter
    gram = BlockGram(kernel, X, np.float64)
    np.testing.assert_allclose(gram.product(np.eye(80)), K, atol=1e-12)
    np.testing.assert_allclose(gram.diagonal, np.ones(80), atol=1e-12)
    np.testing.assert_allclose(gram.row(70), K[70], atol=1e-12)
    assert BlockGram(kernel, X).X.dtype == np.float32


def test_blocks_refuse_values_that_are_no_numbers():
    X = crossed().X
    gram = BlockGram(Kernel("callable", function=lambda a, b: np.where(a @ b.T > 1.0, np.nan, 1.0)), X, np.float64)
    with pytest.raises(DataError, match="NaN or infinite"):
        gram.product(np.eye(80))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_follow_moves_in_any_window(dtype):
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(1300, 3)) * [2.0, 1.0, 0.3]
    K, rounding = Z @ Z.T, 1e-10 if dtype == np.float64 else 2e-3
    for gram in three(Z, dtype):
        labels = rng.integers(3, size=1300)
        labels[labels == 1] = 0  # cluster 1 is empty
        sums = gram.sums(labels, 4)
        for i in (0, 3, 511, 512, 513, 700, 1100, 1299):
            for start, stop in ((i, i + 1), (i, min(i + 64, 1300)), (i, 1300)):
                expected = (indicator(labels, 4).T @ K)[:, start:stop]
                np.testing.assert_allclose(sums.window(start, stop), expected, atol=rounding, rtol=0)
            target = (labels[i] + 1) % 4
            sums.move(i, int(labels[i]), int(target))
            labels[i] = target
        Y = indicator(labels, 4)
        relative = 1e-10 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(sums.within(labels), np.diagonal(Y.T @ K @ Y), rtol=relative)
        # a new pass from the first point
        np.testing.assert_allclose(sums.window(0, 20), (Y.T @ K)[:, :20], atol=rounding, rtol=0)


def test_within_sees_the_labels_it_is_given():
    Z = crossed().X
    K = Z @ Z.T
    labels = np.arange(80) % 3
    for gram in three(Z):
        found = gram.sums(labels, 4).within(labels)
        np.testing.assert_allclose(found, np.diagonal(indicator(labels, 4).T @ K @ indicator(labels, 4)), rtol=1e-11)
        assert found[3] == 0.0


def test_indicator():
    np.testing.assert_array_equal(gram_indicator(np.array([2, 0, 2]), 4), [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]])


def peak(function) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_factor_and_blocks_never_hold_n_times_n(monkeypatch):
    monkeypatch.setattr(evenspan.core.kernels, "BLOCK_ENTRIES", 2**14)
    rng = np.random.default_rng(0)
    n = 900
    codes, labels = np.arange(n) % 2, np.arange(n) % 3
    Z = 0.1 * rng.normal(size=(n, 4)) + np.eye(4)[labels]
    labels[:20] = rng.integers(3, size=20)
    whole = n * n * 4  # in single precision

    def run(make):
        return peak(lambda: row_updates(make(), codes, labels, 3, 1.0, max_sweeps=2))

    rbf = Kernel("rbf", gamma=0.1, origin=Z.mean(axis=0).astype(np.float32))
    assert run(lambda: FactorGram(Z)) < whole / 8
    assert run(lambda: BlockGram(rbf, Z, np.float32)) < whole / 4
    assert run(lambda: DenseGram((Z @ Z.T).astype(np.float32))) > whole  # the control
