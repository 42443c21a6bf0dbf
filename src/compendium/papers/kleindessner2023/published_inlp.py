"""INLP as the table of Kleindessner et al. (2023) calls it: arbitrary directions of the space that survives."""

from dataclasses import replace

import numpy as np

from evenspan.core.answer import FairSubspace
from evenspan.core.moments import GroupMoments
from evenspan.representation import INLP
from evenspan.representation.erasure import surviving_basis, surviving_subspace


class PublishedINLP(INLP):
    """Its components are a random subspace of what survives the erasure, which is what the published rows amount to."""

    def _components(self, erased, moments, rng):
        return random_subspace(erased, moments, self.n_components, rng)


def random_subspace(erased: np.ndarray, moments: GroupMoments, n_components, rng: np.random.Generator) -> FairSubspace:
    """k random directions in the complement of the orthonormal columns ``erased`` (d, r), beside the best ones there.

    In the public programs rounding chooses eigenvectors of a projector; rows of constant features stay zero.
    """
    best = surviving_subspace(erased, moments, n_components)
    (d, k), (_, r) = best.V.shape, erased.shape
    if k == d - r:
        return best
    # Drawn in the space of all features: the same whatever the basis of the surviving space.
    draws, deviation = rng.normal(size=(d, k)), np.sqrt(np.diag(moments.scatter) / moments.n)
    constant = deviation <= 1e-12 * np.hypot(moments.mean, deviation)
    if k <= d - r - int(constant.sum(axis=0)):
        draws[constant] = 0.0
    basis = surviving_basis(erased)
    V, _ = np.linalg.qr(basis @ (basis.T @ draws))
    reached = float(np.trace(V.T @ moments.scatter @ V))
    residual = float(np.abs(erased.T @ V).max(initial=0.0))
    return FairSubspace(V, moments.mean, replace(best.certificate, primal=reached, feasibility=residual))
