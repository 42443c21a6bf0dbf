"""What the comparison with reductions says: curves, who dominates whom, and the claims about trade-offs."""

import numpy as np
import pandas as pd

from .claim_rules import Answer, by_parts, rule
from .store import read_results

EXPERIMENT, TIMES = "kleindessner2023-reductions", "kleindessner2023-reductions-times"
FAIR = ("Fair PCA", "Fair PCA-S (0.5)", "Fair PCA-S (0.85)", "Fair kernel PCA")
REDUCTIONS, UNCONSTRAINED, CONSTANT = "reductions", "no fairness", "constant"
LOGISTIC, SVM = "logistic regression", "kernel SVM"
#: Nearly without regularisation: the control of what small weights of the second block are said to do.
LOOSE, LOOSE_PENALTY = f"{LOGISTIC} with 1/10000 of the penalty", 1e-4
#: The power of lambda that weights the second block, as it is named in a method: released, and printed.
POWERS = {3: "lambda^3", 1: "lambda"}
DP, EO, SCORES = "DP violation", "EO violation", "score gap"
RATIO = f"time / {UNCONSTRAINED}"
VIOLATIONS = {"DP": DP, "EO": EO}
#: A lambda that is small, but not nothing.
SMALL = 0.1
FULL_SIZE = "5000 points"


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


def named(method: str, power: int) -> str:
    """The name of a representation with its second block weighted by lambda to that power."""
    return f"{method}, {POWERS[power]}"


def split_method(name: str) -> tuple[str, str]:
    """The method of a name, and how lambda weights its second block; "" for methods without."""
    method, _, power = name.partition(", ")
    return method, power


def protocol_name(goal: str, classifier: str, size: str) -> str:
    """How goal, classifier and size stand in the column ``protocol``."""
    return f"{goal}, {classifier}, {size}"


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """One line for each parameter value of each method: accuracy and violations, mean over the runs.

    ``method`` is taken apart into ``method`` and ``weight``, ``protocol`` into ``goal``, ``classifier`` and ``size``.
    """
    keys = ["dataset", "protocol", "method", "parameter", *(["source"] if "source" in rows else [])]
    grouped = rows.pivot_table(index=keys, columns="metric", values="value", aggfunc="mean")
    found = grouped.join(rows.groupby(keys)["split"].nunique().rename("runs")).reset_index()
    parts = found["protocol"].str.split(", ", expand=True).set_axis(["goal", "classifier", "size"], axis=1)
    names = pd.DataFrame([split_method(name) for name in found["method"]], columns=["method", "weight"])
    found = pd.concat([parts, names, found.drop(columns=["protocol", "method"])], axis=1)
    order = {name: i for i, name in enumerate((LOGISTIC, SVM, LOOSE, *FAIR, REDUCTIONS, UNCONSTRAINED, CONSTANT))}
    by = ["dataset", "goal", "classifier", "size", "method", "weight", "parameter"]
    return found.sort_values(
        by, key=lambda c: c.map(order) if c.name in ("method", "classifier") else c, ignore_index=True
    )


def dominated(points: pd.DataFrame, by: pd.DataFrame, violation: str) -> float:
    """Share of the points that some point of the other curve clearly dominates."""
    ahead = by["accuracy"].to_numpy()[None, :] - points["accuracy"].to_numpy()[:, None]
    fairer = points[violation].to_numpy()[:, None] - by[violation].to_numpy()[None, :]
    least = rule("K15", "clearly")
    clear = (ahead >= 0.0) & (fairer >= 0.0) & ((ahead > least) | (fairer > least))
    return float(clear.any(axis=1).mean(axis=0))


def dominance(found: pd.DataFrame, weight: str = POWERS[3]) -> pd.DataFrame:
    """For every panel and representation: the share of its points dominated by reductions, and conversely."""
    rows = []
    for keys, panel in found.groupby(["dataset", "goal", "classifier", "size"], sort=False):
        other, violation = panel[panel["method"] == REDUCTIONS], VIOLATIONS[keys[1]]
        for method in FAIR:
            own = panel[(panel["method"] == method) & (panel["weight"] == weight)]
            if len(own) and len(other):
                shares = dominated(own, other, violation), dominated(other, own, violation)
                rows.append((*keys, method, weight, len(own), len(other), *shares))
    columns = ["dataset", "goal", "classifier", "size", "method", "weight", "points", "reductions' points"]
    return pd.DataFrame(rows, columns=[*columns, "dominated by reductions", "of reductions dominated"])


def trends(found: pd.DataFrame) -> pd.DataFrame:
    """For every curve over lambda: rank correlations of accuracy and of the violation with lambda, and both ends."""
    rows = []
    some = found[found["method"].isin(FAIR) & (found["classifier"] != LOOSE)]
    for keys, line in some.groupby(["dataset", "goal", "classifier", "size", "method", "weight"], sort=False):
        line, violation = line.sort_values("parameter"), VIOLATIONS[keys[1]]
        taus = (line["parameter"].corr(line[name], method="kendall") for name in ("accuracy", violation))
        ends = (line["runs"].iloc[0], *(line[name].iloc[at] for name in ("accuracy", violation) for at in (0, -1)))
        rows.append((*keys, *(0.0 if np.isnan(tau) else float(tau) for tau in taus), *ends))
    columns = ["dataset", "goal", "classifier", "size", "method", "weight", "tau of accuracy", "tau of violation"]
    ends = ["runs", "accuracy at 0", "accuracy at 1", "violation at 0", "violation at 1"]
    return pd.DataFrame(rows, columns=[*columns, *ends])


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
    keys = ["dataset", "goal", "classifier", "size", "method", "weight"]
    still = (found[[DP, EO]] == 0.0).all(axis=1) & found["method"].isin(FAIR)
    return still.groupby([found[name] for name in keys]).transform("all")


def weight_trades() -> Answer | None:
    """K06: accuracy and disparity rise with lambda, and a small one hides the second block from a regularised model.

    The control is the same lambda with the printed weight and hardly any regularisation: there it is not hidden.
    """
    rows = read_results(EXPERIMENT)
    if rows.empty:
        return None
    found = curves(rows)
    lines = trends(found[~constant(found)])
    # One run at full size only checks the reduced panel.
    lines = lines[(lines["goal"] == "DP") & (lines["runs"] > 1)]
    use = hidden(found)
    if lines.empty or set(use["classifier"]) != {LOGISTIC, LOOSE}:
        return None
    rising, hardly = rule("K06", "rises"), rule("K06", "hardly used")
    rises = (lines[["tau of accuracy", "tau of violation"]] >= rising).all(axis=1)
    rises &= (lines["accuracy at 1"] > lines["accuracy at 0"]) & (lines["violation at 1"] > lines["violation at 0"])
    texts = [
        f"accuracy and DP violation both rise with lambda (Kendall at least {rising}) on {int(part.sum(axis=0))} of "
        f"{len(part)} curves of {dataset} with {classifier}"
        for (dataset, classifier), part in rises.groupby([lines["dataset"], lines["classifier"]], sort=False)
    ]
    for one in lines[(lines["method"] == "Fair PCA") & (lines["weight"] == POWERS[3])].to_dict("records"):
        texts.append(f"{one['dataset']}, Fair PCA, {one['classifier']}: accuracy {one['accuracy at 0']:.4f} to "
                     f"{one['accuracy at 1']:.4f}, violation {one['violation at 0']:.4f} to "
                     f"{one['violation at 1']:.4f}")  # fmt: skip
    tight, loose = use[use["classifier"] == LOGISTIC], use[use["classifier"] == LOOSE]
    for name, part in (("regularised", tight), ("nearly without penalty", loose)):
        told = ", ".join(f"{one.dataset} {one.weight} {one.share:.3g}" for one in part.itertuples())
        texts.append(f"share of the score gap of lambda = 1 already at lambda = {SMALL}, {name}: {told}")
    control = bool((loose["share"] > hardly).all(axis=0))
    texts += _left_out(found)
    return Answer(
        by_parts([*rises, *(control and share <= hardly for share in tight["share"])]), "; ".join(texts) + "."
    )


def opportunity_is_met() -> Answer | None:
    """K07: fitted on y = 1 (lambda = 0), the gap of true positive rates is smaller than of two others, on new data.

    The others are a classifier without fairness, and the same representation fitted on all points.
    """
    met, parity = (protocol_name(goal, LOGISTIC, FULL_SIZE) for goal in ("EO", "DP"))
    rows = read_results(EXPERIMENT, protocol=[met, parity])
    if rows.empty:
        return None
    found = curves(rows)
    still = found[constant(found)]
    passed_over = set(zip(still["dataset"], still["method"], strict=True))
    rows = rows[(rows["metric"] == EO) & (rows["parameter"] == 0.0)]
    gaps = rows.pivot_table(index=["dataset", "split"], columns=["protocol", "method"], values="value")
    good, texts = [], []
    for dataset in sorted(set(rows["dataset"])):
        for method in FAIR:
            name = named(method, 3)
            asked = [(met, name), (met, UNCONSTRAINED), (parity, name)]
            if not set(asked) <= set(gaps.columns):
                return None
            if (dataset, method) in passed_over:
                continue
            mine, plain, other = (gaps.loc[dataset][column].dropna() for column in asked)
            good += [_below(mine, plain), _below(mine, other)]
            texts.append(f"{dataset}, {method}: {mine.mean(axis=0):.3f} against {plain.mean(axis=0):.3f} without "
                         f"fairness and {other.mean(axis=0):.3f} fitted on all points")  # fmt: skip
    text = "Gap of true positive rates on the test parts, mean over the runs; clearly smaller in "
    text += f"{sum(good)} of {len(good)} comparisons: "
    return Answer(by_parts(good), text + "; ".join([*texts, *_left_out(found)]) + ".")


def _left_out(found: pd.DataFrame) -> list[str]:
    """Words for what is not judged, if there is any."""
    still = found[constant(found)][["method", "dataset", "classifier"]].drop_duplicates()
    told = ", ".join(f"{one.method} on {one.dataset}" for one in still.itertuples())
    return [f"not judged, because the classifier predicts a constant throughout: {told}"] if told else []


def _below(mine: pd.Series, other: pd.Series) -> bool:
    """Whether the paired difference is negative by more than its standard errors can explain."""
    difference = (mine - other).dropna()
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    return bool(difference.mean() < -rule("K07", "standard errors") * error)


def time_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """For each n and method: fitting time over that of the unconstrained classifier, mean and range."""
    some = rows[rows["metric"] == RATIO]
    n = some["protocol"].str.extract(r"(\d+) points")[0].astype(int)
    keys = ["method", "n", *(["source"] if "source" in some else [])]
    found = some.assign(n=n).groupby(keys)["value"].agg(mean="mean", smallest="min", largest="max", fits="size")
    order = {name: i for i, name in enumerate((*FAIR, REDUCTIONS, UNCONSTRAINED))}
    return found.reset_index().sort_values(["method", "n"], key=lambda c: c.map(order) if c.name == "method" else c, ignore_index=True)  # noqa: E501  # fmt: skip


def reductions_are_compared() -> Answer | None:
    """K15: in no panel is the curve of fair PCA mostly dominated by that of reductions; and it is faster at every n.

    The claim holds in part if one of the two is so.
    """
    rows, times = read_results(EXPERIMENT), read_results(TIMES)
    if rows.empty or times.empty:
        return None
    found = dominance(curves(rows))
    # Two bounds of one run at full size only check the reduced panel; they are no curve.
    found = found[(found["method"] == "Fair PCA") & (found["reductions' points"] > 2)]
    most = rule("K15", "dominated")
    level = [bool(share <= most) for share in found["dominated by reductions"]]
    ratio = time_ratios(times).pivot_table(index="n", columns="method", values="mean")
    faster = ratio[REDUCTIONS] / ratio["Fair PCA"]
    growth = float(np.polyfit(np.log(faster.index.to_numpy(float)), np.log(faster), 1)[0])
    text = f"Points of Fair PCA (lambda^3) dominated by reductions, and of reductions by Fair PCA ({sum(level)} of {len(level)} panels at most {most:.0%}): "  # noqa: E501  # fmt: skip
    text += "; ".join(
        f"{one.dataset} {one.goal} {one.classifier} {one[-2]:.0%}, {one[-1]:.0%}"
        for one in (row for row in found.itertuples(index=False))
    )
    text += ". Fitting time of reductions over that of Fair PCA: "
    text += ", ".join(f"{value:.1f} at n = {n:,}" for n, value in faster.items())
    text += f" (growth exponent in n {growth:+.2f})."
    return Answer(by_parts([all(level), (faster >= rule("K15", "times faster")).all()]), text)


claims = {"K06": weight_trades, "K07": opportunity_is_met, "K15": reductions_are_compared}
