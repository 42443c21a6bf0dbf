"""What the passes over a table leave: everything that an audit sees."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..core.errors import DataError, GroupError
from ..core.moments import GroupMoments

if TYPE_CHECKING:
    from .table.encoding import TableEncoder

#: Name of the attribute that numbers the blocks in blocked moments.
BLOCK = "block"


@dataclass(frozen=True, eq=False)
class Points:
    """Some rows of the encoded table, drawn at random, with their groups.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Encoded rows in final units: standardised by the fitting part if the sample is.
    groups : DataFrame of shape (n, attributes)
        One column of labels (text) for each attribute, named as the attribute.
    y : ndarray of shape (n,), optional
        The target: float64 if it is a number, text if it is a category; None without one.
    """

    X: np.ndarray
    groups: pd.DataFrame
    y: np.ndarray | None = None

    def __post_init__(self):
        n = len(self.X)
        if self.X.ndim != 2 or len(self.groups) != n or (self.y is not None and len(self.y) != n):
            y = None if self.y is None else len(self.y)
            raise DataError(
                f"points do not fit together: X {self.X.shape}, groups {self.groups.shape}, y {y}; needed are as many "
                "rows of groups and y as X has."
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)


@dataclass(frozen=True, eq=False)
class Sample:
    """What the passes over a table leave; everything that the analysis sees.

    All moments and points are in final units: those of the columns, or standardised by mean and scale of the fitting
    part when that was asked for.

    Parameters
    ----------
    name : str
        Name of the file, or ``"table"``.
    n_rows, n_used : int
        Rows seen, and rows kept after the rule for missing values.
    columns : DataFrame
        One row for each column of the table, in its order: ``column``, ``kind``, ``used as``, ``missing``,
        ``distinct``, ``measure``, ``association with ATTRIBUTE`` for each sensitive column, ``proxy`` (of which
        attributes, joined by commas), ``note``.
    groups : DataFrame
        One row for each group of each attribute: ``attribute``, ``group``, ``rows``, ``share``, ``fitting``,
        ``held out``, ``small``, ``dropped`` (rows lost to missing values), ``note``.
    encoder : TableEncoder
        Fitted; maps a raw data frame to the numeric table (n, d) in final units.
    attributes : tuple of str
        Names of the sensitive columns, and of their intersection (``"sex x race"``) if it was asked for.
    target : str or None
        Name of the column to be predicted.
    fitting, held_out : mapping of str to GroupMoments
        For each attribute the blocked moments of the part: labels have the two fields ``block`` and the attribute.
    fitting_points, held_out_points : Points
        Rows of each part, drawn at random.
    notes : tuple of str
        What was done to the data, in sentences.
    """

    name: str
    n_rows: int
    n_used: int
    columns: pd.DataFrame
    groups: pd.DataFrame
    encoder: "TableEncoder"
    attributes: tuple[str, ...]
    target: str | None
    fitting: Mapping[str, GroupMoments]
    held_out: Mapping[str, GroupMoments]
    fitting_points: Points
    held_out_points: Points
    notes: tuple[str, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the d numeric features, such as ``age`` and ``job=clerk``."""
        return tuple(str(name) for name in self.encoder.get_feature_names_out())

    @property
    def d(self) -> int:
        """Number of numeric features."""
        return len(self.feature_names)

    def moments(self, attribute: str | None = None, part: str = "fitting") -> GroupMoments:
        """The ordinary group moments of a part for one attribute; the blocks are merged.

        Parameters
        ----------
        attribute : str, optional
            Name of the attribute; the first one unless given.
        part : {"fitting", "held_out"}
            Which rows.

        Returns
        -------
        GroupMoments
            Labels are those of the attribute alone.
        """
        name = self.attributes[0] if attribute is None else attribute
        if name not in self.attributes:
            raise GroupError(f"no attribute {name!r}; the attributes are {', '.join(self.attributes)}.")
        if part not in ("fitting", "held_out"):
            raise DataError(f"part={part!r}; needed is 'fitting' or 'held_out'.")
        return getattr(self, part)[name].marginal(name)
