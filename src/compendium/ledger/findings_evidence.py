"""What the evidence of a finding is, and the data that several findings share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from evenspan.core.moments import GroupMoments
from evenspan.reconstruction.group_errors import group_matrices

from ..data import whole_moments
from ..papers.vu2022.protocol import COMPONENTS, DATASETS, UNSCALED
from ..store import read_results
from .claim_rules import MissingNumbersError

K = COMPONENTS


@dataclass(frozen=True)
class Evidence:
    """What was computed for a finding.

    Parameters
    ----------
    supported : bool
        Whether the numbers bear the statement out; the page refuses to print it otherwise.
    sentence : str
        The numbers in words.
    table : DataFrame, optional
        Cells are text or rounded numbers.
    caption : str
        Of the table.
    """

    supported: bool
    sentence: str
    table: pd.DataFrame | None = None
    caption: str = ""


#: Raises MissingNumbersError as long as stored results that are needed are missing.
Check = Callable[[], Evidence]


@cache
def data_sets() -> dict[str, GroupMoments]:
    """The data sets of the reconstruction paper that are shipped, standardised, by our name."""
    return {name: whole_moments(name).standardised() for name in DATASETS if name not in UNSCALED}


def title(name: str) -> str:
    """The printed name of one of these data sets."""
    return DATASETS[name]


def matrices(name: str, centring: str = "fitted") -> np.ndarray:
    """Group matrices of one of these data sets, shape (2, d, d)."""
    return group_matrices(data_sets()[name], centring)


def full(experiment: str) -> pd.DataFrame:
    """The stored rows of an experiment; without any the finding waits for them."""
    rows = read_results(experiment)
    if rows.empty:
        raise MissingNumbersError(f"Nothing is stored of {experiment}. Compute it: set profile to 'full'.")
    return rows


def listed(names) -> str:
    """Names with commas, or "none"."""
    return ", ".join(map(str, names)) or "none"
