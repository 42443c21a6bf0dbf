"""The answer of every linear method: a subspace, where it is attached, and a certificate."""

from dataclasses import dataclass

import numpy as np

from .certificate import Certificate
from .linalg import fix_signs


@dataclass(frozen=True, eq=False)
class FairSubspace:
    """An orthonormal basis with its offset; it can apply itself and nothing else.

    Parameters
    ----------
    V : ndarray of shape (d, k)
        Orthonormal columns. Only their span is identified; the sign convention makes printed loadings stable.
    mean : ndarray of shape (d,)
        Subtracted from a point before it is projected.
    certificate : Certificate
        How far from optimal the subspace can be.
    scale : ndarray of shape (d,), optional
        A point is divided by this after the mean was subtracted; V then lives in standardised coordinates.
    """

    V: np.ndarray
    mean: np.ndarray
    certificate: Certificate
    scale: np.ndarray | None = None

    def __post_init__(self):
        object.__setattr__(self, "V", fix_signs(self.V))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, k) of the rows of X in the subspace."""
        V = self.V if self.scale is None else self.V / self.scale[:, None]
        # Projecting first needs no centred copy of X.
        return X @ V - self.mean @ V

    def restore(self, T: np.ndarray) -> np.ndarray:
        """The points (n, d) of the subspace that have coordinates T (n, k)."""
        X = T @ self.V.T
        return (X if self.scale is None else X * self.scale) + self.mean
