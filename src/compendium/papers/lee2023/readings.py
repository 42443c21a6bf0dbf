"""What figures, tables and claims read from the rows on made populations: slopes, rows needed, medians over the runs.

A slope counts as that of the theory when it lies in the range of the rules of L03 for blocks of at least ``BEYOND``
rows. A measured exponent is consistent with the bound when the samples do not grow faster than the bound: its interval
reaches the exponent of the bound to the tolerance of L04. The rules were fixed before the full run.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ...data import GaussianPair
from ...ledger.claim_rules import rule
from . import judge
from .protocol import FACTORS, GIVEN, NAMES, ORDERS, SEED, order_name, setting

#: Share of the runs that may be worse than what is reported.
DELTA = 0.1
#: Rows of a block from which on the noise is small against the gaps of the gap-controlled population.
BEYOND = 300
#: Values to be reached, when the rows needed are asked for.
LEVELS = {"eps_f": 0.2, "sine of W": 0.2, "eps_o": 0.1, "sine of V": 0.2}
#: What the scale of the gaps can change. All variances grow with all gaps: optimality is taken relative to them.
SCALED = {
    "scale of group gaps": ("eps_f", "sine of W"),
    "scale of all gaps": ("eps_f", "sine of W", "eps_o relative", "sine of V"),
}


# -- how many samples --------------------------------------------------------------------------------------------------


def ordered(rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The rows in the order in which they are shown: by experiment, population and method."""
    shown = {
        "protocol": ["slopes", *(f"growth in {name}" for name in FACTORS)],
        "dataset": [*NAMES, *(order_name(*case) for case in ORDERS)],
        "method": methods,
    }
    ranks = {name: {value: rank for rank, value in enumerate(values)} for name, values in shown.items()}
    return rows.sort_values(list(ranks), key=lambda column: column.map(ranks[column.name]), kind="stable")


def populations() -> pd.DataFrame:
    """The three populations: sizes, and the two gaps of the theory beside the eigenvalues they are gaps of."""
    found = []
    for name in NAMES:
        case = setting(name)
        gap = np.sort(np.abs(np.linalg.eigvalsh(case.pair.covariance_difference)))[::-1]
        projector = np.eye(case.pair.d) - case.U @ case.U.T
        left = np.linalg.eigvalsh(projector @ case.pair.covariance @ projector)[::-1]
        at = (gap[0], gap[case.m - 1] - gap[case.m], left[0], left[case.k - 1] - left[case.k])
        found.append((name, case.pair.d, case.k, case.m, *at))
    columns = ["largest |gap|", "gap of groups", "largest variance left", "gap of variances"]
    return pd.DataFrame(found, columns=["generator", "d", "k", "m", *columns])


def by_size(rows: pd.DataFrame, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (s,) and values (runs, s) of one measure."""
    wide = rows[rows["metric"] == metric].pivot(index="split", columns="size", values="value")
    return wide.columns.to_numpy(dtype=float), wide.to_numpy()


def _measured(rows: pd.DataFrame) -> Iterator[tuple[tuple, np.ndarray, np.ndarray]]:
    """Population, experiment and measure, with its sizes (s,) and values (runs, s)."""
    some = rows[rows["protocol"] == "slopes"]
    for key, part in some.groupby(["dataset", "method", "metric"], sort=False):
        yield key, *by_size(part, key[-1])


def curves(rows: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """Median and upper quantile of every measure at every size, with the share of runs below zero."""
    found = []
    for (generator, experiment, metric), sizes, values in _measured(rows):
        measured = {
            "size": sizes.astype(int),
            "median": np.median(values, axis=0),
            "quantile": judge.upper_quantiles(values, delta),
            "below zero": (values < 0.0).mean(axis=0),
            "runs": len(values),
        }
        found.append(pd.DataFrame({"generator": generator, "experiment": experiment, "metric": metric} | measured))
    return pd.concat(found, ignore_index=True)


def slopes(rows: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """Slopes of the upper quantiles over all sizes and beyond the threshold, with their intervals."""
    found = []
    for (generator, experiment, metric), sizes, values in _measured(rows):
        if (metric in ("eps_f", "mean gap", "covariance gap") and experiment == GIVEN) or metric == "eps_o relative":
            continue  # rounding noise only; and a constant times eps_o
        for text, chosen in (("all", sizes > 0), (f"from {BEYOND} rows", sizes >= BEYOND)):
            line = judge.quantile_slope(sizes[chosen], values[:, chosen], delta=delta)
            found.append((generator, experiment, metric, text, line.slope, line.low, line.high, line.used))
    columns = ["generator", "experiment", "metric", "sizes", "slope", "low", "high", "sizes used"]
    return pd.DataFrame(found, columns=columns)


def _needed(rows: pd.DataFrame, delta: float) -> Iterator[tuple[str, str, float, np.ndarray]]:
    """Factor, measure, level of the factor, and rows of one phase needed: as measured, and the bootstrap samples."""
    growth = rows[rows["protocol"].str.startswith("growth in ") & rows["metric"].isin(list(LEVELS))]
    for (protocol, metric), part in growth.groupby(["protocol", "metric"], sort=False):
        for number, (x, level) in enumerate(part.groupby("parameter")):
            sizes, values = by_size(level, metric)
            read = sizes * level["blocks"].iloc[0]
            needed = judge.required_size(read, values, LEVELS[metric], delta=delta, seed=number)
            yield protocol.removeprefix("growth in "), metric, float(x), needed


def needs(rows: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """Rows of one phase after which the upper quantile reaches its level, for every level of every factor."""
    found = [(*key, float(sizes[0]), *_interval(sizes)) for *key, sizes in _needed(rows, delta)]
    return pd.DataFrame(found, columns=["factor", "metric", "against", "rows", "low", "high"])


def _interval(measured: np.ndarray) -> np.ndarray:
    return np.nanquantile(measured[1:], [0.025, 0.975])


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
        bound = np.nan if factor in SCALED else FACTORS[factor].bound.get(metric, np.nan)
        # Samples grow with d, k and m, and as a share or a gap gets smaller.
        room = rule("L04", "tolerance")
        within = low <= bound + room if factor in ("d", "k", "m") else high >= bound - room
        consistent = "–" if np.isnan(bound) else "yes" if within else "no"
        table.append((factor, metric, float(exponents[0]), float(low), float(high), bound, consistent))
    return pd.DataFrame(table, columns=["factor", "metric", "exponent", "low", "high", "bound", "consistent"])


def monotone(rows: pd.DataFrame, delta: float = DELTA) -> pd.DataFrame:
    """Upper quantiles at every scale of the gaps, at fixed sizes, and whether they fall as the gaps grow."""
    found = []
    for factor, wanted in SCALED.items():
        some = rows[(rows["protocol"] == f"growth in {factor}") & rows["metric"].isin(wanted)]
        for (metric, size), part in some.groupby(["metric", "size"]):
            wide = part.pivot(index="split", columns="parameter", values="value")
            quantiles = judge.upper_quantiles(wide.to_numpy(), delta)
            falls = "yes" if (np.diff(quantiles) < 0.0).all() else "no"
            found.append((factor, metric, int(size), *quantiles, falls))
    return pd.DataFrame(found, columns=["factor", "metric", "size", "gaps x 1/2", "gaps", "gaps x 2", "falls"])


def special_table(rows: pd.DataFrame, protocol: str, delta: float = DELTA) -> pd.DataFrame:
    """Median and upper quantile over the runs of one of the special experiments."""
    some = rows[rows["protocol"] == protocol]
    keys = ["dataset", "parameter", "method", "metric"]
    found = some.groupby(keys, sort=False)["value"].agg(
        median="median", quantile=lambda v: float(judge.upper_quantiles(v, delta)), runs="size"
    )
    return found.reset_index()


# -- vanilla, mean-matched and fair ------------------------------------------------------------------------------------

MEASURES = ("variance kept", "mean gap", "covariance gap")


def histories(rows: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Median, smallest and largest value over the streams, for every method, measure and block."""
    some = rows[rows["metric"].isin(MEASURES)]
    some = some.sort_values("method", key=lambda names: names.map(list(methods).index), kind="stable")
    found = some.groupby(["method", "metric", "block"], sort=False)["value"]
    return found.agg(median="median", smallest="min", largest="max", streams="size").reset_index()


def last_block(found: pd.DataFrame) -> pd.DataFrame:
    """One line a method of ``histories``: the medians after the last block."""
    last = found[found["block"] == found["block"].max()]
    wide = last.pivot(index="method", columns="metric", values="median")
    return wide.loc[last["method"].unique(), list(MEASURES)]


def scatter_points(rows: pd.DataFrame, pair: GaussianPair, methods: Sequence[str], drawn: int = 250) -> pd.DataFrame:
    """Fresh points of both groups under the last components of each method: method, group, x, y."""
    X, groups = pair.sample(6 * drawn, np.random.default_rng((SEED, 99)))
    chosen = np.concatenate([np.flatnonzero(groups == g)[:drawn] for g in (0, 1)])
    some = rows[rows["metric"].str.startswith("component ") & (rows["split"] == 0)]
    frames = []
    for method in methods:
        value = some[some["method"] == method].set_index("metric")["value"]
        V = np.array([[value[f"component {i} {j}"] for i in (0, 1)] for j in range(pair.d)])
        points = X[chosen] @ V
        frames.append(pd.DataFrame({"method": method, "group": groups[chosen], "x": points[:, 0], "y": points[:, 1]}))
    return pd.concat(frames, ignore_index=True)


def in_words(table: pd.DataFrame) -> str:
    """What the last line of every method says, with the numbers."""
    parts = [
        f"{method}: {row['variance kept']:.0%} of the variance, {row['mean gap']:.1%} of the mean gap and "
        f"{row['covariance gap']:.1%} of the covariance gap"
        for method, row in table.iterrows()
    ]
    return "Left after the last block, median over the streams. " + "; ".join(parts) + "."
