"""What INLP and RLACE share: the walk of a fit, and components of the space that survives."""

import numpy as np

from ..core.answer import Answer, FairSubspace
from ..core.errors import FairWarning
from ..core.estimator import PointsEstimator, require_components
from ..core.inputs import require_generator, warn_caller
from ..core.moments import GroupMoments
from .constraints import best_inside, codes_by_attribute, require_groups


class IncompleteErasureWarning(FairWarning):
    """A linear classifier still tells the groups apart on the training sample after the erasure."""


class ErasingEstimator(PointsEstimator):
    """Base of the methods whose classifiers find a space to erase; a method implements ``_erased``.

    ``_erased(X, parts, mean, rng)`` gives its orthonormal basis (d, r) and what was learnt. ``parts`` holds the group
    of each row for each attribute that has several groups, or for the combinations of their values.
    """

    def _answer_points(self, X: np.ndarray, codes: np.ndarray, moments: GroupMoments) -> Answer:
        groups = moments.cells() if self.attributes == "intersection" else moments
        require_groups(groups.labels, self.on_single_group, f"there is nothing for {type(self).__name__} to erase")
        parts = [part for part in codes_by_attribute(moments.labels, codes, self.attributes) if part.max(axis=0) > 0]
        rng = require_generator(self.random_state)
        erased, learnt = np.zeros((moments.d, 0)), {"converged_": True, "n_iter_": 0}
        if parts:
            erased, learnt = self._erased(X, parts, moments.mean, rng)
        subspace = self._components(erased, moments, rng)
        d, r = erased.shape
        if not learnt["converged_"]:
            warn_caller(
                f"after {learnt['n_iter_']} iteration(s) a linear classifier still has training accuracy "
                f"{learnt['score_']:.4f} (the majority has {learnt['majority_share_']:.4f}). Raise max_iter or rank, "
                "or ask for fewer components; and standardise the data.",
                IncompleteErasureWarning,
            )
        return Answer(subspace, learnt | {"projection_": np.eye(d) - erased @ erased.T, "rank_removed_": r})

    def _components(self, erased: np.ndarray, moments: GroupMoments, rng: np.random.Generator) -> FairSubspace:
        return surviving_subspace(erased, moments, self.n_components)


def majority_share(part: np.ndarray) -> float:
    """Share of the largest group."""
    return float(np.bincount(part).max(axis=0) / len(part))


def surviving_basis(erased: np.ndarray) -> np.ndarray:
    """Orthonormal basis (d, d - r) of the complement of the orthonormal columns (d, r)."""
    return np.linalg.qr(erased, mode="complete")[0][:, erased.shape[1] :]


def surviving_subspace(erased: np.ndarray, moments: GroupMoments, n_components) -> FairSubspace:
    """Components in the complement of the orthonormal columns ``erased`` (d, r), and how good they are there."""
    d, r = erased.shape
    basis = surviving_basis(erased)
    k = require_components(n_components, d - r, d, f" less {r} erased")
    problem = f"trace of V'SV over orthonormal V inside the {d - r} directions that survive the erasure"
    V, certificate = best_inside(moments.scatter, basis, k, problem, erased)
    return FairSubspace(V, moments.mean, certificate)
