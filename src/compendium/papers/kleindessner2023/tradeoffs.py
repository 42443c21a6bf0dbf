"""What the comparison with reductions says: curves, who dominates whom, trends over lambda, times."""

import numpy as np
import pandas as pd

from ...ledger.claim_rules import rule
from .readings import in_order
from .reductions import (
    CONSTANT,
    DP,
    EO,
    FAIR,
    LOGISTIC,
    LOOSE,
    POWERS,
    RATIO,
    REDUCTIONS,
    SCORES,
    SMALL,
    SVM,
    UNCONSTRAINED,
    VIOLATIONS,
)

#: What tells one curve from another: a panel is told by the first four.
CURVE = ["dataset", "goal", "classifier", "size", "method", "weight"]
PANEL = CURVE[:4]


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each parameter value of each method: accuracy and violations, mean over the runs.

    ``method`` is taken apart into ``method`` and ``weight``, ``protocol`` into ``goal``, ``classifier`` and ``size``.
    """
    keys = ["dataset", "protocol", "method", "parameter"]
    grouped = rows.pivot_table(index=keys, columns="metric", values="value", aggfunc="mean")
    found = grouped.join(rows.groupby(keys)["split"].nunique().rename("runs")).reset_index()
    parts = found["protocol"].str.split(", ", expand=True).set_axis(["goal", "classifier", "size"], axis=1)
    names = found["method"].str.partition(", ")[[0, 2]].set_axis(["method", "weight"], axis=1)
    found = pd.concat([parts, names, found.drop(columns=["protocol", "method"])], axis=1)
    order = {name: i for i, name in enumerate((LOGISTIC, SVM, LOOSE, *FAIR, REDUCTIONS, UNCONSTRAINED, CONSTANT))}
    return found.sort_values(
        [*CURVE, "parameter"],
        key=lambda c: c.map(order) if c.name in ("method", "classifier") else c,
        ignore_index=True,
    )


def dominated(points: pd.DataFrame, by: pd.DataFrame, violation: str) -> float:
    """Share of the points that some point of the other curve clearly dominates."""
    ahead = by["accuracy"].to_numpy()[None, :] - points["accuracy"].to_numpy()[:, None]
    fairer = points[violation].to_numpy()[:, None] - by[violation].to_numpy()[None, :]
    least = rule("K15", "clearly")
    clear = (ahead >= 0.0) & (fairer >= 0.0) & ((ahead > least) | (fairer > least))
    return float(clear.any(axis=1).mean(axis=0))


def dominance(found: pd.DataFrame) -> pd.DataFrame:
    """For every panel and representation, with the released weight: points dominated by reductions, and conversely."""
    rows, weight = [], POWERS[3]
    for keys, panel in found.groupby(PANEL, sort=False):
        other, violation = panel[panel["method"] == REDUCTIONS], VIOLATIONS[keys[1]]
        for method in FAIR:
            own = panel[(panel["method"] == method) & (panel["weight"] == weight)]
            if len(own) and len(other):
                shares = dominated(own, other, violation), dominated(other, own, violation)
                rows.append((*keys, method, weight, len(own), len(other), *shares))
    columns = ["points", "reductions' points", "dominated by reductions", "of reductions dominated"]
    return pd.DataFrame(rows, columns=CURVE + columns)


def trends(found: pd.DataFrame) -> pd.DataFrame:
    """For every curve over lambda: rank correlations of accuracy and of the violation with lambda, and both ends."""
    rows = []
    some = found[found["method"].isin(FAIR) & (found["classifier"] != LOOSE)]
    for keys, line in some.groupby(CURVE, sort=False):
        line, violation = line.sort_values("parameter"), VIOLATIONS[keys[1]]
        taus = (line["parameter"].corr(line[name], method="kendall") for name in ("accuracy", violation))
        ends = (line["runs"].iloc[0], *(line[name].iloc[at] for name in ("accuracy", violation) for at in (0, -1)))
        rows.append((*keys, *(0.0 if np.isnan(tau) else float(tau) for tau in taus), *ends))
    ends = ["runs", "accuracy at 0", "accuracy at 1", "violation at 0", "violation at 1"]
    return pd.DataFrame(rows, columns=[*CURVE, "tau of accuracy", "tau of violation", *ends])


def hidden(found: pd.DataFrame) -> pd.DataFrame:
    """How much of the second block a classifier uses at a small lambda: gap of the mean training scores of the groups.

    In units of the scores' deviation, as a share of its value at lambda = 1. Without the second block it is 0.
    """
    rows = []
    some = found[(found["method"] == "Fair PCA") & (found["goal"] == "DP") & found[SCORES].notna()]
    for (dataset, classifier, weight), line in some.groupby(["dataset", "classifier", "weight"], sort=False):
        at = line.set_index("parameter")[SCORES]
        rows.append((dataset, classifier, weight, at.loc[0.0], at.loc[SMALL], at.loc[1.0], at.loc[SMALL] / at.loc[1.0]))
    columns = ["dataset", "classifier", "weight", "gap at 0", f"gap at {SMALL}", "gap at 1", "share"]
    return pd.DataFrame(rows, columns=columns)


def constant(found: pd.DataFrame) -> pd.Series:
    """Which points lie on curves along which the classifier is the constant one on every test part: they show nothing.

    The regularised logistic regression can be so on kernel features, whose entries are small.
    """
    still = (found[[DP, EO]] == 0.0).all(axis=1) & found["method"].isin(FAIR)
    return still.groupby([found[name] for name in CURVE]).transform("all")


def left_out(found: pd.DataFrame) -> list[str]:
    """Words for what is not judged, if there is any."""
    still = found[constant(found)][["method", "dataset", "classifier"]].drop_duplicates()
    told = ", ".join(f"{one.method} on {one.dataset}" for one in still.itertuples())
    return [f"not judged, because the classifier predicts a constant throughout: {told}"] if told else []


def time_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """For each n and method: fitting time over that of the unconstrained classifier, mean and range."""
    some = rows[rows["metric"] == RATIO]
    n = some["protocol"].str.extract(r"(\d+) points")[0].astype(int)
    grouped = some.assign(n=n).groupby(["method", "n"])["value"]
    found = grouped.agg(mean="mean", smallest="min", largest="max", fits="size").reset_index()
    return in_order(found, (*FAIR, REDUCTIONS))


def thresholds() -> str:
    """What is ours in the verdicts on K06, K07 and K15, in words."""
    return (
        f"one curve clearly dominates a point of another if it is no worse in accuracy and violation and better in one "
        f"by more than {rule('K15', 'clearly')}; a curve is not inferior if at most {rule('K15', 'dominated'):.0%} of "
        f"its points are dominated; a curve rises with lambda if its rank correlation is at least "
        f"{rule('K06', 'rises')}; a classifier hardly uses the second block if it makes at most "
        f"{rule('K06', 'hardly used'):.0%} of the score gap that it makes at lambda = 1; efficient means at least "
        f"{rule('K15', 'times faster'):g} times faster; a mean is smaller if the difference exceeds "
        f"{rule('K07', 'standard errors'):g} standard errors."
    )
