"""Tables and sentences from the judged rows of the tabular comparison of Lee et al. (2023)."""

from itertools import pairwise

import numpy as np
import pandas as pd

from . import kleindessner2023_methods as rival_methods
from . import session
from .catalogue import experiment
from .kleindessner2023_judge import METRICS
from .lee2023_splits import NAMES
from .lee2023_table import CONTROL, FAMILIES, GAP_DIRECTIONS, MIN_MAX, NO_VARIANCE, STEPS, label
from .store import read_results

RIVALS = "kleindessner2023-table"
#: Ours in the figure that shows all methods; the tables have every m.
SHOWN = (0, 2, 10, 25)
#: What stands against m: metric, protocols.
PRICE = (
    ("%Var", ("in sample", "released")),
    ("covariance gap", ("in sample", "held-out")),
    ("AUC of the group (linear)", ("in sample", "held-out")),
    ("AUC of the group (kernel)", ("in sample", "held-out")),
)
#: Below this two subspaces, or a subspace and what it must avoid, agree to rounding.
ROUNDING = 1e-7


def rivals(dataset: str, k: int) -> pd.DataFrame:
    """The stored rows of all earlier methods on the same splits, by the same judge."""
    names = [name for name, task in experiment(RIVALS).tasks().items() if task["dataset"] == dataset and task["k"] == k]
    rows = read_results(RIVALS, names=names).drop(columns="task")
    return rows[rows["protocol"].isin(["released", "held-out", "in sample", "fit"])].assign(source="full run")


def best_source(rows: pd.DataFrame) -> pd.DataFrame:
    """Of every method and table the rows of the full run where there are any, otherwise those of this build."""
    return session.best_source(rows, "dataset", "method")


def one_judge(results: pd.DataFrame, dataset: str, k: int) -> pd.DataFrame:
    """Mean and deviation over the published splits of every method, rivals first, by protocol, metric and source."""
    ours = results[results["dataset"] == dataset]
    rows = pd.concat([rivals(dataset, k), ours], ignore_index=True)
    keys = ["method", "protocol", "metric", "source"]
    found = rows.groupby(keys, sort=False)["value"].agg(
        mean="mean", std=lambda v: float(np.std(v.dropna(), axis=0)) if v.count() else np.nan, splits="count"
    )
    families = [label(family, m) for family in (*FAMILIES[:4], CONTROL) for m in GAP_DIRECTIONS]
    order = {name: i for i, name in enumerate([*rival_methods.METHODS, MIN_MAX, *families])}
    found = found.reset_index().sort_values("method", key=lambda names: names.map(order), kind="stable")
    return found[found["splits"] > 0].reset_index(drop=True)


def shown_methods(found: pd.DataFrame) -> pd.DataFrame:
    """The published protocol of all rivals and of ours with a few m."""
    names = [
        *rival_methods.METHODS,
        MIN_MAX,
        *(label(family, m) for family in ("offline", "FNPM") for m in SHOWN),
    ]
    some = found[(found["protocol"] == "released") & found["metric"].isin(METRICS)]
    return some[some["method"].isin(names)]


def wide(found: pd.DataFrame, protocol: str, metrics: list[str]) -> pd.DataFrame:
    """One row a method, one column a metric: mean and deviation over the splits; the full run where there is one."""
    some = found[(found["protocol"] == protocol) & found["metric"].isin(metrics)]
    full = some["source"] == "full run"
    some = some[full | ~full.groupby([some["method"], some["metric"]]).transform("any")]
    digits = [2 if metric.startswith("%") else 3 for metric in some["metric"]]
    pairs = zip(some["mean"], some["std"], digits, strict=True)
    text = some.assign(text=[f"{mean:.{d}f} ± {std:.{d}f}" for mean, std, d in pairs])
    table = text.pivot(index="method", columns="metric", values="text")
    columns = [metric for metric in metrics if metric in table.columns]
    return table.reindex(index=some["method"].unique(), columns=columns).fillna("–").reset_index()


def not_applicable(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Methods without an answer to judge, with the reason."""
    some = results[(results["dataset"] == dataset) & results["value"].isna() & (results["protocol"] == "released")]
    counted = some.groupby(["method", "reason"], sort=False)["split"].nunique()
    return counted.rename("splits").reset_index()


# -- offline against FNPM ---------------------------------------------------------------------------------------------


def distances(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """How far FNPM is from both offline answers, by m: largest and mean sine over the splits, and what decides it."""
    fit = _fit_rows(results, dataset)
    rows = []
    for m in GAP_DIRECTIONS:
        some = fit[fit["method"] == label("FNPM", m)]
        if some.empty:
            continue
        value = some.pivot(index="split", columns="metric", values="value")
        others = ["sine of W to P_m", "ratio of phase 1", "ratio of phase 2", "constraint"]
        value = value.reindex(columns=[*others, *SINES])
        rows.append(
            {
                "m": m or "mean",
                "|σ(m+1)/σ(m)| of the gap, largest": value["ratio of phase 1"].max(),
                "λ(k+1)/λ(k), largest": value["ratio of phase 2"].max(),
                "sin(W, P_m), median": value["sine of W to P_m"].median(),
                **{f"sin({short}), median": value[name].median() for name, short in SINES.items()},
                "part of FNPM in span(U), largest": value["constraint"].max(),
            }
        )
    return pd.DataFrame(rows)


SINES = {
    "sine to offline, second moment": "FNPM, offline S",
    "sine between offline answers": "offline S, offline Q",
    "sine to offline": "FNPM, offline Q",
}


def convergence(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Every fit of FNPM as ``m, split, phase, rate, sine``: the rate is the ratio to the power of the steps."""
    fit = _fit_rows(results, dataset)
    parts = []
    for m in GAP_DIRECTIONS:
        value = fit[fit["method"] == label("FNPM", m)].pivot(index="split", columns="metric", values="value")
        pairs = [("W to P_m", "ratio of phase 1", "sine of W to P_m")] if m else []
        # With nothing to iterate on in phase 1, phase 2 alone decides.
        pairs += [] if m else [("V to the exact answer, mean", "ratio of phase 2", "sine to offline, second moment")]
        for what, ratio, sine in pairs:
            if {ratio, sine} <= set(value.columns):
                rate = value[ratio] ** (STEPS[0] if m else STEPS[1])
                parts.append(pd.DataFrame({"m": m, "what": what, "rate": rate, "sine": value[sine]}).reset_index())
    if not parts:
        return pd.DataFrame(columns=["split", "m", "what", "rate", "sine"])
    return pd.concat(parts, ignore_index=True).dropna()


def metric_differences(found: pd.DataFrame) -> pd.DataFrame:
    """FNPM less offline (gap of covariances) and less offline with second moments, mean over the splits, by m."""
    columns = [("released", metric) for metric in METRICS]
    columns += [("held-out", metric) for metric in ("%Acc (Kernel SVM)", "Delta_DP (Kernel SVM)", *_AREAS)]
    value = found[found["source"] == _source(found)].set_index(["protocol", "metric", "method"])["mean"]
    rows = []
    for m in GAP_DIRECTIONS:
        for other in ("offline", "offline, second moment"):
            row = {"m": m or "mean", "FNPM less": other}
            for protocol, metric in columns:
                pair = [value.get((protocol, metric, label(family, m)), np.nan) for family in ("FNPM", other)]
                row[metric if protocol == "released" else f"{metric}, held out"] = pair[0] - pair[1]
            rows.append(row)
    table = pd.DataFrame(rows)
    return table.dropna(axis=1, how="all").dropna(axis=0, how="all", subset=table.columns[2:].intersection(["%Var"]))


_AREAS = ("AUC of the group (linear)", "AUC of the group (kernel)")


def sine_to_fair_pca(results: pd.DataFrame, dataset: str) -> float:
    """Largest sine between ``mean`` and Fair PCA over the splits: zero to rounding, as they solve one problem."""
    fit = _fit_rows(results, dataset)
    return float(fit.loc[fit["metric"] == "sine to Fair PCA", "value"].max())


def mean_is_fair_pca(results: pd.DataFrame, dataset: str, k: int) -> str:
    """The same in words, with the largest difference in any judged number that does not depend on signs."""
    ours = best_source(results)
    ours = ours[(ours["dataset"] == dataset) & (ours["method"] == "offline, mean")]
    both = ours.merge(
        rivals(dataset, k).query("method == 'Fair PCA'"), on=["split", "protocol", "metric"], suffixes=("", "_fair")
    )
    both = both[~both["metric"].str.contains("MLP")].dropna(subset=["value", "value_fair"])
    worst = float((both["value"] - both["value_fair"]).abs().max())
    return (
        f"offline with the constraint mean and Fair PCA: largest sine of an angle between their spans over the splits "
        f"{sine_to_fair_pca(results, dataset):.1e}; largest difference of {len(both)} judged numbers that signs of "
        f"components do not change: {worst:.1e}."
    )


# -- what removing more costs and gives -------------------------------------------------------------------------------


def price(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """``family, m, metric, protocol, mean, std`` of every m that leaves variance: variance, gap, readers' areas."""
    rows = best_source(results)
    rows = rows[rows["dataset"] == dataset]
    parts = []
    for family in ("offline", "FNPM", CONTROL):
        for m in GAP_DIRECTIONS:
            some = rows[rows["method"] == label(family, m)]
            kept = some.loc[(some["metric"] == "%Var") & (some["protocol"] == "in sample"), "value"]
            if not (kept > 100.0 * NO_VARIANCE).any():
                continue
            for metric, protocols in PRICE:
                for protocol in protocols:
                    value = some.loc[(some["metric"] == metric) & (some["protocol"] == protocol), "value"].dropna()
                    if len(value):
                        spread = float(np.std(value, axis=0))
                        parts.append((family, m, metric, protocol, float(value.mean(axis=0)), spread, len(value)))
    return pd.DataFrame(parts, columns=["family", "m", "metric", "protocol", "mean", "std", "splits"])


def does_it_help(results: pd.DataFrame, dataset: str) -> str:
    """Gaps and readers' areas from the constraint mean to the largest m judged, in words."""
    found, text = price(results, dataset), []
    for (family, metric), some in found.groupby(["family", "metric"], sort=False):
        if metric == "%Var":
            continue
        last = some["m"].max()
        if last == 0:
            continue
        value = dict(zip(zip(some["protocol"], some["m"], strict=True), some["mean"], strict=True))
        ends = [
            f"{where} {value[where, 0]:.3f} → {value[where, last]:.3f}" for where in dict.fromkeys(some["protocol"])
        ]
        text.append(f"{family}, {metric}, from the mean alone to m = {last}: {', '.join(ends)}")
    return ". ".join(text) + "." if text else "Only the mean alone can be removed here: there are too few features."


def lowest(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """For each family and reader the m with the smallest held-out area, beside that of the constraint mean."""
    found = price(results, dataset)
    rows = []
    for metric in _AREAS:
        some = found[(found["metric"] == metric) & (found["protocol"] == "held-out")]
        for family, line in some.groupby("family", sort=False):
            best, start = line.loc[line["mean"].idxmin()], line[line["m"] == 0].iloc[0]
            kept = found[(found["family"] == family) & (found["metric"] == "%Var") & (found["protocol"] == "released")]
            kept = kept.set_index("m")["mean"]
            steps = [b <= a for a, b in pairwise(line.sort_values("m")["mean"])]
            rows.append(
                {
                    "family": family,
                    "reader": metric.partition("(")[2][:-1],
                    "mean": f"{start['mean']:.3f} ± {start['std']:.3f}",
                    "smallest": f"{best['mean']:.3f} ± {best['std']:.3f}",
                    "at m": best["m"] or "mean",
                    "steps of m that lower it": f"{sum(steps)} of {len(steps)}",
                    "%Var, mean": kept[0],
                    "%Var, there": kept[best["m"]],
                }
            )
    return pd.DataFrame(rows)


def against_random(results: pd.DataFrame, dataset: str) -> str:
    """Whether gap directions do more than as much lost variance: the kernel reader at the variance of the control.

    Between the m that were judged, the area of the offline answers is interpolated linearly in the variance kept.
    """
    found = price(results, dataset)
    area = found[(found["metric"] == "AUC of the group (kernel)") & (found["protocol"] == "held-out")]
    kept = found[(found["metric"] == "%Var") & (found["protocol"] == "released")]
    value = area.merge(kept, on=["family", "m"], suffixes=("", "_kept"))[["family", "m", "mean", "mean_kept"]]
    offline = value[value["family"] == "offline"].sort_values("mean_kept")
    random = value[(value["family"] == CONTROL) & (value["m"] > 0)]
    if area.empty:
        return "No reader was judged: only the full run has readers."
    if len(offline) < 2:
        return "There is one m only; nothing can be compared with the control."
    random = random[random["mean_kept"].between(offline["mean_kept"].min(), offline["mean_kept"].max())]
    if random.empty:
        return "The control has no answer in the range of variances of the offline ones."
    ours = np.interp(random["mean_kept"], offline["mean_kept"], offline["mean"])
    lower = int((ours < random["mean"]).sum(axis=0))
    pairs = zip(random["m"], random["mean_kept"], random["mean"], ours, strict=True)
    shown = [f"m = {m}: {variance:.2f} % kept, {seen:.3f} against {own:.3f}" for m, variance, seen, own in pairs]
    return (
        f"Area of the kernel reader on the test part with random directions against that with gap directions at the "
        f"same variance: {'; '.join(shown)}. Gap directions have the smaller area in {lower} of {len(random)}."
    )


# -- the authors' selection -------------------------------------------------------------------------------------------


def released_selection(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Where the authors' offline program leaves its constraint: its answer beside that from an explicit basis."""
    rows = best_source(results)
    rows = rows[rows["dataset"].isin([dataset, NAMES[dataset]])]
    parts = []
    for name, table in rows.groupby("dataset", sort=False):
        value = table.groupby(["method", "protocol", "metric"])["value"].agg(["mean", "max"])
        mean, top = value["mean"], value["max"]
        for m in GAP_DIRECTIONS:
            released = label("as released", m)
            worst = top.get((released, "fit", "constraint"), np.nan)
            if not worst > ROUNDING:
                continue
            parts.append(
                {
                    "table": name,
                    "m": m or "mean",
                    "largest part in span(U)": worst,
                    "%Var, as released": mean.get((released, "released", "%Var"), np.nan),
                    "%Var, explicit basis": mean.get((label("offline", m), "released", "%Var"), np.nan),
                    "mean gap in sample, as released": mean.get((released, "in sample", "mean gap"), np.nan),
                }
            )
    columns = ["table", "m", "largest part in span(U)", "%Var, as released", "%Var, explicit basis"]
    return pd.DataFrame(parts, columns=[*columns, "mean gap in sample, as released"])


def _fit_rows(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    rows = best_source(results)
    return rows[(rows["dataset"] == dataset) & (rows["protocol"] == "fit")]


def _source(found: pd.DataFrame) -> str:
    ours = found[found["method"].str.startswith("FNPM")]
    return "full run" if "full run" in set(ours["source"]) else "this build"
