"""Tables made from the judged rows of Kleindessner et al. (2023): means, ranges, the effect of the protocol."""

import numpy as np
import pandas as pd
from scipy import stats

from .kleindessner2023_judge import METRICS
from .kleindessner2023_methods import METHODS


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and population standard deviation over the splits, one row for each method, protocol, metric and source.

    Splits in which a value does not exist (its row gives the reason) are left out and not counted in ``splits``.
    """
    keys = ["dataset", "method", "k", "protocol", "metric", *(["source"] if "source" in rows else [])]
    spread = rows.groupby(keys, sort=False)["value"].agg(
        mean="mean", std=lambda v: float(np.std(v.dropna(), axis=0)) if v.count() else np.nan, splits="count"
    )
    order = {method: place for place, method in enumerate(METHODS)}
    return spread.reset_index().sort_values(
        "method", key=lambda names: names.map(order), kind="stable", ignore_index=True
    )


def basis_ranges(found: pd.DataFrame) -> pd.DataFrame:
    """Smallest, median and largest value of each MLP column over the draws of signs, by method and metric.

    ``found`` is a ``summary`` of one data set and one number of components.
    """
    return _ranges(found[found["protocol"].str.startswith("signs")])


def seed_ranges(found: pd.DataFrame) -> pd.DataFrame:
    """The same for methods that draw, over their seeds: every column of the table, the recorded seed included."""
    drawn = set(found.loc[found["protocol"].str.startswith("seed"), "method"])
    chosen = found["protocol"].str.startswith("seed") | (found["protocol"] == "released")
    return _ranges(found[chosen & found["method"].isin(drawn) & found["metric"].isin(METRICS)])


def _ranges(draws: pd.DataFrame) -> pd.DataFrame:
    ranges = draws.groupby(["method", "metric"], sort=False)["mean"].agg(["min", "median", "max", "size"])
    return ranges.rename(columns={"min": "smallest", "max": "largest", "size": "draws"}).reset_index()


def protocol_effect(found: pd.DataFrame) -> pd.DataFrame:
    """Published protocol less held-out protocol for every classifier column, by method; means over the splits."""
    both = found[found["protocol"].isin(["released", "held-out"]) & found["metric"].isin(METRICS[2:])]
    wide = both.pivot(index=["metric", "method"], columns="protocol", values="mean").dropna()
    order = pd.MultiIndex.from_product([METRICS[2:], METHODS], names=["metric", "method"])
    wide = wide.reindex(order.intersection(wide.index, sort=False))
    return wide.assign(effect=wide["released"] - wide["held-out"])[["released", "held-out", "effect"]].reset_index()


def both_protocols(found: pd.DataFrame, kind: str, digits: int) -> pd.DataFrame:
    """One row a method, one column a classifier: ``published → held-out`` of the metrics whose name starts so."""
    effect = protocol_effect(found)
    some = effect[effect["metric"].str.startswith(kind)]
    pairs = zip(some["released"], some["held-out"], strict=True)
    text = some.assign(text=[f"{published:.{digits}f} → {held:.{digits}f}" for published, held in pairs])
    wide = text.pivot(index="method", columns="metric", values="text")
    return wide.reindex(index=some["method"].unique(), columns=some["metric"].unique()).reset_index()


#: What a method may promise, and the metric that shows whether it is kept.
PROMISES = {
    "equal means": "mean gap",
    "equal covariances": "covariance gap",
    "equal distributions": "MMD^2",
    "no linear reader": "AUC of the group (linear)",
    "no kernel reader": "AUC of the group (kernel)",
}


def intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over the splits with a 95 % t-interval for every promise, in sample and held out, by method.

    The splits share people, so the intervals say how much the draw of the split matters; for other people they are
    somewhat too narrow. The MMD of the test part stands under the published protocol and is renamed here.
    """
    some = rows[rows["metric"].isin(PROMISES.values())].copy()
    some["protocol"] = some["protocol"].where(some["protocol"] != "released", "held-out")
    some = some[some["protocol"].isin(["in sample", "held-out"])].dropna(subset=["value"])
    found = some.groupby(["method", "metric", "protocol"], sort=False)["value"].agg(["mean", "std", "size"])
    half = stats.t.ppf(0.975, found["size"] - 1) * found["std"] / np.sqrt(found["size"])
    found = found.assign(low=found["mean"] - half, high=found["mean"] + half).reset_index()
    order = {method: place for place, method in enumerate(METHODS)}
    return found.sort_values("method", key=lambda names: names.map(order), kind="stable", ignore_index=True)
