"""Claims of the first paper that stored results answer: every answer can come out, and none without results."""

import numpy as np
import pandas as pd
import pytest

from compendium.ledger.claim_rules import OPEN
from compendium.ledger.claims import registered
from compendium.papers.kleindessner2023 import claims, theorems
from compendium.papers.kleindessner2023.methods import METHODS, PRINTED
from compendium.store import read_results

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]
QUESTIONS = {claim: function for answered in claims.CLAIMS.values() for claim, function in answered.items()}


def frame(values: dict, *, dataset="adult", k=10, splits=10) -> pd.DataFrame:
    """Stored rows from (method, protocol, metric) -> mean; the splits lie around it by even steps."""
    rows = [
        (dataset, method, k, split, protocol, metric, mean + 0.001 * (split - (splits - 1) / 2), "")
        for (method, protocol, metric), mean in values.items()
        for split in range(splits)
    ]
    return pd.DataFrame(rows, columns=COLUMNS).assign(task="made")


def columns(metrics: dict[str, dict], *, default: dict) -> dict:
    """Means of every method of the table: ``metrics[metric][method]``, elsewhere the default of the metric."""
    return {
        (method, protocol, metric): metrics.get(metric, {}).get(method, value)
        for metric, value in default.items()
        for method in METHODS
        for protocol in ("released", "held-out")
        if (method, metric) != ("Fair Kernel PCA", "%Var")
    }


@pytest.fixture
def ask(reads):
    """The answer to a claim from made rows; rows of other data sets and dimensions stand beside them."""

    def answer(claim, values, **kwargs):
        mine = frame(values, **kwargs)
        beside = mine.assign(value=-5.0 * mine["value"])
        rows = pd.concat([beside.assign(k=2), mine, beside.assign(dataset="german")], ignore_index=True)
        reads(claims, rows)
        return QUESTIONS[claim]()

    return answer


def test_every_claim_is_registered_and_open_without_results(reads):
    assert sorted(QUESTIONS) == [f"K{number:02d}" for number in range(1, 17)]
    assert set(QUESTIONS) <= set(registered())
    reads(claims, read_results("kleindessner2023-table").iloc[:0])
    for claim, function in QUESTIONS.items():
        answer = None if claim in theorems.claims else function()
        assert answer is None or (answer.here, answer.printed) == (OPEN, "holds")


def gaps(half, most, protocol="held-out"):
    values = {"Fair PCA": 2.0, "Fair PCA-S (0.5)": half, "Fair PCA-S (0.85)": most}
    return {(name, protocol, "covariance gap"): value for name, value in values.items()}


@pytest.mark.parametrize(
    ("half", "most", "expected"),
    [(1.0, 1.9, "holds"), (1.0, 2.1, "holds in part"), (2.1, 1.0, "holds in part"), (2.1, 3.0, "does not hold")],
)
def test_k09_asks_for_both_variants_on_new_data(ask, half, most, expected):
    in_sample = gaps(4.0 - half, 4.0 - most, "in sample")  # says the contrary
    answer, evidence, _ = ask("K09", gaps(half, most) | in_sample)
    assert answer == expected
    assert f"Fair PCA 2.00, Fair PCA-S (0.5) {half:.2f}, Fair PCA-S (0.85) {most:.2f}." in evidence


def test_k09_waits_for_every_method_and_split(ask):
    some = gaps(1.0, 1.0)
    assert ask("K09", some, splits=9) is None
    del some["Fair PCA-S (0.5)", "held-out", "covariance gap"]
    assert ask("K09", some) is None
    assert ask("K09", gaps(1.0, 1.0, "in sample")) is None


def test_k10_compares_dimension_and_share(ask, monkeypatch):
    key = ("PCA", "released", "%Majority")
    answer, evidence, _ = ask("K10", {key: 75.11, ("LEACE", "released", "%Majority"): 60.0})
    assert answer == "holds"
    assert "97 features" in evidence
    assert "0.2489" in evidence
    assert ask("K10", {key: 75.13}).here == "does not hold"
    assert ask("K10", {("LEACE", "released", "%Majority"): 75.11}).here == OPEN

    class Other:
        d = 98

    monkeypatch.setattr(claims, "shipped_moments", lambda *which: Other)
    assert ask("K10", {key: 75.11}).here == "does not hold"


ACCURACIES = {f"%Acc ({name})": 80.0 for name in ("Kernel SVM", "Linear SVM", "MLP")}
BASE = {"%Var": 15.0, **ACCURACIES}
BEST = {metric: {"Fair PCA": value + 1} for metric, value in BASE.items()}


@pytest.mark.parametrize(
    ("better", "expected", "ahead"),
    [
        ({}, "holds", 3),
        ({"%Var": {"RLACE": 16.02}}, "holds in part", 3),
        ({"%Acc (MLP)": {"Fair Kernel PCA": 81.02}}, "holds in part", 2),
        ({"%Acc (Linear SVM)": {"MbF-PCA (10^-3)": 81.004}}, "holds", 3),  # equal as printed
        ({metric: {"INLP": 90.0} for metric in BASE}, "does not hold", 0),
        ({metric: {"PCA": 95.0, "LEACE": 95.0} for metric in BASE}, "holds", 3),  # not among the fair rows of the paper
    ],
)
def test_k11_ranks_the_fair_methods_of_the_paper(ask, better, expected, ahead):
    means = {metric: BEST[metric] | better.get(metric, {}) for metric in BASE}
    answer, evidence, _ = ask("K11", columns(means, default=BASE))
    assert answer == expected
    assert f"best accuracy for {ahead} of 3" in evidence


def test_k11_tells_the_next_best_and_what_is_left_held_out(ask):
    values = columns({**BEST, "%Var": {"Fair PCA": 19.62, "FPCA (0, 0.01)": 18.86}}, default=BASE)
    values["RLACE", "held-out", "%Acc (MLP)"] = 99.0
    answer, evidence, _ = ask("K11", values)
    assert answer == "holds"
    assert "%Var 19.62 against 18.86 of FPCA (0, 0.01)" in evidence.split("Ours")[1]
    assert "best accuracy for 2 of 3" in evidence


@pytest.mark.parametrize("claim", ["K11", "K14"])
def test_rankings_wait_for_every_method(ask, claim):
    default = BASE | {"Delta_DP (Kernel SVM)": 0.1}
    everything = columns({}, default=default)
    assert ask(claim, everything).here != OPEN
    for name in ("RLACE", "Fair Kernel PCA", "Fair PCA"):
        some = {key: value for key, value in everything.items() if key[:2] != (name, "released")}
        assert ask(claim, some).here == OPEN, name
    without_ours = {key: value for key, value in everything.items() if key[0] in PRINTED}
    assert ask(claim, without_ours).here != OPEN
    assert ask(claim, everything, splits=9).here == OPEN


@pytest.mark.parametrize(
    ("means", "expected", "rival"),
    [
        ({"Fair Kernel PCA": 0.04, "MbF-PCA (10^-6)": 0.05}, "holds", "MbF-PCA (10^-6)"),
        ({"Fair Kernel PCA": 0.04, "PCA": 0.03}, "does not hold", "PCA"),
        ({"Fair Kernel PCA": 0.1, "RLACE": 0.1}, "does not hold", "PCA"),  # a tie is not the smallest
        ({"Fair Kernel PCA": 0.04, "RLACE": 0.05, "LEACE": 0.01}, "holds", "RLACE"),  # not in the paper's table
    ],
)
def test_k14_asks_for_the_smallest_disparity(ask, means, expected, rival):
    values = columns({"Delta_DP (Kernel SVM)": means}, default={"Delta_DP (Kernel SVM)": 0.1})
    values["INLP", "held-out", "Delta_DP (Kernel SVM)"] = 0.011
    answer, evidence, _ = ask("K14", values)
    assert answer == expected
    assert f"of {rival}, the next" in evidence
    assert "smallest 0.011 (INLP)" in evidence


def times(factors: dict, sizes=claims.FEATURES) -> pd.DataFrame:
    """Ratios to PCA: the quick methods take 2, each rival its factor times that, with one slow repetition."""
    quick = dict.fromkeys(claims.QUICK, 2.0)
    rows = [
        (f"two_latent_groups-d{d}", name, 5, repetition, "side by side", "time / PCA", ratio * (9 if repetition else 1))
        for d in sizes
        for name, ratio in (quick | {n: 2.0 * f(d) for n, f in factors.items()}).items()
        for repetition in (0, 0, 1)
    ]
    return pd.DataFrame(rows, columns=COLUMNS[:-1])


def test_k05_asks_for_times_of_every_method_at_every_size(reads):
    def answer(factors, **kwargs):
        reads(claims, times(factors, **kwargs))
        return QUESTIONS["K05"]()

    slow = dict.fromkeys(claims.SLOW, lambda d: 40.0)
    answered, evidence, printed = answer(slow)
    assert (answered, printed) == ("holds", "not computable")
    assert "27 of 27 pairs" in evidence
    assert "RLACE 40" in evidence
    answered, evidence, _ = answer(slow | {"INLP": lambda d: 0.5, "RLACE": lambda d: d**2.0})
    assert answered == "holds", "whichever is faster"
    assert "RLACE +2.0" in evidence
    assert answer({name: slow[name] for name in claims.SLOW[1:]}).here == "does not hold"
    assert answer(slow, sizes=claims.FEATURES[:2]).here == "does not hold"


def test_k12_notices_a_kernel_version_that_is_not_fair_and_one_that_is_not_linear_fair_pca(monkeypatch):
    answer = theorems.claims["K12"]
    monkeypatch.setattr(theorems, "problems", lambda number, trials=theorems.problems: trials(3))
    kernel = theorems.FairKernelPCA
    assert answer().here == "holds"

    class Unfair(kernel):
        """Kernel PCA: the groups of the points are ignored."""

        def fit(self, X, y=None, *, sensitive_features):
            self.set_params(on_single_group="warn")
            return super().fit(X, sensitive_features=np.zeros(len(X), dtype=int))

    monkeypatch.setattr(theorems, "FairKernelPCA", Unfair)
    with pytest.warns(UserWarning, match="group"):
        assert answer().here == "does not hold"
    # Fair, but of the standardised points.
    monkeypatch.setattr(theorems, "FairKernelPCA", lambda k, **options: kernel(k, **options | {"center": True}))
    assert answer().here == "does not hold"
    # A control that does not tell the groups either shows nothing.
    monkeypatch.setattr(theorems, "FairKernelPCA", kernel)
    monkeypatch.setattr(theorems, "_largest_correlation", lambda T, z, rng: 1e-12)
    assert answer().here == "does not hold"


def test_k13_notices_dependence_and_a_control_that_shows_nothing(monkeypatch):
    answer = theorems.claims["K13"]
    size = theorems.demographic_parity_difference
    monkeypatch.setattr(theorems, "CLASSIFIERS", {"Linear SVM": theorems.CLASSIFIERS["Linear SVM"]})
    answered, evidence, _ = answer()
    assert answered == "holds"
    assert "new points" in evidence
    monkeypatch.setattr(theorems, "demographic_parity_difference", lambda p, g: size(p, g) + 0.2)
    assert answer().here == "does not hold", "a disparity where there should be none"
    monkeypatch.setattr(theorems, "demographic_parity_difference", lambda p, g: 0.0)
    assert answer().here == "does not hold", "a control without disparity"


def test_claims_from_stored_results(reads):
    """The results in the repository, and the same spoilt."""
    rows = read_results("kleindessner2023-table")
    assert QUESTIONS["K09"]().here == "holds"
    assert QUESTIONS["K10"]().here == "holds"
    spoilt = rows.assign(value=np.where(rows["method"] == "Fair PCA", 0.0, rows["value"]))
    reads(claims, spoilt)
    assert QUESTIONS["K09"]().here == "does not hold"
    reads(claims, rows.assign(value=60.0))
    assert QUESTIONS["K10"]().here == "does not hold"
