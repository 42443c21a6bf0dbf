r"""A lower bound on the robust fair objective that holds for any number of groups.

Every h(v, ., e) is concave in the error q: for v >= 0 it is v (q + 2 sqrt(e q) + e); for v < 0 it is 0 up to q = e and
from there |v| (-q + 2 sqrt(e q) - e), whose slope starts at 0 and falls. Every attainable q_g lies between the sum l_g
of the d - k smallest and the sum u_g of the d - k largest eigenvalues of M_g, and there a concave function is above its
chord. So every branch is above a function c_p + sum_g b_pg q_g, and for any weights s >= 0 with sum 1

.. math:: J(V) \ge \sum_p s_p \Bigl( c_p + \sum_g b_{pg} q_g \Bigr)
    \ge \sum_p s_p c_p + (\text{sum of the } d - k \text{ smallest eigenvalues of } \sum_g \textstyle\sum_p s_p b_{pg} M_g) .

The right side is concave in s and is maximised by cutting planes. The bound need not be reached, for two reasons: the
chords, and for three groups and more the attainable errors need not form a convex set.
"""  # noqa: E501

import numpy as np
from scipy.optimize import linprog

from ..core.errors import ConfigurationError
from ..core.linalg import symmetrise
from .group_errors import errors
from .robust_objective import RobustObjective, smallest_errors


def chords(f: RobustObjective, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Constants (pairs,) and slopes (pairs, G) of the linear functions that are below the branches between the ends."""
    ends = [f.factors * np.maximum(np.sqrt(np.maximum(q, 0.0)) + f.shifts, 0.0) ** 2 for q in (low, high)]
    slopes = np.divide(ends[1] - ends[0], high - low, out=np.zeros_like(ends[0]), where=high > low)
    return (ends[0] - slopes * low).sum(axis=-1), slopes


def lower_bound(
    matrices: np.ndarray, k: int, f: RobustObjective, V: np.ndarray, *, rtol: float = 1e-9, max_rounds: int = 60
) -> tuple[float, np.ndarray, int]:
    """The best bound found, the weights of the groups that give it, and the eigenvalue problems solved.

    Parameters
    ----------
    matrices : ndarray of shape (G, d, d)
        Second moments of the groups.
    k : int
        Rank of the projections.
    f : RobustObjective
        For one setting.
    V : ndarray of shape (d, k)
        Any projection, from which the search for weights starts; the better, the faster.
    rtol : float
        Stop when no weights can raise the bound by more than this share.
    max_rounds : int
        Stop after so many eigenvalue problems.

    Returns
    -------
    bound : float
    weights : ndarray of shape (G,)
    evaluations : int
    """
    d = len(matrices[0])
    low, high = smallest_errors(matrices, k), np.linalg.eigvalsh(matrices)[:, k:].sum(axis=1)
    constants, slopes = chords(f, low, high)
    P, cuts = len(constants), [constants + slopes @ errors(matrices, V)]
    best, weights = -np.inf, np.zeros(len(matrices))
    while len(cuts) <= max_rounds:
        # Largest t with t <= (cut, s) for all cuts: what weights can still promise.
        found = linprog(
            np.append(np.zeros(P), -1.0),
            A_ub=np.column_stack([-np.array(cuts), np.ones(len(cuts))]),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.append(np.ones(P), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * P + [(None, None)],
        )
        if found.status != 0:
            raise ConfigurationError(f"the weights of the bound were not found ({found.message}); scale the data.")
        s = np.maximum(found.x[:P], 0.0)
        s /= s.sum(axis=0)
        combined = symmetrise(np.einsum("g,gde->de", s @ slopes, matrices))
        values, vectors = np.linalg.eigh(combined)
        bound = float(s @ constants + values[: d - k].sum(axis=0))
        if bound > best:
            best, weights = bound, s @ slopes
        cuts.append(constants + slopes @ errors(matrices, vectors[:, d - k :]))
        if -found.fun - best <= rtol * abs(best):
            break
    return best, weights, len(cuts) - 1
