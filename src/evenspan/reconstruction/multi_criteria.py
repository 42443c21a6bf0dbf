r"""Fair PCA with any number of groups: semidefinite relaxation, rank reduction, rounding.

.. math:: \max_P \; g\bigl(\operatorname{tr} S_1 P, \dots, \operatorname{tr} S_G P\bigr)

for a concave increasing g: the smallest kept variance, the largest loss or error (negative), or the Nash social welfare
:math:`(\prod_g \operatorname{tr} S_g P)^{1/G}`. The fractional optimum bounds every projector. With two groups a
projector reaches it; with more it need not, and the certificate keeps the gap that is left.

.. math:: \min_{X, z} \; z \quad \text{subject to} \quad
    z \ge a_g - \operatorname{tr} S_g X \;\; (\text{all } g), \quad
    \operatorname{tr} X \le k, \quad 0 \preceq X \preceq I .

With X diagonalised, :math:`X = \sum_j x_j u_j u_j^\top`, the same programme in the eigenvalues alone is linear; a basic
solution of it has at most as many fractional entries as there are groups.
"""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg
from scipy.optimize import linprog

from ..core.answer import Certificate
from ..core.errors import ConfigurationError, DataError, NotSolvedError
from ..core.linalg import symmetrise, top_eigenspace
from .group_errors import best_kept, kept, square_root_map
from .multiplicative_weights import run

#: Up to this many features the interior-point solver is used, beyond it the first-order one.
INTERIOR_POINT = 60
#: Largest violation of a constraint, relative to the size of the data, that counts as solved; per solver.
TOLERANCE = {"CLARABEL": 1e-6, "SCS": 1e-5}


@dataclass(frozen=True, eq=False)
class Relaxation:
    """A solved relaxation: a fractional solution, its value, and a dual bound checked apart from the solver.

    Parameters
    ----------
    X : ndarray of shape (d, d)
        Clipped to eigenvalues in [0, 1].
    value : float
        The objective at X, recomputed.
    bound : float
        The dual value at ``weights``, recomputed; nan where the objective has none of this form.
    weights : ndarray of shape (G,)
        Multipliers of the groups, non-negative and summing to one.
    residual : float
        Largest violation by the raw answer, relative to the size of the data.
    solver, status : str
        Which solver, and what it said.
    """

    X: np.ndarray
    value: float
    bound: float
    weights: np.ndarray
    residual: float
    solver: str
    status: str


def _cvxpy():
    try:
        import cvxpy
    except ImportError:
        raise ConfigurationError(
            "the semidefinite relaxation needs cvxpy, which is not installed. Install evenspan[solvers], or use "
            "solver='exact' (two groups) or solver='mw'."
        ) from None
    return cvxpy


def clip_to_fantope(X: np.ndarray, k: int) -> np.ndarray:
    """X with eigenvalues clipped to [0, 1] and, if they sum to more than k, shrunk to that sum."""
    values, vectors = np.linalg.eigh(symmetrise(X))
    values = np.clip(values, 0.0, 1.0)
    total = values.sum(axis=0)
    if total > k:
        values *= k / total
    return (vectors * values) @ vectors.T


def solve_cone(build, d: int, k: int):
    """Solve ``build(cvxpy, X) -> (objective, constraints)`` over the fantope.

    Returns the raw X, the constraints, the largest violation, solver and status; raises NotSolvedError with status and
    residual where a solver failed or violates its constraints. Whether the answer is optimal is left to the caller, who
    has a dual bound: what a solver calls inaccurate can be accurate enough, and the reverse.
    """
    cp = _cvxpy()
    X = cp.Variable((d, d), symmetric=True)
    objective, constraints = build(cp, X)
    fantope = [X >> 0, np.eye(d) - X >> 0, cp.trace(X) <= k]
    problem = cp.Problem(objective, [*constraints, *fantope])
    name = "CLARABEL" if d <= INTERIOR_POINT else "SCS"
    options = {} if name == "CLARABEL" else {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iters": 50_000}
    message = f"{name} did not solve the semidefinite programme (d={d}, k={k}, status {{}}, residual {{}}). {{}}"
    instead = "Standardise the data, use solver='exact' for two groups, or solver='mw'."
    try:
        with warnings.catch_warnings():
            # Announces an inaccurate status; the status is judged below, and the answer by its dual bound.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=name, **options)
    except cp.error.SolverError as error:
        raise NotSolvedError(message.format(repr(str(error)), "unknown", instead)) from None
    if X.value is None:
        raise NotSolvedError(message.format(repr(problem.status), "unknown", instead))
    values = np.linalg.eigvalsh(symmetrise(X.value))
    residual = float(max(-values[0], values[-1] - 1.0, (values.sum(axis=0) - k) / k, 0.0))
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) or residual > TOLERANCE[name]:
        raise NotSolvedError(message.format(repr(problem.status), f"{residual:.1e}", instead))
    return symmetrise(X.value), constraints, residual, name, problem.status


def relax(matrices: np.ndarray, k: int, a: np.ndarray) -> Relaxation:
    """Solve the relaxation with offsets ``a`` (G,): losses with the best each group can keep, errors with traces."""
    matrices, a = np.asarray(matrices), np.asarray(a)
    d = matrices.shape[1]
    scale = float(np.trace(matrices, axis1=1, axis2=2).max()) / d

    def build(cp, X):
        z = cp.Variable()
        rows = [z >= a[g] / scale - cp.sum(cp.multiply(matrices[g] / scale, X)) for g in range(len(a))]
        return cp.Minimize(z), rows

    raw, rows, residual, name, status = solve_cone(build, d, k)
    X = clip_to_fantope(raw, k)
    weights = np.maximum([float(row.dual_value) for row in rows], 0.0)
    weights = weights / weights.sum(axis=0)
    value = float((a - (matrices * X).sum(axis=(1, 2))).max())
    bound = dual_value(matrices, k, a, weights)
    require_closed(name, status, d, k, value, bound, scale)
    return Relaxation(X, value, bound, weights, residual, name, status)


def require_closed(name: str, status: str, d: int, k: int, value: float, bound: float, scale: float) -> None:
    """Raise NotSolvedError where value and bound of a solver's answer are further apart than its tolerance."""
    gap = abs(value - bound) / scale
    if not gap <= 10 * TOLERANCE[name]:
        raise NotSolvedError(
            f"{name} reported {status!r}, but its answer is not optimal (d={d}, k={k}): value {value:.8g} against the "
            f"bound {bound:.8g} from its own multipliers, residual {gap:.1e} of the data's scale; needed is "
            f"{10 * TOLERANCE[name]:.0e}. Standardise the data, use solver='exact' for two groups, or solver='mw'."
        )


def dual_value(matrices: np.ndarray, k: int, a: np.ndarray, weights: np.ndarray) -> float:
    """No X, fractional or not, has a smaller maximum: sum of w_g a_g less the k largest eigenvalues at w."""
    top = np.linalg.eigvalsh(np.tensordot(weights, matrices, axes=1))[-k:].sum(axis=0)
    return float(weights @ a - top)


def round_by_lp(matrices: np.ndarray, k: int, a: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A basic solution of the linear programme in the eigenvalues of X: weights l (d,) and eigenvectors (d, d).

    At most G entries of l lie strictly between 0 and 1.
    """
    vectors = np.linalg.eigh(symmetrise(X))[1][:, ::-1]
    G, d = len(a), len(X)
    scale = float(np.trace(matrices, axis1=1, axis2=2).max()) / d
    c = np.einsum("dj,gde,ej->gj", vectors, matrices, vectors, optimize=True) / scale
    rows = np.vstack([np.hstack([-c, -np.ones((G, 1))]), np.append(np.ones(d), 0.0)])
    # Simplex, because interior points are not basic: they would leave more entries fractional than needed.
    answer = linprog(
        np.append(np.zeros(d), 1.0),
        A_ub=rows,
        b_ub=np.append(-np.asarray(a) / scale, k),
        bounds=[(0, 1)] * d + [(None, None)],
        method="highs-ds",
    )
    if answer.status != 0:
        raise NotSolvedError(
            f"HiGHS did not solve the rounding programme (d={d}, k={k}, status {answer.status}: {answer.message}). "
            "Standardise the data, or use mode='rank-k'."
        )
    return np.clip(answer.x[:d], 0.0, 1.0), vectors


def samadi(matrices: np.ndarray, k: int, a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Relaxation]:
    """SDP and LP rounding as published: fractional X, its weights l, the operator P* and the relaxation behind them.

    References
    ----------
    Samadi et al. (2018), Algorithm 1.
    """
    relaxation = relax(matrices, k, a)
    weights, vectors = round_by_lp(matrices, k, a, relaxation.X)
    X = (vectors * weights) @ vectors.T
    return X, weights, square_root_map(X), relaxation


Objective = Literal["loss", "error", "variance", "nsw"]
#: An eigenvalue this close to 0 or 1 counts as being there.
INTEGRAL = 1e-6


def criteria_offsets(matrices: np.ndarray, k: int, objective: Objective) -> np.ndarray:
    """What kept variance is subtracted from before the maximum over groups is taken, shape (G,)."""
    if objective == "loss":
        return best_kept(matrices, k)
    if objective == "error":
        return np.trace(matrices, axis1=1, axis2=2)
    if objective == "variance":
        return np.zeros(len(matrices))
    raise ConfigurationError(f"objective={objective!r}; needed is 'loss', 'error', 'variance' or 'nsw'.")


def nash_welfare(variances: np.ndarray) -> float:
    """Geometric mean of the kept variances."""
    return float(np.exp(np.log(variances).mean(axis=0))) if (variances > 0).all() else 0.0


def rank_bound(k: int, G: int) -> int:
    r"""The rank that an extreme point needs at most, :math:`k + \lfloor \sqrt{2G + 1/4} - 3/2 \rfloor`.

    References
    ----------
    Tantipongpipat et al. (2019), Theorem 1.7.
    """
    return k + max(int(np.floor(np.sqrt(2.0 * G + 0.25) - 1.5 + 1e-12)), 0)


def relax_nash(matrices: np.ndarray, k: int) -> tuple[np.ndarray, float, float]:
    """Fractional X of largest Nash social welfare, the welfare, and a bound on that of any X.

    The bound is that of the tangent of the mean logarithm, whose maximum over the fantope is an eigenvalue sum.
    """
    G, d, _ = matrices.shape
    own = best_kept(matrices, k)
    if not (own > 0).all():
        raise DataError(
            f"group {int(np.argmin(own))} (counted from 0) keeps no variance whatever is chosen: the Nash social "
            "welfare is zero for every answer. Drop the group, or take objective='loss'."
        )
    scaled = matrices / own[:, None, None]  # the optimum does not depend on the units of the groups

    def build(cp, X):
        parts = [cp.log(cp.sum(cp.multiply(S, X))) for S in scaled]
        return cp.Maximize(cp.sum(cp.hstack(parts)) / G), []

    raw, _, _, name, status = solve_cone(build, d, k)
    X = clip_to_fantope(raw, k)
    variances = (scaled * X).sum(axis=(1, 2))
    value = float(np.log(variances).mean(axis=0))
    slope = (scaled / variances[:, None, None]).sum(axis=0) / G
    bound = value + float(np.linalg.eigvalsh(slope)[-k:].sum(axis=0)) - 1.0
    require_closed(name, status, d, k, value, bound, 1.0)
    unit = float(np.exp(np.log(own).mean(axis=0)))
    return X, unit * float(np.exp(value)), unit * float(np.exp(bound))


def fill_trace(X: np.ndarray, k: int) -> np.ndarray:
    """X raised to trace k, largest eigenvalues first: no group keeps less."""
    values, vectors = np.linalg.eigh(symmetrise(X))
    values = np.clip(values, 0.0, 1.0)
    missing = k - values.sum(axis=0)
    for j in np.argsort(-values):
        if missing <= 0:
            break
        step = min(1.0 - values[j], missing)
        values[j] += step
        missing -= step
    return (vectors * values) @ vectors.T


def reduce_rank(X: np.ndarray, matrices: np.ndarray, k: int, *, equal_change: bool = True) -> np.ndarray:
    """An extreme point at which no group keeps less than at X.

    While the fractional eigenvalues leave a symmetric direction that changes the kept variance of all groups by the
    same amount (``equal_change``), or of the last group only, X moves along it, upwards, until an eigenvalue becomes
    0 or 1. With G groups q fractional eigenvalues remain where q(q + 1)/2 is at most G.

    References
    ----------
    Tantipongpipat et al. (2019), Theorem 1.7 and Section 3.
    """
    held = matrices[1:] - matrices[:1] if equal_change else matrices[:-1]
    values, vectors = np.linalg.eigh(fill_trace(X, k))
    while True:
        values = np.clip(values, 0.0, 1.0)
        values[values < INTEGRAL] = 0.0
        values[values > 1.0 - INTEGRAL] = 1.0
        free = np.flatnonzero((values > 0.0) & (values < 1.0))
        q = len(free)
        if q == 1:  # the trace is a whole number
            values[free] = np.round(values[free])
        if q <= 1 or q * (q + 1) // 2 <= len(held) + 1:
            return (vectors * values) @ vectors.T
        F = vectors[:, free]
        upper = np.triu_indices(q)
        # Off-diagonal entries count twice in a trace.
        double = np.where(upper[0] == upper[1], 1.0, 2.0)
        size = max(float(np.abs(matrices).max()), np.finfo(float).tiny)
        rows = [np.eye(q)[upper]] + [(F.T @ B @ F / size)[upper] * double for B in held]
        Y = np.zeros((q, q))
        Y[upper] = np.linalg.svd(np.array(rows))[2][-1]
        Y = Y + np.triu(Y, 1).T
        Y = Y if np.vdot(F.T @ matrices[-1] @ F, Y) >= 0 else -Y
        x = values[free]
        down = -Y / np.sqrt(np.outer(x, x))
        up = Y / np.sqrt(np.outer(1.0 - x, 1.0 - x))
        t = 1.0 / max(float(np.linalg.eigvalsh(down)[-1]), float(np.linalg.eigvalsh(up)[-1]))
        moved, rotation = np.linalg.eigh(np.diag(x) + t * Y)
        nearest = int(np.argmin(np.minimum(moved, 1.0 - moved)))
        moved[nearest] = np.round(moved[nearest])  # it is there; rounding must not keep it fractional
        values[free], vectors[:, free] = moved, F @ rotation


def polish(matrices: np.ndarray, V: np.ndarray, a: np.ndarray | None, *, steps: int = 50) -> np.ndarray:
    """The best of V and of ``steps`` subgradient steps from it; ``a`` None maximises the Nash social welfare."""

    def value(V):
        variances = kept(matrices, V)
        return -nash_welfare(variances) if a is None else float((a - variances).max())

    best, least = V, value(V)
    for t in range(steps):
        variances = kept(matrices, V)
        weights = 1.0 / np.maximum(variances, 1e-12) if a is None else np.arange(len(a)) == np.argmax(a - variances)
        ascent = np.tensordot(weights, matrices, axes=1) @ V
        ascent -= V @ (V.T @ ascent)
        length = np.linalg.norm(ascent)
        if not length > 0:
            break
        V = linalg.qr(V + 0.1 / np.sqrt(t + 1.0) * ascent / length, mode="economic", check_finite=False)[0]
        reached = value(V)
        if reached < least:
            best, least = V, reached
    return best


def solve_multi_criteria(
    matrices: np.ndarray, k: int, objective: Objective = "loss"
) -> tuple[np.ndarray, Certificate, np.ndarray]:
    """A projector of rank k for any number of groups, with the bound from the relaxation.

    The extreme point of the relaxation is rounded to its k leading eigenvectors and polished; for a maximum over groups
    the best iterate of multiplicative weights is a second candidate. The gap of the certificate is what rounding lost:
    it is zero to solver accuracy for two groups, and can be positive for more.

    Returns
    -------
    V : ndarray of shape (d, k)
    certificate : Certificate
        Of a minimisation for "loss", "error" and "variance" (the largest of minus the kept variances), of a
        maximisation for "nsw".
    X : ndarray of shape (d, d)
        The extreme point, of rank at most ``rank_bound(k, G)``.
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    if objective == "nsw":
        X, _, bound = relax_nash(matrices, k)
        X = reduce_rank(X, matrices, k, equal_change=False)
        V = polish(matrices, top_eigenspace(X, k)[1], None)
        problem = f"Nash social welfare of the groups' kept variances over projectors of rank {k}"
        return V, Certificate(problem, nash_welfare(kept(matrices, V)), bound), X
    a = criteria_offsets(matrices, k, objective)
    relaxation = relax(matrices, k, a)
    X = reduce_rank(relaxation.X, matrices, k)
    starts = [top_eigenspace(X, k)[1]]
    if len(matrices) > 2:
        runs = run(matrices, k, (0.3, 3.0), iterations=100, scale=True, offsets=a)
        starts += [r.best for r in runs]
    candidates = [polish(matrices, V, a) for V in starts]
    reached = [float((a - kept(matrices, V)).max()) for V in candidates]
    best = int(np.argmin(reached))
    problem = f"largest {objective} of the groups over projectors of rank {k}"
    if objective == "variance":
        problem = f"largest of minus the groups' kept variances over projectors of rank {k}"
    weights = tuple(float(w) for w in relaxation.weights)
    return candidates[best], Certificate(problem, reached[best], relaxation.bound, 0.0, "min", weights), X
