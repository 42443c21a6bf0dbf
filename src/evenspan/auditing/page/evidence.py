"""The tables of a report, from the frames of an audit: numbers with their intervals, the user's names as they are."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...methods import METHODS
from ..evaluation import HELD_OUT, TRAINING
from ..fitting import PCA
from ..recommend import CONCERNS, COSTS
from .blocks import Cell, Table, number, plain, words

if TYPE_CHECKING:
    from ..run import Audit

BY_GROUP = ("error", "explained share", "loss")
ALL_ROWS = (
    "average error", "retained variance", "error gap", "loss gap", "scaled mean distance", "linear AUC", "kernel AUC",
    "target AUC", "target accuracy", "target R2",
)  # fmt: skip
DECISIONS = (
    "target AUC", "target R2", "target accuracy", "selection rate", "false positive rate", "false negative rate"
)  # fmt: skip
PERCENT = {
    "explained share", "retained variance", "target accuracy", "selection rate", "false positive rate",
    "false negative rate",
}  # fmt: skip


class View:
    """One attribute of an audit, as tables and figures need it."""

    def __init__(self, audit: "Audit", attribute: str):
        self.audit, self.attribute, self.answers = audit, attribute, audit.recommendation[attribute]
        self.k = next(iter(self.answers.values())).k
        methods, groups = audit.tables["methods"], audit.tables["groups"]
        self.rows = methods[methods["attribute"] == attribute]
        self.groups = groups[groups["attribute"] == attribute]
        self.here = self.rows[(self.rows["k"] == self.k) & self.rows["value"].notna()]
        keys = zip(*(self.here[name] for name in ("metric", "method", "part", "group")), strict=True)
        self._lines = dict(zip(keys, self.here.to_dict("records"), strict=True))
        self.labels = list(dict.fromkeys(self.here.loc[self.here["metric"] == "error", "group"]))
        self.methods = list(dict.fromkeys(self.here["method"]))
        self.found = audit.analyses[attribute]
        self.frontier = self.found.frontier
        self.recommended = [one.method for one in self.answers.values() if one.method]

    def row(self, metric: str, method: str = PCA, part: str = HELD_OUT, group: str = "") -> dict | None:
        """One line of the table of methods with k components, or None."""
        return self._lines.get((metric, method, part, group))

    def cell(self, metric: str, *args, **kwargs) -> Cell:
        """The same, with its interval."""
        row = self.row(metric, *args, **kwargs)
        if row is None:
            return Cell("–")
        return number(float(row["value"]), float(row["low"]), float(row["high"]), percent=metric in PERCENT)

    @property
    def without(self) -> list[str]:
        """The methods that have no answer, and why."""
        rows = self.rows[(self.rows["k"] == self.k) & ~self.rows["method"].isin(self.methods)]
        return [f"{method}: {some['note'].iloc[0]}" for method, some in rows.groupby("method", sort=False)]


def whole(frame: pd.DataFrame, caption: str) -> Table:
    """All cells of a frame; columns in which nothing is said are left out."""
    shown = frame.loc[:, [(frame[name].notna() & (frame[name].astype(str) != "")).any() for name in frame]]
    cells = [[_any(value) for value in line] for line in shown.itertuples(index=False)]
    return Table(caption, list(shown.columns), cells)


def _any(value: object) -> Cell:
    if isinstance(value, bool | np.bool_):
        return Cell("yes" if value else "no")
    if isinstance(value, list | tuple):
        return words(", ".join(map(str, value)))
    return words(value.item() if isinstance(value, np.generic) else value)


def answers(view: View) -> Table:
    """Every question with its effect, interval and answer."""
    rows = []
    for concern, one in view.answers.items():
        what, f = CONCERNS[concern], one.figures
        after = number(f["after"], f["after low"], f["after high"]) if "after" in f else Cell("–")
        effect = number(f["effect"], f["low"], f["high"])
        cells = [words(what.question), words(what.words), effect, Cell(plain(f["noise_q95"]))]
        rows.append([*cells, words(one.verdict), words(one.advice), after])
    heads = ["question", "effect", "under PCA", "95 % null quantile", "answer", "recommendation", "effect then"]
    return Table(f"Answers for {view.attribute} with k = {view.k}, on held-out rows", heads, rows)


def costs(view: View, method: str) -> Table:
    """What a method costs all rows and every group."""
    rows = []
    for metric in COSTS if view.row("target AUC") is None else COSTS[:3]:
        for group in ("", *view.labels):
            name = "error" if group and metric == "average error" else metric
            if view.row(name, group=group) is not None:
                cells = [view.cell(name, one, group=group) for one in (PCA, method)]
                rows.append([words(f"{metric}, {group or 'all rows'}"), *cells])
    return Table(f"What {method} costs", ["what", "under PCA", f"under {method}"], rows)


def under_pca(view: View) -> Table:
    """Every group under standard PCA, the largest error first."""
    metrics = [metric for metric in BY_GROUP if (view.here["metric"] == metric).any()]
    order = sorted(view.labels, key=lambda label: -view.row("error", group=label)["value"])
    rows = [[words(label), *(view.cell(metric, group=label) for metric in metrics)] for label in order]
    caption = f"Groups of {view.attribute} under PCA with k = {view.k}, on held-out rows"
    return Table(caption, ["group", *metrics], rows)


def side_by_side(view: View) -> Table:
    """All methods at one number of components on held-out rows."""
    metrics = [metric for metric in ALL_ROWS if view.row(metric) is not None]
    rows = [
        [words(method), words(METHODS[method].equalises), *(view.cell(metric, method) for metric in metrics)]
        for method in view.methods
    ]
    caption = f"All methods for {view.attribute} with k = {view.k}, on held-out rows; recommended ones are shaded"
    return Table(caption, ["method", "equalises", *metrics], rows, view.recommended)


def decisions(view: View) -> Table:
    """What one classifier of the target does to every group, on PCA and what is recommended (or matches means)."""
    metrics = [metric for metric in DECISIONS if view.row(metric) is not None]
    others = view.recommended or [name for name in view.methods if METHODS[name].equalises == "means"][:1]
    rows = [
        [words(f"{method}, {label or 'all rows'}"), *(view.cell(metric, method, group=label) for metric in metrics)]
        for method in dict.fromkeys([PCA, *others])
        for label in ("", *view.labels)
    ]
    caption = f"One classifier of {view.audit.settings['target']}, by group of {view.attribute}, on held-out rows"
    return Table(caption, ["representation, rows", *metrics], rows)


def bounds(view: View) -> Table:
    """The smallest value of each criterion: under PCA, reached at best, and certified."""
    rows = []
    for name, curve in view.frontier.curves.items():
        (x, first), (end, last) = curve.points[0], curve.points[-1]
        least = float(curve.least(np.array([end]))[0])
        # Against the average error under PCA, what rounding leaves of zero is zero.
        values = [0.0 if abs(value) < 1e-9 * x else float(value) for value in (first, last, least)]
        price = number(end / x - 1.0 if x else np.nan, percent=True)
        rows.append([words(name), *(number(value) for value in values), price])
    heads = ["what", "under PCA", "smallest reached", "certified: at least", "then the average error rises by"]
    return Table(f"How small each can be for {view.attribute} with k = {view.k}, training set", heads, rows)


def both_parts(view: View) -> Table:
    """Gaps on the training set and on held-out rows, and what they are at most in the population."""
    shown = [("error gap", TRAINING), ("error gap", HELD_OUT), ("mean distance", TRAINING), ("mean distance", HELD_OUT)]
    rows = []
    for method in view.methods:
        cells = [words(method)]
        for metric, part in shown:
            row = view.row(metric, method, part)
            cells.append(view.cell(metric, method, part))
            if np.isfinite(row["bound"]):
                cells.append(Cell(plain(float(row["bound"]))))
        rows.append(cells)
    heads = ["method", "error gap, training", "error gap, held out", "in the population at most"]
    heads += ["distance of means, training", "at most", "distance of means, held out", "at most"]
    return Table(f"Training set, held-out rows and population for {view.attribute} with k = {view.k}", heads, rows)
