"""Kernel matrices whole and as a factor are the same matrix, and so are the sums kept of them."""

import tracemalloc

import numpy as np
import pytest

from evenspan.clustering.kernels import DenseGram, FactorGram
from evenspan.clustering.row_update import row_updates

from .clustering_samples import crossed, indicator


def both(Z):
    return DenseGram(Z @ Z.T), FactorGram(Z), DenseGram((Z @ Z.T).astype(np.float32))


def test_rows_blocks_products_and_diagonal_are_those_of_the_matrix():
    Z = crossed().X
    K, Y = Z @ Z.T, np.random.default_rng(0).normal(size=(80, 3))
    rows, columns = np.array([5, 0, 79, 5]), np.array([1, 7, 30])
    for gram in both(Z):
        scale = np.abs(K).max() * (1e-13 if gram.precision == 0.0 else 1e-6)
        assert gram.n == 80
        assert gram.product(Y).dtype == gram.diagonal.dtype == gram.block(rows, columns).dtype == np.float64
        np.testing.assert_allclose(gram.diagonal, np.diagonal(K), atol=scale, rtol=0)
        np.testing.assert_allclose(gram.product(Y), K @ Y, atol=300 * scale, rtol=0)
        np.testing.assert_allclose(gram.row(79), K[79], atol=scale, rtol=0)
        np.testing.assert_allclose(gram.block(rows, columns), K[np.ix_(rows, columns)], atol=scale, rtol=0)


def test_sums_follow_moves_in_any_window():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(1300, 3)) * [2.0, 1.0, 0.3]
    K = Z @ Z.T
    for gram in both(Z):
        rounding, relative = (1e-10, 1e-10) if gram.precision == 0.0 else (2e-3, 1e-5)
        labels = rng.integers(3, size=1300)
        labels[labels == 1] = 0  # cluster 1 is empty
        sums = gram.sums(labels, 4)
        for i in (0, 511, 700, 1299):
            for start, stop in ((i, i + 1), (i, min(i + 64, 1300)), (i, 1300)):
                expected = (indicator(labels, 4).T @ K)[:, start:stop]
                np.testing.assert_allclose(sums.window(start, stop), expected, atol=rounding, rtol=0)
            target = (labels[i] + 1) % 4
            sums.move(i, int(labels[i]), int(target))
            labels[i] = target
        Y = indicator(labels, 4)
        np.testing.assert_allclose(sums.within(labels), np.diagonal(Y.T @ K @ Y), rtol=relative)
        np.testing.assert_allclose(gram.sums(labels, 5).within(labels)[4], 0.0)


def peak(function) -> int:
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("n", [900])
def test_a_factor_never_holds_n_times_n(n):
    codes, labels = np.arange(n) % 2, np.arange(n) % 3
    Z = 0.1 * np.random.default_rng(0).normal(size=(n, 4)) + np.eye(4)[labels]
    factor, dense = (
        peak(lambda make=make: row_updates(make(), codes, labels, 3, 1.0, max_sweeps=2))
        for make in (lambda: FactorGram(Z), lambda: DenseGram(Z @ Z.T))
    )
    assert factor < n * n < 8 * n * n <= dense  # the second is the control
