"""What Lee et al. (2023) distribute beside what is found here, on their own tables."""

import numpy as np
import pandas as pd

from .lee2023_distributed import FAIR_KERNEL_PCA, QUOTED, SECOND, SECOND_METRICS, STALE, quoted
from .lee2023_splits import NAMES
from .lee2023_table_summary import best_source, rivals


def beside_quoted(results: pd.DataFrame, dataset: str, k: int) -> pd.DataFrame:
    """Ours on the paper's own table, mean and deviation over the splits, beside the numbers in the authors' file."""
    rows = best_source(results)
    rows = rows[(rows["dataset"] == NAMES[dataset]) & (rows["protocol"] == "released")].dropna(subset=["value"])
    ours = rows.groupby(["method", "metric"])["value"].agg(mean="mean", std=lambda v: np.std(v, axis=0), splits="size")
    table = quoted(dataset, k).join(ours, on=["method", "metric"])
    units = table["metric"].map({metric: 10.0**-digits for metric, digits in QUOTED.items()})
    return table.assign(digits=((table["mean"] - table["quoted"]) / units).round(6))


def agreement(table: pd.DataFrame) -> str:
    """How many of the quoted numbers are met at their printed digits, by metric and program."""
    have = table.dropna(subset=["mean"])
    complete = have[have["splits"] == have["splits"].max()] if len(have) else have
    if complete.empty:
        return "The full run on this table is not stored; there is nothing to compare."
    text = []
    kind = complete["method"].str.partition(",")[0]
    for name, some in complete.groupby(kind, sort=False):
        counts = [
            f"{metric} {int((part['digits'].abs() <= 0.5 + 1e-6).sum(axis=0))} of {len(part)}"
            for metric, part in some.groupby("metric", sort=False)
        ]
        text.append(f"{name}: {', '.join(counts)}")
    few = have["splits"].lt(have["splits"].max()).sum(axis=0)
    tail = f" {few} more were judged on fewer splits and are not counted." if few else ""
    return "Equal to the quoted number at its last digit: " + "; ".join(text) + "." + tail


def off_by_more(table: pd.DataFrame) -> pd.DataFrame:
    """The quoted numbers that ours do not meet at their printed digits."""
    other = table[~(table["digits"].abs() <= 0.5 + 1e-6)]
    reasons = other["mean"].map(lambda mean: "" if pd.notna(mean) else "ours has no answer to judge")
    shown = other.assign(mean=other["mean"].round(4), std=other["std"].round(4), digits=other["digits"].round(1))
    return shown.drop(columns="splits").assign(reason=reasons).rename(columns={"mean": "ours"})


def oddities(table: pd.DataFrame) -> str:
    """Where the quoted MMD is larger than ours by half and more, although the variance is equal at its digits."""
    value = table.set_index(["metric", "method"])
    met = value.loc["%Var", "digits"].abs() <= 0.5 + 1e-6
    mmd = value.loc["MMD^2"].dropna(subset=["mean"])
    odd = mmd[(mmd["quoted"] > 1.5 * mmd["mean"] + 0.0005) & met.reindex(mmd.index)]
    cells = [f"{name} ({row.quoted:.3f}, ours {row['mean']:.4f})" for name, row in odd.iterrows()]
    return (
        f"Variance equal at the quoted digits, but a quoted squared MMD larger than ours by half or more: "
        f"{', '.join(cells) or 'none'}."
    )


def second_protocol(results: pd.DataFrame, dataset: str, k: int) -> pd.DataFrame:
    """PCA under the program's second protocol beside the file's numbers."""
    rows = best_source(results)
    rows = rows[(rows["dataset"] == NAMES[dataset]) & (rows["protocol"] == "second")]
    value = rows.groupby("metric")["value"].mean()
    pairs = zip(SECOND_METRICS, SECOND[dataset, k], strict=True)
    return pd.DataFrame([(m, q, value.get(m, np.nan)) for m, q in pairs], columns=["metric", "quoted", "ours"])


def other_splits(dataset: str, k: int) -> str:
    """Whether the file's row of fair kernel PCA is that of the smaller published table, which the rivals' run has."""
    if (dataset, k) not in FAIR_KERNEL_PCA:
        return "The file has no row of fair kernel PCA here: it took too long."
    rows = rivals(dataset, k)
    rows = rows[(rows["method"] == "Fair Kernel PCA") & (rows["protocol"] == "released")]
    value = rows.groupby("metric")["value"].mean()
    pairs = [
        (metric, number, value[metric], abs(round(value[metric], digits) - number) < 1e-9)
        for (metric, digits), number in zip(_KERNEL_COLUMNS.items(), FAIR_KERNEL_PCA[dataset, k], strict=True)
    ]
    shown = ", ".join(
        f"{metric} {number:g} (ours on the published splits {ours:.4g})" for metric, number, ours, _ in pairs
    )
    met = sum(equal for *_, equal in pairs)
    told = f"The file's row of fair kernel PCA: {shown}; {met} of {len(pairs)} are equal to ours on the other table."
    if (dataset, k) == (STALE["table"], STALE["k"]):
        told += f" Its %Var of {STALE['method']} is {STALE['quoted']:g}, where PCA keeps {STALE['pca']:g}."
    return told


_KERNEL_COLUMNS = {
    "%Acc (Kernel SVM)": 2,
    "Delta_DP (Kernel SVM)": 2,
    "%Acc (Linear SVM)": 2,
    "Delta_DP (Linear SVM)": 2,
}
