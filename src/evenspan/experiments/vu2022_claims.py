"""Claims of Vu et al. (2022) about their tables: counted in the printed tables, and again in our numbers.

The answer is that of the printed tables, because the claims are about them; the evidence gives both counts.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from .. import datasets, paths
from .store import read_results
from .vu2022_protocol import DATASETS
from .vu2022_theorems import claims as theorems

TABLES = {
    ("out-of-sample", "error"): "vu2022_table1_out_of_sample",
    ("in-sample", "error"): "vu2022_table3_in_sample",
    ("out-of-sample", "linear"): "vu2022_table4_linear_svm",
}
RFPCA, FAIR, MEAN, BOTH = METHODS = ("RFPCA", "FairPCA", "CFPCA-Mean Con.", "CFPCA - Both Con.")

#: Values by data set (rows) and method (columns).
Wide = pd.DataFrame


def printed(split: str, metric: str) -> Wide:
    """The published numbers of one metric."""
    kind = "linear" if metric == "Delta F_Lin" else "error"
    frame = pd.read_csv(paths.data("paper", f"{TABLES[split, kind]}.csv"))
    wide = frame[frame["metric"] == metric].pivot(index="dataset", columns="method", values="value")
    return wide.rename(index={"Parkinson’s": "Parkinsons"})


def ours(split: str, metric: str) -> Wide:
    """Means over the splits of the full run, with the names of the paper; data sets with all methods at hand only."""
    rows = read_results("vu2022-tables")
    rows = rows[(rows["protocol"] == split) & (rows["metric"] == metric) & rows["method"].isin(METHODS)]
    wide = rows.pivot_table(index="dataset", columns="method", values="value", aggfunc="mean")
    wide = wide.rename(index=DATASETS).reindex(columns=METHODS)
    return wide[wide[[RFPCA, FAIR]].notna().all(axis=1)]


def best(wide: Wide, method: str = RFPCA) -> list[str]:
    """Data sets on which a method has the smallest value, alone or not."""
    return [name for name, row in wide.iterrows() if row[method] <= row.min(axis=0)]


def _counted(split: str, metric: str, method: str = RFPCA) -> str:
    mine, theirs = ours(split, metric), printed(split, metric)
    text = f"Printed: {method} has the lowest {metric} on {len(best(theirs, method))} of {len(theirs)} data sets."
    if len(mine):
        text += f" Our run with the same four methods: {len(best(mine, method))} of {len(mine)} (LFW by its stand-in)."
    return text


def _count_claim(split: str, metric: str, claimed: int, method: str = RFPCA):
    def answer() -> tuple[str, str]:
        n = len(best(printed(split, metric), method))
        return ("holds" if n == claimed else "does not hold"), _counted(split, metric, method)

    return answer


def best_on_both() -> tuple[str, str]:
    """V16: best in both criteria on 5 data sets."""

    def both(source) -> list[str]:
        found = [source("out-of-sample", metric) for metric in ("ABDiff", "ARE")]
        return sorted(set(best(found[0])) & set(best(found[1])))

    theirs, mine = both(printed), both(ours)
    evidence = f"Printed: {len(theirs)} ({', '.join(theirs)})."
    if len(ours("out-of-sample", "ARE")):
        evidence += f" Our run: {len(mine)} ({', '.join(mine) or 'none'})."
    return ("holds" if len(theirs) == 5 else "does not hold"), evidence


def close_where_not_best() -> tuple[str, str]:
    """V17: where RFPCA is not best it is close; judged at 5 % above the best method."""

    def excess(source) -> Mapping[str, float]:
        found = {}
        for metric in ("ABDiff", "ARE"):
            wide = source("out-of-sample", metric)
            ratio = wide[RFPCA] / wide.min(axis=1) - 1.0
            found |= {f"{metric} {name}": float(value) for name, value in ratio.items() if value > 0}
        return found

    theirs, mine = excess(printed), excess(ours)
    far = {name: value for name, value in theirs.items() if value > 0.05}
    worst = sorted(far, key=far.get, reverse=True)
    evidence = f"Printed: not best in {len(theirs)} cells, more than 5 % above the best in {len(far)}: "
    evidence += ", ".join(f"{name} {theirs[name]:.1%}" for name in worst) + "."
    if mine:
        evidence += f" Our run: not best in {len(mine)} cells, more than 5 % above the best in "
        evidence += f"{sum(value > 0.05 for value in mine.values())}, at most {max(mine.values()):.1%}."
    share = len(far) / max(len(theirs), 1)
    return ("holds" if not far else "holds in part" if share < 0.25 else "does not hold"), evidence


def lowest_gap_in_sample() -> tuple[str, str]:
    """V18: "all 14 data sets"; the table has one more."""
    wide = printed("in-sample", "ABDiff")
    n, total = len(best(wide)), len(wide)
    answer = "holds" if n == total == 14 else "holds in part" if n == total else "does not hold"
    return answer, _counted("in-sample", "ABDiff") + " The text speaks of 14 data sets."


def as_many_as_fair_pca() -> tuple[str, str]:
    """V20: FairPCA is best in ARE on as many data sets as RFPCA."""
    wide = printed("in-sample", "ARE")
    first, second = len(best(wide)), len(best(wide, FAIR))
    without = wide.drop(index="LFW")
    evidence = f"Printed: RFPCA {first}, FairPCA {second} of {len(wide)}; without LFW {len(best(without))} and "
    evidence += f"{len(best(without, FAIR))}."
    mine = ours("in-sample", "ARE")
    if len(mine):
        evidence += f" Our run: RFPCA {len(best(mine))}, FairPCA {len(best(mine, FAIR))} of {len(mine)}."
    return ("holds" if first == second else "does not hold"), evidence


def convex_methods_separate_least() -> tuple[str, str]:
    """V21: both CFPCA versions beat the other two on every data set in Delta F_Lin."""

    def told(wide: Wide) -> tuple[int, int]:
        others = wide[[RFPCA, FAIR]].min(axis=1)
        each = (wide[[MEAN, BOTH]].max(axis=1) < others).sum(axis=0)
        one = (wide[[MEAN, BOTH]].min(axis=1) < others).sum(axis=0)
        return int(each), int(one)

    theirs, mine = printed("out-of-sample", "Delta F_Lin"), ours("out-of-sample", "Delta F_Lin").dropna()
    each, one = told(theirs)
    evidence = f"Printed: both below RFPCA and FairPCA on {each} of {len(theirs)} data sets, the better one on {one}."
    if len(mine):
        evidence += " Our run: both on {} and the better one on {}".format(*told(mine)) + f" of {len(mine)}."
    n = len(theirs)
    return ("holds" if each == n else "holds in part" if one == n else "does not hold"), evidence


def no_result_on_faces() -> tuple[str, str] | None:
    """V22: the released formulation is too large at d = 576: count its equations, and try what we have."""
    d = datasets.entry("lfw_24x24").features
    mean, covariance = d * (2 * d + 1), 2 * (d**2 + d * (d + 1))
    rows = read_results("vu2022-tables")
    rows = rows[(rows["dataset"] == "lfw_24x24") & (rows["metric"] == "ARE") & (rows["protocol"] == "out-of-sample")]
    evidence = f"At d = {d} the released program adds {mean:,} scalar equations for the mean constraint"
    evidence += f" and {covariance:,} more for the two covariance blocks, beside semidefinite blocks of order {2 * d}."
    for method in (MEAN, BOTH, "CFPCA-Mean Con. (linear)"):
        mine = rows[rows["method"] == method]
        if len(mine):
            done = int(np.isfinite(mine["value"]).sum(axis=0))
            evidence += f" {method} without that formulation: an answer on {done} of {len(mine)} splits."
    if rows.empty:
        return None
    return "holds", evidence + " The claim is about the released program: answered from its size, not from running it."


def faces_of_the_subset() -> tuple[str, str]:
    """V23: 2,000 faces of each sex, 24 x 24."""
    entry = datasets.entry("lfw_24x24")
    frame = pd.read_csv(paths.data("paper", "vu2022_table2_datasets.csv"), dtype=str, keep_default_na=False)
    told = frame[frame["dataset"] == "LFW"].set_index("metric")["value"]
    same = (int(told["N"]), int(told["d"])) == (entry.rows, entry.features) and set(entry.groups.values()) == {2000}
    groups = ", ".join(f"{entry.group_names[g]} {n:,}" for g, n in entry.groups.items())
    evidence = f"Printed: {told['N']} rows, {told['d']} features. The stand-in, drawn so: {groups}; {entry.features} = "
    return ("holds" if same else "does not hold"), evidence + "24 x 24 grey values."


def protocol_gives_the_tables() -> tuple[str, str] | None:
    """V24: the stated protocol; judged by how many printed errors it gives again within 2 % or two deviations."""
    rows = read_results("vu2022-tables")
    if rows.empty:
        return None
    near, total, per = 0, 0, {}
    for split in ("out-of-sample", "in-sample"):
        for metric in ("ABDiff", "ARE"):
            wide = printed(split, metric)
            some = rows[(rows["protocol"] == split) & (rows["metric"] == metric)]
            spread = some.groupby(["dataset", "method"])["value"].agg(["mean", lambda v: np.std(v, axis=0)])
            for (dataset, method), (mean, std) in spread.iterrows():
                if method not in METHODS or not np.isfinite(mean):
                    continue
                value = wide.loc[DATASETS[dataset], method]
                if np.isnan(value):
                    continue
                inside = abs(mean - value) <= max(0.02 * value, 2 * std)
                near, total = near + inside, total + 1
                done = per.setdefault(method, [0, 0])
                done[0], done[1] = done[0] + inside, done[1] + 1
    if not total:
        return None
    evidence = (
        f"With 30 / 70 splits, k = 3, 3 folds (2 for the faces) and 10 seeds {near} of {total} printed numbers of "
    )
    evidence += "Tables 1 and 3 come out within 2 % or two standard deviations over our splits: "
    evidence += ", ".join(f"{method} {a} of {b}" for method, (a, b) in per.items()) + "."
    share = near / total
    return ("holds" if share >= 0.9 else "holds in part" if share >= 0.5 else "does not hold"), evidence


claims = {
    **theorems,
    "V14": _count_claim("out-of-sample", "ABDiff", 11),
    "V15": _count_claim("out-of-sample", "ARE", 9),
    "V16": best_on_both,
    "V17": close_where_not_best,
    "V18": lowest_gap_in_sample,
    "V19": _count_claim("in-sample", "ARE", 7),
    "V20": as_many_as_fair_pca,
    "V21": convex_methods_separate_least,
    "V22": no_result_on_faces,
    "V23": faces_of_the_subset,
    "V24": protocol_gives_the_tables,
}
