"""Slopes and exponents from the stored runs, and the claims they answer. The rules were fixed before the full run.

A slope counts as that of the theory when it lies in the range of the rules of L03 for blocks of at least ``BEYOND``
rows. A measured exponent is consistent with the bound when the samples do not grow faster than the bound: its interval
reaches the exponent of the bound to the tolerance of L04.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from . import lee2023_judge as judge
from . import session
from .claim_rules import Answer, by_parts, rule
from .lee2023_learnability_effects import ABSOLUTE, CENTRES, FACTORS, ON_MISSING, ORDERS, RELEASED, SIGNED, order_name
from .lee2023_learnability_protocol import NAMES, setting
from .store import read_results

EXPERIMENT = "lee2023-learnability"
MAIN = "gap-controlled"
BOTH, GIVEN, EXACT = EXPERIMENTS = ("both phases estimated", "true directions given", "exact answer for estimated U")
#: Rows of a block from which on the noise is small against the gaps of the gap-controlled population.
BEYOND = 300
#: Values to be reached, when the rows needed are asked for.
LEVELS = {"eps_f": 0.2, "sine of W": 0.2, "eps_o": 0.1, "sine of V": 0.2}
#: What the scale of the gaps can change. All variances grow with all gaps: optimality is taken relative to them.
SCALED = {
    "scale of group gaps": ("eps_f", "sine of W"),
    "scale of all gaps": ("eps_f", "sine of W", "eps_o relative", "sine of V"),
}

#: Populations, methods and experiments in the order in which they are shown.
SHOWN = {
    "protocol": ["slopes", *(f"growth in {name}" for name in FACTORS)],
    "dataset": [*NAMES, *(order_name(number) for number in range(len(ORDERS)))],
    "method": [*EXPERIMENTS, RELEASED, *ON_MISSING, *CENTRES.values()],
}


def best_source(rows: pd.DataFrame) -> pd.DataFrame:
    """Of every experiment the full run if it is stored, otherwise what this build computed; in order."""
    some = session.best_source(rows, "protocol")
    ranks = {name: {value: rank for rank, value in enumerate(values)} for name, values in SHOWN.items()}
    return some.sort_values(list(ranks), key=lambda column: column.map(ranks[column.name]), kind="stable")


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


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Median and upper quantile of every measure at every size, with the share of runs below zero."""
    some = rows[rows["protocol"] == "slopes"]
    found = []
    for (generator, experiment, metric), part in some.groupby(["dataset", "method", "metric"], sort=False):
        sizes, values = by_size(part, metric)
        found += zip(
            [generator] * len(sizes), [experiment] * len(sizes), [metric] * len(sizes), sizes.astype(int),
            np.median(values, axis=0), judge.upper_quantiles(values), (values < 0.0).mean(axis=0),
            [len(values)] * len(sizes), strict=True,
        )  # fmt: skip
    columns = ["generator", "experiment", "metric", "size", "median", "quantile", "below zero", "runs"]
    return pd.DataFrame(found, columns=columns)


def slopes(rows: pd.DataFrame) -> pd.DataFrame:
    """Slopes of the upper quantiles over all sizes and beyond the threshold, with their intervals."""
    some = rows[rows["protocol"] == "slopes"]
    found = []
    for (generator, experiment, metric), part in some.groupby(["dataset", "method", "metric"], sort=False):
        if (metric in ("eps_f", "mean gap", "covariance gap") and experiment == GIVEN) or metric == "eps_o relative":
            continue  # rounding noise only; and a constant times eps_o
        sizes, values = by_size(part, metric)
        for text, chosen in (("all", sizes > 0), (f"from {BEYOND} rows", sizes >= BEYOND)):
            line = judge.quantile_slope(sizes[chosen], values[:, chosen])
            found.append((generator, experiment, metric, text, line.slope, line.low, line.high, line.used))
    return pd.DataFrame(
        found, columns=["generator", "experiment", "metric", "sizes", "slope", "low", "high", "sizes used"]
    )


def needs(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of one phase after which the upper quantile reaches its level, for every level of every factor."""
    return pd.DataFrame(
        [
            (factor, metric, x, float(sizes[0]), *np.nanquantile(sizes[1:], [0.025, 0.975]))
            for factor, metric, x, sizes in _needed(rows)
        ],
        columns=["factor", "metric", "against", "rows", "low", "high"],
    )


def growth_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Exponents with which the rows needed grow in each factor, beside those of the bound."""
    found, table = {}, []
    for factor, metric, x, sizes in _needed(rows):
        found.setdefault((factor, metric), []).append((x, np.log(sizes)))
    for (factor, metric), points in found.items():
        x = np.log([x for x, _ in points])
        x = x - x.mean(axis=0)
        exponents = x @ np.array([logs for _, logs in points]) / (x @ x)
        low, high = np.nanquantile(exponents[1:], [0.025, 0.975])
        # The bound is for variances of a fixed size, which these two change as well.
        bound = np.nan if factor in SCALED else FACTORS[factor].bound.get(metric, np.nan)
        table.append((factor, metric, float(exponents[0]), float(low), float(high), bound))
    shown = pd.DataFrame(table, columns=["factor", "metric", "exponent", "low", "high", "bound"])
    return shown.assign(consistent=[_consistent(*row) for row in shown[["factor", "low", "high", "bound"]].to_numpy()])


def _needed(rows: pd.DataFrame):
    growth = rows[rows["protocol"].str.startswith("growth in ")]
    for (protocol, metric), part in growth.groupby(["protocol", "metric"], sort=False):
        if metric not in LEVELS:
            continue
        for number, (x, level) in enumerate(part.groupby("parameter")):
            sizes, values = by_size(level, metric)
            rows_read = sizes * level["blocks"].iloc[0]
            needed = judge.required_size(rows_read, values, LEVELS[metric], seed=number)
            yield protocol.removeprefix("growth in "), metric, float(x), needed


def _consistent(factor: str, low: float, high: float, bound: float) -> str:
    if np.isnan(bound):
        return "–"
    # Samples grow with d, k and m, and as a share or a gap gets smaller.
    room = rule("L04", "tolerance")
    growing = low <= bound + room if factor in ("d", "k", "m") else high >= bound - room
    return "yes" if growing else "no"


def monotone(rows: pd.DataFrame) -> pd.DataFrame:
    """Upper quantiles at every scale of the gaps, at fixed sizes, and whether they fall as the gaps grow."""
    found = []
    for factor, wanted in SCALED.items():
        some = rows[(rows["protocol"] == f"growth in {factor}") & rows["metric"].isin(wanted)]
        for (metric, size), part in some.groupby(["metric", "size"]):
            wide = part.pivot(index="split", columns="parameter", values="value")
            quantiles = judge.upper_quantiles(wide.to_numpy())
            falls = "yes" if (np.diff(quantiles) < 0.0).all() else "no"
            found.append((factor, metric, int(size), *quantiles, falls))
    return pd.DataFrame(found, columns=["factor", "metric", "size", "gaps x 1/2", "gaps", "gaps x 2", "falls"])


def special_table(rows: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Median and upper quantile over the runs of one of the special experiments."""
    some = rows[rows["protocol"] == protocol]
    keys = ["dataset", "parameter", "method", "metric"]
    found = some.groupby(keys, sort=False)["value"].agg(
        median="median", quantile=lambda v: float(judge.upper_quantiles(v)), runs="size"
    )
    return found.reset_index()


# -- claims -----------------------------------------------------------------------------------------------------------


def learnable() -> Answer | None:
    """L03: both gaps fall with the samples, at the rates of the theory, on the population with prescribed gaps."""
    rows = read_results(EXPERIMENT, protocol="slopes")
    return learnable_from(rows) if MAIN in set(rows["dataset"]) else None


def learnable_from(rows: pd.DataFrame) -> Answer:
    """The answer to L03 for these rows."""
    table = slopes(rows).set_index(["generator", "experiment", "metric", "sizes"])
    beyond, parts = f"from {BEYOND} rows", []
    fair = rule("L03", "slope of eps_f, lowest"), rule("L03", "slope of eps_f, highest")
    optimal = rule("L03", "slope of eps_o, lowest"), rule("L03", "slope of eps_o, highest")
    for metric, experiment, (low, high) in (("eps_f", EXACT, fair), ("eps_o", GIVEN, optimal)):
        parts.append(low <= table.loc[(MAIN, experiment, metric, beyond), "slope"] <= high)
    both = [table.loc[(MAIN, BOTH, metric, beyond), "high"] < 0.0 for metric in ("eps_f", "eps_o")]
    texts = []
    for generator in dict.fromkeys(table.index.get_level_values("generator")):
        wanted = [("eps_f", EXACT), ("eps_o", GIVEN)] + [("eps_f", BOTH), ("eps_o", BOTH)] * (generator == MAIN)
        for metric, experiment in wanted:
            line = table.loc[(generator, experiment, metric, beyond)]
            texts.append(
                f"{generator}, {experiment}, {metric} {line['slope']:.2f} [{line['low']:.2f}, {line['high']:.2f}]"
            )
    evidence = f"Slopes of the 90 % quantile against the rows of a block, from {BEYOND} rows on, with 95 % intervals. "
    evidence += "; ".join(texts) + ". Judged on the population with prescribed gaps; a simulation shows no more than "
    evidence += "that the rates of the theorem are met on it."
    done = [*parts, *both]
    return Answer(by_parts(done), evidence)


def sample_size() -> Answer | None:
    """L04: the rows needed grow with no factor faster than the bound does."""
    rows = read_results(EXPERIMENT, protocol=["slopes", *(f"growth in {name}" for name in FACTORS)])
    present = {name.removeprefix("growth in ") for name in set(rows["protocol"])}
    return sample_size_from(rows) if set(FACTORS) <= present else None


def sample_size_from(rows: pd.DataFrame) -> Answer:
    """The answer to L04 for these rows."""
    table = growth_table(rows)
    table = table[table["consistent"] != "–"]
    texts, verdicts = [], []
    for metric, experiment in (("eps_f", EXACT), ("eps_o", GIVEN)):
        sizes, values = by_size(_slope_part(rows, experiment), metric)
        line = judge.quantile_slope(sizes[sizes >= BEYOND], values[:, sizes >= BEYOND])
        # Where the interval of the slope reaches 0, no number of samples is known to be enough.
        ends = (-1.0 / line.low, -1.0 / line.high if line.high < 0.0 else np.inf)
        bound = rule("L04", "exponent of 1/eps")
        verdicts.append(0.0 < ends[0] <= bound + rule("L04", "tolerance"))
        texts.append(f"1/{metric} {-1.0 / line.slope:.2f} [{ends[0]:.2f}, {ends[1]:.2f}] ({bound:g})")
    for row in table.to_dict("records"):
        verdicts.append(row["consistent"] == "yes")
        name = f"{row['factor']} for {row['metric']}"
        texts.append(f"{name} {row['exponent']:.2f} [{row['low']:.2f}, {row['high']:.2f}] ({row['bound']:g})")
    evidence = (
        "Exponents with which the rows needed grow, with 95 % intervals and the exponent of the bound in brackets: "
    )
    evidence += (
        "; ".join(texts) + f". Not faster than the bound in {sum(verdicts)} of {len(verdicts)}. Where a gap gets "
    )
    evidence += "smaller, the blocks of its phase are made more in proportion, which is one power of these exponents."
    answer = by_parts(verdicts)
    return Answer(answer, evidence)


def _slope_part(rows: pd.DataFrame, experiment: str) -> pd.DataFrame:
    chosen = (rows["protocol"] == "slopes") & (rows["dataset"] == MAIN) & (rows["method"] == experiment)
    return rows[chosen]


def top_eigenvectors() -> Answer | None:
    """L06: the eigenvectors of the largest eigenvalues, or of those largest in absolute value."""
    rows = read_results(EXPERIMENT, protocol="order of eigenvalues")
    return top_eigenvectors_from(rows) if len(rows) else None


def top_eigenvectors_from(rows: pd.DataFrame) -> Answer:
    """The answer to L06 for these rows: in part if only the order by absolute value is the one found."""
    table = special_table(rows, "order of eigenvalues").pivot(index="dataset", columns="metric", values="median")
    table = table.loc[[order_name(number) for number in range(len(ORDERS))]]
    evidence = "Median sine of the largest angle between the last W and the eigenvectors of the m largest eigenvalues, "
    evidence += "and of the m largest in absolute value: "
    evidence += "; ".join(f"{name}: {row[SIGNED]:.2f}, {row[ABSOLUTE]:.2f}" for name, row in table.iterrows()) + "."
    found = rule("L06", "found")
    if (table[SIGNED] < found).all():
        return Answer("holds", evidence)
    return Answer("holds in part" if (table[ABSOLUTE] < found).all() else "does not hold", evidence)


claims: dict[str, Callable[[], Answer | None]] = {
    "L03": learnable,
    "L04": sample_size,
    "L06": top_eigenvectors,
}
