"""What is kept of a table: moments that are those of the whole, rows and groups by the rules, every trouble told."""

import numpy as np
import pandas as pd
import pytest

from evenspan import GroupMoments
from evenspan.auditing.groups import PARTS, parts_of_rows
from evenspan.auditing.sample import read_sample
from evenspan.core.errors import ConfigurationError, DataError, GroupError, LimitError

from .tables import people, troubled


def part_of(sample, frame: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of a part, found by their points (all rows are kept as points here)."""
    points = sample.points[part]
    encoded = sample.encoder.transform(frame).to_numpy()
    index = [int(np.abs(encoded - row).max(axis=1).argmin()) for row in points.X]
    assert len(set(index)) == len(index)
    return frame.iloc[index]


def close(a: GroupMoments, b: GroupMoments, tolerance: float = 1e-10) -> None:
    assert a.labels.tolist() == b.labels.tolist()
    assert a.feature_names == b.feature_names
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_allclose(a.means, b.means, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(a.scatters, b.scatters, rtol=tolerance, atol=tolerance * a.n)


@pytest.mark.parametrize("standardize", [True, False])
def test_blocked_moments_add_up_to_those_of_the_encoded_part(standardize):
    frame, sensitive = people(), ["sex", "race"]
    sample = read_sample(frame, sensitive=sensitive, target="accepted", standardize=standardize, intersections=True)
    assert sum(len(points.X) for points in sample.points.values()) == len(frame) == sample.n_used == sample.n_rows
    for part in PARTS:
        rows = part_of(sample, frame, part)
        X = sample.encoder.transform(rows)
        for attribute in sensitive:
            whole = GroupMoments.from_data(X, rows[attribute].to_numpy(dtype=str))
            close(sample.moments(attribute, part), whole, 1e-10 if standardize else 1e-9)
            blocked = sample.blocked[part][attribute]
            assert blocked.attributes == ("block", attribute)
            sizes = blocked.marginal("block").counts
            assert sizes.max() - sizes.min() <= 1
            assert len(sizes) == min(100, len(rows))
    fitted = sample.moments("sex").pooled()
    assert np.allclose(np.diag(fitted.scatters[0]) / fitted.n, 1) == standardize
    assert np.abs(sample.moments("sex", "held out").mean).max() > 1e-3  # mean and scale are those of the training set


def test_a_file_and_a_seed_give_the_same_sample_and_another_seed_other_parts(tmp_path):
    frame = troubled()
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    options = {"sensitive": ["sex", "race"], "missing": "indicator", "max_points": 50}
    first, other = read_sample(frame, **options), read_sample(tmp_path / "t.csv", **options)
    pd.testing.assert_frame_equal(other.columns, first.columns)
    for part in PARTS:
        close(other.blocked[part]["race"], first.blocked[part]["race"])
    again = read_sample(frame, **options, random_state=1)
    fitted, same, moved = (sample.points["training"].X for sample in (first, other, again))
    np.testing.assert_allclose(same, fitted, rtol=1e-9, atol=1e-10)
    assert not np.allclose(moved, fitted)


def test_dropped_rows_are_those_of_pandas_and_told_by_group():
    frame, whole = troubled(), troubled().dropna()
    sample = read_sample(frame, sensitive=["sex", "race"], missing="drop")
    assert (sample.n_rows, sample.n_used) == (400, len(whole))
    groups = sample.groups.set_index(["attribute", "group"])
    for attribute in ("sex", "race"):
        lost = frame[attribute].value_counts() - whole[attribute].value_counts()
        assert groups.loc[attribute, "dropped"].to_dict() == lost.to_dict()
        assert groups.loc[attribute, "rows"].to_dict() == whole[attribute].value_counts().to_dict()
    frame.loc[frame["race"] == "c", "age"] = np.nan
    sample = read_sample(frame, sensitive="race", missing="drop")
    assert sample.moments("race").labels.tolist() == ["a", "b"]


def test_missing_cells_get_the_mean_of_the_training_set():
    frame = troubled()
    told = read_sample(frame, sensitive="sex", missing="indicator", standardize=False)
    fill = {code.name: code.fill for code in told.encoder.codes_}
    rows = part_of(told, frame, "training")
    assert fill["income"] == pytest.approx(rows["income"].mean(), rel=1e-12)
    assert fill["job"] == rows["job"].mode()[0]
    assert fill["income"] != pytest.approx(frame["income"].mean(), rel=1e-6)


def test_rows_without_a_group_form_one_where_the_rule_admits_it():
    frame = people()
    frame.loc[::9, "race"] = None
    sample = read_sample(frame, sensitive="race", missing="mean")
    assert sample.moments("race").labels.tolist() == ["(missing)", "a", "b", "c"]
    assert sample.groups.set_index("group").loc["(missing)", "rows"] == 45
    assert any("form the group (missing)" in note for note in sample.notes)
    numbers = people().assign(ward=lambda f: f["race"].map({"a": 1.0, "b": 2.0, "c": 10.0}))
    sample = read_sample(numbers, sensitive=["ward", "employed"])
    assert sample.moments("ward").labels.tolist() == ["1", "10", "2"]


def test_columns_say_what_they_are_used_as_and_which_are_proxies():
    sample = read_sample(people(), sensitive=["sex", "race"], target="accepted", exclude=["joined"])
    table = sample.columns.set_index("column")
    assert table["used as"].to_dict() == {
        "customer": "left out", "name": "left out", "sex": "sensitive", "race": "sensitive", "age": "number",
        "income": "number", "job": "categories", "married": "categories", "employed": "0/1", "joined": "left out",
        "country": "left out", "relation": "categories", "accepted": "target (category)",
    }  # fmt: skip
    assert table["proxy"][table["proxy"] != ""].to_dict() == {"relation": "sex"}
    assert table.loc["relation", "association with sex"] > 0.9 > 0.3 > table.loc["job", "association with sex"]
    assert table.loc["joined", ["note", "kind", "missing"]].tolist() == ["excluded on request", "date", 0]
    assert read_sample(people(), sensitive="sex", target="age").points["training"].y.dtype == float
    assert read_sample(people(), sensitive="sex", keep=["customer"]).feature_names[0] == "customer"


def test_the_split_keeps_the_shares_of_the_groups_and_is_random_within():
    codes = np.random.default_rng(0).choice(3, 10_000, p=[0.7, 0.25, 0.05])
    part, other = (parts_of_rows({"g": (np.arange(3), codes)}, 0.3, np.random.default_rng(seed)) for seed in (1, 2))
    for i, share in enumerate((0.4, 0.3, 0.3)):
        np.testing.assert_allclose(np.bincount(codes, weights=part == i), share * np.bincount(codes), atol=2)
    assert 0.08 < np.mean((part == 2) & (other == 2)) < 0.10  # 0.3 squared
    fours = {"g": (np.arange(250), np.repeat(np.arange(250), 4))}
    sizes = np.bincount(parts_of_rows(fours, 0.3, np.random.default_rng(1)))
    np.testing.assert_allclose(sizes, [400, 300, 300], atol=1)  # not one of each four


def test_small_groups_and_fewer_blocks_are_told(monkeypatch):
    frame = people()
    frame.loc[0, "race"] = "single"
    monkeypatch.setattr("evenspan.auditing.sample.MOMENT_BYTES", 4 * 14 * 14 * 8 * 30)
    sample = read_sample(frame, sensitive="race", min_group=20)
    groups = sample.groups.set_index("group")
    assert groups["small"].to_dict() == {"a": False, "b": False, "c": False, "single": True}
    assert "all of its rows are in one part" in groups.loc["single", "note"]
    assert len(sample.blocked["training"]["race"].marginal("block").labels) == 30
    assert any("rest on 30 blocks of rows instead of 100" in note for note in sample.notes)


def test_many_features_are_audited_unless_memory_has_no_room_for_their_moments(monkeypatch):
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 520))).assign(team=["a", "b"] * 30)
    assert read_sample(wide, sensitive="team").d == 520  # more than 500: embeddings
    monkeypatch.setattr("evenspan.core.inputs.free_memory", lambda: 2**26)
    with pytest.raises(LimitError, match=r"1 attribute\(s\) of 520 features would need .* GiB.*exclude"):
        read_sample(wide, sensitive="team")


_with = people().assign


RARE = np.where(np.arange(400) < 12, np.arange(400) % 5, np.nan)
GONE = np.where(people()["race"] == "a", 1.5 * np.arange(400), np.nan)
CROSSED = {"table": _with(u=["a x b", "a"] * 200, v=["f", "b x f"] * 200), "sensitive": ["u", "v"]}
#: What cannot be done, and what is said of it.
REFUSED = [
    ({"sensitive": "sexx"}, DataError, "no column 'sexx'.*Did you mean 'sex'"),
    ({"keep": ["name"]}, DataError, "'name' cannot be kept: .* it names the rows"),
    ({"table": troubled()}, DataError, "'income' .40., 'job' .18..*missing='drop'.*'mean'.*'indicator'"),
    ({"table": _with(age=np.inf)}, DataError, "infinite values in 1 column: 'age' .400."),
    ({"table": _with(accepted=None), "target": "accepted"}, DataError, "cannot be predicted: no values"),
    ({"table": _with(y=["a", "b", None, "a"] * 100), "target": "y", "missing": "mean"}, DataError, "never filled in"),
    ({"table": _with(rare=RARE), "missing": "drop"}, DataError, "leaves 12 of 400, .*'rare' misses 97%.*--exclude"),
    ({"table": _with(x=GONE), "sensitive": "race", "missing": "drop"}, GroupError, "'a' after rows .* were dropped"),
    ({"table": people()[["sex", "name"]]}, DataError, "no column is left.*'name'"),
    ({"table": people(3), "holdout": 0.1}, DataError, "needed are two in each part"),
    ({"target": "age", "keep": ["age"]}, ConfigurationError, "named as target and keep"),
    ({"sensitive": ["sex", "sex"]}, ConfigurationError, "each of them once"),
    ({"target": "sex"}, ConfigurationError, "named as sensitive and target"),
    ({"holdout": 1.0}, ConfigurationError, "holdout=1.0"),
    ({"intersections": True}, ConfigurationError, "two sensitive columns"),
    ({"table": _with(block="x"), "sensitive": "block"}, ConfigurationError, "named 'block'"),
    ({"sensitive": "age"}, GroupError, "different numbers.*bin it into groups"),
    ({"sensitive": "name"}, GroupError, "400 different values.*at most 50"),
    ({"sensitive": "country"}, GroupError, "one group only, 'here'"),
    (CROSSED | {"intersections": True}, GroupError, "would both be called 'a x b x f'"),
]  # fmt: skip


def test_what_cannot_be_done_is_told():
    for options, error, message in REFUSED:
        with pytest.raises(error, match=message):
            read_sample(**{"table": people(), "sensitive": "sex"} | options)
    assert read_sample(_with(rare=RARE), sensitive="sex", missing="mean").warnings[0].startswith("'rare' misses 97%")
