"""Evenspan beside other libraries: what ``benchmarks/rivals`` measured, as figures and tables of the book.

A file that is not the one its record describes is refused. Figures and tables count what is there: tasks that have not
been run are named, and those that failed keep their message.
"""

import html
import io

import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from evenspan.core.errors import ResultError
from evenspan.displays.style import COLOURS, INK, MARKERS

from .. import paths, records
from . import figures, tables

#: The control of each kind of method, beside which times and costs are told.
CONTROL = {"representation": "PCA", "clustering": "KMeans"}
#: Which of theirs does the work of which of ours.
PAIRS = (
    ("StandardPCA, batches", "PCA"),
    ("StandardPCA, batches", "IncrementalPCA"),
    ("StandardPCA, batches", "PCA (dask-ml)"),
    ("LEACE (evenspan)", "LEACE (concept-erasure)"),
    ("LEACE (evenspan)", "Oracle LEACE"),
    ("LEACE (evenspan)", "CorrelationRemover"),
    ("FairnessFirstClustering", "FairKMeans"),
    ("FairnessFirstClustering", "Fairlets, vanilla"),
    ("VariationalFairClustering (evenspan)", "VariationalFairClustering (holisticai)"),
)
AGAIN = "Restore both from the repository, or measure again: make rivals"
#: Panels of the figure of quality: kind of method, what is drawn, its name, and the scale.
PANELS = (
    ("representation", "lost", "variance lost over that of PCA", "log"),
    ("representation", "area, new rows", "area of a linear classifier of the group, new rows", "linear"),
    ("clustering", "lost", "sum of squares over that of k-means", "linear"),
)


def record() -> dict:
    """How it was measured: limits, environments, checksums of the data, the promises with their bounds."""
    return records.read(paths.data("results", "rivals", "tasks.json"))


def read() -> pd.DataFrame:
    """One row for each task that was run, in the order of the tasks."""
    path = paths.data("results", "rivals", "tasks.csv")
    if not path.is_file():
        raise ResultError(f"{path} is missing. {AGAIN}")
    content = path.read_bytes()
    if record()["sha256"].get(path.name) != records.digest(content):
        raise ResultError(f"{path} was altered: it is not the one that tasks.json beside it describes. {AGAIN}")
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

    The area of a linear classifier is a median of its own; ``held`` is the share of tasks in which the own promise held.
    """
    rows = rows[rows["groups"] == 2].assign(lost=lost)
    controls = rows[rows["method"].isin(CONTROL.values())].set_index(["kind", "dataset", "split"])
    control = rows[["kind", "dataset", "split"]].join(controls[["seconds", "lost"]], on=["kind", "dataset", "split"])
    rows = rows.assign(times=rows["seconds"] / control["seconds"], lost=rows["lost"] / control["lost"])
    by = rows.groupby(["kind", "library", "method"], sort=False)
    found = by[["times", "lost", "area, new rows"]].median()
    return found.assign(held=by["held"].apply(lambda v: v.dropna().astype(float).mean()), tasks=by.size()).reset_index()


def quality_figure(rows: pd.DataFrame) -> Figure:
    """Quality against time: one mark a method, filled where its own promise held in every task."""
    shown, looks = beside(rows), {}
    for (_, library), some in shown.groupby(["kind", "library"], sort=False):
        # a colour for each library of a kind, of which there are at most as many; a marker for each of its methods
        libraries = list(dict.fromkeys(shown.loc[shown["kind"] == some["kind"].iloc[0], "library"]))
        looks |= {name: (COLOURS[libraries.index(library)], MARKERS[i]) for i, name in enumerate(some["method"])}
    fig, axes = figures.panels(1, len(PANELS), (11.5, 6.6))
    entries = {}
    for panel, (kind, quality, title, scale) in zip(axes[0], PANELS, strict=True):
        some = shown[(shown["kind"] == kind) & shown[quality].notna() & shown["times"].notna()]
        for one in some.to_dict("records"):
            colour, marker = looks[one["method"]]
            fill = "full" if one["held"] == 1.0 else "none"
            style = {"markersize": 9, "markeredgewidth": 1.6, "fillstyle": fill}
            panel.plot(one["times"], one[quality], color=colour, marker=marker, linestyle="none", **style)
            entries[one["method"]] = figures.entry(one["method"], colour, marker, **style)
        panel.set(xscale="log", yscale=scale, title=title, xlabel=f"time of fit over that of {CONTROL[kind]}")
    return figures.explained(fig, entries.values(), 4, fontsize="small")


def promise_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """By method and promise, over the tasks with two groups that ended: in which share it held, whoever gave it."""
    bounds, found = record()["bounds"], []
    for (kind, name), some in rows[rows["groups"] == 2].groupby(["kind", "method"], sort=False):
        ended = some[some["message"].isna()]
        for promise, bound in bounds.items():
            values = ended[promise].dropna()
            if len(values):
                given = promise == some["promise"].iloc[0]
                share = float((values <= bound).mean())
                found.append({"kind": kind, "method": name, "promise": promise, "given": given, "held": share,
                              "tasks": len(values), "largest": float(values.max())})  # fmt: skip
    return pd.DataFrame(found)


def promise_figure(rows: pd.DataFrame) -> Figure:
    """What each method can do at all: where each promise held, framed if given."""
    shares = promise_shares(rows)
    kinds = list(CONTROL)
    counts = [shares.loc[shares["kind"] == kind, ["method", "promise"]].nunique() for kind in kinds]
    fig, axes = figures.panels(
        1, 2, (11.0, 6.4), gridspec_kw={"width_ratios": [count["promise"] + 1 for count in counts]}
    )
    for panel, kind in zip(axes[0], kinds, strict=True):
        some = shares[shares["kind"] == kind]
        names, promises = (list(dict.fromkeys(some[column])) for column in ("method", "promise"))
        for one in some.to_dict("records"):
            at = promises.index(one["promise"]), names.index(one["method"])
            if one["held"] > 0:
                panel.plot(*at, "o", color=COLOURS[0], markersize=4 + 9 * one["held"], zorder=3,
                           fillstyle="full" if one["held"] == 1.0 else "none")  # fmt: skip
            else:
                panel.plot(*at, "_", color="#777777", markersize=9)
            if one["given"]:
                panel.plot(*at, "s", color=INK, markersize=19, fillstyle="none")
        panel.set_xticks(range(len(promises)), promises, rotation=50, ha="right")
        panel.set_xlim(-0.7, len(promises) - 0.3)
        figures.line_each(panel, names)
        panel.set_title("What is made of rows" if kind == "representation" else "Clusters")
    entries = [
        figures.entry("held in every task", COLOURS[0], "o", markersize=12),
        figures.entry("in some", COLOURS[0], "o", markersize=8, fillstyle="none"),
        figures.entry("in none", "#777777", "_", markersize=9),
        figures.entry("promised", INK, "s", markersize=13, fillstyle="none"),
    ]
    return figures.explained(fig, entries)


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
        line["label"] = "needed" if first["label"] else "not used"
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
    """The same for readers."""
    shown = features(rows).map(html.escape)
    return tables.table(shown, caption="What each method can be used for, as its tasks showed it")


def messages(rows: pd.DataFrame) -> pd.DataFrame:
    """Tasks that gave no result: how many of a method, on which data, with which message."""
    failed = rows[rows["message"].notna()]
    by = failed.groupby(["method", "message"], sort=False)
    found = by.agg(tasks=("split", "size"), data=("dataset", lambda names: "; ".join(dict.fromkeys(names))))
    return found.reset_index()[["method", "data", "tasks", "message"]]


def messages_table(rows: pd.DataFrame) -> HTML:
    """The same for readers."""
    shown = messages(rows).assign(message=lambda found: found["message"].map(html.escape))
    return tables.table(shown, caption="Tasks without a result, and what was said")


def pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Theirs over ours on the same tasks: the time, and what is lost (of variance, or the sum of squares), medians."""
    rows = rows[rows["message"].isna()].assign(lost=lost)
    found = []
    for ours, theirs in PAIRS:
        both = [rows[rows["method"] == name].set_index(["dataset", "split"]) for name in (ours, theirs)]
        shared = both[0].index.intersection(both[1].index)
        a, b = (one.loc[shared] for one in both)
        time, loss = b["seconds"] / a["seconds"], b["lost"] / a["lost"]
        largest = a["n"].idxmax() if len(shared) else None
        found.append({
            "ours": ours, "theirs": theirs, "tasks": len(shared), "time": time.median(), "shortest": time.min(),
            "longest": time.max(), "lost": loss.median(), "rows": a["n"].max(),
            "memory, ours": a["memory"].get(largest), "memory, theirs": b["memory"].get(largest),
        })  # fmt: skip
    return pd.DataFrame(found)


def pairs_table(rows: pd.DataFrame) -> HTML:
    """The same for readers; where theirs is better by more than one in a hundred the number is bold."""
    found = pairs(rows)

    def ratio(value: float) -> str:
        text = "–" if pd.isna(value) else f"{value:.3g}"
        return f"<strong>{text}</strong>" if value < 0.99 else text

    shown = found[["ours", "theirs", "tasks"]].assign(
        **{
            "time, theirs over ours": found["time"].map(ratio),
            "from": found["shortest"].map("{:.2g}".format),
            "to": found["longest"].map("{:.2g}".format),
            "lost, theirs over ours": found["lost"].map(ratio),
            "most rows": found["rows"].map("{:,.0f}".format),
            "MiB for these, ours": found["memory, ours"].map("{:.0f}".format),
            "theirs": found["memory, theirs"].map("{:.0f}".format),
        }
    )
    shown.columns = [*shown.columns[:-1], "MiB, theirs"]
    return tables.table(shown, caption="Side by side on the same tasks; below 1 (bold) theirs is better")


def better(rows: pd.DataFrame) -> HTML:
    """In words: where theirs takes less time or loses less than ours."""
    found = pairs(rows)
    faster = [f"{one['theirs']} than {one['ours']} ({one['time']:.2g} of its time)"
              for one in found[found["time"] < 0.99].to_dict("records")]  # fmt: skip
    closer = [f"{one['theirs']} than {one['ours']} ({one['lost']:.4g} of what it loses)"
              for one in found[found["lost"] < 0.9999].to_dict("records")]  # fmt: skip
    return tables.sentence(
        f"Faster, in the median of the tasks that both finished: {'; '.join(faster) or 'none'}. Closer to the rows, or "
        f"with the lower sum of squares: {'; '.join(closer) or 'none'}."
    )


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
