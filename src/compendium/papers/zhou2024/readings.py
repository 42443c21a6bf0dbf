"""What pages, tables and claims read from the rows on Tables of Zhou et al. (2024): one kernel, and several."""

import numpy as np
import pandas as pd

from ...records import in_order, paper_table, spread
from .protocol import METRICS, NAMES

PRINTED = "zhou2024_table1_single_kernel"
METHODS = ("K-means", "KKM", "SC", "FairSC", "VFC", "FFC", "FKKM-f", "FKKM")
FIXED = "as fixed"
#: Of the rows with twelve kernels.
SEVERAL, GAMMA = "twelve kernels", "gamma "


def printed() -> pd.DataFrame:
    """The printed cells as ``dataset`` (our names), ``method``, ``metric``, ``mean``, ``bold``, ``second``."""
    frame = paper_table(PRINTED).rename(columns={"value": "mean"})
    frame["dataset"] = frame["dataset"].map({theirs: name for name, theirs in NAMES.items()})
    frame["bold"] = frame["bold"].astype(str).str.lower() == "true"
    frame["second"] = frame["note"].fillna("").str.startswith("second best")
    return frame[["dataset", "method", "metric", "mean", "bold", "second"]]


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and population standard deviation over the seeds by method, metric and protocol (and reading)."""
    known = rows.assign(variant=rows["variant"].fillna("")) if "variant" in rows else rows
    keys = [name for name in ("dataset", "method", "variant", "protocol", "metric") if name in rows]
    found = spread(known, keys, "mean", "std", "smallest", "largest", number="seeds")
    return in_order(found.assign(std=found["std"].where(found["seeds"] > 1)), METHODS)  # one seed has no spread


def facts(rows: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """What the methods say of their runs, means over the seeds: methods downwards, without weights of kernels."""
    own = rows[(rows["protocol"] == f"{protocol}: fit") & ~rows["metric"].str.startswith(GAMMA)]
    wide = own.pivot_table(index="method", columns="metric", values="value", sort=False)
    return wide.round(3).reset_index().rename_axis(columns=None)


def deviations(found: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The mean absolute deviation of every reading of every method from the printed row, with our four means.

    ``nearest`` marks the smallest of a method at three decimals, as printed."""
    own = found[(found["dataset"] == dataset) & found["metric"].isin(METRICS) & found["mean"].notna()]
    own = own.assign(reading=own["variant"].where(own["protocol"] == "variants", FIXED))
    theirs = printed().query("dataset == @dataset").pivot(index="method", columns="metric", values="mean")
    wide = own[own["protocol"].isin(["released", "variants"]) & own["method"].isin(theirs.index)]
    wide = wide.pivot(index=["method", "reading"], columns="metric", values="mean").reindex(columns=list(METRICS))
    table = wide.reset_index().rename_axis(columns=None)
    apart = wide.to_numpy() - theirs.reindex(table["method"], columns=list(METRICS)).to_numpy()
    table["deviation"] = np.abs(apart).mean(axis=1)
    shown = table["deviation"].round(3)
    table["nearest"] = shown == shown.groupby(table["method"]).transform("min")
    order = table.assign(other=table["reading"] != FIXED)
    return in_order(order, METHODS, ("method", "other", "deviation")).drop(columns="other")


def gammas(rows: pd.DataFrame) -> pd.DataFrame:
    """The weight of every kernel: mean, smallest and largest over the seeds, by ``method`` and ``kernel`` (from 1)."""
    own = rows[(rows["protocol"] == f"{SEVERAL}: fit") & rows["metric"].str.startswith(GAMMA)]
    own = own.assign(kernel=own["metric"].str.removeprefix(GAMMA).astype(int))
    return spread(own, ["method", "kernel"], "mean", "smallest", "largest")


def off_uniform(rows: pd.DataFrame) -> pd.DataFrame:
    """How far the kernel weights of all seeds lie off equal ones, as a share of these: two ends by ``method``."""
    weights = gammas(rows)
    ends = weights.groupby("method", sort=False).agg(lowest=("smallest", "min"), highest=("largest", "max"))
    return ends * weights["kernel"].max() - 1.0
