"""The tables of a report, from the frames of an audit: numbers with their intervals, the user's names as they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..recommend import CONCERNS
from .blocks import Cell, Column, Items, Row, Table, Text, number, plain, whole, words
from .figures import FITTING, HELD_OUT

if TYPE_CHECKING:
    from ..run import Audit

#: Rows of the table of columns that a report shows; the rest is in the CSV.
MOST_COLUMNS = 150
#: Metrics of the table of methods and the heads of their columns.
SIDE_BY_SIDE = {
    "average error": "average error",
    "error gap": "error gap",
    "loss gap": "loss gap",
    "worst error": "worst error",
    "worst loss": "worst loss",
    "mean distance": "distance of means",
    "linear AUC": "AUC, linear classifier",
    "kernel AUC": "AUC, kernel classifier",
    "target AUC": "target: AUC",
    "target accuracy": "target: accuracy",
    "target R2": "target: R²",
}
BY_GROUP = {"error": "error", "share kept": "share kept", "loss": "loss", "mean offset": "offset of the mean"}
FITTED = "on the rows that the methods were fitted to"
PERCENT = {"share kept", "explained variance", "target accuracy"}


class View:
    """One attribute of an audit: its rows, groups and recommendation, as figures and tables need them."""

    def __init__(self, audit: "Audit", attribute: str):
        methods, frontier, groups = (audit.tables[name] for name in ("methods", "frontier", "groups"))
        advice = audit.recommendation[attribute]
        self.attribute, self.k, self.best = attribute, int(advice.k), advice.method
        self.gap, self.metric = CONCERNS[advice.concern].gap, CONCERNS[advice.concern].metric
        self.rows = methods[methods["attribute"] == attribute]
        self.frontier = frontier[frontier["attribute"] == attribute]
        self.labels = tuple(groups.loc[groups["attribute"] == attribute, "group"].astype(str))
        self.sizes = sorted(int(k) for k in self.rows["k"].unique())

    def at(self, metric: str, method: str = "PCA", part: str = HELD_OUT) -> pd.Series | None:
        """One number about all rows at the recommended number of components."""
        return value_of(self.rows, metric=metric, method=method, part=part, k=self.k, group="")


def columns_read(columns: pd.DataFrame) -> list:
    """What became of each column."""
    # Columns in which nothing is said, such as flags that no column has, are left out.
    columns = columns.loc[
        :, [not columns[name].isna().all() and (columns[name].astype(str) != "").any() for name in columns]
    ]
    names = list(columns.columns)
    heads = [Column(name, number=_numeric(columns[name]) and name != "column") for name in names]
    rows = [Row([_any(value) for value in line]) for line in columns.head(MOST_COLUMNS).itertuples(index=False)]
    found = [Table("The columns of the table and what became of them", heads, rows)]
    if len(columns) > MOST_COLUMNS:
        found.append(
            Text(f"The first {MOST_COLUMNS} of {len(columns):,} columns; all are in tables/columns.csv.", True)
        )
    return found


def groups(frame: pd.DataFrame, attribute: str) -> Table:
    """The groups of one attribute with their counts."""
    some = frame[frame["attribute"] == attribute]
    heads = [*_heads("group", "rows", "share", "fitting", "held out"), Column("note")]
    rows = []
    for _, line in some.iterrows():
        share, note = number(float(line["share"]), percent=True), line["note"] or ("small" if line["small"] else "")
        counts = [whole(line[name]) for name in ("rows", "fitting", "held out")]
        rows.append(Row([words(line["group"]), counts[0], share, *counts[1:], words(note)]))
    return Table(f"Groups of {attribute}", heads, rows)


def under_pca(view: View, sizes: pd.DataFrame) -> Table:
    """Every group under standard PCA on held-out rows."""
    some = _rows(view.rows, method="PCA", part=HELD_OUT, k=view.k)
    some = some[some["metric"].isin(BY_GROUP) & (some["group"] != "")]
    counts = sizes[sizes["attribute"] == view.attribute].set_index("group")[HELD_OUT]
    order = some[some["metric"] == "error"].sort_values("value", ascending=False, kind="stable")["group"]
    body = [
        Row([words(group), whole(counts.get(group, np.nan)), *(_value(some, metric, group) for metric in BY_GROUP)])
        for group in order
    ]
    heads = _heads("group", "rows", *BY_GROUP.values())
    return Table(f"Groups of {view.attribute} under standard PCA with k = {view.k}, on held-out rows", heads, body)


def spread_under_pca(view: View) -> Table:
    """The differences between groups under standard PCA, with what chance alone would give."""
    some = _rows(view.rows, method="PCA", part=HELD_OUT, k=view.k, group="")
    named = {
        "error gap": "largest less smallest error",
        "loss gap": "largest less smallest loss",
        "mean distance": "largest distance between means of groups",
        "linear AUC": "group found by a linear classifier (AUC)",
        "kernel AUC": "group found by a kernel classifier (AUC)",
    }
    body = []
    for metric, what in named.items():
        one = some[some["metric"] == metric]
        if len(one):
            line = one.iloc[0]
            chance = Cell(plain(float(line["chance"])), kind="number")
            body.append(Row([words(what), _number(line, metric), chance, words(line["note"])]))
    heads = [*_heads("what", "value and 95% interval", "chance alone, at most"), Column("note")]
    caption = (
        f"Differences between the groups of {view.attribute} under standard PCA with k = {view.k}, on held-out rows"
    )
    return Table(caption, heads, body)


def side_by_side(view: View, family: dict[str, str]) -> list:
    """All methods at one number of components on held-out rows, and why the others have no answer."""
    some = _rows(view.rows, k=view.k, part=HELD_OUT, group="")
    metrics = {metric: head for metric, head in SIDE_BY_SIDE.items() if some["metric"].eq(metric).any()}
    body, without = [], []
    for method in _rows(view.rows, k=view.k)["method"].unique():
        mine = some[some["method"] == method]
        if not mine.loc[mine["metric"] == "average error", "value"].notna().any():
            notes = _rows(view.rows, k=view.k, method=method)["note"]
            without.append(f"{method}: {next((note for note in notes if note), 'no answer')}")
            continue
        cells = [words(method), words(family.get(method, ""))]
        cells += [_value(mine, metric, "") for metric in metrics]
        body.append(Row(cells, chosen=method == view.best))
    heads = [Column("method"), Column("equalises"), *(Column(head, True) for head in metrics.values())]
    caption = f"All methods for {view.attribute} with k = {view.k}, on held-out rows"
    found = [Table(f"{caption}; the recommended one is shaded", heads, body)]
    if without:
        found += [Text("Methods without an answer here:"), Items(without)]
    return found


def over_k(view: View) -> Table:
    """One metric of all methods on held-out rows, by the number of components."""
    some = _rows(view.rows, metric=view.metric, part=HELD_OUT, group="")
    some, head = some[some["value"].notna()], SIDE_BY_SIDE.get(view.metric, view.metric)
    sizes = sorted(some["k"].unique())
    body = []
    for method in some["method"].unique():
        mine = some[some["method"] == method].set_index("k")
        cells = [_number(mine.loc[k], view.metric) if k in mine.index else words("") for k in sizes]
        body.append(Row([words(method), *cells], chosen=method == view.best))
    heads = _heads("method", *(f"k = {k}" for k in sizes))
    return Table(
        f"{head[0].upper()}{head[1:]} for {view.attribute} on held-out rows, by the number of components", heads, body
    )


def both_parts(view: View, metrics: dict[str, str]) -> Table:
    """The same numbers on the rows that a method was fitted to and on those that it never saw."""
    some = _rows(view.rows, k=view.k, group="")
    heads = _heads("method", *(f"{head}, {part}" for head in metrics.values() for part in ("fitting", "held out")))
    body = []
    for method in some["method"].unique():
        mine = some[(some["method"] == method) & some["value"].notna()]
        if mine.empty:
            continue
        cells = [_value(mine[mine["part"] == part], m, "") for m in metrics for part in (FITTING, HELD_OUT)]
        body.append(Row([words(method), *cells], chosen=method == view.best))
    return Table(f"Fitting part and held-out part for {view.attribute} with k = {view.k}", heads, body)


def population(view: View) -> Table:
    """What each method leaves at most between the groups of the population, with 95 % confidence."""
    shown = [("mean distance", FITTING), ("mean distance", HELD_OUT), ("error gap", HELD_OUT)]
    body = []
    for method in _rows(view.rows, k=view.k)["method"].unique():
        found = [view.at(metric, method, part) for metric, part in shown]
        if all(row is not None for row in found):
            pairs = [(number(float(row["value"])), number(float(row["bound"]))) for row in found]
            body.append(Row([words(method), *(cell for pair in pairs for cell in pair)], chosen=method == view.best))
    names = [f"{SIDE_BY_SIDE[metric]}, {part}" for metric, part in shown]
    heads = _heads("method", *(head for name in names for head in (name, "in the population at most")))
    return Table(f"Gaps in the population behind the rows, for {view.attribute} with k = {view.k}", heads, body)


def value_of(rows: pd.DataFrame, **where) -> pd.Series | None:
    """The one row that has these values, or None."""
    found = _rows(rows, **where)
    found = found[found["value"].notna()]
    return found.iloc[0] if len(found) else None


def said(row: pd.Series, *, percent: bool = False) -> str:
    """A value with its interval, for a sentence: ``0.12 (0.10 to 0.15)``."""
    cell = number(float(row["value"]), float(row["low"]), float(row["high"]), percent=percent)
    return f"{cell.text} ({cell.interval})" if cell.interval else cell.text


def _heads(first: str, *numbers: str) -> list[Column]:
    return [Column(first), *(Column(name, True) for name in numbers)]


def _rows(rows: pd.DataFrame, **where) -> pd.DataFrame:
    keep = np.ones(len(rows), dtype=bool)
    for column, value in where.items():
        keep &= (rows[column] == value).to_numpy()
    return rows[keep]


def _value(rows: pd.DataFrame, metric: str, group: str) -> Cell:
    one = rows[(rows["metric"] == metric) & (rows["group"] == group)]
    return _number(one.iloc[0], metric) if len(one) else words("")


def _number(row: pd.Series, metric: str) -> Cell:
    return number(float(row["value"]), float(row["low"]), float(row["high"]), percent=metric in PERCENT)


def _numeric(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _any(value: object) -> Cell:
    if isinstance(value, bool | np.bool_):
        return words("yes" if value else "no")
    if isinstance(value, int | np.integer):
        return whole(float(value))
    if isinstance(value, float | np.floating):
        return number(float(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return words(", ".join(map(str, value)))
    return words(value, wide=len(str(value)) > 40)


def own_best(view: View) -> Table:
    """What each group's own best directions leave of it, beside standard PCA."""
    some = view.frontier[(view.frontier["curve"] == "own best") & (view.frontier["k"] == view.k)]
    body = [
        Row([words(label), *(number(float(value)) for value in (x, y, y - x))])
        for label, x, y in zip(some["label"], some["x"], some["y"], strict=True)
    ]
    heads = _heads("group", "least error possible", "error under PCA", "loss")
    return Table(f"The least error of each group of {view.attribute} with k = {view.k}, {FITTED}", heads, body)


def bounds(view: View) -> Table:
    """The smallest value of each criterion: reached by PCA, reached at best, and certified."""
    some, body = view.frontier[view.frontier["k"] == view.k], []
    for curve in dict.fromkeys(some["curve"]):
        line = some[some["curve"] == curve]
        if curve in ("own best", "joint range") or not len(line):
            continue
        first, last = line.iloc[0], line.iloc[-1]
        # Against the average error under PCA, what rounding leaves of zero is zero.
        scale = float(first["x"])
        values = [
            0.0 if abs(value) < 1e-9 * scale else float(value) for value in (first["y"], last["y"], last["bound"])
        ]
        price = float(last["x"]) / scale - 1.0 if scale else np.nan
        body.append(Row([words(curve), *(number(value) for value in values), number(price, percent=True)]))
    heads = _heads("what", "under PCA", "smallest reached", "certified: at least", "its price in average error")
    return Table(f"How small each criterion can be for {view.attribute} with k = {view.k}, {FITTED}", heads, body)
