r"""The robust fair objective of two groups, minimised globally along the boundary of the joint range.

Each of the two branches of the objective is a concave function of the pair of group errors, and where they are equal
their common value grows in both errors. The smallest value over the convex set of attainable pairs therefore lies on
its boundary, a curve. The curve is enclosed in triangles between supporting lines; a triangle gives a lower bound, and
the triangle with the lowest bound is cut again until bound and best value meet. All eigenvalue problems are kept in
the ``JointRange``, so that a whole grid of radii and penalties shares them.
"""

import heapq
import itertools
from dataclasses import dataclass, field
from math import atan2, cos, hypot, pi, sin, sqrt

import numpy as np
from scipy.optimize import brentq

from ..core.answer import Certificate
from .joint_range import TIE, JointRange, Support

#: A minimum has weights (a, -b), (-c, e) or a mixture of them, all four positive: its direction is in this arc.
ARC = (-pi / 2, pi)
#: Directions closer than this are not told apart.
NARROW = 1e-9

Pair = tuple[float, float]


@dataclass(frozen=True)
class Branches:
    """The two branches J_0 and J_1 of the objective as functions of group errors, concave where none is negative."""

    shares: Pair
    radii: Pair
    penalty: float

    def __call__(self, q: Pair) -> Pair:
        (p0, p1), (e0, e1), (q0, q1), penalty = self.shares, self.radii, q, self.penalty
        root0, root1, ball0, ball1 = sqrt(max(q0, 0.0)), sqrt(max(q1, 0.0)), sqrt(e0), sqrt(e1)
        grown0, grown1 = q0 + 2.0 * ball0 * root0 + e0, q1 + 2.0 * ball1 * root1 + e1
        v0, v1 = p0 - penalty, p1 - penalty
        return (
            (p0 + penalty) * grown0 + v1 * (grown1 if v1 >= 0 else max(root1 - ball1, 0.0) ** 2),
            v0 * (grown0 if v0 >= 0 else max(root0 - ball0, 0.0) ** 2) + (p1 + penalty) * grown1,
        )

    def value(self, q: Pair) -> float:
        """The objective."""
        return max(self(q))

    def balance(self, q: Pair) -> float:
        """How much the first branch exceeds the second; monotone where one error grows as the other falls."""
        first, second = self(q)
        return first - second

    def descent(self, q: Pair) -> Pair:
        """Derivative of the larger branch with respect to the two errors."""
        sign = 1.0 if self.balance(q) >= 0 else -1.0
        weights = (self.shares[0] + sign * self.penalty, self.shares[1] - sign * self.penalty)
        return tuple(_slope(v, x, e) for v, x, e in zip(weights, q, self.radii, strict=True))


def _slope(v: float, q: float, e: float) -> float:
    ratio = sqrt(e / q) if q > 0 else float(e > 0)
    return v * (1.0 + ratio) if v >= 0 else v * max(1.0 - ratio, 0.0)


def edge_bound(f: Branches, a: Pair, b: Pair) -> float:
    """A lower bound of the objective on the straight piece from a to b: its smallest value, with few exceptions."""
    # Concave branches are smallest at the ends; their maximum can be smaller only where they cross.
    (a0, a1), (b0, b1) = f(a), f(b)
    ends = min(max(a0, a1), max(b0, b1))
    if (a0 - a1) * (b0 - b1) >= 0:
        return ends
    t = crossing(f, a, b)
    if (b[0] - a[0]) * (b[1] - a[1]) <= 0:
        return min(ends, f.value(between(a, b, t)))
    # Both errors grow together, so the branches may cross several times: step to both sides of the crossing found. On
    # either side the branch that is larger at both ends of what remains is smallest at one of them.
    near, far = between(a, b, max(t - 1e-11, 0.0)), between(a, b, min(t + 1e-11, 1.0))
    if f.balance(near) * (a0 - a1) < 0 or f.balance(far) * (b0 - b1) < 0:
        return max(min(a0, b0), min(a1, b1))
    return min(ends, max(map(min, f(near), f(far))))


def crossing(f: Branches, a: Pair, b: Pair) -> float:
    """Where between a (0) and b (1) the branches are equal; they differ in sign at the ends."""

    def balance(t):
        return f.balance(between(a, b, t))

    if (balance(0.0) > 0) == (balance(1.0) > 0):  # the way ends a rounding error beside b, which is that near to it
        return 1.0
    return brentq(balance, 0.0, 1.0, xtol=1e-15, rtol=1e-14)


def between(a: Pair, b: Pair, t: float) -> Pair:
    """The point at share t of the way from a to b."""
    return (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))


def corner(left: Support, right: Support) -> Pair:
    """Where the supporting lines of two directions meet."""
    turn = sin(right.angle - left.angle)
    return (
        (left.value * sin(right.angle) - right.value * sin(left.angle)) / turn,
        (right.value * cos(left.angle) - left.value * cos(right.angle)) / turn,
    )


def piece_bound(f: Branches, left: Support, right: Support) -> float:
    """A lower bound of the objective on the boundary between two directions: on the triangle that encloses it."""
    a, b = (tuple(np.maximum(end, 0.0).tolist()) for end in (left.ends[1], right.ends[0]))  # rounding below zero
    width = right.angle - left.angle
    if width < 10 * NARROW:
        # Too thin for a corner: no point of the piece is further from the chord than its length times the width.
        steepness = hypot(*f.descent(a)) + hypot(*f.descent(b))
        return edge_bound(f, a, b) - steepness * hypot(b[0] - a[0], b[1] - a[1]) * width
    triangle = clipped([a, corner(left, right), b])
    return min(edge_bound(f, one, other) for one, other in zip(triangle, triangle[1:] + triangle[:1], strict=True))


def clipped(polygon: list[Pair]) -> list[Pair]:
    """The part of a polygon in which no error is negative: no projection is elsewhere, and h is concave only there."""
    for axis in (0, 1):
        inside = []
        for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
            if p[axis] >= 0:
                inside.append(p)
            if (p[axis] >= 0) != (q[axis] >= 0):
                x = list(between(p, q, p[axis] / (p[axis] - q[axis])))
                x[axis] = 0.0
                inside.append((x[0], x[1]))
        polygon = inside
    return polygon


@dataclass
class Search:
    """Best point so far, and the pieces of the boundary that may hold a better one, lowest bound first."""

    f: Branches
    joint: JointRange
    best: tuple[float, Support | None, float] = (np.inf, None, 0.0)
    floor: float = np.inf
    pieces: list = field(default_factory=list)
    order: itertools.count = field(default_factory=itertools.count)

    def visit(self, found: Support) -> None:
        """Try both ends of a supporting piece, and the point between them where the branches are equal."""
        a, b = map(tuple, found.ends.tolist())
        candidates = [(self.f.value(a), 0.0)]
        if a != b:
            candidates.append((self.f.value(b), 1.0))
            if self.f.balance(a) * self.f.balance(b) < 0:
                t = crossing(self.f, a, b)
                candidates.append((self.f.value(between(a, b, t)), t))
            self.floor = min(self.floor, edge_bound(self.f, a, b))
        value, at = min(candidates)
        if value < self.best[0]:
            self.best = (value, found, at)

    def push(self, left: Support, right: Support) -> None:
        """Remember the piece between two neighbouring directions."""
        heapq.heappush(self.pieces, (piece_bound(self.f, left, right), next(self.order), left, right))

    def cut(self, left: Support, right: Support) -> None:
        """Solve one or more directions between two neighbours and put the smaller pieces back."""
        low, high, f = left.angle, right.angle, self.f
        a, b = tuple(left.ends[1].tolist()), tuple(right.ends[0].tolist())
        known = len(self.joint.known())
        if f.balance(a) * f.balance(b) < 0:
            # The branches cross on this piece, which makes a kink: find it to the last digit.
            brentq(lambda angle: self._balance(angle, low, high, a, b), low, high, xtol=1e-3 * NARROW, rtol=1e-15)
        if len(self.joint.known()) == known:
            self.joint.support(self._direction(low, high, a, b))
        inside = [s for s in self.joint.known() if low <= s.angle <= high]
        for found in inside[1:-1]:
            self.visit(found)
        for one, other in itertools.pairwise(inside):
            self.push(one, other)

    def _balance(self, angle: float, low: float, high: float, a: Pair, b: Pair) -> float:
        if angle in (low, high):
            return self.f.balance(a if angle == low else b)
        found = self.joint.support(angle)
        first, last = (self.f.balance(tuple(end)) for end in found.ends.tolist())
        return 0.0 if first * last < 0 else first

    def _direction(self, low: float, high: float, a: Pair, b: Pair) -> float:
        """Where to cut: at the gradient of the better end if that is well inside, else parallel to the chord."""
        gradient = self.f.descent(min(a, b, key=self.f.value))
        for angle in (atan2(gradient[1], gradient[0]), atan2(b[0] - a[0], a[1] - b[1])):
            if low + 0.02 * (high - low) < angle < high - 0.02 * (high - low):
                return angle
        return 0.5 * (low + high)


def solve_exact(
    joint: JointRange, shares, radii, penalty: float, *, rtol: float = 1e-9, max_evaluations: int = 500
) -> tuple[np.ndarray, Certificate]:
    """The global minimiser of the robust fair objective for two groups, with a bound that certifies it.

    The weights of the certificate are those of the eigenvalue problem that gave V; they can be negative.
    """
    shares, radii = (tuple(float(x) for x in given) for given in (shares, radii))
    search, before = Search(Branches(shares, radii, float(penalty)), joint), joint.evaluations
    for angle in np.linspace(*ARC, 7):
        joint.support(float(angle))
    supports = [s for s in joint.known() if ARC[0] <= s.angle <= ARC[1]]
    for found in supports:
        search.visit(found)
    for left, right in itertools.pairwise(supports):
        search.push(left, right)
    while search.pieces:
        bound, _, left, right = search.pieces[0]
        if search.best[0] - bound <= rtol * abs(search.best[0]) or joint.evaluations - before >= max_evaluations:
            break
        heapq.heappop(search.pieces)
        if (width := right.angle - left.angle) < NARROW:
            # Too narrow to be cut: what lies between is a straight piece whose tie was just not noticed.
            search.visit(joint.support(0.5 * (left.angle + right.angle), tie=max(TIE, 10.0 * width)))
            search.floor = min(search.floor, bound)
        else:
            search.cut(left, right)
    _, found, at = search.best
    V = found.basis(at)
    primal = float(search.f.value(tuple(joint.pair(V))))
    dual = float(min(primal, search.floor, *(piece[0] for piece in search.pieces[:1])))
    total = abs(cos(found.angle)) + abs(sin(found.angle))
    certificate = Certificate(
        "worst-case error plus penalised difference over projections of rank k",
        primal,
        dual,
        float(np.abs(V.T @ V - np.eye(V.shape[1])).max()),
        sense="min",
        weights=(cos(found.angle) / total, sin(found.angle) / total),
        evaluations=joint.evaluations - before,
        scope="whole problem",
    )
    return V, certificate
