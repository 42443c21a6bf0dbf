"""From what is passed to a kernel matrix: gamma, precision, symmetry, distinct points, and warnings that are true."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.kernel_kmeans import KernelKMeans
from evenspan.clustering.kernels import FactorGram, KernelWarning, checked_kernel
from evenspan.core import inputs
from evenspan.core.errors import DataError, FairWarning, LimitError

from .clustering_samples import crossed, scattered


def gram(X, **options):
    return FairKernelKMeans(3, **options)._gram(np.asarray(X))


def whole(found) -> np.ndarray:
    return found.product(np.eye(found.n))


def test_the_matrix_is_that_of_the_formula():
    X = crossed().X
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(whole(gram(X, gamma=0.03)), np.exp(-0.03 * squares), atol=1e-12)
    expected = (0.5 * X @ X.T + 1.0) ** 3
    polynomial = whole(gram(X, kernel="polynomial", gamma=0.5))
    np.testing.assert_allclose(polynomial, expected, atol=1e-11 * np.abs(expected).max())
    linear, Z = gram(X + 1e6, kernel="linear"), X - X.mean(axis=0)
    assert isinstance(linear, FactorGram)
    np.testing.assert_allclose(whole(linear), Z @ Z.T, atol=1e-6)
    np.testing.assert_allclose(whole(gram(X + 1e7, gamma=0.03)), np.exp(-0.03 * squares), atol=1e-6)


def test_scale_and_auto_are_those_of_scikit_learn():
    X = crossed().X
    for gamma, expected in (("scale", 1.0 / (4 * X.var(axis=None))), ("auto", 0.25), (0.7, 0.7)):
        model = FairKernelKMeans(3, gamma=gamma)
        model._gram(X)
        assert model.kernel_.gamma == pytest.approx(expected, rel=1e-12)


def test_a_matrix_that_is_passed_keeps_its_precision_and_its_values():
    K = scattered(40)[0]
    kept = K.copy()
    assert gram(K, kernel="precomputed").K is K
    assert gram(K.astype(np.float32), kernel="precomputed").dtype == np.float32
    np.testing.assert_array_equal(K, kept)


def test_kernel_that_is_not_symmetric_is_replaced_by_its_symmetric_part_with_a_warning():
    K = scattered(40)[0]
    skew = np.triu(np.full((40, 40), 1e-3), 1)
    with pytest.warns(KernelWarning, match="not symmetric.*0.001"):
        found = gram(K + skew, kernel="precomputed").K
    np.testing.assert_allclose(found, K + 0.5 * (skew + skew.T), rtol=1e-14)
    nearly = gram(K + 1e-13 * skew, kernel="precomputed").K  # rounding: no warning
    np.testing.assert_array_equal(nearly, nearly.T)


@pytest.mark.parametrize("bad", [np.ones((3, 4)), np.ones(5), np.full((3, 3), np.nan), np.diag([1.0, np.inf, 1.0])])
def test_matrices_that_are_no_kernel_are_refused(bad):
    with pytest.raises(DataError, match="the precomputed kernel has"):
        checked_kernel(bad, "the precomputed kernel")


def test_negative_eigenvalues_are_told():
    K = scattered(40)[0]
    values, vectors = np.linalg.eigh(K)
    indefinite = K - (values[0] + 0.01 * values[-1]) * np.outer(vectors[:, 0], vectors[:, 0])
    indefinite = 0.5 * (indefinite + indefinite.T)
    n = 700  # where only some Lanczos steps look
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    large = (Q * np.linspace(-3.0, 5.0, n)) @ Q.T
    for given in (indefinite, 0.5 * (large + large.T)):
        with pytest.warns(KernelWarning, match="not positive semidefinite"):
            gram(given, kernel="precomputed")
    with pytest.warns(KernelWarning, match="the sigmoid kernel is not positive semidefinite"):
        gram(crossed().X, kernel="sigmoid", gamma=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gram(crossed().X @ crossed().X.T, kernel="precomputed")  # singular, with zeros of either sign
        gram((crossed().X @ crossed().X.T).astype(np.float32), kernel="precomputed")
        with config_context(assume_finite=True):
            gram(indefinite, kernel="precomputed")


def test_kernel_values_that_overflow_are_refused():
    with pytest.raises(DataError, match="NaN or infinite"), np.errstate(over="ignore"):
        gram(1e120 * crossed().X, kernel="polynomial", gamma=1.0)


def test_memory_is_looked_at_before(monkeypatch):
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**20)
    X = np.random.default_rng(0).normal(size=(3000, 2))
    with pytest.raises(LimitError, match=r"a kernel matrix of 3000 points.*kernel='linear'"):
        gram(X)


POINTS = np.repeat(np.array([[0.0], [1.0], [5.0]]), 5, axis=0)
GIVEN = {
    "Gaussian": (POINTS, {}),
    "linear": (POINTS, {"kernel": "linear"}),
    "precomputed": (np.exp(-((POINTS - POINTS.T) ** 2)), {"kernel": "precomputed"}),
}


@pytest.mark.parametrize(("X", "options"), GIVEN.values(), ids=GIVEN)
def test_more_clusters_than_distinct_points_are_warned_of(X, options):
    groups, told = np.arange(15) % 2, r"only 3 of the 15 points are distinct.*n_clusters=6.*at most 3"
    with pytest.warns(FairWarning, match=told):
        KernelKMeans(6, **options).fit(X)
    with pytest.warns(FairWarning, match=told):
        FairKernelKMeans(6, 0, max_iter=50, **options).fit(X, sensitive_features=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelKMeans(3, **options).fit(X)
        FairKernelKMeans(3, 0, max_iter=50, **options).fit(X, sensitive_features=groups)


def test_a_stack_with_more_clusters_than_distinct_points_is_warned_of():
    stack = GIVEN["precomputed"][0][None]
    with pytest.warns(FairWarning, match="only 3 of the 15 points are distinct"):
        FairMultipleKernelKMeans(6, 0, kernels="precomputed").fit(stack, sensitive_features=np.arange(15) % 2)


def test_frames_and_single_precision():
    sample = crossed()
    options = {"kernel": "linear", "max_iter": 50}
    found = FairKernelKMeans(3, 1.0, **options).fit(
        pd.DataFrame(sample.X, columns=list("wxyz")), sensitive_features=sample.groups
    )
    assert list(found.feature_names_in_) == list("wxyz")
    single = FairKernelKMeans(3, 1.0, **options).fit(sample.X.astype(np.float32), sensitive_features=sample.groups)
    np.testing.assert_array_equal(single.labels_, found.labels_)
