"""A stored result against the same unit computed again: the largest difference, and whether it is allowed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict
from scipy import stats

from . import paths


class Rule(BaseModel):
    """How numbers computed again must agree with the stored ones, and why no more of them is determined.

    Each within ``atol + rtol |stored|``; of times also where one is within a ``factor`` of the other. With
    ``standard_errors`` the means over a column of the table (such as splits) within so many standard errors of the
    stored mean more, and of the mean of the paired differences ``shift``: a method that moves all of them alike is
    another one. Where a unit has one split alone, its difference within so many standard deviations of the difference
    of two stored splits. What is not ``compared`` must only be there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rtol: float = 0.0
    atol: float = 0.0
    factor: float = 1.0
    standard_errors: float | None = None
    shift: float = 4.0
    over: str = "split"
    compared: bool = True
    because: str = ""


class Tolerances(NamedTuple):
    """Rules by patterns of ``METRIC`` or ``METHOD: METRIC``, of which the first that fits counts."""

    patterns: tuple[tuple[str, Rule], ...]
    others: Rule

    def of(self, metric: str, method: str = "") -> Rule:
        """The rule for one metric of one method."""
        fits = (r for p, r in self.patterns if fnmatchcase(metric, p) or fnmatchcase(f"{method}: {metric}", p))
        return next(fits, self.others)


def tolerances(experiment_id: str) -> Tolerances:
    """Rules by which a unit computed again must agree (``data/tolerances.yml``, ``recheck``)."""

    def parse(content: bytes) -> Tolerances:
        given = yaml.load(content, Loader=yaml.CSafeLoader)["recheck"]
        patterns = {**given["metrics"], **given["experiments"].get(experiment_id, {})}
        rules = tuple((pattern, Rule(**rule)) for pattern, rule in patterns.items())
        return Tolerances(rules, Rule(rtol=given["rtol"], atol=given["atol"]))

    return paths.read(paths.data("tolerances.yml"), parse)


@dataclass(frozen=True)
class Comparison:
    """Two results of a unit: numbers that were compared, those further apart than is allowed, the furthest."""

    rows: int
    outside: int = 0
    largest: float = 0.0
    where: str = ""
    #: What is stored there, and the difference as a share of what is allowed: a difference of bytes says nothing alone.
    stored: float = 0.0
    share: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether all rows agree."""
        return not self.outside


def compare(
    stored: pd.DataFrame,
    again: pd.DataFrame,
    allowed: Tolerances,
    *,
    peers: Iterable[pd.DataFrame] = (),
) -> Comparison:
    """How two results of one unit compare; ``peers`` are all stored units of its experiment."""
    key = [name for name in dict.fromkeys([*stored.columns, *again.columns]) if name not in ("value", "reason", "task")]
    stored, again = (_worded(rows.reindex(columns=[*key, "value"]), key) for rows in (stored, again))
    both = stored.merge(again, on=key, how="outer", indicator=True, suffixes=("_old", "_new"))
    if both.empty:
        return Comparison(0)
    alone = both["_merge"] != "both"
    if alone.any():
        row = both.loc[alone, key].iloc[0].to_dict()
        return Comparison(len(both), int(alone.sum()), np.inf, f"only one of the two has {row}")

    rules = [allowed.of(*pair) for pair in zip(both["metric"], both["method"], strict=True)]
    both["noise"] = 0.0
    for rule in {rule for rule in rules if rule.standard_errors is not None}:
        _averaged(both, np.array([one == rule for one in rules]), key, rule, peers)
    old, new = both["value_old"].to_numpy(), both["value_new"].to_numpy()
    rtol, atol, factor = np.array([(rule.rtol, rule.atol, rule.factor) for rule in rules]).T
    within = both["noise"].to_numpy() + atol + rtol * np.abs(old) + (factor - 1.0) * np.fmin(np.abs(old), np.abs(new))
    free = np.array([not rule.compared for rule in rules])
    same = (old == new) | (np.isnan(old) & np.isnan(new)) | (free & np.isfinite(old) & np.isfinite(new))
    same |= (factor > 1.0) & (np.abs(new - old) <= within)  # how far times are apart tells nothing
    with np.errstate(invalid="ignore", divide="ignore"):
        # A number on one side only is further away than any that is allowed.
        difference = np.where(same, 0.0, np.nan_to_num(np.abs(new - old), nan=np.inf))
        excess = np.where(same, 0.0, difference / within)
    excess = np.nan_to_num(excess, nan=np.inf)
    worst = int(np.lexsort((difference, excess))[-1])
    where = " ".join(filter(None, both.loc[worst, key])) if difference[worst] else ""
    numbers = int(np.count_nonzero(~free & (np.isfinite(old) | np.isfinite(new))))
    furthest = float(difference[worst]), where, float(old[worst]), float(excess[worst])
    return Comparison(numbers, int(np.count_nonzero(excess > 1)), *furthest)


def _averaged(
    both: pd.DataFrame, chosen: np.ndarray, key: Sequence[str], rule: Rule, peers: Iterable[pd.DataFrame]
) -> None:
    """Put means in the place of the chosen values, and beside them how far they may be apart by chance."""
    values, within = ["value_old", "value_new"], [column for column in key if column != rule.over]
    rows = both[chosen].assign(paired=both["value_new"] - both["value_old"])
    groups = rows.groupby(within, sort=False)
    error = groups[["value_old", "paired"]].transform("sem")  # NaN of one alone
    noise = np.minimum(rule.standard_errors * error["value_old"], rule.shift * error["paired"])
    if (alone := noise.isna()).any():
        named = {*rows.loc[alone, "metric"]}
        others = [_worded(frame[frame["metric"].isin(named)], key) for frame in peers if {*key} <= {*frame.columns}]
        stored = pd.concat(others or [rows.assign(value=np.nan)]).groupby(within)["value"]
        # So many standard deviations as are as seldom when the deviation is estimated from these few splits.
        seldom = stats.t.isf(stats.norm.sf(rule.standard_errors), stored.count().clip(lower=2) - 1)
        spread = (np.sqrt(2) * seldom * stored.std()).rename("spread")
        noise = noise.mask(alone, rows.join(spread, on=within)["spread"])
    both.loc[chosen, values] = groups[values].transform(lambda column: column.mean(skipna=False))
    both.loc[chosen, "noise"] = noise.fillna(0.0)


def _worded(rows: pd.DataFrame, key: Sequence[str]) -> pd.DataFrame:
    """Values by keys in words: what was read has blanks and whole numbers in other types than what was computed."""

    def word(value: object) -> str:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return "" if value is None or value is pd.NA else str(value)
        return "" if np.isnan(number) else repr(number).removesuffix(".0")

    return rows[["value"]].assign(**{name: [word(value) for value in rows[name]] for name in key})
