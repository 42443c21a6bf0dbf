r"""The theorems, the lemma and the steps of Algorithm 1 of Zhou et al. (2024), put to the test.

Algorithm 1 is written out with n x n matrices first: slow, short, and independent of the estimators. Each claim then
has a function that searches for what would contradict it and returns its answer with the evidence. A statement about
all cases does not hold if one case contradicts it, and holds in part if all contradictions lie outside a condition
under which it can be proved, which the evidence then names.

For Theorem 2 the fair kernel of two samples with groups g and g' is
:math:`k(x, x') + \alpha [x = x'] - \lambda [g = g']`, so that it is defined for samples that were not clustered. The
error of a sample is its squared distance to the nearest centre.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist, squareform

from evenspan.core.linalg import symmetrise
from evenspan.metrics.clustering import balance_of, regulariser_of

from ...claim_rules import Answer, by_truth, rule
from .attainable import JAFFE, enumerate_samples, largest_balance, smallest_regulariser

SEED = 20240
WIDTHS = (0.25, 0.5, 1.0, 2.0)
#: Shares of the three groups of the made problems.
SHARES = (0.5, 0.3, 0.2)
#: Rounds of the published program, and of ours.
PUBLISHED_ROUNDS, ROUNDS = 10, 200


# -- Algorithm 1 with dense matrices ----------------------------------------------------------------------------------


def fair_kernel(K: np.ndarray, codes: np.ndarray, weight: float, shift: float | None = None) -> np.ndarray:
    """K + shift I - weight G G^T for one kernel (n, n) or several (m, n, n); by default with the shift of step 1."""
    same = codes[:, None] == codes
    shift = weight * np.bincount(codes).max() if shift is None else shift
    return K + shift * np.eye(len(codes)) - weight * same


def projector(labels: np.ndarray, c: int) -> np.ndarray:
    """Y (Y^T Y)^-1 Y^T for clusters 0, ..., c - 1, none of them empty."""
    Y = np.eye(c)[labels]
    return (Y / Y.sum(axis=0)) @ Y.T


def sweep(K: np.ndarray, labels: np.ndarray, c: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Step 5, one pass: every point in turn goes where the trace is largest; returns labels and moves (point, cluster).

    A point alone in its cluster stays; of equally good clusters the present one is kept.
    """
    labels, moves = labels.copy(), []
    for i in range(len(labels)):
        Y = np.eye(c)[labels]
        if Y[:, labels[i]].sum(axis=0) == 1:
            continue
        Y[i] = 0.0
        similar, sizes = K @ Y, Y.sum(axis=0)
        q = (Y * similar).sum(axis=0)
        gains = (q + 2.0 * similar[i] + K[i, i]) / (sizes + 1.0) - q / sizes
        best = int(gains.argmax(axis=0))
        if gains[best] > gains[labels[i]] + 1e-12 * np.abs(q / sizes).max(axis=0):
            labels[i] = best
            moves.append((i, best))
    return labels, moves


def residuals(kernels: np.ndarray, labels: np.ndarray, c: int) -> np.ndarray:
    """h_p = Tr(K_p (I - P)) of several kernels (m, n, n)."""
    return np.trace(kernels, axis1=1, axis2=2) - np.einsum("pij,ji->p", kernels, projector(labels, c))


def inverse_weights(h: np.ndarray) -> np.ndarray:
    """Step 6 as printed."""
    return 1.0 / h / (1.0 / h).sum(axis=0)


class Rounds(NamedTuple):
    """Where alternating ended: clusters (n,), weights of the kernels (m,), and whether the last round moved no point.

    ``history`` is the objective at the start and after each of the two steps of every one of the ``n_rounds``.
    """

    labels: np.ndarray
    weights: np.ndarray
    history: list[float]
    at_rest: bool
    n_rounds: int


def alternate(kernels: np.ndarray, labels: np.ndarray, c: int, max_rounds: int) -> Rounds:
    """Steps 4 to 7 on fair kernels (m, n, n), from given labels and equal weights."""
    weights, moves, rounds = np.full(len(kernels), 1.0 / len(kernels)), True, 0
    history = [float(weights**2 @ residuals(kernels, labels, c))]
    while moves and rounds < max_rounds:
        labels, moves = sweep(np.einsum("p,pij->ij", weights**2, kernels), labels, c)
        h, before, rounds = residuals(kernels, labels, c), weights, rounds + 1
        weights = inverse_weights(h)
        history += [float(before**2 @ h), float(weights**2 @ h)]
    return Rounds(labels, weights, history, not moves, rounds)


def partitions(n: int, c: int) -> Iterator[np.ndarray]:
    """All clusterings of n points into c non-empty clusters, each once: clusters are numbered as they are met."""
    for labels in product(range(c), repeat=n):
        if list(dict.fromkeys(labels)) == list(range(c)):
            yield np.array(labels)


def crossed_points(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points (n, 2) of three classes, which part them along one axis; groups part them more widely along the other."""
    classes = rng.integers(3, size=len(codes))
    return np.stack([3.0 * classes, 4.0 * codes], axis=1) + rng.normal(size=(len(codes), 2))


def gaussian_kernels(X: np.ndarray, widths) -> np.ndarray:
    """Gaussian kernels (m, n, n), the widths being multiples of the mean distance."""
    squared = squareform(pdist(X, "sqeuclidean"))
    mean = np.sqrt(squared).mean(axis=None)
    return np.exp(-squared / (2.0 * (np.asarray(widths)[:, None, None] * mean) ** 2))


def inverse_sums(fair: np.ndarray, projectors: np.ndarray) -> np.ndarray:
    """1/h_1 + ... + 1/h_m for every clustering: with its best weights its objective is the inverse of this."""
    h = np.trace(fair, axis1=1, axis2=2) - np.einsum("mij,pij->pm", fair, projectors)
    return (1.0 / h).sum(axis=1)


# -- Theorem 1 --------------------------------------------------------------------------------------------------------


def maximal_fairness() -> Answer:
    """Z01: the bounds of F on every small clustering; whether its minimiser has the largest Bal and MNCE."""
    found = enumerate_samples()
    total, contradicted = sum(found.cases.values()), sum(found.contradicted.values())
    wrong = found.wrong or found.with_fair_one
    answer = "does not hold" if wrong else "holds in part" if contradicted else "holds"
    lines = [
        f"All {found.tables:,} tables of counts of {total} samples: (|G_1|^2 + ... + |G_t|^2)/n <= F <= n, with "
        f"equality for proportional and for one-group clusters only, fails for {found.wrong}. In {found.fair} samples "
        "there is a proportional clustering, and the minimiser of F has the largest Bal and MNCE in all but "
        f"{found.with_fair_one} of them."
    ]
    for name in ("Bal", "MNCE"):
        counts = [f"{found.contradicted[name, t]} of {cases} with {t}" for t, cases in found.cases.items()]
        lines.append(f"It misses the largest {name} in {', '.join(counts)} groups.")
    lines += [f"{_example(found.examples[name], name)}." for name in ("Bal", "MNCE", "pair") if name in found.examples]
    smallest, (balance, rival) = smallest_regulariser(*JAFFE), largest_balance(*JAFFE)
    lowest = sum(size**2 for size in JAFFE[0]) / sum(JAFFE[0])
    sizes, times = np.unique(smallest.table.sum(axis=0), return_counts=True)
    clusters = " and ".join(f"{k} x {size}" for size, k in zip(sizes, times, strict=True))
    lines.append(
        f"For the group sizes of Jaffe and {JAFFE[1]} clusters the smallest F is {float(smallest.value):.6g} (dual "
        f"bound {smallest.bound:.6g}; proportional would be {lowest:.6g}), with clusters of {clusters} "
        f"samples and Bal {balance_of(smallest.table):.4g}; the largest Bal is {float(balance):.4g}, with F = "
        f"{float(regulariser_of(rival)):.6g}."
    )
    return Answer(answer, " ".join(lines))


def _example(example: tuple, name: str) -> str:
    n, first, of_first, second, of_second = example
    words = "A smaller F with smaller Bal and MNCE" if name == "pair" else f"Not the largest {name}"
    told = [
        f"clusters {' and '.join(str(tuple(cluster)) for cluster in table.T.tolist())} with F = {F}, Bal {bal:.3g}, "
        f"MNCE {mnce:.3g}"
        for table, (F, bal, mnce) in ((first, of_first), (second, of_second))
    ]
    return f"{words}, n = {n}: {told[0]}, against {told[1]}"


# -- Lemma 1, and the steps of the algorithm --------------------------------------------------------------------------


def difference_of_matrices(margin: float = 0.0) -> Answer:
    """Z02: random symmetric pairs at the edge of the condition (or less, by a margin); below it; and without need."""
    least, below, needless, rounding = np.inf, 0, 0, rule("Z02", "rounding")
    for trial in range(300):
        rng = np.random.default_rng((SEED, 2, trial))
        n = int(rng.integers(2, 12))
        A, B = (symmetrise(rng.normal(size=(n, n))) * rng.lognormal() for _ in range(2))
        bottom, top = np.linalg.eigvalsh(A)[0], np.linalg.eigvalsh(B)[-1]
        scale = np.abs(A).max() + np.abs(B).max() + abs(top - bottom)
        A += (top - bottom - margin * scale) * np.eye(n)  # now the smallest eigenvalue of A is the largest of B
        least = min(least, float(np.linalg.eigvalsh(A - B)[0] / scale))
        # The condition cannot be weakened: for A a multiple of I it is needed.
        below += np.linalg.eigvalsh((top - 0.01 * scale) * np.eye(n) - B)[0] < -rounding * scale
        M = rng.normal(size=(n, n))
        needless += np.linalg.eigvalsh(B + M @ M.T)[0] < top  # less B it is semidefinite, whatever the spectra
    answer = by_truth(least >= -rounding)
    return Answer(
        answer,
        f"300 random pairs with equality: smallest eigenvalue of A - B, by the entries, {least:.1g}. With A a multiple "
        f"of I one per cent below, the difference is indefinite in {below}. The condition is sufficient only: in "
        f"{needless} pairs A - B is semidefinite without it.",
    )


def shifted_kernel() -> Answer:
    """Z03: the eigenvalues, the objective and the row update with the shift, for one kernel and for several."""
    least, zero, needed, moved, spread, same = np.inf, -np.inf, [], 0, 0.0, 0
    runs, changed, problems = 40, 0, 200
    projectors = np.array([projector(labels, 3) for labels in partitions(7, 3)])
    for trial in range(runs):
        rng = np.random.default_rng((SEED, 3, trial))
        n, weight = 30, float(rng.lognormal())
        codes = rng.choice(3, p=SHARES, size=n)
        alpha = weight * np.bincount(codes).max()
        factor = rng.normal(size=(n, int(rng.integers(1, n))))
        gaussian = gaussian_kernels(crossed_points(codes, rng), [0.5])[0]
        for K in (np.zeros((n, n)), factor @ factor.T, gaussian):
            scale = alpha + np.abs(K).max()
            least = min(least, float(np.linalg.eigvalsh(fair_kernel(K, codes, weight))[0] / scale))
        tight = np.linalg.eigvalsh(fair_kernel(np.zeros((n, n)), codes, weight, 0.9 * alpha))[0] / alpha
        zero = max(zero, float(tight))
        needed.append(float(-np.linalg.eigvalsh(fair_kernel(gaussian, codes, weight, 0.0))[0] / alpha))
        start = rng.permutation(np.arange(n) % 3)
        paths = [sweep(fair_kernel(gaussian, codes, weight, shift), start, 3)[1] for shift in (0.0, alpha, 100 * alpha)]
        moved += len(paths[0])
        same += paths[0] == paths[1] == paths[2]
        values = [
            np.einsum("pij,ji->p", projectors, fair_kernel(gaussian, codes, weight, s)[:7, :7]) for s in (0, alpha)
        ]
        spread = max(spread, float(np.ptp(values[1] - values[0]) / np.abs(values[1]).max()))
    for trial in range(problems):
        rng = np.random.default_rng((SEED, 33, trial))
        changed += best_changes(gaussian_kernels(rng.normal(size=(7, 2)), WIDTHS[::3]), np.arange(7) % 2, projectors)
    rounding = rule("Z03", "rounding")
    semidefinite, one = least >= -rounding, same == runs and spread < rounding
    answer = "does not hold" if not (semidefinite and one) else "holds in part" if changed else "holds"
    return Answer(
        answer,
        f"{runs} kernels each zero, of low rank and Gaussian: smallest eigenvalue with the shift, by the entries, "
        f"{least:.1g}. It is the smallest that serves every kernel: with a tenth less and K = 0 the smallest "
        f"eigenvalue is at most {zero:.2g} alpha; the Gaussian kernels need {min(needed):.0%} to {max(needed):.0%} of "
        f"it. One kernel: over all clusterings of 7 points the objective rises by a constant (to {spread:.1g}), and "
        f"the row update makes the same {moved} moves with 0, 1 and 100 times the shift in {same} of {runs} runs. "
        "Several kernels: the shift enters the weights; the best of all clusterings of 7 points, each with its best "
        f"weights, is another one than with the smallest shift that would do in {changed} of {problems} problems.",
    )


def best_changes(kernels: np.ndarray, codes: np.ndarray, projectors: np.ndarray, weight: float = 0.1) -> bool:
    """Whether the best of all clusterings, each with its best weights, differs between the shift of the algorithm and
    the smallest one that makes these fair kernels semidefinite.
    """
    smallest = max(-np.linalg.eigvalsh(fair_kernel(kernels, codes, weight, 0.0)).min(), 0.0)
    values = [inverse_sums(fair_kernel(kernels, codes, weight, shift), projectors) for shift in (smallest, None)]
    i, j = (int(value.argmax(axis=0)) for value in values)
    clearly = 1 + rule("Z03", "rounding")
    return bool(values[0][i] > values[0][j] * clearly and values[1][j] > values[1][i] * clearly)


def weight_update() -> Answer:
    """Z04: step 6 against a numerical solver and random points of the simplex; without the shift, as a control."""
    beaten, distance, negative, lost, rounding = -np.inf, 0.0, 0, 0, rule("Z04", "rounding")
    for trial in range(60):
        rng = np.random.default_rng((SEED, 4, trial))
        n, codes = 30, rng.choice(3, p=SHARES, size=30)
        kernels = gaussian_kernels(crossed_points(codes, rng), WIDTHS)
        labels, weight = rng.permutation(np.arange(n) % 3), float(rng.choice([0.0, 0.01, 0.1, 1.0, 10.0]))
        h = residuals(fair_kernel(kernels, codes, weight), labels, 3)
        ours = inverse_weights(h)
        solver = _solved(h)
        rivals = np.vstack([solver, rng.dirichlet(np.ones(len(h)), size=500), np.eye(len(h))])
        beaten = max(beaten, float(1.0 - (rivals**2 @ h).min(axis=0) / (ours**2 @ h)))
        distance = max(distance, float(np.abs(solver - ours).max(axis=0)))
        bare = residuals(fair_kernel(kernels, codes, weight, 0.0), labels, 3)
        if (bare < 0).any():
            negative += 1
            lost += bare.min(axis=0) < inverse_weights(bare) ** 2 @ bare - rounding * np.abs(bare).max(axis=0)
    answer = by_truth(beaten <= rounding and distance < rule("Z04", "same weights"))
    return Answer(
        answer,
        "60 random problems with h_p = Tr(K_p (I - Y (Y'Y)^-1 Y')) > 0: neither a numerical solver nor 500 random "
        f"points of the simplex are better (largest relative advantage {beaten:.1g}); the solver's weights differ by "
        f"at most {distance:.1g}. It needs the shift: without it an h_p is negative in {negative} problems, and in "
        f"{lost} of them one kernel alone is better.",
    )


def _solved(h: np.ndarray) -> np.ndarray:
    """The weights of a numerical solver."""
    scaled, start = h / h.max(axis=0), np.full(len(h), 1.0 / len(h))
    found = minimize(
        lambda w: w**2 @ scaled, start, jac=lambda w: 2.0 * w * scaled, method="SLSQP", bounds=[(0.0, 1.0)] * len(h),
        constraints={"type": "eq", "fun": lambda w: w.sum(axis=0) - 1.0, "jac": np.ones_like}, options={"ftol": 1e-14},
    )  # fmt: skip
    return found.x / found.x.sum(axis=0)


def convergence() -> Answer:
    """Z05: the objective after every step, the rounds until nothing moves, and the distance from the best of all."""
    rise, rounds, resting, runs, rounding = -np.inf, [], 0, 60, rule("Z05", "rounding")
    for trial in range(runs):
        rng = np.random.default_rng((SEED, 5, trial))
        n, codes = 60, rng.choice(3, p=SHARES, size=60)
        kernels = gaussian_kernels(crossed_points(codes, rng), WIDTHS)
        weight = float(rng.choice([0.0, 0.1, 1.0, 10.0]))
        end = alternate(fair_kernel(kernels, codes, weight), rng.permutation(np.arange(n) % 3), 3, ROUNDS)
        rise = max(rise, float(np.diff(end.history).max() / end.history[0]))
        rounds.append(end.n_rounds)
        resting += end.at_rest
    missed, worst, small = 0, 0.0, 40
    projectors = np.array([projector(labels, 3) for labels in partitions(8, 3)])
    for trial in range(small):
        rng = np.random.default_rng((SEED, 55, trial))
        codes = rng.permutation(np.arange(8) % 2)
        fair = fair_kernel(gaussian_kernels(rng.normal(size=(8, 2)), WIDTHS), codes, 0.1)
        best = float((1.0 / inverse_sums(fair, projectors)).min(axis=0))
        excess = alternate(fair, rng.permutation(np.arange(8) % 3), 3, ROUNDS).history[-1] / best - 1.0
        missed, worst = missed + (excess > rounding), max(worst, excess)
    answer = by_truth(rise <= rounding and resting == runs)
    return Answer(
        answer,
        f"{runs} runs with four kernels and three groups: largest relative rise of the objective in a step "
        f"{rise:.1g}; all points at rest in {resting}, after {min(rounds)} to {max(rounds)} rounds, within the "
        f"{PUBLISHED_ROUNDS} of the published program in {sum(r <= PUBLISHED_ROUNDS for r in rounds)}. Every move "
        "lowers the objective, the weights follow from the clustering, and there are finitely many of them: it "
        f"always ends. It ends above the best of all clusterings in {missed} of {small} problems with 8 points, by up "
        f"to {worst:.1%}.",
    )


# -- Theorem 2 --------------------------------------------------------------------------------------------------------

BOUND_SEED, DELTA = 20246, 0.05
#: Samples in all that are held out, clusters, and a centre fixed beforehand: so many times the vector of the point 0.
HELD_OUT, CLUSTERS, CENTRES = 2000, 3, (1.0, 1000.0)
SIZES, WEIGHTS, REPEATS = (50, 100, 200), (0.0, 0.1, 1.0, 5.0), 4


def bound(
    n: int, c: int, t: int, largest: float, weight: float, *, b: float = 1.0, delta: float = DELTA,
    shift: float | None = None,
) -> float:  # fmt: skip
    """What Theorem 2 adds to the empirical error, as printed; it fails with a probability of at most ``delta``.

    For n samples in c clusters and t groups, the largest of which has ``largest`` of them; ``b`` is the largest entry
    of the kernels. The shift is that of the algorithm, ``weight * largest``, unless another one is given.
    """
    top = b + (weight * largest if shift is None else shift)
    bracket = (1 + c**2) * top - (1 + c**2 / t) * weight + c * np.sqrt(2 * (top - weight) * (top - weight / t))
    last = 4 * top - 2 * (1 + 1 / t) * weight
    return float(2 * np.sqrt(2 * np.pi / n) * bracket + last * np.sqrt(np.log(1 / delta) / (2 * n)))


def second_expression(
    n: int, c: int, t: int, largest: float, weight: float, *, b: float = 1.0, delta: float = DELTA
) -> float:
    """The expression of the next slide, after substitution of the shift; said to be a lower bound of the first."""
    others, rest = largest - 1, (largest * t - 1) / t
    bracket = (1 + c**2) * b + (others + c**2 * rest) * weight
    bracket += c * np.sqrt(2 * (b + others * weight) * (b + rest * weight))
    return float(
        2 * np.sqrt(2 * np.pi / n) * bracket + (4 * b + 4 * others * weight) * np.sqrt(np.log(1 / delta) / (2 * n))
    )


def largest_error(largest: float, weight: float, b: float = 1.0) -> float:
    """What the error never exceeds when every centre is a mean of samples: the largest squared distance of two samples.

    Two samples of one group with the kernel value -b: 2 (b + shift - weight) + 2 (b + weight).
    """
    return 4 * b + 2 * weight * largest


def informative_from(c: int, t: int, share: float, weight: float) -> int:
    """The smallest n for which the bound is below the largest possible error, the largest group being a share of n."""
    sizes = range(1, 10**12)
    says = bisect_left(sizes, True, key=lambda n: bound(n, c, t, share * n, weight) < largest_error(share * n, weight))
    return sizes[says]


def expressions() -> Answer:
    """Z07: both expressions on a grid, with the shift of the algorithm and larger ones; control: a smaller one."""
    least, equal, trivial, below, monotone, cases = np.inf, 0, 0, 0, True, 0
    rounding = rule("Z07", "rounding")
    for b, c, t, largest, weight in product(
        (0.5, 1.0, 3.0), (2, 10, 30), (1, 2, 7, 30), (1, 5, 100, 5000), (0.0, 0.1, 1.0, 10.0)
    ):
        given = {"n": largest * t, "c": c, "t": t, "largest": largest, "weight": weight, "b": b}
        cases, second = cases + 1, second_expression(**given)
        over = [bound(**given, shift=factor * weight * largest) / second - 1 for factor in (1.0, 1.5, 4.0)]
        least = min(least, *over)
        equal += abs(over[0]) < rounding
        trivial += abs(over[0]) < rounding and (weight == 0 or t == 1)
        monotone &= over[0] <= over[1] + rounding <= over[2] + 2 * rounding
        small = 0.75 * weight * largest
        if b + small > weight:  # the square root is defined
            below += bound(**given, shift=small) < second * (1 - rounding)
    answer = by_truth(least >= -rounding and monotone)
    return Answer(
        answer,
        f"{cases} combinations of b, c, t, |G_max| and lambda, with the shift of the algorithm, 1.5 and 4 times it: "
        f"the smallest relative excess of the first expression is {least:.1g}; with that shift both are equal in "
        f"{equal} cases, {trivial} of them with lambda = 0 or t = 1. With three quarters of the shift the first is "
        f"smaller in {below} cases.",
    )


def excess(n: int, weight: float, rng: np.random.Generator) -> tuple[float, float]:
    """How far the mean error of other samples is above that of n clustered ones, and what the shift adds to that."""
    codes = rng.choice(len(SHARES), p=SHARES, size=n + HELD_OUT)
    X = crossed_points(codes, rng)
    K = np.exp(-cdist(X, X[:n], "sqeuclidean") / (2.0 * 3.0**2))
    fair = fair_kernel(K[:n], codes[:n], weight)
    labels, moved = rng.permutation(np.arange(n) % CLUSTERS), [(0, 0)]
    while moved:
        labels, moved = sweep(fair, labels, CLUSTERS)
    inside = float(np.trace(fair) - np.einsum("ij,ji->", fair, projector(labels, CLUSTERS))) / n
    means = np.eye(CLUSTERS)[labels] / np.bincount(labels)
    across = (K[n:] - weight * (codes[n:, None] == codes[:n])) @ means
    shift = weight * np.bincount(codes[:n]).max()
    own = 1.0 + shift - weight
    outside = own - 2.0 * across + np.einsum("ik,ij,jk->k", means, fair, means, optimize=True)
    # A clustered sample is (1 - 1/n_k) shifts from its centre, another one (1 + 1/n_k).
    return float(outside.min(axis=1).mean(axis=0)) - inside, 2.0 * CLUSTERS * shift / n


def far_centre(times: float, n: int = 100, draws: int = 2000) -> float:
    """How often the inequality fails for one fixed centre, a multiple of the feature vector of 0, and normal samples.

    For a Gaussian kernel of width 1 the mean of k(x, 0) is 1 / sqrt(2).
    """
    rng = np.random.default_rng((BOUND_SEED, 2))
    similar = np.exp(-(rng.normal(size=(draws, n)) ** 2) / 2.0).mean(axis=1)
    # E f - mean of f = -2 m (E k - mean of k), for |Phi(x) - m Phi(0)|^2 = 1 - 2 m k(x, 0) + m^2.
    return float((2.0 * times * (similar - np.sqrt(0.5)) > bound(n, 1, 1, n, 0.0)).mean(axis=0))


def generalisation() -> Answer:
    """Z06: the inequality for clusterings found by the algorithm, and for centres anywhere in the function space."""
    share, gaps, failed, tried = 0.0, {}, 0, 0
    for n, weight, repeat in product(SIZES, WEIGHTS, range(REPEATS)):
        rng = np.random.default_rng((BOUND_SEED, 1, n, int(10 * weight), repeat))
        found, by_shift = excess(n, weight, rng)
        # The largest group of the sample, from the shift that the sample had.
        largest = by_shift * n / (2.0 * CLUSTERS * weight) if weight else SHARES[0] * n
        allowed = bound(n, CLUSTERS, len(SHARES), largest, weight)
        gaps.setdefault((n, weight), []).append((found, by_shift))
        share, tried = max(share, found / allowed), tried + 1
        failed += found > allowed
    near, far = (far_centre(times) for times in CENTRES)
    *others, last = (f"{informative_from(c, 2, 0.5, 1.0):,} for c = {c}" for c in (5, 10, 19))
    within, everywhere = failed / tried <= DELTA and near <= DELTA, far <= DELTA
    answer = "holds" if within and everywhere else "holds in part" if within else "does not hold"
    small, large = ({w: np.mean(gaps[n, w], axis=0) for w in (0.0, 1.0)} for n in (SIZES[0], SIZES[-1]))
    return Answer(
        answer,
        f"{tried} clusterings of {SIZES[0]} to {SIZES[-1]} samples, three groups, delta = {DELTA}: the inequality "
        f"fails for {failed}; the excess of the held-out error is at most {share:.2g} of the bound. For a fixed centre "
        f"{CENTRES[1]:g} times as long as a sample, which the function class on the slides contains (m_k anywhere in "
        f"H), it fails in {far:.0%} of 2000 draws; for length 1 in {near:.0%}. The bound is below the largest possible "
        f"error only from n = {', '.join(others)} and {last}. Without fairness the excess falls from "
        f"{small[0.0][0]:.2g} (n = {SIZES[0]}) to {large[0.0][0]:.2g} (n = {SIZES[-1]}); at lambda = 1 it is "
        f"{small[1.0][0]:.3g} and {large[1.0][0]:.3g}: the shift, which grows with n, adds 2 c |G_max| lambda / n to "
        f"it ({small[1.0][1]:.3g} and {large[1.0][1]:.3g}).",
    )
