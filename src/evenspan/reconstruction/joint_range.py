r"""The joint range of two groups: all pairs of errors that projections of rank k can reach, and its boundary.

Every projector P of rank k leaves the groups with errors :math:`q_g = \operatorname{tr} M_g - \operatorname{tr} M_g P`.
The set of all pairs :math:`(q_0, q_1)` has a boundary that one eigenvalue problem describes point by point, because a
linear function of the pair is a linear function of the projector:

.. math::
    \min_P\; \cos\theta\, q_0 + \sin\theta\, q_1
        = \operatorname{tr} S - (\text{sum of the } k \text{ largest eigenvalues of } S), \qquad
    S = \cos\theta\, M_0 + \sin\theta\, M_1 .

PCA, min-max, equal errors and the robust objective are different points of this one curve.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

from ..core.errors import DataError
from ..core.inputs import require_range
from ..core.linalg import eigenpairs, symmetrise
from ..core.moments import GroupMoments
from .group_errors import group_matrices, require_rank, require_several_groups, require_two_groups

#: Eigenvalues closer than this share of the largest entry are tied: the boundary has a straight piece there.
TIE = 1e-10


@dataclass(frozen=True, eq=False)
class Support:
    """The points of the joint range that are lowest in one direction: one point, or the two ends of a straight piece.

    Every lowest projector contains ``fixed`` (d, p); the rest is chosen from the tied eigenspace ``tied`` (d, q).
    """

    #: The direction is (cos, sin) of the angle.
    angle: float
    #: The smallest value of cos q_0 + sin q_1 over all projectors of rank k.
    value: float
    #: First and last point (2, 2) in counter-clockwise order; equal without ties.
    ends: np.ndarray
    fixed: np.ndarray
    tied: np.ndarray
    #: Quadratic form of the tangent direction on the columns of ``tied``, which diagonalise it, increasing (q,).
    shares: np.ndarray
    k: int

    def basis(self, at: float = 0.0) -> np.ndarray:
        """Orthonormal basis (d, k) of a lowest projector, ``at`` 0 for the first end, 1 for the last, linear between.

        The tangent form is diagonal on the tied space, so that its trace is the sum of what is taken there.
        """
        s, q = self.k - self.fixed.shape[1], self.tied.shape[1]
        # The error moves along the tangent by minus what is kept of it: the first end keeps the largest shares.
        high, low = self.shares[q - s :].sum(axis=0), self.shares[:s].sum(axis=0)
        taken = pick(-self.shares[::-1], self.tied[:, ::-1], s, -float(high + at * (low - high)))
        return np.hstack([self.fixed, taken[:, ::-1]])


def pick(values: np.ndarray, vectors: np.ndarray, s: int, wanted: float) -> np.ndarray:
    """s orthonormal columns from the eigenvectors of D whose trace against D is ``wanted``, or as near as possible."""
    # From the s smallest eigenvalues (increasing order) one eigenvector after the other is exchanged for the one q - s
    # places up; the exchange that would pass the wanted trace is a rotation. Exchanged eigenvectors are distinct, so
    # the columns stay orthonormal.
    q = len(values)
    columns = vectors[:, :s].copy()
    current = float(values[:s].sum(axis=0))
    for j in range(s - 1, -1, -1):
        if current >= wanted:
            break
        new = q - s + j
        rise = float(values[new] - values[j])
        if current + rise <= wanted:
            columns[:, j] = vectors[:, new]
        elif rise > 0:
            share = (wanted - current) / rise
            columns[:, j] = np.sqrt(1.0 - share) * vectors[:, j] + np.sqrt(share) * vectors[:, new]
        current += rise
    return columns


@dataclass(eq=False)
class JointRange:
    r"""All pairs of group errors that rank-k projections of two groups can reach, known by its boundary.

    .. math::
        \{ (\operatorname{tr} M_0 (I - P),\; \operatorname{tr} M_1 (I - P)) :
            P = P^\top = P^2,\ \operatorname{tr} P = k \}

    Parameters
    ----------
    M0, M1 : ndarray of shape (d, d)
        Symmetric matrices of the two groups, for instance from ``group_matrices``.
    k : int
        Rank of the projections, from 1 to d - 1.

    Attributes
    ----------
    evaluations : int
        Eigenvalue problems solved so far. Every direction is solved once and kept.

    Guarantees
    ----------
    Every point of every ``support`` is reached by a projector, and no projector lies below a supporting line: the
    boundary of the convex hull belongs to the set. For d of at least 3 the set itself is convex.

    Complexity
    ----------
    O(d^3) for each direction.

    References
    ----------
    Y.-H. Au-Yeung, Y.-T. Poon (1979), A remark on convexity and positive definiteness concerning Hermitian matrices;
    L. Brickman (1961), On the field of values of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> joint = JointRange(np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0]), 1)
    >>> np.round(joint.support(0.0).ends[0], 12)  # the first group's own component: it keeps 3 of 5
    array([2., 7.])
    """

    M0: np.ndarray
    M1: np.ndarray
    k: int
    evaluations: int = field(default=0, init=False)
    _known: dict[float, Support] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self):
        M0, M1 = np.asarray(self.M0, dtype=float), np.asarray(self.M1, dtype=float)
        if M0.ndim != 2 or M0.shape != M1.shape or M0.shape[0] != M0.shape[1]:
            raise DataError(f"the matrices have shapes {M0.shape} and {M1.shape}; needed are two of shape (d, d).")
        self.k = require_rank(self.k, len(M0))
        self.M0, self.M1 = symmetrise(M0), symmetrise(M1)
        self.traces = np.array([np.trace(self.M0), np.trace(self.M1)])
        self.scale = float(max(np.abs(self.M0).max(), np.abs(self.M1).max()))  # eigenvalues are compared with it

    @classmethod
    def from_moments(
        cls, moments: GroupMoments, n_components: int, *, center="overall", standardize: bool = False
    ) -> "JointRange":
        """The joint range of the two groups of these moments, of projections of rank ``n_components``.

        Errors about the overall mean, or each group's own (``center="group"``); ``standardize`` divides by deviations.
        """
        require_several_groups(moments, "JointRange")
        require_two_groups(moments, "JointRange", "Select two of them, or merge the others.")
        own = np.einsum("gdd->gd", moments.scatters)
        require_range(moments.counts, moments.means, own, None, moments.feature_names)
        seen = moments.standardised() if standardize else moments
        return cls(*group_matrices(seen, center), n_components)

    def pair(self, V: np.ndarray) -> np.ndarray:
        """The errors of the two groups for an orthonormal V of shape (d, k)."""
        return self.traces - np.array([np.vdot(V, self.M0 @ V), np.vdot(V, self.M1 @ V)])

    def support(self, angle: float, *, tie: float = TIE) -> Support:
        """The points that minimise ``cos(angle) q_0 + sin(angle) q_1``; 0 is the first group's PCA, pi / 2 the other's.

        Eigenvalues within the share ``tie`` of ``scale`` are taken as tied.
        """
        if tie == TIE and angle in self._known:
            return self._known[angle]
        self.evaluations += 1
        cos, sin = np.cos(angle), np.sin(angle)
        S, slack = cos * self.M0 + sin * self.M1, tie * self.scale
        values, vectors = eigenpairs(S)
        value = float(values[: -self.k].sum(axis=0))
        cut = len(values) - self.k
        first = int(np.searchsorted(values, values[cut] - slack))
        last = int(np.searchsorted(values, values[cut] + slack, side="right"))
        # Copies: a slice would keep all d eigenvectors of every direction.
        fixed, tied = vectors[:, last:].copy(order="F"), vectors[:, first:last].copy(order="F")
        shares = np.zeros(last - first)
        if first < cut:
            # Counter-clockwise the boundary runs along (sin, -cos); keeping most of it means not having come far.
            tangent = sin * (tied.T @ self.M0 @ tied) - cos * (tied.T @ self.M1 @ tied)
            shares, rotation = eigenpairs(symmetrise(tangent))
            tied = tied @ rotation
        found = Support(float(angle), value, np.empty((2, 2)), fixed, tied, shares, self.k)
        found.ends[0] = self.pair(found.basis(0.0))
        found.ends[1] = self.pair(found.basis(1.0)) if first < cut else found.ends[0]
        if tie == TIE:
            self._known[float(angle)] = found
        return found

    def known(self) -> list[Support]:
        """All directions solved so far, by increasing angle."""
        return [self._known[angle] for angle in sorted(self._known)]

    def boundary(self, n: int = 256) -> np.ndarray:
        """The closed boundary as a polygon of n points or more (m, 2), counter-clockwise."""
        supports = [self.support(float(angle)) for angle in np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)]
        return np.array([end for found in supports for end in found.ends[: 1 + bool(np.ptp(found.ends, axis=0).any())]])

    def balanced(self, offsets: np.ndarray, low: float = 0.0, high: float = np.pi / 2) -> tuple[Support, float]:
        """Where on the boundary, from the angle ``low`` to ``high`` in any order, errors less ``offsets`` are equal.

        A direction and where between its two ends the point is, for ``support.basis(at)``; or the nearest of the ends.
        """
        return self.crossing(np.array([1.0, -1.0]), float(offsets[0] - offsets[1]), low, high)

    def crossing(self, weights: np.ndarray, level: float, low: float, high: float) -> tuple[Support, float]:
        """Where a weighted sum of the errors reaches a level, as for ``balanced``.

        It never falls as the angle grows, and jumps where the boundary is straight; Brent's method finds where.
        """
        rounding = 4.0 * np.finfo(float).eps * float(self.traces.sum(axis=0))

        def gaps(found: Support) -> np.ndarray:
            both = found.ends @ weights - level
            return np.where(np.abs(both) <= rounding, 0.0, both)

        def gap(angle: float) -> float:
            first, last = gaps(self.support(angle))
            return 0.0 if first * last <= 0.0 else float(first)

        if gap(low) * (high - low) >= 0.0:
            found = self.support(low)
        elif gap(high) * (high - low) <= 0.0:
            found = self.support(high)
        else:
            found = self.support(brentq(gap, low, high, xtol=1e-16, rtol=4.0 * np.finfo(float).eps))
            if gap(found.angle) != 0.0:  # a jump between neighbouring angles: a tie that rounding hides
                found = self.support(found.angle, tie=1e-8)
        first, last = gaps(found)
        if first * last > 0.0:  # not reached: of the two ends the one with smaller errors
            return found, float(np.argmin(found.ends.sum(axis=1)))
        return found, first / (first - last) if first != last else 0.0

    def extreme_gaps(self) -> tuple[float, float]:
        """Smallest and largest q_0 - q_1 of any projection; equal errors exist exactly if they enclose zero."""
        low, high = self.support(-np.pi / 4), self.support(3 * np.pi / 4)
        return np.sqrt(2.0) * low.value, -np.sqrt(2.0) * high.value
