"""Claims of Zhou et al. (2024): theorems put to the test, counts in Table 1, printed and ours, and two pictures."""

from functools import partial

import numpy as np
import pandas as pd

from ... import claim_rules, data, paths
from ...catalogue import experiment
from ...claim_rules import HOLDS, IN_PART, NOT_JUDGED, Answer, Claim, Outcome, Rows, Source, rule
from ...store import MissingNumbersError
from . import arithmetic, kernels, theorems
from .protocol import METRICS, NAMES
from .readings import METHODS, SEVERAL, printed

TABLE = "zhou2024-table"


def ours(rows: Rows, datasets: list[str]) -> pd.DataFrame:
    """Our means in the form of :func:`printed`, for those data sets that have a number for every printed cell."""
    some = rows(TABLE, dataset=datasets, protocol="released", metric=METRICS, method=METHODS)
    means = some.groupby(["dataset", "method", "metric"], sort=False)["value"].mean().rename("mean").reset_index()
    complete = means.groupby("dataset")["mean"].transform(lambda v: v.notna().sum() == len(METHODS) * len(METRICS))
    found = means[complete.astype(bool)]
    if found.empty:
        raise MissingNumbersError(f"no data set with all numbers of {TABLE}")
    return found


def _counted(metrics: tuple[str, ...], claim: str) -> Claim:
    """On how many of the six data sets FKKM is highest in each metric.

    As described it is not judged: two data sets are a test, and on these the winner depends on settings of VFC and FFC
    that the slides do not state."""

    def count_highest(source: Source) -> Outcome:
        cells, found, numbers = source(), set(), {}
        for metric in metrics:
            wide = cells[cells["metric"] == metric].pivot(index="dataset", columns="method", values="mean").round(3)
            *others, own = wide.eq(wide.max(axis=1), axis=0).sum()[list(METHODS)].tolist()
            found.add(claim_rules.by_count(own, rule(claim, "data sets"), others))
            numbers[f"highest {metric}"] = f"{own} of {len(wide)} data sets"
        return found.pop() if len(found) == 1 else IN_PART, numbers

    def answer(rows: Rows) -> Answer:
        def tests() -> pd.DataFrame:
            return ours(rows, a_test())

        cells = {"paper": ["zhou2024"], "metric": metrics}
        found = claim_rules.three_answers(count_highest, printed, tests, cells=cells)
        reason = "two data sets are a test, and the slides state no settings of VFC and FFC, which decide there"
        return found._replace(described=NOT_JUDGED, numbers={"reason": reason} | {**found.numbers})

    return answer


def a_test() -> list[str]:
    """Data sets but for those that a search found by the printed numbers."""
    searched = {one.dataset for one in experiment(TABLE).not_a_test}
    return [name for name in NAMES if name not in searched]


def marks(_: Rows) -> Answer:
    """Z10: in how many rows the best value is bold and the second best underlined, in the text made of the slides."""
    wrong, rows = [], printed().groupby(["dataset", "metric"], sort=False)
    for (dataset, metric), row in rows:
        values = sorted(set(row["mean"]), reverse=True)
        good = set(row.loc[row["bold"], "mean"]) == {values[0]} and set(row.loc[row["second"], "mean"]) == {values[1]}
        wrong += [] if good else [f"{NAMES[dataset]} {metric}"]
    numbers = {"rows marked by rank": f"{len(rows) - len(wrong)} of {len(rows)}", "others": wrong or "none"}
    numbers["reason"] = "a mark that is missing may have been lost where the slides were made into text"
    return Answer(None, numbers, NOT_JUDGED)


def converges(rows: Rows) -> Answer:
    """Z05: on synthetic problems, less where the objective of a run with twelve kernels rises on data that are a test.

    That a run has not come to rest after its most rounds refutes nothing; how many have stands beside."""
    answer = theorems.answer("Z05", rows)
    asked = {"protocol": f"{SEVERAL}: fit", "method": ("FMKKM", "FMKKM-f"), "dataset": a_test()}
    facts = rows("zhou2024-multiple", **asked)
    rises, converged = (facts.loc[facts["metric"] == name, "value"] for name in ("rises of the objective", "at rest"))
    numbers = {"real data, runs": len(rises), "real data, objective rises": int((rises > 0).sum(axis=0))}
    numbers["real data, at rest after the most rounds"] = int(converged.sum(axis=0))
    return Answer(
        IN_PART if answer.described == HOLDS and (rises > 0).any() else answer.described, answer.numbers | numbers
    )


def other_structure(rows: Rows) -> Answer:
    """Z11: pairs are set apart most by cluster in the standard kernel, and most by group in the fair one.

    The figure names none of the six data sets: each that has rows is a case, but for those found by a search."""
    answers, numbers = [], {}
    for dataset, some in rows("zhou2024-kernels", dataset=a_test()).groupby("dataset"):
        table, title = kernels.contrasts(some), NAMES[dataset]
        sizes = table.abs()
        most = {"standard": "cluster", "fair": "group"}.items()
        answers.append(all(sizes.loc[part, one] > sizes[one].drop(part).max() for one, part in most))
        values = table.T.stack().items()
        numbers |= {f"{title}, {kernel} kernel, by {part}": value for (kernel, part), value in values}
        numbers[f"{title}, λ"] = kernels.weight_of(some)
    return Answer(claim_rules.by_parts(answers), numbers)


CLAIMS = {
    "zhou2024-theorems": {name: partial(theorems.answer, name) for name in theorems.CLAIMS} | {"Z05": converges},
    TABLE: {
        "Z08": _counted(("Bal", "MNCE"), "Z08"),
        "Z09": _counted(("ACC", "NMI"), "Z09"),
        "Z10": marks,
    },
    "zhou2024-kernels": {"Z11": other_structure},
}


def single_runs() -> Outcome:
    """X29: whether Bal and MNCE of Credit Card can be single runs, and whether they can be means."""
    implied, ordered = arithmetic.implied("credit_card"), arithmetic.out_of_order("credit_card")
    low, high = arithmetic.shares_allowed("credit_card")
    single = implied["share from"].max() <= implied["share to"].min() and ordered.empty
    numbers = {"share stated by single runs": [implied["share from"].min(), implied["share to"].max()]}
    numbers |= {"pairs in different orders": len(ordered), "share allowed by means": [low, high]}
    return claim_rules.BOTH if single or low < high else claim_rules.NEITHER, numbers


def balance_of_many_groups() -> Outcome:
    """X30: with how many groups, or with what rounding, a balance of 0 goes with an entropy above 0."""
    wide = printed().pivot(index=["dataset", "method"], columns="metric", values="mean").reset_index()
    odd = wide[(wide["Bal"] == 0) & (wide["MNCE"] > 0)]
    largest = odd.loc[odd["dataset"] == "mnist_usps", "MNCE"].max()
    half = float(arithmetic.entropy_of_balance(arithmetic.HALF_DIGIT)) / np.log(2.0)
    groups = len(data.entry("jaffe").groups)
    numbers = {f"columns, {NAMES[name]}": int(count) for name, count in odd["dataset"].value_counts().items()}
    numbers |= {"groups of Jaffe": groups, "largest MNCE of MNIST-USPS": largest, "allowed by rounding": half}
    both = largest - arithmetic.HALF_DIGIT <= half and groups > 2
    return claim_rules.BOTH if both else claim_rules.UNDECIDED, numbers


def level_of_the_bound() -> Outcome:
    """X31: the bound needs a real, finite root of log(1/delta); and how many tables have several kernels."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {delta: float(np.sqrt(np.log(np.divide(1.0, delta)) / 2.0)) for delta in (0.0, 0.05, 1.0, 2.0)}
    numbers = {f"factor at delta = {delta:g}": value for delta, value in values.items()}
    numbers["printed tables, all with one kernel"] = len(list(paths.data("paper").glob("zhou2024_table*.csv")))
    return claim_rules.FIRST if np.isfinite(list(values.values())).all() else claim_rules.SECOND, numbers


CONTRADICTIONS = {"X29": single_runs, "X30": balance_of_many_groups, "X31": level_of_the_bound}
