"""What the comparison of all linear methods says: means, ranks, what can be told apart, and which method to use.

The rules, written before the results were seen. **Ranks** over the data sets of ``protocol.comparable`` (those with a
label) of methods with a value on all: values equal to five digits tie; an AUC of the group below 0.5 counts as 0.5.
**Differences** by Friedman's test, and Nemenyi's critical difference (5 %); data sets are the blocks. **Guide**: of the
methods within it of the best average rank, all if p is 0.05 or more, that with the least geometric mean relative error.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from evenspan.metrics import ATTACKERS

from ...method_styles import ordered
from ...records import in_order
from ...store import read_results
from .protocol import COMPONENTS, DEVIATION, METRICS, SQUARED, comparable, table

LEVEL = 0.05
HELD_OUT, PERMUTED = "held-out", "groups permuted"
TIED_DIGITS = 5
#: Distances of means are over the root of the variance kept: what keeps little has small distances of everything.
NOTHING = 1e-12
COST = "relative error"
#: The classifiers of the group, the linear one first, and what they are given without a method: features of which the
#: group must be found, and groups of which nothing can be.
CLASSIFIERS = ("logistic regression", "boosting", "support vector machine", "nearest neighbours", "neural network")
CONTROLS = ("all features", "groups permuted")
#: What the name of an attacker's area begins or ends with, and the area of the strongest.
ATTACKER, STRONGEST = "attacker AUC", "strongest attacker AUC"


class Friedman(NamedTuple):
    """Friedman's test and Nemenyi's critical difference of average ranks; ``ranks`` is sorted, the best first."""

    metric: str
    k: int
    statistic: float
    p: float
    ranks: pd.Series
    critical_difference: float
    datasets: tuple[str, ...]

    def not_worse(self) -> list[str]:
        """Methods that cannot be told from the best; all if the test finds no difference at all."""
        reach = np.inf if self.p >= LEVEL else self.critical_difference
        return list(self.ranks.index[self.ranks <= self.ranks.iloc[0] + reach])


def results() -> pd.DataFrame:
    """Tidy rows of the full run."""
    return read_results("across-methods")


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and 95 % interval of every metric; of squared distances the roots of both.

    The interval is Student's over splits, which share rows: it tells how much a split matters."""
    keys = ["dataset", "method", "k", "protocol"]
    values = rows.set_index([*keys, "metric"])["value"]
    found = rows[rows["metric"].isin(METRICS)].rename(columns={"value": "mean"})

    def beside(metric: pd.Series | str) -> np.ndarray:
        return values.reindex(pd.MultiIndex.from_frame(found[keys].assign(metric=metric))).to_numpy(float)

    n = beside("splits")
    half = stats.t.ppf(0.975, np.maximum(n - 1, 1)) * beside(found["metric"] + DEVIATION) / np.sqrt(n)
    found = found.assign(low=found["mean"] - half, high=found["mean"] + half, splits=n)
    squares, ends = found["metric"] == SQUARED, ["mean", "low", "high"]
    kept = np.maximum(beside("explained variance"), NOTHING)[squares, None]
    found.loc[squares, ends] = np.sqrt(found.loc[squares, ends].clip(lower=0.0) / kept)
    return found[[*keys, "metric", *ends, "splits", "reason"]].reset_index(drop=True)


def areas(rows: pd.DataFrame) -> pd.DataFrame:
    """Areas with which classifiers tell the group: means over splits with 95 % intervals, controls first.

    Splits share rows: the standard error of the mean is taken as if they had everything in common."""
    keys = ["dataset", "method", "classifier"]
    parts = rows["metric"].str.extract(r"^AUC, (?P<classifier>[^,]+)(?:, (?P<what>standard error))?")
    found = rows.assign(classifier=parts["classifier"], what=parts["what"].fillna("mean"))
    found = found.dropna(subset=["classifier", "value"])
    wide = found.pivot(index=[*keys, "split"], columns="what", values="value")
    wide = wide.reindex(columns=["mean", "standard error"])
    wide = wide.assign(square=wide["standard error"] ** 2).groupby(keys).mean().reset_index().rename_axis(columns=None)
    half = stats.norm.ppf(0.975) * np.sqrt(wide["square"])
    wide = wide.assign(low=wide["mean"] - half, high=wide["mean"] + half)[[*keys, "mean", "low", "high"]]
    names = [*CONTROLS, *ordered(set(wide["method"]) - {*CONTROLS}), *CLASSIFIERS]
    return in_order(wide, names, ("method", "classifier"))


def attackers(rows: pd.DataFrame) -> pd.DataFrame:
    """Areas with which attackers tell the group after each method, means over the splits: data sets down."""
    found = rows[rows["metric"].str.contains(ATTACKER)].dropna(subset="value")
    names = found["metric"].str.removeprefix(f"{ATTACKER}, ").str.removesuffix(f" {ATTACKER}").rename("attacker")
    return found.pivot_table("value", ["method", "dataset"], names).rename_axis(columns=None)[[*ATTACKERS, "strongest"]]


def concealed(rows: pd.DataFrame) -> pd.DataFrame:
    """The areas of the held-out rows, with the 95 % quantile of those of permuted groups as ``chance``.

    It is over permutations and methods, of each data set and classifier: nothing is to be found after any method."""
    permuted = rows[rows["protocol"] == PERMUTED]
    by = ["dataset", permuted["metric"].str.removeprefix("AUC, ").rename("classifier")]
    chance = permuted.groupby(by)["value"].quantile(0.95).rename("chance")
    return areas(rows[rows["protocol"] == HELD_OUT]).join(chance, on=["dataset", "classifier"])


def values(metric: str, k: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Means of a metric, data sets down and methods across; methods without a value on all of them are left out."""
    found = _stored(metric, k, rows)
    return np.sqrt(found) if metric == SQUARED else found


def ranks(metric: str, k: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Ranks of the methods (columns) on every data set (index), 1 the best; of those that have a value everywhere."""
    found = _stored(metric, k, rows)
    found = found.clip(lower=0.5) if metric in ("group AUC", STRONGEST) else found
    tied = found.map(lambda value: float(f"{value:.{TIED_DIGITS}g}"))
    return tied.rank(axis=1, ascending=metric == STRONGEST or METRICS[metric].lower, method="average")


def _stored(metric: str, k: int, rows: pd.DataFrame) -> pd.DataFrame:
    if metric == SQUARED:
        kept = _stored("explained variance", k, rows).clip(lower=NOTHING)
    rows = rows[(rows["metric"] == metric) & (rows["k"] == k) & (rows["protocol"] == HELD_OUT)]
    names = [name for name in comparable(k) if table(name).label or not metric.startswith("label")]
    names = [name for name in names if name in set(rows["dataset"])]
    means = rows.groupby(["dataset", "method"])["value"].agg(lambda splits: splits.mean(skipna=False))
    wide = means.unstack().reindex(index=names, columns=ordered(set(rows["method"])))
    wide = wide.dropna(axis=1).rename_axis(columns=None)
    return wide / kept[wide.columns] if metric == SQUARED else wide


def friedman(metric: str, k: int, rows: pd.DataFrame) -> Friedman | None:
    """Whether methods differ on a metric at all, and by how much their average ranks must; None without results."""
    return tested(ranks(metric, k, rows), metric, k)


def tested(found: pd.DataFrame, metric: str, k: int) -> Friedman | None:
    """The same of ranks, with a column for each method and a row for each data set."""
    N, m = found.shape
    if N < 2 or m < 3:
        return None
    alike = (found.nunique(axis=1) == 1).all()
    statistic, p = (0.0, 1.0) if alike else map(float, stats.friedmanchisquare(*found.to_numpy().T))
    average = found.mean(axis=0).sort_values(kind="stable")
    return Friedman(metric, k, statistic, p, average, critical_difference(m, N), tuple(found.index))


def geometric_mean(found: pd.DataFrame) -> pd.Series:
    """That of every column, of positive values."""
    return np.exp(np.log(found).mean(axis=0))


def critical_difference(methods: int, blocks: int, level: float = LEVEL) -> float:
    """Nemenyi's difference of average ranks; q is a quantile of the studentised range of m normal variables."""
    q = stats.studentized_range.ppf(1.0 - level, methods, np.inf)
    return float(q * np.sqrt(methods * (methods + 1) / (12.0 * blocks)))


def guide(rows: pd.DataFrame) -> pd.DataFrame:
    """Which method to ``use`` for a criterion and what it costs, beside the ``best`` by average rank, for each k.

    ``wins`` counts the data sets on which the best has a better rank than PCA."""
    lines = []
    for metric, k in product(METRICS, COMPONENTS):
        if (test := friedman(metric, k, rows)) is None:
            continue
        cost = geometric_mean(values(COST, k, rows).reindex(list(test.datasets)))
        best, ranked = test.ranks.index[0], ranks(metric, k, rows)
        equal = [name for name in test.not_worse() if name in cost.index]
        use = min(equal, key=lambda name: (cost[name], test.ranks[name]))
        lines.append({
            "criterion": METRICS[metric].criterion, "metric": metric, "k": k,
            "use": use, "rank": test.ranks[use], "relative error": cost[use],
            "best": best, "best rank": test.ranks[best], "best error": cost[best],
            "wins": int((ranked[best] < ranked["PCA"]).sum(axis=0)),
            "critical difference": test.critical_difference, "p": test.p,
            "not worse": ", ".join(test.not_worse()), "data sets": len(test.datasets),
        })  # fmt: skip
    return pd.DataFrame(lines)
