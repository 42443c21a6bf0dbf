r"""The row update of fair kernel k-means: one point at a time goes where the objective gains most.

What is maximised is :math:`\sum_k q_k / n_k` with :math:`q_k = y_k^\top (K - \lambda G G^\top) y_k`. The gain of a
point for each cluster needs its similarity to the clusters, their sums and sizes, and how many of its group they hold:

.. math::

    \frac{q_p + 2 s_p + k_{ii}}{n_p + 1} - \frac{q_p}{n_p} \quad (p \ne m), \qquad
    \frac{q_m}{n_m} - \frac{q_m - 2 s_m + k_{ii}}{n_m - 1} ,

m being its cluster. Similarities are cached, so a point that stays costs O(c) and a move two updates of n numbers. A
shift :math:`\alpha I` of the kernel adds :math:`\alpha` to every gain and is therefore never formed.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from ..core.cluster_counts import tally
from .kernels import DenseGram, Gram, indicator

#: A point stays unless a move gains more than this, relative to the largest term of the objective.
TIE = 1e-12
#: Points looked at together: at least and at most.
NARROW, WIDE = 64, 8192


class RowUpdates(NamedTuple):
    """Where the row update ended: labels (n,), objective with the fairness term and without a shift, passes and moves.

    ``history`` is the objective at the start and after each pass; converged: no single move improves the objective.
    """

    labels: np.ndarray
    objective: float
    n_sweeps: int
    n_moves: int
    history: tuple[float, ...]
    converged: bool


def row_updates(
    gram: Gram, codes: np.ndarray, labels: np.ndarray, n_clusters: int, weight: float, *, max_sweeps=10, tol=1e-10
) -> RowUpdates:
    """Sweep over the points in their order until nothing moves, nothing is gained, or the sweeps are used up.

    ``gram`` is the kernel without fairness term and shift; no cluster of ``labels`` is empty. From the third sweep on,
    a relative change of the objective below ``tol`` ends them (Zhou, Li and Du 2024, Algorithm 1, step 5).
    """
    state = _State(gram, codes, labels, n_clusters, weight)
    history, moves, last = [state.objective], 0, -1
    for sweep in range(1, max_sweeps + 1):
        last = state.sweep()
        moves += last
        history.append(state.refresh())
        if last == 0 or (sweep >= 3 and abs(history[-1] - history[-2]) < tol * abs(history[-1])):
            break
    converged = last == 0 or not state.improvable()
    return RowUpdates(state.labels, history[-1], len(history) - 1, moves, tuple(history), converged)


def smallest_tie(gram: Gram, weight: float) -> float:
    """What rounding alone can make of a gain; the terms of the objective may be far smaller, or all be zero."""
    return 16.0 * float(np.finfo(np.float64).eps) * (float(np.abs(gram.diagonal).max(initial=0.0)) + weight)


class _State:
    """Labels with the sums, sizes and group counts that belong to them."""

    def __init__(self, gram: Gram, codes: np.ndarray, labels: np.ndarray, n_clusters: int, weight: float):
        self.codes = codes.astype(np.intp)
        self.labels, self.weight = np.array(labels, dtype=np.intp), float(weight)
        self.n, self.own = len(labels), np.arange(len(labels))
        self.diagonal, self.floor = gram.diagonal - self.weight, smallest_tie(gram, self.weight)
        self.sums = gram.sums(self.labels, n_clusters)
        # fairness term of the similarities: weight times the counts, (c, G)
        counts = tally(self.labels, self.codes, n_clusters, int(self.codes.max(initial=0)) + 1)
        self.sizes, self.fair = counts.sum(axis=1).astype(float), self.weight * counts
        self.twice, self.base, self.less, self.rest = np.empty((4, n_clusters))
        self.refresh()

    def refresh(self) -> float:
        """Compute the sums of the clusters anew; returns the objective."""
        self.q = self.sums.within(self.labels)
        if self.weight:
            self.q -= (self.fair * (self.fair / self.weight)).sum(axis=1)
        terms = self.q / self.sizes
        self.tie = max(TIE * float(np.abs(terms).max(axis=0)), self.floor)
        self.objective = float(terms.sum(axis=0))
        for cluster in range(len(self.q)):
            self._terms(cluster)
        return self.objective

    def _terms(self, cluster: int) -> None:
        # Joining gains twice (s + k_ii / 2) + base, staying less (2 s - k_ii) + rest. Plain numbers: a move changes
        # two clusters only, and calls on arrays of c entries would take most of the time.
        n, q = float(self.sizes[cluster]), float(self.q[cluster])
        self.twice[cluster], self.base[cluster] = 2.0 / (n + 1.0), -q / (n * (n + 1.0))
        self.less[cluster] = 1.0 / (n - 1.0) if n > 1.0 else 0.0
        self.rest[cluster] = q / n - q / (n - 1.0) if n > 1.0 else np.inf

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
        self._terms(source)
        self._terms(target)

    def improvable(self) -> bool:
        """Whether some single move improves the objective."""
        for start in range(0, self.n, WIDE):
            joining, staying = self.gains(start, min(start + WIDE, self.n))
            if (joining.max(axis=0) > staying + self.tie).any():
                return True
        return False


#: Points of a cluster that are compared at once with those of another.
PART = 2048


def swaps_and_moves(
    gram: Gram, codes: np.ndarray, start: RowUpdates, n_clusters: int, weight: float, *, max_rounds: int = 100
) -> tuple[RowUpdates, int]:
    """Alternate swaps and row updates until neither improves the objective; also the number of swaps."""
    found, total, moves, history = start, 0, start.n_moves, list(start.history)
    for _ in range(max_rounds):
        labels, made = best_swaps(gram, codes, found.labels, n_clusters, weight)
        total += made
        if made == 0:
            break
        found = row_updates(gram, codes, labels, n_clusters, weight, max_sweeps=100, tol=0.0)
        moves += found.n_moves
        history.append(found.objective)
    rest = found.converged and made == 0
    return RowUpdates(found.labels, found.objective, start.n_sweeps, moves, tuple(history), rest), total


def best_swaps(
    gram: Gram, codes: np.ndarray, labels: np.ndarray, n_clusters: int, weight: float
) -> tuple[np.ndarray, int]:
    """For each pair of clusters make its best swap again and again while it gains: new labels, and swaps made."""
    labels, made = labels.copy(), 0
    S = gram.product(indicator(labels, n_clusters)).T.copy()
    S -= weight * tally(labels, codes, n_clusters, int(codes.max(initial=0)) + 1)[:, codes]
    sizes = np.bincount(labels, minlength=n_clusters).astype(float)
    terms = np.bincount(labels, weights=S[labels, np.arange(len(labels))], minlength=n_clusters) / sizes
    # Entries that are computed twice differ by the rounding of their precision; those of a stored matrix do not.
    again = not isinstance(gram, DenseGram)
    tie = max(TIE * float(np.abs(terms).max(axis=0)), smallest_tie(gram, weight))
    diagonal = gram.diagonal - weight

    def together(m: int, p: int) -> float:
        return sum(float(S[k, labels == k].sum(axis=0)) / sizes[k] for k in (m, p))

    def exchange(i: int, j: int, m: int, p: int) -> None:
        for point, source, target in ((i, m, p), (j, p, m)):
            row = gram.row(point) - weight * (codes == codes[point])
            S[source] -= row
            S[target] += row
            labels[point] = target

    for m in range(n_clusters):
        for p in range(m + 1, n_clusters):
            while True:
                gain, i, j = _best(gram, codes, labels, S, diagonal, sizes, weight, m, p)
                if gain <= tie:
                    break
                before = together(m, p)
                exchange(i, j, m, p)
                if again and not together(m, p) > before + 0.5 * tie:  # what S itself does not show is no gain
                    exchange(i, j, p, m)
                    break
                made += 1
    return labels, made


def _best(gram, codes, labels, S, diagonal, sizes, weight, m, p) -> tuple[float, int, int]:
    """The best swap of a point of cluster m with one of cluster p: its gain and the two points."""
    first, second = np.flatnonzero(labels == m), np.flatnonzero(labels == p)
    share = 1.0 / sizes[m] + 1.0 / sizes[p]
    here = diagonal[first] * share - 2.0 * S[m, first] / sizes[m] + 2.0 * S[p, first] / sizes[p]
    there = diagonal[second] * share - 2.0 * S[p, second] / sizes[p] + 2.0 * S[m, second] / sizes[m]
    best = (-np.inf, -1, -1)
    for part in gen_batches(len(first), PART):
        k = gram.block(first[part], second) - weight * (codes[first[part]][:, None] == codes[second])
        gains = here[part, None] + there - 2.0 * share * k
        i, j = np.unravel_index(gains.argmax(axis=None), gains.shape)
        if gains[i, j] > best[0]:
            best = (float(gains[i, j]), int(first[part][i]), int(second[j]))
    return best
