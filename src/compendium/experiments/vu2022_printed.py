"""What Vu et al. (2022) print, as printed: two formulas of the objective, and Algorithm 1 on the complement."""

import numpy as np

from evenspan.reconstruction.robust_descent import Retraction, RobustObjective, ordered_pairs


def closed_form(q, shares, radii, penalty) -> np.ndarray:
    """Theorem 3.2 and its correct extension without the cut at zero: right under its conditions only, shape (...)."""
    f = RobustObjective.of(shares, radii, penalty)
    roots = np.sqrt(np.maximum(q, 0.0))[..., None, :]
    return (f.factors * (roots + f.shifts) ** 2).sum(axis=-1).max(axis=-1)


def printed_objective(q, shares, radii, penalty) -> np.ndarray:
    """Theorem B.2 *as printed*, for the counter-example: sum_b p_b (q_b + eps_b) is missing, though q depends on V."""
    shares, e, penalty = np.asarray(shares, dtype=float), np.asarray(radii, dtype=float), np.asarray(penalty)
    q = np.maximum(q, 0.0)
    f = RobustObjective.of(shares, e, penalty)
    cross = 2.0 * (np.abs(f.factors) * np.sqrt(e * q)[..., None, :]).sum(axis=-1)
    a, b = ordered_pairs(len(shares)).T
    moved = q + e
    return (cross + penalty[..., None] * (moved[..., a] - moved[..., b])).max(axis=-1)


def u_form(
    matrices: np.ndarray, f: RobustObjective, U: np.ndarray, iterations: int, *, retraction: Retraction = "qr"
) -> np.ndarray:
    """Algorithm 1 of Vu et al. (2022) literally, one run from the orthonormal U of shape (d, d - k): the last U."""
    step = 1.0 / np.sqrt(iterations + 1.0)
    for _ in range(iterations):
        q = np.einsum("dk,gde,ek->g", U, matrices, U, optimize=True)
        H = 2.0 * np.einsum("g,gde->de", f.gradient(q), matrices)
        D = -step * (H @ U - U @ (U.T @ (H @ U)))
        if retraction == "qr":
            Q, T = np.linalg.qr(U + D)
            U = Q * np.where(np.diag(T) < 0, -1.0, 1.0)
        else:
            # (U + D)(I + D'D)^(-1/2) as printed is this where U is orthonormal; its rounding errors would grow.
            left, _, right = np.linalg.svd(U + D, full_matrices=False)
            U = left @ right
    return U
