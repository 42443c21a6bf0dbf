"""What columns are taken for, and how much they say about a group."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association as of_scipy
from scipy.stats.contingency import crosstab

from evenspan.auditing.columns import coded, numbers, use_of
from evenspan.core.errors import DataError
from evenspan.metrics.association import binned, cramers_v

N = 120
RNG = np.random.default_rng(3)
DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D")
SIZES = RNG.choice(10**6, N, replace=False)
NAMES = [f"text {i}" for i in range(N)]
#: Cells, and what a column of them is taken for and used as.
KINDS = {
    "numeric number": [
        RNG.normal(size=N), RNG.integers(0, 5, N), SIZES, np.arange(10), [Decimal(str(v)) for v in RNG.normal(size=N)],
        pd.array([*RNG.integers(0, 5, N - 1).tolist(), None], dtype="Int64"), np.append(SIZES, SIZES[0]),
    ],
    "boolean 0/1": [RNG.integers(0, 2, N), RNG.random(N) < 0.5, [True, False, None] * 40, ["TRUE", "False"] * 60],
    "category categories": [["a", "b", "c"] * 40, pd.Categorical(RNG.integers(0, 4, N)), [1, "1", 2.0, "x"] * 30],
    "category order": [pd.Categorical(["b", "a", None] * 40, ["b", "c", "a"], ordered=True)],
    "date days": [DAYS, DAYS.tz_localize("Europe/Vienna"), DAYS.strftime("%Y-%m-%d"), [day.date() for day in DAYS]],
    "text left out": [[f"text {i % 60}" for i in range(N)], [[1], [2]] * 60, np.full(N, 1j)],
    "id-like left out": [
        NAMES, np.arange(N), np.arange(N)[::-1] * 10.0, RNG.permutation(N) + 500, 2**60 + RNG.integers(0, 9, N),
    ],
    "constant left out": [["a"] * N, [1.5] * 60 + [None] * 60, [None] * N, [np.nan] * N],
}  # fmt: skip


@pytest.mark.parametrize("expected", KINDS)
def test_kinds(expected):
    for cells in KINDS[expected]:
        use = use_of(pd.Series(cells, name="x"))
        assert f"{use.kind} {use.used}" == expected, cells
        assert use.note or use.used != "left out"
        assert use.missing == pd.Series(cells).isna().sum()
        assert len(use.examples) == min(use.distinct, 3)


def test_whole_numbers_without_two_alike_are_ids_only_for_a_reason():
    assert "name or length says so" in use_of(pd.Series(SIZES, name="customer_id")).note
    assert use_of(pd.Series(SIZES, name="CustomerID")).kind == "numeric"  # not a word of its own: kept
    assert use_of(pd.Series(SIZES, name="customer_id"), keep=True).used == "number"


def test_numbers_that_few_texts_would_lose_are_asked_about():
    many = pd.Series([str(v) for v in range(N)], name="x")
    many[77] = "n.a."
    with pytest.raises(DataError, match=r"'x': 119 of 120 values are numbers, but row 78 has 'n\.a\.'"):
        use_of(many)
    assert use_of(many, feature=False).used == "left out"
    few = many.map(lambda cell: cell[-1:])
    assert use_of(few).categories == (".", *map(str, range(10)))
    assert use_of(few).warning == "looks like numbers, but row 78 has '.': read as text"


def test_classes_beside_limits_are_no_numbers():
    assert use_of(pd.Series(["<=50K", ">50K"] * 60)).warning == ""
    assert "looks like numbers" in use_of(pd.Series(["<5", "7", "8"] * 40)).warning


def test_blanks_around_texts_do_not_count():
    codes, words = coded(pd.Series(["a", " a", None, "b\u00a0", "a "]))
    assert (codes.tolist(), words.tolist()) == ([0, 0, -1, 1, 0], ["a", "b"])


def test_dates_of_several_types_become_the_same_days():
    for cells in (DAYS, DAYS.strftime("%Y-%m-%d"), [day.date() for day in DAYS], DAYS.tz_localize("UTC")):
        assert numbers("days", pd.Series(cells)).tolist() == [
            (day.date() - datetime.date(1970, 1, 1)).days for day in DAYS
        ]


def test_association_is_one_for_a_copy_about_zero_for_noise_and_nothing_of_nothing():
    for G in (2, 7):
        groups = RNG.choice(G, 3000, p=np.arange(1, G + 1) / np.arange(1, G + 1).sum())
        assert cramers_v(groups * 3, groups) == pytest.approx(1)
        assert cramers_v(binned(groups + 1e-9 * RNG.normal(size=3000)), groups) > 0.85  # bins across two groups
        assert cramers_v(RNG.integers(0, 40, 3000), groups) < 0.1
        assert cramers_v(binned(RNG.normal(size=3000)), groups) < 0.1
    assert np.isnan(cramers_v(np.ones(9, dtype=int), np.arange(9) % 2))
    # Codes that say who is who without an order: the mean and the ranks would say little.
    groups = RNG.choice(2, 900, p=[0.3, 0.7])
    codes = np.where(groups == 1, 2.0, RNG.choice([1.0, 3.0], 900))
    codes[:9] = np.nan
    assert cramers_v(binned(codes), groups) == pytest.approx(1, rel=1e-3)


def test_the_association_is_that_of_scipy_but_for_the_correction():
    groups = RNG.choice(2, 500, p=[0.3, 0.7])
    jobs, n = (groups * 2 + RNG.integers(0, 3, 500)) % 4, 500
    plain = of_scipy(crosstab(jobs, groups).count, method="cramer")  # without the correction
    expected = np.sqrt((plain**2 - 3 / (n - 1)) / (1 - 1 / (n - 1)))
    assert cramers_v(jobs, groups) == pytest.approx(expected, rel=1e-12)
