"""The methods of the tables of Vu et al. (2022), ours beside them, and formulas as printed.

Each method solves a whole grid at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.linalg import lapack
from sklearn.base import clone

from evenspan.core.answer import Certificate
from evenspan.core.linalg import LARGE, span, top_eigenspace
from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.convex import ConvexAnswer, solve_convex
from evenspan.reconstruction.disparity import DisparityFairPCA
from evenspan.reconstruction.fantope import SplittingState
from evenspan.reconstruction.group_errors import best_kept, group_matrices
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.robust_descent import RobustObjective, conditions, descend, ordered_pairs, radii
from evenspan.reconstruction.robust_exact import solve_exact

from ...own import Estimator, fitted
from .protocol import Answer, Problem, Solver
from .released_constraint import Bounded
from .samadi import WeightsRun, correct_choice, operator_rank, run, square_root_map, truncate

RESTARTS, TOLERANCE = 20, 1e-6  # relative gap to which the programs without closed form are solved
#: Rates at which runs of multiplicative weights are checked, whichever is chosen. At the first, the smallest of the
#: grid, features moved by 1e-15 move nothing.
CHECKED_RATES = (0.1, 1.0, 4.25)


def _without_grid(basis: Callable[[Problem], np.ndarray]) -> Solver:
    """A method without a grid, from its basis."""
    return lambda problem, grid: [Answer(basis(problem))] * len(grid)


#: Standard PCA of all rows.
standard = _without_grid(lambda problem: top_eigenspace(problem.moments.scatter, problem.k)[1])


def of_estimator(estimator: Estimator) -> Solver:
    """The components of a class of one's own."""
    sized = lambda k: clone(estimator).set_params(n_components=k)  # noqa: E731
    return _without_grid(lambda problem: fitted(sized(problem.k), problem.moments, problem.rows).components_.T)


def disparity(constrained: bool) -> Solver:
    """u-FPCA and c-FPCA with the safe search."""
    fit = lambda k, moments: DisparityFairPCA(k, constrained=constrained).fit_moments(moments)  # noqa: E731
    return _without_grid(lambda problem: fit(problem.k, problem.moments).components_.T)


def published_descent(problem: Problem, grid) -> list[Answer]:
    """The published descent, all grid points and starts in one batch."""
    drawn = {"rng": problem.rng}
    if problem.released:
        drawn = {"starts": released_starts(problem, len(grid)), "warm_start": False}
    matrices, counts = group_matrices(problem.moments), problem.moments.counts
    settings, clipped = clip_lambda(matrices, counts, problem.k, grid)
    found = descend(matrices, counts, problem.k, settings, restarts=RESTARTS, iterations=problem.iterations, **drawn)
    return [
        Answer(V, facts={"objective": value, "lambda clipped": lowered})
        for V, value, lowered in zip(found.V, found.objective, clipped, strict=True)
    ]


def clip_lambda(matrices: np.ndarray, counts: np.ndarray, k: int, grid) -> tuple[np.ndarray, np.ndarray]:
    """The (alpha, penalty) of a grid as the released program takes them, and where it lowers the penalty.

    To the smallest share: where it is above a share and condition (ii) of Theorem 3.2 fails for a group."""
    asked, shares = np.array(list(grid), dtype=float), counts / counts.sum(axis=0)
    found = conditions(matrices, k, radii(counts, asked[:, 0]), shares, asked[:, 1])
    clipped = (found.penalty_excess > 0).any(axis=-1) & (found.radius_excess > 0).any(axis=-1)
    return np.column_stack([asked[:, 0], np.where(clipped, shares.min(axis=0), asked[:, 1])]), clipped


def released_starts(problem: Problem, settings: int) -> np.ndarray:
    """The starts of the released program, (settings, 1 + RESTARTS, d, k): leading eigenvectors, then random ones.

    These are complements of column spaces of Gaussian matrices (d, d - k)."""
    d, k = problem.moments.d, problem.k
    starts = np.empty((settings, 1 + RESTARTS, d, k))
    starts[:, 0], last = top_eigenspace(problem.moments.second_moment, k)[1], np.eye(d)[:, d - k :]
    for setting in starts:
        for start in setting[1:]:
            # The last k columns of Q, of which the others are not formed: reflectors that act on unit vectors.
            reflectors, tau, _, _ = lapack.dgeqrf(problem.rng.normal(size=(d, d - k)), lwork=64 * d)
            start[:] = lapack.dormqr("L", "N", reflectors, tau, last, 64 * k)[0]
    return starts


def robust_exact(problem: Problem, grid) -> list[Answer]:
    """The same objective minimised exactly; the grid shares the eigenvalue problems."""
    joint, counts = JointRange(*group_matrices(problem.moments), problem.k), problem.moments.counts
    found = (solve_exact(joint, counts / counts.sum(), radii(counts, alpha), penalty) for alpha, penalty in grid)
    return [certified(*one) for one in found]


def certified(V: np.ndarray, certificate: Certificate) -> Answer:
    """A basis with its objective and how far it can be from optimal."""
    return Answer(V, facts={"objective": certificate.primal, "certificate gap": certificate.gap})


def _weights(problem: Problem, grid, choice, kept) -> tuple[list[np.ndarray], dict[str, float]]:
    """Multiplicative weights, one run a rate: what a rule chooses of them, and checks of the last fit of a table.

    ``kept(matrices, X)`` (G,) is what the rule takes for the variance that X keeps of each group."""
    matrices = group_matrices(problem.about_groups, "group")

    def runs(rates: tuple[float, ...]) -> list[WeightsRun]:
        return _weights_runs(matrices.tobytes(), matrices.shape, problem.k, rates, problem.iterations)

    def loss(X: np.ndarray, kept=kept) -> float:
        return float((best_kept(matrices, problem.k) - kept(matrices, X)).max(axis=0))

    chosen = [choice(matrices, one, problem.k) for one in runs(tuple(rate for (rate,) in grid))]
    if len(grid) > 1 or not problem.released:  # a fold, or another experiment
        return chosen, {}
    checked = runs(CHECKED_RATES)
    short = (loss(choice(matrices, one, problem.k)) - min(map(loss, (one.average, _last(one)))) for one in checked)
    return chosen, {
        f"largest loss of the average, rate {CHECKED_RATES[0]:g}": loss(checked[0].average, _traces),
        "loss of the choice above the smaller": max(short),
    }


def _last(run: WeightsRun) -> np.ndarray:
    return run.last @ run.last.T


def _traces(matrices: np.ndarray, X: np.ndarray) -> np.ndarray:
    return (matrices * X).sum(axis=(1, 2))


def _sums(matrices: np.ndarray, X: np.ndarray) -> np.ndarray:
    r""":math:`1^{\top} S_g X 1`, which stands in the released program where the trace is meant."""
    return (matrices @ X).sum(axis=(1, 2))


@lru_cache(maxsize=5)  # three folds, the training part and checks: both choices are made of the same runs
def _weights_runs(content: bytes, shape: tuple, k: int, rates: tuple[float, ...], iterations: int) -> list[WeightsRun]:
    matrices = np.frombuffer(content).reshape(shape).copy()
    if shape[1] < LARGE:
        return run(matrices, k, rates, iterations=iterations)
    Q = leading_span(*matrices, k)
    runs = run(Q.T @ matrices @ Q, k, rates, iterations=iterations)
    return [replace(one, average=Q @ one.average @ Q.T, last=Q @ one.last, best=Q @ one.best) for one in runs]


def leading_span(S0: np.ndarray, S1: np.ndarray, k: int) -> np.ndarray:
    """Orthonormal columns (d, m) that span, to 1e-9, the k leading eigenvectors of every mixture of two matrices.

    Eigenvectors are analytic in the weight: those of a few dozen weights span all others."""

    def leading(weight: float) -> np.ndarray:
        return top_eigenspace(weight * S0 + (1.0 - weight) * S1, k + 5)[1]

    Q, intervals = span(np.hstack([leading(0.0), leading(1.0)])), [(0.0, 1.0)]
    while intervals:
        low, high = intervals.pop()
        middle = 0.5 * (low + high)
        V = leading(middle)
        if np.abs(V[:, :k] - Q @ (Q.T @ V[:, :k])).max() > 1e-9:
            Q = span(np.hstack([Q, V]))
            intervals += [(low, middle), (middle, high)]
    return Q


def released_choice(matrices: np.ndarray, run: WeightsRun, k: int) -> np.ndarray:
    """Average or last projector (d, d) as released."""
    average, ended = ((best_kept(matrices, k) - _sums(matrices, X)).max() for X in (run.average, _last(run)))
    return run.average if average <= ended else _last(run)


def weights_operator(problem: Problem, grid) -> list[Answer]:
    """Multiplicative weights as released: the operator of full rank is what is judged."""
    chosen, checked = _weights(problem, grid, released_choice, _sums)
    found = [square_root_map(X) for X in chosen]
    return [Answer(P=P, facts={"operator rank": operator_rank(P)} | checked) for P in found]


def weights_truncated(problem: Problem, grid) -> list[Answer]:
    """The same operator cut to its k leading directions, with the choice made by the correct trace."""
    chosen, checked = _weights(problem, grid, correct_choice, _traces)
    return [Answer(truncate(X, problem.k), facts=checked) for X in chosen]


def min_max(objective: str):
    """The exact min-max solver for the loss or the error."""

    def solve(problem: Problem, grid) -> list[Answer]:
        answer = solve_min_max(*group_matrices(problem.about_groups, "group"), problem.k, objective)
        return [certified(*answer) for _ in grid]

    return solve


def convex_mean(constraint: str, tol: float = TOLERANCE):
    """CFPCA with the constraint on group means, as released or as defined."""

    def solve(problem: Problem, grid) -> list[Answer]:
        solver = {"linear": solve_convex, "released": convex_as_published}[constraint]
        return _convex(problem, [{"delta": delta} for (delta,) in grid], solver, tol)

    return solve


def convex_both(problem: Problem, grid) -> list[Answer]:
    """CFPCA with means matched (delta = 0) and a weight on the difference of the covariances."""
    return _convex(problem, [{"delta": 0.0, "mu": mu, "covariance": True} for (mu,) in grid])


def _convex(problem: Problem, settings: list[dict], solver=solve_convex, tol: float = TOLERANCE) -> list[Answer]:
    """One program after the other, each from the end of the one before; an unsolved one has no answer."""
    answers, state = [], None
    for setting in settings:
        found = solver(problem.moments, problem.k, **setting, tol=tol, state=state)
        state = found.state or state
        if found.status in ("exact", "solved"):
            # Below 1 the relaxation is not tight, and the components are less and less determined.
            answers.append(Answer(found.V, facts={"k-th eigenvalue": found.eigenvalues[problem.k - 1]}))
        else:
            answers.append(Answer(reason=f"the relaxation was not solved: {found.status}"))
    return answers


def convex_as_published(
    moments: GroupMoments, k: int, *, delta: float, tol: float = TOLERANCE, state: SplittingState | None = None
) -> ConvexAnswer:
    """CFPCA with the mean constraint as released, |f| |X f| <= delta^2 / (n tr S), which hardly depends on delta."""
    f, S = moments.means[1] - moments.means[0], moments.scatter / moments.n
    size, norm = float(np.linalg.norm(f)), float(np.sqrt(moments.n * np.trace(S)))
    exact = solve_convex(moments, k, delta=size if delta > 0 else 0.0)  # with a bound of |f| it is PCA
    if delta == 0 or size * float(np.linalg.norm(exact.V.T @ f)) <= delta**2 / norm**2:
        return exact
    found = Bounded(S / norm, k, f, delta**2 / (norm**2 * size)).run(tol, 20_000, state)
    values, V = top_eigenspace(found.X, len(found.X))
    certificate = Certificate("<A, X> with the constraint as released", found.value, found.bound)
    return ConvexAnswer(found.X, V[:, :k], values, certificate, found.status, found.iterations, found.state)


def frontier(moments: GroupMoments, k: int, points: int = 81) -> Iterator[Answer]:
    """Smallest average error for every gap: the part of the joint range's boundary from PCA to equal errors."""
    joint, shares = JointRange(*group_matrices(moments), k), moments.counts / moments.n
    start = float(np.arctan2(shares[1], shares[0]))
    gap = float(np.subtract(*joint.support(start).ends[0]))
    # The larger error is to fall, so its group gains weight.
    end = -np.pi / 4 if gap > 0 else 3 * np.pi / 4
    for angle in np.linspace(start, end, points):
        found = joint.support(float(angle))
        reached = float(np.subtract(*found.ends[0]))
        yield Answer(found.basis(0.0))
        if reached * gap < 0:
            return


def closed_form(q, shares, radii, penalty) -> np.ndarray:
    """Theorem 3.2 and its correct extension without the cut at zero: right under its conditions only, shape (...)."""
    f = RobustObjective.of(shares, radii, penalty)
    roots = np.sqrt(np.maximum(q, 0.0))[..., None, :]
    return (f.factors * (roots + f.shifts) ** 2).sum(axis=-1).max(axis=-1)


def printed_objective(q, shares, radii, penalty) -> np.ndarray:
    """Theorem B.2 *as printed*, for the counter-example: sum_b p_b (q_b + eps_b) is missing, though q depends on V."""
    e, penalty, q = np.asarray(radii, dtype=float), np.asarray(penalty), np.maximum(q, 0.0)
    f = RobustObjective.of(shares, e, penalty)
    cross = 2.0 * (np.abs(f.factors) * np.sqrt(e * q)[..., None, :]).sum(axis=-1)
    a, b = ordered_pairs(len(shares)).T
    return (cross + penalty[..., None] * ((q + e)[..., a] - (q + e)[..., b])).max(axis=-1)


def u_form(matrices: np.ndarray, f: RobustObjective, U: np.ndarray, iterations: int) -> np.ndarray:
    """Algorithm 1 of Vu et al. (2022) literally, one run from the orthonormal U of shape (d, d - k): the last U."""
    step = 1.0 / np.sqrt(iterations + 1.0)
    for _ in range(iterations):
        q = np.einsum("dk,gde,ek->g", U, matrices, U, optimize=True)
        H = 2.0 * np.einsum("g,gde->de", f.gradient(q), matrices)
        Q, T = np.linalg.qr(U - step * (H @ U - U @ (U.T @ (H @ U))))
        U = Q * np.where(np.diag(T) < 0, -1.0, 1.0)
    return U
