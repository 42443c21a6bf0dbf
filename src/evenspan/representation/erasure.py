"""What INLP and RLACE share: the walk of a fit, the counting of classifiers, components of the space that survives."""

import warnings
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.answer import Answer, Certificate, FairSubspace
from ..core.errors import FairWarning
from ..core.estimator import PointsEstimator, require_components
from ..core.inputs import require_generator, warn_caller
from ..core.moments import GroupMoments
from ..core.options import one_of
from .constraints import GROUP_OPTIONS, best_inside, codes_by_attribute, constant_features, require_groups

Select = Literal["pca", "arbitrary"]


class IncompleteErasureWarning(FairWarning):
    """A linear classifier still tells the groups apart on the fitting sample after the erasure."""


#: Options of the methods that erase a space and take components of what survives.
ERASURE_OPTIONS = {"select": one_of("pca", "arbitrary"), **GROUP_OPTIONS}


class ErasingEstimator(PointsEstimator):
    """Base of the methods whose classifiers find a space to erase; a method implements ``_erased`` and ``_unfinished``.

    ``_erased(X, parts, moments, rng)`` gives its orthonormal basis (d, r) and what was learnt. ``parts`` holds the
    group of each row for each attribute that has several groups, or for the combinations of their values.
    """

    def _answer_points(self, X: np.ndarray, codes: np.ndarray, moments: GroupMoments) -> Answer:
        groups = moments.cells() if self.attributes == "intersection" else moments
        require_groups(groups, self.on_single_group, f"there is nothing for {type(self).__name__} to erase")
        parts = [part for part in codes_by_attribute(moments.labels, codes, self.attributes) if part.max(axis=0) > 0]
        rng = require_generator(self.random_state)
        erased, learnt = self._erased(X, parts, moments, rng)
        subspace = surviving_subspace(erased, moments, self.n_components, self.select, rng)
        d, r = erased.shape
        if not learnt["converged_"]:
            warn_caller(self._unfinished(learnt), IncompleteErasureWarning)
        return Answer(subspace, learnt | {"projection_": np.eye(d) - erased @ erased.T, "rank_": d - r})


def fit_counting(classifier, X: np.ndarray, codes: np.ndarray) -> int:
    """Fit, and count the reports of missing convergence; other warnings are passed on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, codes)
    unheard = 0
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            unheard += 1
        else:
            warn_caller(str(warning.message), warning.category)
    return unheard


def majority_share(part: np.ndarray) -> float:
    """Share of the largest group."""
    return float(np.bincount(part).max(axis=0) / len(part))


def surviving_basis(erased: np.ndarray) -> np.ndarray:
    """Orthonormal basis (d, d - r) of the complement of the orthonormal columns (d, r)."""
    return np.linalg.qr(erased, mode="complete")[0][:, erased.shape[1] :]


def surviving_subspace(
    erased: np.ndarray, moments: GroupMoments, n_components, select: Select, rng: np.random.Generator
) -> FairSubspace:
    """Components in the complement of the orthonormal columns ``erased`` (d, r), and the bound on their variance.

    "pca" takes the directions of largest variance. "arbitrary" draws them at random, without constant features as far
    as possible: the public programs ask a Lanczos solver for eigenvectors of a projector, whose eigenvalues are all
    equal. Rounding then chooses, and for the row of a constant feature there is none.

    The certificate is about the choice inside the surviving space: variance reached, and Ky Fan's bound. It says
    nothing about whether another space would have been a better one to erase.
    """
    d, r = erased.shape
    basis = surviving_basis(erased)
    k = d - r if n_components is None else n_components
    k = require_components(k, d - r, d, f" less {r} erased")
    problem = f"trace of V'SV over orthonormal V inside the {d - r} directions that survive the erasure"
    V, certificate = best_inside(moments.scatter, basis, k, problem, erased)
    if select == "arbitrary" and k < d - r:
        # Drawn in the space of all features: the same whatever basis of the surviving space rounding produced.
        draws, constant = rng.normal(size=(d, k)), constant_features(moments)
        if k <= d - r - int(constant.sum(axis=0)):
            draws[constant] = 0.0
        V, _ = np.linalg.qr(basis @ (basis.T @ draws))
        # Of the surviving scatter, as the bound: that of all features would bring back the rounding of what was erased.
        C = basis.T @ V
        reached = float(np.trace(C.T @ (basis.T @ moments.scatter @ basis) @ C))
        residual = float(np.abs(erased.T @ V).max(initial=0.0))
        certificate = Certificate(problem, reached, certificate.dual, residual)
    return FairSubspace(V, moments.mean, certificate)
