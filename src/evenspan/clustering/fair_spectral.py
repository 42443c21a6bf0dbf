"""Fair spectral clustering (Kleindessner et al. 2019): the relaxed problem by null space or Lanczos, then k-means."""

from dataclasses import KW_ONLY
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from ..core.answer import Certificate, ky_fan_certificate
from ..core.errors import ComponentsError, NotSolvedError
from ..core.inputs import warn_caller
from ..core.linalg import complement, fix_signs, span, symmetrise, top_eigenspace
from ..core.options import CLUSTERS, SEED, SINGLE_GROUP, one_of, option, parameterised, whole
from .estimator import FairClusterer, plain_means
from .graphs import nearest_neighbour_graph, precomputed_graph

#: Up to so many samples "auto" takes the null space, whose certificate is a proof.
NULL_SPACE = 800
#: A gap of eigenvalues below this, relative to the largest possible eigenvalue, counts as none.
TIE = 1e-9
#: Restarts after which Lanczos gives up.
MAX_RESTARTS = 2000


class FairEmbedding(NamedTuple):
    """The relaxed answer: coordinates (n, c) and eigenvalues (c,) on the feasible vectors, and how optimal they are.

    The gap is to the next eigenvalue. Lanczos has no certificate.
    """

    H: np.ndarray
    eigenvalues: np.ndarray
    gap: float
    certificate: Certificate | None


def share_constraints(codes: np.ndarray, G: int) -> np.ndarray:
    """The columns of F, shape (n, G - 1): indicators of all groups but the last, less the share of the group."""
    indicators = codes[:, None] == np.arange(G - 1)
    return indicators - indicators.mean(axis=0)


def constraint_residual(F: np.ndarray, H: np.ndarray) -> float:
    """Largest absolute cosine between a column of F and a column of H."""
    F = F[:, F.any(axis=0)]
    lengths = np.outer(np.linalg.norm(F, axis=0), np.linalg.norm(H, axis=0))
    return float(np.abs(F.T @ H / lengths).max(initial=0.0))


def gap_after(values: np.ndarray, c: int) -> float:
    """By how much the c-th of decreasing values exceeds the next; inf if there is no next one."""
    return float(values[c - 1] - values[c]) if len(values) > c else np.inf


def fair_embedding(W, degrees: np.ndarray, F: np.ndarray, c: int, *, laplacian, solver, rng) -> FairEmbedding:
    """The c smoothest vectors on the graph W, of positive degrees, that are orthogonal to the columns of F (n, m).

    They are orthonormal in the inner product of the degrees or in the plain one, as ``laplacian`` says.
    """
    weights = degrees if laplacian == "normalized" else np.ones(len(degrees))
    shift = 2.0 * float((degrees / weights).max())  # by Gershgorin no eigenvalue is larger
    Q = span(F / np.sqrt(weights)[:, None])
    n, free = len(degrees), len(degrees) - Q.shape[1]
    most = free if solver == "null_space" else min(free, n - 3)
    if c > most:
        raise ComponentsError(
            f"n_clusters={c}, but only {free} independent vectors meet the {Q.shape[1]} group constraints on {n} "
            f"samples, of which solver={solver!r} finds at most {most}. Ask for no more clusters."
        )
    if solver == "null_space":
        found = _null_space(W, degrees, weights, F, c, shift)
    else:
        found = _lanczos(W, degrees, weights, Q, c, shift, rng)
    if found.gap <= TIE * shift:
        warn_caller(
            f"eigenvalues {c} and {c + 1} of the constrained Laplacian agree to {max(found.gap, 0.0):.2g}: the "
            "embedding is one of many equally good ones. The graph may have more components than n_clusters."
        )
    return found


def _null_space(W, degrees, weights, F, c, shift) -> FairEmbedding:
    W = W.toarray() if sparse.issparse(W) else W
    Z = complement(F)
    shifted = symmetrise(Z.T @ ((shift * weights - degrees)[:, None] * Z + W @ Z))  # Z'(sD - L)Z
    # Any root of Z'DZ serves: with the Cholesky factor instead of the symmetric one H is the same.
    root = np.linalg.cholesky(symmetrise(Z.T @ (weights[:, None] * Z)))
    half = linalg.solve_triangular(root, shifted, lower=True, check_finite=False)
    A = symmetrise(linalg.solve_triangular(root, half.T, lower=True, check_finite=False))
    values, U = top_eigenspace(A, min(c + 1, len(A)))
    values, U, gap = values[:c], U[:, :c], gap_after(values, c)
    H = fix_signs(Z @ linalg.solve_triangular(root, U, lower=True, trans="T", check_finite=False))
    problem = "trace of H'(sD - L)H over H with H'DH = I and F'H = 0"
    certificate = ky_fan_certificate(A, U, problem, constraint_residual(F, H))
    return FairEmbedding(H, shift - values, gap, certificate)


def _lanczos(W, degrees, weights, Q, c, shift, rng) -> FairEmbedding:
    n, root = len(degrees), np.sqrt(weights)
    k = min(c + 1, n - Q.shape[1])  # one more, for the gap
    diagonal = shift - degrees / weights

    def feasible(y):
        return y - Q @ (Q.T @ y)

    def operator(y):
        # sI - L on the feasible vectors, which makes the wanted ones the largest, and -s/2 on the others.
        inside = feasible(y.ravel())
        return feasible(diagonal * inside + (W @ (inside / root)) / root) - 0.5 * shift * (y.ravel() - inside)

    matrix = LinearOperator((n, n), matvec=operator, dtype=np.float64)
    start, basis = feasible(rng.normal(size=n)), min(n, max(2 * k + 1, k + 20))
    try:
        values, Y = eigsh(matrix, k, which="LA", v0=start, ncv=basis, tol=1e-12, maxiter=MAX_RESTARTS)
    except ArpackNoConvergence as error:
        raise NotSolvedError(
            f"Lanczos found {len(error.eigenvalues)} of {k} eigenvectors in {MAX_RESTARTS} restarts: the smallest "
            "eigenvalues of this graph lie too close together. Use solver='null_space', or more neighbours."
        ) from error
    order = np.argsort(-values, kind="stable")
    values, Y = values[order], np.linalg.qr(feasible(Y[:, order]))[0]
    values, Y, gap = values[:c], Y[:, :c], gap_after(values, c)
    return FairEmbedding(fix_signs(Y / root[:, None]), shift - values, gap, None)


@parameterised
class FairSpectralClustering(FairClusterer):
    r"""Spectral clustering whose relaxed indicators give every group its share of every cluster.

    With an affinity graph W, its degrees D and its Laplacian :math:`L = D - W`, and with
    :math:`F_{ij} = \mathbb{1}[g_i = j] - |G_j| / n`,

    .. math::

        \min_H \operatorname{tr} H^\top L H
        \quad \text{subject to} \quad H^\top D H = I_c, \quad F^\top H = 0 ,

    with :math:`H^\top H = I_c` in place of the first constraint for the unnormalised Laplacian. Indicators of clusters
    in which all groups have their overall shares are feasible. The rows of H are then clustered by k-means, and that
    step knows nothing of groups.

    Parameters
    ----------
    n_clusters : int
        The number c, at most n less the rank of F.
    affinity : {"nearest_neighbors", "precomputed"}, default "nearest_neighbors"
        The graph. With "precomputed", X is a symmetric non-negative matrix (n, n), dense or sparse, without empty rows.
    n_neighbors : int, default 20
        Neighbours in the symmetrised graph; all others, if there are fewer. More make it denser and better connected.
    laplacian : {"normalized", "unnormalized"}, default "normalized"
        The normalised one weighs samples by degree and is the usual choice.
    solver : {"auto", "null_space", "lanczos"}, default "auto"
        "null_space" works with dense matrices on a basis of the feasible vectors; "lanczos" needs products of the graph
        with vectors only. They answer the same problem. "auto" is "null_space" up to 800 samples.
    random_state, on_single_group : as in ``FairKernelKMeans``
        The generator is for the starts of k-means and of Lanczos.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_ : as in ``FairKernelKMeans``
    embedding_, eigenvalues_, eigengap_ : ndarray of shape (n, c), ndarray of shape (c,), float
        The relaxed indicators H; the smallest eigenvalues on the feasible vectors, increasing; the distance to the next
        one. If it is zero, H is one of many answers, and a warning says so.
    constraint_residual_ : float
        Largest cosine between a column of F and a column of H.
    certificate_ : Certificate or None
        Of the trace of :math:`H^\top (sD - L) H`, s being the largest possible eigenvalue, which is the step before
        k-means: with "null_space"; None with "lanczos", which may miss a copy of a repeated eigenvalue.
    solver_, inertia_ : str, float
        The solver taken; the sum of squared distances of the rows of H to the centres of their clusters.

    Guarantees
    ----------
    The coordinates of all groups have the same mean, to rounding: :math:`F^\top H = 0`. Nothing is promised about the
    clusters, which k-means forms afterwards: they may be as unfair as those of unconstrained spectral clustering, and
    ``counts_`` says how unfair they are.

    Complexity
    ----------
    "null_space": O(n^3) time and O(n^2) memory. "lanczos": O(e + n G) for a product, e being the number of edges, and
    O(e + n (G + c)) memory.

    References
    ----------
    Kleindessner, Samadi, Awasthi and Morgenstern (2019), Guarantees for spectral clustering with fairness constraints,
    Algorithms 2 and 3. Wang, Lu, Davidson and Bai (2023), Scalable spectral clustering with group fairness constraints.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> place, sex = np.repeat([0, 1], 60), np.tile(["f", "m", "m"], 40)
    >>> X = rng.normal(size=(120, 2)) + 8 * np.c_[place, sex == "m"]
    >>> clusterer = FairSpectralClustering(2).fit(X, sensitive_features=sex)
    >>> clusterer.counts_.counts.tolist()
    [[20, 20], [40, 40]]
    """

    n_clusters: int = option(CLUSTERS, default=8)
    _: KW_ONLY
    affinity: str = option(one_of("nearest_neighbors", "precomputed"), default="nearest_neighbors")
    n_neighbors: int = option(whole(1), default=20)
    laplacian: str = option(one_of("normalized", "unnormalized"), default="normalized")
    solver: str = option(one_of("auto", "null_space", "lanczos"), default="auto")
    random_state: int | np.random.Generator | None = option(SEED, default=0)
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        X, codes, c, rng = self._sample(X, sensitive_features, accept_sparse="csr")
        n, seed = len(codes), int(rng.integers(2**31))
        W = precomputed_graph(X) if self.affinity == "precomputed" else nearest_neighbour_graph(X, self.n_neighbors)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        F = share_constraints(codes, len(self.group_labels_))
        self.solver_ = ("null_space" if n <= NULL_SPACE else "lanczos") if self.solver == "auto" else self.solver
        found = fair_embedding(W, degrees, F, c, laplacian=self.laplacian, solver=self.solver_, rng=rng)
        self.embedding_, self.eigenvalues_, self.eigengap_ = found.H, found.eigenvalues, found.gap
        self.certificate_, self.constraint_residual_ = found.certificate, constraint_residual(F, found.H)
        means = plain_means(found.H, c, seed=seed, n_init=10)
        if (filled := len(np.unique(means.labels_))) < c:
            warn_caller(
                f"the embedding has fewer different rows than n_clusters={c}: {c - filled} cluster(s) stay empty. Ask "
                f"for {filled}."
            )
        self.inertia_ = float(means.inertia_)
        self._store_labels(means.labels_, codes, c)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.affinity, str) and self.affinity == "precomputed"
        return tags
