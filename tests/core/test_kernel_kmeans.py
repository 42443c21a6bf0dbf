"""Kernel k-means: relaxed and Lloyd's steps, against scikit-learn on a linear kernel and against explicit formulas."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.fair_multiple_kernel_kmeans import FairMultipleKernelKMeans
from evenspan.clustering.kernel_kmeans import KernelKMeans, _lloyd, relaxed_start
from evenspan.clustering.kernels import DenseGram, FactorGram
from evenspan.core.errors import FairWarning

from .clustering_samples import never_falls, optimum, same_partition, scattered, trace_objective


def blobs(seed=0, n=150):
    """Points of three overlapping clouds of unequal size."""
    rng = np.random.default_rng(seed)
    place = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    centres = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.5, -2.0, 1.5]])
    return rng.normal(size=(n, 3)) * [1.0, 0.8, 1.5] + centres[place]


@pytest.mark.parametrize("seed", range(3))
def test_lloyd_on_a_linear_kernel_is_k_means_of_scikit_learn_from_the_same_start(seed):
    # as many clusters as dimensions: with more, the dense matrix has eigenvectors that are rounding only
    X, c = blobs(seed), 3
    Z = X - X.mean(axis=0)
    start = relaxed_start(FactorGram(Z), c, np.random.default_rng(seed), n_init=1).labels
    means = np.array([X[start == k].mean(axis=0) for k in range(c)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = KMeans(c, init=means, n_init=1, tol=0.0, max_iter=300, algorithm="lloyd").fit(X)
    for given, kernel in ((X, "linear"), (Z @ Z.T, "precomputed")):
        model = KernelKMeans(c, algorithm="lloyd", kernel=kernel, n_init=1, random_state=seed).fit(given)
        np.testing.assert_array_equal(model.labels_, other.labels_)
        assert model.inertia_ == pytest.approx(other.inertia_, rel=1e-10)
        assert model.converged_
    assert not np.array_equal(start, other.labels_)  # there was something to do


def test_lloyd_never_loses_and_step_by_step_goes_to_the_nearest_mean():
    K, _, labels = scattered(60, 3, 4, seed=1)
    values, rest = [trace_objective(K, labels, 4)], False
    while not rest:
        Y = (labels[:, None] == np.arange(4)).astype(float)
        sizes = Y.sum(axis=0)
        distances = np.diagonal(K)[:, None] - 2.0 * K @ Y / sizes + np.diagonal(Y.T @ K @ Y) / sizes**2
        found, objective, _, rest = _lloyd(DenseGram(K), labels, 4, 1)
        np.testing.assert_array_equal(found, distances.argmin(axis=1))
        assert objective == pytest.approx(trace_objective(K, found, 4), rel=1e-10)
        assert rest == np.array_equal(found, labels)
        values, labels = [*values, objective], found
    assert len(values) > 3
    assert never_falls(values)


def test_many_starts_take_the_best():
    about = FactorGram(blobs(3) - blobs(3).mean(axis=0))
    many = KernelKMeans(6, kernel="linear", n_init=30).fit(blobs(3))
    start = relaxed_start(about, 6, np.random.default_rng(0), n_init=30).labels
    assert _lloyd(about, start, 6, 300)[1] < many.objective_ - 1e-3 * abs(many.objective_)  # random starts count
    K, _, _ = scattered(9, 2, 3, seed=1)
    best = KernelKMeans(3, kernel="precomputed", n_init=100).fit(K)
    assert best.objective_ == pytest.approx(optimum(K, 3), rel=1e-9)


@pytest.mark.parametrize("algorithm", ["relaxed", "lloyd"])
def test_what_is_stored_belongs_together(algorithm):
    X = blobs()
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = KernelKMeans(4, algorithm=algorithm, gamma=0.1).fit(X)
    assert model.objective_ == pytest.approx(trace_objective(K, model.labels_, 4), rel=1e-10)
    assert model.inertia_ == pytest.approx(np.trace(K) - model.objective_, rel=1e-10)
    assert model.certificate_.dual >= model.certificate_.primal == model.objective_
    assert model.certificate_.dual == pytest.approx(float(np.linalg.eigvalsh(K)[-4:].sum(axis=0)), rel=1e-10)
    np.testing.assert_array_equal(KernelKMeans(4, algorithm=algorithm, gamma=0.1).fit_predict(X), model.labels_)
    given = KernelKMeans(4, algorithm=algorithm, kernel="precomputed").fit(K)
    assert same_partition(given.labels_, model.labels_)


def test_relaxed_is_k_means_on_unit_eigenvectors_and_where_fair_kernel_k_means_starts():
    X = blobs(1)
    H = np.linalg.eigh(np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2)))[1][:, -3:]
    seed = int(np.random.default_rng(4).integers(2**31))
    other = KMeans(3, n_init=10, max_iter=50, random_state=seed).fit_predict(H / np.linalg.norm(H, axis=1)[:, None])
    model = KernelKMeans(3, algorithm="relaxed", gamma=0.1, random_state=4).fit(X)
    assert same_partition(model.labels_, other)
    assert (model.n_iter_, model.converged_) == (1, None)
    fair = FairKernelKMeans(3, 0.0, gamma=0.1, random_state=4).fit(X, sensitive_features=np.arange(150) % 2)
    np.testing.assert_array_equal(fair.initial_labels_, model.labels_)
    assert fair.objective_ >= model.objective_


def test_steps_used_up_is_flagged_and_emptied_clusters_are_refilled():
    with pytest.warns(ConvergenceWarning, match="labels still changed after 1 steps"):
        model = KernelKMeans(6, kernel="linear", n_init=1, max_iter=1).fit(blobs(2))
    assert (model.converged_, model.n_iter_) == (False, 1)
    # two of three starting clusters have the same mean, so ties empty the second of them
    Z = np.array([[0.0], [2.0], [0.0], [2.0], [10.0], [11.0]])
    found, objective, _, rest = _lloyd(FactorGram(Z), np.array([0, 0, 1, 1, 2, 2]), 3, 50)
    assert rest
    assert np.bincount(found, minlength=3).min() >= 1
    assert objective == pytest.approx(trace_objective(Z @ Z.T, found, 3))
    for algorithm in ("relaxed", "lloyd"):
        for c in (1, 60, 150):
            labels = KernelKMeans(c, algorithm=algorithm, kernel="linear", n_init=1).fit_predict(blobs())
            assert np.bincount(labels, minlength=c).min() >= 1


POINTS = np.repeat(np.array([[0.0], [1.0], [5.0]]), 5, axis=0)
GAUSS = np.exp(-((POINTS - POINTS.T) ** 2))


@pytest.mark.parametrize(
    ("X", "options"), [(POINTS, {}), (POINTS, {"kernel": "linear"}), (GAUSS, {"kernel": "precomputed"})], ids=str
)
def test_more_clusters_than_distinct_points_are_warned_of(X, options):
    groups, told = np.arange(15) % 2, r"only 3 of the 15 points are distinct.*n_clusters=6.*at most 3"
    with pytest.warns(FairWarning, match=told):
        KernelKMeans(6, **options).fit(X)
    with pytest.warns(FairWarning, match=told):
        FairKernelKMeans(6, 0, max_iter=50, **options).fit(X, sensitive_features=groups)
    with pytest.warns(FairWarning, match=told):
        FairMultipleKernelKMeans(6, 0, kernels="precomputed").fit(GAUSS[None], sensitive_features=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelKMeans(3, **options).fit(X)
        FairKernelKMeans(3, 0, max_iter=50, **options).fit(X, sensitive_features=groups)
