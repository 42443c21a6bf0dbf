"""Contradictions X01 to X14, in Rathore and Manwani (2025): recounted in the printed tables, and in our runs."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..data import whole_moments
from ..papers.rathore2025.claims import Source, implied_totals, ours
from ..papers.rathore2025.protocol import (
    HALF_DIGIT,
    PUBLISHED,
    RELEASED,
    TABLES,
    judged,
    matrices,
    printed,
)
from ..papers.rathore2025.readings import SUMMED, our_times, printed_times
from ..store import read_results
from .contradictions_claims import BOTH, FIRST, OPEN, PART, SECOND, Check, Outcome, by_claim, by_count

_COVARIANCE, PROGRAMME, JEVD, PCA = PUBLISHED
REFERENCES = (
    "Of the two numbers of the reference the one in the timing paragraph is that of a data repository; the other is "
    "meant."
)


def fairer_overall() -> Outcome:
    """X06: MMD^2 strictly lowest, over all rows of the four tables."""

    def count(source: Source) -> dict[str, tuple[int, int, int]]:
        found = {}
        for name, table in TABLES.items():
            wide = source(name).xs("MMD^2", axis=1, level="metric")
            best = wide.drop(columns=JEVD).min(axis=1)
            found[table.title] = (int((wide[JEVD] < best).sum()), int((wide[JEVD] == best).sum()), len(wide))
        return found

    theirs, mine = count(printed), count(ours)
    lower, tied, rows = (sum(row[i] for row in theirs.values()) for i in range(3))
    not_lowest = ", ".join(f"{title} {n - a - b} of {n}" for title, (a, b, n) in theirs.items() if n > a + b)
    return by_count(lower, rows), (
        f"Printed: strictly lowest in {lower} of {rows} rows, tied in {tied}, not lowest in {rows - lower - tied} "
        f"({not_lowest}). Ours: strictly lowest in {sum(row[0] for row in mine.values())}."
    )


def criterion_reported() -> Outcome:
    """X07: whether any table holds the losses by which fairness is defined, and what they say."""
    reported = sorted({metric for name in TABLES for _, metric in printed(name).columns})
    rows = read_results("rathore2025-tables", metric="loss gap", protocol=RELEASED, method=[JEVD, PCA])
    wide = rows.pivot_table(index=["dataset", "k"], columns="method", values="value", aggfunc="mean")
    if not {JEVD, PCA} <= set(wide.columns):
        return None
    wide = wide.dropna(subset=[JEVD, PCA])
    wider = int((wide[JEVD] > wide[PCA] * (1 + 1e-9)).sum())
    return (FIRST if any("loss" in metric.lower() for metric in reported) else SECOND), (
        f"The tables report {', '.join(reported)}, no loss. Computed by us, the losses of the two groups lie further "
        f"apart with JevdPCA than with plain PCA in {wider} of {len(wide)} rows."
    )


def one_total_variance() -> Outcome:
    """X08: one of the columns R.E. and V.E. of JevdPCA on Diabetes is not what its name says; which, cannot be seen."""
    found = implied_totals()
    broken = found[~found["possible"]]
    moments = whole_moments("diabetes")
    theirs = printed("diabetes")[JEVD]
    V = np.linalg.eigh(matrices(moments, "global")[0])[1][:, ::-1]
    near = pd.DataFrame([judged(moments, V[:, :k]) for k in theirs.index], index=theirs.index)
    equal = int(((near["V.E."] - theirs["V.E."]).abs() <= HALF_DIGIT).sum())
    excess = theirs["R.E."] - near["R.E."]
    told = "; ".join(
        f"{row.method} on {row.dataset} (at most {row.high:.1f} by r = {row.high_k}, at least {row.low:.1f} by "
        f"r = {row.low_k})"
        for row in broken.itertuples()
    )
    if broken.empty:
        return BOTH, "One total variance fits all printed rows of every column."
    return OPEN, (
        f"No one total variance fits R.E. and V.E. of {told}; it does for the other {len(found) - len(broken)} "
        f"columns. Beside the women's own PCA, V.E. agrees in {equal} of {len(theirs)} rows and R.E. is larger by "
        f"{excess.min():.2f} to {excess.max():.2f}: the error seems to hold something that the variance does not, but "
        "only the authors' script can say what."
    )


def times_and_orders() -> Outcome:
    """X10: the solver's own time on Obesity and on Diabetes, printed and ours."""
    rows = read_results("rathore2025-times", protocol=SUMMED, method=[JEVD, PROGRAMME], dataset=["diabetes", "obesity"])
    mine, theirs = our_times(rows, "solver"), printed_times()
    steps = rows[(rows["metric"] == "steps") & (rows["method"] == JEVD)].groupby("dataset")["value"].mean()
    if not {JEVD, PROGRAMME} <= set(mine.index) or not {"diabetes", "obesity"} <= set(mine.columns) & set(steps.index):
        return None
    parts, good = [], 0
    for method in (JEVD, PROGRAMME):
        ratio = mine.loc[method, "obesity"] / mine.loc[method, "diabetes"]
        good += bool(ratio > 1.0)
        printed_ratio = theirs.loc[method, "obesity"] / theirs.loc[method, "diabetes"]
        parts.append(f"{method} {printed_ratio:.1f} printed, {ratio:.1f} ours")
    return (BOTH if good == 2 else PART if good else OPEN), (
        f"Time on Obesity over time on Diabetes: {'; '.join(parts)} (ours without the moments). The orders of growth "
        f"count one step, and steps differ: Algorithm 1 takes {steps['obesity']:.0f} on Obesity and "
        f"{steps['diabetes']:.0f} on Diabetes."
    )


checks: Mapping[str, Check] = {
    # Words against printed times: our times decide.
    "X01": by_claim("R11"),
    "X02": by_claim("R09"),
    "X03": by_claim("R12", "R13", side="printed"),
    "X04": by_claim("R15", side="printed"),
    "X05": by_claim("R17", side="printed"),
    "X06": fairer_overall,
    "X07": criterion_reported,
    "X08": one_total_variance,
    "X09": by_claim("R21"),
    "X10": times_and_orders,
    "X11": by_claim("R22", holds=SECOND, not_so=FIRST),
    "X12": by_claim("R05"),
    "X13": by_claim("R03"),
    "X14": by_claim("R24", also=REFERENCES),
}
