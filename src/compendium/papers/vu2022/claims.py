"""Claims of Vu et al. (2022): those about tables are counted by one rule in the printed numbers and in ours.

Ours are twice: the rows of the released program, and those of the methods as the paper describes them."""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from ... import claim_rules
from ...catalogue import experiment
from ...claim_rules import NOT_JUDGED, NOT_SO, Answer, Claim, Outcome, Rows, Source, by_parts, by_truth, rule
from ...records import paper_table
from ...store import MissingNumbersError, full
from .protocol import DATASETS, ERROR_TABLES, SEPARATION_TABLE, UNSCALED
from .readings import CURVES, PUBLISHED, agreement, angles, compared, dominated, gaps, means, table_2
from .theorems import claims as theorems

SAMPLES, ERRORS = ("out-of-sample", "in-sample"), ("ABDiff", "ARE")
RFPCA, FAIR, MEAN, BOTH = METHODS = PUBLISHED
TABLES = "vu2022-tables"
#: The curves of error against gap, by the methods as the paper describes them.
AS_DESCRIBED = ("RFPCA", "FairPCA (rank k)", "CFPCA-Mean Con. (linear)")

#: Of the faces ours are a stand-in, which bears out no claim: of our numbers those of the other tables are read.
FACES, OTHERS = DATASETS[UNSCALED[0]], [name for name in DATASETS if name not in UNSCALED]


def printed(split: str, metric: str) -> pd.DataFrame:
    """The published numbers of one metric."""
    stem = SEPARATION_TABLE if metric == "Delta F_Lin" else dict(zip(SAMPLES, ERROR_TABLES, strict=True))[split]
    frame = paper_table(stem)
    wide = frame[frame["metric"] == metric].pivot(index="dataset", columns="method", values="value")
    return wide.rename(index={"Parkinson’s": "Parkinsons"})


def ours(rows: Rows, described: bool, split: str, metric: str) -> pd.DataFrame:
    """Means over the splits of some rows, with the names of the paper, without the faces, of which ours stand in.

    ``described``: of the methods as the paper describes them, not of the released program."""
    names = experiment(TABLES).described(METHODS) if described else {one: one for one in METHODS}
    found = rows(TABLES, protocol=split, metric=metric, method=list(names.values()), dataset=OTHERS)
    wide = found.pivot_table(index="dataset", columns="method", values="value", aggfunc="mean")
    wide = wide.rename(index=DATASETS).reindex(columns=list(names.values()))
    wide = wide.rename(columns={own: theirs for theirs, own in names.items()})
    wide = wide[wide[[RFPCA, FAIR]].notna().all(axis=1)]
    if missing := set(printed(split, metric).index) - {FACES} - set(wide.index):
        raise MissingNumbersError(f"no rows of {TABLES} with {metric}, {split}, of {', '.join(sorted(missing))}")
    return wide


def best(wide: pd.DataFrame, method: str = RFPCA) -> set[str]:
    """Data sets on which a method has the smallest value, alone or not."""
    return set(wide.index[wide[method] <= wide.min(axis=1)])


def by_tables(rule_of: Callable[[Source], Outcome], split: str, metrics: tuple[str, ...]) -> Claim:
    """The function of a claim that is judged by one rule in the printed tables and in ours."""
    cells = {"paper": ["vu2022"], "split": [split], "metric": metrics}
    return lambda rows: claim_rules.three_answers(
        rule_of, printed, partial(ours, rows, True), partial(ours, rows, False), cells
    )


def best_on(claim: str, split: str, metrics: tuple[str, ...]) -> Claim:
    """V14, V15, V16, V19: on how many (available) data sets RFPCA is best in all metrics, beside the others."""

    def count(source: Source) -> Outcome:
        tables, theirs = ([one(split, metric) for metric in metrics] for one in (source, printed))
        found, *others = (set.intersection(*(best(table, method) for table in tables)) for method in METHODS)
        gone = set.intersection(*map(best, theirs)) - set(tables[0].index)
        answer = claim_rules.by_count(len(found), rule(claim, "data sets") - len(gone), map(len, others))
        return answer, {f"{RFPCA} lowest in {' and '.join(metrics)}": f"{len(found)} of {len(tables[0])} data sets"}

    return by_tables(count, split, metrics)


def close_where_not_best(source: Source) -> Outcome:
    """V17: where RFPCA is not best it is close: above the best method by no more than a share of its value."""
    tables = {metric: source("out-of-sample", metric) for metric in ERRORS}
    excess = pd.concat({metric: wide[RFPCA] / wide.min(axis=1) - 1.0 for metric, wide in tables.items()})
    excess = excess[excess > 0]
    far = (excess > rule("V17", "close")).sum()
    answer = by_truth(not far, far < rule("V17", "in part below") * len(excess))
    return answer, {"cells not best and not close": f"{far} of {len(excess)}"}


def lowest_gap_in_sample(source: Source) -> Outcome:
    """V18: best on "all 14 data sets"; in part if only without the faces, the table's 15th."""
    wide, claimed = source("in-sample", "ABDiff"), rule("V18", "data sets")
    found = best(wide)
    rest = len(found - {FACES}) == len(set(wide.index) - {FACES}) == claimed
    answer = by_truth(len(found) == len(wide) == claimed, rest)
    return answer, {f"{RFPCA} lowest in ABDiff": f"{len(found)} of {len(wide)}"}


def as_many_as_fair_pca(source: Source) -> Outcome:
    """V20: FairPCA is best in ARE on as many data sets as RFPCA; in part if only without the faces."""
    wide = source("in-sample", "ARE")
    one, other = best(wide), best(wide, FAIR)
    answer = by_truth(len(one) == len(other), len(one - {FACES}) == len(other - {FACES}))
    return answer, {f"{RFPCA} and FairPCA lowest in ARE": f"{len(one)} and {len(other)} of {len(wide)}"}


def convex_methods_separate_least(source: Source) -> Outcome:
    """V21: both CFPCA versions beat the other two on every data set in Delta F_Lin; in part if the better one does."""
    wide = source("out-of-sample", "Delta F_Lin").dropna()
    lower = wide[[MEAN, BOTH]].lt(wide[[RFPCA, FAIR]].min(axis=1), axis=0)
    each, one = lower.all(axis=1), lower.any(axis=1)
    numbers = {"both below RFPCA and FairPCA": f"{each.sum()} of {len(wide)}"}
    return by_truth(each.all(), one.all()), numbers | {"the better one": f"{one.sum()} of {len(wide)}"}


def no_result_on_faces(_: Rows) -> Answer:
    """V22: no result on LFW, as the tables print; why is not printed. Memory of the program, by arithmetic alone.

    An interior-point method factors a dense matrix with a row for each of the scalar equations counted here."""
    sizes = table_2()["d"].astype(int)
    missing = pd.concat([printed(*key)[[MEAN, BOTH]].isna() for key in product(SAMPLES, ERRORS)], axis=1)
    d, largest = int(sizes[FACES]), int(sizes[~missing.any(axis=1).reindex(sizes.index)].max())
    there = 8 * (d * (2 * d + 1)) ** 2  # bytes
    elsewhere = 8 * (largest * (2 * largest + 1) + 2 * (largest**2 + largest * (largest + 1))) ** 2
    numbers = {"reason": "memory by arithmetic, without a run on the faces", f"GB, d = {d}": 1e-9 * there}
    numbers |= {f"GB with all equations, d = {largest}": 1e-9 * elsewhere}
    return Answer(None, numbers, by_truth(missing.loc[FACES].all()), program=NOT_JUDGED)


def faces_of_the_subset(rows: Rows) -> Answer:
    """V23: 2,000 faces of each sex, 24 x 24, against the printed number of faces and pixels; ours are a stand-in."""
    table = table_2().loc[FACES]
    wanted = {"N": 2 * rule("V23", "faces of each sex"), "d": rule("V23", "pixels of a side") ** 2}
    numbers = {f"{name}, printed and by the words": f"{table[name]} and {value}" for name, value in wanted.items()}
    numbers["reason"] = "the images of the paper are not public, and ours stand in for them"
    return Answer(NOT_JUDGED, numbers, by_parts(int(table[name]) == value for name, value in wanted.items()))


def protocol_gives_the_tables(rows: Rows) -> Answer:
    """V24: the protocol, by how many printed errors its rows give again; without faces. The print has no answer."""
    keys = list(product(SAMPLES, ERRORS))

    def evaluate(source: Source) -> Outcome:
        mine, theirs = (pd.concat({key: one(*key).stack() for key in keys}) for one in (source, printed))
        off = (mine - theirs).abs().dropna()
        near, same = (off / theirs.abs()).dropna() <= rule("V24", "relative"), off <= rule("V24", "last printed digit")
        numbers = {"near the printed": f"{near.sum()} of {len(near)}", "in all four decimals": int(same.sum())}
        return by_truth(near.mean() >= rule("V24", "holds from"), near.mean() >= rule("V24", "in part from")), numbers

    cells = {"paper": ["vu2022"], "metric": ERRORS}
    return claim_rules.three_answers(evaluate, None, partial(ours, rows, True), partial(ours, rows, False), cells)


def robust_points_dominate(rows: Rows) -> Answer:
    """V26: on two data sets RFPCA dominates points of each other curve, a larger share than is dominated of its own.

    Control: the one point of PCA, which every curve of RFPCA has as its end, dominates fewer."""

    def evaluate(curves: tuple[str, ...]) -> Outcome:
        asked = {"dataset": ("biodeg", "german_credit"), "method": ("PCA", *curves)}
        found = means(rows("vu2022-pareto", "dataset", "method", **asked)).dropna(subset=["ARE"])
        numbers, answers = {}, []
        for dataset, other in product(asked["dataset"], curves[1:]):
            of = found[found["dataset"] == dataset].groupby("method").get_group
            robust, theirs = of(curves[0]), of(other)
            n, back, control = dominated(theirs, robust), dominated(robust, theirs), dominated(theirs, of("PCA"))
            answers.append(n * len(robust) > back * len(theirs) and n > control)
            words = f"{DATASETS[dataset]}, points of {other} dominated"
            numbers |= {words: f"{n} of {len(theirs)}", f"{words} by PCA alone": control}
        return by_parts(answers), numbers

    return claim_rules.three_answers(evaluate, None, AS_DESCRIBED, CURVES)


def smaller_gap_over_k(rows: Rows) -> Answer:
    """V27: RFPCA has a smaller gap than PCA and FairPCA over a range of k; counted over all data sets and k.

    FairPCA is an operator of full rank in the released program; as described it solves its problem exactly."""
    datasets = [run["dataset"] for run in experiment("vu2022-components").executions.values()]

    def gap(fair: str) -> pd.DataFrame:
        asked = {"method": ["RFPCA", "PCA", fair], "dataset": datasets}
        errors = rows("vu2022-components", *asked, protocol="out-of-sample", **asked)
        return gaps(errors).pivot(index=["dataset", "k"], columns="method", values="gap").rename(columns={fair: FAIR})

    def evaluate(source: Source) -> Outcome:
        found = source()
        smaller = (found[RFPCA] < found["PCA"]) & (found[RFPCA] < found[FAIR])
        share, most, some = smaller.mean(), rule("V27", "most, with all of Biodeg"), rule("V27", "some")
        holds = share > rule("V27", "nearly all") or (share > most and smaller.loc["biodeg"].all())
        numbers = {"values of k and data sets with the smallest gap": f"{smaller.sum()} of {len(smaller)}"}
        return by_truth(holds, share > some), numbers

    return claim_rules.three_answers(evaluate, None, partial(gap, "FairPCA (exact)"), partial(gap, FAIR))


def spectrum_between(rows: Rows) -> Answer:
    """V12: PCA near the majority's axis, Samadi's near the diagonal, RFPCA from the one to the other."""
    asked = {"method": ["PCA", "FairPCA (exact)", "RFPCA (exact)"]}
    turned = rows("vu2022-toy", *asked, dataset="sample", metric="angle", **asked)
    found = angles(turned, "sample").groupby("method")["angle"]
    pca, fair = found.min()["PCA"], found.min()["FairPCA (exact)"]
    low, high = found.min()["RFPCA (exact)"], found.max()["RFPCA (exact)"]
    off = {
        "PCA from the majority": pca,
        "fair PCA from the diagonal": fair - rule("V12", "diagonal"),
        "lightest from PCA": low - pca,
        "heaviest from fair PCA": high - fair,
    }
    parts = [abs(value) < rule("V12", name) for name, value in off.items()]
    return Answer(by_parts(parts), {f"degrees, {name}": value for name, value in off.items()})


def first_better_then_worse(rows: Rows) -> Answer:
    """V28: test ARE + ABDiff falls with the radius, then rises, each by more than its standard errors explain.

    The alpha with the smallest mean is chosen on half of the simulations and judged on the others."""
    found = rows("vu2022-toy", metric="ARE + ABDiff")
    wide = found.assign(alpha=found["parameter"].astype(float)).pivot(index="split", columns="alpha", values="value")
    if len(wide) < 4 or wide.shape[1] < 3:  # two simulations to judge have a standard error; an alpha between the ends
        there = f"{len(wide)} simulations and {wide.shape[1]} values of alpha"
        raise MissingNumbersError(f"4 simulations and 3 values of alpha of vu2022-toy are needed; there are {there}")
    lowest = wide.iloc[::2].mean(axis=0).idxmin()
    judging, ends = wide.iloc[1::2], (wide.columns[0], wide.columns[-1])
    difference = judging[list(ends)].sub(judging[lowest], axis=0)
    parts = difference.mean() > rule("V28", "standard errors") * difference.sem()
    numbers = {f"more at alpha = {end:g}": value for end, value in difference.mean().items()}
    return Answer(by_parts(parts), numbers | {"best alpha": lowest})


def fifteen_data_sets(rows: Rows) -> Answer:
    """V29: 15 data sets with the printed numbers of rows and features: of the faces only a stand-in is at hand.

    What the other 14 show can contradict the claim, and cannot bear it out."""
    theirs = by_truth(len(table_2()) == rule("V29", "data sets"))
    try:
        counted = rows("vu2022-data", "dataset", protocol="counted", dataset=OTHERS)
    except MissingNumbersError as error:
        return Answer(NOT_JUDGED, {"missing": str(error)}, theirs)
    found = compared(counted).set_index("data set").drop(index=FACES)
    same = (found["N"] == found["N printed"]) & (found["d"] == found["d printed"])
    numbers = {"rows and features as printed": f"{same.sum()} of {len(found)}", "missing": "the faces of the paper"}
    return Answer(NOT_JUDGED if same.all() else NOT_SO, numbers, theirs)


def order_of_the_identity() -> Outcome:
    """X23: of the slips one can be computed; the others name places that do not exist or exist twice."""
    V = np.linalg.qr(np.random.default_rng(23).normal(size=(5, 2)))[0]
    numbers = {"rows of V": len(V), "order of the identity V'V": len(V.T @ V)}
    return (claim_rules.SECOND if np.allclose(V.T @ V, np.eye(2)) else claim_rules.UNDECIDED), numbers


def larger_loss_or_error() -> Outcome:
    """X32: the column of the method of Samadi et al. is nearer to the exact solution for the loss."""
    named = ("FairPCA", "FairPCA (exact)", "FairPCA (error, exact)")
    rows = full("vu2022-tables", "method", method=named)
    off = agreement(rows[rows["dataset"] != "lfw_24x24"], dict.fromkeys(named, "FairPCA"))
    off = off[off["table"].isin(["Table 1", "Table 3"])].groupby("ours")["median deviation"].max()
    words = {"FairPCA": "their program", "FairPCA (exact)": "loss", "FairPCA (error, exact)": "error"}
    found = {f"median deviation of the FairPCA column from {text}": off[name] for name, text in words.items()}
    loss = off["FairPCA (exact)"] < off["FairPCA (error, exact)"]
    return (claim_rules.FIRST if loss else claim_rules.UNDECIDED), found


CLAIMS = {
    "vu2022-theorems": theorems,
    "vu2022-tables": {
        "V14": best_on("V14", "out-of-sample", ("ABDiff",)),
        "V15": best_on("V15", "out-of-sample", ("ARE",)),
        "V16": best_on("V16", "out-of-sample", ERRORS),
        "V17": by_tables(close_where_not_best, "out-of-sample", ERRORS),
        "V18": by_tables(lowest_gap_in_sample, "in-sample", ("ABDiff",)),
        "V19": best_on("V19", "in-sample", ("ARE",)),
        "V20": by_tables(as_many_as_fair_pca, "in-sample", ("ARE",)),
        "V21": by_tables(convex_methods_separate_least, "out-of-sample", ("Delta F_Lin",)),
        "V22": no_result_on_faces,
        "V23": faces_of_the_subset,
        "V24": protocol_gives_the_tables,
    },
    "vu2022-data": {"V29": fifteen_data_sets},
    "vu2022-pareto": {"V26": robust_points_dominate},
    "vu2022-components": {"V27": smaller_gap_over_k},
    "vu2022-toy": {"V12": spectrum_between, "V28": first_better_then_worse},
}

CONTRADICTIONS = {"X23": order_of_the_identity, "X32": larger_loss_or_error}
