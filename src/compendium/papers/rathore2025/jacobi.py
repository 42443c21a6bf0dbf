r"""Cyclic Jacobi rotations (Cardoso and Souloumiac, 1996): the reference answer in orthonormal bases.

In the plane of columns p and q one angle minimises the criterion exactly: with
:math:`h_s = (T_s(pp) - T_s(qq),\; 2 T_s(pq))` and :math:`G = \sum_s h_s h_s^\top`,

.. math::
    \tan 4\theta = \frac{2 G_{12}}{G_{11} - G_{22}} , \qquad |\theta| \le \pi / 4 .
"""

import numpy as np

from evenspan.core.linalg import require_symmetric
from evenspan.reconstruction.joint_diagonalisation import (
    ROUNDING,
    JointDiagonalisation,
    offdiagonal_square,
    start_basis,
    turned,
)


def jacobi_diagonalise(
    matrices: np.ndarray, *, init: np.ndarray | str = "pooled", rtol: float = 1e-12, max_sweeps: int = 100
) -> JointDiagonalisation:
    r"""Rotate two columns at a time, each time by the best angle, until a sweep over all pairs changes nothing.

    The criterion never rises; the path has an entry for each sweep, of O(K d^3)."""
    S = require_symmetric(matrices, "the stack of matrices", ndim=3)
    U = start_basis(S, init)
    T = U.T @ S @ U
    floor = ROUNDING * float(np.vdot(S, S))
    path = [offdiagonal_square(T)]
    status = "converged" if path[0] <= floor else "not converged"
    rounds = disjoint_pairs(len(U))
    while status == "not converged" and len(path) <= max_sweeps:
        for p, q in rounds:
            gaps, twice = T[:, p, p] - T[:, q, q], T[:, p, q] + T[:, q, p]
            along, across = (gaps**2 - twice**2).sum(axis=0), 2.0 * (gaps * twice).sum(axis=0)
            angle = 0.25 * np.arctan2(across, along)
            T = turned(turned(T, p, q, angle).transpose(0, 2, 1), p, q, angle)
            U = turned(U, p, q, angle)
        path.append(offdiagonal_square(T))
        if path[-2] - path[-1] <= rtol * path[-2] or path[-1] <= floor:
            status = "converged"
    diagonals = np.diagonal(T, axis1=1, axis2=2).copy()
    return JointDiagonalisation(U, diagonals, path[-1], tuple(path), status, len(path) - 1)


def disjoint_pairs(d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """All pairs of d columns, in rounds in which every column occurs at most once (a tournament)."""
    players = np.arange(d + d % 2)  # with an odd number one column rests in each round
    half = len(players) // 2
    rounds = []
    for _ in range(len(players) - 1):
        p, q = players[:half], players[half:][::-1]
        plays = np.maximum(p, q) < d
        rounds.append((np.minimum(p, q)[plays], np.maximum(p, q)[plays]))
        players = np.concatenate([players[:1], np.roll(players[1:], 1)])
    return rounds
