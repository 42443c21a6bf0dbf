"""Tables that compare all methods on all data: cells with the width of their interval, the best marked."""

import html
import re
import textwrap
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from IPython.display import HTML

from evenspan.methods import METHODS

from ..data.registry import entry
from ..experiments.across_data import DATASETS, LEFT_OUT
from ..experiments.across_judge import METRICS
from ..experiments.across_summary import LEVEL, Friedman
from .tables import sentence, table

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
