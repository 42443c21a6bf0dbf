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
from evenspan.core.linalg import top_eigenspace
from evenspan.representation.mmd_fair_pca import DiscrepancyPenalty
from evenspan.representation.stiefel import retract, tangent

from ...data import Dataset
from .protocol import Fit, Parts

#: Length of a step to either side of an answer, for differences.
STEP = 1e-4
#: A discrepancy so small leaves it to rounding whether the search for it comes to rest.
SMALL = 1e-4


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
    r"""The bandwidth, the gradient of the discrepancy over differences, and where the search ended.

    The gradient is that of the components of standard PCA, along itself. At the end :math:`\rho` times the slope of the
    discrepancy is compared with that of the variance, both along the gradient of the variance: there they balance.
    Both ratios are 1, the last one 0 where the search did not come to rest; a very small tolerance has none. Components
    that hold all variance leave nothing to search.
    """
    found, V = {"bandwidth": fitted.bandwidth_}, fitted.components_.T
    X, codes = X - fitted.mean_, np.unique(groups, return_inverse=True)[1]
    C = X.T @ X / (X**2).sum(axis=None)
    if np.linalg.matrix_rank(C, hermitian=True) <= V.shape[1]:
        return found
    penalty = DiscrepancyPenalty(X, codes, fitted.bandwidth_)
    _, principal = top_eigenspace(C, V.shape[1])
    steepest = tangent(principal, penalty.evaluate(principal)[2])
    sides = _sides(principal, steepest)
    differences = np.diff([penalty.evaluate(side)[0] for side in sides])[0] / (2.0 * STEP)
    found["gradient of the discrepancy / differences"] = float(np.linalg.norm(steepest) / differences)
    if fitted.max_mmd2 < SMALL:
        return found
    sides = _sides(V, tangent(V, C @ V))
    discrepancies = [metrics.mmd2(X @ side, groups, fitted.bandwidth_) for side in sides]
    variances = [float(np.vdot(side, C @ side)) for side in sides]
    slope = fitted.trace_[-1, 2] * np.diff(discrepancies)[0] / np.diff(variances)[0]
    return found | {"slope of the penalty / of the variance": float(slope) if fitted.converged_ else 0.0}


def _sides(V: np.ndarray, direction: np.ndarray) -> list[np.ndarray]:
    """Orthonormal columns a step to either side."""
    unit = direction / np.linalg.norm(direction)
    return [retract(V + step * unit) for step in (-STEP, STEP)]


def of_classifiers(fitted: INLP, parts: Parts) -> dict[str, float]:
    """What the first classifier finds."""
    return {"mean difference along the first classifier": _erased(fitted, parts)}


def of_game(fitted: RLACE, parts: Parts) -> dict[str, float]:
    """What the first step of the game erases, and how many steps there are unless a probe ends it before."""
    missed = np.abs(fitted.probes_[:, 2] - fitted.majority_share_).min(axis=0)
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
