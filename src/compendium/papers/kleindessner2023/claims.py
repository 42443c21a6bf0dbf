"""The claims of Kleindessner et al. (2023): theorems, and its experiments in the printed numbers and in ours."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from ... import claim_rules
from ...claim_rules import NOT_JUDGED, Answer, Numbers, Outcome, Rows, Source, by_parts, by_truth, rule
from ...data import split_moments
from ...records import paper_table
from ...store import MissingNumbersError, full
from . import readings, reductions
from .protocol import KERNEL, METRICS, PRINTED
from .reductions import EO, FAIR, FULL_SIZE, LOGISTIC, LOOSE, REDUCTIONS, SMALL, UNCONSTRAINED

TABLE, FACES, THEOREMS = "kleindessner2023-table", "kleindessner2023-faces", "kleindessner2023-theorems"
COMPARISON, TIMES = "kleindessner2023-reductions", "kleindessner2023-reductions-times"
QUALITY = ("%Var", *(metric for metric in METRICS if metric.startswith("%Acc")))


def searched(claim: str, rows: Rows, *, allowed: str = "rounding", control: str | None = "control") -> Answer:
    """Holds if no violation was above the rule ``allowed``, and what must break the theorem exceeds ``control``."""
    found = rows(THEOREMS, "protocol", protocol=[claim] + [f"{claim}, control"] * bool(control), metric="violation")
    value = found.groupby(["protocol", "method"])["value"].max()
    holds = value[claim].max() <= rule(claim, allowed)
    holds &= control is None or value[f"{claim}, control"].min() >= rule(claim, control)
    return Answer(by_truth(holds), {f"violation, {' of '.join(which)}": size for which, size in value.items()})


def printed(metric: str) -> pd.Series:
    """The printed numbers of one column of the table on Adult, by method."""
    cells = paper_table("kleindessner2023_adult_k10")
    return cells[cells["metric"] == metric].set_index("method")["value"]


def ours(rows: Rows, metric: str, protocol: str = "released", methods: tuple[str, ...] = PRINTED) -> pd.Series:
    """Our mean over the splits by method; refuses where one of the methods has not all ten."""
    some = rows(TABLE, dataset="adult", k=10, metric=metric, protocol=protocol, method=methods)
    found = some.groupby("method")["value"].agg(["mean", "count"])
    wanted = [name for name in methods if (name, metric) != (KERNEL, "%Var")]  # it has no such number
    if not found["count"].reindex(wanted).eq(10).all():
        raise MissingNumbersError(f"ten splits of {metric} of every method in {TABLE}")
    return found["mean"]


def covariances_come_closer(rows: Rows) -> Answer:
    """K09: on Adult with k = 10 the covariance variants bring group covariances closer than Fair PCA, on new data."""
    names = ("Fair PCA", "Fair PCA-S (0.5)", "Fair PCA-S (0.85)")
    gaps = ours(rows, "covariance gap", "held-out", names)[list(names)]
    return Answer(by_parts(gaps.iloc[1:] < gaps.iloc[0]), {**gaps.add_prefix("covariance gap on the test parts, ")})


def protocol_facts(rows: Rows) -> Answer:
    """K10: 97 features, 24.89 % positive labels (so that a constant prediction is right in 75.11 %), 10 components."""
    claimed, within = rule("K10", "share of positive labels"), rule("K10", "within")
    # No disparity at all under the linear SVM: it says the same of everybody.
    right = printed("%Acc (Linear SVM)")[printed("Delta_DP (Linear SVM)").eq(0)]
    theirs = by_truth(len(right) and ((1.0 - right / 100.0 - claimed).abs() <= within).all())
    try:
        majority = rows(TABLE, dataset="adult", k=10, method="PCA", metric="%Majority")
    except MissingNumbersError as error:
        return Answer(NOT_JUDGED, {"missing": str(error)}, theirs)
    d, share = split_moments("adult", 0, "train").d, 1.0 - majority["value"].mean(axis=0) / 100.0
    here = d == rule("K10", "features") and abs(share - claimed) <= within
    return Answer(by_truth(here), {"features": d, "share of positive labels": f"{share:.4f}"}, theirs)


def adult_numbers() -> Outcome:
    """X15: the disparities of Fair PCA and PCA, where the printed shares agree (K10); equal means promise no more."""
    kernel, linear = (printed(f"Delta_DP ({name} SVM)")[["Fair PCA", "PCA"]].tolist() for name in ("Kernel", "Linear"))
    found = {
        "K10": protocol_facts(full).printed,
        "Fair PCA and PCA, kernel SVM": kernel,
        "the same, linear SVM": linear,
    }
    right = found["K10"] == claim_rules.HOLDS and kernel[0] == kernel[1] and linear[0] < linear[1]
    return (claim_rules.BOTH if right else claim_rules.UNDECIDED), found


def two_discrepancies() -> Outcome:
    """X33: printed as MMD^2 is the kernel distance on test parts, which equal means do not make zero."""
    rows = full(TABLE, dataset="adult", k=10, method="Fair PCA")
    mean = readings.summary(rows).set_index(["protocol", "metric"])["mean"]
    found = {
        "printed": printed("MMD^2")["Fair PCA"],
        "Gaussian kernel, test parts": mean["released", "MMD^2"],
        "squared mean distance, test parts": mean["held-out", "mean gap"] ** 2,
        "Gaussian kernel, training parts": mean["in sample", "MMD^2"],
        "mean distance, training parts": mean["in sample", "mean gap"],
    }
    theirs, kernel, square, inside, zero = found.values()
    right = round(kernel, 3) == theirs != round(square, 3) and np.isclose(zero, 0) and not np.isclose(inside, 0)
    return (claim_rules.BOTH if right else claim_rules.UNDECIDED), found


def most_variance_and_accuracy(source: Source) -> Outcome:
    """K11: among the fair methods of the table fair PCA keeps most variance and has the best accuracies."""
    firsts, numbers = [], {}
    for metric in QUALITY:
        means = source(metric).reindex(PRINTED).drop("PCA").dropna().round(rule("K11", "decimals"))
        rival = means.drop("Fair PCA").idxmax()
        firsts.append(means["Fair PCA"] >= means[rival])
        numbers[f"{metric} of Fair PCA and {rival}"] = [f"{means[name]:.2f}" for name in ("Fair PCA", rival)]
    return by_parts(firsts), numbers


def kernel_pca_smallest_disparity(source: Source) -> Outcome:
    """K14: Fair Kernel PCA has the smallest disparity of all methods of the table under the kernel SVM."""
    means = source("Delta_DP (Kernel SVM)").reindex(PRINTED)
    rival = means.drop(KERNEL).idxmin()
    return by_truth(means[KERNEL] < means[rival]), {f"disparity, {name}": means[name] for name in (KERNEL, rival)}


def same_order_as_pca(rows: Rows) -> Answer:
    """K04: fair PCA costs a constant factor more than PCA: its ratio does not grow with n or with d."""
    fair = readings.curve(rows("kleindessner2023-runtime", method="Fair PCA"))
    # The growth exponent of the ratio; the same order of time means 0, one more factor d would mean 1.
    slope = {f"growth exponent in d, n = {n:,}": value for (_, n), value in readings.growth(fair).items()}
    if not slope:
        raise MissingNumbersError("two numbers of features d with the same number of rows n")
    holds = max(slope.values()) < rule("K04", "growth") and fair["median"].max() < rule("K04", "times as long")
    ends = [fair["median"].min(), fair["median"].max()]
    return Answer(by_truth(holds), {"time / PCA, median, smallest and largest": ends} | slope)


def weight_trades(rows: Rows) -> Answer:
    """K06: accuracy and disparity rise with lambda, and a small one hides the second block from a regularised model.

    Control: with the printed weight and hardly any regularisation it is not hidden."""
    wanted = ["accuracy", reductions.DP, EO, reductions.SCORES]
    found = reductions.curves(rows(COMPARISON, "metric", metric=wanted))
    lines, use = reductions.trends(found[~reductions.constant(found)]), reductions.hidden(found)
    lines = lines[(lines["goal"] == "DP") & (lines["runs"] > 1)]  # one run at full size only checks the reduced panel
    if lines.empty or set(use["classifier"]) != {LOGISTIC, LOOSE}:
        raise MissingNumbersError("Not both classifiers have curves over lambda.")
    rises = (lines[["tau of accuracy", "tau of violation"]] >= rule("K06", "rises")).all(axis=1)
    rises &= (lines["accuracy at 1"] > lines["accuracy at 0"]) & (lines["violation at 1"] > lines["violation at 0"])
    share = use.set_index(["dataset", "classifier", "weight"])["share"]
    little = share.unstack("classifier") <= rule("K06", "hardly used")
    numbers: Numbers = {
        f"rising curves, {data}": f"{part.sum()} of {len(part)}" for data, part in rises.groupby(lines["dataset"])
    }
    numbers |= {f"share of the score gap at {SMALL}, {', '.join(which)}": value for which, value in share.items()}
    return Answer(by_parts([*rises, *(little[LOGISTIC] & ~little[LOOSE].any())]), numbers)


def opportunity_is_met(rows: Rows) -> Answer:
    """K07: fitted on y = 1 (lambda = 0), the gap of true positive rates is smaller than of two others, on new data.

    The others: a classifier without fairness, the representation fitted on all points. Differences are paired."""
    met, parity = (reductions.protocol_name(goal, LOGISTIC, FULL_SIZE) for goal in ("EO", "DP"))
    runs = rows(COMPARISON, "protocol", protocol=[met, parity])
    found = reductions.curves(runs)
    still = found.loc[reductions.constant(found), ["dataset", "method"]].drop_duplicates().to_numpy().tolist()
    runs = runs[(runs["metric"] == EO) & (runs["parameter"] == 0.0)]
    gaps = runs.pivot_table(index=["dataset", "split"], columns=["protocol", "method"], values="value")
    good, numbers = [], {}
    for dataset, method in product(sorted(set(runs["dataset"])), FAIR):
        name = reductions.named(method, 3)
        asked = [(met, name), (met, UNCONSTRAINED), (parity, name)]
        if not set(asked) <= set(gaps.columns):
            raise MissingNumbersError(f"{dataset} has no curves of {method} for both criteria.")
        if [dataset, method] not in still:
            values = gaps.loc[dataset][asked]
            apart = values.iloc[:, 1:].rsub(values.iloc[:, 0], axis=0)
            good += (apart.mean() < -rule("K07", "standard errors") * apart.sem()).tolist()
            numbers[f"{dataset}, {method}"] = [f"{value:.3f}" for value in values.mean(axis=0)]
    smaller = {"smaller gaps (of: y = 1, no fairness, all points)": f"{sum(good)} of {len(good)}"}
    return Answer(by_parts(good), smaller | numbers)


def reductions_are_compared(rows: Rows) -> Answer:
    """K15: in no panel is the curve of fair PCA mostly dominated by that of reductions; and it is faster at every n."""
    found = reductions.dominance(reductions.curves(rows(COMPARISON)))
    # Two bounds of one run at full size only check the reduced panel; they are no curve.
    found = found[(found["method"] == "Fair PCA") & (found["reductions' points"] > 2)]
    ratio = reductions.time_ratios(rows(TIMES)).pivot_table(index="n", columns="method", values="mean")
    faster = ratio[REDUCTIONS] / ratio["Fair PCA"]
    shares = found.set_index(["dataset", "goal", "classifier"])["dominated by reductions"]
    answer = by_parts([(shares <= rule("K15", "dominated")).all(), (faster >= rule("K15", "times faster")).all()])
    numbers = {f"share dominated, {' '.join(panel)}": share for panel, share in shares.items()}
    return Answer(answer, numbers | {f"time of reductions / Fair PCA, n = {n:,}": v for n, v in faster.items()})


def in_both(rule, metrics: tuple[str, ...], rows: Rows) -> Answer:
    """One rule in the printed numbers of some metrics and in ours."""
    cells = {"paper": ["kleindessner2023"], "metric": metrics}
    return claim_rules.three_answers(rule, printed, partial(ours, rows), cells=cells)


CLAIMS = {
    THEOREMS: {
        **{name: partial(searched, name) for name in ("K01", "K02", "K08", "K12")},
        "K03": partial(searched, "K03", control=None),
        "K13": partial(searched, "K13", allowed="standard errors", control="standard errors"),
    },
    TABLE: {
        "K09": covariances_come_closer,
        "K10": protocol_facts,
        "K11": partial(in_both, most_variance_and_accuracy, QUALITY),
        "K14": partial(in_both, kernel_pca_smallest_disparity, ("Delta_DP (Kernel SVM)",)),
    },
    "kleindessner2023-runtime": {"K04": same_order_as_pca},
    # No time could make it false.
    "kleindessner2023-rival-times": {
        "K05": claim_rules.unjudged("it says what is compared and not which is faster, in a figure", printed=NOT_JUDGED)
    },
    FACES: {"K16": claim_rules.unjudged("CelebA is unavailable: its licence keeps it out of this project")},
    COMPARISON: {"K06": weight_trades, "K07": opportunity_is_met, "K15": reductions_are_compared},
}
CONTRADICTIONS = {"X15": adult_numbers, "X33": two_discrepancies}
