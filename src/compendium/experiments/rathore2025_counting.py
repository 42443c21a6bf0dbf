"""Counting in the printed tables, and again in ours: what the claims about the tables share."""

from collections.abc import Callable

import pandas as pd

from . import claim_rules
from .claim_rules import HOLDS, IN_PART, NOT_SO, Answer, MissingNumbersError
from .rathore2025_protocol import PRINTED, PUBLISHED, RELEASED, TABLES, printed
from .store import read_results

EXPERIMENT = "rathore2025-tables"
#: The printed name of a data set -> ours.
NAMES = {table.title: name for name, table in TABLES.items()}

#: Room for the rounding of binary sums, as in ``HALF_DIGIT``.
SLACK = 1e-9

#: The numbers of one data set: a line for each k, columns (method, metric).
Wide = pd.DataFrame
#: What gives them, by our name of the data set.
Source = Callable[[str], Wide]
#: Good cases, cases, and the same in words.
Count = Callable[[Source], tuple[int, int, str]]


def ours(dataset: str) -> Wide:
    """Our numbers of the methods of the paper, rounded as the paper prints them; refuses where some are missing."""
    rows = read_results(EXPERIMENT, dataset=dataset, protocol=RELEASED, method=PUBLISHED, metric=PRINTED)
    wide = rows.pivot_table(index="k", columns=["method", "metric"], values="value", aggfunc="mean").round(2)
    if wide.empty or wide.shape[1] < len(PUBLISHED) * len(PRINTED) or wide.isna().any(axis=None):
        raise MissingNumbersError(f"{dataset} has not all of our numbers. Run the experiment {EXPERIMENT}.")
    return wide


def verdict(good: int, total: int, in_part: float) -> str:
    """Everywhere: holds; in at least this share of the cases: holds in part; in fewer: does not hold."""
    return HOLDS if good == total else IN_PART if good >= in_part * total else NOT_SO


def both(told: Callable[[Source], tuple[str, str]]) -> Answer:
    """One rule applied to the printed tables and to ours."""
    return claim_rules.both(told, printed, ours)


def counted(count: Count, in_part: float) -> Answer:
    """The verdict on a count, in the printed tables and in ours."""

    def told(source: Source) -> tuple[str, str]:
        good, total, words = count(source)
        return verdict(good, total, in_part), words

    return both(told)


def on_both_scales(count: Callable[..., tuple[int, int, str]], relative: float, share: float, in_part: float) -> Answer:
    """Both readings of R.E., relative and in shares of the total variance; where they differ: holds in part."""

    def told(source: Source) -> tuple[str, str]:
        found = [count(source, shares=shares) for shares in (False, True)]
        one, other = (verdict(good, total, in_part) for good, total, _ in found)
        return (one if one == other else IN_PART), (
            f"relative to the baselines (limit {relative:.0%}) {found[0][2]}: {one}; in shares of the total variance "
            f"(limit {share:g}) {found[1][2]}: {other}"
        )

    return both(told)
