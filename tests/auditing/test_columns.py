"""What columns are taken for, and how much they say about a group; batches do not matter."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency
from sklearn.metrics import roc_auc_score

from evenspan.auditing.cells import days
from evenspan.auditing.columns import KEPT, Sketch, profile_columns, use_of
from evenspan.auditing.described import association, cramers_v, eta, gini
from evenspan.auditing.passes import read_sample
from evenspan.auditing.read import open_table
from evenspan.core.errors import DataError

from .tables import diabetes, people, wine

N = 120
RNG = np.random.default_rng(3)
DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D")
SIZES = RNG.choice(10**6, N, replace=False)
#: What cells are, and what a column of them is taken for and used as.
KINDS = [
    ("numeric number", RNG.normal(size=N), RNG.integers(0, 5, N), RNG.integers(1, 3, N), SIZES, np.arange(10)),
    ("numeric number", pd.array([*RNG.integers(0, 5, N - 1).tolist(), None], dtype="Int64")),
    ("numeric number", [Decimal(str(v)) for v in RNG.integers(0, 900, N) / 7]),
    (
        "boolean 0/1",
        RNG.integers(0, 2, N),
        RNG.random(N) < 0.5,
        [True, False, None] * 40,
        ["TRUE", "False", "true"] * 40,
    ),
    ("category categories", ["a", "b", "c"] * 40, pd.Categorical(RNG.integers(0, 4, N))),
    ("date days", DAYS, DAYS.tz_localize("Europe/Vienna"), DAYS.strftime("%Y-%m-%d"), [day.date() for day in DAYS]),
    ("text left out", np.tile(DAYS[:60].strftime("%d/%m/%Y"), 2), [f"text {i % 60}" for i in range(N)]),
    ("text left out", [[1], [2]] * 60, np.full(N, 1j)),
    ("id-like left out", [f"text {i}" for i in range(N)], np.arange(N), np.arange(N)[::-1] * 10.0),
    ("id-like left out", RNG.permutation(N) + 500),
    ("constant left out", ["a"] * N, [1.5] * 60 + [None] * 60, [None] * N, [np.nan] * N),
]


def used(values, rows: int | None = None, name: str = "x"):
    """What a data frame's column of these values is used as."""
    table = open_table(pd.DataFrame({name: values}))
    return use_of(profile_columns(table, [name], rows=rows)[name])


def test_kinds():
    found = {
        f"{expected}, {i}, rows={rows}": used(values, rows)
        for at, (expected, *columns) in enumerate(KINDS) for i, values in enumerate(columns, 10 * at)
        for rows in (None, 7)
    }  # fmt: skip
    assert [name for name, use in found.items() if f"{use.kind} {use.used}" != name.partition(",")[0]] == []
    assert [name for name, use in found.items() if use.used == "left out" and not use.note] == []


def test_whole_numbers_without_two_alike_are_ids_only_for_a_reason():
    assert used(SIZES, name="inhabitants").used == "number"
    assert "its name says so" in used(SIZES, name="customer_id").note
    assert used(SIZES, name="CustomerID", rows=11).kind == "numeric"  # not a word of its own: kept
    assert used(np.append(SIZES, SIZES[0]), name="customer_id").used == "number"


@pytest.mark.parametrize("rows", [None, 10, 77, 78])
def test_a_text_among_numbers_is_told_with_its_row_whatever_the_batches(tmp_path, rows):
    many = [str(v) for v in range(N)]
    many[77] = "n.a."
    with pytest.raises(DataError, match=r"'x': 119 of 120 values are numbers, but row 78 has 'n\.a\.'"):
        used(many, rows)
    few = pd.Series([str(v % 9) for v in range(N)])
    few[77] = "n.a."
    pd.DataFrame({"x": few, "y": few.where(few != "n.a.", "3")}).to_csv(tmp_path / "t.csv", index=False)
    profiles = profile_columns(open_table(tmp_path / "t.csv"), ["x", "y"], rows=rows)
    found = use_of(profiles["x"])
    assert found == used(few, rows)
    assert found.categories == (*map(str, range(9)), "n.a.")
    assert "119 of 120 values are numbers, but row 78 has 'n.a.'" in found.note
    assert use_of(profiles["y"]).used == "number"


@pytest.mark.parametrize("frame", [people(150), diabetes()[:150], wine()[:150]], ids=["people", "diabetes", "wine"])
def test_batches_and_files_do_not_matter(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = []
    for source, rows in ((frame, None), (frame, 1), (frame, 50), (tmp_path / "t.csv", None), (tmp_path / "t.csv", 29)):
        profiles = profile_columns(open_table(source), list(frame), rows=rows)
        found.append([(use_of(one), one.missing, one.distinct, one.infinite) for one in profiles.values()])
    assert all(other == found[0] for other in found)
    assert [distinct for _, _, distinct, _ in found[0]] == frame.nunique().tolist()


@pytest.mark.parametrize("kind", ["frame", "csv", "xlsx", "parquet"])
def test_dates_of_any_year_are_numbers_of_days(tmp_path, kind):
    written = ["9999-12-31", "0001-01-01" if kind != "xlsx" else "1900-03-01", "2024-02-29", "1969-12-31"] * 10
    dates = [datetime.datetime.fromisoformat(text) for text in written]
    stamps = pd.Series(np.array(written, dtype="datetime64[s]"))
    frame = pd.DataFrame({"until": dates, "text": written, "day": [one.date() for one in dates], "unit": stamps})
    frame["n"] = np.arange(40) % 7
    path, source = tmp_path / f"t.{kind}", frame
    if kind != "frame":
        source = path
        written = frame if kind == "parquet" else frame.astype({"unit": str})
        {"csv": written.to_csv, "xlsx": written.to_excel, "parquet": written.to_parquet}[kind](path, index=False)
    expected = [(one.date() - datetime.date(1970, 1, 1)).days for one in dates]
    profiles = profile_columns(open_table(source), list(frame), rows=7)
    for name in ("until", "text", "day", "unit"):
        use = use_of(profiles[name])
        assert (use.used, profiles[name].low, profiles[name].high) == ("days", min(expected), max(expected))
        assert "to 9999-12-31: a date so far off often means that there is none" in use.note
        read = pd.concat(open_table(source).batches([name], rows=11))[name]
        assert days(read).tolist() == expected
    assert "9999" not in used(DAYS).note


@pytest.mark.parametrize(
    "values",
    [
        ["2024-02-29T10:00:00.123456789", "9999-12-31"] * 20,
        [np.datetime64("9999-12-31"), datetime.date(2020, 1, 1), None] * 20,
        [pd.Timestamp.max, pd.Timestamp.min] * 20,
    ],
)
def test_dates_of_several_units_in_one_column(values):
    assert used(values).used == "days"


@pytest.mark.parametrize("value", ["a\0", "\udcff", "x" * 1001], ids=["NUL", "not UTF-8", "long"])
def test_values_that_can_name_nothing_are_told(value):
    with pytest.raises(DataError, match=r"column 'x' has the value .*would name a group or a feature.*exclude"):
        used(pd.Series([value, "b", "c"] * 20, dtype=object))
    x = pd.Series([value, "b"] * 20, dtype=object)
    table = pd.DataFrame({"x": x, "y": np.arange(40) % 9, "z": np.arange(40) % 7})
    with pytest.raises(DataError, match="would name a group"):
        read_sample(table, sensitive="x")
    with pytest.raises(DataError, match=r"has a column .*whose name"):
        open_table(table.set_axis(pd.Index(["x", value, "z"], dtype=object), axis=1))


def test_mixed_types_of_python_are_text():
    assert used([1, "1", 2.0, datetime.date(2020, 1, 1), None] * 20).categories == ("1", "2", "2020-01-01")
    for rows in (None, 1, 7):
        assert used([1, True, 2.5, "one"] * 20, rows).categories == ("1", "2.5", "True", "one")


@pytest.mark.parametrize("pieces", [1, 50])
def test_the_sketch_counts_and_does_not_depend_on_the_pieces(pieces):
    values = RNG.integers(0, 30_000, 100_000).astype(float)
    sketch, distinct = Sketch(), Sketch()
    for part in np.array_split(values, pieces):
        sketch.add(*np.unique(part, return_counts=True))
    whole = pd.Series(values).value_counts()
    assert all(whole[value] == count for value, count in sketch.counts_by_value().items())
    assert len(sketch.values) == KEPT
    assert abs(sketch.distinct(len(values)) / len(whole) - 1) < 5 / np.sqrt(KEPT)
    for part in np.array_split(np.arange(50_000.0), 7):
        distinct.add(part, np.ones(len(part), dtype=int))
    assert distinct.distinct(50_000) == 50_000
    distinct.add(np.array([distinct.values[0]], dtype=float), np.array([1]))
    assert distinct.distinct(50_001) < 50_001


def test_association_is_one_for_a_copy_about_zero_for_noise_and_nothing_of_nothing():
    for G in (2, 3, 7):
        groups = RNG.choice(G, 3000, p=np.arange(1, G + 1) / np.arange(1, G + 1).sum())
        assert association(groups * 3, groups, category=True)[1] == pytest.approx(1)
        copy = association(groups + 1e-9 * RNG.normal(size=3000), groups, category=False)
        assert copy == ("|2 AUC - 1|" if G == 2 else "eta", pytest.approx(1))
        assert association(RNG.integers(0, 40, 3000), groups, category=True)[1] < 0.1
        assert association(RNG.normal(size=3000), groups, category=False)[1] < 0.1
    assert association(np.ones(9), np.arange(9) % 2, category=False)[0] == ""
    assert np.isnan(association(np.arange(9), np.ones(9), category=True)[1])
    # Codes that say who is who without an order: the mean and the ranks say little.
    groups = RNG.choice(2, 900, p=[0.3, 0.7])
    codes = np.where(groups == 1, 2, RNG.choice([1, 3], 900))
    assert gini(codes, groups) < 0.2
    assert association(codes.astype(float), groups, category=False) == ("Cramér's V", pytest.approx(1, rel=1e-3))


def test_measures_are_those_of_other_libraries():
    groups = RNG.choice(2, 500, p=[0.3, 0.7])
    scores = RNG.normal(size=500) + groups
    assert gini(scores, groups) == pytest.approx(abs(2 * roc_auc_score(groups, scores) - 1), rel=1e-12)
    assert gini(-scores, groups) == pytest.approx(gini(scores, groups), rel=1e-12)
    jobs = (groups * 2 + RNG.integers(0, 3, 500)) % 4
    table = pd.crosstab(jobs, groups).to_numpy()
    chi, n, (r, c) = chi2_contingency(table, correction=False).statistic, 500, table.shape
    square = chi / n - (r - 1) * (c - 1) / (n - 1)
    smaller = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    assert cramers_v(jobs, groups) == pytest.approx(np.sqrt(square / smaller), rel=1e-12)
    three = RNG.choice(3, 500, p=[0.5, 0.3, 0.2])
    values = RNG.normal(size=500) + three
    within = sum(((values[three == g] - values[three == g].mean()) ** 2).sum() for g in range(3))
    total = ((values - values.mean()) ** 2).sum()
    assert eta(values, three) == pytest.approx(np.sqrt(1 - (within / 497) / (total / 499)), rel=1e-12)
