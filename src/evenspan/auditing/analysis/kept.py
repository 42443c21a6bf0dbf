"""The groups of an attribute that have enough rows in both parts for anything to be said of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.errors import GroupError
from ...core.moments import GroupMoments
from ...metrics.bootstrap import cells_of
from ..sample import Points, Sample

#: Blocks of each part in which a group has to have rows: with fewer it is absent from too many resampled blocks.
LEAST_BLOCKS = 5


@dataclass(frozen=True, eq=False)
class Kept:
    """Moments and points of the groups of one attribute that are compared, and the rows of those that are not.

    Parameters
    ----------
    attribute : str
        The groups.
    moments : mapping of str to GroupMoments
        Blocked moments by name of the part, "fitting" first; "held out" only if there is such a part.
    fitting_points, scoring_points : Points
        Rows that methods and readers are fitted to, and rows that readers are scored on.
    left_out : mapping of str to int
        Rows of each group that is not compared.
    """

    attribute: str
    moments: Mapping[str, GroupMoments]
    fitting_points: Points
    scoring_points: Points
    left_out: Mapping[str, int]

    @property
    def G(self) -> int:
        """Number of groups that are compared."""
        return len(np.unique(self.moments["fitting"].labels[self.attribute]))


def kept_groups(sample: Sample, attribute: str) -> Kept:
    """Leave the groups out that have rows in too few blocks of a part; ``GroupError`` if fewer than two are left.

    Parameters
    ----------
    sample : Sample
        What was read.
    attribute : str
        The groups.

    Returns
    -------
    Kept
    """
    moments = {"fitting": sample.fitting[attribute]}
    if attribute in sample.held_out:
        moments["held out"] = sample.held_out[attribute]
    scoring = sample.held_out_points if len(moments) == 2 else sample.fitting_points
    enough = [_enough(part, attribute) for part in moments.values()]
    kept = set.intersection(*enough)
    rows = _rows(moments, attribute)
    left_out = {label: n for label, n in rows.items() if label not in kept}
    if len(kept) < 2:
        told = ", ".join(f"{label} ({n} rows)" for label, n in rows.items())
        raise GroupError(
            f"{attribute} has the groups {told}, of which {len(kept)} have rows in {LEAST_BLOCKS} blocks or more of "
            "both parts; needed are two. Merge groups, hold out another share, or take a larger table."
        )
    if not left_out:
        return Kept(attribute, moments, sample.fitting_points, scoring, left_out)
    moments = {name: _some(part, attribute, kept) for name, part in moments.items()}
    points = (_some_points(points, attribute, kept) for points in (sample.fitting_points, scoring))
    return Kept(attribute, moments, *points, left_out)


def _enough(moments: GroupMoments, attribute: str) -> set[str]:
    labels, _, group = cells_of(moments, attribute)  # one cell for each block and group that occur together
    blocks = np.bincount(group, minlength=len(labels))
    return {str(label) for label, n in zip(labels, blocks, strict=True) if n >= LEAST_BLOCKS}


def _rows(moments: Mapping[str, GroupMoments], attribute: str) -> dict[str, int]:
    rows: dict[str, int] = {}
    for part in moments.values():
        for label, n in zip(part.labels[attribute], part.counts, strict=True):
            rows[str(label)] = rows.get(str(label), 0) + int(n)
    return dict(sorted(rows.items()))


def _some(moments: GroupMoments, attribute: str, kept: set[str]) -> GroupMoments:
    cells = np.array([str(label) in kept for label in moments.labels[attribute]])
    parts = (moments.labels, moments.counts, moments.means, moments.scatters)
    return GroupMoments(*(part[cells] for part in parts), moments.feature_names)


def _some_points(points: Points, attribute: str, kept: set[str]) -> Points:
    rows = points.groups[attribute].astype(str).isin(kept).to_numpy()
    groups = points.groups[rows].reset_index(drop=True)
    return Points(points.X[rows], groups, None if points.y is None else points.y[rows])
