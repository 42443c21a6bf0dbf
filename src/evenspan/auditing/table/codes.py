"""From cells to numbers: what each used column of a table becomes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...core.errors import DataError
from .columns import ColumnProfile, ColumnUse
from .values import days, numbers, texts, truths

#: How the cells of a column become numbers, by what it is used as.
READERS: dict[str, Callable] = {"number": numbers, "0/1": truths, "days": days}


@dataclass(frozen=True)
class ColumnCode:
    """How one column becomes features.

    Parameters
    ----------
    name : str
        The column.
    used : str
        ``number``, ``0/1``, ``days`` or ``categories``.
    categories : tuple of str
        Sorted values of a category; two of them become one feature, more become one feature each.
    fill : float, str or None
        What takes the place of a missing cell; None if it is refused.
    indicator : bool
        Whether a feature says that the cell was missing.
    """

    name: str
    used: str
    categories: tuple[str, ...] = ()
    fill: float | str | None = None
    indicator: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that the column becomes."""
        if self.used == "categories":
            shown = self.categories[1:] if len(self.categories) == 2 else self.categories
            names = tuple(f"{self.name}={category}" for category in shown)
        else:
            names = (self.name,)
        return (*names, f"{self.name} missing") if self.indicator else names


def codes_of(uses: Iterable[ColumnUse], profiles: dict[str, ColumnProfile], missing: str) -> tuple[ColumnCode, ...]:
    """The codes of the columns that are used; ``DataError`` if none is left, one is infinite, or names collide."""
    uses = list(uses)
    require_finite({use.name: profiles[use.name].infinite for use in uses if profiles[use.name].infinite})
    codes = tuple(
        ColumnCode(use.name, use.used, use.categories, None, missing == "indicator" and profiles[use.name].missing > 0)
        for use in uses
        if use.used != "left out"
    )
    if not codes:
        reasons = "; ".join(f"{use.name!r} ({use.note})" for use in uses[:5]) + ("; ..." if len(uses) > 5 else "")
        raise DataError(f"no column is left to be a feature. Left out: {reasons or 'every column, on request'}.")
    names = [name for code in codes for name in code.features]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns would both give a feature {twice!r}. Rename one of the columns.")
    return codes


def encode(codes: Iterable[ColumnCode], frame: pd.DataFrame, *, row: int = 0, unknown: str = "error") -> np.ndarray:
    """The features (n, d) of some rows, in the units of the table; ``row`` counts the rows before them."""
    codes = tuple(codes)
    X = np.zeros((len(frame), sum(len(code.features) for code in codes)))
    at, missing, infinite = 0, {}, {}
    for code in codes:
        part = X[:, at : at + len(code.features)]
        at += part.shape[1]
        series = frame[code.name]
        empty = (
            _put_category(part, code, series, row, unknown) if code.categories else _put_number(part, code, series, row)
        )
        if len(empty) and code.fill is None:
            missing[code.name] = len(empty)
        if code.indicator:
            part[empty, -1] = 1.0
        if not code.categories and (count := int(np.isinf(part[:, 0]).sum(axis=0))):
            infinite[code.name] = count
    require_finite(infinite)
    if missing:
        raise DataError(
            f"missing values (NaN or empty) in {_listed(missing)} of {len(frame):,} rows. Drop these rows first, or "
            "fit with missing='mean' or missing='indicator'."
        )
    return X


def _put_number(part: np.ndarray, code: ColumnCode, series: pd.Series, row: int) -> np.ndarray:
    values = READERS[code.used](series, row)
    empty = np.flatnonzero(np.isnan(values))
    part[:, 0] = values
    if code.fill is not None:
        part[empty, 0] = code.fill
    return empty


def _put_category(part: np.ndarray, code: ColumnCode, series: pd.Series, row: int, unknown: str) -> np.ndarray:
    cells, distinct = texts(series)
    position = {category: j for j, category in enumerate(code.categories)}
    known = np.array([position.get(text, -2) for text in distinct] + [position.get(code.fill, -1)])
    at = known[cells]
    strange = np.flatnonzero(at == -2)
    if len(strange) and unknown == "error":
        found = distinct[cells[strange[0]]]
        shown = ", ".join(map(repr, code.categories[:10])) + (", ..." if len(code.categories) > 10 else "")
        raise DataError(
            f"column {code.name!r} has {found!r} in row {row + strange[0] + 1:,}, which did not occur when the encoder "
            f"was fitted; it knows {shown}. Correct the cell, or set unknown='zero' to give it none of these."
        )
    if len(code.categories) == 2:
        part[:, 0] = at == 1
    else:
        rows = np.flatnonzero(at >= 0)
        part[rows, at[rows]] = 1.0
    return np.flatnonzero(cells < 0)


# -- what takes the place of missing cells ----------------------------------------------------------------------------


def with_fills(codes: tuple[ColumnCode, ...], frames: Iterable[pd.DataFrame]) -> tuple[ColumnCode, ...]:
    """The codes with the mean of each column of numbers and the most frequent value of each category in some rows."""
    counts = [np.zeros(max(len(code.categories), 1)) for code in codes]
    sums = np.zeros(len(codes))
    for frame in frames:
        for j, code in enumerate(codes):
            series = frame[code.name]
            if code.categories:
                cells, distinct = texts(series)
                for text, times in zip(distinct, np.bincount(cells[cells >= 0], minlength=len(distinct)), strict=True):
                    counts[j][code.categories.index(text)] += times
            else:
                values = READERS[code.used](series)
                there = values[~np.isnan(values)]
                counts[j] += len(there)
                if len(there):  # a running mean: a sum of many large numbers would lose digits
                    sums[j] += (there.mean(axis=0) - sums[j]) * len(there) / counts[j][0]
    return _filled(codes, sums, counts)


def _filled(codes: tuple[ColumnCode, ...], means: np.ndarray, counts: list[np.ndarray]) -> tuple[ColumnCode, ...]:
    if empty := [code.name for code, count in zip(codes, counts, strict=True) if not count.any()]:
        raise DataError(
            f"column {empty[0]!r} has no value among the rows that are fitted, so nothing can take the place of "
            f"missing ones. Leave it out: exclude=[{empty[0]!r}]."
        )
    return tuple(
        replace(code, fill=code.categories[int(np.argmax(count))] if code.categories else float(mean))
        for code, mean, count in zip(codes, means, counts, strict=True)
    )


def fills_from_means(codes: tuple[ColumnCode, ...], mean: np.ndarray) -> tuple[ColumnCode, ...]:
    """The same where nothing is missing, from the means (d,) of the features."""
    at, means, counts = 0, [], []
    for code in codes:
        here = mean[at : at + len(code.features)]
        at += len(code.features)
        means.append(here[0])
        two = np.array([1 - here[0], here[0]])
        counts.append((two if len(code.categories) == 2 else here) if code.categories else np.ones(1))
    return _filled(codes, np.array(means), counts)


def require_finite(infinite: dict[str, int]) -> None:
    """``DataError`` naming the columns with infinite values."""
    if infinite:
        raise DataError(
            f"infinite values in {_listed(infinite)}. Needed are finite numbers: correct the cells, leave them empty, "
            "or leave the columns out (exclude)."
        )


def _listed(counts: dict[str, int]) -> str:
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in list(counts.items())[:8])
    more = ", ..." if len(counts) > 8 else ""
    return f"{len(counts)} column{'s' if len(counts) > 1 else ''}: {shown}{more}"
