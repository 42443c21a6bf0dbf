"""The tables of a report, from the frames of an audit: numbers with their intervals, the user's names as they are."""

import pandas as pd

from ...methods import METHODS
from ...metrics import ATTACKERS
from ..fitting import PCA
from ..given import GIVEN
from ..groups import HELD_OUT, TRAINING
from ..recommend import CONCERNS, COSTS
from .blocks import Cell, Table, number, words

RATES = ("target accuracy", "selection rate", "false positive rate", "false negative rate")
BY_GROUP = ("error", "explained share", "loss")
ALL_ROWS = (
    "average error", "retained variance", "error gap", "loss gap", "scaled mean distance", "group AUC", "target AUC",
    "target accuracy", "target R2",
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
        # With weights the last row, without names, is of all rows.
        self.groups = groups[groups["attribute"].isin([attribute, ""])].replace({"group": {"": "all rows"}})
        self.small = [one for one in self.groups["group"][self.groups["small"]] if one not in self.found.left_out]
        self.row, self.methods = self.found.row, list(self.found.evaluations[HELD_OUT])
        self.given = [GIVEN] if audit.sample.given else []
        self.labels = self.found.labels
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
    for metric in COSTS:
        for group in ("", *view.labels):
            name = "error" if group and metric == "average error" else metric
            if view.row(name, group=group) is not None:
                cells = [view.cell(name, one, group=group) for one in (PCA, method)]
                rows.append([words(f"{metric}, {group or 'all rows'}"), *cells])
    return Table(f"What {method} costs", ["what", "under PCA", f"under {method}"], rows)


def _grid(view: View, caption: str, head: str, metrics, lines, chosen=()) -> Table:
    """One row for each (name, method, group), one column for each of the metrics that was computed."""
    metrics = [metric for metric in metrics if view.row(metric, group=lines[0][2]) is not None]
    rows = [[words(name), *(view.cell(one, method, group=group) for one in metrics)] for name, method, group in lines]
    return Table(caption, [head, *metrics], rows, chosen)


def under_pca(view: View) -> Table:
    """Every group under standard PCA, the largest error first."""
    order = sorted(view.labels, key=lambda label: -view.row("error", group=label)["value"])
    caption = f"Groups of {view.name} under PCA with k = {view.k}, on held-out rows"
    return _grid(view, caption, "group", BY_GROUP, [(label, PCA, label) for label in order])


def side_by_side(view: View) -> Table:
    """All methods at one number of components on held-out rows."""
    caption = f"All methods for {view.name} with k = {view.k}, on held-out rows; recommended ones are shaded"
    lines = [(name, name, "") for name in view.methods + view.given]
    found = _grid(view, caption, "method", ALL_ROWS, lines, view.recommended)
    made = [words(METHODS[name].equalises if name in METHODS else "") for name, *_ in lines]
    rows = [[row[0], one, *row[1:]] for row, one in zip(found.rows, made, strict=True)]
    return found._replace(columns=["method", "equalises", *found.columns[1:]], rows=rows)


def attackers(view: View) -> Table:
    """What each attacker finds of the group under every method."""
    caption, lines = f"What each attacker finds of {view.name}", [(one, one, "") for one in view.methods + view.given]
    return _grid(view, caption, "method", [f"{one} AUC" for one in ATTACKERS], lines)


def decisions(view: View) -> Table:
    """What one classifier of the target does to every group, on PCA and what is recommended (or matches means)."""
    others = view.recommended or [name for name in view.methods if METHODS[name].equalises == "means"][:1]
    pairs = [(method, label) for method in dict.fromkeys([PCA, *others, *view.given]) for label in ("", *view.labels)]
    lines = [(f"{method}, {label or 'all rows'}", method, label) for method, label in pairs]
    caption = f"One classifier of {view.audit.settings['target']}, by group of {view.name}, on held-out rows"
    return _grid(view, caption, "representation, rows", DECISIONS, lines)


def bounds(view: View) -> Table:
    """The ends of the frontier: each criterion under PCA and its smallest value, and what is certified."""
    ends = view.found.frontier.rows(view.name, view.k)
    ends = ends[ends["label"].ne("") & ends["curve"].ne("own best")].drop(columns=["attribute", "k"])
    names = {"curve": "what", "label": "where", "x": "average error", "y": "value", "bound": "certified: at least"}
    return whole(ends.rename(columns=names), f"How small each can be for {view.name} with k = {view.k}, training set")


def given(view: View) -> Table:
    """What is said of a given representation; areas of one group against all others stay in the table of methods."""
    shown = ["metric", "group", "value", "low", "high", "noise_q95", "note"]
    lines = view.found.rows.query("method == @GIVEN and part == @HELD_OUT and value == value")
    lines = lines[~lines["note"].str.startswith("This group against")]
    lines = lines[shown].replace({"group": {"": "all rows"}}).rename(columns={"noise_q95": "95 % null quantile"})
    return whole(lines, f"The given representation and the groups of {view.name}, on held-out rows")


def clusters(view: View) -> list[Table]:
    """Clusterings, clusters, and clusters with groups."""
    lines = view.found.clusters.drop(columns="attribute").rename(columns={"null_quantile": "95 % null quantile"})
    every, each = lines[lines["cluster"] == ""], lines[lines["cluster"] != ""].drop(columns="clusters")
    parts = {"Clusterings,": every, "Clusters,": each[each["group"] == ""], "Clusters and": each[each["group"] != ""]}
    return [whole(found, f"{what} groups of {view.name}") for what, found in parts.items()]


def both_parts(view: View) -> Table:
    """Gaps on the training set and on held-out rows."""
    pairs = [(metric, part) for metric in ("error gap", "mean distance") for part in (TRAINING, HELD_OUT)]
    rows = [[words(method), *(view.cell(one, method, part) for one, part in pairs)] for method in view.methods]
    heads = ["method", *(f"{metric}, {part}" for metric, part in pairs)]
    return Table(f"Training set and held-out rows for {view.name} with k = {view.k}", heads, rows)
