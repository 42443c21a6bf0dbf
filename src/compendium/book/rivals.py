"""Evenspan and other libraries: what ``benchmarks/rivals`` measured, for the page that compares them."""

import io
import json

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenspan.displays.style import COLOURS, MARKERS, TICKS

from .. import figures, paths, records

#: The control of each kind of method, beside which times and costs are told.
CONTROL = {"representation": "PCA", "clustering": "KMeans"}
#: Which of theirs does the work of which of ours.
PAIRS = (
    ("StandardPCA", "PCA"),
    ("StandardPCA, batches", "IncrementalPCA"),
    ("StandardPCA, batches", "PCA (dask-ml)"),
    ("LEACE (evenspan)", "LEACE (concept-erasure)"),
    ("FairnessFirstClustering", "FairKMeans"),
    ("VariationalFairClustering (evenspan)", "VariationalFairClustering (holisticai)"),
)
#: Inches of a figure and points of its text, which a page shows in full size.
WIDTH, SMALL = 7.6, 8.4
#: Panels of the figure of quality by kind of method: what is drawn, its name, the scale, and a line to compare with.
PANELS = {
    "representation": (
        ("lost", "Variance lost over that of PCA", "log", 1.0),
        ("area, new rows", "AUC of a linear classifier of\nthe group, new rows", "linear", 0.5),
    ),
    "clustering": (
        ("lost", "Sum of squares over that of k-means", "linear", 1.0),
        ("balance kept", "Balance of the worst cluster\nover that asked for", "linear", 1.0),
    ),
}


def record() -> dict:
    """How it was measured: limits, environments, checksums of the data, the promises with their bounds."""
    path = paths.data("results", "rivals", "tasks.json")
    return paths.read(path, lambda content: (found := json.loads(content))["sha256"]["tasks.csv"] and found)


def read() -> pd.DataFrame:
    """One row for each task that was run, in the order of the tasks."""
    content = records.content_of(paths.data("results", "rivals", "tasks.csv"), record()["sha256"]["tasks.csv"])
    rows = pd.read_csv(io.BytesIO(content), encoding="utf-8")
    return rows.assign(held=rows["held"].map({"True": True, "False": False, True: True, False: False}))


def lost(rows: pd.DataFrame) -> pd.Series:
    """What a method leaves out: the share of the variance that is not reconstructed, or that within clusters."""
    return (1.0 - rows["kept"]).fillna(rows["within"])


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """By method, over the tasks with two groups: medians of time and loss, over the control's of the same task.

    Area and balance are medians of their own, ``held`` is the share of tasks in which the own promise held."""
    order = list(dict.fromkeys(rows["method"]))
    asked = rows["balance"] + rows["smallest balance"]  # the measure of the promise is what is missing of it
    rows = rows.assign(**{"lost": lost, "balance kept": rows["smallest balance"] / asked})
    rows = rows[(rows["groups"] == 2) & rows["message"].isna()]
    controls = rows[rows["method"].isin(CONTROL.values())].set_index(["kind", "dataset", "split"])
    control = rows[["kind", "dataset", "split"]].join(controls[["seconds", "lost"]], on=["kind", "dataset", "split"])
    rows = rows.assign(times=rows["seconds"] / control["seconds"], lost=rows["lost"] / control["lost"])
    by = rows.groupby(["kind", "library", "method"], sort=False)
    found = by[["times", "lost", "area, new rows", "balance kept"]].median()
    found = found.assign(held=by["held"].apply(lambda v: v.dropna().astype(float).mean()), tasks=by.size())
    return found.reset_index().sort_values("method", key=lambda names: names.map(order.index), ignore_index=True)


def quality_figure(rows: pd.DataFrame) -> Figure:
    """Quality against time: one mark a method, filled where its own promise held in every task."""
    shown = beside(rows)
    whole = plt.figure(figsize=(WIDTH, 9.4), layout="constrained")
    for fig, (kind, panels) in zip(whole.subfigures(2, 1, height_ratios=[1.15, 1.0]), PANELS.items(), strict=True):
        own = shown[shown["kind"] == kind]
        entries, libraries = [], list(dict.fromkeys(own["library"]))
        axes = fig.subplots(1, len(panels))
        for panel, (_, title, scale, line) in zip(axes, panels, strict=True):
            panel.axhline(line, color=TICKS, linewidth=1.0, linestyle=":")
            panel.set(xscale="log", yscale=scale)
            panel.set_xlabel(f"time of fit over that of {CONTROL[kind]}", fontsize=SMALL)
            panel.set_title(title, fontsize=SMALL)
            panel.tick_params(labelsize=SMALL)
        for library, some in own.groupby("library", sort=False):
            # a colour for each library, of which there are at most as many; a marker for each of its methods
            for one, marker in zip(some.to_dict("records"), MARKERS, strict=False):
                fill = "full" if one["held"] == 1.0 else "none"
                style = {"color": COLOURS[libraries.index(library)], "marker": marker, "fillstyle": fill}
                style |= {"markersize": 8, "markeredgewidth": 1.5, "linestyle": "none", "label": one["method"]}
                for panel, (quality, *_) in zip(axes, panels, strict=True):
                    panel.plot(one["times"], one[quality], **style)
                entries.append(Line2D([], [], **style))
        figures.explained(fig, entries, 3, fontsize=SMALL)
    return whole


def promise_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """By method and promise, over the tasks with two groups that ended: in which share it held, whoever gave it.

    A method of which no task ended has a line for its own promise, without a share."""
    found = []
    for (kind, name), some in rows[rows["groups"] == 2].groupby(["kind", "method"], sort=False):
        ended, own = some[some["message"].isna()], some["promise"].iloc[0]
        for promise, bound in record()["bounds"].items():
            values, given = ended[promise].dropna(), promise == own
            if len(values) or (ended.empty and given):
                share = float((values <= bound).mean())
                found.append({"kind": kind, "method": name, "promise": promise, "given": given, "held": share,
                              "tasks": len(values), "largest": float(values.max())})  # fmt: skip
    return pd.DataFrame(found)
