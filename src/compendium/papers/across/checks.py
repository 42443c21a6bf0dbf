"""What methods determine whose metrics they do not: numbers by which another method is found in a unit alone.

A penalty method ends at one of several points, the probes of a game are noisy, and a classifier of what is left fits
noise: features moved by 1e-15 move the metrics of such a method as much as another method would. The numbers here are
those that such features do not move: where a search must end, what a game does first, and how it ends.
"""

import warnings
from collections.abc import Callable, Mapping

import numpy as np
from sklearn.base import clone

from evenspan import INLP, RLACE, MMDFairPCA, metrics
from evenspan.core.errors import FairWarning
from evenspan.core.estimator import SubspaceEstimator
from evenspan.representation.stiefel import retract, tangent

from ...data import Dataset
from .protocol import Fit, Parts

#: Length of a step to either side of an answer, for differences.
STEP = 1e-4


def checks(fits: Mapping[int, Fit], parts: Parts) -> dict[int, dict[str, float]]:
    """Numbers by their names, for each number of components; what does not depend on it is with the smallest."""
    found: dict[int, dict[str, float]] = {k: {} for k in fits}
    for k, fit in fits.items():
        kind = type(fit.fitted)
        if kind is MMDFairPCA:
            found[k] = of_penalty(fit.fitted, parts.train_points.X[fit.rows], parts.train_points.groups[fit.rows])
        elif kind in ERASING and k == min(fits):
            found[k] = ERASING[kind](fit.fitted, parts)
    return found


def of_penalty(fitted: MMDFairPCA, X: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    r"""The bandwidth, and :math:`\rho` times the slope of the discrepancy over that of the variance, by differences.

    Both slopes are those along the gradient of the variance: where the penalty method ends they balance, which is 1.
    """
    V, X = fitted.components_.T, X - fitted.mean_
    C = X.T @ X / (X**2).sum(axis=None)
    uphill = tangent(V, C @ V)
    uphill /= np.linalg.norm(uphill)
    sides = [retract(V + step * uphill) for step in (-STEP, STEP)]
    discrepancies = [metrics.mmd2(X @ side, groups, fitted.bandwidth_) for side in sides]
    variances = [float(np.vdot(side, C @ side)) for side in sides]
    weight = fitted.trace_[-1, 2]
    return {
        "bandwidth": fitted.bandwidth_,
        "slope of the penalty / of the variance": float(weight * np.diff(discrepancies)[0] / np.diff(variances)[0]),
    }


def of_classifiers(fitted: INLP, parts: Parts) -> dict[str, float]:
    """What the first classifier finds."""
    return {"mean difference along the first classifier": _erased(fitted, parts)}


def of_game(fitted: RLACE, parts: Parts) -> dict[str, float]:
    """What the first step of the game erases, and how many steps there are unless a probe ends it before."""
    missed = np.abs(fitted.history_[:, 2] - fitted.majority_share_).min(axis=0)
    steps = fitted.max_iter if missed < fitted.epsilon else fitted.n_iter_
    return {"mean difference erased by the first step": _erased(fitted, parts), "steps at most": float(steps)}


def _erased(fitted: INLP | RLACE, parts: Parts) -> float:
    """The share of the squared difference of the means that one iteration erases."""
    points: Dataset = parts.train_points
    with warnings.catch_warnings(action="ignore", category=FairWarning):  # that more is left
        once = clone(fitted).set_params(max_iter=1, n_components=None)
        once.fit(points.X, sensitive_features=points.groups)
    difference = parts.train.means[1] - parts.train.means[0]
    return 1.0 - float(np.sum((once.projection_ @ difference) ** 2, axis=0) / (difference @ difference))


ERASING: Mapping[type, Callable[[SubspaceEstimator, Parts], dict[str, float]]] = {
    INLP: of_classifiers,
    RLACE: of_game,
}
