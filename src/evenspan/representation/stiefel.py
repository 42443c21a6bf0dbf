"""Smooth minimisation over matrices with orthonormal columns, by a quasi-Newton method."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy, ddot

from ..core.linalg import symmetrise

SUFFICIENT_DECREASE = 1e-4
#: Trial steps of one line search, each between a tenth and nine tenths of the one before.
TRIALS = 40


class StiefelPoint(NamedTuple):
    """Where a minimisation ended: V, the value, and the norm of the Riemannian gradient."""

    V: np.ndarray
    value: float
    gradient_norm: float


def tangent(V: np.ndarray, H: np.ndarray) -> np.ndarray:
    """The part of H (d, k) that is tangent at V: a Euclidean gradient becomes a Riemannian one."""
    return H - V @ symmetrise(V.T @ H)


def retract(H: np.ndarray) -> np.ndarray:
    """Orthonormal columns with the span of the columns of H: the Q factor whose R has a positive diagonal."""
    Q, R = np.linalg.qr(H)
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)


def minimise(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    V: np.ndarray,
    *,
    gradient_norm: float,
    max_steps: int,
    relative: bool = False,
) -> StiefelPoint:
    r"""A stationary point of a smooth function of V, :math:`V^\top V = I`, from a given start (d, k).

    ``objective`` takes V to its value and Euclidean gradient (d, k). It ends when the Riemannian gradient is shorter
    than ``gradient_norm`` (``relative``: than that share of the gradient at the start), or after ``max_steps``.

    BFGS with the Euclidean metric, Armijo's rule and steps along the Q factor (Huang, Gallivan and Absil 2015). The
    model is the list of its corrections, which the rotation of the space that turns V into its successor carries on:
    their coordinates do not change. Step m costs O(m d k + d^2 k) beside the objective.
    """
    value, slope = objective(V)
    gradient = tangent(V, slope)
    wanted = gradient_norm * (float(np.linalg.norm(gradient)) if relative else 1.0)
    turn, pairs, steps = np.eye(len(V)), [], 0
    while (norm := float(np.linalg.norm(gradient))) > wanted and steps < max_steps:
        step = -tangent(V, turn @ _inverse_hessian(pairs, turn.T @ gradient))
        decline = float(np.vdot(gradient, step))
        if decline >= 0:  # not a descent direction: forget the model
            pairs, step, decline = [], -gradient, -(norm**2)
        found = _line_search(objective, V, value, step, decline, 1.0 if pairs else min(1.0, 1.0 / norm))
        if found is None:
            if not pairs:
                break  # nothing is lower along the gradient itself
            pairs = []
            continue
        t, new, value, slope = found
        steps += 1
        moved = t * (turn.T @ step).ravel()
        old_coordinates = turn.T @ gradient
        turn = _rotate(turn, V, new)
        V, gradient = new, tangent(new, slope)
        change = (turn.T @ gradient - old_coordinates).ravel()
        curvature, squared = float(moved @ change), float(moved @ moved)
        # Cautious: no correction along which the function hardly bends, the less so the steeper it is.
        if curvature > 0 and curvature >= 1e-4 * min(norm, 1.0) * squared:
            pairs.append((moved, change, curvature))
    return StiefelPoint(V, value, norm)


def _inverse_hessian(pairs, gradient):
    """The inverse of the quadratic model applied to a gradient, by the two-loop recursion over all corrections."""
    if not pairs:
        return gradient
    # Hundreds of short vectors: the BLAS routines themselves, in place, take a third of the time of array expressions.
    H, weights = gradient.flatten(), []
    for moved, change, curvature in reversed(pairs):
        weight = ddot(moved, H) / curvature
        H = daxpy(change, H, a=-weight)
        weights.append(weight)
    _, change, curvature = pairs[0]
    H *= curvature / ddot(change, change)
    for (moved, change, curvature), weight in zip(pairs, reversed(weights), strict=True):
        H = daxpy(moved, H, a=weight - ddot(change, H) / curvature)
    return H.reshape(gradient.shape)


def _line_search(objective, V, value, step, decline, t):
    for _ in range(TRIALS):
        new = retract(V + t * step)
        new_value, slope = objective(new)
        if new_value <= value + SUFFICIENT_DECREASE * t * decline:
            return t, new, new_value, slope
        lowest = -decline * t**2 / (2.0 * (new_value - value - decline * t))  # of the parabola through what is known
        t = float(np.clip(lowest, 0.1 * t, 0.9 * t))
    return None


def _rotate(turn, V, W):
    """R @ turn, R being the rotation in the span of V and W that takes V to W and hardly moves what is beside V."""
    k = V.shape[1]
    basis, R = np.linalg.qr(np.hstack([V, W]))
    basis = basis * np.where(np.diag(R[:, : basis.shape[1]]) < 0, -1.0, 1.0)  # the first k columns are V
    image = basis.T @ W
    m = basis.shape[1]
    beside = np.eye(m)[:, k:]
    inner = np.hstack([image, retract(beside - image @ (image.T @ beside))])
    return turn + basis @ ((inner - np.eye(m)) @ (basis.T @ turn))
