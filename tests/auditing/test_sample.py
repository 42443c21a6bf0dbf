"""The passes over a table: their moments are those of the whole, whatever the batches, and every trouble is told."""

import numpy as np
import pandas as pd
import pytest

from evenspan import GroupMoments, StandardPCA
from evenspan.auditing.groups import holdout_mask
from evenspan.auditing.sample import read_sample
from evenspan.core.errors import ConfigurationError, DataError, GroupError, LimitError

from .tables import diabetes, people, troubled, wine

PARTS = ("fitting", "held_out")


def part_of(sample, frame: pd.DataFrame, part: str) -> pd.DataFrame:
    """The rows of a part, found by their points (all rows are kept as points here)."""
    points = sample.fitting_points if part == "fitting" else sample.held_out_points
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
@pytest.mark.parametrize(
    ("frame", "sensitive", "target"),
    [(people(), ["sex", "race"], "accepted"), (diabetes(), ["sex"], "progression"), (wine(), ["cultivar"], None)],
    ids=["people", "diabetes", "wine"],
)
def test_blocked_moments_add_up_to_those_of_the_encoded_part(frame, sensitive, target, standardize):
    sample = read_sample(frame, sensitive=sensitive, target=target, standardize=standardize, min_group=2)
    assert sample.fitting_points.n + sample.held_out_points.n == len(frame) == sample.n_used == sample.n_rows
    for part in PARTS:
        rows = part_of(sample, frame, part)
        X = sample.encoder.transform(rows)
        for attribute in sensitive:
            whole = GroupMoments.from_data(X, rows[attribute].to_numpy(dtype=str))
            close(sample.moments(attribute, part), whole, 1e-10 if standardize else 1e-9)
            blocked = getattr(sample, part)[attribute]
            assert blocked.attributes == ("block", attribute)
            sizes = blocked.marginal("block").counts
            assert sizes.max() - sizes.min() <= 1
            assert len(sizes) == min(100, len(rows))
    if standardize:
        fitted = sample.moments(sensitive[0]).pooled()
        np.testing.assert_allclose(fitted.means[0], 0, atol=1e-12)
        np.testing.assert_allclose(np.diag(fitted.scatters[0]) / fitted.n, 1, rtol=1e-12)
        held = sample.moments(sensitive[0], "held_out").pooled()
        assert np.abs(held.means[0]).max() > 1e-3  # mean and scale are those of the fitting part


def test_a_seed_gives_the_same_sample_and_another_one_other_parts(tmp_path):
    frame = troubled()
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    options = {"sensitive": ["sex", "race"], "missing": "indicator", "intersections": True, "max_points": 50}
    first, other = read_sample(frame, **options), read_sample(tmp_path / "t.csv", **options)
    pd.testing.assert_frame_equal(other.columns.drop(columns="examples"), first.columns.drop(columns="examples"))
    pd.testing.assert_frame_equal(other.groups, first.groups)
    assert first.attributes == ("sex", "race", "sex x race")
    for part in PARTS:
        for attribute in first.attributes:
            close(getattr(other, part)[attribute], getattr(first, part)[attribute])
        points, same = (getattr(one, f"{part}_points") for one in (other, first))
        np.testing.assert_allclose(points.X, same.X, rtol=1e-9, atol=1e-10)
        assert points.groups.equals(same.groups)
        assert points.n == 50
    assert not np.allclose(read_sample(frame, **options, random_state=1).fitting_points.X, first.fitting_points.X)


def test_dropped_rows_are_those_of_pandas_and_told_by_group():
    frame = troubled()
    sample = read_sample(frame, sensitive=["sex", "race"], missing="drop")
    whole = frame.dropna()
    assert sample.n_rows == 400
    assert sample.n_used == len(whole)
    groups = sample.groups.set_index(["attribute", "group"])
    for attribute in ("sex", "race"):
        lost = frame[attribute].value_counts() - whole[attribute].value_counts()
        assert groups.loc[attribute, "dropped"].to_dict() == lost.to_dict()
        assert groups.loc[attribute, "rows"].to_dict() == whole[attribute].value_counts().to_dict()
    assert sample.encoder.missing == "error"
    assert any("Dropped by sex" in note for note in sample.notes)


def test_missing_cells_get_the_mean_of_the_fitting_part():
    frame = troubled()
    told = read_sample(frame, sensitive="sex", missing="indicator", standardize=False)
    fill = {code.name: code.fill for code in told.encoder.codes_}
    assert "income missing" in told.feature_names
    rows = part_of(told, frame, "fitting")
    assert fill["income"] == pytest.approx(rows["income"].mean(), rel=1e-12)
    assert fill["job"] == rows["job"].mode()[0]
    assert fill["income"] != pytest.approx(frame["income"].mean(), rel=1e-6)
    flags = told.moments("sex").select(["income missing"])
    expected = rows["income"].isna().groupby(rows["sex"]).mean()
    np.testing.assert_allclose(flags.means[:, 0], expected, rtol=1e-12)


def test_rows_without_a_group_form_one_where_the_rule_admits_it():
    frame = people()
    frame.loc[::9, "race"] = None
    with pytest.raises(DataError, match=r"missing values in 1 column of 400 rows: 'race' \(45\)"):
        read_sample(frame, sensitive="race")
    sample = read_sample(frame, sensitive="race", missing="mean")
    assert sample.moments("race").labels.tolist() == ["(missing)", "a", "b", "c"]
    assert sample.groups.set_index("group").loc["(missing)", "rows"] == 45
    assert any("form the group (missing)" in note for note in sample.notes)
    assert "(missing)" not in read_sample(frame, sensitive="race", missing="drop").groups["group"].tolist()


def test_columns_say_what_they_are_used_as_and_which_are_proxies():
    table = read_sample(people(), sensitive=["sex", "race"], target="accepted", exclude=["joined"]).columns
    table = table.set_index("column")
    assert table["used as"].to_dict() == {
        "customer": "left out", "name": "left out", "sex": "sensitive", "race": "sensitive", "age": "number",
        "income": "number", "job": "categories", "married": "categories", "employed": "0/1", "joined": "left out",
        "country": "left out", "relation": "categories", "accepted": "target (category)",
    }  # fmt: skip
    assert table["proxy"][table["proxy"] != ""].to_dict() == {"relation": "sex"}
    assert table.loc["relation", "association with sex"] > 0.9
    assert table.loc["job", "association with sex"] < 0.3
    assert table.loc["joined", "note"] == "excluded on request"
    assert table.loc["joined", "kind"] == "date"


def test_what_is_kept_is_a_feature_and_the_encoder_makes_a_pipeline_with_a_method():
    without, kept = (read_sample(people(), sensitive="sex", keep=names) for names in ([], ["customer"]))
    assert kept.feature_names == ("customer", *without.feature_names)
    assert any("numbers of rows: customer;" in note for note in without.notes)
    assert not any("numbers of rows" in note for note in kept.notes)
    pca = StandardPCA(2).fit_moments(kept.moments("sex"))
    few = people().drop(columns="sex").head(5)
    whole = pca.transform(kept.encoder.transform(people()))
    np.testing.assert_allclose(pca.transform(kept.encoder.transform(few)), whole[:5], atol=1e-12)


def test_targets_are_numbers_or_categories():
    assert read_sample(diabetes(), sensitive="sex", target="progression").fitting_points.y.dtype == float
    assert set(read_sample(people(), sensitive="sex", target="accepted").held_out_points.y) == {"yes", "no"}
    coded = people().assign(accepted=lambda f: (f["accepted"] == "yes").astype(int))
    assert set(read_sample(coded, sensitive="sex", target="accepted").fitting_points.y) == {"0", "1"}


# -- the split ----------------------------------------------------------------------------------------------------


def test_the_split_keeps_the_shares_of_the_groups_and_is_random_within():
    codes = np.random.default_rng(0).choice(3, 10_000, p=[0.7, 0.25, 0.05])
    groups = {"g": (np.arange(3), codes)}
    held = holdout_mask(groups, 0.3, np.random.default_rng(1))
    assert held.sum() == pytest.approx(3000, abs=1)
    np.testing.assert_allclose(np.bincount(codes, weights=held), 0.3 * np.bincount(codes), atol=1)
    first = holdout_mask(groups, 0.3, np.random.default_rng(2))
    fours = {"g": (np.arange(250), np.repeat(np.arange(250), 4))}
    assert holdout_mask(fours, 0.3, np.random.default_rng(1)).sum() == pytest.approx(300, abs=1)  # not one of each four
    assert 0.08 < np.mean(held & first) < 0.10  # 0.3 squared


def test_small_groups_and_groups_in_one_part_are_flagged():
    frame = people()
    frame.loc[0, "race"] = "single"
    frame.loc[1:8, "race"] = "few"
    groups = read_sample(frame, sensitive="race", min_group=30).groups.set_index("group")
    assert groups["small"].to_dict() == {"a": False, "b": False, "c": groups.loc["c", "rows"] < 30,
                                         "few": True, "single": True}  # fmt: skip
    assert "all of its rows are in the" in groups.loc["single", "note"]
    assert groups.loc["few", "held out"] >= 1
    assert "fewer than 30 rows" in groups.loc["few", "note"]


# -- what is refused -----------------------------------------------------------------------------------------------


def _with(name, values):
    return people().assign(**{name: values})


@pytest.mark.parametrize(
    ("error", "cases"),
    [
        (
            DataError,
            [
                ({"sensitive": "sexx"}, "no column 'sexx'.*Did you mean 'sex'"),
                ({"target": "acepted"}, "Did you mean 'accepted'"),
                ({"exclude": ["jobb"]}, "Did you mean 'job'"),
                ({"keep": ["custmer"]}, "Did you mean 'customer'"),
                ({"keep": ["name"]}, "'name' cannot be kept: .* it names the rows"),
                ({"table": troubled()}, "'income' .40., 'job' .18..*missing='drop'.*'mean'.*'indicator'"),
                ({"table": _with("age", np.inf)}, "infinite values in 1 column: 'age' .400."),
                ({"table": _with("accepted", None), "target": "accepted"}, "cannot be predicted: no values"),
                ({"target": "name"}, "cannot be predicted"),
                ({"table": people()[["sex", "name"]]}, "no column is left.*'name'"),
                ({"table": people(3), "holdout": 0.1}, "needed"),
                ({"table": np.ones((3, 3))}, "no table with named columns"),
            ],
        ),
        (
            ConfigurationError,
            [
                ({"keep": ["sex"]}, "is to be kept, and also sensitive"),
                ({"target": "age", "keep": ["age"]}, "also sensitive, the target"),
                ({"sensitive": []}, "at least one column"),
                ({"sensitive": ["sex", "sex"]}, "each of them once"),
                ({"target": "sex"}, "also the target"),
                ({"target": "job", "exclude": ["job"]}, "also excluded"),
                ({"missing": "zero"}, "error, drop, mean, indicator"),
                ({"holdout": 1.0}, "holdout=1.0"),
                ({"n_blocks": 1}, "n_blocks=1"),
                ({"random_state": "x"}, "random_state='x'"),
                ({"intersections": True}, "two sensitive columns"),
                ({"table": _with("block", "x"), "sensitive": "block"}, "named 'block'"),
            ],
        ),
        (
            GroupError,
            [
                ({"sensitive": "age"}, "different numbers.*Bin it into groups"),
                ({"sensitive": "name"}, "400 different values.*at most 50"),
                ({"sensitive": "country"}, "one group only, 'here'"),
            ],
        ),
    ],
    ids=["data", "arguments", "groups"],
)
def test_what_cannot_be_done_is_told(error, cases):
    for options, message in cases:
        with pytest.raises(error, match=message):
            read_sample(**{"table": people(), "sensitive": "sex"} | options)


def test_a_target_is_never_filled_in():
    frame = people()
    frame.loc[:4, "accepted"] = None
    with pytest.raises(DataError, match=r"misses 5 of 400 values.*never filled in"):
        read_sample(frame, sensitive="sex", target="accepted", missing="mean")
    assert read_sample(frame, sensitive="sex", target="accepted", missing="drop").n_used == 395


def test_groups_that_vanish_with_dropped_rows_are_told():
    frame = people()
    frame.loc[frame["race"] == "c", "age"] = np.nan
    sample = read_sample(frame, sensitive="race", missing="drop")
    assert sample.moments("race").labels.tolist() == ["a", "b"]
    assert any("No row of race 'c' is left" in note for note in sample.notes)
    frame.loc[frame["race"] == "b", "age"] = np.nan
    with pytest.raises(GroupError, match="one group only, 'a' after rows with missing values were dropped"):
        read_sample(frame, sensitive="race", missing="drop")


def test_numbers_and_truth_values_may_name_groups(tmp_path):
    frame = people().assign(ward=lambda f: f["race"].map({"a": 1.0, "b": 2.0, "c": 10.0}))
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, tmp_path / "t.csv"):
        sample = read_sample(source, sensitive=["ward", "employed"])
        assert sample.moments("ward").labels.tolist() == ["1", "10", "2"]
        assert sample.moments("employed").labels.tolist() == ["False", "True"]


def test_fewer_blocks_where_there_are_many_features(monkeypatch):
    monkeypatch.setattr("evenspan.auditing.sample.MOMENT_BYTES", 2 * 16 * 16 * 8 * 30)
    sample = read_sample(people(), sensitive="sex")
    assert sample.d == 16
    assert len(sample.fitting["sex"].marginal("block").labels) == 30
    assert any("rest on 30 blocks of rows instead of 100" in note for note in sample.notes)


def test_many_features_are_audited_unless_memory_has_no_room_for_their_moments(monkeypatch):
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 520))).assign(team=["a", "b"] * 30)
    assert read_sample(wide, sensitive="team").d == 520
    monkeypatch.setattr("evenspan.core.inputs.free_memory", lambda: 2**26)
    with pytest.raises(LimitError, match=r"1 attribute\(s\) of 520 features would need .* GiB.*exclude"):
        read_sample(wide, sensitive="team")


def test_a_column_that_misses_nearly_all_is_named_as_the_cause():
    frame = people().assign(rare=np.where(np.arange(400) < 12, np.arange(400) % 5, np.nan))
    with pytest.raises(DataError, match=r"leaves 12 of 400, because column 'rare' misses 97% of its cells.*--exclude"):
        read_sample(frame, sensitive="sex", missing="drop")
    assert read_sample(frame, sensitive="sex", missing="mean").warnings[0].startswith("'rare' misses 97% of its cells")


def test_labels_that_hold_what_joins_them_make_no_common_group():
    frame = people().assign(one=["a x b", "a"] * 200, two=["f", "b x f"] * 200)
    with pytest.raises(GroupError, match="would both be called 'a x b x f'"):
        read_sample(frame, sensitive=["one", "two"], intersections=True)
