"""Fair spectral clustering: the constraint holds, two solvers agree, and one group changes nothing."""

from itertools import product

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.metrics import adjusted_rand_score

from evenspan.clustering import fair_spectral
from evenspan.clustering.fair_spectral import (
    FairSpectralClustering,
    constraint_residual,
    fair_embedding,
    share_constraints,
)
from evenspan.clustering.graphs import kernel_neighbour_graph, nearest_neighbour_graph
from evenspan.core.errors import NotSolvedError, SingleGroupWarning

from .samples import angle, draw

S = draw()
X, GROUPS = S.X, S.groups  # 380 rows, 6 features, 3 groups of 200, 120 and 60
F = share_constraints(np.unique(GROUPS, return_inverse=True)[1], 3)
PAIRS = list(product(("normalized", "unnormalized"), ("null_space", "lanczos")))


def fair_blocks(n=300):
    """A random graph that has denser blocks by group than by the fair clusters, of which every group has its share.

    Returns the affinity matrix, the groups and the fair clusters.
    """
    rng, sizes = np.random.default_rng(4), (n // 2, 3 * n // 10, n // 5)
    groups = np.repeat(np.arange(3), sizes)
    clusters = np.concatenate([np.arange(size) * 2 // size for size in sizes])
    same_group, same_cluster = groups[:, None] == groups, clusters[:, None] == clusters
    chance = np.where(same_cluster, np.where(same_group, 0.5, 0.22), np.where(same_group, 0.32, 0.05))
    upper = np.triu(rng.random((n, n)) < chance, 1)
    order = rng.permutation(n)
    return (upper + upper.T).astype(float)[order][:, order], groups[order], clusters[order]


W, G, CLUSTERS = fair_blocks()
C = share_constraints(G, 3)


def laplacian(kind, W=W):
    """The Laplacian and the weights of its inner product."""
    degrees = W.sum(axis=1)
    return np.diag(degrees) - W, degrees if kind == "normalized" else np.ones(len(W))


def embed(c, kind, solver, W=W, constraints=C):
    rng = np.random.default_rng(0)
    return fair_embedding(W, W.sum(axis=1), constraints, c, laplacian=kind, solver=solver, rng=rng)


def fit(data=X, groups=GROUPS, n_clusters=3, **options):
    return FairSpectralClustering(n_clusters, **options).fit(data, sensitive_features=groups)


def given(W=W, groups=G, n_clusters=3, **options):
    return fit(W, groups, n_clusters, affinity="precomputed", **options)


def alone(**options):
    """Without groups: those of spectral clustering."""
    with pytest.warns(SingleGroupWarning):
        return given(groups=np.zeros(300), on_single_group="warn", **options)


@pytest.mark.parametrize(("kind", "solver"), PAIRS)
def test_eigenvalues_against_the_published_form_and_the_constraint_holds(kind, solver):
    """Algorithms 2 and 3 as they are written, with the symmetric root."""
    L, weights = laplacian(kind)
    Z = linalg.null_space(C.T)
    root = np.linalg.inv(linalg.sqrtm(Z.T @ (weights[:, None] * Z)).real)
    values, Y = np.linalg.eigh(root @ Z.T @ L @ Z @ root)
    found = embed(4, kind, solver)
    np.testing.assert_allclose(found.eigenvalues, values[:4], atol=1e-9 * values[-1])
    np.testing.assert_allclose(found.gap, values[4] - values[3], rtol=1e-4)
    assert angle(found.H, Z @ root @ Y[:, :4]) < 1e-6
    np.testing.assert_allclose(found.H.T @ (weights[:, None] * found.H), np.eye(4), atol=1e-10)
    free = embed(4, kind, solver, constraints=C[:, :0]).H
    assert constraint_residual(C, found.H) < 1e-12 < 0.3 < constraint_residual(C, free)
    means = np.array([found.H[g == G].mean(axis=0) for g in range(3)])
    assert np.ptp(means, axis=0).max() < 1e-12 * np.abs(found.H).max() * 300
    # the constant vector is feasible and first
    assert abs(found.eigenvalues[0]) < 1e-9 < found.eigenvalues[1]
    assert np.ptp(found.H[:, 0]) < 1e-8 * np.abs(found.H[:, 0]).max()
    # dependent and empty constraints count once
    more = np.column_stack([C, C @ [2.0, -1.0], np.zeros(300), C[:, 0]])
    assert angle(found.H, embed(4, kind, solver, constraints=more).H) < 1e-6


def test_lanczos_that_does_not_end_is_an_error(monkeypatch):
    def endless(*args, **options):
        raise ArpackNoConvergence("no convergence (%s)", np.zeros(2), np.zeros((380, 2)))

    monkeypatch.setattr(fair_spectral, "eigsh", endless)
    with pytest.raises(NotSolvedError, match=r"Lanczos found 2 of 5 eigenvectors.*solver='null_space'"):
        embed(4, "normalized", "lanczos")


def test_the_trace_is_certified_and_another_answer_is_not():
    found = embed(3, "normalized", "null_space")
    assert found.certificate.is_optimal(1e-9)
    L, degrees = laplacian("normalized")
    shifted = 2.0 * np.diag(degrees) - L
    np.testing.assert_allclose(found.certificate.primal, np.trace(found.H.T @ shifted @ found.H), rtol=1e-10)
    other = embed(4, "normalized", "null_space").H[:, 1:]  # feasible, and no optimum
    assert np.trace(other.T @ shifted @ other) < found.certificate.dual - 1e-2
    assert embed(3, "normalized", "lanczos").certificate is None


@pytest.mark.parametrize(("kind", "solver"), PAIRS)
def test_one_group_is_unconstrained_spectral_clustering_and_fair_blocks_need_the_constraint(kind, solver):
    L, weights = laplacian(kind)
    values, Y = linalg.eigh(L, np.diag(weights))
    single = alone(laplacian=kind, solver=solver)
    assert angle(single.embedding_, Y[:, :3]) < 1e-6
    np.testing.assert_allclose(single.eigenvalues_, values[:3], atol=1e-9 * values[-1])
    fair, free = (make(n_clusters=2, laplacian=kind, solver=solver) for make in (given, alone))
    assert angle(fair.embedding_, Y[:, :2]) > 0.1
    assert adjusted_rand_score(CLUSTERS, fair.labels_) > 0.9
    assert fair.counts_.mnce > 0.99
    assert min((free.labels_[g == G] == k).mean(axis=0) for g in range(3) for k in (0, 1)) < 0.15


def test_no_feasible_direction_is_smoother_in_three_dimensions():
    """Four samples, two groups: one direction beside the constant, found by trying all."""
    W = np.array([[0, 3, 1, 0.5], [3, 0, 0.2, 1], [1, 0.2, 0, 2], [0.5, 1, 2, 0]])
    constraints = share_constraints(np.array([0, 0, 0, 1]), 2)
    found = embed(2, "unnormalized", "null_space", W, constraints)
    turns = np.linspace(0.0, np.pi, 20001)
    Z = linalg.null_space(np.column_stack([constraints, np.ones(4)]).T)
    vectors = Z @ np.array([np.cos(turns), np.sin(turns)])
    smooth = np.einsum("it,ij,jt->t", vectors, laplacian("unnormalized", W)[0], vectors)
    np.testing.assert_allclose(found.eigenvalues[1], smooth.min(), rtol=1e-6)


def test_a_graph_in_pieces_has_all_its_zero_eigenvalues():
    """Five pieces, in each of which both groups have their shares: a fivefold eigenvalue, and no fewer are found."""
    W = sparse.csr_array(sparse.block_diag([np.ones((12, 12)) - np.eye(12)] * 5))
    constraints = share_constraints(np.tile([0, 1, 1], 20), 2)
    found = embed(5, "normalized", "null_space", W, constraints)
    np.testing.assert_allclose(found.eigenvalues, 0.0, atol=1e-10)
    assert found.gap > 0.5
    with pytest.warns(UserWarning, match="one of many equally good"):
        assert abs(embed(3, "normalized", "null_space", W, constraints).gap) < 1e-9


def test_attributes_of_a_fit_from_features():
    model = fit(n_neighbors=60)
    assert (model.solver_, model.embedding_.shape) == ("null_space", (380, 3))
    assert model.constraint_residual_ < 1e-12
    np.testing.assert_array_equal(model.counts_.group_sizes, [120, 60, 200])
    assert model.certificate_.is_optimal()
    np.testing.assert_array_equal(model.labels_, fit(sparse.csr_array(X), n_neighbors=60).labels_)
    many = fit(np.tile(X, (3, 1)) + 1e-3 * np.arange(1140)[:, None], np.tile(GROUPS, 3), n_neighbors=40)
    assert many.solver_ == "lanczos"


def test_the_neighbour_graph_against_its_definition_and_that_of_a_kernel():
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    N = np.zeros_like(squared)
    np.put_along_axis(N, np.argsort(squared, axis=1)[:, :7], 1.0, axis=1)
    np.testing.assert_array_equal(nearest_neighbour_graph(X, 7).toarray(), (N + N.T) / 2)
    H = np.eye(len(X)) - 1.0 / len(X)
    for kernel in (X @ X.T, H @ X @ X.T @ H):  # centring changes no distance
        np.testing.assert_array_equal(kernel_neighbour_graph(kernel, 7).toarray(), (N + N.T) / 2)
    np.testing.assert_array_equal(nearest_neighbour_graph(X[:4], 20).toarray(), 1.0 - np.eye(4))
