"""The trade-off of Zhou et al. (2024): rows of a run, and what pages read from them: curves, rules, bounds, swaps."""

from itertools import product

import numpy as np
import pandas as pd
from sklearn.base import clone

from evenspan.clustering import FairKernelKMeans, FairMultipleKernelKMeans, TradeOffPoint
from evenspan.clustering.kernels import DenseGram

from ...data.clustering import ClusterData
from ...records import in_order, tidy
from .protocol import COUNTED, JointCounts, evaluation_rows, known
from .theorems import bound, largest_error

#: What is drawn against the weight, and how the methods are ordered.
METRICS = ("ACC", "NMI", "Bal", "MNCE", "fair gap", "clustering objective")
METHODS = ("FKKM", "FMKKM", "VFC", "FairSC", "FFC", "SC", "K-means", "KKM")
#: MNCE closer to the best of the grid than this is as good: the tolerance of the authors' rule.
TOLERANCE = 0.005


def curve(estimator, K: np.ndarray, data: ClusterData, weights, init) -> list[TradeOffPoint]:
    """Clusterings of one kernel for each weight, all from the same labels."""
    model = clone(estimator).set_params(n_clusters=data.n_clusters, init=init)
    return model.curve(K, weights, sensitive_features=data.groups)


def rows_of(data: ClusterData, K: np.ndarray, found, method: str, split, protocol: str, weight=None, **facts):
    """Rows of one run, a point of a curve, a fitted estimator or labels: the evaluation, the counts, and other facts.

    An estimator that followed a rule has no weight of its own in the rows: what it chose and tried stands beside."""
    key = {"dataset": data.name, "method": method, "k": data.n_clusters, "split": split, "protocol": protocol}
    key["weight"], labels, searched = weight, getattr(found, "labels_", found), []
    if isinstance(found, TradeOffPoint):
        key["weight"], labels, own = found.weight, found.labels, found.updates
        facts |= {"objective": own.objective, "sweeps": own.n_sweeps, "moves": own.n_moves, "at rest": own.converged}
    elif isinstance(found, FairKernelKMeans | FairMultipleKernelKMeans):
        facts["objective"] = found.objective_
        facts |= {"chosen weight": found.fairness_weight_} if found.search_ else {}
    if isinstance(found, FairMultipleKernelKMeans):
        gamma = found.kernel_weights_
        facts |= {"largest kernel weight": gamma.max(), "smallest kernel weight": gamma.min()}
        facts["rounds"] = found.n_iter_
    elif isinstance(found, FairKernelKMeans):
        facts |= {"sweeps": found.n_iter_, "moves": found.n_moves_, "at rest": found.converged_}
        facts |= {"swaps": found.n_swaps_} if found.swaps else {}
        searched = found.search_
    if tried := {step["fairness_weight"]: step["mnce"] for step in searched}:
        # Whether the rule ended, rather than the weights that it may try, from what its search recorded.
        ended = found.fairness_weight.search(lambda weight: (None, tried[weight]))[2]
        facts |= {"weights tried": len(tried), "decided": ended}
    facts["clustering objective"] = unexplained(K, labels)
    rows = evaluation_rows(JointCounts.from_labels(data.y, labels, data.groups), **key) + tidy(facts, **key)
    for at, mnce in tried.items():
        rows += tidy({"MNCE tried": mnce}, **key | {"protocol": f"{protocol}: search", "weight": at})
    return rows


def qualities(rows: pd.DataFrame) -> list[str]:
    """Accuracy and information, or without classes the clustering objective, of which less is better."""
    return known(rows, ("ACC", "NMI")) or ["clustering objective"]


def unexplained(K: np.ndarray, labels: np.ndarray) -> float:
    """Mean squared distance of a point to the centre of its cluster in the space of a kernel."""
    gram, Y = DenseGram(K), (labels[:, None] == np.unique(labels)).astype(float)
    inside = (Y * gram.product(Y)).sum(axis=0) / Y.sum(axis=0)
    return float((gram.diagonal.sum(axis=0) - inside.sum(axis=0)) / len(K))


def spread(rows: pd.DataFrame, methods=METHODS) -> pd.DataFrame:
    """Median and range over the seeds by method, weight and metric, in the order of ``METHODS``."""
    grid = rows[(rows["protocol"] == "grid") & rows["method"].isin(methods) & rows["metric"].isin(METRICS)]
    found = grid.groupby(["method", "weight", "metric"], dropna=False, sort=False)["value"]
    table = found.agg(median="median", smallest="min", largest="max", runs="size").reset_index()
    return in_order(table, (*METHODS, *METRICS), ("method", "weight", "metric"))


def medians(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Medians over the seeds: one line a weight, one column a metric."""
    return spread(rows, (method,)).pivot(index="weight", columns="metric", values="median").sort_index()


def chosen(rows: pd.DataFrame) -> dict[str, float]:
    """The median weight that the authors' rule chooses, by method."""
    some = rows[(rows["protocol"] == "rule") & (rows["metric"] == "chosen weight")]
    return {str(name): float(part["value"].median()) for name, part in some.groupby("method")}


def rules(rows: pd.DataFrame) -> pd.DataFrame:
    """What every rule chooses and what comes of it, medians over the seeds with the range of the weight."""
    found = []
    for method in ("FKKM", "FMKKM"):
        own = rows[rows["method"] == method]
        for name in own.loc[own["metric"] == "chosen weight", "protocol"].unique():
            wide = own[own["protocol"] == name].pivot(index="split", columns="metric", values="value")
            weights, line = wide["chosen weight"], {"method": method, "rule": name}
            line |= {"weight": weights.median(), "from": weights.min(), "to": weights.max()}
            found.append(line | wide[list(METRICS)].median().to_dict())
    return pd.DataFrame(found)


def shapes(rows: pd.DataFrame, *methods: str) -> pd.DataFrame:
    """Where accuracy is best and fairness saturates, and what the largest weight costs: one line a method."""
    found = []
    for method in methods:
        curve = medians(rows, method)
        acc, mnce, lost = (curve[name] for name in ("ACC", "MNCE", "clustering objective"))
        short = mnce.index[(mnce < mnce.max() - TOLERANCE) & (mnce.index < mnce.idxmax())]
        saturated = mnce.index[mnce.index > max(short, default=-1.0)][0]  # up to the best within the tolerance
        first, last = (f"at λ = {weight:g}" for weight in (curve.index[0], curve.index[-1]))
        line = {"method": method, f"ACC {first}": acc.iloc[0], "largest ACC": acc.max()}
        line["largest at λ"] = acc.idxmax() if acc.notna().any() else np.nan
        line |= {f"ACC {last}": acc.iloc[-1], f"MNCE {first}": mnce.iloc[0]}
        line |= {"largest MNCE": mnce.max(), f"within {TOLERANCE} from λ": saturated}
        line |= {f"squared distance {first}": lost.iloc[0], f"squared distance {last}": lost.iloc[-1]}
        found.append(line)
    return pd.DataFrame(found)


def certificates(rows: pd.DataFrame) -> pd.DataFrame:
    """The best objective over the seeds, from the start and carried on, beside the bound, by weight and by n.

    All have the weight times the smallest possible regulariser added, which no clustering can change."""
    objective = rows[(rows["method"] == "FKKM") & (rows["metric"] == "objective")]
    best = objective.groupby(["protocol", "weight"])["value"].max()
    upper = rows[(rows["protocol"] == "grid") & (rows["metric"] == "upper bound")].set_index("weight")["value"]
    n, _, sizes = shape(rows)
    lift = best["grid"].index.to_numpy(float) * ((sizes.astype(float) ** 2).sum(axis=0) / n)
    parts = {"reached": best["grid"], "carried on": best["start: carried on"], "bound": upper}
    found = pd.DataFrame({name: (part.reindex(best["grid"].index) + lift) / n for name, part in parts.items()})
    found = found.assign(gap=found["bound"] - found["reached"], share=found["reached"] / found["bound"])
    return found.rename_axis("weight").reset_index()


def generalisation(rows: pd.DataFrame) -> pd.DataFrame:
    """Theorem 2 by weight: the empirical term, R, their sum, and the largest value that the error can have at all.

    For a kernel with a unit diagonal: b = 1, and points have the squared length 1 + alpha - weight in the fair one."""
    grid = rows[(rows["protocol"] == "grid") & (rows["method"] == "FKKM")]
    medians = grid.pivot_table(index="weight", columns="metric", values="value", aggfunc="median")
    n, c, sizes = shape(rows)
    weights, t, largest = medians.index.to_numpy(float), len(sizes), int(sizes.max())
    alpha, excess = largest * weights, np.array([bound(n, c, t, largest, weight) for weight in weights])
    empirical = 1.0 + alpha - weights - (medians["objective"].to_numpy() + alpha * c) / n
    found = {"weight": weights, "empirical": empirical, "excess": excess, "bound": empirical + excess}
    found["largest possible"] = largest_error(largest, weights)
    found["range of the theorem"] = 4.0 * (1.0 + alpha) - 2.0 * (1.0 + 1.0 / t) * weights
    return pd.DataFrame(found | {"MNCE": medians["MNCE"].to_numpy()})


def shape(rows: pd.DataFrame) -> tuple[int, int, np.ndarray]:
    """Number of points, of clusters asked for, and sizes of the groups, from the first counts."""
    first = rows[rows["metric"] == COUNTED].iloc[0]
    joint = JointCounts.from_text(first["counts"])
    return joint.n, int(first["k"]), joint.group_by_cluster.sum(axis=1)


def swaps(rows: pd.DataFrame) -> pd.DataFrame:
    """The same runs without and with swaps of two points, medians over the seeds, one line a weight."""
    some = rows[rows["protocol"].isin(["without swaps", "with swaps"])]
    wide = some.pivot(index=["weight", "split"], columns=["metric", "protocol"], values="value")
    gained = wide["objective", "with swaps"] - wide["objective", "without swaps"]
    found = pd.DataFrame({"swaps": wide["swaps", "with swaps"], "gain a point": gained / shape(rows)[0]})
    for metric, name in product(("fair gap", "MNCE", "ACC", "clustering objective"), ("without swaps", "with swaps")):
        found[f"{metric}, {name}"] = wide[metric, name]
    return found.groupby("weight").median().reset_index()
