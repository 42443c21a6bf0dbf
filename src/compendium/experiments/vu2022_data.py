"""Table 2 of Vu et al. (2022): rows and features of the 15 data sets, and what the printed rule for columns leaves."""

import pandas as pd

from evenspan.core.moments import GroupMoments

from .. import data as datasets
from .. import paths
from ..data import load, whole_moments
from .claim_rules import HOLDS, NOT_SO, OPEN, Answer, rule
from .store import read_results
from .vu2022_protocol import DATASETS, has_shipped

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]
#: Printed: columns with a standard deviation of at most the first or at least the second are removed.
PRINTED_RULE = (1e-5, 1000.0)


def tasks() -> list[dict]:
    """One unit of work for each data set."""
    return [{"dataset": name} for name in DATASETS]


def run_task(dataset: str) -> pd.DataFrame:
    """Rows and features of the loaded points, and what the printed rule would leave."""
    data = load(dataset)
    return _rows(dataset, GroupMoments.from_data(data.X, data.groups))


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
    wide = rows.drop_duplicates(["dataset", "metric"]).pivot(index="dataset", columns="metric", values="value")
    wide = wide.reindex(list(DATASETS)).astype("Int64")
    wide.insert(0, "N printed", printed.loc[list(DATASETS.values()), "N"].astype("Int64").to_numpy())
    wide.insert(1, "d printed", printed.loc[list(DATASETS.values()), "d"].astype("Int64").to_numpy())
    order = ["N printed", "N", "d printed", "d", "d by the printed rule", "smallest group"]
    wide = wide.rename_axis(columns=None)[order]
    return wide.rename(index=DATASETS).rename_axis("data set").reset_index()


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
