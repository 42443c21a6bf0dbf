r"""The semidefinite relaxation of min-max problems, and the linear programme that rounds its solution.

.. math:: \min_{X, z} \; z \quad \text{subject to} \quad
    z \ge a_g - \operatorname{tr} S_g X \;\; (\text{all } g), \quad
    \operatorname{tr} X \le k, \quad 0 \preceq X \preceq I .

With X diagonalised, :math:`X = \sum_j x_j u_j u_j^\top`, the same programme in the eigenvalues alone is linear; a basic
solution of it has at most as many fractional entries as there are groups.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ..core.errors import ConfigurationError, NotSolvedError
from ..core.linalg import symmetrise
from .operators import square_root_map

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
