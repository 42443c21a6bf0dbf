"""Fair clustering by alignment (Kim et al. 2025): rows of two groups are paired, and pairs are clustered."""

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog

from ..core.errors import ComponentsError, GroupError, NotSolvedError
from ..core.estimator import NotConvergedWarning
from ..core.inputs import require_memory, warn_caller
from ..core.options import CLUSTERS, SEED, number, option, parameterised, whole
from .estimator import CentreClusterer, plain_means
from .transport import squared_distances, transport


@parameterised
class FairAlignmentClustering(CentreClusterer):
    r"""K-means of pairs: every row of one group shares a cluster with rows of the other.

    Let the groups have the proportions :math:`\pi_0 \le \pi_1`, and let a coupling Q pair their rows so that all rows
    of a group have the same mass. A pair in a cluster with centre :math:`\mu` costs

    .. math::
        \pi_0 \lVert x_0 - \mu \rVert^2 + \pi_1 \lVert x_1 - \mu \rVert^2
        = \lVert \pi_0 x_0 + \pi_1 x_1 - \mu \rVert^2 + \pi_0 \pi_1 \lVert x_0 - x_1 \rVert^2 ,

    the cost of the aligned point and that of the alignment. So the fair clusters of least cost solve

    .. math::
        \min_{Q, \mu} \; \mathbb E_Q \bigl[ \pi_0 \pi_1 \lVert x_0 - x_1 \rVert^2
            + \min_k \lVert \pi_0 x_0 + \pi_1 x_1 - \mu_k \rVert^2 \bigr] ,

    in turns: k-means of the aligned points for given pairs, then the cheapest pairs for given centres.

    Parameters
    ----------
    n_clusters : int
        The number c, at most the rows of the larger group; no cluster is empty.
    released : float in [0, 1], default 0.0
        The proportion of rows that go to the nearest centre: those that gain most. 0 keeps the proportions of the
        groups in every cluster, 1 ignores them.
    max_iter : int, default 100
        Most turns.
    random_state : as in ``FairKernelKMeans``
        The generator is for the seeds of k-means.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_ : as in ``FairKernelKMeans``
    centers_, inertia_ : ndarray of shape (c, d), float
        Centres of the aligned points, and the sum of squared distances of the rows to those of their clusters.
    history_, n_iter_, converged_ : ndarray, int, bool
        The cost of all pairs after every turn; the number of turns; whether the last one changed no cost.

    Guarantees
    ----------
    No turn raises the cost, and the pairs of each turn are the cheapest for its centres. With ``released=0`` every
    cluster holds the groups in the proportion of all rows, up to rounding. There is no certificate: k-means ends in a
    local minimum.

    Complexity
    ----------
    One assignment problem at the start, O(n^3) at worst, of n_1 x (n_1 + n_0) costs, which are kept in memory; in each
    turn a linear program of n c variables and n + c equations.

    References
    ----------
    K. Kim, J. Lee, S. Park and Y. Kim (2025), Fair clustering via alignment, ICML. Only abstract and introduction were
    read. The coupling in whole rows, after which the rows of the smaller group are assigned once more, and how rows are
    released are ours.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex = np.array(["f", "m"] * 60)
    >>> X = rng.normal(size=(120, 2)) + 6.0 * np.outer(sex == "m", [1, 0])
    >>> model = FairAlignmentClustering(2).fit(X, sensitive_features=sex)
    >>> float(model.counts_.balance)
    1.0
    """

    n_clusters: int = option(CLUSTERS, default=8)
    _: KW_ONLY
    released: float = option(number(0.0, 1.0), default=0.0)
    max_iter: int = option(whole(1), default=100)
    random_state: int | np.random.Generator | None = option(SEED, default=0)

    on_single_group = "raise"

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        X, codes, c, rng = self._sample(X, sensitive_features)
        if len(self.group_labels_) != 2:
            raise GroupError(
                f"FairAlignmentClustering pairs two groups, and there are {len(self.group_labels_)}. Use "
                "FairKernelKMeans or FairnessFirstClustering."
            )
        X = np.asarray(X, dtype=np.float64)
        small, large = np.argsort(np.bincount(codes, minlength=2), kind="stable")
        rows = np.flatnonzero(codes == small), np.flatnonzero(codes == large)
        m, n = len(rows[1]), len(rows[0])
        if c > m:
            raise ComponentsError(
                f"n_clusters={c}, and the rows make {m} pairs ({n} and {m} rows in the groups); needed is a pair for "
                f"each cluster. Ask for at most {m} clusters, or pass more rows."
            )
        require_memory(24.0 * m * (m + n), "The costs of all pairs", "Fit a sample, and predict the other rows.")
        origin, seed = X.mean(axis=0), int(rng.integers(2**31))
        pairs, centres, self.history_, self.converged_ = aligned(X - origin, rows, c, self.max_iter, seed)
        self.n_iter_ = len(self.history_)
        labels = labels_of(X - origin, rows, pairs, centres, self.released)
        self._store_labels(labels, codes, c)
        self.centers_ = centres + origin
        self.inertia_ = float(((X - self.centers_[labels]) ** 2).sum(axis=None))
        if not self.converged_:
            warn_caller(f"the cost still falls after {self.max_iter} turns. Raise max_iter.", NotConvergedWarning)
        return self


def aligned(X, rows, c: int, max_iter: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Pairs and centres (c, d) in turns, the cost after each, and whether the last one changed nothing.

    ``rows`` are those of the smaller and of the larger group; pairs, the partner of every row of the larger one.
    """
    first, second = (X[part] for part in rows)
    share = len(first) / len(X)
    pairs, history, options = couple(squared_distances(second, first)), [], {"n_init": 10}
    for _ in range(max_iter):
        means = plain_means(share * first[pairs] + (1.0 - share) * second, c, seed=seed, **options)
        centres = means.cluster_centers_
        options = {"init": centres, "n_init": 1}
        pairs, cost = couple_by_clusters(share, first, second, centres)
        history.append(cost)
        if len(history) > 1 and history[-2] - history[-1] <= 1e-9 * history[-1]:
            return pairs, centres, np.array(history), True
    return pairs, centres, np.array(history), False


def couple(costs: np.ndarray) -> np.ndarray:
    """For each row of costs (m, n), m >= n, a column: all have as many rows up to one, at the least cost."""
    m, n = costs.shape
    each, more = divmod(m, n)
    columns = np.tile(np.arange(n), each + (more > 0))
    repeated = costs[:, columns]
    if more:  # the columns up to the last time must be taken
        repeated[:, each * n :] += 2.0 * m * (costs.max() or 1.0)
    chosen = linear_sum_assignment(repeated)[1]
    return columns[chosen]


def couple_by_clusters(share: float, first, second, centres: np.ndarray) -> tuple[np.ndarray, float]:
    """The pairs of the least cost for these centres, as ``couple`` would give them, and that cost.

    A pair costs what its rows cost in its cluster, so it is enough to know how often a row is there: a flow from the
    rows of the one group through the clusters to those of the other, whose optimum is in whole numbers.
    """
    (n, m), c = (len(first), len(second)), len(centres)
    costs = share * squared_distances(first, centres), (1.0 - share) * squared_distances(second, centres)
    each, more = divmod(m, n)
    rows = sparse.kron(sparse.eye_array(n + m), np.ones((1, c)))
    meet = sparse.kron(np.append(np.ones(n), -np.ones(m))[None], sparse.eye_array(c))
    spare = sparse.eye_array(n + m + c, n)  # what a row of the smaller group has above ``each``
    every = np.concatenate([cost.ravel() for cost in costs] + [np.zeros(n)])
    unit = every.max() or 1.0
    found = linprog(
        every / unit,
        A_eq=sparse.hstack([sparse.vstack([rows, meet]), -spare], format="csc"),
        b_eq=np.concatenate([np.full(n, each), np.ones(m), np.zeros(c)]),
        bounds=[(0, None)] * ((n + m) * c) + [(0, 1 if more else 0)] * n,
        method="highs-ds",
        options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
    )
    times = None if found.x is None else np.rint(found.x[: (n + m) * c])
    if times is None or np.abs(found.x[: (n + m) * c] - times).max() > 1e-6:
        raise NotSolvedError(f"no pairs in whole rows were found ({found.message}). Check the features for outliers.")
    parts = times.astype(np.int64).reshape(n + m, c)
    pairs = np.empty(m, dtype=np.int64)
    for k in range(c):
        pairs[parts[n:, k] > 0] = np.repeat(np.arange(n), parts[:n, k])
    return pairs, float(every[: len(times)] @ times)


def labels_of(X: np.ndarray, rows, pairs: np.ndarray, centres: np.ndarray, released: float) -> np.ndarray:
    """Labels (n,): the larger group by pairs, the smaller in proportion at least cost, released rows by centre."""
    first, second = rows
    share, costs = len(first) / len(X), squared_distances(X, centres)
    labels = np.empty(len(X), dtype=np.int64)
    labels[second] = (share * costs[first][pairs] + (1.0 - share) * costs[second]).argmin(axis=1)
    for empty in np.flatnonzero(np.bincount(labels[second], minlength=len(centres)) == 0):  # few different points
        members = np.flatnonzero(labels[second] == np.bincount(labels[second]).argmax())
        labels[second[members[costs[second[members]].min(axis=1).argmax()]]] = empty
    wanted = np.bincount(labels[second], minlength=len(centres)) * (len(first) / len(second))
    sizes = np.floor(wanted).astype(np.int64)
    sizes[np.argsort(sizes - wanted, kind="stable")[: len(first) - sizes.sum(axis=0)]] += 1
    labels[first] = transport(costs[first], sizes)
    lost = costs[np.arange(len(X)), labels] - costs.min(axis=1)
    free = np.argsort(-lost, kind="stable")[: round(released * len(X))]
    fair, free = labels.copy(), free[lost[free] > 0]
    labels[free] = costs[free].argmin(axis=1)
    while len(empty := np.setdiff1d(fair, labels)):  # rows without which a cluster is empty stay
        labels[np.isin(fair, empty)] = fair[np.isin(fair, empty)]
    return labels
