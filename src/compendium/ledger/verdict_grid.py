"""A printed table with many values of k: one line for each k, printed and ours with the mark of the verdict."""

import html

import pandas as pd
from IPython.display import HTML

from ..book.tables import sentence, table
from ..protocol import Study
from .heat import mark
from .table import judged_numbers


def verdict_grid(study: Study, metric: str, *, caption: str) -> HTML:
    """One metric, as printed, of a study: k down, methods across, each cell ``printed | ours`` with its verdict."""
    rows = judged_numbers(study)
    cells = rows[rows["metric"] == metric]
    if cells.empty:
        return sentence("Nothing is printed for this setting.")
    shown = cells.assign(text=[_text(row) for _, row in cells.iterrows()], k=cells["k"].astype(int))
    wide = shown.pivot(index="k", columns="method", values="text")
    return table(wide[list(dict.fromkeys(shown["method"]))].reset_index(), caption=caption)


def _text(row: pd.Series) -> str:
    ours = f"{float(row['ours']):.2f}" if row["ours"] else "–"
    return f"{html.escape(row['published'])} | {ours}<br>{mark(row)}"
