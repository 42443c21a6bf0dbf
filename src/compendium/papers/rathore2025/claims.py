"""Claims of Rathore and Manwani (2025): theorems, tables and running times, and where the paper contradicts itself.

Errors are read on two scales, relative to the baselines and in shares of the total variance (the scale of V.E.); where
the two readings disagree the answer is "holds in part".
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from ... import claim_rules
from ...catalogue import experiment
from ...claim_rules import (
    IN_PART,
    NOT_JUDGED,
    NOT_SO,
    Answer,
    Claim,
    Outcome,
    Rows,
    Source,
    by_parts,
    by_share,
    by_truth,
    rule,
    unjudged,
)
from ...store import MissingNumbersError, full
from .protocol import COUNTED, HALF_DIGIT, NAMES, PRINTED, PUBLISHED, RELEASED, TABLES, printed
from .readings import EXACT, SCALING, SUMMED, completed, curves, exponents, implied_totals, our_times, printed_times

EXPERIMENT, TIMES, THEOREMS = "rathore2025-tables", "rathore2025-times", "rathore2025-theorems"
COVARIANCE, PROGRAMME, JEVD, PCA = PUBLISHED
FAIR, BASELINES = [COVARIANCE, PROGRAMME], [COVARIANCE, PROGRAMME, PCA]
RELATIVE, SHARES = SCALES = ("relative", "of the variance")
ROUNDING = 2 * HALF_DIGIT - 1e-9  # of two printed numbers


def tried(rows: Rows, claim: str, *index: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What was tried of a claim, metrics across, and its control."""
    searched = rows(THEOREMS, protocol=claim)
    wide = searched.pivot(index=["dataset", "method", "k", "split", *index], columns="metric", values="value")
    wide = wide.reset_index()
    control = wide["method"].str.startswith("control")
    return wide[~control], wide[control]


def min_max_equalises(rows: Rows) -> Answer:
    """R01: both losses are equal where the larger one is smallest. Control: for errors they need not be."""
    (found, control), searched = tried(rows, "R01"), rule("R01", "searched")
    largest, differ = found.groupby("method")["difference"].max(), (control["difference"] > searched).sum()
    fair = (largest.drop("optima") <= searched).all()
    # Without a control that differs the search shows nothing.
    answer = by_truth(fair and largest["optima"] < searched and differ, fair)
    counted = {"control: errors differ": f"{differ} of {len(control)}"}
    return Answer(answer, {**largest.add_prefix("difference, ")} | counted)


def lemma_1(rows: Rows) -> Answer:
    """R02: the loss on the points against the printed trace. Control: columns of other length."""
    found, control = (some["difference"] for some in tried(rows, "R02"))
    true = found.max() < rule("R02", "rounding") and control.min() > rule("R02", "control")
    return Answer(by_truth(true), {"largest difference": found.max(), "smallest, control": control.min()})


def exact_diagonalisation_is_fair(rows: Rows) -> Answer:
    """R03, Theorem 4.1: some r < d columns of a joint diagonaliser have equal losses; of all d every U has."""
    (found, square), rounding = tried(rows, "R03"), rule("R03", "rounding")
    fair, random = (found[["C", "difference"]] < rounding).all(axis=1), found["dataset"] == "random"
    answer = by_truth(fair.all(), fair[random].mean() > rule("R03", "in part above"))
    numbers = {"r < d columns with equal losses": f"{fair[random].sum()} of {random.sum()}"}
    return Answer(answer, numbers | {"control: largest loss of all d columns": square["difference"].max()})


def exact_is_orthonormal(rows: Rows) -> Answer:
    """R04: an exact joint diagonaliser of symmetric matrices must be orthonormal."""
    found = pd.concat(tried(rows, "R04")).set_index("method")
    exact = (found["difference"] > rule("R04", "not orthonormal")) & (found["C"] < rule("R04", "rounding"))
    return Answer(by_truth(not exact.any()), {**found["difference"].add_prefix("|U'U - I|, ")})


def constraint_kept(rows: Rows) -> Answer:
    """R05: the matrix that Algorithm 1 returns satisfies U'U = I. Control: rotations do."""
    found, control = (some.dropna(subset="difference") for some in tried(rows, "R05", "scaling", "centring"))
    kept = found["difference"] <= rule("R05", "orthonormal")
    numbers = {f"|U'U - I|, {row.dataset}, {row.method}": row.difference for row in found.itertuples()}
    answer = by_parts(kept) if len(found) else NOT_JUDGED
    return Answer(answer, numbers | {"control: rotations": control["difference"].max()})


def several_groups(rows: Rows) -> Answer:
    """R26: the algorithm for three groups, and whether its promise, equal losses, goes with it."""
    every, rounding = tried(rows, "R26")[0], rule("R26", "rounding")
    found, exact = every[every["method"] == "rotations"], every.loc[every["C"] < rounding, "difference"]
    runs = (found["above Jacobi"] < rule("R26", "searched")).all() and found["converged"].all()
    fair = len(exact) and (exact < rounding).all()
    numbers = {"converged": f"{found['converged'].sum():.0f} of {len(found)}", "losses differ where C = 0": exact.max()}
    return Answer(by_truth(runs and fair, runs), numbers)


#: Whether each case is as claimed, by what is counted and further keys; of a source, on a scale of R.E.
Cases = Callable[[Source, str], pd.Series]


def ours(rows: Rows, dataset: str, described: bool = True) -> pd.DataFrame:
    """Our numbers of the methods of the paper, rounded as the paper prints them; refuses where some are missing.

    ``described``: JEVD-PCA starts from U = I, as Algorithm 1 does; else, in X06, from the pooled eigenvectors."""
    names = experiment(EXPERIMENT).described(PUBLISHED, dataset) if described else {one: one for one in PUBLISHED}
    some = rows(EXPERIMENT, "method", dataset=dataset, protocol=RELEASED, method=list(names.values()), metric=PRINTED)
    if len(failed := some[some["value"].isna()]):
        who = ", ".join(failed["method"].unique())
        raise MissingNumbersError(f"{who} gives no result on {dataset}: {failed['reason'].iloc[0]}")
    wide = some.pivot_table(index="k", columns=["method", "metric"], values="value", aggfunc="mean").round(2)
    if wide.empty or wide.shape[1] < len(PUBLISHED) * len(PRINTED) or wide.isna().any(axis=None):
        raise MissingNumbersError(f"some numbers of {dataset} in {EXPERIMENT}")
    return wide.rename(columns={ours: theirs for theirs, ours in names.items()}, level="method")


def counted(claim: str, cases: Cases, titles: Iterable[str], metrics=PRINTED, scales=("",)) -> Claim:
    """A claim by the share of cases that are as it says, in printed tables and in ours; in part if scales differ."""

    def evaluate(source: Source) -> Outcome:
        answers, numbers = set(), {}
        for scale in scales:
            good = cases(source, scale)
            answers.add(by_share(good.sum(), len(good), rule(claim, "in part from")))
            for what, some in good.groupby(level=0, sort=False):
                numbers[f"{what}, {scale}" if scale else what] = f"{some.sum()} of {len(some)}"
        return (answers.pop() if len(answers) == 1 else IN_PART), numbers

    cells = {"paper": ["rathore2025"], "dataset": titles, "metric": metrics}
    return lambda rows: claim_rules.three_answers(evaluate, printed, partial(ours, rows), cells=cells)


def near(source: Source, claim: str, word: str, title: str, metric: str, scale: str, baselines=BASELINES) -> pd.Series:
    """For every r whether JEVD-PCA is near the range of the baselines, relative to its nearer end or in a unit.

    It is 1 for V.E.; for R.E. on its scale the least total variance that the printed StandardPCA leaves possible."""
    wide, totals = source(NAMES[title]), implied_totals().set_index(["dataset", "method"])["low"]
    value, others = wide[JEVD, metric], wide.xs(metric, axis=1, level="metric")[baselines]
    nearest = value.clip(others.min(axis=1), others.max(axis=1))
    unit = 1.0 if metric == "V.E." else totals[title, PCA] if scale == SHARES else nearest
    limit = rule(claim, f"{word}, {SHARES if metric == 'V.E.' else scale}" if scale else word)
    return ((value - nearest).abs() / unit).replace(np.inf, 0.0).fillna(0.0) <= limit + 1e-9  # rounding of binary sums


def comparable(claim: str, word: str, titles: Iterable[str], metrics: Iterable[str], *baselines: list[str]) -> Cases:
    """R14 to R17: rows of some data sets near the range of the baselines; of R17 those with larger r."""

    def cases(source, scale):
        pairs = product(titles, metrics)
        found = {f"{pair[0]}, {pair[1]}": near(source, claim, word, *pair, scale, *baselines) for pair in pairs}
        first = rule("R17", "larger r") if claim == "R17" else 1
        return pd.concat({what: some.loc[first:] for what, some in found.items()})

    return cases


def strictly_lowest(wide: pd.DataFrame) -> pd.Series:
    """For every row whether JEVD-PCA has a smaller MMD^2 than every baseline."""
    return wide[JEVD, "MMD^2"] < wide.xs("MMD^2", axis=1, level="metric")[BASELINES].min(axis=1)


def lowest(claim: str, title: str) -> Cases:
    """R12, R13: MMD^2 strictly below every baseline, and by a huge gap: both halves of the claim count."""

    def cases(source, _):
        mmd, lower = source(NAMES[title]).xs("MMD^2", axis=1, level="metric"), strictly_lowest(source(NAMES[title]))
        huge = mmd[BASELINES].min(axis=1) >= rule(claim, "huge gap") * mmd[JEVD]
        return pd.concat({"strictly lowest": lower, "by a huge gap": lower & huge})

    return cases


def fairer_at_similar_error(source: Source, scale: str) -> pd.Series:
    """R18: MMD^2 below every baseline while R.E. stays similar."""
    similar = {title: near(source, "R18", "similar", title, "R.E.", scale) for title in NAMES}
    return pd.concat({title: strictly_lowest(source(NAMES[title])) & some for title, some in similar.items()})


def pca_is_best(source: Source, _) -> pd.Series:
    """R20: StandardPCA has the lowest R.E. and the highest V.E. of every row, as far as rounding lets tell."""
    wide = pd.concat({name: source(name) for name in TABLES}).swaplevel(axis=1)
    error, share = wide["R.E."], wide["V.E."]
    lowest = error[PCA] - error.min(axis=1) <= ROUNDING
    return pd.concat({"lowest R.E.": lowest, "highest V.E.": share.max(axis=1) - share[PCA] <= ROUNDING})


def mean_distance_is_monotone(source: Source, _) -> pd.Series:
    """R21: MMD^2 never falls as columns are added."""
    found = {}
    for name, table in TABLES.items():
        wide = source(name).xs("MMD^2", axis=1, level="metric")[[JEVD, PCA]]
        found[f"steps without a fall, {table.title}"] = (wide.diff() >= -ROUNDING).iloc[1:].stack()
    return pd.concat(found)


def _totals(found: pd.DataFrame) -> claim_rules.Numbers:
    other = found[~found["possible"]]
    fits = {"columns that one total variance fits": f"{found['possible'].sum()} of {len(found)}"}
    return fits | {"others": ", ".join(other["method"] + " on " + other["dataset"]) or "none"}


def printed_errors_and_shares(rows: Rows) -> Answer:
    """R19: R.E. = total variance times (1 - V.E.), for every printed column, and for orthonormal columns of points.

    Control: columns of other lengths."""
    columns = implied_totals()
    found, control = (some["difference"] for some in tried(rows, "R19"))
    right = found.max() <= rule("R19", "rounding") and control.min() > rule("R19", "control")
    numbers = _totals(columns) | {"largest difference": found.max(), "smallest, control": control.min()}
    return Answer(by_truth(right), numbers, by_parts(columns["possible"]))


def sizes(claim: str, rows: Rows) -> Answer:
    """R22, R23: rows and features of the public files as the run counted them, against those that the paper states."""
    # The file of Diabetes has no label among its columns, those of the others have one.
    names = {"diabetes": ("", 0)} if claim == "R22" else {name: (f" of {TABLES[name].title}", 1) for name in COUNTED}
    some = rows(EXPERIMENT, "dataset", dataset=list(names), protocol="counted")
    counts = some.pivot(index="dataset", columns="metric", values="value").astype(int)
    found = {}
    for name, (of, labels) in names.items():
        line = counts.loc[name]
        found |= {f"rows{of}": int(line["rows"]), f"features{of}": int(line["columns"]) - labels}
    found = {name: n for name, n in found.items() if name in claim_rules.rules()[claim]}
    about = {"rows of LSAC": rule("R23", "about")}
    good = sum(abs(n / rule(claim, name) - 1.0) <= about.get(name, 0.0) for name, n in found.items())
    return Answer(by_share(good, len(found), rule(claim, "in part from")), found)


def times_of(rows: Rows, names: Iterable[str], methods: list[str], metric: str) -> pd.DataFrame:
    """Our seconds, methods by data sets; refuses where one is missing."""
    asked = {"dataset": list(names), "method": methods}
    times = our_times(rows(TIMES, *asked, protocol=SUMMED, **asked), metric).reindex(methods, columns=asked["dataset"])
    if times.isna().any(axis=None):
        raise MissingNumbersError(f"{metric} of {' or '.join(methods)} on some data set")
    return times


def faster(claim: str, word: str, slow: str, fast: str, titles: Iterable[str] = NAMES) -> Claim:
    """R09 to R11: whether the printed time of ``fast`` is shorter by the factor on these data sets.

    As described it is not judged: from U = I Algorithm 1 has no result on LSAC and Obesity. Ours starts elsewhere."""
    names = {NAMES[title]: title for title in titles}

    def evaluate(source: Source) -> Outcome:
        quotient = (source().loc[slow] / source().loc[fast])[list(names)]
        numbers = quotient.rename(names).add_prefix(f"{slow} / {fast}, ")
        return by_parts((quotient > 1.0) & (quotient >= rule(claim, word))), dict(numbers)

    def answer(rows: Rows) -> Answer:
        theirs, numbers = evaluate(printed_times)
        _, own = evaluate(partial(times_of, rows, names, [slow, fast], "training time"))
        named = {f"{name}, printed": value for name, value in numbers.items()}
        named |= {f"{name}, from the pooled eigenvectors": value for name, value in own.items()}
        named["reason"] = "from U = I Algorithm 1 has no result on LSAC and Obesity"
        return Answer(NOT_JUDGED, named, theirs)

    return answer


def cubic_time(rows: Rows) -> Answer:
    """R06: O(d^3), by the exponents of one step and of the whole run, and by whether the steps end."""
    timed = rows(TIMES)
    step, whole = exponents(curves(timed, "seconds per step")), exponents(completed(timed))
    ended = timed[timed["metric"] == "converged"].groupby(["protocol", "method"])["value"].agg(["sum", "size"])
    printed = SCALING, f"{JEVD} (from U = I)"
    known = {*whole.dropna().index} & {*step.dropna().index, "eigh"}
    if not {JEVD, "eigh"} <= known or printed not in ended.index:
        raise MissingNumbersError(f"exponents of {JEVD}, for which more sizes are needed, or runs from U = I")
    jevd, as_printed = ended.xs(JEVD, level="method"), ended.loc[printed]
    bound = rule("R06", "exponent") + rule("R06", "allowed")
    always = (jevd["sum"] == jevd["size"]).all() and as_printed["sum"] > 0
    answer = NOT_SO if step[JEVD] > bound else by_truth(whole[JEVD] <= bound and always, True)
    numbers = {"exponent of one step": step[JEVD], "of a whole run": whole[JEVD], "of eigh": whole["eigh"]}
    converged = {f"converged, {name}": "{:.0f} of {:.0f}".format(*row) for name, row in jevd.iterrows()}
    return Answer(answer, numbers | converged | {"converged from U = I": "{:.0f} of {:.0f}".format(*as_printed)})


def programme_time(rows: Rows) -> Answer:
    """R07: the exponent of the semidefinite programme's time beside the O(d^6.5) of the paper."""
    timed = rows(TIMES, protocol=SCALING, method=PROGRAMME)
    if (n := len(curves(timed))) < rule("R07", "sizes"):
        raise MissingNumbersError(f"more than {n} sizes")
    exponent = exponents(completed(timed))[PROGRAMME]
    return Answer(None, {"fitted exponent": exponent, "exponent of the bound": rule("R07", "exponent"), "sizes": n})


def programme_dominates(rows: Rows) -> Answer:
    """R08: on each data set the share of the programme's step in the baseline's time, and what the baseline costs.

    It is expensive if it takes many times as long as the exact solver of the same problem."""
    times = times_of(rows, TABLES, [PROGRAMME, EXACT], "training time")
    step = times_of(rows, TABLES, [PROGRAMME], "solver, SDP").loc[PROGRAMME]
    share, slower = step / times.loc[PROGRAMME], times.loc[PROGRAMME] / times.loc[EXACT]
    good = (share > rule("R08", "share of the time")) & (slower >= rule("R08", "times as long"))
    named = {"share of the SDP": share, "times the exact solver": slower}
    numbers = {f"{what}, {TABLES[name].title}": value for what, some in named.items() for name, value in some.items()}
    return Answer(by_parts(good), numbers)


def fairer_overall() -> Outcome:
    """X06: MMD^2 strictly lowest, over all rows of the four tables."""
    sources = {"printed": printed, "from the pooled eigenvectors": partial(ours, full, described=False)}
    found = {name: pd.concat([strictly_lowest(of(title)) for title in TABLES]) for name, of in sources.items()}
    numbers = {f"strictly lowest, {name}": f"{some.sum()} of {len(some)}" for name, some in found.items()}
    lower = found["printed"]
    return (claim_rules.FIRST if lower.all() else claim_rules.PART if lower.any() else claim_rules.SECOND), numbers


def criterion_reported() -> Outcome:
    """X07: whether any table holds the losses by which fairness is defined, and what they say."""
    reported = sorted({metric for name in TABLES for _, metric in printed(name).columns})
    rows = full(EXPERIMENT, "method", metric="loss gap", protocol=RELEASED, method=[JEVD, PCA])
    wide = rows.pivot_table(index=["dataset", "k"], columns="method", values="value", aggfunc="mean").dropna()
    wider = (wide[JEVD].round(9) > wide[PCA].round(9)).sum()
    numbers = {"metrics of the tables": reported, "losses further apart than with PCA": f"{wider} of {len(wide)}"}
    return (claim_rules.FIRST if any("loss" in metric.lower() for metric in reported) else claim_rules.SECOND), numbers


def one_total_variance() -> Outcome:
    """X08: whether R.E. and V.E. of a column can belong to one data set; which of the two is not, cannot be seen."""
    found = implied_totals()
    return (claim_rules.BOTH if found["possible"].all() else claim_rules.UNDECIDED), _totals(found)


def times_and_orders() -> Outcome:
    """X10: the solver's own time on Obesity and on Diabetes, printed and ours (without the moments), and its steps."""
    asked = {"method": [JEVD, PROGRAMME], "dataset": ["diabetes", "obesity"]}
    rows = full(TIMES, *asked, protocol=SUMMED, **asked)
    wide = {"printed": printed_times().loc[asked["method"]], "ours": our_times(rows, "solver")}
    wide["steps"] = our_times(rows, "steps")
    ratio = pd.concat({what: times["obesity"] / times["diabetes"] for what, times in wide.items()})
    good = (ratio["ours"] > 1.0).sum()
    numbers = {f"{name}, Obesity / Diabetes, {what}": value for (what, name), value in ratio.items()}
    return (claim_rules.BOTH if good == 2 else claim_rules.PART if good else claim_rules.UNDECIDED), numbers


OTHERS, TWO = ("Diabetes", "LSAC", "Obesity"), ("Diabetes", "Obesity")
ERROR, SHARE, MMD = ["R.E."], ["V.E."], ["MMD^2"]
CLAIMS = {
    THEOREMS: {
        "R01": min_max_equalises,
        "R02": lemma_1,
        "R03": exact_diagonalisation_is_fair,
        "R04": exact_is_orthonormal,
        "R05": constraint_kept,
        "R26": several_groups,
    },
    EXPERIMENT: {
        "R12": counted("R12", lowest("R12", "LSAC"), ["LSAC"], MMD),
        "R13": counted("R13", lowest("R13", "NPHA"), ["NPHA"], MMD),
        "R14": counted("R14", comparable("R14", "comparable", TWO, MMD, FAIR), TWO, MMD),
        "R15": counted("R15", comparable("R15", "comparable", OTHERS, ERROR), OTHERS, ERROR, SCALES),
        "R16": counted("R16", comparable("R16", "comparable", OTHERS, SHARE), OTHERS, SHARE),
        "R17": counted(
            "R17", comparable("R17", "small margin", ["NPHA"], ERROR + SHARE), ["NPHA"], ERROR + SHARE, SCALES
        ),
        "R18": counted("R18", fairer_at_similar_error, NAMES, ERROR + MMD, SCALES),
        "R19": printed_errors_and_shares,
        "R20": counted("R20", pca_is_best, NAMES, ERROR + SHARE),
        "R21": counted("R21", mean_distance_is_monotone, NAMES, MMD),
        "R22": partial(sizes, "R22"),
        "R23": partial(sizes, "R23"),
        "R24": unjudged(
            "the cited paper is none of the five; that the sentence names one algorithm refutes no second one",
            printed=NOT_JUDGED,
        ),
        "R25": unjudged("the text that we have of the paper has captions of its figures only", printed=NOT_JUDGED),
    },
    TIMES: {
        "R06": cubic_time,
        "R07": unjudged("a bound without a constant, which a fitted exponent below it cannot break", programme_time),
        "R08": programme_dominates,
        "R09": faster("R09", "times faster", PROGRAMME, JEVD),
        "R10": faster("R10", "times faster", COVARIANCE, JEVD, ("Diabetes", "LSAC")),
        "R11": faster("R11", "times as long", JEVD, PCA),
    },
}
CONTRADICTIONS = {"X06": fairer_overall, "X07": criterion_reported, "X08": one_total_variance, "X10": times_and_orders}
