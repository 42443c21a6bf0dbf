"""Kernel k-means without fairness: the relaxed form, and Lloyd's steps in the feature space."""

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from ..core.answer import Certificate
from ..core.errors import ConfigurationError
from ..core.estimator import require_generator, warn_caller
from ..core.inputs import whole_number
from .estimator import numeric_table, require_clusters
from .gram import Gram
from .kernel_input import KernelInput
from .relaxed import fill_empty, relaxed_start


class KernelKMeans(KernelInput, ClusterMixin, BaseEstimator):
    r"""Kernel k-means: points near to the mean of their cluster in the feature space of a kernel.

    .. math::

        \max_{Y} \; \operatorname{tr} Y^\top K Y (Y^\top Y)^{-1} ,

    over cluster indicators :math:`Y`, which is the same as the smallest sum of squared distances
    :math:`k_{ii} - 2 s_{ki} / n_k + q_k / n_k^2` of points to their cluster means.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters c.
    algorithm : {"relaxed", "lloyd"}, default "relaxed"
        "relaxed": k-means on the leading eigenvectors with rows of length one, the start of fair kernel k-means and the
        method "KKM" of its table. "lloyd": all points go to the nearest mean, again and again.
    kernel : {"rbf", "polynomial", "sigmoid", "linear", "precomputed"} or callable, default "rbf"
        With "linear" nothing of size n x n is formed. "precomputed" takes the kernel matrix in place of X.
    gamma : {"scale", "auto"} or float, default "scale"
        The factor of "rbf", "polynomial" and "sigmoid".
    degree, coef0 : int, float
        Of "polynomial" and "sigmoid".
    center, normalize : bool, default False
        Move the feature space to its mean; then put all points at length one.
    n_init : int, default 10
        Starts; the best is taken. Those of "lloyd" are random labels, the first one relaxed.
    max_iter : int, default 300
        Steps of "lloyd" from one start.
    dtype : {"float64", "float32"}, default "float64"
        Precision in which the kernel is stored.
    storage : {"auto", "dense", "factor", "blocks"}, default "auto"
        "blocks" computes rows of the kernel when they are needed.
    random_state : int, Generator or None, default 0
        For the starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each point, from 0.
    objective_ : float
        The maximised trace.
    inertia_ : float
        Sum of squared distances to the cluster means, the trace of K less the objective.
    n_iter_ : int
        Steps from the best start; 1 for "relaxed".
    at_rest_ : bool
        Whether no point is nearer to another mean; None for "relaxed", which is no descent.
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
    >>> labels = KernelKMeans(2, algorithm="lloyd", kernel="linear").fit_predict(X)
    >>> sorted(np.bincount(labels).tolist())
    [3, 3]
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        algorithm="relaxed",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        center=False,
        normalize=False,
        n_init=10,
        max_iter=300,
        dtype="float64",
        storage="auto",
        random_state=0,
    ):
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.normalize = normalize
        self.n_init = n_init
        self.max_iter = max_iter
        self.dtype = dtype
        self.storage = storage
        self.random_state = random_state

    def fit(self, X, y=None):
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
        if self.algorithm not in ("relaxed", "lloyd"):
            raise ConfigurationError(f"algorithm={self.algorithm!r}; needed is 'relaxed' or 'lloyd'.")
        n_init, max_iter = whole_number("n_init", self.n_init, 1), whole_number("max_iter", self.max_iter, 1)
        rng = require_generator(self.random_state)
        X = numeric_table(self, X)
        c = require_clusters(self.n_clusters, len(X))
        gram = self._gram(X)
        start = relaxed_start(gram, c, rng, n_init=n_init)
        if self.algorithm == "relaxed":
            labels, self.n_iter_, self.at_rest_ = start.labels, 1, None
            self.objective_ = _objective(gram, labels, c)
        else:
            starts = [start.labels, *(rng.integers(c, size=gram.n) for _ in range(n_init - 1))]
            runs = [_lloyd(gram, fill_empty(gram, labels, c), c, max_iter) for labels in starts]
            labels, self.objective_, self.n_iter_, self.at_rest_ = max(runs, key=lambda run: run[1])
            if not self.at_rest_:
                warn_caller(
                    f"labels still changed after {max_iter} steps. Raise max_iter; with a kernel that is not positive "
                    "semidefinite the steps need not end.",
                    ConvergenceWarning,
                )
        self.labels_ = np.asarray(labels, dtype=np.int64)
        self.inertia_ = float(gram.diagonal.sum(axis=0)) - self.objective_
        self.certificate_ = Certificate(
            "trace of the kernel over all clusterings", self.objective_, float(start.eigenvalues.sum(axis=0))
        )
        return self


def _objective(gram: Gram, labels: np.ndarray, n_clusters: int) -> float:
    return float((gram.sums(labels, n_clusters).within(labels) / np.bincount(labels, minlength=n_clusters)).sum(axis=0))


def _lloyd(gram: Gram, labels: np.ndarray, n_clusters: int, max_iter: int) -> tuple[np.ndarray, float, int, bool]:
    """Steps to the nearest mean from one start: labels, objective, number of steps and whether they came to rest."""
    for step in range(1, max_iter + 1):
        sizes = np.bincount(labels, minlength=n_clusters)[:, None]
        sums = gram.sums(labels, n_clusters)
        distances = (sums.within(labels)[:, None] / sizes - 2.0 * sums.window(0, gram.n)) / sizes
        new = fill_empty(gram, distances.argmin(axis=0), n_clusters)
        if np.array_equal(new, labels):
            return labels, _objective(gram, labels, n_clusters), step, True
        labels = new
    return labels, _objective(gram, labels, n_clusters), max_iter, False
