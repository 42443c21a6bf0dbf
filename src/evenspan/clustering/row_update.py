r"""The row update of fair kernel k-means: one point at a time goes where the objective gains most.

What is maximised is :math:`\sum_k q_k / n_k` with :math:`q_k = y_k^\top (K - \lambda G G^\top) y_k`. The gain of a
point for each cluster needs its similarity to the clusters, their sums and sizes, and how many of its group they hold:

.. math::

    \frac{q_p + 2 s_p + k_{ii}}{n_p + 1} - \frac{q_p}{n_p} \quad (p \ne m), \qquad
    \frac{q_m}{n_m} - \frac{q_m - 2 s_m + k_{ii}}{n_m - 1} ,

m being its cluster. Similarities are cached, so a point that stays costs O(c) and a move two updates of n numbers. A
shift :math:`\alpha I` of the kernel adds :math:`\alpha` to every gain and is therefore never formed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.cluster_counts import tally
from ..core.errors import DataError
from .kernels import ClusterSums, DenseGram, Gram, indicator

#: A point stays unless a move gains more than this, relative to the largest term of the objective.
TIE = 1e-12
#: Points looked at together: at least and at most.
NARROW, WIDE = 64, 8192


@dataclass(frozen=True, eq=False)
class RowUpdates:
    """Where the row update ended.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Cluster of each point.
    objective : float
        The sum of the q by the sizes, with the fairness term and without a shift.
    n_sweeps, n_moves : int
        Passes over the points, and moves in all of them.
    history : tuple of float
        The objective at the start and after each pass.
    at_rest : bool
        Whether no single move improves the objective.
    """

    labels: np.ndarray
    objective: float
    n_sweeps: int
    n_moves: int
    history: tuple[float, ...]
    at_rest: bool


def row_updates(
    gram: Gram,
    codes: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
    weight: float,
    *,
    max_sweeps: int = 10,
    tol: float = 1e-10,
) -> RowUpdates:
    """Sweep over the points in their order until nothing moves, nothing is gained, or the sweeps are used up.

    Parameters
    ----------
    gram : Gram
        The kernel matrix, without fairness term and without shift.
    codes : ndarray of shape (n,)
        Group of each point, from 0.
    labels : ndarray of shape (n,)
        The clusters to start from, each with at least one point.
    n_clusters : int
        Number of clusters.
    weight : float
        The fairness weight.
    max_sweeps : int
        Largest number of sweeps.
    tol : float
        From the third sweep on, a smaller relative change of the objective ends them.

    Returns
    -------
    RowUpdates

    References
    ----------
    Zhou, Li and Du (2024), Algorithm 1, step 5.
    """
    state = _State(gram, codes, labels, n_clusters, weight)
    history, moves, last = [state.objective], 0, -1
    for sweep in range(1, max_sweeps + 1):
        last = state.sweep()
        moves += last
        history.append(state.refresh())
        if last == 0 or (sweep >= 3 and abs(history[-1] - history[-2]) < tol * abs(history[-1])):
            break
    at_rest = last == 0 or not state.improvable()
    return RowUpdates(state.labels, history[-1], len(history) - 1, moves, tuple(history), at_rest)


class _State:
    """Labels with the sums, sizes and group counts that belong to them."""

    def __init__(self, gram: Gram, codes: np.ndarray, labels: np.ndarray, n_clusters: int, weight: float):
        self.codes = codes.astype(np.intp)
        self.labels, self.weight = np.array(labels, dtype=np.intp), float(weight)
        self.n, self.own = len(labels), np.arange(len(labels))
        self.diagonal = gram.diagonal - self.weight
        self.sums: ClusterSums = gram.sums(self.labels, n_clusters)
        # fairness term of the similarities: weight times the counts, (c, G)
        counts = tally(self.labels, self.codes, n_clusters, int(self.codes.max(initial=0)) + 1)
        self.sizes, self.fair = counts.sum(axis=1).astype(float), self.weight * counts
        self.refresh()

    def refresh(self) -> float:
        """Compute the sums of the clusters anew; returns the objective."""
        self.q = self.sums.within(self.labels)
        if self.weight:
            self.q -= (self.fair * (self.fair / self.weight)).sum(axis=1)
        terms = self.q / self.sizes
        self.tie = TIE * float(np.abs(terms).max(axis=0))
        self.objective = float(terms.sum(axis=0))
        self._terms()
        return self.objective

    def _terms(self) -> None:
        # gain of joining: twice * s + plus * k_ii + base; of staying: drop * s - less * k_ii + rest
        self.twice = 2.0 / (self.sizes + 1.0)
        self.base = -self.q / (self.sizes * (self.sizes + 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.less = 1.0 / (self.sizes - 1.0)
            self.rest = np.where(self.sizes > 1, self.q / self.sizes - self.q * self.less, np.inf)
        self.less[self.sizes == 1] = 0.0

    def gains(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """What each point gains by being in each cluster, shape (c, stop - start), and by being where it is."""
        s = self.sums.window(start, stop)
        if self.weight:
            s = s - self.fair.take(self.codes[start:stop], axis=1)
        k, labels, own = self.diagonal[start:stop], self.labels[start:stop], self.own[: stop - start]
        joining = s + 0.5 * k
        joining *= self.twice[:, None]
        joining += self.base[:, None]
        staying = self.rest[labels] + (2.0 * s[labels, own] - k) * self.less[labels]
        joining[labels, own] = staying
        return joining, staying

    def sweep(self) -> int:
        """One pass over the points; returns the number of moves."""
        start, width, moves = 0, NARROW, 0
        while start < self.n:
            stop = min(start + width, self.n)
            joining, staying = self.gains(start, stop)
            better = joining.max(axis=0) > staying + self.tie
            first = int(better.argmax())
            if not better[first]:
                start, width = stop, min(2 * width, WIDE)
                continue
            self._move(start + first, int(joining[:, first].argmax()))
            start, width, moves = start + first + 1, min(max(4 * (first + 1), NARROW), WIDE), moves + 1
        return moves

    def _move(self, i: int, target: int) -> None:
        source, group, k = int(self.labels[i]), int(self.codes[i]), float(self.diagonal[i])
        s = self.sums.window(i, i + 1)
        self.q[source] += k - 2.0 * (s[source, 0] - self.fair[source, group])
        self.q[target] += k + 2.0 * (s[target, 0] - self.fair[target, group])
        self.sizes[source] -= 1.0
        self.sizes[target] += 1.0
        self.fair[source, group] -= self.weight
        self.fair[target, group] += self.weight
        self.labels[i] = target
        self.sums.move(i, source, target)
        # the terms of these two only, as plain numbers: calls on arrays of c entries would take most of the time
        for cluster in (source, target):
            n, q = float(self.sizes[cluster]), float(self.q[cluster])
            self.twice[cluster], self.base[cluster] = 2.0 / (n + 1.0), -q / (n * (n + 1.0))
            self.less[cluster] = 1.0 / (n - 1.0) if n > 1.0 else 0.0
            self.rest[cluster] = q / n - q / (n - 1.0) if n > 1.0 else np.inf

    def improvable(self) -> bool:
        """Whether some single move improves the objective."""
        for start in range(0, self.n, WIDE):
            joining, staying = self.gains(start, min(start + WIDE, self.n))
            if (joining.max(axis=0) > staying + self.tie).any():
                return True
        return False


#: Up to this number of entries (runs x clusters x points) all runs together are faster than one after another.
TOGETHER = 2**18


def row_updates_many(
    gram: Gram,
    codes: np.ndarray,
    starts: np.ndarray,
    n_clusters: int,
    weights: Sequence[float],
    *,
    max_sweeps: int = 10,
    tol: float = 1e-10,
) -> list[RowUpdates]:
    """What `row_updates` gives for each start with its weight.

    Parameters
    ----------
    gram : Gram
        The kernel matrix, common to all runs.
    codes : ndarray of shape (n,)
        Group of each point, from 0.
    starts : ndarray of shape (R, n)
        The clusters that each run starts from, none of them empty.
    n_clusters : int
        Number of clusters.
    weights : sequence of R floats
        The fairness weight of each run.
    max_sweeps, tol : int, float
        As for `row_updates`.

    Returns
    -------
    list of RowUpdates
        In the order of the starts. Equal partitions with equal weights are computed once, with clusters in the order of
        their first points; that order decides between clusters that gain exactly the same.
    """
    starts, weights = np.asarray(starts, dtype=np.intp), np.asarray(weights, dtype=np.float64)
    if starts.ndim != 2 or starts.shape != (len(weights), gram.n):
        raise DataError(
            f"starts have shape {starts.shape} for {len(weights)} weights and {gram.n} points; needed is one row of "
            "labels for each weight."
        )
    first = np.array([np.unique(labels, return_index=True)[1] for labels in starts])
    if first.shape[1] != n_clusters:
        raise DataError(f"a start has {first.shape[1]} clusters; needed are {n_clusters}, none of them empty.")
    order = np.argsort(first, axis=1)  # order[r, place] = label
    place = np.argsort(order, axis=1)
    distinct: dict[tuple[bytes, float], int] = {}
    canonical, which = np.take_along_axis(place, starts, axis=1), []
    for labels, weight in zip(canonical, weights, strict=True):
        which.append(distinct.setdefault((labels.tobytes(), float(weight)), len(distinct)))
    chosen = [which.index(run) for run in range(len(distinct))]
    options = {"max_sweeps": max_sweeps, "tol": tol}
    if isinstance(gram, DenseGram) and len(chosen) * n_clusters * gram.n <= TOGETHER:
        found = _Together(gram, codes, canonical[chosen], n_clusters, weights[chosen]).run(**options)
    else:
        found = [row_updates(gram, codes, canonical[r], n_clusters, weights[r], **options) for r in chosen]
    return [_renamed(found[run], names) for run, names in zip(which, order, strict=True)]


def _renamed(result: RowUpdates, names: np.ndarray) -> RowUpdates:
    return RowUpdates(
        names[result.labels], result.objective, result.n_sweeps, result.n_moves, result.history, result.at_rest
    )


class _Together:
    """Runs in step: row ``r * c + k`` of every table is cluster k of run r.

    ``S`` are similarities with the fairness term; ``T`` what each point gains by being in each cluster, for its own one
    with the tie added, so that a point moves where the largest entry of its column is not its own.
    """

    def __init__(self, gram: DenseGram, codes, labels, n_clusters, weights):
        self.labels, (self.runs, self.n), self.c = labels.copy(), labels.shape, n_clusters
        self.all, self.points = np.arange(self.runs), np.arange(self.n)
        self.first_row = self.all * n_clusters
        # one kernel with its fairness term for each different weight
        different, self.kernel_of = np.unique(weights, return_inverse=True)
        same = np.equal.outer(codes, codes)
        self.K = np.stack([gram.K - weight * same for weight in different])
        self.diagonal = (gram.diagonal - different[:, None])[self.kernel_of]
        self.inside = (labels[:, None, :] == np.arange(n_clusters)[:, None]).reshape(-1, self.n)
        Y = self.inside.reshape(self.runs, n_clusters, self.n).astype(np.float64)
        self.sizes = Y.sum(axis=2).ravel()
        self.S = (Y @ self.K[self.kernel_of]).reshape(-1, self.n)
        self.own = (self.first_row[:, None] + labels) * self.n + self.points
        self.half = 0.5 * np.repeat(self.diagonal, n_clusters, axis=0)
        self.q = np.einsum("rn,rn->r", self.S, self.inside)
        self.tie = TIE * np.abs(self.q / self.sizes).reshape(self.runs, n_clusters).max(axis=1)
        self.T = np.empty(self.S.shape)
        self.update(np.arange(len(self.S)), self.S, np.repeat(self.tie, n_clusters))

    def objectives(self) -> list[float]:
        """The objective of each run."""
        return (self.q / self.sizes).reshape(self.runs, self.c).sum(axis=1).tolist()

    def update(self, rows: np.ndarray, S: np.ndarray, tie: np.ndarray) -> None:
        """Gains of all points for some clusters, whose similarities are S."""
        q, size, half = self.q[rows], self.sizes[rows], self.half[rows]
        twice, less = 2.0 / (size + 1.0), 1.0 / np.maximum(size - 1.0, 0.5)
        base, rest = q * twice / (-2.0 * size), q / size - q * less + tie
        rest[size == 1.0] = np.inf  # the last point of a cluster stays
        gains = (S + half) * twice[:, None] + base[:, None]
        staying = (S - half) * (2.0 * less)[:, None] + rest[:, None]
        self.T[rows] = np.where(self.inside[rows], staying, gains)

    def movers(self) -> np.ndarray:
        """Which points of which runs gain by leaving their cluster, shape (R, n)."""
        return self.T.reshape(self.runs, self.c, self.n).max(axis=1) > self.T.take(self.own)

    def run(self, max_sweeps: int, tol: float) -> list[RowUpdates]:
        """Go on until every run has ended."""
        histories = [[value] for value in self.objectives()]
        moves, last, position = (np.zeros(self.runs, dtype=int) for _ in range(3))
        while True:
            better = self.movers()
            better &= self.points >= position[:, None]
            points = better.argmax(axis=1)
            moving = np.flatnonzero(better[self.all, points])
            if len(moving):
                self.move(moving, points[moving])
                position[moving] = points[moving] + 1
                last[moving] += 1
            if len(moving) == self.runs:
                continue
            still = position <= self.n  # a run that has ended is past its last point
            still[moving] = False
            if still.any():
                values = self.objectives()
                for run in np.flatnonzero(still).tolist():
                    history, value = histories[run], values[run]
                    history.append(value)
                    moves[run] += last[run]
                    steady = len(history) > 3 and abs(value - history[-2]) < tol * abs(value)
                    if last[run] == 0 or steady or len(history) > max_sweeps:
                        position[run] = self.n + 1
                    else:
                        position[run] = last[run] = 0
            elif not len(moving):
                break
        rest = (last == 0) | ~self.movers().any(axis=1)
        return [
            RowUpdates(self.labels[r], histories[r][-1], len(histories[r]) - 1, int(moves[r]), tuple(histories[r]), at)
            for r, at in enumerate(rest.tolist())
        ]

    def move(self, runs: np.ndarray, points: np.ndarray) -> None:
        """One point of each of these runs goes where it gains most."""
        source, k = self.labels[runs, points], self.diagonal[runs, points]
        target = self.T.reshape(self.runs, self.c, self.n)[runs, :, points].argmax(axis=1)
        first, m = self.first_row[runs], len(runs)
        left, joined = first + source, first + target
        both, sign = np.concatenate([left, joined]), np.repeat([-1.0, 1.0], m)
        two = np.concatenate([points, points])
        S = self.S[both]
        self.q[both] += np.concatenate([k, k]) + 2.0 * sign * S[np.arange(2 * m), two]
        self.sizes[both] += sign
        self.labels[runs, points] = target
        self.inside[left, points], self.inside[joined, points] = False, True
        self.own[runs, points] = joined * self.n + points
        rows = self.K[self.kernel_of[runs], points]
        S[:m] -= rows
        S[m:] += rows
        self.S[both] = S
        tie = self.tie[runs]
        self.update(both, S, np.concatenate([tie, tie]))


#: Points of the two clusters compared at once.
PART = 2048


def swaps_and_moves(
    gram: Gram, codes: np.ndarray, start: RowUpdates, n_clusters: int, weight: float, *, max_rounds: int = 100
) -> tuple[RowUpdates, int]:
    """Alternate swaps and row updates until neither improves the objective.

    Parameters
    ----------
    gram : Gram
        The kernel matrix.
    codes : ndarray of shape (n,)
        Group of each point.
    start : RowUpdates
        Where the row update ended.
    n_clusters : int
        Number of clusters.
    weight : float
        The fairness weight.
    max_rounds : int
        Largest number of rounds.

    Returns
    -------
    result : RowUpdates
        Its ``at_rest`` says that neither a move nor a swap improves.
    n_swaps : int
        Swaps made.
    """
    found, total, moves, history = start, 0, start.n_moves, list(start.history)
    for _ in range(max_rounds):
        labels, made = best_swaps(gram, codes, found.labels, n_clusters, weight)
        total += made
        if made == 0:
            break
        found = row_updates(gram, codes, labels, n_clusters, weight, max_sweeps=100, tol=0.0)
        moves += found.n_moves
        history.append(found.objective)
    rest = found.at_rest and made == 0
    return RowUpdates(found.labels, found.objective, start.n_sweeps, moves, tuple(history), rest), total


def best_swaps(
    gram: Gram, codes: np.ndarray, labels: np.ndarray, n_clusters: int, weight: float
) -> tuple[np.ndarray, int]:
    """For each pair of clusters make its best swap again and again while it gains.

    Returns
    -------
    labels : ndarray of shape (n,)
        The new labels.
    n_swaps : int
        Swaps made.
    """
    labels, made = labels.copy(), 0
    S = gram.product(indicator(labels, n_clusters)).T.copy()
    S -= weight * tally(labels, codes, n_clusters, int(codes.max(initial=0)) + 1)[:, codes]
    sizes = np.bincount(labels, minlength=n_clusters).astype(float)
    terms = np.bincount(labels, weights=S[labels, np.arange(len(labels))], minlength=n_clusters) / sizes
    tie = TIE * float(np.abs(terms).max(axis=0))
    diagonal = gram.diagonal - weight
    for m in range(n_clusters):
        for p in range(m + 1, n_clusters):
            while True:
                gain, i, j = _best(gram, codes, labels, S, diagonal, sizes, weight, m, p)
                if gain <= tie:
                    break
                for point, source, target in ((i, m, p), (j, p, m)):
                    row = gram.row(point) - weight * (codes == codes[point])
                    S[source] -= row
                    S[target] += row
                    labels[point] = target
                made += 1
    return labels, made


def _best(gram, codes, labels, S, diagonal, sizes, weight, m, p) -> tuple[float, int, int]:
    """The best swap of a point of cluster m with one of cluster p: its gain and the two points."""
    first, second = np.flatnonzero(labels == m), np.flatnonzero(labels == p)
    share = 1.0 / sizes[m] + 1.0 / sizes[p]
    here = diagonal[first] * share - 2.0 * S[m, first] / sizes[m] + 2.0 * S[p, first] / sizes[p]
    there = diagonal[second] * share - 2.0 * S[p, second] / sizes[p] + 2.0 * S[m, second] / sizes[m]
    best = (-np.inf, -1, -1)
    for a in range(0, len(first), PART):
        rows = first[a : a + PART]
        for b in range(0, len(second), PART):
            columns = second[b : b + PART]
            k = gram.block(rows, columns) - weight * (codes[rows][:, None] == codes[columns])
            gains = here[a : a + PART, None] + there[b : b + PART] - 2.0 * share * k
            flat = int(gains.argmax())
            if gains.flat[flat] > best[0]:
                i, j = divmod(flat, len(columns))
                best = (float(gains[i, j]), int(rows[i]), int(columns[j]))
    return best
