"""What figures, tables and claims read from the rows on made populations: slopes, rows needed, medians over the runs.

A measured exponent is consistent with the bound when its interval reaches that of the bound to the tolerance of L04.
"""

from collections import namedtuple
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...claim_rules import rule
from .protocol import FACTORS, GIVEN

#: Share of the runs that may be worse than what is reported.
DELTA = 0.1
#: Rows of a block from which on the noise is small against the gaps of the gap-controlled population.
BEYOND = 300
#: Values to be reached, when the rows needed are asked for.
LEVELS = {"eps_f": 0.2, "sine of W": 0.2, "eps_o": 0.1, "sine of V": 0.2}


#: Of a line through logarithms of upper quantiles, with its 95 % interval; ``used``: quantiles above zero.
Slope = namedtuple("Slope", ["slope", "low", "high", "used"])


def upper_quantiles(values: np.ndarray, delta: float = DELTA, axis: int = 0) -> np.ndarray:
    """The largest value of every column (one size, all runs) after dropping the worst share delta of the runs."""
    return np.quantile(np.asarray(values, dtype=np.float64), 1.0 - delta, axis=axis, method="inverted_cdf")


def quantile_slope(sizes: np.ndarray, values: np.ndarray, delta: float = DELTA) -> Slope:
    """Slope of log10 of the upper quantile against log10 of the size, for sizes (s,) and values (runs, s)."""
    slopes = _lines(sizes, values, delta, 0)[0]
    known = slopes[1:][np.isfinite(slopes[1:])]
    low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
    used = int((upper_quantiles(values, delta) > 0.0).sum(axis=0))
    return Slope(float(slopes[0]), float(low), float(high), used)


def required_size(sizes: np.ndarray, values: np.ndarray, level: float, delta: float = DELTA, seed=0) -> np.ndarray:
    """Size at which the line reaches a level, as measured and for bootstrap samples; NaN where it does not fall."""
    slopes, intercepts = _lines(sizes, values, delta, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 10.0 ** ((np.log10(level) - intercepts) / slopes)
    return np.where(slopes < 0.0, found, np.nan)


def _lines(sizes, values, delta: float, seed) -> tuple[np.ndarray, np.ndarray]:
    """Slope and intercept, as measured and for 1000 bootstrap samples; NaN where fewer than two quantiles are above 0.

    The runs are drawn anew for each size, since they are independent."""
    sizes, values = np.asarray(sizes, dtype=np.float64), np.asarray(values, dtype=np.float64)
    picked = np.random.default_rng(seed).integers(len(values), size=(1000, *values.shape))
    quantiles = upper_quantiles(np.take_along_axis(values[None], picked, axis=1), delta, axis=1)
    quantiles = np.vstack([upper_quantiles(values, delta), quantiles])
    x, above = np.log10(sizes), quantiles > 0.0
    y = np.log10(np.where(above, quantiles, 1.0))
    number = np.where(above.sum(axis=1) >= 2, above.sum(axis=1), np.nan)
    x_mean, y_mean = (above * x).sum(axis=1) / number, (above * y).sum(axis=1) / number
    centred = above * (x - x_mean[:, None])
    with np.errstate(invalid="ignore"):
        slopes = (centred * y).sum(axis=1) / (centred**2).sum(axis=1)
    return slopes, y_mean - slopes * x_mean


def by_size(rows: pd.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (s,) and values (runs, s) of one measure."""
    wide = rows[rows["metric"] == metric].pivot(index="split", columns="size", values="value")
    return wide.columns.to_numpy(dtype=float), wide.to_numpy()


def over_runs(rows: pd.DataFrame, keys: Sequence[str], delta: float) -> pd.DataFrame:
    """Median, upper quantile and number of the runs."""
    upper = lambda v: float(upper_quantiles(v, delta))  # noqa: E731
    return rows.groupby(list(keys), sort=False)["value"].agg(median="median", quantile=upper, runs="size").reset_index()


def curves(rows: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """Every measure of the three experiments, by size."""
    found = over_runs(rows[rows["protocol"] == "slopes"], ["dataset", "method", "metric", "size"], delta)
    return found.rename(columns={"dataset": "generator", "method": "experiment"})


def slopes(rows: pd.DataFrame, delta: float = DELTA, smallest: Sequence[int] = (0, BEYOND)) -> pd.DataFrame:
    """Slopes of the upper quantiles over all sizes and beyond the threshold, with their intervals."""
    found, some = [], rows[rows["protocol"] == "slopes"]
    for (generator, experiment, metric), part in some.groupby(["dataset", "method", "metric"], sort=False):
        if (metric in ("eps_f", "mean gap", "covariance gap") and experiment == GIVEN) or metric == "eps_o relative":
            continue  # rounding noise only; and a constant times eps_o
        sizes, values = by_size(part, metric)
        for size in smallest:
            line = quantile_slope(sizes[sizes >= size], values[:, sizes >= size], delta)
            found.append((generator, experiment, metric, f"from {size} rows" if size else "all", *line))
    columns = ["generator", "experiment", "metric", "sizes", "slope", "low", "high", "sizes used"]
    return pd.DataFrame(found, columns=columns)


def slopes_beyond(rows: pd.DataFrame) -> pd.DataFrame:
    """The slopes that are compared with the theory, beyond the threshold, by population, experiment and measure."""
    return slopes(rows, smallest=[BEYOND]).set_index(["generator", "experiment", "metric"])


def _needed(rows: pd.DataFrame, delta: float) -> Iterator[tuple[str, str, float, np.ndarray]]:
    """Factor, measure, level of the factor, and rows of one phase needed: as measured, and the bootstrap samples."""
    growth = rows[rows["protocol"].str.startswith("growth in ") & rows["metric"].isin(list(LEVELS))]
    for (protocol, metric), part in growth.groupby(["protocol", "metric"], sort=False):
        for number, (x, level) in enumerate(part.groupby("parameter")):
            sizes, values = by_size(level, metric)
            read = sizes * level["blocks"].iloc[0]
            needed = required_size(read, values, LEVELS[metric], delta, seed=number)
            yield protocol.removeprefix("growth in "), metric, float(x), needed


def needs(rows: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """Rows of one phase after which the upper quantile reaches its level, for every level of every factor."""
    found = [(*key, float(sizes[0]), *_interval(sizes)) for *key, sizes in _needed(rows, delta)]
    return pd.DataFrame(found, columns=["factor", "metric", "against", "rows", "low", "high"])


def _interval(measured: np.ndarray) -> np.ndarray:
    known = measured[1:][~np.isnan(measured[1:])]
    return np.quantile(known, [0.025, 0.975]) if len(known) else np.full(2, np.nan)


def growth_table(rows: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """Exponents with which the rows needed grow in each factor, beside those of the bound."""
    found, table = {}, []
    for factor, metric, x, sizes in _needed(rows, delta):
        found.setdefault((factor, metric), []).append((x, np.log(sizes)))
    for (factor, metric), points in found.items():
        x = np.log([x for x, _ in points])
        x = x - x.mean(axis=0)
        exponents = x @ np.array([logs for _, logs in points]) / (x @ x)
        low, high = _interval(exponents)
        # The bound is for variances of a fixed size, which a scale changes as well.
        bound = np.nan if factor.startswith("scale") else FACTORS[factor].bound.get(metric, np.nan)
        # Samples grow with d, k and m, and as a share or a gap gets smaller.
        room = rule("L04", "tolerance")
        within = low <= bound + room if factor in ("d", "k", "m") else high >= bound - room
        consistent = "–" if np.isnan([bound, low, high]).any() else "yes" if within else "no"
        table.append((factor, metric, float(exponents[0]), float(low), float(high), bound, consistent))
    return pd.DataFrame(table, columns=["factor", "metric", "exponent", "low", "high", "bound", "consistent"])


def special_table(rows: pd.DataFrame, protocol: str, delta: float = DELTA) -> pd.DataFrame:
    """Every measure of one of the special experiments."""
    return over_runs(rows[rows["protocol"] == protocol], ["dataset", "parameter", "method", "metric"], delta)
