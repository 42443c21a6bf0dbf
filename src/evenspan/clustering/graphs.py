"""Affinity graphs: symmetric non-negative weights between samples, from features, from a kernel matrix or as given."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from ..core.accumulator import BLOCK_ENTRIES
from ..core.errors import DataError
from ..core.estimator import warn_caller
from ..core.inputs import whole_number
from ..core.kernels import resolve_kernel
from ..core.limits import require_memory
from ..core.options import one_of

#: Where the weights of a graph come from.
AFFINITY = one_of("nearest_neighbors", "rbf", "precomputed")


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
    k = min(whole_number("n_neighbors", n_neighbors, 1), X.shape[0] - 1)
    if k == 0:
        return sparse.csr_array((1, 1))
    found = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
    return _symmetrised(found)


def kernel_neighbour_graph(K: np.ndarray, n_neighbors: int = 20) -> sparse.csr_array:
    r"""The same graph for a kernel, whose distances are :math:`K_{ii} + K_{jj} - 2 K_{ij}`.

    Centring a kernel does not change it, and entries of K (n, n) may be negative: weights are not.
    """
    K = np.asarray(K)
    _symmetric_entries(K, "the kernel matrix")
    n = len(K)
    k = min(whole_number("n_neighbors", n_neighbors, 1), n - 1)
    if k == 0:
        return sparse.csr_array((1, 1))
    own, found = np.diagonal(K).astype(np.float64), np.empty((n, k), dtype=np.intp)
    step = max(BLOCK_ENTRIES // n, 1)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        far = own[None] - 2.0 * K[rows]  # the term of the row itself changes no order
        far[np.arange(len(rows)), rows] = np.inf
        found[rows] = np.argpartition(far, k - 1, axis=1)[:, :k]
    return _symmetrised(found)


def _symmetrised(neighbours: np.ndarray) -> sparse.csr_array:
    n, k = neighbours.shape
    N = sparse.csr_array((np.ones(n * k), neighbours.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return sparse.csr_array(0.5 * (N + N.T))


def affinity_graph(X, affinity: str, *, n_neighbors: int = 20, gamma="scale"):
    """The affinity matrix (n, n) of the rows of X, dense or sparse as it comes, checked; that of "rbf" has no loops."""
    if affinity == "nearest_neighbors":
        return nearest_neighbour_graph(X, n_neighbors)
    if affinity == "precomputed":
        W = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        entries = _symmetric_entries(W, "the affinity matrix")
        lowest = float(entries.min(initial=0.0))
        if lowest < 0:
            raise DataError(
                f"the affinity matrix has {int((entries < 0).sum(axis=None))} negative entries, the lowest "
                f"{lowest:.3g}; needed are weights of at least 0. A kernel becomes a graph by "
                "evenspan.clustering.graphs.kernel_neighbour_graph."
            )
        return W
    if sparse.issparse(X):
        raise DataError(
            "X is sparse and affinity='rbf' is a full matrix of affinities. Pass X.toarray(), or choose "
            "affinity='nearest_neighbors'."
        )
    n = len(X)
    require_memory(
        3 * 8 * n**2,
        f"the full matrix of affinities of {n} points, and two more while it is made,",
        "affinity='nearest_neighbors' needs no such matrix.",
    )
    W = resolve_kernel("rbf", X, np.ones(n), gamma=gamma, degree=3, coef0=1.0).matrix(X, np.arange(n))
    np.fill_diagonal(W, 0.0)
    return W


def _symmetric_entries(W, name: str) -> np.ndarray:
    """The entries, or those that are stored; DataError unless W is square, finite and symmetric."""
    if W.ndim != 2 or W.shape[0] != W.shape[1] or not W.shape[0]:
        raise DataError(f"{name} has shape {W.shape}; needed is (n, n), one row and one column for each sample.")
    entries = W.data if sparse.issparse(W) else W
    if not np.isfinite(entries).all():
        raise DataError(f"{name} contains NaN or inf; needed are finite numbers.")
    difference = abs(W - W.T)
    apart, largest = float(difference.max()), float(np.abs(entries).max(initial=0.0))
    if apart > 1e-10 * largest:
        raise DataError(
            f"{name} is not symmetric: it and its transpose differ by up to {apart:.3g}, with entries up to "
            f"{largest:.3g}. Pass (W + W.T) / 2."
        )
    return entries


def looped(W) -> tuple:
    """The graph with a self-loop at every sample without edges, its degrees, and how many such samples there are.

    The loop weighs as much as the smallest positive degree. It leaves D - W as it is and makes every degree positive.
    A graph without any edge is refused; loops are warned of.
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
