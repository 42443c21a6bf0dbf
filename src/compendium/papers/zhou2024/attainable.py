r"""The regulariser of tables of counts, all tables for given sizes of the groups, and the smallest regulariser.

A table has c non-zero vectors of whole numbers that add up to the sizes of the groups. The regulariser is the sum of
:math:`\varphi(v) = |v|_2^2 / |v|_1` over them. Its minimum is a whole-number program over vectors,

.. math:: \min \sum_v x_v \varphi(v), \quad \sum_v x_v v = (|G_1|, \dots, |G_t|), \quad \sum_v x_v = c ,

too many to list for real sizes. Vectors are added as they are needed: for prices u the best vector of every total is
found exactly by taking the cheapest samples one by one, since the cost is convex in each count.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from evenspan.core.errors import ResultError

#: Expressions and persons of the Jaffe images.
JAFFE = (30, 29, 32, 31, 30, 31, 30), 10


def regulariser_of(groups: np.ndarray) -> Fraction:
    """F of counts (G, c), exactly: the sum over clusters of the squared counts divided by the size."""
    filled = groups.T[groups.any(axis=0)]
    return sum((Fraction(int(cluster @ cluster), int(cluster.sum(axis=0))) for cluster in filled), Fraction(0))


def fair_gap_of(groups: np.ndarray) -> Fraction:
    """Where F lies between its lower bound (0) and n (1), exactly; 0 for one group, whose F is always n."""
    n, sizes = int(groups.sum(axis=None)), groups.sum(axis=1)
    lowest = Fraction(int(sizes @ sizes), n)
    return (regulariser_of(groups) - lowest) / (n - lowest) if n > lowest else Fraction(0)


def tables(sizes: Sequence[int], c: int) -> Iterator[np.ndarray]:
    """Every table (t, c) of non-empty clusters for these group sizes, once up to the order of the clusters."""

    def columns(left: tuple[int, ...], c: int, largest: tuple[int, ...]) -> Iterator[tuple]:
        """In falling order, none above the largest."""
        if c == 1:
            if any(left) and left <= largest:
                yield (left,)
            return
        for first in product(*(range(size, -1, -1) for size in left)):
            if any(first) and first <= largest:
                rest = tuple(size - taken for size, taken in zip(left, first, strict=True))
                for others in columns(rest, c - 1, first):
                    yield (first, *others)

    for found in columns(tuple(sizes), c, tuple(sizes)):
        yield np.array(found).T


class Smallest(NamedTuple):
    """A table of counts (t, c), its regulariser, exactly, and a bound that no clustering into c clusters is below."""

    table: np.ndarray
    value: Fraction
    bound: float

    @property
    def gap(self) -> float:
        """What the table may be above the minimum, relative to it: rounding, when the program was solved."""
        return (float(self.value) - self.bound) / self.bound


def smallest_regulariser(sizes: Sequence[int], c: int) -> Smallest:
    """The clustering into c non-empty clusters with the smallest regulariser, with its certificate.

    The program over fractions of vectors bounds that over whole vectors from below, and need not be equal to it."""
    g = np.asarray(sizes)
    n = int(g.sum(axis=0))
    totals = np.arange(1, n - c + 2)
    # The tangent of phi at the group sizes: vectors as near to proportional as whole numbers can be, for every total.
    listed = {tuple(v) for v in cheapest(g, 2.0 * g / n, totals)[0].tolist()}
    # A table that is always there, so that the first program has a solution: one sample in every cluster but the last.
    single = np.repeat(np.arange(len(g)), g)[: c - 1]
    listed |= {tuple(v) for v in np.eye(len(g), dtype=int)[single].tolist()}
    listed.add(tuple((g - np.bincount(single, minlength=len(g))).tolist()))
    while True:
        V = np.array(sorted(listed))
        costs = (V**2).sum(axis=1) / V.sum(axis=1)
        rows, total = np.vstack([V.T, np.ones(len(V))]), np.append(g, c)
        relaxed = linprog(costs, A_eq=rows, b_eq=total, method="highs-ds")
        if relaxed.status != 0:
            raise ResultError(f"the program over vectors of counts was not solved: {relaxed.message}")
        u, w = relaxed.eqlin.marginals[:-1], relaxed.eqlin.marginals[-1]
        best, values = cheapest(g, u, totals)
        # Vectors enter 30 at a time, each clearly cheaper than its prices.
        order = [i for i in np.argsort(values, kind="stable")[:30] if values[i] - w < -1e-10]
        new = {tuple(best[i].tolist()) for i in order} - listed
        if not new:
            break
        listed |= new
    # Only vectors that cost hardly more than their prices can be in a solution.
    usable = costs - V @ u - w < 1e-6
    whole = milp(costs[usable], integrality=np.ones(int(usable.sum(axis=0))), bounds=Bounds(0, c),
                 constraints=LinearConstraint(rows[:, usable], total, total), options={"mip_rel_gap": 0.0})  # fmt: skip
    if whole.x is None:
        raise ResultError(f"no whole solution among the usable vectors: {whole.message}")
    times = np.round(whole.x).astype(int)
    table = np.repeat(V[usable], times, axis=0).T
    # For any prices u: a table costs at least u'g + c times the cheapest reduced cost of any vector.
    bound = float(u @ g + c * values.min(axis=0))
    return Smallest(table, regulariser_of(table), bound)


def cheapest(g: np.ndarray, u: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every total m the vector v <= g with m samples and the smallest phi(v) - u'v, and that value."""
    group = np.repeat(np.arange(len(g)), g)
    place = np.concatenate([np.arange(1, size + 1) for size in g])
    # The r-th sample of a group adds (r^2 - (r - 1)^2) / m - u_j.
    added = (2 * place - 1) / totals[:, None] - u[group]
    order = np.argsort(added, axis=1, kind="stable")
    vectors = np.array([np.bincount(group[row[:m]], minlength=len(g)) for row, m in zip(order, totals, strict=True)])
    return vectors, (vectors**2).sum(axis=1) / totals - vectors @ u
