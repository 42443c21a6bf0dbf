"""Joint diagonalisation by rotations: a step turns all pairs of columns at once and never raises the criterion."""

import numpy as np


def offdiagonal_square(T: np.ndarray) -> float:
    """Sum of the squared off-diagonal entries of a stack (K, d, d)."""
    beside = T.copy()
    np.einsum("kdd->kd", beside)[:] = 0.0
    return float(np.vdot(beside, beside))


def pair_angles(T: np.ndarray) -> np.ndarray:
    """Skew (d, d) matrix of the angles that would be best for each pair of columns if no other pair were turned."""
    L = np.diagonal(T, axis1=1, axis2=2)
    gaps = L[:, :, None] - L[:, None, :]
    ton = (gaps**2).sum(axis=0) - 4.0 * (T**2).sum(axis=0)
    toff = 4.0 * (T * gaps).sum(axis=0)
    angles = np.triu(0.5 * np.arctan2(toff, ton + np.hypot(ton, toff)), 1)
    return angles.T - angles


def cayley(V: np.ndarray) -> np.ndarray:
    """The rotation (I - V/2)^{-1} (I + V/2) of a skew V."""
    half = 0.5 * V
    one = np.eye(len(V))
    return np.linalg.solve(one - half, one + half)


def rotate_down(
    S: np.ndarray, U: np.ndarray, steps: int, rtol: float, floor: float
) -> tuple[np.ndarray, np.ndarray, tuple[float, ...], str]:
    """Rotate the orthonormal U until the criterion stands still: U, the transformed matrices, the path, the status."""
    T = U.T @ S @ U
    value = offdiagonal_square(T)
    path, share = [value], 1.0
    if value <= floor:
        return U, T, tuple(path), "converged"
    while len(path) <= steps:
        V = pair_angles(T)
        share = min(1.0, 2.0 * share)
        while True:
            B = cayley(share * V)
            trial = B.T @ T @ B
            reached = offdiagonal_square(trial)
            if reached <= value:
                break
            share *= 0.5
            if share < 1e-12:
                return U, T, tuple(path), "converged"
        U, T, before, value = U @ B, 0.5 * (trial + trial.transpose(0, 2, 1)), value, reached
        path.append(value)
        if before - value <= rtol * before or value <= floor:
            return U, T, tuple(path), "converged"
    return U, T, tuple(path), "not converged"
