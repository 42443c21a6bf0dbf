"""Every published table as a picture: one small field for each of its numbers, coloured and marked by its result.

The pictures are tables of HTML with headings for rows and columns, so that they can be read aloud. A field links to the
number's row in the ledger and says what stands there.
"""

from collections.abc import Iterator, Mapping
from html import escape

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ..figures import line_each
from .verdicts import Result

#: What may vary within a published table, in the order in which it becomes rows, then columns, then further grids.
AXES = ("dataset", "method", "k", "split")
HEADINGS = {"dataset": "Data set", "method": "Method", "k": "k", "split": "Sample", "metric": "Metric"}


def grids(cells: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """The pictures of one published table: title, which quantity goes down, which goes across, and the cells in it.

    Where two quantities vary beside the metric, every metric has a picture of its own; where only one does, metrics
    stand side by side in one picture.
    """
    varying = [axis for axis in AXES if cells[axis].nunique() > 1]
    if len(varying) < 2:
        axis = varying[0] if varying else "method"
        yield "", *(("metric", axis) if axis == "k" else (axis, "metric")), cells
        return
    down, across, *further = varying
    for key, part in cells.groupby(["metric", *further], sort=False):
        title = ", ".join([key[0], *(f"{HEADINGS[a]} {value}" for a, value in zip(further, key[1:], strict=True))])
        yield title, down, across, part


def sections(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """For every paper its name and the HTML of its pictures, one figure for each published table."""
    stems = frame["cell"].str.rpartition("/")[0]
    for paper, rows in frame.groupby("paper", sort=False):
        yield str(paper), "\n".join(_figure(cells) for _, cells in rows.groupby(stems[rows.index], sort=False))


def legend() -> str:
    """What the colours and marks of the pictures mean."""
    items = "".join(f'<li><span class="heat {_css(one)}" aria-hidden="true"></span> {one.value}</li>' for one in Result)
    return f'<ul class="ledger-legend" aria-label="Legend">{items}</ul>'


def bar(row: pd.Series) -> str:
    """The shares of the results as one bar; the numbers beside it say the same."""
    parts = (
        f'<span class="heat {_css(one)}" style="width:{100 * row[one.value] / row["printed"]:.2f}%"></span>'
        for one in Result
        if row[one.value]
    )
    return f'<span class="ledger-bar" aria-hidden="true">{"".join(parts)}</span>'


def _figure(cells: pd.DataFrame) -> str:
    first = cells.iloc[0]
    stem = first["cell"].rpartition("/")[0]
    samples = cells["split"].unique()
    sample = f", {samples[0]}" if len(samples) == 1 and samples[0] else ""
    named = f"{first['paper']}, {first['table']}{sample}"
    where = "" if cells["dataset"].nunique() > 1 else f": {first['dataset']}"
    return (
        f'<figure class="ledger-heat" id="{escape(stem)}"><figcaption>{escape(named + where)}</figcaption>\n'
        f'<div class="ledger-grids" role="region" tabindex="0" aria-label="Results of {escape(named)}">\n'
        + "\n".join(_grid(*grid) for grid in grids(cells))
        + "\n</div></figure>"
    )


def _grid(title: str, down: str, across: str, cells: pd.DataFrame) -> str:
    placed = {(row[down], row[across]): row for row in cells.to_dict("records")}
    columns = list(cells[across].unique())
    head = "".join(f'<th scope="col"><span>{escape(name)}</span></th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(_field(placed.get((name, column))) for column in columns)
        + "</tr>\n"
        for name in cells[down].unique()
    )
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    return (
        f'<table class="ledger-grid{" ledger-numbered" if across == "k" else ""}">{caption}'
        f"<thead><tr><td>{HEADINGS[down]}</td>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    )


def _field(row: dict[str, str] | None) -> str:
    if row is None:
        return "<td></td>"
    return (
        f'<td class="heat {_css(Result(row["result"]))}">'
        f'<a href="#{escape(anchor(row["cell"]))}" title="{escape(_said(row))}"></a></td>'
    )


def anchor(cell: str) -> str:
    """Name of a cell's row on the page."""
    return cell.replace("/", "-")


def shown(text: str, digits: int) -> str:
    """Ours with one decimal more than printed: enough to see why a verdict is what it is."""
    return f"{float(text):.{digits + 1}f}" if text else ""


def percent(share: str) -> str:
    """A share of the ledger in per cent; nothing where there is none."""
    return f"{float(share):.0%}".replace("%", "\u00a0%") if share else ""


def _said(row: dict[str, str]) -> str:
    where = [text for text in (row["dataset"], row["method"], row["metric"]) if text]
    where += [f"k = {row['k']}"] if row["k"] else []
    parts = [row["result"], f"published {row['published']}"]
    parts += [f"ours {shown(row['ours'], int(row['printed_digits']))}"] if row["ours"] else []
    parts += [f"off by {signed(share)}"] if (share := deviation(row)) is not None else []
    return f"{', '.join(where)}: {'; '.join([*parts, *_worth(row)])}"


def mark(row: Mapping[str, str]) -> str:
    """The mark of a row's result and the deviation, named after its cell; what it rests on appears on hovering."""
    return Result(row["result"]).badge("; ".join(_worth(row)), anchor(row["cell"])) + off(row)


def off(row: Mapping[str, str]) -> str:
    """What stands beside the mark of a result: the deviation in per cent."""
    share = deviation(row)
    return "" if share is None else f' <span class="off">{signed(share)}</span>'


def deviation(row: Mapping[str, str]) -> float | None:
    """Ours minus published as a share of the published number; None if one is missing, not judged, or zero."""
    if not row["deviation_digits"] or not float(row["published"]):
        return None
    return (float(row["ours"]) - float(row["published"])) / abs(float(row["published"]))


def signed(share: float) -> str:
    """A deviation in per cent, with two significant digits and at most two decimals.

    >>> [signed(share) for share in (0.0321, -0.4, 12.3, 0.00001)]
    ['+3.2\xa0%', '-40\xa0%', '+1,230\xa0%', '0.00\xa0%']
    """
    size = abs(100 * share)
    text = f"{100 * share:+z,.{0 if size >= 9.95 else 1 if size >= 0.995 else 2}f}"
    return f"{text.removeprefix('+') if text == '+0.00' else text}\u00a0%"


def _worth(row: Mapping[str, str]) -> Iterator[str]:
    """Why a number is no test, the other procedure that gives it, its grade, and the chance agreement."""
    if row["no_test"]:
        yield row["no_test"]
    if row["by_procedure"] == "yes":
        yield row["procedure"]
    yield f"{row['verdict']} ({row['reason']})" if row["reason"] else row["verdict"]
    if row["chance"] and not row["no_test"]:
        yield f"chance agreement {percent(row['chance'])}"


def _css(result: Result) -> str:
    return f"heat-{result.name.lower()}"


#: Colour and hatch of a result in figures.
LOOKS = {
    Result.DESCRIBED: ("#009E73", ""),
    Result.OTHER: ("#8FC1E3", "///"),
    Result.NOT: ("#D55E00", "xxx"),
    Result.NO_TEST: ("#BBBBBB", ""),
}


def bars(numbers: pd.DataFrame, by: str) -> Figure:
    """A bar for each value of a column of the ledger, as long as there are numbers, divided by the results."""
    some = numbers[numbers[by] != ""]
    counted = some.groupby([by, "result"], sort=False).size().unstack("result", fill_value=0).loc[some[by].unique()]
    fig, panel = plt.subplots(figsize=(7.2, 0.24 * len(counted) + 1.0), layout="constrained")
    left = np.zeros(len(counted))
    for result, (colour, hatch) in LOOKS.items():
        if result.value in counted:
            look = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.7}
            panel.barh(range(len(counted)), counted[result.value], left=left, label=result.value, **look)
            left += counted[result.value]
    line_each(panel, counted.index)
    panel.tick_params(axis="y", labelsize="small")
    panel.set_xlabel("printed numbers")
    panel.grid(visible=False)
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    return fig
