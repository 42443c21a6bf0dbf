"""Fair spectral clustering: the constraint holds, two solvers agree, and one group changes nothing."""

from itertools import product

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.metrics import adjusted_rand_score

from evenspan.clustering import fair_spectral
from evenspan.clustering.fair_spectral import (
    NULL_SPACE,
    FairSpectralClustering,
    constraint_residual,
    fair_embedding,
    share_constraints,
)
from evenspan.clustering.graphs import (
    kernel_neighbour_graph,
    looped,
    nearest_neighbour_graph,
    precomputed_graph,
)
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    GroupError,
    NotSolvedError,
    SingleGroupWarning,
)

from .samples import angle, draw

S = draw()
X, GROUPS = S.X, S.groups  # 380 rows, 6 features, 3 groups of 200, 120 and 60
CODES = np.unique(GROUPS, return_inverse=True)[1]
F = share_constraints(CODES, 3)
PAIRS = list(product(("normalized", "unnormalized"), ("null_space", "lanczos")))


def fair_blocks(seed=4, shares=(0.5, 0.3, 0.2), n=300):
    """A random graph that has denser blocks by group than by the fair clusters, of which every group has its share.

    Returns the affinity matrix, the groups and the fair clusters.
    """
    rng = np.random.default_rng(seed)
    sizes = (np.array(shares) * n).astype(int)
    groups = np.repeat(np.arange(len(shares)), sizes)
    clusters = np.concatenate([np.arange(size) * 2 // size for size in sizes])
    same_group, same_cluster = groups[:, None] == groups, clusters[:, None] == clusters
    chance = np.where(same_cluster, np.where(same_group, 0.5, 0.22), np.where(same_group, 0.32, 0.05))
    upper = np.triu(rng.random((n, n)) < chance, 1)
    order = rng.permutation(n)
    return (upper + upper.T).astype(float)[order][:, order], groups[order], clusters[order]


def laplacian(W, kind):
    """The Laplacian and the weights of its inner product."""
    degrees = W.sum(axis=1)
    return np.diag(degrees) - W, degrees if kind == "normalized" else np.ones(len(W))


def embed(W, constraints, c, kind, solver, seed=0):
    return fair_embedding(
        W, W.sum(axis=1), constraints, c, laplacian=kind, solver=solver, rng=np.random.default_rng(seed)
    )


def alone(data, **options):
    """Without groups: those of spectral clustering."""
    with pytest.warns(SingleGroupWarning):
        return fit(data, np.zeros(data.shape[0]), on_single_group="warn", **options)


def fit(data=X, groups=GROUPS, n_clusters=3, **options):
    return FairSpectralClustering(n_clusters, **options).fit(data, sensitive_features=groups)


# -- the relaxed problem -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "solver"), PAIRS)
def test_groups_have_the_same_mean_in_the_embedding_and_without_constraint_have_not(kind, solver):
    W, groups, _ = fair_blocks()
    constraints = share_constraints(groups, 3)
    fair, free = (embed(W, C, 3, kind, solver).H for C in (constraints, constraints[:, :0]))
    assert constraint_residual(constraints, fair) < 1e-12 < 0.3 < constraint_residual(constraints, free)
    means = np.array([fair[groups == g].mean(axis=0) for g in range(3)])
    assert np.ptp(means, axis=0).max() < 1e-12 * np.abs(fair).max() * len(W)
    weights = laplacian(W, kind)[1]
    np.testing.assert_allclose(fair.T @ (weights[:, None] * fair), np.eye(3), atol=1e-10)


@pytest.mark.parametrize(("kind", "solver"), PAIRS)
def test_eigenvalues_against_the_published_form(kind, solver):
    """Algorithms 2 and 3 as they are written, with the symmetric root."""
    W, groups, _ = fair_blocks()
    L, weights = laplacian(W, kind)
    Z = linalg.null_space(share_constraints(groups, 3).T)
    root = np.linalg.inv(linalg.sqrtm(Z.T @ (weights[:, None] * Z)).real)
    values, Y = np.linalg.eigh(root @ Z.T @ L @ Z @ root)
    found = embed(W, share_constraints(groups, 3), 4, kind, solver)
    np.testing.assert_allclose(found.eigenvalues, values[:4], atol=1e-9 * values[-1])
    np.testing.assert_allclose(found.gap, values[4] - values[3], rtol=1e-4)
    assert angle(found.H, Z @ root @ Y[:, :4]) < 1e-6
    assert found.residuals.max() < 1e-9


@pytest.mark.parametrize("kind", ["normalized", "unnormalized"])
def test_the_solvers_agree_where_the_gap_is_positive(kind):
    W = nearest_neighbour_graph(X, 10)
    dense, thin = (embed(W, F, 4, kind, solver) for solver in ("null_space", "lanczos"))
    assert dense.gap > 1e-3
    assert angle(dense.H, thin.H) < 1e-6
    np.testing.assert_allclose(dense.H, thin.H, atol=1e-7 * np.abs(dense.H).max())  # the signs are fixed
    np.testing.assert_allclose(dense.gap, thin.gap, rtol=1e-4)


def test_lanczos_that_does_not_end_is_an_error(monkeypatch):
    def endless(*args, **options):
        raise ArpackNoConvergence("no convergence (%s)", np.zeros(2), np.zeros((380, 2)))

    monkeypatch.setattr(fair_spectral, "eigsh", endless)
    with pytest.raises(NotSolvedError, match=r"Lanczos found 2 of 5 eigenvectors.*solver='null_space'"):
        embed(nearest_neighbour_graph(X, 10), F, 4, "normalized", "lanczos")


def test_the_trace_is_certified_and_another_answer_is_not():
    W, groups, _ = fair_blocks()
    constraints = share_constraints(groups, 3)
    found = embed(W, constraints, 3, "normalized", "null_space")
    assert found.certificate.is_optimal(1e-9)
    L, degrees = laplacian(W, "normalized")
    shifted = 2.0 * np.diag(degrees) - L
    np.testing.assert_allclose(found.certificate.primal, np.trace(found.H.T @ shifted @ found.H), rtol=1e-10)
    other = embed(W, constraints, 4, "normalized", "null_space").H[:, 1:]  # feasible, and no optimum
    assert np.trace(other.T @ shifted @ other) < found.certificate.dual - 1e-2
    assert embed(W, constraints, 3, "normalized", "lanczos").certificate is None


@pytest.mark.parametrize(("kind", "solver"), PAIRS)
def test_the_constant_vector_is_feasible_and_first(kind, solver):
    W, groups, _ = fair_blocks()
    constraints = share_constraints(groups, 3)
    np.testing.assert_allclose(constraints.T @ np.ones(len(W)), 0.0, atol=1e-11)
    found = embed(W, constraints, 2, kind, solver)
    assert abs(found.eigenvalues[0]) < 1e-9 < found.eigenvalues[1]
    assert np.ptp(found.H[:, 0]) < 1e-8 * np.abs(found.H[:, 0]).max()


@pytest.mark.parametrize(("kind", "solver"), PAIRS)
def test_one_group_is_unconstrained_spectral_clustering(kind, solver):
    W, groups, _ = fair_blocks()
    L, weights = laplacian(W, kind)
    values, Y = linalg.eigh(L, np.diag(weights))
    single = alone(W, affinity="precomputed", laplacian=kind, solver=solver)
    assert angle(single.embedding_, Y[:, :3]) < 1e-6
    np.testing.assert_allclose(single.eigenvalues_, values[:3], atol=1e-9 * values[-1])
    assert angle(fit(W, groups, affinity="precomputed", laplacian=kind, solver=solver).embedding_, Y[:, :3]) > 0.1


@pytest.mark.parametrize("solver", ["null_space", "lanczos"])
def test_dependent_and_empty_constraints_count_once(solver):
    W, groups, _ = fair_blocks()
    constraints = share_constraints(groups, 3)
    more = np.column_stack([constraints, constraints @ [2.0, -1.0], np.zeros(len(W)), constraints[:, 0]])
    assert angle(*(embed(W, C, 3, "normalized", solver).H for C in (constraints, more))) < 1e-6


def test_no_feasible_direction_is_smoother_in_three_dimensions():
    """Four samples, two groups: one direction beside the constant, found by trying all."""
    W = np.array([[0, 3, 1, 0.5], [3, 0, 0.2, 1], [1, 0.2, 0, 2], [0.5, 1, 2, 0]])
    constraints = share_constraints(np.array([0, 0, 0, 1]), 2)
    found = embed(W, constraints, 2, "unnormalized", "null_space")
    Z = linalg.null_space(np.column_stack([constraints, np.ones(4)]).T)
    turns = np.linspace(0.0, np.pi, 20001)
    vectors = Z @ np.array([np.cos(turns), np.sin(turns)])
    smooth = np.einsum("it,ij,jt->t", vectors, np.diag(W.sum(axis=1)) - W, vectors)
    np.testing.assert_allclose(found.eigenvalues[1], smooth.min(), rtol=1e-6)


def test_a_graph_in_pieces_has_all_its_zero_eigenvalues():
    """Five pieces, in each of which both groups have their shares: a fivefold eigenvalue, and no fewer are found."""
    W = sparse.block_diag([np.ones((12, 12)) - np.eye(12)] * 5, format="csr")
    groups = np.tile([0, 1, 1], 20)
    found = embed(sparse.csr_array(W), share_constraints(groups, 2), 5, "normalized", "null_space")
    np.testing.assert_allclose(found.eigenvalues, 0.0, atol=1e-10)
    assert found.gap > 0.5
    with pytest.warns(UserWarning, match="one of many equally good"):
        few = embed(sparse.csr_array(W), share_constraints(groups, 2), 3, "normalized", "null_space")
    np.testing.assert_allclose(few.eigenvalues, 0.0, atol=1e-10)
    assert abs(few.gap) < 1e-9


# -- clusters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "solver"), PAIRS)
def test_fair_blocks_are_found_and_not_without_the_constraint(kind, solver):
    W, groups, clusters = fair_blocks()
    options = {"affinity": "precomputed", "laplacian": kind, "solver": solver, "n_clusters": 2}
    fair = fit(W, groups, **options)
    free = alone(W, **options)
    assert adjusted_rand_score(clusters, fair.labels_) > 0.9
    unfair = min((free.labels_[groups == g] == 1).mean(axis=0) for g in range(3))
    assert unfair < 0.15  # of one group next to nobody is in that cluster
    assert fair.counts_.mnce > 0.99
    assert fair.counts_.balance > 0.35
    free_counts = np.array([[((free.labels_ == k) & (groups == g)).sum(axis=0) for k in (0, 1)] for g in range(3)])
    assert (free_counts.min(axis=0) / free_counts.max(axis=0)).min() < 0.1


def test_sparse_and_dense_graphs_give_the_same_clusters():
    W, groups, _ = fair_blocks()
    for solver in ("null_space", "lanczos"):
        first, second = (fit(V, groups, affinity="precomputed", solver=solver) for V in (W, sparse.csr_array(W)))
        np.testing.assert_array_equal(first.labels_, second.labels_)


def test_names_of_groups_and_scale_of_the_graph_do_not_matter():
    W, groups, _ = fair_blocks()
    first = fit(W, groups, affinity="precomputed")
    second = fit(7.0 * W, np.array(["z", "a", "m"])[groups], affinity="precomputed")
    assert angle(first.embedding_, second.embedding_) < 1e-7
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.counts_.counts, second.counts_.counts[[2, 0, 1]])


def test_attributes_of_a_fit_from_features():
    model = fit(n_neighbors=60)
    assert model.solver_ == "null_space"
    assert len(X) <= NULL_SPACE
    assert model.embedding_.shape == (380, 3)
    assert model.constraint_residual_ < 1e-12
    assert model.counts_.counts.shape == (3, 3)
    np.testing.assert_array_equal(model.counts_.group_sizes, [120, 60, 200])
    assert model.certificate_.is_optimal()
    centres = np.array([model.embedding_[model.labels_ == k].mean(axis=0) for k in range(3)])
    inertia = float(((model.embedding_ - centres[model.labels_]) ** 2).sum(axis=None))
    np.testing.assert_allclose(model.inertia_, inertia, rtol=1e-8)
    np.testing.assert_array_equal(model.labels_, fit(n_neighbors=60).labels_)
    np.testing.assert_array_equal(model.labels_, fit(sparse.csr_array(X), n_neighbors=60).labels_)
    many = fit(np.tile(X, (3, 1)) + 1e-3 * np.arange(1140)[:, None], np.tile(GROUPS, 3), n_neighbors=40)
    assert many.solver_ == "lanczos"


# -- graphs --------------------------------------------------------------------------------------------------------


def test_the_neighbour_graph_against_its_definition():
    W = nearest_neighbour_graph(X, 7).toarray()
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    N = np.zeros_like(squared)
    np.put_along_axis(N, np.argsort(squared, axis=1)[:, :7], 1.0, axis=1)
    np.testing.assert_array_equal(W, (N + N.T) / 2)
    assert set(np.unique(W)) == {0.0, 0.5, 1.0}


def test_the_graph_of_a_kernel_is_that_of_its_distances_and_survives_centring():
    K = X @ X.T
    H = np.eye(len(X)) - 1.0 / len(X)
    for kernel in (K, H @ K @ H):
        kernel = (kernel + kernel.T) / 2
        assert abs(kernel_neighbour_graph(kernel, 7) - nearest_neighbour_graph(X, 7)).max() == 0.0
    by_value = np.argsort(-K, axis=1)[:, :7]  # control: the largest values are no neighbours
    W = kernel_neighbour_graph(K, 7)
    assert np.mean(W[np.arange(len(X))[:, None], by_value] > 0, axis=None) < 0.6


def test_fewer_points_than_neighbours_are_all_neighbours():
    np.testing.assert_array_equal(nearest_neighbour_graph(X[:4], 20).toarray(), 1.0 - np.eye(4))
    assert nearest_neighbour_graph(X[:1], 20).shape == kernel_neighbour_graph(np.eye(1), 3).shape == (1, 1)


@pytest.mark.parametrize("solver", ["null_space", "lanczos"])
@pytest.mark.parametrize("kind", ["normalized", "unnormalized"])
def test_samples_without_edges_get_a_loop_and_a_warning(kind, solver):
    W, groups, _ = fair_blocks()
    lonely = np.array([5, 40])
    W[lonely], W[:, lonely] = 0.0, 0.0
    with pytest.warns(UserWarning, match=r"2 of 300 samples have no edge.*self-loop of weight"):
        looped_graph, degrees, count = looped(W)
    smallest = np.delete(W.sum(axis=1), lonely).min()
    assert count == 2
    np.testing.assert_allclose(degrees[lonely], smallest)
    np.testing.assert_allclose(looped_graph.sum(axis=1), degrees)
    assert (np.delete(looped_graph - W, lonely, axis=0) == 0).all()
    with pytest.warns(UserWarning, match="no edge"):
        model = fit(sparse.csr_array(W), groups, 4, affinity="precomputed", laplacian=kind, solver=solver)
    assert np.isfinite(model.embedding_).all()
    assert model.constraint_residual_ < 1e-12


# -- refusals ------------------------------------------------------------------------------------------------------


def broken(i, j, value):
    W = fair_blocks()[0]
    W[i, j] = value
    return W


B = {"affinity": "precomputed", "groups": fair_blocks()[1]}
REFUSALS = {
    "clusters": ({"n_clusters": 381}, ComponentsError, ["n_clusters=381", "at most 380"]),
    "more than the constraints leave": ({"n_clusters": 379}, ComponentsError,
                                         ["n_clusters=379", "only 378", "2 group"]),
    "affinity": ({"affinity": "cosine"}, ConfigurationError,
                 ["'cosine'", "'nearest_neighbors' or 'precomputed'"]),
    "laplacian": ({"laplacian": "random_walk"}, ConfigurationError, ["'random_walk'", "or 'unnormalized'"]),
    "solver": ({"solver": "arpack"}, ConfigurationError, ["'arpack'", "'auto', 'null_space' or 'lanczos'"]),
    "neighbours": ({"n_neighbors": 0}, ConfigurationError, ["n_neighbors=0"]),
    "seed": ({"random_state": -3}, ConfigurationError, ["random_state=-3"]),
    "not square": ({"affinity": "precomputed"}, DataError, ["(380, 6)", "(n, n)"]),
    "not symmetric": ({"data": broken(0, 1, 9.0), **B}, DataError, ["not symmetric", "(W + W.T) / 2"]),
    "negative": ({"data": broken(3, 3, -1.0), **B}, DataError, ["negative entries", "-1"]),
    "no edges": ({"data": np.zeros((300, 300)), **B}, DataError, ["300 samples has no edge"]),
    "no groups": ({"groups": None}, GroupError, ["None"]),
    "too small for Lanczos": ({"data": X[:5], "groups": np.arange(5) % 2, "n_clusters": 4, "solver": "lanczos"},
                              ConfigurationError, ["needs more than 5 samples", "null_space"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_say_what_was_seen_and_needed(case):
    options, error, words = REFUSALS[case]
    with pytest.raises(error) as told:
        fit(**options)
    for word in words:
        assert word in str(told.value)


def test_graphs_refuse_what_is_none():
    with pytest.raises(DataError, match="not symmetric"):
        precomputed_graph(np.array([[0.0, np.nan], [np.nan, 0.0]]))
    with pytest.raises(DataError, match="the kernel matrix is not symmetric"):
        kernel_neighbour_graph(np.triu(np.ones((3, 3))))
