"""What five classifiers find of the group after every method: areas with their intervals, and what these say together.

The area of a split has the standard error of ``metrics.auc_standard_error``. Splits share rows, so that of the mean
over them is taken as if they had everything in common: the root of the mean of the squares, which it never exceeds.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from IPython.display import HTML
from scipy.stats import norm

from evenspan.displays.method_looks import ordered

from ...book.tables import sentence
from ...book.tables import table as html_table
from ...store import read_results

#: The classifiers of the notebook, the linear one first.
CLASSIFIERS = ("logistic regression", "boosting", "support vector machine", "nearest neighbours", "neural network")
#: Without a method: what must be found, and what cannot be.
CONTROLS = ("all features", "groups permuted")
#: Of intervals, as everywhere in this part.
WIDTH = float(norm.ppf(0.975))
#: An area up to this is called little. Fixed when four tables had been seen while the sizes were chosen, and no more.
LITTLE = 0.6


def results() -> pd.DataFrame:
    """Tidy rows of the full run, as far as it is stored."""
    return read_results("across-classifiers")


def by_split(rows: pd.DataFrame) -> pd.DataFrame:
    """Areas with their standard errors: ``dataset, method, classifier, split, area, error``."""
    found = rows[rows["value"].notna()]
    parts = found["metric"].str.extract(r"AUC, (?P<classifier>[^,]+)(?:, (?P<what>standard error))?")
    found = found.assign(classifier=parts["classifier"], what=parts["what"].fillna("area"))
    wide = found.pivot(index=["dataset", "method", "classifier", "split"], columns="what", values="value")
    return wide.rename(columns={"standard error": "error"}).reset_index().rename_axis(columns=None)


def areas(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits with 95 % intervals of the held-out rows, and the deviation between the splits.

    Columns: ``dataset, method, classifier, mean, low, high, deviation``.
    """
    split = by_split(rows).assign(square=lambda t: t["error"] ** 2)
    groups = split.groupby(["dataset", "method", "classifier"], sort=False)
    found = groups.agg(mean=("area", "mean"), square=("square", "mean"), deviation=("area", "std")).reset_index()
    half = WIDTH * np.sqrt(found.pop("square"))
    return found.assign(low=found["mean"] - half, high=found["mean"] + half)


def quartiles(found: pd.DataFrame) -> pd.DataFrame:
    """Median (``mean``) and quartiles (``low``, ``high``) of such areas over the data sets."""
    wide = found.groupby(["method", "classifier"], sort=False)["mean"].quantile([0.25, 0.5, 0.75]).unstack()
    return wide.set_axis(["low", "mean", "high"], axis=1).reset_index()


def strongest(found: pd.DataFrame) -> pd.DataFrame:
    """The largest of the five areas, methods down and data sets across."""
    return found.groupby(["method", "dataset"])["mean"].max().unstack()


def in_order(methods: Iterable[str]) -> list[str]:
    """The controls, then the methods in the order of legends."""
    present = sorted(set(methods))
    return [name for name in CONTROLS if name in present] + ordered(name for name in present if name not in CONTROLS)


def table(found: pd.DataFrame, caption: str) -> HTML:
    """Areas of all methods (down) by all classifiers (across), each with its interval or its quartiles."""
    if found.empty:
        return sentence("No area is at hand: the full run has not been stored.")
    spread = zip(found["mean"], found["low"], found["high"], strict=True)
    text = [f"{mean:.2f} ({low:.2f} to {high:.2f})" for mean, low, high in spread]
    wide = found.assign(text=text).pivot(index="method", columns="classifier", values="text").fillna("–")
    wide = wide.reindex(index=in_order(wide.index), columns=list(CLASSIFIERS)).rename_axis(index="method")
    return html_table(wide.reset_index(), caption=caption, classes="result-table words-1")


def by_data_set(found: pd.DataFrame, classifier: str, methods: Iterable[str], labels: dict[str, str]) -> HTML:
    """Areas of one classifier with half the width of their intervals, data sets down and some methods across."""
    some = found[(found["classifier"] == classifier) & found["method"].isin(methods := list(methods))]
    if some.empty:
        return sentence("No area is at hand: the full run has not been stored.")
    half = (some["high"] - some["low"]) / 2
    text = [f"{mean:.2f} ± {error:.2f}" for mean, error in zip(some["mean"], half, strict=True)]
    wide = some.assign(text=text).pivot(index="dataset", columns="method", values="text").fillna("–")
    wide = wide.reindex(index=[name for name in labels if name in wide.index], columns=methods).rename(index=labels)
    caption = f"Area of {classifier} on held-out rows, with half the width of its 95 % interval"
    return html_table(wide.rename_axis("data set").reset_index(), caption=caption, classes="result-table words-1")


def hidden(found: pd.DataFrame) -> HTML:
    """On how many data sets all five classifiers find little after each method, and the most that one finds."""
    if found.empty:
        return sentence("No area is at hand: the full run has not been stored.")
    most, rows = strongest(found), []
    for name in in_order(most.index):
        own = most.loc[name].dropna()
        below = f"{int((own <= LITTLE).sum(axis=0))} of {len(own)}"
        rows.append((name, below, f"{own.median():.2f}", f"{own.max():.2f}"))
    columns = ["method", f"all five at most {LITTLE}", "strongest, median", "strongest, largest"]
    caption = "The strongest of the five classifiers, over the data sets"
    return html_table(pd.DataFrame(rows, columns=columns), caption=caption, classes="result-table words-1")


def verdict(found: pd.DataFrame) -> HTML:
    """Whether the controls behave on one data set, and after which methods an interval reaches one half."""
    chance = found.assign(chance=found["low"] <= 0.5).pivot(index="method", columns="classifier", values="chance")
    methods = [name for name in in_order(chance.index) if name not in CONTROLS]
    blind = {name: chance.loc[methods, list(some)].all(axis=1) for name, some in
             (("linear", CLASSIFIERS[:1]), ("all five", CLASSIFIERS))}  # fmt: skip
    controls = found.set_index(["method", "classifier"])
    parts = []
    if "groups permuted" in chance.index:
        inside = controls.loc["groups permuted"]
        held = int(((inside["low"] <= 0.5) & (inside["high"] >= 0.5)).sum(axis=0))
        parts.append(f"With the groups permuted, the intervals of {held} of {len(inside)} classifiers hold one half.")
    if "all features" in chance.index:
        best = controls.loc["all features"]["mean"]
        parts.append(f"From all features the best, {best.idxmax()}, reaches {best.max():.2f}.")
    names = [name for name in methods if blind["all five"][name]]
    parts.append(
        f"The interval of logistic regression reaches one half after {int(blind['linear'].sum())} of {len(methods)} "
        f"methods, those of all five after {len(names)}{': ' if names else ''}{', '.join(names)}."
    )
    return sentence(" ".join(parts))
