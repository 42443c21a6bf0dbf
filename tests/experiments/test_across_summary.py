"""Ranks, tests and the guide: what can be told apart, on made-up results whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from compendium.papers.across import summary, tables
from compendium.papers.across.protocol import METRICS, SQUARED, comparable

DATASETS = comparable(10)
METHODS = ("PCA", "Fair PCA", "LEACE", "u-FPCA")


def rows_of(values, metric="error gap"):
    """Rows of k = 10 and ten splits as the full run stores them; values (data sets, methods) or (methods,)."""
    found = []
    values = np.broadcast_to(values, (len(DATASETS), len(METHODS)))
    for (i, j), value in np.ndenumerate(values):
        measured = {metric: float(value), f"{metric}, deviation": 0.5} | ({"splits": 10.0} if "gap" in metric else {})
        found += [(DATASETS[i], METHODS[j], 10, "all", "held-out", *pair, "") for pair in measured.items()]
    return pd.DataFrame(found, columns=["dataset", "method", "k", "split", "protocol", "metric", "value", "reason"])


@pytest.fixture(scope="module")
def clear():
    """u-FPCA is best on every data set and dear, Fair PCA close behind and cheaper, PCA far behind and cheapest."""
    gaps = np.array([9.0, 2.0, 8.0, 1.0]) * np.random.default_rng(3).uniform(1, 5, size=(len(DATASETS), 1))
    return pd.concat([rows_of(gaps), rows_of([1.0, 1.1, 1.05, 1.5], "relative error")], ignore_index=True)


#: Every method is first, second, third and last in turn.
CYCLIC = np.array([np.roll([1.0, 2.0, 3.0, 4.0], i) for i in range(len(DATASETS))])


def test_the_critical_difference_is_that_of_the_literature():
    # Demsar (2006): 4 methods on 14 data sets differ by 1.25, with q = 2.569 / and 2.728 for 5 methods.
    assert summary.critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert summary.critical_difference(5, 10) == pytest.approx(2.728 * np.sqrt(5 * 6 / 60), abs=0.001)


def test_ranks_follow_the_direction_of_the_metric_and_share_ties(clear):
    found = summary.ranks("error gap", 10, clear)
    assert list(found.index) == list(DATASETS)
    assert (found.loc["adult", ["u-FPCA", "Fair PCA", "LEACE", "PCA"]] == [1, 2, 3, 4]).all()
    up = clear.assign(metric=clear["metric"].replace("error gap", "explained variance"))
    assert (summary.ranks("explained variance", 10, up)["PCA"] == 1).all()
    assert (summary.ranks("error gap", 10, rows_of([1 + 1e-7, 1, 1, 2]))["PCA"] == 2).all()
    blind = summary.ranks("group AUC", 10, rows_of([0.42, 0.5, 0.47, 0.8], "group AUC"))
    assert (blind[["PCA", "Fair PCA", "LEACE"]] == 2).all(axis=None)
    part = np.tile([4.0, 3.0, 2.0, 1.0], (len(DATASETS), 1))
    part[2, 3] = np.nan  # a method without a value somewhere is left out
    found = summary.ranks("error gap", 10, rows_of(part))
    assert "u-FPCA" not in found
    assert (found["LEACE"] == 1).all()


def test_a_test_that_finds_nothing_finds_nothing(clear):
    found = summary.friedman("error gap", 10, clear)
    assert found.p < 1e-4
    assert list(found.ranks.index) == ["u-FPCA", "Fair PCA", "LEACE", "PCA"]
    assert found.not_worse() == ["u-FPCA", "Fair PCA"]  # one rank apart; the difference needed on ten is 1.48
    even = summary.friedman("error gap", 10, rows_of(CYCLIC))
    assert even.p > 0.5
    assert set(even.not_worse()) == set(METHODS)
    assert summary.friedman("error gap", 10, rows_of(1.0)).p == 1.0
    assert summary.friedman("error gap", 10, clear[clear["k"] == 2]) is None


def test_the_guide_takes_the_cheapest_of_those_that_cannot_be_told_from_the_best(clear):
    guide = summary.guide(clear).set_index("metric")
    line = guide.loc["error gap"]
    assert (line["use"], line["best"], line["criterion"]) == ("Fair PCA", "u-FPCA", METRICS["error gap"].criterion)
    assert (line["relative error"], line["best error"]) == pytest.approx((1.1, 1.5))
    assert line["wins"] == line["data sets"] == len(DATASETS)
    assert (line["rank"], line["best rank"], line["not worse"]) == (2.0, 1.0, "u-FPCA, Fair PCA")
    assert guide.loc["relative error", "use"] == "PCA"
    costs = clear[clear["metric"] == "relative error"]
    undecided = summary.guide(pd.concat([rows_of(CYCLIC), costs])).set_index("metric")
    assert undecided.loc["error gap", "use"] == "PCA"


def test_the_distance_of_means_is_shown_as_the_root_and_ranked_as_it_is_stored():
    rows = pd.concat([rows_of([4.0, 1.909644, 1.90974, 0.0], SQUARED), rows_of(1.0)])
    found = summary.means(rows).set_index(["dataset", "method", "metric"]).loc[("adult", "PCA", SQUARED)]
    half = 2.262157 * 0.5 / np.sqrt(10)
    assert tuple(found[["mean", "low", "high"]]) == pytest.approx((2.0, (4 - half) ** 0.5, (4 + half) ** 0.5), rel=1e-6)
    roots = np.sqrt([4.0, 1.909644, 1.90974, 0.0])
    assert summary.values(SQUARED, 10, rows).loc["adult", list(METHODS)].tolist() == pytest.approx(roots)
    # The roots of two of them are equal to five digits; they were no tie, and are none.
    assert summary.ranks(SQUARED, 10, rows).loc["adult", list(METHODS)].tolist() == [4, 2, 3, 1]


def test_areas_have_intervals_that_hold_whatever_splits_share():
    rows = [
        ("magic", method, split, f"AUC, boosting{what}", value)
        for method in ("LEACE", "all features", "PCA")
        for split in range(3)
        for what, value in (("", 0.7 + 0.01 * split), (", standard error", 0.01 * (split + 1)))
    ]
    rows.append(("magic", "RLACE", 0, "AUC, boosting", np.nan))
    found = summary.areas(pd.DataFrame(rows, columns=["dataset", "method", "split", "metric", "value"]))
    assert found["method"].tolist() == ["all features", "PCA", "LEACE"]  # what has no value has no line
    assert found["mean"].tolist() == pytest.approx([0.71] * 3)
    assert (found["high"] - found["mean"]).tolist() == pytest.approx([1.959964 * 0.01 * np.sqrt(14 / 3)] * 3)


def test_no_projection_passes_the_frontier():
    """Methods that are projections lie on or above the line; u-FPCA is its end, and PCA its start."""
    points, line = tables.panels({"compas": ("compas", 2)})
    points = points.set_index("method")
    assert tuple(line.loc[0, ["error", "gap"]]) == pytest.approx(tuple(points.loc["PCA", ["error", "gap"]]))
    assert tuple(line.iloc[-1][["error", "gap"]]) == pytest.approx(
        tuple(points.loc["u-FPCA", ["error", "gap"]]), abs=1e-9
    )
    assert (np.diff(line["error"]) > 0).all()
    assert (np.diff(line["gap"]) < 0).all()
    projections = points[points["projection"].astype(bool)]
    assert set(points.index) - set(projections.index) == {"LEACE"}
    least = np.interp(projections["gap"], line["gap"][::-1], line["error"][::-1])
    inside = projections["gap"] <= line["gap"].iloc[0]
    assert (projections["error"] >= least - 2e-3)[inside].all()  # chords of a convex curve run above it
    assert (projections["error"] > least + 0.01).any()
