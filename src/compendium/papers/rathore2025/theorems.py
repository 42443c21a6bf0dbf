"""What the theorems of Rathore and Manwani (2025) are tried on."""

from itertools import combinations

import numpy as np
import pandas as pd

from evenspan.reconstruction.group_errors import best_kept, losses
from evenspan.reconstruction.min_max import solve_min_max


def rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    """A random orthogonal matrix."""
    Q, R = np.linalg.qr(rng.normal(size=(d, d)))
    return Q * np.sign(np.diag(R))


def random_pair(rng: np.random.Generator, d: int, kind: str = "generic") -> np.ndarray:
    """Two positive semidefinite matrices: generic, commuting, with tied eigenvalues, singular, or equal."""
    Q = np.stack([rotation(rng, d), rotation(rng, d)])
    values = rng.uniform(0.2, 3.0, size=(2, d))
    if kind in ("commuting", "equal"):
        Q[1] = Q[0]
    if kind == "tied":
        values[:, 1:] = values[:, 1:2]
    elif kind == "singular":
        values[:, -1] = 0.0
    elif kind == "equal":
        values[1] = values[0]
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
        starts = near[np.arange(30), of(near).max(axis=-1).argmin(axis=1)]
        starts = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    found = of(starts)
    at = found.max(axis=1).argmin()
    return float(found[at].max()), found[at]


def column_choices(matrices: np.ndarray, U: np.ndarray) -> pd.DataFrame:
    """Losses of both groups for every choice of r columns of an orthonormal U, beside the smallest possible maximum."""
    rows = []
    for r in range(1, len(U)):
        optimum = solve_min_max(*matrices, r, "loss")[1].primal
        for chosen in combinations(range(len(U)), r):
            a, b = losses(matrices, U[:, chosen])
            rows.append((r, ", ".join(str(j + 1) for j in chosen), a, b, max(a, b), optimum))
    return pd.DataFrame(rows, columns=["r", "columns", "loss of A", "loss of B", "larger loss", "optimum"])
