"""Every published table as a picture: one small field for each of its numbers, coloured and marked by its result.

The pictures are tables of HTML with headings for rows and columns, so that they can be read aloud. A field links to the
number's row in the ledger and says what stands there.
"""

from collections.abc import Iterator, Mapping
from html import escape

import pandas as pd

from .verdicts import YES, Result

#: What may vary within a published table, in the order in which it becomes rows, then columns, then further grids.
AXES = ("dataset", "method", "k", "split")
HEADINGS = {"dataset": "Data set", "method": "Method", "k": "k", "split": "Sample", "metric": "Metric"}


def grids(cells: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Pictures of a table (title, down, across, cells): one for each metric where two quantities vary beside it."""
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
        yield str(paper), "\n".join(_figure(*one) for one in rows.groupby(stems[rows.index], sort=False))


def legend() -> str:
    """What the colours and marks of the pictures mean."""
    items = "".join(f'<li><span class="heat {_css(one)}" aria-hidden="true"></span> {one.value}</li>' for one in Result)
    return f'<ul class="ledger-legend" aria-label="Legend">{items}</ul>'


def _figure(stem: str, cells: pd.DataFrame) -> str:
    single = [cells[name].iloc[0] for name in ("paper", "table", "split", "dataset") if cells[name].nunique() == 1]
    named = escape(", ".join(filter(None, single)))
    return (
        f'<figure class="ledger-heat" id="{escape(stem)}"><figcaption>{named}</figcaption>\n'
        f'<div class="ledger-grids" role="region" tabindex="0" aria-label="Results of {named}">\n'
        + "\n".join(_grid(*grid) for grid in grids(cells))
        + "\n</div></figure>"
    )


def _grid(title: str, down: str, across: str, cells: pd.DataFrame) -> str:
    shown = cells.assign(field=[_field(row) for row in cells.to_dict("records")])
    wide = shown.pivot(index=down, columns=across, values="field").loc[cells[down].unique(), cells[across].unique()]
    wide.index = wide.index.map(escape).rename(None)
    wide.columns = [f"<span>{escape(name)}</span>" for name in wide.columns]
    wide = wide.rename_axis(columns=HEADINGS[down])
    css = ["ledger-grid", "ledger-numbered"] if across == "k" else ["ledger-grid"]
    table = wide.to_html(escape=False, na_rep="", border=0, classes=css)
    return table.replace("<thead>", f"<caption>{escape(title)}</caption><thead>", 1)


def _field(row: dict[str, str]) -> str:
    where = [row[name] for name in ("dataset", "method", "metric") if row[name]] + [f"k = {row['k']}"] * bool(row["k"])
    parts = [row["result"], f"published {row['published']}"]
    parts += [f"ours {shown(row['ours'], int(row['printed_digits']))}"] if row["ours"] else []
    said = escape(f"{', '.join(where)}: {'; '.join([*parts, *_worth(row)])}")
    return f'<a class="heat {_css(Result(row["result"]))}" href="#{anchor(row["cell"])}" title="{said}"></a>'


def anchor(cell: str) -> str:
    """Name of a cell's row on the page."""
    return cell.replace("/", "-")


def shown(text: str, digits: int) -> str:
    """Ours with one decimal more than printed: enough to see why a verdict is what it is."""
    return f"{float(text):.{digits + 1}f}" if text else ""


def percent(share: str) -> str:
    """A share of the ledger in per cent; nothing where there is none."""
    return f"{100 * float(share):.0f}\u00a0%" if share else ""


def mark(row: Mapping[str, str]) -> str:
    """The mark of a row's result and the deviation, named after its cell; what it rests on appears on hovering."""
    return Result(row["result"]).badge("; ".join(_worth(row)), anchor(row["cell"])) + off(row)


def off(row: Mapping[str, str]) -> str:
    """What stands beside the mark of a result: the deviation in per cent of the published number."""
    if not row["deviation_digits"] or not (published := float(row["published"])):
        return ""
    share = 100 * (float(row["ours"]) - published) / abs(published)
    digits = 0 if abs(share) >= 9.95 else 1 if abs(share) >= 0.995 else 2
    return f' <span class="off">{share:+z,.{digits}f}\u00a0%</span>'


def _worth(row: Mapping[str, str]) -> list[str]:
    """Why a number is no test, the other procedure that gives it, its grade, distance and evaluation."""
    by = row["procedure"] if row["by_procedure"] == YES else ""
    away = f"distance {float(row['distance']):.2f}" if row["distance"] else ""
    said = (row["no_test"], by, row["chosen"] if by else "", row["verdict"], row["reason"], away, evaluated(row))
    return [text for text in said if text]


def evaluated(row: Mapping[str, str]) -> str:
    """Whether a number lies within the errors of an evaluation that draws, with its chance; blank if none does."""
    if not row["within_evaluation"]:
        return ""
    place = "within" if row["within_evaluation"] == YES else "beyond"
    return f"{place} two evaluation errors (another method: {percent(row['chance_evaluation'])})"


def _css(result: Result) -> str:
    return f"heat-{result.name.lower()}"
