"""A stored result against the same unit computed again: the largest difference, and whether it is allowed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError
from scipy import stats

from evenspan.core.errors import ResultError

from . import paths


class Rule(BaseModel):
    """How numbers computed again must agree with the stored ones, and why no more of them is determined.

    Each within ``atol + rtol |stored|``. With ``standard_errors`` the means over a column of the table (such as splits)
    within so many standard errors of the stored mean more, and of the mean of the paired differences ``shift``: a
    method that moves all of them alike is another one. Where a unit has one split alone, its difference within so many
    standard deviations of the difference of two stored splits. What is not ``compared`` must only be there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    rtol: float = 0.0
    atol: float = 0.0
    standard_errors: float | None = None
    shift: float = 4.0
    over: str = "split"
    compared: bool = True
    because: str = ""

    @property
    def words(self) -> str:
        """What is compared, for tables and records."""
        if not self.compared:
            return "not compared"
        if self.standard_errors is not None:
            return f"means over {self.over}s within {self.standard_errors:g} standard errors"
        return f"each within {self.rtol:g} relative, {self.atol:g} absolute"


@dataclass(frozen=True)
class Comparison:
    """How two results of a unit compare: over how many rows, and where they are furthest from what is allowed."""

    name: str
    rows: int
    largest_absolute: float
    largest_relative: float
    where: str
    ok: bool
    #: How many numbers differ by more than is allowed.
    outside: int = 0
    #: Method and metric of the largest difference.
    metric: str = ""


@dataclass(frozen=True)
class Tolerances:
    """Rules by patterns of ``METRIC`` or ``METHOD: METRIC``, of which the first that fits counts."""

    patterns: tuple[tuple[str, Rule], ...]
    others: Rule

    def of(self, metric: str, method: str = "") -> Rule:
        """The rule for one metric of one method."""
        return self._found(metric, method)[1]

    def _found(self, metric: str, method: str) -> tuple[str, Rule]:
        for pattern, rule in self.patterns:
            if fnmatchcase(metric, pattern) or fnmatchcase(f"{method}: {metric}", pattern):
                return pattern, rule
        return "", self.others

    def own(self, rows: pd.DataFrame) -> dict[str, str]:
        """What is compared, of the rows of one unit, where not each number to its last digits; for its record."""
        pairs = rows[["metric", "method"]].drop_duplicates().itertuples(index=False)
        found = dict(self._found(*pair) for pair in pairs)
        return {pattern: found[pattern].words for pattern in sorted(found) if pattern and "seconds" not in pattern}


def compare(
    name: str,
    stored: pd.DataFrame,
    again: pd.DataFrame,
    allowed: Tolerances,
    *,
    part: bool = False,
    peers: Iterable[pd.DataFrame] = (),
) -> Comparison:
    """Largest difference between two results of one unit, and whether all rows agree.

    With ``part`` the second may lack rows, or have them without a value: what was not computed is not compared.
    ``peers`` are the stored rows of all units, among which the other splits may be.
    """
    key = [name for name in dict.fromkeys([*stored.columns, *again.columns]) if name not in ("value", "reason", "task")]
    stored, again = (rows.reindex(columns=[*key, "value"]) for rows in (stored, again))
    if part:
        again = again[again["value"].notna()]
        if again.empty:
            return Comparison(name, 0, 0.0, 0.0, "", True)
    both = _worded(stored, key).merge(
        _worded(again, key), on=key, how="outer", indicator=True, suffixes=("_old", "_new")
    )
    if part:
        both = both[both["_merge"] != "left_only"]
    if not (both["_merge"] == "both").all():
        row = both.loc[both["_merge"] != "both", key].iloc[0].to_dict()
        return Comparison(name, len(both), np.inf, np.inf, f"only one of the two has {row}", False)

    rules = [allowed.of(*pair) for pair in zip(both["metric"], both["method"], strict=True)]
    both["noise"] = 0.0
    for rule in {rule for rule in rules if rule.standard_errors is not None}:
        _averaged(both, np.array([one == rule for one in rules]), key, rule, peers)
    old, new = both["value_old"].to_numpy(), both["value_new"].to_numpy()
    rtol, atol = np.array([(rule.rtol, rule.atol) for rule in rules]).T
    allowance = both["noise"].to_numpy() + atol + rtol * np.abs(old)
    free = np.array([not rule.compared for rule in rules])
    same = (old == new) | (np.isnan(old) & np.isnan(new)) | (free & np.isfinite(old) & np.isfinite(new))
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(same, 0.0, np.abs(new - old))
        relative = np.where(same, 0.0, difference / np.abs(old))
        ok = same | (difference <= allowance)  # a NaN on one side only compares as False
        excess = np.where(same, 0.0, difference / allowance)
    difference, relative, excess = (np.nan_to_num(x, nan=np.inf, posinf=np.inf) for x in (difference, relative, excess))
    worst = int(np.lexsort((difference, excess))[-1])
    if difference[worst] == 0.0:
        return Comparison(name, len(both), 0.0, 0.0, "", True)
    row = both.iloc[worst]
    return Comparison(
        name, len(both), float(difference[worst]), float(relative[worst]), " ".join(filter(None, row[key])),
        bool(ok.all()), int((~ok).sum(axis=0)), f"{row['method']}: {row['metric']}",
    )  # fmt: skip


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


def _worded(rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Values by keys in words: what was read has blanks and whole numbers in other types than what was computed."""

    def word(value: object) -> str:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return "" if value is None or value is pd.NA else str(value)
        return "" if np.isnan(number) else repr(number).removesuffix(".0")

    return rows[["value"]].assign(**{name: [word(value) for value in rows[name]] for name in key})


def tolerances(experiment_id: str) -> Tolerances:
    """Rules by which a unit computed again must agree (``data/tolerances.yml``, ``recheck``)."""
    path = paths.data("tolerances.yml")
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["recheck"]
        patterns = {**given["metrics"], **given["experiments"].get(experiment_id, {})}
        rules = tuple((pattern, Rule(**rule)) for pattern, rule in patterns.items())
        return Tolerances(rules, Rule(rtol=given["rtol"], atol=given["atol"]))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValidationError) as error:
        raise ResultError(
            f"{path} must hold 'recheck' with rtol, atol, 'metrics' and 'experiments', whose patterns of metrics have "
            f"{', '.join(Rule.model_fields)}, but reading it gave {error!r}. Correct it."
        ) from error
