"""What tables, figures and claims read from the rows of the experiments on Kleindessner et al. (2023).

The synthetic experiments (:mod:`.synthetic`), the pictures (:mod:`.faces`) and the comparison with reductions
(:mod:`.reductions`) have readings of their own.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from ...records import in_order, spread
from .protocol import METHODS, METRICS, PREDICTION_METRICS

# -- the table ---------------------------------------------------------------------------------------------------------


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and population standard deviation over the splits, one row for each method, protocol and metric.

    Splits in which a value does not exist (its row gives the reason) are left out and not counted in ``splits``.
    """
    keys = ["dataset", "method", "k", "protocol", "metric"]
    return in_order(spread(rows, keys, "mean", "std", number="splits"), METHODS)


def basis_ranges(found: pd.DataFrame) -> pd.DataFrame:
    """Smallest, median and largest value of each MLP column over the draws of signs, by method and metric.

    ``found`` is a ``summary`` of one data set and one number of components.
    """
    return _ranges(found[found["protocol"].str.startswith("signs")])


def seed_ranges(found: pd.DataFrame) -> pd.DataFrame:
    """The same for methods that draw, over their seeds: every column of the table, the recorded seed included."""
    other = found["protocol"].str.startswith("seed")
    drawn = found["method"].isin(found.loc[other, "method"]) & found["metric"].isin(METRICS)
    return _ranges(found[(other | (found["protocol"] == "released")) & drawn])


def _ranges(draws: pd.DataFrame) -> pd.DataFrame:
    values = draws.rename(columns={"mean": "value"})
    return spread(values, ["method", "metric"], "smallest", "median", "largest", number="draws")


def protocol_effect(found: pd.DataFrame) -> pd.DataFrame:
    """Published protocol less held-out protocol for every classifier column, by method; means over the splits."""
    both = found[found["protocol"].isin(["released", "held-out"]) & found["metric"].isin(PREDICTION_METRICS)]
    wide = both.pivot(index=["metric", "method"], columns="protocol", values="mean").dropna()
    order = pd.MultiIndex.from_product([PREDICTION_METRICS, METHODS], names=["metric", "method"])
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
    "no linear classifier": "AUC of the group (linear)",
    "no kernel classifier": "AUC of the group (kernel)",
}


def intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over the splits with a 95 % t-interval for every promise, in sample and held out, by method.

    The splits share people, so the intervals say how much the draw of the split matters; for other people they are
    somewhat too narrow. The MMD of the test part stands under the published protocol and is renamed here.
    """
    some = rows[rows["metric"].isin(PROMISES.values())].replace({"protocol": {"released": "held-out"}})
    some = some[some["protocol"].isin(["in sample", "held-out"])].dropna(subset=["value"])
    found = some.groupby(["method", "metric", "protocol"], sort=False)["value"].agg(["mean", "std", "size"])
    half = stats.t.ppf(0.975, found["size"] - 1) * found["std"] / np.sqrt(found["size"])
    found = found.assign(low=found["mean"] - half, high=found["mean"] + half).reset_index()
    return in_order(found, METHODS)


#: Means over the ten splits, test part, that Lee et al. (2022) distribute with their code for the same splits: a second
#: opinion beside the poster, which prints none of them. (method, k, metric) -> COMPAS, German Credit and Adult Income.
DISTRIBUTED = {
    ("PCA", 2, "%Var"): (39.28, 11.42, 7.78),
    ("PCA", 2, "MMD^2"): (0.092, 0.147, 0.349),
    ("FPCA (0.1, 0.01)", 2, "%Var"): (35.06, 7.43, 4.05),
    ("FPCA (0.1, 0.01)", 2, "MMD^2"): (0.012, 0.017, 0.016),
    ("FPCA (0, 0.01)", 10, "%Var"): (87.44, 29.74, 15.52),
    ("FPCA (0, 0.01)", 10, "MMD^2"): (0.015, 0.020, 0.004),
    ("MbF-PCA (10^-3)", 2, "%Var"): (33.95, 10.17, 6.03),
    ("MbF-PCA (10^-3)", 2, "MMD^2"): (0.005, 0.018, 0.005),
    ("MbF-PCA (10^-3)", 10, "%Var"): (87.75, 34.10, 18.71),
    ("MbF-PCA (10^-3)", 10, "MMD^2"): (0.013, 0.020, 0.005),
}


def beside_distributed(rows: pd.DataFrame) -> pd.DataFrame:
    """Ours, mean and standard deviation over the splits, beside every distributed number."""
    keys = ["dataset", "method", "k", "metric"]
    found = summary(rows[rows["protocol"] == "released"]).set_index(keys)[["mean", "std"]]
    distributed = [
        (dataset, *key, value)
        for key, values in DISTRIBUTED.items()
        for dataset, value in zip(("compas", "german", "adult"), values, strict=True)
    ]
    return pd.DataFrame(distributed, columns=[*keys, "distributed"]).join(found, on=keys)


# -- running times -----------------------------------------------------------------------------------------------------


#: Mean seconds that Lee et al. (2022) distribute with their code for the data of the figure, by features.
DISTRIBUTED_SECONDS = {
    "FPCA (0, 0.01)": {20: 0.75, 60: 117.6, 100: 1886.0},
    "MbF-PCA (10^-3)": {20: 2.96, 60: 3.02, 100: 3.95},
}


def curve(rows: pd.DataFrame, training_rows: int = 0) -> pd.DataFrame:
    """Median, smallest and largest ratio over the repetitions for each method, n and d, which the data set is named by.

    ``training_rows`` is n where the name does not tell it.
    """
    sizes = rows["dataset"].str.extract(r"(?:-n(?P<n>\d+))?-d(?P<d>\d+)$").apply(pd.to_numeric)
    sizes = sizes.fillna(training_rows).astype(int)
    rows = rows.assign(n=sizes["n"], d=sizes["d"])
    return spread(rows, ["method", "n", "d"], "median", "smallest", "largest")


def ratio_table(found: pd.DataFrame) -> pd.DataFrame:
    """The median ratios of a :func:`curve`: one row for each size, one column for each method."""
    names = list(dict.fromkeys(found["method"]))
    return found.pivot(index=["n", "d"], columns="method", values="median")[names].map("{:.3g}".format).reset_index()


def growth(found: pd.DataFrame) -> pd.Series:
    """How fast each ratio of a :func:`curve` grows: the exponent of d, fitted to the medians, by method and n."""
    grouped = found.groupby(["method", "n"], sort=False)
    return pd.Series({key: exponent(part["d"], part["median"]) for key, part in grouped if len(part) > 1})


def distributed_growth() -> dict[str, float]:
    """The same exponent for the times that were distributed, seconds themselves instead of ratios."""
    return {name: exponent(list(times), list(times.values())) for name, times in DISTRIBUTED_SECONDS.items()}


def exponent(sizes: Sequence, times: Sequence) -> float:
    """The power of the sizes with which the times grow."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
