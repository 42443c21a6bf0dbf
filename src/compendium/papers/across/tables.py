"""Tables that compare all methods on all data: means with their intervals, ranks, prices of a smaller gap, choices.

They lie one folder below the book's root, as the links in them do. Means, rows and the guide are those of ``summary``.
"""

import html
import re
import textwrap
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML

from evenspan.methods import METHODS

from ...book.tables import sentence, table
from ...data.registry import entry
from .protocol import DATASETS, LEFT_OUT, METRICS
from .summary import LEVEL, Friedman, frontier

#: Where each method is derived, as a page of the book.
CHAPTERS = {
    "PCA": "foundations/joint-range",
    "Min-max loss": "papers/vu2022/min-max",
    "JEVD-PCA": "papers/rathore2025/derivation",
    "Min-max error": "papers/vu2022/min-max",
    "Robust PCA (radius 0)": "papers/vu2022/derivation",
    "Robust PCA": "papers/vu2022/derivation",
    "u-FPCA": "foundations/joint-range",
    "c-FPCA": "foundations/joint-range",
    "Fair PCA": "papers/kleindessner2023/derivation",
    "Convex PCA (mean)": "papers/kleindessner2023/relaxations",
    "LEACE": "papers/kleindessner2023/erasure",
    "INLP": "papers/kleindessner2023/erasure",
    "RLACE": "papers/kleindessner2023/relaxations",
    "Fair PCA (covariance)": "papers/kleindessner2023/derivation",
    "Convex PCA (both)": "papers/kleindessner2023/relaxations",
    "Null-it-out PCA": "papers/lee2023/derivation",
    "Streaming null-it-out": "papers/lee2023/power-method",
    "MMD PCA": "papers/kleindessner2023/penalty",
}
#: Below this share of PCA's value a gap or a price is zero to the accuracy of the solvers.
NOTHING = 1e-6
#: What has to be alike, by the measures that say so.
QUESTIONS = {
    "nothing: keep what is there": ("relative error",),
    "how well each group is rebuilt": ("worst error", "error gap", "worst loss", "loss gap"),
    "where the groups lie": ("mean distance", "covariance distance", "group AUC"),
    "nothing: predict a label": ("label AUC",),
}
EMPTY = "The full run has not been stored, so there is nothing to show yet."


def labels() -> dict[str, str]:
    """The short title of every data set that is compared, by its name."""
    return {name: re.split(r" \(|,", entry(name).title)[0] for name in DATASETS}


def shown(rows: Iterable[tuple], columns: list[str], caption: str, words: int = 1) -> HTML:
    """Rows as a table whose first columns are words."""
    return table(pd.DataFrame(rows, columns=columns), caption=caption, classes=f"result-table words-{words}")


# -- what is compared --------------------------------------------------------------------------------------------------


def methods() -> HTML:
    """Every method with what it asks to be equal, what it needs, and the chapter that derives it."""
    rows = []
    for name, method in METHODS.items():
        needs = f"{method.rows} points at most" if method.rows else "the points" if method.points else "group moments"
        link = f'<a href="../{CHAPTERS[name]}.html">derivation</a>'
        rows.append((name, method.equalises, needs, method.splits, link))
    columns = ["method", "asks to be equal", "needs", "splits", "where"]
    return shown(rows, columns, "The methods, by what they ask to be equal between groups", 3)


def data(sizes: Mapping[int, tuple[str, ...]]) -> HTML:
    """Every data set with its groups, label and size, and the numbers of components at which it is ranked."""
    rows = []
    for name, title in labels().items():
        found, counts = DATASETS[name], entry(name).groups.values()
        link = f'<a href="../data/cards/{name}.html">{html.escape(title)}</a>'
        share = f"{min(counts) / sum(counts):.2f}"
        ranked = ", ".join(str(k) for k, some in sizes.items() if name in some)
        rows.append((link, html.escape(found.groups), found.label or "–", f"{sum(counts):,}", found.d, share, ranked))
    columns = ["data set", "groups", "label", "rows", "d", "smaller group", "ranked at k"]
    caption = "The data sets: rows of all groups, features that are compared, share of the smaller group"
    return shown(rows, columns, caption, 3)


def left_out() -> HTML:
    """Data sets with groups that are not compared, and why."""
    items = (
        f'<li><a href="../data/cards/{name}.html">{name}</a>: {html.escape(why)}</li>' for name, why in LEFT_OUT.items()
    )
    return HTML(f'<ul class="trail">{"".join(items)}</ul>')


def metrics() -> HTML:
    """Every measure of the judge: the criterion it stands for, which way is good, and its unit."""
    rows = [
        (name, metric.criterion, html.escape(metric.unit), "less" if metric.lower else "more")
        for name, metric in METRICS.items()
    ]
    columns = ["measure", "criterion", "unit", "better"]
    return shown(rows, columns, "What the judge measures on the held-out part", 3)


# -- means and ranks ---------------------------------------------------------------------------------------------------


def number(value: float, half: float | None = None) -> str:
    """``0.412 ± 0.013``: three decimals, two above ten; powers of ten below a thousandth; a dash for nothing.

    >>> number(0.41234, 0.0127), number(123.456), number(3.2e-9), number(float("nan"))
    ('0.412 ± 0.013', '123.46', '3e-09', '–')
    """
    if pd.isna(value):
        return "–"
    if 0 < abs(value) < 5e-4:
        return f"{value:.0e}" if half is None or pd.isna(half) else f"{value:.0e} ± {half:.0e}"
    digits = 2 if abs(value) >= 10 else 3
    spread = "" if half is None or pd.isna(half) else f" ± {half:.{digits}f}"
    return f"{value:.{digits}f}{spread}"


def cross(
    means: pd.DataFrame, *, down: tuple[str, Iterable[str]], across: tuple[str, Iterable[str]], caption: str
) -> HTML:
    """The means over two of their columns, each with half the width of its interval, the best of every column bold.

    ``down`` and ``across`` are a column and its values in order; those that do not occur are left out.
    """
    if means.empty:
        return sentence(EMPTY)
    small = means["metric"].map(lambda metric: METRICS[metric].lower)
    signed = means["mean"].where(small, -means["mean"])
    bold = np.isclose(signed, signed.groupby(means[across[0]]).transform("min"), rtol=1e-9, atol=1e-12)
    texts = [
        f"<strong>{number(mean, half)}</strong>" if mark else number(mean, half)
        for mean, half, mark in zip(means["mean"], (means["high"] - means["low"]) / 2, bold, strict=True)
    ]
    wide = means.assign(text=texts).pivot(index=down[0], columns=across[0], values="text")
    wide = wide.loc[[name for name in down[1] if name in wide.index], [name for name in across[1] if name in wide]]
    wide = wide.fillna("–").rename_axis(index=down[0]).reset_index()
    return table(wide, caption=caption, classes="result-table words-1")


def across_data_sets(means: pd.DataFrame, metric: str) -> HTML:
    """One measure of all methods (down) on all data sets (across), held out."""
    some = means[means["metric"] == metric]
    good = "less is better" if METRICS[metric].lower else "more is better"
    caption = f"{metric[0].upper() + metric[1:]} ({METRICS[metric].unit}); {good}"
    return cross(some, down=("method", METHODS), across=("dataset", labels().values()), caption=caption)


def by_size(means: pd.DataFrame, what: str) -> HTML:
    """All measures (across) of all methods (down) on one data set and sample, a table for each number of components."""
    found = means[means["mean"].notna()]
    if found.empty:
        return sentence(f"No mean is stored {what}.")
    methods = dict.fromkeys((*METHODS, *found["method"]))
    parts = [
        cross(some, down=("method", methods), across=("metric", METRICS), caption=f"{k} components, {what}")
        for k, some in found.groupby("k")
    ]
    return HTML("".join(part.data for part in parts))


def facts(rows: pd.DataFrame, k: int) -> HTML:
    """How often the answers of each method are certified, and the median time of a fit, over the data sets."""
    some = rows[(rows["k"] == k) & rows["value"].notna()]
    if some.empty:
        return sentence(EMPTY)
    certified = some[some["metric"] == "certified"].groupby("method")["value"].mean()
    seconds = some[some["metric"] == "seconds"].groupby("method")["value"].median()
    found = [(name, f"{certified[name]:.0%}", f"{seconds[name]:.2g} s") for name in METHODS if name in certified.index]
    caption = f"Fits with a closed certificate, and median time of a fit over the data sets, {k} components"
    return shown(found, ["method", "certified", "median time"], caption)


def told_apart(tests: Iterable[Friedman]) -> HTML:
    """For every measure the methods that do not differ from the best, best first."""
    rows = []
    for test in tests:
        near = sorted(test.not_worse(), key=lambda name: (test.ranks[name], name))
        names = ", ".join(f"{name} ({test.ranks[name]:.1f})" for name in near)
        wrapped = "<br>".join(textwrap.wrap(html.escape(names), 64))
        few, needed = f"{len(near)} of {len(test.ranks)}", f"{test.critical_difference:.1f}"
        rows.append((test.metric, wrapped, few, len(test.datasets), needed, f"{test.p:.0e}"))
    columns = ["measure", "from the best", "not different", "data sets", "critical difference", "Friedman p"]
    caption = "Methods that do not differ significantly from the best, with their average ranks"
    return table(pd.DataFrame(rows, columns=columns), caption=caption) if rows else sentence(EMPTY)


def rank_rows(tests: Iterable[Friedman | None]) -> pd.DataFrame:
    """Friedman's tests as one frame: ``criterion, metric, k, method, rank, difference, blocks, p``."""
    columns = ["criterion", "metric", "k", "method", "rank", "difference", "blocks", "p"]
    rows = [
        (METRICS[test.metric].criterion, test.metric, test.k, method, rank,
         test.critical_difference, len(test.datasets), test.p)
        for test in tests
        if test is not None
        for method, rank in test.ranks.items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


# -- the price of a smaller gap ----------------------------------------------------------------------------------------


def panels(named: Mapping[str, tuple[str, int]], *given) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points and certified frontiers of data sets and numbers of components, with the titles of their panels.

    The titles stand in the column ``dataset``; what else is given goes to ``frontier``.
    """
    columns = ["dataset", "method", "error", "gap", "projection"]
    points, lines = [pd.DataFrame(columns=columns)], [pd.DataFrame(columns=["dataset", "error", "gap"])]
    for title, (dataset, k) in named.items():
        some, line = frontier(dataset, k, *given)
        points.append(some.assign(dataset=title))
        lines.append(line.assign(dataset=title))
    return tuple(pd.concat(some[1:] or some, ignore_index=True) for some in (points, lines))


def prices(lines: pd.DataFrame) -> HTML:
    """For each data set what no method can avoid: the error at which the gap is halved, and at its smallest."""
    if lines.empty:
        return sentence(EMPTY)
    rows = []
    for name, line in lines.groupby("dataset", sort=False):
        line = line.sort_values("error", kind="stable")
        gap, smallest = line["gap"].iloc[0], line["gap"].iloc[-1]
        half = gap / 2
        price = float(np.interp(half, line["gap"].to_numpy()[::-1], line["error"].to_numpy()[::-1])) - 1
        costs = _percent(price) if smallest <= half else "impossible"
        least = number(smallest) if smallest > NOTHING * gap else "0"
        rows.append((name, number(gap), costs, least, _percent(line["error"].iloc[-1] - 1)))
    columns = ["data set", "gap of PCA", "half of it costs", "smallest gap", "the smallest costs"]
    caption = "The price of a smaller gap that every projection has to pay, as additional error of all rows"
    return shown(rows, columns, caption)


def floor(line: pd.DataFrame, errors: np.ndarray) -> np.ndarray:
    """Gaps below which no projection with these errors (m,) lies, by one certified frontier.

    Between two points of a convex curve it is above the chords before and after, prolonged.
    """
    x, y = line.sort_values("error", kind="stable")[["error", "gap"]].drop_duplicates("error").to_numpy().T
    found = np.full(len(errors), y[-1])
    slopes = np.diff(y) / np.diff(x)
    for i, slope in enumerate(slopes):  # a chord bounds the curve everywhere but between its own ends
        outside = (errors < x[i]) | (errors > x[i + 1])
        found = np.where(outside, np.maximum(found, y[i] + slope * (errors - x[i])), found)
    return found


def excess(points: pd.DataFrame, lines: pd.DataFrame) -> HTML:
    """Additional error of every method over the cheapest projection with a gap as small, as a share of PCA's error."""
    if points.empty or lines.empty:
        return sentence(EMPTY)
    parts = []
    for name, line in lines.groupby("dataset", sort=False):
        line = line.sort_values("gap", kind="stable")
        some = points[points["dataset"] == name]
        cheapest = np.interp(some["gap"], line["gap"], line["error"])
        parts.append(some.assign(excess=np.maximum(some["error"] - cheapest, 0.0)))
    every = pd.concat(parts)
    found = every.groupby("method", sort=False)["excess"].agg(["min", "median", "max"])
    worst = every.loc[every.groupby("method", sort=False)["excess"].idxmax()].set_index("method")["dataset"]
    rows = [
        (name, *map("{:.2%}".format, spread), worst[name] if spread.iloc[-1] > NOTHING else "–")
        for name, spread in found.iterrows()
    ]
    columns = ["method", "smallest", "median", "largest", "largest on"]
    return shown(rows, columns, "Error beyond the frontier, over the data sets")


def survival(means: pd.DataFrame) -> HTML:
    """Held-out gap of every method relative to PCA's on the same data set: quartiles, and where it is larger."""
    wide = means[means["metric"] == "error gap"].pivot(index="dataset", columns="method", values="mean")
    if wide.empty:
        return sentence(EMPTY)
    rows = []
    for name in (name for name in METHODS if name in wide and name != "PCA"):
        ratio = (wide[name] / wide["PCA"]).dropna()
        quartiles = (f"{share:.2f}" for share in ratio.quantile([0.25, 0.5, 0.75]))
        rows.append((name, *quartiles, f"{int((ratio > 1).sum(axis=0))} of {len(ratio)}"))
    columns = ["method", "lower quartile", "median", "upper quartile", "larger than PCA's on"]
    return shown(rows, columns, "Held-out gap, that of PCA = 1, over the data sets")


def _percent(share: float) -> str:
    return f"{share:+.2%}" if share >= 1e-4 or share <= 0 else f"{100 * share:+.1g}%"


# -- the choice of a method --------------------------------------------------------------------------------------------


def choices(found: pd.DataFrame, k: int) -> pd.DataFrame:
    """The guide at one number of components: ``question, criterion, method, best`` for measures of ``QUESTIONS``."""
    rows = [
        (question, f"{row.metric}: {row.criterion}", row.use, row.best if row.p < LEVEL else row.use)
        for question, measures in QUESTIONS.items()
        for measure in measures
        for row in found.itertuples()
        if (row.metric, row.k) == (measure, k)
    ]
    return pd.DataFrame(rows, columns=["question", "criterion", "method", "best"])


def guide(found: pd.DataFrame, k: int) -> HTML:
    """Your criterion, what to use and why, at one number of components."""
    if found.empty:
        return sentence(EMPTY)
    rows = []
    for line in found[found["k"] == k].to_dict("records"):
        criterion, use, costs = f"{line['criterion']}<br>({line['metric']})", "–", "–"
        because = "no method stands out"
        if line["p"] < LEVEL:
            use, costs = f"<strong>{line['best']}</strong>", f"{line['best error'] - 1:+.1%}"
            wins = f", before PCA on {line['wins']} of {line['data sets']}"
            because = f"average rank {line['best rank']:.1f}" + ("" if line["best"] == "PCA" else wins)
        cheapest = "–" if line["use"] == line["best"] else line["use"]
        rows.append((criterion, use, because, costs, cheapest, f"{line['relative error'] - 1:+.1%}"))
    columns = ["your criterion", "use", "because", "costs", "cheapest without significant difference", "it costs"]
    caption = f"Your criterion, what to use and why, with {k} components; costs are error over all rows beyond PCA's"
    return shown(rows, columns, caption, 3)


def guide_by_size(found: pd.DataFrame) -> HTML:
    """The best average rank at every number of components, and how many methods are not told from it."""
    if found.empty:
        return sentence(EMPTY)
    text = [f"{best} ({len(near.split(', '))})" for best, near in zip(found["best"], found["not worse"], strict=True)]
    wide = found.assign(text=text).pivot(index="metric", columns="k", values="text").reindex(found["metric"].unique())
    wide.columns = [f"k = {k}" for k in wide.columns]
    caption = (
        "The best average rank at each size; in brackets, how many methods do not differ significantly from it, itself "
        "among them"
    )
    return table(wide.fillna("–").rename_axis("measure").reset_index(), caption=caption, classes="result-table words-1")
