"""The theorems and formulas of Vu et al. (2022), put to the test on random problems and on the paper's toy example.

Each function searches for what would contradict a claim. A statement about all cases does not hold if one case
contradicts it; the evidence then says which part is left.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import subspace_angles
from scipy.optimize import minimize

from evenspan.core.linalg import complement, top_eigenspace
from evenspan.reconstruction.group_errors import errors
from evenspan.reconstruction.joint_range import JointRange
from evenspan.reconstruction.min_max import solve_min_max
from evenspan.reconstruction.robust_descent import RobustObjective, conditions, descend, radii, worst_case
from evenspan.reconstruction.robust_exact import solve_exact

from ...claim_rules import HOLDS, IN_PART, NOT_SO, Answer, by_parts, by_truth, rule
from .methods import closed_form, printed_branch, printed_objective
from .protocol import COVARIANCES, FIGURE_1

SEED = 20220
#: Above the smaller share penalties are those of the paper's grid.
GRID = (0.5, 1.0, 1.5, 2.0, 2.5)
#: A penalty so heavy that the optimum is that of equal errors up to rounding.
HEAVY = 1e4
#: Step of the central differences; the error is of its square plus rounding over it.
STEP = 1e-5
#: Steps of the descent for which the gap is measured: two and a half decades carry a slope.
LENGTHS = (10, 30, 100, 300, 1000, 3000)
#: Rows of the toy's training sample, and its starts: equally spaced directions that hit no optimum.
COUNTS, STARTS = (200, 100), np.linspace(0.1, np.pi, 4, endpoint=False)
#: (alpha, penalty): optimum on the kink where the branches meet, off it, and on it with radii.
TOY_SETTINGS = ((0.0, 1.0), (0.0, 0.1), (1.0, 1.0))
#: Below this a gap is rounding: a search by values finds a turn to about 1e-8, and the gap is 4 L times that.
FLOOR = 1e-6


def shares(counts) -> np.ndarray:
    """Shares of the groups."""
    return np.asarray(counts) / np.sum(counts, axis=0)


def problems(claim: int, number: int, seed: int = SEED) -> Iterator[np.random.Generator]:
    """A source of random numbers for each problem that a claim is tried on."""
    return (np.random.default_rng((seed, claim, trial)) for trial in range(number))


def random_pair(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Two positive definite matrices of unequal size and shape, and shares."""
    roots = rng.normal(size=(2, d, d)) * rng.lognormal(sigma=0.7, size=(2, 1, d))
    share = rng.uniform(0.1, 0.9)
    return roots.swapaxes(1, 2) @ roots / d, np.array([share, 1.0 - share])


def fair_projection_iff_low_rank() -> Answer:
    """V01: rank one too many, and yet directions with equal errors; and the other part of the equivalence."""
    S = COVARIANCES[0] - COVARIANCES[1]
    values, vectors = np.linalg.eigh(S)
    gaps = []
    if values[0] * values[1] < 0:
        # v'Sv = 0 in the plane: the two directions with weights in the ratio of the eigenvalues.
        weights = np.sqrt(np.array([values[1], -values[0]]) / (values[1] - values[0]))
        for sign in (1.0, -1.0):
            v = vectors @ (weights * np.array([1.0, sign]))
            gaps.append(abs(float(np.diff(errors(COVARIANCES, complement(v[:, None])), axis=0)[0])))
    low_rank = 0.0
    for rng in problems(1, 50):
        d, k = 6, int(rng.integers(1, 5))
        factor = rng.normal(size=(d, k)) * rng.choice([-1.0, 1.0], size=k)
        D = factor @ np.diag(rng.normal(size=k)) @ factor.T
        V = complement(complement(factor))
        low_rank = max(low_rank, abs(np.trace(D) - np.trace(V.T @ D @ V)) / np.linalg.norm(D))
    rounding = rule("V01", "rounding")
    found = sum(gap < rounding for gap in gaps)
    return Answer(
        NOT_SO if found else HOLDS if low_rank < rounding else IN_PART,
        f"Toy covariances, k = 1: the difference has eigenvalues {values[0]:.2f} and {values[1]:.2f}, rank "
        f"{np.linalg.matrix_rank(S)}, and {found} directions with equal errors (gaps "
        f"{', '.join(f'{g:.1g}' for g in gaps)}). The if part stands: largest gap {low_rank:.1g} for 50 "
        "differences of rank at most k.",
    )


def worst_case_formula() -> Answer:
    """V02: maximise over means and covariances in the ball, by its definition, and compare with the closed form."""
    excess, shortfall, empty = -np.inf, 0.0, 0
    for trial, rng in enumerate(problems(2, 16)):
        d, v = 2, (1.3, -0.7)[trial % 2]
        mean, root = rng.normal(size=d), rng.normal(size=(d, d))
        Sigma, U = root @ root.T, np.linalg.qr(rng.normal(size=(d, 1)))[0]
        values, vectors = np.linalg.eigh(Sigma)
        half = (vectors * np.sqrt(values)) @ vectors.T
        q = float((U.T @ (Sigma + np.outer(mean, mean)) @ U)[0, 0])
        e = q * (0.2, 0.5, 2.0)[trial % 3]
        empty += v < 0 and e > q
        best = max(_maximise(v, U, mean, Sigma, half, e, rng) for _ in range(3))
        formula, scale = float(worst_case(v, q, e)), abs(v) * q
        excess, shortfall = max(excess, (best - formula) / scale), max(shortfall, (formula - best) / scale)
    return Answer(
        by_truth(max(excess, shortfall) < rule("V02", "searched")),
        f"16 random balls ({empty} with a negative factor and a radius above the error): the best point found is at "
        f"most {max(excess, 0.0):.1g} above and {shortfall:.1g} below the formula, relative to the error.",
    )


def _maximise(v, U, mean, Sigma, half, e, rng) -> float:
    d = len(mean)

    def divergence(x):
        L = x[d:].reshape(d, d)
        cross = np.sqrt(np.maximum(np.linalg.eigvalsh(half @ L @ L.T @ half), 0.0)).sum(axis=0)
        return float(((x[:d] - mean) ** 2).sum(axis=0) + np.vdot(L, L) + np.trace(Sigma) - 2.0 * cross)

    def value(x):
        seen, root = U.T @ x[:d], U.T @ x[d:].reshape(d, d)
        return v * float((seen**2).sum(axis=0) + np.vdot(root, root))

    found = minimize(
        lambda x: -value(x),
        np.concatenate([mean, half.ravel()]) + 0.05 * rng.normal(size=d + d * d),
        constraints={"type": "ineq", "fun": lambda x: e - divergence(x)},
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-12},
    )
    return value(found.x) if divergence(found.x) <= e * (1 + 1e-7) else -np.inf


def reformulation() -> Answer:
    """V03: the supremum itself, by ascent over both balls, against max(J_0, J_1) as printed.

    The ball about (m, S) is the image of the Frobenius ball about Y = U'[m, S^(1/2)] as far as the error |Y|^2 sees it
    (couplings of Gaussians): the supremum of p_0|Y_0|^2 + p_1|Y_1|^2 + lambda ||Y_0|^2 - |Y_1|^2| over two such balls.
    """
    worst, outside, inside_cases, outside_cases = 0.0, 0.0, 0, 0
    for trial, rng in enumerate(problems(3, 120)):
        d, k = int(rng.integers(2, 6)), 1
        M, p = random_pair(rng, d)
        penalty, e = rng.uniform(0.0, 2.5), rng.uniform(0.0, 0.5, size=2)
        if trial % 3 == 0:
            # A group with hardly any error: where condition (ii) fails the printed form may fail too.
            M[1] *= 0.02
        q = errors(M, np.linalg.qr(rng.normal(size=(d, k)))[0])
        supremum = _supremum(q, p, e, penalty, rng)
        difference = abs(float(closed_form(q, p, e, penalty)) - supremum) / supremum
        if conditions(M, k, e, p, penalty).hold:
            worst, inside_cases = max(worst, difference), inside_cases + 1
        else:
            outside, outside_cases = max(outside, difference), outside_cases + 1
    holds = worst < rule("V03", "searched") and inside_cases >= rule("V03", "cases")
    holds &= outside > rule("V03", "control")
    return Answer(
        by_truth(holds),
        f"{inside_cases} random cases that meet the conditions: largest relative difference {worst:.1g}. Control: in "
        f"{outside_cases} cases that do not, up to {outside:.2g}.",
    )


def _supremum(q, p, e, penalty, rng) -> float:
    centres = rng.normal(size=(2, 3))
    centres *= (np.sqrt(q) / np.linalg.norm(centres, axis=1))[:, None]
    best = -np.inf
    for sign in (1.0, -1.0):
        factors = p + sign * penalty * np.array([1.0, -1.0])
        Y = centres + 0.1 * np.sqrt(e)[:, None] * rng.normal(size=centres.shape)
        for _ in range(400):
            # Ascent of v|Y|^2, long where it is convex, and back onto the ball.
            Y = Y * np.where(factors > 0, 6.0, 0.5)[:, None] - centres
            length = np.linalg.norm(Y, axis=1)
            Y = centres + Y * np.minimum(1.0, np.sqrt(e) / np.maximum(length, 1e-300))[:, None]
        found = np.einsum("gn,gn->g", Y, Y)
        best = max(best, float(p @ found + penalty * abs(found[0] - found[1])))
    return best


def weight_matrices_semidefinite() -> Answer:
    """V04: smallest eigenvalue of C_a for penalties up to and above the smaller share."""
    below, above, negative, cases, rounding = np.inf, np.inf, 0, 0, rule("V04", "rounding")
    for rng in problems(4, 100):
        M, p = random_pair(rng, 5)
        for penalty in (*(p.min(axis=0) * np.array([0.0, 0.5, 1.0])), *GRID):
            for a in (0, 1):
                C = (p[a] + penalty) * M[a] + (p[1 - a] - penalty) * M[1 - a]
                low = float(np.linalg.eigvalsh(C)[0] / np.abs(C).max())
                if penalty <= p.min(axis=0):
                    below = min(below, low)
                elif penalty > p[1 - a]:
                    above, negative, cases = min(above, low), negative + (low < -rounding), cases + 1
    return Answer(
        by_truth(min(below, above) >= -rounding),
        f"100 random pairs, relative to the largest entry: smallest eigenvalue {below:.1g} for penalties up to the "
        f"smaller share; above the share of the other group {negative} of {cases} matrices have a negative one, "
        f"down to {above:.2g}.",
    )


def convexity() -> Answer:
    """V05: midpoint convexity of F over all U, orthonormal or not, below and above the smaller share."""
    worst = {"up to": -np.inf, "above": -np.inf}
    for rng in problems(5, 60):
        M, p = random_pair(rng, 3)
        e = rng.uniform(0.0, 0.2, size=2)
        U, W = rng.normal(size=(2, 2000, 3, 1)) * rng.lognormal(size=(2, 2000, 1, 1))
        penalties = {"up to": p.min(axis=0) * rng.uniform(), "above": rng.choice([0.5, 1.0, 2.5]) + p.min(axis=0)}
        for name, penalty in penalties.items():
            F = [closed_form(np.einsum("ndk,gde,nek->ng", X, M, X), p, e, penalty) for X in (U, W, 0.5 * (U + W))]
            worst[name] = max(worst[name], float(((F[2] - 0.5 * (F[0] + F[1])) / (np.abs(F[0]) + np.abs(F[1]))).max()))
    return Answer(
        by_truth(max(worst.values()) <= rule("V05", "rounding")),
        "60 random pairs, 2000 midpoints each: largest relative excess of the midpoint over the mean of the ends "
        f"{worst['up to']:.1g} for penalties up to the smaller share, {worst['above']:.2g} above it.",
    )


# -- Lemmas 4.1 and 4.2 and Theorem 4.3: subgradient, Lipschitz constant, decay of the gap -----------------------------


def subgradient() -> Answer:
    """V06: the displayed expression against differences of F along tangent directions, off the kinks."""
    worst, smallest, checked = 0.0, np.inf, 0
    for rng in problems(6, 200, SEED + 1):
        d, k = int(rng.integers(3, 9)), 2
        M, p = random_pair(rng, d)
        e, penalty = rng.uniform(0.01, 0.5, size=2), rng.choice([0.0, 0.3, 1.0, 2.5])
        U = np.linalg.qr(rng.normal(size=(d, d - k)))[0]
        Z = rng.normal(size=U.shape)
        Z -= U @ (U.T @ Z)
        Z /= np.linalg.norm(Z)
        q = moved(M, U)
        # theta, vartheta and C as printed in (6c); the larger branch.
        a = int(np.argmax([printed_branch(q, p, e, penalty, b) for b in (0, 1)]))
        b = 1 - a
        theta, vartheta = 2 * (p[a] + penalty) * np.sqrt(e[a]), 2 * abs(p[b] - penalty) * np.sqrt(e[b])
        C = (p[a] + penalty) * M[a] + (p[b] - penalty) * M[b]
        G = theta / np.sqrt(q[a]) * M[a] @ U + vartheta / np.sqrt(q[b]) * M[b] @ U + 2 * C @ U
        G -= U @ (U.T @ G)
        ends = [moved(M, np.linalg.qr(U + s * STEP * Z)[0]) for s in (1, -1)]
        values = np.array([[printed_branch(end, p, e, penalty, c) for c in (0, 1)] for end in ends])
        if (values.argmax(axis=1) != a).any():
            continue
        slope = (values.max(axis=1)[0] - values.max(axis=1)[1]) / (2 * STEP)
        scale = np.linalg.norm(G)
        worst, smallest, checked = max(worst, abs(slope - np.vdot(G, Z)) / scale), min(smallest, scale), checked + 1
    good = worst < rule("V06", "differences") and checked > rule("V06", "points") and smallest > 0
    return Answer(
        by_truth(good), f"{checked} random points: largest difference {worst:.1g} of the length of the subgradient."
    )


def lipschitz() -> Answer:
    """V07: difference quotients over the *largest* of the constants, as printed, and over their *sum*."""
    printed, definite, summed = 0.0, 0.0, 0.0
    for trial, rng in enumerate(problems(7, 150, SEED + 1)):
        if trial % 2:
            d, k = int(rng.integers(2, 6)), 1
            M, p = random_pair(rng, d)
            e, penalty = rng.uniform(0.0, 0.3, size=2), 10.0 ** rng.uniform(-2, 2)
        else:
            # Almost opposite groups, one ball as large as condition (ii) allows: C_0 is indefinite, and its term and
            # the first root grow in the same direction.
            d, k, small = 2, 1, 10.0 ** rng.uniform(-3, -0.5)
            M, p = np.array([np.diag([1.0, small]), np.diag([small, 1.0])]), np.array([0.5, 0.5])
            e, penalty = np.array([small, 0.0]), 10.0 ** rng.uniform(0, 3)
        largest, total = constants(M, p, e, penalty, d - k)
        U = np.linalg.qr(rng.normal(size=(400, d, d - k)))[0]
        W = np.linalg.qr(U + 1e-4 * rng.normal(size=U.shape))[0]
        W *= np.where(np.einsum("ndk,ndk->nk", U, W) < 0, -1.0, 1.0)[:, None, :]
        branches = [[printed_branch(moved(M, X), p, e, penalty, a) for a in (0, 1)] for X in (U, W)]
        change = np.abs(np.subtract(*np.max(branches, axis=1)))  # of F, the larger branch, (6a)
        quotient = float((change / np.linalg.norm(U - W, axis=(1, 2))).max())
        printed, summed = max(printed, quotient / largest), max(summed, quotient / total)
        if penalty <= p.min(axis=0):
            definite = max(definite, quotient / largest)
    return Answer(
        by_truth(printed <= 1.0),
        f"Largest difference quotient {printed:.3f} of the printed constant (a maximum of terms), {summed:.3f} of the "
        f"sum of the terms, over 150 problems and 400 pairs each; {definite:.3f} of the printed one where the penalty "
        "is at most the smaller share, so that C_a is positive semidefinite.",
    )


def decay() -> Answer:
    """V08: the smallest proximal gap over the iterates, exact in the plane, against the bound and its rate."""
    slopes, ratio, lead = [], 0.0, 0.0
    for alpha, penalty in TOY_SETTINGS:
        p, e = shares(COUNTS), radii(COUNTS, alpha)
        L, _ = constants(COVARIANCES, p, e, penalty, 1)
        F = plane_objective(p, e, penalty)
        mu = 1.0 / (4.0 * L)
        smallest = []
        for length in LENGTHS:
            path, steepness = plane_path(p, e, penalty, STARTS, length)
            envelope, gap = proximal(F, path, mu)
            smallest.append(gap.min(axis=0))
            lowest = F(np.linspace(0.0, np.pi, 20001)).min(axis=0)  # the envelope has the same minimum
            bound = 2.0 * np.sqrt(envelope[0] - lowest + 2.0 * L**3 * (L + 1.0)) / (length + 1.0) ** 0.25
            ratio = max(ratio, float((smallest[-1] / bound).max()))
            # Off rounding only: how often the subgradient is longer than the gap that is said to bound it.
            lead = max(lead, float((steepness / np.maximum(gap, FLOOR))[gap > FLOOR].max(initial=0.0)))
        logs = np.log(np.maximum(smallest, FLOOR)).mean(axis=1)
        slopes.append(float(np.polyfit(np.log(np.array(LENGTHS) + 1.0), logs, 1)[0]))
    rate, within = rule("V08", "exponent"), ratio <= 1.0
    return Answer(
        HOLDS if within and max(slopes) <= rate else IN_PART if within else NOT_SO,
        f"Toy covariances, four starts, {LENGTHS[0]} to {LENGTHS[-1]} steps, gaps by search in the plane: smallest gap "
        f"at most {ratio:.1g} of the bound; fitted exponents {', '.join(f'{s:.2f}' for s in slopes)} (bound {rate:g}). "
        f"The inequality before the theorem, subgradient at most the gap, fails at the kink (up to {lead:.1g} times).",
    )


def moved(M: np.ndarray, U: np.ndarray) -> np.ndarray:
    """<UU', M_a> of both groups, shape (..., 2)."""
    return np.stack([np.einsum("...dk,de,...ek->...", U, S, U) for S in M], axis=-1)


def constants(M, p, e, penalty, columns: int) -> tuple[float, float]:
    """The printed constant (9), a maximum of terms, and the one that the triangle inequality gives, a sum."""
    largest, total = [], []
    steep = [np.linalg.eigvalsh(S)[-1] / np.sqrt(np.linalg.eigvalsh(S)[0]) for S in M]
    for a, b in ((0, 1), (1, 0)):
        C = (p[a] + penalty) * M[a] + (p[b] - penalty) * M[b]
        values = np.linalg.eigvalsh(C)
        roots = (p[a] + penalty) * np.sqrt(e[a]) * steep[a], abs(p[b] - penalty) * np.sqrt(e[b]) * steep[b]
        largest += [2 * roots[0], 2 * roots[1], 2 * np.sqrt(columns) * values[-1]]
        # Where C is indefinite its spectral norm, and not the largest eigenvalue, bounds the change.
        total.append(2 * sum(roots) + 2 * np.sqrt(columns) * np.abs(values).max())
    return float(max(largest)), float(max(total))


def plane_objective(p, e, penalty) -> Callable[[np.ndarray], np.ndarray]:
    """F as a function of the angle of U in the plane."""
    f = RobustObjective.of(p, e, penalty)
    first, second, cross = 0.5 * COVARIANCES[:, 0, 0], 0.5 * COVARIANCES[:, 1, 1], COVARIANCES[:, 0, 1]

    def F(angle):
        turn = np.cos(2 * angle)[..., None] * (first - second) + np.sin(2 * angle)[..., None] * cross
        return f.value(first + second + turn)

    return F


def plane_path(p, e, penalty, starts: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1 in the plane: angles of U_0, ..., U_length and lengths of the subgradients, (length + 1, starts)."""
    f = RobustObjective.of(p, e, penalty)
    angle, path, steepness = np.array(starts), [], []
    for _ in range(length + 1):
        U, N = np.stack([np.cos(angle), np.sin(angle)], -1), np.stack([-np.sin(angle), np.cos(angle)], -1)
        images = np.einsum("gde,ne->ngd", COVARIANCES, U)
        q = np.maximum(np.einsum("ngd,nd->ng", images, U), 0.0)
        tangent = 2.0 * np.einsum("ng,ngd,nd->n", f.gradient(q), images, N)
        path.append(angle)
        steepness.append(np.abs(tangent))
        # Adding a tangent of length t to a unit vector and normalising turns it by arctan t.
        angle = angle - np.arctan(tangent / np.sqrt(length + 1.0))
    return np.array(path), np.array(steepness)


def proximal(F, angle: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Moreau envelope at the angles, and the proximal gap |prox - U| / mu: by grid and ternary search."""

    def value(turn):
        return F(angle + turn) + (1.0 - np.cos(turn)) / mu

    # |U' - U|^2 / (2 mu) is at most F(U) - min F, which keeps the turn well inside this.
    grid = np.linspace(-1.0, 1.0, 31)
    values = np.stack([value(turn) for turn in grid])
    turn = grid[values.argmin(axis=0)]
    low, high = turn - (grid[1] - grid[0]), turn + (grid[1] - grid[0])
    for _ in range(42):
        third = (high - low) / 3.0
        left = value(low + third) <= value(high - third)
        low, high = np.where(left, low, low + third), np.where(left, high - third, high)
    turn = 0.5 * (low + high)
    turn = np.where(value(turn) < F(angle), turn, 0.0)
    return np.minimum(value(turn), F(angle)), 2.0 * np.abs(np.sin(0.5 * turn)) / mu


# -- what it recovers, and several groups ------------------------------------------------------------------------------


def recovers_pca() -> Answer:
    """V09: penalty and radii zero, exact solver and published descent; control: a penalty of 1."""
    exact, published, control = 0.0, 0.0, []
    for rng in problems(9, 20):
        M, p = random_pair(rng, 6)
        M *= 3.0 / np.trace(M, axis1=1, axis2=2).max(axis=0)
        V = top_eigenspace(np.einsum("g,gde->de", p, M), 2)[1]
        joint, zero = JointRange(*M, 2), np.zeros(2)
        exact = max(exact, _angle(solve_exact(joint, p, zero, 0.0)[0], V))
        control.append(_angle(solve_exact(joint, p, zero, 1.0)[0], V))
        run = descend(M, p, 2, [(0.0, 0.0)], restarts=5, iterations=500, rng=rng, warm_start=False)
        reached = float(p @ errors(M, run.V[0]) / (p @ errors(M, V)))
        published = max(published, reached - 1.0)
    # The claim is about the problem; what its descent leaves is told, not judged.
    holds = exact < rule("V09", "same subspace") and np.median(control) > rule("V09", "control")
    return Answer(
        by_truth(holds),
        f"20 random pairs: the optimum is within {exact:.1g} rad of PCA (with a penalty of 1: median "
        f"{np.median(control):.2g}); five random starts of the published descent with 500 steps leave at most "
        f"{published:.1g} of the error more.",
    )


def others_cannot_recover() -> Answer:
    """V10: mean-constrained CFPCA with slack delta, and the min-max loss, against PCA.

    The linear mean constraint of CFPCA is tr(ff'X) <= delta^2. With delta at least |V'f| the PCA projector meets it;
    it also maximises the trace over all X between 0 and I of trace k (Ky Fan): CFPCA then returns it.
    """
    nearest, slack, widest = np.inf, 0, rule("V10", "widest slack")
    for rng in problems(10, 60):
        M, p = random_pair(rng, 5)
        gap = 0.4 * rng.normal(size=5)
        pooled = np.einsum("g,gde->de", p, M) + p[0] * p[1] * np.outer(gap, gap)
        V = top_eigenspace(pooled, 2)[1]
        slack += np.linalg.norm(V.T @ gap) <= widest
        nearest = min(
            nearest, _angle(solve_min_max(*M, 2, "loss")[0], top_eigenspace(np.einsum("g,gde->de", p, M), 2)[1])
        )
    samadi, olfat = nearest > rule("V10", "same subspace"), slack == 0
    return Answer(
        by_parts([samadi, olfat]),
        f"60 random pairs: the mean-constrained CFPCA returns PCA once delta reaches |V'f|, which is within the "
        f"paper's grid (up to {widest:g}) for {slack} of them; the min-max loss, which has no parameter, stays at "
        f"least {nearest:.2g} rad from PCA.",
    )


def several_groups_as_printed() -> Answer:
    """V11: Theorem B.2 as printed, for two groups, against Theorem 3.2: values over all V, and minimisers."""
    p, e, penalty = shares(FIGURE_1), radii(FIGURE_1, 0.1), 0.1
    angles = np.radians(np.arange(0.0, 180.0, 0.01))
    kept = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    q = np.trace(COVARIANCES, axis1=1, axis2=2) - np.einsum("nd,gde,ne->ng", kept, COVARIANCES, kept)
    right, printed = closed_form(q, p, e, penalty), printed_objective(q, p, e, penalty)
    best = np.degrees(angles[[right.argmin(axis=0), printed.argmin(axis=0)]])
    missing = right - printed
    restored = float(np.abs(missing - (q + e) @ p).max())
    turned = abs((best[1] - best[0] + 90.0) % 180.0 - 90.0)
    return Answer(
        by_truth(turned < rule("V11", "degrees")),
        f"Toy covariances, alpha = penalty = 0.1: minimisers at {best[0]:.2f} (Theorem 3.2) and {best[1]:.2f} degrees "
        f"(B.2 as printed). What is missing ranges from {missing.min():.3g} to {missing.max():.3g} over V; with the "
        f"sum over groups put back the difference is {restored:.1g}.",
    )


def heavy_penalty() -> Answer:
    """V13: the limit of a growing penalty against the min-max error and the min-max loss."""
    toy = _limit_against_min_max(COVARIANCES, 1)
    random = []
    for rng in problems(13, 40):
        random.append(_limit_against_min_max(random_pair(rng, 4)[0], 2))
    error, loss = (np.array(random) < rule("V13", "same subspace")).sum(axis=0)
    return Answer(
        HOLDS if len(random) in (error, loss) else by_parts([error, loss, False]),
        f"The limit is the smallest error among projections with equal errors. Toy: {np.degrees(toy[0]):.2f} degrees "
        f"from the min-max error, {np.degrees(toy[1]):.2f} from the min-max loss, which Samadi et al. minimise. "
        f"40 random pairs: equal to the min-max error in {error}, to the min-max loss in {loss}.",
    )


def _limit_against_min_max(M, k) -> tuple[float, float]:
    V = solve_exact(JointRange(*M, k), shares(FIGURE_1), np.zeros(2), HEAVY)[0]
    return tuple(_angle(V, solve_min_max(*M, k, kind)[0]) for kind in ("error", "loss"))


def radius_and_group_size() -> Answer:
    """V25: the ratio of the radii of a group and of one four times as large, by the formula used."""
    small, large = radii([100, 400], 0.1)
    ratio = large / small
    return Answer(
        by_truth(abs(ratio - rule("V25", "ratio")) < rule("V25", "rounding")),
        f"eps = alpha / sqrt(N): a group four times as large has {ratio:.2g} of the radius; inverse to the size would "
        "be 0.25.",
    )


def _angle(V, W) -> float:
    return float(subspace_angles(V, W).max())


claims = {
    "V01": fair_projection_iff_low_rank,
    "V02": worst_case_formula,
    "V03": reformulation,
    "V04": weight_matrices_semidefinite,
    "V05": convexity,
    "V06": subgradient,
    "V07": lipschitz,
    "V08": decay,
    "V09": recovers_pca,
    "V10": others_cannot_recover,
    "V11": several_groups_as_printed,
    "V13": heavy_penalty,
    "V25": radius_and_group_size,
}
