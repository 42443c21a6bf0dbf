"""Readings, theorems and claims of the first paper: every answer can come out, and none without results."""

import warnings

import numpy as np
import pandas as pd
import pytest

from compendium.claim_rules import BOTH, NOT_JUDGED, UNDECIDED
from compendium.ledger.claims import registered
from compendium.papers.kleindessner2023 import claims, readings
from compendium.papers.kleindessner2023.protocol import CLASSIFIERS, METHODS
from compendium.store import MissingNumbersError, read_results
from evenspan import FairKernelPCA, FairPCA
from evenspan.core.answer import FairSubspace, ky_fan_certificate
from evenspan.reconstruction.standard_pca import principal_subspace
from evenspan.representation.constraints import fair_basis, mean_constraints

COLUMNS = ["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"]
QUESTIONS = {claim: function for answered in claims.CLAIMS.values() for claim, function in answered.items()}


def draws(*parts):
    """A ``summary`` of one data set: (method, metric, protocol, mean)."""
    return pd.DataFrame(parts, columns=["method", "metric", "protocol", "mean"])


def on_splits(method, protocol, metric, values, *, dataset="d", k=2):
    """Stored rows, a split for each value."""
    return [(dataset, method, k, split, protocol, metric, value, "") for split, value in enumerate(values)]


def test_ranges_are_over_draws_of_signs_and_over_seeds_of_methods_that_draw():
    rows = [("PCA", "%Acc (MLP)", f"signs {i:02d}", v) for i, v in enumerate([3.0, 1.0, 2.0])]
    rows += [("PCA", "%Acc (MLP)", "released", 9.0)]
    assert readings.basis_ranges(draws(*rows)).to_numpy().tolist() == [["PCA", "%Acc (MLP)", 1.0, 2.0, 3.0, 3]]
    rows += [("INLP", "%Var", where, v) for where, v in {"released": 5.0, "seed 01": 1.0, "seed 02": 2.0}.items()]
    rows += [("INLP", "%Var", "held-out", 9.0), ("INLP", "%Majority", "released", 75.0), ("INLP", "%Var", "fit", 8.0)]
    found = readings.seed_ranges(draws(*rows, ("INLP", "%Acc (MLP)", "signs 00", 6.0)))
    assert found.to_numpy().tolist() == [["INLP", "%Var", 1.0, 2.0, 5.0, 3]], "the recorded seed is one of them"


def test_a_summary_leaves_missing_values_out_and_has_the_population_deviation():
    rows = on_splits("LEACE", "released", "%Var", [3.0, 5.0, np.nan]) + on_splits("PCA", "fit", "converged", [np.nan])
    found = readings.summary(pd.DataFrame(rows, columns=COLUMNS)).set_index("method")
    assert list(found.index) == ["PCA", "LEACE"], "the order of the table"
    assert found["splits"].tolist() == [0, 2]
    assert found.loc["LEACE", ["mean", "std"]].tolist() == [4.0, 1.0]
    assert found.loc["PCA", ["mean", "std"]].isna().all()


def test_growth_is_the_exponent_of_the_medians():
    rows = [("PCA", d, r, 1.0) for d in (20, 60, 100) for r in range(3)]
    rows += [("RLACE", d, r, (1, 3, 100)[r] * d**1.5) for d in (100, 20, 60) for r in range(3)]
    frame = pd.DataFrame(rows, columns=["method", "d", "split", "value"])
    frame = frame.assign(dataset="two_latent_groups-d" + frame["d"].astype(str)).drop(columns="d")
    curve = readings.curve(frame, training_rows=336)
    assert set(curve["n"]) == {336}
    at = curve[curve["d"] == 20].set_index("method").loc["RLACE", ["smallest", "median", "largest"]]
    np.testing.assert_allclose(at.astype(float), np.array([1, 3, 100]) * 20**1.5)
    np.testing.assert_allclose(readings.growth(curve), [0.0, 1.5], atol=1e-12)
    assert readings.growth(curve[curve["d"] == 20]).empty, "one size shows no growth"


def test_stored_results_give_printed_digits_and_show_memory():
    """Published numbers as an oracle, independent of the ledger; and the kernel SVM's score is mostly memory."""
    found = readings.summary(read_results("kleindessner2023-table", dataset="adult", k=10))
    mean = found.set_index(["protocol", "metric", "method"])["mean"].sort_index()
    printed = {"PCA": 21.77, "Fair PCA": 19.62, "Fair PCA-S (0.5)": 12.75, "Fair PCA-S (0.85)": 15.79}
    assert mean["released", "%Var"][list(printed)].round(2).to_dict() == printed
    remembered, new = (mean[where, "%Acc (Kernel SVM)"][list(printed)] for where in ("released", "held-out"))
    assert (remembered - new > 8).all()
    assert QUESTIONS["K09"]().here == QUESTIONS["K10"]().here == "holds"


class Plain(FairPCA):
    """Wrong: plain PCA."""

    def _answer(self, moments):
        return principal_subspace(moments, self.n_components)


class Least(FairPCA):
    """Feasible, but with the directions of least variance."""

    def _answer(self, moments):
        R = fair_basis(mean_constraints(moments), np.sqrt(np.trace(moments.second_moment)))
        self.constraint_rank_, self.standard_subspace_ = moments.d - R.shape[1], None
        H = R.T @ moments.second_moment @ R
        A = np.linalg.eigh(H)[1][:, : self.n_components]
        return FairSubspace(R @ A, np.zeros(moments.d), ky_fan_certificate(H, A, "least variance"))


class Unfair(FairKernelPCA):
    """Kernel PCA: the groups of the points are ignored."""

    def fit(self, X, y=None, *, sensitive_features):
        self.set_params(on_single_group="warn")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return super().fit(X, sensitive_features=np.zeros(len(X), dtype=int))


def standardised(k, **options):
    """Fair, but of the standardised points, and so no linear Fair PCA."""
    return FairKernelPCA(k, **options | {"center": "overall"})


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
    ("K01", {"largest_correlation": lambda T, z, rng: 1e-12}),
    ("K02", {"mean_gap": lambda moments, U: 0.0}),
    ("K03", {"FairPCA": Least}),
    ("K08", {"FairPCA": Plain}),
    ("K08", {"mean_gap": lambda moments, U: 0.0}),
    ("K12", {"FairKernelPCA": Unfair}),
    ("K12", {"FairKernelPCA": standardised}),
    ("K12", {"largest_correlation": lambda T, z, rng: 1e-12}),
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


@pytest.fixture
def ask(reads):
    """The answer to a claim from made rows: (method, protocol, metric) -> mean, around which the splits lie.

    Rows of other data sets and dimensions stand beside them.
    """

    def answer(claim, values, splits=10):
        rows = []
        for key, mean in values.items():
            rows += on_splits(*key, mean + 0.001 * (np.arange(splits) - (splits - 1) / 2), dataset="adult", k=10)
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


def test_every_claim_is_registered_and_none_is_judged_without_results(reads):
    """Data that are missing are no answer: what is not at hand, and what is not computed, are told in one way."""
    assert sorted(QUESTIONS) == [f"K{number:02d}" for number in range(1, 17)]
    assert set(QUESTIONS) <= set(registered())
    reads(claims, read_results("kleindessner2023-table").iloc[:0].assign(parameter=0.0))
    for claim, question in QUESTIONS.items():
        try:
            answer = question()
        except MissingNumbersError:
            continue
        assert answer.here == NOT_JUDGED
        assert answer.printed == {"K05": NOT_JUDGED, "K16": None}.get(claim, "holds")


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
    some = gaps(half, most)
    with pytest.raises(MissingNumbersError):
        ask("K09", some, splits=9)
    del some["Fair PCA-S (0.5)", "held-out", "covariance gap"]
    for given in (some, in_sample):
        with pytest.raises(MissingNumbersError):
            ask("K09", given)


def test_k10_compares_dimension_and_share(ask, monkeypatch):
    key = ("PCA", "released", "%Majority")
    answer, numbers, _ = ask("K10", {key: 75.11, ("LEACE", "released", "%Majority"): 60.0})
    assert (answer, numbers["features"], numbers["share of positive labels"]) == ("holds", 97, "0.2489")
    assert ask("K10", {key: 75.13}).here == "does not hold"
    assert ask("K10", {("LEACE", "released", "%Majority"): 75.11}).here == NOT_JUDGED
    right = claims.split_moments("adult", 0, "train")
    monkeypatch.setattr(claims, "split_moments", lambda *which: right.project(np.eye(97)[:, :96]))
    assert ask("K10", {key: 75.11}).here == "does not hold"


def test_the_numbers_of_adult_contradict_nothing_unless_equal_means_did_not_help(monkeypatch):
    assert claims.adult_numbers()[0] == BOTH
    right = claims.printed
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


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({"Fair Kernel PCA": 0.04, "MbF-PCA (10^-6)": 0.05}, "holds"),
        ({"Fair Kernel PCA": 0.1, "RLACE": 0.1}, "does not hold"),  # a tie is not the smallest
        ({"Fair Kernel PCA": 0.04, "RLACE": 0.05, "LEACE": 0.01}, "holds"),  # not in the paper's table
    ],
)
def test_k14_asks_for_the_smallest_disparity(ask, means, expected):
    given = columns({"Delta_DP (Kernel SVM)": means}, {"Delta_DP (Kernel SVM)": 0.1})
    assert ask("K14", given).here == expected
    assert ask("K14", given, splits=9).here == NOT_JUDGED


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
