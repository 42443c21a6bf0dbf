"""Claims of Vu et al. (2022) about their tables: counted in the printed tables, and again in our numbers.

The answer is that of the printed tables, because the claims are about them; the evidence gives both counts.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from .. import datasets, paths
from .claim_rules import rule
from .store import read_results
from .vu2022_protocol import DATASETS, UNSCALED
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
        text += f" Our run with the authors' splits, folds and starts: {len(best(mine, method))} of {len(mine)} (LFW "
        text += "by its stand-in)."
    return text


def _count_claim(split: str, metric: str, claimed: int) -> tuple[str, str]:
    """V14, V15, V19: on how many data sets RFPCA is best."""
    n = len(best(printed(split, metric)))
    return ("holds" if n == claimed else "does not hold"), _counted(split, metric)


def best_on_both() -> tuple[str, str]:
    """V16: best in both criteria on 5 data sets."""

    def both(source) -> list[str]:
        found = [source("out-of-sample", metric) for metric in ("ABDiff", "ARE")]
        return sorted(set(best(found[0])) & set(best(found[1])))

    theirs, mine = both(printed), both(ours)
    evidence = f"Printed: {len(theirs)} ({', '.join(theirs)})."
    if len(ours("out-of-sample", "ARE")):
        evidence += f" Our run: {len(mine)} ({', '.join(mine) or 'none'})."
    return ("holds" if len(theirs) == rule("V16", "data sets") else "does not hold"), evidence


def close_where_not_best() -> tuple[str, str]:
    """V17: where RFPCA is not best it is close: above the best method by no more than a share of its value."""
    near = rule("V17", "close")

    def excess(source) -> Mapping[str, float]:
        found = {}
        for metric in ("ABDiff", "ARE"):
            wide = source("out-of-sample", metric)
            ratio = wide[RFPCA] / wide.min(axis=1) - 1.0
            found |= {f"{metric} {name}": float(value) for name, value in ratio.items() if value > 0}
        return found

    theirs, mine = excess(printed), excess(ours)
    far = {name: value for name, value in theirs.items() if value > near}
    worst = sorted(far, key=far.get, reverse=True)
    evidence = f"Printed: not best in {len(theirs)} cells, more than {near * 100:g} % above the best in {len(far)}: "
    evidence += ", ".join(f"{name} {theirs[name]:.1%}" for name in worst) + "."
    if mine:
        evidence += f" Our run: not best in {len(mine)} cells, more than {near * 100:g} % above the best in "
        evidence += f"{sum(value > near for value in mine.values())}, at most {max(mine.values()):.1%}."
    share = len(far) / max(len(theirs), 1)
    part = share < rule("V17", "in part below")
    return ("holds" if not far else "holds in part" if part else "does not hold"), evidence


def lowest_gap_in_sample() -> tuple[str, str]:
    """V18: "all 14 data sets"; the table has one more."""
    wide = printed("in-sample", "ABDiff")
    n, total, claimed = len(best(wide)), len(wide), rule("V18", "data sets")
    answer = "holds" if n == total == claimed else "holds in part" if n == total else "does not hold"
    return answer, _counted("in-sample", "ABDiff") + f" The text speaks of {claimed} data sets."


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


def equations(d: int) -> tuple[int, int]:
    """Scalar equations that the released CFPCA adds for its mean constraint, and for its covariance blocks."""
    return d * (2 * d + 1), 2 * (d**2 + d * (d + 1))


def no_result_on_faces() -> tuple[str, str]:
    """V22: no result on LFW, and because of the dimension: the size of the released program there and elsewhere.

    An interior-point method factors a dense matrix with a row and a column for each equation. The dimension is the
    reason if that matrix fits no computer with the faces, and does fit with the data of every printed number.
    """
    sizes = pd.read_csv(paths.data("paper", "vu2022_table2_datasets.csv"), dtype=str, keep_default_na=False)
    sizes = sizes[sizes["metric"] == "d"].set_index("dataset")["value"].astype(int)
    tables = [printed(split, metric) for split in ("out-of-sample", "in-sample") for metric in ("ABDiff", "ARE")]
    missing = pd.concat([wide[[MEAN, BOTH]].isna() for wide in tables], axis=1)
    none = bool(missing.loc["LFW"].all())
    d, largest = int(sizes["LFW"]), int(sizes[~missing.any(axis=1).reindex(sizes.index)].max())
    (mean, covariance), fits = equations(d), rule("V22", "memory in bytes")
    # Of the smaller version on the faces, and of the larger one on the largest data with numbers.
    there, elsewhere = 8 * mean**2, 8 * sum(equations(largest)) ** 2
    answer = "does not hold" if not none else "holds" if elsewhere <= fits < there else "holds in part"
    rows = read_results("vu2022-tables")
    rows = rows[(rows["dataset"] == "lfw_24x24") & (rows["metric"] == "ARE") & (rows["protocol"] == "out-of-sample")]
    evidence = f"Printed for LFW: {int((~missing.loc['LFW']).sum(axis=0))} of {missing.shape[1]} numbers of the two "
    evidence += f"versions. At d = {d} the released program adds {mean:,} scalar equations for the mean constraint"
    evidence += f" and {covariance:,} more for the two covariance blocks, beside semidefinite blocks of order {2 * d}."
    evidence += f" A dense matrix of the first takes {there / 1e9:,.0f} GB, one of all of them at d = {largest}, the "
    evidence += f"largest with printed numbers, {elsewhere / 1e9:.2g} GB (limit {fits / 1e9:,.0f} GB)."
    for method in (MEAN, BOTH, "CFPCA-Mean Con. (linear)"):
        mine = rows[rows["method"] == method]
        if len(mine):
            done = int(np.isfinite(mine["value"]).sum(axis=0))
            evidence += f" {method} without that formulation: an answer on {done} of {len(mine)} splits."
    return answer, evidence + " The claim is about the released program: answered from its size, not from running it."


def faces_of_the_subset() -> tuple[str, str]:
    """V23: 2,000 faces of each sex, 24 x 24."""
    entry = datasets.entry("lfw_24x24")
    frame = pd.read_csv(paths.data("paper", "vu2022_table2_datasets.csv"), dtype=str, keep_default_na=False)
    told = frame[frame["dataset"] == "LFW"].set_index("metric")["value"]
    each, side = rule("V23", "faces of each sex"), rule("V23", "pixels of a side")
    same = (int(told["N"]), int(told["d"])) == (2 * each, side**2) == (entry.rows, entry.features)
    same &= set(entry.groups.values()) == {each}
    groups = ", ".join(f"{entry.group_names[g]} {n:,}" for g, n in entry.groups.items())
    evidence = f"Printed: {told['N']} rows, {told['d']} features. The stand-in, drawn so: {groups}; {entry.features} = "
    evidence += (
        f"{side} x {side} grey values. How many of the printed rows are women is not printed: the numbers agree."
    )
    return ("holds" if same else "does not hold"), evidence


def protocol_gives_the_tables() -> tuple[str, str] | None:
    """V24: the protocol, as stated and as the authors published it; judged by how many printed errors it gives again.

    The paper's sentence leaves splits, folds and starts open, and the authors' program fixes them: what is judged is
    the protocol with both. An error counts within 2 % or two standard deviations. The faces are left out, because ours
    are a stand-in for the paper's.
    """
    rows = read_results("vu2022-tables")
    if rows.empty:
        return None
    near, digits, total, per = 0, 0, 0, {}
    relative, deviations = rule("V24", "relative"), rule("V24", "standard deviations")
    for split in ("out-of-sample", "in-sample"):
        for metric in ("ABDiff", "ARE"):
            wide = printed(split, metric)
            some = rows[(rows["protocol"] == split) & (rows["metric"] == metric)]
            spread = some.groupby(["dataset", "method"])["value"].agg(["mean", lambda v: np.std(v, axis=0)])
            for (dataset, method), (mean, std) in spread.iterrows():
                if method not in METHODS or dataset in UNSCALED or not np.isfinite(mean):
                    continue
                value = wide.loc[DATASETS[dataset], method]
                if np.isnan(value):
                    continue
                inside = abs(mean - value) <= max(relative * value, deviations * std)
                near, digits, total = near + inside, digits + (abs(mean - value) <= 0.5e-4), total + 1
                done = per.setdefault(method, [0, 0])
                done[0], done[1] = done[0] + inside, done[1] + 1
    if not total:
        return None
    evidence = (
        "With the splits, folds, seeds and random starts of the authors' program (30 / 70, k = 3, 3 folds, 10 splits) "
        f"{near} of {total} printed numbers of Tables 1 and 3 without the faces come out within {relative * 100:g} % "
        f"or {deviations} standard deviations over the splits, {digits} of them in all four decimals: "
    )
    evidence += ", ".join(f"{method} {a} of {b}" for method, (a, b) in per.items()) + "."
    share = near / total
    part = share >= rule("V24", "in part from")
    return ("holds" if share >= rule("V24", "holds from") else "holds in part" if part else "does not hold"), evidence


claims = {
    **theorems,
    "V14": lambda: _count_claim("out-of-sample", "ABDiff", rule("V14", "data sets")),
    "V15": lambda: _count_claim("out-of-sample", "ARE", rule("V15", "data sets")),
    "V16": best_on_both,
    "V17": close_where_not_best,
    "V18": lowest_gap_in_sample,
    "V19": lambda: _count_claim("in-sample", "ARE", rule("V19", "data sets")),
    "V20": as_many_as_fair_pca,
    "V21": convex_methods_separate_least,
    "V22": no_result_on_faces,
    "V23": faces_of_the_subset,
    "V24": protocol_gives_the_tables,
}
