"""Theorem 1, Lemma 1 and the steps of Algorithm 1 of Zhou et al. (2024), put to the test; Theorem 2 has its own file.

Each function searches for what would contradict a claim and returns ``(answer, evidence)``. A statement about all cases
does not hold if one case contradicts it, and holds in part if all contradictions lie outside a condition under which it
can be proved, which the evidence then names.
"""

import numpy as np
from scipy.optimize import minimize

from evenspan.core.linalg import symmetrise
from evenspan.metrics.clustering import balance_of, regulariser_of

from .claim_rules import Answer, rule
from .zhou2024_attainable import JAFFE, enumerate_samples, largest_balance, smallest_regulariser
from .zhou2024_bound import claims as of_theorem_2
from .zhou2024_dense import (
    alternate,
    crossed_points,
    fair_kernel,
    gaussian_kernels,
    inverse_weights,
    partitions,
    projector,
    residuals,
    sweep,
)

SEED = 20240
WIDTHS = (0.25, 0.5, 1.0, 2.0)
#: Rounds of the published program, and of ours.
PUBLISHED_ROUNDS, ROUNDS = 10, 200


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
        counts = [f"{found.contradicted.get((name, t), 0)} of {cases} with {t}" for t, cases in found.cases.items()]
        lines.append(f"It misses the largest {name} in {', '.join(counts)} groups.")
    lines += [f"{_example(found.examples[name], name)}." for name in ("Bal", "MNCE", "pair") if name in found.examples]
    smallest, (balance, rival) = smallest_regulariser(*JAFFE), largest_balance(*JAFFE)
    lowest = sum(size**2 for size in JAFFE[0]) / sum(JAFFE[0])
    lines.append(
        f"For the group sizes of Jaffe and {JAFFE[1]} clusters the smallest F is {float(smallest.value):.6g} (dual "
        f"bound {smallest.bound:.6g}; proportional would be {lowest:.6g}), with clusters of {_sizes(smallest.table)} "
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


def _sizes(table: np.ndarray) -> str:
    sizes, times = np.unique(table.sum(axis=0), return_counts=True)
    return " and ".join(f"{k} x {size}" for size, k in zip(sizes.tolist(), times.tolist(), strict=True))


def difference_of_matrices(margin: float = 0.0) -> Answer:
    """Z02: random symmetric pairs at the edge of the condition; below it; and pairs that do not need it.

    ``margin``, by the size of the entries, moves the edge: above zero, what the lemma does not say.
    """
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
    answer = "holds" if least >= -rounding else "does not hold"
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
        codes = rng.choice(3, p=[0.5, 0.3, 0.2], size=n)
        alpha = weight * np.bincount(codes).max()
        factor = rng.normal(size=(n, int(rng.integers(1, n))))
        gaussian = gaussian_kernels(crossed_points(n, codes, rng)[0], [0.5])[0]
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
    """Whether the best of all clusterings, each with its best weights, is another one with the shift of the algorithm.

    It is compared with the smallest shift that makes these fair kernels semidefinite. The best weights make the
    objective 1 / (1/h_1 + ... + 1/h_m).
    """
    smallest = max(-np.linalg.eigvalsh(fair_kernel(kernels, codes, weight, 0.0)).min(), 0.0)
    values = []
    for shift in (smallest, weight * np.bincount(codes).max()):
        fair = fair_kernel(kernels, codes, weight, shift)
        h = np.trace(fair, axis1=1, axis2=2) - np.einsum("mij,pij->pm", fair, projectors)
        values.append((1.0 / h).sum(axis=1))
    i, j = (int(value.argmax(axis=0)) for value in values)
    clearly = 1 + rule("Z03", "rounding")
    return bool(values[0][i] > values[0][j] * clearly and values[1][j] > values[1][i] * clearly)


def weight_update() -> Answer:
    """Z04: step 6 against a numerical solver and random points of the simplex; without the shift, as a control."""
    beaten, distance, negative, lost, rounding = -np.inf, 0.0, 0, 0, rule("Z04", "rounding")
    for trial in range(60):
        rng = np.random.default_rng((SEED, 4, trial))
        n, codes = 30, rng.choice(3, p=[0.5, 0.3, 0.2], size=30)
        kernels = gaussian_kernels(crossed_points(n, codes, rng)[0], WIDTHS)
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
    answer = "holds" if beaten <= rounding and distance < rule("Z04", "same weights") else "does not hold"
    return Answer(
        answer,
        "60 random problems with h_p = Tr(K_p (I - Y (Y'Y)^-1 Y')) > 0: neither a numerical solver nor 500 random "
        f"points of the simplex are better (largest relative advantage {beaten:.1g}); the solver's weights differ by "
        f"at most {distance:.1g}. It needs the shift: without it an h_p is negative in {negative} problems, and in "
        f"{lost} of them one kernel alone is better.",
    )


def _solved(h: np.ndarray) -> np.ndarray:
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
        n, codes = 60, rng.choice(3, p=[0.5, 0.3, 0.2], size=60)
        kernels = gaussian_kernels(crossed_points(n, codes, rng)[0], WIDTHS)
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
        h = np.trace(fair, axis1=1, axis2=2) - np.einsum("mij,pij->pm", fair, projectors)
        best = float((1.0 / (1.0 / h).sum(axis=1)).min(axis=0))
        excess = alternate(fair, rng.permutation(np.arange(8) % 3), 3, ROUNDS).history[-1] / best - 1.0
        missed, worst = missed + (excess > rounding), max(worst, excess)
    answer = "holds" if rise <= rounding and resting == runs else "does not hold"
    return Answer(
        answer,
        f"{runs} runs with four kernels and three groups: largest relative rise of the objective in a step "
        f"{rise:.1g}; all points at rest in {resting}, after {min(rounds)} to {max(rounds)} rounds, within the "
        f"{PUBLISHED_ROUNDS} of the published program in {sum(r <= PUBLISHED_ROUNDS for r in rounds)}. Every move "
        "lowers the objective, the weights follow from the clustering, and there are finitely many of them: it "
        f"always ends. It ends above the best of all clusterings in {missed} of {small} problems with 8 points, by up "
        f"to {worst:.1%}.",
    )


claims = {
    "Z01": maximal_fairness,
    "Z02": difference_of_matrices,
    "Z03": shifted_kernel,
    "Z04": weight_update,
    "Z05": convergence,
    **of_theorem_2,
}
