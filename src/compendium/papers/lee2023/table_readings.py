"""Tables and sentences from the judged rows of the tabular comparison of Lee et al. (2023)."""

import re

import numpy as np
import pandas as pd

from evenspan.displays.method_looks import unregistered

from ...records import in_order, spread
from ...store import read_results
from ..kleindessner2023.protocol import METHODS as RIVALS
from ..kleindessner2023.protocol import METRICS
from . import table as own
from .table import AS_RELEASED, CONTROL, MIN_MAX, NAMES, SECOND_MOMENT, label

FAMILIES = ("offline", SECOND_MOMENT, "FNPM", AS_RELEASED, CONTROL)
#: Ours in the figure that shows all methods; the tables have every m.
SHOWN = (0, 2, 10, 25)
_, KERNEL = AREAS = ("AUC of the group (linear)", "AUC of the group (kernel)")
#: What stands against m: metric, protocols.
PRICE = {"%Var": ("in sample", "released")} | dict.fromkeys(("covariance gap", *AREAS), ("in sample", "held-out"))
HELD_OUT = [f"{metric} ({name})" for name in ("Kernel SVM", "Linear SVM") for metric in ("%Acc", "Delta_DP")]
HELD_OUT += ["mean gap", "covariance gap", *AREAS]
#: Below this two subspaces, or a subspace and what it must avoid, agree to rounding.
ROUNDING = 1e-7
NONE = pd.Series(dtype=float)
#: A quoted number is met where ours differs by no more than half of its last digit.
MET = 0.5 + 1e-6


def directions(rows: pd.DataFrame) -> list[int]:
    """The numbers m of gap directions among the methods, 0 for the mean alone."""
    found = (re.fullmatch(r".*, (?:m=(\d+)|mean)", name) for name in rows["method"].unique())
    return sorted({int(one[1] or 0) for one in found if one})


def over_splits(rows: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Mean, deviation and number of the values over the splits, by some columns."""
    return spread(rows.dropna(subset=["value"]), keys, "mean", "std", number="splits")


def rivals(dataset: str, k: int) -> pd.DataFrame:
    """The stored rows of all earlier methods on the same splits, by the same judge."""
    protocols = ["released", "held-out", "in sample", "fit"]
    return read_results("kleindessner2023-table", dataset=dataset, k=k, protocol=protocols).drop(columns="task")


def one_judge(results: pd.DataFrame, dataset: str, k: int) -> pd.DataFrame:
    """Mean and deviation over the published splits of every method, rivals first, by protocol and metric."""
    ours = results[results["dataset"] == dataset]
    found = over_splits(pd.concat([rivals(dataset, k), ours], ignore_index=True), "method", "protocol", "metric")
    names = [label(family, m) for family in FAMILIES for m in directions(ours)]
    return in_order(found, [*RIVALS, MIN_MAX, *names])


def shown_methods(found: pd.DataFrame) -> pd.DataFrame:
    """The published protocol of all rivals and of ours with a few m."""
    names = [*RIVALS, MIN_MAX, *(label(family, m) for family in ("offline", "FNPM") for m in SHOWN)]
    names += unregistered(found["method"])  # one's own
    some = found[(found["protocol"] == "released") & found["metric"].isin(METRICS)]
    return some[some["method"].isin(names)].assign(source="ours")


def wide(found: pd.DataFrame, protocol: str, metrics: list[str]) -> pd.DataFrame:
    """One row a method, one column a metric: mean and deviation over the splits."""
    some = found[(found["protocol"] == protocol) & found["metric"].isin(metrics)]
    digits = [2 if metric.startswith("%") else 3 for metric in some["metric"]]
    pairs = zip(some["mean"], some["std"], digits, strict=True)
    text = some.assign(text=[f"{mean:.{d}f} ± {std:.{d}f}" for mean, std, d in pairs])
    table = text.pivot(index="method", columns="metric", values="text")
    columns = [metric for metric in metrics if metric in table.columns]
    return table.reindex(index=some["method"].unique(), columns=columns).fillna("–").reset_index()


def not_applicable(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Methods without an answer to judge, with the reason."""
    some = results[(results["dataset"] == dataset) & results["value"].isna() & (results["protocol"] == "released")]
    return some.groupby(["method", "reason"], sort=False)["split"].nunique().rename("splits").reset_index()


# -- offline against FNPM ----------------------------------------------------------------------------------------------


def fits(results: pd.DataFrame, dataset: str, m: int) -> pd.DataFrame:
    """What is told of the fits of FNPM with m: one line a split, the metrics across."""
    fit = results[(results["dataset"] == dataset) & (results["protocol"] == "fit")]
    return fit[fit["method"] == label("FNPM", m)].pivot(index="split", columns="metric", values="value")


def distances(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """How far FNPM is from both offline answers, by m: largest and mean sine over the splits, and what decides it."""
    columns = {
        "|σ(m+1)/σ(m)| of the gap, largest": ("ratio of phase 1", "max"),
        "λ(k+1)/λ(k), largest": ("ratio of phase 2", "max"),
        "sin(W, P_m), median": ("sine of W to P_m", "median"),
        "sin(FNPM, offline S), median": ("sine to offline, second moment", "median"),
        "sin(offline S, offline Q), median": ("sine between offline answers", "median"),
        "sin(FNPM, offline Q), median": ("sine to offline", "median"),
        "part of FNPM in span(U), largest": ("constraint", "max"),
    }
    every = {m or "mean": fits(results, dataset, m) for m in directions(results)}
    return pd.DataFrame(
        {"m": m} | {name: value.get(metric, NONE).agg(how) for name, (metric, how) in columns.items()}
        for m, value in every.items()
        if len(value)
    )


def convergence(results: pd.DataFrame, dataset: str, steps: int) -> pd.DataFrame:
    """Every fit of FNPM as ``split, m, what, rate, sine``: the rate is the ratio to the power of the steps."""
    parts = [pd.DataFrame(columns=["split", "m", "what", "rate", "sine"])]
    for m in directions(results):
        what, ratio, sine = "W to P_m", "ratio of phase 1", "sine of W to P_m"
        if m == 0:  # with nothing to iterate on in phase 1, phase 2 alone decides
            what, ratio, sine = "V to the exact answer, mean", "ratio of phase 2", "sine to offline, second moment"
        value = fits(results, dataset, m)
        if {ratio, sine} <= set(value.columns):
            one = {"m": m, "what": what, "rate": value[ratio] ** steps, "sine": value[sine]}
            parts.append(pd.DataFrame(one).reset_index())
    return pd.concat(parts[1:] or parts, ignore_index=True).dropna()


def metric_differences(found: pd.DataFrame) -> pd.DataFrame:
    """FNPM less offline (gap of covariances) and less offline with second moments, mean over the splits, by m."""
    columns = {metric: ("released", metric) for metric in METRICS}
    columns |= {f"{name}, held out": ("held-out", name) for name in (*HELD_OUT[:2], *AREAS)}
    value = found.set_index(["protocol", "metric", "method"])["mean"].unstack("method").reindex(list(columns.values()))
    nothing = pd.Series(np.nan, index=value.index)
    rows = []
    for m in directions(found):
        for other in ("offline", SECOND_MOMENT):
            fnpm, exact = (value.get(label(family, m), nothing) for family in ("FNPM", other))
            rows.append((m or "mean", other, *(fnpm - exact)))
    table = pd.DataFrame(rows, columns=["m", "FNPM less", *columns]).dropna(axis=1, how="all")
    return table.dropna(how="all", subset=table.columns.intersection(["%Var"]))


def sine_to_fair_pca(results: pd.DataFrame, dataset: str) -> float:
    """Largest sine between ``mean`` and Fair PCA over the splits: zero to rounding, as they solve one problem."""
    chosen = (results["dataset"] == dataset) & (results["metric"] == "sine to Fair PCA")
    return float(results.loc[chosen, "value"].max())


def mean_is_fair_pca(results: pd.DataFrame, dataset: str, k: int) -> str:
    """The same in words, with the largest difference in any judged number that does not depend on signs."""
    ours = results[(results["dataset"] == dataset) & (results["method"] == "offline, mean")]
    fair = rivals(dataset, k).query("method == 'Fair PCA'")
    both = ours.merge(fair, on=["split", "protocol", "metric"], suffixes=("", "_fair"))
    both = both[~both["metric"].str.contains("MLP")].dropna(subset=["value", "value_fair"])
    text = (
        "offline with the constraint mean and Fair PCA: largest sine of an angle between their spans over the splits "
        f"{sine_to_fair_pca(results, dataset):.1e}"
    )
    if len(both):
        worst = (both["value"] - both["value_fair"]).abs().max()
        text += (
            f"; largest difference of {len(both)} judged numbers that signs of components do not change: {worst:.1e}"
        )
    return text + "."


# -- what removing more costs and gives --------------------------------------------------------------------------------


def price(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """``family, m, metric, protocol, mean, std, splits`` of variance, gaps and readers' areas, if variance is left."""
    rows = results[results["dataset"] == dataset].dropna(subset=["value"])
    cells = [
        (label(family, m), family, m, metric, protocol)
        for family in ("offline", "FNPM", CONTROL)
        for m in directions(rows)
        for metric, protocols in PRICE.items()
        for protocol in protocols
    ]
    left = rows[
        (rows["metric"] == "%Var") & (rows["protocol"] == "in sample") & (rows["value"] > 100 * own.NO_VARIANCE)
    ]
    value = rows[rows["method"].isin(left["method"])].groupby(["method", "metric", "protocol"])["value"]
    found = value.agg(mean=lambda values: values.mean(axis=0), std=lambda values: np.std(values, axis=0), splits="size")
    cells = pd.DataFrame(cells, columns=["method", "family", "m", "metric", "protocol"])
    return cells.merge(found.reset_index(), on=["method", "metric", "protocol"]).drop(columns="method")


def references(found: pd.DataFrame) -> pd.DataFrame:
    """What PCA, LEACE and a method of one's own leave on the test parts, of ``one_judge``."""
    return found[
        found["method"].isin(["PCA", "LEACE", *unregistered(found["method"])])
        & found["protocol"].isin(["released", "held-out"])
    ]


def does_it_help(results: pd.DataFrame, dataset: str) -> str:
    """Gaps and readers' areas from the constraint mean to the largest m judged, in words."""
    found, text = price(results, dataset), []
    for (family, metric), some in found[found["metric"] != "%Var"].groupby(["family", "metric"], sort=False):
        last, value = some["m"].max(), some.set_index(["protocol", "m"])["mean"]
        if last > 0:
            ends = [f"{where} {value[where, 0]:.3f} → {value[where, last]:.3f}" for where in some["protocol"].unique()]
            text.append(f"{family}, {metric}, from the mean alone to m = {last}: {', '.join(ends)}")
    return ". ".join(text) + "." if text else "Only the mean alone can be removed here: there are too few features."


def on_test_part(results: pd.DataFrame, dataset: str, area: str) -> pd.DataFrame:
    """``family, m, mean, std, kept``: the area of a reader beside the variance kept, on the test part."""
    found = price(results, dataset)
    kept = found[(found["metric"] == "%Var") & (found["protocol"] == "released")]
    kept = kept.rename(columns={"mean": "kept"})[["family", "m", "kept"]]
    return found[(found["metric"] == area) & (found["protocol"] == "held-out")].merge(kept, on=["family", "m"])


def lowest(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """For each family and reader the m with the smallest held-out area, beside that of the constraint mean."""
    rows = []
    for area in AREAS:
        for family, line in on_test_part(results, dataset, area).groupby("family", sort=False):
            line = line.sort_values("m")
            best, start = line.loc[line["mean"].idxmin()], line[line["m"] == 0].iloc[0]
            steps = np.diff(line["mean"]) <= 0
            rows.append(
                {
                    "family": family,
                    "reader": area.partition("(")[2][:-1],
                    "mean": f"{start['mean']:.3f} ± {start['std']:.3f}",
                    "smallest": f"{best['mean']:.3f} ± {best['std']:.3f}",
                    "at m": best["m"] or "mean",
                    "steps of m that lower it": f"{sum(steps)} of {len(steps)}",
                    "%Var, mean": start["kept"],
                    "%Var, there": best["kept"],
                }
            )
    return pd.DataFrame(rows)


def against_random(results: pd.DataFrame, dataset: str) -> str:
    """Whether gap directions do more than as much lost variance: the kernel reader at the variance of the control.

    Between the m that were judged, the area of the offline answers is interpolated linearly in the variance kept.
    """
    value = on_test_part(results, dataset, KERNEL)
    offline = value[value["family"] == "offline"].sort_values("kept")
    if value.empty:
        return "No classifier was judged: classifiers need the raw data."
    if len(offline) < 2:
        return "There is one m only; nothing can be compared with the control."
    within = value["kept"].between(offline["kept"].min(), offline["kept"].max())
    random = value[(value["family"] == CONTROL) & (value["m"] > 0) & within]
    if random.empty:
        return "The control has no answer in the range of variances of the offline ones."
    random = random.assign(own=np.interp(random["kept"], offline["kept"], offline["mean"]))
    shown = [f"m = {row.m}: {row.kept:.2f} % kept, {row.mean:.3f} against {row.own:.3f}" for row in random.itertuples()]
    return (
        "Area of the kernel classifier on the test part with random directions against that with gap directions at "
        f"the same variance: {'; '.join(shown)}. Gap directions have the smaller area in "
        f"{(random['own'] < random['mean']).sum()} of {len(random)}."
    )


# -- the authors' selection --------------------------------------------------------------------------------------------


def released_selection(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Where the authors' offline program leaves its constraint: its answer beside that from an explicit basis."""
    columns = {
        "%Var, as released": (AS_RELEASED, "released", "%Var"),
        "%Var, explicit basis": ("offline", "released", "%Var"),
        "mean gap in sample, as released": (AS_RELEASED, "in sample", "mean gap"),
    }
    parts = []
    for name in (dataset, NAMES.get(dataset)):
        table = results[results["dataset"] == name]
        value = table.groupby(["method", "protocol", "metric"])["value"].agg(["mean", "max"])
        for m in directions(table):
            worst = value["max"].get((label(AS_RELEASED, m), "fit", "constraint"), np.nan)
            if worst > ROUNDING:
                cells = ((label(family, m), *cell) for family, *cell in columns.values())
                parts.append((name, m or "mean", worst, *(value["mean"].get(cell, np.nan) for cell in cells)))
    return pd.DataFrame(parts, columns=["table", "m", "largest part in span(U)", *columns])


# -- beside what the authors distribute --------------------------------------------------------------------------------


def beside_quoted(results: pd.DataFrame, dataset: str, k: int) -> pd.DataFrame:
    """Ours on the paper's own table, mean and deviation over the splits, beside the numbers in the authors' file."""
    rows = results[(results["dataset"] == NAMES.get(dataset)) & (results["protocol"] == "released")]
    table = own.quoted(dataset, k).merge(over_splits(rows, "method", "metric"), how="left")
    units = table["metric"].map({metric: 10.0**-digits for metric, digits in own.QUOTED.items()})
    return table.assign(digits=((table["mean"] - table["quoted"]) / units).round(6))


def agreement(table: pd.DataFrame) -> str:
    """How many of the quoted numbers are met at their printed digits, by metric and program."""
    have = table.dropna(subset=["mean"])
    if have.empty:
        return "There is nothing to compare: ours on this table needs the raw data."
    few, text = have["splits"] < have["splits"].max(), []
    complete = have[~few]
    for name, some in complete.groupby(complete["method"].str.partition(",")[0], sort=False):
        met = (some["digits"].abs() <= MET).groupby(some["metric"], sort=False).agg(["sum", "size"])
        text.append(f"{name}: " + ", ".join(f"{row.Index} {row.sum} of {row.size}" for row in met.itertuples()))
    tail = f" {few.sum()} more were judged on fewer splits and are not counted." if few.any() else ""
    return "Equal to the quoted number at its last digit: " + "; ".join(text) + "." + tail


def off_by_more(table: pd.DataFrame) -> pd.DataFrame:
    """The quoted numbers that ours do not meet at their printed digits."""
    other = table[~(table["digits"].abs() <= MET)]
    reasons = other["mean"].map(lambda mean: "" if pd.notna(mean) else "ours has no answer to judge")
    shown = other.round({"mean": 4, "std": 4, "digits": 1})
    return shown.drop(columns="splits").assign(reason=reasons).rename(columns={"mean": "ours"})


def oddities(table: pd.DataFrame) -> str:
    """Where the quoted MMD is larger than ours by half and more, although the variance is equal at its digits."""
    if table.empty:
        return "The authors' file has no MMD for this setting."
    value = table.set_index(["metric", "method"])
    met = value.loc["%Var", "digits"].abs() <= MET
    mmd = value.loc["MMD^2"].dropna(subset=["mean"])
    odd = mmd[(mmd["quoted"] > 1.5 * mmd["mean"] + 0.0005) & met.reindex(mmd.index)]
    cells = [f"{name} ({row.quoted:.3f}, ours {row['mean']:.4f})" for name, row in odd.iterrows()]
    return (
        f"Variance equal at the quoted digits, but a quoted squared MMD larger than ours by half or more: "
        f"{', '.join(cells) or 'none'}."
    )


def second_protocol(results: pd.DataFrame, dataset: str, k: int) -> pd.DataFrame:
    """PCA under the program's second protocol beside the file's numbers."""
    rows = results[(results["dataset"] == NAMES.get(dataset)) & (results["protocol"] == "second")]
    value = rows.groupby("metric")["value"].mean()
    pairs = zip(own.SECOND_METRICS, own.SECOND.get((dataset, k), ()), strict=False)
    return pd.DataFrame([(m, q, value.get(m, np.nan)) for m, q in pairs], columns=["metric", "quoted", "ours"])


def other_splits(dataset: str, k: int) -> str:
    """Whether the file's row of fair kernel PCA is that of the smaller published table, which the rivals' run has."""
    if (dataset, k) not in own.FAIR_KERNEL_PCA:
        reason = ": it took too long." if (dataset, k) in own.SECOND else "."
        return f"The file has no row of fair kernel PCA here{reason}"
    rows = rivals(dataset, k)
    rows = rows[(rows["method"] == "Fair Kernel PCA") & (rows["protocol"] == "released")]
    value = rows.groupby("metric")["value"].mean()
    quoted_here = dict(zip(HELD_OUT[:4], own.FAIR_KERNEL_PCA[dataset, k], strict=True))
    met = sum(abs(round(value[metric], 2) - number) < 1e-9 for metric, number in quoted_here.items())
    shown = [f"{name} {said:g} (ours on the published splits {value[name]:.4g})" for name, said in quoted_here.items()]
    told = f"The file's row of fair kernel PCA: {', '.join(shown)}; {met} of 4 are equal to ours on the other table."
    if (dataset, k) == (own.STALE["table"], own.STALE["k"]):
        told += f" Its %Var of {own.STALE['method']} is {own.STALE['quoted']:g}, where PCA keeps {own.STALE['pca']:g}."
    return told
