"""Tables from the rows of the tabular comparison of Lee et al. (2023)."""

import re

import numpy as np
import pandas as pd

from ...method_styles import unregistered
from ...records import in_order, spread
from ...store import read_results
from ...study import Study
from ..kleindessner2023.protocol import METHODS as RIVALS
from ..kleindessner2023.protocol import METRICS
from .table import AS_RELEASED, CONTROL, MIN_MAX, NAMES, NO_VARIANCE, QUOTED, SECOND_MOMENT, label, quoted

FAMILIES = ("offline", SECOND_MOMENT, "FNPM", AS_RELEASED, CONTROL)
SHOWN = (0, 2, 10, 25)
_, KERNEL = AREAS = ("AUC of the group (linear)", "AUC of the group (kernel)")
#: What stands against m: metric, protocols.
PRICE = {"%Var": ("in sample", "released")} | dict.fromkeys(("covariance gap", *AREAS), ("in sample", "held-out"))
HELD_OUT = [f"{metric} ({name})" for name in ("Kernel SVM", "Linear SVM") for metric in ("%Acc", "Delta_DP")]
HELD_OUT += ["mean gap", "covariance gap", *AREAS]
#: Below this two subspaces, or a subspace and what it must avoid, agree to rounding.
ROUNDING = 1e-7
#: A quoted number is met where ours differs by no more than half of its last digit.
MET = 0.5 + 1e-6


def directions(rows: pd.DataFrame) -> list[int]:
    """The numbers m of gap directions among the methods, 0 for the mean alone."""
    found = (re.fullmatch(r".*, (?:m=(\d+)|mean)", name) for name in rows["method"].unique())
    return sorted({int(one[1] or 0) for one in found if one})


def common_benchmark(study: Study, dataset: str, k: int) -> pd.DataFrame:
    """Mean and deviation over the published splits by protocol and metric: of earlier methods, as stored, and ours.

    A run of one's own stands alone."""
    parts = [study.results[study.results["dataset"] == dataset]]
    if not study.edited_reason:
        asked = {"dataset": dataset, "k": k, "protocol": ["released", "held-out", "in sample", "fit"]}
        parts.insert(0, read_results("kleindessner2023-table", **asked))
    rows = pd.concat(parts)
    found = spread(rows.dropna(subset=["value"]), ["method", "protocol", "metric"], "mean", "std", number="splits")
    names = [label(family, m) for family in FAMILIES for m in directions(rows)]
    return in_order(found, [*RIVALS, MIN_MAX, *names])


def shown_methods(found: pd.DataFrame) -> pd.DataFrame:
    """The published protocol of all earlier methods and of ours with a few m."""
    names = [*RIVALS, MIN_MAX, *(label(family, m) for family in ("offline", "FNPM") for m in SHOWN)]
    names += unregistered(found["method"])  # one's own
    some = found[(found["protocol"] == "released") & found["metric"].isin(METRICS)]
    return some[some["method"].isin(names)].assign(source="ours")


def fits(results: pd.DataFrame, dataset: str, m: int) -> pd.DataFrame:
    """What is measured of the fits of FNPM with m: one line a split, the metrics across."""
    fit = results[(results["dataset"] == dataset) & (results["protocol"] == "fit")]
    return fit[fit["method"] == label("FNPM", m)].pivot(index="split", columns="metric", values="value")


def convergence(results: pd.DataFrame, dataset: str, steps: int) -> pd.DataFrame:
    """Every fit of FNPM as ``split, m, what, rate, sine``: the rate is the ratio to the power of the steps."""
    parts = [pd.DataFrame(columns=["split", "m", "what", "rate", "sine"])]
    for m in directions(results):
        what, ratio, sine = "first phase: W to the gap directions", "ratio of phase 1", "sine of W to P_m"
        if m == 0:  # with nothing to iterate on in phase 1, phase 2 alone decides
            what, ratio = "second phase: V to the exact answer", "ratio of phase 2"
            sine = "sine to offline, second moment"
        value = fits(results, dataset, m)
        if {ratio, sine} <= set(value.columns):
            one = {"m": m, "what": what, "rate": value[ratio] ** steps, "sine": value[sine]}
            parts.append(pd.DataFrame(one).reset_index())
    return pd.concat(parts[1:] or parts, ignore_index=True).dropna()


def price(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """``family, m, metric, protocol, mean, std, splits`` of variance, gaps and classifiers, if variance is left."""
    rows = results[results["dataset"] == dataset].dropna(subset=["value"])
    in_sample = (rows["metric"] == "%Var") & (rows["protocol"] == "in sample")
    left = rows.loc[in_sample & (rows["value"] > 100 * NO_VARIANCE), "method"]
    found = spread(rows[rows["method"].isin(left)], ["method", "metric", "protocol"], "mean", "std", number="splits")
    parts = found.pop("method").str.extract(rf"^(offline|FNPM|{CONTROL}), (?:m=(\d+)|mean)$")
    found.insert(0, "family", parts[0])
    found.insert(1, "m", parts[1].fillna("0").astype(int))
    wanted = [(metric, protocol) for metric, protocols in PRICE.items() for protocol in protocols]
    found = found[pd.MultiIndex.from_frame(found[["metric", "protocol"]]).isin(wanted)].dropna(subset=["family"])
    names = ["offline", "FNPM", CONTROL, *PRICE, "in sample", "held-out"]
    return in_order(found, names, ["family", "m", "metric", "protocol"])


def against_random(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """``m, kept, random, gap``: area of the kernel classifier with random directions, and with gap directions.

    At the variance that the control keeps, if any: between the m that ran areas are interpolated linearly."""
    found = price(results, dataset)
    kept = found[(found["metric"] == "%Var") & (found["protocol"] == "released")].rename(columns={"mean": "kept"})
    area = found[(found["metric"] == KERNEL) & (found["protocol"] == "held-out")]
    value = area.merge(kept[["family", "m", "kept"]], on=["family", "m"])
    offline = value[value["family"] == "offline"].sort_values("kept")
    within = value["kept"].between(offline["kept"].min(), offline["kept"].max())
    random = value[(value["family"] == CONTROL) & (value["m"] > 0) & within]
    gap = np.interp(random["kept"], offline["kept"], offline["mean"]) if len(random) else []
    return random.assign(gap=gap).rename(columns={"mean": "random"})[["m", "kept", "random", "gap"]]


def released_selection(results: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Where the authors' offline program leaves its constraint: its answer beside that from an explicit basis."""
    parts = []
    for name in (dataset, NAMES.get(dataset)):
        table = results[results["dataset"] == name]
        value = table.groupby(["method", "protocol", "metric"])["value"].agg(["mean", "max"])
        for m in directions(table):
            worst = value["max"].get((label(AS_RELEASED, m), "fit", "constraint"), np.nan)
            if worst > ROUNDING:
                kept = (value["mean"].get((label(one, m), "released", "%Var")) for one in (AS_RELEASED, "offline"))
                parts.append((name, m or "mean", worst, *kept))
    columns = ["table", "m", "largest part in span(U)", "%Var, as released", "%Var, explicit basis"]
    return pd.DataFrame(parts, columns=columns)


def beside_quoted(results: pd.DataFrame, dataset: str, k: int) -> pd.DataFrame:
    """Ours on the paper's own table, mean and deviation over the splits, beside the numbers in the authors' file.

    ``digits`` is the difference in units of the last one, ``equal`` whether it is within rounding."""
    rows = results[(results["dataset"] == NAMES.get(dataset)) & (results["protocol"] == "released")]
    ran = rows["method"].unique()
    ours = spread(rows.dropna(subset=["value"]), ["method", "metric"], "mean", "std", number="splits")
    table = quoted(dataset, k).merge(ours, how="left")
    units = table["metric"].map({metric: 10.0**-digits for metric, digits in QUOTED.items()}).astype(float)
    table = table.assign(digits=((table["mean"] - table["quoted"]) / units).round(6))
    equal = table["digits"].abs() <= MET
    same_variance = table["method"].isin(table.loc[equal & (table["metric"] == "%Var"), "method"])
    odd = (table["metric"] == "MMD^2") & same_variance & (table["quoted"] > 1.5 * table["mean"] + 0.0005)
    remarks = ["did not run here", "ours has no answer to judge", "larger by half or more at an equal variance"]
    cases = [~table["method"].isin(ran), table["mean"].isna(), odd]
    return table.assign(equal=equal, remark=np.select(cases, remarks, ""))
