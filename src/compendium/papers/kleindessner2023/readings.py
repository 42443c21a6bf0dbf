"""What tables, figures and claims read from the rows of the table and of running times."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...records import in_order, spread
from .protocol import METHODS, METRICS


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and population deviation over the splits that have a value, by method, protocol and metric."""
    keys = ["dataset", "method", "k", "protocol", "metric"]
    return in_order(spread(rows, keys, "mean", "std", number="splits"), METHODS)


def ranges(found: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Range of a ``summary`` over draws of "signs" (of MLP columns), or over each "seed", the recorded one included."""
    other = found["protocol"].str.startswith(kind)
    drawn = found["method"].isin(found.loc[other, "method"]) & found["metric"].isin(METRICS)
    draws = found[other | ((found["protocol"] == "released") & drawn & (kind == "seed"))].rename(
        columns={"mean": "value"}
    )
    return spread(draws, ["method", "metric"], "smallest", "median", "largest", number="draws")


def curve(rows: pd.DataFrame, training_rows: int = 0) -> pd.DataFrame:
    """Median and range of the ratios by method, n (``training_rows`` where the name does not tell it) and d."""
    sizes = rows["dataset"].str.extract(r"(?:-n(?P<n>\d+))?-d(?P<d>\d+)$").apply(pd.to_numeric)
    sizes = sizes.fillna(training_rows).astype(int)
    rows = rows.assign(n=sizes["n"], d=sizes["d"])
    return spread(rows, ["method", "n", "d"], "median", "smallest", "largest")


def growth(found: pd.DataFrame) -> pd.Series:
    """How fast each ratio of a :func:`curve` grows: the exponent of d, fitted to the medians, by method and n."""
    grouped = found.groupby(["method", "n"], sort=False)
    return pd.Series({key: exponent(part["d"], part["median"]) for key, part in grouped if len(part) > 1})


def exponent(sizes: Sequence, times: Sequence) -> float:
    """The power of the sizes with which the times grow."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
