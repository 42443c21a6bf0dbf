"""The linear methods (``evenspan.methods``) fitted to the training part of a split: an answer, or why there is none."""

import time
import warnings
from dataclasses import dataclass

import numpy as np

from evenspan.core.errors import FairError, SurplusComponentsWarning
from evenspan.core.estimator import SubspaceEstimator
from evenspan.methods import METHODS, Method
from evenspan.reconstruction import CollapsedRelaxationWarning, JointDiagonalisationWarning
from evenspan.representation import IncompleteErasureWarning, UnmetToleranceWarning

from .data import SEED, Parts
from .judge import Answer

#: Relative gap below which a certificate counts as closed.
CLOSED = 1e-6
EXPECTED = (
    SurplusComponentsWarning,
    CollapsedRelaxationWarning,
    JointDiagonalisationWarning,
    IncompleteErasureWarning,
    UnmetToleranceWarning,
)


@dataclass(frozen=True, eq=False)
class Fit:
    """An answer, or the reason why there is none, with the seconds it took and whether its certificate closed."""

    answer: Answer | None
    reason: str = ""
    seconds: float = 0.0
    certified: bool = False


def fit_all(name: str, sizes: tuple[int, ...], parts: Parts, seed: int) -> dict[int, Fit]:
    """A method fitted to the training part for every number of components; a reason where it has no answer."""
    method = METHODS[name]
    if not method.once:
        return {k: _fit(method, method.make(k, seed), parts, seed) for k in sizes}
    every, found = _fit(method, method.make(None, seed), parts, seed), {}
    for k in sizes:
        fit = _leading(every, k)
        if fit.answer is None and method.stopped is not None and k < parts.train.d:
            fit = _fit(method, method.stopped(k, parts.train.d, seed), parts, seed)
        found[k] = fit
    return found


def _fit(method: Method, estimator: SubspaceEstimator, parts: Parts, seed: int) -> Fit:
    with warnings.catch_warnings():
        for category in EXPECTED:
            warnings.simplefilter("ignore", category)
        start = time.perf_counter()
        try:
            if method.points:
                rows = _drawn(parts.train_points.n, method.rows, seed)
                points, groups = parts.train_points.X[rows], parts.train_points.groups[rows]
                fitted = estimator.fit(points, sensitive_features=groups)
            else:
                fitted = estimator.fit_moments(parts.train)
        except FairError as error:
            return Fit(None, str(error))
        seconds = time.perf_counter() - start
    answer = Answer(fitted.components_.T, fitted.subspace_.V, fitted.mean_)
    return Fit(answer, "", seconds, fitted.certificate_.is_optimal(CLOSED))


def _leading(every: Fit, k: int) -> Fit:
    if every.answer is None:
        return every
    found = every.answer.encoder.shape[1]
    if k > found:
        return Fit(None, f"{k} components were asked for, but the erasure leaves {found}.")
    answer = Answer(every.answer.encoder[:, :k], every.answer.decoder[:, :k], every.answer.mean)
    return Fit(answer, "", every.seconds, every.certified)


def _drawn(n: int, most: int | None, seed: int) -> np.ndarray:
    if most is None or n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng((SEED, seed, 1)).permutation(n)[:most])
