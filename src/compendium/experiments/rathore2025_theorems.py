"""The theorems of Rathore and Manwani (2025), put to the test on random problems and on two counterexamples.

Each claim is a function that returns an answer; the tables behind the evidence are functions of their own.
"""

from itertools import combinations

import numpy as np
import pandas as pd

from evenspan.reconstruction.group_errors import best_kept, losses
from evenspan.reconstruction.joint_diagonalisation import joint_criterion, joint_diagonalise
from evenspan.reconstruction.joint_jacobi import jacobi_diagonalise
from evenspan.reconstruction.min_max import solve_min_max

from .claim_rules import Answer, rule
from .rathore2025_divergence import constraint_kept
from .rathore2025_equal_losses import SEED, min_max_equalises, random_pair, rotation
from .rathore2025_identities import printed_errors_and_shares

#: Commuting pairs: U = I diagonalises both.
COUNTEREXAMPLES = {
    "diag(4, 1, 1) and diag(1, 1, 2)": np.array([np.diag([4.0, 1.0, 1.0]), np.diag([1.0, 1.0, 2.0])]),
    "diag(3, 2, 0) and diag(0, 2, 5)": np.array([np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0])]),
}


def lemma_1() -> Answer:
    """R02: the loss on the points against the printed trace, orthonormal U; control: columns of other length."""
    worst, control = 0.0, np.inf
    for trial in range(60):
        rng = np.random.default_rng((SEED, 2, trial))
        n, d = 30, int(rng.integers(2, 9))
        r = int(rng.integers(1, d))
        X = rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, size=d) + rng.normal(size=d)
        singular = np.linalg.svd(X, compute_uv=False)
        best = np.linalg.svd(X)[2][:r].T
        U = rotation(rng, d)[:, :r]
        for W in (U, U * rng.uniform(1.2, 2.0, size=r)):
            left = (((X - X @ W @ W.T) ** 2).sum(axis=(0, 1)) - ((X - X @ best @ best.T) ** 2).sum(axis=(0, 1))) / n
            middle = (singular[:r] ** 2).sum(axis=0) / r * np.eye(d) - X.T @ X
            difference = abs(left - np.trace(W.T @ middle @ W) / n) / (singular[0] ** 2 / n)
            if W is U:
                worst = max(worst, difference)
            else:
                control = min(control, difference)
    true = worst < rule("R02", "rounding") and control > rule("R02", "control")
    return Answer(
        "holds" if true else "does not hold",
        f"60 random X and orthonormal U: largest difference {worst:.1g} of the largest eigenvalue. Control: with "
        f"columns of other lengths at least {control:.2g}.",
    )


def column_choices(matrices: np.ndarray, U: np.ndarray | None = None) -> pd.DataFrame:
    """Losses of both groups for every choice of r columns of an orthonormal U, beside the smallest possible maximum."""
    d = matrices.shape[1]
    U = np.eye(d) if U is None else U
    rows = []
    for r in range(1, d):
        optimum = solve_min_max(*matrices, r, "loss")[1].primal
        for chosen in combinations(range(d), r):
            a, b = losses(matrices, U[:, chosen])
            rows.append((r, ", ".join(str(j + 1) for j in chosen), float(a), float(b), float(max(a, b)), optimum))
    return pd.DataFrame(rows, columns=["r", "columns", "loss of A", "loss of B", "larger loss", "optimum"])


def commuting_pairs(trials: int = 200) -> pd.DataFrame:
    """Random commuting pairs, in units of the largest eigenvalue.

    C of a joint basis, the smallest difference of the two losses over all choices of r columns, the larger loss of the
    choice where it is smallest, and the optimum over all projections.
    """
    rows = []
    for trial in range(trials):
        rng = np.random.default_rng((SEED, 3, trial))
        d = int(rng.integers(3, 6))
        Q = rotation(rng, d)
        S = np.einsum("de,ge,fe->gdf", Q, rng.uniform(0.0, 3.0, size=(2, d)), Q)
        scale = float(np.linalg.eigvalsh(S).max())
        table = column_choices(S, Q)
        C = joint_criterion(Q, S) / scale**2
        for r, choices in table.groupby("r"):
            best = choices.loc[choices["larger loss"].idxmin()]
            gap = (choices["loss of A"] - choices["loss of B"]).abs() / scale
            larger, optimum = best["larger loss"] / scale, best["optimum"] / scale
            rows.append((trial, d, r, C, gap.min(), larger, optimum))
    return pd.DataFrame(rows, columns=["trial", "d", "r", "C", "smallest gap", "best choice", "optimum"])


def square_case(matrices: np.ndarray, trials: int = 20) -> pd.DataFrame:
    """All d columns of orthogonal matrices: the loss of each group, and the printed -tr(U'MU) with the shift of r = 1.

    Neither depends on U: there is nothing to optimise, and the first is zero for both groups whatever U is.
    """
    d = matrices.shape[1]
    rows = []
    for trial in range(trials):
        U = rotation(np.random.default_rng((SEED, 4, trial)), d)
        shifted = matrices - best_kept(matrices, 1)[:, None, None] * np.eye(d)
        traces = -np.einsum("dk,gde,ek->g", U, shifted, U)
        rows.append((*losses(matrices, U), *traces))
    return pd.DataFrame(rows, columns=["loss of A", "loss of B", "-tr U'M_A U", "-tr U'M_B U"])


def exact_diagonalisation_is_fair() -> Answer:
    """R03, Theorem 4.1: joint diagonalisers with C = 0 and r < d columns of them, as a projection has them.

    As printed U* is square; that reading stands in the evidence.
    """
    told, equal, choices, rounding = [], 0, 0, rule("R03", "rounding")
    for name, S in COUNTEREXAMPLES.items():
        table = column_choices(S)
        one = table[table["r"] == 1]
        gaps = (table["loss of A"] - table["loss of B"]).abs()
        equal, choices = equal + int((gaps < rounding).sum(axis=0)), choices + len(table)
        pairs = ", ".join(f"({a:g}, {b:g})" for a, b in zip(one["loss of A"], one["loss of B"], strict=True))
        told.append(
            f"{name}, U = I, C = {joint_criterion(np.eye(3), S):g}: losses of the columns {pairs}; the best has "
            f"{one['larger loss'].min():g}, the optimum is {one['optimum'].iloc[0]:.3g} for both"
        )
    random = commuting_pairs()
    fair = random[(random["C"] < rounding) & (random["smallest gap"] < rounding)]
    both = int((fair["best choice"] < rounding).sum(axis=0))
    square = square_case(next(iter(COUNTEREXAMPLES.values())))[["loss of A", "loss of B"]].abs().to_numpy().max()
    empty = square < rounding
    always = equal == choices and len(fair) == len(random)
    most = len(fair) > rule("R03", "in part above") * len(random)
    answer = "holds" if always else "holds in part" if most else "does not hold"
    return Answer(
        answer,
        f"As printed (square U): {'true, and empty' if empty else 'not true'}, as with all d columns the losses of "
        f"every orthogonal U are {'0' if empty else 'not 0'} (largest {square:.1g}). For r < d columns, as used, which "
        f"is the reading judged: {answer}. "
        + ". ".join(told)
        + f". Of {len(random)} cases (random commuting pair, r < d) {len(fair)} have any choice of "
        f"columns with equal losses; in {both} of these the same columns are best for both.",
    )


def other_diagonalisers() -> pd.DataFrame:
    """Matrices that diagonalise a commuting pair exactly without being orthonormal; the last is a control."""
    rng = np.random.default_rng((SEED, 5))
    d = 5
    Q = rotation(rng, d)
    distinct = rng.uniform(0.5, 3.0, size=(2, d))
    tied = distinct.copy()
    tied[:, 1] = tied[:, 0]
    shear = np.eye(d)
    shear[0, 1] = 0.8
    cases = (
        ("orthonormal", distinct, Q),
        ("columns scaled", distinct, Q * np.array([0.1, 1.0, 3.0, 10.0, 0.5])),
        ("two columns of a tied eigenspace, 51 degrees apart", tied, Q @ shear / np.linalg.norm(shear, axis=0)),
        ("the same without the tie (control)", distinct, Q @ shear / np.linalg.norm(shear, axis=0)),
    )
    rows = []
    for name, values, U in cases:
        S = np.einsum("de,ge,fe->gdf", Q, values, Q)
        scale = float(np.linalg.eigvalsh(S).max())
        rows.append((name, joint_criterion(U, S) / scale**2, float(np.linalg.norm(U.T @ U - np.eye(d)))))
    return pd.DataFrame(rows, columns=["U", "C", "|U'U - I|"])


def exact_is_orthonormal() -> Answer:
    """R04: an exact joint diagonaliser of symmetric matrices must be orthonormal."""
    found = other_diagonalisers()
    other = found["|U'U - I|"] > rule("R04", "not orthonormal")
    exact = found[(found["C"] < rule("R04", "rounding")) & other]
    told = "; ".join(f"{u}: C {c:.1g}, |U'U - I| {n:.2g}" for u, c, n in found.itertuples(index=False))
    alone = "does not give" if len(exact) else "gives"
    return Answer(
        "does not hold" if len(exact) else "holds",
        f"Random commuting pair, d = 5. {told}. Under the constraint of eq. (6) U* is orthonormal by demand; symmetry "
        f"alone {alone} it here.",
    )


def three_groups() -> pd.DataFrame:
    """Three groups of random covariances: what joint diagonalisation gives, and what equal losses would need."""
    rows = []
    isotropic = np.concatenate([next(reversed(COUNTEREXAMPLES.values())), np.eye(3)[None]])
    rng = np.random.default_rng((SEED, 7))
    Q = rotation(rng, 6)
    commuting = np.einsum("de,ge,fe->gdf", Q, rng.uniform(0.2, 3.0, size=(3, 6)), Q)
    generic = np.concatenate([random_pair(rng, 6), random_pair(rng, 6)[:1]])
    for name, S, k in (("counterexample and I", isotropic, 1), ("commuting", commuting, 2), ("generic", generic, 2)):
        scale = float(np.linalg.eigvalsh(S).max())
        found, jacobi = joint_diagonalise(S), jacobi_diagonalise(S)
        order = np.argsort(-np.einsum("dk,gde,ek->k", found.U, S, found.U), kind="stable")[:k]
        got = losses(S, found.U[:, order])
        excess = (found.criterion - jacobi.criterion) / scale**2
        row = {"case": name, "k": k, "status": found.status, "C": found.criterion / scale**2, "above Jacobi": excess}
        rows.append(row | {f"loss of group {g + 1}": float(v) for g, v in enumerate(got)})
    return pd.DataFrame(rows)


def several_groups() -> Answer:
    """R26: the algorithm for three groups, and whether its promise, equal losses, goes with it."""
    found, rounding, searched = three_groups(), rule("R26", "rounding"), rule("R26", "searched")
    runs = bool((found["above Jacobi"] < searched).all() and (found["status"] == "converged").all())
    values = found[[f"loss of group {g}" for g in (1, 2, 3)]]
    spread = values.max(axis=1) - values.min(axis=1)
    exact = found["C"] < rounding
    fair = bool(exact.any() and (spread[exact] < rounding).all())
    unequal = ", ".join(f"{abs(v):.3g}" for v in values[exact].iloc[-1].round(9)) if exact.any() else "none"
    # With the third group isotropic its loss is 0 for every U; the other two cannot both have 0.
    least = solve_min_max(*next(reversed(COUNTEREXAMPLES.values())), 1, "loss")[1].primal
    ended = int((found["status"] == "converged").sum(axis=0))
    answer = "holds" if runs and fair else "holds in part" if runs else "does not hold"
    if fair:
        promise = f"The fairness {'does too' if runs else 'does'}: with C = 0 the losses are equal, {unequal}."
    else:
        promise = f"The fairness does not: with C = 0 the losses are {unequal}."
    if not fair and least > searched:
        promise += (
            " Where one group is isotropic its loss is 0 for every U, while the other two cannot both be below "
            f"{least:.3g}, so that no U has equal losses."
        )
    return Answer(
        answer,
        f"Three groups, orthonormal version: {ended} of {len(found)} cases converge, at most "
        f"{max(found['above Jacobi'].max(), 0.0):.1g} above Jacobi's criterion: the algebra "
        f"{'extends' if runs else 'does not extend'}. {promise}",
    )


claims = {
    "R01": min_max_equalises,
    "R02": lemma_1,
    "R03": exact_diagonalisation_is_fair,
    "R04": exact_is_orthonormal,
    "R05": constraint_kept,
    "R19": printed_errors_and_shares,
    "R26": several_groups,
}
