r"""Curves that no projection passes, of the average error against a gap or the worst group: points and bounds.

Every direction :math:`v` over the groups has a least value, which one eigenvalue problem gives with a projector:

.. math::
    \sum_g v_g e_g(P) \;\ge\; c(v)
        = \sum_g v_g \operatorname{tr} M_g - \operatorname{top}_k\Bigl(\sum_g v_g M_g\Bigr)

for every projector P of rank k. With :math:`v = \alpha p + \beta u`, p the shares of the groups, this is a line below
which no projection lies, :math:`\alpha x + \beta y \ge c(v)`, for the average error x and whatever y is at least
:math:`\sum_g u_g e_g`: the worst error for weights u that add up to one, the gap for :math:`u = \pm(1, -1)`.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog

from ..core.linalg import top_eigenspace
from .group_errors import errors
from .joint_range import JointRange, Support
from .multi_criteria import descend

#: Directions between PCA's and the last one of a curve.
POINTS = 20
#: Share of the way from PCA to the smallest value by which bound and chord may differ.
NARROW = 0.01
#: Relative width at which a bound counts as met, on the way and for the worst group alone, and the most eigenvalue
#: problems for one direction.
ON_THE_WAY, MET, CUTS = 1e-4, 1e-7, 60


@dataclass(frozen=True, eq=False)
class Curve:
    """Attained points, by increasing average error x, and lines below which no projection lies."""

    name: str  # what y is, for captions: "error gap", "loss gap", "worst error" or "worst loss"
    points: np.ndarray  # (n, 2), attained by projections, from PCA's to the smallest y that was reached
    lines: np.ndarray  # (m, 3) of rows (a, b, c): every projection has a x + b y >= c, and a, b >= 0
    floor: float = 0.0  # what y is never below; minus infinity for a difference that has a sign

    def least(self, x) -> np.ndarray:
        """What y is at least, for projections with an average error of x or less; infinite where there are none."""
        return np.maximum(_least(self.lines, x), self.floor)

    def cheapest(self, y) -> np.ndarray:
        """What the average error is at least, for projections with y or less; infinite where there are none."""
        return _least(self.lines[:, [1, 0, 2]], y)


def _least(lines: np.ndarray, x) -> np.ndarray:
    """What the second coordinate is at least above all lines for a first one of x or less; infinite if nothing is."""
    x = np.asarray(x, dtype=float)
    a, b, c = lines[lines[:, 1] > 0].T
    flat = lines[lines[:, 1] == 0]
    smallest = (flat[:, 2] / flat[:, 0]).max(initial=0.0)
    return np.where(x < smallest - 1e-9 * abs(smallest), np.inf, ((c - a * x[..., None]) / b).max(axis=-1))


@dataclass(eq=False)
class Hull:
    """Errors of any number of groups that projections of rank k reach, with every direction that was solved.

    From second moments (G, d, d) about the overall mean and the shares (G,) of the groups.
    """

    matrices: np.ndarray
    shares: np.ndarray
    k: int

    def __post_init__(self):
        self.traces = np.trace(self.matrices, axis1=1, axis2=2)
        self.bases: list[np.ndarray] = []
        self.reached: list[np.ndarray] = []
        self.solved: list[tuple[np.ndarray, float]] = []

    def add(self, V: np.ndarray) -> np.ndarray:
        """Remember a projector; its errors (G,)."""
        self.bases.append(V)
        self.reached.append(errors(self.matrices, V))
        return self.reached[-1]

    def solve(self, v: np.ndarray) -> float:
        """c(v), with its projector remembered."""
        values, V = top_eigenspace(np.tensordot(v, self.matrices, axes=1), self.k)
        self.add(V)
        self.solved.append((v, float(v @ self.traces - values.sum(axis=0))))
        return self.solved[-1][1]

    def _steepest(self, v: np.ndarray, c: float, offsets: np.ndarray) -> np.ndarray:
        """The line of a direction without negative weights that has as much of the average in it as there can be."""
        a = float((v / self.shares).min(axis=0))
        u = v - a * self.shares
        if u.sum(axis=0) <= 1e-12 * v.sum(axis=0):  # the average alone: a line with this slope would say anything
            u = np.zeros(len(u))
        return np.array([a, u.sum(axis=0), c - u @ offsets])

    def worst(self, t: float, offsets: np.ndarray) -> np.ndarray:
        """The line (a, b, c) for (1 - t) times the average plus t times the worst; projectors near it are kept."""
        # The weights u are those of the best mixture of projectors known, which a linear programme finds; the projector
        # for them is added until mixture and bound meet, and then the mixture rounded to rank k.
        best = np.array([1.0 - t, t, -np.inf])
        for _ in range(CUTS):
            E = np.array(self.reached)
            u, mixed, shares = _mixture((1.0 - t) * (E @ self.shares), t * (E - offsets))
            c = self.solve((1.0 - t) * self.shares + t * u) - t * float(u @ offsets)
            best[2] = max(best[2], c)
            if mixed - best[2] <= (MET if t == 1.0 else ON_THE_WAY) * max(abs(mixed), MET * self.traces.max(axis=0)):
                break
        used = np.flatnonzero(shares > 1e-9)
        factors = np.hstack([np.sqrt(shares[i]) * self.bases[i] for i in used])
        V = np.linalg.svd(factors, full_matrices=False)[0][:, : self.k]
        self.add(V)
        if t == 1.0:
            self.add(descend(self.traces - offsets, self.matrices, V))
        return best

    def worst_curve(self, name: str, offsets: np.ndarray) -> Curve:
        """Average error against the largest error, or loss, of a group."""
        lines = [np.array([1.0, 0.0, self.solve(self.shares)])]
        for g in range(len(self.shares)):  # each group's own best, for a start
            self.solve(np.eye(len(self.shares))[g])
        lines.append(self.worst(1.0, offsets))
        tried = {0.0, 1.0}
        while len(tried) < POINTS:
            E = np.array(self.reached)
            known = [self._steepest(v, c, offsets) for v, c in self.solved if (v >= 0).all()]
            curve = Curve(name, lower_left(E @ self.shares, (E - offsets).max(axis=1)), np.array([*lines, *known]))
            t = next((t for t in _widest(curve) if t not in tried), None)
            if t is None:
                break
            tried.add(t)
            lines.append(self.worst(t, offsets))
        return curve


def _widest(curve: Curve) -> list[float]:
    """Directions parallel to the chords between attained points that lie apart from the bound, the widest first."""
    (x, y), found = curve.points.T, []
    hull = [0]
    for i in range(1, len(x)):  # the lower convex hull: what mixtures of projections reach
        while len(hull) > 1 and (y[hull[-1]] - y[hull[-2]]) * (x[i] - x[hull[-2]]) >= (y[i] - y[hull[-2]]) * (
            x[hull[-1]] - x[hull[-2]]
        ):
            hull.pop()
        hull.append(i)
    for i, j in pairwise(hull):
        width = 0.5 * (y[i] + y[j]) - float(curve.least(0.5 * (x[i] + x[j])))
        if width > NARROW * float(np.ptp(y)):
            found.append((width, float((x[j] - x[i]) / (x[j] - x[i] + y[i] - y[j]))))
    return [t for _, t in sorted(found, reverse=True)]


def _mixture(average: np.ndarray, parts: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Shares of the points known whose mixture has the least value, the value, and the weights of the groups there."""
    # The programme: min z + average's over shares on the simplex, with z at least every group's part.
    n, G = parts.shape
    found = linprog(
        np.r_[average, 1.0],
        A_ub=np.column_stack([parts.T, -np.ones(G)]),
        b_ub=np.zeros(G),
        A_eq=np.r_[np.ones(n), 0.0][None],
        b_eq=[1.0],
        bounds=[(0.0, None)] * n + [(None, None)],
        method="highs",
    )
    u = np.maximum(-found.ineqlin.marginals, 0.0)
    return u / u.sum(axis=0), float(found.fun), found.x[:n]


def gap_curve(joint: JointRange, shares: np.ndarray, name: str, offsets: np.ndarray) -> Curve:
    """Average error of two groups against the difference of their errors less ``offsets``, from PCA to the smallest."""
    sweep = _Sweep(joint, shares, offsets)
    lines, ends, before = [], [], 0.0
    # From PCA most of the way is at the beginning of the turn.
    for t in np.linspace(0.0, 1.0, POINTS + 1) ** 2:
        lines.append(sweep.line(float(t)))
        found = sweep.support(float(t))
        gaps = [sweep.gap(end) for end in found.ends]
        if min(gaps) < 0:
            ends.append(sweep.balanced(before, float(t)))
            break
        ends += list(found.ends)
        before = float(t)
    lines.append(sweep.line(1.0))
    tried: set[float] = set()
    while True:
        gaps = np.abs([sweep.gap(end) for end in ends])
        curve = Curve(name, lower_left(np.array(ends) @ shares, gaps), np.array(lines))
        # Where the gap closes after a short turn few directions were met: more of them between points that lie apart.
        t = next((t for t in _widest(curve) if t not in tried), None)
        if t is None or len(tried) == POINTS:
            return curve
        tried.add(t)
        lines.append(sweep.line(t))
        ends += [end for end in sweep.support(t).ends if sweep.gap(end) >= 0]


class _Sweep:
    """Directions from PCA's to that of the difference of the two groups, the larger less the smaller under PCA."""

    def __init__(self, joint: JointRange, shares: np.ndarray, offsets: np.ndarray):
        self.joint, self.shares, self.offsets = joint, shares, offsets
        self.u = np.array([1.0, -1.0])
        first = joint.support(float(np.arctan2(shares[1], shares[0]))).ends[0]
        self.u *= 1.0 if self.u @ (first - offsets) >= 0 else -1.0

    def direction(self, t: float) -> np.ndarray:
        return (1.0 - t) * self.shares + t * self.u

    def angle(self, t: float) -> float:
        v = self.direction(t)
        return float(np.arctan2(v[1], v[0]))

    def support(self, t: float) -> Support:
        return self.joint.support(self.angle(t))

    def line(self, t: float) -> tuple[float, float, float]:
        value = float(np.hypot(*self.direction(t))) * self.support(t).value
        return 1.0 - t, t, value - t * float(self.u @ self.offsets)

    def gap(self, end: np.ndarray) -> float:
        return float(self.u @ (end - self.offsets))

    def balanced(self, low: float, high: float) -> np.ndarray:
        """The attained pair between two directions at which the gap is zero."""
        found, at = self.joint.balanced(self.offsets, self.angle(low), self.angle(high))
        return self.joint.pair(found.basis(at))


def lower_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The points that no other one beats in both coordinates, by increasing x."""
    slack = 1e-12 * float(np.abs(y).max(initial=0.0))
    kept, best = [], np.inf
    for i in np.lexsort((y, x)):
        if y[i] < best - slack:
            kept.append(i)
            best = y[i]
    return np.column_stack([x[kept], y[kept]])
