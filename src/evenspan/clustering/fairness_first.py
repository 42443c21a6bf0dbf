"""Fairness-first clustering (Pan and Zhong 2023), rebuilt from its abstract: balance first, then the sum of squares."""

from dataclasses import KW_ONLY
from typing import Self

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

from ..core.cluster_counts import balance_of, tally
from ..core.estimator import NotConvergedWarning
from ..core.inputs import warn_caller
from ..core.options import CLUSTERS, SEED, SINGLE_GROUP, number, option, parameterised, whole
from .estimator import CentreClusterer, plain_means
from .transport import squared_distances, transport

#: A change must lower the sum of squares by more than this, relative to the total scatter.
TIE = 1e-12
#: Points looked at together in the search for swaps: at least, and entries of their table at most.
NARROW, ENTRIES = 16, 2**19


class Partition:
    """Centred points (n, d) in clusters, none empty, with sums, sizes and counts, and all inner products with the sums.

    These are an n x c table, which one product of X with a vector brings up to date after a move or a swap.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, labels: np.ndarray, n_clusters: int):
        self.X, self.codes = X, codes.astype(np.intp)
        self.labels, self.n_clusters = np.array(labels, dtype=np.intp), n_clusters
        self.squares = np.einsum("nd,nd->n", X, X)
        self.scatter = float(self.squares.sum(axis=0))
        self.counts = tally(self.codes, self.labels, int(self.codes.max(initial=0)) + 1, n_clusters)
        self.refresh()

    def refresh(self) -> None:
        """Compute the sums anew, so that rounding does not accumulate."""
        self.sizes = self.counts.sum(axis=0).astype(float)
        self.sums = np.array([self.X[self.labels == k].sum(axis=0) for k in range(self.n_clusters)])
        self.products = self.X @ self.sums.T

    @property
    def inertia(self) -> float:
        """The sum of squared distances of the points to the means of their clusters."""
        return self.scatter - float((np.einsum("kd,kd->k", self.sums, self.sums) / self.sizes).sum(axis=0))

    def summary(self, stage: str) -> dict:
        """What is kept of a stage at its end."""
        self.refresh()
        return {"stage": stage, "inertia": self.inertia, "balance": balance_of(self.counts)}

    def move(self, i: int, target: int) -> None:
        """Take one point to another cluster."""
        source, point = self.labels[i], self.X[i]
        self._shift(source, target, point)
        self.counts[self.codes[i], source] -= 1
        self.counts[self.codes[i], target] += 1
        self.sizes[source] -= 1.0
        self.sizes[target] += 1.0
        self.labels[i] = target

    def swap(self, i: int, other: int) -> None:
        """Exchange the clusters of two points of the same group: no count changes."""
        self._shift(self.labels[i], self.labels[other], self.X[i] - self.X[other])
        self.labels[i], self.labels[other] = self.labels[other], self.labels[i]

    def _shift(self, source: int, target: int, vector: np.ndarray) -> None:
        change = self.X @ vector
        self.sums[source] -= vector
        self.sums[target] += vector
        self.products[:, source] -= change
        self.products[:, target] += change


def move_points(p: Partition, lowest_balance: float) -> int:
    """Move points, always the one that lowers the sum of squares most, while clusters stay so balanced: how many."""
    floor, every = lowest_balance - 1e-12, np.arange(len(p.labels))
    tie, moves = TIE * p.scatter, 0
    while True:
        removable = (p.sizes > 1) & (_balances(p.counts, -1) >= floor)
        addable = _balances(p.counts, 1) >= floor
        change = _move_changes(p)
        change[~addable[p.codes]] = np.inf
        change[~removable[p.codes, p.labels]] = np.inf
        change[every, p.labels] = np.inf
        i, target = np.unravel_index(change.argmin(axis=None), change.shape)
        if not change[i, target] < -tie:
            return moves
        p.move(int(i), int(target))
        moves += 1


def _move_changes(p: Partition) -> np.ndarray:
    """What the sum of squares changes by when a point goes to a cluster, shape (n, c); that of its own is no number."""
    within = np.einsum("kd,kd->k", p.sums, p.sums)
    distances = p.squares[:, None] - (2.0 / p.sizes) * p.products + within / p.sizes**2
    sizes = p.sizes[p.labels]
    leaving = distances[np.arange(len(p.labels)), p.labels] * sizes / np.maximum(sizes - 1.0, 1.0)
    distances *= p.sizes / (p.sizes + 1.0)
    return distances - leaving[:, None]


def _balances(counts: np.ndarray, step: int) -> np.ndarray:
    """The balance (G, c) of every cluster after a point of each group in turn has gone (-1) or come (1)."""
    after = counts + step * np.eye(len(counts), dtype=np.int64)[:, :, None]
    return after.min(axis=1) / np.maximum(after.max(axis=1), 1)


def swap_points(p: Partition, max_sweeps: int) -> tuple[int, int, bool]:
    """Swap each point in turn with the best partner of its group, if any lowers the sum of squares.

    Returns the numbers of swaps and of sweeps, and whether the last sweep found none.
    """
    swaps = 0
    for sweep in range(1, max_sweeps + 1):
        p.refresh()
        found = sum(_sweep(p, np.flatnonzero(p.codes == j)) for j in range(len(p.counts)))
        swaps += found
        if not found:
            return swaps, sweep, True
    return swaps, max_sweeps, False


def _sweep(p: Partition, members: np.ndarray) -> int:
    tie, swaps, at, width = TIE * p.scatter, 0, 0, NARROW
    points, widest = p.X[members], max(ENTRIES // max(len(members), 1), NARROW)
    while at < len(members):
        part = slice(at, at + width)
        change = _swap_changes(p, members[part], members, points[part] @ points.T)
        gaining = change.min(axis=1) < -tie
        if not gaining.any():
            at, width = at + width, min(2 * width, widest)
            continue
        first = int(gaining.argmax())
        p.swap(int(members[at + first]), int(members[change[first].argmin()]))
        swaps, at, width = swaps + 1, at + first + 1, NARROW
    return swaps


def _swap_changes(p: Partition, rows: np.ndarray, members: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """What the sum of squares changes by when two points change places, shape (rows, members)."""
    # For i in cluster a and j in b, with the means m: 2 (x_i - x_j)'(m_a - m_b) - (1/n_a + 1/n_b) |x_i - x_j|^2.
    a, b, inverse = p.labels[rows], p.labels[members], 1.0 / p.sizes
    near_rows, near_members = p.products[rows] * inverse, p.products[members] * inverse
    change = near_rows[np.arange(len(rows)), a][:, None] + near_members[np.arange(len(members)), b]
    change -= near_rows[:, b]
    change -= near_members[:, a].T
    change *= 2.0
    distances = p.squares[rows][:, None] + p.squares[members] - 2.0 * inner
    distances *= inverse[a][:, None] + inverse[b]
    change -= distances
    change[a[:, None] == b] = np.inf
    return change


@parameterised
class FairnessFirstClustering(CentreClusterer):
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
    n_clusters : int
        The number c.
    threshold : float in [0, 1], default 0.9
        The share :math:`\theta` of the first balance that stage 2 must keep. 1 keeps all of it, 0 none.
    max_iter : int, default 100
        Largest number of passes of stage 3.
    random_state, on_single_group : as in ``FairKernelKMeans``
        The generator is for the k-means runs of stage 1.

    Attributes
    ----------
    labels_, counts_, group_labels_, group_counts_ : as in ``FairKernelKMeans``
    centers_, inertia_ : ndarray of shape (c, d), float
        Means of the clusters, and the sum of squared distances to them.
    stages_ : tuple of dict
        For each stage its name, the sum of squares ("inertia") and the balance after it.
    n_moves_, n_swaps_, n_iter_ : int
        Moves of stage 2; swaps and passes of stage 3.
    converged_ : bool
        Whether no swap lowers the sum of squares further. It is then a local minimum in that sense; nothing more is
        known of how near it is to the lowest.

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

    n_clusters: int = option(CLUSTERS, default=8)
    _: KW_ONLY
    threshold: float = option(number(0.0, 1.0), default=0.9)
    max_iter: int = option(whole(1), default=100)
    random_state: int | np.random.Generator | None = option(SEED, default=0)
    on_single_group: str = option(SINGLE_GROUP, default="raise")

    def fit(self, X, y=None, *, sensitive_features) -> Self:
        X, codes, c, rng = self._sample(X, sensitive_features)
        X = np.asarray(X, dtype=np.float64)
        Z = X - X.mean(axis=0)
        if Z.shape[1] > 2 * len(Z):
            Z = np.linalg.qr(Z.T, mode="r").T  # the same points turned: all inner products stay
        partition = Partition(Z, codes, fair_start(Z, codes, c, rng), c)
        start = partition.summary("fair start")
        self.n_moves_ = move_points(partition, self.threshold * start["balance"])
        moved = partition.summary("moves")
        self.n_swaps_, self.n_iter_, self.converged_ = swap_points(partition, self.max_iter)
        self.stages_ = start, moved, partition.summary("swaps")
        self._store_labels(partition.labels, codes, c)
        self.centers_ = np.array([X[self.labels_ == k].mean(axis=0) for k in range(c)])
        self.inertia_ = float(((X - self.centers_[self.labels_]) ** 2).sum(axis=None))
        if not self.converged_:
            warn_caller(f"swaps still help after {self.max_iter} passes. Raise max_iter.", NotConvergedWarning)
        return self


def fair_start(X: np.ndarray, codes: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Labels in which every cluster has each group in its share up to rounding, near centres common to the groups."""
    group_sizes = np.bincount(codes)
    groups = [X[codes == j] for j in range(len(group_sizes))]
    largest = int(group_sizes.argmax())
    # A largest group with fewer points than clusters has too few centres to match the others to.
    reference = _means(groups[largest] if group_sizes[largest] >= n_clusters else X, n_clusters, rng)[0]
    sums, sizes = np.zeros_like(reference), np.zeros(n_clusters, dtype=np.int64)
    for j, points in enumerate(groups):
        if j == largest and len(points) >= n_clusters:
            centres, labels = reference, squared_distances(points, reference).argmin(axis=1)
        else:
            centres, labels = _means(points, min(n_clusters, len(points)), rng)
        own, matched = linear_sum_assignment(squared_distances(centres, reference))
        weights = np.bincount(labels, minlength=len(centres))[own]
        sums[matched] += weights[:, None] * centres[own]
        sizes[matched] += weights
    merged = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], reference)
    for empty in np.flatnonzero(sizes == 0):  # fewer different points than clusters
        sizes[[sizes.argmax(), empty]] += [-1, 1]
    shares, labels = fair_counts(group_sizes, sizes), np.empty(len(X), dtype=np.intp)
    for j, points in enumerate(groups):
        labels[codes == j] = transport(squared_distances(points, merged), shares[j])
    return labels


def _means(points: np.ndarray, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centres (k, d) and labels of k-means."""
    means = plain_means(points, k, seed=int(rng.integers(2**31)), n_init=10)
    return means.cluster_centers_, means.labels_


def fair_counts(group_sizes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    r"""Shares :math:`|G_j| n_k / n` rounded to whole numbers of rows that sum to the sizes of the groups.

    The table of highest balance is taken, of several the nearest to the shares. No cluster is empty.
    """
    # With m and M the lowest and highest rounded-down count of a cluster, its balance is one of m/M, (m+1)/M, m/(M+1)
    # and (m+1)/(M+1): at most 4c values to try, each by a small integer programme.
    n = int(sizes.sum(axis=0))
    low, rest = np.divmod(np.multiply.outer(group_sizes, sizes).astype(np.int64), n)
    down, up = low.min(axis=0), low.max(axis=0)
    options = np.concatenate([(down + a) / np.maximum(up + b, 1) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))])
    values = np.unique(np.append(options[options <= 1.0], 0.0))
    first, last, best = 0, len(values) - 1, _rounding(low, rest, group_sizes, 0.0)
    while first < last:  # the highest value that some table reaches
        middle = (first + last + 1) // 2
        found = _rounding(low, rest, group_sizes, values[middle])
        first, last, best = (first, middle - 1, best) if found is None else (middle, last, found)
    return best


def _rounding(low: np.ndarray, rest: np.ndarray, group_sizes: np.ndarray, balance: float) -> np.ndarray | None:
    """The table nearest to the shares in which every cluster is so balanced; None where there is none."""
    G, c = low.shape
    down, up = low.min(axis=0), low.max(axis=0)
    lowest, highest = low == down, low == up

    def balanced(least: np.ndarray, most: np.ndarray) -> np.ndarray:
        return least >= (balance - 1e-12) * most

    wide = balanced(down, up + 1)  # any rounding will do
    flat = ~wide & balanced(down, up)  # will do if no highest count is rounded up
    raised = ~wide & balanced(down + 1, up + 1)  # will do if all lowest counts are rounded up
    # both at once where neither is enough; one of the two, by a switch z, where either is
    both, switch = ~(wide | flat | raised), flat & raised
    least = (lowest & ((raised & ~flat) | both)).astype(float)
    most = ((rest > 0) & ~(highest & ((flat & ~raised) | both))).astype(float)
    if (both & ~balanced(down + 1, up)).any() or (least > most).any():
        return None
    # the variables are which counts are rounded up, then the switches
    pick, u, z = np.eye(G * c + c), np.arange(G * c).reshape(G, c), G * c + np.arange(c)
    missing = group_sizes - low.sum(axis=1)
    rows = [
        LinearConstraint(pick[u].sum(axis=1), missing, missing),
        LinearConstraint(pick[u].sum(axis=0), 1 - low.sum(axis=0), np.inf),
    ]
    ordered = [(u[j, k], z[k]) for j, k in np.argwhere(switch & lowest)]
    ordered += [(z[k], u[j, k]) for j, k in np.argwhere(switch & highest)]
    rows += [LinearConstraint(np.array([pick[a] - pick[b] for a, b in ordered]), 0.0, np.inf)] if ordered else []
    bounds = Bounds(np.append(least.ravel(), np.zeros(c)), np.append(most.ravel(), np.ones(c)))
    cost = np.append(-rest.ravel() / group_sizes.sum(axis=0), np.zeros(c))
    found = milp(cost, integrality=np.ones(len(cost)), bounds=bounds, constraints=rows)
    return None if found.x is None else low + np.rint(found.x[: G * c]).astype(np.int64).reshape(G, c)
