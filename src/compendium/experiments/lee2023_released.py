"""The offline program of Lee et al. (2023) as released, a control, and how far streaming is from the exact answers."""

import numpy as np
from scipy.linalg import subspace_angles

from evenspan.core.linalg import complement, symmetrise
from evenspan.core.moments import GroupMoments
from evenspan.representation.null_it_out import constrained_components, contrasts, gap_eigenspace, group_gap

from .kleindessner2023_judge import Row

#: Below this a singular value of the gap, relative to the largest, is rounding: P_m is then not determined.
DETERMINED = 1e-10


class ReleasedOffline:
    """Null-it-out PCA that picks eigenvectors of the projected covariance by absolute eigenvalue.

    Where fewer than k directions outside the removed ones carry variance, zero eigenvalues compete with those of the
    removed directions, which are zero as well: the answer may then lie in what was to be removed. Nothing checks that
    k + m + 1 directions exist.
    """

    def __init__(self, k: int, m: int):
        self.k, self.m = k, m

    def fit_moments(self, moments: GroupMoments) -> "ReleasedOffline":
        """Two groups: gap of covariances, divisors n - 1, mean gap last; d x d projectors, as released."""
        (contrast,) = contrasts(moments.labels)
        gap, mean_gap = group_gap(moments, contrast, "covariance", moments.mean)
        values, vectors = np.linalg.eigh(gap)
        P = vectors[:, np.argsort(-np.abs(values), kind="stable")[: self.m]]
        f = mean_gap / (np.linalg.norm(mean_gap) + 1e-8)
        g = f - P @ (P.T @ f)
        g = g / (np.linalg.norm(g) + 1e-8)
        U = np.column_stack([P, g]) if self.m else f[:, None]
        shrink = np.eye(moments.d) - U @ U.T
        values, vectors = np.linalg.eigh(symmetrise(shrink @ moments.scatter @ shrink) / (moments.n - 1.0))
        self.nullified_ = U.T
        self.components_ = vectors[:, np.argsort(-np.abs(values), kind="stable")[: self.k]].T
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, k)."""
        return X @ self.components_.T


class RandomRemoval:
    """The control: the mean gap and m random directions are removed, whatever the groups are like in them."""

    def __init__(self, k: int, m: int, seed: int):
        self.k, self.m, self.seed = k, m, seed

    def fit_moments(self, moments: GroupMoments) -> "RandomRemoval":
        """The exact answer for a U that is drawn."""
        drawn = np.random.default_rng((self.seed, self.m)).standard_normal((moments.d, self.m))
        U = np.linalg.qr(np.column_stack([moments.means[1] - moments.means[0], drawn]))[0]
        self.nullified_ = U.T
        V, self.certificate_ = constrained_components(moments.scatter, U, self.k)
        self.components_ = V.T
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Coordinates (n, k)."""
        return X @ self.components_.T


def sine(rows: np.ndarray, others: np.ndarray) -> float:
    """Sine of the largest principal angle between the spans of two sets of orthonormal rows."""
    return float(np.sin(subspace_angles(rows.T, others.T).max()))


def fnpm_rows(fitted, train: GroupMoments, m: int, offline, second_moment) -> list[Row]:
    """What decides how far FNPM is from the exact answers: the spectra it iterates on, and its distance to both."""
    rows = [
        ("fit", "sine to offline", sine(fitted.components_, offline.components_), ""),
        ("fit", "sine to offline, second moment", sine(fitted.components_, second_moment.components_), ""),
        ("fit", "sine between offline answers", sine(offline.components_, second_moment.components_), ""),
    ]
    origin = np.zeros(train.d)
    values, k = _complement_spectrum(train, fitted.nullified_.T), len(fitted.components_)
    largest = float(np.linalg.norm(train.second_moment, ord=2))
    rows.append(_ratio("ratio of phase 2", values[k - 1], values[k] if len(values) > k else 0.0, largest))
    if m == 0:
        return rows
    (contrast,) = contrasts(train.labels)
    gap, _ = group_gap(train, contrast, "second_moment", origin)
    sizes = np.sort(np.abs(np.linalg.eigvalsh(gap)))[::-1]
    rows.append(_ratio("ratio of phase 1", sizes[m - 1], sizes[m], sizes[0]))
    if sizes[m - 1] > DETERMINED * sizes[0]:
        _, P = gap_eigenspace(gap, m, 0.0)
        rows.append(("fit", "sine of W to P_m", sine(fitted.gap_directions_, P.T), ""))
    else:
        reason = f"P_m is not determined: the gap has rank {int((sizes > DETERMINED * sizes[0]).sum(axis=0))} only"
        rows.append(("fit", "sine of W to P_m", np.nan, reason))
    return rows


def _ratio(name: str, inside: float, outside: float, largest: float) -> Row:
    if inside <= DETERMINED * largest:
        return "fit", name, np.nan, "not determined: both eigenvalues are rounding"
    return "fit", name, max(float(outside / inside), 0.0), ""


def _complement_spectrum(train: GroupMoments, U: np.ndarray) -> np.ndarray:
    """Eigenvalues of the second moment outside the span of U, decreasing."""
    Z = complement(U)
    return np.linalg.eigvalsh(symmetrise(Z.T @ train.second_moment @ Z))[::-1]
