"""A stored result against the same unit computed again: the largest difference, and whether it is allowed."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
import yaml

from evenspan.core.errors import ResultError

from . import paths


@dataclass(frozen=True)
class Comparison:
    """How two results of a unit compare: over how many rows, by how much they differ at most, and where."""

    name: str
    rows: int
    largest_absolute: float
    largest_relative: float
    where: str
    ok: bool
    #: How many numbers differ by more than is allowed.
    outside: int = 0


@dataclass(frozen=True)
class Tolerances:
    """``(rtol, atol)`` by patterns of ``METRIC`` or ``METHOD: METRIC``, the first that fits, and for all others.

    Of the patterns in ``means`` the means over splits are compared: where rounding decides in each split.
    """

    patterns: tuple[tuple[str, float, float], ...]
    others: tuple[float, float]
    means: tuple[str, ...] = ()

    def of(self, metric: str, method: str = "") -> tuple[float, float]:
        """``(rtol, atol)`` of one metric of one method."""
        for pattern, *allowed in self.patterns:
            if _fits(metric, method, pattern):
                return tuple(allowed)
        return self.others

    def by_mean(self, metric: str, method: str = "") -> bool:
        """Whether its means over splits are compared."""
        return any(_fits(metric, method, pattern) for pattern in self.means)


def _fits(metric: str, method: str, pattern: str) -> bool:
    return fnmatchcase(metric, pattern) or fnmatchcase(f"{method}: {metric}", pattern)


def compare(
    name: str, stored: pd.DataFrame, again: pd.DataFrame, allowed: Tolerances, *, part: bool = False
) -> Comparison:
    """Largest difference between two results of one unit, and whether all rows agree.

    With ``part`` the second may lack rows, or have them without a value: what was not computed is not compared.
    """
    apart = ("value", "reason", "task")
    key = [column for column in stored.columns if column not in apart]
    if part:  # what has nothing in a column lacks it
        again = again[again["value"].notna()].reindex(columns=[*key, "value"])
        if again.empty:
            return Comparison(name, 0, 0.0, 0.0, "", True)
    elif {*key} != {*again.columns} - {*apart}:
        return Comparison(name, len(stored), np.inf, np.inf, "the columns differ", False)
    both = _worded(stored, key).merge(
        _worded(again, key), on=key, how="outer", indicator=True, suffixes=("_old", "_new")
    )
    if part:
        both = both[both["_merge"] != "left_only"]
    if not (both["_merge"] == "both").all():
        row = both.loc[both["_merge"] != "both", key].iloc[0].to_dict()
        return Comparison(name, len(both), np.inf, np.inf, f"only one of the two has {row}", False)
    averaged = [allowed.by_mean(*pair) for pair in zip(both["metric"], both["method"], strict=True)]
    if any(averaged):
        values = ["value_old", "value_new"]
        splits = both[averaged].groupby([column for column in key if column != "split"], sort=False)[values]
        both.loc[averaged, values] = splits.transform(lambda column: column.mean(skipna=False))
    old, new = both["value_old"].to_numpy(), both["value_new"].to_numpy()
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(same, 0.0, np.abs(new - old))
        relative = np.where(same, 0.0, difference / np.abs(old))
        rtol, atol = np.array([allowed.of(*pair) for pair in zip(both["metric"], both["method"], strict=True)]).T
        ok = same | (difference <= atol + rtol * np.abs(old))  # a NaN on one side only compares as False
    difference, relative = np.nan_to_num(difference, nan=np.inf), np.nan_to_num(relative, nan=np.inf)
    worst = int(np.lexsort((difference, ~ok))[-1])  # the largest that does not agree, if there is one
    where = " ".join(filter(None, both[key].iloc[worst])) if difference[worst] > 0 else ""
    return Comparison(
        name, len(both), float(difference.max()), float(relative.max()), where, bool(ok.all()), int((~ok).sum(axis=0))
    )


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
    """Tolerances within which a unit computed again must agree (``data/tolerances.yml``)."""
    path = paths.data("tolerances.yml")
    try:
        rules = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["recheck"]
        patterns = [*rules["experiments"].get(experiment_id, {}).items(), *rules["metrics"].items()]
        means = tuple(name for name, rule in patterns if rule.get("mean", False))
        return Tolerances(tuple((name, *_pair(rule)) for name, rule in patterns), _pair(rules), means)
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultError(
            f"{path} must hold 'recheck' with rtol, atol, 'metrics' and 'experiments', whose patterns of metrics have "
            f"such pairs, perhaps with 'mean', but reading it gave {error!r}. Correct it."
        ) from error


def _pair(rule: Mapping) -> tuple[float, float]:
    return float(rule["rtol"]), float(rule["atol"])
