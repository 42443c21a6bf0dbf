"""Theorems and claims of the first paper: every answer can come out, and none without results."""

import numpy as np
import pandas as pd
import pytest

from compendium.claim_rules import BOTH, NOT_JUDGED, UNDECIDED
from compendium.papers.kleindessner2023 import claims, reductions
from compendium.papers.kleindessner2023.protocol import CLASSIFIERS, METHODS
from compendium.store import MissingNumbersError
from evenspan import FairPCA
from evenspan.reconstruction.standard_pca import principal_subspace

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]


class Plain(FairPCA):
    """Wrong: plain PCA."""

    def _answer(self, moments):
        return principal_subspace(moments, self.n_components)


@pytest.fixture(scope="module")
def searches(cells_of):
    """The notebook with few problems and one classifier."""
    with pytest.MonkeyPatch.context() as patch:
        for name in set(CLASSIFIERS) - {"Kernel SVM"}:
            patch.delitem(CLASSIFIERS, name)
        yield cells_of("kleindessner2023-theorems", problems=6, points=20_001)


#: By claim: what stands in the place of a part of its search, and must be noticed; a control that shows nothing is one.
WRONG = [
    ("K01", {"fair_basis": lambda constraints, size: np.eye(len(constraints))}),
    ("K02", {"mean_gap": lambda moments, U: 0.0}),
    ("K08", {"FairPCA": Plain}),
    ("K13", {"demographic_parity_difference": lambda prediction, groups: 0.2}),
    ("K13", {"demographic_parity_difference": lambda prediction, groups: 0.0}),
]


@pytest.mark.parametrize(("claim", "wrong"), WRONG)
def test_searches_hold_and_would_notice(searches, claim, wrong, monkeypatch, reads):
    for given, expected in (({}, "holds"), (wrong, "does not hold")):
        for name, one in given.items():
            monkeypatch.setitem(searches, name, one)
        reads(claims, pd.DataFrame(searches["searched"](claim)))
        assert QUESTIONS[claim]().here == expected


QUESTIONS = {claim: function for answered in claims.CLAIMS.values() for claim, function in answered.items()}


@pytest.fixture
def ask(reads):
    """The answer to a claim from made rows: (method, protocol, metric) -> mean, around which the splits lie.

    Rows of other data sets and dimensions stand beside them.
    """

    def answer(claim, values, splits=10):
        rows = []
        for (method, protocol, metric), mean in values.items():
            found = mean + 0.001 * (np.arange(splits) - (splits - 1) / 2)
            rows += [("adult", method, 10, split, protocol, metric, value, "") for split, value in enumerate(found)]
        mine = pd.DataFrame(rows, columns=COLUMNS).assign(task="made")
        beside = mine.assign(value=-5.0 * mine["value"])
        reads(claims, pd.concat([beside.assign(k=2), mine, beside.assign(dataset="german")], ignore_index=True))
        return QUESTIONS[claim]()

    return answer


def columns(metrics: dict[str, dict], default: dict) -> dict:
    """Means of every method of the table: ``metrics[metric][method]``, elsewhere the default of the metric."""
    return {
        (method, protocol, metric): metrics.get(metric, {}).get(method, value)
        for metric, value in default.items()
        for method in METHODS
        for protocol in ("released", "held-out")
        if (method, metric) != ("Fair Kernel PCA", "%Var")
    }


def gaps(half, most, protocol="held-out"):
    values = {"Fair PCA": 2.0, "Fair PCA-S (0.5)": half, "Fair PCA-S (0.85)": most}
    return {(name, protocol, "covariance gap"): value for name, value in values.items()}


@pytest.mark.parametrize(
    ("half", "most", "expected"),
    [(1.0, 1.9, "holds"), (1.0, 2.1, "holds in part"), (2.1, 1.0, "holds in part"), (2.1, 3.0, "does not hold")],
)
def test_k09_asks_for_both_variants_on_new_data_and_waits_for_every_method_and_split(ask, half, most, expected):
    in_sample = gaps(4.0 - half, 4.0 - most, "in sample")  # says the contrary
    answer, numbers, _ = ask("K09", gaps(half, most) | in_sample)
    assert answer == expected
    assert list(numbers.values()) == pytest.approx([2.0, half, most])
    for given, splits in ((gaps(half, most), 9), (in_sample, 10)):
        with pytest.raises(MissingNumbersError):
            ask("K09", given, splits=splits)


def test_k10_compares_dimension_and_share(ask, monkeypatch):
    key = ("PCA", "released", "%Majority")
    answer, numbers, _ = ask("K10", {key: 75.11, ("LEACE", "released", "%Majority"): 60.0})
    assert (answer, numbers["features"], numbers["share of positive labels"]) == ("holds", 97, "0.2489")
    assert ask("K10", {key: 75.13}).here == "does not hold"
    assert ask("K10", {("LEACE", "released", "%Majority"): 75.11}).here == NOT_JUDGED
    right = claims.printed
    assert claims.adult_numbers()[0] == BOTH
    monkeypatch.setattr(claims, "printed", lambda metric: right(metric) * (1 if "Acc" in metric else 0))
    assert claims.adult_numbers()[0] == UNDECIDED


ACCURACIES = {f"%Acc ({name})": 80.0 for name in ("Kernel SVM", "Linear SVM", "MLP")}
BASE = {"%Var": 15.0, **ACCURACIES}
BEST = {metric: {"Fair PCA": value + 1} for metric, value in BASE.items()}


@pytest.mark.parametrize(
    ("better", "expected"),
    [
        ({}, "holds"),
        ({"%Var": {"RLACE": 16.02}}, "holds in part"),
        ({"%Acc (MLP)": {"Fair Kernel PCA": 81.02}}, "holds in part"),
        ({"%Acc (Linear SVM)": {"MbF-PCA (10^-3)": 81.004}}, "holds"),  # equal as printed
        ({metric: {"INLP": 90.0} for metric in BASE}, "does not hold"),
        ({metric: {"PCA": 95.0, "LEACE": 95.0} for metric in BASE}, "holds"),  # not among the fair rows of the paper
    ],
)
def test_k11_ranks_the_fair_methods_of_the_paper(ask, better, expected):
    means = {metric: BEST[metric] | better.get(metric, {}) for metric in BASE}
    assert ask("K11", columns(means, BASE)).here == expected


def times(ratios: dict, sizes, ns=("",)) -> pd.DataFrame:
    """Rows of ratios to PCA, by method a function of d; every third repetition is slow."""
    rows = [
        (f"two_latent_groups{n}-d{d}", name, 5, repetition, "side by side", "time / PCA", ratio(d) * slow)
        for n in ns
        for d in sizes
        for name, ratio in ratios.items()
        for repetition, slow in enumerate((1, 1, 9))
    ]
    return pd.DataFrame(rows, columns=["dataset", "method", "k", "split", "protocol", "metric", "value"])


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (lambda d: 1.2, "holds"),
        (lambda d: d / 50, "does not hold"),  # it grows like d, though never above 3
        (lambda d: 4.0, "does not hold"),  # constant, but large
    ],
)
def test_k04_asks_for_a_small_ratio_that_does_not_grow(reads, ratio, expected):
    both = {"Fair PCA": ratio, "Algorithm 1 on the points": lambda d: d**2.0}
    reads(claims, times(both, (20, 60, 100), ("-n336", "-n20000")))
    assert QUESTIONS["K04"]().here == expected


CURVES = ["dataset", "method", "split", "protocol", "metric", "parameter", "value"]


def stored(*, rising=True, hiding=True, met=True, ahead=False, runs=3) -> pd.DataFrame:
    """Rows of a full run made up so that the claims hold, or one of them does not."""
    rows = []

    def put(method, parameter, goal, accuracy, dp, eo, scores=None, classifier=reductions.LOGISTIC):
        for run in range(runs):
            named = ("accuracy", reductions.DP, reductions.EO, reductions.SCORES)
            values = dict(zip(named, (accuracy, dp, eo + 0.001 * run, scores), strict=True))
            key = ("adult_uci", method, run, reductions.protocol_name(goal, classifier, reductions.FULL_SIZE))
            rows.extend((*key, metric, parameter, value) for metric, value in values.items() if value is not None)

    for goal in ("DP", "EO"):
        put(reductions.UNCONSTRAINED, 0.0, goal, 0.85, 0.2, 0.15)
        put(reductions.CONSTANT, 0.0, goal, 0.75, 0.0, 0.0)
        for at in np.round(np.linspace(0.0, 1.0, 11), 1).tolist():
            up = at if rising else -at
            eo = 0.05 + 0.1 * at if goal == "EO" and met else 0.3 + 0.1 * at
            for weight in reductions.POWERS.values():
                for method in reductions.FAIR:
                    gap = at if not hiding else at**3
                    put(f"{method}, {weight}", at, goal, 0.8 + 0.05 * up, 0.1 + 0.1 * up, eo, gap)
            put(reductions.REDUCTIONS, at, goal, 0.8 + 0.05 * at + (0.02 if ahead else 0.0), 0.1 + 0.1 * at, eo)
    for at, gap in ((0.0, 0.0), (0.1, 0.9), (1.0, 1.0)):
        put("Fair PCA, lambda", at, "DP", 0.85, 0.2, 0.2, gap if hiding else 0.05 * at, reductions.LOOSE)
    return pd.DataFrame(rows, columns=CURVES)


def timed(factor: float) -> pd.DataFrame:
    rows = [
        ("adult_uci", method, 0, f"DP, side by side, {n} points", reductions.RATIO, 0.5, value)
        for n in (1000, 40_000)
        for method, value in (("Fair PCA", 2.0), (reductions.REDUCTIONS, 2.0 * factor))
    ]
    return pd.DataFrame(rows, columns=CURVES)


@pytest.fixture
def answers(reads):
    def given(claim, rows, ratios=None):
        reads(claims, {claims.COMPARISON: rows, claims.TIMES: ratios})
        return QUESTIONS[claim]()

    return given


@pytest.mark.parametrize(
    ("claim", "changed", "factor", "answer"),
    [
        ("K06", {}, 10, "holds"),
        ("K06", {"rising": False}, 10, "holds in part"),
        ("K06", {"hiding": False}, 10, "holds in part"),
        ("K06", {"rising": False, "hiding": False}, 10, "does not hold"),
        ("K07", {}, 10, "holds"),
        ("K07", {"met": False}, 10, "does not hold"),
        ("K15", {}, 10, "holds"),
        ("K15", {}, 1.1, "holds in part"),
        ("K15", {"ahead": True}, 10, "holds in part"),
        ("K15", {"ahead": True}, 1.1, "does not hold"),
    ],
)
def test_every_claim_can_come_out_otherwise(answers, claim, changed, factor, answer):
    found = answers(claim, stored(**changed), timed(factor))
    assert found.here == answer
