"""What the pages on several kernels say: means over the seeds, kernel weights, and their facts in words."""

import numpy as np
import pandas as pd

PROTOCOL = "twelve kernels"
GAMMA = "gamma "
METRICS = ("ACC", "NMI", "Bal", "MNCE")


def spreads(rows: pd.DataFrame, protocol: str = PROTOCOL) -> pd.DataFrame:
    """Mean and population standard deviation over the seeds by method, metric and source, in the order of the rows."""
    own = rows[rows["protocol"] == protocol]
    keys = ["dataset", "method", "metric", *(["source"] if "source" in rows else [])]
    spread = own.groupby(keys, sort=False)["value"].agg(
        mean="mean",
        std=lambda v: float(np.std(v.dropna(), axis=0)) if v.count() > 1 else np.nan,
        seeds="count",
    )
    return spread.reset_index()


def gammas(rows: pd.DataFrame, protocol: str = PROTOCOL) -> pd.DataFrame:
    """The weight of every kernel: mean, smallest and largest over the seeds, by ``method`` and ``kernel`` (from 1)."""
    own = rows[(rows["protocol"] == f"{protocol}: fit") & rows["metric"].str.startswith(GAMMA)]
    own = own.assign(kernel=own["metric"].str.removeprefix(GAMMA).astype(int))
    spread = own.groupby(["method", "kernel"], sort=False)["value"].agg(mean="mean", smallest="min", largest="max")
    return spread.reset_index()


def made(rows: pd.DataFrame) -> pd.DataFrame:
    """What this build found on the made set: means over its seeds, methods downwards."""
    own = rows[(rows["protocol"] == "made set") & rows["metric"].isin(METRICS)]
    wide = own.pivot_table(index="method", columns="metric", values="value", sort=False)[list(METRICS)]
    return wide.round(3).reset_index().rename_axis(columns=None)


def facts(rows: pd.DataFrame, protocol: str = PROTOCOL) -> pd.DataFrame:
    """What the methods say of their runs, means over the seeds: methods downwards, without the kernel weights."""
    own = rows[(rows["protocol"] == f"{protocol}: fit") & ~rows["metric"].str.startswith(GAMMA)]
    wide = own.pivot_table(index="method", columns="metric", values="value", sort=False)
    return wide.round(3).reset_index().rename_axis(columns=None)


def in_words(rows: pd.DataFrame, protocol: str = PROTOCOL) -> str:
    """How far the kernel weights are from equal ones, with and without the shift, and what that does to the answer."""
    weights, parts = gammas(rows, protocol), []
    for method, own in weights.groupby("method", sort=False):
        equal = 1.0 / own["kernel"].max()
        lowest, highest = own["smallest"].min() / equal - 1.0, own["largest"].max() / equal - 1.0
        parts.append(f"{method} {100 * lowest:+.2f} % to {100 * highest:+.2f} %")
    if not parts:
        return "No kernel weight is at hand: the full run of these data has not been stored."
    return "Kernel weights lie off equal ones by: " + "; ".join(parts) + "."
