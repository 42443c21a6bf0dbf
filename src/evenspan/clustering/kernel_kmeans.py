"""Kernel k-means without fairness: Lloyd's steps in the feature space, and the relaxed form that they start from."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from ..core.errors import ConfigurationError
from ..core.estimator import NotConvergedWarning, numeric_table
from ..core.inputs import require_generator, warn_caller
from ..core.linalg import leading_eigenpairs
from ..core.options import CLUSTERS, GAMMA, KERNEL, SEED, Option, Options, one_of, option, parameterised, whole
from .bounds import certified
from .estimator import plain_means, require_clusters
from .kernels import FactorGram, Gram, KernelInput


class RelaxedStart(NamedTuple):
    """Labels (n,) to start from, none empty, and the c leading eigenvalues, which bound what any clustering reaches."""

    labels: np.ndarray
    eigenvalues: np.ndarray


def relaxed_start(gram: Gram, n_clusters: int, rng: np.random.Generator, *, n_init: int = 10) -> RelaxedStart:
    """``n_init`` runs of k-means on the leading eigenvectors of unit rows (Zhou et al. 2024, Algorithm 1, step 3)."""
    values, H = leading_eigenvectors(gram, n_clusters, rng)
    lengths = np.linalg.norm(H, axis=1, keepdims=True)
    H = np.divide(H, lengths, out=np.zeros_like(H), where=lengths > 0)  # a row of zeros stays one
    means = plain_means(H, n_clusters, seed=int(rng.integers(2**31)), n_init=n_init, max_iter=50)
    return RelaxedStart(fill_empty(gram, means.labels_, n_clusters), values)


def leading_eigenvectors(gram: Gram, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, decreasing, and eigenvectors (n, k), which are zero beyond the rank."""
    if isinstance(gram, FactorGram) and gram.Z.shape[1] <= gram.n:
        values, vectors = np.linalg.eigh(gram.Z.T @ gram.Z)
        values, vectors = np.maximum(values[: -k - 1 : -1], 0.0), vectors[:, : -k - 1 : -1]
        scale = np.sqrt(values)
        positive = scale > 1e-7 * max(scale[0], np.finfo(float).tiny)
        H = (gram.Z @ vectors) / np.where(positive, scale, np.inf)
        missing = k - len(values)
        return np.pad(np.where(positive, values, 0.0), (0, missing)), np.pad(H, ((0, 0), (0, missing)))
    values, H = leading_eigenpairs(gram.product, gram.n, k, rng, precision=gram.precision)
    # beyond the rank of the kernel eigenvectors are rounding noise, which no two machines share
    cut = (1e-10 if gram.precision == 0.0 else 1e-6) * np.abs(values).max(axis=0)
    return values, np.where(np.abs(values) > cut, H, 0.0)


def fill_empty(gram: Gram, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Labels in which every cluster has a point: each empty one gets the point farthest from its centre."""
    labels = np.array(labels, dtype=np.intp)
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        sums, sizes = gram.sums(labels, n_clusters), np.bincount(labels, minlength=n_clusters)[labels].astype(float)
        s = sums.window(0, gram.n)[labels, np.arange(gram.n)]
        distances = gram.diagonal - 2.0 * s / sizes + sums.within(labels)[labels] / sizes**2
        labels[np.where(sizes > 1, distances, -np.inf).argmax()] = empty
    return labels


def warn_if_few(gram: Gram, n_clusters: int) -> None:
    """Warn where fewer points than clusters are distinct; each looked at is the farthest from those before it."""
    tie = 16.0 * float(np.finfo(np.float32 if gram.precision else np.float64).eps) * float(np.abs(gram.diagonal).max())
    nearest, i = np.full(gram.n, np.inf), 0
    for found in range(1, n_clusters):
        nearest = np.minimum(nearest, gram.diagonal - 2.0 * gram.row(i) + gram.diagonal[i])
        i = int(nearest.argmax())
        if nearest[i] <= tie:
            warn_caller(
                f"only {found} of the {gram.n} points are distinct in this kernel, and n_clusters={n_clusters}: equal "
                f"points are in different clusters. Ask for at most {found} clusters."
            )
            return


#: Where the passes begin.
START = Option(lambda init: np.ndim(init) == 1, "one label for each point") | one_of("relaxed")


def starting_point(gram: Gram, init, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """The labels that ``init`` names: "relaxed", or one label for each point; no cluster is empty."""
    warn_if_few(gram, n_clusters)
    if isinstance(init, str) and init == "relaxed":
        return relaxed_start(gram, n_clusters, rng).labels
    seen, labels = np.unique(np.asarray(init), return_inverse=True)
    if np.shape(init) != (gram.n,) or len(seen) > n_clusters:
        raise ConfigurationError(
            f"init={init!r} has shape {np.shape(init)} and {len(seen)} different labels; needed is 'relaxed', or one "
            f"label for each of {gram.n} points, of which at most n_clusters={n_clusters} are different."
        )
    return fill_empty(gram, labels, n_clusters)


@parameterised
class KernelKMeans(KernelInput, Options, ClusterMixin, BaseEstimator):
    r"""Kernel k-means: points near to the mean of their cluster in the feature space of a kernel.

    .. math::

        \max_{Y} \; \operatorname{tr} Y^\top K Y (Y^\top Y)^{-1} ,

    over cluster indicators :math:`Y`, which is the same as the smallest sum of squared distances
    :math:`k_{ii} - 2 s_{ki} / n_k + q_k / n_k^2` of points to their cluster means.

    Parameters
    ----------
    n_clusters : int, default 8
        The number c.
    algorithm : {"lloyd", "relaxed"}, default "lloyd"
        "lloyd": all points go to the nearest mean, again and again. "relaxed": k-means on the leading eigenvectors with
        rows of length one, the start of fair kernel k-means; it can be far from a local optimum of the objective.
    kernel, gamma : as in ``FairKernelKMeans``
        The kernel and its factor.
    n_init, max_iter : int, default 10 and 300
        Starts, of which the best is taken, the first one relaxed and the others random; steps of "lloyd" from each.
    random_state : as in ``FairKernelKMeans``
        The generator for the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each point, from 0.
    objective_, inertia_ : float
        The maximised trace; the sum of squared distances to the cluster means, the trace of K less the objective.
    n_iter_, converged_ : int, bool
        Steps from the best start, and whether no point is nearer to another mean; 1 and None for "relaxed".
    certificate_ : Certificate
        The objective and the sum of the c largest eigenvalues, which no clustering exceeds.

    Guarantees
    ----------
    The objective of "lloyd" never falls for a positive semidefinite kernel. No cluster is empty.

    Complexity
    ----------
    "relaxed": c eigenvectors. "lloyd": O(n^2 c) for each step, O(n c d) with a linear kernel.

    References
    ----------
    Dhillon, Guan and Kulis (2004), Kernel k-means, spectral clustering and normalized cuts.

    Examples
    --------
    >>> import numpy as np
    >>> from evenspan import KernelKMeans
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.3]])
    >>> sorted(np.bincount(KernelKMeans(2, kernel="linear").fit_predict(X)).tolist())
    [3, 3]
    """

    n_clusters: int = option(CLUSTERS, default=8)
    _: KW_ONLY
    algorithm: str = option(one_of("lloyd", "relaxed"), default="lloyd")
    kernel: str | Callable = option(KERNEL, default="rbf")
    gamma: float | str = option(GAMMA, default="scale")
    n_init: int = option(whole(1), default=10)
    max_iter: int = option(whole(1), default=300)
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    def fit(self, X, y=None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numeric features, or the kernel matrix (n, n) with ``kernel="precomputed"``.
        y : array-like of shape (n,), optional
            Not used.

        Returns
        -------
        self
        """
        self._check_options()
        rng = require_generator(self.random_state)
        X = numeric_table(self, X)
        c = require_clusters(self.n_clusters, len(X))
        gram = self._gram(X)
        warn_if_few(gram, c)
        start = relaxed_start(gram, c, rng, n_init=self.n_init)
        if self.algorithm == "relaxed":
            runs = [(start.labels, clustered_trace(gram, start.labels, c), 1, None)]
        else:
            starts = [start.labels, *(rng.integers(c, size=gram.n) for _ in range(self.n_init - 1))]
            runs = [_lloyd(gram, fill_empty(gram, labels, c), c, self.max_iter) for labels in starts]
        labels, self.objective_, self.n_iter_, self.converged_ = max(runs, key=lambda run: run[1])
        if self.converged_ is False:
            warn_caller(
                f"labels still changed after {self.max_iter} steps. Raise max_iter; with a kernel that is not positive "
                "semidefinite the steps need not end.",
                NotConvergedWarning,
            )
        self.labels_ = np.asarray(labels, dtype=np.int64)
        self._remember(X, gram, self.labels_)
        self.inertia_ = float(gram.diagonal.sum(axis=0)) - self.objective_
        bound = float(start.eigenvalues.sum(axis=0))
        self.certificate_ = certified("trace of the kernel over all clusterings", self.objective_, bound, gram)
        return self


def clustered_trace(gram: Gram, labels: np.ndarray, n_clusters: int) -> float:
    r"""The trace :math:`\sum_k y_k^\top K y_k / n_k` of a clustering."""
    return float((gram.sums(labels, n_clusters).within(labels) / np.bincount(labels, minlength=n_clusters)).sum(axis=0))


def _lloyd(gram: Gram, labels: np.ndarray, n_clusters: int, max_iter: int) -> tuple[np.ndarray, float, int, bool]:
    """Steps to the nearest mean from one start: labels, objective, number of steps and whether they came to rest."""
    for step in range(1, max_iter + 1):
        sizes, sums, last = np.bincount(labels, minlength=n_clusters)[:, None], gram.sums(labels, n_clusters), labels
        distances = (sums.within(labels)[:, None] / sizes - 2.0 * sums.window(0, gram.n)) / sizes
        labels = fill_empty(gram, distances.argmin(axis=0), n_clusters)
        if np.array_equal(labels, last):
            return labels, clustered_trace(gram, labels, n_clusters), step, True
    return labels, clustered_trace(gram, labels, n_clusters), max_iter, False
