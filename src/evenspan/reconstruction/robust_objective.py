r"""The worst-case fair objective as a function of the group errors alone, for two groups and for more.

With :math:`q_b = \operatorname{tr} M_b (I - VV^\top)` the error of group b, the largest expected error within a
Wasserstein-type ball of radius e about its moments, times a factor v of either sign, is

.. math:: h(v, q, e) = v\,(\sqrt q + \sqrt e)^2 \;\; (v \ge 0), \qquad v \max(\sqrt q - \sqrt e, 0)^2 \;\; (v < 0),

and the objective is the largest, over ordered pairs of groups :math:`a \ne a'`, of

.. math:: J_{aa'}(q) = \sum_b h\bigl(p_b + \lambda [b = a] - \lambda [b = a'],\, q_b,\, \varepsilon_b\bigr) .

For two groups this is Theorem 3.2 of Vu et al. (2022) without its conditions; for more it is Theorem B.2 with the sum
put back that its statement drops. Group errors, radii and penalties may carry leading axes; groups are the last one.
"""

from dataclasses import dataclass

import numpy as np

from ..core.errors import ConfigurationError
from .group_errors import best_kept


def radii(counts, alpha) -> np.ndarray:
    """Radius of the ball of every group, alpha / sqrt(N_g), shape (..., G) for alpha of shape (...)."""
    alpha = np.asarray(alpha, dtype=float)
    if not (np.isfinite(alpha).all() and (alpha >= 0).all()):
        raise ConfigurationError(f"alpha={alpha.tolist()}; needed are finite numbers that are not negative.")
    return alpha[..., None] / np.sqrt(np.asarray(counts, dtype=float))


def worst_case(v, q, e) -> np.ndarray:
    """Largest value of v times an expected error, over the ball of radius e about a distribution with error q."""
    v = np.asarray(v, dtype=float)
    side = np.where(v < 0, -1.0, 1.0)
    return v * np.maximum(np.sqrt(np.maximum(q, 0.0)) + side * np.sqrt(e), 0.0) ** 2


@dataclass(frozen=True, eq=False)
class RobustObjective:
    """The objective with everything precomputed that does not depend on the errors; see the module.

    Parameters
    ----------
    factors : ndarray of shape (..., pairs, G)
        What multiplies the error of every group in every branch; ordered pairs in lexicographic order.
    shifts : ndarray of shape (..., pairs, G)
        Root of the radius, with the sign of the factor (0 counts as positive).
    """

    factors: np.ndarray
    shifts: np.ndarray

    @classmethod
    def of(cls, shares, radii, penalty) -> "RobustObjective":
        """For shares (G,), radii (..., G) and penalty (...)."""
        shares, penalty = np.asarray(shares, dtype=float), np.asarray(penalty, dtype=float)
        if not (np.isfinite(penalty).all() and (penalty >= 0).all()):
            raise ConfigurationError(f"penalty={penalty.tolist()}; needed are finite numbers that are not negative.")
        pairs = ordered_pairs(len(shares))
        signs = np.zeros((len(pairs), len(shares)))
        signs[np.arange(len(pairs)), pairs[:, 0]] = 1.0
        signs[np.arange(len(pairs)), pairs[:, 1]] = -1.0
        factors = shares + penalty[..., None, None] * signs
        roots = np.sqrt(np.asarray(radii, dtype=float))[..., None, :]
        return cls(factors, np.where(factors < 0, -1.0, 1.0) * roots)

    def branches(self, q) -> np.ndarray:
        """Value of every ordered pair, shape (..., pairs)."""
        roots = np.sqrt(np.maximum(q, 0.0))[..., None, :]
        return (self.factors * np.maximum(roots + self.shifts, 0.0) ** 2).sum(axis=-1)

    def value(self, q) -> np.ndarray:
        """The objective, shape (...)."""
        return self.branches(q).max(axis=-1)

    def slopes(self, q) -> np.ndarray:
        """Derivative of every branch with respect to every error, shape (..., pairs, G).

        Nothing is divided by zero: without a radius the term with the root is absent, and at q = 0 it is left out,
        because there M_g U = 0 and any finite coefficient gives the same subgradient.
        """
        roots = np.sqrt(np.maximum(q, 0.0))[..., None, :]
        ratios = np.divide(self.shifts, roots, out=np.zeros(np.broadcast_shapes(self.shifts.shape, roots.shape)),
                           where=roots > 0)  # fmt: skip
        return self.factors * np.maximum(1.0 + ratios, 0.0)

    def gradient(self, q) -> np.ndarray:
        """Derivative of the largest branch (the first one on ties) with respect to every error, shape (..., G)."""
        first = self.branches(q).argmax(axis=-1)
        return np.take_along_axis(self.slopes(q), first[..., None, None], axis=-2)[..., 0, :]


def ordered_pairs(G: int) -> np.ndarray:
    """All (a, a') with a different from a', in lexicographic order, shape (G (G - 1), 2)."""
    return np.array([(a, b) for a in range(G) for b in range(G) if a != b])


def branch_values(q, shares, radii, penalty) -> np.ndarray:
    """J of every ordered pair of groups, shape (..., G (G - 1)); for two groups J_0 and J_1."""
    return RobustObjective.of(shares, radii, penalty).branches(q)


def objective(q, shares, radii, penalty) -> np.ndarray:
    """The worst-case error plus penalised difference for group errors q (..., G), shape (...)."""
    return RobustObjective.of(shares, radii, penalty).value(q)


def closed_form(q, shares, radii, penalty) -> np.ndarray:
    """Theorem 3.2 and its correct extension without the cut at zero: right under its conditions only, shape (...)."""
    f = RobustObjective.of(shares, radii, penalty)
    roots = np.sqrt(np.maximum(q, 0.0))[..., None, :]
    return (f.factors * (roots + f.shifts) ** 2).sum(axis=-1).max(axis=-1)


def printed_objective(q, shares, radii, penalty) -> np.ndarray:
    """Theorem B.2 *as printed*, for the counter-example: sum_b p_b (q_b + eps_b) is missing, though q depends on V."""
    shares, e, penalty = np.asarray(shares, dtype=float), np.asarray(radii, dtype=float), np.asarray(penalty)
    q = np.maximum(q, 0.0)
    f = RobustObjective.of(shares, e, penalty)
    cross = 2.0 * (np.abs(f.factors) * np.sqrt(e * q)[..., None, :]).sum(axis=-1)
    a, b = ordered_pairs(len(shares)).T
    moved = q + e
    return (cross + penalty[..., None] * (moved[..., a] - moved[..., b])).max(axis=-1)


def smallest_errors(matrices: np.ndarray, k: int) -> np.ndarray:
    """The smallest error any projection of rank k leaves each group: sum of the d - k smallest eigenvalues, (G,)."""
    return np.trace(matrices, axis1=1, axis2=2) - best_kept(matrices, k)


@dataclass(frozen=True, eq=False)
class Conditions:
    """The two conditions of Theorem 3.2 for every group; the theorem needs one of them for each.

    Parameters
    ----------
    penalty_excess : ndarray of shape (..., G)
        penalty less share: condition (i) holds where it is not positive.
    radius_excess : ndarray of shape (..., G)
        Radius less smallest possible error: condition (ii) holds where it is not positive.
    """

    penalty_excess: np.ndarray
    radius_excess: np.ndarray

    @property
    def marginal(self) -> np.ndarray:
        """Condition (i), penalty at most the share of the group."""
        return self.penalty_excess <= 0

    @property
    def eigenvalue(self) -> np.ndarray:
        """Condition (ii), smallest possible error at least the radius."""
        return self.radius_excess <= 0

    @property
    def hold(self) -> np.ndarray:
        """Whether the theorem applies: for every group one of the two, shape (...)."""
        return (self.marginal | self.eigenvalue).all(axis=-1)

    @property
    def released_hold(self) -> np.ndarray:
        """What the released program asks, which is stricter: penalty at most every share, or (ii) for every group."""
        return self.marginal.all(axis=-1) | self.eigenvalue.all(axis=-1)

    @property
    def violated(self) -> np.ndarray:
        """For one setting: the groups that meet neither condition."""
        return np.flatnonzero(~(self.marginal | self.eigenvalue))

    def describe(self, names=None) -> str:
        """For one setting: which groups meet neither condition, and by how much they miss them."""
        return "; ".join(
            f"group {g if names is None else repr(names[g])}: penalty above its share by {self.penalty_excess[g]:.4g}, "
            f"radius above its smallest possible error by {self.radius_excess[g]:.4g}"
            for g in self.violated
        )


def conditions(matrices: np.ndarray, k: int, radii, shares, penalty) -> Conditions:
    """Conditions (i) and (ii) of Theorem 3.2 for radii (..., G) and penalty (...), and by how much they are missed."""
    radii, shares = np.asarray(radii, dtype=float), np.asarray(shares, dtype=float)
    excess = np.asarray(penalty, dtype=float)[..., None] - shares
    # Rounding must not turn a radius of zero into a violation where the smallest error is zero.
    floor = np.maximum(smallest_errors(matrices, k), 0.0)
    return Conditions(*np.broadcast_arrays(excess, radii - floor))
