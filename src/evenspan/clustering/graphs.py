"""Affinity graphs: symmetric non-negative weights between samples, from features, from a kernel matrix or as given."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from ..core.errors import DataError
from ..core.linalg import require_symmetric


def nearest_neighbour_graph(X, n_neighbors: int = 20) -> sparse.csr_array:
    r"""The symmetrised graph of nearest neighbours :math:`W = (N + N^\top) / 2`.

    :math:`N_{ij} = 1` if j is among the points nearest to i, i itself not counted: an edge weighs 1 if each of its ends
    is a neighbour of the other, and 1/2 if only one is.

    X holds points (n, d), dense or sparse, compared by Euclidean distance. Where there are fewer than ``n_neighbors``
    others, all are neighbours. The graph (n, n) has at most 2 n ``n_neighbors`` entries and no loops.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_neighbour_graph(np.array([[0.0], [1.0], [3.0]]), n_neighbors=1).toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    return _symmetrised(X, n_neighbors, "minkowski")


def kernel_neighbour_graph(K: np.ndarray, n_neighbors: int = 20) -> sparse.csr_array:
    r"""The same graph for a kernel, whose distances are :math:`K_{ii} + K_{jj} - 2 K_{ij}`.

    Centring a kernel does not change it, and entries of K (n, n) may be negative: weights are not.
    """
    K = require_symmetric(K, "the kernel matrix")
    own = np.diagonal(K)
    return _symmetrised(np.maximum(own[:, None] + own - 2.0 * K, 0.0), n_neighbors, "precomputed")


def _symmetrised(X, n_neighbors: int, metric: str) -> sparse.csr_array:
    N = sparse.csr_array(kneighbors_graph(X, min(n_neighbors, X.shape[0] - 1), metric=metric, include_self=False))
    return sparse.csr_array(0.5 * (N + N.T))


def precomputed_graph(X):
    """An affinity matrix (n, n) that was passed, dense or sparse as it comes, checked."""
    W = require_symmetric(sparse.csr_array(X) if sparse.issparse(X) else X, "the affinity matrix")
    lowest, empty = float(W.min()), int((np.asarray(W.sum(axis=1)) <= 0).sum(axis=None))
    if lowest < 0 or empty:
        raise DataError(
            f"the affinity matrix has entries down to {lowest:.3g} and {empty} row(s) without an edge; needed are "
            "weights of at least 0, one of them positive in every row. Drop samples without an edge; a kernel "
            "becomes a graph by evenspan.clustering.kernel_neighbour_graph."
        )
    return W
