"""The judge of learnability: how far an estimated subspace is from the true one, and how that falls with the data."""

from typing import NamedTuple

import numpy as np

from evenspan.core.errors import DataError
from evenspan.core.linalg import top_eigenspace


def optimality_gap(V: np.ndarray, target: np.ndarray, covariance: np.ndarray, *, relative: bool = False) -> float:
    r"""Variance that V keeps less than the target: :math:`\operatorname{tr}(T^\top \Sigma T - V^\top \Sigma V)`.

    It is **below zero** where V keeps more, as a subspace may that violates the constraints of the target.

    Parameters
    ----------
    V, target : ndarray of shape (d, k)
        Orthonormal columns.
    covariance : ndarray of shape (d, d)
        The true covariance.
    relative : bool
        Divide by the largest variance that k directions can keep.

    Returns
    -------
    float
    """
    _same_rows(V, target, covariance)
    lost = _kept(target, covariance) - _kept(V, covariance)
    return lost / float(top_eigenspace(covariance, V.shape[1])[0].sum(axis=0)) if relative else lost


def fairness_gap(V: np.ndarray, U: np.ndarray) -> float:
    r"""Spectral norm :math:`\lVert U^\top V \rVert_2` for the true forbidden directions U (d, r) and V (d, k).

    The sine of the largest angle between V and the complement of U: 0 when V is orthogonal to U, at most 1.
    """
    _same_rows(V, U)
    return float(np.linalg.norm(U.T @ V, ord=2)) if U.shape[1] else 0.0


def subspace_sine(V: np.ndarray, target: np.ndarray) -> float:
    r"""Sine of the largest angle between two subspaces, :math:`\lVert T - V V^\top T \rVert_2`; orthonormal columns."""
    _same_rows(V, target)
    return float(np.linalg.norm(target - V @ (V.T @ target), ord=2)) if target.shape[1] else 0.0


def direction_sine(v: np.ndarray, target: np.ndarray) -> float:
    """Sine of the angle between the lines along two vectors (d,) of any length above zero."""
    unit = [np.asarray(a, dtype=np.float64)[:, None] / np.linalg.norm(a) for a in (v, target)]
    return subspace_sine(*unit)


class Slope(NamedTuple):
    """A least-squares line through the logarithms of upper quantiles: its slope, with the ends of its 95 % interval.

    ``intercept`` is the base-10 logarithm of the line at size 1. Sizes without a quantile above zero have no logarithm;
    ``used`` says how many have.
    """

    slope: float
    low: float
    high: float
    intercept: float
    used: int


def upper_quantiles(values: np.ndarray, delta: float = 0.1, axis: int = 0) -> np.ndarray:
    """The largest value of every column (one size, all runs) after dropping the worst share delta of the runs."""
    return np.quantile(np.asarray(values, dtype=np.float64), 1.0 - delta, axis=axis, method="inverted_cdf")


def quantile_slope(sizes: np.ndarray, values: np.ndarray, *, delta: float = 0.1) -> Slope:
    """Slope of log10 of the upper quantile against log10 of the size, with a bootstrap interval over the runs.

    Parameters
    ----------
    sizes : array-like of shape (s,)
        Sizes of the samples.
    values : array-like of shape (runs, s)
        What was measured; negative values count as they are and have no logarithm only if the quantile is negative.
    delta : float
        Share of the runs that may be worse than the quantile.
    """
    slopes, intercepts = _lines(sizes, values, delta, 0)
    known = slopes[1:][np.isfinite(slopes[1:])]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
    used = int((upper_quantiles(values, delta) > 0.0).sum(axis=0))
    return Slope(float(slopes[0]), float(low), float(high), float(intercepts[0]), used)


def required_size(sizes: np.ndarray, values: np.ndarray, level: float, *, delta: float = 0.1, seed=0) -> np.ndarray:
    """Size at which the fitted line reaches a level above zero, first as measured and then for each bootstrap sample.

    NaN where the line does not fall, so that no size is large enough. ``sizes``, ``values`` and ``delta`` are those of
    ``quantile_slope``.
    """
    slopes, intercepts = _lines(sizes, values, delta, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 10.0 ** ((np.log10(level) - intercepts) / slopes)
    return np.where(slopes < 0.0, found, np.nan)


def _lines(sizes, values, delta: float, seed) -> tuple[np.ndarray, np.ndarray]:
    """Slope and intercept, as measured and for 1000 bootstrap samples; NaN where fewer than two quantiles are above 0.

    The runs are drawn anew for each size, since they are independent.
    """
    sizes, values = np.asarray(sizes, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or sizes.shape != values.shape[1:] or not np.isfinite(values).all():
        raise DataError(
            f"sizes {sizes.shape} with values {values.shape}; needed are (s,) and (runs, s), without NaN. Give every "
            "size the same number of runs."
        )
    picked = np.random.default_rng(seed).integers(len(values), size=(1000, *values.shape))
    quantiles = upper_quantiles(np.take_along_axis(values[None], picked, axis=1), delta, axis=1)
    quantiles = np.vstack([upper_quantiles(values, delta), quantiles])
    x, above = np.log10(sizes), quantiles > 0.0
    y = np.log10(np.where(above, quantiles, 1.0))
    number = np.where(above.sum(axis=1) >= 2, above.sum(axis=1), np.nan)
    x_mean, y_mean = (above * x).sum(axis=1) / number, (above * y).sum(axis=1) / number
    centred = above * (x - x_mean[:, None])
    with np.errstate(invalid="ignore"):
        slopes = (centred * y).sum(axis=1) / (centred**2).sum(axis=1)
    return slopes, y_mean - slopes * x_mean


def _kept(V: np.ndarray, covariance: np.ndarray) -> float:
    return float(np.einsum("dk,dk->", V, covariance @ V))


def _same_rows(*matrices: np.ndarray) -> None:
    if len({len(A) for A in matrices}) > 1:
        raise DataError(f"subspaces of different spaces: {[len(A) for A in matrices]} features. They must agree.")
