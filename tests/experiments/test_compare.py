"""A result against the same unit computed again: what is compared, what is allowed, and what would pass wrongly."""

import numpy as np
import pandas as pd
import pytest

from compendium.compare import Rule, Tolerances, compare, tolerances
from compendium.store import units_of

ROW = {"dataset": "d", "method": "m", "k": 1, "split": 0, "protocol": "p", "metric": "x", "value": 1.0}
TWO = pd.DataFrame([ROW, ROW | {"split": 1}])
TEN = pd.DataFrame([ROW | {"split": i, "value": value} for i, value in enumerate(np.linspace(1.0, 2.0, 10))])
EXACTLY = Tolerances((), Rule())
MEANS = Tolerances((("m: x", Rule(standard_errors=3)),), Rule())


@pytest.mark.parametrize(
    ("again", "rtol", "ok"),
    [
        (TWO.assign(value=[1.0, 1.0 + 1e-9]), 1e-6, True),
        (TWO.assign(value=[1.0, 1.0 + 1e-9]), 1e-10, False),
        (TWO.iloc[:1], 1.0, False),
        (TWO.assign(d=3), 1.0, False),
        (TWO.assign(value=[1.0, np.nan]), 1.0, False),
    ],
)
def test_missing_rows_columns_and_numbers_are_seen(again, rtol, ok):
    assert compare(TWO, again, Tolerances((), Rule(rtol=rtol))).ok == ok


def test_what_is_not_compared_must_be_there_and_hides_nothing_beside_it():
    timed = TWO.assign(metric=["seconds", "area"], value=[1.0, 2.0])
    allowed = Tolerances((("sec*", Rule(compared=False)),), Rule(rtol=1e-6))
    assert compare(timed, timed.assign(value=[500.0, 2.0]), allowed).ok
    assert not compare(timed, timed.assign(value=[np.nan, 2.0]), allowed).ok
    found = compare(timed, timed.assign(value=[500.0, 2.1]), allowed)
    assert (found.ok, found.where, found.outside) == (False, "d m 1 1 p area", 1)
    assert (found.rows, found.largest, found.stored) == (1, pytest.approx(0.1), 2.0)
    allowed = Tolerances((("m: wide", Rule(atol=10.0)),), Rule(rtol=1e-6))
    both = TWO.assign(metric=["wide", "narrow"])
    found = compare(both, both.assign(value=[9.0, 1.001]), allowed)
    assert (found.where, found.outside) == ("d m 1 1 p narrow", 1), "the furthest from what is allowed"


@pytest.mark.parametrize(("seconds", "ok"), [(0.006, True), (49.0, True), (52.0, False), (1000.5, False)])
def test_a_time_may_be_another_one_but_not_that_of_another_program(seconds, ok):
    timed = TWO.assign(metric="seconds", value=0.5)
    found = compare(timed, timed.assign(value=seconds), tolerances("kleindessner2023-runtime"))
    assert (found.ok, found.largest > 0) == (ok, not ok)


def test_means_over_splits_move_within_their_error_and_not_all_alike():
    turned = TEN.assign(value=TEN["value"].to_numpy()[::-1])
    assert compare(TEN, turned, MEANS).ok
    assert compare(TEN, turned, MEANS).largest == pytest.approx(0.0)
    far = turned.assign(value=turned["value"] + 5 * TEN["value"].sem())
    assert not compare(TEN, far, MEANS).ok
    assert not compare(TEN, TEN.assign(value=TEN["value"] + 1e-3), MEANS).ok, "all are shifted alike"
    assert not compare(TEN, turned.assign(value=[np.nan, *turned["value"][1:]]), MEANS).ok
    two_samples = TEN.assign(protocol=["p", "q"] * 5)  # each has a mean of its own
    apart = two_samples.assign(value=two_samples["value"] + np.where(two_samples["protocol"] == "p", 0.3, -0.3))
    assert not compare(two_samples, apart, MEANS).ok


def test_a_split_alone_is_laid_beside_the_spread_of_the_stored_ones():
    one, peers = TEN.iloc[:1], [TEN.iloc[i : i + 1] for i in range(10)]
    assert compare(one, one.assign(value=1.9), MEANS, peers=peers).ok
    assert not compare(one, one.assign(value=3.0), MEANS, peers=peers).ok
    assert not compare(one, one.assign(value=1.001), MEANS).ok, "nothing is known of the spread"


def test_what_is_computed_now_is_compared_with_what_was_read():
    """Blanks and whole numbers come from a file in other types; an altered number or a row too many is seen."""
    row = ROW | {"k": None}
    stored = pd.DataFrame([row | {"weight": 2.0, "counts": np.nan}, row | {"weight": np.nan, "counts": "7", "k": 3}])
    now = pd.DataFrame([row | {"weight": 2, "counts": ""}, row | {"weight": None, "counts": 7, "k": 3.0}])
    assert compare(stored, now, EXACTLY).ok
    assert not compare(stored, now.assign(value=1.1), EXACTLY).ok
    assert not compare(stored, now.assign(weight=3), EXACTLY).ok
    assert not compare(stored, now.iloc[:1], EXACTLY).ok, "a row is missing"
    nothing = compare(stored.assign(value=np.nan), now.assign(value=np.nan), EXACTLY)
    assert (nothing.ok, nothing.rows) == (True, 0)


@pytest.mark.parametrize(
    ("experiment", "ruled", "share"),
    [
        ("vu2022-tables", ("FairPCA", "FairPCA (rank k)"), 0.09),
        ("zhou2024-table", ("VFC",), 0.0),
        pytest.param("across-methods", ("Min-max loss", "RLACE"), 0.0, marks=pytest.mark.exhaustive),
        ("kleindessner2023-table", ("Fair PCA", "RLACE"), 0.0),
    ],
)
def test_the_result_of_another_method_seldom_passes(experiment, ruled, share, request):
    """All that both have of one in three data sets and k; other solvers of a problem (``FairPCA ...``) apart."""
    allowed = tolerances(experiment)
    rows = pd.concat([unit.frame for unit in units_of(experiment).values()], ignore_index=True)
    rows = rows[rows["value"].notna() & rows["metric"].map(lambda name: allowed.of(name).compared)]
    apart = ("value", "reason", "task", "method")
    key = [name for name in rows.columns if name not in apart]
    passed = tried = 0
    step = 1 if request.config.getoption("exhaustive") else 3
    for _, some in list(rows.groupby(["dataset", "k"], dropna=False))[::step]:
        of = dict(iter(some.groupby("method")))
        for name in {*ruled} & {*of}:
            for other in {one for one in of if not one.startswith(name.partition(" (")[0])}:
                both = of[name].merge(of[other], on=key, suffixes=("", "_other"))[[*key, "value", "value_other"]]
                if len(both) < 2 or np.allclose(both["value"], both["value_other"], rtol=1e-6, atol=1e-9):
                    continue  # nothing in common, or one answer
                stored = both.drop(columns="value_other").assign(method=name)
                passed += compare(stored, stored.assign(value=both["value_other"]), allowed).ok
                tried += 1
    assert tried > 3
    assert passed <= share * tried, f"{passed} of {tried}"
