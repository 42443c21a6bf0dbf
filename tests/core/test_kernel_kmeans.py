"""Kernel k-means: relaxed and Lloyd's steps, against scikit-learn on a linear kernel and against explicit formulas."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering.fair_kernel_kmeans import FairKernelKMeans
from evenspan.clustering.kernel_kmeans import KernelKMeans, _lloyd, relaxed_start
from evenspan.clustering.kernels import DenseGram, FactorGram

from .clustering_samples import crossed, never_falls, optimum, same_partition, scattered, trace_objective


def blobs(seed=0, n=150):
    """Points of three overlapping clouds of unequal size."""
    rng = np.random.default_rng(seed)
    place = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    centres = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.5, -2.0, 1.5]])
    return rng.normal(size=(n, 3)) * [1.0, 0.8, 1.5] + centres[place]


def nearest_mean(X, labels, c):
    """Lloyd's step with means of points: the labels of the nearest means."""
    means = np.array([X[labels == k].mean(axis=0) for k in range(c)])
    return ((X[:, None] - means) ** 2).sum(axis=2).argmin(axis=1), means


@pytest.mark.parametrize("seed", range(5))
def test_lloyd_on_a_linear_kernel_is_k_means_of_scikit_learn_from_the_same_start(seed):
    # as many clusters as dimensions: with more, the dense matrix has eigenvectors that are rounding only
    X, c = blobs(seed), 3
    start = relaxed_start(FactorGram(X - X.mean(axis=0)), c, np.random.default_rng(seed), n_init=1).labels
    means = nearest_mean(X, start, c)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = KMeans(c, init=means, n_init=1, tol=0.0, max_iter=300, algorithm="lloyd").fit(X)
    Z = X - X.mean(axis=0)
    for given, kernel in ((X, "linear"), (Z @ Z.T, "precomputed")):
        model = KernelKMeans(c, algorithm="lloyd", kernel=kernel, n_init=1, random_state=seed).fit(given)
        np.testing.assert_array_equal(model.labels_, other.labels_)
        assert model.inertia_ == pytest.approx(other.inertia_, rel=1e-10)
        assert model.converged_
        np.testing.assert_array_equal(nearest_mean(X, model.labels_, c)[0], model.labels_)
    assert not np.array_equal(start, other.labels_)  # there was something to do


@pytest.mark.parametrize("seed", range(4))
def test_lloyd_never_loses_and_step_by_step_goes_to_the_nearest_mean(seed):
    K, _, labels = scattered(60, 3, 4, seed=seed)
    values = [trace_objective(K, labels, 4)]
    for _ in range(60):
        Y = (labels[:, None] == np.arange(4)).astype(float)
        sizes = Y.sum(axis=0)
        distances = np.diagonal(K)[:, None] - 2.0 * K @ Y / sizes + np.diagonal(Y.T @ K @ Y) / sizes**2
        expected = distances.argmin(axis=1)
        found, objective, made, rest = _lloyd(DenseGram(K), labels, 4, 1)
        np.testing.assert_array_equal(found, expected)
        assert objective == pytest.approx(trace_objective(K, found, 4), rel=1e-10)
        assert (made, rest) == (1, np.array_equal(expected, labels))
        values.append(objective)
        if rest:
            break
        labels = found
    assert rest
    assert len(values) > 3
    assert never_falls(values)


def test_many_starts_take_the_best():
    X = blobs(3)
    one = KernelKMeans(6, algorithm="lloyd", kernel="linear", n_init=1).fit(X)
    many = KernelKMeans(6, algorithm="lloyd", kernel="linear", n_init=30).fit(X)
    assert many.objective_ >= one.objective_
    options = {"algorithm": "lloyd", "kernel": "linear", "n_init": 1}
    alone = [KernelKMeans(6, random_state=seed, **options).fit(X).objective_ for seed in range(5)]
    assert min(alone) < many.objective_
    # better than from the relaxed start alone: the random starts count
    about = FactorGram(X - X.mean(axis=0))
    start = relaxed_start(about, 6, np.random.default_rng(0), n_init=30).labels
    assert _lloyd(about, start, 6, 300)[1] < many.objective_ - 1e-3 * abs(many.objective_)
    K, _, _ = scattered(9, 2, 3, seed=1)
    best = KernelKMeans(3, algorithm="lloyd", kernel="precomputed", n_init=100).fit(K)
    assert best.objective_ == pytest.approx(optimum(K, 3), rel=1e-9)


@pytest.mark.parametrize("algorithm", ["relaxed", "lloyd"])
def test_what_is_stored_belongs_together(algorithm):
    X = blobs()
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = KernelKMeans(4, algorithm=algorithm, gamma=0.1).fit(X)
    assert model.objective_ == pytest.approx(trace_objective(K, model.labels_, 4), rel=1e-10)
    assert model.inertia_ == pytest.approx(np.trace(K) - model.objective_, rel=1e-10)
    assert model.certificate_.primal == model.objective_
    assert model.certificate_.dual >= model.objective_
    assert model.certificate_.dual == pytest.approx(float(np.linalg.eigvalsh(K)[-4:].sum(axis=0)), rel=1e-10)
    assert model.labels_.dtype == np.int64
    assert np.bincount(model.labels_).min() >= 1
    assert model.kernel_.gamma == 0.1
    np.testing.assert_array_equal(KernelKMeans(4, algorithm=algorithm, gamma=0.1).fit_predict(X), model.labels_)
    given = KernelKMeans(4, algorithm=algorithm, kernel="precomputed").fit(K)
    assert same_partition(given.labels_, model.labels_)


def test_relaxed_is_k_means_on_unit_eigenvectors_and_where_fair_kernel_k_means_starts():
    X = blobs(1)
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    H = np.linalg.eigh(K)[1][:, -3:]
    H = H / np.linalg.norm(H, axis=1, keepdims=True)
    seed = int(np.random.default_rng(4).integers(2**31))
    other = KMeans(3, n_init=10, max_iter=50, random_state=seed).fit_predict(H)
    model = KernelKMeans(3, algorithm="relaxed", gamma=0.1, random_state=4).fit(X)
    assert same_partition(model.labels_, other)
    assert (model.n_iter_, model.converged_) == (1, None)
    fair = FairKernelKMeans(3, 0.0, gamma=0.1, random_state=4).fit(X, sensitive_features=np.arange(150) % 2)
    np.testing.assert_array_equal(fair.initial_labels_, model.labels_)
    assert fair.objective_ >= model.objective_


def test_row_update_improves_on_lloyd_and_never_the_other_way():
    # an answer of the row update is at rest for Lloyd's steps too; the reverse is not true
    better = 0
    for seed in range(12):
        K, codes, labels = scattered(40, 3, 4, seed=seed)
        options = {"kernel": "precomputed", "max_iter": 100}
        moves = FairKernelKMeans(4, 0.0, init=labels, **options).fit(K, sensitive_features=codes)
        again, objective, _, rest = _lloyd(DenseGram(K), moves.labels_, 4, 50)
        assert rest
        np.testing.assert_array_equal(again, moves.labels_)
        lloyd, objective, _, _ = _lloyd(DenseGram(K), labels, 4, 300)
        further = FairKernelKMeans(4, 0.0, init=lloyd, **options).fit(K, sensitive_features=codes)
        assert further.objective_ >= objective - 1e-9 * abs(objective)
        better += further.n_moves_ > 0
    assert better > 0


def test_steps_used_up_is_flagged_and_warned():
    X = blobs(2)
    with pytest.warns(ConvergenceWarning, match="labels still changed after 1 steps"):
        model = KernelKMeans(6, algorithm="lloyd", kernel="linear", n_init=1, max_iter=1).fit(X)
    assert (model.converged_, model.n_iter_) == (False, 1)


@pytest.mark.parametrize("algorithm", ["relaxed", "lloyd"])
@pytest.mark.parametrize("n_clusters", [1, 40, 80])
def test_no_cluster_is_empty(algorithm, n_clusters):
    X = crossed().X
    model = KernelKMeans(n_clusters, algorithm=algorithm, kernel="linear", n_init=2).fit(X)
    assert np.bincount(model.labels_, minlength=n_clusters).min() >= 1
    assert model.labels_.max() == n_clusters - 1


def test_seed_decides_and_lloyd_refills_emptied_clusters():
    X = blobs(5)
    first, again = (KernelKMeans(5, algorithm="lloyd", n_init=3, random_state=9).fit_predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    # two of three starting clusters have the same mean, so ties empty the second of them
    Z = np.array([[0.0], [2.0], [0.0], [2.0], [10.0], [11.0]])
    found, objective, _, rest = _lloyd(FactorGram(Z), np.array([0, 0, 1, 1, 2, 2]), 3, 50)
    assert rest
    assert np.bincount(found, minlength=3).min() >= 1
    assert objective == pytest.approx(trace_objective(Z @ Z.T, found, 3))
