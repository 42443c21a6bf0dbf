"""The theorems of Rathore and Manwani (2025), put to the test on random problems and on two counterexamples.

Each claim is a function that returns an answer; the tables behind the evidence are functions of their own.
"""

from collections.abc import Iterator
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd

from evenspan.core.linalg import symmetrise
from evenspan.reconstruction.group_errors import best_kept, errors, losses
from evenspan.reconstruction.joint_diagonalisation import joint_criterion, joint_diagonalise
from evenspan.reconstruction.joint_jacobi import jacobi_diagonalise
from evenspan.reconstruction.min_max import solve_min_max

from ...claim_rules import HOLDS, IN_PART, NOT_JUDGED, NOT_SO, Answer, by_truth, rule
from ...data import group_moments
from ...data.raw import RFPCA
from .protocol import TABLES, matrices
from .timing import synthetic_pair

SEED = 2025
SHAPES = ((2, 1), (3, 1), (3, 2))
STARTS = ("identity", "pooled")
#: How Algorithm 1 ends with something to return.
ENDED = ("converged", "not converged")
DISTANCE = "|U'U - I|"


def problems(claim: int, number: int) -> Iterator[np.random.Generator]:
    """A source of random numbers for each problem that a claim is tried on."""
    return (np.random.default_rng((SEED, claim, trial)) for trial in range(number))


def rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    """A random orthogonal matrix."""
    Q, R = np.linalg.qr(rng.normal(size=(d, d)))
    return Q * np.sign(np.diag(R))


def random_pair(rng: np.random.Generator, d: int, kind: str = "generic") -> np.ndarray:
    """Two positive semidefinite matrices: generic, commuting, with tied eigenvalues, singular, or equal."""
    Q = np.stack([rotation(rng, d), rotation(rng, d)])
    values = rng.uniform(0.2, 3.0, size=(2, d))
    if kind == "commuting":
        Q[1] = Q[0]
    elif kind == "tied":
        values[:, 1:] = values[:, 1:2]
    elif kind == "singular":
        values[:, -1] = 0.0
    elif kind == "equal":
        Q[1], values[1] = Q[0], values[0]
    return np.einsum("gde,ge,gfe->gdf", Q, values, Q)


def brute_force(matrices: np.ndarray, k: int, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """The smallest maximum of two losses by search over all directions: d = 2 or 3, and k = 1 or d - 1."""
    d = matrices.shape[1]
    best, traces = best_kept(matrices, k), np.trace(matrices, axis1=1, axis2=2)

    def of(v):
        v = v / np.linalg.norm(v, axis=-1, keepdims=True)
        along = np.einsum("...d,gde,...e->...g", v, matrices, v)
        return best - (along if k == 1 else traces - along)

    v = rng.normal(size=(20_000, d))
    starts = v[np.argsort(of(v).max(axis=-1), kind="stable")[:30]]
    starts = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    for step in range(60):
        near = starts[:, None] + 0.1 * 0.75**step * rng.normal(size=(30, 60, d))
        near[:, 0] = starts
        chosen = of(near).max(axis=-1).argmin(axis=1)
        starts = near[np.arange(30), chosen]
        starts = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    found = of(starts)
    at = int(found.max(axis=1).argmin(axis=0))
    return float(found[at].max(axis=0)), found[at]


def min_max_equalises() -> Answer:
    """R01: both losses are equal where the larger one is smallest. Control: for errors they need not be.

    By brute force and by the exact solver, all relative to the scale of a pair.
    """
    rows, searched = [], rule("R01", "searched")
    for kind in ("generic", "commuting", "tied", "singular", "equal"):
        for trial in range(8):
            d, k = SHAPES[trial % len(SHAPES)]
            rng = np.random.default_rng((SEED, 1, len(kind), trial))
            S = random_pair(rng, d, kind)
            V, certificate = solve_min_max(*S, k, "loss")
            value, pair = brute_force(S, k, rng)
            other = errors(S, solve_min_max(*S, k, "error")[0])
            found = [abs(value - certificate.primal), *(np.ptp(x, axis=0) for x in (losses(S, V), pair, other))]
            rows.append(np.array(found) / float(np.linalg.eigvalsh(S).max()))
    difference, exact, brute, of_errors = np.array(rows).T
    unequal, agree = (exact > searched) | (brute > searched), (difference < searched).all()
    errors_differ = int((of_errors > searched).sum(axis=0))
    return Answer(
        # Without a control that differs the search shows nothing.
        NOT_SO if unequal.any() else HOLDS if agree and errors_differ else IN_PART,
        f"{len(rows)} pairs in 2 and 3 dimensions, tied, singular, commuting and equal ones among them: the losses at "
        f"the optimum differ by at most {exact.max(axis=0):.1g} (exact solver) and {brute.max(axis=0):.1g} (search "
        f"over all directions) of the scale, and the two optima by {difference.max(axis=0):.1g}. Control: errors at "
        f"the min-max error differ for {errors_differ} of them.",
    )


#: Commuting pairs: U = I diagonalises both.
COUNTEREXAMPLES = {
    "diag(4, 1, 1) and diag(1, 1, 2)": np.array([np.diag([4.0, 1.0, 1.0]), np.diag([1.0, 1.0, 2.0])]),
    "diag(3, 2, 0) and diag(0, 2, 5)": np.array([np.diag([3.0, 2.0, 0.0]), np.diag([0.0, 2.0, 5.0])]),
}


def lemma_1() -> Answer:
    """R02: the loss on the points against the printed trace, orthonormal U; control: columns of other length."""
    worst, control = 0.0, np.inf
    for rng in problems(2, 60):
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
    return Answer(
        by_truth(worst < rule("R02", "rounding") and control > rule("R02", "control")),
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
    for trial, rng in enumerate(problems(3, trials)):
        d = int(rng.integers(3, 6))
        Q = rotation(rng, d)
        S = np.einsum("de,ge,fe->gdf", Q, rng.uniform(0.0, 3.0, size=(2, d)), Q)
        scale = float(np.linalg.eigvalsh(S).max())
        table = column_choices(S, Q)
        C = joint_criterion(Q, S) / scale**2
        gap = (table["loss of A"] - table["loss of B"]).abs()
        numbers = np.array([gap, table["larger loss"], table["optimum"]]) / scale
        for r in range(1, d):
            rows.append((trial, d, r, C, *numbers[:, table["r"] == r].min(axis=1)))
    return pd.DataFrame(rows, columns=["trial", "d", "r", "C", "smallest gap", "best choice", "optimum"])


def square_case(matrices: np.ndarray, trials: int = 20) -> pd.DataFrame:
    """All d columns of orthogonal matrices: the loss of each group, and the printed -tr(U'MU) with the shift of r = 1.

    Neither depends on U: there is nothing to optimise, and the first is zero for both groups whatever U is.
    """
    d = matrices.shape[1]
    rows = []
    for rng in problems(4, trials):
        U = rotation(rng, d)
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
    answer = HOLDS if always else IN_PART if most else NOT_SO
    return Answer(
        answer,
        f"As printed (square U): {'true, and empty' if empty else 'not true'}, as with all d columns the losses of "
        f"every orthogonal U are {'0' if empty else 'not 0'} (largest {square:.1g}). For r < d columns, as used, which "
        f"is the reading judged: {answer}. "
        + ". ".join(told)
        + f". Of {len(random)} cases (random commuting pair, r < d) {len(fair)} have any choice of "
        f"columns with equal losses; in {both} of these the same columns are best for both.",
    )


def exact_is_orthonormal() -> Answer:
    """R04: an exact joint diagonaliser of symmetric matrices must be orthonormal. The last of these is a control."""
    rng = np.random.default_rng((SEED, 5))
    Q, distinct = rotation(rng, 5), rng.uniform(0.5, 3.0, size=(2, 5))
    tied, shear = distinct.copy(), np.eye(5)
    tied[:, 1] = tied[:, 0]
    shear[0, 1] = 0.8
    slanted = Q @ shear / np.linalg.norm(shear, axis=0)
    told, exact = [], 0
    for name, values, U in (
        ("orthonormal", distinct, Q),
        ("columns scaled", distinct, Q * np.array([0.1, 1.0, 3.0, 10.0, 0.5])),
        ("two columns of a tied eigenspace, 51 degrees apart", tied, slanted),
        ("the same without the tie (control)", distinct, slanted),
    ):
        S = np.einsum("de,ge,fe->gdf", Q, values, Q)
        C = joint_criterion(U, S) / float(np.linalg.eigvalsh(S).max()) ** 2
        off = float(np.linalg.norm(U.T @ U - np.eye(5)))
        exact += off > rule("R04", "not orthonormal") and rule("R04", "rounding") > C
        told.append(f"{name}: C {C:.1g}, {DISTANCE} {off:.2g}")
    return Answer(
        by_truth(not exact),
        f"Random commuting pair, d = 5. {'; '.join(told)}. Under the constraint of eq. (6) U* is orthonormal by "
        f"demand; symmetry alone {'does not give' if exact else 'gives'} it here.",
    )


def three_groups() -> pd.DataFrame:
    """Joint diagonalisation of three groups: a counterexample and I, a commuting and a generic case."""
    rows = []
    isotropic = np.concatenate([next(reversed(COUNTEREXAMPLES.values())), np.eye(3)[None]])
    rng = np.random.default_rng((SEED, 7))
    Q = rotation(rng, 6)
    commuting = np.einsum("de,ge,fe->gdf", Q, rng.uniform(0.2, 3.0, size=(3, 6)), Q)
    generic = np.concatenate([random_pair(rng, 6), random_pair(rng, 6)[:1]])
    for S, k in ((isotropic, 1), (commuting, 2), (generic, 2)):
        scale = float(np.linalg.eigvalsh(S).max())
        found, jacobi = joint_diagonalise(S), jacobi_diagonalise(S)
        order = np.argsort(-np.einsum("dk,gde,ek->k", found.U, S, found.U), kind="stable")[:k]
        excess = (found.criterion - jacobi.criterion) / scale**2
        rows.append((found.status, found.criterion / scale**2, excess, *losses(S, found.U[:, order])))
    columns = ["status", "C", "above Jacobi", *(f"loss of group {g}" for g in (1, 2, 3))]
    return pd.DataFrame(rows, columns=columns)


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
        HOLDS if runs and fair else IN_PART if runs else NOT_SO,
        f"Three groups, orthonormal version: {ended} of {len(found)} cases converge, at most "
        f"{max(found['above Jacobi'].max(), 0.0):.1g} above Jacobi's criterion: the algebra "
        f"{'extends' if runs else 'does not extend'}. {promise}",
    )


# -- Algorithm 1 as printed, on every data set whose moments are at hand -----------------------------------------------

# The criterion has a positive minimum on real pairs, because they do not commute; the printed stop test never fires.
# What the iteration does instead depends on the start, on the scaling and on the centring, and is recorded here.


def settings() -> Iterator[tuple[str, str, str, np.ndarray]]:
    """Data set, scaling and centring with the pair of group matrices; standardised features are centred already."""
    for dataset in (*TABLES, *RFPCA):  # those of the paper, and of Vu et al. (2022): two groups each
        moments = group_moments(dataset)
        for scaling, seen in (("raw", moments), ("standardised", moments.standardised())):
            for centring in ("global", "group", "none") if scaling == "raw" else ("global", "group"):
                yield dataset, scaling, centring, np.array([symmetrise(S) for S in matrices(seen, centring)])


@cache
def divergence() -> pd.DataFrame:
    """How Algorithm 1 ends, from U = I as printed and from the pooled eigenvectors; the orthonormal version beside it.

    Columns: ``dataset``, ``scaling``, ``centring``, ``start``, ``status``, ``orthogonal`` (status of the orthonormal
    version), ``above Jacobi`` (its criterion against that of Jacobi's rotations, relative).
    """
    rows = []
    for dataset, scaling, centring, S in settings():
        orthogonal, jacobi = joint_diagonalise(S), jacobi_diagonalise(S)
        floor = np.finfo(float).eps * float(np.vdot(S, S))
        above = (orthogonal.criterion - jacobi.criterion) / max(jacobi.criterion, floor)
        for start in STARTS:
            status = joint_diagonalise(S, "paper", init=start).status
            rows.append((dataset, scaling, centring, start, status, orthogonal.status, above))
    columns = ["dataset", "scaling", "centring", "start", "status", "orthogonal", "above Jacobi"]
    return pd.DataFrame(rows, columns=columns)


def orthonormality() -> pd.DataFrame:
    """|U'U - I| of what Algorithm 1 returns on the data sets of the paper and on a random pair, by start.

    ``one step`` is the largest difference of (I + V)'(I + V) and I + V'V for the first V, relative to the largest entry
    of V'V, and ``longer by`` the largest of these: by so much the square of a column's length grows in one step.
    """
    rows = []
    for name, S in _pairs():
        for start in STARTS:
            found = joint_diagonalise(S, "paper", init=start)
            distance = float(np.linalg.norm(found.U.T @ found.U - np.eye(S.shape[1])))
            rows.append((name, start, found.status, distance, *_first_step(S, start)))
    return pd.DataFrame(rows, columns=["dataset", "start", "status", DISTANCE, "one step", "longer by"])


def _pairs() -> Iterator[tuple[str, np.ndarray]]:
    for dataset in TABLES:
        yield dataset, np.array([symmetrise(S) for S in matrices(group_moments(dataset), "global")])
    yield "synthetic", synthetic_pair(12, np.random.default_rng(2025))


def _first_step(S: np.ndarray, start: str) -> tuple[float, float]:
    """The first step B = I + V, as it was taken: B'B against I + V'V. NaN where there is no step."""
    U = pooled_start(S) if start == "pooled" else np.eye(S.shape[1])
    taken = joint_diagonalise(S, "paper", init=U, max_iter=1)
    if taken.status not in ENDED or not taken.n_iter:
        return np.nan, np.nan
    B = U.T @ taken.U
    V = B - np.eye(len(B))
    squares = V.T @ V
    largest = float(np.abs(np.diag(squares)).max(axis=0))
    return float(np.abs(B.T @ B - np.eye(len(B)) - squares).max()) / largest, largest


def pooled_start(S: np.ndarray) -> np.ndarray:
    """Eigenvectors of the mean of the matrices: a start that is handed over, so that signs cannot differ."""
    return np.linalg.eigh(S.mean(axis=0))[1][:, ::-1]


def shift_invariance() -> float:
    """How far the printed matrices M_s of several ranks lead away from U of the unshifted ones, from the same start.

    The shift, the mean of the r largest eigenvalues, differs between the groups and between ranks. Compared is U after
    some steps of Algorithm 1, entry by entry: the steps differ by rounding only, as M_s differs by a multiple of I.
    """
    largest = 0.0
    for _, S in _pairs():
        start = pooled_start(S)
        plain = few_steps(S, start)
        for r in (1, 2, 5, 10):
            if r < S.shape[1]:
                shifted = S - (best_kept(S, r) / r)[:, None, None] * np.eye(S.shape[1])
                largest = max(largest, float(np.abs(few_steps(shifted, start) - plain).max()))
    return largest


def few_steps(S: np.ndarray, start: np.ndarray) -> np.ndarray:
    """U after some steps of Algorithm 1."""
    return joint_diagonalise(S, "paper", init=start, max_iter=3, rtol=0.0).U


def errors_and_shares() -> float:
    """Largest relative difference of R.E. and total (1 - V.E.), on random points and orthonormal U."""
    worst = 0.0
    for trial, rng in enumerate(problems(6, 20)):
        X = rng.normal(size=(40, 6)) * rng.uniform(0.3, 3.0, size=6)
        X -= X.mean(axis=0)
        U = rotation(rng, 6)[:, : 1 + trial % 5]
        total = X.var(axis=0).sum(axis=0)
        residual = ((X - X @ U @ U.T) ** 2).sum(axis=1).mean(axis=0)
        worst = max(worst, abs(residual - total * (1.0 - (X @ U).var(axis=0).sum(axis=0) / total)) / total)
    return worst


def constraint_kept() -> Answer:
    """R05: the matrix that Algorithm 1 returns satisfies U'U = I."""
    titles = {name: table.title for name, table in TABLES.items()} | {"synthetic": "a random pair"}
    starts = {"identity": "I", "pooled": "the pooled eigenvectors"}
    found = orthonormality()
    found["from"] = found["dataset"].map(titles) + " from " + found["start"].map(starts)
    ended = found["status"].isin(ENDED)
    broken = found.loc[ended, DISTANCE] > rule("R05", "orthonormal")
    told = "; ".join(f"{where} {value:.2g}" for where, value in found.loc[ended, ["from", DISTANCE]].to_numpy())
    without = ", ".join(f"{where} ({status})" for where, status in found.loc[~ended, ["from", "status"]].to_numpy())
    answer = NOT_SO if broken.all() else IN_PART if broken.any() else HOLDS
    return Answer(
        answer if ended.any() else NOT_JUDGED,
        f"|U'U - I| where Algorithm 1 returns something: {told}. One step gives I + V'V (relative difference at most "
        f"{found['one step'].max():.1g})." + (f" Nothing to return: {without}." if without else ""),
    )


claims = {
    "R01": min_max_equalises,
    "R02": lemma_1,
    "R03": exact_diagonalisation_is_fair,
    "R04": exact_is_orthonormal,
    "R05": constraint_kept,
    "R26": several_groups,
}
