"""The claims of Kleindessner et al. (2023): theorems, and its experiments in the printed numbers and in ours."""

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np
import pandas as pd

from evenspan import metrics

from ... import paths
from ...claim_rules import (
    BOTH,
    HOLDS,
    NOT_JUDGED,
    UNDECIDED,
    Answer,
    Numbers,
    Outcome,
    Source,
    both,
    by_parts,
    by_truth,
    rule,
)
from ...data import split_moments
from ...store import MissingNumbersError, full, read_results
from . import faces, readings, reductions
from .protocol import KERNEL, METRICS, PRINTED
from .reductions import EO, FAIR, FULL_SIZE, LOGISTIC, LOOSE, REDUCTIONS, SMALL, UNCONSTRAINED

TABLE, FACES, THEOREMS = "kleindessner2023-table", "kleindessner2023-faces", "kleindessner2023-theorems"
COMPARISON, TIMES = "kleindessner2023-reductions", "kleindessner2023-reductions-times"
ACCURACIES = [metric for metric in METRICS if metric.startswith("%Acc")]


def searched(claim: str, allowed: str = "rounding", control: str | None = "control") -> Answer:
    """Holds if no violation was above the rule ``allowed``, and what must break the theorem exceeds ``control``."""
    rows = full(THEOREMS, "protocol", protocol=[claim] + [f"{claim}, control"] * bool(control), metric="violation")
    value = rows.groupby(["protocol", "method"])["value"].max()
    holds = value[claim].max() <= rule(claim, allowed)
    holds &= control is None or value[f"{claim}, control"].min() >= rule(claim, control)
    return Answer(by_truth(holds), {f"violation, {' of '.join(which)}": size for which, size in value.items()})


def printed(metric: str) -> pd.Series:
    """The printed numbers of one column of the table on Adult, by method."""
    cells = pd.read_csv(paths.data("paper", "kleindessner2023_adult_k10.csv"))
    return cells[cells["metric"] == metric].set_index("method")["value"]


def ours(metric: str, protocol: str = "released", methods: tuple[str, ...] = PRINTED) -> pd.Series:
    """Our mean over the splits by method; refuses where one of the methods has not all ten."""
    found = _rows(metric=metric, protocol=protocol, method=methods).groupby("method")["value"].agg(["mean", "count"])
    means = found.loc[found["count"] == 10, "mean"]
    wanted = [name for name in methods if (name, metric) != (KERNEL, "%Var")]  # it has no such number
    if not set(wanted) <= set(means.index):
        raise MissingNumbersError(f"Not all methods have ten splits of {metric}. Run the experiment {TABLE}.")
    return means


def _rows(**where: object) -> pd.DataFrame:
    return read_results(TABLE, dataset="adult", k=10, **where)


def covariances_come_closer() -> Answer:
    """K09: on Adult with k = 10 the covariance variants bring group covariances closer than Fair PCA, on new data."""
    plain, *variants = names = ("Fair PCA", "Fair PCA-S (0.5)", "Fair PCA-S (0.85)")
    gaps = ours("covariance gap", "held-out", names).loc[list(names)]
    return Answer(
        by_parts(gaps[name] < gaps[plain] for name in variants),
        {f"covariance gap on the test parts, {name}": value for name, value in gaps.items()},
    )


def protocol_facts() -> Answer:
    """K10: 97 features, 24.89 % positive labels (so that a constant prediction is right in 75.11 %), 10 components."""
    claimed, within = rule("K10", "share of positive labels"), rule("K10", "within")
    # No disparity at all under the linear SVM: it says the same of everybody.
    right = printed("%Acc (Linear SVM)")[printed("Delta_DP (Linear SVM)").eq(0)]
    theirs = by_truth(len(right) and ((1.0 - right / 100.0 - claimed).abs() <= within).all())
    rows = _rows(method="PCA", metric="%Majority")
    if rows.empty:
        return Answer(NOT_JUDGED, {"reason": "nothing is stored"}, theirs)
    d, share = split_moments("adult", 0, "train").d, 1.0 - rows["value"].mean(axis=0) / 100.0
    here = d == rule("K10", "features") and abs(share - claimed) <= within
    return Answer(by_truth(here), {"features": d, "share of positive labels": f"{share:.4f}"}, theirs)


def adult_numbers() -> Outcome:
    """X15: the disparities of Fair PCA and PCA, where the printed shares agree (K10); equal means promise no more."""
    kernel, linear = (printed(f"Delta_DP ({name} SVM)")[["Fair PCA", "PCA"]].tolist() for name in ("Kernel", "Linear"))
    allowed = kernel[0] == kernel[1] and linear[0] < linear[1]
    found = {"K10": protocol_facts().printed, "Fair PCA and PCA, kernel SVM": kernel, "the same, linear SVM": linear}
    return (BOTH if found["K10"] == HOLDS and allowed else UNDECIDED), found


def two_discrepancies() -> Outcome:
    """X33: printed as MMD^2 is the kernel distance on test parts, which equal means do not make zero."""
    rows = full(TABLE, dataset="adult", k=10, method="Fair PCA")
    mean = readings.summary(rows).set_index(["protocol", "metric"])["mean"]
    theirs, kernel = printed("MMD^2")["Fair PCA"], mean["released", "MMD^2"]
    square = mean["held-out", "mean gap"] ** 2
    inside, zero = mean["in sample", "MMD^2"], mean["in sample", "mean gap"]
    sees_more = np.isclose(zero, 0) and not np.isclose(inside, 0)
    found = {"printed": theirs, "Gaussian kernel, test parts": kernel, "squared mean distance, test parts": square}
    found |= {"Gaussian kernel, training parts": inside, "mean distance, training parts": zero}
    return (BOTH if round(kernel, 3) == theirs != round(square, 3) and sees_more else UNDECIDED), found


def most_variance_and_accuracy() -> Answer:
    """K11: among the fair methods of the table fair PCA keeps most variance and has the best accuracies."""
    fair, decimals = [name for name in PRINTED if name != "PCA"], rule("K11", "decimals")

    def told(source: Source) -> tuple[str, Numbers]:
        firsts, numbers = [], {}
        for metric in ["%Var", *ACCURACIES]:
            means = source(metric).reindex(fair).dropna().round(decimals)
            rival = means.drop("Fair PCA").idxmax()
            firsts.append(means["Fair PCA"] >= means[rival])
            numbers[f"{metric} of Fair PCA and {rival}"] = [f"{means[name]:.2f}" for name in ("Fair PCA", rival)]
        return by_parts(firsts), numbers

    return both(told, printed, ours)


def kernel_pca_smallest_disparity() -> Answer:
    """K14: Fair Kernel PCA has the smallest disparity of all methods of the table under the kernel SVM."""

    def told(source: Source) -> tuple[str, Numbers]:
        means = source("Delta_DP (Kernel SVM)").reindex(PRINTED)
        rival = means.drop(KERNEL).idxmin()
        return by_truth(means[KERNEL] < means[rival]), {f"disparity, {name}": means[name] for name in (KERNEL, rival)}

    return both(told, printed, ours)


def same_order_as_pca() -> Answer:
    """K04: fair PCA costs a constant factor more than PCA: its ratio does not grow with n or with d."""
    fair = readings.curve(full("kleindessner2023-runtime", method="Fair PCA"))
    # The growth exponent of the ratio; the same order of time means 0, one more factor d would mean 1.
    slope = {n: value for (_, n), value in readings.growth(fair).items()}
    holds = max(slope.values()) < rule("K04", "growth") and fair["median"].max() < rule("K04", "times as long")
    numbers = {"time / PCA, median, smallest and largest": [fair["median"].min(), fair["median"].max()]}
    return Answer(by_truth(holds), numbers | {f"growth exponent in d, n = {n:,}": value for n, value in slope.items()})


def times_are_compared() -> Answer:
    """K05: times of all methods as a function of d, with k = 5. No time could make it false: it is not judged."""
    reason = "it says what is compared and not which is faster, and the figure is not in the text"
    return Answer(NOT_JUDGED, {"reason": reason}, NOT_JUDGED)


def weight_trades() -> Answer:
    """K06: accuracy and disparity rise with lambda, and a small one hides the second block from a regularised model.

    The control is the same lambda with the printed weight and hardly any regularisation: there it is not hidden.
    """
    found = reductions.curves(full(COMPARISON))
    lines, use = reductions.trends(found[~reductions.constant(found)]), reductions.hidden(found)
    lines = lines[(lines["goal"] == "DP") & (lines["runs"] > 1)]  # one run at full size only checks the reduced panel
    if lines.empty or set(use["classifier"]) != {LOGISTIC, LOOSE}:
        raise MissingNumbersError("Not both classifiers have curves over lambda.")
    rises = (lines[["tau of accuracy", "tau of violation"]] >= rule("K06", "rises")).all(axis=1)
    rises &= (lines["accuracy at 1"] > lines["accuracy at 0"]) & (lines["violation at 1"] > lines["violation at 0"])
    share = use.set_index(["dataset", "classifier", "weight"])["share"]
    little = share.unstack("classifier") <= rule("K06", "hardly used")
    numbers = {
        f"rising curves, {data}": f"{part.sum()} of {len(part)}" for data, part in rises.groupby(lines["dataset"])
    }
    numbers |= {f"share of the score gap at {SMALL}, {', '.join(which)}": value for which, value in share.items()}
    return Answer(by_parts([*rises, *(little[LOGISTIC] & ~little[LOOSE].any())]), numbers)


def opportunity_is_met() -> Answer:
    """K07: fitted on y = 1 (lambda = 0), the gap of true positive rates is smaller than of two others, on new data.

    The others are a classifier without fairness, and the same representation fitted on all points.
    """
    met, parity = (reductions.protocol_name(goal, LOGISTIC, FULL_SIZE) for goal in ("EO", "DP"))
    rows = full(COMPARISON, protocol=[met, parity])
    found = reductions.curves(rows)
    still = found.loc[reductions.constant(found), ["dataset", "method"]].drop_duplicates().to_numpy().tolist()
    rows = rows[(rows["metric"] == EO) & (rows["parameter"] == 0.0)]
    gaps = rows.pivot_table(index=["dataset", "split"], columns=["protocol", "method"], values="value")
    good, numbers = [], {}
    for dataset, method in product(sorted(set(rows["dataset"])), FAIR):
        name = reductions.named(method, 3)
        asked = [(met, name), (met, UNCONSTRAINED), (parity, name)]
        if not set(asked) <= set(gaps.columns):
            raise MissingNumbersError(f"{dataset} has no curves of {method} for both criteria.")
        if [dataset, method] not in still:
            mine, *others = (gaps.loc[dataset][column] for column in asked)
            good += [_below(mine, other) for other in others]
            numbers[f"{dataset}, {method}"] = [f"{values.mean(axis=0):.3f}" for values in (mine, *others)]
    smaller = {"smaller gaps (of: y = 1, no fairness, all points)": f"{sum(good)} of {len(good)}"}
    return Answer(by_parts(good), smaller | numbers)


def _below(mine: pd.Series, other: pd.Series) -> bool:
    """Whether the paired difference is negative by more than its standard errors can explain."""
    difference = mine - other
    return bool(difference.mean() < -rule("K07", "standard errors") * difference.sem())


def reductions_are_compared() -> Answer:
    """K15: in no panel is the curve of fair PCA mostly dominated by that of reductions; and it is faster at every n."""
    found = reductions.dominance(reductions.curves(full(COMPARISON)))
    # Two bounds of one run at full size only check the reduced panel; they are no curve.
    found = found[(found["method"] == "Fair PCA") & (found["reductions' points"] > 2)]
    ratio = reductions.time_ratios(full(TIMES)).pivot_table(index="n", columns="method", values="mean")
    faster = ratio[REDUCTIONS] / ratio["Fair PCA"]
    shares = found.set_index(["dataset", "goal", "classifier"])["dominated by reductions"]
    answer = by_parts([(shares <= rule("K15", "dominated")).all(), (faster >= rule("K15", "times faster")).all()])
    numbers = {f"share dominated, {' '.join(panel)}": share for panel, share in shares.items()}
    return Answer(answer, numbers | {f"time of reductions / Fair PCA, n = {n:,}": v for n, v in faster.items()})


def glasses() -> Answer:
    """K16: glasses erased from CelebA, whose images are unavailable: not judged. The numbers are of a substitute."""
    reason = "CelebA is unavailable: its licence keeps it out of this project"
    asked = {"k": faces.SIDE**2 - 1, "metric": [f"AUC ({reader})" for reader in metrics.READERS], "method": "Fair PCA"}
    rows = read_results(FACES, dataset=faces.SUBSTITUTE, **asked)
    mean = rows.groupby(["metric", "protocol", "method"])["value"].mean()
    return Answer(NOT_JUDGED, {"reason": reason} | {f"LFW, sex, {', '.join(which)}": v for which, v in mean.items()})


#: By experiment: the functions that answer claims.
CLAIMS: Mapping[str, Mapping[str, Callable[[], Answer]]] = {
    THEOREMS: {
        **{name: lambda name=name: searched(name) for name in ("K01", "K02", "K08", "K12")},
        "K03": lambda: searched("K03", control=None),
        "K13": lambda: searched("K13", "standard errors", "standard errors"),
    },
    TABLE: {
        "K09": covariances_come_closer,
        "K10": protocol_facts,
        "K11": most_variance_and_accuracy,
        "K14": kernel_pca_smallest_disparity,
    },
    "kleindessner2023-runtime": {"K04": same_order_as_pca},
    "kleindessner2023-rival-times": {"K05": times_are_compared},
    FACES: {"K16": glasses},
    COMPARISON: {"K06": weight_trades, "K07": opportunity_is_met, "K15": reductions_are_compared},
}
CONTRADICTIONS: Mapping[str, Callable[[], Outcome]] = {"X15": adult_numbers, "X33": two_discrepancies}
