"""Claims of Rathore and Manwani (2025) about tables and running times, and where the paper contradicts itself.

Claims about tables are counted by one rule in the printed numbers and in ours. Words of degree have the numbers of
``data/tolerances.yml``; our first counts were known when they were chosen, and the numbers behind an answer let others
choose differently. Reconstruction errors are read on two scales, relative to the baselines and in shares of the total
variance (the scale of V.E.); where the two readings disagree the answer is "holds in part".
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
import pandas as pd

from evenspan.reconstruction.disparity import Family
from evenspan.reconstruction.group_errors import errors

from ... import claim_rules, paths
from ... import data as datasets
from ...claim_rules import HOLDS, IN_PART, NOT_SO, Answer, Outcome, Source, by_parts, by_share, by_truth, rule
from ...data import group_moments
from ...store import MissingNumbersError, full, read_results
from . import readings, theorems
from .methods import search_reference
from .protocol import NAMES, PRINTED, PUBLISHED, RELEASED, TABLES, matrices, printed
from .readings import EXACT, SCALING, SUMMED, completed, curves, exponents, our_times, printed_times

EXPERIMENT, TIMES, THEOREMS = "rathore2025-tables", "rathore2025-times", theorems.EXPERIMENT
COVARIANCE, PROGRAMME, JEVD, PCA = PUBLISHED
FAIR, BASELINES = [COVARIANCE, PROGRAMME], [COVARIANCE, PROGRAMME, PCA]
#: Room for the rounding of binary sums, as in ``HALF_DIGIT``.
SLACK = 1e-9
#: Good cases of a source, cases, and the numbers behind them.
Counted = tuple[int, int, claim_rules.Numbers]

# -- tables: one rule for the printed numbers and for ours -------------------------------------------------------------


def ours(dataset: str) -> pd.DataFrame:
    """Our numbers of the methods of the paper, rounded as the paper prints them; refuses where some are missing."""
    rows = read_results(EXPERIMENT, dataset=dataset, protocol=RELEASED, method=PUBLISHED, metric=PRINTED)
    wide = rows.pivot_table(index="k", columns=["method", "metric"], values="value", aggfunc="mean").round(2)
    if wide.empty or wide.shape[1] < len(PUBLISHED) * len(PRINTED) or wide.isna().any(axis=None):
        raise MissingNumbersError(f"{dataset} has not all of our numbers. Run the experiment {EXPERIMENT}.")
    return wide


def both(told: Callable[[Source], Outcome]) -> Answer:
    """One rule applied to the printed tables and to ours."""
    return claim_rules.both(told, printed, ours)


def counted(count: Callable[[Source], Counted], in_part: float) -> Answer:
    """The verdict on a count, in the printed tables and in ours."""

    def told(source: Source) -> Outcome:
        good, total, numbers = count(source)
        return by_share(good, total, in_part), numbers

    return both(told)


def on_both_scales(
    count: Callable[[Source, float, bool], Counted], limits: tuple[float, float], in_part: float
) -> Answer:
    """Both readings of R.E., relative and in shares of the total variance; where they differ: holds in part.

    The count is given a source, the limit and whether it is one of shares.
    """

    def told(source: Source) -> Outcome:
        answers, numbers = set(), {}
        for scale, limit, shares in (("relative", limits[0], False), ("of the variance", limits[1], True)):
            good, total, words = count(source, limit, shares)
            answers.add(by_share(good, total, in_part))
            numbers |= {f"{name}, {scale}": value for name, value in words.items()}
        return (answers.pop() if len(answers) == 1 else IN_PART), numbers

    return both(told)


def _totals(found: pd.DataFrame) -> claim_rules.Numbers:
    """For how many columns one total variance is possible, and the bounds of the others."""
    bounds = {
        f"{row.method} on {row.dataset}": f"at most {row.high:.1f} by r = {row.high_k}, at least {row.low:.1f} by r = "
        f"{row.low_k}"
        for row in found[~found["possible"]].itertuples()
    }
    return {"columns that one total variance fits": f"{found['possible'].sum()} of {len(found)}"} | bounds


def printed_errors_and_shares() -> Answer:
    """R19: R.E. = total variance times (1 - V.E.), for the algebra and for every column."""
    worst = float(theorems.tried("R19")[0]["difference"].max())
    true = worst <= rule("R19", "rounding")

    def told(source: Source) -> Outcome:
        found = readings.implied_totals(source)
        fits = found["possible"]
        return (NOT_SO if not true or not fits.any() else HOLDS if fits.all() else IN_PART), _totals(found)

    found = both(told)
    return found._replace(numbers={**found.numbers, "largest difference on random points": worst})


def _listed(broken: pd.DataFrame) -> str:
    told = (f"{b.method} on {b.dataset} at r = {b.r} ({b.value:.2f}, {b.limit:.2f})" for b in broken.itertuples())
    return ", ".join(told) or "none"


def pca_is_best() -> Answer:
    """R20: StandardPCA has the lowest R.E. and the highest V.E. of every row, as far as rounding lets tell."""

    def told(source: Source) -> Outcome:
        wide = pd.concat([source(name) for name in TABLES]).swaplevel(axis=1)
        lowest = (wide["R.E."][PCA] <= wide["R.E."].min(axis=1)).sum(axis=0)
        highest = (wide["V.E."][PCA] >= wide["V.E."].max(axis=1)).sum(axis=0)
        found = readings.impossible(source)
        broken = found[found["what"].str.match("V.E.|R.E.")]
        good = 2 * len(wide) - len(broken.drop_duplicates(["dataset", "r", "what"]))
        numbers = {"lowest R.E.": f"{lowest} of {len(wide)}", "highest V.E.": f"{highest} of {len(wide)}"}
        answer = by_share(good, 2 * len(wide), rule("R20", "in part from"))
        return answer, numbers | {"beyond rounding": _listed(broken)}

    return both(told)


def mean_distance_is_monotone() -> Answer:
    """R21: MMD^2 never falls as columns are added, and is at most the distance of the means."""

    def told(source: Source) -> Outcome:
        found = readings.impossible(source)
        falls, above = (found[found["what"].str.startswith(name)] for name in ("MMD^2 falls", "MMD^2 above"))
        steps = sum(2 * (len(source(name)) - 1) for name in TABLES)
        answer = by_share(steps - len(falls), steps, rule("R21", "in part from"))
        numbers = {"steps without a fall": f"{steps - len(falls)} of {steps}", "falls": _listed(falls)}
        numbers["above the squared distance of the means"] = _listed(above)
        return (IN_PART if answer == HOLDS and len(above) else answer), numbers

    return both(told)


def _least_total(title: str) -> float:
    return float(readings.possible_totals(printed(NAMES[title])[PCA])[0].max(axis=0))


def beyond(wide: pd.DataFrame, metric: str, baselines: Iterable[str], total: float | None = None) -> pd.Series:
    """How far JEVD-PCA is outside the range of the baselines: relative to its nearer end, or absolute for V.E.

    With a total variance errors are measured in shares of it.
    """
    mine, others = wide[JEVD, metric], wide.xs(metric, axis=1, level="metric")[list(baselines)]
    low, high = others.min(axis=1), others.max(axis=1)
    above, below = (mine - high).clip(lower=0.0), (low - mine).clip(lower=0.0)
    if metric == "V.E." or total is not None:
        return (above + below) / (1.0 if metric == "V.E." else total)
    return (above / high.replace(0.0, np.nan) + below / low.replace(0.0, np.nan)).fillna(0.0)


def similar(wide: pd.DataFrame, metric: str, baselines: list[str], allowed: float, total: float | None) -> pd.Series:
    """For every k whether JEVD-PCA is within the allowed distance of the range of the baselines."""
    return beyond(wide, metric, baselines, total) <= allowed + SLACK


def _lowest(title: str, huge_gap: float, in_part: float) -> Answer:
    """R12, R13: MMD^2 strictly below every baseline, and by a huge gap: both halves of the claim count."""

    def count(source: Source) -> Counted:
        wide = source(NAMES[title]).xs("MMD^2", axis=1, level="metric")
        best = wide[BASELINES].min(axis=1)
        lower, tied = wide[JEVD] < best, wide[JEVD] == best
        huge = lower & (best >= huge_gap * wide[JEVD])
        numbers = {"strictly lowest": f"{lower.sum()} of {len(wide)}", "tied": int(tied.sum(axis=0))}
        return int(lower.sum() + huge.sum()), 2 * len(wide), numbers | {"by a huge gap": int(huge.sum(axis=0))}

    return counted(count, in_part)


def _near(
    source: Source,
    allowed: float,
    shares: bool = False,
    *,
    titles: Iterable[str],
    metric: str,
    baselines: list[str],
    first: int = 1,
) -> Counted:
    """R14 to R17: rows of some data sets, from a first r on, at most so far outside the range of the baselines.

    Shares are of the least total variance that the printed StandardPCA leaves possible, so that none is too low.
    """
    good, rows, numbers = 0, 0, {}
    for title in titles:
        total = _least_total(title) if shares else None
        wide = source(NAMES[title]).loc[first:]
        far = beyond(wide, metric, baselines, total)
        near = int(similar(wide, metric, baselines, allowed, total).sum(axis=0))
        numbers[f"{title}, {metric} within the limit"] = f"{near} of {len(far)}"
        numbers[f"{title}, {metric} outside by at most"] = float(far.max())
        good, rows = good + near, rows + len(far)
    return good, rows, numbers


def comparable_distances() -> Answer:
    """R14: MMD^2 comparable with that of the fair baselines."""
    count = partial(_near, titles=("Diabetes", "Obesity"), metric="MMD^2", baselines=FAIR)
    return counted(partial(count, allowed=rule("R14", "comparable")), rule("R14", "in part from"))


def comparable_errors() -> Answer:
    """R15: R.E. comparable with that of the baselines, on either scale."""
    count = partial(_near, titles=("Diabetes", "LSAC", "Obesity"), metric="R.E.", baselines=BASELINES)
    limits = rule("R15", "comparable, relative"), rule("R15", "comparable, of the variance")
    return on_both_scales(count, limits, rule("R15", "in part from"))


def comparable_shares() -> Answer:
    """R16: V.E. comparable with that of the baselines."""
    count = partial(_near, titles=("Diabetes", "LSAC", "Obesity"), metric="V.E.", baselines=BASELINES)
    return counted(partial(count, allowed=rule("R16", "comparable")), rule("R16", "in part from"))


def small_margin() -> Answer:
    """R17: on NPHA worse by a small margin only, for larger r."""
    limits = rule("R17", "small margin, relative"), rule("R17", "small margin, of the variance")
    where = {"titles": ["NPHA"], "baselines": BASELINES, "first": rule("R17", "larger r")}

    def count(source: Source, allowed: float, shares: bool) -> Counted:
        errors_near, rows, numbers = _near(source, allowed, shares, metric="R.E.", **where)
        shares_near, others, more = _near(source, limits[1], metric="V.E.", **where)
        return errors_near + shares_near, rows + others, {**numbers, **more}

    return on_both_scales(count, limits, rule("R17", "in part from"))


def fairer_at_similar_error() -> Answer:
    """R18: MMD^2 below every baseline while R.E. stays similar."""

    def count(source: Source, allowed: float, shares: bool) -> Counted:
        good = lower = rows = 0
        for name, table in TABLES.items():
            wide = source(name)
            mmd, total = wide.xs("MMD^2", axis=1, level="metric"), _least_total(table.title) if shares else None
            fair = mmd[JEVD] < mmd[BASELINES].min(axis=1)
            good += int((fair & similar(wide, "R.E.", BASELINES, allowed, total)).sum(axis=0))
            lower, rows = lower + int(fair.sum(axis=0)), rows + len(wide)
        return good, rows, {"MMD^2 strictly lowest": f"{lower} of {rows}", "with a similar R.E.": f"{good} of {rows}"}

    limits = rule("R18", "similar, relative"), rule("R18", "similar, of the variance")
    return on_both_scales(count, limits, rule("R18", "in part from"))


def _counted(name: str) -> tuple[int, int]:
    """Rows and columns, counted when the moments were computed."""
    return int(group_moments(name).n), group_moments(name).d


def diabetes_counted() -> Answer:
    """R22: 253,680 instances and 21 features."""
    rows, features = _counted("diabetes")
    good = (rows == rule("R22", "rows")) + (features == rule("R22", "features"))
    return Answer(by_share(good, 2, rule("R22", "in part from")), {"rows": rows, "columns without the label": features})


def others_counted() -> Answer:
    """R23: LSAC about 27,000 rows, NPHA 714 rows and 14 features, Obesity 2,111 rows and 16 features."""
    (lsac, _), (npha, features), (obesity, _) = (_counted(name) for name in ("lsac", "npha", "obesity"))
    # One-hot columns are called column_level; the table has as many columns as there are different first words.
    columns = len({name.partition("_")[0] for name in group_moments("obesity").feature_names})
    checks = (
        abs(lsac / rule("R23", "rows of LSAC") - 1.0) <= rule("R23", "about"),
        npha == rule("R23", "rows of NPHA"),
        features - 1 == rule("R23", "features of NPHA"),
        obesity == rule("R23", "rows of Obesity"),
        columns - 1 == rule("R23", "features of Obesity"),
    )
    numbers = {"rows of the cited LSAC file": lsac, "of the table behind Table 4": datasets.entry(NAMES["LSAC"]).rows}
    numbers |= {"rows of NPHA": npha, "columns of NPHA beside the label": features - 1}
    numbers |= {"rows of Obesity": obesity, "columns of Obesity beside the label": columns - 1}
    return Answer(by_share(sum(checks), len(checks), rule("R23", "in part from")), numbers)


def two_algorithms() -> Answer:
    """R24: two algorithms in the cited paper: counted in the sentence, and by what the two forms of the method do.

    Forms that answer alike on every data set of the tables would be one algorithm.
    """
    claimed, apart = rule("R24", "algorithms"), rule("R24", "different")
    forms = {"u-FPCA": False, "c-FPCA": True}  # whether a cap binds the errors
    listed = pd.read_csv(paths.data("paper", "claims.csv"), dtype=str).set_index("id")
    named = [form for form in forms if form in listed.loc["R24", "note"]]
    differ = {}
    for name, table in TABLES.items():
        moments = group_moments(name)
        S, differ[table.title] = matrices(moments, "global"), 0
        for k in range(1, table.largest + 1):
            family = Family(S, moments.counts / moments.n, k)
            one, other = (errors(S, search_reference(family, capped)[0]) for capped in forms.values())
            differ[table.title] += int(np.abs(one - other).max(axis=0) > apart * max(one.max(), other.max()))
    rows = {f"rows where the forms differ, {title}": count for title, count in differ.items()}
    found = len(forms) if any(differ.values()) else 1
    numbers = {"named after the colon": ", ".join(named) or "none"} | rows
    return Answer(by_truth(found == claimed), numbers, by_truth(len(named) == claimed))


def figure_shows_the_tables() -> Answer:
    """R25: the panels of Figure 1 against the tables: the text that we have of the paper has captions only."""
    numbers = {"printed numbers": sum(printed(name).size for name in TABLES), "numbers of the figure": 0}
    return Answer(None, numbers, claim_rules.NOT_JUDGED)


# -- running times -----------------------------------------------------------------------------------------------------


def _faster(slow: str, fast: str, titles: Iterable[str], factor: float) -> Answer:
    """R09 to R11: whether the time of ``fast`` is shorter by the factor on these data sets."""
    names = [NAMES[title] for title in titles]

    def measured() -> pd.DataFrame:
        some = {"protocol": SUMMED, "metric": "training time"}
        wide = our_times(read_results(TIMES, dataset=names, method=[slow, fast], **some))
        if wide.shape != (2, len(names)):
            raise MissingNumbersError(f"Not all of our times are there. Run the experiment {TIMES}.")
        return wide

    def told(source: Source) -> Outcome:
        wide = source()
        quotient = (wide.loc[slow] / wide.loc[fast])[names]
        numbers = {f"{slow} / {fast}, {TABLES[name].title}": float(value) for name, value in quotient.items()}
        return by_parts((quotient > 1.0) & (quotient >= factor)), numbers

    return claim_rules.both(told, printed_times, measured)


def cubic_time() -> Answer:
    """R06: O(d^3), by the exponents of one step and of the whole run, and by whether the steps end."""
    rows = read_results(TIMES)
    step, whole = exponents(curves(rows, "seconds per step")), exponents(completed(rows))
    if JEVD not in step or JEVD not in whole:
        raise MissingNumbersError(f"There are no exponents of {JEVD}.")
    ended = rows[rows["metric"] == "converged"].groupby(["protocol", "method"])["value"].agg(["sum", "size"])
    mine, as_printed = ended.xs(JEVD, level="method"), ended.loc[SCALING, f"{JEVD} (from U = I)"]
    bound = rule("R06", "exponent") + rule("R06", "allowed")
    always = (mine["sum"] == mine["size"]).all() and as_printed["sum"] > 0
    answer = NOT_SO if step[JEVD] > bound else HOLDS if whole[JEVD] <= bound and always else IN_PART
    numbers = {"exponent of one step": step[JEVD], "of a whole run": whole[JEVD], "of eigh": whole["eigh"]}
    converged = {f"converged, {name}": "{:.0f} of {:.0f}".format(*row) for name, row in mine.iterrows()}
    converged["converged from U = I"] = "{:.0f} of {:.0f}".format(*as_printed)
    needed = our_times(rows, "steps").loc[JEVD]
    return Answer(
        answer, numbers | converged | {f"steps, {TABLES[name].title}": int(value) for name, value in needed.items()}
    )


def programme_time() -> Answer:
    """R07: the semidefinite programme within O(d^6.5): an upper bound, which a fitted exponent may stay below."""
    rows = read_results(TIMES, protocol=SCALING)
    found = curves(rows).query("method == @PROGRAMME")
    if len(found) < rule("R07", "sizes"):
        raise MissingNumbersError(f"There are {len(found)} sizes only.")
    exponent, bound = exponents(completed(rows))[PROGRAMME], rule("R07", "exponent") + rule("R07", "allowed")
    in_eigh = curves(rows, "time / eigh").query("method == @PROGRAMME")["time / eigh"]
    last = {"largest d": int(found["d"].iloc[-1]), "its seconds": float(found["seconds"].iloc[-1])}
    numbers = {"fitted exponent": float(exponent), "bound": "kept" if exponent <= bound else "exceeded"}
    numbers |= last | {"in eigendecompositions": float(in_eigh.iloc[-1])}
    return Answer(by_truth(exponent <= bound), numbers)


def programme_dominates() -> Answer:
    """R08: on each data set the share of the programme's step in the baseline's time, and what the baseline costs.

    It is expensive if it takes many times as long as the exact solver of the same problem.
    """
    rows = full(TIMES, protocol=SUMMED)
    every = our_times(rows).loc[PROGRAMME]
    share, slower = our_times(rows, "solver, SDP").loc[PROGRAMME] / every, every / our_times(rows).loc[EXACT]
    main, costly = share > rule("R08", "share of the time"), slower >= rule("R08", "times as long")
    numbers = {f"share of the SDP, {TABLES[name].title}": float(value) for name, value in share.items()}
    numbers |= {f"times the exact solver, {TABLES[name].title}": float(value) for name, value in slower.items()}
    return Answer(by_parts(main & costly), numbers)


# -- where the paper contradicts itself --------------------------------------------------------------------------------


def fairer_overall() -> Outcome:
    """X06: MMD^2 strictly lowest, over all rows of the four tables."""

    def count(source: Source) -> tuple[int, int]:
        wide = pd.concat([source(name).xs("MMD^2", axis=1, level="metric") for name in TABLES])
        return int((wide[JEVD] < wide.drop(columns=JEVD).min(axis=1)).sum(axis=0)), len(wide)

    (lower, rows), (mine, _) = count(printed), count(ours)
    numbers = {"strictly lowest, printed": f"{lower} of {rows}", "strictly lowest, ours": f"{mine} of {rows}"}
    return (claim_rules.FIRST if lower == rows else claim_rules.PART if lower else claim_rules.SECOND), numbers


def criterion_reported() -> Outcome:
    """X07: whether any table holds the losses by which fairness is defined, and what they say."""
    reported = sorted({metric for name in TABLES for _, metric in printed(name).columns})
    rows = full(EXPERIMENT, "method", metric="loss gap", protocol=RELEASED, method=[JEVD, PCA])
    wide = rows.pivot_table(index=["dataset", "k"], columns="method", values="value", aggfunc="mean").dropna()
    wider = (wide[JEVD].round(9) > wide[PCA].round(9)).sum(axis=0)
    numbers = {"metrics of the tables": reported, "losses further apart than with PCA": f"{wider} of {len(wide)}"}
    return (claim_rules.FIRST if any("loss" in metric.lower() for metric in reported) else claim_rules.SECOND), numbers


def one_total_variance() -> Outcome:
    """X08: whether R.E. and V.E. of a column can belong to one data set; which of the two is not, cannot be seen."""
    found = readings.implied_totals()
    return (claim_rules.BOTH if found["possible"].all() else claim_rules.UNDECIDED), _totals(found)


def times_and_orders() -> Outcome:
    """X10: the solver's own time on Obesity and on Diabetes, printed and ours (without the moments), and its steps."""
    asked = {"method": [JEVD, PROGRAMME], "dataset": ["diabetes", "obesity"]}
    rows = full(TIMES, *asked, protocol=SUMMED, **asked)
    theirs = printed_times().loc[asked["method"]]
    wide = {"printed": theirs, "ours": our_times(rows, "solver"), "steps": our_times(rows, "steps")}
    ratio = {what: times["obesity"] / times["diabetes"] for what, times in wide.items()}
    good = sum(bool(ratio["ours"][method] > 1.0) for method in asked["method"])
    numbers = {
        f"{name}, Obesity / Diabetes, {what}": float(value) for what in ratio for name, value in ratio[what].items()
    }
    return (claim_rules.BOTH if good == 2 else claim_rules.PART if good else claim_rules.UNDECIDED), numbers


#: By experiment: the functions that answer claims.
CLAIMS: Mapping[str, Mapping[str, Callable[[], Answer]]] = {
    EXPERIMENT: {
        "R12": lambda: _lowest("LSAC", rule("R12", "huge gap"), rule("R12", "in part from")),
        "R13": lambda: _lowest("NPHA", rule("R13", "huge gap"), rule("R13", "in part from")),
        "R14": comparable_distances,
        "R15": comparable_errors,
        "R16": comparable_shares,
        "R17": small_margin,
        "R18": fairer_at_similar_error,
        "R19": printed_errors_and_shares,
        "R20": pca_is_best,
        "R21": mean_distance_is_monotone,
        "R22": diabetes_counted,
        "R23": others_counted,
        "R24": two_algorithms,
        "R25": figure_shows_the_tables,
    },
    TIMES: {
        "R06": cubic_time,
        "R07": programme_time,
        "R08": programme_dominates,
        "R09": lambda: _faster(PROGRAMME, JEVD, NAMES, rule("R09", "times faster")),
        "R10": lambda: _faster(COVARIANCE, JEVD, ("Diabetes", "LSAC"), rule("R10", "times faster")),
        "R11": lambda: _faster(JEVD, PCA, NAMES, rule("R11", "times as long")),
    },
    THEOREMS: theorems.CLAIMS,
}
#: By contradiction: the functions that resolve it.
CONTRADICTIONS: Mapping[str, Callable[[], Outcome]] = {
    "X06": fairer_overall,
    "X07": criterion_reported,
    "X08": one_total_variance,
    "X10": times_and_orders,
}
