"""Table 2 of Vu et al. (2022): rows and features of the 15 data sets, and what the printed rule for columns leaves.

The full run also draws other random splits than those of the tables, and judges on them the one published method that
has no randomness of its own: a control for the question whose splits the paper's are.
"""

import pandas as pd

from .. import datasets, paths
from ..datasets import load, whole_moments
from ..moments import GroupMoments
from . import vu2022_protocol as protocol
from .claim_rules import HOLDS, NOT_SO, OPEN, Answer, rule
from .store import read_results
from .vu2022_methods import METHODS
from .vu2022_protocol import COMPONENTS, DATASETS, UNSCALED, has_shipped

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]
#: Printed: columns with a standard deviation of at most the first or at least the second are removed.
PRINTED_RULE = (1e-5, 1000.0)
#: Twice as many seeds as the tables have, none of them theirs, in two batches of ten.
OTHER_SEEDS = (range(10, 20), range(20, 30))
CONTROL = "CFPCA-Mean Con."


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in DATASETS]


def run_task(dataset: str) -> pd.DataFrame:
    """Rows and features of the loaded points, what the printed rule would leave, and the control on other splits."""
    data = load(dataset)
    counted = _rows(dataset, GroupMoments.from_data(data.X, data.groups))
    if dataset in UNSCALED:  # the faces only stand in for the paper's
        return counted
    return pd.concat([counted, _control(data)], ignore_index=True)


def _control(data) -> pd.DataFrame:
    rows = []
    for seeds in OTHER_SEEDS:
        for seed in seeds:
            parts = protocol.measured(data, seed)
            answer, _, train, test = protocol.fit_split(METHODS[CONTROL], data.name, parts, COMPONENTS, seed)
            for place, sample in (("in-sample", train), ("out-of-sample", test)):
                judged = protocol.judged(answer, train, sample)
                of = f"{place}, seeds from {seeds[0]}"
                rows += [
                    (data.name, CONTROL, COMPONENTS, seed, of, metric, judged[metric]) for metric in ("ABDiff", "ARE")
                ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"k": "Int64"})


def run(table: int) -> pd.DataFrame:
    """The same from shipped moments; the faces, of which none are shipped, from the registry."""
    if table != 2:
        raise ValueError(f"table={table}; this experiment is Table 2.")
    frames = [_rows(name, whole_moments(name)) for name in DATASETS if has_shipped(name)]
    for name in (name for name in DATASETS if not has_shipped(name)):
        entry = datasets.entry(name)
        frames.append(_frame(name, {"N": entry.rows, "d": entry.features}))
    return pd.concat(frames, ignore_index=True)


def _rows(dataset: str, moments: GroupMoments) -> pd.DataFrame:
    deviation = moments.scale()
    low, high = PRINTED_RULE
    return _frame(
        dataset,
        {
            "N": int(moments.n),
            "d": moments.d,
            "d by the printed rule": int(((deviation > low) & (deviation < high)).sum(axis=0)),
            "smallest group": int(moments.counts.min(axis=0)),
        },
    )


def _frame(dataset: str, values: dict[str, int]) -> pd.DataFrame:
    frame = pd.DataFrame(
        [(dataset, "", None, "all", "counted", metric, value) for metric, value in values.items()], columns=COLUMNS
    )
    return frame.astype({"k": "Int64", "value": float})


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    """Printed and counted numbers side by side, one line for each data set."""
    printed = pd.read_csv(paths.data("paper", "vu2022_table2_datasets.csv"), dtype=str, keep_default_na=False)
    printed = printed[printed["metric"] != "A"].pivot(index="dataset", columns="metric", values="value")
    rows = rows[rows["protocol"] == "counted"]
    wide = rows.drop_duplicates(["dataset", "metric"]).pivot(index="dataset", columns="metric", values="value")
    wide = wide.reindex(list(DATASETS)).astype("Int64")
    wide.insert(0, "N printed", printed.loc[list(DATASETS.values()), "N"].astype("Int64").to_numpy())
    wide.insert(1, "d printed", printed.loc[list(DATASETS.values()), "d"].astype("Int64").to_numpy())
    order = ["N printed", "N", "d printed", "d", "d by the printed rule", "smallest group"]
    wide = wide.rename_axis(columns=None)[order]
    return wide.rename(index=DATASETS).rename_axis("data set").reset_index()


def whose_splits() -> pd.DataFrame | None:
    """How many printed numbers of the control method agree to four decimals with means over batches of ten seeds."""
    other, own = read_results("vu2022-data"), read_results("vu2022-tables")
    other = other[other["method"] == CONTROL]
    if other.empty:
        return None
    own = own[
        (own["method"] == CONTROL) & own["metric"].isin(["ABDiff", "ARE"]) & own["dataset"].isin(other["dataset"])
    ]
    own = own.assign(protocol=own["protocol"] + ", seeds from 0")
    ours = pd.concat([own, other]).groupby(["dataset", "metric", "protocol"])["value"].mean().reset_index()
    names = {theirs: name for name, theirs in DATASETS.items()}
    tables = [pd.read_csv(paths.data("paper", f"{stem}.csv")) for stem in protocol.ERROR_TABLES]
    printed = pd.concat(tables).assign(dataset=lambda t: t["dataset"].map(names)).query("method == @CONTROL")
    both = ours.assign(split=ours["protocol"].str.partition(",")[0]).merge(
        printed[["dataset", "metric", "split", "value"]], on=["dataset", "metric", "split"], suffixes=("", " printed")
    )
    both["batch"] = both["protocol"].str.partition(", ")[2]
    both["same"] = (both["value"] - both["value printed"]).abs() <= 0.5e-4
    both["off"] = (both["value"] / both["value printed"] - 1.0).abs()
    found = both.groupby("batch").agg(numbers=("same", "size"), same=("same", "sum"), median=("off", "median"))
    return found.reset_index()


def fifteen_data_sets() -> Answer:
    """V29: 15 data sets with the printed numbers of rows and features."""
    listed = pd.read_csv(paths.data("paper", "vu2022_table2_datasets.csv"), dtype=str)["dataset"].nunique()
    theirs = HOLDS if listed == rule("V29", "data sets") else NOT_SO
    rows = read_results("vu2022-data", protocol="counted")
    if rows["dataset"].nunique() < len(DATASETS):
        return Answer(OPEN, f"Table 2 lists {listed} data sets.", theirs)
    found = compared(rows)
    same = (found["N"] == found["N printed"]) & (found["d"] == found["d printed"])
    other = found["d by the printed rule"] != found["d printed"]
    off = ", ".join(
        f"{row['data set']} {row['d by the printed rule']} for {row['d printed']}" for _, row in found[other].iterrows()
    )
    evidence = (
        f"Table 2 lists {listed} data sets. Ours have rows and features as printed on {int(same.sum(axis=0))} of "
        f"{len(found)} (LFW by a stand-in of the same size). The printed rule for dropping columns leaves another d on "
        f"{int(other.sum(axis=0))}: {off}."
    )
    return Answer(HOLDS if same.all() else NOT_SO, evidence, theirs)


claims = {"V29": fifteen_data_sets}
