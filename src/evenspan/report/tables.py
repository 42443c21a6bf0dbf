"""Tables of the notebooks and chapters, and the CSV files that stand beside tables and figures."""

import html

import pandas as pd
from IPython.display import HTML

from .. import paths


def csv_link(frame: pd.DataFrame, name: str, *, up: int = 2, text: str = "Numbers of this figure (CSV)") -> HTML:
    """Write ``frame`` where the book finds it, and a link to it.

    Parameters
    ----------
    frame : DataFrame
    name : str
        Path without ending, unique in the book: ``foundations/moments-shift``.
    up : int
        How many folders the page lies below the book's root.
    text : str
        What the link says.
    """
    path = paths.results("embedded", "figures", f"{name}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, lineterminator="\n")
    return HTML(_link(f"{'../' * up}_static/results/embedded/figures/{name}.csv", text))


def table(rows: pd.DataFrame, *, caption: str, classes: str = "result-table") -> HTML:
    """A frame as an HTML table with a caption; text cells may hold markup made by this package."""
    body = rows.to_html(index=False, escape=False, border=0, classes=classes, justify="left")
    body = body.replace("<thead>", f"<caption>{html.escape(caption)}</caption>\n  <thead>", 1)
    label = f'role="region" aria-label="{html.escape(caption)}"'
    return HTML(f'<div class="table-scroll" tabindex="0" {label}>{body}</div>')


def mean_and_spread(mean: float, std: float | None, digits: int) -> str:
    """``81.31 ± 1.23``, with a dash where there is no number."""
    if mean is None or pd.isna(mean):
        return "–"
    spread = "" if std is None or pd.isna(std) else f" ± {std:.{digits}f}"
    return f"{mean:.{digits}f}{spread}"


def _link(address: str, text: str) -> str:
    return f'<p class="csv-link"><a href="{html.escape(address)}" download>{html.escape(text)}</a></p>'
