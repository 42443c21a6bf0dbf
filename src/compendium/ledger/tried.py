"""What was tried for the printed numbers of an experiment, each candidate beside the same search on shuffled print.

A candidate says how a whole column may have been computed. Those with a number at their end are draws of one: the most
that any of them explains is a choice, which the control makes as well.
"""

import numpy as np
import pandas as pd

from ..catalogue import Experiment
from ..claim_rules import rule_file
from .table import ledger
from .verdicts import Result

#: A protocol: the sample where the tables name one, and the candidate, perhaps the number of a draw.
PROTOCOL = r"^(?:(?P<part>in-sample|out-of-sample), )?(?:tried: )?(?P<candidate>.+?)(?: (?P<draw>\d\d))?$"
#: Shuffles of the printed values of a column, and their seed.
SHUFFLES, SEED = 500, 59


def tried(rows: pd.DataFrame, entry: Experiment, metric: str, column: str, *, described: bool = False) -> pd.DataFrame:
    """One line for each candidate: how many open and how many tested numbers of a metric it explains, and the control.

    A number is explained if its distance is at most 1. ``column`` names what the columns of the printed table are;
    ``described`` takes our rows as the paper describes them for printed methods that have such. The control is the mean
    number of open ones that are explained when the printed values of a column are shuffled.
    """
    values = _values(rows[rows["metric"] == metric])
    cells = ledger()
    cells = cells[
        cells["experiment"].eq(entry.id) & cells["metric"].eq(metric) & cells["result"].ne(Result.NO_TEST.value)
    ]
    swapped = {one.method: one.described for one in entry.procedures if one.described} if described else {}
    data = {theirs: ours for ours, names in entry.published_datasets.items() for theirs in names}
    keys = [cells["dataset"].map(data), cells["method"].replace(swapped), cells["k"], cells["split"]]
    values = values.reindex(pd.MultiIndex.from_arrays(keys))
    known = values.notna().any(axis=1).to_numpy()
    cells, values = cells[known].reset_index(drop=True), values[known].reset_index(drop=True)
    if cells.empty:
        return pd.DataFrame()
    printed, rules = cells["published"].astype(float).to_numpy(), rule_file()
    half = float(rules.exact["units_of_last_digit"]) * 10.0 ** -cells["printed_digits"].astype(float).to_numpy()
    allowed = np.maximum(half, float(rules.close["relative"]) * np.abs(printed)) + 1e-12
    is_open = cells["result"].eq(Result.NOT.value).to_numpy()
    columns = cells[column] + cells["split"]
    orders = _shuffles(columns.to_numpy(), is_open)
    found = []
    for name, draws in values.dropna(axis=1, how="all").T.groupby(level=0, sort=False):
        off = np.abs(draws.to_numpy()[:, None] - printed[None]) <= allowed  # draws, 1, cells
        right = off[:, 0]
        wrong = np.abs(draws.to_numpy()[:, None] - printed[orders]) <= allowed[orders]
        exact = np.abs(draws.to_numpy() - printed) <= half + 1e-12
        shares = pd.DataFrame(right.T).groupby(columns).mean()
        found.append(
            {
                "candidate": name,
                "draws": len(draws),
                "explained": int(right[:, is_open].sum(axis=1).max()),
                "to the last digit": int(exact[:, is_open].sum(axis=1).max()),
                "of": int(is_open.sum()),
                "control": float(wrong[:, :, is_open].sum(axis=2).max(axis=0).mean()),
                "of all": f"{right.sum(axis=1).max()} of {len(cells)}",
                "best column": float(shares.max(axis=None)),
            }
        )
    return pd.DataFrame(found)


def _values(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits, by what names a number and by candidate and draw; of draws their mean as a candidate."""
    rows = rows.join(rows["protocol"].str.extract(PROTOCOL))
    rows = rows.assign(part=rows["part"].fillna(""), k=rows["k"].astype("string").fillna(""))
    by = ["dataset", "method", "k", "part"]
    wide = rows.fillna({"draw": ""}).pivot_table(index=by, columns=["candidate", "draw"], values="value", sort=False)
    wide = wide.abs()  # of signed gaps the mean was taken first
    for name in {candidate for candidate, draw in wide if draw}:
        wide[f"mean of {name}", ""] = wide[name].mean(axis=1)
    return wide


def _shuffles(column: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """Orders (SHUFFLES, n) that interchange the open numbers of each column."""
    rng, orders = np.random.default_rng(SEED), np.tile(np.arange(len(column)), (SHUFFLES, 1))
    for name in dict.fromkeys(column):
        place = np.flatnonzero((column == name) & is_open)
        orders[:, place] = rng.permuted(orders[:, place], axis=1)
    return orders
