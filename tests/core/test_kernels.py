"""Kernels: their formulas, whole matrices and factors, and what becomes of what is passed."""

import warnings

import numpy as np
import pytest
from sklearn import config_context

from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.kernels import DenseGram, FactorGram
from evenspan.core.kernels import KernelWarning, resolve_kernel

from .clustering_samples import crossed, indicator, scattered

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 4)) * [1.0, 2.0, 0.5, 3.0] + [1.0, 0.0, -2.0, 4.0]
Y = RNG.normal(size=(15, 4))
ROWS = np.arange(40)
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)


def resolved(kernel="rbf", data=X, weights=None, gamma="scale", **params):
    return resolve_kernel(kernel, data, weights, gamma=gamma, params=params)


FORMULAS = {
    "rbf": lambda x, y: np.exp(-0.3 * ((x - y) ** 2).sum()),
    "linear": lambda x, y: x @ y,
    "polynomial": lambda x, y: (0.3 * (x @ y) + 0.25) ** 2,
    "sigmoid": lambda x, y: np.tanh(0.3 * (x @ y) + 0.25),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_kernel_is_its_formula(name):
    known = {"polynomial": {"degree": 2, "coef0": 0.25}, "sigmoid": {"coef0": 0.25}}.get(name, {})
    kernel = resolved(name, gamma=0.3, **known)
    expected = np.array([[FORMULAS[name](x, y) for y in X] for x in Y])
    np.testing.assert_allclose(kernel.block(Y, kernel.anchors(X, ROWS)), expected, rtol=1e-12, atol=1e-13)
    K = kernel.matrix(X, ROWS)
    assert np.array_equal(K, K.T)
    assert kernel.is_positive == (name != "sigmoid")
    assert not kernel.is_positive or np.linalg.eigvalsh(K)[0] > -1e-12 * np.linalg.norm(K)
    negative = resolved("polynomial", coef0=-1.0, gamma=0.1, degree=2)
    assert not negative.is_positive
    assert not resolved("polynomial", degree=2.5).is_positive
    assert np.linalg.eigvalsh(negative.matrix(X / 10, ROWS))[0] < -1e-6


def test_gamma_is_that_of_scikit_learn_and_a_weight_is_a_number_of_repetitions():
    assert resolved().gamma == pytest.approx(1.0 / (4 * np.var(X, axis=None)), rel=1e-14)
    assert (resolved(gamma="auto").gamma, resolved(gamma=2).gamma, resolved("linear").gamma) == (0.25, 2.0, None)
    weights = RNG.integers(1, 5, size=40)
    repeated = resolved(data=np.repeat(X, weights, axis=0))
    assert resolved(weights=weights.astype(float)).gamma == pytest.approx(repeated.gamma, rel=1e-13)


def test_a_function_gets_tables_and_precomputed_values_are_picked():
    def laplace(A, B):
        return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))

    K, some = resolved(laplace).matrix(X, ROWS), np.array([3, 1, 30])
    np.testing.assert_array_equal(K, laplace(X, X))
    given = resolved("precomputed", data=K)
    np.testing.assert_array_equal(given.matrix(K, some), K[np.ix_(some, some)])
    np.testing.assert_array_equal(given.block(K[:5], given.anchors(K, some)), K[:5, some])


# -- from what is passed to a kernel matrix --------------------------------------------------------------------------


def gram(X, **options):
    return FairKernelKMeans(3, **options)._gram(np.asarray(X))


def test_the_matrix_of_points_keeps_its_digits_and_one_that_is_passed_is_kept():
    squares, Z = ((X[:, None] - X[None]) ** 2).sum(axis=2), X - X.mean(axis=0)
    np.testing.assert_allclose(gram(X + 1e7, gamma=0.03).K, np.exp(-0.03 * squares), atol=1e-6)
    linear = gram(X + 1e6, kernel="linear")
    assert isinstance(linear, FactorGram)
    np.testing.assert_allclose(linear.product(np.eye(40)), Z @ Z.T, atol=1e-6)
    K = scattered(40)[0]
    assert gram(K, kernel="precomputed").K is K
    assert gram(K.astype(np.float32), kernel="precomputed").K.dtype == np.float32
    nearly = gram(K + 1e-13 * np.triu(K), kernel="precomputed").K
    np.testing.assert_array_equal(nearly, nearly.T)


def test_negative_eigenvalues_are_told():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(700, 700)))[0]  # of 700 only some Lanczos steps look
    K, large = scattered(40)[0], (Q * np.linspace(-3.0, 5.0, 700)) @ Q.T
    indefinite = K - 0.1 * np.linalg.eigvalsh(K)[-1] * np.eye(40)
    for given in (indefinite, 0.5 * (large + large.T)):
        with pytest.warns(KernelWarning, match=r"not positive semidefinite.*raises its objective"):
            gram(given, kernel="precomputed")
    with pytest.warns(KernelWarning, match="the sigmoid kernel is not positive semidefinite"):
        gram(crossed().X, kernel="sigmoid", gamma=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gram((X @ X.T).astype(np.float32), kernel="precomputed")  # singular, with zeros of either sign
        with config_context(assume_finite=True):
            gram(indefinite, kernel="precomputed")


def test_parts_of_a_factor_are_those_of_the_matrix_and_after_many_moves_sums_are_computed_anew():
    rng = np.random.default_rng(2)
    Z, labels = rng.normal(size=(300, 3)) * [2.0, 1.0, 0.3], 2 * rng.integers(2, size=300)  # cluster 1 is empty
    K, rows, columns = Z @ Z.T, np.array([5, 0, 79, 5]), np.array([1, 7, 30])
    for one, tol in ((FactorGram(Z), 1e-10), (DenseGram(K.astype(np.float32)), 1e-3)):
        np.testing.assert_allclose(one.product(Z), K @ Z, rtol=tol, atol=tol)
        np.testing.assert_allclose(one.row(79), K[79], atol=tol)
        np.testing.assert_allclose(one.block(rows, columns), K[np.ix_(rows, columns)], atol=tol)
    sums, Y = DenseGram(K).sums(labels, 4), indicator(labels, 4)
    sums.S += 1.0  # an error as rounding would leave it, made visible
    for _ in range(301):
        sums.move(0, 0, 0)
    np.testing.assert_allclose(sums.within(labels), np.diagonal(Y.T @ K @ Y), rtol=1e-10)
