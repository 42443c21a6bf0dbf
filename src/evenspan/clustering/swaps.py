r"""Swaps of two points of different clusters, which single moves cannot do.

Single moves change the sizes of two clusters, and where fairness asks for fixed counts no single move may improve
while a swap does. Sizes stay, so the change of :math:`\sum_k q_k / n_k` by swapping i of cluster m with j of cluster p
is

.. math::

    \frac{k_{ii} + k_{jj} - 2 k_{ij} + 2 s_m(j) - 2 s_m(i)}{n_m} +
    \frac{k_{ii} + k_{jj} - 2 k_{ij} + 2 s_p(i) - 2 s_p(j)}{n_p} ,

with the kernel :math:`K - \lambda G G^\top` throughout.
"""

import numpy as np

from ..core.cluster_counts import tally
from .gram import Gram, indicator
from .row_update import TIE, RowUpdates, row_updates

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
