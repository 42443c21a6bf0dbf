"""Fair spectral clustering (Kleindessner et al. 2019): the relaxed problem, then k-means."""

from sklearn.cluster import KMeans

from ..core.estimator import require_generator
from ..core.inputs import whole_number
from .estimator import FairClusterer, require_clusters
from .fair_spectral_embedding import SMALL, constraint_residual, fair_embedding, share_constraints
from .graphs import affinity_graph, looped


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
    n_clusters : int, default 8
        The number of clusters c, at most n less the rank of F.
    affinity : {"nearest_neighbors", "rbf", "precomputed"}, default "nearest_neighbors"
        The graph; "rbf" is dense. With "precomputed", X is a symmetric non-negative matrix (n, n), dense or sparse.
    n_neighbors : int, default 20
        Neighbours in the symmetrised graph; all others, if there are fewer. More make it denser and better connected.
    gamma : {"scale", "auto"} or float, default "scale"
        The factor in "rbf"; larger tells closer points apart.
    laplacian : {"normalized", "unnormalized"}, default "normalized"
        The normalised one weighs samples by degree and is the usual choice.
    solver : {"auto", "null_space", "lanczos"}, default "auto"
        "null_space" works with dense matrices on a basis of the feasible vectors; "lanczos" needs products of the graph
        with vectors only. They answer the same problem. "auto" is "null_space" up to 800 samples.
    n_init : int, default 10
        Starts of k-means, of which the best is kept.
    random_state : int, default 0
        Decides the starts of k-means and of Lanczos.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each row of X.
    counts_ : ClusterCounts
        How many rows of each group are in each cluster.
    embedding_ : ndarray of shape (n, c)
        The relaxed indicators H.
    eigenvalues_ : ndarray of shape (c,)
        The smallest eigenvalues on the feasible vectors, increasing.
    eigengap_ : float
        Distance to the next eigenvalue. If it is zero, H is one of many answers, and a warning says so.
    residuals_ : ndarray of shape (c,)
        Length of what remains of each eigenvalue equation, over the largest possible eigenvalue. A small one says that
        there is an eigenvalue near, not that it is one of the smallest.
    constraint_residual_ : float
        Largest cosine between a column of F and a column of H.
    certificate_ : Certificate or None
        Of the trace of :math:`H^\top (sD - L) H`, s being the largest possible eigenvalue: a proof with "null_space",
        None with "lanczos", where a second run from another start looks for an eigenvalue that the first has missed.
    converged_ : bool
        Whether Lanczos reached its tolerance; True with "null_space".
    solver_ : str
        The solver taken.
    constraint_rank_ : int
        The rank of F, the number of groups less one.
    n_loops_ : int
        Samples without an edge, which were given a self-loop of the smallest positive degree, with a warning.
    inertia_ : float
        Sum of squared distances of the rows of H to the centres of their clusters.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups.

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

    def __init__(
        self,
        n_clusters=8,
        *,
        affinity="nearest_neighbors",
        n_neighbors=20,
        gamma="scale",
        laplacian="normalized",
        solver="auto",
        n_init=10,
        random_state=0,
    ):
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.laplacian = laplacian
        self.solver = solver
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X, y=None, *, sensitive_features):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, DataFrame or sparse matrix of shape (n, d)
            Numeric features, or the affinity matrix (n, n) with ``affinity="precomputed"``.
        y : array-like of shape (n,), optional
            Not used.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row; each combination of p columns is a group.

        Returns
        -------
        self
        """
        rng = require_generator(self.random_state)
        seed = int(rng.integers(2**31))
        n_init = whole_number("n_init", self.n_init, 1)
        X = self._table(X, accept_sparse="csr")
        n = X.shape[0]
        codes = self._groups(sensitive_features, n)
        c = require_clusters(self.n_clusters, n)
        W = affinity_graph(X, self.affinity, n_neighbors=self.n_neighbors, gamma=self.gamma)
        W, degrees, self.n_loops_ = looped(W)
        F = share_constraints(codes, len(self.group_labels_))
        self.solver_ = ("null_space" if n <= SMALL else "lanczos") if self.solver == "auto" else self.solver
        found = fair_embedding(W, degrees, F, c, laplacian=self.laplacian, solver=self.solver_, rng=rng)
        self.embedding_, self.eigenvalues_, self.eigengap_ = found.H, found.eigenvalues, found.gap
        self.residuals_, self.converged_, self.certificate_ = found.residuals, found.converged, found.certificate
        self.constraint_rank_ = F.shape[1]
        self.constraint_residual_ = constraint_residual(F, found.H)
        means = KMeans(c, n_init=n_init, random_state=seed).fit(found.H)
        self.inertia_ = float(means.inertia_)
        self._store_labels(means.labels_, codes, c)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not (isinstance(self.affinity, str) and self.affinity == "rbf")
        tags.input_tags.pairwise = isinstance(self.affinity, str) and self.affinity == "precomputed"
        return tags
