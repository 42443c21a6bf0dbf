"""The methods of the tables of Vu et al. (2022) and ours beside them: each solves a whole grid at once."""

import itertools

import numpy as np

from evenspan.core.linalg import top_eigenspace
from evenspan.reconstruction import multiplicative_weights, robust_descent
from evenspan.reconstruction.convex import solve_convex
from evenspan.reconstruction.disparity import DisparityFairPCA
from evenspan.reconstruction.group_errors import group_matrices, operator_rank, square_root_map, truncate
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.robust_descent import descend
from evenspan.reconstruction.robust_exact import solve_exact

from .vu2022_protocol import ALPHAS, DELTAS, PENALTIES, RATES, RELEASED_TRADE, TRADES, Answer, Method, Problem

RESTARTS = 20
#: Relative gap to which the programs without closed form are solved.
TOLERANCE = 1e-6
ROBUST_GRID = tuple(itertools.product(ALPHAS, PENALTIES))


def radii(problem: Problem, alpha: float) -> np.ndarray:
    """Radius of the ambiguity ball of every group."""
    return robust_descent.radii(problem.moments.counts, alpha)


def standard(problem: Problem, grid) -> list[Answer]:
    """Standard PCA of all rows."""
    V = top_eigenspace(problem.moments.scatter, problem.k)[1]
    return [Answer(V) for _ in grid]


def published_descent(problem: Problem, grid) -> list[Answer]:
    """The published descent, all grid points and starts in one batch."""
    matrices, counts, drawn = group_matrices(problem.moments, "fitted"), problem.moments.counts, {"rng": problem.rng}
    if problem.released:
        drawn = {"starts": released_starts(problem, len(grid)), "warm_start": False}
    found = descend(
        matrices,
        counts,
        problem.k,
        list(grid),
        restarts=RESTARTS,
        iterations=problem.iterations,
        on_violation="clip_lambda",
        **drawn,
    )
    return [
        Answer(V, facts={"objective": value, "lambda clipped": clipped})
        for V, value, clipped in zip(found.V, found.objective, found.clipped, strict=True)
    ]


def released_starts(problem: Problem, settings: int) -> np.ndarray:
    """The starts of the released program for one grid point after the other, shape (settings, 1 + RESTARTS, d, k).

    Leading eigenvectors of the pooled second moment come first, and a later start has to end strictly lower. The
    program starts from random (d - k)-dimensional complements: the column spaces of Gaussian matrices.
    """
    d, k = problem.moments.d, problem.k
    drawn = problem.rng.normal(size=(settings, RESTARTS, d, d - k))
    pooled = top_eigenspace(problem.moments.second_moment, k)[1]
    pooled = np.broadcast_to(pooled, (settings, 1, d, k))
    return np.concatenate([pooled, np.linalg.qr(drawn, mode="complete")[0][..., d - k :]], axis=1)


def robust_exact(problem: Problem, grid) -> list[Answer]:
    """The same objective minimised exactly; the grid shares the eigenvalue problems."""
    joint, answers = JointRange(*group_matrices(problem.moments, "fitted"), problem.k), []
    for alpha, penalty in grid:
        shares = problem.moments.counts / problem.moments.n
        V, certificate = solve_exact(joint, shares, radii(problem, alpha), penalty)
        answers.append(Answer(V, facts={"objective": certificate.primal, "certificate gap": certificate.gap}))
    return answers


def weights_operator(problem: Problem, grid) -> list[Answer]:
    """Multiplicative weights as released: the operator of full rank is what is judged."""
    matrices = group_matrices(problem.about_groups, "group")
    runs = multiplicative_weights.run(matrices, problem.k, [rate for (rate,) in grid], iterations=problem.iterations)
    found = [square_root_map(multiplicative_weights.released_choice(matrices, run, problem.k)) for run in runs]
    return [Answer(P=P, facts={"operator rank": operator_rank(P)}) for P in found]


def weights_truncated(problem: Problem, grid) -> list[Answer]:
    """The same operator cut to its k leading directions, with the choice made by the correct trace."""
    matrices = group_matrices(problem.about_groups, "group")
    runs = multiplicative_weights.run(matrices, problem.k, [rate for (rate,) in grid], iterations=problem.iterations)
    return [
        Answer(truncate(multiplicative_weights.correct_choice(matrices, run, problem.k), problem.k)) for run in runs
    ]


def min_max(objective: str):
    """The exact min-max solver for the loss or the error."""

    def solve(problem: Problem, grid) -> list[Answer]:
        V, certificate = solve_min_max(*group_matrices(problem.about_groups, "group"), problem.k, objective)
        return [Answer(V, facts={"objective": certificate.primal, "certificate gap": certificate.gap}) for _ in grid]

    return solve


def disparity(constrained: bool):
    """u-FPCA and c-FPCA with the safe search."""

    def solve(problem: Problem, grid) -> list[Answer]:
        fitted = DisparityFairPCA(problem.k, constrained=constrained).fit_moments(problem.moments)
        return [Answer(fitted.components_.T) for _ in grid]

    return solve


def convex_mean(constraint: str):
    """CFPCA with the constraint on group means, as released or as defined."""

    def solve(problem: Problem, grid) -> list[Answer]:
        return _convex(problem, [{"delta": delta, "constraint": constraint} for (delta,) in grid])

    return solve


def convex_both(problem: Problem, grid) -> list[Answer]:
    """CFPCA with means matched (delta = 0) and a weight on the difference of the covariances."""
    return _convex(problem, [{"delta": 0.0, "mu": mu, "covariance": True} for (mu,) in grid])


def _convex(problem: Problem, settings: list[dict]) -> list[Answer]:
    """One program after the other, each from the end of the one before; an unsolved one has no answer."""
    answers, state = [], None
    for setting in settings:
        found = solve_convex(problem.moments, problem.k, **setting, tol=TOLERANCE, state=state)
        state = found.state or state
        if found.status in ("exact", "solved"):
            # Below 1 the relaxation is not tight, and the components are less and less determined.
            answers.append(Answer(found.V, facts={"k-th eigenvalue": found.eigenvalues[problem.k - 1]}))
        else:
            answers.append(Answer(reason=f"the relaxation was not solved: {found.status}"))
    return answers


METHODS: dict[str, Method] = {
    "RFPCA": Method(published_descent, ("chosen alpha", "chosen lambda"), ROBUST_GRID),
    "FairPCA": Method(weights_operator, ("chosen rate",), tuple((rate,) for rate in RATES)),
    "CFPCA-Mean Con.": Method(convex_mean("released"), ("chosen delta",), tuple((delta,) for delta in DELTAS)),
    # Every point of the released grid is this one, and the first is chosen.
    "CFPCA - Both Con.": Method(convex_both, ("mu",), ((RELEASED_TRADE,),)),
    "CFPCA - Both Con. (mu as meant)": Method(convex_both, ("chosen mu",), tuple((mu,) for mu in TRADES)),
    "PCA": Method(standard),
    "RFPCA (exact)": Method(robust_exact, ("chosen alpha", "chosen lambda"), ROBUST_GRID),
    "FairPCA (rank k)": Method(weights_truncated, ("chosen rate",), tuple((rate,) for rate in RATES)),
    "FairPCA (exact)": Method(min_max("loss")),
    "FairPCA (error, exact)": Method(min_max("error")),
    "CFPCA-Mean Con. (linear)": Method(convex_mean("linear"), ("chosen delta",), tuple((d,) for d in DELTAS)),
    "u-FPCA": Method(disparity(False)),
    "c-FPCA": Method(disparity(True)),
}
