"""Counting in the printed tables, and again in ours: what the claims about the tables share."""

from collections.abc import Callable

import pandas as pd

from ..errors import ResultError
from .rathore2025_protocol import PRINTED, PUBLISHED, RELEASED, TABLES, printed
from .store import read_results

EXPERIMENT = "rathore2025-tables"
#: The printed name of a data set -> ours.
NAMES = {table.title: name for name, table in TABLES.items()}

#: Room for the rounding of binary sums, as in ``HALF_DIGIT``.
SLACK = 1e-9

Answer = tuple[str, str]
#: The numbers of one data set: a line for each k, columns (method, metric).
Wide = pd.DataFrame
#: What gives them, by our name of the data set.
Source = Callable[[str], Wide]
#: Good cases, cases, and the same in words.
Count = Callable[[Source], tuple[int, int, str]]


def ours(dataset: str) -> Wide:
    """Our numbers of the methods of the paper, rounded as the paper prints them; refuses where some are missing."""
    rows = read_results(EXPERIMENT)
    rows = rows[(rows["dataset"] == dataset) & (rows["protocol"] == RELEASED) & rows["method"].isin(PUBLISHED)]
    rows = rows[rows["metric"].isin(PRINTED)]
    wide = rows.pivot_table(index="k", columns=["method", "metric"], values="value", aggfunc="mean").round(2)
    if wide.empty or wide.shape[1] < len(PUBLISHED) * len(PRINTED) or wide.isna().any(axis=None):
        raise ResultError(f"{dataset} has not all of our numbers. Run the experiment {EXPERIMENT}.")
    return wide


def verdict(good: int, total: int, in_part: float) -> str:
    """Everywhere: holds; in at least this share of the cases: holds in part; in fewer: does not hold."""
    return "holds" if good == total else "holds in part" if good >= in_part * total else "does not hold"


def told(count: Count) -> tuple[int, int, str]:
    """A count in the printed tables; its words also say what the same count gives in our numbers, if there are any."""
    good, total, words = count(printed)
    try:
        mine = count(ours)
    except ResultError:
        return good, total, f"Printed: {words}."
    return good, total, f"Printed: {words}. Ours: {mine[2]}."
