"""Many row updates at once: several starts and several fairness weights on one small kernel matrix.

For a few hundred points the arithmetic of a move takes less time than calling for it. All runs therefore go forward in
step, one move of each at a time, and runs that start from the same partition with the same weight are done once.
"""

from collections.abc import Sequence

import numpy as np

from ..core.errors import DataError
from .gram import DenseGram, Gram
from .row_update import TIE, RowUpdates, row_updates

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
