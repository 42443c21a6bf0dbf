"""The tables of a report, from the frames of an audit: numbers with their intervals, the user's names as they are."""

from itertools import chain

import numpy as np
import pandas as pd

from ...methods import METHODS
from ..evaluation import HELD_OUT, TRAINING
from ..fitting import PCA
from ..recommend import CONCERNS, COSTS
from .blocks import Cell, Table, number, words

RATES = ("target accuracy", "selection rate", "false positive rate", "false negative rate")
BY_GROUP = ("error", "explained share", "loss")
ALL_ROWS = (
    "average error", "retained variance", "error gap", "loss gap", "scaled mean distance", "linear AUC", "kernel AUC",
    "target AUC", "target accuracy", "target R2",
)  # fmt: skip
DECISIONS = ("target AUC", "target R2", *RATES)
PERCENT = {"explained share", "retained variance", *RATES}


class View:
    """One attribute of an audit, as tables and figures need it."""

    def __init__(self, audit, attribute: str):
        self.audit, self.name, self.answers = audit, attribute, audit.recommendation[attribute]
        self.found = audit.analyses[attribute]
        self.k = self.found.k
        groups = audit.tables["groups"]
        self.groups = groups[groups["attribute"] == attribute]
        self.small = [one for one in self.groups["group"][self.groups["small"]] if one not in self.found.left_out]
        self.row, self.methods = self.found.row, list(self.found.held_out)
        self.labels = self.found.held_out[PCA].part.labels
        self.without = [
            f"{one}: {self.found.fits[one, self.k].note}" for one in audit.methods if one not in self.methods
        ]
        self.recommended = [one.method for one in self.answers.values() if one.method]
        self.advised = [name for name in dict.fromkeys(self.recommended) if name != PCA]

    def cell(self, metric: str, *args, **kwargs) -> Cell:
        """The same, with its interval."""
        row = self.row(metric, *args, **kwargs)
        if row is None:
            return Cell("–")
        return number(float(row["value"]), float(row["low"]), float(row["high"]), percent=metric in PERCENT)


def whole(frame: pd.DataFrame, caption: str) -> Table:
    """All cells of a frame; columns in which nothing is said are left out."""
    shown = frame.loc[:, (frame.notna() & (frame.astype(str) != "")).any()].to_dict("split")
    return Table(caption, shown["columns"], [[words(value) for value in line] for line in shown["data"]])


def answers(view: View) -> Table:
    """Every question with its effect, interval and answer."""
    rows = []
    for concern, one in view.answers.items():
        what, f = CONCERNS[concern], one.figures
        effect, after = number(f["effect"], f["low"], f["high"]), view.cell(what.effect, one.method)
        cells = [words(what.question), words(what.words), effect, words(f["noise_q95"]), words(one.verdict)]
        rows.append([*cells, words(one.advice), after if one.method != PCA else Cell("–")])
    heads = ["question", "effect", "under PCA", "95 % null quantile", "answer", "recommendation", "effect then"]
    return Table(f"Answers for {view.name} with k = {view.k}, on held-out rows", heads, rows)


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
    metrics = [metric for metric in BY_GROUP if view.row(metric, group=view.labels[0])]
    order = sorted(view.labels, key=lambda label: -view.row("error", group=label)["value"])
    rows = [[words(label), *(view.cell(metric, group=label) for metric in metrics)] for label in order]
    return Table(f"Groups of {view.name} under PCA with k = {view.k}, on held-out rows", ["group", *metrics], rows)


def side_by_side(view: View) -> Table:
    """All methods at one number of components on held-out rows."""
    metrics = [metric for metric in ALL_ROWS if view.row(metric) is not None]
    rows = [
        [words(method), words(METHODS[method].equalises), *(view.cell(metric, method) for metric in metrics)]
        for method in view.methods
    ]
    caption = f"All methods for {view.name} with k = {view.k}, on held-out rows; recommended ones are shaded"
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
    caption = f"One classifier of {view.audit.settings['target']}, by group of {view.name}, on held-out rows"
    return Table(caption, ["representation, rows", *metrics], rows)


def bounds(view: View) -> Table:
    """The smallest value of each criterion: under PCA, reached at best, and certified."""
    rows = []
    for name, curve in view.found.frontier.curves.items():
        (x, first), (end, last) = curve.points[0], curve.points[-1]
        least = float(curve.least(np.array([end]))[0])
        # Against the average error under PCA, what rounding leaves of zero is zero.
        values = [0.0 if abs(value) < 1e-9 * x else float(value) for value in (first, last, least)]
        rows.append([words(name), *map(words, values), number(end / x - 1.0 if x else np.nan, percent=True)])
    heads = ["what", "under PCA", "smallest reached", "certified: at least", "then the average error rises by"]
    return Table(f"How small each can be for {view.name} with k = {view.k}, training set", heads, rows)


def both_parts(view: View) -> Table:
    """Gaps on the training set and on held-out rows, and what they are at most in the population."""
    shown = [("error gap", TRAINING), ("error gap", HELD_OUT), ("mean distance", TRAINING), ("mean distance", HELD_OUT)]
    rows = []
    for method in view.methods:
        cells = [(view.cell(*one), words(view.row(*one)["bound"])) for one in ((m, method, part) for m, part in shown)]
        (training, _), *others = cells  # errors of training rows have no bound
        rows.append([words(method), training, *chain(*others)])
    heads = ["method", "error gap, training", "error gap, held out", "in the population at most"]
    heads += ["distance of means, training", "at most", "distance of means, held out", "at most"]
    return Table(f"Training set, held-out rows and population for {view.name} with k = {view.k}", heads, rows)
