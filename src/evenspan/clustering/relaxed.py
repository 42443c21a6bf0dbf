"""Where fair kernel k-means starts: relaxed kernel k-means, k-means on the leading eigenvectors of the kernel."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..core.errors import ConfigurationError
from .eigen import leading_eigenpairs
from .gram import BlockGram, FactorGram, Gram


@dataclass(frozen=True, eq=False)
class RelaxedStart:
    """Labels to start from, and the leading eigenvalues that bound what any clustering can reach.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each point, from 0; none is empty.
    eigenvalues : ndarray of shape (c,)
        The largest eigenvalues of the kernel matrix, decreasing.
    """

    labels: np.ndarray
    eigenvalues: np.ndarray


def relaxed_start(gram: Gram, n_clusters: int, rng: np.random.Generator, *, n_init: int = 10) -> RelaxedStart:
    r"""Relaxed kernel k-means.

    The trace of :math:`H^\top K H` over all H with orthonormal columns is largest for the leading eigenvectors. Their
    rows are scaled to unit length and clustered by k-means.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        For the start of the eigensolver and of k-means.
    n_init : int
        Runs of k-means, of which the best is taken.

    Returns
    -------
    RelaxedStart

    References
    ----------
    Zhou, Li and Du (2024), Algorithm 1, step 3.
    """
    values, H = leading_eigenvectors(gram, n_clusters, rng)
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    H = np.divide(H, lengths, out=np.zeros_like(H), where=lengths > 0)  # a row of zeros stays one
    means = KMeans(n_clusters, n_init=n_init, max_iter=50, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        # fewer different rows than clusters: the empty clusters are filled below
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = means.fit_predict(H).astype(np.intp)
    return RelaxedStart(fill_empty(gram, labels, n_clusters), values)


def relaxed_labels(gram: Gram, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """The labels of `relaxed_start`."""
    return relaxed_start(gram, n_clusters, rng).labels


def leading_eigenvectors(gram: Gram, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, decreasing, and their eigenvectors (n, k); in double precision.

    A factor is decomposed through its d x d product, a small matrix whole, a large one by Lanczos steps, and one that
    is computed block by block in few passes, to a thousandth. Eigenvectors without eigenvalue, beyond the rank,
    are zero.
    """
    if isinstance(gram, FactorGram) and gram.Z.shape[1] <= gram.n:
        Z = gram.Z
        values, vectors = np.linalg.eigh(np.asarray(Z.T @ Z, dtype=np.float64))
        values, vectors = np.maximum(values[: -k - 1 : -1], 0.0), vectors[:, : -k - 1 : -1]
        H = Z @ vectors
        scale = np.sqrt(values)
        positive = scale > 1e-7 * max(scale[0], np.finfo(float).tiny)
        H = np.divide(H, scale, out=np.zeros(H.shape), where=positive)
        missing = k - H.shape[1]
        return np.pad(np.where(positive, values, 0.0), (0, missing)), np.pad(H, ((0, 0), (0, missing)))
    values, H = leading_eigenpairs(
        gram.product, gram.n, k, rng, precision=gram.precision, few_products=isinstance(gram, BlockGram)
    )
    # beyond the rank of the kernel eigenvectors are rounding noise, which no two machines share
    cut = (1e-10 if gram.precision == 0.0 else 1e-6) * np.abs(values).max(axis=0)
    return values, np.where(np.abs(values) > cut, H, 0.0)


def fill_empty(gram: Gram, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Labels in which every cluster has a point: each empty one gets the point farthest from its centre.

    Points are taken from clusters with more than one; of equal distances the first counts.
    """
    labels = np.array(labels, dtype=np.intp)
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        sizes = np.bincount(labels, minlength=n_clusters).astype(float)
        sums = gram.sums(labels, n_clusters)
        q = sums.within(labels)
        s = sums.window(0, gram.n)[labels, np.arange(gram.n)]
        size = sizes[labels]
        distances = gram.diagonal - 2.0 * s / size + q[labels] / size**2
        labels[np.where(size > 1, distances, -np.inf).argmax()] = empty
    return labels


def starting_point(gram: Gram, init, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """The labels that ``init`` names: "relaxed", or one label for each point; no cluster is empty."""
    if isinstance(init, str):
        if init != "relaxed":
            raise ConfigurationError(f"init={init!r}; needed is 'relaxed' or one label for each point.")
        return relaxed_labels(gram, n_clusters, rng)
    given = np.asarray(init)
    if given.shape != (gram.n,):
        raise ConfigurationError(f"init has shape {given.shape}; needed is one label for each of {gram.n} points.")
    seen, labels = np.unique(given, return_inverse=True)
    if len(seen) > n_clusters:
        raise ConfigurationError(
            f"init has {len(seen)} different labels, but n_clusters={n_clusters}. Raise n_clusters or merge labels."
        )
    # labels that are numbers of clusters already keep their order
    if given.dtype.kind in "iu" and seen[0] >= 0 and seen[-1] < n_clusters:
        labels = given
    return fill_empty(gram, labels, n_clusters)
