"""A stored result against the same task computed again."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
import yaml

from .. import paths
from ..errors import ResultError


@dataclass(frozen=True)
class Comparison:
    """A stored result against the same task computed again."""

    name: str
    rows: int
    largest_absolute: float
    largest_relative: float
    where: str
    ok: bool


def compare(
    name: str,
    stored: pd.DataFrame,
    again: pd.DataFrame,
    *,
    rtol: float,
    atol: float,
    metrics: Mapping[str, Mapping[str, float]] | None = None,
) -> Comparison:
    """Largest difference between two results of one task, and whether all rows agree.

    ``metrics`` gives other tolerances for metrics whose names match a pattern, such as ``seconds*``.
    """
    key = [column for column in stored.columns if column not in ("value", "reason")]
    if key != [column for column in again.columns if column not in ("value", "reason")]:
        return Comparison(name, len(stored), np.inf, np.inf, "the columns differ", False)
    both = stored.astype(dict.fromkeys(key, str)).merge(
        again.astype(dict.fromkeys(key, str)), on=key, how="outer", indicator=True, suffixes=("_old", "_new")
    )
    if not (both["_merge"] == "both").all():
        row = both.loc[both["_merge"] != "both", key].iloc[0].to_dict()
        return Comparison(name, len(stored), np.inf, np.inf, f"only one of the two has {row}", False)
    old, new = both["value_old"].to_numpy(), both["value_new"].to_numpy()
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(same, 0.0, np.abs(new - old))
        relative = np.where(same, 0.0, difference / np.abs(old))
        allowed = atol + rtol * np.abs(old)
        for pattern, own in (metrics or {}).items():
            matching = np.array([fnmatchcase(str(metric), pattern) for metric in both["metric"]])
            allowed = np.where(matching, own["atol"] + own["rtol"] * np.abs(old), allowed)
        ok = same | (difference <= allowed)  # a NaN on one side only compares as False
    difference, relative = np.nan_to_num(difference, nan=np.inf), np.nan_to_num(relative, nan=np.inf)
    worst = int(np.argmax(difference))
    where = " ".join(map(str, both[key].iloc[worst])) if difference[worst] > 0 else ""
    return Comparison(name, len(stored), float(difference.max()), float(relative.max()), where, bool(ok.all()))


def recheck_tolerance(experiment_id: str) -> dict:
    """Tolerances within which a task computed again must agree, as ``compare`` takes them (``data/tolerances.yml``)."""
    path = paths.data("tolerances.yml")
    try:
        rules = yaml.safe_load(path.read_text(encoding="utf-8"))["recheck"]
        chosen = rules["experiments"].get(experiment_id, rules)
        own = {pattern: _pair(rule) for pattern, rule in chosen.get("metrics", {}).items()}
        return _pair(chosen) | ({"metrics": own} if own else {})
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ResultError(
            f"{path} must hold 'recheck' with rtol, atol and a mapping 'experiments' of such pairs, but reading it "
            f"gave {error!r}. Correct it."
        ) from error


def _pair(rule: Mapping) -> dict[str, float]:
    return {"rtol": float(rule["rtol"]), "atol": float(rule["atol"])}
