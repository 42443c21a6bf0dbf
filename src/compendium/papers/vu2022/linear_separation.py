"""Delta F_Lin, the judge of Vu et al. (2022): how far one linear score can tell two groups apart after the projection.

The score is that of a soft-margin linear support vector machine, solved to a certified gap by a primal-dual
interior-point method, so that no fit can fail silently.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import linalg

from evenspan.core.errors import DataError
from evenspan.core.groups import encode_groups
from evenspan.core.linalg import fix_signs, top_eigenspace

#: Most steps of the interior-point method, which stops when the gap is below a share of the objective.
MAX_STEPS, TOL = 100, 1e-10


def linear_separation(
    T: np.ndarray,
    groups,
    *,
    rng: np.random.Generator,
    variant: Literal["defined", "released"] = "defined",
    penalties: Sequence[float] = (1e-4, 1e-2, 1.0, 1e2, 1e4),
    folds: int = 5,
) -> float:
    r"""How far a linear classifier's score separates two groups (Delta F_Lin).

    .. math:: \sup_{h \text{ linear},\, t} \; \big| P(h > t \mid \text{group } 1) - P(h > t \mid \text{group } 0) \big|

    is estimated from below: the columns of T (n, k) are standardised, a soft-margin linear support vector machine is
    fitted to the two groups, and the largest difference of the two empirical distributions of its score is returned.
    Its penalty is the first with the largest sum of these distances on held-out folds; folds in which a group is
    missing, from either side, are left out.

    "defined": rows with equal scores fall on the same side of every threshold. "released", as in the public program: a
    threshold may lie between equal scores, in the order in which the rows happen to stand.

    The value is not invariant to rotations of the columns, because they are standardised one by one: rotate the basis
    with ``principal_axes`` first. It is computed on the sample the score was fitted to, so it is biased upwards.

    References: M. Olfat and A. Aswani (2019), Convex formulations for fair principal component analysis.
    """
    _, codes = encode_groups(groups, len(T))
    second = codes == 1
    deviation = T.std(axis=0)
    varies = deviation > 1e-12 * np.abs(T).max(axis=0, initial=0.0)
    Y = (T - T.mean(axis=0)) / np.where(varies, deviation, 1.0)
    Y[:, ~varies] = 0.0
    parts = np.array_split(rng.permutation(len(T)), folds)
    masks = [np.isin(np.arange(len(T)), part) for part in parts]
    masks = [inside for inside in masks if all(len(np.unique(second[side])) == 2 for side in (inside, ~inside))]
    held_out = np.zeros(len(penalties))
    for inside in masks:
        for i, penalty in enumerate(penalties):
            score = Y[inside] @ linear_svm(Y[~inside], second[~inside], penalty).w
            held_out[i] += distance(score, second[inside], variant)
    if not masks:
        raise DataError(f"in none of {folds} folds do both groups occur inside and outside. Use more rows.")
    # Sums that differ by rounding only are ties; the first of them is taken.
    chosen = penalties[int(np.argmax(held_out >= held_out.max(axis=0) - 1e-9))]
    return distance(Y @ linear_svm(Y, second, chosen).w, second, variant)


def distance(score: np.ndarray, second: np.ndarray, variant: Literal["defined", "released"] = "defined") -> float:
    """Kolmogorov-Smirnov distance between the scores of two groups; ``second`` marks the rows of one of them."""
    order = np.argsort(score, kind="stable")
    marked = second[order]
    shares = np.cumsum(marked) / marked.sum(axis=0) - np.cumsum(~marked) / (~marked).sum(axis=0)
    if variant == "defined":
        ranked = score[order]
        # The points on the margin have equal scores at the optimum, and differ by the error of the fit.
        rounding = 1e-7 * max(abs(ranked[0]), abs(ranked[-1]))
        shares = shares[np.append(np.diff(ranked) > rounding, True)]
    return float(np.abs(shares).max(axis=0))


def principal_axes(V: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The basis of the span of V (d, k) in which V'HV is diagonal, by decreasing value: the same for every basis."""
    _, axes = top_eigenspace(V.T @ H @ V, V.shape[1])
    return fix_signs(V @ axes)


@dataclass(frozen=True, eq=False)
class LinearSVM:
    """The answer: scores are ``X @ w + intercept``; ``primal`` and ``dual`` bracket the optimal objective.

    Where w = 0 is optimal to the tolerance, w is that of the last step with a gap above 1e-8 of the objective: it is
    small, but its direction does not depend on rounding.
    """

    w: np.ndarray
    intercept: float
    primal: float
    dual: float
    steps: int


def linear_svm(X: np.ndarray, positive: np.ndarray, penalty: float) -> LinearSVM:
    r"""Solve the soft-margin linear support vector machine for roughly standardised points (n, p) of two classes.

    .. math:: \min_{w, b} \; \tfrac12 \lVert w \rVert^2 + C \sum_i \max\{0,\, 1 - y_i (w^\top x_i + b)\}

    Divided by C and with slacks it is a quadratic program whose multipliers :math:`a_i` lie in [0, 1]. Eliminating all
    n slacks and multipliers from a Newton step leaves one system of order p + 1,

    .. math:: (K + A^\top D A)\, \Delta = r, \qquad A = \operatorname{diag}(y)\,[X \; 1], \quad
        K = \operatorname{diag}(1/C, \dots, 1/C, 0),

    D being diagonal and positive: O(n p^2) a step, and 10 to 30 steps, to a gap of ``TOL``. ``dual`` is the value of a
    feasible point, hence below the optimum. A gap larger than 1e-6 of the objective at the end raises an error.

    References: M. C. Ferris and T. S. Munson (2002), Interior-point methods for massive support vector machines; S.
    Mehrotra (1992), On the implementation of a primal-dual interior point method.
    """
    n, p = X.shape
    y = np.where(positive, 1.0, -1.0)
    A = np.empty((p + 1, n))  # one feature a row: sums over points run along memory
    A[:p] = X.T * y
    A[p] = y
    K = np.append(np.full(p, 1.0 / penalty), 0.0)
    v = np.zeros(p + 1)
    # Multipliers balanced between the classes from the start, so that sum(a * y) = 0 is never violated.
    share = min(positive.mean(axis=0), 1.0 - positive.mean(axis=0))
    a = np.where(positive, share / (2.0 * positive.mean(axis=0)), share / (2.0 * (1.0 - positive.mean(axis=0))))
    c = 1.0 - a  # multipliers of the slacks
    s, e = np.full(n, 1.0), np.full(n, 2.0)  # s = margin - 1 + e, e the hinge slack; both multiply to mu with a, c
    best, path = None, v
    for step in range(MAX_STEPS + 1):
        margins = v @ A
        Aa = A @ a
        primal = float(0.5 * (K @ v**2) + np.maximum(1.0 - margins, 0.0).sum(axis=0))
        dual = _dual_value(A, K, a, Aa)
        if best is None or primal - dual < best.primal - best.dual:
            best = LinearSVM(v[:p].copy(), float(v[p]), primal, dual, step)
        if best.primal - best.dual > 1e-8 * best.primal:
            path = v
        if best.primal - best.dual <= TOL * best.primal or step == MAX_STEPS:
            break
        gap_a, gap_c = a * s, c * e
        mu = float(gap_a.sum(axis=0) + gap_c.sum(axis=0)) / (2 * n)
        if mu <= 1e-3 * np.finfo(float).eps * primal / n:
            break
        D = 1.0 / (s / a + e / c)
        try:
            factor = linalg.cho_factor(np.diag(K) + (A * D) @ A.T, check_finite=False)
        except linalg.LinAlgError:
            break  # rounding has the last word; the check below decides whether the gap is good enough
        system = (A, D, factor, Aa - K * v, margins + e - 1.0 - s)
        dv, da, ds, de = _newton(system, (a, c, s, e), -gap_a, -gap_c)
        reach = _longest_step((a, da), (c, -da), (s, ds), (e, de))
        after = ((a + reach * da) @ (s + reach * ds) + (c - reach * da) @ (e + reach * de)) / (2 * n)
        target = mu * (after / mu) ** 3
        dv, da, ds, de = _newton(system, (a, c, s, e), target - gap_a - da * ds, target - gap_c + da * de)
        reach = min(1.0, max(0.99, 1.0 - mu) * _longest_step((a, da), (c, -da), (s, ds), (e, de)))
        v = v + reach * dv
        a, s, e = a + reach * da, s + reach * ds, e + reach * de
        c = c - reach * da
    if not best.primal - best.dual <= 1e-6 * best.primal:
        raise DataError(
            f"the linear classifier (n={n}, p={p}, C={penalty:g}) was solved only to a gap of "
            f"{best.primal - best.dual:.1e} at objective {best.primal:.1e}. Check that columns are standardised."
        )
    if 2.0 * share * n - best.dual <= 1e-9 * best.dual:  # what w = 0 reaches, against the bound
        primal = float(0.5 * (K @ path**2) + np.maximum(1.0 - path @ A, 0.0).sum(axis=0))
        best = replace(best, w=path[:p], intercept=float(path[p]), primal=primal)
    return replace(best, primal=penalty * best.primal, dual=penalty * best.dual)


def _newton(system: tuple, point: tuple, r_a: np.ndarray, r_c: np.ndarray) -> tuple:
    """The direction that changes a * s by r_a and c * e by r_c to first order, and removes the residuals."""
    A, D, factor, stationarity, infeasible = system
    a, c, s, e = point
    q = D * (r_a / a - r_c / c - infeasible)
    dv = linalg.cho_solve(factor, stationarity + A @ q, check_finite=False)
    da = q - D * (dv @ A)
    return dv, da, (r_a - s * da) / a, (r_c + e * da) / c


def _dual_value(A: np.ndarray, K: np.ndarray, a: np.ndarray, Aa: np.ndarray) -> float:
    """Objective of the multipliers after the heavier class is scaled down, which makes them exactly feasible."""
    imbalance, total = float(Aa[-1]), float(a.sum(axis=0))
    if abs(imbalance) > 1e-14 * total:
        heavy = A[-1] * imbalance > 0
        mass = 0.5 * (total + abs(imbalance))
        a = np.where(heavy, a * (1.0 - abs(imbalance) / mass), a)
        Aa, total = A @ a, float(a.sum(axis=0))
    return total - 0.5 * float((Aa[:-1] ** 2 / K[:-1]).sum(axis=0))


def _longest_step(*pairs: tuple[np.ndarray, np.ndarray]) -> float:
    """The largest step, at most 1, that keeps every x + step * dx non-negative."""
    steepest = max(float((-dx / x).max(axis=0)) for x, dx in pairs)
    return 1.0 / max(steepest, 1.0)
