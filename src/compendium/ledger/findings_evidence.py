"""What the evidence of a finding is, and the data that several findings share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments

from ..papers.kleindessner2023.readings import summary
from ..papers.rathore2025.protocol import HALF_DIGIT, judged
from ..store import full


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


def adult_means(protocol: str) -> pd.DataFrame:
    """Means over the splits of Adult at k = 10, methods by metrics."""
    found = summary(full("kleindessner2023-table"))
    found = found[(found["dataset"] == "adult") & (found["k"] == 10) & (found["protocol"] == protocol)]
    return found.pivot(index="method", columns="metric", values="mean")


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
