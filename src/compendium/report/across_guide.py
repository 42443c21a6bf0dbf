"""The choice of a method as a table and as a tree: what has to be alike, the criterion that says so, the method."""

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenspan.displays.style import INK

from ..experiments.across_summary import COST, LEVEL, ranks, values
from .across_figures import Look, words
from .across_tables import EMPTY
from .tables import sentence, table

#: What has to be alike, by the measures that say so.
QUESTIONS = {
    "nothing: keep what is there": ("relative error",),
    "how well each group is rebuilt": ("worst error", "error gap", "worst loss", "loss gap"),
    "where the groups lie": ("mean distance", "covariance distance", "group AUC"),
    "nothing: predict a label": ("label AUC",),
}
LINE = "#999999"


def choices(found: pd.DataFrame, k: int) -> pd.DataFrame:
    """The guide at one number of components: ``question, criterion, method, best`` for measures of ``QUESTIONS``."""
    rows = [
        (question, f"{row.metric}: {row.criterion}", row.use, row.best if row.p < LEVEL else row.use)
        for question, metrics_ in QUESTIONS.items()
        for metric in metrics_
        for row in found.itertuples()
        if (row.metric, row.k) == (metric, k)
    ]
    return pd.DataFrame(rows, columns=["question", "criterion", "method", "best"])


def against_pca(found: pd.DataFrame, k: int, rows: pd.DataFrame | None = None) -> pd.DataFrame:
    """What the best method of each criterion gains and costs: ``metric, best, wins, of, cost``.

    Parameters
    ----------
    found : DataFrame
        As ``across_summary.guide`` gives it.
    k : int
    rows : DataFrame, optional
        Rows of the full run; the stored ones by default.

    Returns
    -------
    DataFrame
        ``wins`` of ``of`` data sets have the method before PCA; ``cost`` is the geometric mean of its relative error
        over them, less 1.
    """
    lines = []
    for row in found[found["k"] == k].itertuples():
        table_ = ranks(row.metric, k, rows).table
        errors = values(COST, k, rows)[0].reindex(table_.index)
        wins = int((table_[row.best] < table_["PCA"]).sum())
        lines.append((row.metric, row.best, wins, len(table_), float(np.exp(np.log(errors[row.best]).mean())) - 1))
    return pd.DataFrame(lines, columns=["metric", "best", "wins", "of", "cost"])


def guide(found: pd.DataFrame, k: int, rows: pd.DataFrame | None = None) -> HTML:
    """Your criterion, what to use and why, at one number of components.

    Parameters
    ----------
    found, k, rows
        As for ``against_pca``.
    """
    if found.empty:
        return sentence(EMPTY)
    some = found[found["k"] == k].set_index("metric")
    gains = against_pca(found, k, rows).set_index("metric")
    because = [
        "no method stands out"
        if p >= LEVEL
        else f"average rank {rank:.1f}" + ("" if best == "PCA" else f", before PCA on {wins} of {of}")
        for p, rank, best, wins, of in zip(
            some["p"], some["best rank"], gains["best"], gains["wins"], gains["of"], strict=True
        )
    ]
    shown = pd.DataFrame(
        {
            "your criterion": [f"{text}<br>({name})" for name, text in zip(some.index, some["criterion"], strict=True)],
            "use": [
                f"<strong>{best}</strong>" if p < LEVEL else "–"
                for best, p in zip(some["best"], some["p"], strict=True)
            ],
            "because": because,
            "costs": [f"{cost:+.1%}" if p < LEVEL else "–" for cost, p in zip(gains["cost"], some["p"], strict=True)],
            "cheapest not told apart": [
                "–" if name == best else name for name, best in zip(some["use"], some["best"], strict=True)
            ],
            "it costs": [f"{error - 1:+.1%}" for error in some["relative error"]],
        }
    )
    caption = f"Your criterion, what to use and why, with {k} components; costs are error over all rows beyond PCA's"
    return table(shown, caption=caption, classes="result-table words-3")


def guide_by_size(found: pd.DataFrame) -> HTML:
    """The best average rank at every number of components, and how many methods are not told from it."""
    if found.empty:
        return sentence(EMPTY)
    text = [f"{best} ({len(near.split(', '))})" for best, near in zip(found["best"], found["not worse"], strict=True)]
    wide = found.assign(text=text).pivot(index="metric", columns="k", values="text").reindex(found["metric"].unique())
    wide.columns = [f"k = {k}" for k in wide.columns]
    caption = (
        "The best average rank at each size; in brackets, how many methods are not told from it, itself among them"
    )
    return table(wide.fillna("–").rename_axis("measure").reset_index(), caption=caption, classes="result-table words-1")


def decision(guide: pd.DataFrame, dressed: Mapping[str, Look], *, root: str = "What has to be alike?") -> Figure:
    """A tree from one question to a method: what has to be alike, which criterion says so, and what to use.

    Parameters
    ----------
    guide : DataFrame
        Columns ``question``, ``criterion``, ``method``, ``best``, as ``choices`` gives them; rows of one
        question follow one another.
    dressed : mapping of str to Look
        By method.
    root : str
        The first question.
    """
    if guide.empty:
        return words("No choice is at hand: the full run has not been stored.")
    questions = list(dict.fromkeys(guide["question"]))
    fig, panel = plt.subplots(figsize=(9.2, 0.62 * len(guide) + 0.5), layout="constrained")
    panel.set(xlim=(0.0, 10.7), ylim=(len(guide) - 0.45, -0.55))
    panel.axis("off")
    middle = (len(guide) - 1) / 2
    _box(panel, 0.8, middle, root, 13)
    y = 0.0
    for question in questions:
        rows = guide[guide["question"] == question]
        at = y + (len(rows) - 1) / 2
        _branch(panel, (0.8, middle), (2.9, at))
        _box(panel, 2.9, at, question, 16)
        for criterion, method, best in rows[["criterion", "method", "best"]].itertuples(index=False):
            own = dressed[best]
            _branch(panel, (2.9, at), (5.4, y))
            _box(panel, 5.4, y, criterion, 26)
            panel.plot([5.4, 7.25], [y, y], color=LINE, linewidth=1.1, zorder=0)
            panel.plot(
                7.4, y, marker=own.marker, color=own.colour, markersize=10, markerfacecolor="white", markeredgewidth=1.7
            )
            other = "" if best == method else f"or, not told apart: {method}"
            panel.text(7.65, y - 0.16 * bool(other), best, va="center", ha="left", weight="bold", color=INK)
            panel.text(7.65, y + 0.2, other, va="center", ha="left", fontsize="small", color="#555555")
            y += 1.0
    return fig


def _box(panel: Axes, x: float, y: float, text: str, width: int) -> None:
    panel.text(
        x, y, textwrap.fill(text, width), ha="center", va="center", fontsize="small",
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "#f7f5ef", "edgecolor": LINE},
    )  # fmt: skip


def _branch(panel: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """A line with two right angles from box to box; it ends below them."""
    turn = start[0] + 0.5 * (end[0] - start[0])
    panel.plot([start[0], turn, turn, end[0]], [start[1], start[1], end[1], end[1]], color=LINE, lw=1.1, zorder=0)
