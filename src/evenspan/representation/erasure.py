"""What the erasing methods share: checks on groups, and the components taken from the space that survives."""

from typing import Literal

import numpy as np

from ..core.answer import Certificate, FairSubspace, ky_fan_certificate
from ..core.errors import ConfigurationError, FairWarning, GroupError
from ..core.estimator import require_components, warn_caller
from ..core.groups import label_text
from ..core.linalg import top_eigenspace
from ..core.moments import GroupMoments
from .constraints import constant_features

Select = Literal["pca", "arbitrary"]


class IncompleteErasureWarning(FairWarning):
    """A linear classifier still tells the groups apart on the fitting sample after the erasure."""


def require_groups(moments: GroupMoments, method: str, on_single_group: str = "raise") -> None:
    """GroupError, or a warning, when an attribute takes one value only."""
    if on_single_group not in ("raise", "warn"):
        raise ConfigurationError(f"on_single_group={on_single_group!r}; needed is one of raise, warn.")
    for attribute in moments.attributes:
        groups = moments.marginal(attribute)
        if groups.G > 1:
            continue
        seen = (
            f"attribute {attribute!r} has one group only ({label_text(groups.labels[0])!r}, {groups.n:g} row(s), one "
            f"class): there is nothing for {method} to erase"
        )
        if on_single_group == "raise":
            raise GroupError(f"{seen}. Pass at least two groups.")
        warn_caller(f"{seen}.")


def require_select(select) -> None:
    """ConfigurationError for a value that names no rule."""
    if select not in ("pca", "arbitrary"):
        raise ConfigurationError(f"select={select!r}; needed is one of pca, arbitrary.")


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
    basis = np.linalg.qr(erased, mode="complete")[0][:, r:]
    k = d - r if n_components is None else n_components
    k = require_components(k, d - r, d, f" less {r} erased")
    H = basis.T @ moments.scatter @ basis
    _, A = top_eigenspace(H, k)
    problem = f"trace of V'SV over orthonormal V inside the {d - r} directions that survive the erasure"
    V = basis @ A
    residual = float(np.abs(erased.T @ V).max(initial=0.0))
    certificate = ky_fan_certificate(H, A, problem, residual)
    if select == "arbitrary" and k < d - r:
        # Drawn in the space of all features: the same whatever basis of the surviving space rounding produced.
        draws, constant = rng.normal(size=(d, k)), constant_features(moments)
        if k <= d - r - int(constant.sum(axis=0)):
            draws[constant] = 0.0
        V, _ = np.linalg.qr(basis @ (basis.T @ draws))
        reached = float(np.einsum("dk,de,ek->", V, moments.scatter, V, optimize=True))
        residual = float(np.abs(erased.T @ V).max(initial=0.0))
        certificate = Certificate(problem, reached, certificate.dual, residual)
    return FairSubspace(V, moments.mean, certificate)
