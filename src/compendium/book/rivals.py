"""Evenspan beside other libraries: what ``benchmarks/rivals`` measured, as figures and tables of the book.

A file that is not the one its record describes is refused. Figures and tables count what is there: tasks that have not
been run are named, and those that failed keep their message.
"""

import html
import io

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenspan.displays.style import COLOURS, INK, MARKERS, TICKS

from .. import figures, paths, records
from . import tables

#: The control of each kind of method, beside which times and costs are told.
CONTROL = {"representation": "PCA", "clustering": "KMeans"}
#: Which of theirs does the work of which of ours.
PAIRS = (
    ("StandardPCA", "PCA"),
    ("StandardPCA, batches", "IncrementalPCA"),
    ("StandardPCA, batches", "PCA (dask-ml)"),
    ("LEACE (evenspan)", "LEACE (concept-erasure)"),
    ("OracleLEACE, mean", "Oracle LEACE"),
    ("OracleLEACE, mean", "CorrelationRemover"),
    ("OracleLEACE, covariance", "Quadratic LEACE, no shrinkage"),
    ("FairAssignmentKMeans", "Fairlets, vanilla"),
    ("FairnessFirstClustering", "FairKMeans"),
    ("VariationalFairClustering (evenspan)", "VariationalFairClustering (holisticai)"),
)
#: Inches of a figure and points of its text, which a page shows in full size; dots between two marks at least.
WIDTH, SMALL, APART = 7.6, 8.4, 10.0
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
    return records.read(paths.data("results", "rivals", "tasks.json"))


def read() -> pd.DataFrame:
    """One row for each task that was run, in the order of the tasks."""
    folder = paths.data("results", "rivals")
    content = records.described(folder / "tasks.csv", folder / "tasks.json", "make rivals")
    rows = pd.read_csv(io.BytesIO(content), encoding="utf-8")
    return rows.assign(held=rows["held"].map({"True": True, "False": False, True: True, False: False}))


def missing(rows: pd.DataFrame) -> list[tuple[str, int, str]]:
    """Tasks that have no row yet."""
    there = set(rows[["dataset", "split", "method"]].itertuples(index=False, name=None))
    return [tuple(task) for task in record()["tasks"] if tuple(task) not in there]


def lost(rows: pd.DataFrame) -> pd.Series:
    """What a method leaves out: the share of the variance that is not rebuilt, or that within clusters."""
    return (1.0 - rows["kept"]).fillna(rows["within"])


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """By method, over the tasks with two groups: medians of time and loss, each over the control's of the same task.

    The area of a linear classifier, and the balance of the worst cluster over that asked for, are medians of their own;
    ``held`` is the share of tasks in which the own promise held.
    """
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
    whole.draw_without_rendering()  # where the panels are is known only now
    for fig in whole.subfigs:
        for panel in fig.axes:
            apart(panel, [line for line in panel.lines if line.get_marker() in MARKERS])
    return whole


def apart(panel: Axes, marks: list[Line2D]) -> None:
    """Move marks that would lie on others up, on a line, until each can be seen; the limits of the panel stay."""
    panel.set(xlim=panel.get_xlim(), ylim=panel.get_ylim())
    placed = []
    for one in marks:
        place = np.column_stack(one.get_data())
        at = panel.transData.transform(place)[0]
        while any(np.hypot(*(at - other)) < APART for other in placed):
            at = at + np.array([0.0, APART / 4])
            moved = panel.transData.inverted().transform([at])
            one.set_data(moved.T)
            panel.plot(*np.vstack([place, moved]).T, color=one.get_color(), linewidth=1.0, zorder=1)
        placed.append(at)


def promise_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """By method and promise, over the tasks with two groups that ended: in which share it held, whoever gave it.

    A method of which no task ended has a line for its own promise, without a share.
    """
    bounds, found = record()["bounds"], []
    for (kind, name), some in rows[rows["groups"] == 2].groupby(["kind", "method"], sort=False):
        ended, own = some[some["message"].isna()], some["promise"].iloc[0]
        for promise, bound in bounds.items():
            values, given = ended[promise].dropna(), promise == own
            if len(values) or (ended.empty and given):
                share = float((values <= bound).mean())
                found.append({"kind": kind, "method": name, "promise": promise, "given": given, "held": share,
                              "tasks": len(values), "largest": float(values.max())})  # fmt: skip
    return pd.DataFrame(found)


def promise_figure(rows: pd.DataFrame) -> Figure:
    """What each method can do at all: where each promise held, framed if given."""
    shares = promise_shares(rows)
    names = {kind: list(dict.fromkeys(rows.loc[rows["kind"] == kind, "method"])) for kind in CONTROL}
    promises = {kind: [p for p in record()["bounds"] if p in set(shares.loc[shares["kind"] == kind, "promise"])]
                for kind in CONTROL}  # fmt: skip
    ratios = {"width_ratios": [len(promises[kind]) for kind in CONTROL]}
    fig, axes = figures.panels(1, 2, (WIDTH, 6.6), gridspec_kw=ratios)
    for panel, kind in zip(axes[0], CONTROL, strict=True):
        for one in shares[shares["kind"] == kind].to_dict("records"):
            at = promises[kind].index(one["promise"]), names[kind].index(one["method"])
            colour, marker, more = mark(one["held"])
            panel.plot(*at, color=colour, marker=marker, linestyle="none", **more)
            if one["given"]:
                panel.plot(*at, "s", color=INK, markersize=15, fillstyle="none")
        panel.set_xticks(range(len(promises[kind])), promises[kind], rotation=50, ha="right", rotation_mode="anchor")
        panel.set_xlim(-0.7, len(promises[kind]) - 0.3)
        figures.line_each(panel, names[kind])
        ours = rows.loc[(rows["kind"] == kind) & (rows["library"] == "evenspan"), "method"].nunique()
        panel.axhline(ours - 0.5, color=INK, linewidth=0.8)
        panel.tick_params(labelsize=SMALL)
        panel.set_title("Representations" if kind == "representation" else "Clusters", fontsize="small")
    looks = {"held in every task": 1.0, "in some": 0.5, "in none": 0.0, "no task ended": np.nan}
    marks = [(text, *mark(share)) for text, share in looks.items()]
    entries = [figures.entry(text, colour, marker, **more) for text, colour, marker, more in marks]
    promised = figures.entry("promised by the method", INK, "s", markersize=12, fillstyle="none")
    return figures.explained(fig, [*entries, promised], fontsize=SMALL)


def mark(share: float) -> tuple[str, str, dict]:
    """How it is drawn that a promise held in this share of the tasks: colour, marker and what else."""
    if np.isnan(share):
        return COLOURS[1], "x", {"markersize": 8, "markeredgewidth": 2.0}
    if share == 0.0:
        return "#777777", "_", {"markersize": 8}
    return COLOURS[0], "o", {"markersize": 9, "fillstyle": "full" if share == 1.0 else "none"}


def promises_table() -> HTML:
    """What is measured, and the bound."""
    made = record()
    shown = pd.DataFrame(
        {
            "promise": list(made["promises"]),
            "what is measured": [html.escape(text) for text in made["promises"].values()],
            "held if at most": [f"{made['bounds'][name]:g}" for name in made["promises"]],
        }
    )
    return tables.table(shown, caption="Promises, each measured on the rows that the method was fitted to")


def features(rows: pd.DataFrame) -> pd.DataFrame:
    """What a method can be used for, as its tasks showed it: one line a method."""
    found = []
    for name, some in rows.groupby("method", sort=False):
        ended, first = some[some["message"].isna()], some.iloc[0]
        two, more = some[some["groups"] == 2], some[some["groups"] > 2]
        versions = some["version"].dropna()
        line = {"method": name, "library": f"{first['library']} {versions.iloc[0] if len(versions) else ''}".strip()}
        line["ended"] = f"{two['message'].isna().sum()} of {len(two)}"
        line["three groups"] = _held(more)
        line["promise held, two groups"] = _held(two)
        line["new rows need"] = (
            ended["new_rows"].dropna().iloc[0] if ended["new_rows"].notna().any() else "not tried"
            if first["kind"] == "clustering" else "–"
        )  # fmt: skip
        line["label"] = "needed" if first["label"] else "–"
        line["in batches"] = first["batches"] if isinstance(first["batches"], str) else "–"
        line["most rows"] = f"{ended['n'].max():,}" if len(ended) else "–"
        found.append(line)
    return pd.DataFrame(found)


def _held(some: pd.DataFrame) -> str:
    """How often the own promise held; or that it ran, where nothing is promised; or that every task failed."""
    ended = some[some["message"].isna()]
    if some.empty:
        return "not run"
    if ended.empty:
        return "fails"
    if ended["held"].isna().all():
        return "runs"
    return f"{int(ended['held'].sum())} of {len(ended)}"


def features_table(rows: pd.DataFrame) -> HTML:
    """The same as a table."""
    shown = features(rows).map(html.escape).replace(r"(\d) of (\d)", "\\1\u00a0of\u00a0\\2", regex=True)
    shown["in batches"] = shown["in batches"].str.replace(r"([:.])", r"\1<wbr>", regex=True)
    return tables.table(shown, caption="What each method can be used for, as its tasks showed it")


def messages(rows: pd.DataFrame) -> pd.DataFrame:
    """Tasks that gave no result: how many of a method, on which data, with which message.

    Of messages that differ in their numbers only the first is given.
    """
    failed = rows[rows["message"].notna()]
    aside = r"\d[\d.]*|[TG]iB|^not tried: | on split \d+$"
    failed = failed.assign(words=failed["message"].str.replace(aside, "", regex=True))
    found = failed.groupby(["method", "words"], sort=False).agg(
        data=("dataset", lambda names: "; ".join(dict.fromkeys(names))),
        tasks=("split", "size"),
        message=("message", "first"),
    )
    return found.reset_index().drop(columns="words")


def messages_table(rows: pd.DataFrame) -> HTML:
    """The same as a table."""
    shown = messages(rows).assign(message=lambda found: found["message"].map(html.escape))
    return tables.table(
        shown, caption="Tasks without a result, and what was said; of messages that differ in numbers, the first"
    )


def pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Theirs over ours on the same tasks: the time, and what is lost (of variance, or the sum of squares), medians.

    ``largest`` is the ratio of the times on the most rows that both finished; ``held`` in how many of the tasks either
    kept its own promise; ``alone`` how often theirs kept its promise where ours gave a message.
    """
    rows = rows.assign(lost=lost)
    found = []
    for ours, theirs in PAIRS:
        tried = [rows[rows["method"] == name].set_index(["dataset", "split"]) for name in (ours, theirs)]
        both = [one[one["message"].isna()] for one in tried]
        shared = both[0].index.intersection(both[1].index)
        failed = tried[0].index.difference(both[0].index)
        a, b = (one.loc[shared] for one in both)
        time, loss = b["seconds"] / a["seconds"], b["lost"] / a["lost"]
        largest = a["n"].idxmax() if len(shared) else None
        found.append({
            "ours": ours, "theirs": theirs, "tasks": len(shared), "time": time.median(), "shortest": time.min(),
            "longest": time.max(), "rows": a["n"].max(), "largest": time.get(largest, np.nan), "lost": loss.median(),
            "held, ours": a["held"].eq(True).sum(), "held, theirs": b["held"].eq(True).sum(),
            "alone": both[1].loc[both[1].index.intersection(failed), "held"].eq(True).sum(),
            "memory, ours": a["memory"].get(largest), "memory, theirs": b["memory"].get(largest),
        })  # fmt: skip
    return pd.DataFrame(found)


def pairs_table(rows: pd.DataFrame) -> HTML:
    """The same as a table; where theirs is better by more than one in a hundred the number is bold."""
    found = pairs(rows)

    def text(value: float, digits: int = 2) -> str:
        return "–" if pd.isna(value) else f"{value:,.0f}" if value >= 10 else f"{value:.{digits}g}"

    def ratio(value: float, digits: int = 2) -> str:
        return f"<strong>{text(value, digits)}</strong>" if value < 0.99 else text(value, digits)

    def two(first: str, second: str, sign: str) -> list[str]:
        return [f"{text(a)}{sign}{text(b)}" for a, b in zip(found[first], found[second], strict=True)]

    shown = found[["ours", "theirs", "tasks"]].assign(
        **{
            "time": found["time"].map(ratio),
            "range": two("shortest", "longest", "–"),
            "most rows": found["rows"].map(text),
            "time on these": found["largest"].map(ratio),
            "lost": [ratio(value, 3) for value in found["lost"]],
            "held": two("held, ours", "held, theirs", " / "),
            "MiB on these": two("memory, ours", "memory, theirs", " / "),
        }
    )
    caption = (
        "Side by side on the tasks that both finished; times and losses are theirs over ours, bold below 1; memory "
        "and in how many tasks the own promise held are ours / theirs"
    )
    return tables.table(shown, caption=caption)


def better(rows: pd.DataFrame) -> HTML:
    """In words: where theirs takes less time or memory, loses less or keeps its promise in more tasks than ours."""
    found = pairs(rows)

    def told(some: pd.DataFrame, text: str) -> str:
        return "; ".join(text.format(**one) for one in some.to_dict("records")) or "none"

    names = {"held, ours": "kept", "held, theirs": "more", "memory, ours": "needed", "memory, theirs": "less"}
    found = found.rename(columns=names)
    lines = {
        "Faster, in the median": told(found[found["time"] < 0.99], "{theirs} than {ours} ({time:.2g} of its time)"),
        "Faster on the most rows": told(
            found[found["largest"] < 0.99], "{theirs} than {ours} ({largest:.2g} of its time, {rows:,.0f} rows)"
        ),
        "With less memory on the most rows": told(
            found[found["less"] < 0.99 * found["needed"]], "{theirs} than {ours} ({less:,.0f} MiB, ours {needed:,.0f})"
        ),
        "Closer to the rows, or with the lower sum of squares": told(
            found[found["lost"] < 0.9999], "{theirs} than {ours} ({lost:.4g} of what it loses)"
        ),
        "With the own promise kept in more tasks": told(
            found[found["more"] > found["kept"]], "{theirs} than {ours} ({more} of {tasks}, ours {kept})"
        ),
        "With the own promise kept where ours gives an error": told(
            found[found["alone"] > 0], "{theirs} beside {ours} ({alone} tasks)"
        ),
    }
    items = "".join(f"<li>{what}: {html.escape(said)}.</li>" for what, said in lines.items())
    return HTML(f"<ul>{items}</ul>")


def conditions(rows: pd.DataFrame) -> HTML:
    """How it was measured, and what of it is not there yet."""
    made, left = record(), missing(rows)
    waiting = "; ".join(dict.fromkeys(name for name, _, _ in left))
    limits = made["limits"]
    text = (
        f"{len(rows)} tasks by make rivals at commit {', '.join(sorted({c[:10] for c in rows['commit']}))}, "
        f"{made['machine']}, one of {made['cores']} cores for each, {made['finished'][:10]}; "
        f"{made['components']} components, {made['clusters']} clusters; a task ends after {limits['seconds']} seconds "
        f"or at {limits['MiB']:,} MiB."
    )
    return tables.sentence(text + (f" Not run yet: {len(left)} tasks on {waiting}." if left else ""))
