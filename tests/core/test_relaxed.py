"""The start of fair kernel k-means: eigenvectors against explicit ones, k-means on them, empty clusters filled."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from evenspan.clustering.kernel_kmeans import fill_empty, leading_eigenvectors, relaxed_start
from evenspan.clustering.kernels import DENSE as SMALL
from evenspan.clustering.kernels import DenseGram, FactorGram

from .clustering_samples import crossed, scattered


def rng(seed=0):
    return np.random.default_rng(seed)


def assert_eigenpairs(K, values, H, rtol=1e-9):
    """Orthonormal eigenvectors of the largest eigenvalues, in decreasing order."""
    expected = np.linalg.eigvalsh(K)[::-1][: len(values)]
    np.testing.assert_allclose(values, expected, atol=rtol * expected[0], rtol=0)
    assert H.shape == (len(K), len(values))
    positive = values > 1e-6 * values[0]
    np.testing.assert_allclose((H.T @ H)[np.ix_(positive, positive)], np.eye(positive.sum()), atol=1e3 * rtol)
    np.testing.assert_allclose(K @ H, H * values, atol=1e3 * rtol * expected[0])


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_eigenvectors_of_all_storages(k):
    Z = crossed().X - [1.0, 0.0, 0.3, 0.0]
    K = Z @ Z.T
    for gram in (DenseGram(K), FactorGram(Z)):
        values, H = leading_eigenvectors(gram, k, rng())
        assert_eigenpairs(K, values, H)
    # from k = 5 on, the factor (rank 4) has only zeros to add
    values, H = leading_eigenvectors(FactorGram(Z), 6, rng())
    assert (values.shape, H.shape) == ((6,), (80, 6))
    assert not values[4:].any()
    assert not H[:, 4:].any()


def test_lanczos_steps_give_the_eigenvectors_of_large_matrices():
    n = SMALL + 60
    Z = rng(3).normal(size=(n, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]
    K = Z @ Z.T - 30.0 * np.eye(n)  # the eigenvalues of largest modulus are not those wanted
    K[0, 0] -= 1e5
    assert_eigenpairs(K, *leading_eigenvectors(DenseGram(K), 3, rng()), rtol=1e-8)
    single = leading_eigenvectors(DenseGram(K.astype(np.float32)), 3, rng())
    np.testing.assert_allclose(single[0], np.linalg.eigvalsh(K)[::-1][:3], rtol=1e-4)


def test_labels_are_those_of_k_means_on_unit_rows_of_the_eigenvectors():
    lengths = rng(6).uniform(0.2, 4.0, size=90)  # points of very different length
    K = scattered(90, 3, 4, seed=1)[0] * np.outer(lengths, lengths)
    values, vectors = np.linalg.eigh(K)
    H = vectors[:, ::-1][:, :4]
    H = H / np.linalg.norm(H, axis=1, keepdims=True)
    expected = KMeans(4, n_init=10, max_iter=50, random_state=int(rng(5).integers(2**31))).fit_predict(H)
    found = relaxed_start(DenseGram(K), 4, rng(5))
    assert adjusted_rand_score(expected, found.labels) == pytest.approx(1.0)
    np.testing.assert_allclose(found.eigenvalues, values[::-1][:4])
    # the control: without unit rows the clusters are others
    seed = int(rng(5).integers(2**31))
    plain = KMeans(4, n_init=10, max_iter=50, random_state=seed).fit_predict(vectors[:, ::-1][:, :4])
    assert adjusted_rand_score(expected, plain) < 0.9


@pytest.mark.parametrize("c", [1, 3, 8])
def test_equal_points_still_fill_all_clusters(c):
    for gram in (DenseGram(np.ones((8, 8))), FactorGram(np.zeros((8, 2))), FactorGram(np.ones((8, 1)))):
        start = relaxed_start(gram, c, rng())
        assert np.bincount(start.labels, minlength=c).min() >= 1
        assert start.labels.max() == c - 1


def farthest(Z, labels, eligible):
    """The first point farthest from its own mean among those eligible."""
    distances = [((z - Z[labels == k].mean(axis=0)) ** 2).sum(axis=0) for z, k in zip(Z, labels, strict=True)]
    return int(np.where(eligible, distances, -np.inf).argmax())


def test_empty_clusters_get_the_farthest_points():
    Z = crossed().X
    labels = np.where(np.arange(80) % 3 == 0, 1, 3)
    labels[5] = 4  # alone, and may stay so however far it is
    for gram in (DenseGram(Z @ Z.T), FactorGram(Z)):
        kept = labels.copy()
        found = fill_empty(gram, labels, 5)
        np.testing.assert_array_equal(labels, kept)
        expected = labels.copy()
        for empty in (0, 2):
            sizes = np.bincount(expected, minlength=5)
            expected[farthest(Z, expected, sizes[expected] > 1)] = empty
        np.testing.assert_array_equal(found, expected)
        assert (np.bincount(found, minlength=5) > 0).all()
