"""Fairness-first clustering (Pan and Zhong 2023), rebuilt from its abstract: balance first, then the sum of squares."""

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from ..core.errors import ConfigurationError
from ..core.estimator import require_generator, warn_caller
from ..core.inputs import whole_number
from .estimator import FairClusterer, number_at_least, require_clusters
from .local_search import Partition, move_points, swap_points
from .transport import fair_counts, transport


class FairnessFirstClustering(FairClusterer):
    r"""K-means that starts from fair clusters and gives up only a stated part of their balance.

    With :math:`n_{jk}` the points of group j in cluster k, a low

    .. math::

        \min_{l, M} \sum_{i=1}^n \lVert x_i - m_{l_i} \rVert^2
        \quad \text{subject to} \quad \min_{j, j'} \frac{n_{jk}}{n_{j'k}} \ge \theta B \quad \text{for every cluster } k

    is sought in three stages. (1) k-means inside every group; the centres of the groups are matched to those of the
    largest group and merged; then each group is divided over the merged centres at the least cost, in numbers that are
    in proportion up to rounding. Their balance is B. (2) Single points move, the greatest gain first, while the balance
    of no cluster falls below :math:`\theta B`. (3) Two points of the same group change clusters while that helps,
    which changes no :math:`n_{jk}`.

    This is a reconstruction: only the abstract of the paper was at hand, which names the three stages and not their
    details.

    Parameters
    ----------
    n_clusters : int, default 8
        Number of clusters c.
    threshold : float in [0, 1], default 0.9
        The share :math:`\theta` of the first balance that stage 2 must keep. 1 keeps all of it, 0 none.
    n_init : int, default 1
        Number of starts, of which the one with the lowest sum of squares is kept. Each has its own B.
    max_sweeps : int, default 100
        Largest number of passes of stage 3.
    random_state : int or numpy Generator, default 0
        For the k-means runs of stage 1.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each point; no cluster is empty.
    counts_ : ClusterCounts
        The counts :math:`n_{jk}`.
    centers_ : ndarray of shape (c, d)
        Means of the clusters.
    inertia_ : float
        The sum of squared distances to them.
    stages_ : tuple of dict
        For each stage its name, the sum of squares ("inertia") and the balance after it.
    n_moves_, n_swaps_ : int
        Moves of stage 2, and swaps of stage 3.
    at_rest_ : bool
        Whether no swap lowers the sum of squares further. It is then a local minimum in that sense; nothing more is
        known of how near it is to the lowest.
    group_labels_, group_counts_ : ndarray of shape (G,)
        The groups of the fitting sample.

    Guarantees
    ----------
    After stage 1 every :math:`n_{jk}` is the proportional share of a cluster rounded down or up, with the highest
    balance that such rounding admits. The balance of the answer is at least :math:`\theta` times that. No stage after
    the first raises the sum of squares.

    Complexity
    ----------
    k-means in every group; O(n c log n) for the division; O(n (c + d)) for each move or swap; O(n^2 d / G) for a pass
    of stage 3. Memory O(n (c + d)), and no n x n object.

    References
    ----------
    R. Pan and C. Zhong (2023), Fairness first clustering: a multi-stage approach for mitigating bias, Electronics
    12(13), 2969. A rival in Zhou, Li and Du (2024), where it is called FFC.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f", "m"] * 60)
    >>> X = rng.normal(size=(120, 2)) + 6.0 * np.outer(sex == "m", [1, 0]) + 2.0 * np.outer(np.arange(120) < 60, [0, 1])
    >>> model = FairnessFirstClustering(2).fit(X, sensitive_features=sex)
    >>> bool(model.counts_.balance >= 0.9)
    True
    """

    def __init__(self, n_clusters=8, *, threshold=0.9, n_init=1, max_sweeps=100, random_state=0):
        self.n_clusters = n_clusters
        self.threshold = threshold
        self.n_init = n_init
        self.max_sweeps = max_sweeps
        self.random_state = random_state

    def fit(self, X, y=None, *, sensitive_features):
        """Fit to data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Numeric features.
        y : array-like of shape (n,), optional
            Not used.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame
            Group label of each row; each combination of p columns is a group.

        Returns
        -------
        self
        """
        X = np.asarray(self._table(X), dtype=np.float64)
        codes = self._groups(sensitive_features, len(X))
        c = require_clusters(self.n_clusters, len(X))
        if number_at_least("threshold", self.threshold, 0.0) > 1.0:
            raise ConfigurationError(f"threshold={self.threshold!r}; needed is a number from 0 to 1.")
        runs, sweeps = whole_number("n_init", self.n_init, 1), whole_number("max_sweeps", self.max_sweeps, 1)
        rng = require_generator(self.random_state)
        Z = X - X.mean(axis=0)
        if Z.shape[1] > 2 * len(Z):
            Z = np.linalg.qr(Z.T, mode="r").T  # the same points turned: all inner products stay
        best = min((self._run(Z, codes, c, sweeps, rng) for _ in range(runs)), key=lambda found: found[0].inertia)
        partition, self.stages_, self.n_moves_, self.n_swaps_, self.at_rest_ = best
        self._store_labels(partition.labels, codes, c)
        self.centers_ = np.array([X[self.labels_ == k].mean(axis=0) for k in range(c)])
        self.inertia_ = float(((X - self.centers_[self.labels_]) ** 2).sum(axis=None))
        if not self.at_rest_:
            warn_caller(
                f"after {sweeps} passes swaps still lower the sum of squares. Raise max_sweeps to go on; at_rest_ is "
                "False until then.",
                ConvergenceWarning,
            )
        return self

    def _run(self, Z: np.ndarray, codes: np.ndarray, c: int, sweeps: int, rng: np.random.Generator):
        stages = []

        def note(stage: str) -> None:
            partition.refresh()
            stages.append({"stage": stage, "inertia": partition.inertia, "balance": partition.balance})

        partition = Partition(Z, codes, fair_start(Z, codes, c, rng), c)
        note("fair start")
        moves = move_points(partition, self.threshold * partition.balance)
        note("moves")
        swaps, at_rest = swap_points(partition, sweeps)
        note("swaps")
        return partition, tuple(stages), moves, swaps, at_rest


def fair_start(X: np.ndarray, codes: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Labels in which every cluster has each group in its share up to rounding, near centres common to the groups.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Points.
    codes : ndarray of shape (n,)
        Group of each, from 0.
    n_clusters : int
        Number of clusters.
    rng : numpy.random.Generator
        For k-means.

    Returns
    -------
    ndarray of shape (n,)
    """
    group_sizes = np.bincount(codes)
    groups = [X[codes == j] for j in range(len(group_sizes))]
    largest = int(group_sizes.argmax())
    # A largest group with fewer points than clusters has too few centres to match the others to.
    reference = _means(groups[largest] if group_sizes[largest] >= n_clusters else X, n_clusters, rng)[0]
    sums, sizes = np.zeros_like(reference), np.zeros(n_clusters, dtype=np.int64)
    for j, points in enumerate(groups):
        if j == largest and len(points) >= n_clusters:
            centres, labels = reference, _nearest(points, reference)
        else:
            centres, labels = _means(points, min(n_clusters, len(points)), rng)
        own, matched = linear_sum_assignment(_squared_distances(centres, reference))
        weights = np.bincount(labels, minlength=len(centres))[own]
        sums[matched] += weights[:, None] * centres[own]
        sizes[matched] += weights
    merged = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], reference)
    for empty in np.flatnonzero(sizes == 0):  # fewer different points than clusters
        sizes[sizes.argmax()] -= 1
        sizes[empty] = 1
    shares, labels = fair_counts(group_sizes, sizes), np.empty(len(X), dtype=np.intp)
    for j, points in enumerate(groups):
        labels[codes == j] = transport(_squared_distances(points, merged), shares[j])
    return labels


def _means(points: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centres (k, d) and labels of k-means."""
    means = KMeans(k, n_init=10, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different points than clusters: seen to above
        labels = means.fit_predict(points)
    return means.cluster_centers_, labels


def _nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return _squared_distances(points, centres).argmin(axis=1)


def _squared_distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    lengths = np.einsum("nd,nd->n", points, points)[:, None] + np.einsum("kd,kd->k", centres, centres)
    return np.maximum(lengths - 2.0 * points @ centres.T, 0.0)
