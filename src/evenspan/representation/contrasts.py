"""Which groups are compared with which: two groups with each other, each of several with all the rest."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ..core.errors import GroupError
from ..core.groups import label_text
from ..core.moments import GroupMoments


@dataclass(frozen=True, eq=False)
class Contrast:
    """One comparison of the rows inside with the rows outside, each a set of groups given as booleans (G,)."""

    name: str
    inside: np.ndarray
    outside: np.ndarray


def contrasts(labels: np.ndarray) -> tuple[Contrast, ...]:
    """The comparisons that these sorted group labels call for.

    Two groups are compared with each other (the second less the first), each of three or more with all other rows.
    Several attributes are treated one after the other.
    """
    columns = {name: labels[name] for name in labels.dtype.names} if labels.dtype.names else {"group": labels}
    found = []
    for attribute, column in columns.items():
        values = np.unique(column)
        if len(values) == 1:
            raise GroupError(
                f"attribute {attribute!r} has one group only ({label_text(values[0])!r}, one class): there is "
                "nothing to be fair between. Pass at least two groups, or use constraint='vanilla'."
            )
        for value in values[1:] if len(values) == 2 else values:
            inside = column == value
            found.append(Contrast(f"{attribute}={value}", inside, ~inside))
    return tuple(found)


def side(moments: GroupMoments, chosen: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Count, mean and scatter about that mean of the rows of the chosen groups together."""
    part = GroupMoments(
        moments.labels[chosen], moments.counts[chosen], moments.means[chosen], moments.scatters[chosen]
    ).pooled()
    return part.counts[0], part.means[0], part.scatters[0]


def span(columns: np.ndarray, rtol: float) -> np.ndarray:
    """Orthonormal basis (d, r) of the span of the columns; singular values below ``rtol`` of the largest count as 0."""
    if columns.shape[1] == 0 or not columns.any():
        return np.zeros((len(columns), 0), dtype=columns.dtype)
    left, sizes, _ = linalg.svd(columns, full_matrices=False, check_finite=False)
    return left[:, sizes > rtol * sizes[0]]


def nullified_basis(gap_directions: list[np.ndarray], mean_gaps: np.ndarray, *, floor: float = 0.0) -> np.ndarray:
    r"""Orthonormal basis U (d, r) of all directions to remove: those of the gaps, then what is left of the mean gaps.

    For one comparison :math:`U = [P_m \mid g / \|g\|]` with :math:`g = f - P_m P_m^\top f`. What is left of a mean gap
    is taken out once more against :math:`P_m`, because a single pass loses orthogonality when :math:`g` is short; it
    counts as nothing below a relative 1e-8 (1e-5 in single precision) of :math:`f`. A gap ``f`` not longer than
    ``floor`` is rounding noise of equal means.
    """
    rtol = 1e-8 if mean_gaps.dtype == np.float64 else 1e-5
    stacked = np.hstack(gap_directions) if gap_directions else mean_gaps[:, :0]
    U = stacked if len(gap_directions) == 1 else span(stacked, rtol)
    lengths = linalg.norm(mean_gaps, axis=0)
    F = mean_gaps[:, lengths > floor] / lengths[lengths > floor]
    for _ in range(2):
        F = F - U @ (U.T @ F)
    left = linalg.norm(F, axis=0)
    F = F[:, left > rtol]
    if F.shape[1] == 1:
        F = F / linalg.norm(F)
    return np.hstack([U, span(F, rtol)]) if F.shape[1] != 1 else np.hstack([U, F])
