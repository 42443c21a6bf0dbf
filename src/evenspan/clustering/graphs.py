"""Affinity graphs: symmetric non-negative weights between samples, from features, from a kernel matrix or as given."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from ..core.errors import DataError
from ..core.inputs import warn_caller


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
    K = np.asarray(K, dtype=np.float64)
    require_symmetric(K, "the kernel matrix")
    own = np.diagonal(K)
    return _symmetrised(np.maximum(own[:, None] + own - 2.0 * K, 0.0), n_neighbors, "precomputed")


def _symmetrised(X, n_neighbors: int, metric: str) -> sparse.csr_array:
    n = X.shape[0]
    if n == 1:
        return sparse.csr_array((1, 1))
    N = sparse.csr_array(kneighbors_graph(X, min(n_neighbors, n - 1), metric=metric, include_self=False))
    return sparse.csr_array(0.5 * (N + N.T))


def require_symmetric(W, name: str) -> np.ndarray:
    """The entries, or those that are stored; DataError unless W is square, finite and symmetric."""
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise DataError(f"{name} has shape {W.shape}; needed is (n, n), one row and one column for each sample.")
    entries = W.data if sparse.issparse(W) else W
    difference, largest = float(abs(W - W.T).max()), float(np.abs(entries).max(initial=0.0))
    if not difference <= 1e-10 * largest:
        raise DataError(
            f"{name} is not symmetric: it and its transpose differ by up to {difference:.3g}, with entries up to "
            f"{largest:.3g}. Pass (W + W.T) / 2."
        )
    return entries


def precomputed_graph(X):
    """An affinity matrix (n, n) that was passed, dense or sparse as it comes, checked."""
    W = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    lowest = float(require_symmetric(W, "the affinity matrix").min(initial=0.0))
    if lowest < 0:
        raise DataError(
            f"the affinity matrix has negative entries, the lowest {lowest:.3g}; needed are weights of at least 0. A "
            "kernel becomes a graph by evenspan.clustering.kernel_neighbour_graph."
        )
    return W


def looped(W) -> tuple:
    """The graph with a self-loop at every sample without edges, its degrees, and how many such samples there are.

    The loop weighs as much as the smallest positive degree: D - W stays, and every degree is positive.
    """
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    lonely = degrees <= 0
    count = int(lonely.sum(axis=0))
    if not count:
        return W, degrees, 0
    if count == len(degrees):
        raise DataError(f"the affinity graph of {count} samples has no edge; needed is at least one positive weight.")
    weight = float(degrees[~lonely].min())
    loops = np.where(lonely, weight, 0.0)
    diagonal = sparse.diags_array(loops, format="csr") if sparse.issparse(W) else np.diag(loops)
    warn_caller(
        f"{count} of {len(degrees)} samples have no edge in the affinity graph; each is given a self-loop of weight "
        f"{weight:.3g}, the smallest degree of the others. More neighbours may connect them."
    )
    return W + diagonal, degrees + loops, count
