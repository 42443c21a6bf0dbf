"""Claims of Rathore and Manwani (2025) about tables and times: the answers, and that each can come out otherwise."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from compendium import paths
from compendium.claim_rules import NOT_JUDGED, by_share
from compendium.ledger.table import published
from compendium.papers.rathore2025 import claims, readings, time_claims
from compendium.papers.rathore2025.protocol import NAMES, PUBLISHED, TABLES, printed
from compendium.papers.rathore2025.theorems import claims as theorems
from compendium.records import checked
from compendium.store import MissingNumbersError, read_results
from evenspan.core.errors import ResultError

ANSWERS = {
    "R12": "holds in part", "R13": "holds in part", "R14": "holds", "R15": "holds in part", "R16": "holds",
    "R17": "holds in part", "R18": "holds in part", "R20": "holds", "R21": "holds in part", "R22": "holds",
    "R23": "holds", "R24": "does not hold", "R25": "not computable",
}  # fmt: skip
BOTH = [f"R{number}" for number in (*range(12, 19), 20, 21)]
KEYS = ["dataset", "method", "k", "split", "protocol", "metric", "value"]


@pytest.fixture
def empty(reads):
    """No results of ours."""
    reads(claims, pd.DataFrame(columns=KEYS))


@pytest.fixture
def tables(monkeypatch, empty):
    """A function that puts other printed tables in place: a column for each (method, metric), the same everywhere."""

    def put(change):
        made = {name: printed(name).copy() for name in TABLES}
        for wide in made.values():
            for method in PUBLISHED:
                wide[method, "R.E."], wide[method, "V.E."] = 10.0 / wide.index, 1.0 - 0.1 / wide.index
                wide[method, "MMD^2"] = 0.1
            change(wide)
        monkeypatch.setattr(claims, "printed", made.__getitem__)

    return put


def test_all_26_claims_are_answered_somewhere_and_once():
    ids = [*theorems, *time_claims.claims, *claims.claims]
    assert sorted(ids) == [f"R{number:02d}" for number in range(1, 27)]


@pytest.mark.parametrize("claim", sorted(ANSWERS))
def test_answers_from_the_printed_tables(claim, empty):
    here, evidence, answer = claims.claims[claim]()
    assert (answer or here) == ANSWERS[claim], evidence
    assert evidence.endswith(".")
    assert "Ours:" not in evidence
    assert here == (NOT_JUDGED if claim in BOTH else None if claim == "R25" else "holds")


def as_claimed(wide):
    wide["JevdPCA", "MMD^2"] = 0.1 / 2.0
    wide["StandardPCA", "R.E."], wide["StandardPCA", "V.E."] = 9.9 / wide.index, 1.0 - 0.099 / wide.index


def otherwise(wide):
    wide["JevdPCA", "MMD^2"] = 3.0 - 0.1 * np.arange(len(wide))
    wide["JevdPCA", "R.E."], wide["JevdPCA", "V.E."] = 30.0, 0.3
    wide["StandardPCA", "R.E."], wide["StandardPCA", "V.E."] = 12.0 / wide.index, 0.4
    wide["StandardPCA", "MMD^2"] = wide["JevdPCA", "MMD^2"]


def small_share(wide):
    wide["JevdPCA", "R.E."], wide["JevdPCA", "MMD^2"] = 10.0 / wide.index * 1.3, 0.05


@pytest.mark.parametrize(
    ("change", "answer", "asked"),
    [
        (as_claimed, "holds", set(BOTH) - {"R14"}),
        (otherwise, "does not hold", BOTH),
        (small_share, "holds in part", ("R15", "R18")),  # the two scales of R.E. disagree
        (lambda wide: wide.__setitem__(("JevdPCA", "MMD^2"), 0.1 / 1.8), "holds in part", ("R13",)),  # lower, not huge
    ],
)
def test_claims_follow_the_tables(tables, change, answer, asked):
    tables(change)
    for claim in asked:
        _, evidence, found = claims.claims[claim]()
        assert found == answer, evidence


def test_rounding_alone_does_not_make_a_number_impossible(tables):
    def touching(wide):
        wide["StandardPCA", "V.E."], wide["StandardPCA", "R.E."] = 0.50, 5.00
        for method in PUBLISHED[:3]:
            wide[method, "V.E."], wide[method, "R.E."] = 0.51, 4.99

    for changed, value, what, answer in (
        (("JevdPCA", "MMD^2"), 0.1, set(), "holds"),
        (("JevdPCA", "V.E."), 0.52, {"V.E. above StandardPCA"}, "holds in part"),
        (("StandardPCA", "R.E."), 30.0, {"R.E. below StandardPCA"}, "holds in part"),
    ):
        tables(lambda wide, changed=changed, value=value: (touching(wide), wide.__setitem__(changed, value)))
        assert set(claims.impossible()["what"]) == what
        assert claims.pca_is_best().printed == answer


def test_printed_numbers_that_cannot_be(monkeypatch):
    found = claims.impossible()
    # V.E. is printed 0.01 above that of PCA at r = 3 and 10: rounding explains it.
    assert set(found["what"]) == {"MMD^2 falls", "MMD^2 above the distance of the means"}
    assert found[["dataset", "method"]].drop_duplicates().to_numpy().tolist() == [["Diabetes", "JevdPCA"]]
    assert found.loc[found["what"] == "MMD^2 falls", "r"].tolist() == [12, 18]
    above = found[found["what"].str.startswith("MMD^2 above")]
    assert above["r"].tolist() == [16, 17, 18, 19]
    assert above["limit"].unique() == pytest.approx([3.694], abs=1e-3)
    # Means of other data limit nothing.
    right = claims.datasets.entry
    monkeypatch.setattr(claims.datasets, "entry", lambda name: replace(right(name), matches_paper=False))
    assert set(claims.impossible()["what"]) == {"MMD^2 falls"}


def test_one_total_variance_for_every_column_but_one(monkeypatch):
    found = claims.implied_totals()
    broken = found[~found["possible"]]
    assert broken[["dataset", "method"]].to_numpy().tolist() == [["Diabetes", "JevdPCA"]]
    assert broken.iloc[0][["high", "high_k", "low_k"]].tolist() == pytest.approx([194.5, 1, 10], abs=0.05)
    assert claims.printed_errors_and_shares().printed == "holds in part"
    share = pd.Series([0.5, 0.75, 0.9], index=[1, 2, 3])
    columns = {(m, c): v for m in PUBLISHED for c, v in (("R.E.", 20.0 * (1 - share)), ("V.E.", share))}
    monkeypatch.setattr(claims, "printed", lambda dataset: pd.DataFrame(columns))
    assert claims.printed_errors_and_shares().printed == "holds"
    monkeypatch.setattr(claims, "errors_and_shares", lambda: 0.1)
    here, evidence, answer = claims.printed_errors_and_shares()
    assert here == answer == "does not hold"
    assert evidence.startswith("The identity is not true on random points")


def test_the_range_of_the_baselines():
    """The distance is relative to the nearer end of the range, or in shares of the total variance."""
    wide = printed(NAMES["Diabetes"]).loc[[1]].copy()
    others = [method for method in PUBLISHED if method != "JevdPCA"]
    for mine, baselines, total, away in (
        (2.2, (1.0, 2.0, 2.0), None, 0.1),
        (1.5, (1.0, 2.0, 2.0), None, 0.0),
        (1.5, (2.0, 3.0, 4.0), None, 0.25),
        (1.5, (2.0, 3.0, 4.0), 50.0, 0.01),
    ):
        for method, value in zip(("JevdPCA", *others), (mine, *baselines), strict=True):
            wide[method, "R.E."] = value
        assert claims.beyond(wide, "R.E.", others, total).iloc[0] == pytest.approx(away)
        assert claims.similar(wide, "R.E.", others, away, total).all()
        assert not claims.similar(wide, "R.E.", others, away - 0.005, total).any()


def test_one_missing_number_of_ours_is_refused(reads):
    frame = read_results(claims.EXPERIMENT)
    reads(claims, frame)
    assert len(claims.ours("npha")) == 10
    lost = (frame["dataset"] == "npha") & (frame["metric"] == "R.E.") & (frame["k"] == 3)
    reads(claims, frame.assign(value=frame["value"].mask(lost)))
    with pytest.raises(ResultError, match="npha has not all of our numbers"):
        claims.ours("npha")
    assert len(claims.ours("obesity")) == 14


def test_counts_of_rows_and_features_can_differ(monkeypatch):
    right = claims._counted
    assert right("diabetes") == (253_680, 21)
    monkeypatch.setattr(claims, "_counted", lambda name: (1, 2))
    assert claims.claims["R22"]().here == claims.claims["R23"]().here == "does not hold"
    monkeypatch.setattr(claims, "_counted", lambda name: (right(name)[0], 35))
    assert claims.claims["R22"]().here == claims.claims["R23"]().here == "holds in part"
    assert [by_share(good, 10, 0.5) for good in (10, 9, 5, 4)] == [
        "holds", "holds in part", "holds in part", "does not hold",
    ]  # fmt: skip
    evidence = claims.claims["R23"]().numbers
    assert claims.pca_errors("diabetes") == (19, 19)
    assert "NPHA needs its label too" in evidence
    assert "Obesity needs its label too" in evidence
    monkeypatch.setattr(claims, "pca_errors", lambda name, without="": (10 if without else 3, 10))
    assert "NPHA needs not its label" in claims.claims["R23"]().numbers


def test_one_algorithm_under_two_names_would_be_noticed(monkeypatch):
    right = claims.search_reference
    assert "in 26 of 54 rows" in claims.claims["R24"]().numbers
    # Two data sets are enough for the rest.
    monkeypatch.setattr(claims, "TABLES", {name: TABLES[name] for name in ("obesity", "npha")})
    for search, answer in (
        (lambda family, constrained: right(family, False), "does not hold"),
        # One data set in which they differ is enough, a last digit is not.
        (lambda family, constrained: right(family, constrained and len(family.C) == 15), "holds"),
        (lambda family, constrained: (family.basis(0.5 + 1e-6 * constrained), 0.5, 1), "does not hold"),
    ):
        monkeypatch.setattr(claims, "search_reference", search)
        assert claims.claims["R24"]().here == answer


def test_numbers_of_the_figure_would_be_compared(tmp_path, monkeypatch):
    shutil.copytree(paths.data("paper"), tmp_path / "paper")
    shutil.copy(paths.data("tolerances.yml"), tmp_path)
    cells = pd.concat([pd.read_csv(paths.data("paper", f"{t.stem}.csv"), dtype=str) for t in TABLES.values()])
    monkeypatch.setattr(claims.paths, "data", lambda *parts: tmp_path.joinpath(*parts))
    for drawn, answer in ((cells, "holds"), (cells.assign(value="0"), "does not hold")):
        drawn.to_csv(tmp_path / "paper" / "rathore2025_figure1.csv", index=False)
        assert claims.figure_shows_the_tables().printed == answer


# -- running times -----------------------------------------------------------------------------------------------------


def rows(entries) -> pd.DataFrame:
    """Rows of a stored run from (dataset, method, protocol, metric, value)."""
    frame = pd.DataFrame(entries, columns=["dataset", "method", "protocol", "metric", "value"])
    return frame.assign(split=frame.groupby([*frame.columns[:-1]]).cumcount(), k=pd.NA, reason="", task="x")


def summed(seconds: dict[str, float], metric="training time") -> list[tuple]:
    return [(name, m, readings.SUMMED, metric, value) for name in TABLES for m, value in seconds.items()]


def study(method: str, **metrics) -> list[tuple]:
    """A scaling study; a metric is a number or a function of d."""
    return [
        (f"synthetic-d{d}", method, readings.SCALING, metric, float(value(d) if callable(value) else value))
        for d in (10, 20, 40, 80)
        for metric, value in metrics.items()
    ]


def test_the_stored_rows_are_those_of_the_printed_table():
    found = read_results("rathore2025-times", protocol=readings.SUMMED)
    mine = found[found["metric"] == "training time"]
    cells = published()
    cells = cells[cells["stem"] == "rathore2025_table1_times"]
    assert mine["k"].isna().all()
    assert (cells["k"] == "").all()
    assert set(cells["method"]) <= set(mine["method"]) == set(readings.TIMED)
    assert set(cells["metric"]) == set(mine["metric"])
    parts = found.pivot_table(index="method", columns="metric", values="value")
    np.testing.assert_allclose(parts["training time"], parts["moments"] + parts["solver"])
    assert parts.loc["FairPCA_SDP_LP", "relaxation against exact optimum"] < 1e-4


def test_growth_is_measured_for_every_method(cells_of):
    small = cells_of("rathore2025-times", features="4, 8, 12, 16", features_programme="4, 5", repetitions=2)["results"]
    checked(small, "scaling")
    table = readings.growth(small).set_index("method")
    assert set(table.index) == {"eigh", *readings.TIMED, "JevdPCA (from U = I)"}
    assert table.loc["JevdPCA (orthogonal)", "converged"] == "8 of 8"
    assert table.loc["JevdPCA (orthogonal)", "largest d"] == 16


def test_exponents_are_those_of_the_sizes_where_all_pairs_converge():
    """To break off early at the largest size is not to be fast."""
    seconds = {"seconds": lambda d: 1e-6 * d**3 if d < 80 else 1e-9, "converged": lambda d: d < 80}
    made = rows(study("JevdPCA", **seconds))
    assert readings.exponents(readings.completed(made))["JevdPCA"] == pytest.approx(3.0)
    assert readings.exponents(readings.curves(made))["JevdPCA"] < 0


def test_printed_ratios_and_orders():
    made = rows(summed({"StandardPCA": 1.0, "JevdPCA": 2.0, "covFairPCA": 3.0, "FairPCA_SDP_LP": 4.0}))
    orders = readings.same_order(made).set_index("dataset")
    assert orders["pairs that agree"].to_dict() == {"diabetes": 5, "obesity": 5, NAMES["LSAC"]: 6, "npha": 5}
    found = readings.ratios(made).set_index(["method", "dataset"])
    assert found.loc[("JevdPCA", "npha"), "ours"] == 2.0
    assert found.loc[("JevdPCA", "diabetes"), "printed"] == pytest.approx(0.3026, abs=1e-4)


def test_printed_times_decide_the_comparisons(reads, monkeypatch):
    reads(time_claims, rows([]))
    printed = {claim: time_claims.claims[claim]().printed for claim in ("R09", "R10", "R11")}
    assert printed == {"R09": "holds in part", "R10": "holds", "R11": "holds in part"}
    for claim in ("R06", "R07", "R08"):
        with pytest.raises(MissingNumbersError):
            time_claims.claims[claim]()
    for factor, answer in ((10.0, "holds"), (0.1, "does not hold")):
        table = pd.DataFrame(1.0, index=list(readings.TIMED), columns=list(TABLES))
        table.loc["JevdPCA"], table.loc["StandardPCA"] = 1.0 / factor, 1.0 / factor**2
        monkeypatch.setattr(time_claims, "printed_times", lambda t=table: t)
        assert {time_claims.claims[claim]().printed for claim in ("R09", "R10", "R11")} == {answer}


@pytest.mark.parametrize(
    ("step", "whole", "ended", "from_identity", "answer"),
    [
        (3.0, 3.0, 1.0, 1.0, "holds"),
        (3.0, 3.0, 1.0, 0.0, "holds in part"),
        (3.0, 4.0, 1.0, 1.0, "holds in part"),
        (4.0, 4.0, 1.0, 1.0, "does not hold"),
    ],
)
def test_cubic_time_can_fail(reads, step, whole, ended, from_identity, answer):
    made = study("eigh", seconds=lambda d: 1e-8 * d**3) + study("JevdPCA (from U = I)", converged=from_identity)
    powers = {"seconds": lambda d: d**whole, "seconds per step": lambda d: d**step}
    made += study("JevdPCA", **powers, steps=5, converged=ended)
    reads(time_claims, rows(made + summed({"JevdPCA": 5.0}, "steps") + summed({"JevdPCA": 1.0}, "converged")))
    assert time_claims.cubic_time().here == answer


def test_the_programme_can_grow_too_fast_and_need_not_dominate(reads):
    for exponent, answer in ((5.0, "holds"), (8.0, "does not hold")):
        made = study("FairPCA_SDP_LP", **{"seconds": lambda d, e=exponent: d**e, "time / eigh": 100.0})
        reads(time_claims, rows(made + study("eigh", converged=1.0)))
        assert time_claims.programme_time().here == answer
    for share, answer in ((0.9, "holds"), (0.2, "does not hold")):
        made = summed({"FairPCA_SDP_LP": 1.0, "min-max loss (certified)": 0.1})
        for metric, value in (("solver, SDP", share), ("solver, LP", 0.05), ("moments", 0.05)):
            made += summed({"FairPCA_SDP_LP": value}, metric)
        reads(time_claims, rows(made))
        assert time_claims.programme_dominates().here == answer
