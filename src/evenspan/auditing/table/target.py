"""The column to be predicted: a number, or a category."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...core.errors import DataError
from .columns import MAX_CATEGORIES, ColumnProfile, use_of
from .values import days, numbers, texts


@dataclass(frozen=True)
class Target:
    """How the target is read.

    Parameters
    ----------
    name : str
        The column.
    kind : str
        As in the table of columns.
    used : str
        ``target (number)`` or ``target (category)``.
    note : str
        What was done.
    """

    name: str
    kind: str
    used: str
    note: str = ""

    @classmethod
    def of(cls, one: ColumnProfile) -> "Target":
        """The target that a column is; ``DataError`` if it can be none."""
        use = use_of(one)
        if use.kind == "id-like" and "number" in one.types:
            return cls(one.name, "numeric", "target (number)")
        if use.used == "left out":
            raise DataError(
                f"target {one.name!r} cannot be predicted: {use.note}. Needed are numbers, or texts of at most "
                f"{MAX_CATEGORIES} different values."
            )
        if one.infinite:
            raise DataError(f"target {one.name!r} has {one.infinite:,} infinite value(s); needed are finite numbers.")
        if use.kind in ("category", "boolean") or one.distinct == 2:
            return cls(one.name, use.kind, "target (category)")
        return cls(one.name, use.kind, "target (number)", use.note)

    def values(self, series: pd.Series, row: int = 0) -> np.ndarray:
        """The target of some rows: float64, or texts; missing ones are NaN, or empty."""
        if self.used == "target (number)":
            return days(series, row) if self.kind == "date" else numbers(series, row)
        cells, distinct = texts(series)
        return np.append(distinct, "")[cells].astype(str)
