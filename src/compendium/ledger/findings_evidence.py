"""What the evidence of a finding is, and the data that several findings share."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices

from ..data import group_moments
from ..papers.rathore2025.protocol import HALF_DIGIT, judged
from ..papers.vu2022.protocol import COMPONENTS, DATASETS, UNSCALED
from ..papers.vu2022.readings import agreement
from ..store import full

K = COMPONENTS


@dataclass(frozen=True)
class Evidence:
    """What was computed for a finding: the numbers in words and, perhaps, in a table."""

    #: Whether the numbers bear the statement out; the page refuses to print it otherwise.
    supported: bool
    sentence: str
    #: Cells are text or rounded numbers.
    table: pd.DataFrame | None = None
    caption: str = ""


#: Raises MissingNumbersError as long as stored results that are needed are missing.
Check = Callable[[], Evidence]


@cache
def data_sets() -> dict[str, GroupMoments]:
    """The tables of the reconstruction paper, standardised, by our name."""
    return {name: group_moments(name).standardised() for name in DATASETS if name not in UNSCALED}


def title(name: str) -> str:
    """The printed name of one of these data sets."""
    return DATASETS[name]


def matrices(name: str, centring: str = "fitted") -> np.ndarray:
    """Group matrices of one of these data sets, shape (2, d, d)."""
    return group_matrices(data_sets()[name], centring)


def beside_printed(columns: Mapping[str, str]) -> pd.DataFrame:
    """Agreement of our methods with printed columns of the reconstruction paper, without the faces."""
    rows = full("vu2022-tables")
    return in_text(agreement(rows[rows["dataset"] != "lfw_24x24"], columns), "median deviation", "{:.3%}")


def come_out(moments: GroupMoments, theirs: pd.DataFrame, basis: Callable[[int], np.ndarray]) -> int:
    """How many numbers of a column of the joint-diagonalisation paper ``basis(k)`` gives, in every printed digit."""
    values = np.array([list(judged(moments, basis(k)).values()) for k in theirs.index])
    return int((np.abs(values - theirs.to_numpy()) <= HALF_DIGIT).sum(axis=None))


def in_text(frame: pd.DataFrame, column: str, form: str) -> pd.DataFrame:
    """The frame with one column of numbers as text."""
    return frame.assign(**{column: frame[column].map(form.format)})


def listed(names: Iterable[object]) -> str:
    """Names with commas, or "none"."""
    return ", ".join(map(str, names)) or "none"
