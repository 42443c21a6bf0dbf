"""The theorems of Rathore and Manwani (2025): what they are tried on, and the claims that the stored rows answer."""

from itertools import combinations

import numpy as np
import pandas as pd

from evenspan.reconstruction.group_errors import best_kept, losses
from evenspan.reconstruction.min_max import solve_min_max

from ...claim_rules import HOLDS, IN_PART, NOT_JUDGED, NOT_SO, Answer, by_truth, rule
from ...store import full

EXPERIMENT = "rathore2025-theorems"


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


# -- the claims, by what the notebook tried ----------------------------------------------------------------------------


def tried(claim: str, *index: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What was tried of a claim, metrics across, and its control."""
    rows = full(EXPERIMENT, protocol=claim)
    wide = rows.pivot(index=["dataset", "method", "k", "split", *index], columns="metric", values="value").reset_index()
    control = wide["method"].str.startswith("control")
    return wide[~control], wide[control]


def min_max_equalises() -> Answer:
    """R01: both losses are equal where the larger one is smallest. Control: for errors they need not be."""
    (found, control), searched = tried("R01"), rule("R01", "searched")
    largest = found.groupby("method")["difference"].max()
    errors_differ = int((control["difference"] > searched).sum(axis=0))
    unequal = largest.drop("optima").max(axis=0) > searched
    # Without a control that differs the search shows nothing.
    answer = NOT_SO if unequal else HOLDS if largest["optima"] < searched and errors_differ else IN_PART
    differ = {f"difference, {method}": value for method, value in largest.items()}
    return Answer(answer, differ | {"control: errors differ": f"{errors_differ} of {len(control)}"})


def lemma_1() -> Answer:
    """R02: the loss on the points against the printed trace. Control: columns of other length."""
    found, control = (some["difference"] for some in tried("R02"))
    true = found.max(axis=0) < rule("R02", "rounding") and control.min(axis=0) > rule("R02", "control")
    return Answer(
        by_truth(true), {"problems": len(found), "largest difference": found.max(), "smallest, control": control.min()}
    )


def exact_diagonalisation_is_fair() -> Answer:
    """R03, Theorem 4.1: some r < d columns of a joint diagonaliser have equal losses; of all d every U has."""
    (found, square), rounding = tried("R03"), rule("R03", "rounding")
    fair = (found["C"] < rounding) & (found["difference"] < rounding)
    random = found["dataset"] == "random"
    answer = HOLDS if fair.all() else IN_PART if fair[random].mean(axis=0) > rule("R03", "in part above") else NOT_SO
    return Answer(
        answer,
        {
            "r < d columns with equal losses": f"{fair[random].sum()} of {random.sum()}",
            "the same columns best for both": int((fair & random & (found["best choice"] < rounding)).sum(axis=0)),
            "two examples, one column, difference": float(found.loc[~random & (found["k"] == 1), "difference"].min()),
            "control: largest loss of all d columns": float(square["difference"].max()),
        },
    )


def exact_is_orthonormal() -> Answer:
    """R04: an exact joint diagonaliser of symmetric matrices must be orthonormal."""
    found = pd.concat(tried("R04"))
    exact = (found["difference"] > rule("R04", "not orthonormal")) & (found["C"] < rule("R04", "rounding"))
    lines = found.set_index("method")[["C", "difference"]].map("{:.2g}".format).iterrows()
    return Answer(by_truth(not exact.any()), {f"C and |U'U - I|, {name}": tuple(pair) for name, pair in lines})


def constraint_kept() -> Answer:
    """R05: the matrix that Algorithm 1 returns satisfies U'U = I. Control: rotations do."""
    found, control = tried("R05", "scaling", "centring")
    ended = found.dropna(subset="difference")
    broken = ended["difference"] > rule("R05", "orthonormal")
    away = {f"|U'U - I|, {row.dataset}, {row.method}": row.difference for row in ended.itertuples()}
    answer = NOT_JUDGED if ended.empty else NOT_SO if broken.all() else IN_PART if broken.any() else HOLDS
    return Answer(answer, away | {"control: rotations": float(control["difference"].max())})


def several_groups() -> Answer:
    """R26: the algorithm for three groups, and whether its promise, equal losses, goes with it."""
    rows, rounding, searched = tried("R26")[0], rule("R26", "rounding"), rule("R26", "searched")
    found, exact = rows[rows["method"] == "rotations"], rows["C"] < rounding
    runs = bool((found["above Jacobi"] < searched).all() and found["converged"].all())
    fair = bool(exact.any() and (rows.loc[exact, "difference"] < rounding).all())
    numbers = {
        "converged": f"{found['converged'].sum():.0f} of {len(found)}",
        "largest C above Jacobi's": float(found["above Jacobi"].max()),
        "losses differ where C = 0": float(rows.loc[exact, "difference"].max()),
        "losses that cannot both be smaller": float(rows["smallest larger loss of the other two"].max()),
    }
    return Answer(HOLDS if runs and fair else IN_PART if runs else NOT_SO, numbers)


CLAIMS = {
    "R01": min_max_equalises,
    "R02": lemma_1,
    "R03": exact_diagonalisation_is_fair,
    "R04": exact_is_orthonormal,
    "R05": constraint_kept,
    "R26": several_groups,
}
