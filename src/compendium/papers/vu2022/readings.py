"""What tables, figures and claims read from the rows of the experiments on Vu et al. (2022)."""

import pandas as pd

from ...records import in_order, paper_table, spread
from . import protocol
from .protocol import DATASETS

#: Rows of the published tables, and those whose linear separation is measured beside them.
PUBLISHED = ("RFPCA", "FairPCA", "CFPCA-Mean Con.", "CFPCA - Both Con.")
#: The name of a data set in the printed tables -> ours.
NAMES = {theirs: name for name, theirs in DATASETS.items()}
ORDER = (
    *PUBLISHED,
    "CFPCA - Both Con. (mu as meant)",
    "PCA",
    "RFPCA (exact)",
    "FairPCA (rank k)",
    "FairPCA (exact)",
    "FairPCA (error, exact)",
    "CFPCA-Mean Con. (linear)",
    "u-FPCA",
    "c-FPCA",
)
#: The curves of error against gap: the paper's, ours, and the line below which no projection lies.
CURVES = ("RFPCA", "FairPCA", "CFPCA-Mean Con.")
OURS = ("RFPCA (exact)", "FairPCA (rank k)", "CFPCA-Mean Con. (linear)")
FRONTIER = "certified frontier"


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and population standard deviation over the splits by method, protocol, metric and source."""
    keys = ["dataset", "method", "k", "protocol", "metric"]
    found = spread(rows, keys, "mean", "std", number="splits")
    return in_order(found.assign(std=found["std"].where(found["splits"] > 1)), ORDER)  # one split has no spread


def agreement(rows: pd.DataFrame, methods: dict[str, str]) -> pd.DataFrame:
    """How our means agree with the printed row given for each method, by table; ``median deviation`` is relative."""
    stems, keys = (*protocol.ERROR_TABLES, protocol.SEPARATION_TABLE), ["dataset", "metric", "protocol"]
    printed = pd.concat(map(paper_table, stems)).dropna(subset="value")
    printed["dataset"] = printed["dataset"].str.replace("’", "").map(NAMES)
    printed, found = printed.rename(columns={"split": "protocol"}), []
    for ours, theirs in methods.items():
        means = rows[rows["method"] == ours].groupby(keys)["value"].mean().reset_index()
        both = means.merge(printed[printed["method"] == theirs], on=keys, suffixes=("", " printed"))
        off = (both["value"] - both["value printed"]).abs()
        by_table = both.assign(same=off <= 0.5e-4, off=off / both["value printed"].abs()).groupby("table")
        counted = by_table.agg(**{"numbers": ("same", "size"), "four decimals": ("same", "sum")})
        found.append(counted.assign(**{"median deviation": by_table["off"].median(), "ours": ours}).reset_index())
    return pd.concat(found, ignore_index=True)[["ours", "table", "numbers", "four decimals", "median deviation"]]


def table_2() -> pd.DataFrame:
    """The printed words of Table 2: data sets by metric."""
    printed = paper_table("vu2022_table2_datasets", words=True)
    return printed.pivot(index="dataset", columns="metric", values="value")


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """Printed and counted numbers side by side, one line for each data set."""
    printed = table_2()
    wide = rows.drop_duplicates(["dataset", "metric"]).pivot(index="dataset", columns="metric", values="value")
    wide = wide.reindex(list(DATASETS)).astype("Int64")
    for name in ("N", "d"):
        wide[f"{name} printed"] = printed.loc[list(DATASETS.values()), name].astype("Int64").to_numpy()
    order = ["N printed", "N", "d printed", "d", "d by the printed rule", "smallest group"]
    wide = wide.rename_axis(columns=None)[order]
    return wide.rename(index=DATASETS).rename_axis("data set").reset_index()


def excess(rows: pd.DataFrame) -> pd.DataFrame:
    """By how much, relative to the exact minimum, the best and the worst start end above it."""
    wide = rows.pivot(index=["dataset", "alpha", "lambda"], columns=["method", "metric"], values="value")
    ends, exact = wide["descent"].rename(columns=lambda name: name.removesuffix(" start")), wide["exact"]
    found = (ends[["best", "worst"]]).div(exact["value"], axis=0) - 1.0
    return found.assign(gap=exact["certificate gap"] / exact["value"]).reset_index()


def means(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each point of a curve: ARE and ABDiff, mean over the seeds; the methods in a fixed order."""
    index = ["dataset", "method", "point"]
    wide = rows.pivot_table(index=index, columns="metric", values="value", aggfunc="mean").reset_index()
    return in_order(wide, (*CURVES, *OURS, "PCA", FRONTIER), ("method", "point"))


def dominated(points: pd.DataFrame, by: pd.DataFrame) -> int:
    """How many points have some point of the other curve at least as good in both axes and better in one."""
    theirs, own = points[["ARE", "ABDiff"]].to_numpy()[:, None], by[["ARE", "ABDiff"]].to_numpy()
    return int(((own <= theirs).all(axis=2) & (own < theirs).any(axis=2)).any(axis=1).sum(axis=0))


def gaps(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean over the splits of the gap between the two group errors, by method, protocol and k."""
    index = ["dataset", "method", "protocol", "k", "split"]
    wide = rows.pivot(index=index, columns="metric", values="value")
    gap = (wide["error of group 0"] - wide["error of group 1"]).abs().rename("gap").reset_index()
    keys = [name for name in index if name != "split"]
    return gap.groupby(keys, sort=False)["gap"].mean().reset_index()


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean error of each group over the splits, by method, protocol and k."""
    keys = ["dataset", "method", "protocol", "k", "metric"]
    return in_order(spread(rows, keys, "mean"), ORDER).rename(columns={"mean": "value"})


def angles(rows: pd.DataFrame, which: str) -> pd.DataFrame:
    """Method, penalty and angle of one of "sample" and "population", one line each."""
    some = rows[(rows["dataset"] == which) & (rows["metric"] == "angle")]
    given = some["parameter"].astype(object)
    some = some.assign(parameter=given.where(given.notna(), ""))  # a gap in the table: a method without one
    return some[["method", "parameter", "value"]].rename(columns={"value": "angle"}).reset_index(drop=True)


def over_problems(rows: pd.DataFrame) -> pd.DataFrame:
    """By claim: of the violations the largest over all problems, of controls the median, and what is to be small."""
    how = {"control": "median", "smallest slack": "min", "smallest angle": "min"}
    found = {name: some.groupby("protocol")["value"].agg(how.get(name, "max")) for name, some in rows.groupby("metric")}
    tried = rows.assign(tried=rows["metric"] == "violation").groupby("protocol")
    # Where only some of the problems are of the kind that the statement is about, those count.
    number = tried["tried"].sum().where(tried["tried"].any(), tried["split"].nunique())
    return pd.DataFrame({"problems": number} | found)
