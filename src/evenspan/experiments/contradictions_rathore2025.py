"""Contradictions X01 to X14, in Rathore and Manwani (2025): recounted in the printed tables, and in our runs."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from .claim_rules import rule
from .contradictions_claims import BOTH, FIRST, OPEN, PART, SECOND, Check, Outcome, answer_of, by_claim, by_count
from .rathore2025_counting import NAMES, Source, ours
from .rathore2025_divergence import moments_of
from .rathore2025_identities import implied_totals, impossible
from .rathore2025_protocol import HALF_DIGIT, PUBLISHED, RELEASED, TABLES, judged, matrices, printed
from .rathore2025_speed import EXPERIMENT, our_times, printed_times
from .store import read_results

_COVARIANCE, PROGRAMME, JEVD, PCA = PUBLISHED


def slower(slow: str, fast: str, factor: float) -> Outcome:
    """X01, X02: where the printed times are against the sentence, do our runs side with it?"""
    mine = our_times(read_results(EXPERIMENT))
    if not {slow, fast} <= set(mine.index) or mine.shape[1] < len(TABLES):
        return None
    theirs = printed_times()
    against = [name for name in TABLES if theirs.loc[slow, name] <= factor * theirs.loc[fast, name]]
    good = sum(bool(mine.loc[slow, name] > factor * mine.loc[fast, name]) for name in against)
    told = "; ".join(
        f"{TABLES[name].title}: printed {theirs.loc[slow, name]:g} s against {theirs.loc[fast, name]:g} s, ours in the "
        f"ratio {mine.loc[slow, name] / mine.loc[fast, name]:.2f}"
        for name in against
    )
    if not against:
        return FIRST, f"No printed pair of times of {slow} and {fast} is against it."
    return by_count(good, len(against)), (
        f"{told}. Ours is above {factor:g} in {good} of {len(against)}; our times are of other programs on another "
        "machine."
    )


def lowest_distance() -> Outcome:
    """X03: MMD^2 of JEVD-PCA below every other, on LSAC and NPHA."""

    def count(source: Source) -> tuple[int, int, int, int]:
        strict = tied = rows = 0
        for title in ("LSAC", "NPHA"):
            wide = source(NAMES[title]).xs("MMD^2", axis=1, level="metric")
            best = wide.drop(columns=JEVD).min(axis=1)
            strict, tied = strict + int((wide[JEVD] < best).sum()), tied + int((wide[JEVD] == best).sum())
            rows += len(wide)
        return strict, tied, rows - strict - tied, rows

    theirs, mine = count(printed), count(ours)
    words = [
        f"{name}: lowest alone in {a} of {rows} rows, tied in {b}, above the lowest in {c}"
        for name, (a, b, c, rows) in (("Printed", theirs), ("ours", mine))
    ]
    return by_count(theirs[0], theirs[3]), "; ".join(words) + "."


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
    rows = read_results("rathore2025-tables")
    rows = rows[(rows["metric"] == "loss gap") & (rows["protocol"] == RELEASED)]
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
    moments = moments_of("diabetes")
    if moments is None:
        return None
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


def nested_columns() -> Outcome:
    """X09: the identity is a theorem; the printed numbers that break it are not of nested orthonormal columns."""
    answer = answer_of("R21")
    if answer is None:
        return None
    broken = impossible().query("what.str.startswith('MMD')")
    return (FIRST if len(broken) else BOTH), answer[1]


def times_and_orders() -> Outcome:
    """X10: the solver's own time on Obesity and on Diabetes, printed and ours."""
    rows = read_results(EXPERIMENT)
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


def two_algorithms() -> Outcome:
    """X14: the two forms of the cited method, and whether they differ."""
    answer = answer_of("R24")
    if answer is None:
        return None
    return (FIRST if answer[0] == "holds" else PART), (
        f"{answer[1]} Of the two numbers of the reference the one in the timing paragraph is that of a data "
        "repository; the other is meant."
    )


checks: Mapping[str, Check] = {
    "X01": lambda: slower(JEVD, PCA, rule("R11", "times as long")),
    "X02": lambda: slower(PROGRAMME, JEVD, rule("R09", "times faster")),
    "X03": lowest_distance,
    "X04": by_claim("R15"),
    "X05": by_claim("R17"),
    "X06": fairer_overall,
    "X07": criterion_reported,
    "X08": one_total_variance,
    "X09": nested_columns,
    "X10": times_and_orders,
    "X11": by_claim("R22", holds=SECOND, not_so=FIRST),
    "X12": by_claim("R05"),
    "X13": by_claim("R03"),
    "X14": two_algorithms,
}
