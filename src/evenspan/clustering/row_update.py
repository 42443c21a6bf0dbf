r"""The row update of fair kernel k-means: one point at a time goes where the objective gains most.

What is maximised is :math:`\sum_k q_k / n_k` with :math:`q_k = y_k^\top (K - \lambda G G^\top) y_k`. The gain of a
point for each cluster needs its similarity to the clusters, their sums and sizes, and how many of its group they hold:

.. math::

    \frac{q_p + 2 s_p + k_{ii}}{n_p + 1} - \frac{q_p}{n_p} \quad (p \ne m), \qquad
    \frac{q_m}{n_m} - \frac{q_m - 2 s_m + k_{ii}}{n_m - 1} ,

m being its cluster. Similarities are cached, so a point that stays costs O(c) and a move two updates of n numbers. A
shift :math:`\alpha I` of the kernel adds :math:`\alpha` to every gain and is therefore never formed.
"""

from dataclasses import dataclass

import numpy as np

from ..core.cluster_counts import tally
from .gram import ClusterSums, Gram

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
