"""Do the two losses agree where the larger one is smallest? Brute force in 2 and 3 dimensions, and the exact solver."""

import numpy as np
import pandas as pd

from evenspan.reconstruction.group_errors import best_kept, errors, losses
from evenspan.reconstruction.min_max import solve_min_max

from .claim_rules import Answer, rule

SEED = 2025
SHAPES = ((2, 1), (3, 1), (3, 2))


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


def min_max_table(trials: int = 8) -> pd.DataFrame:
    """Min-max loss by brute force and by the exact solver, and how far apart the two losses are, relative to scale.

    Parameters
    ----------
    trials : int
        Pairs of every kind.

    Returns
    -------
    DataFrame
        One row for each pair, generic, commuting, tied, singular or equal.
    """
    rows = []
    for kind in ("generic", "commuting", "tied", "singular", "equal"):
        for trial in range(trials):
            d, k = SHAPES[trial % len(SHAPES)]
            rng = np.random.default_rng((SEED, 1, len(kind), trial))
            S = random_pair(rng, d, kind)
            scale = float(np.linalg.eigvalsh(S).max())
            V, certificate = solve_min_max(*S, k, "loss")
            value, pair = brute_force(S, k, rng)
            other = solve_min_max(*S, k, "error")[0]
            rows.append(
                {
                    "pair": kind,
                    "d": d,
                    "k": k,
                    "exact": certificate.primal,
                    "brute force": value,
                    "difference": abs(value - certificate.primal) / scale,
                    "gap, exact": float(np.ptp(losses(S, V), axis=0)) / scale,
                    "gap, brute force": float(np.ptp(pair, axis=0)) / scale,
                    "gap of errors, min-max error": float(np.ptp(errors(S, other), axis=0)) / scale,
                    "larger error, min-max error": float(errors(S, other).max(axis=0)) / scale,
                    "larger error, min-max loss": float(errors(S, V).max(axis=0)) / scale,
                }
            )
    return pd.DataFrame(rows)


def min_max_equalises() -> Answer:
    """R01: both losses are equal where the larger one is smallest. Control: for errors they need not be."""
    found, searched = min_max_table(), rule("R01", "searched")
    unequal = found[(found["gap, exact"] > searched) | (found["gap, brute force"] > searched)]
    agree = bool((found["difference"] < searched).all())
    errors_differ = int((found["gap of errors, min-max error"] > searched).sum(axis=0))
    # Without a control that differs the search shows nothing.
    answer = "does not hold" if len(unequal) else "holds" if agree and errors_differ else "holds in part"
    return Answer(
        answer,
        f"{len(found)} pairs in 2 and 3 dimensions, tied, singular, commuting and equal ones among them: the losses at "
        f"the optimum differ by at most {found['gap, exact'].max():.1g} (exact solver) and "
        f"{found['gap, brute force'].max():.1g} (search over all directions) of the scale, and the two optima by "
        f"{found['difference'].max():.1g}. Control: errors at the min-max error differ for {errors_differ} of them.",
    )
