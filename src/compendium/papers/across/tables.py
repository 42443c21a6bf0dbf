"""Tables that compare all methods on all data: means with their intervals, ranks, prices of a smaller gap, choices."""

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
from .data import DATASETS, LEFT_OUT
from .judge import METRICS
from .summary import COST, LEVEL, Friedman, frontier, ranks, values

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
    "Streaming null-it-out": "papers/lee2023/derivation",
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


def methods(*, up: int = 1) -> HTML:
    """Every method with what it asks to be equal, what it needs, and the chapter that derives it.

    Parameters
    ----------
    up : int
        How many folders the page lies below the book's root.
    """
    rows = []
    for name, method in METHODS.items():
        needs = "the points" if method.points else "group moments"
        if method.rows:
            needs = f"{method.rows} points at most"
        address = f"{'../' * up}{CHAPTERS[name]}.html"
        rows.append((name, method.equalises, needs, method.splits, f'<a href="{address}">derivation</a>'))
    shown = pd.DataFrame(rows, columns=["method", "asks to be equal", "needs", "splits", "where"])
    caption = "The methods, by what they ask to be equal between groups"
    return table(shown, caption=caption, classes="result-table words-3")


def data(sizes: Mapping[int, tuple[str, ...]], *, up: int = 1) -> HTML:
    """Every data set with its groups, label and size, and the numbers of components at which it counts.

    Parameters
    ----------
    sizes : mapping of int to tuple of str
        Data sets that are ranked, by number of components.
    up : int
        How many folders the page lies below the book's root.
    """
    rows = []
    for name, title in labels().items():
        found, counts = DATASETS[name], entry(name).groups.values()
        link = f'<a href="{"../" * up}data/cards/{name}.html">{html.escape(title)}</a>'
        share = f"{min(counts) / sum(counts):.2f}"
        ranked = ", ".join(str(k) for k, some in sizes.items() if name in some)
        rows.append((link, html.escape(found.groups), found.label or "–", f"{sum(counts):,}", found.d, share, ranked))
    columns = ["data set", "groups", "label", "rows", "d", "smaller group", "ranked at k"]
    return table(
        pd.DataFrame(rows, columns=columns),
        caption="The data sets: rows of all groups, features that are compared, share of the smaller group",
        classes="result-table words-3",
    )


def left_out(*, up: int = 1) -> HTML:
    """Data sets with groups that are not compared, and why."""
    items = (
        f'<li><a href="{"../" * up}data/cards/{name}.html">{name}</a>: {html.escape(why)}</li>'
        for name, why in LEFT_OUT.items()
    )
    return HTML(f'<ul class="trail">{"".join(items)}</ul>')


def metrics() -> HTML:
    """Every measure of the judge: the criterion it stands for, which way is good, and its unit."""
    rows = [
        (name, metric.criterion, html.escape(metric.unit), "less" if metric.lower else "more")
        for name, metric in METRICS.items()
    ]
    return table(
        pd.DataFrame(rows, columns=["measure", "criterion", "unit", "better"]),
        caption="What the judge measures on the held-out part",
        classes="result-table words-3",
    )


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
    """One statistic spread over two columns of the means: half the width of the interval beside it, the best bold.

    Parameters
    ----------
    means : DataFrame
        Columns ``metric``, ``mean``, ``low``, ``high`` and the two that are named; each pair of names at most once.
    down, across : (str, iterable of str)
        A column, and its values in order; those that do not occur are left out. The best is looked for down.
    caption : str

    Returns
    -------
    HTML
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
    shown = wide.fillna("–").rename_axis(index=down[0]).reset_index()
    return table(shown, caption=caption, classes="result-table words-1")


def across_data_sets(means: pd.DataFrame, metric: str) -> HTML:
    """One measure of all methods (down) on all data sets (across), held out."""
    some = means[means["metric"] == metric]
    good = "less is better" if METRICS[metric].lower else "more is better"
    caption = f"{metric[0].upper() + metric[1:]} ({METRICS[metric].unit}); {good}"
    return cross(some, down=("method", METHODS), across=("dataset", labels().values()), caption=caption)


def by_size(means: pd.DataFrame, what: str) -> HTML:
    """All measures (across) of all methods (down) on one data set, a table for each number of components.

    Parameters
    ----------
    means : DataFrame
        As ``across_summary.means`` gives them, of one data set and one sample.
    what : str
        The sample, for the captions.
    """
    found = means[means["mean"].notna()]
    if found.empty:
        return sentence(f"No mean is at hand {what}.")
    parts = [
        cross(some, down=("method", METHODS), across=("metric", METRICS), caption=f"{k} components, {what}")
        for k, some in found.groupby("k")
    ]
    return HTML("".join(part.data for part in parts))


def facts(rows: pd.DataFrame, k: int) -> HTML:
    """How often the answers of each method are certified, and the median time of a fit, over the data sets.

    Parameters
    ----------
    rows : DataFrame
        Those of the full run.
    k : int
        Number of components.
    """
    some = rows[(rows["k"] == k) & rows["value"].notna()]
    if some.empty:
        return sentence(EMPTY)
    certified = some[some["metric"] == "certified"].groupby("method")["value"].mean()
    seconds = some[some["metric"] == "seconds"].groupby("method")["value"].median()
    shown = [(name, f"{certified[name]:.0%}", f"{seconds[name]:.2g} s") for name in METHODS if name in certified.index]
    caption = f"Fits with a closed certificate, and median time of a fit over the data sets, {k} components"
    columns = ["method", "certified", "median time"]
    return table(pd.DataFrame(shown, columns=columns), caption=caption, classes="result-table words-1")


def told_apart(found: pd.DataFrame) -> HTML:
    """For every measure the methods that nothing is told apart from, best first.

    Parameters
    ----------
    found : DataFrame
        As ``rank_rows`` gives it.
    """
    if found.empty:
        return sentence(EMPTY)
    rows = []
    for metric, some in found.groupby("metric", sort=False):
        some = some.sort_values(["rank", "method"], kind="stable")
        first = some.iloc[0]
        near = some[(some["rank"] <= first["rank"] + first["difference"]) | (some["p"] >= LEVEL)]
        names = ", ".join(f"{name} ({rank:.1f})" for name, rank in zip(near["method"], near["rank"], strict=True))
        wrapped = "<br>".join(textwrap.wrap(html.escape(names), 64))
        rows.append(
            (metric, wrapped, f"{len(near)} of {len(some)}", first["blocks"], f"{first['difference']:.1f}",
             f"{first['p']:.0e}")
        )  # fmt: skip
    columns = ["measure", "from the best", "not told apart", "data sets", "critical difference", "Friedman p"]
    caption = "Methods that are not told apart from the best, with their average ranks"
    return table(pd.DataFrame(rows, columns=columns), caption=caption)


def rank_rows(found: Iterable[Friedman]) -> pd.DataFrame:
    """Friedman's tests as one frame: ``criterion, metric, k, method, rank, difference, blocks, p``."""
    columns = ["criterion", "metric", "k", "method", "rank", "difference", "blocks", "p"]
    rows = [
        (METRICS[test.metric].criterion, test.metric, test.k, method, rank,
         test.critical_difference, len(test.datasets), test.p)
        for test in found
        if test is not None
        for method, rank in test.ranks.items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


# -- the price of a smaller gap ----------------------------------------------------------------------------------------


def panels(named: Mapping[str, tuple[str, int]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points and certified frontiers of several panels, as ``across_figures.frontiers`` takes them.

    Parameters
    ----------
    named : mapping of str to (str, int)
        Data set and number of components by the title of the panel; panels without shipped moments are left out.

    Returns
    -------
    points, lines : DataFrame
        Columns ``dataset`` (the title), ``method``, ``error``, ``gap``, ``projection``; and ``dataset``, ``error``,
        ``gap``.
    """
    columns = ["dataset", "method", "error", "gap", "projection"]
    points, lines = [pd.DataFrame(columns=columns)], [pd.DataFrame(columns=["dataset", "error", "gap"])]
    for title, (dataset, k) in named.items():
        found = frontier(dataset, k)
        if len(found.line):
            points.append(found.points.assign(dataset=title))
            lines.append(found.line.assign(dataset=title))
    return tuple(pd.concat(some[1:] or some, ignore_index=True) for some in (points, lines))


def prices(lines: pd.DataFrame) -> HTML:
    """For each data set what no method can avoid: the error at which the gap is halved, and at its smallest.

    Parameters
    ----------
    lines : DataFrame
        Certified frontiers: columns ``dataset``, ``error`` (PCA is 1), ``gap``.
    """
    if lines.empty:
        return sentence(EMPTY)
    rows = []
    for name, line in lines.groupby("dataset", sort=False):
        line = line.sort_values("error", kind="stable")
        gap, smallest = line["gap"].iloc[0], line["gap"].iloc[-1]
        half = gap / 2
        reached = smallest <= half
        price = float(np.interp(half, line["gap"].to_numpy()[::-1], line["error"].to_numpy()[::-1])) - 1
        rows.append(
            (name, number(gap), _percent(price) if reached else "impossible",
             number(smallest) if smallest > NOTHING * gap else "0", _percent(line["error"].iloc[-1] - 1))
        )  # fmt: skip
    columns = ["data set", "gap of PCA", "half of it costs", "smallest gap", "the smallest costs"]
    return table(
        pd.DataFrame(rows, columns=columns),
        caption="The price of a smaller gap that every projection has to pay, as additional error of all rows",
        classes="result-table words-1",
    )


def floor(line: pd.DataFrame, errors: np.ndarray) -> np.ndarray:
    """Gaps below which no projection with these errors lies: between two points of a convex curve it is above the
    chords before and after, prolonged.

    Parameters
    ----------
    line : DataFrame
        One certified frontier: columns ``error``, ``gap``.
    errors : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m,)
    """
    x, y = line.sort_values("error", kind="stable")[["error", "gap"]].drop_duplicates("error").to_numpy().T
    found = np.full(len(errors), y[-1])
    slopes = np.diff(y) / np.diff(x)
    for i, slope in enumerate(slopes):  # a chord bounds the curve everywhere but between its own ends
        outside = (errors < x[i]) | (errors > x[i + 1])
        found = np.where(outside, np.maximum(found, y[i] + slope * (errors - x[i])), found)
    return found


def excess(points: pd.DataFrame, lines: pd.DataFrame) -> HTML:
    """Additional error of every method over the cheapest projection with a gap as small, as a share of PCA's error.

    Parameters
    ----------
    points, lines : DataFrame
        As ``across_figures.frontiers`` takes them; data sets without a line are left out.
    """
    if points.empty or lines.empty:
        return sentence(EMPTY)
    parts = []
    for name, line in lines.groupby("dataset", sort=False):
        line = line.sort_values("gap", kind="stable")
        some = points[points["dataset"] == name]
        cheapest = np.interp(some["gap"], line["gap"], line["error"])
        parts.append(some.assign(excess=np.maximum(some["error"] - cheapest, 0.0)))
    every = pd.concat(parts)
    spread = every.groupby("method", sort=False)["excess"].agg(["min", "median", "max"])
    worst = every.loc[every.groupby("method", sort=False)["excess"].idxmax()].set_index("method")["dataset"]
    worst = worst.where(spread["max"] > NOTHING, "–")
    shown = spread.map("{:.2%}".format).assign(where=worst).rename_axis("method").reset_index()
    shown.columns = ["method", "smallest", "median", "largest", "largest on"]
    return table(shown, caption="Error beyond the frontier, over the data sets", classes="result-table words-1")


def survival(means: pd.DataFrame) -> HTML:
    """Held-out gap of every method relative to PCA's on the same data set: quartiles, and where it is larger.

    Parameters
    ----------
    means : DataFrame
        As ``across_summary.means`` gives them, with one number of components.
    """
    wide = means[means["metric"] == "error gap"].pivot(index="dataset", columns="method", values="mean")
    if wide.empty:
        return sentence(EMPTY)
    ratio = wide.div(wide["PCA"], axis=0)[[name for name in METHODS if name in wide and name != "PCA"]]
    rows = [
        (
            name,
            *(f"{share:.2f}" for share in some.quantile([0.25, 0.5, 0.75])),
            f"{int((some > 1).sum())} of {len(some)}",
        )
        for name, some in ((name, ratio[name].dropna()) for name in ratio)
    ]
    columns = ["method", "lower quartile", "median", "upper quartile", "larger than PCA's on"]
    shown = pd.DataFrame(rows, columns=columns)
    return table(shown, caption="Held-out gap, that of PCA = 1, over the data sets", classes="result-table words-1")


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
        ranked = ranks(row.metric, k, rows)
        errors = values(COST, k, rows)[0].reindex(ranked.index)
        wins = int((ranked[row.best] < ranked["PCA"]).sum())
        lines.append((row.metric, row.best, wins, len(ranked), float(np.exp(np.log(errors[row.best]).mean())) - 1))
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
