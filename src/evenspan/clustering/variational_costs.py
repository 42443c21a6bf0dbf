"""What variational fair clustering trades against fairness: k-means, k-median and the normalised cut."""

import numpy as np
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances

from ..core.errors import DataError
from ..core.running import BLOCK_ENTRIES
from .fair_spectral_embedding import SMALL, fair_embedding
from .graphs import affinity_graph, looped


class KMeansCosts:
    """Squared distances to the means of the clusters.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        The points.
    """

    def __init__(self, X):
        self.X = X
        self.squares = _squares(X)

    def seeds(self, c: int, rng: np.random.Generator) -> np.ndarray:
        """The centres (c, d) of k-means++."""
        centres, _ = kmeans_plusplus(self.X, c, random_state=int(rng.integers(2**31)))
        return _distinct(_dense(centres))

    def update(self, labels: np.ndarray, c: int) -> np.ndarray:
        """The centres (c, d) of hard clusters, none of them empty."""
        n = len(labels)
        member = sparse.csr_array((np.ones(n), (labels, np.arange(n))), shape=(c, n))
        return _dense(member @ self.X) / np.bincount(labels, minlength=c)[:, None]

    def costs(self, centres: np.ndarray) -> np.ndarray:
        """What it costs to assign each point to each cluster, shape (c, n)."""
        products = (self.X @ centres.T).T
        return np.maximum(_squares(centres)[:, None] + self.squares[None] - 2.0 * products, 0.0)

    def nearest(self, centres: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """The hard clusters that go with some centres and the costs at them."""
        return costs.argmin(axis=0)

    def energy(self, S: np.ndarray, costs: np.ndarray) -> float:
        """The clustering energy of soft or hard assignments S (c, n), with the costs at their centres."""
        return float(np.vdot(S, costs))


class KMedianCosts(KMeansCosts):
    """Distances to the medoids of the clusters, the members with the smallest sum of distances to the others."""

    def update(self, labels: np.ndarray, c: int) -> np.ndarray:
        """The medoids (c, d) of hard clusters, none of them empty; the first one on ties."""
        return _dense(self.X[[self._medoid(np.flatnonzero(labels == k)) for k in range(c)]])

    def _medoid(self, rows: np.ndarray) -> int:
        points, sums = self.X[rows], np.empty(len(rows))
        step = max(BLOCK_ENTRIES // len(rows), 1)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            sums[part] = euclidean_distances(points[part], points).sum(axis=1)
        return int(rows[np.argmin(sums)])

    def costs(self, centres: np.ndarray) -> np.ndarray:
        """What it costs to assign each point to each cluster, shape (c, n)."""
        return np.sqrt(super().costs(centres))


class NormalisedCutCosts:
    r"""The normalised cut :math:`c - \sum_k s_k^\top W s_k / d^\top s_k`, linearised at hard clusters.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        The points, or the affinity matrix.
    affinity, n_neighbors, gamma
        As in ``affinity_graph``.
    """

    def __init__(self, X, affinity: str, *, n_neighbors: int = 20, gamma="scale"):
        self.W, self.degrees, self.n_loops = looped(affinity_graph(X, affinity, n_neighbors=n_neighbors, gamma=gamma))
        self.X = None if affinity == "precomputed" else X

    def seeds(self, c: int, rng: np.random.Generator) -> np.ndarray:
        """Hard clusters around the centres of k-means++, without points in the spectral embedding of the graph."""
        points = KMeansCosts(self._spectral(c, rng) if self.X is None else self.X)
        return points.costs(points.seeds(c, rng)).argmin(axis=0)

    def _spectral(self, c: int, rng: np.random.Generator) -> np.ndarray:
        n = len(self.degrees)
        solver = "null_space" if n <= SMALL else "lanczos"
        unconstrained = np.zeros((n, 0))
        found = fair_embedding(self.W, self.degrees, unconstrained, c, laplacian="normalized", solver=solver, rng=rng)
        return found.H * np.sqrt(self.degrees.sum(axis=0))

    def update(self, labels: np.ndarray, c: int) -> np.ndarray:
        """The hard clusters themselves: costs are linear about them."""
        return labels

    def costs(self, centres: np.ndarray) -> np.ndarray:
        """The derivative of the cut by each assignment, shape (c, n), at hard clusters."""
        hard = hard_assignments(centres, int(centres.max()) + 1)
        inside, volumes = self._parts(hard)
        within = np.einsum("cn,cn->c", hard, inside)
        return (within / volumes**2)[:, None] * self.degrees[None] - 2.0 * inside / volumes[:, None]

    def nearest(self, centres: np.ndarray, costs: np.ndarray) -> np.ndarray:
        """The hard clusters that the costs are about."""
        return centres

    def energy(self, S: np.ndarray, costs: np.ndarray) -> float:
        """The cut of soft or hard assignments S (c, n)."""
        inside, volumes = self._parts(S)
        return float(len(S) - (np.einsum("cn,cn->c", S, inside) / volumes).sum(axis=0))

    def _parts(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (self.W @ S.T).T, S @ self.degrees


def hard_assignments(labels: np.ndarray, c: int) -> np.ndarray:
    """Hard assignments as an array (c, n) of zeros and ones."""
    return (labels[None] == np.arange(c)[:, None]).astype(np.float64)


def _distinct(centres: np.ndarray) -> np.ndarray:
    different = len(np.unique(centres, axis=0))
    if different < len(centres):
        raise DataError(
            f"k-means++ found {different} different seeds, and n_clusters={len(centres)}: there are too few different "
            f"points. Ask for at most {different} clusters."
        )
    return centres


def _squares(X) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("nd,nd->n", X, X)


def _dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
