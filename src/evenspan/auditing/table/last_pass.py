"""The last pass over a table: blocked moments of every attribute in both parts, and some points."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...core.inputs import require_finite
from ...core.moments import GroupMoments
from ...core.running import RunningMoments
from ..progress import Progress
from ..sample import BLOCK, Points
from .codes import ColumnCode, encode
from .tables import Table
from .target import Target


@dataclass
class LastPass:
    """All that is known of a table before its features are read.

    Parameters
    ----------
    table : Table
        The table.
    codes : tuple of ColumnCode
        What its columns become.
    target : Target or None
        The column to be predicted.
    types : mapping of str to {"number", "text"}
        How the columns of a CSV file are read.
    rows : ndarray of shape (n,)
        Numbers of the rows that are used.
    held : ndarray of shape (n,)
        Which of these are held out.
    groups : mapping
        For each attribute its labels (G,) and the codes (n,) of the rows.
    batch_rows : int or None
        Rows read at a time.
    tell : Progress
        Told of every batch.
    """

    table: Table
    codes: tuple[ColumnCode, ...]
    target: Target | None
    types: Mapping[str, str]
    rows: np.ndarray
    held: np.ndarray
    groups: Mapping[str, tuple[np.ndarray, np.ndarray]]
    batch_rows: int | None
    tell: Progress

    def batches(self, columns: list[str]) -> Iterator[tuple[pd.DataFrame, slice]]:
        """The rows that are used, and where they stand among all that are."""
        row, at = 0, 0
        for frame in self.table.batches(columns, types=self.types, rows=self.batch_rows):
            stop = int(np.searchsorted(self.rows, row + len(frame)))
            if stop > at:
                whole = stop - at == len(frame)
                yield (frame if whole else frame.iloc[self.rows[at:stop] - row]), slice(at, stop)
            self.tell.advance(len(frame))
            row, at = row + len(frame), stop

    def fitting_frames(self) -> Iterator[pd.DataFrame]:
        """The rows of the fitting part, for what takes the place of missing cells."""
        self.tell.stage("means of the columns with missing values", len(self.rows))
        for frame, at in self.batches([code.name for code in self.codes]):
            yield frame[~self.held[at]]

    def run(self, blocks: Mapping[str, np.ndarray], chosen: np.ndarray) -> tuple[dict, dict, pd.DataFrame]:
        """Read the features of every row.

        Parameters
        ----------
        blocks : mapping of str to ndarray of shape (n,)
            For each attribute the block of every row in its part.
        chosen : ndarray of shape (n,)
            Which rows become points.

        Returns
        -------
        sums : dict of (bool, str) to RunningMoments
            By part (held out or not) and attribute, in the units of the table.
        points : dict of bool to Points
            By part, in the units of the table.
        drawn : DataFrame
            The cells of the chosen rows, as they stand in the table.
        """
        self.tell.stage("reading the rows", len(self.rows))
        sums = {(part, name): RunningMoments() for part in (False, True) for name in self.groups}
        X_points, y_points, drawn = {False: [], True: []}, {False: [], True: []}, []
        wanted = [code.name for code in self.codes] + ([self.target.name] if self.target else [])
        for frame, at in self.batches(wanted):
            X = encode(self.codes, frame, row=int(self.rows[at.start]))
            for part in (False, True):
                inside = np.flatnonzero(self.held[at] == part)
                if not len(inside):
                    continue
                Z = X[inside]
                for name, (labels, codes) in self.groups.items():
                    here = at.start + inside
                    # Structured labels, as a data frame with these two columns gives them.
                    sums[part, name].add(Z, pd.DataFrame({BLOCK: blocks[name][here], name: labels[codes[here]]}))
                picked = chosen[at][inside]
                X_points[part].append(Z[picked])
                if self.target:
                    y_points[part].append(self.target.values(frame[self.target.name].iloc[inside[picked]]))
            drawn.append(frame[chosen[at]])
        points = {
            part: Points(
                np.concatenate(X_points[part]),
                self._labels(chosen & (self.held == part)),
                np.concatenate(y_points[part]) if self.target else None,
            )
            for part in (False, True)
        }
        return sums, points, pd.concat(drawn, ignore_index=True)

    def _labels(self, rows: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame({name: labels[codes[rows]] for name, (labels, codes) in self.groups.items()})


def finish(sums: dict, names: tuple[str, ...], standardize: bool) -> tuple[dict, GroupMoments]:
    """The moments of what was summed, in final units, and those of the whole fitting part in the units of the table.

    The sums are used up: of a wide table, memory has no room for them twice.

    Parameters
    ----------
    sums : dict of (bool, str) to RunningMoments
        As ``LastPass.run`` gives them; the first is of the fitting part.
    names : tuple of str
        Names of the features.
    standardize : bool
        Whether the final units are those of the fitting part.

    Returns
    -------
    moments : dict of (bool, str) to GroupMoments
        By part and attribute.
    reference : GroupMoments
        One group.
    """
    moments, reference = {}, None
    for key in list(sums):
        labels, counts, means, scatters = _whole(sums.pop(key), names)
        reference = reference or GroupMoments(labels, counts, means, scatters, names).pooled()
        if standardize:
            scale = reference.scale()
            means = (means - reference.mean) / scale
            scatters /= np.outer(scale, scale)
        moments[key] = GroupMoments(labels, counts, means, scatters, names)
    return moments, reference


def _whole(sums: RunningMoments, names: tuple[str, ...]) -> tuple:
    """What ``RunningMoments.result`` gives, with the scatters completed in place."""
    counts, means, scatters = sums.total
    require_finite(means + sums.origin, scatters, None, names)
    for S in scatters:
        S[...] = np.triu(S) + np.triu(S, 1).T
    return sums.labels, counts, means + sums.origin, scatters
