"""A printed table with many values of k: one line for each k, printed and ours with the mark of the verdict."""

import html

import pandas as pd
from IPython.display import HTML

from ..experiments.catalogue import experiment
from .ledger import ledger
from .ledger_heat import mark
from .tables import table


def verdict_grid(experiment_id: str, metric: str, *, dataset: str, caption: str) -> HTML:
    """One metric of one data set: k downwards, methods across, each cell ``printed | ours`` with its verdict.

    Parameters
    ----------
    experiment_id : str
        Judged against printed tables with a column ``k``.
    metric : str
        As printed.
    dataset : str
        Our name.
    caption : str
    """
    cells = _cells(experiment_id, dataset)
    cells = cells[cells["metric"] == metric]
    shown = cells.assign(text=[_text(row) for _, row in cells.iterrows()], k=cells["k"].astype(int))
    wide = shown.pivot(index="k", columns="method", values="text")
    return table(wide[list(dict.fromkeys(shown["method"]))].reset_index(), caption=caption)


def _cells(experiment_id: str, dataset: str) -> pd.DataFrame:
    entry = experiment(experiment_id)
    rows = ledger()
    rows = rows[rows["cell"].str.rpartition("/")[0].isin(entry.published) & (rows["published"] != "")]
    return rows[rows["dataset"].isin(entry.published_datasets[dataset])]


def _text(row: pd.Series) -> str:
    ours = f"{float(row['ours']):.2f}" if row["ours"] else "–"
    return f"{html.escape(row['published'])} | {ours}<br>{mark(row)}"
